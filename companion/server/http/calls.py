"""The requests that CLIs make all the time, answered without the SDK: the list of the tools, and their calls.

The SDK takes each request through two tasks, four queues and three validations, which is more than half of the time
that an answer takes (docs/dev/performance.md). It still does all else: the handshake, streams, pings, all errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Send

from ..agent_tools import CANCELLED, failed

JSON = "application/json"


@dataclass(frozen=True)
class Call:
    """A request for the list of the tools if `name` is empty, otherwise a call of the tool of that name."""

    identifier: int | str
    name: str
    arguments: dict[str, Any]


def is_plain(headers: Mapping[str, str]) -> bool:
    """Whether a POST sends JSON and accepts it. The SDK has the answers for others."""
    return headers.get("content-type", "").partition(";")[0].strip() == JSON and JSON in headers.get("accept", "")


def call_in(body: bytes, names: Collection[str]) -> Call | None:
    """The call in a request's body, of a tool with one of these names; None if it holds anything else."""
    try:
        message = pydantic_core.from_json(body)
    except ValueError:
        return None
    match message:
        case {"jsonrpc": "2.0", "id": int() | str() as identifier, "method": "tools/list"} if not isinstance(
            identifier, bool
        ) and not message.get("params"):
            return Call(identifier, "", {})
        case {
            "jsonrpc": "2.0",
            "id": int() | str() as identifier,
            "method": "tools/call",
            "params": {"name": str() as name, "arguments": dict()},
        } if not isinstance(identifier, bool) and name in names:
            return Call(identifier, name, message["params"]["arguments"])
        case _:
            return None


def cancelled_in(body: bytes) -> int | str | None:
    """The request that a notification in a request's body cancels; None if it holds anything else."""
    if b'"notifications/cancelled"' not in body:
        return None
    try:
        message = pydantic_core.from_json(body)
    except ValueError:
        return None
    match message:
        case {"method": "notifications/cancelled", "params": {"requestId": int() | str() as identifier}}:
            return identifier
        case _:
            return None


async def read(receive: Receive, limit: int) -> tuple[bytes | None, Receive]:
    """A request's body, None if it is longer than `limit` bytes, and a `receive` that gives it again.

    Raises ClientDisconnect.
    """
    messages: list[Message] = []
    size = 0

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        messages.append(message)
        size += len(message.get("body", b""))
        if size > limit:
            return None, again
        if not message.get("more_body", False):
            return b"".join(one["body"] for one in messages), again


async def answer(send: Send, session: str, identifier: int | str, result: bytes) -> None:
    """Send the result of a request, which is JSON."""
    body = b'{"jsonrpc":"2.0","id":' + pydantic_core.to_json(identifier) + b',"result":' + result + b"}"
    headers = [
        (b"content-type", b"application/json"),
        (b"mcp-session-id", session.encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def unless_gone(
    receive: Receive, cancelled: asyncio.Event, answering: Coroutine[Any, Any, dict[str, Any]]
) -> dict[str, Any] | None:
    """An answer that may take as long as the person needs; None if the client doesn't wait for it any more.

    A client that has cancelled it ignores what it gets, but it gets something.
    """
    answer, gone = asyncio.create_task(answering), asyncio.create_task(_gone(receive))
    over = asyncio.create_task(cancelled.wait())
    try:
        await asyncio.wait((answer, gone, over), return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        return failed(CANCELLED) if over.done() else None
    finally:
        for task in (answer, gone, over):
            task.cancel()
        await asyncio.wait((answer, gone, over))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
