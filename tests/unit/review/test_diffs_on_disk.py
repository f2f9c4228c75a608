"""A diff whose file changes on the disk, and what is written."""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from companion.changes.rounds import Rounds
from companion.companion import Companion
from companion.editor import ReviewId
from companion.review import reviews as review_module
from companion.review.disk import SourceText

from ..conftest import Running, until
from ..wire import Cli, Stream


class TestWritten:
    """What is accepted is the CLI's to write; the person hears if it does not."""

    def test_accepted_text_that_the_cli_writes_is_not_kept(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, cli: Cli, path: str
    ):
        """The editor never writes it."""
        monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.05)
        cli.open_diff(path, "new\n")
        running.accept(path)
        Path(path).write_text("new\n")
        until(lambda: not running.do(lambda companion: companion.reviews._writes.missing))
        assert running.editor.kept == []

    def test_accepted_text_that_nobody_writes_is_kept(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, cli: Cli, path: str
    ):
        """A CLI may end in between."""
        monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.05)
        monkeypatch.setattr(review_module, "WRITE_LOOK", 0.01)
        cli.open_diff(path, "new\r\n")
        running.accept(path, "mine\n")
        [(window, title, text, why)] = until(lambda: running.editor.kept)
        assert (window, title, text) == (1, "a.txt", "mine\n")
        assert "has not written a.txt" in why

    def test_a_file_that_somebody_removes_meanwhile_has_not_been_written(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, cli: Cli, path: str
    ):
        """Its stamp has changed, and the accepted text is nowhere."""
        monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.05)
        monkeypatch.setattr(review_module, "WRITE_LOOK", 0.01)
        Path(path).write_text("old\n", "utf-8")
        cli.open_diff(path, "new\n")
        number = running.diff(path).review.number

        def accept(companion: Companion) -> None:
            companion.reviews.accept(number, "new\n")
            Path(path).unlink()

        running.do(accept)
        [(_, _, text, _)] = until(lambda: running.editor.kept)
        assert text == "new\n"


def keep_endings(number: ReviewId, keeps: bool, companion: Companion) -> None:
    companion.reviews.texts.keep_endings(number, keeps=keeps)


