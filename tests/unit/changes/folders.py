"""A folder with a round, driven on the test's own thread."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from companion.changes.change_screen import SavedText
from companion.changes.checkpoints import Checkpoints
from companion.changes.round import Round
from companion.changes.saves import Overwritten, Saves, Told
from companion.changes.state import Operation
from companion.changes.undo import RoundUndo, Write
from companion.review.disk import Encodings
from companion.snapshots.files import WriteRefusedError
from companion.snapshots.git import Git, program
from companion.snapshots.store import Store

AGENT = "Qwen Code"
GIT = shutil.which("git") or "git"


class Folder:
    """A folder, its store and its round. `excludes` says which relative paths are never read."""

    def __init__(self, base: Path, name: str = "project", excludes: Callable[[str], bool] = lambda _: False) -> None:
        self.path = base / name
        self.path.mkdir(exist_ok=True)
        self.store_path = base / f"{name}-store"
        self.excludes = excludes
        self.round = self.opened()

    def opened(self) -> Round:
        """A round on the same store, as another run of the editor opens it."""
        git = Git(program(), str(self.store_path), str(self.path))
        self.store = Store(str(self.store_path), str(self.path), git, self.excluded)
        opened = Round(self.store, list)
        opened.at_work = {AGENT: 0}
        opened.open()
        self.saves = Saves(opened)
        self.undoing = RoundUndo(opened)
        self.checkpoints = Checkpoints(opened, self.undoing)
        return opened

    def excluded(self, paths: Sequence[str]) -> set[str]:
        """Those of some paths that are never read."""
        return {path for path in paths if self.excludes(path)}

    def reopen(self) -> None:
        """Go on in another run of the editor."""
        self.round = self.opened()

    def write(self, path: str, data: bytes | str) -> None:
        """Write a file as an agent or a person does."""
        full = self.path / path
        full.parent.mkdir(parents=True, exist_ok=True)
        if full.is_symlink():
            full.unlink()
        full.write_bytes(data.encode() if isinstance(data, str) else data)

    def read(self, path: str) -> bytes:
        """What is in a file."""
        return (self.path / path).read_bytes()

    def begin_copied(self) -> None:
        """Begin a round, and wait for all copies."""
        self.round.begin()
        assert self.store.copies.more(60) == 0

    def scan(self, *agents: str) -> None:
        """A scan of the folder while agents are at work."""
        self.round.at_work = dict.fromkeys(agents or (AGENT,), 0)
        self.round.scan()
        self.round.take()

    def listed(self) -> dict[str, str]:
        """What waits: the kind of each file."""
        return {row.path: row.kind for row in self.round.rows()}

    def undo(self, path: str, key: str = "", lines: tuple[int, int] | None = None) -> list[str]:
        """Undo a file or a change on the disk."""
        return self.apply(self.plan_change(path, key, lines) if key else self.plan(path))

    def plan_change(self, path: str, key: str, lines: tuple[int, int] | None = None) -> list[Write]:
        """What to write to undo a change of a file, or some lines of it."""
        return self.undoing.plan_changes(path, [(key, lines)])

    def keep_change(self, path: str, key: str, lines: tuple[int, int] | None = None) -> None:
        """Keep a change of a file, or some lines of it."""
        self.round.keep_changes(path, [(key, lines)])

    def plan(self, path: str, *, is_all: bool = False) -> list[Write]:
        """What to write to undo a file."""
        found = [each for each in self.round.waiting() if path in each.paths]
        writes, refused = self.undoing.plan(found, is_all=is_all)
        if refused:
            raise WriteRefusedError(refused[0])
        return writes

    def protected(self, path: str = "") -> list[str]:
        """What is the person's, too, in what an undo of a file, or of all, would take away."""
        return self.undoing.protected(each for each in self.round.waiting() if path in ("", *each.paths))

    def keep(self, path: str) -> None:
        """Keep a file."""
        self.round.keep(self.round.wanted(path).paths)

    def keep_all(self) -> None:
        """Keep everything."""
        self.round.keep([path for each in self.round.waiting() for path in each.paths])

    def undo_all(self) -> list[str]:
        """Undo everything. Returns what could not be undone."""
        writes, refused = self.undoing.plan(self.round.waiting())
        done: list[Write] = []
        for write in writes:
            try:
                self.undoing.write(write)
                done.append(write)
            except WriteRefusedError as error:
                refused.append(str(error))
        return refused + (self.undoing.finish(done) if done else [])

    def undo_all_to(self, before: Mapping[str, tuple[int, bytes]]) -> None:
        """Undo everything that a scan finds: the folder is as it was, and nothing waits."""
        self.scan()
        assert self.undo_all() == []
        assert tree(self.path) == before
        assert self.listed() == {}

    def redo(self) -> None:
        """Take the last undo back."""
        operation, writes = self.plan_back()
        for write in writes:
            self.undoing.write(write)
        assert self.undoing.finish_back(operation, writes) == []

    def plan_back(
        self, passed: list[str] | None = None, meant: Callable[[Operation], bool] | None = None
    ) -> tuple[Operation, list[Write]]:
        """The last decision that can be taken back, of those that are meant; `passed` gets why others can't be."""
        passed = [] if passed is None else passed
        for operation in filter(meant, reversed(self.round.state.decided)):
            try:
                writes, left = self.undoing.plan_back(operation)
            except WriteRefusedError as error:
                passed.append(str(error))
                continue
            passed += left
            return operation, writes
        raise WriteRefusedError(passed[0] if passed else "nothing was decided")

    def apply(self, writes: Sequence[Write]) -> list[str]:
        """Write what was planned."""
        for write in writes:
            self.undoing.write(write)
        return self.undoing.finish(writes)

    def save(self, path: str, data: bytes | str) -> None:
        """The person saves a file in the editor."""
        self.write(path, data)
        self.saved(path)

    def saved(self, path: str, since: int = 0, until: int = 0, *, loaded: str | None = None) -> Overwritten | None:
        """The word of a save comes. The tab was loaded from what the last scan has seen, or from another text."""
        return self.note(path, SavedText(loaded, since=since, until=until))

    def edit(self, path: str, loaded: str, text: str, *, found: bytes | None = None) -> Overwritten | None:
        """The person has a text of a file in a tab, and saves it with another one over what was `found` there."""
        saved = SavedText(loaded, text, found, since=time.time_ns())
        self.write(path, text)
        return self.note(path, replace(saved, until=time.time_ns()))

    def note(self, path: str, saved: SavedText, encodings: Encodings | None = None) -> Overwritten | None:
        """The word of a save comes."""
        return self.saves.saved({path: Told(path, saved, encodings or Encodings())}).get(path)

    def keys(self, path: str) -> list[str]:
        """The changes of a file."""
        contents = self.round.contents(path)
        return [each.key for each in contents[2].found] if contents else []


