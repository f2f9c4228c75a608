"""Opens the files of a person: what is below a folder of a window is read and written through here alone.

A project decides what its paths lead to: a pipe has no end, a link leads to a device, a file without a size is endless,
and a folder can be swapped for a link between a look and the open. So each part of a path is opened from the folder
above it, and no link is followed; a caller that means to follow links resolves the path first, and then the same holds
for what it has led to. Only regular files are opened, and no more is read than the caller says. Windows has no
descriptors of folders: there each part is looked at just before and after the file is opened.

A `FileRefusedError` is raised, whose text is a sentence about the path. Every function blocks, and a disk that hangs
holds up the thread that asks: none of them is for the editor's thread or an event loop (`background.answered` leaves
such a thread and says so). Nothing process-wide is changed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from ..visible import visible_name

T = TypeVar("T")

BUSY_LIMIT = 1.0
"""Seconds in which a file that another program has open, as antivirus programs do, is tried again."""
BUSY_LOOK = 0.05
"""Seconds between two tries."""
_BUSY = {5, 32, 33}
"""ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION of Windows."""
_WITHOUT_SIZE = 1024 * 1024
"""Bytes that are read of a file that has no size, before another program opens it."""
_SHOWN = 300
"""Characters of a path in a sentence."""
_STEP = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY)) | getattr(os, "O_DIRECTORY", 0)
"""A folder is only passed through; reading it may be forbidden."""
_NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0)
_AS_IT_IS = (
    _NOT_FOLLOWED
    | getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AS_IT_IS
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_HAS_DESCRIPTORS = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
_NOT_REPLACED = {1, 50, 1175, 1176, 1177}
"""What ReplaceFileW says where a file system lacks it, and if it could not do it."""
_ACL_AND_ATTRIBUTES = 1 << 0 | 1 << 2
"""COPYFILE_ACL and COPYFILE_XATTR of macOS' <copyfile.h>."""
_NO_NEW_NAME = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
"""What a folder that can't be written to says, and a file that is the target of a mount."""
_DEVICE = re.compile(
    r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9\u00b9\u00b2\u00b3])\s*(\..*)?", re.IGNORECASE | re.DOTALL
)
"""Names that Windows takes for devices in any folder (its page “Naming Files, Paths, and Namespaces”)."""
_NAME_SURROGATE = 0x2000_0000
"""The bit of a reparse tag that says that a name stands for another one: links and junctions, not files in a cloud."""
_REPLACED = "was replaced while it was opened"
_CHUNK = 1024 * 1024
_LARGEST_OPENED = 64 * 1024 * 1024
"""Bytes of a file that the editor opens where nobody has chosen it from the disk: it takes all of it into memory."""
MOST_KEPT = 64 * 1024 * 1024
"""Bytes of a file that is written in place: its old content is kept in memory and on the disk until that is done."""
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


class FileRefusedError(OSError):
    """A file is not opened. The text says why, and so do the words `why`, which follow the path.

    `strerror` has the system's own words if it is the system that refuses.
    """

    def __init__(self, path: str, why: str, number: int = errno.EINVAL, words: str | None = None) -> None:
        super().__init__(number, words or why, path)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{shown(self.path)} {self.why}"


class MissingError(FileRefusedError, FileNotFoundError):
    """There is no such file."""


class UnreadableError(FileRefusedError):
    """The system can't open or read it, or doesn't let this user do so."""


class LinkedError(FileRefusedError):
    """The path is one of a link, or leads through one."""


class IrregularError(FileRefusedError):
    """It is a folder, a pipe, a socket or a device."""


class OversizeError(FileRefusedError):
    """It has more bytes than the caller takes."""


class HangingError(FileRefusedError):
    """Its disk has not answered in time. The thread that waits for it is left alone."""


class _NotReplacedError(Exception):
    """A new file would not be the same as the old one to others: it has another owner, links or attributes."""


@dataclass(frozen=True, slots=True)
class Content:
    """What was read of a file."""

    data: bytes
    found: os.stat_result
    """What the system said of the file when it was opened."""
    is_whole: bool = True
    """False if there is more before it (`FolderEntry.read_end`)."""