class TestOnDisk:
    """The file may change while its diff is open."""

    @pytest.fixture
    def running(self, ticking: Running) -> Running:
        return ticking

    def test_a_proposal_that_the_file_already_holds_is_accepted_without_a_diff(
        self, running: Running, cli: Cli, stream: Stream, path: str
    ):
        """Some CLIs propose what they have written."""
        cli.open_diff(path, "old\r\n")
        assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "old\r\n"}
        assert running.editor.seen == []

    def test_a_proposal_that_gets_written_is_accepted(self, running: Running, cli: Cli, stream: Stream, path: str):
        """What the person has made of it is kept."""
        cli.open_diff(path, "new\n")
        running.diff(path).text = "mine\n"
        Path(path).write_bytes(b"new\n")
        assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "new\n"}
        assert [text for _, _, text, _ in until(lambda: running.editor.kept)] == ["mine\n"]
        until(lambda: not running.editor.open_diffs)

    @pytest.mark.parametrize("is_answered", [False, True])
    def test_only_what_the_person_has_accepted_counts_as_reviewed_once_it_is_written(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, cli: Cli, stream: Stream, path: str, is_answered: bool
    ):
        """What a CLI writes without their answer, or after a yes in its terminal, waits for a review."""
        reviewed: list[str] = []
        monkeypatch.setattr(Rounds, "written", lambda _, review, __: reviewed.append(review.name))
        cli.open_diff(path, "new\n")
        review = running.diff(path).review
        if is_answered:
            running.accept(path)
        Path(path).write_bytes(b"new\n")
        assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "new\n"}
        until(lambda: not running.editor.open_diffs)
        until(lambda: not running.do(lambda companion: companion.reviews._writes.missing))
        assert review.outcome == ("accepted" if is_answered else "")
        assert reviewed == (["a.txt"] if is_answered else [])

    def test_a_file_that_changes_while_its_diff_is_open_is_warned_of(self, running: Running, cli: Cli, path: str):
        """The left side is no longer what is there."""
        cli.open_diff(path, "new\n")
        diff = running.diff(path)
        Path(path).write_text("other\n")
        until(lambda: diff.disk_states == ["changed"])

    def test_a_file_that_is_only_touched_is_not(self, running: Running, cli: Cli, stream: Stream, path: str):
        cli.open_diff(path, "new\n")
        diff = running.diff(path)
        os.utime(path, (1, 1))
        other = str(Path(path).with_name("other.txt"))
        cli.open_diff(other, "x\n")
        later = running.diff(other)
        Path(other).write_text("y\n")
        until(lambda: later.disk_states)
        assert diff.disk_states == []

    def test_the_warning_ends_with_its_cause_and_names_a_deleted_file(self, running: Running, cli: Cli, path: str):
        """It stayed for ever."""
        cli.open_diff(path, "new\n")
        diff = running.diff(path)
        Path(path).write_text("other\n")
        until(lambda: diff.disk_states == ["changed"])
        Path(path).unlink()
        until(lambda: diff.disk_states == ["changed", "deleted"])
        os.mkdir(path)
        until(lambda: diff.disk_states[2:] == ["unreadable"])
        os.rmdir(path)
        Path(path).write_bytes(b"old\r\n")
        until(lambda: diff.disk_states[-1] == "same")

    def test_the_file_can_be_read_again(self, running: Running, cli: Cli, stream: Stream, path: str):
        """The warning offers it."""
        cli.open_diff(path, "new\n")
        diff = running.diff(path)
        Path(path).write_text("other\n")
        until(lambda: diff.disk_states == ["changed"])
        running.do(lambda companion: companion.reviews.texts.reload(diff.review.number))
        until(lambda: diff.original == "other\n")
        assert diff.review.disk_state == "same"

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no FIFO")
    def test_a_file_that_becomes_unreadable_leaves_the_other_diffs_alone(
        self, running: Running, cli: Cli, stream: Stream, project: Path, path: str
    ):
        """`look` died of it every 2 s, and every other diff was blind."""
        bad = str(project / "bad.txt")
        cli.open_diff(bad, "x\n")
        first = running.diff(bad)
        assert sys.platform != "win32"
        os.mkfifo(bad)
        until(lambda: first.disk_states == ["unreadable"])
        cli.open_diff(path, "new\n")
        running.diff(path)
        Path(path).write_text("new\n")
        assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "new\n"}

    def test_the_change_of_line_endings_can_be_reverted(self, running: Running, cli: Cli, stream: Stream, path: str):
        """A change of the endings or of the mark alone is a change."""
        Path(path).write_bytes(b"a\r\nb\r\n")
        for keeps, text, content in (
            (False, "a\nb\n", "\ufeffa\nb\n"),
            (True, "a\nb\n", "a\r\nb\r\n"),
            (True, "a\nB\n", "a\r\nB\r\n"),
        ):
            cli.open_diff(path, "\ufeffa\nb\n")
            review = running.diff(path).review
            assert review.endings == "byte order mark added, CRLF → LF in 2 lines"
            keep = partial(keep_endings, review.number, keeps)
            running.do(keep)
            running.accept(path, text)
            assert stream.take("ide/diffAccepted")["content"] == content
            Path(path).write_bytes(b"a\r\nb\r\n")

    def test_an_accepted_text_is_kept_though_its_file_cannot_be_read(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, cli: Cli, path: str
    ):
        """The text was lost."""
        monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.2)
        monkeypatch.setattr(review_module, "WRITE_LOOK", 0.01)
        monkeypatch.setattr(review_module, "stamp", lambda _: None)
        cli.open_diff(path, "new\n")
        running.diff(path)
        Path(path).unlink()
        os.mkdir(path)
        running.accept(path, "mine\n")
        assert [text for _, _, text, _ in until(lambda: running.editor.kept)] == ["mine\n"]

    def test_a_large_text_with_mixed_endings_is_restored_off_the_loop(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, cli: Cli, stream: Stream, path: str
    ):
        """An accept of 100,000 lines held the loop for 572 ms."""
        threads: list[str] = []
        restore = SourceText.restore

        def watched(self: SourceText, *args: Any) -> str:
            threads.append(threading.current_thread().name)
            return restore(self, *args)

        monkeypatch.setattr(SourceText, "restore", watched)
        text = "".join(f"line {number}" + ("\r\n" if number % 3 else "\n") for number in range(10_000))
        cli.open_diff(path, text)
        running.accept(path, running.diff(path).text + "mine\n")
        assert stream.take("ide/diffAccepted")["content"] == text + "mine\r\n"
        loop = running.do(lambda _: threading.current_thread().name)
        assert threads
        assert loop not in threads
