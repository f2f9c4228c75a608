"""Asking the person in panels, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime

from .minihtml import safe

NO_ANSWER = "The companion doesn't answer. Sublime's console says why (View → Show Console)."

PanelItem = tuple[str, str, Callable[[], object]]
"""A caption, a detail, and what picking it does."""


def choose(
    window: sublime.Window,
    choices: Sequence[PanelItem],
    placeholder: str,
    *,
    selected: int = -1,
    annotations: Sequence[str] = (),
) -> None:
    """Ask in a quick panel. `annotations` go with the choices, as far as there are any."""
    items = [
        sublime.QuickPanelItem(caption, safe(details), annotations[at] if at < len(annotations) else "")
        for at, (caption, details, _) in enumerate(choices)
    ]

    def chosen(index: int) -> None:
        if index >= 0:
            # When the panel has closed, which moves the focus: another may open, a terminal may get it.
            sublime.set_timeout(choices[index][2])

    window.show_quick_panel(items, chosen, selected_index=selected, placeholder=placeholder)


def say(window: sublime.Window, message: str) -> None:
    """Say one sentence in the status bar."""
    window.status_message(message if message.startswith("QwenCompanion") else f"QwenCompanion: {message}")
