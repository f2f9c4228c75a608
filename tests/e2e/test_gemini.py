"""The real Gemini CLI in a terminal outside the editor, alone and beside a Qwen Code."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from .cli import ESCAPE
from .model import Script
from .qwen import Qwen
from .session import GREET, GREET_BETTER, GeminiSession

#: Seconds; longer than the companion's debounce (50 ms) and the delivery of an update to the CLI.
SETTLED = 3.0
EDITED = GREET_BETTER.replace("hi {name}", "good morning, {name}")


def test_the_cli_says_that_it_is_connected_to_sublime_text(gemini_session: GeminiSession) -> None:
    """Through its discovery file alone. Nothing in the CLI's environment names the port or the editor."""
    assert "Connected to Sublime Text" in gemini_session.gemini.command("/ide status")


def test_open_files_cursor_and_selection_reach_the_model(gemini_session: GeminiSession) -> None:
    """In the JSON that this CLI sends to its model."""
    session = gemini_session
    session.editor.open_file(session.home.workspace / "other.txt")
    path = session.file("context.py")
    view = session.editor.open_file(path)
    start = GREET.index('print("hi")')
    session.editor.do("select", view=view, regions=[[start, start + len('print("hi")')]])
    session.gemini.wait_told(path.name)
    time.sleep(SETTLED)
    script = session.gemini.ask("Say hello")
    session.gemini.wait_done(script)
    told = _told(session, script)
    assert str(path) in told
    assert 'print(\\"hi\\")' in told
    assert '"line": 2' in told
    assert '"character": 16' in told
    assert str(session.home.workspace / "other.txt") in told


def _told(session: GeminiSession, script: Script) -> str:
    """The text of the first request of a turn: the editor's context and the conversation."""
    return "\n".join(str(message.get("content")) for message in session.model.requests_of(script)[0].messages)


@pytest.mark.parametrize("text", [GREET_BETTER, EDITED], ids=["unedited", "edited"])
def test_an_accepted_proposal_is_written(gemini_session: GeminiSession, text: str) -> None:
    """Byte for byte, with the person's edits."""
    session = gemini_session
    path = session.file("accepted.py")
    script = session.gemini.ask_to_write(path, GREET_BETTER)
    proposal = session.editor.wait_diff(path)
    assert proposal["text"] == GREET_BETTER
    if text != GREET_BETTER:
        session.editor.set_text(proposal, text)
    session.editor.accept(proposal)
    session.gemini.wait_done(script)
    assert path.read_bytes() == text.encode()
    session.editor.wait_no_diff()


def test_an_edit_in_a_file_with_crlf_keeps_its_line_endings(gemini_session: GeminiSession) -> None:
    """With the tool `replace`."""
    session = gemini_session
    path = session.file("windows.txt", b"one\r\ntwo\r\nthree\r\n")
    script = session.gemini.ask_to_edit(path, "two", "TWO")
    proposal = session.editor.wait_diff(path)
    session.editor.set_text(proposal, proposal["text"].replace("three", "3"))
    session.editor.accept(proposal)
    session.gemini.wait_done(script)
    assert path.read_bytes() == b"one\r\nTWO\r\n3\r\n"


def test_the_diff_names_gemini_cli(gemini_session: GeminiSession) -> None:
    """The token identifies the caller."""
    session = gemini_session
    path = session.file("named.py")
    script = session.gemini.ask_to_write(path, GREET_BETTER)
    proposal = session.editor.wait_diff(path)
    assert "Gemini CLI" in str(proposal)
    assert "Qwen Code" not in str(proposal)
    session.editor.accept(proposal)
    session.gemini.wait_done(script)


def _assert_refused(session: GeminiSession, name: str) -> None:
    """Assert that the file is unchanged, the CLI accepts the next prompt, and no diff is open."""
    session.gemini.wait_idle()
    session.editor.wait_no_diff()
    assert (session.home.workspace / name).read_text(encoding="utf-8") == GREET
    session.gemini.wait_done(session.gemini.ask("What now"))


