"""Every decision can be taken back, the last one first: keep, undo, restore, reject and accept."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from companion.changes.change_screen import SavedText
from companion.changes.roots import SOON
from companion.changes.state import Decision, read_state
from companion.review import reviews as review_module
from companion.review.changes import Target, edits_of
from companion.review.review import Review, Unclaimed

from .folders import AGENT, Folder
from .work import LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n").replace("line 20\n", "more\n")
HALF = LINES.replace("line 20\n", "more\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.begin_copied()
    made.write("a.py", AGENTS)
    made.write("new.py", "agent\n")
    made.scan()
    return made


def test_a_change_that_was_kept_waits_again(folder: Folder):
    before = folder.round.rows()
    folder.keep_change("a.py", folder.keys("a.py")[0])
    assert len(folder.keys("a.py")) == 1
    folder.reopen()
    folder.redo()
    assert folder.round.rows() == before
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES


def test_everything_that_was_kept_waits_again_whoever_has_written_it(folder: Folder):
    (folder.path / "new.py").chmod(0o600)
    before = folder.round.rows()
    folder.keep_all()
    assert folder.listed() == {}
    folder.redo()
    assert folder.round.rows() == before
    assert folder.round.rows()[0].agents == (AGENT,)
    folder.undo_all()
    assert not (folder.path / "new.py").exists()


def test_all_agents_that_have_written_a_file_are_named_once_its_keep_is_taken_back(folder: Folder):
    folder.keep_all()
    folder.write("a.py", AGENTS.replace("line 28\n", "other\n"))
    folder.scan("Other")
    folder.redo()
    assert folder.round.rows()[0].agents == (AGENT, "Other")


def test_what_the_person_has_saved_since_a_keep_stays_theirs(folder: Folder):
    folder.keep_all()
    folder.edit("a.py", AGENTS, mine := AGENTS.replace("line 9\n", "mine\n").replace("agent\n", "agent and me\n"))
    folder.redo()
    folder.scan()
    assert folder.protected() == ["a.py, line 3: “agent and me”"]
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "line 3\nagent and me\n").replace(
        "line 9\n", "mine\n"
    )
    assert "mine" in mine


def test_the_permissions_of_the_baseline_come_back_with_a_keep(folder: Folder):
    (folder.path / "a.py").chmod(0o600)
    folder.scan()
    folder.keep("a.py")
    folder.redo()
    assert folder.undo("a.py") == []
    assert (folder.path / "a.py").stat().st_mode & 0o777 != 0o600


async def accepted(work: Work, name: str, text: str, proposed: str = "") -> Review:
    """The person accepts, and the agent writes."""
    review = await opened(work, name, proposed or text)
    work.reviews.accept(review.number, text)
    assert work.rounds.listing(WINDOW).can_take_back
    (work.path / name).write_text(text)
    work.rounds.written(review, text)
    await work.rounds.roots.events_noted()
    await work.until(lambda: not work.rows)
    return review


@pytest.mark.parametrize("name", ["a.py", "new.py"])
@pytest.mark.parametrize("is_killed", [False, True])
async def test_what_was_accepted_just_before_the_editor_ends_or_is_killed_is_reviewed(
    work: Work, tmp_path: Path, name: str, is_killed: bool
):
    stores = tmp_path / "killed" if is_killed else work.stores
    async with work:
        await work.begun()
        review = await opened(work, name, AGENTS)
        async with work.known.folders[work.folders[0]].lock:
            work.reviews.accept(review.number, text := AGENTS.replace("line 9\n", "mine\n"))
            (work.path / name).write_text(text)
            work.rounds.written(review, text)
            if is_killed:
                await asyncio.sleep(3 * SOON)
                await asyncio.to_thread(shutil.copytree, work.stores, stores)
    async with Work(stores, work.folders) as later:
        (work.path / "agents.py").write_text("agent\n")
        await later.begun()
        await later.until(lambda: later.rows)
        assert later.rows.keys() == {"agents.py"}


@pytest.mark.parametrize("name", ["a.py", "new.py"])
async def test_an_accepted_proposal_is_undone_and_its_agent_is_told(work: Work, name: str):
    await work.begun()
    before = LINES if name == "a.py" else None
    await accepted(work, name, AGENTS)
    assert work.editor.offered == [f"Accepted {name}"]
    work.decisions.take_back(WINDOW)
    path = work.path / name
    await work.until(lambda: (path.read_text() == before) if before else not path.exists())
    await work.until(lambda: not work.known.folders[work.folders[0]].lock.locked())
    told = await work.rounds.undone_since(WINDOW)
    assert told
    assert all(name in line for line in told)
    assert work.rows == {}
    assert not work.rounds.listing(WINDOW).can_take_back
    work.decisions.take_back(WINDOW)  # that is no decision
    await work.until(lambda: ("There is no decision to take back.", WINDOW) in work.editor.mentioned)
    assert await work.rounds.undone_since(WINDOW) == told
    await work.rounds.notes_sent(WINDOW, told)
    assert await work.rounds.undone_since(WINDOW) == []
    assert work.editor.confirmed == []


async def test_two_accepted_proposals_are_taken_back_one_after_the_other(work: Work):
    """The undo of the last one was the last decision then, so the other one was never reached."""
    (work.path / "b.py").write_text(LINES)
    await work.begun()
    for name in ("a.py", "b.py"):
        await accepted(work, name, AGENTS)
    for name in ("b.py", "a.py"):
        work.decisions.take_back(WINDOW)
        path = work.path / name
        await work.until(lambda path=path: path.read_text() == LINES)
        await work.until(lambda: not work.known.folders[work.folders[0]].lock.locked())
    assert [(work.path / name).read_text() for name in ("a.py", "b.py")] == [LINES, LINES]
    assert {line.partition(",")[0] for line in await work.rounds.undone_since(WINDOW)} == {"a.py", "b.py"}


async def test_an_agent_is_told_of_what_was_taken_back_after_a_restart(work: Work):
    await work.begun()
    await accepted(work, "a.py", AGENTS)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: (work.path / "a.py").read_text() == LINES)
    await work.until(lambda: not work.known.folders[work.folders[0]].lock.locked())
    told = await work.rounds.undone_since(WINDOW)
    folder = work.known.folders[work.folders[0]]
    found = read_state(folder.round.store.path, folder.root)
    assert found
    assert [line for lines in found.unsent_notes.values() for line in lines] == told


@pytest.mark.parametrize("says_yes", [True, False])
async def test_it_is_asked_before_what_the_person_wrote_into_a_proposal_goes(work: Work, says_yes: bool):
    work.editor.says_yes = says_yes
    await work.begun()
    await accepted(work, "a.py", AGENTS, LINES.replace("line 3\n", "agent\n"))
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.editor.confirmed)
    await work.until(lambda: not work.known.folders[work.folders[0]].lock.locked())
    assert (work.path / "a.py").read_text() == (LINES if says_yes else AGENTS)


async def test_what_has_changed_since_it_was_accepted_is_left_alone(work: Work):
    await work.begun()
    await accepted(work, "a.py", AGENTS)
    (work.path / "a.py").write_text(AGENTS + "later\n")
    work.decisions.take_back(WINDOW)
    await work.until(lambda: any("a.py has changed since" in text for text, _ in work.editor.mentioned))
    assert (work.path / "a.py").read_text() == AGENTS + "later\n"


async def accepted_after_a_keep(work: Work) -> Review:
    """The person has kept a file, and accepts a proposal, which its agent has not written yet."""
    await work.begun()
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: "b.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
    await work.until(lambda: not work.rows)
    review = await opened(work, "a.py", AGENTS)
    work.reviews.accept(review.number, AGENTS)
    return review


async def test_what_was_accepted_and_is_not_written_takes_nothing_else_back(work: Work):
    await accepted_after_a_keep(work)
    work.decisions.take_back(WINDOW)
    said = ("Agent was not seen to write a.py, so that can't be taken back yet.", WINDOW)
    await work.until(lambda: said in work.editor.mentioned)
    assert work.rows == {}
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "b.py" in work.rows)


async def test_what_was_accepted_and_is_written_on_before_that_is_noted_takes_nothing_else_back(work: Work):
    review = await accepted_after_a_keep(work)
    (work.path / "a.py").write_text(AGENTS + "the next edit\n")
    work.rounds.written(review, AGENTS)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: any("not seen to write a.py" in text for text, _ in work.editor.mentioned))
    assert set(work.rows) == {"a.py"}
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})


async def test_what_is_written_after_the_first_try_can_be_taken_back(work: Work):
    """The person takes a slip back within a moment, before the agent has written anything."""
    await work.begun()
    review = await opened(work, "a.py", AGENTS)
    work.reviews.accept(review.number, AGENTS)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: any("not seen to write a.py" in text for text, _ in work.editor.mentioned))
    (work.path / "a.py").write_text(AGENTS)
    work.rounds.written(review, AGENTS)
    await work.rounds.roots.events_noted()
    await work.until(lambda: not work.rows)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: (work.path / "a.py").read_text() == LINES)


async def test_a_renamed_file_that_is_undone_is_counted_once(work: Work):
    await work.begun()
    (work.path / "a.py").rename(work.path / "moved.py")
    await work.until(lambda: set(work.rows) == {"moved.py"})
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert work.editor.offered == ["Undone: 1 file"]


async def test_a_rejected_text_comes_back_in_a_tab(work: Work):
    await work.begun()
    assert not work.rounds.listing(WINDOW).can_take_back
    review = await opened(work, "a.py", AGENTS)
    work.reviews.reject(review.number, "edited\n")
    assert work.rounds.listing(WINDOW).can_take_back
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.editor.kept)
    [(window, name, text, why)] = work.editor.kept
    assert (window, name, text) == (WINDOW, "a.py", "edited\n")
    assert why == "Agent was told that you reject its change of a.py. This is its text."
    assert not work.rounds.listing(WINDOW).can_take_back


async def test_the_last_decision_of_any_kind_comes_first(work: Work):
    await work.begun()
    await accepted(work, "a.py", AGENTS)
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: "b.py" in work.rows)
    work.decisions.decide_files(WINDOW, [work.rows["b.py"]], "keep")
    await work.until(lambda: not work.rows)
    (work.path / "c.py").write_text("agent\n")
    await work.until(lambda: "c.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert work.editor.offered[-1] == "Undone: 1 file"
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"c.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"b.py", "c.py"})
    assert (work.path / "a.py").read_text() == AGENTS
    work.decisions.take_back(WINDOW)
    await work.until(lambda: (work.path / "a.py").read_text() == LINES)
    await work.until(lambda: not work.rounds.listing(WINDOW).can_take_back)


@pytest.fixture
def other(work: Work, tmp_path: Path) -> Path:
    """Another folder of the window."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "c.py").write_text(LINES)
    work.folders.append(str(folder))
    return folder