def git(folder: Path, *arguments: str) -> str:
    """Run git in a person's own repository."""
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    home = {**os.environ, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([GIT, *settings, *arguments], cwd=folder, env=home, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def committed(folder: Path) -> None:
    """Make a folder a repository with everything in it committed."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "begin", "--allow-empty")


def tree(folder: Path, leaves_out: Sequence[str] = (".git",)) -> Mapping[str, tuple[int, bytes]]:
    """Everything in a folder: the mode and the content of each file and link, and the folders."""
    while True:
        try:
            return _tree(folder, leaves_out)
        except FileNotFoundError:
            pass  # something went while it was read: read it again


def _tree(folder: Path, leaves_out: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part in leaves_out for part in name.split("/")):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = 0, os.fsencode(os.readlink(path))
        elif stat.S_ISDIR(mode):
            found[name] = 1, b""
        else:
            found[name] = stat.S_IMODE(mode), path.read_bytes()
    return found


def edited(
    lines: Sequence[str],
    changes: Iterable[tuple[str, int]],
    owner: str,
    token: Callable[[str], str],
    baseline: Container[str],
) -> list[str]:
    """Lines after some changes ("insert", "replace" or "delete", and where), each new one a token of its owner.

    A line of an agent ("a") that the person ("p") replaces is a line of both.
    """
    found = list(lines)
    for what, at in changes:
        if what == "insert":
            found.insert(min(at, len(found)), token(owner))
        elif at < len(found):
            old = found.pop(at)
            if what == "replace":
                mixes = owner == "p" and "a" in old and old.strip() not in baseline
                found.insert(at, f"{old}+{token(owner)}" if mixes else token(owner))
    return found
