"""What stands for the variables of an action's prompt, for the view that the person looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

from ...chats import prompt
from ...clis.shell import below, named
from ...comments.comment import Comment
from ...comments.message import MAX_QUOTED, message
from ...problems.message import problems_text
from ...visible import visible_name
from ..chat.context import excerpt
from ..terminal.terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...chats.prompt import Excerpt
    from ...problems.diagnostic import Diagnostic
    from ..chat.view import ChatView


MAX_UNSAVED = 2_000
"""Lines of a selection that are quoted if the file on the disk hasn't got them."""


class PromptValues:
    """The variables at one moment."""

    def __init__(self, view: sublime.View, problems: Sequence[Diagnostic] = (), question: str = "") -> None:
        self._view = view
        self._problems = problems
        self._question = question
        selected = [region for region in view.sel() if not region.empty()]
        self._selected = selected[0] if selected else None

    def in_terminal(self, target: Terminal) -> dict[str, str]:
        """The texts for a CLI's prompt: a file after an @, and the selected lines quoted."""
        launch, path = (target.family.launch if target.family else None), self._view.file_name()

        def shown(path: str, lines: Sequence[tuple[int, int]]) -> str:
            return named(path, target.folder, launch, lines)

        file = shown(path, []).strip() if path else self._name
        problems = problems_text(self._problems, shown)
        if self._selected is None:
            return self._all(file, file, problems)
        quoted = _lines(self._view, self._selected)
        place = quoted if path else Comment(self._name, quoted.first, quoted.lines, "")
        # The CLI reads the file from the disk, if there is one.
        most = MAX_QUOTED if path and not self._view.is_dirty() else MAX_UNSAVED
        return self._all(file, message([place], shown if path else _plain, most).rstrip(), problems)

    def in_chat(self, chat: ChatView) -> tuple[dict[str, str], list[Excerpt]]:
        """The texts for a chat's prompt, and the selection, which is embedded."""
        path = self._view.file_name()
        file = prompt.mention(below(path, chat.folder)) if path else self._name
        problems = problems_text(self._problems, lambda path, _: below(path, chat.folder))
        if self._selected is None:
            return self._all(file, file, problems), []
        embedded = excerpt(self._view, self._selected)
        return self._all(file, f"`{embedded.name}`", problems), [embedded]

    @property
    def _name(self) -> str:
        return visible_name(self._view.name() or "untitled")

    def _all(self, file: str, selection: str, problems: str) -> dict[str, str]:
        return {
            "file": file,
            "selection": selection,
            "symbol": symbol(self._view) or "this",
            "problems": problems,
            "question": self._question,
        }


def symbol(view: sublime.View) -> str:
    """The symbol that the caret is in: the nearest one above it, else the word at it; empty if there is none."""
    point = view.sel()[0].begin() if len(view.sel()) else 0
    line = view.line(point).end()
    above = [each for each in view.symbol_regions() if each.region.begin() <= line]
    name = above[-1].name if above else view.substr(view.word(point))
    return " ".join(name.split()) if any(character.isalnum() for character in name) else ""


def selected_rows(view: sublime.View) -> range | None:
    """The lines of the selection, from 1; None if nothing is selected."""
    selected = next((region for region in view.sel() if not region.empty()), None)
    if selected is None:
        return None
    comment = _lines(view, selected)
    return range(comment.first, comment.last + 1)


def _lines(view: sublime.View, region: sublime.Region) -> Comment:
    """The selected lines as a comment without words has them."""
    end = region.end() - 1 if view.rowcol(region.end())[1] == 0 else region.end()
    whole = view.line(sublime.Region(region.begin(), max(region.begin(), end)))
    return Comment(view.file_name() or "", view.rowcol(whole.begin())[0] + 1, tuple(view.substr(whole).split("\n")), "")


def _plain(path: str, lines: Sequence[tuple[int, int]]) -> str:  # noqa: ARG001 - a tab without a file has no lines to find
    return path
