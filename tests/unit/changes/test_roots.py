"""One root for each tree: what waits is in one place, and each window decides about its own folders only."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.changes import places
from companion.changes.change_screen import SavedText
from companion.changes.folder import IS_GONE, Folder
from companion.changes.saves import TOLD
from companion.changes.state import RoundState
from companion.editor import WindowId
from companion.settings import Settings

from .folders import committed, tree
from .work import AGENT, CHAT, LINES, WINDOW, Work

SECOND = WindowId(2)


class Windows(Work):
    """Two windows with folders and settings of their own."""

    of_second: list[str]
    settings_of_second: Settings = Settings()

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        return tuple(self.of_second if window == SECOND else self.folders)

    def settings_of(self, window: WindowId) -> Settings:
        return self.settings_of_second if window == SECOND else self.settings

    @property
    def roots(self) -> set[str]:
        return set(self.rounds.roots.folders)

    def listed(self, window: WindowId) -> set[str]:
        return {row.full_path for row in self.rounds.listing(window).rows}

    async def open_both(self) -> None:
        self.rounds.clis(WINDOW, (AGENT,))
        self.rounds.clis(SECOND, (AGENT,))
        await self.until(lambda: self.rounds.roots.opened(WINDOW) and self.rounds.roots.opened(SECOND))
        await self.until(lambda: all(folder.has_round for folder in self.rounds.roots.folders.values()))
        await self.until(lambda: not self.is_beginning)

    @property
    def is_beginning(self) -> bool:
        return any(known.beginning.locked() for known in self.rounds.roots.windows.values())


@pytest.fixture
def windows(work: Work, tmp_path: Path) -> Windows:
    """The first window has the project, the second one a folder in it."""
    inner = work.path / "inner"
    inner.mkdir()
    (inner / "b.py").write_text(LINES)
    found = Windows(tmp_path / "stores", work.folders)
    found.of_second = [str(inner)]
    return found


async def test_an_inner_folder_of_a_window_is_a_part_of_the_outer_one(windows: Windows):
    """A save there is the person's in the outer one too: Undo All leaves it."""
    inner = windows.path / "inner"
    windows.folders.append(str(inner))
    await windows.begun()
    assert windows.roots == {str(windows.path)}
    (inner / "b.py").write_text("mine\n")
    windows.rounds.saved(str(inner / "b.py"))
    (windows.path / "a.py").write_text("agent\n")
    await windows.until(lambda: windows.listed(WINDOW) == {str(windows.path / "a.py")})
    windows.decisions.decide_files(WINDOW, windows.rows_of(WINDOW), "undo")
    await windows.until(lambda: not windows.rows)
    assert (inner / "b.py").read_text() == "mine\n"


async def test_each_window_lists_keeps_and_undoes_its_own_folders_only(windows: Windows):
    await windows.open_both()
    assert windows.roots == {str(windows.path)}
    inner, outer = windows.path / "inner" / "b.py", windows.path / "a.py"
    for path in (inner, outer):
        path.write_text("agent\n")
    await windows.until(lambda: windows.listed(WINDOW) == {str(inner), str(outer)})
    assert windows.listed(SECOND) == {str(inner)}
    windows.decisions.decide_files(SECOND, windows.rows_of(SECOND), "undo")
    await windows.until(lambda: not windows.listed(SECOND))
    assert (inner.read_text(), outer.read_text()) == (LINES, "agent\n")
    assert windows.listed(WINDOW) == {str(outer)}
    windows.decisions.decide_files(WINDOW, windows.rows_of(WINDOW), "undo")
    await windows.until(lambda: not windows.listed(WINDOW))
    windows.decisions.take_back(SECOND)
    await windows.until(lambda: inner.read_text() == "agent\n")
    assert outer.read_text() == LINES
    windows.decisions.take_back(WINDOW)
    await windows.until(lambda: windows.listed(WINDOW) == {str(inner), str(outer)})
    windows.decisions.decide_files(SECOND, windows.rows_of(SECOND), "keep")
    await windows.until(lambda: not windows.listed(SECOND))
    assert windows.listed(WINDOW) == {str(outer)}


