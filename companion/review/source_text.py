"""Text on its way from a file to a view, which only has line feeds, and back. Unedited text stays byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from .changes import changes
from .compare import unchanged

BOM = "\ufeff"
_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
_ENDING = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SourceText:
    """A text with its line endings and its byte order mark."""

    source: str

    @cached_property
    def shown(self) -> str:
        """The text as a view has it: no byte order mark, and only line feeds."""
        return self.source.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def endings(self) -> list[str]:
        """The line endings, from the top."""
        feeds, returns = self.source.count("\n"), self.source.count("\r")
        # To find those of one kind in 100,000 lines would hold all threads up for a tenth of a second.
        if not returns or (returns == feeds and self.source.count("\r\n") == feeds):
            return ["\r\n" if returns else "\n"] * feeds
        return _ENDING.findall(self.source)

    @cached_property
    def has_mark(self) -> bool:
        """Whether it has a byte order mark."""
        return self.source.startswith(BOM)

    def restore(self, edited: str, file: SourceText | None = None) -> str:
        """The text for an edited view. Unedited lines keep their endings, and the byte order mark is kept.

        Lines that were reverted to those of the `file` keep the file's endings, if this text has such endings too. A
        text that equals the file again is returned byte for byte as the file.
        """
        if edited == self.shown:
            return self.source
        if file and edited == file.shown:
            return file.source
        return self.adapt(edited, file)

    def adapt(self, edited: str, other: SourceText | None = None) -> str:
        """A text with the byte order mark and the line endings of this one, as far as it has any.

        Lines that only the `other` text has keep their endings there, if this text has such endings too.
        """
        endings, own = set(self.endings), self
        if not endings and other:
            endings, own = set(other.endings), other
        if endings - {"\n"}:
            sources = [(own.shown, own.endings)]
            if other and other is not own and set(other.endings) <= endings:
                sources.insert(0, (other.shown, other.endings))
            edited = _with_endings(sources, edited)
        return BOM + edited if self.has_mark else edited


def endings_change(old: SourceText, new: SourceText, *, counts: bool = True) -> str:
    """What else differs than the text, such as "LF → CRLF in 120 lines"; empty for nothing.

    Only lines with the same text on both sides count. To find them takes long in a large file: without `counts` it is
    only said that the endings differ.
    """
    said: list[str] = []
    if new.has_mark and not old.has_mark:
        said.append("byte order mark added")
    elif old.has_mark and not new.has_mark:
        said.append("byte order mark removed")
    if old.endings != new.endings and not (set(old.endings) == set(new.endings) and len(set(old.endings)) == 1):
        said += (
            ["other line endings"] * (set(old.endings) != set(new.endings) and bool(old.endings and new.endings))
            if not counts
            else [
                f"{_NAMES[one]} → {_NAMES[other]} in {count} line{'s' * (count != 1)}"
                for (one, other), count in _changed_endings(old, new).most_common()
            ]
        )
    return ", ".join(said)


def _changed_endings(old: SourceText, new: SourceText) -> Counter[tuple[str, str]]:
    lines, new_lines = old.shown.split("\n"), new.shown.split("\n")
    counts: Counter[tuple[str, str]] = Counter()
    for at, new_at, length in unchanged(changes(lines, new_lines), lines, new_lines):
        counts.update(zip(old.endings[at : at + length], new.endings[new_at : new_at + length], strict=False))
    return Counter({pair: count for pair, count in counts.items() if pair[0] != pair[1]})


def _with_endings(sources: list[tuple[str, list[str]]], edited: str) -> str:
    """Give `edited` the endings of the `sources`, (text, endings) each. A later source takes precedence."""
    endings = sources[-1][1]
    usual = Counter(endings).most_common(1)[0][0]
    if len(set(endings)) == 1:
        return edited.replace("\n", usual)
    new = edited.split("\n")
    # The last piece has no ending. Changed lines get the most frequent one.
    restored = [usual] * (len(new) - 1)
    for shown, endings in sources:
        old = shown.split("\n")
        for old_at, new_at, length in unchanged(changes(old, new), old, new):
            for i in range(length):
                if old_at + i < len(endings) and new_at + i < len(restored):
                    restored[new_at + i] = endings[old_at + i]
    for at in range(1, len(restored)):
        if restored[at] == "\n" and restored[at - 1] == "\r" and not new[at]:
            restored[at] = "\r\n"  # otherwise the two would be read as one
    return "".join(line + ending for line, ending in zip(new, [*restored, ""], strict=True))
