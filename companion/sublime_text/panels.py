"""Quick panels, read-only pages in tabs, messages in the status bar with their log, and the clipboard."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import sublime

from ..editor import WindowId
from ..exclusion import shortened
from ..visible import ShownText
from .buffers import edit, write_all
from .minihtml import safe
from .own_views import VIEWS, Kind, OwnView
from .windows import select

NO_ANSWER = "The companion doesn't answer. “Qwen: Show Log” may say why."
_LONGEST = 500
"""Characters of each text of a panel: the editor looks through all of them at each key."""
STARTING = "QwenCompanion is starting. Your command runs as soon as it has started."

PanelItem = tuple[str, str, Callable[[], object]]
"""A caption, a detail, and what picking it does."""


def choose(
    window: sublime.Window,
    choices: Sequence[PanelItem],
    placeholder: str,
    *,
    selected: int = -1,
    annotations: Sequence[str] = (),
    stays: bool = False,
    left: Callable[[], object] | None = None,
) -> None:
    """Ask in a quick panel. `annotations` belong to the choices in order; there may be fewer of them.

    The panel closes when it loses the focus, unless it `stays`. `left` is called if nothing is picked.
    """
    items = [
        sublime.QuickPanelItem(
            shortened(caption, _LONGEST),
            safe(shortened(details, _LONGEST)),
            shortened(annotations[at], _LONGEST) if at < len(annotations) else "",
        )
        for at, (caption, details, _) in enumerate(choices)
    ]

    is_over = False

    def chosen(index: int) -> None:
        nonlocal is_over
        if is_over:  # another panel takes the place of one that has been answered
            return
        is_over = True
        if index >= 0:
            # Only after the panel has closed and moved the focus: the choice may open a panel or focus a terminal.
            sublime.set_timeout(choices[index][2])
        elif left:
            sublime.set_timeout(left)

    flags = sublime.QuickPanelFlags.KEEP_OPEN_ON_FOCUS_LOST if stays else sublime.QuickPanelFlags.NONE
    window.show_quick_panel(
        items, chosen, flags=flags, selected_index=selected, placeholder=shortened(placeholder, _LONGEST)
    )


def changed_file(name: str, path: str, inserted: int, deleted: int) -> sublime.QuickPanelItem:
    """A file in a list of changed ones, with the numbers of its lines that were inserted and deleted."""
    kind = (sublime.KindId.COLOR_GREENISH, "D", "Diff")
    return sublime.QuickPanelItem(name, [safe(path)], f"+{inserted} −{deleted}", kind)


def say(window: sublime.Window | None, message: str) -> None:
    """Show one sentence in the status bar for a few seconds; nowhere if the window, or that of a view, is closed."""
    if window and window.is_valid():
        NOTICES.add(message, window)


def to_clipboard(text: ShownText) -> None:
    """Put a text into the clipboard, from where the person may paste it into a terminal."""
    sublime.set_clipboard(text.text)


def lines_to_clipboard(view: sublime.View, lines: Sequence[sublime.Region]) -> None:
    """Put what the person copies or cuts in a view into the clipboard, as the editor's own command does: exactly."""
    sublime.set_clipboard("".join(map(view.substr, lines)))


class Page:
    """A scratch, read-only tab. A window has one of each kind."""

    def __init__(self, window: sublime.Window, kind: Kind, title: str) -> None:
        found = VIEWS.within(window, kind)
        self._kind: Kind = kind
        self.view = found[0] if found else window.new_file()
        self.record: OwnView = VIEWS.take(self.view, kind)
        """What is known about its view."""
        self.view.set_name(title)
        self.view.set_scratch(True)
        self.view.settings().update({"word_wrap": True, "wrap_width": 0, "line_numbers": False})
        window.focus_view(self.view)

    @property
    def is_open(self) -> bool:
        """Whether its tab is there: neither closed, nor saved as a file of the person's."""
        return self.view.is_valid() and VIEWS.is_ours(self.view, self._kind)

    def show(self, text: str) -> None:
        """Replace the text. The caret stays on its line, and the view where it is scrolled to."""
        view = self.view
        if not self.is_open:
            return
        position = view.viewport_position()
        rows = [view.rowcol(region.b)[0] for region in view.sel()] or [0]
        write_all(view, text)
        view.set_read_only(True)
        view.clear_undo_stack()
        select(view, view.text_point(rows[0], 0))
        view.set_viewport_position(position, animate=False)


def show_turn(window: sublime.Window, turn: str, diffs: Sequence[str], about: str = "", first: int = -1) -> None:
    """Show the diffs of a turn in a tab, with what is said about them, at the one with a number."""
    page = Page(window, "changes of a turn", "Qwen: Changes of a Turn")
    page.record.keep(turn=turn)
    if syntax := next(iter(sublime.find_syntax_by_scope("source.diff")), None):
        page.view.assign_syntax(syntax)
    head = f"{about}\n\n" if about else ""
    page.show(head + "\n".join(diffs))
    at = len(head) + sum(len(each) + 1 for each in diffs[: max(first, 0)])
    select(page.view, at)
    page.view.show_at_center(at) if first >= 0 else page.view.show(0)


# What the package has told the person.

KEPT = 500
"""Messages in the log."""
CUT = "… (Show Log)"
"""Ends a message of which the status bar shows a part."""
PANEL = "QwenCompanion"
"""The output panel with the log."""
LONGEST_MESSAGE = 80
"""Characters of a message in the status bar: more is cut off at the right by what else is there."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?”]) (?=[A-Z“])")


def in_one_line(text: str) -> str:
    """A message as the status bar shows it: all of it, else its remedy and as much of the rest as there is room for.

    The last sentence of a message is what to do. The whole message is in the log.
    """
    shown = named(text)
    if len(shown) <= LONGEST_MESSAGE:
        return shown
    *rest, remedy = _SENTENCE_ENDS.split(" ".join(text.split()))
    if len(named(remedy)) <= LONGEST_MESSAGE - len(CUT):
        shown = named(" ".join([remedy, *rest]))
    return shown if len(shown) <= LONGEST_MESSAGE else f"{shown[: LONGEST_MESSAGE - len(CUT)].rstrip()}{CUT}"


def parts_in_one_line(parts: Sequence[str]) -> str:
    """As many of the parts of an item in the status bar as there is room for, the first ones first."""
    shown = [part for part in parts if part]
    while len(line := " · ".join(shown)) > LONGEST_MESSAGE:
        if len(shown) == 1:
            return f"{line[: LONGEST_MESSAGE - 1]}…"
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


NOTICES = NoticeLog()
"""The log of this instance of the package, as a module has its logger."""
