"""Looks at an archive and unpacks it into a new folder: zip, tar (also gzip, bzip2 and xz), or a program by itself.

Everything is looked at before anything is written: names, kinds, links, sizes. What is written is counted as well,
since an archive may say something else than it holds. What is looked at is what the library unpacks, which reads the
archive through `_Bounded`. All functions block.
"""

from __future__ import annotations

import bz2
import contextlib
import itertools
import lzma
import os
import stat
import struct
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Literal

from ..platforms.files import make_link, make_private_folder
from ..visible import visible_name
from .entries import ArchiveError

MOST_FILES = 50_000
MOST_BYTES = 2 * 1024**3
"""Of all that is unpacked."""
MOST_SHOWN = 60
"""Characters of a name in a message."""
_LONGEST_NAME = 1000
_MOST_LINKS = 40
"""On the way to what one link means; also what Linux follows."""
_PIECE = 1024 * 1024
_SMALL = 1024 * 1024
"""Bytes of what a tar file says about a member, or of what is read of one at once."""
_MOST_WORDS = 100
"""Facts that a tar file tells of all its members: each gets a copy of them."""
_LARGEST_LIST = 16 * 1024 * 1024
"""Bytes of the list of a zip file."""
_PACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""What `zipfile` unpacks in small pieces. Of the others it unpacks a whole piece at once, which may be a bomb."""
_MOST_STREAMS = 10_000
"""In one compressed file."""
_INPUT = 64 * 1024
_XZ_MEMORY = 256 * 1024**2
_DEEPEST = 64
"""Names in the path of a member, or in a link."""
_MOST_LINKED = 5000
"""Links in an archive."""
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"}
_RESERVED = _DEVICES | {name + number for name in ("com", "lpt") for number in "123456789¹²³"}
"""What Windows takes for a device, also with an extension, and with blanks before that."""
_PROGRAMS = (b"\x7fELF", b"MZ", b"#!", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How programs of Linux, Windows and macOS, and scripts, begin."""
_END_OF_ZIP = struct.Struct("<4s6xH10x")
"""Its mark, and how many files the archive has."""


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
        # bz2 says so that something is damaged.
        raise ArchiveError(f"it is damaged ({error})") from None
    found = os.path.join(folder, *names)
    if not os.path.isfile(found) or not os.path.realpath(found).startswith(os.path.realpath(folder) + os.sep):
        raise ArchiveError(f"it has no program {program}")


def _copy_program(path: str, folder: str, names: Sequence[str]) -> None:
    """A program that is no archive."""
    member = _Member(tuple(names), "file", os.path.getsize(path), True, partial(open, path, "rb"))
    _write([member], folder, names)


class _Bounded:
    """An archive as a library reads it: never more of its headers than a limit, whatever it says about itself.

    A second look at the headers would be a second reading, which a forged archive could lead to others.
    """

    def __init__(self, file: BinaryIO, most: int, why: str) -> None:
        """`most` are bytes of headers until the next `renew`; `why` is told if more are wanted."""
        self._file = file
        self._most = self._left = most
        self._why = why
        self._size = file.seek(0, os.SEEK_END)
        self.tell, self.seekable, self.close = file.tell, file.seekable, file.close
        file.seek(0)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As a file's. Raises ArchiveError for a place that no file has."""
        try:
            return self._file.seek(offset, whence)
        except OSError:
            raise ArchiveError("it is damaged (it names a place that it does not have)") from None

    def renew(self) -> None:
        """One member is listed: the next one may have as much."""
        self._left = self._most

    def listed(self) -> None:
        """All members are listed: what is read from now on are their contents, which whoever writes them counts."""
        self._left = sys.maxsize

    def read(self, size: int | None = -1) -> bytes:
        """As a file's, also in pieces: newer versions of `tarfile` ask so. Raises ArchiveError if it is too much."""
        rest = max(0, self._size - self._file.tell())
        wanted = rest if size is None or size < 0 else min(size, rest)
        if wanted > self._left:
            raise ArchiveError(self._why)
        self._left -= wanted
        return self._file.read(wanted)


