"""The module `sublime_types`."""

from __future__ import annotations

from headless.api.types import (
    DIP as DIP,
    CommandArgs as CommandArgs,
    CompletionValue as CompletionValue,
    Event as Event,
    Kind as Kind,
    Point as Point,
    Value as Value,
    Vector as Vector,
)

__all__ = [
    "DIP", "CommandArgs", "CompletionValue", "Event", "Kind", "Point", "Value", "Vector",
]  # fmt: skip
