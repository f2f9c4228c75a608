"""The command that names files and lines in the prompt of a CLI that runs in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import sublime
import sublime_plugin

from ...clis.shell import Lines, mention
from ...ids import WindowId
from ...visible import ShownText
from .. import package
from ..package_control import is_installed
from ..panels import PanelItem, choose, say, to_clipboard
from ..places import Menu, if_there
from ..prompts import paste
from ..windows import is_code
from . import terminals
from .terminals import Terminal
from .terminus import TERMINUS

IN_CLIPBOARD = "The text is in the clipboard."
NO_FILE = "This tab has no file yet. Save it first: a CLI reads files from the disk."


class _Named(NamedTuple):
    """A file or a folder to name."""

    path: str
    lines: Sequence[Lines] = ()
    """Empty for the whole file."""


What = Literal["", "file", "line", "selection"]
"""What to mention of the active file. Empty: the selected lines if there are any, else the whole file."""


class QwenCompanionSendCommand(sublime_plugin.WindowCommand):
    """Mention the selected lines in the prompt of the running CLI, or the file; or what a menu was opened on.

    It may have a text already. The person presses Enter. The CLI reads the file from the disk, so a tab without a file
    can't be sent and unsaved changes are not included. A message says so.
    """

    def run(self, what: What = "", **menu: Any) -> None:
        """Send it to the CLI of the window whose terminal had the focus last.

        `menu` is what the menu of the side bar or of a tab gives.
        """
        on = Menu.of(menu)
        if on.was_used:
            self._send_chosen(on.chosen(self.window))
            return
        view = self._view()
        path = view.file_name() if view else None
        if view is None or path is None:
            say(self.window, NO_FILE)
            return
        lines = _lines(view, what)
        if lines is None:
            say(self.window, "Nothing is selected.")
        else:
            _send_somewhere(self.window, [_Named(path, lines)])

    def is_visible(self, what: What = "", **menu: Any) -> bool:
        """Whether there is a file with something to send, and a terminal could run here."""
        if not is_installed(TERMINUS):
            return False
        on = Menu.of(menu)
        if on.was_used:
            return bool(on.chosen(self.window))
        view = self._view()
        return view is not None and view.file_name() is not None and _lines(view, what) is not None

    def _send_chosen(self, chosen: Sequence[str]) -> None:
        adapter = package.adapter()
        if not chosen:
            say(self.window, NO_FILE)
        elif adapter:
            named = [_Named(path) for path in chosen]
            if_there(adapter.on_another_thread, self.window, chosen, lambda _: _send_somewhere(self.window, named))

    def _view(self) -> sublime.View | None:
        """The active tab, or the last one of the person's own if a terminal, a diff or a chat is active."""
        view, adapter = self.window.active_view(), package.adapter()
        if view and is_code(view):
            return view
        return adapter.focus.last_code(self.window) if adapter else None


def _lines(view: sublime.View, what: What) -> list[Lines] | None:
    """The lines to name, an empty list for the whole file, None if nothing is selected."""
    if what == "line":
        rows = sorted({view.rowcol(region.b)[0] + 1 for region in view.sel()})
        return [(row, row) for row in rows]
    selected = [] if what == "file" else _selected_lines(view)
    return None if what == "selection" and not selected else selected


def _selected_lines(view: sublime.View) -> list[Lines]:
    """The lines that have selected characters."""
    found: list[Lines] = []
    for region in view.sel():
        if region.empty():
            continue
        # A selection up to the beginning of a line does not include that line.
        first, last = view.rowcol(region.begin())[0] + 1, view.rowcol(region.end() - 1)[0] + 1
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _send_somewhere(window: sublime.Window, named: Sequence[_Named]) -> None:
    """Send to the CLI whose terminal had the focus last, or ask which one, or offer to run one."""
    adapter = package.adapter()
    if adapter and (why := adapter.refusal(window, [one.path for one in named])):
        say(window, why)
        return
    send: Callable[[Terminal], object] = lambda target: _send(window, target, named)  # noqa: E731
    running = terminals.running(window)
    last = running[0] if running else None
    if adapter and (last is None or (last.family and last.family.door == "websocket")):
        files = [(one.path, one.lines) for one in named]
        identifier, family = WindowId(window.id()), last.family if last else None

        def mentioned(answer: tuple[int, list[str]]) -> None:
            heard, left = answer
            if not heard:
                _choose(window, running, send)
            elif left:
                say(window, "A file can't be sent: its name would press keys, or name another file.")
            else:
                _say_unsaved(window, named)

        adapter.ask(lambda companion: companion.mention(identifier, files, family), mentioned)
        return
    _choose(window, running, send)


def _choose(window: sublime.Window, running: Sequence[Terminal], send: Callable[[Terminal], object]) -> None:
    if running and (len(running) == 1 or running[0].focused_at):
        send(running[0])
        return
    targets = running or terminals.others(window)
    items: list[PanelItem] = [(f"Send to {one.title}", one.folder, partial(send, one)) for one in targets]
    if not running:
        items += terminals.offers_to_run(window)
    choose(window, items, "The CLI to send it to" if running else "No CLI was started in this window")


def _send(window: sublime.Window, target: Terminal, named: Sequence[_Named]) -> None:
    launch = target.family.launch if target.family else None
    texts = [mention(one.path, target.folder, launch, one.lines) for one in named]
    sendable = [text for text in texts if text is not None]
    if sendable:
        text = ShownText("".join(sendable))

        def done(why: str) -> None:
            if why:
                to_clipboard(text)
                say(window, f"{why} {IN_CLIPBOARD}")

        paste(target, window, text, done, adds=True)
    if len(sendable) < len(texts):
        what = "This file" if len(texts) == 1 else "A file"
        say(window, f"{what} can't be sent: the control characters in its name would press keys in the terminal.")
        return
    _say_unsaved(window, named)


def _say_unsaved(window: sublime.Window, named: Sequence[_Named]) -> None:
    """The CLI gets the names of files, not their texts."""
    dirty = [one.path for one in named if (view := window.find_open_file(one.path)) and view.is_dirty()]
    if dirty:
        say(window, f"{PurePath(dirty[0]).name} has unsaved changes: the CLI reads it as it is on the disk.")
