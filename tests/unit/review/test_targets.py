"""Which changes a command refers to."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from companion.review.changes import TextEdit, changes, lines_of, revert_edits
from companion.review.compare import Change
from companion.review.targets import Revert, Target, edits_of, revert_fingerprint, taken_back, touched

from .test_changes_properties import pairs


def edited(target: Target, original: str, shown: str, text: str) -> str:
    for edit in reversed(edits_of(target, original, shown, text)[1]):
        text = edit.apply(text)
    return text


def whole(text: str) -> tuple[tuple[int, int], ...]:
    return ((0, len(lines_of(text)) - 1),)


@given(pairs)
def test_a_selection_of_everything_reverts_and_restores_everything(pair: tuple[str, str]):
    original, proposal = pair
    assume(len(lines_of(original)) > 1 and len(lines_of(proposal)) > 1)  # a single line may be just a caret
    assert edited(Target("revert", whole(proposal)), original, proposal, proposal) == original
    assert edited(Target("revert", whole(original), "old"), original, proposal, proposal) == original
    assert edited(Target("restore", whole(original)), original, proposal, original) == proposal
    assert edited(Target("undo", whole(proposal)), original, proposal, proposal) == original
    assert edited(Target("redo", whole(original)), original, proposal, original) == proposal


@given(pairs)
def test_each_fingerprint_names_one_change(pair: tuple[str, str]):
    original, proposal = pair
    found = changes(original, proposal)
    names = [revert_fingerprint(change, lines_of(proposal)) for change in found]
    assert len(set(names)) == len(names)
    for change, name in zip(found, names, strict=True):
        _, [edit] = edits_of(Target("revert", fingerprints=(name,)), original, proposal, proposal)
        left = changes(original, edit.apply(proposal))
        assert len(left) < len(found) or change not in left
    assert edits_of(Target("revert", fingerprints=("0-0-none-0",)), original, proposal, proposal)[1] == []


@example(("\n\n", "\n"), random.Random(1))  # noqa: S311
@example(("\nb\nb\n\n\n}\n\n", "\nb\nb\n\n\n}\n"), random.Random(1))  # noqa: S311
@given(pairs, st.randoms(use_true_random=False))
def test_what_was_reverted_is_restored_at_the_caret(pair: tuple[str, str], chance: random.Random):
    """The caret is where the editor puts it after the revert."""
    original, proposal = pair
    if not (found := changes(original, proposal)):
        return
    name = revert_fingerprint(chance.choice(found), lines_of(proposal))
    _, [edit] = edits_of(Target("revert", fingerprints=(name,)), original, proposal, proposal)
    text = edit.apply(proposal)
    caret = edit.start + len(edit.text)
    if edit.text.endswith("\n") and not (edit.text == "\n" and caret == len(text)):
        caret -= 1
    line = text.count("\n", 0, caret)
    assert edited(Target("restore", ((line, line),)), original, proposal, text) == proposal


FOUND = [Change(1, 2, 1, 3), Change(4, 6, 5, 5), Change(8, 8, 7, 8)]
LINES = [str(number) for number in range(20)]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([(1, 1)], [0]),
        ([(1, 1), (2, 2)], [0]),
        ([(0, 0), (3, 3)], []),
        ([(2, 2), (7, 7)], [0, 2]),
        ([(2, 7)], [0, 1, 2]),
        ([(4, 5)], [1]),
        ([(5, 5)], [1]),
        ([(4, 4)], [1]),
        ([(3, 4)], [1]),
        ([(5, 6)], [1]),
        ([(0, 1), (7, 9)], [0, 2]),
    ],
)
def test_carets_and_selections_touch_changes(ranges: list[tuple[int, int]], expected: list[int]):
    assert touched(FOUND, ranges, "new", LINES) == [FOUND[at] for at in expected]


def test_a_caret_between_two_deletions_touches_the_one_above():
    found = [Change(1, 2, 1, 1), Change(3, 4, 2, 2)]
    assert touched(found, [(1, 1)], "new", ["a", "b"]) == [found[0]]
    assert touched(found, [(1, 2)], "new", ["a", "b", "c"]) == found


def test_a_caret_in_lines_of_the_file_that_are_gone_is_between_the_lines_around_them():
    """The carets of the left side; what is gone has no place on the right one."""
    original, shown, text = "a\np\nq\nr\ns\nt\nb", "a\nB", "a\nb"
    _, [edit] = edits_of(Target("restore", lines=((5, 5),), side="old"), original, shown, text)
    assert edit.apply(text) == shown


def test_a_link_names_no_change_that_was_edited_since():
    """The same lines of the file, but other text in their place."""
    original, text, edited = "a\nb\nc", "a\nB\nc", "a\nmine\nc"
    [change] = changes(original, text)
    name = revert_fingerprint(change, lines_of(text))
    assert len(edits_of(Target("revert", fingerprints=(name,)), original, text, text)[1]) == 1
    assert edits_of(Target("revert", fingerprints=(name,)), original, text, edited)[1] == []


@pytest.mark.parametrize("carets", [False, True])
def test_every_change_of_a_long_text_is_reverted_in_one_pass_over_it(carets: bool):
    """Each edit summed up all lines above it: 99,000 lines took more than a minute."""
    lines = 99_000
    original = "".join(f"line {number}\n" for number in range(lines))
    proposal = "".join(f"{'line' if number % 2 else 'LINE'} {number}\n" for number in range(lines))
    ranges = tuple((line, line) for line in range(0, lines, 2)) if carets else whole(proposal)
    _, edits = edits_of(Target("revert", ranges), original, proposal, proposal)
    assert len(edits) == lines // 2
    at, parts = 0, list[str]()
    for edit in edits:
        parts += proposal[at : edit.start], edit.text
        at = edit.end
    is_original = "".join([*parts, proposal[at:]]) == original
    assert is_original


def applied(edits: list[TextEdit], text: str) -> str:
    for edit in reversed(edits):
        text = edit.apply(text)
    return text


@given(pairs, st.text("Ω\n", max_size=3), st.integers(0), st.randoms(use_true_random=False))
def test_a_revert_is_taken_back_to_the_character_and_typing_stays(
    pair: tuple[str, str], typed: str, at: int, chance: random.Random
):
    original, before = pair
    found = changes(original, before)
    assume(found)
    chosen = [change for change in found if chance.random() < 0.5] or found
    after = applied(revert_edits(original, before, chosen), before)
    revert = Revert(0, before, after)
    edits, is_edited = taken_back(revert, after)
    assert (applied(edits, after), is_edited) == (before, False)
    assert taken_back(revert, before) == ([], False)
    at %= len(after) + 1
    text = after[:at] + typed + after[at:]
    assert applied(taken_back(revert, text)[0], text).count("Ω") == text.count("Ω")


@pytest.mark.parametrize(
    ("text", "expected", "is_edited"),
    [
        ("a\nb\nc\nd\ne\nf\nmine\n", "A\nb\nc\nd\nE\nf\nmine\n", False),
        ("a\nb\nmine\nd\ne\nf\n", "A\nb\nmine\nd\nE\nf\n", False),
        ("mine\na\nb\nc\nd\ne\nf\n", "mine\na\nb\nc\nd\nE\nf\n", True),
        ("a, mine\nb\nc\nd\ne\nf\n", "a, mine\nb\nc\nd\nE\nf\n", True),
        ("A\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\nE\nf\n", False),
        ("A\nb\nc\nd\ne, mine\nf\n", "A\nb\nc\nd\ne, mine\nf\n", True),
        ("", "", True),
    ],
)
def test_of_a_revert_only_what_was_not_edited_since_is_taken_back(text: str, expected: str, is_edited: bool):
    revert = Revert(0, "A\nb\nc\nd\nE\nf\n", "a\nb\nc\nd\ne\nf\n")
    edits, found = taken_back(revert, text)
    assert (applied(edits, text), found) == (expected, is_edited)


def test_every_change_of_a_long_text_is_taken_back_in_one_pass_over_it():
    original = "".join(f"line {number}\n" for number in range(99_000))
    before, text = (re.sub("line (.*[13579])\n", rf"{word} \\1\n", original) for word in ("LINE", "mine"))
    assert taken_back(Revert(0, before, original), text) == ([], True)
