"""Asks for a question in the input panel, with the earlier ones on the arrow keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sublime

from ..buffers import write_all
from ..chat.prompt import Recall
from ..own_views import VIEWS

ASKED = "asked"
"""Remembered of a window: the questions that were asked, and the one that was begun, as a dictionary."""
RECALL = "recall"
"""In the record of the input panel while a question is written: the state of `Recall`."""


def ask(window: sublime.Window, caption: str, done: Callable[[str], object]) -> None:
    """Ask for a question. What the person leaves is there the next time."""
    found = VIEWS.remembered(window, ASKED)
    state: dict[str, Any] = found if isinstance(found, dict) else {}
    draft = str(state.get("draft", ""))
    written = draft

    def changed(words: str) -> None:
        nonlocal written
        written = words

    panel: sublime.View | None = None

    def asked(words: str) -> None:
        drop()
        recall = Recall(state)
        recall.add(words.strip())
        VIEWS.remember(window, ASKED, {"sent": recall.sent})
        if words.strip():
            done(words.strip())

    def left() -> None:
        drop()
        VIEWS.remember(window, ASKED, {**state, "draft": written})

    def drop() -> None:
        if panel:
            VIEWS.drop(panel)

    panel = window.show_input_panel(caption, draft, asked, changed, left)
    VIEWS.take(panel, "question input", lasts=False, **{RECALL: Recall({"sent": state.get("sent", [])}).state})


def step(panel: sublime.View, by: int) -> None:
    """Put an earlier or a later question into the panel."""
    own = VIEWS.of(panel)
    if own is None or own.kind != "question input":
        return
    recall = Recall(own.get(RECALL))
    text = recall.step(by, panel.substr(sublime.Region(0, panel.size())))
    if text is not None:
        own.keep(**{RECALL: recall.state})
        write_all(panel, text)
        panel.sel().clear()
        panel.sel().add(panel.size())
