"""Hunks where git puts them."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.review.changes import changes, slack
from companion.review.compare import Change, slide

from .git import hunks, marked, real_pairs

PAIRS = 120


def can_slide(change: Change, old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether lines that came or went could be shown in another place."""
    if change.deleted and change.inserted:
        return False
    if change.inserted:
        return any(slack(change.new_start, change.new_end, new))
    return any(slack(change.old_start, change.old_end, old))


def test_real_hunks_are_where_git_puts_them_and_as_short(tmp_path: Path):
    """Every hunk that could slide is where git puts it; no pair has more marked lines than with --histogram."""
    pairs = [pair for pair in real_pairs(PAIRS) if all(text.endswith("\n") for text in pair)]
    if len(pairs) < PAIRS // 2:
        pytest.skip("this checkout has no history")
    slidable = 0
    for old, new in pairs:
        found, theirs = changes(old, new), hunks(tmp_path, old, new)
        assert marked(found) <= marked(hunks(tmp_path, old, new, "--histogram"))
        old_lines, new_lines = old.split("\n")[:-1], new.split("\n")[:-1]
        for hunk in theirs:
            if can_slide(hunk, old_lines, new_lines):
                by = hunk.new_start - hunk.old_start, hunk.deleted, hunk.inserted
                same = [
                    one
                    for one in found
                    if (one.new_start - one.old_start, one.deleted, one.inserted) == by
                    and abs(one.new_start - hunk.new_start) <= 100
                ]
                if same:  # else another alignment was as good
                    slidable += 1
                    assert hunk in same
    assert slidable > PAIRS // 10


CODE = ["", "}", "    }", "    if x:", "\tif y:", "        return 1", "def f():", "  # text", "    ", "{", "class A:"]


