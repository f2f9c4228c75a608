"""What is new since comments were sent, what an agent is told of what was undone, and what git itself has moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from companion.changes.rows import MAX_NOTES, limited
from companion.snapshots.files import WriteRefusedError
from companion.snapshots.git import GitMissingError, merge

from .folders import AGENT, Folder, committed, git
from .work import LINES


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.write("b.py", LINES)
    committed(made.path)
    made.round.begin()
    return made


def new(folder: Folder) -> set[str]:
    return {row.path for row in folder.round.rows() if row.is_new}


def test_what_is_changed_after_comments_were_sent_is_new_and_the_rest_stays(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "agent\n"))
    folder.write("b.py", LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    assert new(folder) == set()
    folder.checkpoints.begin_new(AGENT, "3 comments")
    assert new(folder) == set()
    folder.write("a.py", LINES.replace("line 3\n", "agent\n").replace("line 20\n", "again\n"))
    folder.scan()
    assert new(folder) == {"a.py"}
    assert set(folder.listed()) == {"a.py", "b.py"}
    contents = folder.round.contents("a.py")
    assert contents
    assert list(folder.round.new_changes("a.py", contents[2])) == [folder.keys("a.py")[1]]
    folder.reopen()
    assert new(folder) == {"a.py"}


def test_the_persons_saves_after_comments_were_sent_are_not_new(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    folder.checkpoints.begin_new(AGENT, "a comment")
    folder.save("a.py", LINES.replace("line 3\n", "agent\n").replace("line 20\n", "mine\n"))
    assert set(folder.listed()) == {"a.py"}
    assert new(folder) == set()


@pytest.mark.parametrize("is_there_before", [False, True])
def test_a_file_that_has_come_or_gone_after_comments_were_sent_is_new_though_it_was_empty(
    folder: Folder, is_there_before: bool
):
    """An empty file and none are not the same."""
    texts = [None, ""]
    for text in reversed(texts) if is_there_before else texts:
        if text is None:
            (folder.path / "a.py").unlink()
        else:
            folder.write("a.py", text)
        folder.scan()
        if text == ("" if is_there_before else None):
            folder.checkpoints.begin_new(AGENT, "a comment")
            assert new_keys(folder, "a.py") == set()
    assert new_keys(folder, "a.py") == set(folder.keys("a.py")) != set()


def test_a_file_whose_text_at_the_comments_is_unknown_is_new_in_all_its_changes(folder: Folder):
    (folder.path / "b.py").unlink()
    (folder.path / "b.py").symlink_to("a.py")
    folder.scan()
    folder.checkpoints.begin_new(AGENT, "a comment")
    folder.write("b.py", "")
    folder.scan()
    assert new_keys(folder, "b.py") == set(folder.keys("b.py")) != set()


def new_keys(folder: Folder, path: str) -> set[str]:
    contents = folder.round.contents(path)
    assert contents
    return set(folder.round.new_changes(path, contents[2]))


def undo(folder: Folder, path: str, key: str = "") -> None:
    writes = folder.plan_change(path, key)
    notes = folder.undoing.notes(writes)
    for write in writes:
        folder.undoing.write(write)
    assert folder.undoing.finish(writes, notes) == []


def test_each_undone_change_is_a_line_until_it_is_told_or_taken_back(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "  agent = 1\n").replace("line 20\nline 21\n", ""))
    folder.write("made.py", "made\n")
    folder.scan()
    undo(folder, "a.py", folder.keys("a.py")[0])
    assert folder.undoing.unsent_notes() == ["a.py, line 3: “agent = 1” was undone"]
    undo(folder, "a.py")
    undo(folder, "made.py")
    removal = "a.py, line 20: the removal of “line 20” and 1 more line was undone"
    told = ["a.py, line 3: “agent = 1” was undone", removal, "made.py: the new file was deleted again"]
    assert folder.undoing.unsent_notes() == told
    folder.reopen()
    assert folder.undoing.unsent_notes() == told
    folder.redo()
    assert folder.undoing.unsent_notes() == told[:2]
    folder.undoing.notes_sent(told[:1])
    assert folder.undoing.unsent_notes() == told[1:2]
    folder.reopen()
    assert folder.undoing.unsent_notes() == told[1:2]


def test_what_nobody_was_at_work_for_is_told_nobody(folder: Folder):
    folder.write("a.py", "outside\n")
    folder.round.at_work = {}
    folder.round.scan()
    assert folder.undoing.notes(folder.plan("a.py")) == {}


@pytest.mark.parametrize(
    ("before", "after"), [(b"\x89\0a\n", b"\x89\0b\n"), (LINES.encode(), LINES.encode("utf-16")), (b"a\n", b"a\r\n\0")]
)
def test_no_lines_are_told_of_a_file_that_has_none_to_compare(folder: Folder, before: bytes, after: bytes):
    folder.write("a.py", before)
    folder.round.begin()
    folder.write("a.py", after)
    folder.scan()
    assert folder.undoing.notes(folder.plan("a.py")) == {"a.py": ["a.py: the file is as before"]}


def test_many_lines_are_a_few_and_a_number():
    lines = limited([str(number) for number in range(MAX_NOTES + 7)])
    assert len(lines) == MAX_NOTES + 1
    assert lines[-1] == "7 more changes were undone"


def test_a_change_that_a_decision_above_has_moved_is_still_found(folder: Folder):
    changed = LINES.replace("line 3\n", "x\ny\nz\n").replace("line 20\n", "agent\n")
    folder.write("a.py", changed)
    folder.scan()
    first, second = folder.keys("a.py")
    folder.undo("a.py", first)
    folder.undo("a.py", second)
    assert folder.read("a.py").decode() == LINES


def test_of_two_changes_with_the_same_lines_none_is_taken_for_the_other(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "x\n").replace("line 10\n", "same\n").replace("line 20\n", "same\n"))
    folder.write("b.py", LINES.replace("line 3\n", "x\n").replace("line 10\n", "line 10\nsame\n"))
    folder.scan()
    assert len(set(folder.keys("a.py"))) == 3


def moved(folder: Folder) -> tuple[str, ...]:
    return folder.round.scan().by_git


def test_files_that_git_has_taken_from_its_index_came_with_git(folder: Folder):
    folder.write("a.py", "agent\n")
    folder.write("b.py", "agent\n")
    assert moved(folder) == ()
    git(folder.path, "checkout", "-q", "HEAD", "--", "a.py")
    assert moved(folder) == ("a.py",)


def test_what_an_agent_writes_and_adds_to_the_index_is_its_own(folder: Folder):
    moved(folder)
    folder.write("a.py", "agent\n")
    folder.write("new.py", "new\n")
    git(folder.path, "add", "-A")
    assert moved(folder) == ()
    assert folder.listed() == {"a.py": "modified", "new.py": "created"}


def test_a_file_that_an_agent_has_named_is_its_own_even_if_head_moves(folder: Folder):
    git(folder.path, "checkout", "-q", "-b", "other")
    folder.write("a.py", "other\n")
    folder.write("b.py", "other\n")
    git(folder.path, "commit", "-qam", "other")
    git(folder.path, "checkout", "-q", "main")
    folder.round.begin()
    moved(folder)
    git(folder.path, "checkout", "-q", "other")
    folder.round.named = {"a.py": AGENT}
    assert folder.round.scan().by_git == ("b.py",)


def test_both_sides_of_a_file_are_merged_byte_for_byte():
    base = LINES.replace("\n", "\r\n").encode()
    ours = LINES.replace("line 3\n", "ours ä\n").replace("\n", "\r\n").encode()
    theirs = LINES.replace("line 20\n", "theirs\n").replace("\n", "\r\n").encode()
    both = LINES.replace("line 3\n", "ours ä\n").replace("line 20\n", "theirs\n").replace("\n", "\r\n")
    assert merge(ours, base, theirs) == both.encode()
    assert merge(b"x\n", base, theirs) is None


def test_without_git_only_one_sided_changes_are_merged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", os.devnull)
    assert merge(b"a", b"a", b"b") == b"b"
    with pytest.raises(GitMissingError):
        merge(b"a\n1\n", b"a\n", b"b\n")


def test_a_change_that_has_moved_since_it_was_seen_is_told_once_where_it_is(folder: Folder):
    changed = LINES.replace("line 20\n", "agent\nand more\n").replace("line 3\n", "line three\n")
    folder.write("a.py", changed)
    folder.scan()
    _, key = folder.keys("a.py")
    folder.write("a.py", f"new\nlines\n{changed}")
    folder.scan()
    notes = folder.undoing.notes(folder.plan_change("a.py", key))
    assert notes == {"a.py": ["a.py, lines 22–23: “agent” and 1 more line was undone"]}
    writes = folder.plan_change("a.py", key, (20, 20))
    assert folder.undoing.notes(writes) == {"a.py": ["a.py, line 23: “and more” was undone"]}
    folder.apply(writes)
    assert folder.read("a.py").decode() == f"new\nlines\n{changed}".replace("and more\n", "")


def test_lines_of_a_created_file_that_are_undone_are_told(folder: Folder):
    folder.write("new.py", "one\ntwo\nthree\n")
    folder.scan()
    [key] = folder.keys("new.py")
    writes = folder.plan_change("new.py", key, (1, 1))
    assert folder.undoing.notes(writes) == {"new.py": ["new.py, line 2: “two” was undone"]}
    writes = folder.plan_change("new.py", key)
    assert folder.undoing.notes(writes) == {"new.py": ["new.py: the new file was deleted again"]}


def test_one_of_several_equal_changes_is_meant_wherever_a_save_has_moved_it(folder: Folder):
    """It was the one that stood by then where the meant one had been."""
    block = ["def f():\n", "    foo()\n", "\n"]
    folder.write("a.py", "".join(block * 3))
    folder.begin_copied()
    folder.write("a.py", agents := "".join(block * 3).replace("foo", "bar"))
    folder.scan()
    second = folder.keys("a.py")[1]
    folder.edit("a.py", agents, moved := "def mine():\n    pass\n\n" + agents)
    assert len(folder.keys("a.py")) == 3
    folder.undo("a.py", second)
    lines = moved.splitlines(keepends=True)
    lines[7] = "    foo()\n"
    assert folder.read("a.py").decode() == "".join(lines)


def test_nobody_knows_which_of_several_equal_changes_is_meant_once_there_are_fewer(folder: Folder):
    """A second click on the first one decided the other."""
    folder.write("a.py", "same\n1\n2\n3\nsame\n")
    folder.begin_copied()
    folder.write("a.py", "new\n1\n2\n3\nnew\n")
    folder.scan()
    first, second = folder.keys("a.py")
    folder.undo("a.py", first)
    for key in (first, second):
        with pytest.raises(WriteRefusedError, match="has changed since"):
            folder.undo("a.py", key)
    assert folder.read("a.py") == b"same\n1\n2\n3\nnew\n"
