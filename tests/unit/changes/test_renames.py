"""Files that an agent has renamed: no decision takes the person's text away, whatever is at the old paths by then."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from companion.changes import state
from companion.changes.change_screen import SavedText
from companion.changes.undo import Write
from companion.review.disk import Encodings
from companion.snapshots.entries import FILE, Entry
from companion.snapshots.files import WriteRefusedError
from companion.snapshots.git import GitStoppedError

from .folders import AGENT, Folder, tree
from .work import LINES

AGENTS = LINES.replace("line 3\n", "agent\n")
NAMES = ("a.py", "b.py", "c.py", "d/e.py")
numbers = st.integers(0, 11)


@pytest.fixture
def moved(tmp_path: Path) -> Folder:
    """An agent has renamed a file of the person and changed a line of it."""
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.round.begin()
    (made.path / "a.py").rename(made.path / "b.py")
    made.write("b.py", AGENTS)
    made.scan()
    return made


def three_changes(folder: Folder) -> list[str]:
    """An agent has made three changes in the renamed file. Returns their keys."""
    folder.write("b.py", AGENTS.replace("line 9\n", "").replace("line 20\n", "twenty\nmore\n"))
    folder.scan()
    return folder.keys("b.py")


def test_one_change_of_a_renamed_file_is_undone_alone(moved: Folder):
    """It was refused, so that the others went with it."""
    [_, gone, _] = three_changes(moved)
    assert [row.changes for row in moved.round.rows()] == [3]
    before = moved.read("b.py")
    assert moved.undo("b.py", gone) == []
    assert moved.read("b.py").decode() == AGENTS.replace("line 20\n", "twenty\nmore\n")
    assert moved.listed() == {"b.py": "renamed"}
    moved.reopen()
    assert len(moved.keys("b.py")) == 2
    moved.redo()
    assert moved.read("b.py") == before
    assert len(moved.keys("b.py")) == 3
    assert moved.undo_all() == []
    assert {path: data.decode() for path, (_, data) in tree(moved.path).items()} == {"a.py": LINES}


def test_one_change_of_a_renamed_file_is_kept_alone(moved: Folder):
    [first, _, last] = three_changes(moved)
    moved.keep_change("b.py", last)
    moved.keep_change("b.py", first)
    moved.reopen()
    assert moved.listed() == {"b.py": "renamed"}
    assert len(moved.keys("b.py")) == 1
    assert moved.undo_all() == []
    kept = AGENTS.replace("line 20\n", "twenty\nmore\n")
    assert {path: data.decode() for path, (_, data) in tree(moved.path).items()} == {"a.py": kept}


def test_a_keep_of_one_change_of_a_renamed_file_is_taken_back(moved: Folder):
    keys = three_changes(moved)
    rows = moved.round.rows()
    moved.keep_change("b.py", keys[1])
    moved.edit("b.py", moved.read("b.py").decode(), f"{moved.read('b.py').decode()}mine\n")
    moved.redo()
    assert moved.keys("b.py") == keys
    assert [row.changes for row in moved.round.rows()] == [row.changes for row in rows]
    assert moved.undo_all() == []
    assert {path: data.decode() for path, (_, data) in tree(moved.path).items()} == {"a.py": f"{LINES}mine\n"}


def test_a_line_of_the_person_stays_when_the_change_around_it_in_a_renamed_file_is_undone(moved: Folder):
    three_changes(moved)
    text = moved.read("b.py").decode()
    moved.edit("b.py", text, text.replace("more\n", "more, mine\n"))
    assert moved.undo("b.py", moved.keys("b.py")[2]) == []
    left = AGENTS.replace("line 9\n", "").replace("line 20\n", "line 20\nmore, mine\n")
    assert moved.read("b.py").decode() == left
    moved.reopen()
    assert len(moved.keys("b.py")) == 2
    assert moved.undo_all() == []
    whole = LINES.replace("line 20\n", "line 20\nmore, mine\n")
    assert {path: data.decode() for path, (_, data) in tree(moved.path).items()} == {"a.py": whole}


@pytest.mark.parametrize("what", ["keep", "undo"])
def test_the_last_change_of_a_renamed_file_is_the_file(moved: Folder, what: str):
    """Also if all its lines are meant."""
    first, _, last = three_changes(moved)
    moved.keep_change("b.py", first)
    moved.keep_change("b.py", last)
    [key] = moved.keys("b.py")
    moved.keep_change("b.py", key, (0, 40)) if what == "keep" else moved.undo("b.py", key, (0, 40))
    assert moved.listed() == {}
    assert tree(moved.path).keys() == {"b.py" if what == "keep" else "a.py"}


def test_a_change_of_a_file_that_two_looks_have_found_to_be_renamed_is_decided_alone(tmp_path: Path):
    """The old one has gone some time before the new one came."""
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    (folder.path / "a.py").unlink()
    folder.scan()
    folder.write("b.py", AGENTS)
    keys = three_changes(folder)
    folder.keep_change("b.py", keys[2])
    assert folder.undo("b.py", keys[0]) == []
    folder.reopen()
    assert folder.listed() == {"b.py": "renamed"}
    assert len(folder.keys("b.py")) == 1
    assert folder.undo_all() == []
    kept = LINES.replace("line 20\n", "twenty\nmore\n")
    assert {path: data.decode() for path, (_, data) in tree(folder.path).items()} == {"a.py": kept}


def test_the_agent_is_told_of_the_change_that_was_undone_in_a_renamed_file(moved: Folder):
    [_, gone, _] = three_changes(moved)
    assert moved.undoing.notes(moved.plan_change("b.py", gone)) == {
        "b.py": ["b.py, line 9: the removal of “line 9” was undone"]
    }
    assert moved.undoing.notes(moved.plan("b.py")) == {"b.py": ["b.py: the file was renamed back to a.py"]}


def test_a_renamed_file_is_not_undone_alone_while_an_agents_other_one_is_at_its_old_path(moved: Folder):
    """It was deleted, and its text was nowhere on the disk."""
    moved.write("a.py", "other\n")
    moved.scan()
    moved.reopen()
    why = r"b\.py was a\.py before: undo a\.py first"
    with pytest.raises(WriteRefusedError, match=why):
        moved.undo("b.py")
    writes, refused = moved.undoing.plan([each for each in moved.round.waiting() if each.path == "b.py"])
    assert (writes, len(refused)) == ([], 1)
    assert (moved.read("a.py"), moved.read("b.py")) == (b"other\n", AGENTS.encode())
    assert moved.undo("a.py") == []
    assert moved.undo("b.py") == []
    assert tree(moved.path).keys() == {"a.py"}
    assert moved.read("a.py").decode() == LINES


def test_a_file_of_the_person_at_the_old_path_of_a_renamed_one_stays_and_so_does_the_text_of_that(moved: Folder):
    """The undo of the renamed one deleted it: the person had the text no more."""
    moved.edit("b.py", AGENTS, theirs := AGENTS.replace("agent\n", "agent, mine\n"))
    moved.save("a.py", "mine\n")
    moved.reopen()
    assert moved.listed() == {"b.py": "modified"}
    assert moved.protected() == ["b.py, line 3: “agent, mine”"]
    assert moved.undo_all() == []
    assert moved.listed() == {}
    assert moved.read("a.py") == b"mine\n"
    assert moved.read("b.py").decode() == theirs.replace("agent, mine\n", "line 3\nagent, mine\n")
    moved.redo()
    assert (moved.read("a.py"), moved.read("b.py").decode()) == (b"mine\n", theirs)


def test_a_file_that_an_agent_has_but_renamed_stays_where_it_is_once_the_person_has_used_its_old_path(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    (folder.path / "a.py").rename(folder.path / "b.py")
    folder.scan()
    folder.save("a.py", "mine\n")
    assert folder.undo_all() == []
    assert (folder.read("a.py"), folder.read("b.py").decode()) == (b"mine\n", LINES)
    folder.write("b.py", AGENTS)
    folder.scan()
    assert folder.undo("b.py") == []
    assert folder.read("b.py").decode() == LINES


def test_a_file_that_an_agent_has_renamed_is_listed_still_if_git_has_brought_the_old_one_back(moved: Folder):
    """It was reviewed then, and no undo took it away."""
    moved.write("a.py", LINES)
    seen = moved.round.scan()
    moved.round.take()
    moved.saves.belong_to_the_person([replace(seen, by_git=("a.py",))])
    assert moved.listed() == {"b.py": "created"}
    assert moved.undo_all() == []
    assert tree(moved.path).keys() == {"a.py"}
    assert moved.read("a.py").decode() == LINES


def replaced(folder: Folder) -> None:
    """An agent writes another file where the renamed one was."""
    folder.write("a.py", "other\n")
    folder.scan()


def test_a_renamed_file_has_its_text_back_after_the_other_file_at_its_old_path_was_kept(moved: Folder):
    """It was deleted, with a line that the person had saved in it."""
    moved.edit("b.py", AGENTS, mine := f"{AGENTS}mine\n")
    replaced(moved)
    moved.keep("a.py")
    moved.reopen()
    assert moved.listed() == {"b.py": "modified"}
    assert moved.undo("b.py") == []
    assert (moved.read("a.py"), moved.read("b.py").decode()) == (b"other\n", f"{LINES}mine\n")
    moved.redo()
    assert moved.read("b.py").decode() == mine


def test_a_keep_of_the_other_file_at_the_old_path_of_a_renamed_one_can_be_taken_back(moved: Folder):
    replaced(moved)
    rows = moved.round.rows()
    moved.keep("a.py")
    moved.reopen()
    moved.redo()
    moved.reopen()
    assert moved.round.rows() == rows
    assert moved.undo_all() == []
    assert tree(moved.path).keys() == {"a.py"}
    assert moved.read("a.py").decode() == LINES


def test_a_renamed_file_keeps_its_text_after_a_change_at_its_old_path_was_kept(moved: Folder):
    moved.write("a.py", LINES.replace("line 5\n", "five\n").replace("line 20\n", "twenty\n"))
    moved.scan()
    moved.keep_change("a.py", moved.keys("a.py")[0])
    moved.reopen()
    assert moved.undo_all() == []
    assert moved.read("a.py").decode() == LINES.replace("line 5\n", "five\n")
    assert moved.read("b.py").decode() == LINES


def test_a_line_that_the_person_has_saved_in_a_renamed_file_stays_if_its_old_path_is_decided_first(moved: Folder):
    replaced(moved)
    moved.edit("b.py", AGENTS, AGENTS.replace("line 9\n", "line 9\nmine\n"))
    moved.scan()
    moved.keep("a.py")
    assert moved.undo_all() == []
    assert moved.read("b.py").decode() == LINES.replace("line 9\n", "line 9\nmine\n")


def test_a_renamed_file_keeps_its_text_if_the_person_has_another_one_brought_to_its_old_path(moved: Folder):
    """As by the undo of a review since a commit, or by a checkpoint."""
    moved.edit("b.py", AGENTS, f"{AGENTS}mine\n")
    write = moved.undoing.write_of("a.py", Entry(FILE, moved.round.objects.write(b"earlier\n")), None)
    moved.undoing.write(write)
    assert moved.undoing.finish_as_person([write]) == []
    moved.reopen()
    moved.scan()
    rows = moved.round.rows()
    assert [(row.path, row.kind) for row in rows] == [("b.py", "modified")]
    assert moved.undo("b.py") == []
    assert moved.read("b.py").decode() == f"{LINES}mine\n"
    assert moved.read("a.py") == b"earlier\n"
    moved.redo()
    assert moved.round.rows() == rows
    moved.redo()
    assert moved.listed() == {"b.py": "renamed"}
    assert tree(moved.path).keys() == {"b.py"}


def test_a_file_that_git_brings_to_the_old_path_of_a_renamed_one_takes_no_line_of_the_person_along(moved: Folder):
    moved.edit("b.py", AGENTS, f"{AGENTS}mine\n")
    moved.write("a.py", "committed\n")
    seen = moved.round.scan()
    moved.round.take()
    moved.saves.belong_to_the_person([replace(seen, by_git=("a.py",))])
    assert moved.listed() == {"b.py": "modified"}
    assert moved.undo_all() == []
    assert moved.read("b.py").decode() == f"{LINES}mine\n"


def test_a_renamed_file_keeps_its_text_if_the_person_deletes_the_other_one_at_its_old_path(moved: Folder):
    replaced(moved)
    (moved.path / "a.py").unlink()
    moved.saves.handled("a.py", is_renamed=False)
    assert moved.listed() == {"b.py": "modified"}
    assert moved.undo_all() == []
    assert tree(moved.path).keys() == {"b.py"}
    assert moved.read("b.py").decode() == LINES


@pytest.mark.parametrize("is_saved_between", [False, True])
def test_a_renamed_file_is_renamed_again_once_the_other_one_has_left_its_old_path(
    moved: Folder, *, is_saved_between: bool
):
    """A line of the agent's that the person had changed was undone with it, and nobody was asked."""
    theirs = AGENTS.replace("agent\n", "agent, mine\n")
    if not is_saved_between:
        moved.edit("b.py", AGENTS, theirs)
    replaced(moved)
    if is_saved_between:
        moved.edit("b.py", AGENTS, theirs := f"mine, too\n{theirs}")
        moved.scan()
    (moved.path / "a.py").unlink()
    moved.scan()
    moved.reopen()
    assert moved.listed() == {"b.py": "renamed"}
    assert "“agent, mine”" in [said.split(": ")[1] for said in moved.protected()]
    assert moved.undo_all() == []
    assert tree(moved.path).keys() == {"a.py"}
    assert moved.read("a.py").decode() == theirs.replace("agent, mine\n", "line 3\nagent, mine\n")


