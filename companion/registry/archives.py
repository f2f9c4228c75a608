"""Looks at an archive and unpacks it into a new folder: zip, tar (also gzip, bzip2 and xz), or a program by itself.

Everything is looked at before anything is written: names, kinds, links, sizes. What is written is counted as well,
since an archive may say something else than it holds. All functions block.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import stat
import struct
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal

from ..platforms.files import make_link, make_private_folder
from .failures import ArchiveError

MOST_FILES = 50_000
MOST_BYTES = 2 * 1024**3
"""Of all that is unpacked."""
MOST_SHOWN = 60
"""Characters of a name in a message."""
_LONGEST_NAME = 1000
_MOST_LINKS = 40
"""On the way to what one link means; also what Linux follows."""
_PIECE = 1024 * 1024
_BLOCK = 512
_SMALL = 1024 * 1024
"""Bytes of what a tar file says about a member."""
_XZ_MEMORY = 256 * 1024**2
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"}
_RESERVED = _DEVICES | {name + number for name in ("com", "lpt") for number in "123456789¹²³"}
"""What Windows takes for a device, also with an extension, and with blanks before that."""
_PROGRAMS = (b"\x7fELF", b"MZ", b"#!", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How programs of Linux, Windows and macOS, and scripts, begin."""
_END_OF_ZIP = b"PK\x05\x06"
_END_OF_ZIP_64 = b"PK\x06\x07"


@dataclass(frozen=True, slots=True)
class _Member:
    """One thing in an archive."""

    name: tuple[str, ...]
    kind: Literal["file", "folder", "link", "same"]
    """"same" is another name of a file."""
    size: int
    is_program: bool
    open: Callable[[], BinaryIO]
    """The content of a file."""
    target: str = ""
    """Where a link leads."""


def unpack(path: str, folder: str, program: str) -> None:
    """Unpack an archive into a folder that isn't there yet.

    Args:
        path: the archive, beside which there may be a temporary file.
        folder: where it goes.
        program: the file that must be there afterwards; it can be run then.

    Raises:
        ArchiveError: it is damaged, too large, or not safe. The folder may be there with a part of it.
        OSError: the disk.
    """
    try:
        with open(path, "rb") as file:
            begin = file.read(8)
        make_private_folder(folder)
        names = program.split("/")
        if begin.startswith(b"PK"):
            _unpack_zip(path, folder, names)
        elif begin.startswith(_PROGRAMS):
            _copy_program(path, folder, names)
        else:
            _unpack_tar(path, folder, names, begin)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error) as error:
        raise ArchiveError(f"it is damaged ({error})") from None
    except (NotImplementedError, RuntimeError, UnicodeError, ValueError) as error:
        raise ArchiveError(f"it can't be read ({error})") from None
    except OSError as error:
        if error.errno is not None:
            raise
        # gzip and bz2 say so that something is damaged.
        raise ArchiveError(f"it is damaged ({error})") from None
    found = os.path.join(folder, *names)
    if not os.path.isfile(found) or not _is_inside(found, folder):
        raise ArchiveError(f"it has no program {program}")


def _copy_program(path: str, folder: str, names: Sequence[str]) -> None:
    """A program that is no archive."""
    member = _Member(tuple(names), "file", os.path.getsize(path), True, partial(open, path, "rb"))
    _write([member], folder, names)


def _unpack_zip(path: str, folder: str, program: Sequence[str]) -> None:
    _look_at_end(path)
    with zipfile.ZipFile(path) as archive:
        members = [_from_zip(archive, each) for each in archive.infolist()]
        _write(members, folder, program)


