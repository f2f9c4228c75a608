"""What the folders of a window are called on the other side of a connection."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
"""How an absolute path of Windows begins."""


@dataclass(frozen=True, slots=True)
class PathMaps:
    """Pairs of a folder here and the same folder there, both absolute, each in the spelling of its system."""

    pairs: tuple[tuple[str, str], ...] = ()

    def here(self, path: str) -> str:
        """The path here of a file that the other side names; the path itself if no folder of the pairs holds it."""
        return _moved(path, [(there, here) for here, there in self.pairs])

    def there(self, path: str) -> str:
        """The path there of a file that is named here; the path itself if no folder of the pairs holds it."""
        # Most disks of macOS know no upper and lower case, and none of them how a character is composed.
        return _moved(path, self.pairs, is_loose=sys.platform == "darwin")


def _moved(path: str, pairs: Iterable[tuple[str, str]], *, is_loose: bool = False) -> str:
    """The innermost folder decides."""
    found = max(_inside(path, pairs, is_loose=is_loose), key=lambda one: len(one[0]), default=None)
    if found is None:
        return path
    _, rest, target = found
    if not rest:
        return target
    separator = "\\" if _DRIVE.match(target) else "/"
    return target.rstrip("/\\") + separator + (rest.replace("/", separator) if separator == "\\" else rest)


def _inside(path: str, pairs: Iterable[tuple[str, str]], *, is_loose: bool) -> Iterator[tuple[str, str, str]]:
    """The folder, what of the path is below it, with slashes if the folder is one of Windows, and the other folder."""
    for folder, other in pairs:
        is_windows = bool(_DRIVE.match(folder))
        named, root = (each.replace("\\", "/") if is_windows else each for each in (path, folder))
        names, above = named.split("/"), root.rstrip("/").split("/")
        key = _loose if is_windows or is_loose else str
        if list(map(key, names[: len(above)])) == list(map(key, above)):
            yield folder, "/".join(names[len(above) :]), other


def _loose(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
