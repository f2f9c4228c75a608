from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any
from unittest.mock import patch

import pytest

from companion.backends.connector import Connector, Daemons
from companion.chats.chat import snapshots
from companion.chats.connection import ChatConnection
from companion.conversation.snapshot import ConnectionStatus, ContextWindow, Message, Snapshot
from companion.settings import DaemonSettings
from tests.agent_talk import MemoryWindow

from ..fake_daemon import FEATURES, TOKEN, FakeDaemon, Request, until

OLD, NEW = "s", ""
"""The session to read: one that was there before, or a new one."""
LOADED = {"sessionId": "s", "workspaceCwd": "/w", "clientId": "c2", "lastEventId": 2, "eventEpoch": "e"}


def chunk(number: int, text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"type": "session_update", "id": number, "promptId": "p", "data": {"update": update}}


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWEN_SERVER_TOKEN", TOKEN)


class Person:
    """Who has the chat open."""

    def __init__(self, daemon: FakeDaemon, session: str) -> None:
        self.daemon = daemon
        settings = DaemonSettings(enabled=True, url=daemon.address.url)
        place = MemoryWindow(os.environ)
        place.settings = settings
        connector = Connector(place, Daemons(place), "/w")
        self.connection = ChatConnection(connector, place, session)
        self.conversation = self.connection.conversation

    def reconnect(self) -> None:
        self.connection.seen(self.conversation.whole_snapshot())
        self.connection.again()

    async def stream(self):
        """The next stream of events that the chat opens."""
        return await self.daemon.streams.get()

    async def state(self, state: str) -> str:
        """Wait for a state of the connection; what it says."""
        await until(lambda: self.conversation.status.connection.state == state)
        return self.conversation.status.connection.message

    async def text(self, text: str) -> None:
        """Wait for what has been said."""
        await until(lambda: self.said == text)

    @property
    def said(self) -> str:
        turns = self.conversation.turns
        return "".join(item.text for turn in turns for item in turn.items if isinstance(item, Message))


@contextlib.asynccontextmanager
async def opened(daemon: FakeDaemon, session: str = NEW, *, attached: bool = False) -> AsyncGenerator[Person]:
    made = {"sessionId": "s", "workspaceCwd": "/w", "clientId": "c", "attached": attached}
    daemon.routes["POST /session"] = 200, made
    person = Person(daemon, session)
    task = asyncio.create_task(person.connection.run())
    try:
        yield person
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


def waits_of(person: Person) -> list[float | None]:
    """The seconds before each try, a list that grows."""
    waits: list[float | None] = []
    told = person.conversation.set_connection

    def tell(connection: ConnectionStatus) -> None:
        told(connection)
        if connection.state == "waiting":
            waits.append(connection.retry_in)

    person.conversation.set_connection = tell
    return waits


@contextlib.asynccontextmanager
async def chatting(session: str = NEW, backoff: tuple[float, ...] = (0.01,)) -> AsyncGenerator[Person]:
    with patch("companion.chats.connection.BACKOFF", backoff):
        async with FakeDaemon().serving() as daemon:
            daemon.capabilities("/w", features=[*FEATURES, "session_context", "session_context_usage"])
            models = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]}
            modes = {"currentModeId": "default", "availableModes": [{"id": "default", "name": None}]}
            daemon.routes["GET /session/s/context"] = 200, {"state": {"models": models, "modes": modes}}
            daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": []}
            async with opened(daemon, session) as person:
                yield person


@pytest.fixture
def person() -> AbstractAsyncContextManager[Person]:
    """Who has a new conversation open."""
    return chatting()


def load(daemon: FakeDaemon, *events: dict[str, Any], **changes: Any) -> None:
    daemon.routes["POST /session/s/load"] = 200, LOADED | {"compactedReplay": list(events)} | changes


