"""What the person has chosen for a session holds: a stricter mode never becomes a looser one unsaid."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import psutil
import pytest

from companion.agents import AgentCommand
from companion.chats.connection import Chosen, UndecidedError, option_kind
from companion.chats.prompt import Draft
from companion.conversation.snapshot import ChoiceKind, SessionOption, Status
from tests.agent_talk import scripted, until

from .agent_room import Room, chatting
from .chatting import CHAT, WINDOW

SCRIPT = """
gone = os.path.exists(sys.argv[1] + ".gone")
available = [{"id": "auto", "name": "Auto"}] + ([] if gone else [{"id": "plan", "name": "Read-only"}])
MODES = {"currentModeId": "auto", "availableModes": available}
def option(value):
    return {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": value}
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "A"}, "agentCapabilities": {"loadSession": True}}
def session_new(params):
    return {"sessionId": "s", "modes": MODES, "configOptions": [option(False)]}
def session_load(params):
    say("before", "user_message_chunk"); say("as before")
    return {"modes": MODES, "configOptions": [option(False)]}
def session_set_mode(params):
    if os.path.exists(sys.argv[1] + ".refuses"):
        raise Failure(-32603, "no")
    MODES["currentModeId"] = params["modeId"]
    return {}
def session_set_config_option(params):
    MODES["fast"] = params["value"]
    return {"configOptions": [option(params["value"])]}
def session_prompt(params):
    if params["prompt"][-1]["text"] == "leave":
        MODES["currentModeId"] = "auto"
        update(sessionUpdate="current_mode_update", currentModeId="auto")
        update(sessionUpdate="config_option_update", configOptions=[option(False)])
    say(f"{params['prompt'][-1]['text']} in {MODES['currentModeId']}, fast {MODES.get('fast', False)}. ")
    return {"stopReason": "end_turn"}
