"""What both CLIs do in a terminal outside the editor; test_qwen.py and test_gemini.py have what only one does."""

from __future__ import annotations

import time
from typing import Any

import pytest

from .cli import CONNECTED, ESCAPE
from .session import EDITED, GREET, GREET_BETTER, SETTLED, CliSession

EachSession = CliSession[Any]
#: Enough for what only the second one could break. `scripts/soak` does many.
RELOADS = 3


@pytest.fixture(params=["session", "gemini_session"], ids=["qwen", "gemini"])
def session(request: pytest.FixtureRequest) -> EachSession:
    """The module's session with each CLI."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["own_session", "own_gemini_session"], ids=["qwen", "gemini"])
def own(request: pytest.FixtureRequest) -> EachSession:
    """A session with each CLI, for a test that ends the editor."""
    return request.getfixturevalue(request.param)


def test_the_cli_says_that_it_is_connected_to_sublime_text(session: EachSession) -> None:
    """Through its discovery file alone. Nothing in the CLI's environment names the port or the editor."""
    assert CONNECTED in session.cli.command("/ide status")


@pytest.mark.parametrize("text", [GREET_BETTER, EDITED], ids=["unedited", "edited"])
def test_an_accepted_proposal_is_written(session: EachSession, text: str) -> None:
    """Byte for byte, with the person's edits."""
    path = session.file("accepted.py")
    script, proposal = session.propose(path, GREET_BETTER)
    assert proposal["text"] == GREET_BETTER
    if text != GREET_BETTER:
        session.editor.set_text(proposal, text)
    session.accept(proposal, script)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("edited", [False, True], ids=["unedited", "edited"])
def test_an_edit_in_a_file_with_crlf_keeps_its_line_endings(session: EachSession, edited: bool) -> None:
    """With the tool that replaces a piece of a file."""
    path = session.file("windows.txt", b"one\r\ntwo\r\nthree\r\n")
    script = session.cli.ask_to_edit(path, "two", "TWO")
    proposal = session.editor.wait_diff(path)
    if edited:
        session.editor.set_text(proposal, proposal["text"].replace("three", "3"))
    session.accept(proposal, script)
    assert path.read_bytes() == (b"one\r\nTWO\r\n3\r\n" if edited else b"one\r\nTWO\r\nthree\r\n")


def test_a_rejected_proposal_is_not_written(session: EachSession) -> None:
    path = session.file("rejected.py")
    session.editor.reject(session.propose(path, GREET_BETTER)[1])
    session.assert_refused(path)


def test_an_empty_text_is_not_accepted(session: EachSession) -> None:
    """The CLI would write its proposal instead (docs/protocols/qwen-ide.md#diffs): the diff stays open."""
    path = session.file("empty.py")
    _, proposal = session.propose(path, GREET_BETTER)
    session.editor.set_text(proposal, "")
    session.editor.accept(proposal)
    time.sleep(SETTLED)
    assert [view["id"] for view in session.editor.sides("proposal")] == [proposal["id"]]
    assert path.read_text(encoding="utf-8") == GREET
    session.editor.reject(proposal)
    session.assert_refused(path)


def test_escape_in_the_terminal_closes_the_diff(session: EachSession) -> None:
    """The CLI calls closeDiff and writes nothing."""
    path = session.file("escape.py")
    session.propose(path, GREET_BETTER)
    session.cli.wait_question()
    session.cli.terminal.press(ESCAPE)
    session.assert_refused(path)


def test_the_cli_stays_connected_over_reloads_with_nothing_typed(session: EachSession) -> None:
    """The port, the token and the CLI's session stay. Context and diffs work after each reload."""
    lock = session.editor.lock()
    for number in range(RELOADS):
        session.editor.do("reload_package")
        path = session.file(f"reloaded{number}.py")
        session.editor.open_file(path)
        session.cli.wait_told(path.name)
        script, proposal = session.propose(path, GREET_BETTER)
        session.accept(proposal, script)
        assert path.read_text(encoding="utf-8") == GREET_BETTER
        assert path.name in session.told(script)
    now = session.editor.lock()
    assert (now["port"], now["authToken"]) == (lock["port"], lock["authToken"])


def test_the_cli_stays_usable_when_the_editor_quits_and_connects_again_after_a_restart(own: EachSession) -> None:
    """The open diff is answered as rejected before the server stops, and the discovery files are gone.

    If the diff were left open, nobody could answer its question (docs/protocols/gemini-ide.md#diffs). The editor has
    the same port again, and `/ide enable` finds it.
    """
    path = own.file("pending.py")
    port = own.editor.lock()["port"]
    own.propose(path, GREET_BETTER)
    own.editor.quit()
    own.cli.wait_idle()
    assert path.read_text(encoding="utf-8") == GREET
    assert own.editor.lock_files() == []
    assert not list(own.home.tmp.rglob("*-ide-server-*.json"))
    afterwards = own.home.workspace / "afterwards.py"
    script = own.cli.ask_to_write(afterwards, GREET)
    own.cli.wait_question()
    own.cli.terminal.press("\r")
    own.cli.wait_done(script)
    assert afterwards.read_text(encoding="utf-8") == GREET
    own.restart()
    assert own.editor.lock()["port"] == port
    own.cli.reconnect()
    script, proposal = own.propose(path, GREET_BETTER)
    own.accept(proposal, script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER
