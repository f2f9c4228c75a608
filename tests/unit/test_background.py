"""The threads for calls that may block."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from companion import background
from companion.background import Executor, LoopTasks, guarded

from .conftest import until


async def in_thread() -> str:
    return await asyncio.to_thread(lambda: threading.current_thread().name)


def test_calls_that_hang_hold_up_no_other_call_and_not_the_end(monkeypatch: pytest.MonkeyPatch):
    """As files on a network that is gone."""
    monkeypatch.setattr(background, "END", 0.1)
    go_on = threading.Event()

    async def main() -> str:
        asyncio.get_running_loop().set_default_executor(Executor())
        hanging = [asyncio.create_task(asyncio.to_thread(go_on.wait, 600)) for _ in range(100)]
        await asyncio.sleep(0)
        found = await asyncio.wait_for(in_thread(), 120)
        for one in hanging:
            one.cancel()
        return found

    began = time.monotonic()
    assert asyncio.run(main()).startswith("qwen-companion")
    assert time.monotonic() - began < 300
    go_on.set()


def test_a_thread_that_is_free_is_used_again():
    pool = Executor()
    used: set[int] = set()
    for _ in range(50):
        used.add(pool.submit(threading.get_ident).result(60))
        until(lambda: pool._free)  # a moment after its result is there
    assert len(used) == 1
    pool.shutdown()


def test_no_more_threads_than_the_most_are_started(monkeypatch: pytest.MonkeyPatch):
    """What is beyond waits, and is done."""
    monkeypatch.setattr(background, "MOST", 3)
    pool = Executor()
    before = threading.active_count()
    go_on = threading.Event()
    futures = [pool.submit(go_on.wait, 600) for _ in range(20)]
    assert threading.active_count() <= before + 3
    go_on.set()
    assert all(one.result(60) for one in futures)
    pool.shutdown()
    until(lambda: threading.active_count() <= before)


async def test_what_a_call_raises_is_raised_where_it_is_awaited():
    def fail() -> None:
        raise OSError("no")

    asyncio.get_running_loop().set_default_executor(Executor())
    with pytest.raises(OSError, match="no"):
        await asyncio.to_thread(fail)


def test_what_has_begun_is_finished_before_the_end():
    done: list[int] = []

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(Executor())
        loop, has_begun = asyncio.get_running_loop(), asyncio.Event()

        def work() -> None:
            loop.call_soon_threadsafe(has_begun.set)
            time.sleep(0.2)
            done.append(1)

        task = asyncio.create_task(asyncio.to_thread(work))
        await has_begun.wait()
        task.cancel()

    asyncio.run(main())
    assert done == [1]


def test_nothing_is_taken_after_the_end():
    pool = Executor()
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.submit(int)


def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(background, "IDLE", 0.01)
    pool = Executor()
    pool.submit(int).result(60)
    until(lambda: not pool._count)
    assert pool.submit(int).result(60) == 0
    pool.shutdown()


def test_what_fails_is_logged_and_holds_up_nothing_else(stormy: pytest.LogCaptureFixture) -> None:
    done: list[int] = []
    for do, at in ((done.remove, 1), (done.append, 2)):
        guarded(do, at)
    assert done == [2]
    assert [record.levelname for record in stormy.records] == ["ERROR"]


def test_what_a_timer_begins_in_the_last_turn_of_the_loop_is_not_left_pending(stormy: pytest.LogCaptureFixture):
    """The loop turns on while its threads end."""
    begun: list[int] = []
    tasks = LoopTasks()

    async def work() -> None:
        begun.append(1)

    async def main() -> None:
        tasks.end()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.call_soon(lambda: (tasks(work()), loop.stop()))
    loop.run_forever()
    loop.close()
    gc.collect()  # it tells of a task that was never done
    assert begun == []
    assert stormy.records == []
