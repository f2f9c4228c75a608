"""What the package has told the person: the log, and the messages that still need an action."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import sublime

from ..editor import WindowId
from .buffers import edit, write_all

KEPT = 500
"""Messages in the log."""
CUT = "… (Show Log)"
"""Ends a message of which the status bar shows a part."""
PANEL = "QwenCompanion"
"""The output panel with the log."""
LONGEST = 80
"""Characters of a message in the status bar: more is cut off at the right by what else is there."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?”]) (?=[A-Z“])")


def in_one_line(text: str) -> str:
    """A message as the status bar shows it: all of it, else its remedy and as much of the rest as there is room for.

    The last sentence of a message is what to do. The whole message is in the log.
    """
    shown = named(text)
    if len(shown) <= LONGEST:
        return shown
    *rest, remedy = _SENTENCE_ENDS.split(" ".join(text.split()))
    if len(named(remedy)) <= LONGEST - len(CUT):
        shown = named(" ".join([remedy, *rest]))
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - len(CUT)].rstrip()}{CUT}"


def parts_in_one_line(parts: Sequence[str]) -> str:
    """As many of the parts of an item in the status bar as there is room for, the first ones first."""
    shown = [part for part in parts if part]
    while len(line := " · ".join(shown)) > LONGEST:
        if len(shown) == 1:
            return f"{line[: LONGEST - 1]}…"
        shown = [*shown[: -1 - (shown[-1] == "…")], "…"]
    return line


def named(text: str) -> str:
    """A message with the package's name in front, unless its sentence begins with that."""
    return text if text.startswith("QwenCompanion ") else f"QwenCompanion: {text}"


class Notice(NamedTuple):
    """One message."""

    at: float
    """Unix time in seconds."""
    text: str
    window: WindowId | None
    """None for all windows."""
    needs_action: bool

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.at))
        return f"{when}  {'!' if self.needs_action else ' '} {self.text}"


class NoticeLog:
    """All messages of this instance of the package. Lives on the UI thread."""

    def __init__(self) -> None:
        self._log: deque[Notice] = deque(maxlen=KEPT)

    def add(self, text: str, window: sublime.Window | None, *, needs_action: bool = False) -> Notice:
        """Show a message in the status bar for a few seconds and log it."""
        notice = self.note(text, window, needs_action=needs_action)
        (window or sublime.active_window()).status_message(in_one_line(text))
        return notice

    def note(self, text: str, window: sublime.Window | None, *, needs_action: bool = False) -> Notice:
        """Log a message that is shown in another way."""
        notice = Notice(time.time(), text, WindowId(window.id()) if window else None, needs_action)
        self._log.append(notice)
        for shown in sublime.windows():
            if panel := shown.find_output_panel(PANEL):
                edit(panel, [(panel.size(), panel.size(), f"{notice}\n")])
        return notice

    def latest(self, count: int) -> list[tuple[float, str]]:
        """The last messages that needed an action, the oldest first."""
        return [(one.at, one.text) for one in self._log if one.needs_action][-count:]

    def show(self, window: sublime.Window) -> None:
        """Open the log in a panel."""
        panel = window.find_output_panel(PANEL) or window.create_output_panel(PANEL)
        write_all(panel, self.text())
        panel.set_read_only(True)
        window.run_command("show_panel", {"panel": f"output.{PANEL}"})
        panel.show(panel.size())

    def text(self) -> str:
        """The log, a line for each message with its time; "!" marks those that need an action."""
        return "".join(f"{one}\n" for one in self._log) or "No messages yet.\n"


class OpenNotices:
    """The messages that need an action, until it is done or the person has seen them. Lives on the UI thread."""

    def __init__(self, log: NoticeLog, changed: Callable[[], object]) -> None:
        """`changed` is called when there are more or fewer of them."""
        self._log = log
        self._changed = changed
        self._open: list[Notice] = []

    def add(self, text: str, window: sublime.Window | None) -> None:
        """Tell the person, and keep it. The same message again replaces the first."""
        notice = self._log.add(text, window, needs_action=True)
        same = (notice.text, notice.window)
        self._open = [*(one for one in self._open if (one.text, one.window) != same), notice]
        self._changed()

    def within(self, window: sublime.Window) -> list[Notice]:
        """Those of a window, and those of all windows."""
        return [one for one in self._open if one.window in (None, window.id())]

    def settled(self, texts: Iterable[str]) -> None:
        """What these messages asked for is done."""
        done = set(texts)
        self._keep(lambda one: one.text not in done)

    def seen(self, window: sublime.Window) -> None:
        """The person has read the messages of a window."""
        self._keep(lambda one: one.window not in (None, window.id()))

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._keep(lambda one: one.window != window.id())

    def _keep(self, wanted: Callable[[Notice], bool]) -> None:
        before, self._open = self._open, [one for one in self._open if wanted(one)]
        if len(before) != len(self._open):
            self._changed()


NOTICES = NoticeLog()
"""The log of this instance of the package, as a module has its logger."""
