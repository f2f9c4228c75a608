"""The real OpenCode in a terminal, with a scripted model, beside the headless editor."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator

import pytest

from ..agents.published import opencode, opencode_configuration
from .claude import lock_of
from .cli import START, STEP
from .editor import Editor
from .model import Model
from .qwen import Home
from .session import GREET
from .terminal import Terminal

ASK = "Ask anything"
LONGEST = 12.0
"""Seconds between two tries to connect, and a bit."""


class Place:
    """An editor on a project, a model, and an OpenCode that was started in any terminal."""

    def __init__(self, **more: str) -> None:
        self.home, self.model = Home.make(), Model()
        self.path = self.home.write("greet.py", GREET)
        for name, text in opencode_configuration(self.model.base_url.removesuffix("/v1")).items():
            file = self.home.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.editor = Editor(self.home, [self.home.workspace])
        lock = lock_of(self.home)
        more = {name: value.format(port=lock["port"]) for name, value in more.items()}
        quiet = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        environment = self.home.environment(TERM="xterm-256color", SHELL="/bin/bash", **quiet, **more)
        self.terminal = Terminal([opencode()[0]], cwd=self.home.workspace, env=environment)
        self.terminal.wait_text(ASK, START)

    def select(self) -> int:
        """The person selects the second line."""
        view = self.editor.open_file(self.path)
        start, line = GREET.index("\n") + 1, GREET.splitlines()[1]
        self.editor.do("select", view=view, regions=[[start, start + len(line)]])
        return view

    def close(self) -> None:
        self.terminal.close()
        self.editor.kill()
        self.model.close()
        self.home.remove()


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with contextlib.closing(Place(**getattr(request, "param", {}))) as place:
        yield place


def status(place: Place, view: int) -> str:
    return str(place.editor.view(view)["status"])


def test_it_connects_by_itself_and_its_model_hears_of_the_selection_also_after_a_reload(place: Place):
    view = place.select()
    place.terminal.wait_text("greet.py#", STEP)
    place.editor.wait("status", lambda: "OpenCode" in status(place, view))
    place.editor.do("reload_package")
    place.editor.wait("status", lambda: "OpenCode" in status(place, view))
    script = place.model.script()
    place.terminal.type(f"What is it {script.tag}")
    place.terminal.wait("request to the model", lambda: place.model.requests_of(script), STEP)
    said = json.dumps(place.model.requests_of(script)[0].body)
    assert "greet.py" in said
    assert 'print(\\\\\\"hi\\\\\\")' in said or 'print(\\"hi\\")' in said


@pytest.mark.parametrize("place", [{"CLAUDE_CODE_SSE_PORT": "{port}"}], indirect=True)
def test_where_its_environment_makes_it_come_without_a_token_it_is_refused(place: Place):
    view = place.select()
    time.sleep(LONGEST)
    assert "greet.py#" not in place.terminal.text()
    assert "OpenCode" not in status(place, view)
