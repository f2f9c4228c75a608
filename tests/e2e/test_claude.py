"""What of these three only the real Claude Code does; test_doors.py has the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from .claude import Claude
from .cli import STEP
from .places import ClaudePlace
from .session import GREET

HELLO = GREET.replace('"hi"', '"hello"')
PICKED = "1 line selected"
QUESTION = "Do you want to make this edit"


@pytest.fixture
def place() -> Iterator[ClaudePlace]:
    with contextlib.closing(ClaudePlace()) as place:
        yield place


def test_what_is_sent_to_the_cli_is_in_its_prompt_and_in_its_model(place: ClaudePlace) -> None:
    cli = place.run()
    place.select(1)
    cli.terminal.wait_text(PICKED, STEP)
    place.editor.do("command", name="qwen_companion_send", args={"what": "selection"}, view=place.view)
    cli.terminal.wait_text("@greet.py#L2")
    place.editor.do("command", name="qwen_companion_send", args={"what": "file"}, view=place.view)
    cli.terminal.wait_text("@greet.py#L2 @greet.py")


def test_a_proposal_has_the_sentence_before_its_call_in_the_transcript(place: ClaudePlace) -> None:
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


def test_an_answer_in_the_terminal_closes_the_diff(place: ClaudePlace) -> None:
    cli = place.run()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    cli.terminal.wait_drawn(QUESTION, STEP)
    cli.terminal.press("1")
    cli.wait_done(script)
    place.editor.wait_no_diff()
    assert place.path.read_text() == HELLO


def test_in_another_terminal_it_connects_with_its_command(place: ClaudePlace) -> None:
    place.lock()
    cli = Claude(place.home, place.model)
    place.clis.append(cli)
    cli.wait_ready()
    cli.terminal.type("/ide")
    cli.terminal.wait_drawn("Sublime Text")
    cli.terminal.press("\x1b[A")  # “None” is marked
    cli.terminal.wait_text("❯   Sublime Text")
    cli.terminal.press("\r")
    cli.terminal.wait_drawn("enable auto-connect to IDE?")
    cli.terminal.press("\r")  # not from now on
    place.select(1)
    cli.terminal.wait_text(PICKED, STEP)