async def test_events_are_read_from_the_first_on(person: Person) -> None:
    stream = await person.stream()
    stream.say(1, "a")
    stream.say(2, "b")
    await person.text("ab")
    await person.state("live")
    status = person.conversation.status
    assert (status.model, status.mode) == ("m", "default")
    assert [choice.name for choice in (*status.models, *status.modes)] == ["M", "default"]
    assert stream.request.headers["last-event-id"] == "0"


@pytest.mark.parametrize("how", ["cut", "end"])
async def test_a_lost_stream_is_taken_up_where_it_was(person: Person, how: str) -> None:
    stream = await person.stream()
    stream.say(1, "a")
    await person.text("a")
    getattr(stream, how)()
    stream = await person.stream()
    assert (stream.request.headers["last-event-id"], stream.request.headers["x-qwen-event-epoch"]) == ("1", "e")
    stream.say(1, "a")
    stream.say(2, "b")
    await person.text("ab")


@pytest.mark.parametrize(
    ("kind", "data"), [("client_evicted", {"reason": "queue_overflow"}), ("stream_error", {"error": "x"})]
)
async def test_what_ends_the_stream_alone_is_said_and_followed_by_a_new_one(kind: str, data: dict[str, Any]) -> None:
    async with chatting(backoff=(60,)) as person:
        stream = await person.stream()
        stream.say(1, "a")
        await person.text("a")
        stream.send(kind, **data)
        message = await person.state("waiting")
        assert message.startswith("The daemon has ")
        assert message.endswith(".")
        assert person.conversation.status.connection.retry_in == 60
        person.reconnect()
        assert (await person.stream()).request.headers["last-event-id"] == "1"


@pytest.mark.parametrize("reason", ["resync", "gap", "epoch"])
async def test_what_is_stale_is_built_anew(person: Person, reason: str) -> None:
    load(person.daemon, chunk(2, "whole"))
    stream = await person.stream()
    stream.say(1, "a")
    await person.text("a")
    match reason:
        case "resync":
            stream.send("state_resync_required", reason="ring_evicted")
        case "gap":
            stream.say(3, "c")
        case _:
            person.daemon.epoch = "f"
            load(person.daemon, chunk(2, "whole"), eventEpoch="f")
            stream.cut()
            await person.stream()
    await person.text("whole")
    stream = await person.stream()
    assert (stream.request.headers["last-event-id"], stream.request.headers["x-qwen-client-id"]) == ("2", "c2")
    stream.say(3, ", and more")
    await person.text("whole, and more")


async def test_commands_that_a_history_lacks_are_asked_for() -> None:
    """The daemon has told them while it made the history: 0.24.4 then puts them in neither that nor the events."""
    async with chatting(OLD) as person:
        load(person.daemon, chunk(2, "before"))
        listed = {"availableCommands": [{"name": "init", "description": None}]}
        person.daemon.routes["GET /session/s/supported-commands"] = 200, listed
        person.daemon.capabilities("/w", features=[*FEATURES, "session_supported_commands"])
        await person.stream()
        assert [each.name for each in person.conversation.status.commands] == ["init"]


async def test_a_session_that_was_there_before_is_read_from_its_history() -> None:
    async with chatting(OLD) as person:
        load(person.daemon, chunk(2, "before"))
        stream = await person.stream()
        assert stream.request.headers["last-event-id"] == "2"
        assert person.said == "before"


async def test_a_session_that_it_is_attached_to_is_read_from_its_history() -> None:
    async with FakeDaemon().serving() as daemon:
        daemon.capabilities("/w")
        daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": []}
        load(daemon, chunk(2, "before"))
        async with opened(daemon, attached=True) as person:
            await person.text("before")
            assert len(daemon.asked("POST /session/s/load")) == 1


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("session_died", {"reason": "channel_closed"}, "process has ended"),
        ("session_closed", {"closedBy": "c"}, "The session is closed"),
        ("session_closed", {"closedBy": "other"}, "Another client"),
    ],
)
async def test_a_session_that_is_over_is_resumed_only_when_somebody_wants_it(
    person: Person, kind: str, data: dict[str, Any], words: str
) -> None:
    load(person.daemon, chunk(2, "before"))
    stream = await person.stream()
    stream.say(1, "half")
    stream.send(kind, 2, **data)
    assert words in await person.state("ended")
    assert person.conversation.status.running is None
    await asyncio.sleep(0.05)
    assert person.daemon.asked("POST /session/s/load") == []
    person.reconnect()
    await person.text("before")
    await person.state("live")
    assert [turn.state for turn in person.conversation.turns] == ["interrupted"]


