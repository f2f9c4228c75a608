"""A window's chat with an agent on its standard input and output: what the person sees and does."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast
from unittest.mock import AsyncMock

import psutil
import pytest

from companion.agents import AgentCommand
from companion.backends.acp.files import Files
from companion.changes.rounds import Rounds
from companion.chats.history import RewindTarget
from companion.chats.prompt import Draft
from companion.conversation.conversation import UNTOLD
from companion.editor import WindowId
from tests.agent_talk import LIMIT, scripted, until

from .agent_room import EDIT, Room, chatting
from .chatting import CHAT, WINDOW


@pytest.fixture
def agent(tmp_path: Path) -> AgentCommand:
    return AgentCommand("Scripted", tuple(scripted(EDIT, tmp_path)))


@pytest.fixture
def room(project: Path, agent: AgentCommand) -> AbstractAsyncContextManager[Room]:
    return chatting(project, agent)


async def test_a_chat_with_an_agent_names_it_and_shows_the_answer(room: Room, project: Path) -> None:
    assert room.text.startswith(f"Scripted Agent 1 on this computer, in {os.path.realpath(project)}")
    room.say("Hello")
    await room.shows("You said: Hello")
    assert "❯\u00a0You\nHello" in room.text
    assert "◆\u00a0Scripted Agent\nYou said: Hello" in room.text
    assert "Qwen" not in room.text


async def test_a_prompt_after_a_refused_one_is_sent_at_once(project: Path, tmp_path: Path) -> None:
    """As Mistral Vibe refuses a wrong key: with an error, after which it goes on."""
    script = """
def session_prompt(params):
    if params["prompt"][-1]["text"] == "first":
        raise Failure(-32603, "Invalid API key")
    say("Here."); return {"stopReason": "end_turn"}
"""
    async with chatting(project, AgentCommand("Vibe", tuple(scripted(script, tmp_path)))) as room:
        room.say("first")
        await room.shows("Invalid API key")
        await until(lambda: room.render.status.last == "failed")
        room.say("second")
        await room.shows("Here.")
        assert not room.render.unsent


async def test_a_prompt_is_not_held_up_by_a_review_that_does_not_answer(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr("companion.chats.outbox.UNDONE_LIMIT", 0.05)
    monkeypatch.setattr(room.chats[CHAT].place.turns, "undone_since", never, raising=False)
    room.say("Hello")
    await room.shows("You said: Hello")


async def test_a_mention_is_completed_from_the_folder_and_sent_as_a_file(room: Room, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "App [1].py").write_text("x = 1\n")
    (project / ".env").write_text("KEY=1\n")
    assert await room.chats[CHAT].files("app") == ["src/App [1].py"]
    assert await room.chats[CHAT].files("s/[1") == ["src/App [1].py"]
    assert ".env" not in await room.chats[CHAT].files("")
    room.say("Look at @src/App\\ [1].py now")
    await room.shows("You said: Look at  now")


async def test_an_accepted_diff_is_the_vote_and_the_file_is_written(room: Room, project: Path) -> None:
    path = project / "a.txt"
    path.write_text("one\n")
    room.say(json.dumps([str(path), "one\n", "two\n"]))
    diff = await room.diff()
    assert diff.review.owner.cli == "Scripted Agent"
    room.reviews.accept(diff.review.number, diff.text)
    await room.shows("Done.")
    assert path.read_text() == "two\n"


async def test_a_diff_that_the_person_has_edited_is_written_as_they_have_made_it(room: Room, project: Path) -> None:
    path = project / "a.txt"
    path.write_bytes(b"one\r\n")
    room.say(json.dumps([str(path), "one\n", "two\n"]))
    diff = await room.diff()
    assert diff.review.is_editable
    room.reviews.accept(diff.review.number, "mine\n")
    await room.shows("Done.")
    assert path.read_bytes() == b"mine\r\n"
    room.say("Next")
    await room.shows("edited your change")


async def test_edits_are_kept_if_the_question_is_answered_in_the_chat(room: Room, project: Path) -> None:
    path = project / "a.txt"
    path.write_text("one\n")
    room.say(json.dumps([str(path), "one\n", "two\n"]))
    diff = await room.diff()
    diff.text = "mine\n"
    await until(lambda: room.render.asks)
    room.chats.tell(CHAT, lambda own: own.approvals.give(room.render.asks[0].permission.id, "yes"))
    await room.shows("Done.")
    assert path.read_text() == "two\n"
    await until(lambda: room.editor.kept)
    assert room.editor.kept[0][2] == "mine\n"


async def test_an_agent_that_ends_is_told_and_a_reconnect_resumes(project: Path, tmp_path: Path) -> None:
    script = (
        EDIT
        + """
