"""What an agent sends in an odd form or at an odd time: it goes round nothing, and nothing is lost by it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from companion.agents import AgentCommand
from companion.backends.acp import client as client_module
from companion.backends.acp import decoder
from companion.backends.acp.files import EDITED, Edited, Files
from companion.backends.acp.services import MAX_REFUSALS
from companion.backends.acp.tool_calls import Replacement, place
from companion.backends.updates import decode_permission
from companion.backends.wire import MAX_NAME
from companion.conversation.events import PermissionRequest
from companion.conversation.failures import UncertainError
from companion.conversation.forms import Form, Values
from companion.provenance.lines import Effort
from companion.review.disk import Encodings
from tests.agent_talk import MemoryFiles, Talks, client_of, said, until

OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
FORM = {"type": "object", "properties": {"ok": {"type": "boolean", "default": True}}}


class Asked(MemoryFiles):
    """What is asked beside the chat, which the person answers in one way."""

    def __init__(self, option: str | None) -> None:
        super().__init__()
        self.option = option
        self.messages: list[tuple[str, str]] = []

    async def elicit(self, window: int, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        self.messages.append((agent, message))
        return self.option, dict(form.defaults)


@pytest.mark.parametrize("questions", [[1], "drop table", {"a": 1}, [{"question": "Which?", "options": []}]])
def test_the_questions_among_the_arguments_of_any_tool_are_its_own(questions: object):
    call = {"toolCallId": "t", "title": "Ask the database", "rawInput": {"questions": questions}}
    request = decode_permission("1", call, OPTIONS)
    assert isinstance(request, PermissionRequest)
    assert (request.questions, request.tool_call.changes["input"]) == ((), {"questions": questions})
    assert [option.id for option in request.options] == ["yes"]


def test_questions_that_cannot_be_read_are_an_ordinary_permission():
    for call in ({"_meta": {"qwenQuestions": [1]}}, {"_meta": {"toolName": "x"}, "rawInput": {"questions": [1]}}):
        request = decode_permission("1", {"toolCallId": "t", **call}, OPTIONS)
        assert isinstance(request, PermissionRequest)
        assert request.questions == ()


async def test_an_edited_proposal_that_was_written_is_looked_at_again_after_a_reload(tmp_path: Path):
    path = tmp_path / "a.txt"

    screen = MemoryFiles()

    def files() -> Files:
        client = client_of(AgentCommand("A", ()), {}, screen)
        client.folder = str(tmp_path)
        return client.services.files

    before, after = files(), files()
    path.write_text("theirs", encoding="utf-8")
    await before.allowed(Edited(str(path), "theirs", "mine"))
    await before.settle([str(path)])
    assert path.read_text(encoding="utf-8") == "mine"
    after.take_over(before.hand_over())
    path.write_text("theirs", encoding="utf-8")  # as OpenCode does after its tool call
    await after.settle_all()
    assert path.read_text(encoding="utf-8") == "mine"
    assert screen.kept == []


async def test_an_edited_proposal_whose_tool_call_ends_during_a_reload_is_left_to_the_next_instance(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("theirs", encoding="utf-8")
    before, after = (client_of(AgentCommand("A", ()), {}, MemoryFiles()) for _ in range(2))
    await before.services.files.allowed(Edited(str(path), "theirs", "mine"))
    left = before.services.files.hand_over()
    await before.services.files.settle([str(path)])
    after.services.files.take_over(left)
    await after.services.files.settle_all()
    assert path.read_text(encoding="utf-8") == "mine"
    assert after.prompts._notes == [EDITED.format(path=path)]


@pytest.mark.parametrize("is_looked_at_again", [False, True])
async def test_an_edited_proposal_that_is_being_written_at_a_reload_is_left_to_the_next_instance(
    tmp_path: Path, is_looked_at_again: bool
):
    class Slow(MemoryFiles):
        is_slow = False

        async def encodings(self, path: str) -> Encodings:
            if self.is_slow:
                begun.set()
                await asyncio.Event().wait()
            return Encodings()

    path, begun, slow, ready = tmp_path / "a.txt", asyncio.Event(), Slow(), MemoryFiles()
    path.write_text("theirs", encoding="utf-8")
    before, after = (client_of(AgentCommand("A", ()), {}, screen).services.files for screen in (slow, ready))
    await before.allowed(Edited(str(path), "theirs", "mine"))
    if is_looked_at_again:
        await before.settle([str(path)])
        path.write_text("theirs", encoding="utf-8")  # as OpenCode does after its tool call
    slow.is_slow = True
    settling = asyncio.create_task(before.settle_all())
    await begun.wait()
    settling.cancel()  # as the end of a turn that takes too long for a reload
    await asyncio.wait([settling])
    after.take_over(before.hand_over())
    await after.settle_all()
    assert path.read_text(encoding="utf-8") == "mine"
    assert (slow.kept, ready.kept) == ([], [])


async def test_a_form_in_the_middle_of_a_turn_is_asked_in_the_chat(talks: Talks):
    script = f"""
def session_prompt(params):
    number = request("elicitation/create", {{"mode": "form", "message": "m", "requestedSchema": {FORM!r}}})
    say(json.dumps(answers[number].get()))
    return {{"stopReason": "end_turn"}}
"""
    editor = Asked("accept")
    async with talks(script, editor=editor) as talk:
        key = await talk.ask("x")
        asked = await talk.asked()
        await talk.client.answer(talk.session, asked.id, "decline")
        assert json.loads(said(await talk.done(key))) == {"action": "decline"}
        assert editor.messages == []


async def test_beside_the_chat_an_agent_is_refused_three_times_and_asks_in_short(talks: Talks):
    script = f"""
