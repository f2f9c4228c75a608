"""Diffs as a CLI and a person see them: openDiff, closeDiff and the outcome."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.editor import ReviewId, WindowId
from companion.review import changes as changes_module
from companion.review.changes import Action, Target, edits_of
from companion.review.compare import Change
from companion.review.marks import Marks
from companion.settings import Settings

from ..conftest import Running, until
from ..wire import Cli, Stream

TEXTS = {
    "line feeds": "a\nb\n",
    "CRLF": "a\r\nb\r\n",
    "mixed": "a\r\nb\nc\rd",
    "no last newline": "a\nb",
    "BOM": "\ufeffa\n",
    "BOM and CRLF": "\ufeffa\r\n",
    "tabs": "\ta\t\n\n\n",
    "emoji": "😀 e\u0301 \u2028 \u0085 \x0c\n",
    "NUL": "a\0b\n",
    "empty": "",
    "one newline": "\n",
    "5 MB": "".join(f"line {i} é\r\n" if i % 3 else f"line {i}\n" for i in range(350_000)),
}


def test_a_diff_shows_the_file_and_the_proposal(running: Running, cli: Cli, path: str):
    """Both with line feeds alone; the answer is empty and comes at once."""
    cli.open_diff(path, "new\r\nlines\r\n")
    diff = running.diff(path)
    assert (diff.original, diff.text, diff.review.owner.window) == ("old\n", "new\nlines\n", 1)
    assert diff.review.owner.cli == "Qwen Code"
    assert Path(path).read_bytes() == b"old\r\n"


def test_a_diff_opens_in_the_window_of_the_cli_that_asked(running: Running, path: str):
    """Not in the window in front."""
    running.open_window(WindowId(2))
    cli, stream = running.listening(WindowId(2))
    running.do(lambda companion: companion.window_focused(WindowId(1)))
    cli.open_diff(path, "new\n")
    assert running.diff(path).review.owner.window == 2
    running.accept(path)
    assert stream.take("ide/diffAccepted")["filePath"] == path


@pytest.mark.parametrize("name", ["new.txt", "no/such/folder/new.txt"])
def test_a_new_file_is_shown_against_nothing(running: Running, cli: Cli, project: Path, name: str):
    cli.open_diff(str(project / name), "new\n")
    assert running.diff(str(project / name)).original == ""
    assert not (project / name).exists()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_an_unedited_proposal_comes_back_byte_for_byte(
    running: Running, cli: Cli, stream: Stream, project: Path, text: str
):
    """What the person did not change is what the CLI proposed."""
    path = str(project / "new.txt")
    cli.open_diff(path, text)
    running.accept(path)
    accepted = stream.take("ide/diffAccepted")
    # Not compared by the assertion itself: it would explain 5 MB.
    same = accepted["content"] == text
    assert same
    assert accepted.keys() == {"filePath", "content"}


def test_edited_text_comes_back_with_the_proposals_line_endings(running: Running, cli: Cli, stream: Stream, path: str):
    """The person's own edits included."""
    cli.open_diff(path, "\ufeffa\r\nb\nc")
    running.accept(path, "a\nB\nc")
    assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "\ufeffa\r\nB\r\nc"}


@pytest.mark.parametrize(
    "name",
    ["a.txt", "./a.txt", "sub/../a.txt", "a//b.txt", "é😀 .txt", "e\u0301.txt", "a\\b.txt", " a ", "a.txt/", "%41"],
)
def test_the_path_is_echoed_byte_for_byte(running: Running, cli: Cli, stream: Stream, project: Path, name: str):
    """It is the CLI's key; a tidied one would be ignored."""
    path = f"{project}/{name}"
    cli.open_diff(path, "new\n")
    running.accept(path)
    assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "new\n"}
    cli.open_diff(path, "new\n")
    running.reject(path)
    assert stream.take("ide/diffRejected") == {"filePath": path}
    cli.open_diff(path, "new\n")
    running.diff(path)
    assert cli.close_diff(path) == {"content": "new\n"}


def test_rejecting_is_told_and_closes_the_diff(running: Running, cli: Cli, stream: Stream, path: str):
    cli.open_diff(path, "new\n")
    running.reject(path)
    assert stream.take("ide/diffRejected") == {"filePath": path}
    assert running.editor.open_diffs == {}


