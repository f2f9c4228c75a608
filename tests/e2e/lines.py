"""A process that answers JSON lines.

`{"id", "do", …}` goes in; `{"id", "ok", "result" | "error"}` and `{"event", …}` come out.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import psutil

from .terminal import end_processes

#: Seconds to wait for the start of the process, for one answer, and for something to happen.
START, ANSWER, STEP = 60.0, 60.0, 60.0

T = TypeVar("T")


class LinesError(AssertionError):
    """The process refused a request, or something did not happen in time. The message has the process's output."""


class LineProcess:
    """The process. It is ready once it has sent `{"event": "ready"}`.

    Args:
        name: its name in messages.
        log: where its stderr goes.
    """

    def __init__(self, name: str, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._ready = threading.Event()
        self._log_path = log
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            command, cwd=cwd, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        self._reader = threading.Thread(target=self._read, name=f"{name} reader", daemon=True)
        self._reader.start()
        if not self._ready.wait(START) or not self.running:
            self.kill()
            raise LinesError(f"the {name} did not start; its output:\n{self.output()}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                message = {"event": "not json", "line": line.decode(errors="replace")}
            if "event" in message:
                self.events.append(message)
                if message["event"] == "ready":
                    self._ready.set()
            elif message.get("id") in self._answers:
                self._answers.pop(message["id"]).put(message)
        for number in list(self._answers):
            self._answers.pop(number).put({"ok": False, "error": f"the {self.name} has ended"})
        self._ready.set()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        """The end of what the process has written to stderr, and its last events."""
        events = "\n".join(json.dumps(event)[:500] for event in self.events[-20:])
        return f"{self._log_path.read_text(encoding='utf-8', errors='replace')[-4000:]}\n{events}"

    def everything(self) -> str:
        """Everything that the process has written to stderr, and all its events."""
        events = "\n".join(json.dumps(event, ensure_ascii=False) for event in self.events)
        return f"{self._log_path.read_text(encoding='utf-8', errors='replace')}\n{events}"

    def do(self, what: str, /, **arguments: Any) -> Any:
        """Send one request and return its result.

        Raises:
            LinesError: the process answered with an error, or did not answer within `ANSWER` seconds.
        """
        assert self._process.stdin is not None
        number = next(self._numbers)
        answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers[number] = answers
        try:
            self._process.stdin.write(json.dumps({"id": number, "do": what, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
            answer = answers.get(timeout=ANSWER)
        except OSError as error:
            raise LinesError(f"the {self.name} can't take {what}: {error}; its output:\n{self.output()}") from error
        except queue.Empty:
            raise LinesError(
                f"the {self.name} did not answer {what} within {ANSWER:g} s; its output:\n{self.output()}"
            ) from None
        if not answer.get("ok"):
            refused = f"the {self.name} refused {what} {str(arguments)[:500]}: {answer.get('error')}"
            raise LinesError(f"{refused}; its output:\n{self.output()}")
        return answer.get("result")

    def wait(self, what: str, condition: Callable[[], T], timeout: float = STEP) -> T:
        """Check `condition` every 50 ms, and return its first true value.

        Raises:
            LinesError: it was not true within `timeout` seconds.
        """
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise LinesError(f"no {what} within {timeout:g} s; the {self.name}'s output:\n{self.output()}")
            time.sleep(0.05)

    def wait_end(self) -> None:
        """Wait until the process has ended by itself."""
        try:
            self._process.wait(STEP)
        except subprocess.TimeoutExpired:
            raise LinesError(f"the {self.name} did not end within {STEP:g} s; its output:\n{self.output()}") from None
        self._close_pipes()

    def crash(self) -> None:
        """Kill the process, as `kill -9` does."""
        self._process.kill()
        self.wait_end()

    def kill(self) -> None:
        """End the process and its children, whatever their state."""
        if self.running:
            process = psutil.Process(self.pid)
            end_processes([process, *process.children(recursive=True)])
        self._process.wait(5)
        self._close_pipes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _close_pipes(self) -> None:
        self._reader.join(5)
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            if pipe is not None:
                with contextlib.suppress(OSError):  # flushes what the process can no longer read
                    pipe.close()
