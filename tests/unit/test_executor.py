"""The threads for calls that may block."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from companion import executor
from companion.executor import Executor


async def in_thread() -> str:
    return await asyncio.to_thread(lambda: threading.current_thread().name)


def test_calls_that_hang_hold_up_no_other_call_and_not_the_end(monkeypatch: pytest.MonkeyPatch):
    """As files on a network that is gone."""
    monkeypatch.setattr(executor, "END", 0.1)
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
    async def main() -> set[int]:
        asyncio.get_running_loop().set_default_executor(Executor())
        return {await asyncio.to_thread(threading.get_ident) for _ in range(50)}

    # A thread may not be free yet when the next call comes.
    assert len(asyncio.run(main())) < 25


def test_no_more_threads_than_the_most_are_started(monkeypatch: pytest.MonkeyPatch):
    """What is beyond waits, and is done."""
    monkeypatch.setattr(executor, "MOST", 3)
    pool = Executor()
    before = threading.active_count()
    go_on = threading.Event()
    futures = [pool.submit(go_on.wait, 600) for _ in range(20)]
    assert threading.active_count() <= before + 3
    go_on.set()
    assert all(one.result(60) for one in futures)
    pool.shutdown()
    assert threading.active_count() == before


def test_what_a_call_raises_is_raised_where_it_is_awaited():
    def fail() -> None:
        raise OSError("no")

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(Executor())
        with pytest.raises(OSError, match="no"):
            await asyncio.to_thread(fail)

    asyncio.run(main())


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
    monkeypatch.setattr(executor, "IDLE", 0.01)
    pool = Executor()
    pool.submit(int).result(60)
    end = time.monotonic() + 60
    while pool._count:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert pool.submit(int).result(60) == 0
    pool.shutdown()