def test_an_outcome_goes_to_the_session_that_asked_and_to_no_other(running: Running, path: str):
    """Two CLIs may have a diff of one file."""
    (first, first_stream), (second, second_stream) = running.listening(), running.listening()
    first.open_diff(path, "first\n")
    number = running.diff(path).review.number
    second.open_diff(path, "second\n")
    until(lambda: len(running.editor.open_diffs) == 2)
    running.do(lambda companion: companion.reviews.reject(number))
    assert first_stream.take("ide/diffRejected")
    running.accept(path)
    assert second_stream.take("ide/diffAccepted")["content"] == "second\n"
    running.focus(1, path)
    assert first_stream.take("ide/contextUpdate")
    assert second_stream.take("ide/contextUpdate")


def test_closing_returns_the_text_as_json_and_notifies_nobody(running: Running, cli: Cli, stream: Stream, path: str):
    """In practice the text is the JSON of an object."""
    cli.open_diff(path, "new\r\n")
    running.diff(path)
    assert cli.close_diff(path) == {"content": "new\r\n"}
    assert running.editor.open_diffs == {}
    assert running.editor.kept == []
    running.focus(1, path)
    stream.take("ide/contextUpdate")


def test_closing_a_diff_that_was_edited_returns_the_edits_and_keeps_them(running: Running, cli: Cli, path: str):
    """Newer CLIs write their own proposal after a "yes" in the terminal, so the person's text would be lost."""
    cli.open_diff(path, "new\r\n")
    running.diff(path).text = "mine\nand more\n"
    assert cli.close_diff(path) == {"content": "mine\r\nand more\r\n"}
    [(window, title, text, why)] = running.editor.kept
    assert (window, title, text) == (1, "a.txt", "mine\nand more\n")
    assert "a.txt" in why


def test_closing_what_is_not_open_returns_no_content(running: Running, cli: Cli, path: str):
    """For it may just have been answered in the editor."""
    assert cli.close_diff(path) == {}
    cli.open_diff(path, "new\n")
    running.accept(path)
    assert cli.close_diff(path) == {}


def test_a_session_cannot_close_the_diff_of_another(running: Running, cli: Cli, path: str):
    cli.open_diff(path, "new\n")
    running.diff(path)
    assert running.listening()[0].close_diff(path) == {}
    assert cli.close_diff(path) == {"content": "new\n"}


def test_a_newer_proposal_takes_the_place_of_the_older_one(running: Running, cli: Cli, stream: Stream, path: str):
    """Without a notification, which the CLI would take for the newer one's; what was edited is kept."""
    cli.open_diff(path, "first\n")
    first = running.diff(path)
    first.text = "mine\n"
    cli.open_diff(path, "second\n")
    until(lambda: [diff.text for diff in list(running.editor.open_diffs.values())] == ["second\n"])
    assert [text for _, _, text, _ in running.editor.kept] == ["mine\n"]
    running.do(lambda companion: companion.reviews.accept(first.review.number, "mine\n"))
    running.accept(path)
    assert stream.take("ide/diffAccepted")["content"] == "second\n"


def test_an_empty_text_is_refused_with_a_message_and_the_diff_stays(
    running: Running, cli: Cli, stream: Stream, path: str
):
    """The CLIs would write their own proposal instead."""
    cli.open_diff(path, "new\n")
    running.accept(path, "")
    [(message, window)] = running.editor.said
    assert "empty" in message
    assert window == 1
    running.accept(path, "mine\n")
    assert stream.take("ide/diffAccepted")["content"] == "mine\n"


def test_an_empty_proposal_may_be_accepted(running: Running, cli: Cli, stream: Stream, path: str):
    """Then it is what the CLI wants to write."""
    cli.open_diff(path, "")
    running.accept(path)
    assert stream.take("ide/diffAccepted") == {"filePath": path, "content": ""}
    assert running.editor.said == []


