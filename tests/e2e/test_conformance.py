"""The scenarios for servers of MCP's own conformance suite, each applied or with the reason why it can't be."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor
from .qwen import node_modules

APPLICABLE = ("server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection")
TOOL = "it calls a tool of the suite's own example server"
WITHOUT: dict[str, str] = {
    "logging-set-level": "we offer no logging",
    "completion-complete": "we offer no completions",
    "json-schema-2020-12": TOOL,
    "server-sse-polling": TOOL,
    **dict.fromkeys(
        (
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-with-logging",
            "tools-call-error",
            "tools-call-with-progress",
            "tools-call-sampling",
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
        ),
        TOOL,
    ),
    **dict.fromkeys(
        (
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
        ),
        "we offer no resources",
    ),
    **dict.fromkeys(
        (
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ),
        "we offer no prompts",
    ),
}
"""Why the other scenarios do not apply."""


class Door:
    """Passes requests on and adds the token, which the suite can't send.

    A Host or Origin that names this door is translated; any other is passed on as it is.
    """

    def __init__(self, port: int, token: str) -> None:
        self.port = 0
        self._to = port
        self._token = token
        self._serving: set[asyncio.Task[object]] = set()
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(20)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)

    async def _main(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        there_reader, there = await asyncio.open_connection("127.0.0.1", self._to)
        sending = asyncio.ensure_future(self._send(reader, there))
        try:
            await _pipe(there_reader, writer)
        except ConnectionError:
            pass
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            for one in (there, writer):
                one.close()
            await asyncio.gather(there.wait_closed(), writer.wait_closed(), return_exceptions=True)

    async def _send(self, reader: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        names = rb"(?im)^((?:host: *|origin: *http://)(?:localhost|127\.0\.0\.1)):%d\r$" % self.port
        head = re.sub(names, rb"\1:%d\r" % self._to, head)
        head = re.sub(rb"(?im)^connection:.*\r\n", b"", head)
        added = f"authorization: Bearer {self._token}\r\nconnection: close\r\n\r\n"
        there.write(head.removesuffix(b"\r\n") + added.encode())
        await _pipe(reader, there)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@pytest.fixture(scope="module")
def door(editor: Editor) -> Iterator[Door]:
    lock: dict[str, Any] = editor.lock()
    door = Door(lock["port"], lock["authToken"])
    yield door
    door.close()


def suite(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the suite."""
    command = [str(program), str(node_modules() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=180, check=False)


def test_every_scenario_is_applied_or_there_is_a_reason(node_program: Path) -> None:
    """A new version of the suite can't bring a scenario that nobody looks at."""
    listed = suite(node_program, "list", "--server").stdout
    assert set(re.findall(r"^ *- ([\w-]+) \[", listed, re.MULTILINE)) == {*APPLICABLE, *WITHOUT}


@pytest.mark.parametrize("scenario", APPLICABLE)
def test_a_scenario_passes(node_program: Path, door: Door, tmp_path: Path, scenario: str) -> None:
    url = f"http://localhost:{door.port}/mcp"
    done = suite(node_program, "server", "--url", url, "--scenario", scenario, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"[1-9]\d*/[1-9]\d* passed|Passed: *[1-9]", done.stdout), done.stdout[-2000:]
