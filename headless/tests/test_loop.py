"""The two threads. Sources as in test_as_the_editor.py."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import sublime

from headless.app import Application


def test_timers_run_on_the_ui_thread_in_their_order(app: Application):
    """D: set_timeout: those of equal delay keep their order."""
    ran: list[tuple[str, threading.Thread]] = []
    for name, delay in (("late", 30), ("first", 0), ("second", 0), ("middle", 10)):
        sublime.set_timeout(lambda name=name: ran.append((name, threading.current_thread())), delay)
    app.loop.run_until(lambda: len(ran) == 4)
    assert [name for name, _ in ran] == ["first", "second", "middle", "late"]
    assert {thread for _, thread in ran} == {threading.current_thread()}


def test_asynchronous_timers_share_one_other_thread(app: Application):
    """K."""
    threads: list[threading.Thread] = []
    for _ in range(3):
        sublime.set_timeout_async(lambda: threads.append(threading.current_thread()))
    app.loop.run_until(lambda: len(threads) == 3)
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()


def test_an_exception_does_not_end_either_thread(app: Application, capfd: Any):
    done: list[str] = []
    for schedule in (sublime.set_timeout, sublime.set_timeout_async):
        schedule(lambda: 1 / 0)
        schedule(lambda: done.append("on"))
    app.loop.run_until(lambda: len(done) == 2)
    assert capfd.readouterr().err.count("ZeroDivisionError") == 2


def test_a_command_from_another_thread_runs_on_the_ui_thread(app: Application, view: Any, package: Callable[..., Any]):
    plugin = package("""
        import threading
        threads = []
        class WhereCommand(sublime_plugin.TextCommand):
            def run(self, edit):
                threads.append(threading.current_thread())
                self.view.insert(edit, 0, "x")
        class L(sublime_plugin.EventListener):
            def on_modified(self, view): threads.append(threading.current_thread())
    """)
    seen: list[int] = []

    def work() -> None:
        view.run_command("where")
        seen.append(view.size())

    sublime.set_timeout_async(work)
    app.loop.run_until(lambda: seen)
    assert seen == [1]
    assert set(plugin.threads) == {threading.current_thread()}


def test_waiting_for_a_ui_thread_that_is_stuck_times_out(app: Application):
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            app.loop.call(lambda: None, timeout=0.05)
        except TimeoutError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(60)
    assert errors


def test_the_stopwatch_sees_a_long_callback_and_a_gap(app: Application):
    app.loop.turn(0)
    app.loop.stopwatch.reset()
    app.loop.post(lambda: time.sleep(0.05))
    app.loop.run_until(lambda: app.loop.stopwatch.figures()["longest_callback_ms"] >= 50)
    figures = app.loop.stopwatch.figures()
    assert figures["stall_ms"] >= 50
    app.loop.stopwatch.reset()
    assert app.loop.stopwatch.figures()["stall_ms"] == 0
    time.sleep(0.06)
    app.loop.turn(0)
    assert app.loop.stopwatch.figures()["longest_gap_ms"] >= 60


def test_a_condition_that_never_comes_true_is_given_up(app: Application):
    with pytest.raises(TimeoutError):
        app.loop.run_until(lambda: False, timeout=0.05)
