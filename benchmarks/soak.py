"""What happens in weeks, in minutes: `python -m benchmarks.soak [--all] [--json] [NAME…]`, in the headless editor.

Each part does one thing many times and then looks at what is left: threads, open files and sockets, tasks, sessions,
phantoms, and memory as the slope of a line through the second half of the run. Exits with 1 if anything is over its
limit, or if a part can't run.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.unit.chats.long_day import EVERY, day

from .chat import Chat, piece
from .editor import ROOT, Editor, sublime, views

SELF = "--in-this-process"
EARLIER, TURNS = "qwen_companion.chat_earlier", "qwen_companion.chat_turns"
Figures = dict[str, float]

COUNTS = {
    "sessions": (200, 10_000),
    "reviews": (60, 5_000),
    "windows": (20, 500),
    "chat": (20, 1_000),
    "day": (125, 2_000),
    "reloads": (8, 200),
}
"""How often each part does its work: in a short run and in a long one."""
LIMITS = {
    "sessions.kb_each": 1.0,
    "reviews.kb_each": 1.0,
    "windows.kb_each": 20.0,
    # The chat keeps what was said, packed, and the editor has the text of 200 turns.
    "chat.kb_each": 2.0,
    # The daemon, which keeps all that was said, is in the same process, and each of its histories leaves gaps.
    "day.kb_each": 12.0,
    "day.differences": 0,
    "reloads.kb_each": 300.0,
    "reloads.lost": 0,
    "reloads.outcomes_missing": 0,
    "reloads.outcomes_twice": 0,
    "reloads.unload_ms": 50,
}
"""What a figure may be at most. Whatever is `left` must be nothing."""
POOLS = ("asyncio_", "ThreadPool", "qwen-companion-blocking")
"""How the names of a pool's threads begin."""
SHORT = ("kb_each",)
"""Figures that a short run can't tell: the libraries' caches fill up meanwhile."""