@pytest.mark.parametrize("what", ["keep", "undo"])
async def test_what_one_command_has_decided_in_two_folders_is_taken_back_at_once(
    work: Work, other: Path, what: Decision
):
    await work.begun()
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"b.py"})
    work.decisions.decide_files(WINDOW, [work.rows["b.py"]], "keep")
    await work.until(lambda: not work.rows)
    for path in (work.path / "a.py", other / "c.py"):
        path.write_text(AGENTS)
    await work.until(lambda: len(work.rows) == 2)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), what)
    await work.until(lambda: not work.rows)
    await settled(work)
    assert work.editor.offered == ([] if what == "keep" else ["Undone: 2 files"])
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "c.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py", "c.py"})


async def test_what_has_changed_since_in_one_of_two_folders_is_named_and_the_other_one_comes_back(
    work: Work, other: Path
):
    await work.begun()
    for path in (work.path / "a.py", other / "c.py"):
        path.write_text(AGENTS)
    await work.until(lambda: len(work.rows) == 2)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    await settled(work)
    (other / "c.py").write_text("the next one\n")
    work.decisions.take_back(WINDOW)
    await work.until(lambda: ("Not brought back: c.py has changed since.", WINDOW) in work.editor.mentioned)
    assert (work.path / "a.py").read_text() == AGENTS
    assert (other / "c.py").read_text() == "the next one\n"


