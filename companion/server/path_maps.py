"""What the folders of a window are called on the other side of a connection."""

from __future__ import annotations

import re
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
        return _moved(path, ((there, here) for here, there in self.pairs))

    def there(self, path: str) -> str:
        """The path there of a file that is named here; the path itself if no folder of the pairs holds it."""
        return _moved(path, self.pairs)


def _moved(path: str, pairs: Iterable[tuple[str, str]]) -> str:
    """The innermost folder decides."""
    found = max(_inside(path, pairs), key=lambda one: len(one[0]), default=None)
    if found is None:
        return path
    _, rest, target = found
    if not rest:
        return target
    separator = "\\" if _DRIVE.match(target) else "/"
    return target.rstrip("/\\") + separator + (rest.replace("/", separator) if separator == "\\" else rest)


def _inside(path: str, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """The folder, what of the path is below it, with slashes if the folder is one of Windows, and the other folder."""
    for folder, other in pairs:
        is_windows = bool(_DRIVE.match(folder))
        named, root = (each.replace("\\", "/") if is_windows else each for each in (path, folder))
        root = root.rstrip("/")
        begins = named.lower().startswith(root.lower()) if is_windows else named.startswith(root)
        rest = named[len(root) :]
        if begins and (not rest or rest.startswith("/")):
            yield folder, rest[1:], other
