"""Finds code blocks and file names in the markdown of an answer, reading it once while it grows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...visible import host_of
from .plain import GAP
from .render import Code, Link, TranscriptMarks, columns

MOST_COLUMNS = 120
"""The width of a table that is aligned. The lines of a wider one would be wrapped."""
MOST_ROWS = 500
"""A table with more rows is shown as it is written, and so is one with more than `MOST_CHARACTERS`."""
MOST_CHARACTERS = 64 * 1024
_LONGEST = 2_000
"""Characters of a line that are looked at. Nobody reads a longer one."""
_MARGIN = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S))*[ \t>]*")
"""What a line begins with in a list or a quote."""
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")


def may_begin(line: str) -> bool:
    """Whether a line may be the first one of a table."""
    return len(line) <= _LONGEST and "|" in line and _BAR.search(line) is not None


def goes_on(lines: Sequence[str], line: str) -> bool:
    """Whether a line belongs to the table, or to what may become one, that begins with these lines."""
    (margin, first), (own, row) = _split(lines[0]), _split(line[:_LONGEST])
    if not may_begin(row) or own.count(">") != margin.count(">") or row.startswith("|") != first.startswith("|"):
        return False
    is_item = own.strip(" \t>")
    return not is_item and (len(lines) > 1 or _is_rule(row, len(_cells(first))))


def aligned(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a table with columns of one width; as they are if they are no table, or a wide one."""
    if len(lines) < 2 or max(map(len, lines)) > _LONGEST:
        return lines
    margins, rows = zip(*map(_split, lines), strict=True)
    cells = [_cells(row) for row in rows]
    rules = cells[1]
    content = [cells[0], *cells[2:]]
    widths = [max(3, *map(_width, column)) for column in zip_longest(*content, fillvalue="")]
    shown = [_row(row, rules, widths) for row in content]
    shown.insert(1, [_rule(rule, width) for rule, width in zip(rules, widths, strict=False)])
    found = [f"{margin}| {' | '.join(row)} |" for margin, row in zip(margins, shown, strict=True)]
    return found if max(map(_width, found)) <= MOST_COLUMNS else lines


def _row(row: Sequence[str], rules: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The cells of a row, which may have fewer than the table has columns, or more."""
    pairs = zip_longest(row, rules, fillvalue="")
    return [_padded(cell, width, rule) for (cell, rule), width in zip(pairs, widths, strict=False)]


def _split(line: str) -> tuple[str, str]:
    """The margin of a line, and what follows it."""
    found = _MARGIN.match(line)
    at = found.end() if found else 0
    return line[:at], line[at:].rstrip(" \t")


def _cells(row: str) -> list[str]:
    cells = _BAR.split(row)
    first = 1 if row.startswith("|") else 0
    last = len(cells) - 1 if len(cells) > first and not cells[-1] else len(cells)
    return [cell.strip(" \t") for cell in cells[first:last]]


def _is_rule(row: str, count: int) -> bool:
    cells = _cells(row)
    return len(cells) == count and all(map(_RULE.fullmatch, cells))


def _rule(rule: str, width: int) -> str:
    left, right = rule[:1].replace("-", ""), rule[-1:].replace("-", "")
    return left + "-" * (width - len(left) - len(right)) + right


def _padded(cell: str, width: int, rule: str) -> str:
    lacks = width - _width(cell)
    if rule.endswith(":"):
        before = lacks // 2 if rule.startswith(":") else lacks
        return " " * before + cell + " " * (lacks - before)
    return cell + " " * lacks


def _width(text: str) -> int:
    """How many columns a text takes: two for a wide character, none for one that joins the one before."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`{]*)")
