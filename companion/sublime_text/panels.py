"""Quick panels, messages in the status bar, and the clipboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime

from ..exclusion import shortened
from ..visible import ShownText
from .minihtml import safe
from .notices import NOTICES

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
    """Show one sentence in the status bar for a few seconds; nowhere if a view is in no window any more."""
    if window:
        NOTICES.add(message, window)


def to_clipboard(text: ShownText) -> None:
    """Put a text into the clipboard, from where the person may paste it into a terminal."""
    sublime.set_clipboard(text.text)


def lines_to_clipboard(view: sublime.View, lines: Sequence[sublime.Region]) -> None:
    """Put what the person copies or cuts in a view into the clipboard, as the editor's own command does: exactly."""
    sublime.set_clipboard("".join(map(view.substr, lines)))
