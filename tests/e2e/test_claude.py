"""The real Claude Code, with a scripted model, beside the headless editor."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator

import psutil
import pytest

from .claude import Claude, lock_of, program
from .cli import STEP
from .editor import Editor
from .model import Model
from .qwen import Home, MissingError
from .session import GREET

HELLO = GREET.replace('"hi"', '"hello"')
PICKED = "1 line selected"
QUESTION = "Do you want to make this edit"


@pytest.fixture(scope="module", autouse=True)
def claude_program() -> None:
    """Fails with one sentence if it is missing."""
    try:
        program()
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


class Place:
    """An editor on a project, a model and the CLIs of a test."""

    def __init__(self) -> None:
        self.home, self.model = Home.make(), Model()
        self.path = self.home.write("greet.py", GREET)
        self.editor = Editor(self.home, [self.home.workspace])
        self.port = int(str(lock_of(self.home)["port"]))
        self.clis: list[Claude] = []

    def run(self, port: int | None = None, **more: str) -> Claude:
        """A Claude Code in a terminal of its own, as *Run Claude Code* starts it, with the second line selected."""
        cli = Claude(self.home, self.model, port=port or self.port)
        self.clis.append(cli)
        cli.wait_ready()
        self.select(1)
        cli.wait_selected(PICKED)
        return cli

    def select(self, row: int) -> None:
        """The person selects a line."""
        view = self.editor.open_file(self.path)
        start = len("".join(GREET.splitlines(keepends=True)[:row]))
        self.editor.do("select", view=view, regions=[[start, start + len(GREET.splitlines()[row])]])

    def close(self) -> None:
        for cli in self.clis:
            cli.close()
        self.editor.kill()
        self.model.close()
        self.home.remove()


@pytest.fixture
def place() -> Iterator[Place]:
    with contextlib.closing(Place()) as place:
        yield place


def heard(place: Place, script: object) -> str:
    return json.dumps([request.body for request in place.model.requests_of(script)])  # pyright: ignore[reportArgumentType]


def test_it_connects_by_itself_and_its_model_hears_of_the_selection(place: Place):
    cli = place.run()
    script = cli.ask("What is it")
    cli.wait_done(script)
    assert "selected the lines 2 to 2" in heard(place, script)


def test_what_is_sent_to_the_cli_is_in_its_prompt_and_in_its_model(place: Place):
    cli = place.run()
    view = place.editor.open_file(place.path)
    place.editor.do("command", name="qwen_companion_send", args={"what": "selection"}, view=view)
    cli.terminal.wait_text("@greet.py#L2")


@pytest.mark.parametrize("how", ["accepted", "edited", "rejected", "closed"])
def test_a_proposal_is_answered_in_the_editor(place: Place, how: str):
    cli = place.run()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    proposal = place.editor.wait_diff(place.path)
    assert proposal["text"] == HELLO
    if how == "edited":
        place.editor.do("set_text", view=proposal["id"], text=HELLO.replace("hello", "good morning"))
    if how == "closed":
        place.editor.do("close_view", view=proposal["id"])
    elif how == "rejected":
        place.editor.reject(proposal)
    else:
        place.editor.accept(proposal)
    place.editor.wait_no_diff()
    if how in ("rejected", "closed"):
        cli.terminal.wait_text("User rejected update to greet.py")
        assert place.path.read_text() == GREET
        return
    cli.wait_done(script)
    assert place.path.read_text() == (HELLO if how == "accepted" else HELLO.replace("hello", "good morning"))
    assert ("user modified your proposed changes" in heard(place, script).lower()) is (how == "edited")


def test_a_proposal_has_the_sentence_before_its_call_in_the_transcript(place: Place):
    place.home.answer_transcripts(may=True)
    place.model.explains = True
    cli = place.run()
    for old, new in (('"hi"', '"hello"'), ('"hello"', '"hi"')):
        script = cli.ask_to_edit(place.path, old, new)
        proposal = place.editor.wait_diff(place.path)["id"]
        phantoms = lambda proposal=proposal: str(place.editor.view(proposal)["phantoms"])  # noqa: E731
        place.editor.wait("reason", lambda phantoms=phantoms, script=script: script.said(1) in phantoms())
        place.editor.accept({"id": proposal})
        cli.wait_done(script)


def test_an_answer_in_the_terminal_closes_the_diff(place: Place):
    cli = place.run()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    # It takes no key while it still draws the question.
    cli.terminal.wait("question", lambda: QUESTION in cli.terminal.text() and cli.terminal.quiet_for() > 1.0, STEP)
    cli.terminal.press("1")
    cli.wait_done(script)
    place.editor.wait_no_diff()
    assert place.path.read_text() == HELLO


def test_an_open_proposal_goes_on_after_a_reload(place: Place):
    cli = place.run()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    place.editor.do("reload_package")
    proposal = place.editor.wait_diff(place.path)
    place.editor.accept(proposal)
    cli.wait_done(script)
    assert place.path.read_text() == HELLO
    assert lock_of(place.home)["port"] == place.port
    again = cli.ask_to_edit(place.path, '"hello"', '"hi"')
    place.editor.accept(place.editor.wait_diff(place.path))
    cli.wait_done(again)
    assert place.path.read_text() == GREET


def test_a_killed_cli_leaves_a_diff_that_nobody_waits_for_and_the_next_one_connects(place: Place):
    cli = place.run()
    cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    for process in cli.terminal.processes()[1:]:
        with contextlib.suppress(psutil.Error):
            process.kill()
    time.sleep(1)
    assert place.path.read_text() == GREET
    script = place.run().ask("Are you there")
    assert "selected the lines 2 to 2" in heard(place, script)


def test_two_windows_have_clis_of_their_own(place: Place):
    other = place.home.root / "other"
    other.mkdir()
    (other / "greet.py").write_text(GREET)
    place.editor.do("new_window", folders=[str(other)])
    place.editor.wait("second lock file", lambda: len(list((place.home.home / ".claude/ide").glob("*.lock"))) == 2)
    locks = [lock_of(place.home, index) for index in (0, 1)]
    [port] = [int(str(lock["port"])) for lock in locks if lock["workspaceFolders"] == [str(other)]]
    assert port != place.port
    cli = Claude(place.home, place.model, port=port, cwd=other)
    place.clis.append(cli)
    cli.wait_ready()
    script = cli.ask_to_edit(other / "greet.py", '"hi"', '"hello"')
    proposal = place.editor.wait_diff(other / "greet.py")
    [window] = [
        window
        for window in place.editor.state()["windows"]
        if any(view["id"] == proposal["id"] for view in window["views"])
    ]
    assert window["folders"] == [str(other)]
    place.editor.accept(proposal)
    cli.wait_done(script)
    assert (other / "greet.py").read_text() == HELLO


def test_in_another_terminal_it_connects_with_its_command(place: Place):
    cli = Claude(place.home, place.model)
    place.clis.append(cli)
    cli.wait_ready()
    cli.terminal.type("/ide")
    cli.terminal.wait_text("Sublime Text")
    time.sleep(1)
    cli.terminal.press("\x1b[A")  # “None” is marked
    time.sleep(0.5)
    cli.terminal.press("\r")
    cli.terminal.wait_text("auto-connect")
    time.sleep(1)
    cli.terminal.press("\r")  # not from now on
    place.select(1)
    cli.wait_selected(PICKED)


def test_in_a_mode_that_does_not_ask_it_writes_and_no_diff_opens(place: Place):
    cli = Claude(place.home, place.model, port=place.port, mode="acceptEdits")
    place.clis.append(cli)
    cli.wait_ready()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    cli.wait_done(script)
    assert place.path.read_text() == HELLO
    assert not place.editor.sides("proposal")
