"""Requests that the companion makes to itself, inside this process."""

from __future__ import annotations

import json

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Scope


async def ask(
    serve: ASGIApp, method: str, headers: dict[str, str], message: dict[str, object] | None = None
) -> Headers:
    """Make a request inside this process; returns the headers of the answer. Raises RuntimeError at an error."""
    body = json.dumps({"jsonrpc": "2.0"} | message).encode() if message else b""
    answer = Headers()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(answered: Message) -> None:
        nonlocal answer
        if answered["type"] == "http.response.start":
            answer = Headers(raw=answered["headers"])
            if answered["status"] >= 400:
                raise RuntimeError(f"{method} is answered with {answered['status']}")

    sent = headers | {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    scope: Scope = {"type": "http", "method": method, "path": "/mcp", "headers": raw, "query_string": b""}
    await serve(scope, receive, send)
    return answer
