"""The JSON-lines server: requests on stdin, answers and events on stdout."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

from headless.app import Application
from headless.requests import Requests

EXIT_LIMIT = 10.0


class Channel:
    """Writes whole JSON lines, from any thread."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Write a message; it is dropped if nobody reads any more."""
        line = json.dumps(message, ensure_ascii=False, default=repr)
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()


class ConsoleWriter(io.TextIOBase):
    """A `sys.stdout` or `sys.stderr` whose lines become log events."""

    def __init__(self, channel: Channel, stream: str, copy: IO[str] | None = None) -> None:
        self._channel = channel
        self._name = stream
        self._copy = copy
        self._rest = ""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Send every line that is complete."""
        if self._copy is not None:
            with contextlib.suppress(OSError, ValueError):
                self._copy.write(text)
                self._copy.flush()
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._channel.send({"event": "log", "stream": self._name, "text": line})
        return len(text)


@contextlib.contextmanager
def captured_console(channel: Channel) -> Iterator[None]:
    """Turn what plugins write to stdout and stderr into log events."""
    saved = sys.stdout, sys.stderr
    sys.stdout = ConsoleWriter(channel, "stdout")
    sys.stderr = ConsoleWriter(channel, "stderr", saved[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = saved


def private_stdout() -> IO[str]:
    """The process's stdout, for the protocol alone; anything else written to stdout goes to stderr."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    return stream


class Server:
    """Reads requests in a thread of its own and has them carried out on the UI thread."""

    def __init__(self, app: Application, channel: Channel, lines: IO[str]) -> None:
        self._app = app
        self._channel = channel
        self._lines = lines
        self._requests = Requests(app)

    def start(self) -> None:
        """Start reading; SIGTERM quits, as the end of the input does."""
        for name in ("SIGTERM", "SIGINT"):
            signal.signal(getattr(signal, name), lambda number, frame: self._app.loop.stop())
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def _read(self) -> None:
        for line in self._lines:
            if line.strip():
                self._take(line)
        self._app.loop.post(self._app.loop.stop)

    def _take(self, line: str) -> None:
        try:
            request = dict(json.loads(line))
            id, do = request.pop("id", None), request.pop("do")
        except (ValueError, TypeError, KeyError) as error:
            self._fail(None, f"not a request: {error!r}")
            return
        if do == "quit":
            self._channel.send({"id": id, "ok": True, "result": None})
            self._app.loop.post(self._app.loop.stop)
        else:
            self._app.loop.post(lambda: self._do(id, str(do), request))

    def _do(self, id: Any, do: str, arguments: dict[str, Any]) -> None:
        try:
            result = self._requests.handle(do, arguments)
        except Exception as error:
            self._fail(id, f"{type(error).__name__}: {error}")
        else:
            self._channel.send({"id": id, "ok": True, "result": result})

    def _fail(self, id: Any, error: str) -> None:
        self._channel.send({"id": id, "ok": False, "error": error})


def leave(app: Application, streams: tuple[Callable[[], None], ...]) -> None:
    """End the process as the plugin host does: on_exit, then at once.

    Neither atexit handlers nor threads that are left delay it, and a listener that hangs delays it for EXIT_LIMIT
    seconds at most.
    """
    guard = threading.Timer(EXIT_LIMIT, lambda: os._exit(0))
    guard.daemon = True
    guard.start()
    app.shut_down()
    for flush in streams:
        with contextlib.suppress(OSError, ValueError):
            flush()
    os._exit(0)
