"""A reload keeps each connection: its socket, what was read of a message, and the calls that wait for the person."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from companion import handover, thread
from companion.libraries import guard
from companion.server.doors import claude as claude_module
from companion.server.http.app import App

from ...conftest import FIRST, Running, until
from ...test_handover_reviews import reload, unload
from .client import lock_of, texts
from .conftest import Connect
from .test_claude import select
from .test_websocket import ping

Start = Callable[[], Running]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)


def test_an_open_diff_is_answered_on_the_same_connection_after_two_reloads(
    start: Start, connect: Connect, path: str
) -> None:
    running = start()
    client = connect(running)
    client.ask("tools/list")
    lock = lock_of(running)
    call = client.propose(path, "new\n")
    running.diff(path).text = "mine\n"
    waiting = running.do(lambda it: list(it._proposals()))
    running = reload(running, start)
    running = reload(running, start)
    assert running.do(lambda it: list(it._proposals())) == waiting
    assert {**lock_of(running), "pid": 0} == {**lock, "pid": 0}
    assert client.ask("ping")["result"] == {}
    running.accept(path)
    assert texts(client.answer(call)) == ["FILE_SAVED", "mine\n"]
    assert len(running.editor.seen) == 1


def test_what_changes_is_told_after_a_reload(start: Start, connect: Connect, path: str) -> None:
    running = start()
    client = connect(running)
    client.ask("tools/list")
    client.hears("selection_changed")
    running = reload(running, start)
    until(lambda: running.do(lambda it: [one.stream for one in it._windows[FIRST].sessions if one.stream]))
    select(running, path)
    while client.hears("selection_changed")["filePath"] != path:
        pass


def test_a_reload_just_after_the_tools_were_listed_leaves_a_cli_that_is_told_what_changes(
    start: Start, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start()
    monkeypatch.setattr(claude_module, "SETTLING", 600)
    client = connect(running)
    client.ask("tools/list")
    running = reload(running, start)
    until(lambda: running.do(lambda it: [one.stream for one in it._windows[FIRST].sessions if one.stream]))
    select(running, path)
    while client.hears("selection_changed")["filePath"] != path:
        pass


def test_a_message_that_is_half_here_is_answered_by_the_next_instance(start: Start, connect: Connect) -> None:
    running = start()
    client = connect(running)
    whole = ping("half")
    client.ask("ping")
    client.socket.sendall(whole[:20])
    until(
        lambda: running.do(lambda it: next(one.wire and one.wire._raw for one in it._windows[FIRST].websockets.clients))
    )
    unload(running)
    client.socket.sendall(whole[20:] + ping("more"))
    start()
    assert client.answer("half")["result"] == {}
    assert client.answer("more")["result"] == {}


def test_a_cli_that_goes_during_a_reload_leaves_a_diff_that_nobody_waits_for(
    start: Start, connect: Connect, path: str
) -> None:
    running = start()
    client = connect(running)
    client.propose(path, "new\n")
    running.diff(path)
    unload(running)
    client.close()
    running = start()
    until(lambda: running.editor.orphaned)
    assert running.sessions() == set()


def test_the_cli_closes_a_diff_from_before_a_reload(start: Start, connect: Connect, path: str) -> None:
    running = start()
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path).text = "mine\n"
    running = reload(running, start)
    assert client.call("closeAllDiffTabs") == ["CLOSED_1_DIFF_TABS"]
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    until(lambda: [text for _, _, text, _ in running.editor.kept] == ["mine\n"])


def test_an_open_diff_is_rejected_once_if_no_instance_takes_over_in_time(
    start: Start, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "GRACE", 0.1)
    running = start()
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path)
    unload(running)
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    assert sys.modules[handover.HOLDER]
    start()
    assert client.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
    assert client.ask("ping")["result"] == {}
    assert [one for one in client.waiting if one.get("id") == call] == []


@pytest.mark.parametrize("is_noticed", ["when they are imported", "when the server begins"])
def test_an_open_diff_is_answered_once_libraries_that_failed_are_mended(
    start: Start, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch, is_noticed: str
) -> None:
    monkeypatch.setattr(handover, "GRACE", 0.1)
    monkeypatch.setattr(thread, "RETRY", 0.01)
    running = start()
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path)
    where, name = (guard, "check") if is_noticed == "when they are imported" else (App, "check")
    plain = getattr(where, name)
    is_broken = True

    def check(*arguments: object) -> Any:
        if is_broken:
            raise ImportError("No module named 'uvicorn'", name="uvicorn")
        return plain(*arguments)

    monkeypatch.setattr(where, name, check)
    unload(running)
    running = start()
    until(lambda: running.thread._asleep)
    time.sleep(0.3)  # longer than GRACE
    is_broken = False
    monkeypatch.setattr(guard, "_place", lambda _: object())
    until(lambda: running.thread._running)
    running.do(lambda companion: companion.resume_reviews())
    running.accept(path, "mine\n")
    assert texts(client.answer(call)) == ["FILE_SAVED", "mine\n"]


def test_where_no_connection_can_be_left_it_ends_with_a_rejection(
    start: Start, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.setattr(claude_module, "CAN_RELEASE", False)
    running = start()
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path)
    running = reload(running, start)
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    client.closed()
    assert running.editor.orphaned
    assert connect(running).ask("ping")["result"] == {}