@pytest.mark.parametrize("what", ["keep", "undo"])
async def test_several_changes_that_were_decided_at_once_are_taken_back_at_once(work: Work, what: Decision):
    await work.begun()
    folder = work.known.folders[work.folders[0]]
    (work.path / "a.py").write_text(AGENTS.replace("line 28\n", "last\n"))
    await work.until(lambda: "a.py" in work.rows)

    async def keys() -> list[str]:
        found = await folder.file("a.py")
        assert found
        return [change[4] for change in found.changes]

    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], what, [((await keys())[0], None)])
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], what, [(key, None) for key in await keys()])
    await work.until(lambda: not work.rows)
    for left in (2, 3):
        work.decisions.take_back(WINDOW)
        await work.until(lambda left=left: work.rows and work.rows["a.py"].changes == left)
        await settled(work)


@pytest.mark.parametrize("what", ["keep", "undo"])
async def test_files_that_were_decided_by_one_command_are_taken_back_at_once(work: Work, what: Decision):
    await work.begun()
    for name in ("a.py", "b.py", "c.py"):
        (work.path / name).write_text(AGENTS)
    await work.until(lambda: len(work.rows) == 3)
    rows = work.rows
    work.decisions.decide_files(WINDOW, [rows["c.py"]], "keep")
    work.decisions.decide_files(WINDOW, [rows["a.py"], rows["b.py"]], what)
    await work.until(lambda: not work.rows)
    await settled(work)
    folder = work.known.folders[work.folders[0]]
    found = read_state(folder.round.store.path, folder.root)
    assert found
    assert len({each.command for each in found.decided}) == 2
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: len(work.rows) == 3)


