"""Any order of an agent's writes, the person's saves, looks, keeps, undos and restarts, against a simple model.

The model has the content of each file on the disk and in the baseline. Agent and person write different files, or
different halves of one: then it is known exactly what must come out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from companion.changes import round as rounds_of_one

from .folders import Folder, committed, git, tree

NAMES = ("a.txt", "deep/b.bin", "ü \udcff.txt", "-c", "sub/d.txt")
OWN = ("mine.txt", "deep/mine.txt")
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


class Interleavings(RuleBasedStateMachine):
    """One folder in a repository."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="interleavings-"))

    @initialize(start=st.dictionaries(names, contents), is_committed=st.booleans())
    def begin(self, start: dict[str, bytes], is_committed: bool) -> None:
        rounds_of_one.FORMATTING = 0.0
        self.folder = Folder(self.base)
        for name, content in start.items():
            self.folder.write(name, content)
        if is_committed:
            committed(self.folder.path)
        else:
            git(self.folder.path, "init", "-q")
        self.kept = self.by_git()
        self.folder.round.begin()
        self.baseline: dict[str, tuple[int, bytes]] = self.files()
        self.disk = dict(self.baseline)

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
        self.baseline[name] = self.disk[name]

    @rule()
    def look(self) -> None:
        self.folder.look()

    @rule(name=names)
    def keep_file(self, name: str) -> None:
        self.folder.look()
        found = self.folder.round.find(name)
        if found:
            self.folder.round.keep_file(name)
            for path in found.paths:
                self.baseline.pop(path, None)
                if path in self.disk:
                    self.baseline[path] = self.disk[path]

    @rule(name=names)
    def undo_file(self, name: str) -> None:
        self.folder.look()
        found = self.folder.round.find(name)
        if found:
            assert self.folder.undo(name) == []
            for path in found.paths:
                self.disk.pop(path, None)
                if path in self.baseline:
                    self.disk[path] = self.baseline[path]

    @rule(name=names, number=st.integers(0, 3), keeps=st.booleans())
    def decide_one_change(self, name: str, number: int, keeps: bool) -> None:
        """A part moves to the other side, and the rest stays where it is."""
        self.folder.look()
        keys = self.folder.keys(name)
        row = next((row for row in self.folder.round.rows() if row.path == name), None)
        if not keys or row is None or row.kind != "modified" or number >= len(keys):
            return
        if keeps:
            self.folder.round.keep_change(name, keys[number])
            self.baseline = self.baseline | {name: self.in_store(name)}
            if len(keys) == 1:
                assert self.baseline[name] == self.disk[name]
        else:
            assert self.folder.undo(name, keys[number]) == []
            self.disk = self.disk | {name: self.files()[name]}
            if len(keys) == 1:
                assert self.disk[name] == self.baseline[name]
        assert len(self.folder.keys(name)) == len(keys) - 1

    def in_store(self, name: str) -> tuple[int, bytes]:
        """A file in the baseline."""
        entry = self.folder.store.entry(self.folder.round.state.base, name)
        assert entry
        data = self.folder.store.read([entry.blob])[entry.blob]
        return {"120000": 0, "100755": 1}.get(entry.mode, 2), data

    @precondition(lambda self: self.folder.round.state.undone)
    @rule()
    def redo(self) -> None:
        """It comes back if nothing has been written there since; otherwise nothing is touched."""
        with contextlib.suppress(OSError):
            self.folder.redo()
        self.disk = self.files()

    @rule()
    def restart(self) -> None:
        """The editor is killed and started again."""
        self.folder.reopen()

    @rule()
    def keep_all(self) -> None:
        self.folder.look()
        self.folder.round.keep_all()
        self.baseline = dict(self.disk)
        assert self.folder.listed() == {}

    @rule()
    def undo_all(self) -> None:
        self.folder.look()
        assert self.folder.undo_all() == []
        self.disk = dict(self.baseline)
        assert self.files() == self.baseline
        assert self.folder.listed() == {}

    @invariant()
    def nothing_else_has_changed(self) -> None:
        if hasattr(self, "folder"):
            assert self.files() == self.disk
            assert self.by_git() == self.kept
            assert not set(OWN) & set(self.folder.listed())

    def teardown(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(
    max_examples=15,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
