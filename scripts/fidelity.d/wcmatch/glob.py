"""Glob patterns with braces and `**`."""

from __future__ import annotations

import re

BRACE, GLOBSTAR, IGNORECASE = 1, 2, 4


def globmatch(name: str, pattern: str, flags: int = 0) -> bool:
    """Whether a path matches a pattern."""
    patterns = _braces(pattern) if flags & BRACE else [pattern]
    ignore_case = re.IGNORECASE if flags & IGNORECASE else 0
    return any(re.fullmatch(_expression(each, flags), name, ignore_case) for each in patterns)


def _braces(pattern: str) -> list[str]:
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [each for part in found[1].split(",") for each in _braces(before + part + after)]


def _expression(pattern: str, flags: int) -> str:
    tokens = {"*": "[^/]*", "?": "[^/]"}
    if flags & GLOBSTAR:
        tokens |= {"**/": "(?:.*/)?", "**": ".*"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]*\])", pattern)
    return "".join(tokens.get(p) or (p.replace("[!", "[^") if p.startswith("[") else re.escape(p)) for p in parts)
