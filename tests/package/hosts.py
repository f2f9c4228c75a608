"""A code host on the loopback interface: serves the files of a release as such hosts do, behind two redirects."""

from __future__ import annotations

import contextlib
import http.server
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

Handler = Callable[["Request"], None]
TYPE = "application/octet-stream"


class Request(http.server.BaseHTTPRequestHandler):
    """A request that a function answers."""

    handler: Handler

    def do_GET(self) -> None:
        type(self).handler(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the standard library
        """Nobody reads it."""

    def redirect(self, to: str) -> None:
        self.send_response(302)
        self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextlib.contextmanager
def listening(handler: Handler) -> Iterator[str]:
    """The address of a server whose requests a function answers."""
    own = type("Own", (Request,), {"handler": staticmethod(handler)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), own) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def code_host(tag: str, folder: Callable[[], Path]) -> Iterator[tuple[str, list[str]]]:
    """The address of a repository, and the paths that were asked for.

    `…/releases/latest/download/NAME` leads to that of the tag, and that to another server, whose address is signed and
    which calls everything a stream of octets.
    """
    asked: list[str] = []

    def store(request: Request) -> None:
        name = urllib.parse.unquote(urllib.parse.urlsplit(request.path).path.rpartition("/")[2])
        content = (folder() / name).read_bytes()
        request.send_response(200)
        for header, value in {"Content-Type": TYPE, "Content-Length": str(len(content)), "ETag": '"x"'}.items():
            request.send_header(header, value)
        request.end_headers()
        request.wfile.write(content)

    with listening(store) as signed:

        def front(request: Request) -> None:
            asked.append(request.path)
            base, _, name = request.path.rpartition("/")
            if base == "/o/r/releases/latest/download":
                request.redirect(f"/o/r/releases/download/{tag}/{name}")
            elif base == f"/o/r/releases/download/{tag}" and (folder() / urllib.parse.unquote(name)).is_file():
                request.redirect(f"{signed}/asset/{name}?sig=abc%2Fd&se=2026")
            else:
                request.send_error(404)

        with listening(front) as address:
            yield f"{address}/o/r", asked
