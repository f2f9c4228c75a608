"""The log: what it shows, and what never."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from companion import log
from companion.editor import WindowId
from companion.log import Log
from companion.protocol import OpenDiffArguments

from .conftest import Running, until

OURS = logging.getLogger("companion.review.reviews")
SDK = logging.getLogger(f"{log.SDK}.server")


@pytest.fixture
def lines() -> list[str]:
    """What was written to the console."""
    return []


@pytest.fixture
def debugging(lines: list[str]) -> Iterator[Log]:
    made = Log(lines.append, debug=True)
    yield made
    made.close()


def test_debug_messages_are_shown_with_a_prefix_if_wanted(debugging: Log, lines: list[str], stormy: object):
    OURS.debug("%s opens a diff", "Qwen Code")
    OURS.warning("Careful")
    assert lines[0].startswith("QwenCompanion ")
    assert lines[0].endswith(" [review.reviews] Qwen Code opens a diff")
    assert lines[1].endswith(" [review.reviews] warning: Careful")
    debugging.set_debug(debug=False)
    OURS.info("Nothing")
    OURS.error("Something")
    assert [line.partition("] ")[2] for line in lines[2:]] == ["error: Something"]


def test_only_warnings_of_our_copy_of_the_sdk_are_shown(debugging: Log, lines: list[str]):
    SDK.info("A session")
    SDK.warning("Trouble")
    assert [line.partition(" [")[2] for line in lines] == ["mcp.server] warning: Trouble"]


def test_what_other_packages_do_with_the_libraries_is_not_shown(debugging: Log, lines: list[str], stormy: object):
    for name in ("mcp.server", "uvicorn.error", "httpx2"):
        logging.getLogger(name).error("Theirs")
    assert lines == []


def test_the_loggers_are_left_as_they_were(lines: list[str]):
    others = [logging.getLogger(), *map(logging.getLogger, ("mcp", "mcp.server", "uvicorn", "uvicorn.error"))]
    ours = [logging.getLogger("companion"), logging.getLogger(log.SDK)]

    def states(loggers: list[logging.Logger]) -> list[tuple[int, bool, list[logging.Handler], list[object]]]:
        return [(each.level, each.propagate, list(each.handlers), list(each.filters)) for each in loggers]

    before, before_of_ours = states(others), states(ours)
    made = Log(lines.append, debug=True)
    assert states(others) == before
    assert states(ours) != before_of_ours
    made.close()
    assert states(others + ours) == before + before_of_ours
    OURS.info("Nobody listens")
    assert lines == []


def test_neither_a_token_nor_the_message_of_an_error_is_shown(debugging: Log, lines: list[str], stormy: object):
    token, text = secrets.token_urlsafe(32), "the text of a file"
    OURS.info("token %s", token)
    OURS.info("%s", "long " * 1000)
    with pytest.raises(ValidationError, match=text) as raised:
        OpenDiffArguments.model_validate({"filePath": 5, "newContent": [text]})
    SDK.error("Can't read it", exc_info=raised.value)
    OURS.error("Unexpected", exc_info=raised.value)
    shown = "\n".join(lines)
    assert token not in shown
    assert text not in shown
    assert len(lines[1]) < 600
    assert "ValidationError" in shown
    assert "test_log.py:" in shown
    OURS.error("None", exc_info=(None, None, None))


def test_a_console_that_cannot_be_written_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stormy: object
):
    def write(line: str) -> None:
        raise OSError(line)

    made = Log(write, debug=True)
    OURS.info("Something")
    made.close()
    assert "OSError" in capsys.readouterr().err


def test_a_whole_session_shows_no_secret(
    running: Running, project: Path, debugging: Log, lines: list[str], stormy: object
):
    """Everything that is logged from the connection to the outcome, errors of the CLI included."""
    old, new = "the text that is on disk\n", "the text that is proposed\n"
    path = project / "a.txt"
    path.write_text(old)
    client, stream = running.listening()
    running.focus(7, str(path))
    client.open_diff(str(path), new)
    client.tool("openDiff", filePath=str(path), newContent=[new])
    client.tool("openDiff", newContent=new, other=new)
    client.send(body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [new]})
    client.send(body={"jsonrpc": "2.0", "method": "notifications/initialized", "params": new})
    client.ask("tools/call", {"name": "openDiff", "arguments": new})
    client.ask("nothing/known", {"text": new})
    running.accept(str(path), new + "and edited\n")
    stream.skip_to("ide/diffAccepted")
    stream.close()
    lock = running.lock()
    running.close_window(WindowId(1))
    shown = "\n".join(lines)
    assert f"Qwen Code opens a diff of {path}" in shown
    for secret in (lock["authToken"], old.strip(), new.strip(), "and edited"):
        assert secret not in shown


@pytest.mark.parametrize("length", [30_000, 100_000])
def test_a_path_that_no_system_has_is_neither_logged_nor_said_whole(
    debugging: Log, lines: list[str], stormy: object, running: Running, project: Path, length: int
):
    """The console, the status report and the CLI's own log get a part of it."""
    path = str(project / ("x" * length))
    with running.cli() as cli:
        cli.connect()
        answers = [cli.tool("openDiff", filePath=path, newContent="new\n")]
        until(lambda: answers[0]["result"]["isError"] or running.editor.said)
        answers.append(cli.tool("closeDiff", filePath=path))
    said = [message for message, _ in running.editor.said]
    assert max(map(len, [*lines, *said, *map(str, answers)])) < 3000
    assert any(each["result"]["isError"] for each in answers) == (length == 100_000)
