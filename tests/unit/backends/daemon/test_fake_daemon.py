"""What the tests' scripted daemon and the daemon's client leave behind: nothing."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Coroutine
from typing import Any

import pytest

from companion.backends.agent import AgentSession
from companion.backends.daemon.address import Address
from companion.backends.daemon.transport import Transport

from ...fake_daemon import FakeDaemon, run

MOMENTS = 40
"""More turns of the loop than a request takes."""


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_is_being_made_is_closed_with_the_daemon(turns: int):
    async def test() -> None:
        async with FakeDaemon().serving() as daemon:
            client = socket.create_connection(("127.0.0.1", daemon.port))
            for _ in range(turns):
                await asyncio.sleep(0)
        client.close()

    run(test())
    gc.collect()  # a warning about what was left open is an error


@pytest.mark.parametrize("streams", [False, True])
def test_a_request_that_is_given_up_at_any_moment_leaves_nothing_open(streams: bool):
    async def test() -> None:
        async with FakeDaemon().serving() as daemon:
            daemon.routes["GET /x"] = 200, {}
            for moment in range(MOMENTS):
                transport = Transport(Address(f"http://127.0.0.1:{daemon.port}"), is_known=True)

                async def stream(transport: Transport = transport) -> None:
                    async with transport.stream("/session/s/events", {}, AgentSession(id="s", folder="/")):
                        await asyncio.Event().wait()

                work: Coroutine[Any, Any, object] = stream() if streams else transport.json("GET", "/x")
                task = asyncio.create_task(work)
                for _ in range(moment):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                await transport.close()

    run(test())
    gc.collect()