first = session_prompt
def session_prompt(params):
    if params["prompt"][-1]["text"] == "die":
        print("Error: broken.", file=sys.stderr, flush=True)
        os._exit(1)
    return first(params)
"""
    )
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        room.say("before")
        await room.shows("You said: before")
        room.say("die")
        message = await room.state("lost")
        assert message == "Scripted Agent has ended unexpectedly: Error: broken. Reconnect to start it again."
        assert "You said: before" in room.text
        room.chats[CHAT].reconnect()
        await room.state("live")
        await room.shows("as before")
        room.say("after")
        await room.shows("You said: after")


async def test_prompts_that_wait_for_an_agent_that_ends_come_back(project: Path, tmp_path: Path) -> None:
    """What was never begun has not failed."""
    script = """
def session_prompt(params):
    while not any(each.get("method") == "session/cancel" for each in seen): time.sleep(0.001)
    os._exit(1)
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        for words in ("one", "two", "three"):
            room.say(words)
        await until(lambda: len(room.render.status.queue) == 2)
        assert room.render.unsent == ()
        room.chats.tell(CHAT, lambda own: own.cancel())
        await room.state("lost")
        await until(lambda: len(room.editor.returned) == 2)
        why = "Scripted Agent has ended before it began this."
        assert room.editor.returned == [(1, Draft("two"), why), (1, Draft("three"), why)]
        await until(lambda: not room.render.status.queue)
        assert [turn.state for turn in room.chats[CHAT].turns] == ["failed"]


@pytest.mark.parametrize("what", ["a new conversation", "another agent"])
async def test_prompts_that_wait_come_back_if_the_person_goes_on_with_something_else(
    project: Path, tmp_path: Path, what: str
) -> None:
    script = """
def session_prompt(params):
    while True: time.sleep(1)
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        room.say("one")
        room.say("two")
        await until(lambda: room.render.status.queue)
        await until(lambda: not room.render.unsent)
        if what == "another agent":
            room.chats.open(CHAT, WINDOW, str(project))  # Qwen Code, by its daemon
        else:
            room.chats.show(CHAT)
        await until(lambda: room.editor.returned)
        assert room.editor.returned == [(1, Draft("two"), "The conversation has changed before this was sent.")]


async def test_an_agent_that_is_not_there_is_told_with_how_to_install_it(project: Path) -> None:
    missing = AgentCommand("Missing", ("there-is-no-such-program",), install="npm install -g missing")
    async with chatting(project, missing, opens=False) as room:
        room.chats.open(CHAT, WINDOW, str(project), agent="Missing")
        assert "npm install -g missing" in await room.state("lost")
        assert await room.chats.programs() == []
        room.chats.open(CHAT, WINDOW, str(project), agent="Nobody")
        assert room.editor.said == [("There is no agent “Nobody” in the setting “agents”.", 1)]


async def test_a_chat_that_changes_its_agent_begins_a_new_conversation(
    project: Path, agent: AgentCommand, tmp_path: Path
) -> None:
    other = AgentCommand("Other", agent.command)
    async with chatting(project, agent, other) as room:
        assert await room.chats.programs() == ["Scripted", "Other"]
        assert room.chats.at_work() == [agent.command[0]]
        room.say("Hello")
        await room.shows("You said: Hello")
        room.chats.open(CHAT, WINDOW, str(project), agent="Other")
        await until(lambda: "You said" not in room.text)
        await room.state("live")
        room.say("again")
        await room.shows("You said: again")
        left = await room.chats.stop(hand_over=True)
        chat = left[WindowId(1)]["chats"][1]
        assert (chat["agent"], chat["session"]) == ("Other", "s")
        following = Room(str(project), agent, other)
        following.chats.inherit(left, {WindowId(1): None})
        following.chats.open(CHAT, WINDOW, str(project), agent="Other")
        await following.shows("You said: again")
        await following.chats.stop(hand_over=False)


async def test_an_option_of_the_agent_is_set_from_the_chat(project: Path, tmp_path: Path) -> None:
    script = """
