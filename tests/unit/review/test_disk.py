from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from companion.editor import ReviewId, WindowId
from companion.platforms.files import FileRefusedError
from companion.protocol import DiffOutcome
from companion.review import disk
from companion.review.disk import DiskFile, Encodings, SourceText, endings_change, read_file, refusal, stamp
from companion.review.review import Review

BOM = "\ufeff"
ODD = [
    "\r\n",
    "\r",
    "\n",
    "\n\n",
    BOM,
    "\u2028",
    "\u2029",
    "\x0b",
    "\x0c",
    "\x85",
    "\x00",
    "\t",
    "😀",
    "é",
    "e\u0301",
    "",
]
TEXTS = st.lists(st.sampled_from(ODD) | st.text(max_size=5), max_size=30).map("".join)
LINE = st.text(st.characters(exclude_characters="\r\n" + BOM, codec="utf-8"), min_size=1, max_size=8) | st.just("same")
LINES = st.lists(st.tuples(LINE | st.just(""), st.sampled_from(["\r\n", "\n"])), min_size=1, max_size=12)


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


def lines(text: str) -> list[str]:
    """The lines with their endings, which are those that a view turns to line feeds and no others."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


@given(TEXTS)
@example(BOM)
@example(BOM + BOM)
@example("\r")
@example("a\r\nb\rc\nd")
def test_unedited_text_comes_back_as_it_was(text: str):
    """A proposal that the person did not edit is what the CLI wrote, byte for byte."""
    source = SourceText(text)
    assert source.restore(source.shown) == text


@given(TEXTS)
def test_a_view_never_gets_a_carriage_return_nor_the_byte_order_mark(text: str):
    """An editor's view knows line feeds alone."""
    shown = SourceText(text).shown
    assert "\r" not in shown
    assert len(shown.split("\n")) == len(re.split(r"\r\n|\r|\n", text))
    assert shown.startswith(BOM) == text.startswith(BOM + BOM)


@given(st.booleans(), st.lists(st.tuples(LINE, st.sampled_from(["\r\n", "\n", "\r"])), min_size=1), st.data())
def test_an_edit_in_one_line_leaves_every_other_line_its_ending(
    marked: bool, parts: list[tuple[str, str]], data: st.DataObject
):
    """Nothing but the edit changes in a file of mixed line endings."""
    source = BOM * marked + "".join(line + ending for line, ending in parts)
    before = lines(source)
    at = data.draw(st.integers(0, len(before) - 1))
    shown = SourceText(source).shown.split("\n")
    shown[at] = data.draw(LINE)
    after = lines(SourceText(source).restore("\n".join(shown)))
    assert len(after) == len(before)
    assert [line for i, line in enumerate(after) if i != at] == [line for i, line in enumerate(before) if i != at]
    assert after[at].removeprefix(BOM).rstrip("\r\n") == shown[at]


@given(st.booleans(), LINES, st.text(st.characters(exclude_characters="\r" + BOM, codec="utf-8")) | TEXTS)
def test_whatever_the_person_makes_of_a_text_is_what_they_see_when_it_is_opened_again(
    marked: bool, parts: list[tuple[str, str]], edited: str
):
    """With line feeds and CRLF in any mix, and with a byte order mark or without."""
    edited = edited.replace("\r", "").removeprefix(BOM).replace(BOM, "")
    source = SourceText(BOM * marked + "".join(line + ending for line, ending in parts))
    restored = source.restore(edited)
    assert SourceText(restored).shown == edited
    assert restored.startswith(BOM) == marked


@given(st.lists(LINE, min_size=1), st.sampled_from(["\r\n", "\r", "\n"]), st.lists(LINE | st.just("")))
def test_a_text_of_one_kind_of_ending_stays_of_that_kind(before: list[str], ending: str, after: list[str]):
    """Lines that the person adds to a CRLF file end in CRLF."""
    source = SourceText("".join(line + ending for line in before))
    assert source.restore("".join(line + "\n" for line in after)) == "".join(line + ending for line in after)


@given(TEXTS, TEXTS)
@example("a\nB\nc\n", "a\r\nb\r\nc\r\n")
@example("a\r\nB\r\n", BOM + "a\nb\n")
def test_a_proposal_that_has_become_the_file_again_is_the_file_byte_for_byte(proposed: str, file: str):
    """Reverting every change gives the original, for any two texts."""
    proposal, original = SourceText(proposed), SourceText(file)
    expected = proposed if proposal.shown == original.shown else file
    assert proposal.restore(original.shown, original) == expected


def test_added_lines_get_the_ending_that_most_lines_have():
    assert SourceText("a\r\nb\r\nc\n").restore("a\nnew\nb\nc\n") == "a\r\nnew\r\nb\r\nc\n"
    assert SourceText("a\r\nb\nc\n").restore("a\nb\nc\nnew\n") == "a\r\nb\nc\nnew\n"