def test_another_file_that_moves_on_from_the_old_path_of_a_renamed_one_is_new(moved: Folder):
    """It was taken for the renamed one, whose baseline had what the person saved in this one."""
    moved.write("a.py", other := "".join(f"other {number}\n" for number in range(30)))
    moved.scan()
    (moved.path / "a.py").rename(moved.path / "c.py")
    moved.scan()
    assert moved.listed() == {"b.py": "renamed", "c.py": "created"}
    moved.edit("c.py", other, f"{other}mine\n")
    assert moved.undo_all() == []
    assert moved.read("a.py").decode() == LINES
    assert moved.read("c.py") == b"mine\n"
    assert tree(moved.path).keys() == {"a.py", "c.py"}


def test_a_keep_of_a_renamed_file_is_taken_back_with_what_the_person_has_saved_since(moved: Folder):
    """It was undone afterwards, and nobody was asked."""
    moved.keep("b.py")
    moved.edit("b.py", AGENTS, AGENTS.replace("line 9\n", "line 9\nmine\n"))
    moved.redo()
    moved.reopen()
    assert moved.listed() == {"b.py": "renamed"}
    assert moved.undo_all() == []
    assert tree(moved.path).keys() == {"a.py"}
    assert moved.read("a.py").decode() == LINES.replace("line 9\n", "line 9\nmine\n")


