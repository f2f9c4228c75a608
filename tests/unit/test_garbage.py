"""The pauses of the garbage collector."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from companion.garbage import HOLDER, NEVER, no_collection

USUAL = (650, 9, 8)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_no_full_collection_happens_in_a_pause_and_nothing_is_left_of_it():
    full: list[dict[str, int]] = []

    def heard(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            full.append(info)

    gc.callbacks.append(heard)
    try:
        with no_collection():
            assert gc.isenabled()
            kept = [[number] for number in range(200_000)]
            assert full == []
    finally:
        gc.callbacks.remove(heard)
    assert len(kept) == 200_000
    assert gc.isenabled()
    assert gc.get_threshold() == USUAL
    assert gc.get_freeze_count() == 0


def test_pauses_on_two_threads_end_with_the_last_one():
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with no_collection():
            entered.set()
            leave.wait(60)

    with no_collection():
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(60)
    assert gc.get_threshold()[2] == NEVER
    leave.set()
    thread.join()
    assert gc.get_threshold() == USUAL


def test_pauses_of_the_instances_before_and_after_a_reload_end_with_the_last_one(monkeypatch: pytest.MonkeyPatch):
    before = no_collection()
    before.__enter__()
    monkeypatch.delitem(sys.modules, "companion.garbage")
    from companion.garbage import no_collection as other  # noqa: PLC0415

    assert other is not no_collection
    after = other()
    after.__enter__()
    before.__exit__(None, None, None)
    assert gc.get_threshold()[2] == NEVER
    after.__exit__(None, None, None)
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("chosen", [(321, 7, 6), (0, 9, 8), (100_000, 20, 30)])
def test_thresholds_that_another_package_sets_in_a_pause_stay(chosen: tuple[int, int, int]):
    with no_collection():
        gc.set_threshold(*chosen)
    assert gc.get_threshold() == chosen


def test_a_first_threshold_that_another_package_sets_in_a_pause_stays():
    with no_collection():
        gc.set_threshold(50_000)
    assert gc.get_threshold() == (50_000, *USUAL[1:])


@pytest.mark.parametrize("change", [gc.enable, gc.disable])
@pytest.mark.parametrize("before", [gc.enable, gc.disable])
def test_a_collector_that_another_package_turns_on_or_off_in_a_pause_stays_so(before: object, change: object):
    assert callable(before)
    assert callable(change)
    before()
    try:
        with no_collection(), no_collection():
            change()
        assert gc.isenabled() == (change is gc.enable)
    finally:
        gc.enable()


def test_a_pause_that_another_package_restores_ends_with_the_next_one():
    with no_collection():
        found = gc.get_threshold()
    gc.set_threshold(*found)
    with no_collection():
        pass
    assert gc.get_threshold() == USUAL


def test_a_pause_ends_at_an_error():
    with pytest.raises(ImportError), no_collection():
        raise ImportError
    assert gc.get_threshold() == USUAL
    assert vars(sys.modules[HOLDER])["count"] == 0
