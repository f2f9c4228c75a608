"""Asks for a question in the input panel, with the earlier ones on the arrow keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sublime

from ..buffers import write_all
from ..chat.prompt import Recall

INPUT_SETTING = "qwen_companion.question_input"
"""On the view of the input panel while a question is written."""
ASKED_SETTING = "qwen_companion.asked"
"""On a window: the questions that were asked, and the one that was begun. Sublime keeps it over restarts."""


def ask(window: sublime.Window, caption: str, done: Callable[[str], object]) -> None:
    """Ask for a question. What the person leaves is there the next time."""
    state: Any = window.settings().get(ASKED_SETTING) or {}
    draft = str(state.get("draft", ""))
    written = draft

    def changed(words: str) -> None:
        nonlocal written
        written = words

    def asked(words: str) -> None:
        recall = Recall(state)
        recall.add(words.strip())
        window.settings().set(ASKED_SETTING, {"sent": recall.sent})
        if words.strip():
            done(words.strip())

    def left() -> None:
        window.settings().set(ASKED_SETTING, {**state, "draft": written})

    panel = window.show_input_panel(caption, draft, asked, changed, left)
    panel.settings().set(INPUT_SETTING, Recall({"sent": state.get("sent", [])}).state)


def step(panel: sublime.View, by: int) -> None:
    """Put an earlier or a later question into the panel."""
    recall = Recall(panel.settings().get(INPUT_SETTING))  # pyright: ignore[reportArgumentType] - what `ask` has put there
    text = recall.step(by, panel.substr(sublime.Region(0, panel.size())))
    if text is not None:
        panel.settings().set(INPUT_SETTING, recall.state)
        write_all(panel, text)
        panel.sel().clear()
        panel.sel().add(panel.size())
