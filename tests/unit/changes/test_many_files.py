"""Lines that move between files: an agent renames, swaps, copies and cuts up files in which the person writes, too.

Each line is a token of its owner. Whatever the order, an undo of all takes the agent's lines alone, no decision takes a
line of the person, and a restore brings back what there was at its checkpoint.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from companion.changes.change_screen import SavedText
from companion.snapshots.files import WriteRefusedError

from .folders import AGENT, Folder, edited

NAMES = ("a.txt", "b.txt", "sub/c.txt", "sub/d.txt")
Edit = tuple[str, int]
edits = st.lists(st.tuples(st.sampled_from(("insert", "delete", "replace")), st.integers(0, 8)), min_size=1, max_size=3)
names = st.sampled_from(NAMES)
numbers = st.integers(0, 4)


def tokens(lines: list[str]) -> set[str]:
    """The tokens of lines. A line that the person has changed has its old one, too."""
    return {token for line in lines for token in line.split("+")}


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class ManyFiles(RuleBasedStateMachine):
    """Four files, with a tab of each."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="many-files-"))
        self.count = 0
        self.words: list[tuple[str, SavedText]] = []
        """The saves of which the word has not come yet."""
        self.removed: set[str] = set()
        """By the person."""
        self.points: list[tuple[int, set[str]]] = []
        """The number of a checkpoint, and all lines."""
        self.loaded: dict[str, list[str]] = {}
        self.tabs: dict[str, list[str]] = {}
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr("companion.changes.round.FORMATTING", -(10**18))  # else nobody knows whose a line is

    def teardown(self) -> None:
        self.patched.undo()
        shutil.rmtree(self.base, ignore_errors=True)

    def token(self, owner: str) -> str:
        self.count += 1
        return f"{owner}{self.count}"

    @initialize(lines=st.lists(st.integers(-1, 6), min_size=len(NAMES), max_size=len(NAMES)))
    def begin(self, lines: list[int]) -> None:
        """Files with so many lines, -1 for none."""
        self.folder = Folder(self.base)
        self.folder.write("sub/other.md", "other\n")
        for name, count in zip(NAMES, lines, strict=True):
            if count >= 0:
                self.put(name, [self.token("b") for _ in range(count)])
        self.folder.begin_copied()
        self.reviewed()
        for name in NAMES:
            self.opens(name)

    # The disk and the baseline.

    def path(self, name: str) -> Path:
        return self.folder.path / name

    def put(self, name: str, lines: list[str]) -> None:
        self.folder.write(name, text_of(lines))

    def lines(self, name: str) -> list[str] | None:
        return self.path(name).read_text().splitlines() if self.path(name).exists() else None

    def disk(self) -> set[str]:
        """The lines of all files, without what a formatter makes of them."""
        return {line for name in NAMES for line in self.lines(name) or ()}

    def mine(self) -> set[str]:
        return {token for token in tokens([*self.disk()]) if token.startswith("p")}

    def reviewed(self) -> None:
        """What the person has accepted is of the baseline, or no longer."""
        found = self.folder.store.objects.entries(self.folder.round.state.base, NAMES)
        data = self.folder.store.objects.read(entry.blob for entry in found.values() if entry)
        self.baseline = {name: data[entry.blob].decode().splitlines() for name, entry in found.items() if entry}

    def known(self) -> set[str]:
        return {token for lines in self.baseline.values() for token in tokens(lines)}

    def check(self, known: set[str], wanted: set[str]) -> None:
        """No line is the agent's alone but these, and each one is there that was before it came."""
        assert {line for line in self.disk() if line.startswith("a") and "+" not in line} <= known
        assert {token for token in wanted if token.startswith("b")} - self.removed <= tokens([*self.disk()])

    # The agent.

    @rule(name=names, changes=edits)
    def agent_writes(self, name: str, changes: list[Edit]) -> None:
        self.put(name, edited(self.lines(name) or [], changes, "a", self.token, self.known()))

    @rule(name=names)
    def agent_deletes(self, name: str) -> None:
        self.path(name).unlink(missing_ok=True)

    @rule(name=names, to=names, is_seen=st.booleans())
    def agent_renames(self, name: str, to: str, is_seen: bool) -> None:
        """Perhaps over another file."""
        if is_seen:
            self.hear()
            self.scan()
        if self.path(name).exists():
            self.path(name).replace(self.path(to))

    @rule(name=names, to=names)
    def agent_copies(self, name: str, to: str) -> None:
        if name != to and self.path(name).exists():
            shutil.copy(self.path(name), self.path(to))

    @rule(name=names, other=names)
    def agent_swaps(self, name: str, other: str) -> None:
        if self.path(name).exists() and self.path(other).exists():
            self.path(name).rename(self.path("swapped"))
            self.path(other if other != name else "swapped").rename(self.path(name))
            if other != name:
                self.path("swapped").rename(self.path(other))

    @rule(name=names, to=names, number=numbers, at=numbers)
    def agent_moves_a_line(self, name: str, to: str, number: int, at: int) -> None:
        lines, there = self.lines(name) or [], self.lines(to) or []
        if name != to and number < len(lines):
            there.insert(at, lines.pop(number))
            self.put(name, lines)
            self.put(to, there)

    # The person.

    @rule(name=names)
    def opens(self, name: str) -> None:
        """The tab has what is on the disk, and nothing unsaved."""
        self.loaded[name] = self.lines(name) or []
        self.tabs[name] = list(self.loaded[name])

    @rule(name=names, changes=edits)
    def types(self, name: str, changes: list[Edit]) -> None:
        self.tabs[name] = edited(self.tabs[name], changes, "p", self.token, self.known())

    @rule(name=names, changes=edits, is_seen=st.booleans(), is_late=st.booleans())
    def opens_types_and_saves(self, name: str, changes: list[Edit], is_seen: bool, is_late: bool) -> None:
        self.opens(name)
        self.types(name, changes)
        self.saves(name, is_seen, is_late)

    @rule(name=names, is_seen=st.booleans(), is_late=st.booleans())
    def saves(self, name: str, is_seen: bool, is_late: bool) -> None:
        """The word of it comes at once, or some scans later."""
        if is_seen:
            self.scan()
        loaded, text = text_of(self.loaded[name]), text_of(self.tabs[name])
        found = self.path(name).read_bytes() if self.path(name).exists() else None
        if found is None and not text:
            return
        is_other = found is not None and found.decode() != loaded
        self.removed |= tokens(self.loaded[name]) - tokens(self.tabs[name])
        since = time.time_ns()
        self.folder.write(name, text)
        saved = SavedText(loaded, text, found if is_other else None, since=since, until=time.time_ns())
        self.words.append((name, saved))
        self.opens(name)
        if not is_late:
            self.hear()

    @rule(name=names, is_seen=st.booleans())
    def person_deletes(self, name: str, is_seen: bool) -> None:
        """In the side bar."""
        self.hear()
        self.scan()
        if (lines := self.lines(name)) is None:
            return
        self.removed |= tokens([*lines, *self.baseline.get(name, ())])
        self.path(name).unlink()
        if is_seen:
            self.scan()
        self.folder.saves.handled(name, is_renamed=False)

    @rule()
    def hear(self) -> None:
        """The words of all saves come."""
        for name, saved in self.words:
            self.folder.note(name, saved)
        self.words.clear()

    @rule()
    def scan(self) -> None:
        self.folder.scan()

    @rule()
    def restart(self) -> None:
        self.folder.reopen()
        self.hear()

    # The decisions.

    @contextlib.contextmanager
    def deciding(self, *, is_back: bool = False) -> Iterator[None]:
        """No line of the person goes; one that an agent had taken away may go again."""
        self.hear()
        self.scan()
        before, shown = self.mine(), {name: self.lines(name) for name in NAMES}
        yield
        self.reviewed()
        assert before - (self.known() if is_back else set()) <= self.mine()
        for name in NAMES:
            if self.lines(name) != shown[name]:
                self.opens(name)

    @rule(number=numbers, at=st.one_of(st.none(), numbers), keeps=st.booleans())
    def decides(self, number: int, at: int | None, keeps: bool) -> None:
        """One change of a file, or all of the file."""
        self.hear()
        self.scan()
        rows = self.folder.round.rows()
        if number >= len(rows):
            return
        path = rows[number].path
        keys = self.folder.keys(path)
        key = keys[at] if at is not None and at < len(keys) else ""
        with self.deciding(), contextlib.suppress(WriteRefusedError):
            if not keeps:
                self.folder.undo(path, key)
            elif key:
                self.folder.keep_change(path, key)
            else:
                self.folder.keep(path)

    @rule()
    def takes_back(self) -> None:
        if self.folder.round.state.decided:
            with self.deciding(is_back=True), contextlib.suppress(OSError):
                self.folder.redo()

    @rule()
    def keeps_all(self) -> None:
        with self.deciding():
            self.folder.keep_all()
        assert self.baseline == {name: lines for name in NAMES if (lines := self.lines(name)) is not None}
        assert self.folder.listed() == {}

    @rule(is_restarted=st.booleans())
    def undoes_all(self, is_restarted: bool) -> None:
        self.hear()
        self.scan()
        if is_restarted:
            self.folder.reopen()
        self.reviewed()
        known = self.known()
        with self.deciding():
            assert self.folder.undo_all() == []
        self.check(known, known)
        assert self.folder.listed() == {}

    @rule()
    def checkpoint(self) -> None:
        """A prompt is sent."""
        self.hear()
        self.scan()
        self.points.append((self.folder.checkpoints.add(AGENT, ""), self.disk()))

    @rule(number=numbers)
    def restores(self, number: int) -> None:
        """Back to a checkpoint, but for what the person has written since."""
        if number >= len(self.points):
            return
        point, lines = self.points[number]
        with self.deciding():
            writes, base, left = self.folder.checkpoints.plan(point)
            assert left == []
            for write in writes:
                self.folder.undoing.write(write)
            assert self.folder.checkpoints.finish_restore(writes, base, point) == []
        self.check(lines, tokens([*lines]))


RUN = settings(
    max_examples=12,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def test_whatever_an_agent_moves_between_files_an_undo_of_all_takes_its_lines_alone() -> None:
    run_state_machine_as_test(ManyFiles, settings=RUN)  # type: ignore[no-untyped-call]


@pytest.mark.long
def test_the_same_at_random_for_minutes() -> None:
    settings_ = settings(RUN, max_examples=300, derandomize=False, database=None)
    run_state_machine_as_test(ManyFiles, settings=settings_)  # type: ignore[no-untyped-call]
