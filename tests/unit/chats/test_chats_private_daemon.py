"""A window's private daemon: started, replaced, kept over a reload, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from companion.chats.prompt import Draft, Excerpt
from companion.editor import WindowId

from ..fake_daemon import until
from .chatting import CHAT, WINDOW, Room, ask, attached, real

# A private daemon


LISTENS = """
import sys, time
print("qwen serve listening on URL (mode=http-bridge)", flush=True)
time.sleep(60)
"""


@pytest.fixture
@contextlib.asynccontextmanager
async def managed(project: Path, tmp_path: Path) -> AsyncGenerator[Room]:
    """A window with a `qwen serve` that says it is the daemon of the test."""
    async with attached(project) as room:
        program = tmp_path / "fake_qwen.py"
        program.write_text(LISTENS.replace("URL", room.daemon.address.url), encoding="utf-8")
        room.configure(url="", token="", command=(sys.executable, str(program)))
        yield room


async def test_a_private_daemon_is_started_shown_and_ended_with_the_window(managed: Room) -> None:
    await managed.opened()
    messages = [render.status.connection.message for render in managed.editor.renders[1]]
    # A first render may come before the daemon is looked for.
    assert next(filter(None, messages)) == "Starting `qwen serve`…"
    assert managed.render.locality.is_private
    daemon = managed.chats[CHAT].connector.private.daemon
    assert daemon
    managed.chats.close(CHAT)
    await managed.asked("POST /session/s/detach")
    assert daemon.is_running
    await managed.opened()
    assert managed.chats[CHAT].connector.private.daemon is daemon
    managed.chats.window_closed(WINDOW)
    await until(lambda: not managed.chats._ending)
    assert not daemon.is_running


async def test_the_queue_of_a_private_daemon_comes_back_when_it_ends_with_its_window(managed: Room) -> None:
    stream = await managed.opened()
    managed.chats.send(CHAT, Draft("later"))
    await until(lambda: [each.state for each in managed.render.unsent] == ["sent"])
    stream.send("pending_prompt_added", 1, promptId="p", text="later")
    await until(lambda: managed.render.status.queue)
    assert [each.draft.text for each in managed.render.waiting] == ["later"]
    managed.chats.window_closed(WINDOW)
    assert [draft.text for _, draft, _ in managed.editor.returned] == ["later"]


@pytest.mark.parametrize("ends", ["its window", "its session", "its window, after a question", "its daemon"])
async def test_the_queue_of_a_closed_tab_comes_back_when_its_private_daemon_or_its_session_ends(
    managed: Room, ends: str
) -> None:
    stream = await managed.opened()
    managed.chats.send(CHAT, Draft("now"))
    stream.say(1, "On it")
    await until(lambda: managed.render.status.running)
    managed.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "q"}
    managed.chats.send(CHAT, Draft("later"))
    await until(lambda: [each.state for each in managed.render.unsent][-1:] == ["sent"])
    stream.send("pending_prompt_added", 2, promptId="q", text="later")
    await until(lambda: managed.render.status.queue)
    chat = managed.chats[CHAT]
    managed.chats.close(CHAT)
    assert managed.editor.returned == []
    if ends == "its session":
        stream.send("session_died", 3, reason="channel_closed")
    elif ends == "its window":
        managed.chats.window_closed(WINDOW)
    elif ends == "its daemon":
        assert chat.connector.private.daemon
        chat.connector.private.daemon.end()
        managed.daemon.routes["GET /capabilities"] = managed.daemon.routes["GET /events"] = None
        stream.cut()
    else:
        ask(stream, 3)
        await until(lambda: chat.status.permissions)
        await asyncio.sleep(0.05)
        managed.chats.window_closed(WINDOW)
    await until(lambda: managed.editor.returned)
    assert [draft.text for _, draft, _ in managed.editor.returned] == ["later"]
    await until(lambda: not managed.chats._leaving)


async def test_one_for_another_folder_is_replaced(managed: Room, tmp_path: Path) -> None:
    await managed.opened()
    first = managed.chats[CHAT].connector.private.daemon
    other = tmp_path / "other"
    other.mkdir()
    managed.daemon.capabilities(real(other))
    managed.chats.open(CHAT, WINDOW, str(other))
    await managed.live()
    second = managed.chats[CHAT].connector.private.daemon
    assert first
    assert second
    assert second.folder == real(other)
    assert not first.is_running
    assert managed.editor.said == []


async def test_one_that_was_killed_is_started_again_once_and_the_session_resumed(managed: Room) -> None:
    stream = await managed.opened()
    stream.say(1, "Half an ans")
    await until(lambda: managed.render.session)

    def kill() -> None:
        daemon = managed.chats[CHAT].connector.private.daemon
        assert daemon
        daemon.end()
        stream.cut()

    kill()
    stream = await managed.live()
    await until(lambda: len(managed.daemon.asked("GET /capabilities")) == 2)
    assert managed.editor.said == [("`qwen serve` has ended unexpectedly. It is started again.", 1)]
    kill()
    assert "has ended unexpectedly. Reconnect" in (await managed.state("lost")).message
    managed.chats[CHAT].reconnect()
    await managed.live()
    assert len(managed.daemon.asked("GET /capabilities")) == 3
    assert len(managed.editor.said) == 1


@pytest.mark.parametrize("is_open", [True, False])
async def test_switching_it_off_ends_the_private_daemon(managed: Room, is_open: bool) -> None:
    await managed.opened()
    daemon = managed.chats[CHAT].connector.private.daemon
    assert daemon
    if not is_open:
        managed.chats.close(CHAT)
    managed.configure(enabled=False, url="", token="")
    await until(lambda: not daemon.is_running)
    if is_open:
        assert (await managed.state("lost")).message.startswith("The chat is off.")
    assert managed.editor.said == []


async def test_switching_it_off_ends_the_private_daemon_though_a_turn_of_a_closed_tab_runs_in_it(managed: Room) -> None:
    stream = await managed.opened()
    managed.chats.send(CHAT, Draft("now"))
    stream.say(1, "On it")
    await until(lambda: managed.render.status.running)
    managed.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "q"}
    managed.chats.send(CHAT, Draft("later"))
    stream.send("pending_prompt_added", 2, promptId="q", text="later")
    await until(lambda: managed.render.status.queue)
    daemon = managed.chats[CHAT].connector.private.daemon
    assert daemon
    managed.chats.close(CHAT)
    managed.configure(enabled=False, url="", token="")
    await until(lambda: not daemon.is_running)
    assert [draft.text for _, draft, _ in managed.editor.returned] == ["later"]
    await until(lambda: not managed.chats._leaving)


async def test_another_command_replaces_the_private_daemon_at_a_reconnect(managed: Room, tmp_path: Path) -> None:
    await managed.opened()
    first = managed.chats[CHAT].connector.private.daemon
    assert first
    command = [sys.executable, "-u", str(tmp_path / "fake_qwen.py")]
    managed.configure(url="", token="", command=tuple(command))
    managed.chats[CHAT].reconnect()
    await managed.live()
    assert managed.chats[CHAT].connector.private.daemon != first
    assert not first.is_running
    assert managed.editor.said == []


async def test_without_qwen_it_says_how_to_get_it(room: Room) -> None:
    room.configure(url="", command=("missing-qwen",))
    room.chats.open(CHAT, WINDOW, room.folder)
    assert (await room.state("lost")).message.startswith("“missing-qwen” is not on the PATH")


# A reload


async def test_a_reload_keeps_the_daemon_the_session_and_what_was_not_sent(managed: Room) -> None:
    stream = await managed.opened()
    stream.say(1, "Before")
    await until(lambda: managed.render.session)
    draft = Draft("mine", (Excerpt("file:///e", "e", "text"),), ("p.png",), {"/a": "b"})
    await managed.chats[CHAT].outbox._sending.acquire()  # another one is on its way
    managed.chats.send(CHAT, draft)
    daemon = managed.chats[CHAT].connector.private.daemon
    left = await managed.chats.stop(hand_over=True)
    assert daemon
    assert daemon.is_running
    assert managed.daemon.asked("POST /session/s/detach") == []
    again = Room(managed.editor, managed.daemon, managed.folder)
    again.chats.configure(managed.chats.settings)
    again.chats.inherit(left, {WindowId(1): None})
    again.chats.open(CHAT, WINDOW, managed.folder, "s")
    await again.live()
    assert again.chats[CHAT].connector.private.daemon == daemon
    assert len(managed.daemon.asked("POST /session/s/load")) == 1
    assert managed.editor.returned == [(1, draft, "It was not sent before the package was reloaded.")]
    left = await again.chats.stop(hand_over=True)
    await asyncio.to_thread(again.chats.end_inherited, left[WindowId(1)])
    assert not daemon.is_running
    again.chats.end_inherited({"daemons": {}, "chats": {}})


async def test_a_prompt_in_the_daemons_queue_is_not_given_back_after_a_reload(room: Room) -> None:
    """The daemon runs it: it would be sent twice."""
    stream = await room.opened()
    room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p7"}
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
    stream.send("pending_prompt_added", 1, promptId="p7", text="mine")
    await until(lambda: room.render.status.queue and not room.render.unsent)
    left = await room.chats.stop(hand_over=True)
    again = Room(room.editor, room.daemon, room.folder)
    again.chats.configure(room.chats.settings)
    again.chats.inherit(left, {WindowId(1): None})
    again.chats.open(CHAT, WINDOW, room.folder, "s")
    await again.live()
    assert room.editor.returned == []
    await again.chats.stop(hand_over=False)


async def test_what_belonged_to_a_window_that_is_gone_ends(managed: Room) -> None:
    await managed.opened()
    daemon = managed.chats[CHAT].connector.private.daemon
    left = await managed.chats.stop(hand_over=True)
    again = Room(managed.editor, managed.daemon, managed.folder)
    again.chats.inherit(left, {})
    await until(lambda: not again.chats._ending)
    assert daemon
    assert not daemon.is_running
