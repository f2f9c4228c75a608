"""A CLI as the package sees it, on the standard library alone, since it runs inside the editor."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

AGAIN = 0.3
"""Seconds until it asks for its stream again, a second in the CLIs."""


def discovery_file() -> Path:
    """The lock file of the window in front, as a CLI in its terminal finds it."""
    home = os.environ.get("QWEN_HOME")
    folder = Path(home) if home else Path.home() / ".qwen"
    return folder / "ide" / f"{os.environ['QWEN_CODE_IDE_SERVER_PORT']}.lock"


class Cli:
    """Connects to the window in front. Every request runs on a thread of its own: the tests are on the UI thread."""

    def __init__(self) -> None:
        found = json.loads(discovery_file().read_text("utf-8"))
        self.port: int = found["port"]
        self.headers = {**ACCEPT, "authorization": f"Bearer {found['authToken']}"}
        self.received: list[dict[str, Any]] = []
        self._pool = ThreadPoolExecutor(4)
        self._stream: http.client.HTTPConnection | None = None
        self._number = 0
        self._is_over = False
        self.connected = self._pool.submit(self._connect)

    def call(self, tool: str, **arguments: Any) -> Future[dict[str, Any]]:
        """Call a tool; the future holds its result."""
        return self._pool.submit(lambda: self._request("tools/call", {"name": tool, "arguments": arguments})["result"])

    def tools(self) -> Future[list[dict[str, Any]]]:
        """The tools that are offered."""
        return self._pool.submit(lambda: self._request("tools/list", {})["result"]["tools"])

    def notifications(self, method: str) -> list[dict[str, Any]]:
        """The params of the notifications of a method so far."""
        return [message["params"] for message in self.received if message.get("method") == method]

    @property
    def outcomes(self) -> list[tuple[str, dict[str, Any]]]:
        """The outcomes of diffs so far."""
        return [(m["method"], m["params"]) for m in self.received if m.get("method", "").startswith("ide/diff")]

    @property
    def context(self) -> dict[str, Any]:
        """The latest workspaceState; empty before the first."""
        updates = self.notifications("ide/contextUpdate")
        return updates[-1]["workspaceState"] if updates else {}

    @property
    def active(self) -> dict[str, Any]:
        """The active file of the latest context."""
        return next((file for file in self.context.get("openFiles", []) if file.get("isActive")), {})

    def close(self) -> None:
        """Drop the connection, as a CLI does when it ends."""
        self._is_over = True
        if self._stream and self._stream.sock:
            with contextlib.suppress(OSError):  # it may be gone already
                self._stream.sock.shutdown(2)
        self._pool.shutdown(wait=False)

    def _connect(self) -> bool:
        protocol = "2025-11-25"
        client = {"name": "streamable-http-client", "version": "1.0.0"}
        self._request("initialize", {"protocolVersion": protocol, "capabilities": {}, "clientInfo": client})
        self.headers["mcp-protocol-version"] = protocol
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        threading.Thread(target=self._read, args=(self._listen(),), daemon=True).start()
        return True

    def _listen(self) -> http.client.HTTPResponse:
        self._stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self._stream.request("GET", "/mcp", headers=self.headers)
        answer = self._stream.getresponse()
        assert answer.status == 200, answer.read()
        return answer

    def _read(self, answer: http.client.HTTPResponse) -> None:
        """Read the stream. When it ends, as at a reload, the CLIs ask for another one after a while."""
        try:
            while not self._is_over:
                for line in answer:
                    if line.startswith(b"data: "):
                        self.received.append(json.loads(line[6:]))
                time.sleep(AGAIN)
                if not self._is_over:
                    answer = self._listen()
        except (OSError, http.client.HTTPException, ValueError, AssertionError):
            pass  # the connection was dropped, or the package has ended

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        return self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def _post(self, message: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", "/mcp", json.dumps(message), self.headers)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status in (200, 202), (answer.status, body)
            if session := answer.headers.get("mcp-session-id"):
                self.headers["mcp-session-id"] = session
            return json.loads(body) if answer.status == 200 else {}
        finally:
            connection.close()
