"""A reload of the package while a prompt waits for a sign-in: it waits on, and so does what comes after it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from companion.chats.connection import ChatConnection
from tests.agent_talk import until

from . import test_chats_handover as handover
from .chatting import CHAT, WINDOW

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pipe belongs to the loop that has read from it")
SCRIPT = """
signed, refused = [], []
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "A"}, "authMethods": [{"id": "g", "name": "G"}],
        "agentCapabilities": {"loadSession": True}}
def authenticate(params):
    signed.append(1)
    return {}
def session_load(params):
    say("It was loaded."); return {}
def session_prompt(params):
    text = params["prompt"][-1]["text"]
    if not signed:
        refused.append(1)
        open(sys.argv[1] + f".{len(refused)}", "w").close()
        raise Failure(-32000, "Authentication required")
    say("Begin " + text + ". ")
    return {"stopReason": "end_turn"}
"""


async def two_wait(there: handover.Reloads) -> None:
    """The first of two prompts waits for a sign-in, again: it is tried once more when the second one is sent."""
    there.room.say("first")
    await until(lambda: there.room.render.status.connection.wants_sign_in)
    there.room.say("second")
    await until(lambda: there.room.render.status.queue)
    await there.wrote(".2")
    await until(lambda: there.room.chats[CHAT].connection.held and there.room.render.status.connection.wants_sign_in)


@pytest.mark.parametrize("how", ["signs in", "cancels"])
async def test_a_prompt_that_waits_for_a_sign_in_waits_on_after_a_reload(
    project: Path, tmp_path: Path, how: str
) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        await two_wait(there)
        await there.reload()
        room = there.room
        await until(lambda: room.render.status.connection.wants_sign_in)
        assert room.render.status.running
        assert [queued.text for queued in room.render.status.queue] == ["second"]
        assert "Begin" not in room.text
        client, session = room.chats[CHAT].connection.connected
        assert client.can("authentication")
        if how == "cancels":
            await client.cancel(session)
            # What comes next is refused as well, and waits.
            await until(lambda: not room.render.status.queue and room.render.status.connection.wants_sign_in)
        await client.authenticate("g")
        await room.shows("Begin second.")
        assert ("Begin first." in room.text) == (how == "signs in")
        await until(lambda: room.render.status.running is None)


async def test_a_prompt_tries_again_what_waits_for_a_sign_in(project: Path, tmp_path: Path) -> None:
    """The person may have signed in elsewhere. What waits says for what, and what ends it."""
    script = SCRIPT.replace("signed, refused = [], []", "signed, refused, asked = [], [], []").replace(
        "    if not signed:", "    asked.append(1)\n    if len(asked) < 3:"
    )
    async with handover.reloads(project, tmp_path, script) as there:
        there.room.say("first")
        await there.room.shows("Waiting until you sign in. Send a prompt to try again")
        assert "Working…" not in there.room.text
        there.room.say("second")
        await until(lambda: there.room.render.status.queue)
        await there.room.shows("Waiting until you sign in.")
        there.room.say("third")
        await there.room.shows("Begin third.")
        assert "Begin first. " in there.room.text
        assert "Begin second. " in there.room.text
        assert "Waiting until" not in there.room.text


async def test_a_prompt_that_waits_for_a_sign_in_is_sent_once_though_one_reconnects_twice(
    project: Path, tmp_path: Path
) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        there.room.say("first")
        await until(lambda: there.room.render.status.connection.wants_sign_in)
        there.room.chats[CHAT].reconnect()
        there.room.chats[CHAT].reconnect()
        assert [each.text for each in there.room.chats[CHAT].outbox.unsent] == ["first"]
        there.room.chats.close(CHAT)
        assert [draft.text for _, draft, _ in there.room.editor.returned] == ["first"]


@pytest.mark.parametrize("closes", ["its tab", "its window"])
@pytest.mark.parametrize("is_reloaded", [False, True], ids=["before a reload", "after a reload"])
async def test_a_prompt_that_waits_for_a_sign_in_comes_back_from_a_chat_that_closes(
    project: Path, tmp_path: Path, closes: str, is_reloaded: bool
) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        await two_wait(there)
        if is_reloaded:
            await there.reload()
            await until(lambda: there.room.render.status.queue)
        if closes == "its tab":
            there.room.chats.close(CHAT)
        else:
            there.room.chats.window_closed(WINDOW)
        assert [draft.text for _, draft, _ in there.room.editor.returned] == ["first", "second"]


async def test_it_comes_back_too_if_the_chat_closes_before_its_agent_has_said_so_again(
    project: Path, tmp_path: Path
) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        await two_wait(there)
        await there.unload()
        there.load()
        while not ((chat := there.room.chats.get(CHAT)) and chat.status.queue):  # noqa: ASYNC110 - a pause would be too long
            await asyncio.sleep(0)
        there.room.chats.window_closed(WINDOW)
        assert [draft.text for _, draft, _ in there.room.editor.returned] == ["first", "second"]


@pytest.mark.parametrize("is_gone", [False, True], ids=["is started anew", "can't be started either"])
async def test_it_comes_back_if_its_agent_can_not_be_taken_over(
    project: Path, tmp_path: Path, is_gone: bool, stormy: object
) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        await two_wait(there)
        left = await there.unload()
        del left["process"]["settings"]
        if is_gone:
            there.script.write_text("raise SystemExit(3)")
        there.load()
        await there.room.state("lost" if is_gone else "live")
        await until(lambda: len(there.room.editor.returned) == 2)
        assert [draft.text for _, draft, _ in there.room.editor.returned] == ["first", "second"]


@pytest.mark.parametrize("ends", ["its tab closes", "another reload"])
async def test_it_comes_back_too_before_the_chat_has_read_anything_of_its_agent(
    project: Path, tmp_path: Path, ends: str
) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        await two_wait(there)
        await there.unload()
        with patch.object(ChatConnection, "_follow", nothing_comes):
            there.load()
            await there.room.state("live")
            assert there.room.render.status.connection.wants_sign_in
            if ends == "another reload":
                await there.reload()
        there.room.chats.close(CHAT)
        assert [draft.text for _, draft, _ in there.room.editor.returned] == ["first", "second"]


async def nothing_comes(*_: object) -> None:
    await asyncio.Event().wait()


async def test_a_reload_does_not_say_again_that_the_agent_wants_a_sign_in(project: Path, tmp_path: Path) -> None:
    async with handover.reloads(project, tmp_path, SCRIPT) as there:
        there.room.say("first")
        await there.room.shows("wants you to sign in")
        for _ in range(2):
            await there.reload()
            assert there.room.render.status.connection.wants_sign_in
        client, _ = there.room.chats[CHAT].connection.connected
        await client.authenticate("g")
        await there.room.shows("Begin first.")
        assert there.room.text.count("wants you to sign in") == 1