async def test_a_daemon_that_has_started_anew_has_the_session_on_its_disk(person: Person) -> None:
    load(person.daemon, chunk(2, "before"), hasActivePrompt=True)
    stream = await person.stream()
    stream.say(1, "something")
    await person.text("something")
    gone = 404, {"error": "x", "code": "session_not_found"}
    person.daemon.routes["GET /events"] = gone
    stream.cut()
    await until(lambda: person.daemon.asked("POST /session/s/load"))
    # And then it has lost it altogether.
    person.daemon.routes["POST /session/s/load"] = gone
    assert "new chat" in await person.state("lost")
    # What ran there runs no more.
    assert "running" not in {turn.state for turn in person.conversation.turns}
    del person.daemon.routes["GET /events"]
    load(person.daemon, chunk(2, "before"))
    person.reconnect()
    await person.stream()


async def test_what_only_a_person_can_mend_is_not_tried_again(person: Person) -> None:
    stream = await person.stream()
    person.daemon.routes["GET /events"] = 401, {"error": "Unauthorized"}
    stream.cut()
    assert "token" in await person.state("lost")
    asked = len(person.daemon.requests)
    await asyncio.sleep(0.05)
    assert len(person.daemon.requests) == asked
    del person.daemon.routes["GET /events"]
    person.reconnect()
    await person.stream()
    await person.state("live")


@pytest.mark.parametrize(
    "answer",
    [
        (500, {"error": "Internal"}),
        (502, b"<html>"),
        (503, b"busy"),
        (504, {"error": "x"}),
        (200, b"<html>Sign in</html>"),
        (200, {"status": "starting"}),
    ],
)
async def test_a_daemon_that_is_known_is_tried_again_whatever_answers_in_its_place(
    person: Person, answer: tuple[int, Any]
) -> None:
    """It is said not to be `qwen serve` only where it never was one."""
    stream = await person.stream()
    known = person.daemon.routes["GET /capabilities"]
    if answer[0] != 200:
        person.daemon.routes["GET /events"] = answer
        stream.cut()
        assert "not `qwen serve`" not in await person.state("waiting")
        del person.daemon.routes["GET /events"]
        await person.stream()
    person.daemon.routes["GET /capabilities"] = answer
    person.reconnect()
    assert "not `qwen serve`" not in await person.state("waiting")
    person.daemon.routes["GET /capabilities"] = known
    await person.stream()
    await person.state("live")


async def test_a_new_session_is_read_from_its_first_event(person: Person) -> None:
    stream = await person.stream()
    stream.send("session_metadata_updated", 1, displayName="A title")
    await until(lambda: person.conversation.status.title)
    person.reconnect()  # nothing was said, so the session isn't taken up again
    assert (await person.stream()).request.headers["last-event-id"] == "0"
    assert [each.route for each in person.daemon.asked("POST /session")].count("/session") == 2


async def test_a_daemon_asks_to_wait_for_a_minute_at_most(person: Person) -> None:
    stream = await person.stream()
    person.daemon.routes["GET /events"] = 503, b"<html>", {"Retry-After": "3600"}
    stream.cut()
    await until(lambda: person.conversation.status.connection.retry_in == 60)


async def test_a_busy_daemon_says_when_to_try_again(person: Person) -> None:
    stream = await person.stream()
    person.daemon.routes["GET /events"] = 429, {"error": "64 subscribers"}, {"Retry-After": "30"}
    stream.cut()
    await until(lambda: person.conversation.status.connection.retry_in == 30)
    assert "64 subscribers" in await person.state("waiting")


