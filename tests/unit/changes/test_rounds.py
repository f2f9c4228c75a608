"""The rounds of windows: when they begin, who is at work, what is said, and what the person decides."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.changes import places
from companion.changes.change_screen import SavedText
from companion.changes.decisions import Preview
from companion.changes.folder import Folder
from companion.changes.journal import Intent
from companion.changes.state import Decision
from companion.editor import WindowId

from .folders import committed, tree
from .work import AGENT, CHAT, LINES, WINDOW, Work


async def test_a_round_begins_when_a_cli_connects_and_lists_what_it_writes(work: Work):
    await work.begun()
    (work.path / "a.py").write_text(LINES.replace("line 3\n", "agent\n"))
    await work.until(lambda: "a.py" in work.rows)
    assert work.rows["a.py"].agents == (AGENT,)
    await work.until(lambda: work.editor.turns == [(1, AGENT, 1)])
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES
    assert [state for _, state in work.rounds.listing(WINDOW).done] == ["undone"]
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "a.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
    await work.until(lambda: not work.rows)


async def test_nothing_is_looked_at_with_the_setting_off(work: Work, tmp_path: Path):
    work.settings = replace(work.settings, review="off")
    work.rounds.clis(WINDOW, (AGENT,))
    await asyncio.sleep(0.3)
    assert not (tmp_path / "stores").exists()


async def test_nothing_runs_while_nobody_is_connected(work: Work):
    await work.begun()
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: not work.tasks)


async def test_what_was_changed_while_nobody_was_at_work_is_not_in_the_next_round(work: Work):
    await work.begun()
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: not work.tasks)
    (work.path / "a.py").write_text("the person's, in another editor\n")
    await work.begun()
    await work.until(lambda: not work.tasks or not work.rows)
    await asyncio.sleep(0.3)
    assert work.rows == {}


async def test_what_was_changed_while_nobody_was_at_work_leaves_what_was_before_the_round_goes_on(work: Work):
    """Take Back and the checkpoints: also of a file that was changed in another editor meanwhile."""
    folder = await work.in_turn()
    (work.path / "a.py").write_text(agents := LINES.replace("line 3\n", "agent\n"))
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: not work.known.at_work)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
    await work.until(lambda: not work.rows and not work.tasks)
    (work.path / "a.py").write_text(agents.replace("line 20\n", "mine\n"))
    (work.path / "c.py").write_text("the person's\n")
    (work.path / ".gitignore").write_text("*.log\n")
    (work.path / "some.log").write_text("an output\n")
    await work.begun()
    await work.until(lambda: folder.round.state.saves and not work.rows)
    assert work.editor.said == []
    assert [each.turn for each in folder.round.state.checkpoints] == ["turn-1"]
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})
    assert (work.rows["a.py"].inserted, work.rows["a.py"].agents) == (1, ("Agent",))
    [point] = await work.decisions.points(WINDOW)
    await work.restore(point)
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES.replace("line 20\n", "mine\n")
    assert (work.path / "c.py").read_text() == "the person's\n"
    assert not (work.path / "b.py").exists()


async def test_a_turn_of_a_chat_takes_a_checkpoint_and_says_once_what_it_has_changed(work: Work):
    await work.in_turn()
    (work.path / "a.py").write_text(LINES.replace("line 3\n", "first\n"))
    (work.path / "new.txt").write_text("new\n")
    await work.until(lambda: len(work.rows) == 2)
    (work.path / "a.py").write_text(LINES.replace("line 3\n", "second\n"))
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: work.editor.turns == [(1, "Agent", 2)])
    assert work.turns == [(7, "turn-1", 2)]
    (work.path / "later.txt").write_text("later\n")
    texts = await work.rounds.turn_texts(WINDOW, "turn-1")
    assert texts
    found = {os.path.basename(path): (old, new) for path, old, new in texts}
    assert found == {"a.py": (LINES, LINES.replace("line 3\n", "second\n")), "new.txt": ("", "new\n")}
    assert await work.rounds.turn_texts(WINDOW, "another") is None
    usual, work.settings = work.settings, replace(work.settings, context_exclude=("new.*",))
    assert [path for path, _, _ in await work.rounds.turn_texts(WINDOW, "turn-1") or ()] == [str(work.path / "a.py")]
    work.settings = usual
    (point,) = await work.decisions.points(WINDOW)
    assert (point.words, point.agent) == ("make it better", "Agent")
    planned = await work.decisions.planned(point)
    assert (planned.changed, planned.deleted) == (("a.py",), ("later.txt", "new.txt"))
    await work.restore(point)
    await work.until(lambda: (work.path / "a.py").read_text() == LINES)
    await work.until(lambda: not (work.path / "new.txt").exists())


async def test_a_checkpoint_counts_files_in_its_row_in_its_question_and_afterwards_alike(work: Work):
    """A renamed file is one; what was kept before is restored, too, and no longer kept."""
    (work.path / "moved.py").write_text("x = 1\n" * 9)
    (work.path / "gone.py").write_text("gone\n")
    await work.in_turn()
    (work.path / "a.py").write_text(LINES.replace("line 3\n", "first\n"))
    (work.path / "moved.py").rename(work.path / "there.py")
    (work.path / "gone.py").unlink()
    (work.path / "new.txt").write_text("new\n")
    await work.until(lambda: len(work.rows) == 4)
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "keep")
    await work.until(lambda: len(work.rows) == 3)
    (point,) = await work.decisions.points(WINDOW)
    planned = await work.decisions.planned(point)
    assert planned == Preview(("a.py",), ("new.txt",), ("gone.py",), ("there.py → moved.py",))
    assert point.files == planned.files == 4
    await work.restore(point)
    said = "Restored 4 files: 1 changed, 1 deleted, 1 brought back, 1 moved back."
    await work.until(lambda: (said, WINDOW) in work.editor.mentioned)
    assert [state for row, state in work.known.done if row.path == "a.py"] == ["restored"]


async def test_a_restore_does_what_was_shown_of_it_and_no_more(work: Work):
    """What an agent had written while the question was read was undone, too."""
    (work.path / "b.py").write_text("b\n")
    (work.path / "c.py").write_text("c\n")
    folder = await work.in_turn()
    (work.path / "a.py").write_text("agent\n")
    (work.path / "b.py").write_text("agent\n")
    (point,) = await work.decisions.points(WINDOW)
    planned = await work.decisions.planned(point)
    assert planned.changed == ("a.py", "b.py")
    (work.path / "b.py").write_text("later\n")
    (work.path / "c.py").unlink()
    work.decisions.restore(WINDOW, point.root, point.number, planned.shown)
    await work.until(lambda: len(work.editor.mentioned) == 2)
    assert [said for said, _ in work.editor.mentioned] == [
        "Restored 1 file: 1 changed.",
        "Not restored: b.py has changed since and 1 more.",
    ]
    assert (work.path / "a.py").read_text() == LINES
    assert ((work.path / "b.py").read_text(), (work.path / "c.py").exists()) == ("later\n", False)
    checkpoints = folder.round.state.checkpoints
    work.decisions.restore(WINDOW, point.root, point.number, planned.shown)
    await work.until(lambda: len(work.editor.mentioned) == 3)
    assert work.editor.mentioned[-1][0] == "Not restored: b.py has changed since and 1 more."
    assert folder.round.state.checkpoints == checkpoints


@pytest.mark.parametrize("has_ended", [False, True])
async def test_the_changes_of_a_turn_are_those_of_the_disk_before_any_look_has_found_them(work: Work, has_ended: bool):
    await work.in_turn()
    changed = LINES.replace("line 3\n", "agent\n")
    (work.path / "a.py").write_text(changed)
    if has_ended:
        work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    path = str(work.path / "a.py")
    assert await work.rounds.turn_texts(WINDOW, "turn-1") == [(path, LINES, changed)]
    (work.path / "new.txt").write_text("new\n")
    assert await work.rounds.turn_files(WINDOW, "turn-1") == [path, str(work.path / "new.txt")]


async def test_only_what_was_listed_goes_back_to_before_a_turn(work: Work):
    """The person has seen a list and said yes to it; more may have been written by then, or a listed file moved."""
    await work.in_turn()
    (work.path / "a.py").rename(work.path / "moved.py")
    (work.path / "new.txt").write_text("new\n")
    files = await work.rounds.turn_files(WINDOW, "turn-1")
    assert files
    (work.path / "later.txt").write_text("later\n")
    (work.path / "new.txt").write_text("newer\n")
    written, left = await work.rounds.restore_turn(WINDOW, "turn-1", files)
    assert (set(files) <= set(written), left) == (True, ["later.txt has changed since."])
    assert (work.path / "a.py").read_text() == LINES
    assert sorted(each.name for each in work.path.iterdir() if each.is_file()) == ["a.py", "later.txt"]
    await work.until(lambda: set(work.rows) == {"later.txt"})


async def test_the_files_of_a_chat_go_back_to_before_a_turn_with_the_persons_saves(work: Work):
    await work.in_turn()
    (work.path / "a.py").write_text(LINES.replace("line 3\n", "agent\n"))
    (work.path / "new.txt").write_text("new\n")
    await work.until(lambda: len(work.rows) == 2)
    mine = LINES.replace("line 3\n", "agent\n").replace("line 20\n", "mine\n")
    began = time.time_ns()
    (work.path / "a.py").write_text(mine)
    await asyncio.sleep(0.3)  # a scan sees it before the editor has told of it
    work.rounds.saved(str(work.path / "a.py"), SavedText(since=began))
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: work.turns)
    files = [str(work.path / "a.py"), str(work.path / "new.txt")]
    assert await work.rounds.turn_files(WINDOW, "turn-1") == files
    assert await work.rounds.turn_files(WINDOW, "another") is None
    assert await work.rounds.restore_turn(WINDOW, "turn-1", files) == (files, [])
    assert (work.path / "a.py").read_text() == LINES.replace("line 20\n", "mine\n")
    assert not (work.path / "new.txt").exists()
    await work.until(lambda: not work.rows)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: (work.path / "a.py").read_text() == mine)
    await work.until(lambda: set(work.rows) == {"a.py", "new.txt"})


async def test_an_open_file_is_written_in_the_editor_and_never_with_unsaved_edits(work: Work):
    await work.begun()
    changed = LINES.replace("line 3\n", "agent\n")
    path = str(work.path / "a.py")
    (work.path / "a.py").write_text(changed)
    await work.until(lambda: "a.py" in work.rows)
    work.editor.buffers[path] = changed
    work.editor.unsaved_files.add(path)
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: any("unsaved" in said for said, _ in work.editor.mentioned))
    assert (work.path / "a.py").read_text() == changed
    work.editor.unsaved_files.clear()
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == work.editor.buffers[path] == LINES


async def test_a_file_that_is_open_is_told_of_before_it_has_unsaved_text(work: Work):
    """It may be edited before the editor has loaded it again."""
    await work.begun()
    path = work.path / "a.py"
    work.editor.buffers[str(path)] = LINES
    path.write_text("agent\n")
    await work.until(lambda: work.editor.below)
    assert work.editor.below == [(str(path), (AGENT,), LINES.encode())]


async def test_what_a_save_has_overwritten_is_offered_once(work: Work):
    await work.begun()
    path = work.path / "a.py"
    agents, mine = LINES.replace("line 3\n", "agent\n"), LINES.replace("line 20\n", "mine\n")
    work.editor.buffers[str(path)] = mine
    work.editor.unsaved_files.add(str(path))
    path.write_text(agents)
    await work.until(lambda: work.editor.below)
    assert work.editor.below == [(str(path), (AGENT,), LINES.encode())]
    path.write_text(mine)
    work.rounds.saved(str(path), SavedText(LINES, mine, agents.encode()))
    await work.until(lambda: work.editor.lost)
    await work.until(lambda: not work.rows)
    assert work.editor.lost == [(str(path), (AGENT,), agents)]
    work.rounds.saved(str(path))
    await asyncio.sleep(0.3)
    assert len(work.editor.lost) == 1


async def test_a_save_that_has_the_agents_change_too_has_overwritten_nothing(work: Work):
    await work.begun()
    path = work.path / "a.py"
    work.editor.buffers[str(path)] = "unsaved"
    work.editor.unsaved_files.add(str(path))
    agents = LINES.replace("line 3\n", "agent\n")
    path.write_text(agents)
    await work.until(lambda: work.editor.below)
    both = agents.replace("line 20\n", "mine\n")
    path.write_text(both)
    work.rounds.saved(str(path), SavedText(LINES, both, agents.encode(), since=time.time_ns()))
    await asyncio.sleep(0.5)
    assert work.editor.lost == []
    assert set(work.rows) == {"a.py"}


async def test_a_nested_repository_has_a_round_of_its_own(work: Work):
    (work.path / "nested").mkdir()
    (work.path / "nested/x.txt").write_text("x\n")
    committed(work.path / "nested")
    before = tree(work.path)
    await work.begun()
    await work.until(lambda: len(work.known.folders) == 2)
    await work.until(lambda: all(each.has_round for each in work.known.folders.values()))
    (work.path / "nested/x.txt").write_text("agent\n")
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"x.txt", "a.py"})
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert tree(work.path) == before


async def checked_out(work: Work) -> None:
    """The round begins, and somebody checks another branch out, in which a.py differs."""
    committed(work.path)
    from .folders import git  # noqa: PLC0415

    git(work.path, "checkout", "-q", "-b", "other")
    (work.path / "a.py").write_text("other\n")
    git(work.path, "commit", "-qam", "other")
    git(work.path, "checkout", "-q", "main")
    await work.begun()
    git(work.path, "checkout", "-q", "other")
    await work.until(lambda: work.rows)


async def test_what_git_has_changed_is_listed_until_the_person_says_that_it_is_theirs(work: Work):
    await checked_out(work)
    await work.until(lambda: work.editor.said)
    said = "“git checkout” changed 1 file. You? “Qwen: They Are Mine”."
    assert work.editor.said == [(said, WINDOW)]
    assert work.editor.confirmed == []  # nothing modal
    assert work.rounds.listing(WINDOW).by_git == 1
    (work.path / "b.py").write_text("an agent's\n")
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})
    work.decisions.they_are_mine(WINDOW)
    await work.until(lambda: set(work.rows) == {"b.py"})
    assert work.rounds.listing(WINDOW).by_git == 0
    assert work.editor.settled == [said]
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == "other\n"


async def test_nobody_is_asked_any_longer_about_what_git_has_changed_and_waits_no_more(work: Work):
    await checked_out(work)
    await work.until(lambda: work.rounds.listing(WINDOW).by_git)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert work.rounds.listing(WINDOW).by_git == 0
    assert work.editor.settled == [work.editor.said[0][0]]


async def test_a_large_folder_is_named_once_and_a_round_that_the_person_begins_takes_it(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("companion.snapshots.store.MANY_FILES", 0)
    (work.path / "a.py").write_text("one\n")
    work.rounds.clis(WINDOW, (AGENT,))
    await work.until(lambda: work.editor.said)
    work.rounds.clis(WINDOW, (AGENT, "Gemini CLI"))
    await asyncio.sleep(0.3)
    [(said, _)] = work.editor.said
    assert said.endswith("“Qwen: Begin Review Round” takes snapshots all the same.")
    assert work.editor.confirmed == []
    assert not next(iter(work.known.folders.values())).has_round
    assert work.rounds.listing(WINDOW).unsure == said
    work.rounds.begin(WINDOW)
    await work.until(lambda: next(iter(work.known.folders.values())).has_round)
    (work.path / "a.py").write_text("two\n")
    await work.until(lambda: work.rows)
    assert work.editor.settled == [said]


async def test_without_git_one_sentence_says_so(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    work.rounds.clis(WINDOW, (AGENT,))
    await work.until(lambda: work.editor.said)
    work.rounds.clis(WINDOW, ())
    work.rounds.clis(WINDOW, (AGENT,))
    await asyncio.sleep(0.3)
    assert len(work.editor.said) == 1
    assert "Git is not on the PATH of Sublime Text" in work.editor.said[0][0]


async def test_a_folder_that_vanishes_is_said_once(work: Work):
    await work.begun()
    work.path.rename(work.path.parent / "elsewhere")
    await work.until(lambda: any("gone" in said for said, _ in work.editor.said))
    await asyncio.sleep(0.3)
    assert len(work.editor.said) == 1


async def test_two_windows_share_a_folder(work: Work):
    await work.begun()
    work.rounds.clis(WindowId(2), (AGENT,))
    await work.until(lambda: work.rounds.roots.window(WindowId(2)).folders)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rounds.listing(WINDOW).rows and work.rounds.listing(WindowId(2)).rows)
    work.rounds.window_closed(WINDOW)
    work.decisions.decide_files(WindowId(2), work.rows_of(WindowId(2)), "undo")
    await work.until(lambda: not work.rounds.listing(WindowId(2)).rows)
    assert (work.path / "a.py").read_text() == LINES


async def test_what_is_written_while_a_second_window_connects_is_its_agents(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """Nobody was at work in the second one until then."""
    await work.begun()
    work.rounds.opened(WindowId(2))
    await work.until(lambda: work.rounds.roots.opened(WindowId(2)))
    resume = Folder.resume

    def written_first(folder: Folder) -> bool:
        (work.path / "a.py").write_text("agent\n")
        return resume(folder)

    monkeypatch.setattr(Folder, "resume", written_first)
    work.rounds.turn_began(WindowId(2), CHAT, "Agent", "turn-1", "make it better", time.time_ns() + 10**9)
    await work.until(lambda: work.rounds.listing(WindowId(2)).rows)
    assert work.rows["a.py"].agents == (AGENT,)


@pytest.mark.parametrize("is_in_turn", [True, False], ids=["in a turn", "beside a cli"])
async def test_a_window_that_has_closed_does_not_come_back(work: Work, *, is_in_turn: bool):
    """What was on its way for it ends without it."""
    await work.begun()
    if is_in_turn:
        work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", 0)
        work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    else:
        work.rounds.clis(WINDOW, ())
    asked = work.background(work.rounds.turn_texts(WINDOW, "turn-1"))
    work.rounds.window_closed(WINDOW)
    await asyncio.wait({asked})
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: not work.tasks)
    assert not work.rounds.roots.windows


async def test_a_turn_that_goes_on_over_a_reload_has_begun_before_it(work: Work):
    path = work.path / "a.py"
    await work.in_turn()
    path.write_text("before the reload\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.close()
    async with Work(work.stores, work.folders) as later:
        folder = await later.in_turn()
        await later.until(lambda: "a.py" in later.rows)
        (work.path / "b.py").write_text("after it\n")
        later.rounds.turn_ended(WINDOW, CHAT, "turn-1")
        await later.until(lambda: later.turns)
        assert later.turns == [(CHAT, "turn-1", 2)]
        assert [each.turn for each in folder.round.state.checkpoints] == ["turn-1"]
        files = await later.rounds.turn_files(WINDOW, "turn-1")
        assert files
        await later.rounds.restore_turn(WINDOW, "turn-1", files)
        assert path.read_text() == LINES


async def test_forgotten_snapshots_are_gone_and_begin_anew(work: Work):
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.forget(WINDOW)
    await work.until(lambda: not work.rows)
    await work.until(lambda: all(each.has_round for each in work.known.folders.values()))
    (work.path / "a.py").write_text("again\n")
    await work.until(lambda: "a.py" in work.rows)


async def test_to_forget_snapshots_frees_all_of_them_and_the_journal(work: Work):
    """Also the stores of other folders, and of a folder that nobody works in."""
    await work.begun()
    folder = work.known.folders[str(work.path)]
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    await folder.call(folder._opened.journal.begin, Intent("undo", folder.undo.plan(folder.round.waiting())[0]))
    other = Path(places.hold("/other", str(work.stores)).path)
    (other / "objects").mkdir(parents=True)
    (other / places.ROUND).write_text("{}")
    (other / "objects/blob").write_text("secret")
    assert list(work.stores.glob("*/journal.json"))
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: not work.known.at_work)
    work.rounds.forget(WINDOW)
    await work.until(lambda: work.editor.mentioned)
    assert [path for path in work.stores.rglob("*") if path.is_dir()] == []
    assert {path.name.rpartition(".")[2] for path in work.stores.iterdir()} <= {"lock", "pid"}
    assert not work.rows


async def test_snapshots_that_another_editor_has_or_the_disk_keeps_are_said_to_stay(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """A secret may be in them, and the person believes what is said to be gone."""
    await work.begun()
    place = places.hold("/other", str(work.stores))
    for root in ("/other", "/refused", "/gone"):
        store = work.stores / places.store_name(root)
        (store / "objects").mkdir(parents=True)
        (store / "objects/blob").write_text("secret")
    real = shutil.rmtree

    def refuses(path: str, **more: Any) -> None:
        if not path.endswith(places.store_name("/refused")):
            real(path, **more)

    monkeypatch.setattr(shutil, "rmtree", refuses)
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: not work.known.at_work)
    work.rounds.forget(WINDOW)
    await work.until(lambda: work.editor.said)
    [said] = [said for said, _ in work.editor.said]
    assert said.startswith("Snapshots removed: 2. Not removed: 2.")
    assert {path.name for path in work.stores.iterdir() if path.is_dir()} == {
        places.store_name(root) for root in ("/other", "/refused")
    }
    place.release()


async def test_what_the_setting_excludes_is_listed_without_content(work: Work):
    (work.path / ".env.local").write_text("SECRET=1\n")
    await work.begun()
    (work.path / ".env.local").write_text("SECRET=22\n")
    await work.until(lambda: ".env.local" in work.rows)
    assert (work.rows[".env.local"].kind, work.rows[".env.local"].note) == ("excluded", "changed, excluded")
    work.decisions.decide_files(WINDOW, [work.rows[".env.local"]], "undo")
    await work.until(lambda: any("excluded" in said for said, _ in work.editor.mentioned))
    assert (work.path / ".env.local").read_text() == "SECRET=22\n"


async def test_a_folder_that_gets_no_snapshots_is_a_trouble_of_its_window(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(work.path))
    monkeypatch.setenv("USERPROFILE", str(work.path))
    work.rounds.clis(WINDOW, (AGENT,))
    await work.until(lambda: work.editor.said)
    assert list(work.rounds.roots.troubles(WINDOW)) == [work.editor.said[0][0]]
    assert "home folder" in work.editor.said[0][0]


def test_the_home_folder_and_a_disk_get_no_snapshots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    (tmp_path / "home" / "project").mkdir(parents=True)
    assert places.refusal(str(tmp_path / "home"))
    assert places.refusal(str(tmp_path))
    assert places.refusal(os.path.abspath(os.sep))
    assert places.refusal(str(tmp_path / "home" / "project")) is None


def test_a_second_editor_has_a_store_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(places, "_is_own", lambda path: False)  # each is another process
    first = places.hold("/x", str(tmp_path))
    second = places.hold("/x", str(tmp_path))
    assert first.path != second.path
    first.release()
    third = places.hold("/x", str(tmp_path))
    assert third.path == first.path
    second.release()
    third.release()


def test_stores_go_after_30_days_and_the_oldest_above_1_gb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number, age in enumerate((40, 20, 10, 1)):
        store = tmp_path / f"store{number}"
        store.mkdir()
        (store / "data").write_bytes(b"x" * 600)
        at = os.stat(store).st_mtime - age * 86_400
        os.utime(store, (at, at))
    monkeypatch.setattr(places, "SIZE", 1500)
    held = places._locked(str(tmp_path / "store1.lock"))
    assert held
    gone = {os.path.basename(path) for path in places.shrink(str(tmp_path))}
    assert gone == {"store0", "store2"}
    held.close()


@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_all_means_what_was_listed_as_it_was_listed(work: Work, decision: Decision):
    """Not what a scan finds that was running when the key was pressed, or the one before an undo."""
    await work.begun()
    for name in ("one.py", "grows.py"):
        (work.path / name).write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"one.py", "grows.py"})
    folder = work.known.folders[work.folders[0]]
    async with folder.lock:
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), decision)
        await asyncio.sleep(0.1)
        (work.path / "two.py").write_text("unseen\n")
        (work.path / "grows.py").write_text("agent\nunseen\n")
        await folder.call(folder.scan)
    await work.until(lambda: set(work.rows) == {"two.py", "grows.py"})
    assert (work.path / "one.py").exists() == (decision == "keep")
    assert (work.path / "two.py").exists()
    assert (work.path / "grows.py").read_text() == "agent\nunseen\n"
    assert work.editor.said == []


@pytest.mark.parametrize("is_in_turn", [False, True])
async def test_where_all_of_it_has_changed_since_that_is_said(work: Work, is_in_turn: bool):
    await (work.in_turn() if is_in_turn else work.begun())
    (work.path / "one.py").write_text("agent\n")
    await work.until(lambda: work.rows)
    folder = work.known.folders[work.folders[0]]
    async with folder.lock:
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep")
        await asyncio.sleep(0.1)
        (work.path / "one.py").write_text("agent\nunseen\n")
        await folder.call(folder.scan)
    said = [f"Not {done}: one.py has changed since." for done in ("undone", "kept")]
    await work.until(lambda: [words for words, _ in work.editor.mentioned] == said)
    assert (work.path / "one.py").exists()
    assert work.rows["one.py"].going is None


async def test_a_file_is_not_undone_if_an_agent_has_written_on_since_it_was_listed(work: Work):
    await work.begun()
    (work.path / "new.py").write_text("one\n")
    await work.until(lambda: "new.py" in work.rows)
    row = work.rows["new.py"]
    (work.path / "new.py").write_text(text := "one\n" + "never listed\n" * 50)
    work.decisions.decide_files(WINDOW, [row], "undo")
    await work.until(lambda: any("new.py has changed since" in said for said, _ in work.editor.mentioned))
    assert (work.path / "new.py").read_text() == text
    await work.until(lambda: work.rows["new.py"].inserted == 51)
    work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: not (work.path / "new.py").exists())


@pytest.mark.parametrize("what", ["keep", "undo"])
async def test_a_file_is_decided_as_it_was_listed_if_only_the_person_has_saved_it_since(work: Work, what: Decision):
    await work.begun()
    (work.path / "a.py").write_text(text := LINES.replace("line 3\n", "agent\n"))
    await work.until(lambda: "a.py" in work.rows)
    row = work.rows["a.py"]
    (work.path / "a.py").write_text(mine := text.replace("line 20\n", "mine\n"))
    work.rounds.saved(str(work.path / "a.py"), SavedText(text, mine))
    work.decisions.decide_files(WINDOW, [row], what)
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == (mine if what == "keep" else LINES.replace("line 20\n", "mine\n"))