def _unpack_zip(path: str, folder: str, program: Sequence[str]) -> None:
    with open(path, "rb") as file:
        bounded: Any = _Bounded(file, _LARGEST_LIST, f"it has more than {MOST_FILES:,} files")
        with zipfile.ZipFile(bounded) as archive:
            found = archive.infolist()
            file.seek(-_END_OF_ZIP.size - len(archive.comment), os.SEEK_END)
            mark, count = _END_OF_ZIP.unpack(file.read(_END_OF_ZIP.size))
            if mark != b"PK\x05\x06" or count != len(found):
                raise ArchiveError("it is damaged (its end says another number of files)")
            if sum(each.compress_size for each in found) > os.path.getsize(path):
                raise ArchiveError("it is damaged (its files overlap)")
            members = [_from_zip(archive, each) for each in found]
            bounded.listed()
            _write(members, folder, program)


def _from_zip(archive: zipfile.ZipFile, found: zipfile.ZipInfo) -> _Member:
    mode = found.external_attr >> 16
    # `filename` is cut at a NUL, and another field may replace it; `orig_filename` is what stands there.
    kind: Literal["file", "folder", "link"] = "folder" if found.orig_filename.endswith("/") else "file"
    target = ""
    if found.compress_type not in _PACKED:
        raise ArchiveError(f"{_quoted(found.filename)} is packed in a way that is not supported")
    if found.flag_bits & 1:
        raise ArchiveError("it is encrypted")
    if stat.S_ISLNK(mode):
        kind = "link"
        if found.file_size > _LONGEST_NAME:
            raise ArchiveError(f"the link {_quoted(found.filename)} is too long")
        # `read` without a size would unpack all that the archive has there, whatever size it says.
        with archive.open(found) as content:
            target = content.read(_LONGEST_NAME).decode("utf-8")
    elif stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise ArchiveError(f"{_quoted(found.filename)} is no file")
    name = _name(found.orig_filename)
    return _Member(name, kind, found.file_size, bool(mode & 0o111), lambda: _opened(archive.open(found)), target)


def _unpack_tar(path: str, folder: str, program: Sequence[str], begin: bytes) -> None:
    stream = next((stream for mark, stream in _STREAMS.items() if begin.startswith(mark)), None)
    plain = f"{path}.tar" if stream else path
    try:
        if stream:
            with open(path, "rb") as packed, open(plain, "xb") as file:
                _copy(_decompressed(packed, stream), file, MOST_BYTES)
        with open(plain, "rb") as file:
            bounded: Any = _Bounded(file, _SMALL, "it has too many headers for a file")
            with tarfile.open(fileobj=bounded, mode="r:") as archive:
                members = _listed(archive, bounded.renew)
                bounded.listed()
                _write(members, folder, program)
    finally:
        if stream:
            os.unlink(plain)


class _Gzip:
    """A stream of a gzip file, with the methods that one of bz2 and lzma has."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        """Whether the stream is over."""
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        """Whether there is nothing left to decompress."""
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        """What follows the stream."""
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most so many bytes of the content."""
        return self._stream.decompress(self._stream.unconsumed_tail or data, max_length)


_Stream = _Gzip | bz2.BZ2Decompressor | lzma.LZMADecompressor
_STREAMS: Mapping[bytes, Callable[[], _Stream]] = {
    b"\x1f\x8b": _Gzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _XZ_MEMORY),
}
"""By how the file begins: what decompresses one of its streams, with a sensible amount of memory."""


def _decompressed(file: BinaryIO, begin: Callable[[], _Stream]) -> Iterator[bytes]:
    """The content of a compressed file, in pieces of at most 1 MB. It may consist of a limited number of streams."""
    data = file.read(_INPUT)
    for count in itertools.count():
        # Zeros may stand between two streams.
        while data and not (data := data.lstrip(b"\0")):
            data = file.read(_INPUT)
        if not data:
            return
        if count == _MOST_STREAMS:
            raise ArchiveError("it consists of too many parts")
        stream = begin()
        while not stream.eof:
            if piece := stream.decompress(data, _PIECE):
                yield piece
            data = b""
            if stream.needs_input and not stream.eof and not (data := file.read(_INPUT)):
                raise EOFError("it ends too early")
        data = stream.unused_data or file.read(_INPUT)


