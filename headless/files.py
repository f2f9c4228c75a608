"""Files on disk: their encodings, their line endings, and whether they have changed."""

from __future__ import annotations

import codecs
import os
import sys
import tempfile
from dataclasses import dataclass

ENCODINGS = {
    "UTF-8": ("utf-8", b""),
    "UTF-8 with BOM": ("utf-8", codecs.BOM_UTF8),
    "UTF-16 LE": ("utf-16-le", b""),
    "UTF-16 LE with BOM": ("utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16 BE": ("utf-16-be", b""),
    "UTF-16 BE with BOM": ("utf-16-be", codecs.BOM_UTF16_BE),
    "Western (Windows 1252)": ("cp1252", b""),
    "Western (ISO 8859-1)": ("latin-1", b""),
    "Western (ISO 8859-15)": ("iso8859-15", b""),
    "Western (Mac Roman)": ("mac-roman", b""),
    "DOS (CP 437)": ("cp437", b""),
    "Cyrillic (Windows 1251)": ("cp1251", b""),
    "Central European (ISO 8859-2)": ("iso8859-2", b""),
}
LINE_ENDINGS = {"Unix": "\n", "Windows": "\r\n", "CR": "\r"}
FALLBACK_ENCODING = "Western (Windows 1252)"


def system_line_ending() -> str:
    """The line ending of new files: Windows on Windows, else Unix."""
    return "Windows" if sys.platform == "win32" else "Unix"


@dataclass
class FileFormat:
    """How a buffer's text is written: Sublime's names of an encoding and a line ending."""

    encoding: str = "UTF-8"
    line_ending: str = ""

    def __post_init__(self) -> None:
        self.line_ending = self.line_ending or system_line_ending()

    def encode(self, text: str) -> bytes:
        """The bytes of `text` for the disk.

        Raises UnicodeEncodeError for characters that the encoding does not have.
        """
        codec, mark = ENCODINGS[self.encoding]
        ending = LINE_ENDINGS[self.line_ending]
        if ending != "\n":
            text = text.replace("\n", ending)
        return mark + text.encode(codec, "surrogateescape" if codec == "utf-8" else "strict")


def decode(data: bytes) -> tuple[str, FileFormat]:
    """The text of a file's bytes, with a line feed as its only line ending, and its format."""
    encoding, text = _decode_bytes(data)
    ending = _line_ending_of(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, FileFormat(encoding, ending)


def _decode_bytes(data: bytes) -> tuple[str, str]:
    for name, (codec, mark) in ENCODINGS.items():
        if mark and data.startswith(mark):
            try:
                return name, data[len(mark) :].decode(codec)
            except UnicodeDecodeError:
                break
    if guess := _utf16_without_mark(data):
        return guess, data.decode(ENCODINGS[guess][0])
    try:
        return "UTF-8", data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_fallback(data)


def _decode_fallback(data: bytes) -> tuple[str, str]:
    try:
        return FALLBACK_ENCODING, data.decode("cp1252")
    except UnicodeDecodeError:
        # Five bytes have no meaning in Windows 1252; Latin 1 has one for each.
        return "Western (ISO 8859-1)", data.decode("latin-1")


def _utf16_without_mark(data: bytes) -> str | None:
    """UTF-16 if every second byte of the beginning is zero, as in any mostly Latin text."""
    head = data[:512]
    if len(data) % 2 or len(head) < 4 or b"\0" not in head:
        return None
    for name, zeros, others in (
        ("UTF-16 LE", head[1::2], head[::2]),
        ("UTF-16 BE", head[::2], head[1::2]),
    ):
        if not any(zeros) and all(others):
            try:
                data.decode(ENCODINGS[name][0])
            except UnicodeDecodeError:
                continue
            return name
    return None


def _line_ending_of(text: str) -> str:
    """The ending of the first line decides."""
    newline, cr = text.find("\n"), text.find("\r")
    if cr < 0:
        return "Unix" if newline >= 0 else system_line_ending()
    if newline == cr + 1:
        return "Windows"
    return "CR" if newline < 0 or cr < newline else "Unix"


def replace_file(path: str, data: bytes) -> None:
    """Write a file beside the one at `path` and put it in its place: whoever reads it never sees half of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


@dataclass(frozen=True)
class FileStamp:
    """What tells one version of a file from another without reading it."""

    modified_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, path: str) -> FileStamp | None:
        """The stamp of the file at `path`, None where there is none."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)
