"""The type aliases of `sublime_types`.

Plain assignments and not `type` statements: the stand-in also runs on Python 3.11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

DIP = float
Vector = tuple[DIP, DIP]
Point = int
Value = bool | str | int | float | list[Any] | dict[str, Any] | None
ValueLike = bool | str | int | float | Sequence[Any] | Mapping[str, Any] | None
CommandArgs = dict[str, Value] | None
CommandArgsLike = Mapping[str, ValueLike] | None
Kind = tuple[int, str, str]
CompletionValue = str | tuple[str, str] | Any


class Event(TypedDict, total=False):
    """What is known of a person's click or choice."""

    x: float
    y: float
    modifier_keys: dict[str, bool]
