"""Finding text in a buffer, literally or by a regular expression."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headless.api.flags import FindFlags


def compile_pattern(pattern: str, flags: int) -> re.Pattern[str]:
    """The expression for a pattern and FindFlags.

    The editor's engine is Boost's; patterns that only it knows raise re.error here.
    """
    if flags & FindFlags.LITERAL:
        pattern = re.escape(pattern)
    if flags & FindFlags.WHOLEWORD:
        pattern = rf"\b(?:{pattern})\b"
    return re.compile(pattern, re.MULTILINE | (re.IGNORECASE if flags & FindFlags.IGNORECASE else 0))


def find(text: str, pattern: str, start: int, flags: int) -> tuple[int, int] | None:
    """The first match from `start` on, or the last before it with REVERSE."""
    expression = compile_pattern(pattern, flags)
    if flags & FindFlags.REVERSE:
        matches = list(expression.finditer(text))
        before = [m for m in matches if m.end() <= start]
        after = matches if flags & FindFlags.WRAP else []
        chosen = before or after
        return chosen[-1].span() if chosen else None
    match = expression.search(text, start)
    if match is None and flags & FindFlags.WRAP:
        match = expression.search(text)
    return match.span() if match else None


def find_all(text: str, pattern: str, flags: int, within: list[tuple[int, int]] | None) -> Iterator[re.Match[str]]:
    """All matches that do not overlap, inside the spans `within` if these are given."""
    expression = compile_pattern(pattern, flags)
    for begin, end in [(0, len(text))] if within is None else within:
        yield from expression.finditer(text, begin, end)