async def test_tries_come_less_often_until_events_come_again() -> None:
    async with chatting(backoff=(0.01, 0.02)) as person:
        waits = waits_of(person)
        stream = await person.stream()
        for _ in range(3):
            stream.send("replay_complete")  # it is about the stream, and no event
            stream.end()
            stream = await person.stream()
        stream.say(1, "a")
        await person.text("a")
        stream.cut()
        await until(lambda: len(waits) == 4)
        assert waits == [0.01, 0.02, 0.02, 0.01]


async def test_who_wants_to_try_again_has_the_first_waits_again() -> None:
    async with chatting(backoff=(0.01, 0.02, 50.0)) as person:
        waits = waits_of(person)
        stream = await person.stream()
        person.daemon.routes["GET /events"] = person.daemon.routes["GET /capabilities"] = 503, {"error": "busy"}
        stream.cut()
        await until(lambda: waits == [0.01, 0.02, 50.0])
        person.reconnect()
        await until(lambda: waits == [0.01, 0.02, 50.0, 0.01, 0.02, 50.0])


async def test_a_slow_view_gets_few_looks_and_the_reader_goes_on(person: Person) -> None:
    views: list[Snapshot] = []

    async def look() -> None:
        async for view in snapshots(person.conversation, 1000):
            views.append(view)
            await asyncio.sleep(0.1)

    began = asyncio.get_running_loop().time()
    looking = asyncio.create_task(look())
    stream = await person.stream()
    for number in range(1, 2001):
        stream.say(number, f"{number} ")
    whole = "".join(f"{number} " for number in range(1, 2001))
    await person.text(whole)
    await until(lambda: views and views[-1].changed and views[-1].changed[0].items[0] == Message("answer", whole))
    assert len(views) <= 10 * (asyncio.get_running_loop().time() - began) + 2
    looking.cancel()


async def test_the_model_that_a_command_has_switched_to_is_asked_for(person: Person) -> None:
    """The daemon sends no event after `/model …`."""
    stream = await person.stream()
    await person.state("live")
    person.daemon.routes["GET /session/s/context"] = 200, {"state": {"models": {"currentModelId": "other"}}}
    for number, text in ((1, "Hello"), (4, "/model other")):
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "user_message_chunk", "content": content}
        stream.send("session_update", number, text, update=update)
        stream.say(number + 1, "x", text)
        stream.send("turn_complete", number + 2, text, stopReason="end_turn")
        if number == 1:
            await until(lambda: len(person.conversation.turns) == 1 and person.conversation.status.last == "done")
            assert person.conversation.status.model == "m"
    await until(lambda: person.conversation.status.model == "other")


async def test_a_daemon_without_a_context_tells_nothing_of_models() -> None:
    async with FakeDaemon().serving() as daemon:
        daemon.capabilities("/w")
        asked: list[Request] = daemon.requests
        async with opened(daemon) as person:
            await person.state("live")
            assert [request for request in asked if "context" in request.route] == []


async def test_how_full_the_window_is_is_asked_for_where_the_daemon_does_not_tell(person: Person) -> None:
    """The meter with 0.21.2."""
    stream = await person.stream()
    # It can't say before the first turn.
    await until(lambda: person.daemon.asked("GET /session/s/context-usage"))
    usage = {"usage": {"totalTokens": 10, "contextWindowSize": 100}}
    person.daemon.routes["GET /session/s/context-usage"] = 200, usage
    stream.say(1, "a")
    stream.send("turn_complete", 2, "p", stopReason="end_turn")
    await until(lambda: person.conversation.status.window == ContextWindow(100, 10))
    stream.send("session_update", 3, "q", update={"sessionUpdate": "usage_update", "size": 100, "used": 20})
    asked = len(person.daemon.asked("GET /session/s/context-usage"))
    stream.send("turn_complete", 4, "q", stopReason="end_turn")
    stream.say(5, "b", "r")
    await person.text("ab")
    assert person.conversation.status.window == ContextWindow(100, 20)
    assert len(person.daemon.asked("GET /session/s/context-usage")) == asked
