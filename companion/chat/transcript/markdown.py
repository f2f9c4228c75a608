"""Finds code blocks and file names in the markdown of an answer, reading it once while it grows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .plain import GAP
from .render import Code, Link, columns
from .writer import TranscriptMarks

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
    r"(?<![\w/\\.:@%&=?#~-])"  # so that the end of a web address is no file
    r"(?P<path>(?:[A-Za-z]:[/\\]|~?[/\\])?(?:[\w.@+-]+[/\\])*[\w.@+-]*?\w\.(?:" + "|".join(_KINDS.split()) + r"))"
    r"(?:(?::|\#L)(?P<line>[1-9]\d{0,6})(?::\d+|-L?\d+)?)?"
    r"(?![\w/\\@-]|\.\w)"
)
_WITH_BLANKS = re.compile(
    r"(?<=`)(?P<path>(?:[A-Za-z]:[/\\]|~?[/\\]|[\w.@+-]+[/\\])[^`\n]*?[ ][^`\n]*?\w\.(?:"
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
_LONGEST = 2_000
"""Characters. Nobody reads a longer line."""
_OURS = re.compile(
    r"[ \t]*(?:❯\s(?:You|Shell)\s*$|◆\s\S.{0,60}$|\?\s\S.{0,60} asks:"
    r"|[✓✗]\s(?:Allowed|Answered|Cancelled|Not answered|Rejected)\b"
    r"|—\s(?:Cancelled|Cancelling|Failed|Interrupted|Stopped|\d+ (?:s|min|h)|\S+ tokens in)\b.* —\s*$)"
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
    """Reads an answer line by line, each once it is complete. Positions count from the answer's beginning."""

    def __init__(self, key: str) -> None:
        self.imitates = False
        """Whether a line looks like one of the chat's own, which the person is warned of."""
        self._key = key
        self._at = 0
        """Where the incomplete line begins."""
        self._line: list[str] = []
        self._fence: _Fence | None = None
        self._codes = 0

    def feed(self, text: str) -> TranscriptMarks:
        """Read more text. Returns the marks that were found in it."""
        found = TranscriptMarks()
        *complete, rest = text.split("\n")
        for part in complete:
            self._line.append(part)
            line = "".join(self._line)
            self._line.clear()
            self._read(line, found)
            self._at += len(line) + 1
        if rest:
            self._line.append(rest)
        return found

    def end(self, unread: int) -> tuple[str, TranscriptMarks]:
        """The text that completes the answer if it ends here, and the marks of its last line. It may still go on.

        `unread` is the number of line feeds at its end that were not fed.
        """
        found, line = TranscriptMarks(), "".join(self._line)
        before = self.imitates, self._fence, self._codes
        self._read(line, found)
        lacks = (
            "\n" * max(unread, 1) + " " * self._fence.indent + self._fence.mark
            if self._fence and not self._fence.depth
            else ""
        )
        if self.imitates:
            lacks += f"\n\n—{GAP}A line above looks like one of this chat’s own; it is a part of the answer. —"
        self.imitates, self._fence, self._codes = before
        return lacks, found

    def _read(self, line: str, found: TranscriptMarks) -> None:
        quote = (_QUOTE if self._fence else _QUOTE_IN_LIST).match(line)
        depth = quote[0].count(">") if quote else 0
        if self._fence and depth < self._fence.depth:
            self._close(found)  # a quote ends all that is in it
        inner = line[quote.end() :] if quote and (not self._fence or self._fence.depth) else line
        if self._fence:
            closing = _CLOSING.fullmatch(inner)
            if closing and closing[1].startswith(self._fence.mark):
                self._close(found)
        elif ("```" in inner or "~~~" in inner) and (fence := _FENCE.match(inner)):
            start = self._at + len(line) + 1
            # A block behind a list marker is indented by the marker's width.
            self._fence = _Fence(columns(inner[: fence.start(1)]), fence[1], fence[2], start, depth)
        elif len(line) <= _LONGEST:
            found.links += self._links(line)
        # In a code block as well, since it may not look like one.
        self.imitates |= bool(_OURS.match(line))

    def _close(self, found: TranscriptMarks) -> None:
        """The code block that is open ends before the line that is read."""
        if fence := self._fence:
            end = max(fence.start, self._at - 1)
            found.codes.append(
                Code(f"{self._key}/{self._codes}", fence.start, end, fence.language, fence.indent, fence.depth)
            )
            self._codes += 1
            self._fence = None

    def _links(self, line: str) -> list[Link]:
        """Web addresses and names of files, which may lie in neither of the others."""
        matches: list[re.Match[str]] = []
        for pattern in (_WEB, _WITH_BLANKS, _FILE):
            for match in pattern.finditer(line):
                is_free = all(match.end() <= other.start() or other.end() <= match.start() for other in matches)
                if is_free and (pattern is not _FILE or _is_meant(line, match)):
                    matches.append(match)
        return [self._link(match) for match in sorted(matches, key=lambda match: match.start())]

    def _link(self, match: re.Match[str]) -> Link:
        line = match["line"]
        return Link(self._at + match.start(), self._at + match.end(), match["path"], int(line) if line else None)


def _is_meant(line: str, match: re.Match[str]) -> bool:
    """Whether a name is that of a file: “Node.js” is one only in backticks."""
    if match["line"] or "/" in match["path"] or "\\" in match["path"]:
        return True
    return line[match.start() - 1 : match.start()] == "`" == line[match.end() : match.end() + 1]
