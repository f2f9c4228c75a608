from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.review import disk
from companion.review.disk import DiskFile, read_file, stamp
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
    """D1: the left side of a diff is the file, whatever its encoding."""
    path = tmp_path / "file"
    path.write_bytes(data)
    found = read_file(str(path))
    assert (found.source.source, found.exists, found.is_text) == (text, True, is_text)


@given(st.binary())
def test_any_bytes_are_some_text(data: bytes):
    """D1."""
    text, _ = disk._decoded(data)
    assert "\r" not in SourceText(text).shown


def test_a_file_that_does_not_exist_is_empty(tmp_path: Path):
    """D1: a CLI proposes new files, in new folders too; or below what is a file now."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "new", tmp_path / "new" / "new", tmp_path / "file" / "new"):
        assert read_file(str(path)) == DiskFile()
        assert stamp(str(path)) is None


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path):
    """D1."""
    with pytest.raises(OSError):
        read_file(str(tmp_path))


def test_a_stamp_changes_with_the_file(tmp_path: Path):
    """D1."""
    path = tmp_path / "file"
    path.write_text("a")
    before = stamp(str(path))
    assert before == stamp(str(path)) == read_file(str(path)).stamp
    path.write_text("ab")
    assert stamp(str(path)) not in {before, None}