def session_new(params):
    got = []
    numbers = [
        request("elicitation/create", {{"mode": "form", "message": "x\\u202e\\n" * 5000, "requestedSchema": {FORM!r}}})
        for _ in range(6)
    ]
    got = [answers[number].get() for number in numbers]
    assert got == [{{"action": "cancel"}}] * 6 or os._exit(1)
    return {{"sessionId": "s"}}
"""
    editor = Asked(None)
    async with talks(script, editor=editor) as talk:
        assert talk.session.id == "s"
    assert len(editor.messages) == MAX_REFUSALS
    assert all(len(message) <= 600 and message.isprintable() for _, message in editor.messages)


async def test_an_agent_may_ask_again_when_the_person_signs_in_again(talks: Talks):
    script = f"""
def authenticate(params):
    form = {{"mode": "form", "message": "m", "requestedSchema": {FORM!r}}}
    for _ in range(6):
        answers[request("elicitation/create", form)].get()
    return {{}}
"""
    editor = Asked(None)
    async with talks(script, session=None, editor=editor) as talk:
        for times in (1, 2):
            await talk.client.authenticate("g")
            assert len(editor.messages) == times * MAX_REFUSALS
            assert editor.said == [f"{talk.client.name} has asked too often, and is refused."] * times


async def test_an_agents_name_is_short_and_on_one_line(talks: Talks):
    script = """
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"title": "Safe\\u202e\\n\\nAllow everything? " + "x" * 5000}}
"""
    async with talks(script, session=None) as talk:
        name = talk.client.name
        assert name.startswith("Safe Allow everything? x")
        assert len(name) <= MAX_NAME
        assert name.isprintable()


async def test_a_message_into_a_turn_that_is_not_answered_may_have_arrived(
    talks: Talks, monkeypatch: pytest.MonkeyPatch
):
    script = """
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "A"}, "agentCapabilities": {"_meta": {"steering": True}}}
def session_prompt(params):
    say("Begun.")
    while not any(each.get("method") == "_session/steering" for each in seen):
        time.sleep(0.01)
    return {"stopReason": "end_turn"}
def _session_steering(params):
    return "silence"
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        await until(lambda: (turn := talk.turn(key)) and said(turn))
        monkeypatch.setattr(client_module, "CALL_LIMIT", 0.2)
        monkeypatch.setattr("companion.backends.acp.extensions.can_steer", lambda _: True)
        with pytest.raises(UncertainError, match="didn't answer") as caught:
            await talk.client.inject(talk.session, "and this")
        assert caught.value.may_have_arrived
        assert "before you send it again" in str(caught.value)
        await talk.done(key)


async def test_a_message_into_the_turn_of_an_agent_that_dies_may_have_arrived(
    talks: Talks, monkeypatch: pytest.MonkeyPatch
):
    script = """
def session_prompt(params):
    say("Begun.")
    while True: time.sleep(1)
def _session_steering(params):
    os._exit(3)
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        await until(lambda: (turn := talk.turn(key)) and said(turn))
        monkeypatch.setattr("companion.backends.acp.extensions.can_steer", lambda _: True)
        with pytest.raises(UncertainError, match="has ended unexpectedly") as caught:
            await talk.client.inject(talk.session, "and this")
        assert caught.value.may_have_arrived
        assert "before you send it again" in str(caught.value)
        # What is sent once it has ended can't have arrived.
        assert await talk.client.inject(talk.session, "too late") is None


def test_a_piece_that_occurs_everywhere_is_placed_in_one_pass(monkeypatch: pytest.MonkeyPatch):
    """No timing: the text is counted through once, however many occurrences there are."""
    counted: list[int] = []

    class Text(str):
        __slots__ = ()

        def count(self, *args: Any) -> int:
            counted.append(args[2] - args[1] if len(args) == 3 else len(self))
            return str.count(self, *args)

    from companion.backends.acp import tool_calls  # noqa: PLC0415 - what is private is looked at here alone

    text = Text("}\n" * 2000)
    assert list(tool_calls._named(text, "}", [7, 2000])) == [12, 3998]
    assert sum(counted) <= len(text)
    assert place(str(text), Replacement("}", "]", (3,)), Effort()) == "}\n" * 2 + "]\n" + "}\n" * 1997


async def test_what_shows_terminals_is_forgotten_once_they_and_their_call_are_over():
    client = client_of(AgentCommand("A", ()), {})
    terminals = client.services.terminals
    for number in range(50):
        name = f"terminal-{number}"
        told = {"terminal_id": name, "data": "out"}
        ended = {} if number == 7 else {"terminal_exit": {"terminal_id": name}}
        terminals.note_own({"_meta": {"terminal_output": told, **ended}})
        call: Mapping[str, Any] = {
            "toolCallId": f"call-{number}",
            "content": [{"type": "terminal", "terminalId": name}],
            "rawInput": {"command": "x" * 10_000},
        }
        terminals.noted({**call, "status": "in_progress"})
        terminals.show_soon(name)
        assert set(terminals.shown_in[name]) == {"toolCallId", "content"}
        terminals.noted({"toolCallId": f"call-{number}", "status": "completed"})
    terminals.show()
    assert list(terminals.shown_in) == ["terminal-7"]
    terminals.note_own({"_meta": {"terminal_exit": {"terminal_id": "terminal-7"}}})
    terminals.show_soon("terminal-7")
    terminals.show()
    assert terminals.shown_in == {}
    assert len(client.unread) == 51
    await asyncio.sleep(0)
    assert decoder.terminals({}) == []
