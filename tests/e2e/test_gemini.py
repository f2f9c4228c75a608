"""The real Gemini CLI in a terminal outside the editor, alone and beside a Qwen Code."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from .qwen import Qwen
from .session import EDITED, GREET, GREET_BETTER, SETTLED, GeminiSession


def test_open_files_cursor_and_selection_reach_the_model(gemini_session: GeminiSession) -> None:
    """In the JSON that this CLI sends to its model."""
    session = gemini_session
    session.editor.open_file(session.home.workspace / "other.txt")
    path = session.file("context.py")
    view = session.editor.open_file(path)
    start = GREET.index('print("hi")')
    session.editor.do("select", view=view, regions=[[start, start + len('print("hi")')]])
    session.cli.wait_told(path.name)
    time.sleep(SETTLED)
    script = session.cli.ask("Say hello")
    session.cli.wait_done(script)
    told = session.told(script)
    assert str(path) in told
    assert 'print(\\"hi\\")' in told
    assert '"line": 2' in told
    assert '"character": 16' in told
    assert str(session.home.workspace / "other.txt") in told


def test_the_diff_names_gemini_cli(gemini_session: GeminiSession) -> None:
    """The token identifies the caller."""
    session = gemini_session
    path = session.file("named.py")
    script, proposal = session.propose(path, GREET_BETTER)
    assert "Gemini CLI" in str(proposal)
    assert "Qwen Code" not in str(proposal)
    session.editor.accept(proposal)
    session.cli.wait_done(script)


@pytest.mark.parametrize("text", [GREET_BETTER, EDITED], ids=["unedited", "edited"])
def test_yes_in_the_terminal_writes_the_current_text_of_the_diff(gemini_session: GeminiSession, text: str) -> None:
    """This CLI writes the text from closeDiff. So no edit is lost, and no view has to keep it."""
    session = gemini_session
    path = session.file("yes.py")
    script, proposal = session.propose(path, GREET_BETTER)
    if text != GREET_BETTER:
        session.editor.set_text(proposal, text)
    views = len(session.editor.views()) - len(session.editor.sides("original")) - len(session.editor.sides("proposal"))
    session.cli.wait_question()
    session.cli.terminal.press("\r")
    session.cli.wait_done(script)
    session.editor.wait_no_diff()
    assert path.read_text(encoding="utf-8") == text
    assert len(session.editor.views()) == views


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
    of_gemini = session.cli.ask_to_write(path, "by = 'Gemini'\n")
    session.editor.wait_next_diff(path)
    for proposal in session.editor.sides("proposal", text=True):
        proposals["Qwen" if "Qwen" in proposal["text"] else "Gemini"] = proposal
    session.editor.accept(proposals["Gemini"])
    session.cli.wait_done(of_gemini)
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
        for cli, name in ((session.cli, "ours.py"), (qwen, "ours.py"), (second, "theirs.py")):
            cli.wait_told(name)
        asked = {
            "second": second.ask_to_write(other / "new.py", "by = 'second'\n"),
            "qwen": qwen.ask_to_write(shared, "by = 'qwen'\n"),
            "gemini": session.cli.ask_to_write(shared, "by = 'gemini'\n"),
        }
        session.editor.wait("a diff in each window", lambda: len(session.editor.sides("proposal")) == 2)
        session.editor.do("focus", window=first)
        session.editor.wait_next_diff(shared)
        for name, script in asked.items():
            told = session.told(script)
            assert ("theirs.py" in told, "ours.py" in told) == (name == "second", name != "second"), name
        proposals = {
            name: next(view for view in session.editor.sides("proposal", text=True) if f"'{name}'" in view["text"])
            for name in asked
        }
        session.editor.reject(proposals["gemini"])
        session.cli.wait_idle()
        session.editor.accept(proposals["second"])
        second.wait_done(asked["second"])
        assert [view["id"] for view in session.editor.sides("proposal")] == [proposals["qwen"]["id"]]
        assert shared.read_text(encoding="utf-8") == GREET
        session.editor.accept(proposals["qwen"])
        qwen.wait_done(asked["qwen"])
        assert shared.read_text(encoding="utf-8") == "by = 'qwen'\n"
        assert (other / "new.py").read_text(encoding="utf-8") == "by = 'second'\n"
        assert asked["gemini"].done not in session.cli.terminal.text()
    finally:
        second.close()
        session.editor.do("close_window", window=window)
