"""The end of a session, and the stop of a window's server."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from companion.editor import WindowId
from companion.server import sessions
from companion.server.http import app
from companion.server.tools import Tools

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import LIMIT, Cli, Stream
from .test_sessions import open_files

SHORT = 0.05
"""Seconds that a session without a stream has, instead of ten. A busy client needs longer to begin one."""


class TestEnd:
    """A session's end."""

    def test_a_session_whose_stream_has_gone_ends(
        self, running: Running, monkeypatch: pytest.MonkeyPatch, files: list[str]
    ):
        """A CLI that quits sends nothing. Its diffs stay for the person, and nobody hears of them."""
        cli, stream = running.listening()
        cli.open_diff(files[0], "new\n")
        diff = running.diff(files[0])
        monkeypatch.setattr(sessions, "STREAM_GONE_LIMIT", SHORT)
        stream.close()
        until(lambda: not running.sessions())
        until(lambda: running.editor.orphaned == [diff.review.number])
        assert running.editor.open_diffs
        assert cli.ask("tools/list").status_code == 404
        assert cli.get().status_code == 404
        running.do(lambda companion: companion.reviews.accept(diff.review.number, "new\n"))
        assert ("Qwen Code has disconnected and can't write a.txt.", 1) in running.editor.said
        assert running.editor.open_diffs
        running.do(lambda companion: companion.reviews.reject(diff.review.number))
        assert not running.editor.open_diffs

    def test_a_session_that_never_listens_ends(self, running: Running, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sessions, "STREAM_GONE_LIMIT", SHORT)
        cli = running.cli()
        cli.initialize()
        until(lambda: not running.sessions())
        assert cli.ask("tools/list").status_code == 404

    def test_the_end_of_one_session_does_not_end_another(
        self, running: Running, monkeypatch: pytest.MonkeyPatch, files: list[str]
    ):
        (gone, gone_stream), (here, stream) = running.listening(), running.listening()
        monkeypatch.setattr(sessions, "STREAM_GONE_LIMIT", SHORT)
        gone.open_diff(files[0], "new\n")
        here.open_diff(files[0], "new\n")
        until(lambda: len(running.editor.open_diffs) == 2)
        gone_stream.close()
        until(lambda: running.sessions() == {here.session})
        [number] = until(lambda: running.editor.orphaned)
        [mine] = running.editor.open_diffs.keys() - {number}
        running.do(lambda companion: companion.reviews.accept(mine, "new\n"))
        assert stream.take("ide/diffAccepted")["filePath"] == files[0]

    def test_a_stream_that_comes_back_in_time_keeps_the_session(
        self, monkeypatch: pytest.MonkeyPatch, running: Running, files: list[str]
    ):
        """The timer is off while a stream is open, also when it has taken over."""
        monkeypatch.setattr(sessions, "STREAM_GONE_LIMIT", 20)
        cli, stream = running.listening()
        for _ in range(3):
            stream.close()
            stream = cli.listen()
            stream.take("ide/contextUpdate")
        assert running.do(lambda companion: companion._windows[WindowId(1)].sessions._ends) == {}
        running.focus(1, files[0])
        assert open_files(stream.take("ide/contextUpdate")) == files[:1]

    @pytest.mark.parametrize("ends", ["by itself", "by the client"])
    def test_a_request_that_is_being_answered_is_answered_before_the_end(
        self,
        running: Running,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        ends: str,
    ):
        """The SDK would fail in the middle, and the client would get a reset."""
        cli = running.cli().connect()
        assert cli.session
        identifier, plain = cli.session, app._read_body
        other = httpx2.Client(base_url=cli.http.base_url, timeout=LIMIT, trust_env=False)
        deleted: list[int] = []
        threads: list[threading.Thread] = []

        def delete() -> None:
            deleted.append(other.delete("/mcp", headers=cli.headers()).status_code)

        async def read(receive: Any, limit: int) -> Any:
            body, again = await plain(receive, limit)

            async def slowly() -> Any:
                server = running.thread._running[1]._windows[WindowId(1)]  # pyright: ignore[reportOptionalSubscript]
                if ends == "by itself":
                    server.sessions.end(identifier)
                else:
                    threads.append(threading.Thread(target=delete))
                    threads[0].start()
                    await asyncio.to_thread(until, lambda: server._app._requests.count == 2)
                for _ in range(100):
                    await asyncio.sleep(0)
                return await again()

            return body, slowly

        monkeypatch.setattr(app, "_read_body", read)
        answer = cli.ask("ping")
        monkeypatch.setattr(app, "_read_body", plain)
        assert (answer.status_code, answer.json()["result"]) == (200, {})
        for thread in threads:
            thread.join(LIMIT)
        assert deleted == ([] if ends == "by itself" else [200])
        other.close()
        until(lambda: identifier not in running.sessions())
        assert cli.ask("ping").status_code == 404
        assert not [one for one in caplog.records if one.levelno >= logging.ERROR]

    @pytest.mark.fast_path  # the SDK answers with an error of its own then
    def test_a_diff_does_not_open_for_a_session_that_ends_in_the_middle_of_the_call(
        self, running: Running, files: list[str], held_up: tuple[threading.Event, threading.Event]
    ):
        """Nobody would get its outcome."""
        cli, _ = running.listening()
        asked, go_on = held_up
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(cli.tool, "openDiff", filePath=files[0], newContent="x")
            assert asked.wait(LIMIT)
            assert cli.send("DELETE").status_code == 200
            until(lambda: not running.sessions())
            go_on.set()
            assert answer.result(LIMIT)["result"]["isError"]
        assert running.do(lambda it: list(it.reviews)) == []

    def test_a_diff_that_is_closed_while_the_disk_is_slow_never_opens(
        self, running: Running, files: list[str], held_up: tuple[threading.Event, threading.Event]
    ):
        """The person has answered in the terminal."""
        cli, _ = running.listening()
        asked, go_on = held_up
        with ThreadPoolExecutor(1) as pool, cli.again() as other:
            answer = pool.submit(cli.tool, "openDiff", filePath=files[0], newContent="x")
            assert asked.wait(LIMIT)
            assert other.close_diff(files[0]) == {}
            go_on.set()
            assert not answer.result(LIMIT)["result"]["isError"]
            cli.open_diff(files[1], "y")
            running.diff(files[1])
        assert [review.file_path for review in running.do(lambda it: list(it.reviews))] == [files[1]]

    def test_a_diff_does_not_open_for_a_session_that_ends_just_after_the_answer(
        self, running: Running, files: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        """Nobody would get its outcome."""
        cli, _ = running.listening()
        plain, opened = Tools._open, threading.Event()

        def late(self: Tools, session: sessions.Session, arguments: Any) -> None:
            self._server.sessions.end(session.identifier)
            plain(self, session, arguments)
            opened.set()

        monkeypatch.setattr(Tools, "_open", late)
        cli.open_diff(files[0], "x")
        assert opened.wait(LIMIT)
        assert running.do(lambda it: list(it.reviews)) == []

    def test_a_cli_may_end_its_session(self, running: Running, files: list[str], monkeypatch: pytest.MonkeyPatch):
        """By DELETE; its diffs are orphaned at once and its stream ends."""
        monkeypatch.setattr(sessions, "STREAM_GONE_LIMIT", 3600)
        cli, stream = running.listening()
        cli.open_diff(files[0], "new\n")
        number = running.diff(files[0]).review.number
        assert cli.send("DELETE").status_code == 200
        assert list(stream) == []
        until(lambda: running.editor.orphaned == [number])
        assert running.sessions() == set()
        assert cli.ask("tools/list").status_code == 404
        assert cli.send("DELETE").status_code == 404


def test_answers_do_not_wait_for_more_to_send(running: Running):
    """Nagle's algorithm is off on every connection, else each answer takes 40 ms."""
    cli, _ = running.listening()
    cli.tools()

    def options(companion: Any) -> list[int]:
        connections = companion._windows[1]._server.connections
        sockets = [connection.transport.get_extra_info("socket") for connection in connections]
        return [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets]

    found = running.do(options)
    assert len(found) >= 2
    assert all(found)


class TestStop:
    """The editor quits, or the package is unloaded."""

    @pytest.mark.parametrize("count", [1, 12])
    def test_open_diffs_are_rejected_on_the_wire_before_the_stream_ends_cleanly(
        self, running: Running, project: Path, count: int
    ):
        """A CLI that waits for ever would show no diff again; a broken stream would be an error to it."""
        cli, stream = running.listening()
        paths = [str(project / f"{i}.txt") for i in range(count)]
        for path in paths:
            cli.open_diff(path, "x" * 10_000)
        until(lambda: len(running.editor.open_diffs) == count)
        stopping = threading.Thread(target=running.thread.stop, args=(20,))
        stopping.start()
        told = list(stream)
        stopping.join()
        assert [message["params"] for message in told] == [{"filePath": path} for path in paths]
        assert {message["method"] for message in told} == {"ide/diffRejected"}
        assert running.editor.open_diffs == {}

    def test_files_and_variables_and_the_thread_are_gone(
        self, running: Running, lock_folder: Path, published_folder: Path
    ):
        cli, stream = running.listening()
        assert len([*lock_folder.iterdir(), *published_folder.iterdir()]) == 2
        assert os.environ["QWEN_CODE_IDE_SERVER_PORT"] == str(cli.port)
        assert running.thread.stop(20)
        assert [*lock_folder.iterdir(), *published_folder.iterdir()] == []
        assert not os.environ.keys() & {"QWEN_CODE_IDE_SERVER_PORT", "QWEN_CODE_IDE_WORKSPACE_PATH"}
        assert not [thread for thread in threading.enumerate() if thread.name == "qwen-companion"]
        assert list(stream) == []
        with pytest.raises(httpx2.ConnectError):
            Cli({"port": cli.port, "authToken": cli.token}).initialize()

    def test_every_window_stops(self, editor: MemoryEditor, start: Callable[..., Running]):
        editor.windows |= {2: (), 3: ()}
        running = start()
        streams: list[Stream] = [running.listening(WindowId(window))[1] for window in (1, 2, 3)]
        assert running.thread.stop(20)
        assert [list(stream) for stream in streams] == [[], [], []]

    def test_a_session_without_a_stream_does_not_hold_it_up(self, running: Running, files: list[str]):
        """There is nobody to tell."""
        cli = running.cli().connect()
        cli.open_diff(files[0], "new\n")
        running.diff(files[0])
        assert running.thread.stop(20)
        assert running.editor.open_diffs == {}
