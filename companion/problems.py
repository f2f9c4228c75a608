"""The problems that the editor shows: errors and warnings of language servers, of linters, of a build.

`Diagnostic` is one problem, as every reader gets it. `ShownProblems` is what was read of the editor at one moment: the
objects of other packages, which `diagnostics` makes into problems away from the UI thread. `settled` waits until a
server has looked at what has changed, `problems_text` makes the text for an agent. No library is imported here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, cast

from .exclusion import Sharing
from .visible import blanked, visible_name

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")
"""From the gravest; LSP counts them from 1 in this order."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file. All numbers count from 1."""

    line: int
    character: int
    """In UTF-16 units, as LSP and the CLIs count."""
    column: int
    """In characters, as the editor counts."""


class LineUnits:
    """The lines of a text, as the editor has them: a line feed ends one. Without a text, both ways agree."""

    def __init__(self, text: str | None) -> None:
        self._lines = None if text is None or text.isascii() else text.split("\n")
        self._sums: dict[int, list[int]] = {}
        """For a line with characters of two units: how many units there are up to each character."""

    def column(self, line: int, character: int) -> int:
        """The column of a character in UTF-16 units. All count from 0; beyond the line's end is its end's distance."""
        if (sums := self._of(line)) is None:
            return character
        if character >= sums[-1]:
            return len(sums) - 1 + character - sums[-1]
        return bisect_right(sums, character) - 1

    def character(self, line: int, column: int) -> int:
        """The character in UTF-16 units of a column. All count from 0."""
        if (sums := self._of(line)) is None:
            return column
        return sums[column] if column < len(sums) else sums[-1] + column - len(sums) + 1

    def _of(self, line: int) -> list[int] | None:
        """The sums of a line; None if each of its characters is one unit."""
        if self._lines is None or not 0 <= line < len(self._lines) or self._lines[line].isascii():
            return None
        if line not in self._sums:
            units = (2 if each > "\uffff" else 1 for each in self._lines[line])
            self._sums[line] = list(accumulate(units, initial=0))
        return self._sums[line]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem in a file, from `start` up to `end`, which is not part of it."""

    path: str
    start: Position
    end: Position
    severity: Severity
    message: str
    source: str = ""
    """Who has found it: the language server's or the linter's name."""
    code: str = ""

    @property
    def what(self) -> tuple[str, str, str, str, str]:
        """What it is, wherever its line has moved."""
        return self.path, self.severity, self.source, self.code, self.message

    @property
    def order(self) -> tuple[str, Position, int]:
        """By which they are listed."""
        return self.path, self.start, SEVERITIES.index(self.severity)

    def touches(self, first: int, last: int) -> bool:
        """Whether it is in one of these lines. One that ends where a line begins is not in that line."""
        ends = self.end.line - 1 if self.end.character == 1 and self.end > self.start else self.end.line
        return self.start.line <= last and ends >= first


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


Convert = Callable[[str, Any, LineUnits], Diagnostic | None]


@dataclass(frozen=True, slots=True)
class FileProblems:
    """The problems of one file, as their package has them. Nobody changes them any more."""

    path: str
    rows: Sequence[Any]
    convert: Convert
    published: object = None
    """Another object whenever the file's problems were published, the same ones included; None if nobody says."""
    is_latest: bool = False
    """Whether it is known that these are the problems of the text as it is."""

    def is_same(self, other: FileProblems) -> bool:
        """Whether nobody has published anything in between, the same once more included."""
        if self.path != other.path or self.published is not other.published or len(self.rows) != len(other.rows):
            return False
        return all(one is another for one, another in zip(self.rows, other.rows, strict=True))


@dataclass(frozen=True, slots=True)
class ShownProblems:
    """The problems of a window."""

    provider: str
    """Whose they are: "LSP", "SublimeLinter" or "build"."""
    files: Sequence[FileProblems] = ()
    folders: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The texts of those files that are open, by the path."""
    unchecked: Sequence[str] = ()
    """The paths that were asked for and that no tab of the window shows, so that nobody looks at them."""
    seen: Mapping[str, float] = field(default_factory=dict[str, float], repr=False)
    """When the editor last noticed a change of a file that is open, as a Unix time in seconds."""
    awaited: Sequence[str] = ()
    """The files that were changed a moment ago and whose problems are still those of before."""

    def is_same(self, other: ShownProblems) -> bool:
        """Whether nothing was published in between."""
        if self.provider != other.provider or len(self.files) != len(other.files):
            return False
        return all(one.is_same(another) for one, another in zip(self.files, other.files, strict=True))

    def diagnostics(self, sharing: Sharing | None = None) -> list[Diagnostic]:
        """The problems in the order of files and lines, each once, without those of excluded files.

        Without `sharing`, all. With it this reads links from the disk, so it is not for an event loop.
        """
        found: dict[Diagnostic, None] = {}
        for file in self.files:
            if not file.rows or (sharing and sharing.is_excluded(file.path, self.folders)):
                continue
            lines = LineUnits(self.texts.get(file.path))
            found |= dict.fromkeys(each for row in file.rows if (each := file.convert(file.path, row, lines)))
        return sorted(found, key=lambda each: each.order)


def fresh(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Those of `after` that were not there before. One whose line has moved is not new."""
    known = Counter(each.what for each in before)
    new: list[Diagnostic] = []
    for each in after:
        if known[each.what]:
            known[each.what] -= 1
        else:
            new.append(each)
    return new


LONGEST = 5.0
"""Seconds that anything waits for a server."""
STEP = 0.1
"""Seconds between two looks."""
QUIET = 0.7
"""Seconds without anything new after which a server has said what it has to say."""


async def settled(
    read: Callable[[], Awaitable[ShownProblems | None]], longest: float = LONGEST
) -> tuple[ShownProblems | None, bool]:
    """The problems as soon as nothing new comes, and whether that is so; at most `longest` seconds later.

    A file that has just been changed is waited for. Raises what `read` raises.
    """
    import asyncio  # noqa: PLC0415 - the UI thread imports this module, and must not wait for that one

    loop = asyncio.get_running_loop()
    end = loop.time() + min(max(longest, 0.0), LONGEST)
    last = await read()
    since = loop.time()
    while last is not None and (last.awaited or loop.time() - since < QUIET):
        if (left := end - loop.time()) <= 0:
            return last, False
        await asyncio.sleep(min(STEP, left))
        now = await read()
        if now is None or not now.is_same(last) or len(now.awaited) != len(last.awaited):
            since = loop.time()
        last = now
    return last, True


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
    blocks = ["\n".join([names[path], *map(_line, found)]) for path, found in by_path.items()]
    if left := len(diagnostics) - limit:
        blocks += [f"… and {left} more"] if left > 0 else []
    return "\n\n".join(blocks)


def _line(diagnostic: Diagnostic) -> str:
    """One problem in one line: its place, how grave it is, what it says, and who says it."""
    message = blanked(diagnostic.message)
    if len(message) > MAX_MESSAGE:
        message = f"{message[: MAX_MESSAGE - 1]}…"
    who = blanked(f"{diagnostic.source} {diagnostic.code}")
    place = f"{diagnostic.start.line}:{diagnostic.start.character}"
    return f"- {place} {diagnostic.severity}: {message}{f' ({who})' if who else ''}"
