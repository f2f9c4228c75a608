"""No regular expression of the package takes more than its share of time for a hostile text."""

from __future__ import annotations

import ast
import functools
import importlib
import operator
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
    "(a", "\x1b]", "http://", "\\|", "/*", "x.py", "node ", "<", "<a ", "<div ", "a\n", "\r\r", '\\"', "[ ] ",
    "</command-message><command-name>",
)  # fmt: skip
BOUNDED = {
    "companion.chats.prompt._END": "a path of at most MAX_PATH characters",
    "companion.json_text._JSON_WITH_COMMENTS": "a settings file of another editor, of at most SETTINGS bytes",
    r"""companion.conversation.conversation: \s*[(\[“\"'`#]*word[)\]”\"'`]*""": "a message of LONGEST_NOTICE",
    "companion.exclusion._CLASS": "one part of a pattern of the person's own settings",
}
"""What the other patterns read at most."""
USES = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer")
ROOT = Path(companion.__file__).parent
FRAMES = (("a", "b"), ("/", " b"), ("- ", "\0"), ("— Failed", "a"), ("- ", ""), ("", "b"), ("<command-message>", "x"))
SIZE = 1_000
LONG = 8
"""Characters of a piece of which there are as many as that."""


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


def _written_out() -> Iterator[tuple[str, re.Pattern[str], frozenset[str]]]:
    """Each pattern that is compiled where it is used, and each one of the side of the editor, which needs an editor."""
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _is_of_re(call, "compile"):
                    uses = re.findall(rf"(?<![\w.]){name}\.(\w+)\b", source)
                    if ".sublime_text" in module and (found := _literal(call)):
                        yield f"{module}.{name}", found, frozenset(uses)
                case ast.Call(func=ast.Attribute(attr=use)) if _is_of_re(node, *USES) and (found := _literal(node)):
                    yield f"{module}: {found.pattern}", found, frozenset({use})
                case _:
                    pass


def _is_of_re(call: ast.Call, *names: str) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=name):
            return name in names
        case _:
            return False


def _literal(call: ast.Call) -> re.Pattern[str] | None:
    """The pattern of a call; None if it is a variable. What is put into it counts as a word."""
    parts = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else call.args[:1]
    if isinstance(call.args[0], ast.Name):
        return None
    pattern = "".join(str(part.value) if isinstance(part, ast.Constant) else "word" for part in parts)
    flags = [
        getattr(re, each.attr)
        for each in (*call.args[1:], *(word.value for word in call.keywords))
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "re"
    ]
    return re.compile(pattern, functools.reduce(operator.or_, flags, 0))


def _of_text(pattern: re.Pattern[str] | re.Pattern[bytes]) -> re.Pattern[str]:
    """The same pattern for texts."""
    if isinstance(pattern.pattern, str):
        return re.compile(pattern.pattern, pattern.flags)
    return re.compile(pattern.pattern.decode("latin-1"), pattern.flags | re.ASCII)


PATTERNS = {name: (pattern, uses) for name, pattern, uses in chain(_patterns(), _written_out())}


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
    # A long text takes the memory of a pattern's own stack, which costs more than in proportion on a busy machine.
    return frame[0] + piece * (count * LONG // max(LONG, len(piece))) + frame[1]


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


def test_the_patterns_of_all_rooms_are_there():
    rooms = {name.split(".")[1].partition(":")[0] for name in PATTERNS}
    assert {"chats", "clis", "conversation", "server", "sublime_text"} <= rooms


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