def options(value):
    return [{"id": "fast", "name": "Fast", "type": "boolean", "currentValue": value}]
def session_new(params):
    return {"sessionId": "s", "configOptions": options(False)}
def session_set_config_option(params):
    return {"configOptions": options(params["value"])}
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        await until(lambda: room.render.status.options)
        room.chats.tell(CHAT, lambda own: own.set_option("fast", True))
        await until(lambda: room.render.status.options[0].value is True)


MODES = """
modes = {"currentModeId": "auto", "availableModes": [{"id": "auto", "name": "Auto"}, {"id": "plan", "name": "Plan"}]}
def options(value):
    return [{"id": "fast", "name": "Fast", "type": "boolean", "currentValue": value}]
def session_new(params):
    return {"sessionId": "s", "modes": modes, "configOptions": options(False)}
def session_load(params):
    return session_new(params)
def session_set_mode(params):
    REFUSAL
    return {}
def session_set_config_option(params):
    return {"configOptions": options(params["value"])}
def session_prompt(params):
    say("Done.")
    return {"stopReason": "end_turn"}
"""


async def test_what_the_person_has_chosen_is_set_again_after_a_reconnect(project: Path, tmp_path: Path) -> None:
    script = scripted(MODES.replace("REFUSAL", "pass"), tmp_path)
    async with chatting(project, AgentCommand("Scripted", tuple(script))) as room:
        await until(lambda: room.render.status.options)
        room.say("x")
        await room.shows("Done.")
        room.chats.tell(CHAT, lambda own: own.set_option("fast", True))
        room.chats.tell(CHAT, lambda own: own.switch("mode", "plan"))
        await until(lambda: room.render.status.mode == "plan" and room.render.status.options[0].value is True)
        pid = room.agent_pid
        room.chats[CHAT].reconnect()
        connection = room.chats[CHAT].connection
        await until(lambda: connection.has_client and room.agent_pid != pid)
        await until(lambda: room.render.status.mode == "plan" and room.render.status.options[0].value is True)


async def test_what_can_not_be_set_again_is_said(project: Path, tmp_path: Path) -> None:
    marker = tmp_path / "refuses"
    refusal = f"if os.path.exists({str(marker)!r}): raise Failure(-32603, 'no')"
    script = scripted(MODES.replace("REFUSAL", refusal), tmp_path)
    async with chatting(project, AgentCommand("Scripted", tuple(script))) as room:
        await until(lambda: room.render.status.options)
        room.say("x")
        await room.shows("Done.")
        room.chats.tell(CHAT, lambda own: own.switch("mode", "plan"))
        await until(lambda: room.render.status.mode == "plan")
        marker.touch()
        room.chats[CHAT].reconnect()
        await room.shows("This could not be set as it was before: the mode.")
        assert room.render.status.mode == "auto"


