"""A window's private daemon: started, replaced, kept over a reload, and ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.backends.daemon.process import launch
from companion.chats.prompt import Draft, Excerpt
from companion.ids import WindowId

from ..fake_daemon import until
from .chatting import CHAT, WINDOW, Room, attached, real

# A private daemon


LISTENS = """
import sys, time
print("qwen serve listening on URL (mode=http-bridge)", flush=True)
time.sleep(60)
"""


def managed(project: Path, tmp_path: Path, test: Callable[[Room], Any]) -> None:
    """Run a test with a `qwen serve` that says it is the daemon of the test."""

    async def whole(room: Room) -> None:
        program = tmp_path / "fake_qwen.py"
        program.write_text(LISTENS.replace("URL", room.daemon.address.url), encoding="utf-8")
        room.configure(url="", token="", command=(sys.executable, str(program)))
        await test(room)

    attached(project, whole)


def test_a_private_daemon_is_started_shown_and_ended_with_the_window(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        messages = [render.status.connection.message for render in room.editor.renders[1]]
        # A first render may come before the daemon is looked for.
        assert next(filter(None, messages)) == "Starting `qwen serve`…"
        assert room.render.locality.is_private
        daemon = room.chats._registry[CHAT].connector.private.daemon
        assert daemon
        room.chats.close(CHAT)
        await room.asked("POST /session/s/detach")
        assert launch.is_running(daemon)
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert room.chats._registry[CHAT].connector.private.daemon is daemon
        room.chats.window_closed(WINDOW)
        await until(lambda: not room.chats._ending)
        assert not launch.is_running(daemon)

    managed(project, tmp_path, test)


def test_one_for_another_folder_is_replaced(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        first = room.chats._registry[CHAT].connector.private.daemon
        other = tmp_path / "other"
        other.mkdir()
        room.daemon.capabilities(real(other))
        room.chats.open(CHAT, WINDOW, str(other))
        await room.live()
        second = room.chats._registry[CHAT].connector.private.daemon
        assert first
        assert second
        assert second.folder == real(other)
        assert not launch.is_running(first)
        assert room.editor.said == []

    managed(project, tmp_path, test)


def test_one_that_was_killed_is_started_again_once_and_the_session_resumed(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Half an ans")
        await until(lambda: room.render.session)

        def kill() -> None:
            daemon = room.chats._registry[CHAT].connector.private.daemon
            assert daemon
            launch.stop_now(daemon)
            stream.cut()

        kill()
        stream = await room.live()
        await until(lambda: len(room.daemon.asked("GET /capabilities")) == 2)
        assert room.editor.said == [("`qwen serve` has ended unexpectedly. It is started again.", 1)]
        kill()
        assert "has ended unexpectedly. Reconnect" in (await room.state("lost")).message
        room.chats.reconnect(CHAT)
        await room.live()
        assert len(room.daemon.asked("GET /capabilities")) == 3
        assert len(room.editor.said) == 1

    managed(project, tmp_path, test)


@pytest.mark.parametrize("is_open", [True, False])
def test_switching_it_off_ends_the_private_daemon(project: Path, tmp_path: Path, is_open: bool):

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        daemon = room.chats._registry[CHAT].connector.private.daemon
        assert daemon
        if not is_open:
            room.chats.close(CHAT)
        room.configure(enabled=False, url="", token="")
        await until(lambda: not launch.is_running(daemon))
        if is_open:
            assert (await room.state("lost")).message.startswith("The chat is off.")
        assert room.editor.said == []

    managed(project, tmp_path, test)


def test_another_command_replaces_the_private_daemon_at_a_reconnect(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        first = room.chats._registry[CHAT].connector.private.daemon
        assert first
        command = [sys.executable, "-u", str(tmp_path / "fake_qwen.py")]
        room.configure(url="", token="", command=tuple(command))
        room.chats.reconnect(CHAT)
        await room.live()
        assert room.chats._registry[CHAT].connector.private.daemon != first
        assert not launch.is_running(first)
        assert room.editor.said == []

    managed(project, tmp_path, test)


def test_without_qwen_it_says_how_to_get_it(project: Path):
    async def test(room: Room) -> None:
        room.configure(url="", command=("missing-qwen",))
        room.chats.open(CHAT, WINDOW, room.folder)
        assert (await room.state("lost")).message.startswith("“missing-qwen” is not on the PATH")

    attached(project, test)


# A reload


def test_a_reload_keeps_the_daemon_the_session_and_what_was_not_sent(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Before")
        await until(lambda: room.render.session)
        draft = Draft("mine", (Excerpt("file:///e", "e", "text"),), ("p.png",), {"/a": "b"})
        await room.chats._registry[CHAT].outbox._sending.acquire()  # another one is on its way
        room.chats.send(CHAT, draft)
        daemon = room.chats._registry[CHAT].connector.private.daemon
        left = await room.chats.stop(hand_over=True)
        assert daemon
        assert launch.is_running(daemon)
        assert room.daemon.asked("POST /session/s/detach") == []
        again = Room(room.editor, room.daemon, room.folder)
        again.chats.configure(room.chats._settings)
        again.chats.inherit(left, {WindowId(1): None})
        again.chats.open(CHAT, WINDOW, room.folder, "s")
        await again.live()
        assert again.chats._registry[CHAT].connector.private.daemon == daemon
        assert len(room.daemon.asked("POST /session/s/load")) == 1
        assert room.editor.returned == [(1, draft, "It was not sent before the package was reloaded.")]
        left = await again.chats.stop(hand_over=True)
        await asyncio.to_thread(again.chats.end_inherited, left[WindowId(1)])
        assert not launch.is_running(daemon)
        again.chats.end_inherited({"daemons": {}, "chats": {}})

    managed(project, tmp_path, test)


def test_a_prompt_in_the_daemons_queue_is_not_given_back_after_a_reload(project: Path):
    """The daemon runs it: it would be sent twice."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p7"}
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
        stream.send("pending_prompt_added", 1, promptId="p7", text="mine")
        await until(lambda: room.render.status.queue and not room.render.unsent)
        left = await room.chats.stop(hand_over=True)
        again = Room(room.editor, room.daemon, room.folder)
        again.chats.configure(room.chats._settings)
        again.chats.inherit(left, {WindowId(1): None})
        again.chats.open(CHAT, WINDOW, room.folder, "s")
        await again.live()
        assert room.editor.returned == []
        await again.chats.stop(hand_over=False)

    attached(project, test)


def test_what_belonged_to_a_window_that_is_gone_ends(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        daemon = room.chats._registry[CHAT].connector.private.daemon
        left = await room.chats.stop(hand_over=True)
        again = Room(room.editor, room.daemon, room.folder)
        again.chats.inherit(left, {})
        await until(lambda: not again.chats._ending)
        assert daemon
        assert not launch.is_running(daemon)

    managed(project, tmp_path, test)
