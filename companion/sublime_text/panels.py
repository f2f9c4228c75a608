"""Quick panels, read-only pages in tabs, messages in the status bar, and the clipboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime

from ..exclusion import shortened
from ..visible import ShownText
from .buffers import write_all
from .minihtml import safe
from .notices import NOTICES
from .own_views import VIEWS, Kind, OwnView

NO_ANSWER = "The companion doesn't answer. “Qwen: Show Log” may say why."
LONGEST = 500
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
            shortened(caption, LONGEST),
            safe(shortened(details, LONGEST)),
            shortened(annotations[at], LONGEST) if at < len(annotations) else "",
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
        items, chosen, flags=flags, selected_index=selected, placeholder=shortened(placeholder, LONGEST)
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
        self._view = found[0] if found else window.new_file()
        self.record: OwnView = VIEWS.take(self._view, kind)
        """What is known about its view."""
        self._view.set_name(title)
        self._view.set_scratch(True)
        self._view.settings().update({"word_wrap": True, "wrap_width": 0, "line_numbers": False})
        window.focus_view(self._view)

    @property
    def view(self) -> sublime.View:
        """Its view."""
        return self._view

    @property
    def is_open(self) -> bool:
        """Whether its tab is there: neither closed, nor saved as a file of the person's."""
        return self._view.is_valid() and VIEWS.is_ours(self._view, self._kind)

    def show(self, text: str) -> None:
        """Replace the text. The caret stays on its line, and the view where it is scrolled to."""
        view = self._view
        if not self.is_open:
            return
        position = view.viewport_position()
        rows = [view.rowcol(region.b)[0] for region in view.sel()] or [0]
        write_all(view, text)
        view.set_read_only(True)
        view.clear_undo_stack()
        view.sel().clear()
        view.sel().add(view.text_point(rows[0], 0))
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
    page.view.sel().clear()
    page.view.sel().add(at)
    page.view.show_at_center(at) if first >= 0 else page.view.show(0)
