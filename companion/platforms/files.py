"""Replaces a file's content, in a folder that was looked at and is held by its descriptor.

A path is resolved when it is used. From then on no link is followed: a `FolderEntry` holds the folder itself, so
what was checked is what is read and written, even if the path leads elsewhere by then. Windows has no descriptors of
folders; there the path is resolved again just before each use. Nothing process-wide is changed. Every function blocks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from typing import Any, BinaryIO, TypeVar

from .processes import user_id
from .reasons import reason_of

T = TypeVar("T")

BUSY_LIMIT = 1.0
"""Seconds in which a file that another program has open, as antivirus programs do, is tried again."""
BUSY_LOOK = 0.05
"""Seconds between two tries."""
_BUSY = {5, 32, 33}
"""ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION of Windows."""
_NOT_REPLACED = {1, 50, 1175, 1176, 1177}
"""What ReplaceFileW says where a file system lacks it, and if it could not do it."""
_ACL_AND_ATTRIBUTES = 1 << 0 | 1 << 2
"""COPYFILE_ACL and COPYFILE_XATTR of macOS' <copyfile.h>."""
_NO_NEW_NAME = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
"""What a folder that can't be written to says, and a file that is the target of a mount."""
_STEP = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY)) | getattr(os, "O_DIRECTORY", 0)
"""A folder is only passed through; reading it may be forbidden."""
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AS_IT_IS
_HAS_DESCRIPTORS = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd


class _NotReplacedError(Exception):
    """A new file would not be the same as the old one to others: it has another owner, links or attributes."""


