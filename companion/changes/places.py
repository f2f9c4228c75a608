"""Where the stores are, which folders get none, and when a store goes.

A store belongs to one editor at a time: the system's lock on a file beside it says so, and goes with the process. A
second editor with the same folder has a store of its own.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..platforms import programs
from ..platforms.files import close_to_others, is_mine, lock, make_private_folders, reason_of
from ..platforms.paths import real_path, user_cache
from ..snapshots.git import program
from ..snapshots.project import repository

DAYS = 30
SIZE = 1024**3
"""Bytes of all stores together, without what they share with the person's repositories."""
EDITORS = 8
"""How many editors may have the same folder open."""
ROUND = "round.json"
_ROOT = re.compile(rb'"root": ("(?:[^"\\]|\\.)*")')
_PIECE = 1024 * 1024
_OF_DISK = {errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT}
_BEGINNING = 8 * 1024
"""Bytes of a round that have the path of its root."""


class PlaceError(OSError):
    """There is no place for snapshots; the text is for the person."""


def is_in(path: str, roots: Sequence[str]) -> bool:
    """Whether a path is one of some folders, or in it, however both are spelled."""
    found = _folded(path)
    return any(found.startswith(_folded(root)) for root in roots)


def is_inside(path: str, root: str) -> bool:
    """Whether a path is in a folder, and is not the folder itself."""
    return _folded(path) != _folded(root) and is_in(path, [root])


def _folded(path: str) -> str:
    return os.path.normcase(path).rstrip(os.sep) + os.sep


def absolute(path: str, root: str) -> str:
    """The path of what has a path below a folder, with slashes."""
    return os.path.join(root, path.replace("/", os.sep))


