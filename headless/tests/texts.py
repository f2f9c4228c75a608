"""What tests do with the text and the selection of a view."""

from __future__ import annotations

from typing import Any

import sublime

Span = tuple[int, int]


def fill(view: Any, text: str, *spans: Span) -> None:
    """Append a text and select spans of it, or put the caret behind it."""
    view.run_command("append", {"characters": text})
    select(view, *spans or [(len(text), len(text))])


def insert(view: Any, text: str) -> None:
    """Type a text at the carets."""
    view.run_command("insert", {"characters": text})


def select(view: Any, *spans: Span) -> None:
    """Select these spans and nothing else."""
    view.sel().clear()
    view.sel().add_all([sublime.Region(*span) for span in spans])


def selected(view: Any) -> list[Span]:
    """What is selected."""
    return [region.to_tuple() for region in view.sel()]


def text_of(view: Any) -> str:
    """The whole text."""
    return view.substr(sublime.Region(0, view.size()))
