"""The marks of a diff as values; what they mark is tested where it is drawn."""

from __future__ import annotations

import gc

from companion.review.marks import marks


def test_the_garbage_collector_does_not_track_marks():
    """Issue 3, figures: with 50,000 new objects to look at it would look through all, and hold the UI thread."""
    old = [f"line {number}" for number in range(6_000)]
    new = [line if number % 3 else f"{line}\nnew" for number, line in enumerate(old)]
    found = marks("\n".join(old), "\n".join(new))
    gc.collect()  # before 3.14 it is only then that a tuple of numbers is let go
    for side in (found.original, found.proposal):
        assert len(side.lines) == 2_000
        assert not any(map(gc.is_tracked, [*side.lines, *side.fillers]))
    assert len(found.original.fillers) == 2_000
