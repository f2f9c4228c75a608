"""Mentions of files in a prompt: `@path`, with blanks and backslashes in the path escaped by a backslash.

Only a look at the files shows where a path ends: in many languages no blank follows it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

MAX_MENTIONS = 50
"""Paths behind an @ that are looked up; those after them stay text."""
MAX_ENDS = 8
"""How many of the nearest possible ends of a path are tried."""
MAX_PATH = 1000
"""Characters of a path that is looked up."""

_INSIDE = r"[A-Za-z0-9_./\\@]"
"""Before an @ that begins no mention, as in e-mail addresses and in paths."""
_MENTION = re.compile(rf"(?<!{_INSIDE})@(?=((?:\\.|[^\s\\]){{1,{MAX_PATH}}}))")
_OPEN = re.compile(rf"(?<!{_INSIDE})@((?:\\.|(?<={_INSIDE})@|[^\s\\@])*)$")
_PUNCTUATION = ",:;!?)]}'\"。，、；：！？）」』】》〉”’…"  # noqa: RUF001 - they are meant
_END = re.compile(rf"(?<!\\)(?:(?=\.*(?:[{re.escape(_PUNCTUATION)}]|\Z))|(?<=[!-~])(?=[^ -~]))")
"""Punctuation, or a change of script, as in "@a.py吧"."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An @ and what may be the path behind it."""

    start: int
    """Where the @ is."""
    paths: Sequence[tuple[int, str]]
    """Where the path may end in the text, and the path up to there; the longest first."""


def mentions(text: str) -> list[Mention]:
    """Possible mentions in a text, in order. They may overlap."""
    return [_mention(found[1], found.start()) for found in islice(_MENTION.finditer(text), MAX_MENTIONS)]


def open_mention(before: str) -> tuple[int, str] | None:
    """Where an incomplete mention at the end of a text begins, and its path so far."""
    found = _OPEN.search(before)
    return (found.start(), _unescaped(found[1])) if found else None


def mention(path: str) -> str:
    """A file as a prompt names it."""
    return "@" + re.sub(r"([\s\\])", r"\\\1", path)


def _mention(raw: str, start: int) -> Mention:
    nearest = [found.start() for found in islice(_END.finditer(raw, 1), MAX_ENDS)]
    ends = {len(raw), len(raw.rstrip(f"{_PUNCTUATION}.")) or len(raw), *nearest}
    return Mention(start, [(start + 1 + end, _unescaped(raw[:end])) for end in sorted(ends, reverse=True)])


def _unescaped(path: str) -> str:
    return re.sub(r"\\(.)", r"\1", path)


def pattern(words: str) -> str:
    """A pattern for the paths that have these words in this order, folder by folder, however they are written."""
    parts = [part for part in words.split("/") if part] or [""]
    return "**/" + "/**/".join(f"*{''.join(map(_either, part))}*" if part else "*" for part in parts)


def _either(character: str) -> str:
    """A character in either case, for a pattern."""
    if character in "*?[]{}()!+@\\^|,":
        return f"[{character}]" if character not in "]^\\!" else f"\\{character}"
    lower, upper = character.lower(), character.upper()
    return character if lower == upper or len(lower) != 1 or len(upper) != 1 else f"[{lower}{upper}]"
