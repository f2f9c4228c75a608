"""The real Qwen Code in a terminal outside the editor.

It finds the editor, sees what the person sees, and changes files through it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from .cli import ESCAPE, STEP
from .model import Call
from .qwen import Qwen
from .session import GREET, GREET_BETTER, SETTLED, Session


def test_open_files_cursor_and_selection_reach_the_model(session: Session) -> None:
    session.editor.open_file(session.home.workspace / "other.txt")
    path = session.file("context.py")
    view = session.editor.open_file(path)
    start = GREET.index('print("hi")')
    session.editor.do("select", view=view, regions=[[start, start + len('print("hi")')]])
    session.cli.wait_told(path.name)
    prompt = asked(session, 'Selected text:\n```\nprint("hi")')
    assert f'Path: {path}\n  Cursor: line 2, character 16\n  Selected text:\n```\nprint("hi")\n```' in prompt
    assert str(session.home.workspace / "other.txt") in prompt


def test_a_change_of_the_selection_reaches_the_next_prompt(session: Session) -> None:
    """Every change sends an update, not only the opening of a file."""
    view = session.editor.open_file(session.file("moving.txt", "alpha\nbeta\ngamma\n"))
    session.editor.do("select", view=view, regions=[[0, 5]])
    session.cli.wait_told("moving.txt")
    session.cli.wait_done(session.cli.ask("Say hello"))
    session.editor.do("select", view=view, regions=[[11, 16]])
    assert "beta" not in asked(session, "gamma")


def test_a_diff_shows_the_file_on_disk_and_the_proposal(session: Session) -> None:
    """Two sides in the CLI's window. The person's own view keeps its text and the focus."""
    path = session.file("shown.py")
    own = session.editor.open_file(path)
    script, proposal = session.propose(path, GREET_BETTER)
    session.editor.do("command", name="qwen_companion_toggle_diff_layout", view=proposal["id"])
    session.editor.wait(
        "the file on disk", lambda: [view["text"] for view in session.editor.sides("original", text=True)] == [GREET]
    )
    (original,) = session.editor.sides("original", text=True)
    assert proposal["text"] == GREET_BETTER
    assert original["text"] == GREET
    assert not proposal["read_only"]
    assert original["read_only"]
    assert proposal["scratch"]
    assert proposal["file"] is None
    assert session.editor.view(own)["text"] == GREET
    assert path.read_bytes() == GREET.encode()
    session.accept(proposal, script)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no newline at the end", id="no last newline"),
        pytest.param("\tone\n\n\n two \n\U0001f600 é 漢\n", id="tabs, blanks and emoji"),
    ],
)
def test_an_unedited_proposal_is_written_byte_for_byte(session: Session, text: str) -> None:
    path = session.file("unedited.py")
    script, proposal = session.propose(path, text)
    session.accept(proposal, script)
    assert path.read_bytes() == text.encode()


def test_the_accept_link_accepts(session: Session) -> None:
    """With the link in the phantom."""
    path = session.file("link.py")
    script = session.cli.ask_to_write(path, GREET_BETTER)
    session.editor.click_answer(session.editor.wait_diff(path), "accept")
    session.cli.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER


def test_closing_the_proposal_rejects_it(session: Session) -> None:
    """Closing the view also rejects."""
    path = session.file("closed.py")
    session.cli.ask_to_write(path, GREET_BETTER)
    session.editor.do("close_view", view=session.editor.wait_diff(path)["id"])
    session.assert_refused(path)


def test_yes_in_the_terminal_closes_the_diff(session: Session) -> None:
    """The CLI calls closeDiff and writes its proposal."""
    path = session.file("yes.py")
    script = session.cli.ask_to_write(path, GREET_BETTER)
    session.editor.wait_diff(path)
    session.cli.wait_question()
    session.cli.terminal.press("\r")
    session.cli.wait_done(script)
    session.editor.wait_no_diff()
    assert path.read_text(encoding="utf-8") == GREET_BETTER


def test_yes_allow_always_in_the_terminal_opens_no_more_diffs(own_session: Session) -> None:
    """As the README says: Qwen Code doesn't ask any more."""
    first, second = own_session.file("first.py"), own_session.file("second.py")
    script = own_session.cli.ask_to_write(first, GREET_BETTER)
    own_session.editor.wait_diff(first)
    own_session.cli.wait_question()
    own_session.cli.terminal.press("2")
    own_session.cli.wait_done(script)
    own_session.editor.wait_no_diff()
    own_session.cli.wait_done(own_session.cli.ask_to_write(second, GREET_BETTER))
    assert own_session.editor.sides("proposal") == []
    assert second.read_text(encoding="utf-8") == GREET_BETTER