async def test_a_running_terminal_has_a_stop_below_its_tool_call(project: Path, tmp_path: Path) -> None:
    script = """
def session_prompt(params):
    code = "import time; print(1, flush=True); time.sleep(600)"
    made = ask("terminal/create", command=sys.executable, args=["-c", code])
    update(sessionUpdate="tool_call", toolCallId="t", title="Sleep", kind="execute",
           content=[{"type": "terminal", **made}])
    ask("terminal/wait_for_exit", **made)
    say("It has ended.")
    return {"stopReason": "end_turn"}
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        room.say("Run")
        await until(lambda: room.render.running)
        [running] = room.render.running
        assert "Sleep" in room.text[running.start :].partition("\n")[0]
        # It must not be hidden while the details are folded.
        assert not any(fold.start <= running.start <= fold.end for fold in room.render.folds)
        room.chats.tell(CHAT, lambda own: own.tasks.stop_terminals(running.terminals))
        await room.shows("It has ended.")
        await until(lambda: not room.render.running)
        room.chats.tell(CHAT, lambda own: own.tasks.stop_terminals(["terminal-1"]))
        await until(lambda: ("It has ended already.", 1) in room.editor.mentioned)


async def test_what_an_agent_can_not_do_is_said(room: Room) -> None:
    room.chats.tell(CHAT, lambda own: own.switch("effort", "high"))
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("Scripted Agent can't switch how long the model thinks.", 1)]
    assert "Scripted Agent" in await room.chats[CHAT].locality()
    room.say("Hello")
    await room.shows("You said: Hello")
    room.chats.tell(CHAT, lambda own: own.history.continue_turn())
    await room.shows("You said: Continue")


async def test_another_command_in_the_settings_is_for_who_has_allowed_it(
    room: Room, project: Path, agent: AgentCommand, tmp_path: Path
) -> None:
    """A redraw and a reconnect by itself keep the command that was said yes to."""
    room.say("one")
    await room.shows("You said: one")
    other = AgentCommand(agent.name, (*agent.command, "other"))
    for known in ((other,), ()):
        room.configure(*known)
        count = len(room.editor.renders[1])
        room.chats.open(CHAT, WINDOW, str(project), room.render.session, agent.name)
        await until(lambda count=count: any(each.replaces_all for each in room.editor.renders[1][count:]))
        psutil.Process(room.agent_pid).kill()
        await room.state("lost")
        room.say("two")
        await room.state("live")
        assert not room.command.endswith("other")
    assert room.editor.said == []
    count = len(room.editor.renders[1])
    room.chats[CHAT].reconnect(other)
    states = lambda: [each.status.connection.state for each in room.editor.renders[1][count:]]  # noqa: E731
    await until(lambda: "connecting" in states() and states()[-1] == "live")
    assert room.command.endswith("other")


async def test_escape_just_as_a_turn_ends_refuses_nothing_of_the_next_one(
    room: Room, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "a.txt"
    path.write_text("one\n")
    ends, goes_on = asyncio.Event(), asyncio.Event()

    async def settle_all(_: Files) -> list[Any]:
        ends.set()
        await asyncio.wait_for(goes_on.wait(), LIMIT)
        return []

    monkeypatch.setattr(Files, "settle_all", settle_all)
    room.say("One")
    await asyncio.wait_for(ends.wait(), LIMIT)
    room.chats.tell(CHAT, lambda own: own.cancel())
    await room.shows("Cancelling…")
    goes_on.set()
    room.say(json.dumps([str(path), "one\n", "two\n"]))
    diff = await room.diff()
    room.reviews.accept(diff.review.number, diff.text)
    await until(lambda: path.read_text() == "two\n")
    assert room.editor.said == []


TWO_PIECES = """
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
def session_prompt(params):
    path = params["prompt"][-1]["text"]
    diffs = [{"type": "diff", "path": path, "oldText": old, "newText": "new"} for old in ("nowhere", "neither")]
    call = {"toolCallId": "t", "title": "Edit", "kind": "edit", "status": "pending", "content": diffs}
    ask("session/request_permission", toolCall=call, options=OPTIONS)
    return {"stopReason": "end_turn"}
"""


async def test_two_pieces_of_one_file_that_fit_nowhere_can_not_be_edited_against_each_other(
    project: Path, tmp_path: Path
) -> None:
    """The later edit would push out the earlier one."""
    path = project / "a.txt"
    path.write_text("one\n")
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(TWO_PIECES, tmp_path)))) as room:
        room.say(str(path))
        await until(lambda: len(room.editor.open_diffs) == 2)
        assert [diff.review.is_editable for diff in room.editor.open_diffs.values()] == [False, False]


async def test_a_chat_knows_what_its_agent_can_not_do(room: Room) -> None:
    await room.state("live")
    assert {"history", "rewind", "tasks"} <= set(room.chats[CHAT].status.lacks)
    assert not {"authentication", "edits"} & set(room.chats[CHAT].status.lacks)


class Written:
    """Who has looked at the files of a turn."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.restored: list[str] = []

    def connected(self, window: int) -> None:
        pass

    def turn_began(self, window: int, chat: int, agent: str, turn: str, words: str, sent: int) -> None:
        self.began.append(turn)

    def turn_ended(self, window: int, chat: int, turn: str) -> None:
        pass

    def named(self, agent: str, path: str) -> None:
        pass

    async def turn_texts(self, window: int, turn: str) -> list[tuple[str, str, str]] | None:
        return None

    async def turn_files(self, window: int, turn: str) -> list[str] | None:
        return ["/p/a.py"] if turn in self.began else None

    async def undone_since(self, window: int) -> list[str]:
        return []

    async def notes_sent(self, window: int, lines: Sequence[str]) -> None:
        pass

    async def restore_turn(self, window: int, turn: str, files: Collection[str]) -> tuple[list[str], list[str]]:
        assert files == ("/p/a.py",)
        self.restored.append(turn)
        return ["/p/a.py"], ["b.py has your edits in the same lines."]


