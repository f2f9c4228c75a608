"""What the person has written stays, to the line, and what an agent has written is listed and undone."""

from __future__ import annotations

import codecs
import shutil
import time
from pathlib import Path

import pytest

from companion.changes.change_screen import SavedText
from companion.changes.lines import MAX_COMPARED, Weave
from companion.changes.state import CLOCK, Operation
from companion.review.disk import Encodings
from companion.snapshots.entries import LARGE
from companion.snapshots.files import WriteRefusedError

from .folders import AGENT, Folder, committed, tree
from .work import CHAT, LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n")
OF_BOTH = AGENTS.replace("agent\n", "agent and me\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.round.begin()
    made.write("a.py", AGENTS)
    made.scan()
    return made


@pytest.mark.parametrize("mine", ["agent\nmine\n", "mine\nagent\n"])
def test_a_line_beside_an_agents_line_is_the_persons(folder: Folder, mine: str):
    folder.edit("a.py", AGENTS, AGENTS.replace("agent\n", mine))
    assert folder.protected() == []
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", mine.replace("agent", "line 3"))
    assert folder.listed() == {}


def test_a_line_inside_an_agents_change_is_the_persons(folder: Folder):
    both = LINES.replace("line 3\n", "one\ntwo\n")
    folder.write("a.py", both)
    folder.scan()
    folder.edit("a.py", both, both.replace("two\n", "mine\ntwo\n"))
    folder.reopen()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "line 3\nmine\n")


def test_a_line_that_both_have_changed_makes_no_other_edit_the_agents(folder: Folder):
    mine = OF_BOTH.replace("line 25\n", "far\n")
    folder.edit("a.py", AGENTS, mine)
    (row,) = folder.round.rows()
    assert (row.inserted, row.deleted, row.note) == (1, 1, "with your edit")
    assert folder.protected() == ["a.py, line 3: “agent and me”"]
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "line 3\nagent and me\n").replace(
        "line 25\n", "far\n"
    )
    folder.redo()
    assert folder.protected() == ["a.py, line 3: “agent and me”"]
    writes, _ = folder.undoing.plan(folder.round.waiting(), is_all=True)
    assert folder.apply(writes) == []
    assert folder.read("a.py").decode() == LINES.replace("line 25\n", "far\n")


@pytest.mark.parametrize("formatted", ["    agent\n", "agent  \n", "agent\r\n"])
def test_an_agents_line_is_its_own_in_another_form(folder: Folder, formatted: str):
    folder.edit("a.py", AGENTS, AGENTS.replace("agent\n", formatted))
    assert folder.protected() == []
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES


def test_a_created_file_with_lines_of_the_person_is_not_deleted(folder: Folder):
    folder.write("new.py", "agent\nagain\n")
    folder.scan()
    folder.edit("new.py", "agent\nagain\n", "agent\nmine\nagain\n")
    rows = {row.path: (row.kind, row.note) for row in folder.round.rows()}
    assert rows["new.py"] == ("created", "with your edit")
    assert folder.protected("new.py") == ["new.py, line 2: “mine”"]
    assert folder.undo("new.py") == []
    assert folder.read("new.py") == b"mine\n"
    folder.redo()
    assert folder.apply(folder.plan("new.py", is_all=True)) == []
    assert not (folder.path / "new.py").exists()
    assert set(folder.listed()) == {"a.py"}
    folder.redo()
    assert folder.protected("new.py") == ["new.py, line 2: “mine”"]


def test_a_created_file_that_the_person_has_rewritten_is_not_deleted(folder: Folder):
    folder.write("new.py", "agent\n")
    folder.scan()
    folder.edit("new.py", "agent\n", "all of it is mine\n")
    assert folder.undo_all() == []
    assert folder.read("new.py") == b"all of it is mine\n"


def test_what_an_agent_wrote_before_a_save_over_it_is_offered(folder: Folder):
    """No scan has come between."""
    folder.write("a.py", theirs := AGENTS.replace("line 9\n", "unseen\n"))
    below = folder.edit("a.py", AGENTS, AGENTS.replace("line 20\n", "mine\n"), found=theirs.encode())
    assert below
    assert (below.agents, below.data.decode()) == ((AGENT,), theirs)
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 20\n", "mine\n")


