"""The module `sublime_types`."""

from __future__ import annotations

from headless.api.types import DIP, CommandArgs, CompletionValue, Event, Kind, Point, Value, Vector

__all__ = [
    "DIP", "CommandArgs", "CompletionValue", "Event", "Kind", "Point", "Value", "Vector",
]  # fmt: skip