def test_edits_that_the_cli_drops_are_kept(session: Session) -> None:
    """A "yes" in the terminal makes Qwen Code write its own proposal (docs/protocols/qwen-ide.md#diffs)."""
    path = session.file("dropped.py")
    script = session.cli.ask_to_write(path, GREET_BETTER)
    edited = GREET_BETTER + "# an hour of work\n"
    session.editor.set_text(session.editor.wait_diff(path), edited)
    session.cli.wait_question()
    session.cli.terminal.press("\r")
    session.cli.wait_done(script)
    session.editor.wait_no_diff()
    assert path.read_text(encoding="utf-8") == GREET_BETTER
    session.editor.wait(
        "view with the edits", lambda: edited in [view["text"] for view in session.editor.views(text=True)]
    )


def test_a_new_file_is_written_by_the_cli_when_accepted(session: Session) -> None:
    """The file need not exist. The CLI writes it, not the editor."""
    path = session.home.workspace / "folder" / "new.py"
    script, proposal = session.propose(path, GREET)
    assert session.editor.sides("original") == []
    assert not path.exists()
    session.accept(proposal, script)
    assert path.read_bytes() == GREET.encode()


def test_a_new_file_is_not_created_when_rejected(session: Session) -> None:
    path = session.home.workspace / "unwanted.py"
    session.cli.ask_to_write(path, GREET)
    session.editor.reject(session.editor.wait_diff(path))
    session.cli.wait_idle()
    session.editor.wait_no_diff()
    assert not path.exists()


def test_two_diffs_of_one_turn_come_one_after_the_other(session: Session) -> None:
    """The CLI waits for the first outcome before it opens the second diff. Each file gets its own outcome."""
    first, second = session.home.workspace / "first.txt", session.home.workspace / "second.txt"
    calls = [Call("write_file", {"file_path": str(path), "content": f"{path.name}\n"}) for path in (first, second)]
    script = session.cli.ask("Write two files", calls)
    proposal = session.editor.wait_diff(first)
    assert len(session.editor.sides("proposal")) == 1
    session.editor.accept(proposal)
    proposal = session.editor.wait_diff(second)
    session.editor.set_text(proposal, "second, edited\n")
    session.accept(proposal, script)
    assert (first.read_text(encoding="utf-8"), second.read_text(encoding="utf-8")) == (
        "first.txt\n",
        "second, edited\n",
    )


def test_a_diff_opens_in_the_window_of_the_cli(session: Session) -> None:
    """Each window has an endpoint, so the active window doesn't matter."""
    other = session.home.root / "another project"
    other.mkdir()
    window = session.editor.do("new_window", folders=[str(other)])["window"]
    try:
        session.editor.do("focus", window=window)
        path = session.file("window.py")
        script, proposal = session.propose(path, GREET_BETTER)
        holding = [
            told
            for told in session.editor.state()["windows"]
            if any(view["id"] == proposal["id"] for view in told["views"])
        ]
        assert [told["folders"] for told in holding] == [[str(session.home.workspace)]]
        session.accept(proposal, script)
    finally:
        session.editor.do("close_window", window=window)


