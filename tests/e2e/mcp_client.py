"""A synchronous wrapper around Python's MCP client, for which the companion is just a server."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio.from_thread
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from ..listening import Listening

#: Seconds to wait for one answer or one notification.
STEP = 60.0


class McpClient:
    """One connected session."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, session: ClientSession, listening: Listening) -> None:
        self._portal = portal
        self._listening = listening
        self.session = session

    @property
    def version(self) -> str | None:
        """The negotiated protocol version."""
        return self.session.protocol_version

    def tools(self) -> dict[str, types.Tool]:
        listed: types.ListToolsResult = self._portal.call(self.session.list_tools)
        return {tool.name: tool for tool in listed.tools}

    def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        """Call a tool; a JSON-RPC error is raised as `mcp.shared.exceptions.MCPError`."""
        result = self._portal.call(partial(self.session.call_tool, tool, arguments))
        assert isinstance(result, types.CallToolResult)
        return result

    def received(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all notifications of a method so far."""
        return [params for name, params in list(self._listening.received) if name == method]

    def wait_for(self, method: str, where: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """Wait for the first notification of a method for which `where` is true."""
        end = time.monotonic() + STEP
        while time.monotonic() < end:
            found = next((params for params in self.received(method) if where(params)), None)
            if found is not None:
                return found
            time.sleep(0.02)
        raise AssertionError(f"no such {method} within {STEP:g} s; received: {str(self._listening.received)[:2000]}")


def http(lock: dict[str, Any]) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {lock['authToken']}"},
        timeout=httpx2.Timeout(STEP, read=None),
        trust_env=False,
    )


@contextmanager
def connect(lock: dict[str, Any], *, version: str | None = "2025-11-25") -> Iterator[McpClient]:
    """A session with the server of a lock file.

    Args:
        lock: the lock file's content.
        version: the protocol version to ask for. With None the SDK uses the newest one that both sides know.
    """
    listening = Listening()
    url = f"http://127.0.0.1:{lock['port']}/mcp"

    @asynccontextmanager
    async def asked() -> AsyncIterator[ClientSession]:
        async with (
            http(lock) as client,
            streamable_http_client(url, http_client=client) as (read, write),
            ClientSession(
                read, write, read_timeout_seconds=STEP, notification_bindings=listening.notifications()
            ) as session,
        ):
            params = types.InitializeRequestParams(
                protocol_version=version or "",
                capabilities=types.ClientCapabilities(),
                client_info=types.Implementation(name="tests", version="1"),
            )
            session.adopt(await session.send_request(types.InitializeRequest(params=params), types.InitializeResult))
            await session.send_notification(types.InitializedNotification())
            yield session

    @asynccontextmanager
    async def negotiated() -> AsyncIterator[ClientSession]:
        async with (
            http(lock) as client,
            Client(
                streamable_http_client(url, http_client=client), read_timeout_seconds=STEP, extensions=[listening]
            ) as connected,
        ):
            yield connected.session

    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(negotiated() if version is None else asked()) as session,
    ):
        yield McpClient(portal, session, listening)
