"""Two windows with folders in each other, an agent, and the person: each line is a token of its owner.

The folders come, go and are handed over, the editor is restarted, and it is killed at any of its writes. Whatever has
happened, an undo of all takes the agent's lines away, brings the baseline's back, and leaves the person's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from companion.changes import journal, saves, state
from companion.changes.change_screen import SavedText
from companion.changes.folder import Folder
from companion.changes.rows import ChangeRow
from companion.changes.state import CLOCK, Decision
from companion.editor import WindowId
from companion.platforms.files import FolderEntry
from companion.snapshots import files

from .folders import committed, edited
from .work import AGENT, WINDOW, Work

SECOND = WindowId(2)
WINDOWS = (WINDOW, SECOND)
FOLDERS = ("", "inner", "inner/deep", "nested")
"""What a window may have. The last one is a repository of its own."""
NAMES = ("a", "inner/b", "inner/deep/c", "nested/d")
STEPS = (
    (FolderEntry, "rename"),
    (files, "delete"),
    (files, "set_mode"),
    (journal, "rename"),
    (journal.Journal, "end"),
    (state, "write_private"),
    (saves, "write_private"),
)
"""What writes into the project, the journal and the round."""
WORKING = ((AGENT,), (AGENT, "Other"), ("Other",), ())

Edit = tuple[str, int]
edits = st.lists(st.tuples(st.sampled_from(("insert", "delete", "replace")), st.integers(0, 8)), min_size=1, max_size=3)
windows = st.sampled_from(WINDOWS)
chosen = st.integers(0, len(NAMES) - 1)
folders = st.lists(st.sampled_from(FOLDERS), max_size=2, unique=True)
decisions = st.sampled_from(get_args(Decision))
numbers = st.integers(0, 4)


class KilledError(BaseException):
    """The editor is killed here."""


@dataclass
class Tracked:
    """A file, and a tab of it."""

    stem: str
    disk: list[str] = field(default_factory=list[str])
    ending: str = "\n"
    baseline: set[str] = field(default_factory=set[str])
    removed: set[str] = field(default_factory=set[str])
    """Of the baseline, by the person."""
    tab: list[str] = field(default_factory=list[str])
    loaded: list[str] = field(default_factory=list[str])
    loaded_text: str = ""
    name: str = ""

    def text(self, lines: Sequence[str]) -> str:
        return "".join(f"{line}\n" for line in lines[:-1]) + "".join(f"{line}{self.ending}" for line in lines[-1:])

    def open(self) -> None:
        """The tab has what is on the disk, and nothing unsaved."""
        self.loaded, self.tab, self.loaded_text = list(self.disk), list(self.disk), self.text(self.disk)

    @property
    def mine(self) -> set[str]:
        return {token for token in tokens(self.disk) if token.startswith("p")}


def tokens(lines: Iterable[str]) -> set[str]:
    """The tokens of lines. A line that the person has changed has its old one, too."""
    return {token for line in lines for token in line.strip().split("+")}


class Editor(Work):
    """An editor with two windows. `of` has the folders of each."""

    of: dict[WindowId, list[str]]

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        return tuple(self.of[window])

    async def settled(self) -> None:
        """Everything that was begun has ended. No scan comes by itself."""
        while True:
            for known in self.rounds.roots.windows.values():
                if known.watching:
                    known.watching.cancel()
            await asyncio.sleep(0)
            if not self.tasks:
                return
            watching = {known.watching for known in self.rounds.roots.windows.values()}
            if waited := self.tasks - watching:
                await asyncio.wait(waited)


class Windows(RuleBasedStateMachine):
    """Files in folders in each other."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="windows-")))
        self.project = self.base / "project"
        self.loop = asyncio.new_event_loop()
        self.count = 0
        self.editor: Editor | None = None
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr("companion.changes.round.FORMATTING", -CLOCK)  # else nobody knows whose a line is

    def teardown(self) -> None:
        self.patched.undo()
        if self.editor:
            self.end()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.base, ignore_errors=True)

    @initialize(
        lines=st.lists(st.integers(-1, 4), min_size=4, max_size=4),
        is_repository=st.booleans(),
        own=folders,
        more=folders,
    )
    def begin(self, lines: list[int], is_repository: bool, own: list[str], more: list[str]) -> None:
        """Files with so many lines, -1 for none."""
        self.files = [Tracked(stem) for stem in NAMES]
        for tracked, count in zip(self.files, lines, strict=True):
            tracked.name = f"{tracked.stem}.txt"
            (self.project / tracked.name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / tracked.name).with_suffix(".md").write_text("other\n")
            if count >= 0:
                self.change(tracked, [self.token("b") for _ in range(count)])
                tracked.baseline = set(tracked.disk)
            tracked.open()
        committed(self.project / "nested")
        if is_repository:
            committed(self.project)
        self.of = {WINDOW: self.paths(own or [""]), SECOND: self.paths(more)}
        self.clis: dict[WindowId, tuple[str, ...]] = dict.fromkeys(WINDOWS, (AGENT,))
        self.words: list[tuple[Tracked, str, SavedText]] = []
        """What was saved of which the word has not come yet."""
        self.start()

    def paths(self, own: Iterable[str]) -> list[str]:
        return [str(self.project / name) if name else str(self.project) for name in own]

    # The editor.

    def start(self, step: int | None = None) -> None:
        """Start, perhaps once more after a kill at a step."""
        self.editor = Editor(self.base / "stores", [])
        self.editor.of = {window: list(own) for window, own in self.of.items()}

        async def open_all(editor: Editor) -> None:
            for window in WINDOWS:
                editor.rounds.opened(window)
            for window in WINDOWS:
                editor.rounds.clis(window, self.clis[window])

        self.killing(step, open_all)
        if self.editor is None:
            self.start()

    def end(self) -> None:
        editor, self.editor = self.work, None

        async def close() -> None:
            self.tell(editor, self.words)
            editor.rounds.close()
            for task in list(editor.tasks):
                task.cancel()
            await asyncio.gather(*editor.tasks, return_exceptions=True)

        self.loop.run_until_complete(close())
        assert [error for error in editor.errors if not isinstance(error, KilledError)] == []

    @property
    def work(self) -> Editor:
        assert self.editor
        return self.editor

    def do(self, what: Callable[[Editor], Any]) -> None:
        """Do something, until all that follows from it has ended."""

        async def done() -> None:
            editor = self.work
            if asyncio.iscoroutine(found := what(editor)):
                await found
            await editor.settled()

        self.loop.run_until_complete(asyncio.wait_for(done(), 60))

    # The disk.

    def token(self, owner: str) -> str:
        self.count += 1
        return f"{owner}{self.count}"

    def full(self, tracked: Tracked) -> Path:
        return self.project / tracked.name

    def change(self, tracked: Tracked, lines: list[str]) -> None:
        tracked.disk = lines
        self.full(tracked).parent.mkdir(parents=True, exist_ok=True)
        self.full(tracked).write_text(tracked.text(lines))

    def covered(self, tracked: Tracked, own: Iterable[str] | None = None) -> bool:
        """Whether a window has the file; one with these folders."""
        own = [path for paths in self.of.values() for path in paths] if own is None else own
        return any(f"{self.full(tracked)}".startswith(f"{path}/") for path in own)

    def edited(self, tracked: Tracked, lines: list[str], changes: Sequence[Edit], owner: str) -> list[str]:
        return edited(lines, changes, owner, self.token, tracked.baseline)

    def reread(self) -> None:
        """What a decision has made of the files."""
        for tracked in self.files:
            folder = (self.project / tracked.stem).parent
            found: list[str] = []
            for path in sorted(folder.glob(f"{tracked.stem.rpartition('/')[2]}*.txt")):
                text = path.read_text()
                found += text.splitlines()
                tracked.name, tracked.ending = path.relative_to(self.project).as_posix(), "\n" * text.endswith("\n")
            disk = [line for line in found if line]
            if disk != tracked.disk:
                tracked.disk = disk
                tracked.open()

    def reviewed(self) -> None:
        """What the person has accepted is of the baseline, or no longer."""
        for tracked in self.files:
            folder = self.work.rounds.roots.place_of(str(self.full(tracked)))
            if folder and self.covered(tracked):
                base = folder.round.state.base
                inside = os.path.relpath(self.project / tracked.stem, folder.root)
                entries = [folder.round.objects.entry(base, f"{inside}{end}.txt") for end in ("", "2")]
                data = folder.round.objects.read(entry.blob for entry in entries if entry)
                tracked.baseline = {token for each in data.values() for token in tokens(each.decode().split())}

    def deciding(self, what: Callable[[Editor], Any]) -> None:
        """A decision: no line of the person goes."""
        before = [tracked.mine for tracked in self.files]
        self.do(what)
        self.reread()
        for tracked, mine in zip(self.files, before, strict=True):
            assert mine <= tracked.mine, (mine - tracked.mine, tracked)

    # The agent.

    @rule(number=chosen, changes=edits, ending=st.sampled_from(("\n", "")))
    def agent_writes(self, number: int, changes: list[Edit], ending: str) -> None:
        tracked = self.files[number]
        if self.is_at_work(tracked):
            lines = self.edited(tracked, tracked.disk, changes, "a")
            tracked.ending = ending
            self.change(tracked, lines)

    def is_at_work(self, tracked: Tracked) -> bool:
        """Whether somebody is who may write a file."""
        return any(self.clis[window] and self.covered(tracked, self.of[window]) for window in WINDOWS)

    @rule(window=windows, names=st.sampled_from(WORKING))
    def are_at_work(self, window: WindowId, names: tuple[str, ...]) -> None:
        """Some come, or leave."""
        self.clis[window] = names
        self.do(lambda editor: editor.rounds.clis(window, names))

    @rule(number=chosen, is_persons=st.booleans())
    def is_renamed(self, number: int, is_persons: bool) -> None:
        """The person opens it under its new name."""
        tracked = self.files[number]
        if not self.is_at_work(tracked) or not self.full(tracked).exists():
            return
        self.hear()
        self.scan()
        if is_persons:
            self.do(lambda editor: editor.rounds.handled([str(self.full(tracked))], is_renamed=True))
        name = f"{tracked.stem}{'2' * (tracked.name == f'{tracked.stem}.txt')}.txt"
        self.full(tracked).rename(self.project / name)
        tracked.name = name
        self.scan()
        tracked.open()

    @rule(number=chosen)
    def agent_deletes(self, number: int) -> None:
        tracked = self.files[number]
        if self.is_at_work(tracked) and not tracked.mine and self.full(tracked).exists():
            self.full(tracked).unlink()
            tracked.disk = []

    # The person.

    @rule(number=chosen)
    def opens(self, number: int) -> None:
        self.files[number].open()

    @rule(number=chosen, changes=edits)
    def types(self, number: int, changes: list[Edit]) -> None:
        tracked = self.files[number]
        tracked.tab = self.edited(tracked, tracked.tab, changes, "p")

    @rule(number=chosen, line=numbers)
    def formats(self, number: int, line: int) -> None:
        """Blanks at the beginning of a line."""
        tracked = self.files[number]
        if line < len(tracked.tab):
            tracked.tab[line] = f"  {tracked.tab[line]}"

    @rule(number=chosen, is_seen=st.booleans(), is_late=st.booleans())
    def saves(self, number: int, is_seen: bool, is_late: bool = False) -> None:
        """The word of it comes at once, or some scans later."""
        tracked = self.files[number]
        if self.covered(tracked):
            if is_seen:
                self.scan()
            self.save(tracked)
            if not is_late:
                self.hear()

    @rule()
    def hear(self) -> None:
        """The words of all saves come."""
        words, self.words = self.words, []
        self.do(lambda editor: self.tell(editor, words))

    def tell(self, editor: Editor, words: Iterable[tuple[Tracked, str, SavedText]]) -> None:
        for _, path, saved in words:
            editor.rounds.saved(path, saved)

    def save(self, tracked: Tracked) -> None:
        full = self.full(tracked)
        found = full.read_bytes() if full.exists() else None
        is_other = found is not None and found.decode() != tracked.loaded_text
        text = tracked.text(tracked.tab)
        tracked.removed |= tokens(tracked.loaded) - tokens(tracked.tab)
        since = time.time_ns()
        self.change(tracked, list(tracked.tab))
        saved = SavedText(tracked.loaded_text, text, found if is_other else None, since=since, until=time.time_ns())
        self.words.append((tracked, str(full), saved))
        tracked.open()

    @rule()
    def scan(self) -> None:
        def scan(editor: Editor) -> None:
            for window in WINDOWS:
                editor.rounds.scan(window)

        self.do(scan)

    # The windows.

    @rule(window=windows, own=folders)
    def has_folders(self, window: WindowId, own: list[str]) -> None:
        self.have_folders(window, own)
        self.do(lambda editor: editor.rounds.opened(window))

    def have_folders(self, window: WindowId, names: list[str]) -> None:
        """The word of a save comes while its file is in a folder of a window."""
        of = self.of | {window: self.paths(names)}
        own = [path for paths in of.values() for path in paths]
        if not all(self.covered(tracked, own) for tracked, *_ in self.words):
            self.hear()
        self.of = of
        self.work.of[window] = self.of[window]

    @rule(
        window=windows,
        own=folders,
        at=st.integers(0, 12),
        number=chosen,
        given=st.sampled_from(("save", "agent", "undo", "keep")),
    )
    def has_folders_while(self, window: WindowId, own: list[str], at: int, number: int, given: str) -> None:
        """Something is given before a call of a folder's worker while the roots are arranged, or after it."""
        tracked, before = self.files[number], self.covered(self.files[number])
        self.hear()
        self.have_folders(window, own)
        if not before or not self.covered(tracked):
            self.do(lambda editor: editor.rounds.opened(window))
            return

        def give() -> None:
            if given == "save":
                self.save(tracked)
                self.tell(self.work, self.words)
                self.words.clear()
            elif given == "agent":
                self.change(tracked, self.edited(tracked, tracked.disk, [("insert", number)], "a"))
            elif given == "undo":
                self.work.decisions.decide_files(window, self.rows(window), "undo")
            else:
                self.work.decisions.decide_files(window, self.rows(window), "keep")

        calls, call = iter(range(1_000)), Folder.call

        async def late(folder: Folder, *args: Any, **more: Any) -> Any:
            turn = next(calls)
            if at == 2 * turn:
                give()
            result = await call(folder, *args, **more)
            if at == 2 * turn + 1:
                give()
            return result

        with self.patched.context() as patched:
            patched.setattr(Folder, "call", late)
            self.deciding(lambda editor: editor.rounds.opened(window))
        if given in ("undo", "keep"):
            self.reviewed()

    @rule(window=windows)
    def closes(self, window: WindowId) -> None:
        """A window is closed, and opened again without a folder."""
        self.have_folders(window, [])
        self.do(lambda editor: editor.rounds.window_closed(window))
        self.clis[window] = (AGENT,)
        self.do(lambda editor: editor.rounds.clis(window, (AGENT,)))

    @rule(number=chosen, changes=st.one_of(st.none(), edits), step=st.one_of(st.none(), st.integers(0, 6)))
    def restarts(self, number: int, changes: list[Edit] | None, step: int | None = None) -> None:
        """The agent may write on while there is no editor. What was saved last is told when the editor ends."""
        self.end()
        self.words.clear()
        if changes:
            self.agent_writes(number, changes, "\n")
        self.start(step)

    # The decisions.

    def rows(self, window: WindowId) -> list[ChangeRow]:
        return list(self.work.rounds.listing(window).rows)

    @rule(window=windows, number=numbers, part=st.one_of(st.none(), numbers), at=numbers, what=decisions)
    def decides(self, window: WindowId, number: int, part: int | None, at: int, what: Decision) -> None:
        """One change of a file, or a line of it."""
        self.hear()
        self.scan()
        rows = self.rows(window)
        if number >= len(rows):
            return
        row = rows[number]
        contents = self.work.rounds.roots.folders[row.root].round.contents(row.path)
        found = contents[2].found if contents else ()
        if at < len(found):
            change = found[at].change
            line = change.new_start + part if part is not None and change.new_start + part < change.new_end else None
            chosen = [(found[at].key, None if line is None else (line, line))]
            self.deciding(lambda editor: editor.decisions.decide_changes(window, row, what, chosen))
        else:
            self.deciding(lambda editor: editor.decisions.decide_files(window, [row], what))
        self.reviewed()

    @rule(window=windows)
    def keeps_all(self, window: WindowId) -> None:
        self.hear()
        self.scan()
        self.deciding(lambda editor: editor.decisions.decide_files(window, editor.rows_of(window), "keep"))
        self.reviewed()
        for tracked in self.files:
            if self.covered(tracked, self.of[window]):
                assert tracked.baseline == tokens(tracked.disk)

    @rule(window=windows)
    def takes_back(self, window: WindowId) -> None:
        self.hear()
        self.scan()
        self.deciding(lambda editor: editor.decisions.take_back(window))
        self.reviewed()

    @rule(window=windows, step=st.one_of(st.none(), st.integers(0, 12)))
    def undoes_all(self, window: WindowId, step: int | None) -> None:
        """The editor is killed at a step on the disk, and undoes the rest after its restart."""
        self.hear()
        self.scan()
        self.killing(step, lambda editor: editor.decisions.decide_files(window, editor.rows_of(window), "undo"))
        if self.editor is None:
            self.start()
            self.reread()
            self.deciding(lambda editor: editor.decisions.decide_files(window, editor.rows_of(window), "undo"))
        for tracked in self.files:
            if self.covered(tracked, self.of[window]):
                left = tokens(tracked.disk)
                own = [line.strip() for line in tracked.disk if "p" not in line]
                assert {line for line in own if line.startswith("a")} <= tracked.baseline, tracked
                assert {token for token in tracked.baseline if token.startswith("b")} - tracked.removed <= left, tracked
        assert self.rows(window) == []
        self.reviewed()

    @rule(window=windows, step=st.integers(0, 12), what=st.sampled_from(("keep", "take back", "restore")))
    def is_killed(self, window: WindowId, step: int, what: str) -> None:
        """Whatever was decided then is done, or it isn't; no line of the person goes."""
        self.hear()
        self.scan()
        self.killing(step, lambda editor: self.decide(editor, window, what))
        if self.editor is None:
            self.start()
            self.reread()
        self.reviewed()

    def decide(self, editor: Editor, window: WindowId, what: str) -> None:
        if what == "keep":
            editor.decisions.decide_files(window, editor.rows_of(window), "keep")
        elif what == "take back":
            editor.decisions.take_back(window)
        else:
            points = [
                (folder, each)
                for folder in editor.rounds.roots.opened(window)
                for each in folder.round.state.checkpoints
            ]
            if points:
                folder, point = points[0]
                editor.decisions.restore(window, folder.root, point.number, folder.checkpoints.back_to(point))

    def killing(self, step: int | None, what: Callable[[Editor], Any]) -> None:
        """Decide something, and be killed before or after a step of it; there is no editor any more then."""
        steps, is_dead = iter(range(10_000)), False

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **more: Any) -> Any:
                nonlocal is_dead
                is_dead = is_dead or next(steps) == step
                if is_dead:
                    raise KilledError
                result = real(*args, **more)
                is_dead = next(steps) == step
                if is_dead:
                    raise KilledError
                return result

            return call

        before = [tracked.mine for tracked in self.files]
        with self.patched.context() as patched:
            for owner, name in STEPS:
                patched.setattr(owner, name, counted(getattr(owner, name)))
            self.do(what)
            if is_dead:
                self.end()
        self.reread()
        for tracked, mine in zip(self.files, before, strict=True):
            assert mine <= tracked.mine, (mine - tracked.mine, tracked)

    @rule(window=windows)
    def checkpoint(self, window: WindowId) -> None:
        """A prompt is sent."""
        self.do(lambda editor: editor.rounds.checkpoint(window, "go"))

    @rule(window=windows)
    def restores(self, window: WindowId) -> None:
        """Back to the first checkpoint, but for what the person has written since."""
        self.hear()
        self.scan()
        self.deciding(lambda editor: self.decide(editor, window, "restore"))
        self.reviewed()