async def test_each_window_excludes_by_its_own_setting(windows: Windows):
    windows.settings_of_second = replace(Settings(), context_exclude=("b.py",))
    await windows.open_both()
    (windows.path / "inner" / "b.py").write_text("agent\n")
    await windows.until(lambda: windows.listed(WINDOW) and windows.listed(SECOND))
    assert [row.kind for row in windows.rounds.listing(WINDOW).rows] == ["modified"]
    [row] = windows.rounds.listing(SECOND).rows
    assert (row.kind, row.inserted, row.note) == ("excluded", 0, "changed, excluded")
    windows.decisions.decide_files(SECOND, windows.rows_of(SECOND), "undo")
    windows.decisions.decide_files(SECOND, [row], "undo")
    await windows.until(lambda: any("excluded" in said for said, _ in windows.editor.mentioned))
    assert (windows.path / "inner" / "b.py").read_text() == "agent\n"


async def test_the_agents_of_a_window_are_told_what_was_undone_in_its_own_files_alone(windows: Windows):
    """Another window has the folder, too, and undoes what this one doesn't have, or excludes."""
    (windows.path / "inner" / "c.py").write_text(LINES)
    windows.settings_of_second = replace(Settings(), context_exclude=("c.py",))
    await windows.open_both()
    for name in ("a.py", "inner/b.py", "inner/c.py"):
        (windows.path / name).write_text(f"of the agent in {name}\n{LINES}")
    await windows.until(lambda: len(windows.listed(WINDOW)) == 3)
    windows.decisions.decide_files(WINDOW, windows.rows_of(WINDOW), "undo")
    await windows.until(lambda: not windows.listed(WINDOW))
    told = await windows.rounds.undone_since(SECOND)
    assert told == ["inner/b.py, line 1: “of the agent in inner/b.py” was undone"]
    await windows.rounds.notes_sent(SECOND, told)
    assert await windows.rounds.undone_since(SECOND) == []
    left = await windows.rounds.undone_since(WINDOW)
    assert {line.partition(",")[0] for line in left} == {"a.py", "inner/c.py"}
    windows.settings = replace(windows.settings, context_exclude=("c.py",))
    assert [line.partition(",")[0] for line in await windows.rounds.undone_since(WINDOW)] == ["a.py"]


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_an_outer_folder_that_comes_takes_what_waits_along(windows: Windows, is_restarted: bool):
    inner, all_folders = windows.path / "inner" / "b.py", windows.folders
    windows.folders = windows.of_second
    async with windows:
        await windows.begun()
        inner.write_text("agent\n")
        await windows.until(lambda: windows.listed(WINDOW) == {str(inner)})
        if not is_restarted:
            windows.folders = [*windows.of_second, *all_folders]
            windows.rounds.opened(WINDOW)
            await windows.until(lambda: windows.roots == {str(all_folders[0])})
            await windows.until(lambda: windows.listed(WINDOW) == {str(inner)})
    async with Work(windows.stores, all_folders) as later:
        later.rounds.opened(WINDOW)
        await later.until(lambda: "inner/b.py" in later.rows)
        assert later.rows["inner/b.py"].agents == (AGENT,)
        later.decisions.decide_files(WINDOW, later.rows_of(WINDOW), "undo")
        await later.until(lambda: not later.rows)
        assert inner.read_text() == LINES


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_what_waits_in_a_folder_of_one_that_is_too_large_is_said_to_stay_there(
    windows: Windows, is_restarted: bool, monkeypatch: pytest.MonkeyPatch
):
    inner, [outer] = windows.path / "inner" / "b.py", windows.folders
    windows.folders = windows.of_second
    said = f"What waits in {windows.of_second[0]} isn't listed while {outer} is a folder of the window: that has "
    async with windows:
        await windows.begun()
        inner.write_text("agent\n")
        await windows.until(lambda: windows.listed(WINDOW) == {str(inner)})
        monkeypatch.setattr("companion.snapshots.store.MANY_FILES", 0)
        if not is_restarted:
            windows.folders = [*windows.of_second, outer]
            windows.rounds.opened(WINDOW)
            await windows.until(lambda: any(said in each for each, _ in windows.editor.said))
    if is_restarted:
        async with Work(windows.stores, [outer]) as later:
            later.rounds.opened(WINDOW)
            await later.until(lambda: any(said in each for each, _ in later.editor.said))
    async with Work(windows.stores, windows.of_second) as last:
        last.rounds.opened(WINDOW)
        await last.until(lambda: "b.py" in last.rows)


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_an_outer_folder_that_goes_leaves_what_waits_to_the_inner_one(windows: Windows, is_restarted: bool):
    inner, outer = windows.path / "inner" / "b.py", windows.path / "a.py"
    all_folders = windows.folders
    async with windows:
        await windows.begun()
        inner.write_text("agent\n")
        outer.write_text("agent\n")
        await windows.until(lambda: len(windows.rows) == 2)
        if not is_restarted:
            windows.folders = windows.of_second
            windows.rounds.opened(WINDOW)
            await windows.until(lambda: windows.roots == set(windows.of_second))
            await windows.until(lambda: windows.listed(WINDOW) == {str(inner)})
            windows.decisions.decide_files(WINDOW, windows.rows_of(WINDOW), "keep")
            await windows.until(lambda: not windows.listed(WINDOW))
    if is_restarted:
        async with Work(windows.stores, windows.of_second) as later:
            later.rounds.opened(WINDOW)
            await later.until(lambda: "b.py" in later.rows)
            later.decisions.decide_files(WINDOW, later.rows_of(WINDOW), "keep")
            await later.until(lambda: not later.rows)
    async with Work(windows.stores, all_folders) as last:
        last.rounds.opened(WINDOW)
        await last.until(lambda: set(last.rows) == {"a.py"})
        last.decisions.decide_files(WINDOW, last.rows_of(WINDOW), "undo")
        await last.until(lambda: not last.rows)
        assert (inner.read_text(), outer.read_text()) == ("agent\n", LINES)