ABSOLUTE = os.path.abspath("a.txt")


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("openDiff", {}, "filePath"),
        ("openDiff", {"filePath": ABSOLUTE}, "newContent"),
        ("openDiff", {"newContent": "secret"}, "filePath"),
        ("openDiff", {"filePath": "a.txt", "newContent": "secret"}, "absolute"),
        ("openDiff", {"filePath": "", "newContent": "secret"}, "absolute"),
        ("openDiff", {"filePath": "~/a.txt", "newContent": "secret"}, "absolute"),
        ("openDiff", {"filePath": f"{ABSOLUTE}\0.txt", "newContent": "secret"}, "NUL"),
        ("openDiff", {"filePath": 7, "newContent": "secret"}, "filePath"),
        ("openDiff", {"filePath": None, "newContent": "secret"}, "filePath"),
        ("openDiff", {"filePath": [ABSOLUTE], "newContent": "secret"}, "filePath"),
        ("openDiff", {"filePath": ABSOLUTE, "newContent": None}, "newContent"),
        ("openDiff", {"filePath": ABSOLUTE, "newContent": 7}, "newContent"),
        ("openDiff", {"filePath": ABSOLUTE, "newContent": ["secret"]}, "newContent"),
        ("openDiff", {"filePath": os.path.dirname(ABSOLUTE), "newContent": "secret"}, "folder"),
        ("openDiff", {"filePath": os.devnull, "newContent": "secret"}, "not a regular file"),
        ("closeDiff", {}, "filePath"),
        ("closeDiff", {"filePath": 7}, "filePath"),
        ("closeDiff", {"filePath": None}, "filePath"),
        ("closeDiff", {"filePath": ABSOLUTE, "suppressNotification": "yes"}, "suppressNotification"),
        ("closeDiff", {"filePath": ABSOLUTE, "suppressNotification": 1}, "suppressNotification"),
    ],
)
def test_bad_arguments_are_an_error_of_that_call_and_change_nothing(
    running: Running, cli: Cli, stream: Stream, path: str, tool: str, arguments: dict[str, Any], named: str
):
    """The error says what is wrong, and does not repeat the text, which may be a whole file."""
    cli.open_diff(path, "new\n")
    shown = running.diff(path)
    result = cli.tool(tool, **arguments)["result"]
    assert result["isError"] is True
    [block] = result["content"]
    assert named in block["text"]
    assert "secret" not in block["text"]
    assert list(running.editor.open_diffs.values()) == [shown]
    running.accept(path)
    assert stream.take("ide/diffAccepted") == {"filePath": path, "content": "new\n"}


def test_a_call_without_arguments_is_an_error_of_that_call(cli: Cli):
    for name in ("openDiff", "closeDiff"):
        assert cli.ask("tools/call", {"name": name}).json()["result"]["isError"] is True


def test_an_unknown_tool_is_an_error_of_that_call(cli: Cli):
    for name in ("getDiagnostics", "opendiff", ""):
        error = cli.tool(name, filePath="/a")["error"]
        assert error["code"] == -32602
        assert name in error["message"]
    assert cli.tools() == {"openDiff", "closeDiff"}


def test_arguments_that_are_not_known_are_let_be(running: Running, cli: Cli, path: str):
    """A later CLI may send more."""
    assert cli.tool("openDiff", filePath=path, newContent="new\n", more=1)["result"]["content"] == []
    running.diff(path)


def test_without_diffs_in_the_settings_the_tools_are_not_offered(start: Callable[..., Running]):
    """The CLI then asks in its terminal alone."""
    running = start(Settings(show_diffs=False))
    cli = running.cli().connect()
    assert cli.tools() == set()
    running.do(lambda companion: companion.configure(Settings()))
    assert cli.tools() == {"openDiff", "closeDiff"}


def test_a_diff_that_cannot_be_shown_is_rejected_and_said(
    stormy: pytest.LogCaptureFixture, running: Running, cli: Cli, stream: Stream, path: str
):
    """Else the CLI would wait for ever for a diff that nobody sees."""
    running.editor.show_fails = TimeoutError("the editor is busy")
    cli.open_diff(path, "new\n")
    assert stream.take("ide/diffRejected") == {"filePath": path}
    [(message, window)] = running.editor.said
    assert "a.txt" in message
    assert window == 1
    running.editor.show_fails = None
    cli.open_diff(path, "new\n")
    running.accept(path)
    assert stream.take("ide/diffAccepted")


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="nothing keeps root from reading")
def test_a_file_that_cannot_be_read_is_rejected_and_said(
    stormy: pytest.LogCaptureFixture, running: Running, cli: Cli, stream: Stream, path: str
):
    os.chmod(path, 0)
    cli.open_diff(path, "new\n")
    assert stream.take("ide/diffRejected") == {"filePath": path}
    assert running.editor.said