def test_a_keep_of_a_new_file_is_taken_back_with_what_the_person_has_saved_since_by_its_new_name(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.round.begin()
    folder.write("new.py", "agent\n" * 5)
    folder.scan()
    folder.keep("new.py")
    (folder.path / "new.py").rename(folder.path / "newer.py")
    folder.scan()
    folder.edit("newer.py", "agent\n" * 5, "mine\n" + "agent\n" * 5)
    folder.redo()
    assert folder.listed().keys() == {"newer.py"}
    assert folder.undo("newer.py") == []
    assert folder.read("newer.py") == b"mine\n"


@pytest.fixture(params=[LINES, AGENTS], ids=["moved", "edited"])
def at_once(tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    """An agent has renamed a file of the person, and written another one at its old path, before anybody scanned."""
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.round.begin()
    (made.path / "a.py").rename(made.path / "b.py")
    made.write("b.py", request.param)
    made.write("a.py", "other\n")
    return made


def test_what_one_look_finds_of_a_file_that_was_renamed_and_replaced_is_undone(at_once: Folder):
    at_once.scan()
    assert at_once.listed() == {"a.py": "modified", "b.py": "created"}
    assert {row.agents for row in at_once.round.rows()} == {(AGENT,)}
    at_once.reopen()
    assert at_once.undo_all() == []
    assert tree(at_once.path).keys() == {"a.py"}
    assert at_once.read("a.py").decode() == LINES
    at_once.redo()
    assert at_once.listed() == {"a.py": "modified", "b.py": "created"}


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_renamed_file_that_is_saved_before_a_look_is_not_undone_alone_once_another_one_is_at_its_old_path(
    tmp_path: Path, *, is_seen: bool
):
    folder = two_renamed(tmp_path)
    (folder.path / "a.py").rename(folder.path / "c.py")
    if is_seen:
        folder.scan()
    folder.edit("c.py", LINES, f"{LINES}mine\n")
    replaced(folder)
    with pytest.raises(WriteRefusedError, match=r"c\.py was a\.py before: undo a\.py first"):
        folder.undo("c.py")
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == f"{LINES}mine\n"


def test_a_file_that_was_renamed_and_replaced_before_a_look_is_not_undone_alone(at_once: Folder):
    at_once.scan()
    with pytest.raises(WriteRefusedError, match=r"b\.py was a\.py before: undo a\.py first"):
        at_once.undo("b.py")


@pytest.mark.parametrize("is_taken_back", [False, True])
def test_a_file_that_was_renamed_and_replaced_before_a_look_keeps_its_text_if_the_other_one_goes(
    at_once: Folder, *, is_taken_back: bool
):
    """The undo deleted it: the text that the person had was nowhere. Also after one that was taken back."""
    at_once.scan()
    if is_taken_back:
        assert at_once.undo_all() == []
        at_once.redo()
    (at_once.path / "a.py").unlink()
    at_once.saves.handled("a.py", is_renamed=False)
    assert at_once.undo_all() == []
    assert tree(at_once.path).keys() == {"b.py"}
    assert at_once.read("b.py").decode() == LINES


def test_a_file_that_was_renamed_and_replaced_keeps_its_text_if_the_person_saves_a_new_one(at_once: Folder):
    at_once.save("a.py", "mine\n")
    assert at_once.undo_all() == []
    assert (at_once.read("a.py"), at_once.read("b.py").decode()) == (b"mine\n", LINES)


def test_a_line_of_the_file_at_the_old_path_of_a_renamed_one_that_the_person_has_changed_stays(at_once: Folder):
    at_once.scan()
    at_once.save("a.py", "other, mine\n")
    assert at_once.undo_all() == []
    assert tree(at_once.path).keys() == {"a.py"}
    assert at_once.read("a.py").decode().replace("other, mine\n", "") == LINES
    assert b"other, mine\n" in at_once.read("a.py")


def test_a_file_that_was_renamed_and_replaced_before_a_look_has_its_text_back_after_the_other_one_was_kept(
    at_once: Folder,
):
    at_once.scan()
    at_once.keep("a.py")
    assert at_once.undo_all() == []
    assert (at_once.read("a.py"), at_once.read("b.py").decode()) == (b"other\n", LINES)


def test_a_line_that_the_person_saves_in_a_file_that_was_renamed_and_replaced_stays(at_once: Folder):
    text = at_once.read("b.py").decode()
    at_once.edit("b.py", text, f"{text}mine\n")
    assert at_once.undo_all() == []
    assert (at_once.read("a.py").decode(), at_once.read("b.py")) == (LINES, b"mine\n")


def test_a_file_that_the_person_has_just_saved_is_whole_after_it_was_renamed_and_replaced(tmp_path: Path):
    """A formatter may have removed its lines then, but they were elsewhere, and deleted there."""
    folder = two_renamed(tmp_path)
    folder.edit("a.py", LINES, mine := f"{LINES}mine\n")
    (folder.path / "a.py").rename(folder.path / "c.py")
    folder.write("a.py", "agent\n")
    folder.scan()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode().replace("agent\n", "") == mine


def test_a_copy_of_a_file_is_undone_alone_though_the_file_has_changed(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    folder.write("b.py", LINES)
    folder.write("a.py", AGENTS)
    folder.scan()
    assert folder.undo("b.py") == []
    assert tree(folder.path).keys() == {"a.py"}


def test_a_file_that_an_agent_has_renamed_and_then_deleted_is_deleted_by_it(moved: Folder):
    """It was deleted by nobody, and the person's for the next agent."""
    (moved.path / "b.py").unlink()
    moved.scan()
    assert [(row.path, row.kind, row.agents) for row in moved.round.rows()] == [("a.py", "deleted", (AGENT,))]
    moved.round.settle()
    assert [row.agents for row in moved.round.rows()] == [(AGENT,)]
    assert moved.undo_all() == []
    assert moved.read("a.py").decode() == LINES


def test_a_file_that_is_renamed_again_is_still_a_renamed_one_though_the_first_look_at_that_has_failed(
    moved: Folder, monkeypatch: pytest.MonkeyPatch
):
    moved.write("b.py", LINES.replace("line", "other"))
    moved.scan()
    (moved.path / "b.py").rename(moved.path / "c.py")

    def fail(*_: object) -> None:
        raise GitStoppedError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(moved.round.recent, "add", fail)
        with pytest.raises(GitStoppedError):
            moved.scan()
    moved.scan()
    assert moved.listed() == {"c.py": "renamed"}
    assert moved.undo_all() == []
    assert moved.read("a.py").decode() == LINES


def test_files_of_which_nothing_waits_any_more_are_not_known_for_good(moved: Folder):
    """Of each temporary file of an agent it was written down who had made it."""
    known = moved.round.state.known.keys()
    for number in range(3):
        moved.write(f"temporary-{number}.txt", "agent\n")
        moved.scan()
        (moved.path / f"temporary-{number}.txt").unlink()
        moved.scan()
    assert moved.round.state.known.keys() == {"a.py", "b.py"} == known


OTHERS = LINES.replace("line", "other")


def two_renamed(base: Path, *names: tuple[str, str]) -> Folder:
    """Two files of the person, and what an agent has renamed since, one after the other."""
    made = Folder(base)
    made.write("a.py", LINES)
    made.write("b.py", OTHERS)
    made.round.begin()
    for old, new in names:
        (made.path / old).rename(made.path / new)
        made.scan()
    return made


def test_files_whose_names_an_agent_has_swapped_keep_the_lines_of_the_person(tmp_path: Path):
    """The baseline of one of them was overwritten by that of the other one."""
    folder = two_renamed(tmp_path, ("a.py", "c.py"), ("b.py", "a.py"))
    folder.edit("c.py", LINES, mine := f"{LINES}mine\n")
    (folder.path / "c.py").rename(folder.path / "b.py")
    folder.scan()
    folder.reopen()
    assert folder.listed() == {"a.py": "modified", "b.py": "modified"}
    assert "b.py, line 31: “mine”" in folder.protected()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES
    assert folder.read("b.py").decode() == f"{OTHERS}mine\n"
    folder.redo()
    assert (folder.read("a.py").decode(), folder.read("b.py").decode()) == (OTHERS, mine)


@pytest.mark.parametrize("mine", ["", "mine\n"])
def test_names_that_an_agent_has_swapped_before_a_look_are_swapped_back(tmp_path: Path, mine: str):
    folder = two_renamed(tmp_path)
    (folder.path / "a.py").rename(folder.path / "c.py")
    (folder.path / "b.py").rename(folder.path / "a.py")
    (folder.path / "c.py").rename(folder.path / "b.py")
    if mine:
        folder.edit("b.py", LINES, LINES + mine)
    folder.scan()
    assert folder.listed() == {"a.py": "modified", "b.py": "modified"}
    assert folder.undo_all() == []
    assert (folder.read("a.py").decode(), folder.read("b.py").decode()) == (LINES, OTHERS + mine)


def test_a_file_that_takes_the_name_of_one_that_was_renamed_before_a_look_is_undone_with_it(tmp_path: Path):
    folder = two_renamed(tmp_path)
    (folder.path / "a.py").rename(folder.path / "c.py")
    (folder.path / "b.py").rename(folder.path / "a.py")
    folder.scan()
    assert folder.undo_all() == []
    assert tree(folder.path).keys() == {"a.py", "b.py"}
    assert (folder.read("a.py").decode(), folder.read("b.py").decode()) == (LINES, OTHERS)


def test_an_undo_of_swapped_names_leaves_nothing_behind_for_later_saves(tmp_path: Path):
    folder = two_renamed(tmp_path, ("a.py", "c.py"), ("b.py", "a.py"))
    assert folder.undo_all() == []
    folder.edit("b.py", OTHERS, f"{OTHERS}mine\n")
    assert folder.listed() == {}


def test_no_keep_is_taken_back_after_the_person_has_put_a_file_at_the_old_path_of_a_renamed_one(tmp_path: Path):
    """The text of the renamed one was nowhere then."""
    folder = two_renamed(tmp_path, ("b.py", "c.py"), ("a.py", "b.py"))
    folder.keep("a.py")
    folder.save("a.py", "mine\n")
    with pytest.raises(WriteRefusedError, match=r"a\.py has changed since"):
        folder.plan_back()
    assert folder.undo_all() == []
    assert [folder.read(name).decode() for name in ("a.py", "b.py", "c.py")] == ["mine\n", LINES, OTHERS]


def test_no_file_of_the_baseline_goes_for_good_if_keeps_around_a_rename_are_taken_back(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("x.py", "first\n")
    folder.write("y.py", LINES)
    folder.begin_copied()
    before = tree(folder.path)
    (folder.path / "y.py").rename(folder.path / "z.py")
    folder.scan()
    folder.keep("z.py")
    (folder.path / "x.py").rename(folder.path / "y.py")
    folder.scan()
    folder.redo()
    folder.keep("x.py")
    folder.redo()
    assert folder.listed() == {"x.py": "deleted", "y.py": "modified", "z.py": "created"}
    assert folder.undo_all() == []
    assert tree(folder.path) == before
    assert folder.listed() == {}


def test_a_file_that_an_agent_moves_to_where_another_one_was_keeps_the_line_of_both(moved: Folder):
    moved.write("new.py", "agent\n")
    moved.scan()
    moved.edit("new.py", "agent\n", "agent, mine\n")
    (moved.path / "new.py").rename(moved.path / "a.py")
    moved.scan()
    assert moved.protected() == ["a.py, line 1: “agent, mine”"]
    assert moved.undo_all() == []
    assert "agent, mine\n" in moved.read("a.py").decode()


@pytest.mark.parametrize(("mine", "agents"), [("mine", "mine\n"), ("mine\n", "mine"), ("mine\n", "mine\r\n")])
def test_a_line_of_the_person_stays_theirs_though_an_agent_gives_it_another_ending(
    moved: Folder, mine: str, agents: str
):
    """The file has no baseline while another one is at its old path."""
    moved.write("a.py", "other\n")
    moved.scan()
    moved.edit("b.py", AGENTS, AGENTS + mine)
    moved.round.saved_at.clear()
    moved.write("b.py", AGENTS + agents)
    moved.scan()
    moved.keep("a.py")
    assert moved.undo_all() == []
    assert moved.read("b.py").decode() == LINES + agents


def test_a_new_file_of_the_person_stays_where_one_was_that_an_agent_had_renamed_and_moved_back(moved: Folder):
    """It was taken for the renamed one, whose baseline came in place of its own."""
    (moved.path / "b.py").unlink()
    moved.write("a.py", "agent\n")
    moved.scan()
    moved.save("b.py", "mine\n")
    moved.keep("a.py")
    assert moved.listed() == {}
    assert moved.undo_all() == []
    assert moved.read("b.py") == b"mine\n"


def test_a_keep_of_a_file_that_an_agent_has_renamed_again_since_can_be_taken_back(moved: Folder):
    """It was listed as a new one, and the undo deleted it with its text."""
    moved.keep("b.py")
    replaced(moved)
    (moved.path / "b.py").rename(moved.path / "c.py")
    moved.scan()
    moved.redo()
    moved.reopen()
    with pytest.raises(WriteRefusedError, match=r"c\.py was a\.py before: undo a\.py first"):
        moved.undo("c.py")
    assert moved.undo_all() == []
    assert tree(moved.path).keys() == {"a.py"}
    assert moved.read("a.py").decode() == LINES


def test_a_line_that_was_saved_where_another_file_had_been_stays_once_that_is_decided(tmp_path: Path):
    """It was the agent's then, and undone unasked."""
    folder = two_renamed(tmp_path, ("a.py", "c.py"), ("b.py", "a.py"))
    folder.edit("a.py", OTHERS, OTHERS.replace("other 9\n", "other 9\nmine\n"))
    folder.keep("c.py")
    folder.keep("b.py")
    folder.reopen()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == OTHERS.replace("other 9\n", "other 9\nmine\n")


def test_a_renamed_file_keeps_its_text_if_the_person_renames_another_one_to_its_old_path(moved: Folder):
    moved.save("x.py", "".join(f"x {number}\n" for number in range(9)))
    moved.saves.handled("x.py", is_renamed=True)
    (moved.path / "x.py").rename(moved.path / "a.py")
    moved.scan()
    assert moved.listed() == {"b.py": "modified"}
    assert moved.undo_all() == []
    assert moved.read("b.py").decode() == LINES


@pytest.mark.parametrize("is_late", [False, True])
def test_a_new_file_of_the_person_is_not_one_that_was_deleted_just_before(tmp_path: Path, is_late: bool):
    """Also if a scan finds both before the word of the save comes."""
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    (folder.path / "a.py").unlink()
    if is_late:
        began = time.time_ns()
        folder.write("mine.py", LINES)
        folder.scan()
        folder.saved("mine.py", began, time.time_ns())
    else:
        folder.save("mine.py", LINES)
    assert [row.agents for row in folder.round.rows()] == [(AGENT,)]
    assert folder.listed() == {"a.py": "deleted"}
    assert folder.undo_all() == []
    assert (folder.read("a.py"), folder.read("mine.py")) == (LINES.encode(), LINES.encode())


def test_a_new_file_that_is_moved_to_where_a_deleted_one_was_takes_nothing_along(tmp_path: Path):
    """The baseline of the deleted one was overwritten by the person's line."""
    folder = two_renamed(tmp_path)
    (folder.path / "b.py").unlink()
    folder.write("new.py", new := "agent\n" * 9)
    folder.scan()
    folder.edit("new.py", new, f"{new}mine\n")
    (folder.path / "new.py").rename(folder.path / "b.py")
    folder.scan()
    assert folder.undo_all() == []
    assert folder.read("b.py").decode().startswith(OTHERS[:-1])
    assert b"mine\n" in folder.read("b.py") + folder.read("new.py")


def test_no_keep_is_taken_back_after_the_baseline_of_its_renamed_file_has_gone(tmp_path: Path):
    folder = two_renamed(tmp_path, ("a.py", "c.py"), ("b.py", "a.py"))
    folder.keep("c.py")
    folder.edit("c.py", LINES, f"{LINES}mine\n")
    folder.save("b.py", "mine\n")
    folder.reopen()
    with pytest.raises(WriteRefusedError, match=r"a\.py has changed since"):
        folder.plan_back()
    assert folder.undo_all() == []
    assert folder.read("c.py").decode() == f"{LINES}mine\n"


def restore(folder: Folder, number: int, *, is_all: bool = False) -> None:
    """Go back to a checkpoint, on the disk."""
    folder.scan()
    writes, base, left = folder.checkpoints.plan(number, is_all=is_all)
    assert left == []
    for write in writes:
        folder.undoing.write(write)
    assert folder.checkpoints.finish_restore(writes, base, number) == []
    folder.scan()


MINE = LINES.replace("line 9\n", "mine\n")


def test_an_accepted_proposal_of_a_renamed_file_can_be_taken_back(moved: Folder):
    """It said that the file had changed since."""
    rows = moved.round.rows()
    moved.write("b.py", more := AGENTS.replace("line 20\n", "more\n"))
    operation = moved.saves.reviewed("b.py", AGENTS, more, Encodings())
    assert operation
    moved.round.remember(operation)
    assert moved.listed() == {"b.py": "renamed"}
    moved.redo()
    assert moved.read("b.py").decode() == AGENTS
    assert moved.round.rows() == rows
    assert moved.undo_all() == []
    assert moved.read("a.py").decode() == LINES


@pytest.mark.parametrize("is_edited", [True, False])
@pytest.mark.parametrize("is_reopened", [True, False])
def test_a_file_that_was_renamed_before_a_checkpoint_keeps_its_text_after_a_restore(
    tmp_path: Path, *, is_edited: bool, is_reopened: bool
):
    """The person had saved another one at its old path since: the undo of the restored one deleted it, unasked."""
    folder = two_renamed(tmp_path)
    folder.edit("a.py", LINES, MINE)
    folder.round.saved_at.clear()
    (folder.path / "a.py").rename(folder.path / "c.py")
    folder.scan()
    number = folder.checkpoints.add(AGENT, "the next prompt")
    folder.write("c.py", theirs := MINE.replace("line 20\n", "agent\n"))
    folder.scan()
    if is_edited:
        folder.edit("c.py", theirs, theirs.replace("agent\n", "agent, mine\n"))
    folder.save("a.py", "another one\n")
    if is_reopened:
        folder.reopen()
    restore(folder, number)
    left = MINE.replace("line 20\n", "line 20\nagent, mine\n") if is_edited else MINE
    assert folder.read("c.py").decode() == left
    assert folder.listed() == {}
    assert folder.undo_all() == []
    assert (folder.read("a.py"), folder.read("c.py").decode()) == (b"another one\n", left)
    folder.redo()
    assert folder.read("c.py").decode() == (theirs.replace("agent\n", "agent, mine\n") if is_edited else theirs)
    assert folder.listed() == {"c.py": "modified"}
    assert folder.undo_all() == []
    assert folder.read("c.py").decode() == left


def test_a_renamed_file_is_one_again_after_a_restore(tmp_path: Path):
    """A keep between had made it a file of its own."""
    folder = two_renamed(tmp_path, ("a.py", "c.py"))
    number = folder.checkpoints.add(AGENT, "the next prompt")
    folder.keep("c.py")
    folder.edit("c.py", LINES, f"{LINES}mine\n")
    (folder.path / "c.py").rename(folder.path / "d.py")
    folder.scan()
    restore(folder, number)
    assert folder.listed() == {"c.py": "renamed"}
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == f"{LINES}mine\n"
    assert tree(folder.path).keys() == {"a.py", "b.py"}


@pytest.mark.parametrize("how", ["saves", "renames", "deletes"])
@pytest.mark.parametrize("names", [("c.py",), ("c.py", "d.py")])
def test_a_restore_to_before_a_rename_leaves_the_file_where_the_person_has_let_it_stay(
    tmp_path: Path, how: str, names: Sequence[str]
):
    """They have put another file at the old path. The restore deleted the renamed one with their words, unasked."""
    folder = two_renamed(tmp_path)
    number = folder.checkpoints.add(AGENT, "a prompt")
    folder.edit("a.py", LINES, MINE)
    for old, new in pairwise(("a.py", *names)):
        (folder.path / old).rename(folder.path / new)
        folder.scan()
    there = {"b.py", names[-1]}
    if how == "saves":
        folder.save("a.py", "another one\n")
        there |= {"a.py"}
    elif how == "renames":
        folder.saves.handled("b.py", is_renamed=True)
        (folder.path / "b.py").rename(folder.path / "a.py")
        there = {"a.py", names[-1]}
    else:
        folder.write("a.py", "an agent's\n")
        folder.scan()
        (folder.path / "a.py").unlink()
        folder.saves.handled("a.py", is_renamed=False)
    folder.write(names[-1], MINE.replace("line 20\n", "agent\n"))
    restore(folder, number)
    assert tree(folder.path).keys() == there
    assert folder.read(names[-1]).decode() == MINE
    assert folder.listed() == {}
    folder.redo()
    assert folder.read(names[-1]).decode() == MINE.replace("line 20\n", "agent\n")


def test_what_the_person_has_saved_in_a_renamed_file_is_in_it_at_its_old_path_after_a_restore(tmp_path: Path):
    """The restore made another file of their lines alone."""
    folder = two_renamed(tmp_path)
    number = folder.checkpoints.add(AGENT, "a prompt")
    (folder.path / "a.py").rename(folder.path / "c.py")
    folder.write("c.py", AGENTS)
    folder.scan()
    folder.edit("c.py", AGENTS, AGENTS.replace("line 9\n", "mine\n"))
    restore(folder, number)
    assert tree(folder.path).keys() == {"a.py", "b.py"}
    assert folder.read("a.py").decode() == MINE
    assert folder.listed() == {}
    folder.redo()
    assert folder.listed() == {"c.py": "renamed"}
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == MINE


@pytest.mark.parametrize("listed", [60.0, -1.0])
def test_a_restore_does_not_bring_back_a_renamed_file_that_the_person_has_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: float
):
    """Also if the saves of it are old, and could be one."""
    monkeypatch.setattr(state, "LISTED", listed)
    folder = two_renamed(tmp_path)
    number = folder.checkpoints.add(AGENT, "a prompt")
    (folder.path / "a.py").rename(folder.path / "c.py")
    folder.scan()
    folder.edit("c.py", LINES, MINE)
    (folder.path / "c.py").unlink()
    folder.saves.handled("c.py", is_renamed=False)
    folder.save("c.py", "anew\n")
    folder.save("b.py", OTHERS + "mine\n")
    restore(folder, number)
    assert tree(folder.path).keys() == {"b.py", "c.py"}
    assert folder.read("c.py") == b"anew\n"


@pytest.mark.parametrize("is_renamed_before", [True, False])
def test_a_line_of_doubt_in_a_renamed_file_is_not_taken_away_by_a_restore(tmp_path: Path, *, is_renamed_before: bool):
    folder = two_renamed(tmp_path)
    first = folder.checkpoints.add(AGENT, "a prompt")
    (folder.path / "a.py").rename(folder.path / "c.py")
    folder.scan()
    number = folder.checkpoints.add(AGENT, "the next prompt") if is_renamed_before else first
    folder.edit("c.py", LINES, MINE)
    folder.write("c.py", MINE.replace("line 20\n", "whose?\n"))
    folder.scan()
    path = "c.py" if is_renamed_before else "a.py"
    assert "c.py, line 20: “whose?”" in folder.checkpoints.protected(number, lambda _: True)
    restore(folder, number)
    assert {"mine", "whose?"} < {*folder.read(path).decode().split("\n")}
    folder.redo()
    assert "c.py, line 20: “whose?”" in folder.protected()
    restore(folder, number, is_all=True)
    assert folder.read(path).decode() == MINE


def test_a_restore_loses_no_file_where_another_one_was_at_the_checkpoint(tmp_path: Path):
    """Both have the person's words, and the place of one of them is taken."""
    folder = two_renamed(tmp_path)
    folder.edit("a.py", LINES, MINE)
    number = folder.checkpoints.add(AGENT, "a prompt")
    (folder.path / "a.py").rename(folder.path / "c.py")
    folder.scan()
    folder.keep("c.py")
    folder.edit("b.py", OTHERS, others := f"{OTHERS}mine, too\n")
    (folder.path / "b.py").rename(folder.path / "a.py")
    folder.scan()
    folder.save("b.py", "another one\n")
    restore(folder, number)
    assert [folder.read(name).decode() for name in ("a.py", "b.py", "c.py")] == [others, "another one\n", MINE]
    assert folder.listed() == {}


def test_a_restore_to_before_a_swap_of_names_has_the_lines_of_the_person_in_their_files(tmp_path: Path):
    folder = two_renamed(tmp_path)
    number = folder.checkpoints.add(AGENT, "a prompt")
    for old, new in (("a.py", "c.py"), ("b.py", "a.py"), ("c.py", "b.py")):
        (folder.path / old).rename(folder.path / new)
        folder.scan()
    folder.edit("b.py", LINES, f"{LINES}mine\n")
    restore(folder, number)
    assert tree(folder.path).keys() == {"a.py", "b.py"}
    assert folder.read("a.py").decode() == LINES
    assert folder.read("b.py").decode() == f"{OTHERS}mine\n"
    assert folder.listed() == {}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_line_of_both_in_a_renamed_file_stays_though_the_scan_could_not_be_noted_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_restarted: bool
):
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.begin_copied()
    folder.write("a.py", agents := LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    folder.edit("a.py", agents, agents.replace("agent\n", "agent and me\n"))
    (folder.path / "a.py").rename(folder.path / "b.py")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(state.RoundState, "write", full)
        with pytest.raises(OSError, match="No space left"):
            folder.scan()
    if is_restarted:
        folder.reopen()
    folder.scan()
    assert folder.protected() == ["b.py, line 3: “agent and me”"]
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "line 3\nagent and me\n")


class Renames(RuleBasedStateMachine):
    """An agent renames files, writes others, and takes no line of the person's away: each must stay on the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="renames-"))
        self.count = 0
        self.mine: set[str] = set()

    @initialize()
    def begin(self) -> None:
        self.folder = Folder(self.base)
        for name in NAMES[:2]:
            self.folder.write(name, "".join(self.token("p") for _ in range(12)))
        self.folder.round.begin()

    def token(self, owner: str) -> str:
        """A line of its own."""
        self.count += 1
        if owner == "p":
            self.mine.add(f"p{self.count}")
        return f"{owner}{self.count}\n"

    def names(self, *, are_there: bool) -> list[str]:
        return [name for name in NAMES if (self.folder.path / name).is_file() is are_there]

    def text(self, name: str) -> str:
        return self.folder.read(name).decode()

    @rule(at=numbers, to=numbers)
    def agent_renames(self, at: int, to: int) -> None:
        found, free = self.names(are_there=True), self.names(are_there=False)
        if found and free:
            new = self.folder.path / free[to % len(free)]
            new.parent.mkdir(exist_ok=True)
            (self.folder.path / found[at % len(found)]).rename(new)
            self.folder.scan()

    @rule(at=numbers, to=numbers)
    def agent_renames_and_replaces(self, at: int, to: int) -> None:
        """Both are found by one scan, or with what comes before it."""
        found, free = self.names(are_there=True), self.names(are_there=False)
        if found and free:
            name, new = found[at % len(found)], self.folder.path / free[to % len(free)]
            new.parent.mkdir(exist_ok=True)
            (self.folder.path / name).rename(new)
            self.folder.write(name, "".join(self.token("a") for _ in range(6)))

    @rule(at=numbers, lines=st.integers(1, 10))
    def agent_writes_another_file(self, at: int, lines: int) -> None:
        if free := self.names(are_there=False):
            self.folder.write(free[at % len(free)], "".join(self.token("a") for _ in range(lines)))

    @rule(at=numbers, line=numbers)
    def agent_adds_a_line(self, at: int, line: int) -> None:
        if found := self.names(are_there=True):
            lines = self.text(name := found[at % len(found)]).splitlines(keepends=True)
            self.folder.write(name, "".join([*lines[:line], self.token("a"), *lines[line:]]))

    @rule(at=numbers, is_by_person=st.booleans())
    def a_file_of_the_agents_is_deleted(self, at: int, is_by_person: bool) -> None:
        if found := [name for name in self.names(are_there=True) if "p" not in self.text(name)]:
            self.folder.scan()
            (self.folder.path / (name := found[at % len(found)])).unlink()
            if is_by_person:
                self.folder.saves.handled(name, is_renamed=False)

    @rule(at=numbers)
    def person_saves_a_new_file(self, at: int) -> None:
        if free := self.names(are_there=False):
            self.folder.scan()
            self.folder.save(free[at % len(free)], self.token("p"))

    @rule(at=numbers, line=numbers, is_change=st.booleans())
    def person_saves(self, at: int, line: int, is_change: bool) -> None:
        if found := self.names(are_there=True):
            self.folder.scan()
            lines = (before := self.text(name := found[at % len(found)])).splitlines(keepends=True)
            if is_change and line < len(lines) and "p" not in lines[line]:
                lines[line] = f"{lines[line].strip()}+{self.token('p')}"
            else:
                lines.insert(line, self.token("p"))
            self.folder.edit(name, before, "".join(lines))

    @rule(is_restart=st.booleans())
    def scan(self, is_restart: bool) -> None:
        if is_restart:
            self.folder.reopen()
        self.folder.scan()

    def write(self, writes: list[Write]) -> None:
        """Write all of it or nothing, as the journal does for the parts of a renamed file."""
        for write in writes:
            self.folder.undoing.check(write)
        for write in writes:
            self.folder.undoing.write(write)

    @rule(at=numbers, number=numbers, keeps=st.booleans(), is_whole=st.booleans())
    def decide(self, at: int, number: int, keeps: bool, is_whole: bool) -> None:
        self.folder.scan()
        if found := list(self.folder.listed()):
            path = found[at % len(found)]
            keys = [] if is_whole else self.folder.keys(path)
            key = keys[number % len(keys)] if keys else ""
            with contextlib.suppress(WriteRefusedError):
                if keeps and key:
                    self.folder.keep_change(path, key)
                elif keeps:
                    self.folder.keep(path)
                else:
                    self.write(writes := self.folder.plan_change(path, key))
                    assert self.folder.undoing.finish(writes) == []

    @rule()
    def undo_all(self) -> None:
        self.folder.scan()
        self.folder.undo_all()

    @rule()
    def take_back(self) -> None:
        self.folder.scan()
        with contextlib.suppress(WriteRefusedError):
            operation, writes = self.folder.plan_back()
            self.write(writes)
            assert self.folder.undoing.finish_back(operation, writes) == []

    @invariant()
    def every_line_of_the_persons_is_there(self) -> None:
        if hasattr(self, "folder"):
            text = "".join(map(self.text, self.names(are_there=True)))
            assert self.mine <= {*text.replace("+", "\n").split("\n")}

    def teardown(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)


TestRenames = Renames.TestCase
TestRenames.settings = settings(
    max_examples=15,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("text", ["", "mine\n"])
@pytest.mark.parametrize("scan", ["none", "before the word", "before the new file"])
def test_a_new_file_with_the_text_of_one_that_the_person_empties_is_listed(tmp_path: Path, scan: str, text: str):
    """It was taken for that file by another name."""
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    saved = SavedText(LINES, text, since=time.time_ns())
    folder.write("a.py", text)
    if scan == "before the new file":
        folder.scan()
    folder.write("b.py", LINES)
    if scan == "before the word":
        folder.scan()
    folder.note("a.py", replace(saved, until=time.time_ns()))
    folder.scan()
    assert folder.listed() == {"b.py": "created"}
    assert folder.undo_all() == []
    assert {path: data.decode() for path, (_, data) in tree(folder.path).items()} == {"a.py": text}