def relative(path: str, root: str) -> str:
    """A path below a folder, with slashes. Its names are spelled as they are there."""
    return path[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


def place_of(path: str) -> str:
    """The real path at which a file stands: of a link its own, and not that to which it leads."""
    folder, name = os.path.split(path.rstrip(os.sep) or path)
    return os.path.join(real_path(folder), name)


def stores(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of all stores, in the user's cache folder."""
    name = "Snapshots" if sys.platform in {"win32", "darwin"} else "snapshots"
    return os.path.join(user_cache(environment), name)


def refusal(root: str) -> str | None:
    """Why a folder gets no snapshots, as a sentence; None if it gets them."""
    real, home = os.path.realpath(root), os.path.realpath(os.path.expanduser("~"))
    if os.path.dirname(real) == real:
        return "What agents write is not reviewed in the root of a disk: open a project's folder instead."
    if is_in(home, [real]):
        return "What agents write is not reviewed in the home folder: open a project's folder instead."
    if is_in(real, [os.path.realpath(stores())]):
        return "What agents write is not reviewed in the folder of the snapshots."
    return None


def prepare(folder: str) -> None:
    """Make the folder of the stores, for this user only. Raises PlaceError."""
    try:
        make_private_folders(folder)
        found = os.lstat(folder)
    except OSError as error:
        raise PlaceError(f"there is no place for snapshots: {folder}: {reason_of(error)}") from error
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        raise PlaceError(f"there is no place for snapshots: {folder} is no folder")
    if not is_mine(found):
        raise PlaceError(f"there is no place for snapshots: {folder} belongs to another user")
    close_to_others(folder)


class _Lock:
    """A file that this editor has locked, until it is closed or nobody knows of it any more.

    A store that is taken just as its window closes is handed to nobody.
    """

    def __init__(self, descriptor: int) -> None:
        self.close = weakref.finalize(self, os.close, descriptor)


class Place:
    """The store of one folder, held by this editor."""

    def __init__(self, path: str, lock: _Lock) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """Let another editor have it."""
        self._lock.close()


def hold(root: str, folder: str | None = None, is_over: Callable[[], bool] = lambda: False) -> Place:
    """The first store for a root that no other editor has.

    The instance before a reload may have it until its worker is done, however long that takes: what waits is in that
    one. Raises PlaceError, also as soon as `is_over`.
    """
    folder = folder or stores()
    prepare(folder)
    key = store_name(root)
    while not is_over():
        for number in range(EDITORS):
            path = os.path.join(folder, f"{key}-{number}" if number else key)
            if held := _locked(f"{path}.lock"):
                with contextlib.suppress(OSError):
                    os.utime(path)
                return Place(path, held)
            if _is_own(f"{path}.lock"):
                break
        else:
            raise PlaceError("too many editors have this folder open")
        time.sleep(0.05)
    raise PlaceError("the folder was let go")


def has_round(root: str, folder: str | None = None) -> bool:
    """Whether a store of a root has a round."""
    path = os.path.join(folder or stores(), store_name(root))
    return any(
        os.path.isfile(os.path.join(each, ROUND)) for each in (path, *(f"{path}-{n}" for n in range(1, EDITORS)))
    )


def related(root: str, folder: str | None = None) -> list[str]:
    """The roots of stores below a root that are no repositories, or the next one above it if it has no store."""
    found: list[str] = []
    for path, _ in _all(folder or stores()):
        with contextlib.suppress(OSError, ValueError), open(os.path.join(path, ROUND), "rb") as file:
            if named := _ROOT.search(file.read(_BEGINNING)):
                found.append(str(json.loads(named[1])))
    below = [each for each in found if is_inside(each, root) and repository(each) is None]
    above = [each for each in found if is_inside(root, each)]
    return [*below, *([] if has_round(root, folder) or not above else [max(above, key=len)])]


def store_name(root: str) -> str:
    """The name of what is kept of a root."""
    return hashlib.sha256(os.fsencode(os.path.normcase(root))).hexdigest()[:20]


def _is_own(path: str) -> bool:
    """Whether it is this process that has the lock."""
    with contextlib.suppress(OSError, ValueError), open(f"{path}.pid", encoding="ascii") as file:
        return int(file.read() or 0) == os.getpid()
    return False


def _locked(path: str) -> _Lock | None:
    """The lock of a file, if nobody else has it."""
    own = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if not lock(own):
        os.close(own)
        return None
    with contextlib.suppress(OSError):
        descriptor = os.open(f"{path}.pid", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as pid:
            pid.write(str(os.getpid()))
    return _Lock(own)


def shrink(folder: str | None = None, *, everything: bool = False) -> list[str]:
    """Remove stores that nobody has: those not used for 30 days, then the oldest until the rest is under 1 GB.

    With `everything`, all of them. Returns what was removed.
    """
    folder = folder or stores()
    left: list[tuple[float, int, str]] = []
    gone: list[str] = []
    for path, used in _all(folder):
        if everything or time.time() - used > DAYS * 86_400:
            gone += [path] if _removed(path) else []
        else:
            left.append((used, _size(path), path))
    total = sum(size for _, size, _ in left)
    for _, size, path in sorted(left):
        if total <= SIZE:
            break
        if _removed(path):
            gone.append(path)
            total -= size
    return gone


def there(folder: str | None = None) -> list[str]:
    """The stores that are there, also those of other editors."""
    return [path for path, _ in _all(folder or stores())]


def _all(folder: str) -> Iterator[tuple[str, float]]:
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                used = [entry.stat().st_mtime]
                with contextlib.suppress(OSError):
                    used.append(os.stat(os.path.join(entry.path, ROUND)).st_mtime)
                yield entry.path, max(used)


def _removed(path: str) -> bool:
    held = _locked(f"{path}.lock")
    if held is None:
        return False
    try:
        empty(path)
    finally:
        held.close()
    for name in (f"{path}.lock", f"{path}.lock.pid"):
        with contextlib.suppress(OSError):
            os.unlink(name)
    return not os.path.exists(path)


def read_through(path: str) -> None:
    """Read all of a store. Raises OSError if its disk fails; what can't be read for another reason is damage."""

    def found(error: OSError) -> None:
        if error.errno in _OF_DISK:
            raise error

    for folder, _, names in os.walk(path, onerror=found):
        for name in names:
            file = os.path.join(folder, name)
            try:
                if os.path.isfile(file):  # a pipe would never end
                    _read(file)
            except OSError as error:
                found(error)


def _read(path: str) -> None:
    with open(path, "rb") as file:
        while file.read(_PIECE):
            pass


def empty(path: str) -> None:
    """Remove a store."""

    def again(function: object, name: str, _: object) -> None:
        del function
        with contextlib.suppress(OSError):  # git makes its objects read-only
            os.chmod(name, 0o600)
            os.unlink(name)

    shutil.rmtree(path, **{"onexc" if sys.version_info >= (3, 12) else "onerror": again})  # type: ignore[arg-type]


def _size(path: str) -> int:
    """Bytes of a store that are only its own."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                found = os.lstat(os.path.join(folder, name))
                total += found.st_size if found.st_nlink == 1 else 0
    return total


def ignore_files() -> list[str]:
    """The person's own files with ignore rules for all repositories, from git's own settings of the user."""
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    default = [os.path.join(base, "git", "ignore")]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "XDG_CONFIG_HOME") if name in os.environ}
        asked = [program(), "-C", home, "config", "--global", "--type=path", "--get", "core.excludesFile"]
        environment = {**kept, "HOME": home, "USERPROFILE": home, "GIT_DIR": os.devnull, "LC_ALL": "C"}
        done = programs.run(asked, environment, 10)
        if done.returncode == 0 and (path := os.fsdecode(done.stdout).strip()):
            return [path]
    return default