_CLOSING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*")
_KINDS = (
    "astro bash bat bib c cc cfg cjs clj cmake cmd conf cpp cs csproj css csv cts cxx dart diff dockerfile ejs elm env"
    " erl ex exs fish go gradle graphql groovy h hbs hcl hpp hrl hs htm html hxx ini ipynb java jl js json json5 jsonc"
    " jsx kt kts less lhs lock log lua m md mdx mjs ml mli mm mts nim nix nu patch php pl plist pm prisma proto ps1 py"
    " pyi pyx qml r rb rs rst sass scala scss sh sln sol sql sublime-commands sublime-keymap sublime-menu"
    " sublime-project sublime-settings sublime-syntax svelte svg swift tcl tex tf toml ts tsv tsx txt vb vim vue wat"
    " xaml xml yaml yml zig zsh"
)
"""Extensions of file names. Almost nothing else ends like this."""
_FILE = re.compile(
    r"(?<![\w/\\.:@%&=?#~+-])"  # so that the end of a web address is no file
    r"(?P<path>(?:[A-Za-z]:[/\\]|~?[/\\])?(?:[\w.@+-]+[/\\])*[\w.@+-]*?\w\.(?:" + "|".join(_KINDS.split()) + r"))"
    r"(?:(?::|\#L)(?P<line>[1-9]\d{0,6})(?::\d+|-L?\d+)?)?"
    r"(?![\w/\\@-]|\.\w)"
)
_WITH_BLANKS = re.compile(
    r"(?<=`)(?P<path>(?:[A-Za-z]:[/\\]|~?[/\\]|[\w.@+-]+[/\\])[^` \n]*+[ ][^`\n]*?\w\.(?:"
    + "|".join(_KINDS.split())
    + r"))"
    r"(?:(?::|\#L)(?P<line>[1-9]\d{0,6})(?::\d+|-L?\d+)?)?(?=`)"
)
"""A name with blanks, which counts in backticks if it begins with a folder."""
_IN_ADDRESS = r"[^\s<>()\[\]`\"'|*\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
"""Without what ends an address in markdown, and what hides in one or turns it around."""
_WEB = re.compile(
    rf"(?P<path>(?i:https?)://(?:{_IN_ADDRESS}|\({_IN_ADDRESS}*\))*(?:(?![.,;:!?]){_IN_ADDRESS}|\({_IN_ADDRESS}*\)))"
    r"(?P<line>)"
)
_QUOTE = re.compile(r"(?:[ \t]*> ?)+")
_QUOTE_IN_LIST = re.compile(r"(?:[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*> ?)+")
_HIDDEN = re.compile(r"[\u00ad\u0300-\u036f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""What isn't seen, or is drawn over the character before."""
_OURS = re.compile(
    r"(?:[\s>*_#|-]|\d{1,9}[.)])*(?:❯\s(?:You|Shell)\s*$|◆\s\S.{0,60}$|\?\s\S.{0,60} asks:"
    r"|[✓✔✗✘]\s(?:Allowed|Answered|Cancelled|Not answered|Rejected)\b"
    r"|[—―–]\s(?:Cancelled|Cancelling|Failed|Interrupted|Stopped|\d+ (?:s|min|h)|\S+ tokens in)\b(?>.* [—―–])\W*$)"
)
"""Beginnings of the chat's own lines, which an answer has no reason to have; see `Scanner.imitates`."""


@dataclass(slots=True)
class _Fence:
    indent: int
    """In columns."""
    mark: str
    language: str
    start: int
    depth: int
    """How many quotes it is in."""


class Scanner:
    """Reads an answer line by line, each once it is complete, and aligns its tables once they are.

    Positions count from the beginning of the answer as it is shown.
    """

    def __init__(self, key: str) -> None:
        self.imitates = False
        """Whether a line looks like one of the chat's own, which the person is warned of."""
        self._key = key
        self._at: int = 0
        """Where the incomplete line begins."""
        self._line = ""
        self._rows: list[str] = []
        """The lines of a table that may go on, or the one that may begin one."""
        self._size: int = 0
        """Of these lines, in characters."""
        self._large: Sequence[str] = ()
        """The first two lines of a table that may go on and is too large to be aligned. They are shown already."""
        self._fence: _Fence | None = None
        self._codes = 0

    @property
    def open(self) -> str:
        """The end of what was fed, which may still be shown in another way."""
        return "".join(f"{row}\n" for row in self._rows) + self._line

    def feed(self, text: str) -> tuple[str, TranscriptMarks]:
        """Read more text. Returns what is to be shown for good of that and of what was open, and its marks."""
        found = TranscriptMarks()
        shown: list[str] = []
        *complete, rest = text.split("\n")
        for part in complete:
            line, self._line = self._line + part, ""
            shown += self._taken(line, found)
        self._line += rest
        return "".join(f"{line}\n" for line in shown), found

    def end(self, unread: int) -> tuple[str, str, TranscriptMarks]:
        """How what is open is shown if the answer ends here, the text that completes it, and their marks.

        It may still go on. `unread` is the number of line feeds at its end that were not fed.
        """
        found = TranscriptMarks()
        before = self.imitates, self._fence, self._codes, self._at, list(self._rows), self._size, self._large
        shown = [*self._taken(self._line, found), *self._settled(found)]
        lacks = (
            "\n" * max(unread, 1) + " " * self._fence.indent + self._fence.mark
            if self._fence and not self._fence.depth
            else ""
        )
        if self.imitates:
            lacks += f"\n\n—{GAP}A line above looks like one of this chat’s own; it is a part of the answer. —"
        self.imitates, self._fence, self._codes, self._at, self._rows, self._size, self._large = before
        return "\n".join(shown), lacks, found

    def _taken(self, line: str, found: TranscriptMarks) -> list[str]:
        """Take a line. Returns those that are final by now, as they are shown."""
        final: list[str] = []
        if self._rows and not goes_on(self._rows, line):
            final += self._settled(found)
        if self._large and not goes_on(self._large, line):
            self._large = ()
        if not self._large and (self._rows or (self._fence is None and may_begin(line))):
            self._rows.append(line)
            self._size += len(line)
            if len(self._rows) > MOST_ROWS or self._size > MOST_CHARACTERS:
                self._large = self._rows[:2]
                final += self._put(self._rows, found)
        else:
            final += self._put((line,), found)
        return final

    def _settled(self, found: TranscriptMarks) -> Sequence[str]:
        """The lines of the table that was open, as they are shown."""
        return self._put(aligned(self._rows), found)

    def _put(self, lines: Sequence[str], found: TranscriptMarks) -> Sequence[str]:
        """Show lines for good, with which the table that was open ends."""
        self._rows, self._size = [], 0
        for line in lines:
            self._read(line, found)
            self._at += len(line) + 1
        return lines

    def _read(self, line: str, found: TranscriptMarks) -> None:
        head = line[:_LONGEST]
        quote = (_QUOTE if self._fence else _QUOTE_IN_LIST).match(head) if ">" in head else None
        depth = quote[0].count(">") if quote else 0
        if self._fence and depth < self._fence.depth:
            self._close(found)  # a quote ends all that is in it
        inner = line[quote.end() :] if quote and (not self._fence or self._fence.depth) else line
        if self._fence:
            closing = _CLOSING.fullmatch(inner)
            if closing and closing[1].startswith(self._fence.mark):
                self._close(found)
        elif ("```" in head or "~~~" in head) and (fence := _FENCE.match(inner)):
            start = self._at + len(line) + 1
            # A block behind a list marker is indented by the marker's width.
            self._fence = _Fence(columns(inner[: fence.start(1)]), fence[1], fence[2], start, depth)
        elif len(line) <= _LONGEST:
            for link in self._links(line):
                found.put(link)
        # In a code block as well, since it may not look like one.
        if not line.isascii() or "?" in line:  # the only sign in ASCII
            ends = line.strip()
            if len(ends) > _LONGEST:
                ends = ends[: _LONGEST // 2] + ends[-_LONGEST // 2 :]
            seen = _HIDDEN.sub("", ends)
            # What follows so much that nobody sees may look like the beginning of a line.
            self.imitates |= bool(_OURS.match(seen)) or len(ends) - len(seen) > _LONGEST // 4

    def _close(self, found: TranscriptMarks) -> None:
        """The code block that is open ends before the line that is read."""
        if fence := self._fence:
            end = max(fence.start, self._at - 1)
            found.put(Code(fence.start, end, f"{self._key}/{self._codes}", fence.language, fence.indent, fence.depth))
            self._codes += 1
            self._fence = None

    def _links(self, line: str) -> list[Link]:
        """Web addresses and names of files, which may lie in neither of the others."""
        matches: list[re.Match[str]] = []
        for pattern in (_WEB, _WITH_BLANKS, _FILE) if "://" in line else (_WITH_BLANKS, _FILE):
            for match in pattern.finditer(line):
                is_free = all(match.end() <= other.start() or other.end() <= match.start() for other in matches)
                if is_free and (pattern is not _FILE or _is_meant(line, match)):
                    matches.append(match)
        # An address that a browser reads in another way than a person is none to go to.
        meant = [match for match in matches if match.re is not _WEB or host_of(match["path"])]
        return [self._link(match) for match in sorted(meant, key=lambda match: match.start())]

    def _link(self, match: re.Match[str]) -> Link:
        line = match["line"]
        return Link(self._at + match.start(), self._at + match.end(), match["path"], int(line) if line else None)


def _is_meant(line: str, match: re.Match[str]) -> bool:
    """Whether a name is that of a file: “Node.js” is one only in backticks."""
    if match["line"] or "/" in match["path"] or "\\" in match["path"]:
        return True
    return line[match.start() - 1 : match.start()] == "`" == line[match.end() : match.end() + 1]
