"""What the markdown of an answer holds, read once while it grows: code blocks and the names of files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .render import Code, Link
from .writer import TranscriptMarks

_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`{]*)")
_KINDS = (
    "astro bash bat bib c cc cfg cjs clj cmake cmd conf cpp cs csproj css csv cts cxx dart diff dockerfile ejs elm env"
    " erl ex exs fish go gradle graphql groovy h hbs hcl hpp hrl hs htm html hxx ini ipynb java jl js json json5 jsonc"
    " jsx kt kts less lhs lock log lua m md mdx mjs ml mli mm mts nim nix nu patch php pl plist pm prisma proto ps1 py"
    " pyi pyx qml r rb rs rst sass scala scss sh sln sol sql sublime-commands sublime-keymap sublime-menu"
    " sublime-project sublime-settings sublime-syntax svelte svg swift tcl tex tf toml ts tsv tsx txt vb vim vue wat"
    " xaml xml yaml yml zig zsh"
)
"""Extensions: what ends so is the name of a file, and nearly nothing else is."""
_FILE = re.compile(
    r"(?<![\w/\\.:@%&=?#~-])"  # so the end of an address is none
    r"(?P<path>(?:[A-Za-z]:[/\\]|~?[/\\])?(?:[\w.@+-]+[/\\])*[\w.@+-]*?\w\.(?:" + "|".join(_KINDS.split()) + r"))"
    r"(?::(?P<line>[1-9]\d{0,6})(?::\d+)?)?"
    r"(?![\w/\\@-]|\.\w)"
)
_LONGEST = 2_000
"""Characters. A longer line was written by nobody to be read."""
_OURS = re.compile(r"❯ (?:You|Shell)$|◆ Qwen Code$|\? Qwen Code asks:")
"""How lines begin that an answer has no reason to have, see `Scanner.imitates`."""


@dataclass(slots=True)
class _Fence:
    indent: str
    mark: str
    language: str
    start: int


class Scanner:
    """Reads an answer line by line; a line counts once it is complete. Places count from the answer's beginning."""

    def __init__(self, key: str) -> None:
        self.imitates = False
        """Whether a line looks like one of the chat's own, which the person should be told."""
        self._key = key
        self._at = 0
        """Where the line begins that isn't complete."""
        self._line: list[str] = []
        self._fence: _Fence | None = None
        self._codes = 0

    def feed(self, text: str) -> TranscriptMarks:
        """Read on; returns what has been found."""
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
        """What the answer lacks if it ends here, and what its last line holds. It may go on nevertheless.

        `unread` line feeds are at its end that were not fed.
        """
        found, line = TranscriptMarks(), "".join(self._line)
        before = self.imitates, self._fence, self._codes
        self._read(line, found)
        lacks = "\n" * max(unread, 1) + self._fence.indent + self._fence.mark if self._fence else ""
        if self.imitates:
            lacks += "\n\n— A line above looks like one of this chat’s own; it is a part of the answer. —"
        self.imitates, self._fence, self._codes = before
        return lacks, found

    def _read(self, line: str, found: TranscriptMarks) -> None:
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if self._fence:
            mark = fence[1] if fence else ""
            if mark.startswith(self._fence.mark) and not line.strip().strip(mark[0]):
                end = max(self._fence.start, self._at - 1)
                found.codes.append(Code(f"{self._key}/{self._codes}", self._fence.start, end, self._fence.language))
                self._codes += 1
                self._fence = None
        elif fence:
            start = self._at + len(line) + 1
            # Behind the mark of a list, a block is indented by as much.
            self._fence = _Fence(" " * fence.start(1), fence[1], fence[2], start)
        elif len(line) <= _LONGEST:
            found.links += [self._link(match) for match in _FILE.finditer(line) if _is_meant(line, match)]
        # In a code block as well: nobody sees that it is one.
        self.imitates |= bool(_OURS.match(line))

    def _link(self, match: re.Match[str]) -> Link:
        line = match["line"]
        return Link(self._at + match.start(), self._at + match.end(), match["path"], int(line) if line else None)


def _is_meant(line: str, match: re.Match[str]) -> bool:
    """Whether a name is that of a file: “Node.js” is one only in backticks."""
    if match["line"] or "/" in match["path"] or "\\" in match["path"]:
        return True
    return line[match.start() - 1 : match.start()] == "`" == line[match.end() : match.end() + 1]
