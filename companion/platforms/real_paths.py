"""Paths without links, for a thread that must never wait for a disk, such as the editor's own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

LIMIT = 1.0
"""Seconds that the first question about a folder waits for its disk. While it hangs, there is no second one."""
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
        look = _Look(paths)
        threading.Thread(target=self._look, args=(look,), name="qwen-companion-links", daemon=True).start()
        if not look.over.wait(LIMIT):
            with self._lock:
                if look.over.is_set():
                    return
                look.hangs_in = os.path.dirname(look.at)
                self._hanging[look.hangs_in] = self._hanging.get(look.hangs_in, 0) + 1

    def _look(self, look: _Look) -> None:
        for path in look.paths:
            look.at = path
            try:
                found, at = self._resolve(path), time.monotonic()
            except (OSError, ValueError):  # a loop of links, a character that no path has
                found, at = _plain(path), time.monotonic()
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
        self.at = paths[0]
        self.over = threading.Event()
        self.hangs_in: str | None = None
        """The folder that it was waiting for when nobody waited for it any more."""


def _plain(path: str) -> str:
    return os.path.normcase(os.path.normpath(path)) if path else path
