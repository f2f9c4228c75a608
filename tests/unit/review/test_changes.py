from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from companion.review.changes import (
    Count,
    Revert,
    Side,
    Target,
    TextEdit,
    carried,
    changes,
    count_of,
    edits_of,
    fillers,
    lines_of,
    paired_lines,
    restore_edits,
    revert_edits,
    revert_fingerprint,
    taken_back,
    touched,
)
from companion.review.compare import Change, compare, unchanged, word_changes

from .reviewing import restore, revert
from .test_changes_properties import pairs


def text(*lines: str) -> str:
    return "\n".join(lines)


def seeded() -> random.Random:
    return random.Random(1)  # noqa: S311 (nothing secret about it)


def marked(old: str, new: str) -> tuple[list[str], list[str]]:
    olds, news = word_changes(old, new)
    return [old[start:end] for start, end in olds], [new[start:end] for start, end in news]


class TestChanges:
    def test_equal_texts_have_none(self):
        assert changes("a\nb", ["a", "b"]) == []
        assert changes("", "") == []
        assert changes("", []) == []

    def test_lines_that_became_others(self):
        [change] = changes("a\nb\nc", "a\nB\nBB\nc")
        assert change == Change(1, 2, 1, 3)
        assert (change.deleted, change.inserted) == (1, 2)
        assert change.mirrored == Change(1, 3, 1, 2)

    def test_each_run_of_lines_is_its_own_change(self):
        found = changes("a\nb\nc\nd\ne", "x\nb\nd\ne\nf")
        assert found == [Change(0, 1, 0, 1), Change(2, 3, 2, 2), Change(5, 5, 4, 5)]

    def test_a_missing_last_line_feed_is_a_change(self):
        assert changes("a\n", "a") == [Change(1, 2, 1, 1)]
        assert changes("a", "a\n") == [Change(1, 1, 1, 2)]
        assert changes("", "\n") == [Change(0, 0, 0, 1)]

    @pytest.mark.parametrize("ending", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
    def test_only_line_feeds_end_lines(self, ending: str):
        assert lines_of(f"a{ending}b\nc") == [f"a{ending}b", "c"]
        assert changes(f"a{ending}b", "ab") == [Change(0, 1, 0, 1)]

    def test_a_block_moves_as_a_whole(self):
        block = [f"moved {i}" for i in range(5)]
        rest = [f"line {i}" for i in range(20)]
        assert changes(block + rest, rest + block) == [Change(0, 5, 0, 0), Change(25, 25, 20, 25)]

    def test_an_item_that_has_moved_over_others_is_no_anchor(self):
        """Anchors rise on both sides: what crosses them came and went."""
        old, new = list("xabcdy"), list("yabcdx")
        assert compare(old, new, 1_000) == [Change(0, 1, 0, 1), Change(5, 6, 5, 6)]

    def test_without_effort_a_part_is_one_change(self):
        old, new = list("1a2b3"), list("4a5b6")
        assert compare(old, new, 9) == [Change(0, 5, 0, 5)]
        assert compare(old, new, 1_000) == [Change(0, 1, 0, 1), Change(2, 3, 2, 3), Change(4, 5, 4, 5)]

    def test_the_effort_goes_to_the_smallest_parts_first(self):
        """One part that is expensive leaves the others their effort, wherever it is."""
        expensive = [f"old {at}" for at in range(20)] + ["a", "a"], [f"new {at}" for at in range(20)]
        old, new = [*expensive[0], "anchor", *"1a2"], [*expensive[1], "anchor", *"3a4"]
        small = [Change(23, 24, 21, 22), Change(25, 26, 23, 24)]
        assert compare(old, new, 70) == [Change(0, 22, 0, 20), *small]

    def test_a_line_that_has_moved_over_many_is_the_only_one_that_is_marked(self):
        assert changes("e\ne\na\n", "a\ne\ne\n") == [Change(0, 0, 0, 1), Change(2, 3, 3, 3)]

    def test_lines_that_occur_often_are_compared_as_well(self):
        assert changes("a\nx\nx\nb", "c\nx\nx\nd") == [Change(0, 1, 0, 1), Change(3, 4, 3, 4)]

    def test_a_new_block_starts_where_its_indentation_is_lowest(self):
        old = text("[", "  {", "    b", "  },", "]")
        assert changes(old, text("[", "  {", "    a", "  },", "  {", "    b", "  },", "]")) == [Change(1, 1, 1, 4)]
        a, b, c = ("a:", "  1", ""), ("b:", "  1", ""), ("c:",)
        assert changes(text(*a, *b, *c), text(*a, *c)) == [Change(3, 6, 3, 3)]

    def test_what_is_appended_does_not_hold_the_empty_piece_after_the_last_line_feed(self):
        assert changes("a\n", "a\n\nb\n") == [Change(1, 1, 1, 3)]
        assert changes("a\n", "a\n\n\n") == [Change(1, 1, 1, 3)]

    def test_changes_never_slide_into_one_another(self):
        found = changes("a\nx\nb", "x\na\nx\nx\nb\nx")
        assert all(one.new_end < other.new_start for one, other in pairwise(found))

    def test_groups_of_lines_are_found_where_no_line_occurs_once(self):
        old = seeded().choices("abcdefgh", k=50_000)
        new = [*old[:1_000], "a", "b", *old[1_000:3_000], *old[3_010:40_000], "c", *old[40_001:]]
        found = changes(old, new)
        counts = count_of(found, old, new)
        assert counts.inserted <= 3
        assert counts.deleted == counts.inserted + 8

    def test_the_lines_between_the_changes(self):
        old, new = lines_of("a\nb\nc\nd"), lines_of("x\na\nc\nd")
        assert list(unchanged(changes(old, new), old, new)) == [(0, 1, 1), (2, 2, 2)]


def unfriendly() -> dict[str, tuple[list[str], list[str]]]:
    lines = 100_000
    chance = seeded()
    unique = [f"    value_{i} = compute(argument, {i}, 'some text')" for i in range(lines)]
    shuffled = chance.sample(unique, lines)
    gaps = [[f"{i}" if i % 200 == 0 else chance.choice("ab") for i in range(lines)] for _ in range(2)]
    return {
        "all lines equal": (["x"] * lines, ["x"] * (lines - 5_000)),
        "all equal, every second line changed": (["x"] * lines, ["x", "y"] * (lines // 2)),
        "all lines different": (unique, [f"{line}!" for line in unique]),
        "every second line changed": (unique, [f"{line}!" if i % 2 else line for i, line in enumerate(unique)]),
        "halves swapped": (unique, unique[lines // 2 :] + unique[: lines // 2]),
        "shuffled": (unique, shuffled),
        "two lines at random": (chance.choices("ab", k=lines), chance.choices("ab", k=lines)),
        "gaps that are hard to compare": (gaps[0], gaps[1]),
        "one line among equal ones": (["x"] * lines, ["x"] * (lines + 1)),
    }


@pytest.mark.parametrize(("old", "new"), unfriendly().values(), ids=unfriendly().keys())
def test_unfriendly_texts_take_bounded_time(old: list[str], new: list[str]):
    started = time.process_time()
    found = changes(old, new)
    assert time.process_time() - started < 10, "0.1 to 0.5 s where nothing else runs; difflib takes minutes"
    made: list[str] = []
    for at, there, length in unchanged(found, old, new):
        assert old[at : at + length] == new[there : there + length]
        made += old[at : at + length]
    assert len(made) + sum(change.inserted for change in found) == len(new)


def test_a_part_that_is_too_large_is_one_change_and_the_others_are_still_compared():
    chance = seeded()
    noise = [chance.choices("ab", k=20_000) for _ in range(2)]
    found = changes(["p", "q", "!", *noise[0], "!!", "r", "s"], ["p", "Q", "!", *noise[1], "!!", "R", "s"])
    assert found[0] == Change(1, 2, 1, 2)
    assert found[-1] == Change(20_004, 20_005, 20_004, 20_005)
    assert max(change.deleted for change in found) > 500


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("abcdef", (2, 4)),
        ("xxabcdef", (4, 6)),
        ("abxcdef", (3, 5)),
        ("abcxdef", (2, 5)),
        ("abcdxef", (2, 4)),
        ("abcdefx", (2, 4)),
        ("abCdef", (2, 4)),
        ("aBCxdef", (2, 5)),
        ("abcDEf", (2, 4)),
        ("abdef", (2, 3)),
        ("abef", (2, 2)),
        ("f", (0, 0)),
    ],
)
def test_lines_are_found_again_in_a_text_that_was_edited(typed: str, place: tuple[int, int]):
    """The third and the fourth one of six. What was inserted above or below them doesn't belong to them."""
    old, new = list("abcdef"), list(typed)
    assert carried([(2, 4)], changes(old, new)) == [place]
    assert carried([(2, 2)], changes(old, new)) == [(place[0], place[0])]


class TestOneChange:
    @pytest.mark.parametrize(
        ("old", "new", "edit"),
        [
            ("a\nb\nc", "a\nB\nc", TextEdit(2, 3, "b")),
            ("a\nb\nc", "a\nc", TextEdit(2, 2, "b\n")),
            ("a\nc", "a\nb\nc", TextEdit(2, 4, "")),
            ("b\na", "a", TextEdit(0, 0, "b\n")),
            ("a", "b\na", TextEdit(0, 2, "")),
            ("a\nb", "a", TextEdit(1, 1, "\nb")),
            ("a", "a\nb\nc", TextEdit(1, 5, "")),
            ("a\n", "a", TextEdit(1, 1, "\n")),
            ("a", "a\n", TextEdit(1, 2, "")),
            ("a", "", TextEdit(0, 0, "a")),
            ("", "a", TextEdit(0, 1, "")),
            ("", "a\n", TextEdit(0, 2, "")),
            ("", "\n", TextEdit(0, 1, "")),
            ("\n", "", TextEdit(0, 0, "\n")),
            ("a\n\nb", "a\nb", TextEdit(2, 2, "\n")),
        ],
    )
    def test_is_reverted_by_an_edit_of_its_own_characters(self, old: str, new: str, edit: TextEdit):
        [change] = changes(old, new)
        assert revert_edits(old, new, [change])[0] == edit
        assert revert_edits(lines_of(old), lines_of(new), [change])[0] == edit
        assert edit.apply(new) == old
        assert restore_edits(new, old, [change.mirrored])[0] == edit

    def test_is_reverted_alone(self):
        old, new = "a\nb\nc\nd\ne\n", "A\nb\nd\ne\nf\n"
        first, second, third = changes(old, new)
        assert revert(old, new, first) == "a\nb\nd\ne\nf\n"
        assert revert(old, new, second) == "A\nb\nc\nd\ne\nf\n"
        assert revert(old, new, third) == "A\nb\nd\ne\n"
        assert restore(old, new, second) == "a\nb\nd\ne\n"

    def test_comes_back_at_the_caret_after_it_was_reverted(self):
        original, proposal = "a\nb\nc\nd\ne\n", "A\nb\nd\ne\nf\n"
        for line, reverted in [(0, "a\nb\nd\ne\nf\n"), (2, "A\nb\nc\nd\ne\nf\n"), (4, "A\nb\nd\ne\n")]:
            change = change_at(changes(original, proposal), line)
            assert change
            present = revert(original, proposal, change)
            assert present == reverted
            again = change_at(changes(present, proposal), line, "old")
            assert again
            assert restore(present, proposal, again) == proposal

    def test_comes_back_beside_edits_of_the_person(self):
        original, proposal, present = "a\nb\nc\nd", "A\nb\nC\nd", "a\nb\nC\nmine"
        change = change_at(changes(present, proposal), 0, "old")
        assert change
        assert restore(present, proposal, change) == "A\nb\nC\nmine"
        assert change_at(changes(original, present), 0) is None

    def test_characters_are_code_points(self):
        assert revert_edits("😀\nb", "😀\nB", [Change(1, 2, 1, 2)])[0] == TextEdit(2, 3, "b")


def change_at(found: Sequence[Change], line: int, side: Side = "new") -> Change | None:
    """The change that a caret in a line touches, in texts where nothing can be moved."""
    touching = touched(found, [(line, line)], side, [str(at) for at in range(20)])
    assert len(touching) < 2
    return touching[0] if touching else None


class TestChangeAt:
    found = (Change(1, 2, 1, 3), Change(4, 6, 5, 5), Change(8, 8, 7, 8))

    @pytest.mark.parametrize(
        ("line", "index"), [(0, None), (1, 0), (2, 0), (3, None), (4, 1), (5, 1), (6, None), (7, 2), (8, None)]
    )
    def test_holds_the_line_or_misses_lines_beside_it(self, line: int, index: int | None):
        assert change_at(self.found, line) == (None if index is None else self.found[index])

    @pytest.mark.parametrize(("line", "index"), [(0, None), (1, 0), (4, 1), (5, 1), (6, None), (7, 2), (8, 2)])
    def test_of_the_old_side(self, line: int, index: int | None):
        assert change_at(self.found, line, "old") == (None if index is None else self.found[index])

    def test_one_that_holds_the_line_goes_before_one_beside_it(self):
        found = (Change(0, 1, 0, 0), Change(3, 3, 2, 2), Change(4, 5, 3, 4))
        assert change_at(found, 3) == found[2]
        assert change_at(found, 2) == found[1]


def test_fillers_are_on_the_shorter_side_after_its_lines():
    found = [Change(0, 0, 0, 2), Change(3, 5, 5, 6), Change(7, 8, 8, 9), Change(9, 12, 10, 10)]
    assert fillers(found) == [(-1, 2)]
    assert fillers([change.mirrored for change in found]) == [(5, 1), (9, 3)]


def test_the_count_is_of_lines_and_changes():
    old, new = "a\nb\nc\nd\n", "a\nx\ny\nc\nz\nd\n"
    assert count_of(changes(old, new), old, new) == Count(1, 3, 1, 2)


@pytest.mark.parametrize("content", ["a\nb\n", "a\nb", ["a", "b"]])
def test_an_empty_text_has_no_lines_to_count(content: str | list[str]):
    assert count_of(changes("", content), "", content) == Count(1, 2, 0, 1)
    assert count_of(changes(content, [""]), content, [""]) == Count(1, 0, 2, 1)


class TestWords:
    @pytest.mark.parametrize(
        ("old", "new", "olds", "news"),
        [
            ('print("hi")', 'print(f"hi {name}")', [], ["f", " {name}"]),
            ("return a", "return None", ["a"], ["None"]),
            ("x = 1", "    x = 1", [], ["    "]),
            ("done  ", "done", ["  "], []),
            ("  ", "", ["  "], []),
            ("foo(a, b)", "foo(a, c, b)", [], ["c, "]),
            ("the quick brown fox jumps", "the slow red fox jumps", ["quick brown"], ["slow red"]),
            ("größe = 1", "größe = 2", ["1"], ["2"]),
        ],
    )
    def test_that_differ_are_marked(self, old: str, new: str, olds: list[str], news: list[str]):
        assert marked(old, new) == (olds, news)
        assert marked(new, old) == (news, olds)

    @pytest.mark.parametrize(("old", "new"), [("a = 1", "b = 2"), ("", "x"), ("import os", "x"), ("same", "same")])
    def test_are_not_marked_where_too_little_is_common(self, old: str, new: str):
        assert word_changes(old, new) == ([], [])

    def test_of_long_lines_only_the_middle_is_marked(self):
        old = "ab " * 100_000
        new = f"{old[:3_000]}x y{old[3_002:6_000]}z{old[6_001:]}"
        assert word_changes(old, new) == ([(3_000, 6_001)], [(3_000, 6_002)])
        assert word_changes(old, f"{old}!") == ([], [(300_000, 300_001)])
        assert word_changes("a" * 2_000, "b" * 2_000) == ([], [])

    def test_take_bounded_time(self):
        chance = seeded()
        started = time.process_time()
        for _ in range(20):
            word_changes(*("".join(chance.choices("(),. 0", k=1_000)) for _ in range(2)))
        assert time.process_time() - started < 5, "0.1 s where nothing else runs"


@pytest.mark.parametrize(
    ("old", "new", "olds", "news"),
    [
        ("    total()", "        total()", [], [(4, 8)]),
        ("        total()", "    total()", [(4, 8)], []),
        ("\ttotal()", "\t\ttotal()", [], [(1, 2)]),
        ("\ttotal()", "    total()", [(0, 1)], [(0, 4)]),
        ("    total(a)", "        total(b)", [(10, 11)], [(4, 8), (14, 15)]),
        ("a = 1", "a  =  1", [], [(2, 3), (5, 6)]),
    ],
)
def test_a_new_indentation_is_one_mark(
    old: str, new: str, olds: list[tuple[int, int]], news: list[tuple[int, int]]
) -> None:
    """Only the blanks that one side has more."""
    assert word_changes(old, new) == (olds, news)


class TestPairedLines:
    def test_as_many_are_paired_one_by_one(self):
        assert paired_lines("a\nb\nc", "a\nX\nY", Change(1, 3, 1, 3)) == [(1, 1), (2, 2)]

    def test_others_are_paired_with_those_that_are_alike(self):
        old = text("def greet(name):", '    print("hi")')
        new = text("# Says hello.", "def greet(name: str):", "    if not name:", '    print("hi", name)')
        assert paired_lines(old, new, Change(0, 2, 0, 4)) == [(0, 1), (1, 3)]
        assert paired_lines(new, old, Change(0, 4, 0, 2)) == [(1, 0), (3, 1)]

    def test_lines_that_are_not_alike_are_alone(self):
        assert paired_lines("one two", "three\nfour", Change(0, 1, 0, 2)) == []
        assert paired_lines("", "three\n", Change(0, 1, 0, 2)) == []
        assert paired_lines("a\nb", "a", Change(1, 2, 1, 1)) == []

    def test_a_very_large_change_has_none(self):
        assert paired_lines(["a"] * 3_000, ["b"] * 3_000, Change(0, 3_000, 0, 3_000)) == []
        assert paired_lines(["a"] * 100, ["a"] * 101, Change(0, 100, 0, 101)) == []


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