"""


def scripted_agent(tmp_path: Path) -> AgentCommand:
    return AgentCommand("Scripted", tuple(scripted(SCRIPT, tmp_path)))


@pytest.fixture
def room(project: Path, tmp_path: Path) -> AbstractAsyncContextManager[Room]:
    return chatting(project, scripted_agent(tmp_path))


async def choose(room: Room) -> None:
    await until(lambda: room.render.status.modes)
    room.chats.tell(CHAT, lambda own: own.switch("mode", "plan"))
    room.chats.tell(CHAT, lambda own: own.set_option("fast", True))
    await until(lambda: room.render.chosen.get("mode") == "plan" and "option fast" in room.render.chosen)


async def reopen(room: Room, project: Path) -> None:
    """Close the chat, and take its session up in a new one with what was chosen."""
    session, chosen = room.render.session, dict(room.render.chosen)
    room.chats.close(CHAT)
    room.editor.renders[1].clear()
    room.chats.open(CHAT, WINDOW, str(project), session, "Scripted", chosen)
    await room.state("live")


async def reconnect(room: Room) -> None:
    pid = room.agent_pid
    room.chats[CHAT].reconnect()
    connection = room.chats[CHAT].connection
    await until(lambda: connection.has_client and room.agent_pid != pid)
    await room.state("live")


async def test_a_mode_that_was_chosen_before_the_first_prompt_holds_after_a_reconnect(room: Room) -> None:
    await choose(room)
    await reconnect(room)
    room.say("one")
    await room.shows("one in plan, fast True.")


@pytest.mark.parametrize("is_said", [True, False], ids=["in a session", "before the first prompt"])
async def test_a_chosen_mode_holds_where_the_chat_is_opened_again(room: Room, project: Path, is_said: bool) -> None:
    """Its tab was closed, moved to another window, or the editor was started anew."""
    await choose(room)
    if is_said:
        room.say("one")
        await room.shows("one in plan, fast True.")
        await until(lambda: room.render.chosen.get("session") == "s")
    await reopen(room, project)
    room.say("two")
    await room.shows("two in plan, fast True.")
    assert room.render.status.mode == "plan"


async def test_a_new_conversation_has_none_of_the_choices_of_the_last_one(room: Room) -> None:
    await choose(room)
    room.say("one")
    await room.shows("one in plan")
    room.chats.show(CHAT)
    await until(lambda: not room.render.chosen and room.render.status.connection.state == "live")
    room.say("two")
    await room.shows("two in auto")


@pytest.mark.parametrize("decides", ["sends again", "chooses"])
async def test_a_prompt_waits_for_the_person_if_their_mode_is_gone(room: Room, tmp_path: Path, decides: str) -> None:
    gone = tmp_path / "script.py.gone"
    await choose(room)
    room.say("one")
    await room.shows("one in plan")
    gone.touch()
    await reconnect(room)
    await room.shows("This could not be set as it was before: the mode.")
    room.say("two")
    room.say("three")
    await until(lambda: len(room.editor.returned) == 2)
    assert [draft for _, draft, _ in room.editor.returned] == [Draft("two"), Draft("three")]
    assert all(
        "because the mode could not be set as before. Choose another one, or send this again" in why
        for *_, why in room.editor.returned
    )
    assert "two in" not in room.text
    if decides == "chooses":
        room.chats.tell(CHAT, lambda own: own.switch("mode", "auto"))
        await until(lambda: room.render.chosen["mode"] == "auto")
    room.say("four")
    await room.shows("four in auto")
    assert len(room.editor.returned) == 2


@pytest.mark.parametrize("is_said", [True, False], ids=["the person is told", "the person sends nothing"])
async def test_a_mode_that_could_not_be_set_is_set_at_the_next_connection(
    room: Room, tmp_path: Path, is_said: bool
) -> None:
    refuses = tmp_path / "script.py.refuses"
    await choose(room)
    room.say("one")
    await room.shows("one in plan")
    refuses.touch()
    for _ in range(2):
        await reconnect(room)
        await room.shows("This could not be set as it was before: the mode.")
    assert room.render.chosen["mode"] == "plan"
    if is_said:
        room.say("two")
        await until(lambda: len(room.editor.returned) == 1)
    refuses.unlink()
    await reconnect(room)
    room.say("three")
    await room.shows("three in plan, fast True.")


@pytest.mark.parametrize("has_ended", [False, True], ids=["while the person reconnects", "once the agent has ended"])
@pytest.mark.parametrize("refuses_still", [False, True], ids=["the mode can be set", "it can't be set again"])
async def test_who_was_told_goes_on_only_in_the_session_of_which_they_were_told(
    room: Room, tmp_path: Path, has_ended: bool, refuses_still: bool
) -> None:
    refuses = tmp_path / "script.py.refuses"
    await choose(room)
    refuses.touch()
    await reconnect(room)
    room.say("one")
    await until(lambda: len(room.editor.returned) == 1)
    if not refuses_still:
        refuses.unlink()
    if has_ended:
        psutil.Process(room.agent_pid).kill()
        await room.state("lost")
    else:
        room.chats[CHAT].reconnect()
    room.say("two")
    if refuses_still:
        await until(lambda: len(room.editor.returned) == 2)
        room.say("three")
        await room.shows("three in auto")
        assert "two in" not in room.text
    else:
        await room.shows("two in plan, fast True.")


@pytest.mark.parametrize("way", ["after a reconnect", "after a restart"])
async def test_a_mode_that_the_session_has_left_is_not_set_again(room: Room, project: Path, way: str) -> None:
    await choose(room)
    room.say("leave")
    await room.shows("leave in auto")
    await until(lambda: room.render.chosen.get("mode") == "auto")
    assert room.render.chosen["option fast"] is False
    if way == "after a reconnect":
        await reconnect(room)
    else:
        await reopen(room, project)
    room.say("two")
    await room.shows("two in auto, fast False.")


async def test_who_goes_on_without_their_mode_is_not_asked_again_after_a_reconnect(room: Room, tmp_path: Path) -> None:
    await choose(room)
    room.say("one")
    await room.shows("one in plan")
    (tmp_path / "script.py.gone").touch()
    await reconnect(room)
    room.say("two")
    await until(lambda: room.editor.returned)
    room.say("three")
    await room.shows("three in auto")
    await reconnect(room)
    room.say("four")
    await room.shows("four in auto")
    assert [draft.text for _, draft, _ in room.editor.returned] == ["two"]


async def test_how_long_the_model_thinks_is_set_after_the_model(project: Path, tmp_path: Path) -> None:
    script = """
