"""Tabs for texts that would be lost otherwise, and the texts that were rejected."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import sublime

from ..buffers import write_all
from ..minihtml import safe
from ..windows import GroupContents

REJECTED_KEPT = 20
"""The number of rejected texts that can be reopened."""


def open_kept(
    window: sublime.Window, name: str, text: str, syntax: sublime.Syntax | None = None, *, takes_focus: bool = False
) -> None:
    """Open a text in a tab. Without `takes_focus` it opens behind what the window shows.

    The tab is not scratch: the editor asks before it goes.
    """
    before = GroupContents(window, window.active_group())
    view = window.new_file()
    view.set_name(f"{name} (your edits)")
    if syntax := syntax or sublime.find_syntax_for_file(name, text[:1000]):
        view.assign_syntax(syntax)
    write_all(view, text)
    view.sel().clear()
    view.sel().add(0)
    if not takes_focus:
        before.restore()


class RejectedTexts:
    """The texts that were rejected in this run."""

    def __init__(self) -> None:
        self._kept: deque[tuple[str, str, sublime.Syntax | None]] = deque(maxlen=REJECTED_KEPT)
        """Name, text and syntax, the latest last."""

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, name: str, text: str, syntax: sublime.Syntax | None) -> None:
        """A diff with this text was rejected."""
        self._kept.append((name, text, syntax))

    def left(self) -> list[tuple[str, str, str]]:
        """The texts as plain data, for the next instance."""
        return [(name, text, syntax.path if syntax else "") for name, text, syntax in self._kept]

    def take_up(self, left: Sequence[tuple[str, str, str]]) -> None:
        """Go on with what the previous instance has left."""
        for name, text, syntax in left:
            self.add(name, text, sublime.syntax_from_path(syntax) if syntax else None)

    def reopen(self, window: sublime.Window) -> None:
        """Open the only one in a tab, or ask which."""
        kept = list(reversed(self._kept))

        def picked(index: int) -> None:
            if index >= 0:
                open_kept(window, *kept[index], takes_focus=True)

        if len(kept) == 1:
            picked(0)
        else:
            details = [safe(text[:200].strip().partition("\n")[0]) for _, text, _ in kept]
            items = [sublime.QuickPanelItem(one[0], detail) for one, detail in zip(kept, details, strict=True)]
            window.show_quick_panel(items, picked)
