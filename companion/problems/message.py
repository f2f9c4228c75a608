"""The text in which problems go to an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..visible import blanked, visible_name
from .diagnostic import Diagnostic

MAX_LISTED = 50
"""Problems in one text."""
MAX_MESSAGE = 1000
"""Characters of one problem's message."""

Mention = Callable[[str, Sequence[tuple[int, int]]], str]
"""How the agent takes a path and ranges of its lines, from 1."""


def problems_text(diagnostics: Sequence[Diagnostic], mention: Mention, limit: int = MAX_LISTED) -> str:
    """A line for each problem under a mention of its file; what is beyond the limit is counted."""
    by_path: dict[str, list[Diagnostic]] = {}
    for each in diagnostics[:limit]:
        by_path.setdefault(each.path, []).append(each)
    names = {path: visible_name(mention(path, [])).rstrip() for path in by_path}
    blocks = ["\n".join([names[path], *map(line, found)]) for path, found in by_path.items()]
    if left := len(diagnostics) - limit:
        blocks += [f"… and {left} more"] if left > 0 else []
    return "\n\n".join(blocks)


def line(diagnostic: Diagnostic) -> str:
    """One problem in one line: its place, how grave it is, what it says, and who says it."""
    message = blanked(diagnostic.message)
    if len(message) > MAX_MESSAGE:
        message = f"{message[: MAX_MESSAGE - 1]}…"
    who = blanked(f"{diagnostic.source} {diagnostic.code}")
    place = f"{diagnostic.start.line}:{diagnostic.start.character}"
    return f"- {place} {diagnostic.severity}: {message}{f' ({who})' if who else ''}"
