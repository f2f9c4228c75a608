"""Text between a file and an editor's view, which knows only line feeds: what is not edited comes back to the byte."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from .changes import changes
from .compare import unchanged

BOM = "\ufeff"
_ENDING = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SourceText:
    """A text with its line endings and its byte order mark, and how a view shows it."""

    source: str

    @cached_property
    def shown(self) -> str:
        """The text as a view holds it: no byte order mark, every line ending a line feed."""
        return self.source.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")

    def restore(self, edited: str, file: SourceText | None = None) -> str:
        """The text for an edited view. Lines that weren't edited keep their endings, and so does the mark.

        So do those of the file itself that were put back, if the file has no other endings than this text. What has
        become the file again is the file, to the byte.
        """
        shown = self.shown
        if edited == shown:
            return self.source
        if file and edited == file.shown:
            return file.source
        endings = _ENDING.findall(self.source)
        if set(endings) - {"\n"}:
            sources = [(shown, endings)]
            if file and set(also := _ENDING.findall(file.source)) <= set(endings):
                sources.insert(0, (file.shown, also))
            edited = _with_endings(sources, edited)
        return BOM + edited if self.source.startswith(BOM) else edited


def _with_endings(sources: list[tuple[str, list[str]]], edited: str) -> str:
    """Texts as shown, each with its endings; what the last one knows of a line counts."""
    endings = sources[-1][1]
    usual = Counter(endings).most_common(1)[0][0]
    if len(set(endings)) == 1:
        return edited.replace("\n", usual)
    new = edited.split("\n")
    # The last piece has no ending; the others have theirs, changed lines the usual one.
    restored = [usual] * (len(new) - 1)
    for shown, endings in sources:
        old = shown.split("\n")
        for old_at, new_at, length in unchanged(changes(old, new), old, new):
            for i in range(length):
                if old_at + i < len(endings) and new_at + i < len(restored):
                    restored[new_at + i] = endings[old_at + i]
    for at in range(1, len(restored)):
        if restored[at] == "\n" and restored[at - 1] == "\r" and not new[at]:
            restored[at] = "\r\n"  # else the two would read as one
    return "".join(line + ending for line, ending in zip(new, [*restored, ""], strict=True))
