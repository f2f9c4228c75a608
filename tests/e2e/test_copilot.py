"""What of these three only the real Copilot CLI does; test_doors.py has the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from .copilot import Copilot
from .places import CopilotPlace


@pytest.fixture
def place() -> Iterator[CopilotPlace]:
    with contextlib.closing(CopilotPlace()) as place:
        yield place


def test_in_a_folder_below_it_connects_with_its_command(place: CopilotPlace) -> None:
    below = place.home.workspace / "below"
    below.mkdir()
    place.lock()
    cli = Copilot(place.home, place.model, below)
    place.clis.append(cli)
    cli.wait_ready()
    cli.terminal.type("/ide")
    cli.terminal.wait_drawn("Select an IDE workspace")
    assert not place.is_connected()
    cli.terminal.press("\r")
    place.wait_connected()


def test_why_it_proposes_a_change_is_what_it_has_said_before(place: CopilotPlace) -> None:
    place.home.answer_transcripts(may=True)
    place.model.explains = True
    cli = place.run()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    proposal = place.editor.wait_diff(place.path)

    def is_said() -> bool:
        place.editor.do("command", name="qwen_companion_why", view=proposal["id"])
        return script.said(1) in str(place.editor.view(proposal["id"]).get("popup"))

    place.editor.wait("reason", is_said)
    place.editor.accept(proposal)
    cli.wait_done(script)
