"""Comments at lines: where their lines are now, what an agent gets, and what is kept."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.comments import (
    EFFORT,
    MAX_LINES,
    MAX_QUOTED,
    MAX_SENT,
    MAX_TEXT,
    MAX_WIDTH,
    Comment,
    CommentedLines,
    Comments,
    CommentStore,
    kept_lines,
    markdown,
    message,
    named,
)
from companion.visible import visible

LINES = ("def f():", "    return 1")


def due(comments: Comments, root: str = "/p") -> list[Comment]:
    return [each for each in comments.of_root(root) if each.is_due]


def comment(words: str = "use g", first: int = 3, path: str = "/p/a.py", **more: object) -> Comment:
    return Comment(path, first, LINES, words, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (["", "", *LINES], 3),
        ([*LINES, ""], 1),
        (["x"] * 5 + [*LINES], 6),
        ([*LINES, "", *LINES], 4),
        ([*LINES, "", "", *LINES], 1),
        (["def f():", "    return 2"], None),
        ([], None),
    ],
    ids=["there", "above", "below", "nearest", "the one above of two that are as near", "changed", "empty"],
)
def test_a_comment_is_found_at_the_nearest_place_that_has_its_lines(text: list[str], first: int | None):
    assert CommentedLines(text).find(comment()) == first


def test_of_many_lines_the_first_are_kept_and_the_others_counted():
    text = [f"line {at}" for at in range(MAX_LINES + 5)]
    lines = kept_lines("\n".join(text))
    many = Comment("/p/a", 3, lines, "why?", left_out=len(text) - len(lines))
    assert (len(lines), many.first, many.last) == (MAX_LINES, 3, len(text) + 2)
    assert CommentedLines(["", "", "", *text]).find(many) == 4
    assert f"… {len(text) - MAX_QUOTED} more lines" in message([many], markdown)
    assert Comment.of(json.loads(json.dumps(many.as_data()))) == many


def test_of_a_line_without_end_the_beginning_is_kept_and_found_again():
    lines = kept_lines("x" * (MAX_TEXT + 9) + "\nthe next")
    assert lines == ("x" * MAX_TEXT,)
    assert CommentedLines(["", "x" * (MAX_TEXT + 9), "the next"]).find(Comment("/p/a", 1, lines, "", left_out=1)) == 2


@pytest.mark.parametrize("name", ["first", "sent", "written"])
@pytest.mark.parametrize(
    "number",
    [10**400, -1, float("nan"), float("inf"), "1", None],
    ids=["huge", "negative", "nan", "inf", "text", "none"],
)
def test_a_number_that_no_comment_can_have_is_no_comment(name: str, number: object):
    assert Comment.of({**comment().as_data(), name: number}) is None


def test_a_comment_on_no_line_stays_inside_the_text():
    empty = Comment("/p/a", 9, (), "write it")
    assert CommentedLines(["one"]).find(empty) == 1
    assert (CommentedLines([]).find(empty), empty.last) == (1, 9)


class Counted(list[str]):
    """Lines that count how often one of them is taken."""

    taken = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.taken += len(found) if isinstance(at, slice) else 1
        return found


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def test_a_comment_is_found_wherever_its_lines_are_nearest(text: list[str], lines: list[str]):
    places = [at + 1 for at in range(len(text)) if text[at : at + len(lines)] == lines]
    for first in range(1, 15):
        nearest = min(places, key=lambda at: (abs(at - first), at), default=None)
        assert CommentedLines(text).find(Comment("/p/a", first, tuple(lines), "")) == nearest


@pytest.mark.parametrize("rarest", [0, 700, MAX_LINES - 1])
def test_lines_are_looked_for_by_the_rarest_of_them(rarest: int):
    lines = ["}"] * MAX_LINES
    lines[rarest] = "the only one"
    text = Counted(["}"] * 30_000 + lines + ["}"] * 30_000)
    assert CommentedLines(text).find(Comment("/p/a", 9, tuple(lines), "")) == 30_001
    assert text.taken <= 2 * MAX_LINES


def test_lines_that_are_nowhere_are_not_compared_at_all():
    text = Counted(["}"] * 50_000)
    assert CommentedLines(text).find(Comment("/p/a", 25_000, (*["}"] * (MAX_LINES - 1), "b"), "")) is None
    assert text.taken <= MAX_LINES


def test_all_comments_of_a_look_together_have_a_limit_of_effort():
    """And beyond it one that is where it was is found all the same, and others are as if they were gone."""
    text = Counted([*(["}"] * 1_999 + ["b"]) * 5, *["}"] * 30_000, *["b", "}"] * 10])
    looked = CommentedLines(text)
    for _ in range(200):
        assert looked.find(Comment("/p/a", 2_000, (*["}"] * 1_998, "b", "b"), "")) is None
    assert EFFORT < text.taken < EFFORT + 2 * MAX_LINES
    there, elsewhere = Comment("/p/a", 1_999, ("}", "b"), ""), Comment("/p/a", 2_000, ("}", "b"), "")
    assert (looked.find(there), looked.find(elsewhere)) == (1_999, None)
    assert CommentedLines(text).find(elsewhere) == 1_999


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=5), st.data())
def test_lines_that_only_move_are_found_again(above: list[str], below: list[str], data: st.DataObject):
    first = data.draw(st.integers(1, 20))
    found = CommentedLines([*above, *LINES, *below]).find(comment(first=first))
    assert found == len(above) + 1


def test_a_message_names_the_lines_quotes_them_and_has_the_words():
    assert message([comment(), comment("why?", 9, "/p/b.py", side="original")], markdown) == (
        "/p/a.py lines 3-4\n```\ndef f():\n    return 1\n```\nuse g\n\n"
        "/p/b.py lines 9-10 (in the text before the change)\n```\ndef f():\n    return 1\n```\nwhy?"
    )


def test_no_quoted_text_ends_its_fence_and_no_control_character_does_anything():
    odd = Comment("/p/a", 1, ("````", "\x1b[201~rm\r", "é 😀"), "end\x1b[201~\r\nit\x07")
    assert message([odd], markdown) == (
        "/p/a lines 1-3\n`````\n````\n\\x1b[201~rm\n\né 😀\n`````\nend\\x1b[201~\nit\\x07"
    )
    assert visible("\u202e\t") == "\\u202e\t"


def test_a_prompt_with_the_lines_names_them_and_has_the_words_alone():
    assert named(comment("use g", side="proposal"), "a.py") == "`a.py` lines 3-4 (in the proposed text):\nuse g"
    gone = comment("why?", path="/p/b`c.py").moved(9, has_changed=True)
    assert named(gone, gone.path) == "`` /p/b`c.py `` lines 9-10 (the lines have changed since):\nwhy?"


def test_a_long_line_is_cut():
    long = Comment("/p/a", 1, ("x" * (MAX_WIDTH + 1),), "short")
    assert f"\n{'x' * MAX_WIDTH}…\n" in message([long], markdown)


def test_a_comment_says_how_far_it_has_come():
    comments = Comments(lambda _: None)
    one = comment()
    comments.add("/p", one)

    def state() -> tuple[str, bool, bool]:
        found = comments.find(one.id)
        assert found is not None
        assert Comment.of(found.as_data()) == found
        return found.state, found.is_due, found.is_sent

    assert state() == ("", True, False)
    comments.hold([one.id], "Codex")
    assert state() == ("in the prompt of Codex", False, False)
    comments.release([one.id])
    assert state() == ("", True, False)
    comments.sent([one.id], "Codex")
    assert state() == ("sent to Codex", False, True)
    comments.sent([one.id], "Qwen Code", is_in_prompt=True)
    assert state() == ("in the prompt of Qwen Code", False, True)
    comments.edit(one.id, "other")
    assert state() == ("", True, False)


def test_at_most_some_lines_are_quoted():
    long = Comment("/p/a", 1, tuple(f"l{number}" for number in range(MAX_QUOTED + 2)), "short")
    assert "l19\n… 2 more lines\n```" in message([long], markdown)
    assert message([Comment("/p/a", 1, ("",), "short")], markdown) == "/p/a line 1\nshort"


def test_comments_are_listed_by_file_and_line_and_those_that_were_sent_are_left_out():
    changed: list[str] = []
    comments = Comments(changed.append)
    second, first, other = comment(first=9), comment(first=2), comment(path="/p/0.py")
    for each in (second, first, other):
        comments.add("/p", each)
    assert due(comments) == [other, first, second]
    comments.sent([first.id])
    assert due(comments) == [other, second]
    assert [each.is_sent for each in comments.of_file("/p/a.py")] == [True, False]
    comments.edit(first.id, "again")
    assert [each.words for each in due(comments)] == ["use g", "again", "use g"]
    comments.move(first.id, 30, has_changed=True)
    found = comments.find(first.id)
    assert found is not None
    assert (found.first, found.lines, found.has_changed) == (30, LINES, True)
    comments.delete([first.id, second.id])
    assert list(comments) == [other]
    assert len(changed) == 7
    assert comments.find("none") is None


def test_what_is_loaded_late_joins_what_was_written_since():
    comments = Comments(lambda _: None)
    kept, fresh = comment(first=1), comment(first=2)
    comments.add("/p", fresh)
    comments.loaded("/p", [kept, fresh])
    assert comments.of_root("/p") == (kept, fresh)
    assert comments.knows("/p")
    assert not comments.knows("/q")


def test_a_draft_is_kept_for_its_line_until_it_is_empty():
    comments = Comments(lambda _: None)
    line = ("/p/a.py", "file", 3)
    comments.keep_draft(line, "half a ")
    assert comments.draft(line) == "half a "
    comments.keep_draft(line, " ")
    assert comments.draft(line) == ""


def test_what_is_kept_comes_back_the_same_for_this_user_only(tmp_path: Path):
    store = CommentStore(str(tmp_path / "own" / "comments"))
    written = [comment("é 😀\n\udc80", path="/p/\udcff.py", side="proposal", agent="Qwen Code"), comment(sent=5.0)]
    store.save("/p", written)
    assert store.load("/p") == written
    assert store.load("/q") == []
    if sys.platform != "win32":
        assert stat.S_IMODE(os.stat(store.path("/p")).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(tmp_path / "own" / "comments").st_mode) == 0o700
    store.save("/p", [])
    assert not os.path.exists(store.path("/p"))
    store.save("/p", [])


@pytest.fixture(
    params=[("win32", r"C:\Users\me\Proj", "c:/users/me/proj"), ("darwin", "/p/Cafe\u0301", "/p/Caf\u00e9")],
    ids=["win32", "darwin"],
)
def spellings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two spellings of one folder, on a system where they are one."""
    system, root, other = request.param
    monkeypatch.setattr("companion.platforms.paths.sys", SimpleNamespace(platform=system))
    return root, other


