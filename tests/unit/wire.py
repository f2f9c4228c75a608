"""A CLI that speaks plain HTTP, so that a test sees every header and every byte."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

import httpx2

LIMIT = 60.0
"""Seconds to wait for one answer or one notification, far more than either needs on a busy machine."""
JSON_AND_SSE = "application/json, text/event-stream"


class Stream:
    """A session's open GET request."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.raw: list[str] = []
        """The messages as they arrived."""
        self._lines = _lines(response)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The messages until the server ends the stream with its final chunk."""
        end = time.monotonic() + LIMIT
        for line in self._lines:
            # Pings arrive now and then, so this line is reached.
            assert time.monotonic() < end, "no message arrived"
            if line.startswith("data:"):
                self.raw.append(line.removeprefix("data:").strip())
                yield json.loads(self.raw[-1])

    def take(self, method: str | None = None) -> dict[str, Any]:
        """The parameters of the next message. It must have this method."""
        message = next(iter(self))
        if method:
            assert message["method"] == method, message
        assert "id" not in message
        return message["params"]

    def skip_to(self, method: str) -> dict[str, Any]:
        """Skip to the next message with this method, and return its parameters."""
        return next(message for message in self if message["method"] == method)["params"]

    def close(self) -> None:
        """Drop the connection, as a CLI does when it ends."""
        self.response.close()


def _lines(response: httpx2.Response) -> Iterator[str]:
    """The lines of a response. Only a line feed ends one; `iter_lines` would also split at U+2028 and the like."""
    pieces: list[bytes] = []
    for data in response.iter_raw():
        *ended, rest = data.split(b"\n")
        for piece in ended:
            yield b"".join([*pieces, piece]).decode()
            pieces = []
        pieces.append(rest)
    assert not b"".join(pieces)


class Cli:
    """One session with a window's server."""

    path = "/mcp"

    def __init__(self, lock: Mapping[str, Any], version: str = "2025-11-25") -> None:
        self.port: int = lock["port"]
        self.token: str = lock["authToken"]
        self.version = version
        self.session: str | None = None
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=LIMIT, trust_env=False)
        self._streams: list[Stream] = []
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for stream in self._streams:
            stream.close()
        self.http.close()

    def headers(self, **changes: str | None) -> dict[str, str]:
        """The headers that a CLI sends, with changes: `mcp_session_id="…"` replaces one, None leaves it out."""
        usual = {
            "accept": JSON_AND_SSE,
            "content-type": "application/json",
            "authorization": f"Bearer {self.token}",
            "mcp-session-id": self.session,
            "mcp-protocol-version": self.version if self.session else None,
        }
        usual |= {name.replace("_", "-"): value for name, value in changes.items()}
        return {name: value for name, value in usual.items() if value is not None}

    def send(
        self, method: str = "POST", path: str | None = None, body: object = None, **headers: str | None
    ) -> httpx2.Response:
        """Send any request. A body that isn't bytes is sent as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.http.request(method, path or self.path, content=content, headers=self.headers(**headers))

    def ask(self, method: str, params: Mapping[str, Any] | None = None, **headers: str | None) -> httpx2.Response:
        """Send a JSON-RPC request."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}
        return self.send("POST", None, message, **headers)

    def initialize(self) -> dict[str, Any]:
        """Take the first step of the handshake, and return the server's result."""
        client = {"name": "streamable-http-client", "version": "1.0.0"}
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": client}
        answer = self.ask("initialize", params)
        assert answer.status_code == 200, answer.text
        self.session = answer.headers["mcp-session-id"]
        return answer.json()["result"]

    def initialized(self) -> None:
        """Take the second step of the handshake."""
        answer = self.send(body={"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (answer.status_code, answer.content) == (202, b"")

    def connect(self) -> Self:
        self.initialize()
        self.initialized()
        return self

    def again(self) -> Cli:
        """The same session on another connection."""
        other = Cli({"port": self.port, "authToken": self.token}, self.version)
        other.session = self.session
        return other

    def get(self, **headers: str | None) -> httpx2.Response:
        """Request the stream, and return the answer, whatever it is."""
        request = self.http.build_request(
            "GET", self.path, headers=self.headers(**{"accept": "text/event-stream", **headers})
        )
        return self.http.send(request, stream=True)

    def listen(self) -> Stream:
        """Open the stream."""
        response = self.get()
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        self._streams.append(stream := Stream(response))
        return stream

    def tool(self, name: str, /, **arguments: object) -> dict[str, Any]:
        """The JSON-RPC answer to a call of a tool."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def open_diff(self, path: str, content: str) -> None:
        """Propose a change. Fails if the server refuses it."""
        answer = self.tool("openDiff", filePath=path, newContent=content)
        assert answer["result"]["content"] == [], answer
        assert not answer["result"].get("isError")

    def close_diff(self, path: str) -> dict[str, Any]:
        """Close a diff, and return the JSON in the answer's text."""
        result = self.tool("closeDiff", filePath=path, suppressNotification=True)["result"]
        [block] = result["content"]
        assert block["type"] == "text"
        assert not result.get("isError")
        return json.loads(block["text"])

    def tools(self) -> set[str]:
        """The names of the tools."""
        return {tool["name"] for tool in self.ask("tools/list").json()["result"]["tools"]}
