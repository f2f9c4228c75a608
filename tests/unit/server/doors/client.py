"""Claude Code's side of a WebSocket, so that a test sees every message and sends any byte."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, RejectConnection, Request, TextMessage

from companion.editor import WindowId

from ...conftest import FIRST, Running, until
from ...wire import LIMIT

TOKEN = "x-claude-code-ide-authorization"


def lock_of(running: Running, window: int = FIRST) -> dict[str, Any]:
    """The lock file of a window, and its `port`."""
    port = running.do(lambda companion: companion._windows[WindowId(window)].endpoint.port)
    path = Path(os.environ["HOME"], ".claude", "ide", f"{port}.lock")
    until(path.exists)
    return {**json.loads(path.read_text("utf-8")), "port": port, "path": path}


class Client:
    """One connection."""

    def __init__(self, port: int, headers: Mapping[str, str], host: str = "") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        self._wire = WSConnection(ConnectionType.CLIENT)
        extra = [(name.encode(), value.encode()) for name, value in headers.items()]
        request = Request(host=host or f"127.0.0.1:{port}", target="/", subprotocols=["mcp"], extra_headers=extra)
        self.socket.sendall(self._wire.send(request))
        self._number = 0
        self._text = ""
        self.status = 0
        self.code: int | None = None
        """Why the server has closed the connection."""
        self.waiting: list[dict[str, Any]] = []
        """Messages that came while another one was awaited."""
        while not self.status:
            for event in self._events():
                if isinstance(event, AcceptConnection):
                    self.status, self.subprotocol = 101, event.subprotocol
                elif isinstance(event, RejectConnection):
                    self.status = event.status_code

    def _events(self) -> list[Any]:
        data = self.socket.recv(65536)
        if not data:
            self.status = self.status or -1
            self.code = self.code or -1
            return []
        self._wire.receive_data(data)
        return list(self._wire.events())

    def raw(self, message: object) -> bytes:
        """The bytes of a message."""
        text = message if isinstance(message, str) else json.dumps(message)
        return self._wire.send(TextMessage(data=text))

    def send(self, message: object) -> None:
        self.socket.sendall(self.raw(message))

    def notify(self, method: str, **params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, **params: object) -> int:
        """Ask, and don't wait for the answer. Returns the id."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        return self.answer(self.request(method, **params))

    def start(self, name: str, **arguments: object) -> int:
        return self.request("tools/call", name=name, arguments=arguments)

    def call(self, name: str, **arguments: object) -> list[str]:
        """The texts of a call's result."""
        return texts(self.answer(self.start(name, **arguments)))

    def answer(self, number: object) -> dict[str, Any]:
        """The answer to a request."""
        return self._take(lambda message: message.get("id", "") == number and "method" not in message)

    def hears(self, method: str) -> dict[str, Any]:
        """The parameters of the next notification of this name."""
        return self._take(lambda message: message.get("method") == method)["params"]

    def _take(self, is_meant: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that is meant. The others stay, in their order."""
        while True:
            for at, message in enumerate(self.waiting):
                if is_meant(message):
                    return self.waiting.pop(at)
            assert self.code is None, "the connection has ended"
            self.waiting += self.come()

    def come(self) -> list[dict[str, Any]]:
        """The messages that come next."""
        found: list[dict[str, Any]] = []
        for event in self._events():
            if isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    found.append(json.loads(self._text))
                    self._text = ""
            elif isinstance(event, Ping):
                self.socket.sendall(self._wire.send(event.response()))
            elif isinstance(event, CloseConnection):
                self.code = event.code
        return found

    def closed(self) -> int:
        """Wait until the server has closed the connection. Returns why."""
        while self.code is None:
            self.waiting += self.come()
        return self.code

    def connect(self, name: str = "claude-code") -> Self:
        """Shake hands."""
        info = {"name": name, "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        self.notify("notifications/initialized")
        return self

    def propose(self, path: str, text: str, tab: str = "a tab") -> int:
        """Ask for a diff. Returns the id of the call."""
        return self.start("openDiff", old_file_path=path, new_file_path=path, new_file_contents=text, tab_name=tab)

    def close(self) -> None:
        self.socket.close()


def texts(answer: dict[str, Any]) -> list[str]:
    return [part["text"] for part in answer["result"]["content"]]