@settings(max_examples=settings().max_examples * 3 // 2)
@given(
    st.lists(st.sampled_from(CODE), max_size=14),
    st.lists(st.sampled_from(CODE), min_size=1, max_size=6),
    st.integers(0, 14),
    st.booleans(),
)
def test_a_block_that_came_or_went_is_where_git_puts_it(before: list[str], block: list[str], at: int, came: bool):
    after = [*before[:at], *block, *before[at:]]
    old, new = ("".join(f"{line}\n" for line in lines) for lines in ((before, after) if came else (after, before)))
    with tempfile.TemporaryDirectory() as folder:
        theirs = hunks(Path(folder), old, new)
    found = changes(old, new)
    assert marked(found) <= marked(theirs)
    if len(found) == len(theirs) == 1:
        assert found == theirs


@settings(max_examples=settings().max_examples * 3 // 2)
@given(
    st.lists(st.tuples(st.sampled_from(CODE), st.integers(1, 4) | st.integers(1, 130)), max_size=4),
    st.lists(st.sampled_from(CODE), min_size=1, max_size=3),
    st.integers(1, 60),
    st.integers(0, 4),
)
def test_a_part_of_a_long_run_is_where_git_puts_it(runs: list[tuple[str, int]], block: list[str], times: int, at: int):
    """A repeated block among repeated blocks can slide far."""
    parts = [[line] * count for line, count in runs]
    parts.insert(min(at, len(parts)), block * times)
    before = [line for part in parts for line in part]
    parts.insert(min(at, len(parts)), block)
    after = [line for part in parts for line in part]
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    with tempfile.TemporaryDirectory() as folder:
        theirs = hunks(Path(folder), old, new)
    found = changes(old, new)
    if len(found) == len(theirs) == 1:
        assert found == theirs


def test_a_long_run_of_equal_lines_is_searched_as_far_as_git_does(tmp_path: Path):
    before = ["def f():", *["    x = 1"] * 300, "def g():"]
    old = "\n".join(before) + "\n"
    new = "\n".join([*before[:150], "    x = 1", *before[150:]]) + "\n"
    assert changes(old, new) == hunks(tmp_path, old, new)


def test_a_long_block_slides_as_far_as_with_git(tmp_path: Path):
    """At most 100 lines, even if a better place is further up."""
    block = ["def f():", *[f"    x{number} = {number}" for number in range(119)]]
    for rest in (50, 110):
        old, new = ("\n".join([*block * times, *block[:rest]]) + "\n" for times in (2, 3))
        assert changes(old, new) == hunks(tmp_path, old, new)


def test_groups_that_meet_while_they_slide_become_one(tmp_path: Path):
    old, new = "a\nb\nb\nc\n", "a\nb\nx\nb\nb\nx\nb\nb\nc\n"
    assert changes(old, new) == hunks(tmp_path, old, new)
    old, new = "x\n", "x\nx\nx\nx\n"
    assert changes(old, new) == hunks(tmp_path, old, new)


def test_a_group_slides_beside_one_of_the_other_side(tmp_path: Path):
    old, new = "a\nold\nb\nb\nc\n", "a\nb\nnew\nb\nb\nc\n"
    assert marked(changes(old, new)) <= marked(hunks(tmp_path, old, new))
    old, new = "1\n2\nx\ny\n3\n", "1\nx\n2\nx\n3\n"
    assert changes(old, new) == hunks(tmp_path, old, new)
    old, new = "b\na\nb\nb\n", "a\na\na\n"  # the new lines slide down beside the last two
    assert changes(old, new) == hunks(tmp_path, old, new)


@pytest.mark.parametrize("part", [0.01, 0.2, 1.0])
def test_a_text_of_two_kinds_of_lines_is_compared_nearly_as_well_as_by_git(tmp_path: Path, part: float):
    """Low variety: at most 1.2 times the marked lines of git."""
    chance = random.Random(1)  # noqa: S311 - always the same texts
    lines = chance.choices(["a", "b"], k=10_000)
    edited: list[str] = []
    for line in lines:
        edited += chance.choice([[], ["a"], ["b"], ["a", "b"]]) if chance.random() < part else [line]
    old, new = "\n".join(lines) + "\n", "\n".join(edited) + "\n"
    assert marked(changes(old, new)) <= 1.2 * marked(hunks(tmp_path, old, new))


def test_a_part_of_few_kinds_of_lines_in_a_large_text_is_compared_well(tmp_path: Path):
    """The whole is too large for the table; the part between the anchors is not."""
    chance = random.Random(1)  # noqa: S311 - always the same texts
    part = chance.choices(["a", "b"], k=2_000)
    edited = [chance.choice(["a", "b"]) if chance.random() < 0.2 else line for line in part]
    head, tail = [f"head {number}" for number in range(10_000)], [f"tail {number}" for number in range(10_000)]
    old = "\n".join(["old", *head, *part, *tail, "old"]) + "\n"
    new = "\n".join(["new", *head, *edited, *tail, "new"]) + "\n"
    assert marked(changes(old, new)) <= 1.2 * marked(hunks(tmp_path, old, new))


def test_lines_that_occur_once_are_no_anchors_if_that_costs_more_lines():
    """A line that has moved would otherwise tear the text apart."""
    block = ["a", "b"] * 20
    old, new = ["once", *block], [*block, "once"]
    assert marked(changes(old, new)) == 2
    twice = ["p", *block, "q", "r"], ["q", "r", *block, "p"]
    assert marked(changes(*twice)) == 6


@pytest.mark.parametrize(
    ("found", "old", "new", "expected"),
    [
        ([Change(0, 0, 0, 1), Change(1, 1, 2, 3)], "xx", "xxxx", [Change(2, 2, 2, 4)]),
        ([Change(0, 0, 0, 1), Change(1, 1, 2, 3)], "b", "abb", [Change(0, 0, 0, 2)]),
        ([Change(0, 1, 0, 0), Change(2, 3, 1, 1)], "abb", "b", [Change(0, 2, 0, 0)]),
        ([Change(1, 2, 1, 1), Change(3, 3, 2, 3)], "aoxb", "axxb", [Change(1, 2, 1, 2)]),
        ([Change(1, 1, 1, 2), Change(2, 3, 3, 3)], "axob", "axxb", [Change(2, 3, 2, 3)]),
    ],
    ids=["down", "up", "deleted", "beside one above", "beside one below"],
)
def test_groups_meet(found: list[Change], old: str, new: str, expected: list[Change]):
    """Groups of one side become one; a group goes beside one of the other side if it can."""
    assert slide(found, list(old), list(new)) == expected
