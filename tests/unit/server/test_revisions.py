"""Clients that ask for the revision of MCP that has no handshake: they get an older one, or nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import LATEST_MODERN_VERSION

from ..conftest import Running
from ..wire import LIMIT, Cli

NEWEST = "2026-07-28"


async def agreed(cli: Cli, mode: Literal["auto", "2026-07-28"]) -> tuple[str, list[str]]:
    """What the SDK's client agrees on with the server, and the methods that it has sent until it had the tools."""
    methods: list[str] = []

    async def note(request: httpx2.Request) -> None:
        if request.method == "POST":
            methods.append(json.loads(request.content)["method"])

    token, url = {"Authorization": f"Bearer {cli.token}"}, f"http://127.0.0.1:{cli.port}/mcp"
    async with (
        httpx2.AsyncClient(headers=token, timeout=LIMIT, trust_env=False, event_hooks={"request": [note]}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert "openDiff" in {tool.name for tool in (await client.list_tools()).tools}
        return client.protocol_version, methods


def test_the_newest_sdks_client_asks_for_the_newest_revision_and_falls_back(running: Running):
    assert LATEST_MODERN_VERSION == NEWEST
    version, methods = asyncio.run(agreed(running.cli(), "auto"))
    assert version == "2025-11-25"
    assert [each for each in methods if each != "notifications/initialized"] == [
        "server/discover", "initialize", "tools/list"
    ]  # fmt: skip


def test_a_client_that_takes_no_older_revision_is_served_nothing(running: Running):
    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(agreed(running.cli(), NEWEST))
    assert "Server returned an error response" in str(raised.value.exceptions)
    assert running.sessions() == set()


@pytest.mark.parametrize(
    "message",
    [
        {
            "id": 1,
            "method": "server/discover",
            "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": NEWEST}},
        },
        {"id": 1, "method": "server/discover"},
        {"id": 1, "method": "server/discover", "params": []},
        {"id": 1, "method": "server/discover", "params": {"_meta": {"x" * 100_000: "\x1b\u202e\0"}}},
        {"id": 1, "method": "subscriptions/listen", "params": {}},
        {"id": 1, "method": "tools/call", "params": {"name": "openDiff", "arguments": {}}},
        {"id": [], "method": "server/discover"},
        {"id": 1, "method": 7},
        {},
    ],
    ids=["discover", "no params", "a list", "long", "listen", "a call", "no id", "no method", "empty"],
)
@pytest.mark.parametrize("version", [None, NEWEST, "x" * 10_000])
def test_what_comes_without_a_handshake_is_refused_and_the_client_may_shake_hands(
    running: Running, message: dict[str, Any], version: str | None
):
    cli = running.cli()
    answer = cli.send(body={"jsonrpc": "2.0", **message}, mcp_protocol_version=version, mcp_method="server/discover")
    assert 400 <= answer.status_code < 500
    assert "result" not in answer.json()
    assert (running.sessions(), running.editor.open_diffs) == (set(), {})
    assert cli.initialize()["protocolVersion"] == "2025-11-25"