@pytest.mark.parametrize("is_changed", [False, True])
async def test_a_file_that_came_from_an_outer_folder_stays_when_that_goes(windows: Windows, *, is_changed: bool):
    """What an agent has moved into the inner one can't be moved back: an undo brings its lines back at most."""
    inner = windows.path / "inner"
    windows.folders.append(str(inner))
    await windows.begun()
    (windows.path / "a.py").rename(inner / "moved.py")
    if is_changed:
        (inner / "moved.py").write_text(LINES.replace("line 3\n", "agent\n"))
    (inner / "new.py").write_text("agent\n")
    await windows.until(lambda: {"inner/moved.py", "inner/new.py"} <= windows.rows.keys())
    windows.folders.remove(str(windows.path))
    windows.rounds.opened(WINDOW)
    await windows.until(lambda: windows.roots == {str(inner)} and "new.py" in windows.rows)
    windows.decisions.decide_files(WINDOW, windows.rows_of(WINDOW), "undo")
    await windows.until(lambda: not windows.rows)
    assert (inner / "moved.py").read_text() == LINES
    assert not (inner / "new.py").exists()


async def test_folders_that_come_and_go_while_an_agent_is_connected_are_looked_at_at_once(
    windows: Windows, tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    await windows.begun()
    windows.folders.append(str(other))
    windows.rounds.opened(WINDOW)
    await windows.until(lambda: str(other) in windows.roots and windows.rounds.roots.folder(str(other)))
    (other / "new.txt").write_text("agent\n")
    await windows.until(lambda: windows.listed(WINDOW) == {str(other / "new.txt")})
    windows.folders.remove(str(other))
    windows.rounds.opened(WINDOW)
    await windows.until(lambda: not windows.listed(WINDOW))
    assert windows.roots == {str(windows.path)}


async def test_a_nested_repository_stays_one_when_its_window_has_the_outer_folder_too(windows: Windows):
    committed(windows.path / "inner")
    before = tree(windows.path)
    await windows.open_both()
    (windows.path / "inner" / "b.py").write_text("agent\n")
    await windows.until(lambda: windows.listed(WINDOW) == windows.listed(SECOND) != set())
    windows.decisions.decide_files(SECOND, windows.rows_of(SECOND), "undo")
    await windows.until(lambda: not windows.listed(WINDOW))
    assert tree(windows.path) == before


async def test_a_nested_repository_whose_git_folder_an_agent_has_removed_stays_one_after_a_restart(work: Work):
    nested = work.path / "nested"
    nested.mkdir()
    (nested / "b.py").write_text(LINES)
    committed(nested)
    before = tree(work.path)
    async with work:
        await work.begun()
        await work.until(lambda: not any(folder.left_to_copy for folder in work.known.folders.values()))
        shutil.rmtree(nested / ".git")
        (nested / "b.py").write_text("agent\n")
        (nested / "new.py").write_text("agent\n")
        await work.until(lambda: work.rows.keys() == {"b.py", "new.py"})
    for _ in range(2):
        async with Work(work.stores, work.folders) as later:
            later.rounds.opened(WINDOW)
            await later.until(lambda: later.rows)
            assert {path: row.kind for path, row in later.rows.items()} == {"b.py": "modified", "new.py": "created"}
    async with Work(work.stores, work.folders) as later:
        await later.begun()
        later.decisions.decide_files(WINDOW, later.rows_of(WINDOW), "undo")
        await later.until(lambda: not later.rows)
    assert tree(work.path) == before


async def test_a_nested_repository_that_an_agent_has_removed_is_listed_once_its_folder_is_there_again(work: Work):
    """Nobody can tell that from a disk that is away; `.git` is not copied, and stays lost."""
    nested = work.path / "nested"
    nested.mkdir()
    (nested / "b.py").write_text(LINES)
    committed(nested)
    async with work:
        await work.begun()
        await work.until(lambda: not any(folder.left_to_copy for folder in work.known.folders.values()))
        shutil.rmtree(nested)
        await work.until(lambda: any(IS_GONE in said for said, _ in work.editor.said))
        nested.mkdir()
        await work.until(lambda: {path: row.kind for path, row in work.rows.items()} == {"b.py": "deleted"})
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: not work.rows)
        assert (nested / "b.py").read_text() == LINES