def _look_at_end(path: str) -> None:
    """Refuse a zip file whose list of members would fill the memory."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 65_535 - 22 - 20))
        tail = file.read()
    at = tail.rfind(_END_OF_ZIP)
    if at < 0:
        raise ArchiveError("it is damaged (it has no end)")
    count, length = struct.unpack_from("<HI", tail, at + 10)
    if tail[max(0, at - 20) : at].startswith(_END_OF_ZIP_64) or count > MOST_FILES or length > 64 * _SMALL:
        raise ArchiveError(f"it has more than {MOST_FILES:,} files")


def _from_zip(archive: zipfile.ZipFile, found: zipfile.ZipInfo) -> _Member:
    mode = found.external_attr >> 16
    kind: Literal["file", "folder", "link"] = "folder" if found.is_dir() else "file"
    target = ""
    if found.flag_bits & 1:
        raise ArchiveError("it is encrypted")
    if stat.S_ISLNK(mode):
        kind = "link"
        if found.file_size > _LONGEST_NAME:
            raise ArchiveError(f"the link {_quoted(found.filename)} is too long")
        target = archive.read(found).decode("utf-8")
    elif stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise ArchiveError(f"{_quoted(found.filename)} is no file")
    # `filename` is cut at a NUL; `orig_filename` is what stands there.
    name = _name(found.orig_filename)
    return _Member(name, kind, found.file_size, bool(mode & 0o111), lambda: _opened(archive.open(found)), target)


def _unpack_tar(path: str, folder: str, program: Sequence[str], begin: bytes) -> None:
    reader = _decompressed(path, begin)
    plain = f"{path}.tar" if reader else path
    try:
        if reader:
            with contextlib.closing(reader), open(plain, "xb") as file:
                _copy(reader.read, file, MOST_BYTES)
        _look_at_headers(plain)
        with tarfile.open(plain, "r:") as archive:
            members = [_from_tar(archive, each) for each in archive]
            _write(members, folder, program)
    finally:
        if reader:
            os.unlink(plain)


def _decompressed(path: str, begin: bytes) -> BinaryIO | None:
    """What a compressed file holds; None if it isn't compressed."""
    if begin.startswith(b"\x1f\x8b"):
        return _opened(gzip.open(path))
    if begin.startswith(b"BZh"):
        return _opened(bz2.open(path))
    if begin.startswith(b"\xfd7zXZ"):
        _look_at_memory(path)
        return _opened(lzma.open(path))
    return None


def _look_at_memory(path: str) -> None:
    """Raise LZMAError if an xz file wants more memory than a sensible one."""
    with open(path, "rb") as file:
        lzma.LZMADecompressor(memlimit=_XZ_MEMORY).decompress(file.read(_PIECE), max_length=1)


def _look_at_headers(path: str) -> None:
    """Refuse a tar file whose own words would fill the memory, or that has too many members."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        for count in range(4 * MOST_FILES + 1):
            block = file.read(_BLOCK)
            if len(block) < _BLOCK or not block.strip(b"\0"):
                return
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            if header.size < 0 or file.tell() + header.size > size:
                raise ArchiveError("it is damaged (it ends too early)")
            if header.type in {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}:
                if header.size > _SMALL:
                    raise ArchiveError("it has too many headers for a file")
            elif header.type not in {*tarfile.REGULAR_TYPES, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE}:
                raise ArchiveError(f"{_quoted(header.name)} is a device, a pipe or something else that is no file")
            elif header.issparse():
                raise ArchiveError(f"{_quoted(header.name)} has holes")
            if header.type not in {tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE}:
                file.seek(-(-header.size // _BLOCK) * _BLOCK, os.SEEK_CUR)
            if count >= 4 * MOST_FILES:
                raise ArchiveError(f"it has more than {MOST_FILES:,} files")


def _from_tar(archive: tarfile.TarFile, found: tarfile.TarInfo) -> _Member:
    kind: Literal["file", "folder", "link", "same"]
    if found.issym():
        kind = "link"
    elif found.islnk():
        kind = "same"
    elif found.isdir():
        kind = "folder"
    elif found.isreg() and not found.issparse():
        kind = "file"
    else:
        raise ArchiveError(f"{_quoted(found.name)} is a device, a pipe or something else that is no file")
    return _Member(
        _name(found.name),
        kind,
        found.size if kind == "file" else 0,
        bool(found.mode & 0o111),
        lambda: _opened(archive.extractfile(found)),
        found.linkname,
    )


def _opened(found: object) -> BinaryIO:
    if found is None:
        raise ArchiveError("it is damaged (a file has no content)")
    return found  # type: ignore[return-value]


def _name(name: str) -> tuple[str, ...]:
    """The parts of a name. Raises ArchiveError if it leads out of the folder, or is none on every system."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or "\\" in name:
        raise ArchiveError(f"{_quoted(name)} is not a file name")
    if name.startswith("/") or (len(name) > 1 and name[1] == ":"):
        raise ArchiveError(f"{_quoted(name)} is an absolute path")
    parts = tuple(part for part in name.split("/") if part not in {"", "."})
    if ".." in parts:
        raise ArchiveError(f"{_quoted(name)} leads out of its folder")
    if sys.platform == "win32":
        for part in parts:
            if (
                set(part) & set('<>:"|?*')
                or part[-1] in ". "
                or part.partition(".")[0].rstrip(" ").lower() in _RESERVED
            ):
                raise ArchiveError(f"{_quoted(name)} is not a file name on Windows")
    return parts