def test_a_part_that_is_kept_glues_no_lines(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.txt", "one\ntwo")
    folder.round.begin()
    folder.write("a.txt", "one\ntwo\nthree\nfour\n")
    folder.scan()
    (key,) = folder.keys("a.txt")
    folder.keep_change("a.txt", key, (3, 3))
    contents = folder.round.contents("a.txt")
    assert contents
    assert contents[0] == b"one\ntwo\nfour\n"
    assert folder.undo_all() == []
    assert folder.read("a.txt") == b"one\ntwo\nfour\n"


def test_a_file_in_two_encodings_is_one_piece():
    weave = Weave.of(b"line\n", "line\n".encode("utf-16"))
    assert weave.hunks().is_text is False
    saved = weave.saved("mine\n".encode("utf-16"))
    undone = saved.undone()
    assert undone
    assert undone.disk == "mine\n".encode("utf-16")


AGENTS_FORMS = {
    "UTF-16": (AGENTS, AGENTS.encode("utf-16")),
    "binary": (AGENTS.replace("agent", "ag\0ent"), AGENTS.replace("agent", "ag\0ent").encode()),
    "over 5 MB": (AGENTS + "a" * MAX_COMPARED, (AGENTS + "a" * MAX_COMPARED).encode()),
    "over 10 MB": (AGENTS + "a" * LARGE, (AGENTS + "a" * LARGE).encode()),
}


@pytest.mark.parametrize("form", AGENTS_FORMS)
@pytest.mark.parametrize("tick", [CLOCK, 10**10])
def test_what_the_person_has_saved_stays_in_a_file_that_an_agent_had_made_no_text(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, form: str, tick: int
):
    monkeypatch.setattr("companion.changes.saves.CLOCK", tick)
    loaded, data = AGENTS_FORMS[form]
    folder.write("a.py", data)
    folder.scan()
    mine = AGENTS.replace("agent\n", "agent\nmine\n")
    folder.edit("a.py", loaded, mine)
    folder.round.saved_at.clear()
    folder.reopen()
    (row,) = folder.round.rows()
    assert (row.kind, row.note) == ("modified", "with your edit")
    assert folder.protected("a.py")[-1] == "a.py, line 4: “mine”"
    assert folder.undo("a.py") == []
    assert folder.read("a.py").decode() == mine
    assert folder.listed() == {}
    folder.redo()
    assert folder.protected("a.py")[-1] == "a.py, line 4: “mine”"
    assert folder.apply(folder.plan("a.py", is_all=True)) == []
    assert folder.read("a.py").decode() == LINES


def test_an_edit_of_a_file_that_can_not_be_compared_is_known_after_an_agent_writes_it_again(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.txt", begun := "begun\n" + "a" * LARGE)
    committed(folder.path)
    folder.round.begin()
    folder.write("a.txt", theirs := f"{begun}agent\n")
    folder.scan()
    time.sleep(CLOCK / 1e9)  # it is too large to tell by its text whether the agent has written it before the save
    folder.edit("a.txt", theirs, f"{theirs}mine\n")
    folder.round.saved_at.clear()
    folder.write("a.txt", again := f"{theirs}mine\nagain\n")
    folder.scan()
    assert folder.undo_all() == ["a.txt has your edit, and can't be compared"]
    assert folder.read("a.txt").decode() == again


def test_an_edit_of_a_file_that_can_not_be_compared_is_known_after_it_was_renamed_and_replaced(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.txt", "begun\n" + "a" * LARGE)
    committed(folder.path)
    folder.round.begin()
    folder.write("a.txt", AGENTS)
    folder.scan()
    folder.edit("a.txt", AGENTS, OF_BOTH)
    folder.round.saved_at.clear()
    (folder.path / "a.txt").rename(folder.path / "b.txt")
    folder.write("a.txt", "another\n")
    folder.scan()
    assert "b.txt, line 3: “agent and me”" in folder.protected("b.txt")
    assert folder.undo_all() == []
    assert b"agent and me\n" in folder.read("b.txt")


def test_a_line_of_the_person_stays_if_what_is_known_of_the_lines_does_not_fit(folder: Folder):
    folder.edit("a.py", AGENTS, OF_BOTH)
    known = folder.round.state.of("a.py").lines
    assert known
    folder.round.state.know("a.py", lines=known._replace(ops="-1~1"))
    assert folder.protected("a.py")[-1] == "a.py, line 3: “agent and me”"
    assert folder.undo_all() == []
    assert "agent and me\n" in folder.read("a.py").decode()


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_without_a_text_is_a_content(mark: bytes, codec: str):
    text = "line\n".encode(codec)
    for weave in (Weave.of(mark, text), Weave.of(mark, mark).written(text), Weave.of(mark, mark).saved(text)):
        assert weave.disk == text
        assert weave.written(mark).disk == weave.saved(mark).disk == weave.decided(mark).disk == mark
    undone = Weave.of(mark, text).undone()
    assert undone
    assert undone.disk == mark


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("before", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_emptied_file_has_the_form_of_what_is_written_next(before: str, codec: str):
    old = "old\n".encode(before)
    empty = Weave.of(old, old).saved(b"")
    text = "line\n".encode(codec)
    for weave in (empty.written(text), empty.saved(text), empty.decided(text)):
        assert weave.disk == text
        more = weave.saved("line\nmine\n".encode(codec))
        again = Weave.of(more.base or None, more.disk, more.ops)
        assert (again.base, again.disk, again.ops) == (more.base, more.disk, more.ops)
    assert empty.saved(text).base == empty.decided(text).base == text


def test_a_baseline_in_utf_16_is_text_after_the_person_has_emptied_the_file():
    old = "old\n".encode("utf-16")
    assert Weave.of(old, old + "agent\n".encode("utf-16-le")).written(b"").saved(b"").base == old


@pytest.mark.parametrize("ops", ["", "=1", "+1-1", "x", "=999999999", "-30+30", "=2-1~1=27"])
def test_a_weave_that_does_not_fit_is_made_again(ops: str):
    weave = Weave.of(LINES.encode(), AGENTS.encode(), ops)
    assert (weave.base, weave.disk) == (LINES.encode(), AGENTS.encode())


def test_a_damaged_entry_loses_no_round(folder: Folder):
    state = folder.store_path / "round.json"
    folder.edit("a.py", AGENTS, OF_BOTH)
    text = state.read_text()
    assert '"~1' not in text
    assert "~1" in text
    damaged = '"x": [[], 3, false, "", false], "y": [[], [], false, "", false], '
    state.write_text(text.replace('"known": {', f'"known": {{{damaged}'))
    folder.reopen()
    assert folder.protected() == ["a.py, line 3: “agent and me”"]


async def of_both(work: Work) -> Path:
    """A line of the agent's that the person has changed waits."""
    path = work.path / "a.py"
    path.write_text(AGENTS)
    await work.until(lambda: "a.py" in work.rows)
    path.write_text(OF_BOTH)
    work.rounds.saved(str(path), SavedText(AGENTS, OF_BOTH))
    await work.until(lambda: work.rows["a.py"].note)
    return path


@pytest.mark.parametrize("says_yes", [True, False])
async def test_it_is_asked_once_before_lines_of_both_are_undone(work: Work, says_yes: bool):
    work.editor.says_yes = says_yes
    await work.begun()
    path = await of_both(work)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert len(work.editor.confirmed) == 1
    assert "agent and me" in work.editor.confirmed[0]
    left = "line 3\nagent and me\n" if says_yes else "line 3\n"
    assert path.read_text() == LINES.replace("line 3\n", left)


async def test_nothing_is_undone_if_the_question_about_lines_of_both_is_closed(work: Work):
    work.editor.says_yes = None
    folder = await work.in_turn()
    path = await of_both(work)
    closed = "Nothing was written: the question was closed without an answer."
    assert await work.rounds.restore_turn(WINDOW, "turn-1", [str(path)]) == ([], [closed])
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: not work.rounds.roots.is_in_turn(folder))
    row = work.rows["a.py"]
    [point] = await work.decisions.points(WINDOW)
    planned = await work.decisions.planned(point)
    for undo in (
        lambda: work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo"),
        lambda: work.decisions.decide_files(WINDOW, [row], "undo"),
        lambda: work.decisions.restore(WINDOW, point.root, point.number, planned.shown),
    ):
        asked, work.editor.said = len(work.editor.confirmed), []
        undo()
        await work.until(lambda: work.editor.said)
        assert len(work.editor.confirmed) == asked + 1
        assert work.editor.said == [(closed, WINDOW)]
        assert path.read_text() == OF_BOTH
        assert work.rows["a.py"].note


async def test_a_question_that_is_closed_ends_the_undo_of_several_changes(work: Work):
    work.editor.says_yes = None
    await work.begun()
    path = work.path / "a.py"
    path.write_text(agents := AGENTS.replace("line 20\n", "agent 20\n"))
    await work.until(lambda: "a.py" in work.rows)
    path.write_text(mine := agents.replace("agent 20\n", "agent 20 and me\n"))
    work.rounds.saved(str(path), SavedText(agents, mine))
    await work.until(lambda: work.rows["a.py"].note)
    found = await work.rounds.file(work.folders[0], "a.py")
    assert found
    await work.decisions.decide_changes(
        WINDOW, work.rows["a.py"], "undo", [(change[4], None) for change in found.changes]
    )
    assert len(work.editor.confirmed) == 1
    assert path.read_text() == mine


def restore(folder: Folder, number: int, *, is_all: bool = False) -> None:
    writes, base, left = folder.checkpoints.plan(number, is_all=is_all)
    assert left == []
    for write in writes:
        folder.undoing.write(write)
    assert folder.checkpoints.finish_restore(writes, base, number) == []


def test_a_restore_keeps_a_line_that_both_have_changed_since_and_names_it(folder: Folder):
    number = folder.checkpoints.add(AGENT, "")
    later = AGENTS.replace("line 9\n", "later\n")
    folder.write("a.py", later)
    folder.scan()
    folder.edit("a.py", later, later.replace("later\n", "later and me\n"))
    assert folder.checkpoints.protected(number, lambda _: True) == ["a.py, line 9: “later and me”"]
    assert folder.checkpoints.protected(number, lambda _: False) == []
    restore(folder, number)
    assert folder.read("a.py").decode() == AGENTS.replace("line 9\n", "line 9\nlater and me\n")
    folder.redo()
    assert folder.protected() == ["a.py, line 9: “later and me”"]
    restore(folder, number, is_all=True)
    assert folder.read("a.py").decode() == AGENTS
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES


@pytest.mark.parametrize("is_kept", [False, True])
def test_marks_from_before_a_checkpoint_are_there_after_a_restore(folder: Folder, is_kept: bool):
    mine = OF_BOTH
    folder.edit("a.py", AGENTS, mine)
    number = folder.checkpoints.add(AGENT, "")
    folder.reopen()
    folder.write("a.py", later := mine.replace("line 9\n", "later\n"))
    folder.scan()
    folder.edit("a.py", later, later.replace("line 20\n", "far\n"))
    if is_kept:
        folder.keep_all()
    restore(folder, number)
    assert folder.read("a.py").decode() == mine.replace("line 20\n", "far\n")
    folder.reopen()
    assert folder.protected() == ["a.py, line 3: “agent and me”"]
    assert folder.undo_all() == []
    left = LINES.replace("line 3\n", "line 3\nagent and me\n").replace("line 20\n", "far\n")
    assert folder.read("a.py").decode() == left


def test_a_line_of_doubt_is_not_taken_away_by_a_restore(folder: Folder):
    number = folder.checkpoints.add(AGENT, "")
    mine = AGENTS.replace("line 9\n", "mine\n")
    folder.edit("a.py", AGENTS, mine)
    folder.write("a.py", mine.replace("line 20\n", "whose?\n"))
    folder.scan()
    named = folder.checkpoints.protected(number, lambda _: True)
    assert "a.py, line 20: “whose?”" in named
    restore(folder, number)
    assert "whose?\n" in folder.read("a.py").decode()
    assert "mine\n" in folder.read("a.py").decode()
    folder.redo()
    restore(folder, number, is_all=True)
    assert folder.read("a.py").decode() == mine


def test_a_restore_deletes_no_created_file_with_lines_of_the_person(folder: Folder):
    number = folder.checkpoints.add(AGENT, "")
    folder.write("new.py", "agent\nagain\n")
    folder.scan()
    folder.edit("new.py", "agent\nagain\n", "agent\nmine\nagain\n")
    assert folder.checkpoints.protected(number, lambda _: True) == ["new.py, line 2: “mine”"]
    restore(folder, number)
    assert folder.read("new.py") == b"mine\n"
    folder.redo()
    restore(folder, number, is_all=True)
    assert not (folder.path / "new.py").exists()


PROPOSED = AGENTS.replace("line 20\n", "proposed\n")


def accepted(folder: Folder, text: str, path: str = "a.py", before: str | None = AGENTS) -> Operation:
    """The person has edited what an agent proposed, and accepts it."""
    folder.write(path, text)
    operation = folder.saves.reviewed(path, before, text, Encodings(), PROPOSED)
    assert operation
    operation.accepted, operation.is_edited = AGENT, True
    folder.round.remember(operation)
    folder.round.settle()
    folder.round.saved_at.clear()
    return operation


def test_a_restore_leaves_what_the_person_has_typed_into_an_accepted_proposal(folder: Folder):
    """It took their words away, and nobody was asked."""
    number = folder.checkpoints.add(AGENT, "")
    accepted(folder, text := PROPOSED.replace("line 9\n", "mine\n").replace("line 25\n", ""))
    folder.reopen()
    assert folder.checkpoints.protected(number, lambda _: True) == []
    restore(folder, number)
    left = AGENTS.replace("line 9\n", "mine\n").replace("line 25\n", "")
    assert folder.read("a.py").decode() == left
    folder.redo()
    assert folder.read("a.py").decode() == text
    restore(folder, number)
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == left.replace("agent\n", "line 3\n")


def test_a_restore_keeps_a_line_of_an_accepted_proposal_that_the_person_had_edited_and_names_it(folder: Folder):
    number = folder.checkpoints.add(AGENT, "")
    accepted(folder, PROPOSED.replace("proposed\n", "proposed and mine\n"))
    assert folder.checkpoints.protected(number, lambda _: True) == ["a.py, line 20: “proposed and mine”"]
    restore(folder, number)
    assert folder.read("a.py").decode() == AGENTS.replace("line 20\n", "line 20\nproposed and mine\n")
    folder.redo()
    restore(folder, number, is_all=True)
    assert folder.read("a.py").decode() == AGENTS


def test_a_restore_leaves_the_words_of_the_person_in_a_file_that_was_proposed(folder: Folder):
    number = folder.checkpoints.add(AGENT, "")
    accepted(folder, f"mine\n{PROPOSED}", "new.py", None)
    assert folder.checkpoints.protected(number, lambda _: True) == ["new.py, line 1: “mine”"]
    restore(folder, number)
    assert folder.read("new.py") == b"mine\n"


@pytest.mark.parametrize("is_there_again", [True, False])
def test_a_restore_leaves_what_was_typed_into_an_accepted_proposal_of_a_file_that_was_renamed_since(
    folder: Folder, *, is_there_again: bool
):
    number = folder.checkpoints.add(AGENT, "")
    accepted(folder, PROPOSED.replace("line 9\n", "mine\n"))
    (folder.path / "a.py").rename(folder.path / "b.py")
    folder.scan()
    if is_there_again:
        folder.save("a.py", "another one\n")
    restore(folder, number)
    left = AGENTS.replace("line 9\n", "mine\n")
    assert folder.read("b.py" if is_there_again else "a.py").decode() == left
    assert (folder.path / "b.py").exists() == is_there_again
    assert folder.undo_all() == []
    assert "mine\n" in folder.read("b.py" if is_there_again else "a.py").decode()


@pytest.mark.parametrize("is_proposal_of_renamed", [True, False])
def test_what_was_typed_into_an_accepted_proposal_goes_with_it_for_a_later_restore(
    folder: Folder, *, is_proposal_of_renamed: bool
):
    """Else the restore would bring back what the person has taken back."""
    path = "a.py"
    number = folder.checkpoints.add(AGENT, "")
    if is_proposal_of_renamed:
        path = "b.py"
        (folder.path / "a.py").rename(folder.path / path)
        folder.scan()
    accepted(folder, PROPOSED.replace("line 9\n", "mine\n"), path)
    folder.redo()
    assert folder.read(path).decode() == AGENTS
    restore(folder, number)
    assert folder.read("a.py").decode() == AGENTS
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES


def test_what_was_typed_into_an_accepted_proposal_is_no_change_of_the_turn(folder: Folder):
    folder.checkpoints.add(AGENT, "", "turn")
    accepted(folder, PROPOSED.replace("line 9\n", "mine\n"))
    folder.checkpoints.end("turn")
    ((_, before, after),) = folder.checkpoints.of_turn("turn") or []
    assert (b"mine\n" in before, b"mine\n" in after) == (True, True)
    assert (b"proposed\n" in before, b"proposed\n" in after) == (False, True)


@pytest.mark.parametrize("says_yes", [True, False])
async def test_it_is_asked_once_before_an_undo_of_a_turn_takes_lines_of_both(work: Work, says_yes: bool):
    work.editor.says_yes = says_yes
    await work.in_turn()
    path = await of_both(work)
    await work.rounds.restore_turn(WINDOW, "turn-1", [str(path)])
    assert len(work.editor.confirmed) == 1
    assert "agent and me" in work.editor.confirmed[0]
    left = "line 3\nagent and me\n" if says_yes else "line 3\n"
    assert path.read_text() == LINES.replace("line 3\n", left)


def test_an_agent_is_not_told_that_a_file_was_deleted_which_has_lines_of_the_person(folder: Folder):
    folder.write("new.py", "agent\nagain\n")
    folder.scan()
    folder.edit("new.py", "agent\nagain\n", "agent\nmine\nagain\n")
    writes = folder.plan("new.py")
    for write in writes:
        folder.undoing.write(write)
    notes = folder.undoing.notes(writes)
    assert notes == {"new.py": ["new.py, line 1: “agent” was undone", "new.py, line 3: “again” was undone"]}


def test_a_lost_final_newline_beside_an_inserted_line_is_the_agents(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.txt", "one\ntwo\n")
    folder.round.begin()
    folder.write("a.txt", "one\ntwo\nagent")
    folder.scan()
    folder.edit("a.txt", "one\ntwo\nagent", "one\ntwo\nagent\nmine")
    assert folder.undo_all() == []
    assert folder.read("a.txt") == b"one\ntwo\nmine"


def test_lines_of_a_file_above_a_megabyte_have_authors(tmp_path: Path):
    folder = Folder(tmp_path)
    lines = "".join(f"line {number} of a long file\n" for number in range(50_000))
    assert len(lines) > 1_000_000
    folder.write("a.txt", lines)
    folder.round.begin()
    folder.write("a.txt", theirs := lines.replace("line 7 of", "agent: line 7 of"))
    folder.scan()
    folder.edit("a.txt", theirs, theirs.replace("line 8 of", "mine: line 8 of"))
    assert folder.undo_all() == []
    assert folder.read("a.txt").decode() == lines.replace("line 8 of", "mine: line 8 of")


def test_a_renamed_file_that_is_hardly_like_its_baseline_is_undone_as_one(folder: Folder):
    """Git sees one that has gone and one that has come: undone, the latter took the person's line with it."""
    folder.write("a.py", theirs := "".join(f"other {number}\n" for number in range(100)) + AGENTS)
    folder.scan()
    folder.edit("a.py", theirs, theirs.replace("line 20\n", "mine\n"))
    (folder.path / "a.py").rename(folder.path / "b.py")
    folder.scan()
    (folder.path / "b.py").rename(folder.path / "c.py")
    folder.scan()
    folder.reopen()
    assert folder.listed() == {"c.py": "renamed"}
    assert folder.undo("c.py") == []
    assert folder.read("a.py").decode() == LINES.replace("line 20\n", "mine\n")
    assert folder.listed() == {}
    folder.redo()
    folder.scan()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 20\n", "mine\n")
    assert not (folder.path / "c.py").exists()


def test_a_save_in_a_file_that_an_agent_has_but_renamed_leaves_the_rename(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    (folder.path / "a.py").rename(folder.path / "A.py")
    folder.scan()
    folder.edit("A.py", LINES, f"{LINES}mine\n")
    folder.scan()
    assert folder.listed() == {"A.py": "renamed"}
    assert folder.undo_all() == []
    assert tree(folder.path).keys() == {"a.py"}
    assert folder.read("a.py").decode() == f"{LINES}mine\n"


@pytest.mark.parametrize("tick", [CLOCK, 10**10])
def test_a_line_of_both_in_a_renamed_file_stays_if_another_one_is_at_its_old_path(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tick: int
):
    """Also if an agent has written a file just before the tab was loaded that the person saves."""
    monkeypatch.setattr("companion.changes.saves.CLOCK", tick)
    (folder.path / "a.py").rename(folder.path / "b.py")
    folder.scan()
    folder.edit("b.py", AGENTS, AGENTS.replace("agent\n", "agent, mine\n"))
    folder.write("a.py", "from b import *\n")
    folder.scan()
    folder.reopen()
    assert folder.listed() == {"a.py": "modified", "b.py": "created"}
    assert folder.protected() == ["b.py, line 3: “agent, mine”"]
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES
    assert folder.read("b.py") == b"agent, mine\n"


def test_a_save_below_a_folder_in_the_place_of_a_file_leaves_the_file_listed(folder: Folder):
    folder.edit("a.py", AGENTS, AGENTS.replace("line 20\n", "mine\n"))
    (folder.path / "a.py").unlink()
    folder.write("a.py/b.py", "agent\n")
    folder.scan()
    folder.edit("a.py/b.py", "agent\n", "agent\nmine\n")
    folder.reopen()
    folder.scan()
    assert folder.listed() == {"a.py": "deleted", "a.py/b.py": "created"}
    assert folder.undo("a.py/b.py") == []
    assert folder.read("a.py/b.py") == b"mine\n"
    assert [said.partition(":")[0] for said in folder.undo_all()] == ["a.py can't be written"]
    assert folder.listed() == {"a.py": "deleted"}
    (folder.path / "a.py").rename(folder.path / "elsewhere")
    folder.scan()
    assert folder.undo("a.py") == []
    assert folder.read("a.py").decode() == LINES.replace("line 20\n", "mine\n")


def test_a_save_in_a_file_in_the_place_of_a_folder_leaves_its_files_listed(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("d/a.py", LINES)
    folder.write("d/b.py", LINES)
    folder.round.begin()
    folder.edit("d/a.py", LINES, f"{LINES}mine\n")
    shutil.rmtree(folder.path / "d")
    folder.write("d", "agent\n")
    folder.scan()
    folder.edit("d", "agent\n", "agent\nmine\n")
    folder.keep("d/b.py")
    folder.reopen()
    folder.scan()
    assert folder.listed() == {"d": "created", "d/a.py": "deleted"}
    assert folder.undo("d") == []
    with pytest.raises(WriteRefusedError, match=r"d/a\.py can't be written"):
        folder.undo("d/a.py")
    (folder.path / "d").rename(folder.path / "elsewhere")
    folder.scan()
    assert folder.undo("d/a.py") == []
    assert folder.read("d/a.py").decode() == f"{LINES}mine\n"


def test_a_file_that_is_kept_in_the_place_of_another_one_leaves_that_listed(folder: Folder):
    (folder.path / "a.py").unlink()
    folder.write("a.py/b.py", "agent\n")
    folder.scan()
    folder.keep("a.py/b.py")
    assert folder.listed() == {"a.py": "deleted"}
    folder.keep("a.py")
    assert folder.listed() == {}
    folder.write("a.py/b.py", "agent again\n")
    folder.scan()
    assert folder.undo_all() == []
    assert folder.read("a.py/b.py") == b"agent\n"


@pytest.mark.parametrize("what", ["keep", "undo"])
def test_a_byte_order_mark_is_decided_with_the_last_change(tmp_path: Path, what: str):
    """It is in no line: a file with nothing to see in it waited for ever."""
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    folder.write("a.py", theirs := AGENTS.replace("line 20\n", "more\n").encode("utf-8-sig"))
    folder.scan()
    for left in (1, 0):
        key = folder.keys("a.py")[0]
        folder.keep_change("a.py", key) if what == "keep" else folder.undo("a.py", key)
        assert len(folder.keys("a.py")) == left
        assert folder.read("a.py").startswith(theirs[:3]) is (what == "keep" or left == 1)
    assert folder.listed() == {}
    assert folder.read("a.py") == (theirs if what == "keep" else LINES.encode())


def test_a_byte_order_mark_alone_is_named(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a.py", LINES)
    folder.round.begin()
    folder.write("a.py", LINES.encode("utf-8-sig"))
    folder.scan()
    [row] = folder.round.rows()
    assert (row.kind, row.note) == ("modified", "byte order mark")
    assert folder.undo("a.py") == []
    assert folder.read("a.py").decode() == LINES