async def test_the_undo_of_several_files_asks_once_and_leaves_what_was_not_meant(work: Work):
    """Such as that of a turn."""
    await work.begun()
    for name in ("a.py", "b.py", "c.py"):
        (work.path / name).write_text(text := LINES.replace("line 3\n", "agent\n"))
    await work.until(lambda: len(work.rows) == 3)
    for name in ("a.py", "b.py", "c.py"):
        (work.path / name).write_text(mine := text.replace("agent\n", "agent and mine\n"))
        work.rounds.saved(str(work.path / name), SavedText(text, mine))
    await work.until(lambda: all(row.note == "with your edit" for row in work.rows.values()))
    work.decisions.decide_files(WINDOW, [work.rows["a.py"], work.rows["c.py"]], "undo")
    await work.until(lambda: set(work.rows) == {"b.py"})
    assert len(work.editor.confirmed) == 1
    assert all(name in work.editor.confirmed[0] for name in ("a.py", "c.py"))
    assert "b.py" not in work.editor.confirmed[0]
    assert (work.path / "b.py").read_text() == mine
    assert (work.path / "a.py").read_text() == LINES.replace("line 3\n", "line 3\nagent and mine\n")
    assert (work.path / "c.py").read_text() == "agent and mine\n"


@pytest.mark.parametrize("what", ["keep", "undo"])
async def test_what_a_restore_brings_back_is_its_agents_again_and_waits_after_a_restart(work: Work, what: Decision):
    await work.begun()
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: work.rows)
    work.rounds.checkpoint(WINDOW, "go on", "Another Agent")
    folder = work.known.folders[work.folders[0]]
    await work.until(lambda: any(each.words == "go on" for each in folder.round.state.checkpoints))
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), what)
    await work.until(lambda: not work.rows)
    await settled(work)
    [point] = [each for each in await work.decisions.points(WINDOW) if each.words == "go on"]
    planned = await work.decisions.planned(point)
    work.decisions.restore(WINDOW, point.root, point.number, planned.shown)
    await work.until(lambda: "a.py" in work.rows)
    assert work.rows["a.py"].agents == (AGENT,)
    work.rounds.close()
    async with Work(work.stores, work.folders) as again:
        again.rounds.opened(WINDOW)
        await again.until(lambda: "a.py" in again.rows)
        assert again.rows["a.py"].agents == (AGENT,)


async def settled(work: Work) -> None:
    """Nothing is decided any more."""
    await work.until(lambda: not any(each.lock.locked() for each in work.known.folders.values()))


async def test_a_save_does_not_stand_before_a_keep(work: Work):
    await work.begun()
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: "a.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
    await work.until(lambda: not work.rows)
    (work.path / "a.py").write_text(mine := AGENTS + "mine\n")
    work.rounds.saved(str(work.path / "a.py"), SavedText(AGENTS, mine))
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "a.py" in work.rows and work.rows["a.py"].inserted == 2)


async def opened(work: Work, name: str, proposed: str) -> Review:
    """A proposal is on the screen."""
    review = work.reviews.open(Unclaimed(WINDOW, "Agent"), str(work.path / name), proposed)
    await work.until(lambda: review.number in work.editor.open_diffs)
    return review


async def reverted(work: Work, review: Review, line: int) -> None:
    """*Undo Change* at a line of a proposal."""
    diff = work.editor.open_diffs[review.number]
    before = diff.text
    action, edits = edits_of(Target("undo", ((line, line),)), review.original, review.shown, before)
    assert await work.editor.edit_text(review, edits, before)
    if action == "revert":
        work.reviews.texts.reverted(review.number, before, diff.text)


