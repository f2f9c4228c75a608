"""No regular expression of the package takes more than its share of time for a hostile text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from time import process_time
from typing import cast

import pytest

import companion
from companion.chats.transcript.markdown import Scanner
from companion.chats.transcript.plain import flat, spelled, whole
from companion.chats.transcript.wording import checklist

PIECES = (
    *'+a./-|>`~([{",@$%=*9\t\n\x1bé— ', "a ", "a.", "a/", "a@", "1. ", "- ", " —", "`/ a",
    "(a", "\x1b]", "http://", "\\|", "/*", "x.py", "node ", "a\n", "\r\r", '\\"', "[ ] ",
)  # fmt: skip
BOUNDED = {
    "companion.chats.mentions._END": "a path of at most MAX_PATH characters",
    "companion.small_files._JSON_WITH_COMMENTS": "a settings file of another editor, of at most SETTINGS bytes",
    "companion.exclusion._CLASS": "one part of a pattern of the person's own settings",
}
"""What the other patterns read at most."""
FRAMES = (("a", "b"), ("- ", "\0"), ("— Failed", "a"))
SIZE = 1_000


def _patterns() -> Iterator[tuple[str, re.Pattern[str], frozenset[str]]]:
    """Each pattern of a module, and how the module uses it."""
    for found in pkgutil.walk_packages(companion.__path__, "companion."):
        if ".sublime_text" in found.name:
            continue
        module = importlib.import_module(found.name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            uses = frozenset(re.findall(rf"(?<![\w.]){name}\.(\w+)\b", source))
            if isinstance(value, re.Pattern) and re.search(rf"^{name} = ", source, re.MULTILINE):
                yield f"{found.name}.{name}", _of_text(cast("re.Pattern[str] | re.Pattern[bytes]", value)), uses


def _of_text(pattern: re.Pattern[str] | re.Pattern[bytes]) -> re.Pattern[str]:
    """The same pattern for texts."""
    if isinstance(pattern.pattern, str):
        return re.compile(pattern.pattern, pattern.flags)
    return re.compile(pattern.pattern.decode("latin-1"), pattern.flags | re.ASCII)


PATTERNS = {name: (pattern, uses) for name, pattern, uses in _patterns()}


def _uses(pattern: re.Pattern[str], names: frozenset[str]) -> Iterator[Callable[[str], object]]:
    if "match" in names:
        yield pattern.match
    if "fullmatch" in names:
        yield pattern.fullmatch
    if not names:
        yield pattern.match
    if names - {"match", "fullmatch", "pattern"}:
        yield lambda text: pattern.sub("", text)


def _time(call: Callable[[], object]) -> float:
    start = process_time()
    call()
    return process_time() - start


def _hostile(frame: tuple[str, str], piece: str, count: int) -> str:
    return frame[0] + piece * count + frame[1]


def _grows_too_fast(use: Callable[[str], object], text: Callable[[int], str]) -> bool:
    """Whether a text four times as long takes more than ten times as long: a square would be sixteen times."""
    short, long = text(SIZE), text(4 * SIZE)
    if _time(lambda: use(long)) < 0.004:
        return False
    for _ in range(5):
        before = min(_time(lambda: use(short)) for _ in range(3))
        if min(_time(lambda: use(long)) for _ in range(3)) <= 10 * before:
            return False
    return True


def test_a_clock_that_is_too_coarse_shows_nothing(monkeypatch: pytest.MonkeyPatch):
    times = chain([0.0156], repeat(0.0))
    monkeypatch.setattr(sys.modules[__name__], "_time", lambda _: next(times))
    assert not _grows_too_fast(len, "a".__mul__)


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - BOUNDED))
def test_no_pattern_takes_longer_than_in_proportion_to_a_hostile_text(name: str):
    pattern, names = PATTERNS[name]
    slow = [
        (frame, piece)
        for use in _uses(pattern, names)
        for frame in FRAMES
        for piece in PIECES
        if _grows_too_fast(use, lambda count, frame=frame, piece=piece: _hostile(frame, piece, count))
    ]
    assert not slow


def _read(text: str) -> object:
    return Scanner("k").feed(f"{text}\n")


def _lines(text: str) -> object:
    return [*whole(text), *checklist(text)]


def _cut(text: str) -> object:
    return flat(text, 100)


@pytest.mark.parametrize("shown", [flat, _cut, spelled, _lines, _read])
def test_no_hostile_line_of_an_agent_takes_longer_than_in_proportion(shown: Callable[[str], object]):
    slow = [
        (frame, piece)
        for frame in FRAMES
        for piece in PIECES
        if _grows_too_fast(shown, lambda count, frame=frame, piece=piece: _hostile(frame, piece, count))
    ]
    assert not slow
