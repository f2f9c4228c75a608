"""Prints as JSON whose modules are loaded: once the companion has answered a CLI, and once a chat has been opened too.

They are the names of distributions.

A program of its own, since far more is loaded in a test's process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from importlib.metadata import packages_distributions
from pathlib import Path
from unittest.mock import create_autospec

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from companion.backends.connector import Connector, Daemons
from companion.backends.daemon import private
from companion.backends.daemon.address import Address
from companion.chats.connection import ChatConnection
from companion.clis.discovery import EnvironmentVariables
from companion.companion import Companion, Editor
from companion.editor import WindowId
from companion.libraries.guard import COPY, SDK
from companion.server.endpoint import Endpoint
from companion.server.window_screen import ServedWindow, ServedWindows, WindowState
from companion.settings import DaemonSettings, Settings
from tests.agent_talk import MemoryWindow
from tests.unit.fake_daemon import TOKEN, FakeDaemon, until


class Client:
    def __init__(self, endpoint: Endpoint) -> None:
        self._address = f"http://127.0.0.1:{endpoint.port}/mcp"
        self._headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {endpoint.publications[0].token}",
            "Content-Type": "application/json",
        }

    def ask(self, method: str, params: dict[str, object] | None = None, **message: object) -> None:
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}, **message}
        request = urllib.request.Request(self._address, json.dumps(body).encode(), self._headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status in (200, 202)
            assert b'"error"' not in answer.read()
            if session := answer.headers.get("mcp-session-id"):
                self._headers["mcp-session-id"] = session

    def converse(self) -> None:
        client = {"name": "test", "version": "0"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}, id=1)
        self.ask("notifications/initialized")
        self.ask("tools/list", id=2)
        self.ask("tools/call", {"name": "closeDiff", "arguments": {"filePath": str(Path.cwd() / "none.txt")}}, id=3)


async def chat() -> None:
    """All that a chat needs: its own daemon, its routes, and its events."""
    assert not private.Daemon(0, 0, "/w", Address("http://x")).is_running
    async with FakeDaemon().serving() as daemon:
        daemon.capabilities("/w")
        daemon.routes["POST /session"] = 200, {"sessionId": "s", "clientId": "c"}
        settings = DaemonSettings(enabled=True, url=daemon.address.url)
        place = MemoryWindow({**os.environ, "QWEN_SERVER_TOKEN": TOKEN})
        place.settings = settings
        connection = ChatConnection(Connector(place, Daemons(place), "/w"), place)
        running = asyncio.create_task(connection.run())
        (await daemon.streams.get()).say(1, "Hello")
        await until(lambda: connection.conversation.turns)
        running.cancel()
        await asyncio.wait([running])


def loaded() -> list[str]:
    """The distributions of which a module is loaded."""
    owners = packages_distributions()
    tops = {SDK if name.partition(".")[0] == COPY else name.partition(".")[0] for name in list(sys.modules)}
    return sorted({owner for top in tops for owner in owners.get(top, ())})


async def main() -> None:
    editor = create_autospec(Editor, instance=True)
    editor.served = create_autospec(ServedWindows, instance=True)
    editor.served.window_state.return_value = WindowState(folders=())
    editor.served.selection.return_value = None
    endpoint = Endpoint.open(ServedWindow(WindowId(1), ()))
    companion = Companion(editor, Settings(), EnvironmentVariables())
    companion.start([endpoint])
    await asyncio.to_thread(Client(endpoint).converse)
    without_chat = loaded()
    await chat()
    print(json.dumps({"without chat": without_chat, "with chat": loaded()}))
    await companion.stop()


asyncio.run(main())