def test_the_persons_own_unsaved_text_is_left_alone(session: Session) -> None:
    """The CLI writes the file on disk, and the buffer keeps the person's changes."""
    path = session.file("dirty.py")
    own = session.editor.open_file(path)
    session.editor.do("insert", view=own, text="# mine\n")
    script, proposal = session.propose(path, GREET_BETTER)
    session.accept(proposal, script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER
    view = session.editor.view(own)
    assert (view["text"], view["dirty"]) == ("# mine\n" + GREET, True)


def test_a_cli_finds_the_window_of_its_folder(session: Session) -> None:
    """The window that has the terminal's folder open, or a folder above it."""
    other = session.home.root / "second project"
    (other / "sub").mkdir(parents=True)
    window = session.editor.do("new_window", folders=[str(other)])["window"]
    session.editor.lock(other)
    qwen = Qwen(session.home, session.model, cwd=other / "sub")
    try:
        qwen.wait_ready()
        qwen.wait_connected()
        path = other / "sub" / "here.py"
        script = qwen.ask_to_write(path, GREET)
        proposal = session.editor.wait_diff(path)
        assert [told["id"] for told in session.editor.state()["windows"] if proposal["id"] in _ids(told)] == [window]
        session.editor.accept(proposal)
        qwen.wait_done(script)
        assert path.read_text(encoding="utf-8") == GREET
    finally:
        qwen.close()
        session.editor.do("close_window", window=window)


def _ids(window: dict[str, Any]) -> list[int]:
    """The ids of a window's views."""
    return [view["id"] for view in window["views"]]


def test_an_open_diff_outlives_a_reload_and_the_cli_writes_what_was_edited(session: Session) -> None:
    """The CLI waits for the answer all the time, and its turn goes on with it."""
    path = session.file("kept.py", GREET)
    script = session.cli.ask_to_write(path, GREET_BETTER)
    before = session.editor.wait_diff(path)
    mine = f"{GREET_BETTER}# mine\n"
    session.editor.set_text(before, mine)
    session.editor.do("reload_package")
    kept = session.editor.wait_diff(path)
    assert kept["id"] == before["id"]
    time.sleep(SETTLED)
    session.editor.accept(kept)
    session.cli.wait_done(script)
    assert path.read_text(encoding="utf-8") == mine


def test_a_new_editor_takes_over_after_a_crash(own_session: Session) -> None:
    """The leftovers of the crashed editor are cleared, and `/ide enable` finds the new one."""
    session = own_session
    path = session.file("crashed.py")
    session.propose(path, GREET_BETTER)
    session.editor.crash()
    [left] = [file.read_bytes() for file in session.editor.lock_files()]
    # The editor no longer answers. The question stays in the terminal, where the person can answer it.
    session.cli.wait_question()
    session.cli.terminal.press(ESCAPE)
    session.cli.wait_idle()
    session.restart()

    def cleared() -> bool:
        """Whether there is a file, and none is the crashed editor's. The new one may have the same name: its port."""
        found = [file.read_bytes() for file in session.editor.lock_files()]
        return bool(found) and left not in found

    session.editor.wait("cleared leftovers", cleared)
    session.cli.reconnect()
    script, proposal = session.propose(path, GREET_BETTER)
    session.accept(proposal, script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER


SECRET = "PASSWORD=hunter2"


def test_an_excluded_file_that_is_focused_and_selected_never_reaches_the_model(session: Session) -> None:
    """Neither its name nor its text, and no other file stands for it."""
    before = session.file("before.txt", "alpha\n")
    select_all(session, before, "alpha")
    assert f"Path: {before}" in asked(session, "alpha")
    secret = session.file(".env", f"{SECRET}\n")
    select_all(session, secret, SECRET)
    asked(session, "No active file")
    select_all(session, session.file("after.txt", "omega\n"), "omega")
    asked(session, "omega")
    told = [json.dumps(request.messages) for request in session.model.requests]
    assert not any(SECRET in one or str(secret) in one for one in told)
    said = [request.last_user_text() for request in session.model.requests]
    assert not any(".env" in one for one in said)


def test_with_files_the_cursor_reaches_the_model_and_no_text(session: Session) -> None:
    """A project's own setting, which is stricter than the person's."""
    select_all(session, session.file("first.txt", "alpha\n"), "alpha")
    asked(session, "first.txt")
    open_project(session, {"context": "files"})
    path = session.file("cursor.txt", "ninety-nine\n")
    select_all(session, path, "ninety-nine")
    try:
        assert "line 1, character 12" in asked(session, f"Path: {path}").lower()
        assert not any("ninety-nine" in request.last_user_text() for request in session.model.requests)
        open_project(session, {"context": "off"})
        asked(session, "No active file")
    finally:
        open_project(session, {})


def open_project(session: Session, settings: dict[str, Any]) -> None:
    """Open the folder as a project that has settings of its own."""
    project = {"folders": [{"path": str(session.home.workspace)}], "settings": {"QwenCompanion": settings}}
    file = session.home.root / "app.sublime-project"
    file.write_text(json.dumps(project), encoding="utf-8")
    session.editor.do("command", name="open_project_or_workspace", args={"file": str(file)})


def select_all(session: Session, path: Path, text: str) -> None:
    """Open a file and select its text."""
    view = session.editor.open_file(path)
    session.editor.do("select", view=view, regions=[[0, len(text)]])


def asked(session: Session, words: str) -> str:
    """Ask until a prompt holds these words: what the editor tells takes a moment. Returns that prompt."""
    end = time.monotonic() + STEP
    while True:
        script = session.cli.ask("Say hello")
        session.cli.wait_done(script)
        prompt = session.model.requests_of(script)[0].last_user_text()
        if words in prompt:
            return prompt
        assert time.monotonic() < end, prompt