def test_a_rejected_proposal_is_not_written(gemini_session: GeminiSession) -> None:
    path = gemini_session.file("rejected.py")
    gemini_session.gemini.ask_to_write(path, GREET_BETTER)
    gemini_session.editor.reject(gemini_session.editor.wait_diff(path))
    _assert_refused(gemini_session, path.name)


def test_an_empty_text_is_not_accepted(gemini_session: GeminiSession) -> None:
    """The CLI would write its proposal instead (docs/protocols/gemini-ide.md#diffs): the diff stays open."""
    session = gemini_session
    path = session.file("empty.py")
    session.gemini.ask_to_write(path, GREET_BETTER)
    proposal = session.editor.wait_diff(path)
    session.editor.set_text(proposal, "")
    session.editor.accept(proposal)
    time.sleep(SETTLED)
    assert [view["id"] for view in session.editor.sides("proposal")] == [proposal["id"]]
    session.editor.reject(proposal)
    _assert_refused(session, path.name)


@pytest.mark.parametrize("text", [GREET_BETTER, EDITED], ids=["unedited", "edited"])
def test_yes_in_the_terminal_writes_the_current_text_of_the_diff(gemini_session: GeminiSession, text: str) -> None:
    """This CLI writes the text from closeDiff. So no edit is lost, and no view has to keep it."""
    session = gemini_session
    path = session.file("yes.py")
    script = session.gemini.ask_to_write(path, GREET_BETTER)
    proposal = session.editor.wait_diff(path)
    if text != GREET_BETTER:
        session.editor.set_text(proposal, text)
    views = len(session.editor.views())
    session.gemini.wait_question()
    session.gemini.terminal.press("\r")
    session.gemini.wait_done(script)
    session.editor.wait_no_diff()
    assert path.read_text(encoding="utf-8") == text
    assert len(session.editor.views()) == views - 2


def test_escape_in_the_terminal_closes_the_diff(gemini_session: GeminiSession) -> None:
    """The CLI calls closeDiff and writes nothing."""
    path = gemini_session.file("escape.py")
    gemini_session.gemini.ask_to_write(path, GREET_BETTER)
    gemini_session.editor.wait_diff(path)
    gemini_session.gemini.wait_question()
    gemini_session.gemini.terminal.press(ESCAPE)
    _assert_refused(gemini_session, path.name)


def test_the_cli_stays_usable_when_the_editor_quits_and_connects_again_after_a_restart(
    own_gemini_session: GeminiSession,
) -> None:
    """If the diff were left open, nobody could answer its question (docs/protocols/gemini-ide.md#diffs).

    The editor has the same port again, and `/ide enable` finds it.
    """
    session = own_gemini_session
    path = session.file("pending.py")
    port = session.editor.lock()["port"]
    session.gemini.ask_to_write(path, GREET_BETTER)
    session.editor.wait_diff(path)
    session.editor.quit()
    session.gemini.wait_idle()
    assert path.read_text(encoding="utf-8") == GREET
    assert not list(session.home.tmp.rglob("*-ide-server-*.json"))
    script = session.gemini.ask_to_write(path, GREET_BETTER)
    session.gemini.wait_question()
    session.gemini.terminal.press("\r")
    session.gemini.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER
    session.restart()
    assert session.editor.lock()["port"] == port
    session.gemini.reconnect()
    path = session.file("again.py")
    script = session.gemini.ask_to_write(path, GREET_BETTER)
    session.editor.accept(session.editor.wait_diff(path))
    session.gemini.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER


@pytest.fixture
def qwen(gemini_session: GeminiSession, programs: None) -> Iterator[Qwen]:
    """Qwen Code beside Gemini CLI, connected to the same window."""
    qwen = Qwen(gemini_session.home, gemini_session.model)
    try:
        qwen.wait_ready()
        qwen.wait_connected()
        yield qwen
    finally:
        qwen.close()


