"""What was read of the editor at one moment. Reading it costs the UI thread little; the rest is done elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..exclusion import Sharing
from .diagnostic import Diagnostic, LineUnits

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