def _listed(archive: tarfile.TarFile, renew: Callable[[], object]) -> list[_Member]:
    """The members of a tar file. What it says about them besides is forgotten at once: it may be much.

    `renew` is called after each member.
    """
    members: list[_Member] = []
    for found in archive:
        if len(archive.pax_headers) > _MOST_WORDS:
            raise ArchiveError("it has too many headers for all files")
        if len(members) == MOST_FILES:
            raise ArchiveError(f"it has more than {MOST_FILES:,} files")
        found.pax_headers = {}
        found.uname = found.gname = ""
        members.append(_from_tar(archive, found))
        renew()
    return members


def _from_tar(archive: tarfile.TarFile, found: tarfile.TarInfo) -> _Member:
    kind: Literal["file", "folder", "link", "same"]
    if found.size < 0:
        raise ArchiveError(f"it is damaged (the size of {_quoted(found.name)} is negative)")
    if len(found.linkname) > _LONGEST_NAME:
        raise ArchiveError(f"the link {_quoted(found.name)} is too long")
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
    if len(parts) > _DEEPEST:
        raise ArchiveError(f"{_quoted(name)} is in too many folders")
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
                left -= _copy(iter(partial(content.read, _PIECE), b""), file, min(left, source.size))
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
    folders |= _above([*files, *links, *folders])
    if len(links) > _MOST_LINKED:
        raise ArchiveError(f"it has more than {_MOST_LINKED:,} links")
    if wrong := next((key for key in folders if key in files or key in links), None):
        raise ArchiveError(f"something in it is in a file or behind a link: {_quoted('/'.join(wrong))}")
    _follow(links)
    return files


def _above(names: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """All folders that these names are in. Raises ArchiveError if they are too many."""
    folders: set[tuple[str, ...]] = set()
    for name in names:
        folders.update(name[:length] for length in range(1, len(name)))
        if len(folders) > MOST_FILES:
            raise ArchiveError(f"it has more than {MOST_FILES:,} folders")
    return folders


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
            if len(at) > _DEEPEST:
                raise ArchiveError(f"the link {quoted} leads through too many folders")
        return at

    for link in links.values():
        lead(link, _MOST_LINKS)


def _steps(link: _Member) -> list[str]:
    """The names in the target of a link. Raises ArchiveError if it is none, or an absolute one."""
    target = link.target
    if not target or not target.isprintable() or "\\" in target or target.startswith("/") or target[1:2] == ":":
        raise ArchiveError(f"the link {_quoted('/'.join(link.name))} leads out of its folder")
    steps = [part for part in target.split("/") if part not in {"", "."}]
    if len(steps) > _DEEPEST:
        raise ArchiveError(f"the link {_quoted('/'.join(link.name))} leads through too many folders")
    return steps


def _key(name: Sequence[str]) -> tuple[str, ...]:
    """A name as a file system has it that knows no cases and composes characters: D145 of the Unicode standard."""
    # Composed before, a character may hide from the folding what it is made of; folded, one may be decomposed.
    return tuple(unicodedata.normalize("NFD", unicodedata.normalize("NFD", part).casefold()) for part in name)


def _copy(pieces: Iterable[bytes], to: BinaryIO, limit: int) -> int:
    """Copy at most `limit` bytes. Returns how many they were. Raises ArchiveError if there are more."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise ArchiveError("it unpacks to more than it says, or than may be")
        to.write(piece)
    return size


def _quoted(name: str) -> str:
    shown = visible_name(name)
    return f"“{shown if len(shown) <= MOST_SHOWN else shown[: MOST_SHOWN - 1] + '…'}”"
