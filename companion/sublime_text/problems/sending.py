"""Problems on their way to an agent: into the prompt of a CLI in a terminal, or into that of a chat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import sublime

from ...clis.shell import below, named
from ...comments.message import markdown
from ...ids import WindowId
from ...problems.message import problems_text
from ...visible import ShownText
from ..panels import PanelItem, choose, say, to_clipboard
from ..prompts.delivery import add_to_prompt, paste
from ..prompts.recipients import Recipient, meant, recipients
from ..terminal.terminals import Terminal
from ..windows import is_code

if TYPE_CHECKING:
    from ...problems.diagnostic import Diagnostic
    from ...problems.shown import ShownProblems
    from ..adapter import Adapter

Scope = Literal["file", "selection", "window"]

NO_FILE = "This tab has no file yet, so no language server has looked at it."
NONE = {
    "file": "This file has no problems that the editor knows of.",
    "selection": "There is no problem in these lines that the editor knows of.",
    "window": "No file of this window has problems that the editor knows of.",
}
IN_CLIPBOARD = "The problems are in the clipboard."
NOBODY = f"There is no CLI or chat to take the problems. {IN_CLIPBOARD}"


def send_problems(adapter: Adapter, window: sublime.Window, scope: Scope) -> None:
    """Put the problems into a prompt. The person adds what they like and submits it."""
    view = window.active_view()
    view = view if view and is_code(view) else adapter.focus.last_code(window)
    path = view.file_name() if view else None
    if scope != "window" and (view is None or path is None):
        say(window, NO_FILE)
        return
    if path and scope != "window" and (why := adapter.refusal(window, [path])):
        say(window, why)
        return
    rows = _rows(view) if view and scope == "selection" else None
    told = adapter.settings.told(window)

    def listed(problems: Sequence[Diagnostic]) -> None:
        found = [each for each in problems if rows is None or any(each.touches(*row) for row in rows)]
        if found:
            _give(adapter, window, found)
        else:
            say(window, NONE[scope])

    def read(found: ShownProblems | None) -> None:
        if found:
            adapter.on_another_thread(lambda: found.diagnostics(told), listed)

    adapter.problems.read(WindowId(window.id()), None if scope == "window" or path is None else [path], read)


def _rows(view: sublime.View) -> list[tuple[int, int]]:
    """The first and the last line of each selection, from 1. One that ends where a line begins is without that line."""
    ends = [(region.begin(), max(region.begin(), region.end() - 1)) for region in view.sel()]
    return [(view.rowcol(begin)[0] + 1, view.rowcol(end)[0] + 1) for begin, end in ends]


def _give(adapter: Adapter, window: sublime.Window, problems: Sequence[Diagnostic]) -> None:
    choices = meant(recipients(adapter.chats, window))
    give: Callable[[Recipient], object] = partial(_give_to, adapter, window, problems)
    if not choices:
        _copy(problems)
        say(window, NOBODY)
    elif len(choices) == 1:
        give(choices[0])
    else:
        items: list[PanelItem] = [(f"Send to {one.title}", one.folder, partial(give, one)) for one in choices]
        choose(window, items, "Send the problems to")


def _give_to(adapter: Adapter, window: sublime.Window, problems: Sequence[Diagnostic], recipient: Recipient) -> None:
    target = recipient.target
    if not isinstance(target, Terminal):
        add_to_prompt(target, problems_text(problems, lambda path, _: below(path, target.folder)), [])
        adapter.chats.go_to(target)
        return
    launch = target.family.launch if target.family else None

    def shown(path: str, lines: Sequence[tuple[int, int]]) -> str:
        return named(path, target.folder, launch, lines)

    def done(why: str) -> None:
        if why:
            _copy(problems)
            say(window, f"{why} {IN_CLIPBOARD}")

    paste(target, window, ShownText(problems_text(problems, shown)), done)


def _copy(problems: Sequence[Diagnostic]) -> None:
    to_clipboard(ShownText(problems_text(problems, lambda path, lines: markdown(path, lines) if lines else path)))
