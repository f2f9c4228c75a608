"""The Review as a text: what it lists, and that its lines are those of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from companion.changes.lines import differences
from companion.review.changes import Count
from companion.review.document import (
    CONTEXT,
    FOLDED,
    GAP,
    NOTHING,
    OPEN,
    SPLIT,
    Block,
    Body,
    DoneLine,
    FileKey,
    ListedFile,
    ReviewTurn,
    arranged,
    body_of,
    to_come,
)
from headless.grammar import Grammar

LINE = st.sampled_from(["a", "b", "c", "", "  d", "é\U0001f600", "\t", "x" * 30, f"{OPEN}no heading", "'''"])
TEXT = st.lists(LINE, max_size=25).map(lambda lines: "".join(f"{line}\n" for line in lines))


def made(old: str, new: str) -> Body:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    found = differences(before, after)
    return body_of(old, new, [(c.old_start, c.old_end, c.new_start, c.new_end, str(at)) for at, c in enumerate(found)])


def file(name: str, body: Body = NOTHING, *, kind: str = "modified", state: str = "", agent: str = "") -> ListedFile:
    inserted, deleted = body.kinds.count("+"), body.kinds.count("-")
    count = Count(1, inserted, deleted, max(len(body.changes), 1))
    return ListedFile(FileKey("written", "/r", name), name, "1", count, agent, kind, state=state)


def turns(*files: ListedFile) -> list[ReviewTurn]:
    return [ReviewTurn(1, "Qwen Code", "14:05", "Refuse titles", files)]


def text(blocks: Sequence[Block]) -> list[str]:
    return "".join(block.text for block in blocks).replace("\xa0", " ").split("\n")


def test_a_turn_of_whose_files_none_is_left_names_them_unless_it_is_filtered() -> None:
    both = [ReviewTurn(1, "Qwen Code", "14:04", "Name it", (), ("a.py", "b.py")), *turns(file("a.py"), file("b.py"))]
    both[1] = replace(both[1], again=("c.py",))
    lines = text(arranged(both, {}).blocks)
    assert lines[1:3] == [
        "◆ Qwen Code · 14:04 · “Name it”   changed again later: a.py, b.py",
        "◆ Qwen Code · 14:05 · “Refuse titles”   2 files, +0 −0  changed again later: c.py",
    ]
    assert not any("Name it" in line for line in text(arranged(both, {}, wanted="a.py").blocks))


def test_a_file_shows_its_changes_with_three_lines_around_each_and_a_gap_between() -> None:
    lines = [f"line {at}\n" for at in range(1, 31)]
    body = made("".join(lines), "".join([*lines[:9], "ten\n", *lines[10:24], *lines[25:]]))
    shown = [f"{kind}{body.line(at)}" for at, kind in enumerate(body.kinds)]
    assert shown[:8] == [" line 7", " line 8", " line 9", "-line 10", "+ten", " line 11", " line 12", " line 13"]
    assert shown[8:] == [
        f"~{GAP}",
        *(f" line {at}" for at in (22, 23, 24)),
        "-line 25",
        *(f" line {at}" for at in (26, 27, 28)),
    ]
    assert list(body.numbers[:8]) == [7, 8, 9, 10, 10, 11, 12, 13]


@given(TEXT, TEXT)
def test_every_change_is_there_once_and_the_lines_are_those_of_both_sides(old: str, new: str) -> None:
    body = made(old, new)
    before, after = old.split("\n"), new.split("\n")
    assert [body.ident(at) for at in range(len(body.changes))] == [
        (*(f"-{line}" for line in before[a:b]), *(f"+{line}" for line in after[c:d])) for a, b, c, d, _ in body.changes
    ]
    owners = [owner for owner in body.owners if owner >= 0]
    assert owners == sorted(owners)
    assert set(owners) == set(range(len(body.changes)))
    for at, (kind, number) in enumerate(zip(body.kinds, body.numbers, strict=True)):
        if kind != "~":
            assert body.line(at) == (before if kind == "-" else after)[number - 1]
    # Between two gaps, the lines of each side follow one another.
    for kinds, side in (("- ", before), ("+ ", after)):
        for part in parts(body):
            lines = [body.line(at) for at in part if body.kinds[at] in kinds]
            assert lines == [] or any(side[at : at + len(lines)] == lines for at in range(len(side)))


def parts(body: Body) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for at, kind in enumerate(body.kinds):
        if kind == "~":
            found.append([])
        else:
            found[-1].append(at)
    return found


@given(TEXT, TEXT)
def test_no_more_than_the_lines_around_are_there(old: str, new: str) -> None:
    body = made(old, new)
    for at, kind in enumerate(body.kinds):
        if kind == " ":
            near = body.owners[max(at - CONTEXT, 0) : at + CONTEXT + 1]
            assert any(owner >= 0 for owner in near)


@given(TEXT, TEXT)
def test_words_are_marked_inside_the_lines_of_their_side(old: str, new: str) -> None:
    body = made(old, new)
    for words, kind in ((body.removed_words, "-"), (body.added_words, "+")):
        for start, end in words:
            line = next(at for at in range(body.lines) if body.starts[at] <= start < body.starts[at + 1])
            assert body.kinds[line] == kind
            assert end <= body.starts[line] + len(body.line(line))


GRAMMAR = Grammar.load((Path(__file__).parents[3] / "QwenCompanion Review.sublime-syntax").read_text("utf-8"))


@settings(max_examples=20)
@given(*[TEXT.map(lambda text: text.replace(OPEN, ""))] * 2)
def test_the_syntax_reads_each_side_by_itself_and_no_line_of_ours_as_code(old: str, new: str) -> None:
    body = made(old, new)
    blocks = arranged(turns(file("a.py", body)), {FileKey("written", "/r", "a.py"): body}).blocks
    whole = "".join(block.text for block in blocks)
    kinds = "".join(block.kinds for block in blocks)
    read = GRAMMAR.read(whole)
    assert len(read) == len(kinds)
    for line, kind in zip(read, kinds, strict=True):
        assert "punctuation.definition.heading" not in line.scopes  # red, which is for what is removed
        is_code = any(span.embedded == "scope:source.python" for span in line.spans)
        if kind in " -+" and line.text.strip("\n\xa0"):
            assert is_code, line
        elif kind not in " -+":
            assert not is_code, line
        if line.text.endswith(f"{SPLIT}\n") and kind == "-":
            assert line.stack[-1] == "python"  # what follows begins anew


NAMES = st.text(st.characters(codec="utf-8"), max_size=30)


@given(NAMES, NAMES, NAMES)
def test_a_line_of_ours_is_one_line_whatever_is_in_it(path: str, words: str, agent: str) -> None:
    key = FileKey("written", "/r", path)
    listed = ListedFile(key, path, "", Count(1), agent, note=words, renamed_from=words)
    found = arranged(
        [ReviewTurn(1, agent, "", words, [listed])], {key: NOTHING}, hint=words, ended=[DoneLine(1, words)]
    )
    for block in found.blocks:
        assert block.text.count("\n") == block.lines - (block.key == "hint")
        assert not set(block.text) & {"\u202e", "\u2066", "\x00", "\r", "\u2028", "\u200b"}


def test_headings_say_how_much_there_is_and_a_renamed_file_is_one() -> None:
    body = made("a\n", "b\nc\n")
    moved = ListedFile(
        FileKey("written", "/r", "s.js"), "s.js", "", Count(1, 0, 0, 1), kind="renamed", renamed_from="t.js"
    )
    found = arranged(turns(file("a.py", body), moved), {FileKey("written", "/r", "a.py"): body}, hint="n next")
    assert text(found.blocks) == [
        "— 2 files, +2 −1",
        "◆ Qwen Code · 14:05 · “Refuse titles”   2 files, +2 −1",
        "▾ a.py   +2 −1",
        "a ",
        "b",
        "c",
        "▸ t.js → s.js   +0 −0  renamed",
        "— n next",
    ]
    assert (found.missing, found.is_whole) == (None, True)


def test_a_file_that_is_proposed_and_written_is_one() -> None:
    body = made("a\n", "b\nc\n")
    written = replace(file("a.py", body), place="/r/a.py")
    proposed = replace(written, key=FileKey("proposal", "", "1"))
    again, other = replace(proposed, key=FileKey("proposal", "", "2")), file("b.py", body)
    both = [ReviewTurn(0, "Qwen Code", "proposes", files=[proposed, again]), *turns(written, other)]
    assert text(arranged(both, {}).blocks)[:2] == [
        "— 2 files, +8 −4: 1 proposed, 2 written",
        "◆ Qwen Code · proposes   1 file, +4 −2",
    ]
    assert text(arranged(both, {}, wanted="a.py").blocks)[0] == "— 1 of 2 files, +6 −3: only those with “a.py”"


def test_what_is_folded_is_one_line() -> None:
    body = made("a\n", "b\n")
    one, other = file("a.py", body), file("new.py", body, kind="created")
    bodies = {one.key: body, other.key: body}
    lines = text(arranged(turns(one, other), bodies, folded={one.key, other.key}).blocks)
    assert [line[0] for line in lines[2:-1]] == [FOLDED[0], OPEN[0], "a", "b"]


def test_a_filter_shows_the_files_that_have_all_words_in_their_line() -> None:
    files = [file("src/a.py", agent="Qwen Code"), file("src/b.js"), file("c.py", state="new")]
    bodies = {each.key: NOTHING for each in files}
    for words, expected in (("", 3), ("SRC", 2), ("src py", 1), ("qwen", 1), ("new", 1), ("nothing", 0)):
        blocks = arranged(turns(*files), bodies, wanted=words).blocks
        assert sum(block.file is not None for block in blocks) == expected
        assert ("of 3 files" in blocks[0].text) == bool(words)


def test_it_is_filled_to_a_limit_and_then_further_without_another_line_above() -> None:
    body = made("".join(f"{at}\n" for at in range(2000)), "".join(f"{at}{'x' * (at % 9 == 0)}\n" for at in range(2000)))
    files = [file(f"{at}.py", body) for at in range(5)]
    bodies = {each.key: body for each in files}
    whole = arranged(turns(*files), bodies)
    assert whole.is_whole
    before = ""
    for limit in (1, 2, 3, 10, 500, 3_000, 9_000):
        found = arranged(turns(*files), bodies, limit=limit)
        assert found.is_whole == (limit == 9_000 and sum(block.lines for block in whole.blocks) < limit)
        shown = "".join(block.text for block in found.blocks[:-2])
        assert shown.startswith(before)
        assert sum(block.lines for block in found.blocks) <= max(limit, 3) + 4
        before = shown


def test_it_ends_where_a_body_is_missing_and_says_which_ones_come_next() -> None:
    files = [file(f"{at}.py") for at in range(4)]
    found = arranged(turns(*files), {files[0].key: NOTHING})
    assert found.missing == files[1].key
    assert not found.is_whole
    assert text(found.blocks)[-2].startswith("⋯ more below")
    assert to_come(turns(*files), {files[2].key}, files[1].key) == [files[1].key, files[3].key]


def test_nothing_that_waits_is_said_with_what_was_answered_below() -> None:
    found = arranged([], {}, ended=[DoneLine(1, "a.py kept"), DoneLine(2, "b.py:3 why?", is_comment=True)])
    assert text(found.blocks) == ["— Nothing waits for a review.", "✓ a.py kept", "¶ b.py:3 why?", "— "]


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), max_size=5))
def test_counts_add_up(found: list[tuple[int, int, int]]) -> None:
    total = sum((Count(1, *each) for each in found), Count())
    assert (total.files, total.inserted) == (len(found), sum(each[0] for each in found))
    assert str(Count(3, 20, 4, 7)) == "3 files, +20 −4"
    assert Count(1, 0, 0, 1).changes_in_files == "1 change in 1 file"