def test_two_families_change_one_file_and_each_gets_the_outcome_of_its_own_diff(
    gemini_session: GeminiSession, qwen: Qwen
) -> None:
    """The diffs of both CLIs have the same path."""
    session = gemini_session
    path = session.file("both.py")
    of_qwen = qwen.ask_to_write(path, "by = 'Qwen'\n")
    proposals = {"Qwen": session.editor.wait_diff(path)}
    of_gemini = session.gemini.ask_to_write(path, "by = 'Gemini'\n")
    session.editor.wait("second diff", lambda: len(session.editor.sides("proposal")) == 2)
    for proposal in session.editor.sides("proposal", text=True):
        proposals["Qwen" if "Qwen" in proposal["text"] else "Gemini"] = proposal
    session.editor.accept(proposals["Gemini"])
    session.gemini.wait_done(of_gemini)
    assert path.read_text(encoding="utf-8") == "by = 'Gemini'\n"
    assert [view["id"] for view in session.editor.sides("proposal")] == [proposals["Qwen"]["id"]]
    qwen.wait_question()
    session.editor.reject(proposals["Qwen"])
    qwen.wait_idle()
    assert of_qwen.done not in qwen.terminal.text()
    assert path.read_text(encoding="utf-8") == "by = 'Gemini'\n"
    session.editor.wait_no_diff()


def test_two_windows_and_three_clis_at_once(gemini_session: GeminiSession, qwen: Qwen) -> None:
    """Two CLIs with a diff of one file. Each context and outcome reaches only its own CLI."""
    session = gemini_session
    other = session.home.root / "second project"
    other.mkdir()
    (first, *_) = [told["id"] for told in session.editor.state()["windows"]]
    window = session.editor.do("new_window", folders=[str(other)])["window"]
    session.editor.lock(other)
    second = Qwen(session.home, session.model, cwd=other)
    try:
        second.wait_ready()
        second.wait_connected()
        (other / "theirs.py").write_text(GREET, encoding="utf-8")
        session.editor.open_file(other / "theirs.py", window=window)
        shared = session.file("shared.py")
        session.editor.do("focus", window=first)
        session.editor.open_file(session.file("ours.py"))
        for cli, name in ((session.gemini, "ours.py"), (qwen, "ours.py"), (second, "theirs.py")):
            cli.wait_told(name)
        asked = {
            "second": second.ask_to_write(other / "new.py", "by = 'second'\n"),
            "qwen": qwen.ask_to_write(shared, "by = 'qwen'\n"),
            "gemini": session.gemini.ask_to_write(shared, "by = 'gemini'\n"),
        }
        session.editor.wait("three diffs", lambda: len(session.editor.sides("proposal")) == 3)
        for name, script in asked.items():
            told = _told(session, script)
            assert ("theirs.py" in told, "ours.py" in told) == (name == "second", name != "second"), name
        proposals = {
            name: next(view for view in session.editor.sides("proposal", text=True) if f"'{name}'" in view["text"])
            for name in asked
        }
        session.editor.reject(proposals["gemini"])
        session.gemini.wait_idle()
        session.editor.accept(proposals["second"])
        second.wait_done(asked["second"])
        assert [view["id"] for view in session.editor.sides("proposal")] == [proposals["qwen"]["id"]]
        assert shared.read_text(encoding="utf-8") == GREET
        session.editor.accept(proposals["qwen"])
        qwen.wait_done(asked["qwen"])
        assert shared.read_text(encoding="utf-8") == "by = 'qwen'\n"
        assert (other / "new.py").read_text(encoding="utf-8") == "by = 'second'\n"
        assert asked["gemini"].done not in session.gemini.terminal.text()
    finally:
        second.close()
        session.editor.do("close_window", window=window)


def test_the_cli_stays_connected_over_ten_reloads_with_nothing_typed(gemini_session: GeminiSession) -> None:
    """Gemini CLI doesn't reconnect by itself either (docs/protocols/gemini-ide.md#http)."""
    session = gemini_session
    for number in range(10):
        session.editor.do("reload_package")
        path = session.file(f"reloaded{number}.py")
        session.editor.open_file(path)
        session.gemini.wait_told(path.name)
        script = session.gemini.ask_to_write(path, GREET_BETTER)
        session.editor.accept(session.editor.wait_diff(path))
        session.gemini.wait_done(script)
        assert path.read_text(encoding="utf-8") == GREET_BETTER
        assert path.name in _told(session, script)