@pytest.mark.skipif(sys.platform == "win32", reason="the length of a name is Linux's and macOS's")
def test_a_path_that_the_system_refuses_is_rejected_and_said(
    stormy: pytest.LogCaptureFixture, running: Running, cli: Cli, stream: Stream, project: Path
):
    """A name that is too long can't be read, nor written."""
    path = str(project / ("x" * 300))
    cli.open_diff(path, "new\n")
    assert stream.take("ide/diffRejected") == {"filePath": path}
    assert running.editor.said


class TestChanges:
    """Single changes of a proposal."""

    OLD = "a\nb\nc\nd\n"
    NEW = "A\r\nb\r\nc\r\nD\r\n"

    @pytest.fixture
    def number(self, running: Running, cli: Cli, path: str) -> int:
        Path(path).write_text(self.OLD)
        cli.open_diff(path, self.NEW)
        return running.diff(path).review.number

    def compared(self, running: Running, number: ReviewId, text: str) -> Marks | None:
        """What is marked in a text of the proposal."""
        marking = lambda companion: companion.reviews.texts.compared(number, text)  # noqa: E731
        task = running.do(lambda companion: asyncio.get_running_loop().create_task(marking(companion)))
        until(task.done)
        return task.result()

    def change(self, running: Running, path: str, action: Action, line: int) -> str:
        """Have changes of the proposal reverted or restored, as the editor does. Returns the text."""
        diff = running.diff(path)
        action, edits = edits_of(Target(action, ((line, line),)), diff.review.original, diff.review.shown, diff.text)
        before = diff.text
        for edit in reversed(edits):
            diff.text = edit.apply(diff.text)
        if action == "revert" and edits:
            running.do(lambda companion: companion.reviews.texts.reverted(diff.review.number, before, diff.text))
        return diff.text

    def test_a_change_is_reverted_and_restored(self, running: Running, stream: Stream, number: ReviewId, path: str):
        """By the line that the caret is in."""
        assert self.change(running, path, "revert", 0) == "a\nb\nc\nD\n"
        assert self.change(running, path, "revert", 3) == self.OLD
        assert self.change(running, path, "restore", 3) == "a\nb\nc\nD\n"
        running.accept(path)
        assert stream.take("ide/diffAccepted")["content"] == "a\r\nb\r\nc\r\nD\r\n"

    def test_where_nothing_has_changed_nothing_is_reverted(self, running: Running, number: ReviewId, path: str):
        assert self.change(running, path, "revert", 1) == "A\nb\nc\nD\n"

    def test_while_a_change_is_looked_for_the_collector_is_as_it_was(
        self, running: Running, number: ReviewId, path: str, monkeypatch: pytest.MonkeyPatch
    ):
        """It belongs to the other packages as well."""
        usual = gc.get_threshold()
        thresholds: list[tuple[int, int, int]] = []
        changes = changes_module.changes

        def watched(old: Any, new: Any) -> list[Change]:
            thresholds.append(gc.get_threshold())
            return changes(old, new)

        monkeypatch.setattr(changes_module, "changes", watched)
        assert self.change(running, path, "revert", 0) == "a\nb\nc\nD\n"
        assert self.change(running, path, "restore", 0) == "A\nb\nc\nD\n"
        assert thresholds == [usual, usual]

    def test_marks_follow_the_text(self, running: Running, number: ReviewId, path: str):
        diff = running.diff(path)
        assert diff.marks
        assert diff.marks.count.changes == 2
        found = self.compared(running, number, self.OLD)
        assert found
        assert found.count.changes == 0

    def test_a_diff_that_is_closed_has_no_more_changes(self, running: Running, number: ReviewId, path: str):
        """Late news of its view."""
        running.reject(path)
        assert self.compared(running, number, "") is None
        running.do(lambda companion: companion.reviews.texts.reverted(number, "", "x"))
        assert running.editor.open_diffs == {}

    @pytest.mark.parametrize("settings", [Settings(max_marked_characters=5), Settings(max_marked_lines=2)])
    def test_a_large_text_has_no_marks(self, start: Callable[..., Running], path: str, settings: Settings):
        """It opens at once all the same."""
        Path(path).write_text(self.OLD)
        running = start(settings)
        cli, _ = running.listening()
        cli.open_diff(path, self.NEW)
        assert running.diff(path).marks is None

    def test_a_binary_file_has_no_marks(self, running: Running, cli: Cli, path: str):
        Path(path).write_bytes(b"\0\1\2")
        cli.open_diff(path, self.NEW)
        assert running.diff(path).marks is None