@pytest.mark.parametrize("is_gone", [False, True])
async def test_what_was_a_nested_repository_belongs_to_a_round_that_is_begun_anew(work: Work, *, is_gone: bool):
    nested = work.path / "nested"
    nested.mkdir()
    (nested / "b.py").write_text(LINES)
    committed(nested)
    async with work:
        await work.begun()
        (nested / "b.py").write_text("agent\n")
        await work.until(lambda: work.rows.keys() == {"b.py"})
        shutil.rmtree(nested if is_gone else nested / ".git")
        work.rounds.begin(WINDOW)
        await work.until(lambda: not work.rows and not work.known.beginning.locked())
        assert work.known.folders.keys() == {str(work.path)}
        nested.mkdir(exist_ok=True)
        (nested / "b.py").write_text("agent again\n")
        await work.until(lambda: work.rows)
        assert work.rows.keys() == {"nested/b.py"}


async def test_what_waits_is_there_after_a_restart_without_any_agent(work: Work):
    async with work:
        await work.begun()
        (work.path / "a.py").write_text("agent\n")
        await work.until(lambda: "a.py" in work.rows)
    async with Work(work.stores, work.folders) as later:
        later.rounds.opened(WINDOW)
        await later.until(lambda: "a.py" in later.rows)
        assert later.rows["a.py"].agents == (AGENT,)
        later.decisions.decide_files(WINDOW, later.rows_of(WINDOW), "undo")
        await later.until(lambda: not later.rows)
        assert (work.path / "a.py").read_text() == LINES
        later.decisions.take_back(WINDOW)
        await later.until(lambda: "a.py" in later.rows)


async def test_no_round_begins_because_a_window_opens(work: Work):
    work.rounds.opened(WINDOW)
    await work.until(lambda: not work.tasks)
    assert not work.stores.exists()
    assert not work.rounds.roots.folders


async def test_a_reload_waits_for_the_worker_of_the_instance_before(work: Work, tmp_path: Path):
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    folder: Folder = work.known.folders[work.folders[0]]
    go_on = asyncio.Event()
    loop = asyncio.get_running_loop()
    busy = asyncio.create_task(folder.call(lambda: asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()))
    await asyncio.sleep(0.1)
    work.rounds.close()
    async with Work(work.stores, work.folders) as later:
        later.rounds.clis(WINDOW, (AGENT,))
        await asyncio.sleep(4)
        assert not later.rows
        assert len([path for path in work.stores.iterdir() if path.is_dir()]) == 1
        go_on.set()
        await later.until(lambda: "a.py" in later.rows)
        await asyncio.gather(busy, return_exceptions=True)