def test_comments_belong_to_a_folder_however_it_is_spelled(tmp_path: Path, spellings: tuple[str, str]):
    root, other = spellings
    store = CommentStore(str(tmp_path / "comments"))
    store.save(root, [comment()])
    assert [each.words for each in store.load(other)] == ["use g"]
    assert [each.words for each in store.load(root)] == ["use g"]


def test_a_folder_has_one_list_however_it_is_spelled(spellings: tuple[str, str]):
    root, other = spellings
    changed: list[str] = []
    comments = Comments(changed.append)
    first, second = comment(path=f"{root}/a.py"), comment(path=f"{other}/a.py")
    comments.loaded(other, [first])
    assert comments.knows(root)
    comments.add(root, second)
    assert comments.of_root(root) == comments.of_root(other) == (first, second)
    assert comments.of_file(first.path) == comments.of_file(second.path) == (first, second)
    assert due(comments, root) == due(comments, other) == [first, second]
    comments.delete([first.id])
    assert len(set(changed)) == 1
    comments.keep_draft((first.path, "file", 1), "begun")
    assert comments.draft((second.path, "file", 1)) == "begun"


def test_of_those_that_were_sent_only_the_latest_are_kept(tmp_path: Path):
    store = CommentStore(str(tmp_path / "comments"))
    sent = [comment(sent=float(number)) for number in range(1, MAX_SENT + 3)]
    fresh = comment()
    store.save("/p", [*sent, fresh])
    assert store.load("/p") == [*sent[2:], fresh]


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"root": "/other", "comments": []}', b'{"root": "/p"}'], ids=str)
def test_a_damaged_file_is_put_aside(tmp_path: Path, data: bytes):
    store = CommentStore(str(tmp_path / "comments"))
    store.save("/p", [comment()])
    Path(store.path("/p")).write_bytes(data)
    assert store.load("/p") == []
    [aside] = (tmp_path / "comments").iterdir()
    assert aside.name.endswith(".damaged")
    assert aside.read_bytes() == data


def test_what_is_no_comment_is_left_out(tmp_path: Path):
    store = CommentStore(str(tmp_path / "comments"))
    good = comment()
    bad = [None, {}, {**good.as_data(), "first": 0}, {**good.as_data(), "side": "back"}, {**good.as_data(), "words": 3}]
    store.save("/p", [good])
    body = json.dumps({"root": "/p", "comments": [*bad, good.as_data()]})
    Path(store.path("/p")).write_text(body)
    assert store.load("/p") == [good]


def test_a_note_of_an_agent_is_kept_and_never_sent(tmp_path: Path):
    store = CommentStore(str(tmp_path / "comments"))
    comments = Comments(lambda _: None)
    note, mine = comment(by="Qwen Code", rank=2), comment()
    store.save("/p", [note, mine])
    comments.loaded("/p", store.load("/p"))
    assert comments.of_root("/p") == (note, mine)
    assert due(comments) == [mine]
    assert "a note of Qwen Code" in message([note], markdown)
    for odd in ({"by": 3}, {"rank": "1"}, {"rank": -(2**70)}, {"by": None}):
        read = Comment.of({**mine.as_data(), **odd})
        assert read is not None
        assert (read.by, read.rank) == ("", 0)
