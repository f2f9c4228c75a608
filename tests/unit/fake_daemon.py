"""A scripted daemon: a test decides the answer of each route, its bytes and how the connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from companion.backends.daemon.address import Address, Token

T = TypeVar("T")
TOKEN = "a-secret-that-nobody-sees"
LIMIT = 60.0
TAKEN = 5
"""Turns of the loop, at least, in which asyncio has taken a connection."""
FEATURES = [
    "session_create", "session_events", "session_prompt", "session_cancel", "non_blocking_prompt", "session_load",
    "session_list", "session_permission_vote", "session_set_model", "session_approval_mode_control", "session_export",
    "session_metadata", "session_transcript", "session_source_metadata",
]  # fmt: skip


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of its own."""

    async def limited() -> T:
        async with asyncio.timeout(LIMIT):
            return await test

    return asyncio.run(limited())


async def until(condition: Callable[[], T]) -> T:
    """Wait until a condition gives something true, and return it."""
    while not (found := condition()):  # noqa: ASYNC110 - the condition can be anything
        await asyncio.sleep(0.001)
    return found


@dataclass
class Request:
    method: str
    route: str
    headers: dict[str, str]
    body: Any


@dataclass
class Stream:
    """A session's open stream of events."""

    request: Request
    writer: asyncio.StreamWriter

    def raw(self, text: str) -> None:
        data = text.encode()
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def send(self, kind: str, number: int | None = None, prompt: str | None = None, **data: Any) -> None:
        envelope: dict[str, Any] = {"v": 1, "type": kind, "data": data}
        if number is not None:
            envelope["id"] = number
        if prompt is not None:
            envelope["promptId"] = prompt
        self.raw(f"id: {number}\nevent: {kind}\ndata: {json.dumps(envelope)}\n\n")

    def say(self, number: int, text: str, prompt: str = "p") -> None:
        """Send a piece of the answer."""
        content = {"type": "text", "text": text}
        self.send("session_update", number, prompt, update={"sessionUpdate": "agent_message_chunk", "content": content})

    def end(self) -> None:
        """End the stream cleanly."""
        self.writer.write(b"0\r\n\r\n")
        self.writer.close()

    def cut(self) -> None:
        """Drop the connection in the middle of the stream."""
        self.writer.transport.abort()


Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]] | None


@dataclass
class FakeDaemon:
    """Gives the answers in `routes`. `/session/s/events` opens a stream."""

    routes: dict[str, Answer | Callable[[Request], Answer]] = field(default_factory=dict[str, Any])
    requests: list[Request] = field(default_factory=list[Request])
    streams: asyncio.Queue[Stream] = field(default_factory=asyncio.Queue[Stream])
    epoch: str = "e"
    port: int = 0

    @property
    def address(self) -> Address:
        return Address(f"http://127.0.0.1:{self.port}", Token(TOKEN))

    def capabilities(self, *folders: str, features: list[str] = FEATURES, **more: Any) -> None:
        workspaces = [{"cwd": folder} for folder in folders]
        answer = {
            "features": features,
            "workspaceCwd": folders[0],
            "qwenCodeVersion": "1.2.3",
            "workspaces": workspaces,
        }
        self.routes["GET /capabilities"] = 200, answer | more

    def asked(self, route: str) -> list[Request]:
        return [request for request in self.requests if f"{request.method} {request.route}".startswith(route)]

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[FakeDaemon]:
        tasks: set[asyncio.Task[Any]] = set()
        writers: set[asyncio.StreamWriter] = set()
        is_over = False

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Up to Python 3.11, asyncio logs a callback's task that was cancelled as an error.
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._answer(reader, writer):
                    pass
            writers.discard(writer)
            writer.close()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # A connection may come while this ends, and a task that is cancelled at once never runs.
            if is_over:
                writer.close()
                return
            writers.add(writer)
            task = asyncio.create_task(serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            is_over = True
            # Closing it while it takes a connection would leave that one to the garbage collector.
            with contextlib.suppress(NotImplementedError):  # on Windows
                asyncio.get_running_loop().remove_reader(server.sockets[0].fileno())
            for _ in range(TAKEN):
                await asyncio.sleep(0)
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for writer in writers:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, route, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append(request := Request(method, route, headers, json.loads(content) if content else None))
        if "/events" in route and f"{method} /events" not in self.routes:
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
                + f"X-Qwen-Event-Epoch: {self.epoch}\r\n\r\n".encode()
            )
            self.streams.put_nowait(Stream(request, writer))
            await reader.read()
            return False
        known = self.routes.get(f"{method} {route.partition('?')[0]}", (404, b"<html>Cannot GET</html>"))
        if "/events" in route:
            known = self.routes[f"{method} /events"]
        answer = known(request) if callable(known) else known
        if answer is None:
            writer.transport.abort()
            return False
        status, body, *more = answer
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for extra in more for name, value in extra.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await writer.drain()
        return True


def faked(test: Callable[[FakeDaemon], Awaitable[None]]) -> None:
    """Run a test with a daemon."""

    async def whole() -> None:
        async with FakeDaemon().serving() as daemon:
            await test(daemon)

    run(whole())
