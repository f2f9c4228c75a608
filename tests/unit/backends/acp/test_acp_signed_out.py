"""A sign-in that is over in the middle of a turn: what is done stays done once, and the request for it ends."""

from __future__ import annotations

import sys

import pytest

from tests.agent_talk import until

from ...chats.chatting import CHAT
from .signing import SCRIPT, SignIns

FIRST = """
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
def session_prompt(params):
    prompts = sum(each.get("method") == "session/prompt" for each in seen)
    if prompts == 1:
        DOES
        pathlib.Path(sys.argv[1] + ".in").unlink()
    if not is_in(): raise Failure(-32000, "Authentication required")
    say("Prompt " + str(prompts) + " is answered.")
    return {"stopReason": "end_turn"}
"""
DOES = {
    "a file": """ask("fs/write_text_file", path=os.path.join(os.getcwd(), "paid.txt"), content="once")""",
    "a command": """ask("terminal/create", command=sys.executable, args=["-c", "pass"])""",
    "an answer": """ask("session/request_permission", toolCall={"toolCallId": "t", "title": "Pay"}, options=OPTIONS)""",
}
FORM = """ask("elicitation/create", mode="form", message="Which account?",
            requestedSchema={"type": "object", "properties": {"name": {"type": "string"}}})"""


@pytest.mark.parametrize("does", DOES)
async def test_what_an_agent_does_without_telling_of_a_tool_is_not_done_twice(sign_ins: SignIns, does: str):
    script = SCRIPT + FIRST.replace("DOES", DOES[does])
    async with sign_ins.open(script) as room:
        room.say("Pay")
        if does == "an answer":
            await until(lambda: room.render.status.permissions)
            [asked] = room.render.status.permissions
            room.chats.tell(CHAT, lambda own: own.approvals.give(asked.id, "yes"))
        await room.shows("A wants you to sign in.")
        await room.chats[CHAT].sign_in.authenticate("g")
        await until(lambda: room.render.status.running is None)
        assert "since a part of it is done. Sign in, then ask A to go on." in room.text
        room.say("go on")
        await room.shows("Prompt 2 is answered.")


async def test_a_prompt_of_which_only_a_question_was_asked_is_sent_again_after_the_sign_in(sign_ins: SignIns):
    script = SCRIPT + FIRST.replace("DOES", FORM)
    async with sign_ins.open(script) as room:
        room.say("Pay")
        await until(lambda: room.render.status.permissions)
        [asked] = room.render.status.permissions
        room.chats.tell(CHAT, lambda own: own.approvals.give(asked.id, None))
        await room.shows("A wants you to sign in.")
        await until(lambda: room.render.status.connection.wants_sign_in)
        await room.chats[CHAT].sign_in.authenticate("g")
        await room.shows("Prompt 2 is answered.")
        assert "a part of it is done" not in room.text


SLOW = """
def session_prompt(params):
    text = params["prompt"][0]["text"]
    if text == "half":
        update(sessionUpdate="tool_call", toolCallId="t", title="Pay", status="completed")
        pathlib.Path(sys.argv[1] + ".in").unlink()
    if text == "out":
        pathlib.Path(sys.argv[1] + ".in").unlink()
    if not is_in(): raise Failure(-32000, "Authentication required")
    say("Begun.")
    while not os.path.exists(sys.argv[1] + ".go"): time.sleep(0.001)
    return {"stopReason": "end_turn"}
"""


@pytest.mark.parametrize("before", ["half", "out"])
async def test_a_prompt_that_runs_after_a_login_elsewhere_is_not_one_that_waits_for_it(sign_ins: SignIns, before: str):
    """A reconnect would send it once more."""
    async with sign_ins.open(SCRIPT + SLOW) as room:
        room.say(before)
        await room.shows("A wants you to sign in.")
        if before == "out":
            room.chats.tell(CHAT, lambda own: own.cancel())
        await until(lambda: room.render.status.running is None)
        assert room.render.status.connection.wants_sign_in
        sign_ins.sign_in.touch()
        room.say("go on")
        await room.shows("Begun.")
        assert not room.render.status.connection.wants_sign_in
        assert room.chats[CHAT]._take_held() == {}
        sign_ins.file("go").touch()
        await until(lambda: room.render.status.running is None)


EXPIRES = """
def session_prompt(params):
    if sum(each.get("method") == "session/prompt" for each in seen) > 1:
        say("Prompt 2 is answered.")
        return {"stopReason": "end_turn"}
    if params["prompt"][0]["text"] == "pays":
        update(sessionUpdate="tool_call", toolCallId="t", title="Pay", status="completed")
    say("Begun.")
    while not os.path.exists(sys.argv[1] + ".go"): time.sleep(0.001)
    raise Failure(-32000, "Authentication required")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe belongs to the loop that has read from it")
@pytest.mark.parametrize("does", ["asks", "pays"])
async def test_a_sign_in_that_expires_after_a_reload_in_a_turn_is_asked_for(sign_ins: SignIns, does: str):
    async with sign_ins.reloaded(SCRIPT + EXPIRES) as there:
        there.room.say(does)
        await there.room.shows("Begun.")
        await there.reload()
        there.go()
        room = there.room
        await room.shows("A wants you to sign in.")
        await until(lambda: room.render.status.connection.wants_sign_in)
        if does == "pays":
            await room.shows("since a part of it is done. Sign in, then ask A to go on.")
            await until(lambda: room.render.status.last == "failed")
        await room.chats[CHAT].sign_in.authenticate("g")
        if does == "pays":
            room.say("go on")
        await room.shows("Prompt 2 is answered.")
        assert ("a part of it is done" in room.text) == (does == "pays")