class Soak:
    """An editor with the package, and what is measured in it."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.editor = Editor(folder)
        # Its settings must be there when the package is loaded.
        self.chat = Chat(self.editor, folder) if name == "chat" else None
        self.editor.start()
        self.process = psutil.Process()
        self.pool = ThreadPoolExecutor(4)
        self._memory: list[int] = []

    def lock(self) -> dict[str, Any]:
        """The lock file of the window."""
        folder = Path(os.path.expanduser("~"), ".qwen", "ide")
        self.editor.wait(lambda: folder.exists() and list(folder.glob("*.lock")))
        return json.loads(next(folder.glob("*.lock")).read_text("utf-8"))

    def run(self, work: Callable[[], Any]) -> Any:
        """Do something on another thread, as a CLI does, while the UI thread runs."""
        future: Future[Any] = self.pool.submit(work)
        self.editor.wait(future.done)
        return future.result()

    def companion(self, ask: Callable[[Any], Any]) -> Any:
        """Ask the companion something, on its thread."""
        package = sys.modules["QwenCompanion.companion.sublime_text.package"]
        future: Future[Any] = Future()
        package.adapter().thread.post(lambda companion: future.set_result(ask(companion)))
        self.editor.wait(future.done)
        return future.result()

    def left(self) -> dict[str, float]:
        """How much there is now of what could leak."""

        def inside(companion: Any) -> dict[str, int]:
            return {
                "tasks": len(asyncio.all_tasks()),
                "sessions": sum(len(list(one.sessions)) for one in companion._windows.values()),
                "connections": sum(len(one._server.connections) for one in companion._windows.values()),
                "reviews": len(list(companion.reviews)),
            }

        states = self.editor.app.views.values()
        # A long chat has one at its top, for its earlier turns, and a line above each turn that is shown.
        phantoms = sum(
            not phantom.key.startswith((EARLIER, TURNS)) for state in states for phantom in state.phantoms.values()
        )
        return {
            # Pools make their threads when they need them, and keep them for a while or for ever.
            "threads": sum(not one.name.startswith(POOLS) for one in threading.enumerate()),
            "files": getattr(self.process, "num_fds" if os.name == "posix" else "num_handles")(),
            "views": len(self.editor.app.views),
            "phantoms": phantoms,
            **self.companion(inside),
        }

    def settled(self) -> dict[str, float]:
        """How much there is once it has been the same for a second.

        A review round is begun first: a CLI that stays for a moment only may begin it, or may not.
        """
        sublime.active_window().run_command("qwen_companion_begin_round")
        self.editor.rest(1)
        before = self.left()
        for _ in range(30):
            self.editor.rest(1)
            after = self.left()
            if after == before:
                break
            before = after
        return before

    def sample(self) -> None:
        """Remember how much memory is in use."""
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        self._memory.append(self.process.memory_info().rss)

    def repeat(self, count: int, work: Callable[[int], Any]) -> Figures:
        """Do something many times. Returns KB for each further time, and what is left at the end."""
        work(0)
        before = self.settled()
        every = max(1, count // 40)
        for number in range(1, count + 1):
            work(number)
            if number % every == 0:
                self.sample()
        end = time.monotonic() + 15
        while any(grown(before, after := self.left()).values()) and time.monotonic() < end:
            self.editor.rest(0.2)
        half = self._memory[len(self._memory) // 2 :]
        figures = {"kb_each": slope(half) / every / 1024} if len(half) > 2 else {}
        return figures | {f"left.{name}": value for name, value in grown(before, after).items()}


def grown(before: Figures, after: Figures) -> Figures:
    """How much more there is than before."""
    return {name: max(0, after[name] - before[name]) for name in before}


def slope(values: list[int]) -> float:
    """The slope of the line through some values, by least squares."""
    mean_x, mean_y = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values))
    return above / sum((x - mean_x) ** 2 for x in range(len(values)))


def sessions(soak: Soak, count: int) -> Figures:
    """CLIs that connect, listen and take their leave."""
    lock = soak.lock()
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "authorization": f"Bearer {lock['authToken']}",
    }
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "0"}}

    def visit() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", lock["port"], timeout=30)

        def post(message: dict[str, object], **more: str) -> http.client.HTTPResponse:
            connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | message), headers | more)
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 400:
                raise RuntimeError(f"The companion answered with {answer.status}")
            return answer

        session = str(post({"id": 0, "method": "initialize", "params": client}).headers["mcp-session-id"])
        more = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
        post({"method": "notifications/initialized"}, **more)
        stream = http.client.HTTPConnection("127.0.0.1", lock["port"], timeout=30)
        stream.request("GET", "/mcp", headers=headers | more)
        answer = stream.getresponse()
        while not answer.readline().startswith(b"data:"):
            pass
        connection.request("DELETE", "/mcp", headers=headers | more)
        connection.getresponse().read()
        stream.close()
        connection.close()

    return soak.repeat(count, lambda _: soak.run(visit))


def reviews(soak: Soak, count: int) -> Figures:
    """Diffs that are opened and accepted, and files that are written."""
    cli = soak.editor.connect()
    path = Path(soak.folder, "app.py")

    def cycle(number: int) -> None:
        path.write_text(f"old {number}\n" * 20, "utf-8")
        call = cli.call("openDiff", filePath=str(path), newContent=f"new {number}\n" * 20)
        soak.editor.wait(call.done)
        soak.editor.wait(lambda: views("proposal"))
        views("proposal")[0].run_command("qwen_companion_accept_diff")
        soak.editor.wait(lambda: cli.outcomes)
        path.write_text(cli.outcomes[0][1]["content"], "utf-8")
        cli.received.clear()
        # The next round writes the file as well.
        soak.editor.wait(lambda: not soak.companion(lambda companion: len(companion.reviews._writes.missing)))
        soak.editor.wait(lambda: not views("proposal") and not views("original"))

    figures = soak.repeat(count, cycle)
    cli.close()
    return figures


def windows(soak: Soak, count: int) -> Figures:
    """Windows that open and close."""
    folder = Path(os.path.expanduser("~"), ".qwen", "ide")
    soak.lock()

    def cycle(_: int) -> None:
        window = soak.editor.app.new_window([soak.folder])
        soak.editor.wait(lambda: len(list(folder.glob("*.lock"))) == 2)
        soak.editor.app.window_handle(window).run_command("close_window")
        soak.editor.wait(lambda: len(list(folder.glob("*.lock"))) == 1)

    return soak.repeat(count, cycle)


def chat(soak: Soak, count: int) -> Figures:
    """Turns of one chat, whose text and questions stay on the screen."""
    talk = soak.chat
    assert talk

    def turn(_: int) -> None:
        begins = f"{talk.ask(3, 0)} begins."
        soak.run(talk.begun)

        def is_shown() -> bool:
            end = talk.view.substr(sublime.Region(max(0, talk.view.size() - 500), talk.view.size()))
            return begins in end and piece(2).strip() in end.partition(begins)[2]

        soak.editor.wait(is_shown)

    try:
        talk.open()
        return soak.repeat(count, turn)
    finally:
        talk.close()


def reloads(soak: Soak, count: int) -> Figures:
    """The package is loaded again and again, while three CLIs send 50 requests a second each."""
    soak.lock()
    command = [sys.executable, "-m", "benchmarks.clients", "3", "20"]
    clients = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert clients.stdin
    assert clients.stdout
    if soak.run(clients.stdout.readline).strip() != "ready":
        raise RuntimeError("The clients could not connect")
    unload: list[float] = []
    whole: list[float] = []
    loader = soak.editor.app.loader
    plain = loader.unload

    def timed(name: str) -> None:
        started = time.perf_counter()
        plain(name)
        unload.append(time.perf_counter() - started)

    loader.unload = timed  # type: ignore[method-assign]

    def cycle(_: int) -> None:
        started = time.perf_counter()
        loader.reload_package("QwenCompanion")
        whole.append(time.perf_counter() - started)
        soak.editor.rest(0.5)
        # On a machine that is busy enough, no instance would ever get as far as to answer.
        soak.companion(lambda _: None)

    # What the clients have open changes all the time, so what is left is counted when they have gone.
    cycle(0)
    every = max(1, count // 40)
    for number in range(1, count + 1):
        cycle(number)
        if number % every == 0:
            soak.sample()
    clients.stdin.close()
    told = json.loads(soak.run(clients.stdout.readline))
    clients.wait()
    clients.stdout.close()
    half = soak._memory[len(soak._memory) // 2 :]
    for one in told:
        for failure in one["failures"][:5]:
            print(failure, file=sys.stderr)
    return {
        "requests": sum(one["requests"] for one in told),
        "lost": sum(len(one["failures"]) for one in told),
        "outcomes": sum(one["diffs"] for one in told),
        "outcomes_missing": sum(len(one["without"]) for one in told),
        "outcomes_twice": sum(len(one["twice"]) for one in told),
        "slowest_ms": max(one["slowest"] for one in told) * 1000,
        "unload_ms": max(unload) * 1000,
        "load_ms": max(whole) * 1000 - max(unload) * 1000,
        "kb_each": slope(half) / every / 1024 if len(half) > 2 else 0.0,
    }


def whole_day(soak: Soak, count: int) -> Figures:
    """A day of a chat: turns, a fault in every 20th, and the daemon's transcript compared at the end."""
    every = max(1, count // 40)

    def after(number: int) -> None:
        if number % every == 0:
            soak.sample()

    soak.companion(lambda _: None)  # it runs now
    soak.run(lambda: asyncio.run(day(soak.folder, EVERY)))  # its libraries are loaded now
    before = soak.left()
    started = time.monotonic()
    future = soak.pool.submit(lambda: asyncio.run(day(soak.folder, count, after)))
    while not future.done():
        soak.editor.rest(0.5)
    found = future.result()
    for problem in found.problems()[:20]:
        print(problem, file=sys.stderr)
    half = soak._memory[len(soak._memory) // 2 :]
    return {
        "turns": len(found.shown),
        "faults": count // EVERY,
        "interrupted": sum(not is_over for _, _, is_over in found.expected),
        "differences": len(found.problems()),
        "seconds": time.monotonic() - started,
        "kb_each": slope(half) / every / 1024 if len(half) > 2 else 0.0,
        **{f"left.{name}": value for name, value in grown(before, soak.left()).items()},
    }


PARTS: dict[str, Callable[[Soak, int], Figures]] = {
    "sessions": sessions,
    "reviews": reviews,
    "windows": windows,
    "chat": chat,
    "day": whole_day,
    "reloads": reloads,
}


def measure(name: str, *, everything: bool) -> Figures:
    """One part's figures, measured in a process and a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        folders = {"HOME": home, "USERPROFILE": home, "TMPDIR": home, "XDG_CONFIG_HOME": os.path.join(home, ".config")}
        environment = {key: value for key, value in os.environ.items() if key != "QWEN_HOME"} | folders
        command = [sys.executable, "-m", "benchmarks.soak", SELF, name, *(["--all"] if everything else [])]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=False, timeout=7200)
        if done.returncode:
            sys.exit(f"The part “{name}” could not run: it ended with {done.returncode}.")
        return json.loads(done.stdout.splitlines()[-1])


def problems(figures: Figures, *, everything: bool) -> list[str]:
    """A sentence for each figure that is over its limit."""
    found: list[str] = []
    for name, value in figures.items():
        limit = 0 if ".left." in name else LIMITS.get(name)
        is_told = everything or not name.endswith(SHORT)
        if limit is not None and is_told and value > limit:
            found.append(f"{name} is {value:g}, more than {limit:g}.")
    return found


def main() -> None:
    """Print the figures, and exit with 1 if one is over its limit."""
    parser = argparse.ArgumentParser(prog="scripts/soak")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)}; all without one")
    parser.add_argument("--all", action="store_true", help="the long run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(SELF, dest="inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if unknown := [name for name in options.names if name not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}")
    if options.inside:
        output, sys.stdout = sys.stdout, sys.stderr
        with tempfile.TemporaryDirectory() as folder:
            name = options.names[0]
            soak = Soak(folder, name)
            figures = PARTS[name](soak, COUNTS[name][options.all])
            print(json.dumps({f"{name}.{key}": value for key, value in figures.items()}), file=output, flush=True)
            soak.editor.leave()
        return
    told: Figures = {}
    for name in options.names or PARTS:
        told |= {key: round(value, 3) for key, value in measure(name, everything=options.all).items()}
    print(json.dumps(told) if options.json else "\n".join(f"{key:28} {value:12.3f}" for key, value in told.items()))
    if found := problems(told, everything=options.all):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
