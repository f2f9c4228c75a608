"""What a web page can do to a window's server, in a real browser."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ..conftest import Running, until
from ..wire import LIMIT

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
HOST = "rebound.example"
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="Chromium: not found")

PAGE = """<!doctype html>
<form id=form method=post enctype=text/plain target=frame>
<input name='{"jsonrpc":"2.0","id":1,"method":"tools/list","x":"' value='"}'></form>
<iframe name=frame></iframe><iframe id=other></iframe><img id=image>
<script>
const tried = {};
async function attempt(name, work) {
  try { tried[name] = await work(); } catch (error) { tried[name] = `failed: ${error.name}`; }
}
const seen = async (answer) => `${answer.type} ${answer.status} ${(await answer.text()).slice(0, 200)}`;
const url = new URLSearchParams(location.search).get("url"), token = new URLSearchParams(location.search).get("token");
const call = { jsonrpc: "2.0", id: 1, method: "tools/call",
  params: { name: "openDiff", arguments: { filePath: "/tmp/attack.txt", newContent: "x" } } };
const json = { method: "POST", body: JSON.stringify(call), headers: { "content-type": "application/json" } };
const socket = (address) => new Promise((resolve) => {
  const one = new WebSocket(address);
  one.onopen = () => resolve("open");
  one.onerror = () => resolve("failed");
});
(async () => {
  await attempt("get", async () => seen(await fetch(url)));
  await attempt("post", async () => seen(await fetch(url, json)));
  await attempt("post with the token", async () =>
    seen(await fetch(url, { ...json, headers: { ...json.headers, authorization: `Bearer ${token}` } })));
  await attempt("no-cors", async () =>
    seen(await fetch(url, { method: "POST", mode: "no-cors", body: JSON.stringify(call) })));
  await attempt("beacon", async () => (navigator.sendBeacon(url, JSON.stringify(call)), "sent"));
  await attempt("events", () => new Promise((resolve) => {
    const events = new EventSource(url);
    events.onopen = () => resolve("open");
    events.onerror = () => resolve("failed");
  }));
  await attempt("socket", () => socket(url.replace("http", "ws")));
  await attempt("form", async () => { form.action = url; form.submit(); return "sent"; });
  await attempt("image", () => new Promise((resolve) => {
    image.onload = () => resolve("loaded");
    image.onerror = () => resolve("failed");
    image.src = url;
  }));
  await fetch("/done", { method: "POST", body: JSON.stringify(tried) });
})();
</script>
"""


class Site:
    """A web site that somebody else made; its page reports what worked."""

    def __init__(self) -> None:
        self.tried: dict[str, Any] = {}
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = PAGE.encode()
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/done":
                    site.tried = json.loads(body)
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def visit(site: Site, url: str, token: str) -> dict[str, Any]:
    """What the page could do, opened in a browser to which `HOST` is this computer."""
    # The browser makes a socket there, whose path must be short.
    short = "/tmp" if os.name == "posix" else None  # noqa: S108 - a folder of our own is made there
    with tempfile.TemporaryDirectory(prefix="qc", dir=short, ignore_cleanup_errors=True) as folder:
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += ["--no-first-run", "--disable-background-networking", "--no-proxy-server"]
        # Newer browsers ask the person before a page reaches this computer. Here the page has been allowed to.
        command += ["--disable-features=LocalNetworkAccessChecks", f"--host-resolver-rules=MAP {HOST} 127.0.0.1"]
        command += [f"--user-data-dir={folder}/data", f"http://{HOST}:{site.port}/?url={url}&token={token}"]
        environment = os.environ | {"TMPDIR": folder, "HOME": folder}
        with Path(folder, "log").open("wb") as log:
            browser = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            try:
                until(lambda: site.tried or browser.poll() is not None, 3 * LIMIT)
                assert site.tried, Path(folder, "log").read_text("utf-8", "replace")[-2000:]
            finally:
                end(browser)
    return site.tried


def end(browser: subprocess.Popen[bytes]) -> None:
    """End a browser and all its processes, which write into its folder until they have ended."""
    family = [psutil.Process(browser.pid), *psutil.Process(browser.pid).children(recursive=True)]
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    browser.wait(LIMIT)
    psutil.wait_procs(family, LIMIT)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", HOST])
def test_a_page_learns_nothing_and_does_nothing(running: Running, site: Site, name: str) -> None:
    """Fetch, no-cors, a beacon, a form, an image, events and a WebSocket, even by a page that has the token.

    By the third name the page and the server have one host, as after DNS rebinding.
    """
    cli, _ = running.listening()
    tried = visit(site, f"http://{name}:{cli.port}/mcp", cli.token)
    assert set(tried) == {
        "get", "post", "post with the token", "no-cors", "beacon", "events", "socket", "form", "image",
    }  # fmt: skip
    answered = {one: found for one, found in tried.items() if found not in ("failed", "failed: TypeError", "sent")}
    # An opaque answer tells a page only that something listens.
    assert answered == {"no-cors": "opaque 0 "}
    assert not running.editor.open_diffs
    assert cli.tools() == {"openDiff", "closeDiff"}


def test_the_page_would_be_answered_by_a_server_without_guard(site: Site) -> None:
    """The test above can fail: this site answers its own page."""
    tried = visit(site, f"http://{HOST}:{site.port}/mcp", "x")
    assert tried["get"].startswith("basic 200")
    assert tried["form"] == "sent"
