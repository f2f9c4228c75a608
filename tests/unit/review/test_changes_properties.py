from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from companion.review.changes import (
    carried,
    changes,
    count_of,
    fillers,
    lines_of,
    paired_lines,
    restore_edits,
    revert_edits,
)
from companion.review.compare import Change, unchanged, word_changes

from .reviewing import restore, revert

# Few different lines, so that equal ones meet; and any text at all.
few_lines = st.lists(st.sampled_from(["", "a", "b", "  a", "}", "unique"]), max_size=12).map("\n".join)
any_text = st.text(st.sampled_from("ab \t\n\r\u2028é😀") | st.characters(codec="utf-8"), max_size=40)
texts = few_lines | any_text


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """A text and what an edit of some of its lines makes of it."""
    old = draw(st.lists(st.integers(0, 30).map(lambda number: f"line {number}"), max_size=30))
    new: list[str] = []
    for line in old:
        new += draw(st.sampled_from([[line], [line], [line], [], [line + "!"], [line, "new"], ["", line]]))
    return "\n".join(old), "\n".join(new)


pairs = st.tuples(texts, texts) | edited()


@given(pairs)
def test_changes_are_ordered_apart_and_equal_outside(pair: tuple[str, str]):
    old, new = map(lines_of, pair)
    found = changes(*pair)
    assert found == changes(old, new)
    assert bool(found) == (pair[0] != pair[1])
    for change in found:
        assert 0 <= change.old_start <= change.old_end <= len(old)
        assert 0 <= change.new_start <= change.new_end <= len(new)
        assert change.deleted or change.inserted
    for one, other in pairwise(found):
        assert one.old_end < other.old_start
        assert one.new_end < other.new_start
        assert other.old_start - one.old_end == other.new_start - one.new_end
    kept_old: list[str] = []
    kept_new: list[str] = []
    for old_at, new_at, length in unchanged(found, old, new):
        kept_old += old[old_at : old_at + length]
        kept_new += new[new_at : new_at + length]
    assert kept_old == kept_new
    assert len(kept_old) == len(old) - sum(change.deleted for change in found)
    assert len(kept_new) == len(new) - sum(change.inserted for change in found)


@given(pairs, st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_lines_that_are_not_edited_are_carried_to_themselves(pair: tuple[str, str], ends: tuple[int, int]):
    old, new = map(lines_of, pair)
    start, end = sorted(min(each, len(old)) for each in ends)
    found = changes(*pair)
    [(first, after)] = carried([(start, end)], found)
    assert 0 <= first <= after <= len(new)
    if not any(change.old_start < end and change.old_end > start for change in found):
        assert after - first >= end - start
        kept = [line for line in new[first:after] if line in old[start:end]]
        assert kept[: end - start] == list(old[start:end])


@given(pairs)
def test_a_change_is_minimal_at_both_ends(pair: tuple[str, str]):
    old, new = map(lines_of, pair)
    for change in changes(old, new):
        if change.deleted and change.inserted:
            assert old[change.old_start] != new[change.new_start]
            assert old[change.old_end - 1] != new[change.new_end - 1]


@given(pairs)
def test_all_changes_together_make_the_new_text_of_the_old(pair: tuple[str, str]):
    old, new = pair
    made_of_old, made_of_new = old, new
    # From the bottom, the lines above keep their numbers.
    for change in reversed(changes(old, new)):
        made_of_old = restore_edits(old, new, [change])[0].apply(made_of_old)
        made_of_new = revert_edits(old, new, [change])[0].apply(made_of_new)
    assert (made_of_old, made_of_new) == (new, old)


@given(pairs, st.randoms())
def test_reverting_every_change_gives_the_original_and_restoring_the_proposal(pair: tuple[str, str], chance: Random):
    original, proposal = pair
    present = proposal
    steps = 0
    while found := changes(original, present):
        change = _any_of(found, chance)
        edit = revert_edits(original, present, [change])[0]
        reverted = revert(original, present, change)
        assert edit.apply(present) == reverted
        assert 0 <= edit.start <= edit.end <= len(present)
        present = reverted
        steps += 1
        assert steps <= len(lines_of(original)) + len(lines_of(proposal))
    assert present == original
    steps = 0
    while found := changes(present, proposal):
        change = _any_of(found, chance)
        restored = restore(present, proposal, change)
        assert restore_edits(present, proposal, [change])[0].apply(present) == restored
        present = restored
        steps += 1
        assert steps <= len(lines_of(original)) + len(lines_of(proposal))
    assert present == proposal


@given(pairs)
def test_a_reverted_change_can_be_made_again(pair: tuple[str, str]):
    old, new = pair
    for change in changes(old, new):
        reverted = revert(old, new, change)
        found = changes(reverted, new)
        assert found
        for again in reversed(found):
            reverted = restore_edits(revert(old, new, change), new, [again])[0].apply(reverted)
        assert reverted == new


@given(pairs)
def test_an_edit_touches_no_other_line(pair: tuple[str, str]):
    old, new = pair
    lines = lines_of(new)
    for change in changes(old, new):
        edit = revert_edits(old, new, [change])[0]
        before, after = new[: edit.start], new[edit.end :]
        assert "\n".join(lines[: change.new_start]).startswith(before.removesuffix("\n"))
        assert "\n".join(lines[change.new_end :]).endswith(after.removeprefix("\n"))
        # At most the line feeds on both sides of the lines are part of it.
        assert edit.end - edit.start <= len("\n".join(lines[change.new_start : change.new_end])) + 1


@given(pairs)
def test_with_their_fillers_both_sides_are_level(pair: tuple[str, str]):
    old, new = map(lines_of, pair)
    found = changes(old, new)
    blank = {"old": dict(fillers(found)), "new": dict(fillers([change.mirrored for change in found]))}
    rows = {
        side: [row for at in range(-1, len(lines)) for row in ([at] * (at >= 0) + [None] * blank[side].get(at, 0))]
        for side, lines in (("old", old), ("new", new))
    }
    assert len(rows["old"]) == len(rows["new"])
    for old_at, new_at, _ in unchanged(found, old, new):
        assert rows["old"].index(old_at) == rows["new"].index(new_at)


@given(pairs)
def test_the_count_is_as_large_as_the_texts_differ(pair: tuple[str, str]):
    old, new = pair
    found = changes(old, new)
    counts = count_of(found, old, new)
    old_lines, new_lines = (len(lines_of(text)) for text in pair)
    if old and new:
        assert counts.inserted - counts.deleted == new_lines - old_lines
    assert counts.changes == len(found)


@given(texts.map(lambda text: text.replace("\n", " ")), texts.map(lambda text: text.replace("\n", " ")))
def test_outside_the_changed_words_two_lines_are_equal(old: str, new: str):
    olds, news = word_changes(old, new)
    if olds or news:
        assert _without(old, olds) == _without(new, news)


@given(pairs)
def test_paired_lines_rise_within_the_change(pair: tuple[str, str]):
    old, new = pair
    whole = Change(0, len(lines_of(old)), 0, len(lines_of(new)))
    for change in [*changes(old, new), whole]:
        found = paired_lines(old, new, change)
        assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))
        assert all(change.old_start <= i < change.old_end and change.new_start <= j < change.new_end for i, j in found)


def _any_of(found: list[Change], chance: Random) -> Change:
    return chance.choice(found)


def _without(line: str, ranges: list[tuple[int, int]]) -> str:
    for start, end in reversed(ranges):
        line = line[:start] + line[end:]
    return line
