"""The marks of a diff as values; what they mark is tested where it is drawn."""

from __future__ import annotations

import gc

from companion.review.marks import marks


def test_the_garbage_collector_does_not_track_marks():
    """With 50,000 new objects to look at it would look through all, and hold the UI thread."""
    old = [f"line {number}" for number in range(6_000)]
    new = [line if number % 3 else f"{line}\nnew" for number, line in enumerate(old)]
    found = marks("\n".join(old), "\n".join(new))
    gc.collect()  # before 3.14 it is only then that a tuple of numbers is let go
    for side in (found.original, found.proposal):
        assert len(side.lines) == 2_000
        assert not any(map(gc.is_tracked, [*side.lines, *side.fillers]))
    assert len(found.original.fillers) == 2_000


def test_what_was_reverted_is_told_from_what_was_edited():
    """Only a change that is undone has a link that restores it."""
    original, proposed = "a\nb\nc\nd\ne\n", "A\nb\nC\nd\nE\n"
    found = marks(original, "a\nb\nmine\nd\nE\n", proposed)
    assert [one.points for one in found.reverted] == [(0, 2)]
    assert marks(original, proposed, proposed).reverted == []
    assert [one.points for one in marks(original, original, proposed).reverted] == [(0, 2), (4, 6), (8, 10)]
    assert [one.points for one in marks("a\nb\n", "a\nb\n", "a\nx\nb\n").reverted] == [(2, 2)]


def test_words_are_marked_up_to_a_number_of_changed_lines():
    for count, has_words in ((2_000, True), (2_001, False)):
        old = "".join(f"value {number} = 1\nsame {number}\n" for number in range(count))
        found = marks(old, old.replace("= 1", "= 2"))
        assert bool(found.original.words) == bool(found.proposal.words) == has_words


def test_each_change_without_lines_of_its_own_names_its_filler():
    """Its link is shown there."""
    found = marks("x\na\ny\nz\nb\nc\n", "a\nb\nC\n")
    assert found.gone == [(0, 1), (0, 2), None]
    assert found.proposal.fillers == [(0, 1), (0, 2)]