def test_lines_that_move_up_keep_their_endings():
    assert SourceText("a\r\nb\nc\r\nd\ne\r\n").restore("d\ne\n") == "d\ne\r\n"


def test_a_missing_last_newline_stays_missing_and_a_new_one_stays():
    assert SourceText("a\r\nb").restore("A\nb") == "A\r\nb"
    assert SourceText("a\r\nb").restore("a\nb\n") == "a\r\nb\r\n"
    assert SourceText("a\r\nb\n").restore("a\nb") == "a\r\nb"


def test_an_empty_text_can_be_filled():
    """A new file is proposed empty, and the person writes."""
    assert SourceText("").restore("a\nb\n") == "a\nb\n"
    assert SourceText(BOM).restore("a\n") == BOM + "a\n"


def test_a_change_of_line_endings_or_of_the_mark_is_described():
    described = lambda old, new: endings_change(SourceText(old), SourceText(new))  # noqa: E731
    assert described("a\nb\n", "a\r\nb\r\n") == "LF → CRLF in 2 lines"
    assert described("a\r\nb\nc\n", "a\nb\nc\r\nd") == "CRLF → LF in 1 line, LF → CRLF in 1 line"
    assert described("a\n", BOM + "a\n") == "byte order mark added"
    assert described(BOM + "a\r\n", "a\r") == "byte order mark removed, CRLF → CR in 1 line"
    assert described("a\r\nb\r\n", "a\r\nB\nc\r\n") == ""
    assert described("a\nb", "x\r\ny") == ""
    assert described("a\nb\n", "a\nb\n") == described("", "a\r\n") == ""


def test_in_a_text_of_which_nothing_is_marked_the_lines_are_not_counted():
    assert endings_change(SourceText("a\nb\n"), SourceText("a\r\nb\r\n"), counts=False) == "other line endings"
    assert endings_change(SourceText("a\n"), SourceText(BOM + "a\n"), counts=False) == "byte order mark added"


def test_the_endings_of_the_proposal_go_before_those_of_the_file():
    """A line that both have keeps the proposal's; one that was put back has the file's."""
    assert SourceText("a\r\nb\n").restore("a\nb\nc\n", SourceText("a\nb\r\n")) == "a\r\nb\nc\r\n"
    file = SourceText("a\nx\r\nc\r\n")
    assert SourceText("a\r\nB\nc\n").restore("a\nx\nc\nz\n", file) == "a\r\nx\r\nc\nz\n"


def test_the_endings_of_the_file_do_not_count_if_the_proposal_has_no_such():
    """A proposal of mixed endings without CR gets none from the file."""
    assert SourceText("a\r\nB\nc\n").restore("a\nx\nc\nz\n", SourceText("a\nx\rc\n")) == "a\r\nx\nc\nz\n"


def test_a_lone_cr_and_a_line_feed_after_it_stay_two_endings():
    """Else an empty line that the person adds behind a CR would vanish."""
    source = SourceText("a\rb\nc\n")
    assert SourceText(source.restore("a\n\nc\n")).shown == "a\n\nc\n"


@pytest.mark.parametrize(
    ("file", "proposed", "kept"),
    [
        ("a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n"),
        ("a\nb\n", "a\r\nB\r\n", "a\nB\n"),
        (BOM + "a\n", "A\n", BOM + "A\n"),
        ("a\n", BOM + "A\n", "A\n"),
        ("a\r\nb\nc\n", "a\nb\nC\n", "a\r\nb\nC\n"),
        (BOM + "a", "A\r\nb\r\n", BOM + "A\r\nb\r\n"),
        ("a\r\nb\r\n", "A", "A"),
        ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"),
    ],
)
def test_a_change_of_line_endings_that_was_reverted_is_gone_from_an_unedited_proposal(
    file: str, proposed: str, kept: str
):
    """What is accepted has the line endings and the byte order mark of the file, as the header says."""
    review = Review(Nobody(), "a.txt", SourceText(proposed), ReviewId(1), disk=DiskFile(SourceText(file), exists=True))
    review.keeps_endings = True
    assert review.restored(review.shown) == kept
    review.keeps_endings = False
    assert review.restored(review.shown) == proposed


def test_a_text_whose_endings_were_reverted_is_as_costly_as_the_file():
    """Mixed line endings of many lines take a while, whichever side they come from."""
    mixed = "".join(f"{number}" + ("\r\n" if number % 3 else "\n") for number in range(6_000))
    review = Review(Nobody(), "a.txt", SourceText("a\n"), ReviewId(1), disk=DiskFile(SourceText(mixed), exists=True))
    assert not review.is_costly
    review.keeps_endings = True
    assert review.is_costly


class Nobody:
    """The owner of a review that has no outcome."""

    window = WindowId(1)
    is_model = False
    cli = "Qwen Code"

    def handed_over(self) -> dict[str, Any]:
        return {"session": self.cli}

    def notify(self, outcome: DiffOutcome) -> None:
        raise AssertionError(outcome)
