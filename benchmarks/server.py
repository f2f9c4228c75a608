"""How long a CLI waits for an answer, compared with a server of the SDK that does nothing else."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable

import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult

from .editor import Editor

REQUESTS = 300


def peer() -> int:
    """Start the SDK's own server with one tool that answers at once, and return its port."""

    async def call(_context: ServerRequestContext, _params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[])

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    app = Server("peer", on_call_tool=call).streamable_http_app(json_response=True)
    config = uvicorn.Config(app, log_config=None, http="h11", loop="asyncio", ws="none", interface="asgi3")
    server = uvicorn.Server(config)
    threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True).start()
    return listener.getsockname()[1]


def median_ms(port: int, headers: dict[str, str]) -> float:
    """The median time of a tools/call in ms, on one connection that stays open, as with the CLIs."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = headers | {"accept": "application/json, text/event-stream", "content-type": "application/json"}

    def post(message: dict[str, object]) -> http.client.HTTPResponse:
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | message), headers)
        answer = connection.getresponse()
        answer.read()
        return answer

    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
    headers["mcp-session-id"] = str(post({"id": 0, "method": "initialize", "params": client}).headers["mcp-session-id"])
    post({"method": "notifications/initialized"})
    call = {"name": "closeDiff", "arguments": {"filePath": "/nowhere"}}
    times: list[float] = []
    for number in range(REQUESTS):
        started = time.perf_counter()
        post({"id": number + 1, "method": "tools/call", "params": call})
        times.append((time.perf_counter() - started) * 1000)
    connection.close()
    return statistics.median(times)


def figures() -> dict[str, float]:
    """The time of the answer to a tool call: in ms, and as a multiple of the peer's time."""
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(folder)
        editor.start()
        cli = editor.connect()
        ours = _beside(editor, lambda: median_ms(cli.port, {"authorization": cli.headers["authorization"]}))
        port = peer()
        time.sleep(1)
        theirs = _beside(editor, lambda: median_ms(port, {}))
        cli.close()
        editor.leave()
    return {"server.post_ms": ours, "server.post_ratio": ours / theirs}


def _beside(editor: Editor, measure: Callable[[], float]) -> float:
    """Measure on another thread while the UI thread runs, as it does in an editor."""
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(measure()), daemon=True)
    thread.start()
    editor.wait(lambda: not thread.is_alive())
    return results[0]