class FolderEntry:
    """A name in a folder. The folder stays the same one, whatever its path leads to later."""

    def __init__(self, path: str, folder: int | None) -> None:
        """`folder` is the descriptor of the folder of `path`; None where the system has none."""
        self.path = path
        self._folder = folder
        self._name = os.path.basename(path)

    def found(self) -> os.stat_result:
        """What the system says of it; of a link, and not of what that leads to. Raises FileRefusedError."""
        with _refusing(self.path):
            return os.stat(self._at(self._name), dir_fd=self._folder, follow_symlinks=False)

    def read(self, limit: int) -> Content:
        """The content of a regular file of at most `limit` bytes, however many the system says it has.

        Raises:
            FileRefusedError: there is none, or it can't be read.
        """
        with self._opened(limit) as (descriptor, found):
            data = self._read(descriptor, limit + 1)
        if len(data) > limit:
            raise OversizeError(self.path, _too_large(limit), errno.EFBIG)
        return Content(data, found)

    def copy(self, target: BinaryIO, limit: int) -> os.stat_result:
        """Copy a regular file of at most `limit` bytes, without all of it in memory. Raises as `read`, and OSError."""
        with self._opened(limit) as (descriptor, found):
            left = limit
            while data := self._read(descriptor, min(left + 1, _CHUNK)):
                left -= len(data)
                if left < 0:
                    raise OversizeError(self.path, _too_large(limit), errno.EFBIG)
                target.write(data)
        return found

    def read_end(self, limit: int) -> Content:
        """The last bytes of a regular file, at most `limit`, or its first ones if its size isn't known."""
        with self._opened(None) as (descriptor, found):
            at = os.lseek(descriptor, max(0, found.st_size - limit), os.SEEK_SET)
            return Content(self._read(descriptor, limit), found, is_whole=not at)

    def link(self) -> str:
        """What a symbolic link says. Raises FileRefusedError."""
        with _refusing(self.path):
            return os.readlink(self._at(self._name), dir_fd=self._folder)

    def open(self, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
        """A descriptor of the file, as `os.open`; a link is refused and a pipe is not waited for. Raises OSError."""
        return os.open(self._at(self._name), flags | _AS_IT_IS, mode, dir_fd=self._folder)

    def beside(self, name: str) -> FolderEntry:
        """Another name in the same folder."""
        return FolderEntry(os.path.join(os.path.dirname(self.path), name), self._folder)

    def create(self, content: bytes, mode: int, permissions: int | None = None) -> None:
        """Write a new file, of which the umask applies to the mode, and not to its permissions if they are given.

        Raises OSError, also if something is there.
        """
        with open(self.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            if permissions is not None:
                self._permit(file.fileno(), os.fstat(file.fileno()), permissions)

    def create_link(self, target: str) -> None:
        """Make a symbolic link. Raises OSError if something is there."""
        os.symlink(target, self._at(self._name), dir_fd=self._folder)

    def rename(self, other: FolderEntry) -> None:
        """Give it another name in its folder, and replace what has that; patient with a program that has that open.

        Raises OSError.
        """
        names = self._at(self._name), self._at(other._name)
        _patiently(lambda: os.replace(*names, src_dir_fd=self._folder, dst_dir_fd=self._folder))

    def unlink(self) -> None:
        """Remove a file or a link. Raises OSError."""
        os.unlink(self._at(self._name), dir_fd=self._folder)

    def rmdir(self) -> None:
        """Remove an empty folder. Raises OSError."""
        os.rmdir(self._at(self._name), dir_fd=self._folder)

    def chmod(self, permissions: int) -> None:
        """Set the permissions of a regular file. Raises OSError."""
        with self._opened(None) as (descriptor, found):
            self._permit(descriptor, found, permissions)

    def _permit(self, descriptor: int, found: os.stat_result, permissions: int) -> None:
        """Set the permissions if they are others.

        Whoever may write a file may not always do that, nor has every disk them.
        """
        if stat.S_IMODE(found.st_mode) != permissions:
            # Windows takes no descriptor of a file that is only read.
            os.chmod(self._at(self._name) if self._folder is None else descriptor, permissions)

    def replace(self, content: bytes, *, is_private: bool = False) -> None:
        """Write the file: a reader sees the old content or the new.

        The mode, the owner, hard links, access lists and attributes stay. Where that needs the old file itself, or the
        folder takes no new one, it is written in place; its old content is kept in the temporary folder until the new
        one was read back. A private file is readable by this user only, and a link in its place is replaced.

        Raises:
            OSError: it could not be written, and is what it was. If even that failed, the message says where its old
                content is.
        """
        try:
            found = self.found()
        except FileNotFoundError:
            found = None
        if found and not is_private:
            self.refuse_write(found)
        try:
            self._swap(content, None if is_private else found, 0o600 if is_private else 0o666)
        except (OSError, _NotReplacedError) as error:
            if found is None or not _may_be_written(error, found, is_private=is_private):
                raise
            self._write_in_place(content, found)

    @contextlib.contextmanager
    def _opened(self, limit: int | None) -> Generator[tuple[int, os.stat_result]]:
        """A descriptor of the regular file. To open a device may already do something, so it is looked at first."""
        self.refuse(self.found(), limit)
        with _refusing(self.path):
            descriptor = self.open()
        try:
            found = os.fstat(descriptor)
            if self._folder is None:
                self.refuse(self.found(), limit)
            self.refuse(found, limit)
            yield descriptor, found
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int, most: int) -> bytes:
        """At most so many bytes from where a file is."""
        parts: list[bytes] = []
        with _refusing(self.path):
            while most and (data := os.read(descriptor, min(most, _CHUNK))):
                parts.append(data)
                most -= len(data)
        return b"".join(parts)

    def refuse(self, found: os.stat_result, limit: int | None) -> None:
        """Raise what is wrong with something that is to be read, by what the system says of it."""
        if _is_link(found):
            raise LinkedError(self.path, "is a symbolic link", errno.ELOOP)
        if stat.S_ISDIR(found.st_mode):
            raise IrregularError(self.path, "is a folder", errno.EISDIR)
        if not stat.S_ISREG(found.st_mode):
            raise IrregularError(self.path, "is not a regular file")
        if limit is not None and found.st_size > limit:
            raise OversizeError(self.path, _too_large(limit), errno.EFBIG)

    def refuse_write(self, found: os.stat_result) -> None:
        """Raise what is wrong with something that is to be written, by what the system says of it."""
        if not stat.S_ISREG(found.st_mode):
            raise IrregularError(self.path, "is not a regular file")
        may_write = os.access(self._at(self._name), os.W_OK, dir_fd=self._folder)
        if not found.st_mode & _WRITABLE or not may_write:
            raise FileRefusedError(self.path, "is read-only", errno.EACCES)

    def _at(self, name: str) -> str:
        if self._folder is not None:
            return name
        folder = os.path.dirname(self.path)
        if os.path.normcase(os.path.realpath(folder)) != os.path.normcase(folder):
            raise LinkedError(self.path, "is in a folder that leads elsewhere now", errno.ELOOP)
        return os.path.join(folder, name)

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
                if sys.platform != "win32" or like is None or os.path.lexists(self._at(self._name)):
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

    def _write_in_place(self, content: bytes, like: os.stat_result) -> None:
        with open(_patiently(lambda: self.open(os.O_RDWR)), "r+b") as file:
            found = os.fstat(file.fileno())
            if self._folder is not None and not os.path.samestat(found, like):
                raise LinkedError(self.path, _REPLACED, errno.ELOOP)
            if found.st_size > MOST_KEPT:
                raise OversizeError(self.path, _too_large(MOST_KEPT), errno.EFBIG)
            before = file.read(found.st_size + 1)
            if len(before) > found.st_size:
                raise FileRefusedError(self.path, "grows while it is read", errno.EBUSY)
            kept = _kept(before, self._name)
            try:
                _overwrite(file, content)
            except BaseException as error:
                try:
                    _overwrite(file, before)
                except OSError:
                    why = f"could not be written ({reason_of(error)}); its old content is in {kept}"
                    raise FileRefusedError(self.path, why, errno.EIO) from None
                os.unlink(kept)
                raise
            os.unlink(kept)


class HeldFolder:
    """A folder that is held by its descriptor, such as one of a window. No link below it is followed.

    Paths below it are relative, with the system's separators. One that leads out of it is refused.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        """`path` has no links. `descriptor` is that of the folder; None where the system has none."""
        self.path = path
        self._descriptor = descriptor

    @contextlib.contextmanager
    def entry(self, path: str) -> Generator[FolderEntry]:
        """Hold the folder of a path. Raises FileRefusedError."""
        full = os.path.join(self.path, path)
        *folders, _ = names = _names(full, path)
        with _descended(self.path, self._descriptor, folders, full) as descriptor:
            yield FolderEntry(os.path.join(self.path, *names), descriptor)


@contextlib.contextmanager
def held(folder: str) -> Generator[HeldFolder]:
    """Hold a folder. It may itself be reached through links: the person has opened it. Raises FileRefusedError."""
    real = resolved(folder)
    with _root(real) as (root, descriptor, names), _descended(root, descriptor, names, folder) as inner:
        yield HeldFolder(real, inner)


@contextlib.contextmanager
def place(path: str, *, makes_folders: bool = False) -> Generator[FolderEntry]:
    """Hold the folder of a path that has no links, as `resolved` gives it.

    Args:
        path: an absolute path.
        makes_folders: whether missing folders are made.

    Raises:
        FileRefusedError: there is no such folder, or a part of the path is a link by now.
    """
    with (
        _root(path) as (root, descriptor, [*folders, _]),
        _descended(root, descriptor, folders, path, makes_folders=makes_folders) as inner,
    ):
        yield FolderEntry(path, inner)


def resolved(path: str) -> str:
    """What a path leads to, without links; the file need not be there. Whoever calls this follows links.

    Raises:
        FileRefusedError: it can't be a path, its links are a loop, or it is that of a file and ends like a folder.
    """
    with _refusing(path):
        with contextlib.suppress(FileNotFoundError):
            _followed(path)
        return os.path.realpath(path)


@contextlib.contextmanager
def entry(path: str, *, below: str = "", follows_links: bool = False) -> Generator[FolderEntry]:
    """Hold the folder of a file.

    Args:
        path: an absolute path; with `below` it may be relative to that.
        below: the folder that the file must be in. What leads there may have links; nothing below it may.
        follows_links: whether links of the path are followed. With `below`, they must not lead out of it.

    Raises:
        FileRefusedError: there is no such folder, a link is not followed, or the path leads out of `below`.
    """
    if not below:
        with place(resolved(path) if follows_links else path) as at:
            yield at
        return
    with held(below) as folder:
        if follows_links:
            path, below = resolved(os.path.join(below, path)), folder.path
        with folder.entry(_relative(path, below)) as at:
            yield at


def read(path: str, limit: int, *, below: str = "", follows_links: bool = False) -> Content:
    """The content of a regular file of at most `limit` bytes. The other arguments and errors are those of `entry`."""
    with entry(path, below=below, follows_links=follows_links) as at:
        return at.read(limit)


def look(path: str, limit: int) -> os.stat_result:
    """What is known of a regular file of at most `limit` bytes, before another program opens it and follows its links.

    A file without a size, as in /proc, is read to see whether it ends soon. Raises as `read`.
    """
    # That program resolves the path again, so nothing has to be held.
    found = _followed(path)
    FolderEntry(path, None).refuse(found, limit)
    return found if found.st_size else read(path, min(limit, _WITHOUT_SIZE), follows_links=True).found


def why_unopened(path: str) -> str:
    """A sentence on why the editor is not made to open a file; empty if it is a regular one that is not too large.

    It looks at the disk: not for an event loop nor the UI thread.
    """
    try:
        look(path, _LARGEST_OPENED)
    except MissingError:
        return f"There is no file {shown(path)}."
    except IrregularError as error:
        return f"{shown(path)} is no file: it {error.why}."
    except FileRefusedError as error:
        return f"{error}."
    return ""


def write_private(path: str, content: bytes) -> None:
    """Write a file that only this user can read, in a folder that is there. See `FolderEntry.replace`."""
    folder, name = os.path.split(path)
    with place(os.path.join(resolved(folder), name)) as at:
        at.replace(content, is_private=True)


def overwrite(path: str, content: bytes) -> None:
    """Give a file of ours another content in its place. Whoever reads it meanwhile may see half of that.

    Raises OSError.
    """
    folder, name = os.path.split(path)
    with place(os.path.join(resolved(folder), name)) as at, open(at.open(os.O_RDWR), "r+b") as file:
        _overwrite(file, content)


def shown(path: str) -> str:
    """A path as a sentence has it: short, and with the number of each character that would not be seen."""
    return visible_name(path if len(path) <= _SHOWN else f"{path[: _SHOWN - 1]}…")


def reason_of(error: BaseException) -> str:
    """The words without the number and the path, such as "not a directory"."""
    words = getattr(error, "strerror", None) or str(error)
    return words[:1].lower() + words[1:] if words[1:2].islower() else words


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


def user_id() -> int | None:
    """The number of this user; None on Windows, which has none."""
    return None if sys.platform == "win32" else os.getuid()


def is_mine(found: os.stat_result) -> bool:
    """Whether a file belongs to this user. Windows has no such numbers; there the folder's rights decide."""
    user = user_id()
    return user is None or found.st_uid == user


def unsafe(folder: str) -> str:
    """Why it isn't safe to write to a folder: words to put after its path; empty if it is. Raises OSError."""
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    return "" if is_mine(found) else "belongs to another user"


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


def is_elsewhere(path: str, folders: Iterable[str] = ()) -> bool:
    """Whether a path is one of another computer, where none of the folders is, or Windows' own form of any path.

    To look there would send it the person's credentials.
    """
    plain = path.replace("\\", "/")
    inside = (folder.replace("\\", "/").rstrip("/") + "/" for folder in folders if folder)
    return plain.startswith(("//", "/??/")) and not any(map(f"{plain}/".startswith, inside))


def real_folder(path: str) -> str:
    """A folder without links, as a program gets it. A mapped drive of Windows stays one.

    `os.path.realpath` gives a network path for it, in which `cmd.exe` can't work.
    """
    real = os.path.realpath(path)
    if sys.platform == "win32" and is_network(real) and not is_network(path):
        return os.path.abspath(path)
    return real


def _followed(path: str) -> os.stat_result:
    """What is at the end of a path and of its links."""
    with _refusing(path):
        tidy = path.rstrip("".join(_SEPARATORS))
        if tidy != path and os.path.isfile(tidy):
            # The system finds nothing there, and a program that tidies the path would write the file.
            raise FileRefusedError(path, "ends like a folder, but is a file", errno.ENOTDIR)
        try:
            return os.stat(path)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise LinkedError(path, "is a loop of symbolic links", errno.ELOOP) from None
            raise


@contextlib.contextmanager
def _root(path: str) -> Generator[tuple[str, int | None, list[str]]]:
    """The root of the disk of an absolute path, held, and the names below it."""
    if not os.path.isabs(path) or path.replace("/", "\\").startswith("\\\\.\\"):
        raise FileRefusedError(path, "is not the path of a file")
    drive, rest = os.path.splitdrive(path)
    root, names = drive + os.sep, _names(path, rest, may_be_empty=True)
    if not _HAS_DESCRIPTORS:
        yield root, None, names
        return
    descriptor = os.open(root, _STEP)
    try:
        yield root, descriptor, names
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _descended(
    at: str, start: int | None, folders: Sequence[str], path: str, *, makes_folders: bool = False
) -> Generator[int | None]:
    """The descriptor of the folder that some names lead to; None where the system has none.

    Args:
        at: the path of the folder where it begins.
        start: its descriptor, which stays open.
        folders: the names.
        path: the one to name in errors.
        makes_folders: whether missing folders are made.
    """
    if start is None:
        with _refusing(path):
            for name in folders:
                at = os.path.join(at, name)
                if makes_folders and not os.path.lexists(at):
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(at)
                # Who may pass through a folder may not always look at it.
                with contextlib.suppress(PermissionError):
                    _refuse_step(os.lstat(at), name, path)
        yield None
        return
    descriptor = start
    try:
        with _refusing(path):
            for name in folders:
                inner = _entered(descriptor, name, path, makes_folders=makes_folders)
                if descriptor != start:
                    os.close(descriptor)
                descriptor = inner
        yield descriptor
    finally:
        if descriptor != start:
            os.close(descriptor)


def _entered(folder: int, name: str, path: str, *, makes_folders: bool) -> int:
    try:
        return _stepped(folder, name, path)
    except FileNotFoundError as error:
        if not makes_folders or error.errno != errno.ENOENT:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return _stepped(folder, name, path)


def _stepped(folder: int, name: str, path: str) -> int:
    try:
        return os.open(name, _STEP | _NOT_FOLLOWED, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            _refuse_step(os.stat(name, dir_fd=folder, follow_symlinks=False), name, path)
        raise


def _refuse_step(found: os.stat_result, name: str, path: str) -> None:
    if _is_link(found):
        raise LinkedError(path, f"leads through the symbolic link “{shown(name)}”", errno.ELOOP)
    if not stat.S_ISDIR(found.st_mode):
        why = f"does not exist: “{shown(name)}” is not a folder"
        raise MissingError(path, why, errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _is_link(found: os.stat_result) -> bool:
    """Whether it is a link, or on Windows anything else whose name stands for another one, such as a junction."""
    return stat.S_ISLNK(found.st_mode) or bool(getattr(found, "st_reparse_tag", 0) & _NAME_SURROGATE)


def _names(full: str, path: str, *, may_be_empty: bool = False) -> list[str]:
    """The names that a path consists of, below a folder. Raises FileRefusedError, with `full`, if it is no path."""
    separated = path.replace(os.altsep, os.sep) if os.altsep else path
    names = [name for name in separated.split(os.sep) if name not in {"", os.curdir}]
    if os.pardir in names or not (names or may_be_empty):
        raise FileRefusedError(full, "leads out of its folder")
    if "\0" in path:
        raise FileRefusedError(full, "can't be a path: it has a null character")
    if path.endswith(_SEPARATORS) and names:
        raise FileRefusedError(full, "ends like a folder")
    if sys.platform == "win32" and (wrong := next(filter(is_special_on_windows, names), None)):
        raise FileRefusedError(full, f"can't be a file: Windows takes “{shown(wrong)}” for something else")
    return names


def is_special_on_windows(name: str) -> bool:
    """Whether Windows takes a name for a device, for a stream of a file, or for another name."""
    return ":" in name or name.endswith((" ", ".")) or _DEVICE.fullmatch(name) is not None


def _relative(path: str, folder: str) -> str:
    """A path relative to a folder that it must be in."""
    if not os.path.isabs(path):
        return path
    inside = os.path.join(os.path.normcase(folder), "")
    if not os.path.normcase(path).startswith(inside):
        raise FileRefusedError(path, f"is not in {shown(folder)}")
    return path[len(inside) :]


@contextlib.contextmanager
def _refusing(path: str) -> Generator[None]:
    """Say in a sentence what the system says of a path."""
    try:
        yield
    except FileRefusedError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingError(path, "does not exist", error.errno or errno.ENOENT, error.strerror) from error
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK}:
            raise LinkedError(path, "is a symbolic link", errno.ELOOP) from error
        why = f"can't be opened: {reason_of(error)}"
        raise UnreadableError(path, why, error.errno or errno.EIO, error.strerror) from error
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise FileRefusedError(path, "can't be a path") from error


def _too_large(limit: int) -> str:
    for unit, words in ((1 << 20, "MB"), (1 << 10, "KB")):
        if limit >= unit:
            return f"is larger than {limit // unit} {words}"
    return f"is larger than {limit} bytes"


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
