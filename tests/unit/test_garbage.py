"""The pause of the garbage collector while the libraries are imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from companion.thread import PAUSED, no_collection

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


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_instances_that_import_around_a_reload_none_leaves_its_pause(first: int):
    pauses = [no_collection(), no_collection()]
    for each in pauses:
        each.__enter__()
    assert gc.get_threshold() == (*USUAL[:2], PAUSED)
    pauses[first].__exit__(None, None, None)
    pauses[1 - first].__exit__(None, None, None)
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


def test_a_pause_ends_at_an_error():
    with pytest.raises(ImportError), no_collection():
        raise ImportError
    assert gc.get_threshold() == USUAL
