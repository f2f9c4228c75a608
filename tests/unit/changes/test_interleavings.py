"""Any order of an agent's writes, the person's saves, looks, keeps, undos, restarts and kills, against a simple model.

The model has the content of each file on the disk and in the baseline, and the permissions in the baseline. Agent and
person write different files, or different halves of one: then it is known exactly what must come out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from companion.snapshots.git import GitStoppedError

from .folders import Folder, committed, git, tree

NAMES = ("a.txt", "deep/b.bin", "ü \udcff.txt", "-c", "sub/d.txt", "\n\t\"'\\ .txt")
OWN = ("mine.txt", "deep/mine.txt")
SHARED = "shared.txt"
"""The agent writes its upper half, the person the lower one."""
NESTED = "lib"
"""A repository of its own."""
CONTENTS = (
    b"",
    b"one\n",
    b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
    b"one\r\ntwo\r\nthree",
    b"\xef\xbb\xbfone\ntwo\n",
    b"\x00\x01\xff binary\n",
    b"\xff\xfeo\x00n\x00e\x00\n\x00",
    b"a\rb\rc",
    b"one\nTWO\nthree\nfour\nfive\nsix\nSEVEN\n",
)
names, own, contents = st.sampled_from(NAMES), st.sampled_from(OWN), st.sampled_from(CONTENTS)
halves = st.integers(0, 3)
permissions = st.sampled_from((0o600, 0o644, 0o640, 0o700, 0o755))


def shared(upper: int, lower: int) -> str:
    """The text of the file that both write."""
    return "".join(f"line {number}\n" if number != 3 else f"agent {upper}\n" for number in range(1, 13)) + "".join(
        f"line {number}\n" if number != 20 else f"person {lower}\n" for number in range(13, 26)
    )


class Interleavings(RuleBasedStateMachine):
    """One folder in a repository."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="interleavings-"))

    @initialize(start=st.dictionaries(names, contents), is_committed=st.booleans())
    def begin(self, start: dict[str, bytes], is_committed: bool) -> None:
        self.folder = Folder(self.base)
        for name, content in start.items():
            self.folder.write(name, content)
        self.folder.write(SHARED, shared(0, 0))
        self.folder.write(f"{NESTED}/inside.txt", "one\n")
        committed(self.folder.path / NESTED)
        if is_committed:
            committed(self.folder.path)
        else:
            git(self.folder.path, "init", "-q")
        self.own_git = self.by_git()
        self.folder.round.begin()
        self.baseline: dict[str, tuple[int, bytes]] = self.files()
        self.disk = dict(self.baseline)
        self.modes = {name: self.mode_of(name) for name in self.baseline}

    def mode_of(self, name: str) -> int:
        """The permissions of a file; 0 for a link."""
        mode = (self.folder.path / name).lstat().st_mode
        return stat.S_IMODE(mode) if stat.S_ISREG(mode) else 0

    def half(self, writer: bytes) -> int:
        """What one of them has in the file that both write."""
        return next(number for number in range(4) if b"%s %d\n" % (writer, number) in self.disk[SHARED][1])

    @property
    def upper(self) -> int:
        """The agent's half."""
        return self.half(b"agent")

    @property
    def lower(self) -> int:
        """The person's half."""
        return self.half(b"person")

    def kept(self, paths: Iterable[str]) -> None:
        """Some files are in the baseline as on the disk."""
        for path in paths:
            self.baseline.pop(path, None)
            self.modes.pop(path, None)
            if path in self.disk:
                self.baseline[path], self.modes[path] = self.disk[path], self.mode_of(path)

    def undone(self, paths: Iterable[str]) -> None:
        """Some files are on the disk as in the baseline."""
        for path in paths:
            self.disk.pop(path, None)
            if path in self.baseline:
                self.disk[path] = self.baseline[path]
                assert self.mode_of(path) == self.modes[path]

    def files(self) -> dict[str, tuple[int, bytes]]:
        """The files on the disk, with links as 0 and programs as 1."""
        found = tree(self.folder.path)
        return {
            name: (0 if mode == 0 else 1 if mode & 0o100 else 2, data)
            for name, (mode, data) in found.items()
            if not (mode == 1 and (self.folder.path / name).is_dir() and not (self.folder.path / name).is_symlink())
        }

    def by_git(self) -> tuple[str, str, list[str]]:
        """What must stay as it is in the person's repository."""
        path = self.folder.path
        listing = sorted(os.listdir(path / ".git"))
        return git(path, "ls-files", "-s", "-z"), git(path, "for-each-ref"), listing

    @rule(name=names, content=contents, mode=permissions)
    def agent_replaces(self, name: str, content: bytes, mode: int) -> None:
        """As a program that writes a new file and moves it over the old one."""
        (self.folder.path / name).unlink(missing_ok=True)
        self.folder.write(name, content)
        (self.folder.path / name).chmod(mode)
        self.disk = self.files()

    @rule(content=contents)
    def agent_writes_into_the_nested_repository(self, content: bytes) -> None:
        """It has a round of its own: this one neither lists nor touches it."""
        self.folder.write(f"{NESTED}/inside.txt", content)
        self.disk = self.files()
        self.kept([f"{NESTED}/inside.txt"])

    @rule(upper=halves)
    def agent_writes_its_half(self, upper: int) -> None:
        self.folder.write(SHARED, shared(upper, self.lower))
        self.disk = self.files()

    @rule(lower=halves, is_loaded=st.booleans())
    def person_saves_their_half(self, lower: int, is_loaded: bool) -> None:
        """Their tab has what is on the disk; a scan may have come since it was loaded."""
        text = shared(self.upper, self.lower)
        if is_loaded:
            self.folder.write(SHARED, shared(self.upper, lower))
            self.folder.saved(SHARED, loaded=text)
        else:
            self.folder.scan()
            self.folder.save(SHARED, shared(self.upper, lower))
        self.disk = self.files()
        reviewed = next(upper for upper in range(4) if b"agent %d" % upper in self.baseline[SHARED][1])
        assert self.in_store(SHARED)[1].decode() == shared(reviewed, lower)
        self.baseline = self.baseline | {SHARED: self.in_store(SHARED)}

    @rule(upper=halves, lower=halves, is_seen=st.booleans())
    def person_saves_unsaved_text_over_what_an_agent_wrote(self, upper: int, lower: int, is_seen: bool) -> None:
        """What is not on the disk any more was given back by the save."""
        self.folder.scan()
        mine, theirs = shared(self.upper, lower), shared(upper, self.lower)
        loaded = shared(self.upper, self.lower)
        self.folder.write(SHARED, theirs)
        if is_seen:
            self.folder.scan()
        below = self.folder.edit(SHARED, loaded, mine, found=theirs.encode())
        assert (below.data.decode() if below else None) == (theirs if upper != self.upper else None)
        self.disk = self.files()
        self.folder.keep_all()
        self.kept({*self.baseline, *self.disk})
        self.folder.round.saved_at.clear()  # a while later: what is written now is of no formatter

    @rule(name=own, content=contents, formatted=contents, is_late=st.booleans())
    def person_saves_and_a_formatter_writes(self, name: str, content: bytes, formatted: bytes, is_late: bool) -> None:
        """The formatter writes before the word of the save comes, or in the tab, which is saved again."""
        if is_late:
            began = time.time_ns()
            self.folder.write(name, content)
            self.folder.scan()
            self.folder.write(name, formatted)
            self.folder.saved(name, began, time.time_ns())
        else:
            self.folder.save(name, content)
            self.folder.save(name, formatted)
        self.disk = self.files()
        self.kept([name])

    @rule(name=own, content=contents, at=st.integers(0, 12))
    def a_look_comes_in_the_middle_of_a_save(self, name: str, content: bytes, at: int) -> None:
        began = time.time_ns()
        self.folder.write(name, content[:at])
        self.folder.scan()
        self.folder.write(name, content)
        self.folder.saved(name, began, time.time_ns())
        self.disk = self.files()
        self.kept([name])

    @rule(runs=st.integers(0, 5), is_after=st.booleans())
    def git_is_killed_in_a_look(self, runs: int, is_after: bool) -> None:
        """At one of its runs, before or after it has done its work. The next scan finds everything."""
        git_of_store = self.folder.store._git  # pyright: ignore[reportPrivateUsage]
        run, left = git_of_store.run, [runs]

        def killed(*arguments: str, **named: Any) -> bytes:
            left[0] -= 1
            if left[0] >= 0:
                return run(*arguments, **named)
            if is_after:
                run(*arguments, **named)
            raise GitStoppedError("killed")

        with patch.object(git_of_store, "run", killed), contextlib.suppress(GitStoppedError):
            self.folder.scan()

    @rule(writes=st.integers(0, 3))
    def the_editor_is_killed_in_an_undo(self, writes: int) -> None:
        """Some files are written and nobody has noted it: the rest waits as before."""
        self.folder.scan()
        planned, refused = self.folder.undoing.plan(self.folder.round.waiting())
        assert refused == []
        for write in planned[:writes]:
            self.folder.undoing.write(write)
        self.folder.reopen()
        self.disk = self.files()

    @rule(name=names, content=contents)
    def agent_writes(self, name: str, content: bytes) -> None:
        self.folder.write(name, content)
        self.disk = self.files()

    @rule(name=names)
    def agent_deletes(self, name: str) -> None:
        (self.folder.path / name).unlink(missing_ok=True)
        self.disk = self.files()

    @rule(name=names, leads_to=st.sampled_from(("a.txt", "../outside", "nowhere")))
    def agent_links(self, name: str, leads_to: str) -> None:
        path = self.folder.path / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        os.symlink(leads_to, path)
        self.disk = self.files()

    @rule(name=names)
    def agent_makes_a_program(self, name: str) -> None:
        path = self.folder.path / name
        if path.is_file() and not path.is_symlink():
            path.chmod(0o755)
        self.disk = self.files()

    @rule(name=names, other=names)
    def agent_renames(self, name: str, other: str) -> None:
        path = self.folder.path / name
        if path.is_symlink() or path.is_file():
            (self.folder.path / other).parent.mkdir(exist_ok=True)
            path.replace(self.folder.path / other)
        self.disk = self.files()

    @rule(name=own, content=contents)
    def person_saves(self, name: str, content: bytes) -> None:
        self.folder.save(name, content)
        self.disk = self.files()
        self.kept([name])

    @rule()
    def scan(self) -> None:
        self.folder.scan()

    @rule(name=names)
    def keep_file(self, name: str) -> None:
        self.folder.scan()
        found = self.folder.round.find(name)
        if found:
            self.folder.keep(name)
            self.kept(found.paths)

    @rule(name=names)
    def undo_file(self, name: str) -> None:
        self.folder.scan()
        found = self.folder.round.find(name)
        if found:
            assert self.folder.undo(name) == []
            self.undone(found.paths)

    @rule(name=names, number=st.integers(0, 3), keeps=st.booleans())
    def decide_one_change(self, name: str, number: int, keeps: bool) -> None:
        """A part moves to the other side, and the rest stays where it is."""
        self.folder.scan()
        keys = self.folder.keys(name)
        row = next((row for row in self.folder.round.rows() if row.path == name), None)
        if not keys or row is None or row.kind != "modified" or number >= len(keys):
            return
        if keeps:
            self.folder.keep_change(name, keys[number])
            self.baseline = self.baseline | {name: self.in_store(name)}
            if len(keys) == 1:
                assert self.baseline[name] == self.disk[name]
                self.kept([name])
        else:
            assert self.folder.undo(name, keys[number]) == []
            self.disk = self.disk | {name: self.files()[name]}
            if len(keys) == 1:
                assert self.disk[name] == self.baseline[name]
                self.undone([name])
        assert len(self.folder.keys(name)) == len(keys) - 1

    def in_store(self, name: str) -> tuple[int, bytes]:
        """A file in the baseline."""
        self.folder.store.copies.more(60)
        entry = self.folder.store.objects.entry(self.folder.round.state.base, name)
        assert entry
        data = self.folder.store.objects.read([entry.blob])[entry.blob]
        return {"120000": 0, "100755": 1}.get(entry.mode, 2), data

    @precondition(lambda self: self.folder.round.state.decided)
    @rule()
    def redo(self) -> None:
        """It comes back if nothing has been written there since; otherwise nothing is touched."""
        kept = {path for each in self.folder.round.state.decided for path in each.base}
        with contextlib.suppress(OSError):
            self.folder.redo()
        self.disk = self.files()
        for path in kept:  # of a keep the baseline comes back
            self.baseline.pop(path, None)
            self.modes.pop(path, None)
            if entry := self.folder.store.objects.entry(self.folder.round.state.base, path):
                self.baseline[path] = self.in_store(path)
                self.modes[path] = self.folder.store.modes.of(path, entry, entry) or 0

    @rule()
    def restart(self) -> None:
        """The editor is killed and started again."""
        self.folder.reopen()

    @rule()
    def keep_all(self) -> None:
        self.folder.scan()
        paths = [path for each in self.folder.round.waiting() for path in each.paths]
        self.folder.keep_all()
        self.kept(paths)
        assert self.baseline == self.disk
        assert self.folder.listed() == {}

    @rule()
    def undo_all(self) -> None:
        self.folder.scan()
        paths = [path for each in self.folder.round.waiting() for path in each.paths]
        assert self.folder.undo_all() == []
        self.undone(paths)
        assert self.files() == self.baseline
        assert self.folder.listed() == {}

    @invariant()
    def nothing_else_has_changed(self) -> None:
        if hasattr(self, "folder"):
            assert self.files() == self.disk
            assert self.by_git() == self.own_git
            assert not {*OWN, f"{NESTED}/inside.txt"} & set(self.folder.listed())

    def teardown(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(
    max_examples=15,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
