"""Reads a long JSON object piece by piece: the standard library would keep all other threads waiting meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, cast

Keep = Callable[[str, object, str], object]
"""What to keep of an item of a list, from the list's name, the item, and its JSON text."""

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def loads(text: str, keep: Keep = lambda _name, item, _text: item) -> object:
    """What a JSON text says. The values of an object are read one by one, and so are the items of its lists.

    Raises:
        ValueError: it isn't JSON.
        RecursionError: it is nested too deeply.
    """
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return json.loads(text)
    found: dict[str, Any] = {}
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return _ended(found, text, at + 1)
    while True:
        name, at = _DECODER.raw_decode(text, at)
        if not isinstance(name, str):
            raise ValueError("A name is missing.")  # noqa: TRY004 - the text is wrong, not an argument's type
        at = _skip(text, _after(":", text, at))
        if text[at : at + 1] == "[":
            found[name], at = _list(text, at, lambda item, own, name=name: keep(name, item, own))
        else:
            found[name], at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return _ended(found, text, at + 1)
        at = _skip(text, _after(",", text, at))


def _list(text: str, at: int, keep: Callable[[object, str], object]) -> tuple[list[object], int]:
    found: list[object] = []
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        item, end = cast("tuple[object, int]", _DECODER.raw_decode(text, at))
        found.append(keep(item, text[at:end]))
        at = _skip(text, end)
        if text[at : at + 1] == "]":
            return found, at + 1
        at = _skip(text, _after(",", text, at))


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _after(sign: str, text: str, at: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"“{sign}” is missing at {at}.")
    return at + 1


def _ended(found: dict[str, Any], text: str, at: int) -> dict[str, Any]:
    if _skip(text, at) != len(text):
        raise ValueError("There is something behind the object.")
    return found
