"""Private daemons over the package's life: a reload keeps them, an exit ends them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from companion import handover
from companion.backends.daemon import private
from companion.editor import ChatId, ViewId, WindowId
from companion.handover import Inheritance
from companion.server.endpoint import listen
from companion.settings import DaemonSettings, Settings

from ..backends.daemon.test_daemon_launch import LISTENS
from ..conftest import Running, until
from ..wire import LIMIT
from .chatting import CHAT, WINDOW

Start = Callable[[], Running]


@pytest.fixture
def settings(tmp_path: Path) -> DaemonSettings:
    """Those of a chat with a `qwen serve` that nobody can reach, but that runs."""
    program = tmp_path / "fake_qwen.py"
    program.write_text(LISTENS.replace("127.0.0.1:4242", "127.0.0.1:9"), encoding="utf-8")
    return DaemonSettings(enabled=True, command=(sys.executable, str(program)))


def daemon_of(running: Running, window: WindowId) -> private.Daemon:
    """A window's daemon, once it runs."""
    daemon = until(
        lambda: running.do(lambda companion: companion.chats[ChatId(ViewId(window))].connector.private.daemon)
    )
    assert daemon
    return daemon


def open_chat(running: Running, settings: DaemonSettings, folder: Path) -> private.Daemon:
    """Open window 1's chat; its daemon, once it runs."""
    running.do(lambda companion: companion.configure(Settings(), daemon=settings))
    running.do(lambda companion: companion.chats.open(CHAT, WINDOW, str(folder)))
    return daemon_of(running, WindowId(1))


def test_the_end_of_the_editor_ends_the_daemon_and_what_it_has_started(
    start: Start, settings: DaemonSettings, project: Path
):
    running = start()
    daemon = open_chat(running, settings, project)
    children = psutil.Process(daemon.pid).children(recursive=True)
    assert children
    assert running.thread.stop(LIMIT)
    assert not daemon.is_running
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


def test_a_reload_keeps_it(start: Start, settings: DaemonSettings, project: Path):
    first = start()
    daemon = open_chat(first, settings, project)
    assert first.thread.stop(LIMIT, hand_over=True)
    assert daemon.is_running
    second = start()
    assert open_chat(second, settings, project) == daemon
    assert second.thread.stop(LIMIT)
    assert not daemon.is_running


def test_the_end_of_its_window_ends_it(start: Start, settings: DaemonSettings, project: Path):
    running = start()
    daemon = open_chat(running, settings, project)
    running.close_window(WindowId(1))
    until(lambda: not daemon.is_running)


def test_the_end_of_its_window_during_a_reload_ends_it_too(start: Start, settings: DaemonSettings, project: Path):
    first = start()
    daemon = open_chat(first, settings, project)
    assert first.thread.stop(LIMIT, hand_over=True)
    del first.editor.windows[1]
    start()
    until(lambda: not daemon.is_running)


def test_one_that_nobody_takes_over_is_ended(
    start: Start, settings: DaemonSettings, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(handover, "LIMIT", 0.05)
    running = start()
    daemon = open_chat(running, settings, project)
    assert running.thread.stop(LIMIT, hand_over=True)
    until(lambda: not daemon.is_running)


def test_a_chat_without_a_served_window_isnt_handed_over(start: Start, settings: DaemonSettings, project: Path):
    running = start()
    running.do(lambda companion: companion.configure(Settings(), daemon=settings))
    running.do(lambda companion: companion.chats.open(ChatId(ViewId(7)), WindowId(7), str(project)))
    daemon = daemon_of(running, WindowId(7))
    assert running.thread.stop(LIMIT, hand_over=True)
    until(lambda: not daemon.is_running)
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)


def test_the_token_is_in_no_text_of_what_is_left():
    listener = listen()
    left = Inheritance(listener, chat={"daemon": (1, 2.0, "/w", "http://x", "secret-token")})
    listener.close()
    assert "secret-token" not in repr(left)
