"""Each line of a file is a token of its owner: whatever order they write in, an undo of all takes the agent's alone."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from companion.changes.change_screen import SavedText
from companion.changes.state import CLOCK
from companion.snapshots.files import WriteRefusedError

from .folders import AGENT, Folder, edited

edits = st.lists(st.tuples(st.sampled_from(("insert", "delete", "replace")), st.integers(0, 12)), max_size=3)
endings = st.sampled_from(("\n", ""))
numbers = st.integers(0, 5)


def tokens(lines: list[str]) -> set[str]:
    """The tokens of lines. A line that the person has changed has its old one, too."""
    return {token for line in lines for token in line.strip().split("+")}


class Authors(RuleBasedStateMachine):
    """One file, a tab of it, and an agent."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="authors-"))
        self.count = 0
        self.words: list[SavedText] = []
        """The saves of which the word has not come yet."""
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr("companion.changes.round.FORMATTING", -CLOCK)  # else nobody knows whose a line is

    def token(self, owner: str) -> str:
        self.count += 1
        return f"{owner}{self.count}"

    @initialize(lines=st.integers(0, 6), ending=endings, has_file=st.booleans(), break_=st.sampled_from(("\n", "\r\n")))
    def begin(self, lines: int, ending: str, has_file: bool, break_: str) -> None:
        self.break_, self.name, self.ending = break_, "a.txt", ending
        self.folder = Folder(self.base)
        self.disk = [self.token("b") for _ in range(lines)] if has_file else []
        self.folder.write("other.txt", "other\n")
        if has_file:
            self.write(self.disk)
        self.folder.round.begin()
        self.baseline = set(self.disk)
        self.points: list[tuple[int, str, set[str]]] = []
        """The number of a checkpoint, the file's name, and its lines."""
        self.removed: set[str] = set()
        """Of the baseline, by the person."""
        if not has_file:
            self.agent_writes([("insert", 0)], "\n")
        self.opens()

    def text(self, lines: list[str]) -> str:
        return "".join(f"{line}{self.break_}" for line in lines[:-1]) + "".join(f"{x}{self.ending}" for x in lines[-1:])

    def write(self, lines: list[str]) -> None:
        self.folder.write(self.name, self.text(lines))

    def edited(self, lines: list[str], changes: list[tuple[str, int]], owner: str) -> list[str]:
        return edited(lines, changes, owner, self.token, self.baseline)

    @rule(changes=edits, ending=endings)
    def agent_writes(self, changes: list[tuple[str, int]], ending: str) -> None:
        self.disk, self.ending = self.edited(self.disk, changes, "a"), ending and self.break_
        self.write(self.disk)

    @rule(at=st.integers(1, 3))
    def agent_renames(self, at: int) -> None:
        """The person opens it under its new name."""
        self.hear()
        self.scan()
        name = f"{at}.txt"
        if name != self.name and (self.folder.path / self.name).exists():
            (self.folder.path / self.name).rename(self.folder.path / name)
            self.name = name
            self.scan()
            self.opens()

    @rule()
    def opens(self) -> None:
        """The tab has what is on the disk, and nothing unsaved."""
        self.loaded, self.tab = list(self.disk), list(self.disk)
        self.loaded_text = self.text(self.disk).replace("\r\n", "\n")

    @rule(changes=edits)
    def types(self, changes: list[tuple[str, int]]) -> None:
        self.tab = self.edited(self.tab, changes, "p")

    @rule(line=numbers)
    def formats(self, line: int) -> None:
        """Blanks at the beginning of a line."""
        if line < len(self.tab):
            self.tab[line] = f"  {self.tab[line]}"

    @rule(is_seen=st.booleans(), is_late=st.booleans())
    def saves(self, is_seen: bool, is_late: bool = False) -> None:
        """The word of it comes at once, or some scans later."""
        if is_seen:
            self.scan()
        on_disk = self.folder.path / self.name
        found = on_disk.read_bytes() if on_disk.exists() else None
        text = self.text(self.tab).replace("\r\n", "\n")
        is_other = found is not None and found.decode().replace("\r\n", "\n") != self.loaded_text
        self.removed |= tokens(self.loaded) - tokens(self.tab)
        self.disk = list(self.tab)
        since = time.time_ns()
        self.write(self.disk)
        saved = SavedText(self.loaded_text, text, found if is_other else None, since=since, until=time.time_ns())
        self.words.append(saved)
        self.opens()
        if not is_late:
            self.hear()

    @rule()
    def hear(self) -> None:
        """The words of all saves come."""
        for saved in self.words:
            self.folder.note(self.name, saved)
        self.words.clear()

    @rule()
    def scan(self) -> None:
        self.folder.scan()

    @rule()
    def restart(self) -> None:
        """What was saved last is noted before anything else is looked at."""
        self.folder.reopen()
        self.hear()

    @rule(number=numbers, keeps=st.booleans(), part=st.one_of(st.none(), numbers))
    def decides(self, number: int, keeps: bool, part: int | None) -> None:
        """One change, or a line of it."""
        self.hear()
        self.scan()
        contents = self.folder.round.contents(self.name)
        found = contents[2].found if contents else ()
        if number >= len(found):
            return
        change = found[number].change
        lines = None
        if part is not None and change.new_start + part < change.new_end:
            lines = change.new_start + part, change.new_start + part
        before = self.mine()
        with contextlib.suppress(WriteRefusedError):
            if keeps:
                self.folder.keep_change(self.name, found[number].key, lines)
            else:
                assert self.folder.undo(self.name, found[number].key, lines) == []
        self.reread()
        assert before <= self.mine()
        self.reviewed()

    def reviewed(self) -> None:
        """What the person has accepted is of the baseline, or no longer."""
        paths = ("a.txt", "1.txt", "2.txt", "3.txt")
        self.baseline = {token for path in paths for token in self.in_base(path)}

    def in_base(self, path: str) -> set[str]:
        entry = self.folder.store.objects.entry(self.folder.round.state.base, path)
        data = self.folder.store.objects.read([entry.blob])[entry.blob] if entry else b""
        return tokens(data.decode().split())

    def mine(self) -> set[str]:
        return {token for token in tokens(self.disk) if token.startswith("p")}

    def reread(self) -> None:
        found: list[str] = []
        for path in sorted(self.folder.path.glob("*.txt")):
            if path.name != "other.txt":
                data = path.read_bytes().decode()
                found += data.splitlines()
                self.name, self.ending = path.name, self.break_ if data.endswith("\n") else ""
        self.disk = [line for line in found if line]
        self.opens()

    @rule(is_restarted=st.booleans())
    def undoes_all(self, is_restarted: bool) -> None:
        self.hear()
        self.scan()
        if is_restarted:
            self.folder.reopen()
        before = self.mine()
        assert self.folder.undo_all() == []
        self.reread()
        left = tokens(self.disk)
        assert before <= left
        own = [line.strip() for line in self.disk if "p" not in line]
        assert {line for line in own if line.startswith("a")} <= self.baseline
        assert {token for token in self.baseline if token.startswith("b")} - self.removed <= left
        assert self.folder.listed() == {}
        self.reviewed()

    @rule()
    def checkpoint(self) -> None:
        """A prompt is sent."""
        self.hear()
        self.scan()
        number = self.folder.checkpoints.add(AGENT, "")
        self.points.append((number, self.name, {line.strip() for line in self.disk}))

    @rule(number=numbers, is_restarted=st.booleans())
    def restores(self, number: int, is_restarted: bool) -> None:
        """Back to a checkpoint, but for what the person has written since."""
        self.hear()
        self.scan()
        if number >= len(self.points) or self.points[number][1] != self.name:
            return
        if is_restarted:
            self.folder.reopen()
        point, _, lines = self.points[number]
        before = self.mine()
        writes, base, left = self.folder.checkpoints.plan(point)
        assert left == []
        for write in writes:
            self.folder.undoing.write(write)
        assert self.folder.checkpoints.finish_restore(writes, base, point) == []
        self.reread()
        assert before <= self.mine()
        own = {line.strip() for line in self.disk if "p" not in line}
        assert {line for line in own if line.startswith("a")} <= lines
        self.reviewed()

    @rule()
    def undoes_those_too(self) -> None:
        """What the person has written alone stays in a file that was there before."""
        self.hear()
        self.scan()
        if any(each.is_created for each in self.folder.round.state.known.values()):
            return
        alone = {line.strip() for line in self.disk if line.strip().startswith("p")}
        writes, refused = self.folder.undoing.plan(self.folder.round.waiting(), is_all=True)
        assert refused + self.folder.apply(writes) == []
        self.reread()
        left = {line.strip() for line in self.disk}
        assert alone <= left
        assert {line for line in left if line.startswith("a")} <= self.baseline
        assert self.folder.listed() == {}
        self.reviewed()

    def teardown(self) -> None:
        self.patched.undo()
        shutil.rmtree(self.base, ignore_errors=True)


TestAuthors = Authors.TestCase
TestAuthors.settings = settings(
    max_examples=15,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def test_a_file_that_an_agent_has_created_and_renamed_keeps_the_lines_of_the_person() -> None:
    """Found at random, with the seed 939392808: its baseline has so little of it that git sees no rename."""
    state = Authors()
    state.begin(lines=0, ending="\n", has_file=False, break_="\n")
    state.agent_writes(changes=[("insert", 7)], ending="\n")
    state.opens()
    state.types(changes=[("insert", 3), ("insert", 7)])
    state.saves(is_seen=False)
    state.agent_renames(at=1)
    state.decides(keeps=False, number=0, part=None)
    state.undoes_all(is_restarted=True)
    state.teardown()
