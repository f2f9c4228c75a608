"""CLIs that work hard, in a process of their own: `python -m benchmarks.clients COUNT PERIOD_MS` until stdin ends.

Each keeps one connection for its requests and one for its stream, which it opens again a second after a clean end, as
the SDK of the CLIs does. Every tenth request opens a diff. At the end one JSON object says what was lost.
"""

from __future__ import annotations

import collections
import http.client
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

REOPEN = 1.0
"""Seconds between the clean end of a stream and the next one."""
PATIENCE = 10.0
"""Seconds that an outcome has at the end."""
OPEN = 10
"""Diffs that a client leaves open."""


class Client:
    """One CLI."""

    def __init__(self, number: int, period: float) -> None:
        found = next(Path(os.path.expanduser("~"), ".qwen", "ide").glob("*.lock"))
        lock = json.loads(found.read_text("utf-8"))
        self.port, self.number, self.period = lock["port"], number, period
        self.headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "authorization": f"Bearer {lock['authToken']}",
        }
        self.requests = 0
        self.slowest = 0.0
        self.failures: list[str] = []
        self.proposed: list[str] = []
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.closed: set[str] = set()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.stopping = threading.Event()

    def ask(self, method: str, params: dict[str, Any] | None = None, *, is_request: bool = True) -> dict[str, Any]:
        """A JSON-RPC request on the connection that is kept; what fails is counted, and the connection made again."""
        self.requests += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        started = time.perf_counter()
        try:
            self.connection.request(
                "POST", "/mcp", json.dumps(message | ({"id": self.requests} if is_request else {})), self.headers
            )
            answer = self.connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(f"{method}: {type(error).__name__}: {error}")
            self.connection.close()
            return {}
        self.slowest = max(self.slowest, time.perf_counter() - started)
        if answer.status not in (200, 202):
            self.failures.append(f"{method}: {answer.status} {body[:80]!r}")
            return {}
        if session := answer.headers.get("mcp-session-id"):
            self.headers["mcp-session-id"] = session
        return json.loads(body) if body else {}

    def connect(self) -> None:
        """Shake hands."""
        client = {"name": "load", "version": "0"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.headers["mcp-protocol-version"] = "2025-11-25"
        self.ask("notifications/initialized", is_request=False)

    def listen(self) -> None:
        """Read the stream, again and again."""
        while not self.stopping.is_set():
            stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                stream.request("GET", "/mcp", headers=self.headers)
                answer = stream.getresponse()
                if answer.status != 200:
                    self.failures.append(f"GET: {answer.status}")
                for line in answer:
                    if line.startswith(b"data: "):
                        message = json.loads(line[6:])
                        if message.get("method", "").startswith("ide/diff"):
                            self.outcomes[message["params"]["filePath"]] += 1
            except (OSError, http.client.HTTPException, ValueError) as error:
                if not self.stopping.is_set():
                    self.failures.append(f"GET: {type(error).__name__}: {error}")
            stream.close()
            self.stopping.wait(REOPEN)

    def work(self) -> None:
        """Ask at a steady pace."""
        while not self.stopping.is_set():
            if self.requests % 10 == 0:
                path = f"/nowhere/{self.number}/{self.requests}.txt"
                arguments = {"filePath": path, "newContent": "text\n"}
                answer = self.ask("tools/call", {"name": "openDiff", "arguments": arguments})
                if answer and not answer["result"].get("isError"):
                    self.proposed.append(path)
                for old in self._waiting()[:-OPEN]:
                    self._close(old)
            else:
                self.ask("tools/list")
            time.sleep(self.period)

    def _waiting(self) -> list[str]:
        """The diffs that have no outcome, the oldest first. A reload keeps them."""
        return [one for one in self.proposed if not self.outcomes[one] and one not in self.closed]

    def _close(self, path: str) -> None:
        arguments = {"filePath": path, "suppressNotification": True}
        answer = self.ask("tools/call", {"name": "closeDiff", "arguments": arguments})
        # Without a text there was no such diff any more: its outcome is on its way.
        if answer and "content" in json.loads(answer["result"]["content"][0]["text"]):
            self.closed.add(path)

    def finish(self) -> dict[str, Any]:
        """Close what is open, wait for the outcomes that are on their way, and say what was lost."""
        # The one that was kept may have been silent for longer than the server keeps it.
        self.connection.close()
        for path in self._waiting():
            self._close(path)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._waiting():
            time.sleep(0.05)
        self.stopping.set()
        return {
            "requests": self.requests,
            "slowest": self.slowest,
            "failures": self.failures,
            "diffs": len(self.proposed),
            "without": self._waiting(),
            "twice": [one for one in self.proposed if self.outcomes[one] + (one in self.closed) > 1],
        }


def main() -> None:
    """Work until the end of the input."""
    count, period = int(sys.argv[1]), float(sys.argv[2]) / 1000
    clients = [Client(number, period) for number in range(count)]
    workers: list[threading.Thread] = []
    for client in clients:
        client.connect()
        threading.Thread(target=client.listen, daemon=True).start()
        workers.append(threading.Thread(target=client.work, daemon=True))
    print("ready", flush=True)
    for worker in workers:
        worker.start()
    sys.stdin.read()
    for client in clients:
        client.stopping.set()
    for worker in workers:
        worker.join()
    for client in clients:
        client.stopping.clear()
        threading.Thread(target=client.listen, daemon=True).start()
    print(json.dumps([client.finish() for client in clients]), flush=True)
    os._exit(0)


main()
