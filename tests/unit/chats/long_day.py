"""A long day with a chat: many turns with a daemon that answers, and a fault now and then."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from companion.chats.prompt import Draft
from companion.chats.transcript.render import Render
from companion.chats.transcript.transcript import Transcript
from companion.conversation.snapshot import Message, Snapshot, Turn

from ..fake_daemon import FakeDaemon, Request, Stream, until
from .chatting import CHAT, WINDOW, Room, chatting, real

FAULTS = ("cut", "killed", "503", "html", "lost", "reordered")
EVERY = 20
"""Turns from one fault to the next."""
PIECES = 8
"""Pieces of an answer."""
LAST_FRAME = 60.0
"""Seconds until the screen has the end."""


@dataclass
class Exchange:
    """A prompt and its answer, as the daemon has sent them."""

    prompt: str
    text: str
    answer: str = ""
    is_over: bool = False
    """Whether it came to its end. The disk has the answer only then."""


class DayDaemon(FakeDaemon):
    """Answers each prompt in pieces, and keeps a transcript. `fault` is what goes wrong in the next turn."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.transcript: list[Exchange] = []
        self.fault = ""
        self.is_seen: Callable[[str], bool] = lambda _: True
        """Whether the chat shows a text."""
        self._folder = folder
        self._events: list[tuple[int, str, str | None, dict[str, Any]]] = []
        """Those of this run since the last history, as they were sent."""
        self._number = 0
        self._stream: Stream | None = None
        self._is_loaded = True
        self._turns = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stack = contextlib.AsyncExitStack()

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncGenerator[DayDaemon]:
        with self._reserved():
            await self._stack.enter_async_context(self.serving())
            pump = asyncio.create_task(self._pump())
            try:
                yield self
            finally:
                tasks = [pump, *self._tasks]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._stack.aclose()

    @contextlib.contextmanager
    def _reserved(self) -> Generator[None]:
        """Keep the port while the daemon is dead: the system may give it to any other program."""
        if sys.platform != "linux":  # others let nobody else listen there
            yield
            return
        with socket.socket() as holder:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", 0))
            self.port = holder.getsockname()[1]
            yield

    def add_routes(self) -> None:
        self.routes |= {
            "POST /session/s/prompt": self._prompted,
            "POST /session/s/load": self._loaded,
            "GET /session/s/pending-prompts": self._pending,
        }

    async def _pump(self) -> None:
        while True:
            stream = await self.streams.get()
            last = int(stream.request.headers.get("last-event-id", "0"))
            for event in self._events:
                if event[0] > last:
                    self._write(stream, event)
            self._stream = stream

    def _write(self, stream: Stream, event: tuple[int, str, str | None, dict[str, Any]]) -> None:
        number, kind, prompt, data = event
        if not stream.writer.transport.is_closing():
            stream.send(kind, number, prompt, **data)

    def _send(self, kind: str, prompt: str | None, *, is_held: bool = False, **data: Any) -> None:
        self._number += 1
        self._events.append(event := (self._number, kind, prompt, data))
        if self._stream and not is_held:
            self._write(self._stream, event)

    def _say(self, kind: str, text: str, prompt: str, *, is_held: bool = False) -> None:
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        self._send("session_update", prompt, is_held=is_held, update=update)

    def _prompted(self, request: Request) -> tuple[int, Any] | None:
        exchange = Exchange(f"p{len(self.transcript)}-{self.epoch}", request.body["prompt"][0]["text"])
        self.transcript.append(exchange)
        task = asyncio.create_task(self._answer_to(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None if self.fault == "lost" else (202, {"promptId": exchange.prompt})

    async def _answer_to(self, exchange: Exchange) -> None:
        async with self._turns:
            self._say("user_message_chunk", exchange.text, exchange.prompt)
            for piece in range(PIECES):
                words = f"{exchange.text} has the answer {piece}.\n\n"
                if piece == PIECES // 2 and self.fault and not await self._go_wrong(exchange):
                    return
                exchange.answer += words
                self._say("agent_message_chunk", words, exchange.prompt)
                await asyncio.sleep(0)
            exchange.is_over = True
            self._send("turn_complete", exchange.prompt, stopReason="end_turn")

    async def _go_wrong(self, exchange: Exchange) -> bool:
        """Do what the fault is. Returns whether the turn goes on."""
        fault, self.fault = self.fault, ""
        match fault:
            case "cut":
                self._cut()
            case "killed":
                # What was sent but not read yet would be lost with the connection.
                await until(lambda: self.is_seen(exchange.answer.strip().rpartition("\n")[2]))
                await self._die()
                return False
            case "503" | "html":
                trouble = (503, {"error": "busy"}) if fault == "503" else (502, b"<html>Bad Gateway</html>")
                before = len(self.asked("GET /session/s/events"))
                self.routes["GET /events"] = trouble
                self._cut()
                await until(lambda: len(self.asked("GET /session/s/events")) > before + 1)
                del self.routes["GET /events"]
            case "reordered":
                words = f"{exchange.text} was out of order.\n\n"
                exchange.answer += words
                self._say("agent_message_chunk", words, exchange.prompt, is_held=True)
                late = self._events[-1]
                words = f"{exchange.text} was in order.\n\n"
                exchange.answer += words
                self._say("agent_message_chunk", words, exchange.prompt)
                if self._stream:
                    self._write(self._stream, late)
            case _:
                pass
        return True

    def _cut(self) -> None:
        if self._stream:
            self._stream.cut()
        self._stream = None

    async def _die(self) -> None:
        """End as a killed process does, and start again with what is on the disk."""
        self._cut()
        await self._stack.aclose()
        self._is_loaded = False
        self.epoch = f"{self.epoch}x"[-12:] if len(self.epoch) < 12 else "e"
        self._events.clear()
        self._number = 0
        self.routes["GET /events"] = 404, {"error": "no such session", "code": "session_not_found"}
        await self._stack.enter_async_context(self.serving())

    def _loaded(self, _request: Request) -> tuple[int, Any]:
        self._is_loaded = True
        self.routes.pop("GET /events", None)
        is_running = self._turns.locked() and not self.transcript[-1].is_over
        running = self.transcript[-1] if is_running else None
        settled: list[dict[str, Any]] = []
        for exchange in self.transcript:
            for kind, text in ("user_message_chunk", exchange.text), ("agent_message_chunk", exchange.answer):
                update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
                event = {"type": "session_update", "promptId": exchange.prompt, "data": {"update": update}}
                is_kept = text and (kind == "user_message_chunk" or exchange.is_over or exchange is running)
                settled += [event] if is_kept else []
            if exchange.is_over:
                end = {"stopReason": "end_turn"}
                settled.append({"type": "turn_complete", "promptId": exchange.prompt, "data": end})
        answer = {"sessionId": "s", "workspaceCwd": self._folder, "clientId": "c", "attached": True}
        answer |= {"lastEventId": self._number, "eventEpoch": self.epoch, "hasActivePrompt": is_running}
        self._events.clear()
        return 200, answer | {"compactedReplay": settled}

    def _pending(self, _request: Request) -> tuple[int, Any]:
        running = [each for each in self.transcript[-1:] if not each.is_over and self._turns.locked()]
        return 200, {
            "pendingPrompts": [{"promptId": one.prompt, "text": one.text, "state": "running"} for one in running]
        }


@dataclass
class Day:
    """What came of a day."""

    shown: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Each turn's prompt, answer and state as the chat has them."""
    expected: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    """Each prompt with its answer and whether it came to its end, as the daemon has them."""
    asked: list[str] = field(default_factory=list[str])
    """The prompts that the person has sent."""
    returned: int = 0
    """Prompts that went back to the person."""
    text: str = ""
    """What the chat shows."""
    again: str = ""
    """The same conversation, written anew."""

    def problems(self) -> list[str]:
        """What differs from the daemon's transcript."""
        found: list[str] = []
        if [prompt for prompt, _, _ in self.expected] != self.asked:
            found.append("the daemon has other prompts than were sent")
        if [prompt for prompt, _, _ in self.shown] != self.asked:
            found.append("the chat has other prompts than were sent")
        for (prompt, answer, state), (_, written, is_over) in zip(self.shown, self.expected, strict=False):
            if answer != written:
                found.append(f"{prompt}: the chat has {len(answer)} characters of {len(written)}")
            if state != ("done" if is_over else "interrupted"):
                found.append(f"{prompt}: is {state}")
        if self.returned:
            found.append(f"{self.returned} prompts went back")
        if self.text != self.again:
            found.append("the screen shows something else than the conversation has")
        return found


def _said(turn: Turn, speaker: str) -> str:
    return "".join(item.text for item in turn.items if isinstance(item, Message) and item.speaker == speaker)


async def day(folder: str, turns: int, after: Callable[[int], object] = lambda _: None) -> Day:
    """Have that many turns, with a fault in every 20th. `after` is called with the number of each turn."""
    daemon, found = DayDaemon(real(folder)), Day()
    with patch("companion.chats.connection.BACKOFF", (0.01,)):
        async with daemon.at_work(), chatting(daemon, folder) as room:
            daemon.add_routes()
            daemon.is_seen = lambda words: words in room.editor.chat_texts[1]
            room.chats.open(CHAT, WINDOW, room.folder)
            await room.state("live")
            for number in range(turns):
                if number % EVERY == EVERY - 1:
                    daemon.fault = FAULTS[number // EVERY % len(FAULTS)]
                found.asked.append(f"Prompt {number}")
                room.chats.send(CHAT, Draft(found.asked[-1]))
                await _settled(room, daemon, number)
                del room.editor.renders[1][:-1], daemon.requests[:-10]
                after(number)
            await _finish(room, daemon, found)
    return found


async def _settled(room: Room, daemon: DayDaemon, number: int) -> None:
    """Wait until the chat shows a turn as it has ended."""

    def is_settled() -> bool:
        chat = room.chats[CHAT]
        if len(daemon.transcript) <= number or chat.status.connection.state != "live":
            return False
        last = next((turn.show() for turn in reversed(chat.connection.conversation._turns.values())), None)
        is_last = last is not None and _said(last, "user") == f"Prompt {number}" and last.state != "running"
        return is_last and not chat.outbox.unsent and _is_shown(room, f"Prompt {number} has")

    await until(is_settled)


def _is_shown(room: Room, words: str) -> bool:
    return words in room.editor.chat_texts[1][-4000:]


async def _finish(room: Room, daemon: DayDaemon, found: Day) -> None:
    chat = room.chats[CHAT]
    found.shown = [(_said(turn, "user"), _said(turn, "answer"), turn.state) for turn in chat.turns]
    found.expected = [(each.text, each.answer, each.is_over) for each in daemon.transcript]
    found.returned = len(room.editor.returned)
    status = chat.status
    shown = chat.connection.conversation.turns[chat.connection.conversation._hidden :]
    transcript = Transcript()
    transcript.own_clients = {"c"}
    render: Render = room.render
    snapshot = Snapshot(tuple(turn.key for turn in shown), shown, status)
    transcript.update(snapshot, render.locality, render.session, render.unsent)
    found.again = transcript.text
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_FRAME):
            await until(lambda: room.editor.chat_texts[1] == found.again)
    found.text = room.editor.chat_texts[1]
