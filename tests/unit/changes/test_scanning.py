"""What a scan stumbles over ends nothing else: not the watch, not a turn, not the folders beside."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.changes import folder as folder_module
from companion.changes import rounds
from companion.changes.change_screen import SavedText
from companion.changes.folder import Folder
from companion.changes.round import Round
from companion.changes.saves import Saves
from companion.changes.starting import RoundStarts
from companion.editor import WindowId
from companion.snapshots.git import GitCrashedError, GitError, GitStoppedError
from companion.snapshots.objects import StoreObjects
from companion.snapshots.store import Store

from .folders import Folder as Disk
from .work import AGENT, CHAT, LINES, WINDOW, Work

MINE = LINES.replace("line 3\n", "mine\n")


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, error: Exception) -> list[int]:
    """Have the next call of a method fail. Returns a list that is empty until then."""
    real, failed = getattr(owner, name), list[int]()

    def call(*args: Any, **more: Any) -> Any:
        if not failed:
            failed.append(1)
            raise error
        return real(*args, **more)

    monkeypatch.setattr(owner, name, call)
    return failed


@pytest.mark.parametrize("error", [GitError("cat-file: it ended with 128"), RuntimeError("a bug")])
async def test_a_text_that_cannot_be_told_of_does_not_end_the_watch(
    work: Work, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    await work.begun()
    path = work.path / "a.py"
    work.editor.buffers[str(path)] = "unsaved"
    work.editor.unsaved_files.add(str(path))
    failed = failing_once(monkeypatch, Saves, "written_below", error)
    path.write_text(LINES.replace("line 3\n", "agent\n"))
    await work.until(lambda: failed)
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})


@pytest.mark.parametrize("error", [GitError("ls-files: it ended with 128"), RuntimeError("a bug")])
async def test_a_look_that_fails_does_not_end_the_watch(work: Work, monkeypatch: pytest.MonkeyPatch, error: Exception):
    await work.begun()
    failed = failing_once(monkeypatch, Folder, "scan", error)
    await work.until(lambda: failed)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py"})


@pytest.mark.parametrize("error", [GitError("ls-files: it ended with 128"), RuntimeError("a bug")])
async def test_a_turn_is_over_though_its_last_look_has_failed(
    work: Work, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    await work.in_turn()
    (work.path / "new.py").write_text("agent\n")
    await work.until(lambda: "new.py" in work.rows)
    work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: work.rows["new.py"].going)
    failed = failing_once(monkeypatch, Folder, "scan", error)
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: failed and not work.known.at_work)
    await work.until(lambda: not (work.path / "new.py").exists())  # it was to go when the turn ends
    work.errors.clear()  # a bug is reported


async def test_the_next_turn_of_a_chat_is_at_work_while_the_last_one_ends(work: Work):
    found = await work.in_turn()
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-2", "and better", 0)
    await work.until(lambda: [each.turn for each in found.round.state.checkpoints] == ["turn-1", "turn-2"])
    await work.until(lambda: found.round.state.checkpoints[0].end)
    assert work.known.at_work == ("Agent",)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    assert work.rows["a.py"].agents == ("Agent",)


async def test_what_an_agent_writes_before_its_turn_is_seen_belongs_to_that_turn(work: Work):
    """Between the sending of a prompt and the checkpoint there is a scan, which takes its time on a busy machine."""
    await work.begun()
    (work.path / "outside.py").write_text("before\n")
    long_ago = time.time() - 5
    os.utime(work.path / "outside.py", (long_ago, long_ago))
    sent = time.time_ns()
    (work.path / "a.py").write_text("agent\n")
    (work.path / "new.py").write_text("agent\n")
    work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", sent)
    found = work.known.folders[str(work.path)]
    await work.until(lambda: found.round.state.checkpoints)
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: found.round.state.checkpoints[0].end)
    texts = await work.rounds.turn_texts(WINDOW, "turn-1")
    assert texts is not None
    assert [(os.path.basename(path), new) for path, _, new in texts] == [("a.py", "agent\n"), ("new.py", "agent\n")]
    assert texts[1][1] == ""
    files = await work.rounds.turn_files(WINDOW, "turn-1")
    assert files == [str(work.path / name) for name in ("a.py", "new.py")]


@pytest.mark.parametrize("is_over", [False, True], ids=["runs", "is over"])
async def test_what_a_turn_has_written_is_known_however_soon_that_is_asked(
    work: Work, monkeypatch: pytest.MonkeyPatch, *, is_over: bool
):
    """A transcript may tell of the beginning of a turn, its calls and its end at once."""
    await work.begun()
    begin = RoundStarts.begin

    async def slow(starts: RoundStarts, *args: Any, **more: Any) -> None:
        await asyncio.sleep(0.5)
        await begin(starts, *args, **more)

    monkeypatch.setattr(RoundStarts, "begin", slow)
    sent, path = time.time_ns(), work.path / "a.py"
    path.write_text("agent\n")
    work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", sent)
    if is_over:
        work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    texts, files = await asyncio.gather(
        work.rounds.turn_texts(WINDOW, "turn-1"), work.rounds.turn_files(WINDOW, "turn-1")
    )
    assert (texts, files) == ([(str(path), LINES, "agent\n")], [str(path)])
    if is_over:
        path.write_text("later\n")
        assert await work.rounds.turn_texts(WINDOW, "turn-1") == texts
    assert await work.rounds.restore_turn(WINDOW, "turn-1", files or ()) == ([str(path)], [])
    assert path.read_text() == LINES


async def test_a_turn_waits_for_no_first_snapshot(work: Work):
    """That may take long, and its disk may hang."""
    work.rounds.connected(WINDOW)
    await work.until(lambda: work.rounds.roots.opened(WINDOW) and not work.tasks)
    async with work.known.beginning, asyncio.timeout(60):
        work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", time.time_ns())
        (work.path / "a.py").write_text("agent\n")
        await work.until(lambda: work.rows)
        (work.path / "new.py").write_text("agent\n")
        work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
        await work.until(lambda: work.turns)
        assert work.known.at_work == ()
        (work.path / "later.py").write_text("the person's\n")
        files = await work.rounds.turn_files(WINDOW, "turn-1")
        texts = await work.rounds.turn_texts(WINDOW, "turn-1")
    await work.until(lambda: not work.tasks)
    assert {path: row.agents for path, row in work.rows.items()} == {
        "a.py": ("Agent",),
        "later.py": (),
        "new.py": ("Agent",),
    }
    assert work.turns == [(CHAT, "turn-1", 2)]
    assert [os.path.basename(path) for path, _, _ in texts or ()] == ["a.py", "new.py"]
    assert [os.path.basename(path) for path in files or ()] == ["a.py", "later.py", "new.py"]


@pytest.mark.parametrize("held", ["beginning", "lock"])
async def test_a_cli_has_written_what_was_written_since_it_came_however_late_that_is_seen(work: Work, held: str):
    """The snapshot of another window takes long, or the person is asked something."""
    work.rounds.connected(WINDOW)
    await work.until(lambda: work.rounds.roots.opened(WINDOW) and not work.tasks)
    lock = work.known.beginning if held == "beginning" else work.known.folders[str(work.path)].lock
    (work.path / "before.py").write_text("the person's\n")
    async with lock:
        work.rounds.clis(WINDOW, (AGENT,))
        await asyncio.sleep(0.2)
        (work.path / "a.py").write_text("agent\n")
        await asyncio.sleep(0.2)
        work.rounds.clis(WINDOW, ())
        await asyncio.sleep(0.2)
    await work.until(lambda: work.rows and not work.tasks)
    found = {path: row.agents for path, row in work.rows.items()}
    assert found.pop("before.py", ()) == ()
    assert found == {"a.py": (AGENT,)}


@pytest.mark.parametrize("is_over", [False, True], ids=["runs", "is over"])
async def test_what_is_written_while_a_round_is_taken_up_again_is_its_agents(work: Work, *, is_over: bool):
    work.rounds.connected(WINDOW)
    await work.until(lambda: work.rounds.roots.opened(WINDOW) and not work.tasks)
    work.rounds.close()
    (work.path / "before.py").write_text("the person's\n")
    await asyncio.sleep(0.1)
    async with Work(work.stores, work.folders) as later:
        async with later.rounds.roots.entered(WINDOW).beginning:
            later.rounds.opened(WINDOW)
            later.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", time.time_ns())
            await asyncio.sleep(0.2)
            (work.path / "a.py").write_text("agent\n")
            if is_over:
                later.rounds.turn_ended(WINDOW, CHAT, "turn-1")
                await later.until(lambda: not later.known.at_work)
        await later.until(lambda: later.rows)
        assert {path: row.agents for path, row in later.rows.items()} == {"a.py": ("Agent",), "before.py": ()}


async def test_what_an_agent_writes_at_once_after_its_first_prompt_is_listed_as_its_own(work: Work):
    """It may have written before its turn is seen; the round has begun when it connected."""
    work.rounds.connected(WINDOW)
    await work.until(lambda: work.known.folders and work.known.folders[str(work.path)].has_round)
    (work.path / "outside.py").write_text("before\n")
    await asyncio.sleep(0.1)  # a prompt counts from a moment before it was sent: clocks differ
    sent = time.time_ns()
    (work.path / "a.py").write_text("agent\n")
    work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", sent)
    await work.until(lambda: "a.py" in work.rows)
    assert {path: row.agents for path, row in work.rows.items()} == {"a.py": ("Agent",), "outside.py": ()}
    await work.until(lambda: work.known.folders[str(work.path)].round.state.checkpoints)
    texts = await work.rounds.turn_texts(WINDOW, "turn-1")
    assert texts is not None
    assert [os.path.basename(path) for path, _, _ in texts] == ["a.py"]


async def test_what_an_agent_moves_or_deletes_at_once_after_its_first_prompt_is_its_own(work: Work):
    """A moved file has the time of its text still, and a deleted one has none."""
    for name in ("moved.py", "gone.py", "mine.py"):
        (work.path / name).write_text("".join(f"{name} {line}\n" for line in range(20)))
    work.rounds.connected(WINDOW)
    await work.until(lambda: work.known.folders and work.known.folders[str(work.path)].has_round)
    folder = work.known.folders[str(work.path)]
    async with folder.lock:
        await asyncio.sleep(0.1)
        work.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", time.time_ns())
        (work.path / "moved.py").rename(work.path / "new.py")
        (work.path / "gone.py").unlink()
    await work.until(lambda: set(work.rows) == {"new.py", "gone.py"})
    assert {row.agents for row in work.rows.values()} == {("Agent",)}


async def test_a_folder_that_is_let_go_does_not_end_the_watch_of_the_others(work: Work, tmp_path: Path):
    other = tmp_path / "another"
    other.mkdir()
    work.folders.append(str(other))
    await work.begun()
    known = work.known
    await work.until(lambda: len(known.folders) == 2)
    watching = known.watching
    # It goes while the scan waits for it.
    folder = known.folders[str(work.path)]
    async with folder.lock:
        folder.close()
    del known.folders[str(work.path)]
    (other / "b.py").write_text("agent\n")
    await work.until(lambda: "b.py" in work.rows)
    assert watching is not None
    assert not watching.done()


async def test_what_one_window_finds_is_told_in_the_window_whose_agent_wrote_it(work: Work):
    await work.begun()
    second = WindowId(2)
    work.rounds.turn_began(second, CHAT, "Agent", "turn-1", "make it better", 0)
    await work.until(lambda: work.rounds.roots.opened(second) and work.rounds.roots.opened(second)[0].has_round)
    found = work.rounds.roots.opened(second)[0]
    await work.until(lambda: found.round.state.checkpoints)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.turn_ended(second, CHAT, "turn-1")
    await work.until(lambda: (2, "Agent", 1) in work.editor.turns)


def left_alone(work: Work) -> list[str]:
    """What was said of files that were not brought back."""
    return [said for said, _ in work.editor.mentioned if said.startswith("Not ")]


async def undone(work: Work) -> None:
    """Two files of an agent are undone, a.py first."""
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: set(work.rows) == {"b.py"})
    work.decisions.decide_files(WINDOW, [work.rows["b.py"]], "undo")
    await work.until(lambda: not work.rows)
    found = work.rounds.roots.folder(str(work.path))
    await work.until(lambda: found and len(found.round.state.decided) == 2)


async def test_a_file_that_has_changed_since_does_not_stand_before_an_earlier_undo(work: Work):
    await undone(work)
    (work.path / "b.py").write_text("another\n")
    await work.until(lambda: set(work.rows) == {"b.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: (work.path / "a.py").read_text() == "agent\n")
    await work.until(lambda: left_alone(work))
    assert left_alone(work) == ["Not brought back: b.py has changed since."]
    assert (work.path / "b.py").read_text() == "another\n"
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})
    # Where it was left out, it is tried again.
    (work.path / "b.py").unlink()
    await work.until(lambda: set(work.rows) == {"a.py"})
    work.decisions.take_back(WINDOW)
    await work.until((work.path / "b.py").exists)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py"})


async def test_a_tab_with_unsaved_edits_does_not_stand_before_an_earlier_undo(work: Work):
    await undone(work)
    path = str(work.path / "b.py")
    work.editor.buffers[path] = "mine\n"
    work.editor.unsaved_files.add(path)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: (work.path / "a.py").read_text() == "agent\n")
    await work.until(lambda: any("b.py has unsaved edits" in said for said, _ in work.editor.mentioned))
    assert not (work.path / "b.py").exists()


async def test_of_an_undo_of_several_files_those_that_have_not_changed_come_back(work: Work):
    await work.begun()
    for name in ("a.py", "b.py", "c.py"):
        (work.path / name).write_text("agent\n")
    await work.until(lambda: len(work.rows) == 3)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    (work.path / "b.py").write_text("another\n")
    await work.until(lambda: set(work.rows) == {"b.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py", "c.py"})
    assert (work.path / "b.py").read_text() == "another\n"
    await work.until(lambda: left_alone(work))
    assert left_alone(work) == ["Not brought back: b.py has changed since."]
    # What came back is not undone again by the next one, and b.py still can come back.
    (work.path / "b.py").unlink()
    await work.until(lambda: set(work.rows) == {"a.py", "c.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: set(work.rows) == {"a.py", "b.py", "c.py"})
    assert (work.path / "b.py").read_text() == "agent\n"
    assert all(row.agents == (AGENT,) for row in work.rows.values())


async def test_a_restored_checkpoint_that_has_written_nothing_is_taken_back_alone(work: Work):
    """What was undone before it stays undone."""
    await work.begun()
    before = (work.path / "a.py").read_text()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py"})
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: not work.rows)
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"b.py"})
    work.rounds.checkpoint(WINDOW, "go on")
    found = work.rounds.roots.folder(str(work.path))
    assert found
    await work.until(lambda: any(each.words == "go on" for each in found.round.state.checkpoints))
    work.decisions.decide_files(WINDOW, [work.rows["b.py"]], "keep")
    await work.until(lambda: not work.rows)
    (point,) = [each for each in await work.decisions.points(WINDOW) if each.words == "go on"]
    await work.restore(point)
    await work.until(lambda: set(work.rows) == {"b.py"})
    work.decisions.take_back(WINDOW)
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == before
    assert (work.path / "b.py").read_text() == "agent\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")
async def test_a_git_that_stumbles_over_a_file_being_cut_is_run_again_and_nothing_is_said(
    work: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """It reads files as memory: if one becomes shorter meanwhile, the system ends it with SIGBUS."""
    ended, script = tmp_path / "ended", tmp_path / "git-that-ends"
    script.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *update-index*) [ -e "{ended}" ] || {{ : > "{ended}"; kill -BUS $$; }} ;; esac\n'
        f'exec "{folder_module.program()}" "$@"\n'
    )
    script.chmod(0o755)
    await work.begun()
    real = Folder.scan

    def scan(folder: Folder, *args: Any) -> Any:
        monkeypatch.setattr(folder.round.store._git, "_path", str(script))
        return real(folder, *args)

    monkeypatch.setattr(Folder, "scan", scan)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py"})
    assert ended.exists()
    assert work.editor.said == []


@pytest.mark.parametrize("name", ["scan", "differences"])
@pytest.mark.parametrize("is_deleted", [False, True])
async def test_what_the_person_saves_or_deletes_while_a_signal_ends_git_is_theirs(
    work: Work, monkeypatch: pytest.MonkeyPatch, name: str, *, is_deleted: bool
):
    monkeypatch.setattr(rounds, "PAUSE", 3600)  # the word comes before the next scan
    await work.begun()
    folder, path = work.known.folders[work.folders[0]], work.path / "a.py"
    async with folder.lock:
        failed = failing_once(monkeypatch, Store if name == "scan" else StoreObjects, name, GitCrashedError("SIGBUS"))
        if is_deleted:
            path.unlink()
            work.rounds.handled([str(path)], is_renamed=False)
        else:
            path.write_text(MINE)
            work.rounds.saved(str(path), SavedText(LINES, MINE))
        await asyncio.sleep(0.1)  # it waits for the lock
    await work.rounds.roots.events_noted()
    assert failed
    assert folder.rows == []
    assert folder.round.state.known == {}
    of_the_person = folder.round.objects.entry(folder.round.state.base, "a.py")
    data = of_the_person and folder.round.objects.read([of_the_person.blob])[of_the_person.blob]
    assert data == (None if is_deleted else MINE.encode())


@pytest.mark.parametrize("name", ["scan", "differences"])
def test_what_a_look_has_found_that_failed_is_found_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    disk = Disk(tmp_path)
    disk.round.begin()
    disk.write("a.py", "agent\n")
    failing_once(monkeypatch, Store if name == "scan" else StoreObjects, name, GitStoppedError("it took too long"))
    with pytest.raises(GitStoppedError):
        disk.scan()
    disk.scan()
    assert [(row.path, row.agents) for row in disk.round.rows()] == [("a.py", (AGENT,))]


@pytest.mark.parametrize("decides", [False, True])
async def test_a_save_that_could_not_be_noted_is_noted_after_the_next_look_and_before_a_decision(
    work: Work, monkeypatch: pytest.MonkeyPatch, *, decides: bool
):
    await work.begun()
    folder, path = work.known.folders[work.folders[0]], work.path / "a.py"
    if decides:  # nobody looks until then
        work.rounds.clis(WINDOW, ())
        await work.until(lambda: work.known.watching and work.known.watching.done())
    async with folder.lock:
        failed = failing_once(monkeypatch, Store, "scan", GitStoppedError("it took too long"))
        path.write_text(MINE)
        work.rounds.saved(str(path), SavedText(LINES, MINE))
        await asyncio.sleep(0.1)
    await work.until(lambda: failed)
    if decides:
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: folder.round.state.saves)
    await work.until(lambda: not work.rows)
    assert path.read_text() == MINE


@pytest.mark.parametrize("review", ["after", "before"])
async def test_a_person_who_has_chosen_to_review_afterwards_is_not_told_of_a_cli_that_never_asks(
    work: Work, review: str
):
    """The others are: once, and they are told which setting it is."""
    work.settings = replace(work.settings, review=review)
    await work.begun()
    for name in ("a.py", "b.py"):
        (work.path / name).write_text("agent\n")
        await work.until(lambda name=name: name in work.rows)
        work.rounds._announce(WINDOW, AGENT)
    assert len([text for text, _ in work.editor.mentioned if "without asking" in text]) == (review != "after")


async def test_a_cli_that_has_proposed_a_change_is_not_said_to_write_without_asking(work: Work):
    """What it writes after a "yes" in its terminal, or after one that holds for all, the person has allowed."""
    await work.begun()
    work.rounds.proposed(WINDOW, AGENT)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rows)
    work.rounds._announce(WINDOW, AGENT)
    assert (work.editor.mentioned, work.known.unasking) == ([], set())


async def test_a_cli_that_proposes_a_change_is_one_that_asks_until_it_connects_anew(work: Work):
    await work.begun()
    work.known.unasking.add(AGENT)
    work.rounds.proposed(WINDOW, AGENT)
    assert (work.known.unasking, work.known.asking) == (set(), {AGENT})
    work.rounds.clis(WINDOW, ())
    assert work.known.asking == set()


async def test_nobody_is_told_how_to_be_asked_by_a_chat_whose_bar_names_its_mode(work: Work):
    """The daemon of a chat may be connected as a CLI, too, by the same name."""
    await work.begun("Agent", AGENT)
    await work.in_turn()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rows)
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
    await work.until(lambda: not work.known.turns and not work.known.turn_files)
    assert (work.editor.mentioned, work.known.unasking) == ([], set())


async def test_files_that_are_saved_all_at_once_are_noted_with_few_looks(work: Work, monkeypatch: pytest.MonkeyPatch):
    """Each look by itself would take a tenth of a second, and the rest would be an agent's for as long."""
    monkeypatch.setattr("companion.changes.rounds.PAUSE", 60)
    paths = [work.path / f"{number}.py" for number in range(40)]
    for path in paths:
        path.write_text(LINES)
    await work.begun()
    folder = work.known.folders[work.folders[0]]
    folder.scanned_at = 0
    looks: list[Round] = []
    scan = Round.scan
    monkeypatch.setattr(Round, "scan", lambda self, *rest, **named: looks.append(self) or scan(self, *rest, **named))
    mine = LINES.replace("line 3\n", "mine\n")
    for path in paths:
        path.write_text(mine)
        work.rounds.saved(str(path), SavedText(LINES, mine))
    await work.rounds.roots.events_noted()
    assert not work.rows
    assert 1 <= len(looks) < 10
    assert folder.scanned_at > 0