RUN = settings(
    max_examples=4,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.fixture
def model() -> Iterator[Windows]:
    """For a sequence that was found at random."""
    model = Windows()
    yield model
    model.teardown()


def test_whatever_happens_in_the_windows_an_undo_of_all_takes_the_agents_lines_alone() -> None:
    run_state_machine_as_test(Windows, settings=RUN)  # type: ignore[no-untyped-call]


@pytest.mark.long
def test_the_same_at_random_for_minutes() -> None:
    settings_ = settings(RUN, max_examples=100, stateful_step_count=25, derandomize=False, database=None)
    run_state_machine_as_test(Windows, settings=settings_)  # type: ignore[no-untyped-call]


def test_what_is_written_after_a_restart_that_follows_a_hand_over_is_the_agents(model: Windows) -> None:
    """Nobody had been at work by the scan of the hand-over, so nobody was said to have written it."""
    model.begin(own=["inner/deep"], lines=[3, 2, 3, 0], more=["inner"], is_repository=False)
    model.has_folders(own=["", "nested"], window=SECOND)
    model.restarts(changes=[("insert", 4), ("replace", 3)], number=2)
    model.undoes_all(step=None, window=WINDOW)


def test_a_nested_repository_that_a_window_has_stays_a_root_when_the_outer_folder_comes(model: Windows) -> None:
    """After a restart the window with the inner one may be the first: what waited there went to the outer one."""
    model.begin(own=["nested"], lines=[4, 1, -1, 1], more=[""], is_repository=True)
    model.agent_deletes(number=3)
    model.scan()
    model.restarts(changes=None, number=0)
    model.undoes_all(step=None, window=SECOND)


def test_a_nested_repository_is_opened_though_something_waits_in_the_outer_folder(model: Windows) -> None:
    model.begin(own=["inner"], lines=[4, 1, -1, 1], more=[], is_repository=True)
    model.agent_deletes(number=1)
    model.has_folders(own=[""], window=WINDOW)
    model.agent_writes(changes=[("insert", 0)], ending="\n", number=3)
    model.undoes_all(step=None, window=WINDOW)
    assert model.files[3].disk == ["b6"]


def test_what_an_agent_writes_while_the_folders_change_is_its_own(model: Windows) -> None:
    """It was at work before, too."""
    model.begin(own=["nested", ""], lines=[0, 0, -1, 4], is_repository=True, more=[])
    model.has_folders_while(at=4, given="agent", number=3, own=["nested", "inner"], window=WINDOW)
    model.undoes_all(step=None, window=WINDOW)


def test_what_waits_in_a_nested_repository_stays_when_the_outer_folder_goes(model: Windows) -> None:
    """The outer one knows nothing of it, and so nothing waited there any more."""
    model.begin(own=["nested", ""], lines=[0, 0, -1, 4], is_repository=True, more=[])
    model.agent_writes(changes=[("insert", 0)], ending="\n", number=3)
    model.scan()
    model.has_folders(own=["nested"], window=WINDOW)
    model.undoes_all(step=None, window=WINDOW)


@pytest.mark.parametrize("comes", [True, False])
@pytest.mark.parametrize("at", range(1, 7))
def test_what_an_agent_writes_between_the_looks_of_two_roots_is_its_own(
    model: Windows, at: int, *, comes: bool
) -> None:
    model.begin(own=["inner" if comes else ""], lines=[0, 2, -1, 4], is_repository=False, more=[])
    model.has_folders_while(at=at, given="agent", number=1, own=["" if comes else "inner"], window=WINDOW)
    model.undoes_all(step=None, window=WINDOW)
    assert model.files[1].disk == ["b1", "b2"]


def test_a_restore_leaves_what_was_saved_while_the_root_was_another_one(model: Windows) -> None:
    model.begin(lines=[1, -1, 0, 4], is_repository=False, more=[], own=[""])
    model.checkpoint(window=WINDOW)
    model.agent_writes(changes=[("insert", 7)], ending="\n", number=2)
    model.opens(number=2)
    model.has_folders(own=["inner"], window=WINDOW)
    model.types(changes=[("insert", 0)], number=2)
    model.saves(is_seen=False, number=2)
    model.has_folders(own=[""], window=WINDOW)
    model.restores(window=WINDOW)
    assert model.files[2].disk == ["p7"]


@pytest.mark.parametrize("comes", [True, False])
def test_take_back_and_checkpoints_are_there_after_the_roots_are_others(model: Windows, *, comes: bool) -> None:
    """Both ways: an outer folder comes, and it goes."""
    model.begin(lines=[1, 2, 2, 1], is_repository=False, more=[], own=["inner" if comes else ""])
    model.checkpoint(window=WINDOW)
    model.agent_writes(changes=[("insert", 1)], ending="\n", number=1)
    model.undoes_all(step=None, window=WINDOW)
    model.has_folders(own=["" if comes else "inner"], window=WINDOW)
    assert model.files[1].disk == ["b2", "b3"]
    model.takes_back(window=WINDOW)
    assert model.files[1].disk == ["b2", "a7", "b3"]
    model.restores(window=WINDOW)
    assert model.files[1].disk == ["b2", "b3"]
    model.restarts(changes=None, number=0)
    model.takes_back(window=WINDOW)
    assert model.files[1].disk == ["b2", "a7", "b3"]


def test_what_fails_while_folders_are_opened_is_told_as_what_it_is(model: Windows) -> None:
    """Found at random."""
    model.begin(lines=[0, 0, 0, 0], is_repository=False, own=[], more=[])
    model.agent_deletes(number=0)
    model.restarts(changes=None, number=0, step=0)
