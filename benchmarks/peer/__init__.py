"""Our companion beside one with the stack of the official ones for VS Code, asked by the same client in turns.

Both answer the client of Node's SDK, which the CLIs embed. Ours opens each diff in the headless editor; the other one
only remembers it. A third server, bare asyncio with fixed answers, shows what the client itself needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from ..editor import Editor

ROUNDS = 10
WARM_UP = 2
"""Rounds that are not counted: Node compiles what is called often."""
REQUESTS = 50
SENDING = 0.5
"""Seconds of a round in which contexts are sent."""
PAUSE = 0.005
"""Seconds between two contexts for up to 10 sessions; more for more, since the one client has to read all of them."""
HERE = Path(__file__).parent
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
RESULTS: dict[str, object] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": "0"},
    },
    "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("openDiff", "closeDiff")]},
    "tools/call": {"content": []},
}
"""What the floor answers."""
RATIOS = {
    "list": "peer.list_ratio",
    "diff": "peer.diff_ratio",
    "large": "peer.large_ratio",
    "notification": "peer.notification_ratio",
}
"""The figures of one session; those of more have the number in their name."""


class Program:
    """A Node program that speaks JSON lines."""

    def __init__(self, name: str, *arguments: object) -> None:
        if not (node := os.environ.get("NODE")) or not os.environ.get("NODE_MODULES"):
            raise RuntimeError("Run it by scripts/bench, which knows where Node and its packages are")
        command = [node, str(HERE / name), *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.read()

    def read(self) -> dict[str, Any]:
        """The next line."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"A program of the benchmark ended with {self.process.wait()}")
        return json.loads(line)

    def write(self, line: str) -> None:
        """Give it a line."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> dict[str, Any]:
        """Its answer to a line."""
        self.write(line)
        return self.read()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


class Floor:
    """A server of bare asyncio that has each answer ready."""

    def __init__(self) -> None:
        self.port = 0
        self._streams: list[asyncio.StreamWriter] = []
        threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True).start()
        while not self.port:
            time.sleep(0.01)

    def notify(self, number: int, pause: float) -> None:
        """Send contexts, each with the time in its path, one every `pause` seconds."""
        for _ in range(number):
            self._loop.call_soon_threadsafe(self._send)
            time.sleep(pause)

    def _send(self) -> None:
        state = {"openFiles": [{"path": f"/{time.monotonic_ns()}", "timestamp": 1}]}
        message = {"jsonrpc": "2.0", "method": "ide/contextUpdate", "params": {"workspaceState": state}}
        event = b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n"
        for stream in self._streams:
            stream.write(b"%x\r\n" % len(event) + event + b"\r\n")

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            if head.startswith(b"GET"):
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                self._streams.append(writer)
                continue
            if head.startswith(b"DELETE"):
                self._streams.clear()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                continue
            found = LENGTH.search(head)
            message = json.loads(await reader.readexactly(int(found[1]) if found else 0))
            if "id" not in message:
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                continue
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}
            body = json.dumps(answer).encode()
            headers = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nmcp-session-id: x\r\n\r\n"
            writer.write(b"HTTP/1.1 200 OK\r\n" + headers.encode() + body)


class Ours:
    """The headless editor with the package."""

    def __init__(self, folder: str) -> None:
        self.editor = Editor(folder)
        self._before = psutil.Process().memory_info().rss
        self.editor.start()
        self.editor.wait(lambda: "QWEN_CODE_IDE_SERVER_PORT" in os.environ)
        self.port = int(os.environ["QWEN_CODE_IDE_SERVER_PORT"])
        lock = Path(os.path.expanduser("~"), ".qwen", "ide", f"{self.port}.lock")
        self.token: str = json.loads(lock.read_text("utf-8"))["authToken"]
        self.editor.rest(2)

    def memory(self) -> int:
        """The bytes that the package has added to its process."""
        return psutil.Process().memory_info().rss - self._before

    def beside(self, work: Callable[[], Any]) -> Any:
        """Do something on another thread while the UI thread runs."""
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.editor.wait(lambda: not thread.is_alive())
        if errors:
            raise errors[0]
        return results[0]

    def notify(self, number: int, pause: float) -> None:
        """Send contexts, each with the time in its path, one every `pause` seconds."""
        import sys  # noqa: PLC0415

        package = sys.modules["QwenCompanion.companion.sublime_text.package"]
        protocol = sys.modules["QwenCompanion.companion.protocol"]

        def send(companion: Any) -> None:
            file = protocol.File(path=f"/{time.monotonic_ns()}", timestamp=1)
            context = protocol.IdeContext([file])
            for window in companion._windows.values():
                for session in window.sessions:
                    session.notify(context)

        for _ in range(number):
            package.adapter().thread.post(send)
            time.sleep(pause)


def compare(ours: Ours, peer: Program, floor: Floor, sessions: int) -> dict[str, list[float]]:
    """The times of all, in turns: from "ours.list" and the like to milliseconds."""
    pause = PAUSE * max(1, sessions / 10)
    number = round(SENDING / pause)
    ports = {"ours": (ours.port, ours.token), "peer": (peer.first["port"], "token"), "floor": (floor.port, "")}
    notify = {
        "ours": lambda: ours.notify(number, pause),
        "peer": lambda: peer.write(f"{number} {pause * 1000}"),
        "floor": lambda: floor.notify(number, pause),
    }
    clients = {
        name: ours.beside(lambda where=where: Program("client.mjs", *where, sessions, REQUESTS))
        for name, where in ports.items()
    }
    times: dict[str, list[float]] = {}
    for turn in range(-WARM_UP, ROUNDS):
        # Whoever is first in one round is the last in the next one.
        for name, client in list(clients.items())[:: 1 if turn % 2 else -1]:
            found = ours.beside(lambda client=client: client.ask("go"))
            ours.beside(notify[name])
            found["notification"] = ours.beside(
                lambda client=client: client.ask(f"notifications {number * sessions}")["notifications"]
            )
            if turn >= 0:
                for what, taken in found.items():
                    times.setdefault(f"{name}.{what}", []).extend(taken)
    for client in clients.values():
        ours.beside(lambda client=client: client.ask("quit"))
        client.close()
    return times


def figures() -> dict[str, float]:
    """The median and the 99th percentile of ours as multiples of the peer's, the medians in ms, and the load before."""
    with tempfile.TemporaryDirectory() as folder:
        # How many other programs wanted to run in the last 5 minutes. It tells how much the figures are worth.
        told: dict[str, float] = {"peer.load": psutil.getloadavg()[1]}
        ours = Ours(folder)
        peer = Program("server.mjs", "token")
        floor = Floor()
        for sessions in (1, 10, 100):
            times = compare(ours, peer, floor, sessions)
            mark = "" if sessions == 1 else f".{sessions}_sessions"
            for what, name in RATIOS.items():
                mine, theirs, least = (times[f"{who}.{what}"] for who in ("ours", "peer", "floor"))
                median = statistics.median(theirs)
                told[name.replace("peer", f"peer{mark}")] = statistics.median(mine) / median
                # What the client itself needs: no server could have a lower ratio.
                told[f"peer{mark}.{what}_floor_ratio"] = statistics.median(least) / median
                told[f"peer{mark}.{what}_p99_ratio"] = percentile(mine) / percentile(theirs)
                if sessions == 1:
                    told[f"peer.{what}_ms"] = statistics.median(mine)
            if sessions == 1:
                rss = ours.beside(lambda: peer.ask("memory"))["rss"]
                told["peer.memory_ratio"] = ours.memory() / (rss - peer.first["before"])
        peer.close()
        ours.editor.leave()
    return told


def percentile(times: list[float]) -> float:
    """The 99th percentile."""
    return statistics.quantiles(times, n=100, method="inclusive")[98]
