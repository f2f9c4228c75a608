"""The life of a companion on the loop of Windows, as far as Linux can tell."""

from __future__ import annotations

import asyncio
import gc
import itertools
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest

from companion import companion as companion_module
from companion import handover
from companion.editor import WindowId
from companion.server.endpoint import listen
from companion.server.http import connections

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import LIMIT, Cli
from . import proactor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the loop is the real one")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    proactor.Proactor.ports.clear()
    monkeypatch.setattr(asyncio, "run", proactor.run)
    monkeypatch.setattr(connections, "sys", SimpleNamespace(platform="win32"))
    yield
    proactor.Proactor.ports.clear()
    gc.collect()


def in_thread(call: Callable[[socket.socket], None], listener: socket.socket) -> None:
    thread = threading.Thread(target=call, args=(listener,))
    thread.start()
    thread.join()


def test_the_stand_in_keeps_a_listener_at_its_first_port():
    """What it is there for: asyncio's own server fails on the second loop."""
    errors: list[str] = []

    def serve(listener: socket.socket) -> None:
        loop = proactor.Loop()
        loop.set_exception_handler(lambda _, context: errors.append(str(context.get("exception"))))

        async def main() -> None:
            await loop.create_server(asyncio.Protocol, sock=served)
            for _ in range(5):
                await asyncio.sleep(0)

        with listener.dup() as served:
            loop.run_until_complete(main())
            loop.close()

    proactor.Proactor.ports.clear()
    with listen() as listener:
        in_thread(serve, listener)
        assert errors == []
        in_thread(serve, listener)
        assert "The parameter is incorrect" in errors[0]


def test_a_whole_life(
    windows: None, start: Callable[..., Running], editor: MemoryEditor, project: Path, monkeypatch: pytest.MonkeyPatch
):
    """Start, connect, diff, five reloads, a client that resets, and the end."""
    running = start()
    port = running.lock()["port"]
    cli, stream = running.listening()
    for number in range(6):
        path = str(project / f"{number}.txt")
        cli.open_diff(path, "new\n")
        running.accept(path)
        assert stream.skip_to("ide/diffAccepted")["filePath"] == path
        for _ in range(10):
            proactor.reset(port)
        with Cli(running.lock()) as other:
            assert other.connect().tools() == {"openDiff", "closeDiff"}
        if number < 5:
            assert running.thread.stop(LIMIT, hand_over=True)
            running = start()
            assert running.lock()["port"] == port
            editor.dismissed.clear()  # the next instance counts its diffs anew
            stream = cli.listen()
            while not (messages := list(itertools.islice(stream, 1))):  # a CLI asks again when its stream has ended
                stream = cli.listen()
            assert messages[0]["method"] == "ide/contextUpdate"
    assert running.thread.stop(LIMIT)


@pytest.fixture(params=["selector", "proactor"])
def loop(request: pytest.FixtureRequest) -> None:
    if request.param == "proactor":
        request.getfixturevalue("windows")


@pytest.mark.parametrize("harm", ["close", "shutdown"])
def test_a_listener_that_accepts_no_more_is_opened_again_on_its_port(
    loop: None, start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, harm: str
):
    """Whatever has closed it. Whoever is connected goes on."""
    monkeypatch.setattr(companion_module, "TICK", 0.05)
    running = start()
    cli, _ = running.listening()

    def do_harm(companion: companion_module.Companion) -> None:
        listener = companion._windows[WindowId(1)].endpoint.state.listener
        if harm == "close":
            listener.close()
        else:
            listener.shutdown(socket.SHUT_RDWR)

    for _ in range(3):
        running.do(do_harm)
        until(
            lambda: running.do(
                lambda it: it._windows[WindowId(1)]._server.is_accepting and not it._windows[WindowId(1)]._is_opening
            )
        )
        with Cli({"port": cli.port, "authToken": cli.token}) as late:
            assert late.connect().tools()
        assert cli.tools()


def test_clients_that_reset_before_they_are_accepted_do_no_harm(loop: None, start: Callable[..., Running]):
    running = start()
    cli, _ = running.listening()
    for _ in range(50):
        proactor.reset(cli.port)
    with Cli(running.lock()) as late:
        assert late.connect().tools()


def test_an_accepted_connection_sends_at_once(loop: None, start: Callable[..., Running]):
    """Nagle's algorithm is off on the connection itself, whatever protocol number its socket has."""
    running = start()
    cli, _ = running.listening()
    assert cli.tools()

    def options(companion: companion_module.Companion) -> set[bool]:
        open_ones = companion._windows[WindowId(1)]._server.connections
        sockets = [one.transport.get_extra_info("socket") for one in open_ones]
        return {bool(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)) for one in sockets}

    assert running.do(options) == {True}


def test_a_handover_without_an_open_listener_waits_without_looking(monkeypatch: pytest.MonkeyPatch):
    """On Windows, `select` fails if there is nothing to look at."""

    class Selector:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def register(self, *_: object) -> None:
            raise ValueError("it is closed")

        def get_map(self) -> dict[int, object]:
            return {}

        def select(self, _timeout: float) -> list[object]:
            raise OSError(22, "An invalid argument was supplied", None, 10022)

    monkeypatch.setattr(handover.selectors, "DefaultSelector", Selector)
    monkeypatch.setattr(handover, "GRACE", 0.01)
    monkeypatch.setattr(handover, "LIMIT", 0.1)
    listener = listen()
    handover.hand_over({WindowId(1): handover.Inheritance(listener)}, handover.NO_CHORES)
    until(lambda: listener.fileno() == -1)