def _write(members: Sequence[_Member], folder: str, program: Sequence[str]) -> None:
    """Write the members of an archive, after a look at all of them."""
    if len(members) > MOST_FILES:
        raise ArchiveError(f"it has more than {MOST_FILES:,} files")
    files = _looked_at(members)
    left = MOST_BYTES
    for member in sorted(members, key=lambda each: each.kind == "link"):
        path = os.path.join(folder, *member.name)
        if not member.name:
            continue
        os.makedirs(path if member.kind == "folder" else os.path.dirname(path), exist_ok=True)
        if member.kind in {"file", "same"}:
            source = files[_key(_name(member.target))] if member.kind == "same" else member
            mode = 0o755 if source.is_program or _key(member.name) == _key(program) else 0o644
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(path, flags, mode), "wb") as file, contextlib.closing(source.open()) as content:
                left -= _copy(content.read, file, min(left, source.size))
        elif member.kind == "link":
            make_link(path, member.target)


def _looked_at(members: Sequence[_Member]) -> dict[tuple[str, ...], _Member]:
    """The files by their names, if all members are safe together. Raises ArchiveError."""
    files: dict[tuple[str, ...], _Member] = {}
    links: dict[tuple[str, ...], _Member] = {}
    folders: set[tuple[str, ...]] = set()
    total = 0
    for member in members:
        key = _key(member.name)
        if member.kind == "folder":
            folders.add(key)
            continue
        if not key or key in files or key in links:
            raise ArchiveError(f"it has {_quoted('/'.join(member.name))} twice")
        source = member
        if member.kind == "same":
            if (key_of_file := _key(_name(member.target))) not in files:
                raise ArchiveError(f"{_quoted('/'.join(member.name))} is a link to what isn't there")
            source = files[key_of_file]
        (links if member.kind == "link" else files)[key] = source
        total += source.size
        if total > MOST_BYTES:
            raise ArchiveError(f"it would unpack to more than {MOST_BYTES // 1024**3} GB")
    for key, member in [*files.items(), *links.items(), *((folder, None) for folder in folders)]:
        if any(key[:length] in files or key[:length] in links for length in range(1, len(key))) or (
            member is None and (key in files or key in links)
        ):
            raise ArchiveError(f"{_quoted('/'.join(key))} is in a file or behind a link")
    _follow(links)
    return files


def _follow(links: dict[tuple[str, ...], _Member]) -> None:
    """Raise ArchiveError if a link leads out of the folder, by itself or through others.

    Programs of macOS have links through links: `Versions/Current/Name`, where `Current` is one. A `..` behind another
    link is refused, since systems do not agree on where it leads.
    """
    known: dict[tuple[str, ...], list[str]] = {}

    def lead(link: _Member, left: int) -> list[str]:
        """Where a link leads, all others on the way followed."""
        quoted = _quoted("/".join(link.name))
        at, is_through = list(link.name[:-1]), False
        for part in _steps(link):
            if part == "..":
                if not at or is_through:
                    raise ArchiveError(f"the link {quoted} leads out of its folder, or may")
                at.pop()
                continue
            at.append(part)
            if (key := _key(at)) in links:
                if not left:
                    raise ArchiveError(f"the link {quoted} goes through too many links")
                if key not in known:
                    known[key] = lead(links[key], left - 1)
                at, is_through = list(known[key]), True
        return at

    for link in links.values():
        lead(link, _MOST_LINKS)


def _steps(link: _Member) -> list[str]:
    """The names in the target of a link. Raises ArchiveError if it is none, or an absolute one."""
    target = link.target
    if not target or not target.isprintable() or "\\" in target or target.startswith("/") or target[1:2] == ":":
        raise ArchiveError(f"the link {_quoted('/'.join(link.name))} leads out of its folder")
    return [part for part in target.split("/") if part not in {"", "."}]


def _key(name: Sequence[str]) -> tuple[str, ...]:
    """A name as a file system has it that knows no cases and composes characters."""
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in name)


def _copy(read: Callable[[int], bytes], to: BinaryIO, limit: int) -> int:
    """Copy at most `limit` bytes. Returns how many they were. Raises ArchiveError if there are more."""
    size = 0
    while piece := read(_PIECE):
        size += len(piece)
        if size > limit:
            raise ArchiveError("it unpacks to more than it says, or than may be")
        to.write(piece)
    return size


def _is_inside(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def _quoted(name: str) -> str:
    shown = "".join(each if each.isprintable() else "�" for each in name)
    return f"“{shown if len(shown) <= MOST_SHOWN else shown[: MOST_SHOWN - 1] + '…'}”"