async def test_the_time_at_which_a_prompt_is_sent_is_known(room: Room) -> None:
    await room.state("live")
    began = time.time_ns()
    room.say("Hello")
    await room.shows("You said: Hello")
    assert began <= room.chats[CHAT].outbox.sent_at <= time.time_ns()


async def written_turn(room: Room, written: Written) -> RewindTarget:
    """What a turn is gone back to by, in which files were written."""
    await room.state("live")
    chat = room.chats[CHAT]
    room.say("Hello")
    await room.shows("You said: Hello")
    await until(lambda: chat.status.running is None)
    written.began = [turn.key for turn in chat.turns]
    chat.place.turns = cast("Rounds", written)
    [target] = await chat.history.targets()
    return target


async def test_the_files_go_back_also_where_the_agent_can_not(room: Room) -> None:
    written = Written()
    target = await written_turn(room, written)
    assert (target.text, target.files, target.rewinds) == ("Hello", ("/p/a.py",), False)
    told, draft = await room.chats[CHAT].history.rewind(target, undo_files=True)
    assert told.startswith("Undone: /p/a.py. ")
    assert "still knows" in told
    assert told.endswith("b.py has your edits in the same lines.")
    assert draft.text == "Hello"
    assert written.restored == written.began
    room.chats.turn_written(CHAT, target.turn, 3)
    await until(lambda: room.render.status.changed == 3)


async def test_the_prompt_comes_back_where_the_files_do_not(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Written()
    restore = AsyncMock(side_effect=OSError("nothing was written: the question was closed without an answer"))
    monkeypatch.setattr(written, "restore_turn", restore)
    target = await written_turn(room, written)
    told, draft = await room.chats[CHAT].history.rewind(target, undo_files=True)
    assert told.endswith(" Nothing was written: the question was closed without an answer.")
    assert draft.text == "Hello"


RESUMES = """
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "A"},
            "agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
def session_resume(params):
    update(sessionUpdate="available_commands_update", availableCommands=[{"name": "do", "description": "It"}])
    return {}
"""


async def test_what_was_said_stays_if_the_agent_resumes_without_telling_it(project: Path, tmp_path: Path) -> None:
    agent = AgentCommand("Scripted", tuple(scripted(RESUMES, tmp_path)))
    async with chatting(project, agent) as room:
        room.say("Hello")
        await room.shows("You said: Hello")
        before = room.agent_pid
        room.chats[CHAT].reconnect()
        await until(lambda: room.render.status.commands)
        await room.state("live")
        assert room.agent_pid != before
        room.say("Again")
        await room.shows("You said: Again")
        assert [room.text.count(words) for words in ("You said: Hello", "You said: Again")] == [1, 1]
        assert UNTOLD not in room.text


async def test_a_conversation_of_which_nothing_is_told_says_so(project: Path, tmp_path: Path) -> None:
    agent = AgentCommand("Scripted", tuple(scripted(RESUMES, tmp_path)))
    async with chatting(project, agent, opens=False) as room:
        room.chats.open(CHAT, WINDOW, str(project), "s", agent="Scripted")
        await room.state("live")
        await room.shows(UNTOLD)
        room.say("Again")
        await room.shows("You said: Again")
        assert room.text.count(UNTOLD) == 1
