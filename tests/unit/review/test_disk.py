from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.platforms.files import FileRefusedError
from companion.review import disk
from companion.review.disk import DiskFile, Encodings, read_file, refusal, stamp
from companion.review.source_text import SourceText


@pytest.mark.parametrize(
    ("data", "text", "is_text"),
    [
        (b"", "", True),
        ("é😀\r\n".encode(), "é😀\r\n", True),
        (b"\xef\xbb\xbfa\n", "\ufeffa\n", True),
        ("é\n".encode("utf-16"), "é\n", True),
        (b"\xff\xfea\x00\r\x00\n\x00", "a\r\n", True),
        (b"\xfe\xff\x00a", "a", True),
        (b"\xff\xfea\x00b", "a\ufffd", False),
        (b"caf\xe9 \x80", "café €", True),
        (b"\x81\xe9", "\ufffdé", False),
        (b"a\0b", "a\0b", False),
        (b"\xe9\0b", "é\0b", False),
    ],
    ids=["empty", "utf-8", "marked", "utf-16", "le", "be", "cut off", "cp1252", "neither", "NUL", "cp1252 with NUL"],
)
def test_a_files_bytes_become_text(tmp_path: Path, data: bytes, text: str, is_text: bool):
    """The left side of a diff is the file, whatever its encoding."""
    path = tmp_path / "file"
    path.write_bytes(data)
    found = read_file(str(path))
    assert (found.source.source, found.exists, found.is_text) == (text, True, is_text)


@given(st.binary())
def test_any_bytes_are_some_text(data: bytes):
    text, _ = disk.decoded(data, Encodings())
    assert "\r" not in SourceText(text).shown


def test_a_file_that_does_not_exist_is_empty(tmp_path: Path):
    """A CLI proposes new files, in new folders too; or below what is a file now."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "new", tmp_path / "new" / "new", tmp_path / "file" / "new"):
        assert read_file(str(path)) == DiskFile()
        assert stamp(str(path)) is None


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path):
    with pytest.raises(FileRefusedError, match="is a folder"):
        read_file(str(tmp_path))


def test_a_file_with_a_slash_behind_its_name_is_refused(tmp_path: Path):
    """It would look like a new file, and a CLI that tidies the path would overwrite what nobody has seen."""
    (tmp_path / "a.txt").write_text("old\n")
    for end in ("/", "//"):
        assert refusal(f"{tmp_path}/a.txt{end}") == "ends like a folder, but is a file"
    assert refusal(f"{tmp_path}/new.txt/") is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["FIFO", "device", "socket", "large"])
def test_only_regular_files_under_a_limit_are_read(tmp_path: Path, kind: str):
    """A thread hung in `open` for ever, or read until the memory was full."""
    assert sys.platform != "win32"
    path = tmp_path / "file"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
            bound.bind(str(path))
    else:
        with path.open("wb") as file:
            file.truncate(10_000_000_000)
    expected = "is larger than 64 MB" if kind == "large" else "is not a regular file"
    assert refusal(str(path)) == expected
    with pytest.raises(FileRefusedError, match=expected):
        read_file(str(path))


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    fstat = os.fstat

    def grows(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        path.write_bytes(b"x" * 101)
        return found

    monkeypatch.setattr(os, "fstat", grows)
    monkeypatch.setattr(disk, "READ_LIMIT", 100)
    with pytest.raises(FileRefusedError):
        read_file(str(path))


@pytest.mark.parametrize(
    ("data", "encodings", "text"),
    [
        ("привет".encode("cp1251"), Encodings("Cyrillic (Windows 1251)"), "привет"),
        ("привет".encode("cp1251"), Encodings(fallback="Cyrillic (Windows 1251)"), "привет"),
        ("привет".encode("koi8-r"), Encodings("Cyrillic (KOI8-R)"), "привет"),
        ("日本".encode("shift_jis"), Encodings("Japanese (Shift JIS)"), "日本"),
        ("žš".encode("iso8859-2"), Encodings("Central European (ISO 8859-2)"), "žš"),
        ("é".encode("mac-roman"), Encodings("Western (Mac Roman)"), "é"),
        ("é".encode("cp437"), Encodings("DOS (CP 437)"), "é"),
        ("aé".encode("utf-16-le"), Encodings("UTF-16 LE"), "aé"),
        ("é".encode(), Encodings("UTF-8 with BOM"), "é"),
        ("é".encode(), Encodings("Hexadecimal"), "é"),
        ("é".encode(), Encodings("Undefined", "Nonsense"), "é"),
    ],
)
def test_a_file_is_decoded_as_the_editor_does(tmp_path: Path, data: bytes, encodings: Encodings, text: str):
    """By the encoding of its view, else by the setting."""
    path = tmp_path / "file"
    path.write_bytes(data)
    found = read_file(str(path), encodings)
    assert (found.source.source, found.is_text) == (text, True)


def test_a_stamp_changes_with_the_file(tmp_path: Path):
    path = tmp_path / "file"
    path.write_text("a")
    before = stamp(str(path))
    assert before == stamp(str(path)) == read_file(str(path)).stamp
    path.write_text("ab")
    assert stamp(str(path)) not in {before, None}