def test_a_store_is_known_by_its_root(tmp_path: Path):
    assert places.related(str(tmp_path), str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize("name", ["plain", "josé", "日本 😀", 'a "quoted" one', "back\\slash"])
def test_a_store_below_or_above_is_found_whatever_its_path_has_in_it(tmp_path: Path, name: str):
    stores, outer = tmp_path / "stores", str(tmp_path / name)
    inner = os.path.join(outer, "inner")
    for root in (outer, inner):
        store = stores / places.store_name(root)
        store.mkdir(parents=True)
        RoundState(root).write(str(store))
    assert places.related(outer, str(stores)) == [inner]
    assert places.related(os.path.join(outer, "another"), str(stores)) == [outer]


async def test_two_spellings_of_one_folder_that_is_gone_are_one_root(windows: Windows, monkeypatch: pytest.MonkeyPatch):
    """Windows tells how a folder is spelled only if there is one. Another window with it changes nothing."""
    monkeypatch.setattr(os.path, "normcase", str.lower)
    one, other = (str(windows.path / name) for name in ("gone", "GONE"))
    windows.folders, windows.of_second = [one], [other]
    windows.rounds.clis(WINDOW, (AGENT,))
    await windows.until(lambda: windows.rounds.roots.troubles(WINDOW))
    windows.rounds.clis(SECOND, (AGENT,))
    await windows.until(lambda: windows.rounds.roots.troubles(SECOND))
    await windows.until(lambda: not windows.is_beginning)
    assert windows.roots == {one}
    assert windows.rounds.roots.troubles(WINDOW) == windows.rounds.roots.troubles(SECOND)


async def test_a_turn_that_two_windows_know_of_is_waited_for_in_each(windows: Windows):
    """It is one session that both show."""
    windows.of_second, sent = [], time.time_ns()
    await windows.begun()
    async with windows.known.folders[str(windows.path)].lock:
        for window in (WINDOW, SECOND):
            windows.rounds.turn_began(window, CHAT, "Agent", "turn-1", "make it better", sent)
        (windows.path / "a.py").write_text("agent\n")
        await asyncio.sleep(0.2)
        texts = windows.background(windows.rounds.turn_texts(WINDOW, "turn-1"))
        await asyncio.wait({texts}, timeout=0.5)
    assert await texts == [(str(windows.path / "a.py"), LINES, "agent\n")]


MINE = LINES.replace("line 3\n", "mine\n")


def save(work: Work, path: Path, text: str = MINE) -> None:
    """The person saves a file."""
    loaded, since = path.read_text() if path.exists() else "", time.time_ns()
    path.write_text(text)
    work.rounds.saved(str(path), SavedText(loaded, text, since=since, until=time.time_ns()))


async def undo_all_leaves_what_was_saved(work: Work, path: Path) -> None:
    """Of what has come by now, an agent's file is there, too."""
    await work.begun()
    await work.until(lambda: "agents.py" in work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows and not (work.path / "agents.py").exists())
    assert path.read_text() == MINE


@pytest.mark.parametrize("pause", [0, 0.01, 0.05, 0.2])
async def test_a_save_just_before_its_window_closes_is_the_persons(work: Work, pause: float):
    await work.begun()
    save(work, path := work.path / "a.py")
    (work.path / "agents.py").write_text("agent\n")
    await asyncio.sleep(pause)
    work.rounds.window_closed(WINDOW)
    work.rounds.opened(WINDOW)
    await undo_all_leaves_what_was_saved(work, path)


@pytest.mark.parametrize("pause", [0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_save_just_before_the_editor_ends_is_the_persons(work: Work, pause: float, is_new: bool):
    path = work.path / ("new.py" if is_new else "a.py")
    async with work:
        await work.begun()
        (work.path / "agents.py").write_text("agent\n")
        save(work, path)
        await asyncio.sleep(pause)
    async with Work(work.stores, work.folders) as later:
        await undo_all_leaves_what_was_saved(later, path)


@pytest.mark.parametrize("is_copied_late", [False, True])
async def test_saves_that_a_busy_worker_had_not_noted_before_a_kill_are_the_persons(
    work: Work, tmp_path: Path, is_copied_late: bool
):
    """Of the second save of a file, too, and none is noted again once it was."""
    path, killed = work.path / "a.py", tmp_path / "killed"
    async with work:
        await work.begun()
        async with work.known.folders[str(work.path)].lock:
            (work.path / "agents.py").write_text("agent\n")
            path.write_text(LINES.replace("line 20\n", "agent\n"))
            await asyncio.sleep(0.05)
            save(work, path, path.read_text().replace("line 9\n", "line nine\n"))
            save(work, path, path.read_text().replace("line 3\n", "mine\n").replace("line nine\n", "line 9\n"))
            await asyncio.to_thread(told_of, work.stores)
            if not is_copied_late:
                await asyncio.to_thread(shutil.copytree, work.stores, killed)
        if is_copied_late:
            await work.until(lambda: not list(work.stores.rglob(TOLD)))
            await asyncio.to_thread(shutil.copytree, work.stores, killed)
    async with Work(killed, work.folders) as later:
        await undo_all_leaves_what_was_saved(later, path)


async def test_a_folder_whose_disk_hangs_keeps_no_save_of_another_one_out_of_its_store(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (other := tmp_path / "a slow one").mkdir()
    work.folders.append(str(other))
    answers, real = threading.Event(), Folder.keep_told

    def keep_told(self: Folder, *args: Any) -> None:
        if self.root == str(other):
            answers.wait(60)
        real(self, *args)

    monkeypatch.setattr(Folder, "keep_told", keep_told)
    async with work:
        await work.begun()
        slow, folder = (work.known.folders[root] for root in (str(other), str(work.path)))
        try:
            async with slow.lock, folder.lock:
                save(work, other / "b.py")
                save(work, work.path / "a.py")
                assert len(await asyncio.to_thread(told_of, work.stores)) == 1
        finally:
            answers.set()


async def test_a_save_in_a_nested_repository_just_before_the_editor_ends_is_noted_there(work: Work):
    nested = work.path / "nested"
    nested.mkdir()
    (path := nested / "a.py").write_text(LINES)
    committed(nested)
    async with work:
        await work.begun()
        (work.path / "agents.py").write_text("agent\n")
        save(work, path)
    async with Work(work.stores, work.folders) as later:
        await undo_all_leaves_what_was_saved(later, path)
    assert not list(work.stores.rglob(TOLD))


async def test_a_deletion_just_before_the_editor_ends_is_the_persons(work: Work):
    async with work:
        await work.begun()
        (work.path / "agents.py").write_text("agent\n")
        (work.path / "a.py").unlink()
        work.rounds.handled([str(work.path / "a.py")], is_renamed=False)
    async with Work(work.stores, work.folders) as later:
        await later.begun()
        await later.until(lambda: later.rows)
        assert later.rows.keys() == {"agents.py"}


async def test_what_an_agent_writes_after_the_last_save_of_an_editor_is_its_own(work: Work):
    async with work:
        await work.begun()
        save(work, path := work.path / "a.py")
    path.write_text(MINE.replace("line 20\n", "agent\n"))
    later = time.time() + 10
    os.utime(path, (later, later))  # no formatter is at work so long
    (work.path / "agents.py").write_text("agent\n")
    async with Work(work.stores, work.folders) as after:
        await undo_all_leaves_what_was_saved(after, path)


@pytest.mark.parametrize("is_ignored", [False, True])
async def test_no_text_of_an_excluded_or_ignored_file_is_left_in_the_store(work: Work, is_ignored: bool):
    secret = work.path / ("ignored" if is_ignored else ".env")
    (work.path / ".gitignore").write_text("ignored\n")
    secret.write_text("KEY=old\n")
    async with work:
        await work.begun()
        save(work, secret, "KEY=new\n")
        save(work, work.path / "a.py")
    [left] = await asyncio.to_thread(told_of, work.stores)
    assert "KEY" not in left
    assert "line 4" in left


def told_of(stores: Path) -> list[str]:
    """What is left there, once the workers have ended."""
    for _ in range(100):
        if found := list(stores.rglob(TOLD)):
            return [path.read_text() for path in found]
        time.sleep(0.05)
    return []


async def test_what_was_told_and_is_damaged_is_gone_with_one_warning(work: Work, caplog: pytest.LogCaptureFixture):
    async with work:
        await work.begun()
    store = await asyncio.to_thread(places.hold, str(work.path), str(work.stores))
    Path(store.path, TOLD).write_text("[[")
    store.release()
    for _ in range(2):
        async with Work(work.stores, work.folders) as later:
            await later.begun()
    assert caplog.text.count("is lost") == 1


async def test_what_an_agent_wrote_right_before_its_window_was_closed_is_its_own_in_another_one(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
):
    """Nobody is at work there, and whoever comes next has not written it."""
    async with windows:
        await windows.open_both()
        windows.rounds.clis(SECOND, ())
        await windows.until(lambda: not windows.rounds.roots.window(SECOND).at_work)
        watching = windows.known.watching
        assert watching
        watching.cancel()
        while windows.tasks:  # the last scan may not have ended
            await asyncio.gather(*windows.tasks, return_exceptions=True)
        (windows.path / "inner" / "b.py").write_text("agent\n")
        windows.rounds.window_closed(WINDOW)
        windows.rounds.clis(SECOND, ("Another",))
        await windows.until(lambda: windows.listed(SECOND))
        [row] = windows.rows_of(SECOND)
        assert row.agents == (AGENT,)
        folder = windows.rounds.roots.folders[str(windows.path)]
        await windows.until(lambda: not folder.gone and folder.round.state.working == ["Another"])
        assert len(windows.rows_of(SECOND)) == 1
