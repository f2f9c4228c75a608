"""Sublime's JSON: comments and trailing commas are allowed."""

from __future__ import annotations

import json
import re
from typing import Any

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[\]}])', re.DOTALL)
_TRAILING = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])', re.DOTALL)


def loads(text: str) -> Any:
    """The value of a JSON text with comments and trailing commas.

    Raises ValueError for anything else.
    """
    text = _TOKENS.sub(_keep_strings, text.removeprefix("\ufeff"))
    # A second round: a comma is trailing only once the comment after it is gone.
    return json.loads(_TRAILING.sub(_keep_strings, text), strict=False)


def _keep_strings(match: re.Match[str]) -> str:
    token = match.group()
    return token if token.startswith('"') else " "


def dumps(value: Any, pretty: bool = False) -> str:
    """The JSON text of `value`."""
    if pretty:
        return json.dumps(value, indent="\t", ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
