"""How other packages have their problems: LSP, SublimeLinter, and the results of a build.

What is missing or of another type there is left out or replaced: it may come from any language server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from .diagnostic import SEVERITIES, Diagnostic, LineUnits, Position, Severity

Result = tuple[str, int, int, str]
"""A result of a build: the path, the line and the column, both from 1 and 0 if there is none, and the text."""
_SEVERITY = re.compile(r"^\W*(?:fatal )?(error|warning|info|information|note|hint)\b", re.IGNORECASE)
_WORDS: dict[str, Severity] = {
    "error": "error",
    "warning": "warning",
    "info": "information",
    "information": "information",
    "note": "information",
    "hint": "hint",
}


def of_lsp(path: str, raw: object, server: str, lines: LineUnits) -> Diagnostic | None:
    """A `Diagnostic` of the Language Server Protocol 3.17; `server` is its name, used if the problem names no source.

    None if it has no place.
    """
    if not isinstance(raw, Mapping):
        return None
    found = cast("Mapping[str, Any]", raw)
    try:
        start, end = (_lsp_position(found["range"][which], lines) for which in ("start", "end"))
    except (KeyError, TypeError):
        return None
    number = found.get("severity")
    severity: Severity = "error"
    if isinstance(number, int) and 1 <= number <= len(SEVERITIES):
        severity = SEVERITIES[number - 1]
    message = found.get("message")
    if isinstance(message, Mapping):  # MarkupContent, from 3.18 on
        message = cast("Mapping[str, Any]", message).get("value")
    code, source = found.get("code"), found.get("source")
    return Diagnostic(
        path,
        start,
        max(start, end),
        severity,
        message if isinstance(message, str) else "",
        source if isinstance(source, str) and source else server,
        str(code) if isinstance(code, str | int) else "",
    )


def of_linter(path: str, raw: object, lines: LineUnits) -> Diagnostic | None:
    """A `LintError` of SublimeLinter 4; its line and column count from 0, the column in characters."""
    if not isinstance(raw, Mapping):
        return None
    found = cast("Mapping[str, Any]", raw)
    line, column = found.get("line"), found.get("start")
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    text = found.get("offending_text")
    severity: Severity = "error" if found.get("error_type") == "error" else "warning"
    *before, last = (text if isinstance(text, str) else "").split("\n")
    end_line, end_column = line + len(before), len(last) + (0 if before else column)
    return Diagnostic(
        path,
        _position(line, column, lines),
        _position(end_line, end_column, lines),
        severity,
        str(found.get("msg") or ""),
        str(found.get("linter") or ""),
        str(found.get("code") or ""),
    )


def of_build(result: Result, lines: LineUnits) -> Diagnostic:
    """A result of a build. Its words say how grave it is; one that doesn't say is an error."""
    path, line, column, text = result
    found = _SEVERITY.match(text)
    severity = _WORDS[found[1].lower()] if found else "error"
    place = _position(max(line, 1) - 1, max(column, 1) - 1, lines)
    return Diagnostic(path, place, place, severity, text.strip(), "build")


def _lsp_position(raw: Mapping[str, Any], lines: LineUnits) -> Position:
    line, character = raw["line"], raw["character"]
    if not isinstance(line, int) or not isinstance(character, int):
        raise TypeError("a position is two numbers")
    line, character = max(line, 0), max(character, 0)
    return Position(line + 1, character + 1, lines.column(line, character) + 1)


def _position(line: int, column: int, lines: LineUnits) -> Position:
    return Position(line + 1, lines.character(line, column) + 1, column + 1)