class FolderEntry:
    """A name in a folder. The folder stays the same one, whatever its path leads to later."""

    def __init__(self, path: str, folder: int | None) -> None:
        self.path = path
        self._folder = folder
        self._name = os.path.basename(path)

    def open(self, flags: int = os.O_RDONLY) -> int:
        """A descriptor of the file, as `os.open`; a link is refused and a pipe is not waited for. Raises OSError."""
        return os.open(self._at(self._name), flags | _AS_IT_IS, dir_fd=self._folder)

    def replace(self, content: bytes, *, is_private: bool = False) -> None:
        """Write the file: a reader sees the old content or the new.

        The mode, the owner, hard links, access lists and attributes stay. Where that needs the old file itself, or the
        folder takes no new one, it is written in place; its old content is kept in the temporary folder until the new
        one was read back. A private file is readable by this user only, and a link in its place is replaced.

        Raises:
            OSError: it could not be written, and is what it was. If even that failed, the message says where its old
                content is.
        """
        found = self._found()
        if found and not is_private:
            self._refuse(found)
        try:
            self._swap(content, None if is_private else found, 0o600 if is_private else 0o666)
        except (OSError, _NotReplacedError) as error:
            if found is None or not _may_be_written(error, found, is_private=is_private):
                raise
            self._write_in_place(content)

    def _at(self, name: str) -> str:
        if self._folder is not None:
            return name
        folder = os.path.dirname(self.path)
        if os.path.normcase(os.path.realpath(folder)) != os.path.normcase(folder):
            raise OSError(errno.ELOOP, "its folder leads elsewhere now", self.path)
        return os.path.join(folder, name)

    def _found(self) -> os.stat_result | None:
        try:
            return os.stat(self._at(self._name), dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _refuse(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", self.path)
        may_write = os.access(self._at(self._name), os.W_OK, dir_fd=self._folder)
        if not found.st_mode & _WRITABLE or not may_write:
            raise OSError(errno.EACCES, "is read-only", self.path)

    def _swap(self, content: bytes, like: os.stat_result | None, mode: int) -> None:
        temporary = self._at(f".{secrets.token_hex(8)}.tmp")
        if like and like.st_nlink > 1:
            raise _NotReplacedError
        # The system applies the umask.
        descriptor = os.open(temporary, _NEW, 0o600 if like else mode, dir_fd=self._folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                if like and sys.platform != "win32":
                    self._liken(file.fileno(), like)
            _patiently(lambda: self._take_place(temporary, is_like=like is not None))
        except BaseException:
            with contextlib.suppress(OSError):
                # On Windows the old file may have gone: then this is the only content that is left.
                if sys.platform != "win32" or like is None or self._found():
                    os.unlink(temporary, dir_fd=self._folder)
            raise

    def _take_place(self, temporary: str, *, is_like: bool) -> None:
        name = self._at(self._name)
        if is_like and sys.platform == "win32":
            _replace_on_windows(name, temporary)
        else:
            os.replace(temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _liken(self, descriptor: int, like: os.stat_result) -> None:
        if sys.platform == "win32":
            return
        new = os.fstat(descriptor)
        if (new.st_uid, new.st_gid) != (like.st_uid, like.st_gid):
            try:
                os.fchown(descriptor, like.st_uid, like.st_gid)
            except OSError:
                raise _NotReplacedError from None
        old = self.open()
        try:
            is_alike = _likened_on_macos(old, descriptor) if sys.platform == "darwin" else _is_alike(old, descriptor)
        finally:
            os.close(old)
        if not is_alike:
            raise _NotReplacedError
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode))

    def _write_in_place(self, content: bytes) -> None:
        with open(_patiently(lambda: self.open(os.O_RDWR)), "r+b") as file:
            before = file.read()
            kept = _kept(before, self._name)
            try:
                _overwrite(file, content)
            except BaseException as error:
                try:
                    _overwrite(file, before)
                except OSError:
                    why = f"it could not be written ({reason_of(error)}); its old content is in {kept}"
                    raise OSError(errno.EIO, why, self.path) from None
                os.unlink(kept)
                raise
            os.unlink(kept)


@contextlib.contextmanager
def place(path: str, *, makes_folders: bool = False) -> Generator[FolderEntry]:
    """Hold the folder of a path that has no links, as `os.path.realpath` gives it.

    Args:
        path: an absolute path.
        makes_folders: whether missing folders are made.

    Raises:
        OSError: there is no such folder, or a part of the path is a link by now.
    """
    if not _HAS_DESCRIPTORS:
        if makes_folders:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        yield FolderEntry(path, None)
        return
    folder = os.open("/", _STEP)
    try:
        for name in os.path.dirname(path).split("/"):
            if name:
                inner = _entered(folder, name, makes_folders=makes_folders)
                os.close(folder)
                folder = inner
        yield FolderEntry(path, folder)
    finally:
        os.close(folder)


def replace_file(path: str, content: bytes) -> None:
    """Write the file that a path leads to now, and make its folders if they are missing. See `FolderEntry.replace`."""
    with place(os.path.realpath(path), makes_folders=True) as at:
        at.replace(content)


def write_private(path: str, content: bytes) -> None:
    """Write a file that only this user can read, in a folder that is there. See `FolderEntry.replace`."""
    folder, name = os.path.split(path)
    with place(os.path.join(os.path.realpath(folder), name)) as at:
        at.replace(content, is_private=True)


def rename(source: str, target: str) -> None:
    """Give a file the name of another, which it replaces; patient with a program that has that open. Raises OSError."""
    _patiently(lambda: os.replace(source, target))


def is_busy(error: OSError) -> bool:
    """Whether something could not be done because another program has a file open; never so but on Windows."""
    return getattr(error, "winerror", None) in _BUSY


def make_link(path: str, target: str) -> None:
    """Make a symbolic link. Raises OSError, on Windows for most people: the right to do that is rare there."""
    os.symlink(target, path)


def make_private_folder(path: str) -> None:
    """Make a folder that only this user can enter. Raises FileExistsError if something is there.

    On Windows it gets the rights of its parent: with a mode, an elevated process would lock the same person out of it
    when they are not elevated (python/cpython#157876).
    """
    os.mkdir(path, 0o777 if sys.platform == "win32" else 0o700)


def make_private_folders(path: str) -> None:
    """Make a folder and those above it that are missing, as `make_private_folder` does. One that is there stays."""
    if not os.path.isdir(path):
        make_private_folders(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            make_private_folder(path)


def close_to_others(folder: str) -> None:
    """Let only this user enter a folder. On Windows its rights are those of its parent. Raises OSError."""
    if sys.platform != "win32":
        os.chmod(folder, 0o700)


def lock(descriptor: int) -> bool:
    """Lock a file for this process, until it is closed; False if another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - only Windows has it

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - Windows lacks it

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_mine(found: os.stat_result) -> bool:
    """Whether a file belongs to this user. Windows has no such numbers; there the folder's rights decide."""
    user = user_id()
    return user is None or found.st_uid == user


def is_elevated() -> bool:
    """Whether this is an administrator's process on Windows, whose files belong to all administrators."""
    if sys.platform != "win32":
        return False
    import ctypes  # noqa: PLC0415 - nobody else needs it

    with contextlib.suppress(AttributeError, OSError):
        return bool(ctypes.windll.shell32.IsUserAnAdmin())
    return False


def is_network(path: str) -> bool:
    """Whether a path is of the form of Windows' network folders."""
    return path.startswith(("\\\\", "//"))


def real_folder(path: str) -> str:
    """A folder without links, as a program gets it. A mapped drive of Windows stays one.

    `os.path.realpath` gives a network path for it, in which `cmd.exe` can't work.
    """
    real = os.path.realpath(path)
    if sys.platform == "win32" and is_network(real) and not is_network(path):
        return os.path.abspath(path)
    return real


def _entered(folder: int, name: str, *, makes_folders: bool) -> int:
    flags = _STEP | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not makes_folders:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def _is_alike(old: int, new: int) -> bool:
    """Whether two files have the same access lists and other attributes. A folder may give a new one others."""
    if sys.platform != "linux":
        return True
    try:
        first, second = ({name: os.getxattr(each, name) for name in os.listxattr(each)} for each in (old, new))
    except OSError as error:
        return error.errno == errno.ENOTSUP  # the file system has none
    return first == second


def _likened_on_macos(old: int, new: int) -> bool:
    """Copy the access list and the attributes of a file; False if that is impossible, or flags differ."""
    import ctypes  # noqa: PLC0415 - nobody else needs it

    library: Any = ctypes.CDLL(None, use_errno=True)
    library.fcopyfile.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32
    if library.fcopyfile(old, new, None, _ACL_AND_ATTRIBUTES) != 0:
        return False
    first, second = (getattr(os.fstat(each), "st_flags", 0) for each in (old, new))
    return first == second


def _replace_on_windows(name: str, temporary: str) -> None:
    """Replace a file by another one that gets its access list, attributes, streams and time of creation."""
    import ctypes  # noqa: PLC0415 - nobody else needs it

    windows: Any = ctypes
    kernel = windows.WinDLL("kernel32", use_last_error=True)
    pointer, text = ctypes.c_void_p, ctypes.c_wchar_p
    kernel.ReplaceFileW.argtypes = text, text, text, ctypes.c_uint32, pointer, pointer
    if not kernel.ReplaceFileW(name, temporary, None, 0, None, None):
        error = windows.WinError(windows.get_last_error())
        if os.path.lexists(name) or not os.path.lexists(temporary):
            raise error
        # As Microsoft's page about ReplaceFileW says of 1176, and of 1177.
        os.replace(temporary, name)


def _may_be_written(error: Exception, found: os.stat_result, *, is_private: bool) -> bool:
    """Whether the old file is to be written because no new one can take its place."""
    is_busy = getattr(error, "winerror", None) in _BUSY | _NOT_REPLACED
    if is_private:
        # Nobody else may have it open, or own it.
        return is_busy and stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and is_mine(found)
    return isinstance(error, _NotReplacedError) or is_busy or getattr(error, "errno", None) in _NO_NEW_NAME


def _patiently(action: Callable[[], T]) -> T:
    """Do something with a file that another program may have open for a moment."""
    end = time.monotonic() + BUSY_LIMIT
    while True:
        try:
            return action()
        except OSError as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
        time.sleep(BUSY_LOOK)


def _kept(content: bytes, name: str) -> str:
    """A copy of a content in the temporary folder."""
    descriptor, path = tempfile.mkstemp(prefix=f"{name[:40]}.", suffix=".old")
    with open(descriptor, "wb") as file:
        file.write(content)
    return path


def _overwrite(file: BinaryIO, content: bytes) -> None:
    file.seek(0)
    file.write(content)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())
    file.seek(0)
    if file.read() != content:
        raise OSError(errno.EIO, "it does not hold what was written")
