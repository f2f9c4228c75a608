"""The real Copilot CLI, with a scripted model, beside the headless editor."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator

import psutil
import pytest

from .copilot import Copilot, lock_of, program
from .editor import Editor
from .model import Model
from .qwen import Home, MissingError
from .session import GREET

HELLO = GREET.replace('"hi"', '"hello"')
MINE = GREET.replace('"hi"', '"good morning"')


@pytest.fixture(scope="module", autouse=True)
def copilot_program() -> None:
    """Fails with one sentence if it is missing."""
    try:
        program()
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


class Place:
    """An editor on a project, a model and a Copilot CLI that has connected by itself."""

    def __init__(self) -> None:
        self.home, self.model = Home.make(), Model()
        self.path = self.home.write("greet.py", GREET)
        self.editor = Editor(self.home, [self.home.workspace])
        lock_of(self.home)
        self.view = self.editor.open_file(self.path)
        self.run()

    def run(self, *options: str) -> None:
        """Start a CLI, and wait until it has connected, which it doesn't always say."""
        self.cli = Copilot(self.home, self.model, options=options)
        self.cli.wait_ready()
        self.editor.wait("status", lambda: "Copilot CLI" in self.status())

    def status(self) -> str:
        """What the status bar says."""
        return str(self.editor.view(self.view)["status"])

    def select(self, row: int) -> None:
        """The person selects a line."""
        view = self.editor.open_file(self.path)
        start = len("".join(GREET.splitlines(keepends=True)[:row]))
        self.editor.do("select", view=view, regions=[[start, start + len(GREET.splitlines()[row])]])

    def close(self) -> None:
        self.cli.close()
        self.editor.kill()
        self.model.close()
        self.home.remove()


@pytest.fixture
def place() -> Iterator[Place]:
    with contextlib.closing(Place()) as place:
        yield place


def test_it_connects_by_itself_and_its_model_hears_of_the_selection(place: Place):
    place.select(1)
    place.cli.terminal.wait_text("greet.py:2")
    script = place.cli.ask("What is it")
    place.cli.wait_done(script)
    heard = json.dumps([request.body for request in place.model.requests_of(script)])
    assert "greet.py" in heard
    assert 'print(\\\\\\"hi\\\\\\")' in heard or 'print(\\"hi\\")' in heard


@pytest.mark.parametrize("how", ["accepted", "edited", "rejected", "closed"])
def test_a_proposal_is_answered_in_the_editor(place: Place, how: str):
    script = place.cli.ask_to_edit(place.path, '"hi"', '"hello"')
    proposal = place.editor.wait_diff(place.path)
    assert proposal["text"] == HELLO
    if how == "edited":
        place.editor.do("set_text", view=proposal["id"], text=MINE)
    if how == "closed":
        place.editor.do("close_view", view=proposal["id"])
    elif how == "rejected":
        place.editor.reject(proposal)
    else:
        place.editor.accept(proposal)
    place.editor.wait_no_diff()
    if how in ("rejected", "closed"):
        place.cli.wait_idle()
        assert place.path.read_text() == GREET
        return
    place.cli.wait_done(script)
    wanted = HELLO if how == "accepted" else MINE
    place.editor.wait("text", lambda: place.path.read_text() == wanted)


def test_an_open_proposal_goes_on_after_a_reload(place: Place):
    script = place.cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    before = lock_of(place.home)
    place.editor.do("reload_package")
    proposal = place.editor.wait_diff(place.path)
    place.editor.accept(proposal)
    place.cli.wait_done(script)
    assert place.path.read_text() == HELLO
    after = lock_of(place.home)
    assert (after["socketPath"], after["headers"]) == (before["socketPath"], before["headers"])
    again = place.cli.ask_to_edit(place.path, '"hello"', '"hi"')
    place.editor.accept(place.editor.wait_diff(place.path))
    place.cli.wait_done(again)
    assert place.path.read_text() == GREET


def test_a_killed_cli_leaves_a_diff_that_nobody_waits_for_and_the_next_one_connects(place: Place):
    place.cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    for process in place.cli.terminal.processes()[1:]:
        with contextlib.suppress(psutil.Error):
            process.kill()
    place.editor.wait("status without it", lambda: "Copilot CLI" not in place.status())
    assert place.path.read_text() == GREET
    place.cli.close()
    place.run()


def test_two_windows_have_clis_of_their_own(place: Place):
    other = place.home.root / "other"
    other.mkdir()
    (other / "greet.py").write_text(GREET)
    place.editor.do("new_window", folders=[str(other)])
    place.editor.wait("second lock file", lambda: len(list((place.home.home / ".copilot/ide").glob("*.lock"))) == 2)
    place.cli.close()
    cli = place.cli = Copilot(place.home, place.model, other)
    cli.wait_ready()
    view = place.editor.open_file(other / "greet.py")
    place.editor.wait("status", lambda: "Copilot CLI" in str(place.editor.view(view)["status"]))
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


def test_in_a_mode_that_does_not_ask_it_writes_and_no_diff_opens(place: Place):
    place.cli.close()
    place.run("--allow-all-tools", "--allow-all-paths")
    script = place.cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.cli.wait_done(script)
    assert place.path.read_text() == HELLO
    assert not place.editor.sides("proposal")


def test_in_a_folder_below_it_connects_with_its_command(place: Place):
    place.cli.close()
    below = place.home.workspace / "below"
    below.mkdir()
    place.editor.wait("status without it", lambda: "Copilot CLI" not in place.status())
    place.cli = Copilot(place.home, place.model, below)
    place.cli.wait_ready()
    place.cli.terminal.type("/ide")
    place.cli.terminal.wait_text("Select an IDE workspace")
    time.sleep(1)
    place.cli.terminal.press("\r")
    place.editor.wait("status", lambda: "Copilot CLI" in place.status())
