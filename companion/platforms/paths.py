"""Paths: how the file system itself spells them, what they lead to, and where a person's programs keep things.

A disk may hang: a thread that must never wait for one, such as the editor's own, asks `RealPaths`.
"""

from __future__ import annotations

import ntpath
import os
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

F_GETPATH = 50
"""From macOS' <sys/fcntl.h>. Python has it in `fcntl` on macOS alone."""
_EVENTS_ONLY = 0x8000
"""`O_EVTONLY` from there: what may not be read is opened, too."""
_MAX_PATH = 1024


def own_spelling(path: str) -> str:
    """A path as its disk has it; the same path if that can't be told. It blocks.

    On macOS, names may differ from the disk's in upper and lower case and in the composition of their characters
    (NFC or NFD), and still lead to the same file. Whoever compares paths as texts, as the CLIs do, takes it for
    another.
    """
    if sys.platform != "darwin":
        return path
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        descriptor = os.open(path, os.O_NONBLOCK | _EVENTS_ONLY)  # it waits for no pipe
        try:
            found = fcntl.fcntl(descriptor, F_GETPATH, bytes(_MAX_PATH))
        finally:
            os.close(descriptor)
    except OSError:
        return path
    return os.fsdecode(found.partition(b"\0")[0]) or path


def real_path(path: str) -> str:
    """The path without links, spelled as its disk has it: what is known of files is found by their names there.

    The file need not be there. It blocks.
    """
    found = os.path.realpath(path)
    own = own_spelling(found)
    is_same = unicodedata.normalize("NFC", own).casefold() == unicodedata.normalize("NFC", found).casefold()
    return own if is_same else found  # a file may have other names, too


def path_key(path: str) -> str:
    """A text that is the same for the spellings of a path that are one on every disk of this system. It doesn't block.

    Whether upper and lower case differ depends on the disk on macOS; there they count.
    """
    if sys.platform == "win32":
        return ntpath.normcase(path)
    return unicodedata.normalize("NFC", path) if sys.platform == "darwin" else path


LIMIT = 1.0
"""Seconds that a question waits for disks at most. A folder whose disk hangs is not asked about a second time."""
FRESH = 1.0
"""Seconds for which an answer counts."""
MOST = 4096
"""Answers that are kept."""


def resolved(path: str) -> str:
    """The path without links, in the spelling of the file system. Reads links from the disk."""
    return os.path.normcase(real_path(path))


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
        paths = tuple(dict.fromkeys(paths))
        known = self._look_up(paths, is_exact=is_exact)
        found = {path: real for path, (real, is_new) in known.items() if not is_exact or is_new}
        return {path: found[path] if path in found else _plain(path) for path in paths}

    def known(self, paths: Iterable[str]) -> Mapping[str, str]:
        """What each path leads to now, without those whose disk hangs."""
        found = self._look_up(tuple(dict.fromkeys(paths)), is_exact=True)
        return {path: real for path, (real, is_new) in found.items() if is_new}

    def _look_up(self, paths: Sequence[str], *, is_exact: bool) -> Mapping[str, tuple[str, bool]]:
        """What is known of each path, and whether it is as new as it has to be."""
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
        return {path: (real, at >= oldest) for path, (real, at) in known.items()}

    def _ask(self, paths: Sequence[str]) -> None:
        """Look at all of them on one thread; if that takes long, on a thread for each other folder as well."""
        end = time.monotonic() + LIMIT
        looks = [self._begin(paths)]
        if not looks[0].over.wait(LIMIT / 2):
            looks += map(self._begin, self._others(looks[0]))
        for look in looks:
            if not look.over.wait(max(0.0, end - time.monotonic())):
                self._give_up(look)

    def _begin(self, paths: Sequence[str]) -> _Look:
        look = _Look(paths)
        threading.Thread(target=self._look, args=(look,), name="qwen-companion-links", daemon=True).start()
        return look

    def _others(self, look: _Look) -> Collection[Sequence[str]]:
        """Take the paths from a look that are in other folders than where it is; returns them, by folder."""
        with self._lock:
            here = os.path.dirname(look.at)
            by_folder: dict[str, list[str]] = {here: []}
            for path in look.left:
                by_folder.setdefault(os.path.dirname(path), []).append(path)
            look.left = by_folder.pop(here)
        return by_folder.values()

    def _give_up(self, look: _Look) -> None:
        with self._lock:
            if not look.over.is_set():
                look.hangs_in = os.path.dirname(look.at)
                self._hanging[look.hangs_in] = self._hanging.get(look.hangs_in, 0) + 1

    def _look(self, look: _Look) -> None:
        while (path := self._next(look)) is not None:
            at = time.monotonic()
            try:
                found = self._resolve(path)
            except (OSError, ValueError):  # a loop of links, a character that no path has
                found = _plain(path)
            with self._lock:
                self._known[path] = found, at

    def _next(self, look: _Look) -> str | None:
        with self._lock:
            if look.left and look.hangs_in is None:
                look.at = look.left.pop(0)
                return look.at
            look.over.set()
            if look.hangs_in is not None:
                self._hanging[look.hangs_in] -= 1
                if not self._hanging[look.hangs_in]:
                    del self._hanging[look.hangs_in]
        return None


class _Look:
    """What a thread is to resolve."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.left = list(paths)
        self.at = paths[0]
        """What it resolves now."""
        self.over = threading.Event()
        self.hangs_in: str | None = None
        """The folder that it was waiting for when nobody waited for it any more."""


def _plain(path: str) -> str:
    return os.path.normcase(os.path.normpath(path)) if path else path


_NAME = "qwen-companion" if sys.platform not in {"win32", "darwin"} else "QwenCompanion"


def user_cache(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the package in the user's cache folder. It need not be there."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = _absolute(environment.get("XDG_CACHE_HOME")) or os.path.join(home, ".cache")
    return os.path.join(base, _NAME)


def user_data(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the package among the user's data. It need not be there."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return user_cache(environment)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", _NAME)
    return os.path.join(_absolute(environment.get("XDG_DATA_HOME")) or os.path.join(home, ".local", "share"), _NAME)


def _absolute(path: str | None) -> str | None:
    """A folder of a variable; a relative one is to be ignored, as the XDG Base Directory Specification says."""
    return path if path and os.path.isabs(path) else None