now = {"m": "a", "t": "low"}
def option(name, category, *values):
    offered = [{"value": each, "name": each} for each in values]
    return {"id": name, "name": name, "category": category, "type": "select", "currentValue": now[name],
        "options": offered}
def opened(params):
    options = [option("m", "model", "a", "b"), option("t", "thought_level", "low", "high")]
    return {"sessionId": "s", "configOptions": options}
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "A"}, "agentCapabilities": {"loadSession": True}}
session_new = opened
def session_load(params):
    say("before", "user_message_chunk"); say("as before")
    return opened(params)
def session_set_config_option(params):
    now[params["configId"]] = params["value"]
    if params["configId"] == "m":
        now["t"] = "low"
    return opened(params)
def session_prompt(params):
    say(f"{now['m']} thinks {now['t']}. ")
    return {"stopReason": "end_turn"}
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        switches: list[tuple[ChoiceKind, str]] = [("effort", "high"), ("model", "b"), ("effort", "high")]
        for kind, value in switches:
            room.chats.tell(CHAT, lambda own, kind=kind, value=value: own.switch(kind, value))
            await until(lambda kind=kind, value=value: getattr(room.render.status, kind) == value)
        room.say("one")
        await room.shows("b thinks high.")
        await reopen(room, project)
        assert room.render.status.effort == "high"


def test_a_choice_decides_nothing_but_what_it_is_about():
    chosen = Chosen(before=Status(mode="plan", model="m", options=(SessionOption("mode", "Mode", "x"),)))
    chosen.fail({"mode": "the mode", "model": "the model", option_kind("mode"): "“Mode”"})
    chosen.take("effort", "high")
    with pytest.raises(UndecidedError, match="because the mode, the model, “Mode” could not be set as before"):
        chosen.check()
    chosen.take("mode", "auto")
    chosen.sends(Status())
    with pytest.raises(UndecidedError, match="because the model, “Mode” could not"):
        chosen.check()
    chosen.take(option_kind("mode"), "y")
    chosen.follow(Status(mode="plan"))
    assert chosen.values == {"effort": "high", "mode": "auto", option_kind("mode"): "y"}
    chosen.take("model", "n")
    chosen.check()
    assert chosen.before is None


def test_only_what_was_chosen_follows_the_session():
    chosen = Chosen({"mode": "plan", option_kind("fast"): True, option_kind("gone"): "a"})
    options = (SessionOption("fast", "Fast", False), SessionOption("other", "Other", True))
    chosen.follow(Status(mode="auto", model="m", effort="high", options=options))
    assert chosen == Chosen({"mode": "auto", option_kind("fast"): False, option_kind("gone"): "a"})


def test_odd_choices_are_none():
    kept = {"session": "s", "mode": 3, "model": "m", option_kind("a"): [], option_kind("b"): "c"}
    assert Chosen.from_plain(kept, "s") == Chosen({"model": "m", option_kind("b"): "c"})
    for odd in (None, [], "plan", {}, {"session": "other", "mode": "plan"}, {"session": "s", "mode": 3}):
        assert Chosen.from_plain(odd, "s").as_plain("s") == {}
    chosen = Chosen({"mode": "plan", option_kind("fast"): True})
    assert Chosen.from_plain(chosen.as_plain("s"), "s") == chosen
    chosen.fail({"mode": "the mode"})
    chosen.sends(Status())
    with pytest.raises(UndecidedError):
        chosen.check()
    chosen.sends(Status())
    chosen.check()
