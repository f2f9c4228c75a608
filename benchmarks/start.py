"""A cold start: how soon a CLI finds the editor and gets an answer, and how long the UI thread stalls."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from .editor import ROOT, Editor

ROUNDS = 7


def initialize(port: int, token: str) -> None:
    """Send the first request of a CLI and wait for its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client = {"name": "bench", "version": "0"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    accept = "application/json, text/event-stream"
    headers = {"authorization": f"Bearer {token}", "accept": accept, "content-type": "application/json"}
    connection.request("POST", "/mcp", body, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(answer.status)


def bare_import() -> float:
    """The ms that the libraries alone take to be imported, in a process that does nothing else."""
    program = """if True:
        import time
        started = time.perf_counter()
        import asyncio, companion.libraries.sdk
        import uvicorn.protocols.http.h11_impl, psutil
        print((time.perf_counter() - started) * 1000)
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=60)
    return float(done.stdout)


def cold_start() -> dict[str, float]:
    """Times from the start of the package's own thread, which is the first thing that plugin_loaded does."""
    times: dict[str, float] = {}
    start = threading.Thread.start

    def timed(thread: threading.Thread) -> None:
        if thread.name == "qwen-companion":
            times["loaded"] = time.perf_counter()
        start(thread)

    threading.Thread.start = timed  # type: ignore[method-assign]

    def cli() -> None:
        folder = os.path.expanduser("~/.qwen/ide")
        while not (
            os.path.isdir(folder) and (files := [name for name in os.listdir(folder) if name.endswith(".lock")])
        ):
            time.sleep(0.0002)
        times["published"] = time.perf_counter()
        with open(os.path.join(folder, files[0]), encoding="utf-8") as file:
            found = json.load(file)
        initialize(found["port"], found["authToken"])
        times["initialized"] = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(folder, counts_collections=True)
        watcher = threading.Thread(target=cli, daemon=True)
        watcher.start()
        editor.start()
        editor.wait(lambda: not watcher.is_alive())
        editor.rest(0.5)
        stall = editor.take_stall_ms()
        editor.leave()
    return {
        "start.published_ms": (times["published"] - times["loaded"]) * 1000,
        "start.initialize_ms": (times["initialized"] - times["loaded"]) * 1000,
        "start.stall_ms": stall,
    }


def in_a_process() -> dict[str, float]:
    """A cold start in a process and a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"HOME": home, "USERPROFILE": home, "TMPDIR": home}
        command = [sys.executable, "-m", "benchmarks.start"]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, timeout=120)
        return json.loads(done.stdout.splitlines()[-1])


def figures() -> dict[str, float]:
    """Medians of cold starts, in turns with imports of the libraries alone."""
    rounds = [(bare_import(), in_a_process()) for _ in range(ROUNDS)]
    starts = [start for _, start in rounds]
    found = {name: statistics.median(start[name] for start in starts) for name in starts[0]}
    bare = statistics.median(bare for bare, _ in rounds)
    return {"start.import_ratio": found["start.initialize_ms"] / bare, **found}


if __name__ == "__main__":
    output, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(cold_start()), file=output, flush=True)