async def test_a_revert_in_a_proposal_is_taken_back_in_the_order_of_the_decisions(work: Work):
    """Of two agents that propose the same file, too."""
    await work.begun()
    first, second = await opened(work, "a.py", AGENTS), await opened(work, "a.py", AGENTS)
    text = lambda review: work.editor.open_diffs[review.number].text  # noqa: E731
    await reverted(work, second, 2)
    await reverted(work, first, 2)
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: "b.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
    await work.until(lambda: not work.rows)
    await reverted(work, first, 19)
    assert text(first) == LINES
    work.decisions.take_back(WINDOW)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "b.py" in work.rows)
    assert (text(first), text(second)) == (HALF, HALF)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: text(first) == AGENTS)
    assert text(second) == HALF
    work.decisions.take_back(WINDOW)
    await work.until(lambda: text(second) == AGENTS)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: ("There is no decision to take back.", WINDOW) in work.editor.mentioned)


async def test_what_the_person_has_typed_there_since_a_revert_stays(work: Work):
    review = await opened(work, "a.py", AGENTS)
    diff = work.editor.open_diffs[review.number]
    await reverted(work, review, 2)
    diff.text = mine = diff.text.replace("line 3\n", "line 3, mine\n")
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.editor.mentioned)
    assert diff.text == mine
    assert work.editor.mentioned == [("a.py was edited where you had reverted it: that stays.", WINDOW)]
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.editor.mentioned[1:] == [("There is no decision to take back.", WINDOW)])


async def test_a_revert_is_computed_again_if_the_person_types_meanwhile(work: Work, monkeypatch: pytest.MonkeyPatch):
    review = await opened(work, "a.py", AGENTS)
    diff = work.editor.open_diffs[review.number]
    await reverted(work, review, 2)
    edit_text = work.editor.edit_text

    async def typed(*args: Any) -> bool:
        monkeypatch.setattr(work.editor, "edit_text", edit_text)
        diff.text += "mine\n"
        return await edit_text(*args)

    monkeypatch.setattr(work.editor, "edit_text", typed)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: diff.text == AGENTS + "mine\n")
    assert work.editor.mentioned == []


async def test_of_reverts_in_a_large_text_the_latest_are_kept(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(review_module, "MOST_REVERTED", 3 * len(AGENTS))
    review = await opened(work, "a.py", AGENTS)
    await reverted(work, review, 2)
    await reverted(work, review, 19)
    assert [each.after for each in review.reverts] == [LINES]
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.editor.open_diffs[review.number].text == HALF)


@pytest.mark.parametrize("what", ["restored", "undone", "withdrawn", "replaced"])
async def test_a_revert_that_is_not_there_any_more_is_no_decision(work: Work, what: str):
    await work.begun()
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: "b.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
    await work.until(lambda: not work.rows)
    review = await opened(work, "a.py", AGENTS)
    await reverted(work, review, 2)
    diff = work.editor.open_diffs[review.number]
    if what == "restored":
        await reverted(work, review, 2)
        assert diff.text == AGENTS
    elif what == "undone":
        diff.text = AGENTS
        await work.reviews.texts.compared(review.number, AGENTS)
        diff.text += "mine\n"  # also then
    elif what == "withdrawn":
        work.reviews.withdraw(review.owner)
    else:
        work.reviews.open(review.owner, review.file_path, "another\n")
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "b.py" in work.rows)
    assert diff.text.removesuffix("mine\n") == (AGENTS if what in ("restored", "undone") else HALF)


async def test_where_nothing_was_decided_that_is_said(work: Work):
    await work.begun()
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.editor.mentioned)
    assert ("There is no decision to take back.", WINDOW) in work.editor.mentioned


async def test_a_renamed_file_that_is_kept_with_what_is_at_its_old_path_is_listed_as_kept(work: Work):
    """It was gone from the list without a word."""
    await work.begun()
    (work.path / "a.py").rename(work.path / "moved.py")
    await work.until(lambda: set(work.rows) == {"moved.py"})
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: set(work.rows) == {"a.py", "moved.py"})
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "keep")
    await work.until(lambda: "a.py" not in work.rows)
    assert [(row.path, state) for row, state in work.rounds.listing(WINDOW).done] == [
        ("a.py", "kept"),
        ("moved.py", "kept"),
    ]
    assert work.editor.mentioned[-1][0] == "Also kept: moved.py, which was a.py."
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "moved.py"})
