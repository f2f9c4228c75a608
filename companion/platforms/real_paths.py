"""Paths without links, for a thread that must never wait for a disk, such as the editor's own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

LIMIT = 1.0
"""Seconds that a question waits for disks at most. A folder whose disk hangs is not asked about a second time."""
FRESH = 1.0
"""Seconds for which an answer counts."""
MOST = 4096
"""Answers that are kept."""


def resolved(path: str) -> str:
    """The path without links, in the spelling of the file system. Reads links from the disk."""
    return os.path.normcase(os.path.realpath(path))


class RealPaths:
    """Resolves paths on threads of its own. Used on one thread only, apart from those."""

    def __init__(self, resolve: Callable[[str], str] = resolved) -> None:
        self._resolve = resolve
        self._known: dict[str, tuple[str, float]] = {}
        """What a path has led to, and when it was asked for, as time.monotonic has it."""
        self._hanging: dict[str, int] = {}
        """How many threads wait for the disk of a folder."""
        self._lock = threading.Lock()

    def of(self, paths: Iterable[str], *, is_exact: bool = False) -> Mapping[str, str]:
        """What each path leads to now with `is_exact`, otherwise at most FRESH seconds ago.

        While the disk hangs, it is the path itself, or without `is_exact` what that has led to before.
        """
        paths = dict.fromkeys(paths)
        oldest = time.monotonic() - (0.0 if is_exact else FRESH)
        with self._lock:
            asked = [path for path in paths if self._known.get(path, ("", oldest))[1] <= oldest]
            asked = [path for path in asked if os.path.dirname(path) not in self._hanging]
        if asked:
            self._ask(asked)
        with self._lock:
            if len(self._known) > MOST:
                self._known = {path: self._known[path] for path in paths if path in self._known}
            known = {path: self._known[path] for path in paths if path in self._known}
        found = {path: real for path, (real, at) in known.items() if not is_exact or at >= oldest}
        return {path: found[path] if path in found else _plain(path) for path in paths}

    def _ask(self, paths: Sequence[str]) -> None:
        """Look at all of them on one thread; if that hangs, at the others at once, on one thread for each folder."""
        left = self._wait(self._begin(paths), LIMIT / 2)
        by_folder: dict[str, list[str]] = {}
        for path in left:
            by_folder.setdefault(os.path.dirname(path), []).append(path)
        looks = [self._begin(each) for each in by_folder.values()]
        end = time.monotonic() + LIMIT / 2
        for look in looks:
            self._wait(look, max(0.0, end - time.monotonic()))

    def _begin(self, paths: Sequence[str]) -> _Look:
        look = _Look(paths)
        threading.Thread(target=self._look, args=(look,), name="qwen-companion-links", daemon=True).start()
        return look

    def _wait(self, look: _Look, seconds: float) -> Sequence[str]:
        """Wait for a look; returns the paths in other folders that it does not come to because it hangs."""
        if look.over.wait(seconds):
            return ()
        with self._lock:
            if look.over.is_set():
                return ()
            at = look.at
            look.hangs_in = os.path.dirname(look.paths[at])
            self._hanging[look.hangs_in] = self._hanging.get(look.hangs_in, 0) + 1
        return [path for path in look.paths[at + 1 :] if os.path.dirname(path) != look.hangs_in]

    def _look(self, look: _Look) -> None:
        for number, path in enumerate(look.paths):
            look.at = number
            at = time.monotonic()
            try:
                found = self._resolve(path)
            except (OSError, ValueError):  # a loop of links, a character that no path has
                found = _plain(path)
            with self._lock:
                self._known[path] = found, at
                if look.hangs_in is not None:
                    break
        with self._lock:
            look.over.set()
            if look.hangs_in is not None:
                self._hanging[look.hangs_in] -= 1
                if not self._hanging[look.hangs_in]:
                    del self._hanging[look.hangs_in]


class _Look:
    """What a thread is to resolve."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.at = 0
        """Which of them it looks at."""
        self.over = threading.Event()
        self.hangs_in: str | None = None
        """The folder that it was waiting for when nobody waited for it any more."""


def _plain(path: str) -> str:
    return os.path.normcase(os.path.normpath(path)) if path else path
