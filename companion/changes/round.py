"""A round of one folder: what agents have written since a baseline and nobody has reviewed yet.

The baseline follows the person: what they save is merged into it, and so is what they keep. What remains between the
baseline and the disk is to be reviewed. Everything here blocks and runs on the folder's own worker thread, one call at
a time. What a call needs to survive the editor is in the store's `round.json` before the call returns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from . import hunks, project, rules
from .entries import REPOSITORY, Difference, Entry, TreeSnapshot
from .files import WriteRefusedError
from .hunks import Hunks
from .own_index import own_attributes
from .project import Head, Repository
from .recent import RecentLooks, Sighting
from .rows import ChangeRow, Rows, is_comparable, is_text
from .state import RoundState, Save, read_state
from .store import DamagedError, Store


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look has found."""

    changed: tuple[str, ...] = ()
    """The paths that have changed since the look before and are not the person's saves."""
    moved_by: str = ""
    """What has moved `HEAD` or the index, such as "checkout"; empty if nothing has."""
    by_git: tuple[str, ...] = ()
    """Those of the changed paths that came with that, and that no agent has named."""
    before: TreeSnapshot | None = None
    """The look before."""


class ConflictError(Exception):
    """A save and what it is merged into have changed the same lines."""


class Round:
    """The round of one folder. `excludes` gives the files with ignore rules of the person's own."""

    def __init__(self, store: Store, excludes: Callable[[], Sequence[str]]) -> None:
        self.store = store
        self.objects = store.objects
        self.root = store.root
        self.state = RoundState(store.root)
        self._excludes = excludes
        self._rows = Rows(store.objects)
        self.recent = RecentLooks()
        self._looked_at = 0
        """When the last look began, in nanoseconds of Unix time."""

    def open(self) -> bool:
        """Go on with the round in the store. Returns False if there is none. Raises DamagedError."""
        self.store.open()
        try:
            found = read_state(self.store.path, self.root)
        except ValueError as error:
            raise DamagedError(f"the round can't be read: {error}") from error
        if found is None:
            return False
        if not self.objects.has_tree(found.base.tree) or not self.objects.has_tree(found.now.tree):
            raise DamagedError("a part of the baseline is missing")
        self.state = found
        self.store.modes = found.modes
        return True

    @property
    def is_open(self) -> bool:
        """Whether there is a baseline."""
        return self.state.began > 0

    def save(self) -> None:
        """Write the state down: what a command has done must survive the end of the editor."""
        self.state.modes = self.store.modes
        self.state.write(self.store.path)

    def begin(self, *, may_be_large: bool = False) -> list[str]:
        """Take what is on the disk as the baseline.

        Returns the files that were written while it was made: what was changed in them before counts as unchanged.
        Raises TooLargeError, GitError.
        """
        started = time.time_ns()
        found = project.repository(self.root)
        made = self._rules_now()
        has_objects = found is not None and self.store.begin_with(found, own_attributes())
        if has_objects:
            self.store.drop_ignored(made)
        objects = None if has_objects else found
        look = self.store.look(made, objects=objects, may_be_large=may_be_large, since=started)
        during = list(look.fresh)
        nested = sorted(path for path, entry in look.snapshot.beside.items() if entry.mode == REPOSITORY)
        nested += self.store.ignored_repositories()
        if nested:
            made += rules.without(nested)
            look = self.store.look(made)
        self.store.note_modes()
        empty = self.store.empty_folders(made)
        now = look.snapshot
        head = project.head(self._in_repository()[0])
        self.state = RoundState(self.root, time.time(), now, now, made, nested, empty, head)
        self.save()
        return during

    def _in_repository(self) -> tuple[Repository | None, str]:
        """The repository that the folder is in, or is, and the folder's path in its work tree, empty if it is that."""
        top = project.top(self.root)
        inside = os.path.relpath(self.root, top or self.root).replace(os.sep, "/")
        return (project.repository(top) if top else None), "" if inside == "." else inside

    def _rules_now(self) -> bytes:
        top = project.top(self.root)
        excludes = list(self._excludes())
        if at_top := self._in_repository()[0]:
            excludes.append(os.path.join(at_top.common, "info", "exclude"))
        above = rules.ignore_list(self.root, (), top, excludes)
        made = self.store.rules(lambda names: rules.ignore_list(self.root, names, top, excludes), above)
        self.store.drop_ignored(made)
        return made

    def look(self, at_work: Sequence[str], named: Mapping[str, str] | None = None) -> Seen:
        """See what has changed since the last look. `named` has the agents that have named the files they write."""
        before = self.state.now
        if self.state.working != list(at_work):
            self.state.working = list(at_work)
            self.save()
        looked_at, self._looked_at = self._looked_at, time.time_ns()
        loaded, self.recent.loaded = self.recent.loaded, {}
        looked = self.store.look(self.state.rules)
        self.state.now = looked.snapshot
        head, self.state.head = self.state.head, project.head(self._in_repository()[0])
        if before == self.state.now:
            return Seen((), "", (), before)
        changed: list[str] = []
        self.recent.forget_old()
        found = self.objects.differences(before, self.state.now, renames=False)
        for each in found:
            agent = (named or {}).get(each.path)
            if self.recent.settling.get(each.path, 0) > time.monotonic() and not agent:
                self.follow(each.path, each.before, each.after)
                continue
            changed.append(each.path)
            known = self.state.agents.setdefault(each.path, [])
            at = looked.written.get(each.path, 0)
            text, below = loaded.get(each.path), self.recent.below.get(each.path)
            sighting = Sighting(each.before, each.after, list(known), text, below, at, bool(agent))
            self.recent.add(each.path, sighting)
            known += [name for name in ([agent] if agent else at_work) if name not in known]
        self._forget_modes(each.path for each in found if each.after is None)
        self.save()
        moved_by, by_git = self._moved(head, [path for path in changed if path not in (named or {})], looked_at)
        return Seen(tuple(changed), moved_by, tuple(by_git), before)

    def _forget_modes(self, gone: Iterable[str]) -> None:
        """Forget the permissions of deleted files, unless an undo or a checkpoint can bring them back."""
        left = self.store.modes.left
        paths = {path for path in gone if path in left}
        paths.difference_update(*(each.disk for each in self.state.undone))
        for disk in {each.disk.tree: each.disk for each in self.state.checkpoints}.values():
            if paths:
                paths -= self.objects.entries(disk, list(paths)).keys()
        for path in paths:
            del left[path]

    def _moved(self, before: Head, paths: Sequence[str], since: int) -> tuple[str, Sequence[str]]:
        """What has moved `HEAD` or the index since a look, and which of some changed paths came with that."""
        after = self.state.head
        if before.stash != after.stash:
            return "stash", paths
        if before.commit != after.commit and after.moved_by != "commit":
            return after.moved_by or "git", paths
        found, below = self._in_repository()
        if not found or not paths or not since or before.index in ("", after.index) or before.commit != after.commit:
            return "", ()
        # What git has written is what the index says by now, and was in the repository before: `git add` makes it new.
        indexed = self.objects.indexed(found, below, paths)
        now = self.objects.entries(self.state.now, paths)
        same = [path for path in paths if indexed.get(path) == (now[path].blob if path in now else None)]
        return "the index", [
            path for path in same if path not in now or not project.is_made_since(found, now[path].blob, since)
        ]

    def waiting(self) -> list[Difference]:
        """What differs between the baseline and the last look."""
        return self.objects.differences(self.state.base, self.state.now)

    def rows(self) -> list[ChangeRow]:
        """The files that wait, by path."""
        return self._rows.of(self.waiting(), self.state, self._new())

    def _new(self) -> Collection[str]:
        """The paths that have changed since the checkpoint after which changes are new."""
        if (before := self.new_since()) is None:
            return ()
        return {path for each in self.objects.differences(before, self.state.now) for path in each.paths}

    def new_since(self) -> TreeSnapshot | None:
        """The folder at the checkpoint after which changes are new, with the person's saves since; None without one."""
        number = self.state.new_since
        point = next((each for each in self.state.checkpoints if each.number == number), None) if number else None
        return self.with_saves(point.disk, point.saves, len(self.state.saves))[0] if point else None

    def new_changes(self, path: str, after: bytes, found: Hunks) -> Iterator[str]:
        """The keys of a file's changes that were made since the checkpoint after which changes are new."""
        before = self.new_since()
        entry = self.objects.entry(before, path) if before else None
        data = self.objects.read([entry.blob]).get(entry.blob, b"") if entry and is_text(entry) else b""
        since = [each.change for each in hunks.hunks(data, after).found]
        for each in found.found:
            start, end = each.change.new_start, each.change.new_end
            if any(start <= one.new_end and one.new_start <= end for one in since):
                yield each.key

    def with_saves(self, snapshot: TreeSnapshot, first: int, last: int) -> tuple[TreeSnapshot, set[str]]:
        """A snapshot with some of the person's saves, and the files in which they conflict with it."""
        saves = self.state.saves[first:last]
        entries: dict[str, Entry | None] = dict.fromkeys(each.path for each in saves)
        entries |= self.objects.entries(snapshot, list(entries))
        conflicts: set[str] = set()
        for each in saves:
            try:
                entries[each.path] = self.merged(entries[each.path], each.before, each.after)
            except ConflictError:
                conflicts.add(each.path)
        return (self.objects.with_entries(snapshot, entries) if entries else snapshot), conflicts

    def rows_of(self, found: Sequence[Difference]) -> list[ChangeRow]:
        """The rows of other differences, such as those of a turn."""
        return self._rows.of(found, self.state)

    def contents(self, path: str) -> tuple[bytes, bytes, Hunks] | None:
        """The baseline's and the last look's content of a file that waits, and its changes; None if nothing does."""
        found = self.find(path)
        return self._rows.contents(found) if found else None

    def contents_of(self, found: Sequence[Difference]) -> dict[str, tuple[bytes, bytes, Hunks]]:
        """Both contents of some files and their changes, by path; those are left out that can't be compared."""
        return self._rows.contents_of(found)

    def committed(self, path: str, *, in_index: bool) -> bytes | None:
        """A file as the person's own repository has it, in its index or in HEAD; None if it has none."""
        found, below = self._in_repository()
        if found is None:
            return None
        name = f"{below}/{path}" if below else path
        return self.objects.committed(found, project.head(found).commit, name, in_index=in_index)

    def find(self, path: str) -> Difference | None:
        """How a file differs from the baseline; None if it doesn't."""
        return next((each for each in self.waiting() if path in each.paths), None)

    def follow(self, path: str, before: Entry | None, after: Entry | None) -> None:
        """Note what the person has changed in a file, and merge it into the baseline."""
        if before != after:
            self.state.saves.append(Save(path, before, after))
            self.merge_into_base(path, before, after)

    def merge_into_base(self, path: str, before: Entry | None, after: Entry | None) -> None:
        """Merge what has changed in a file into the baseline."""
        ours = self.objects.entry(self.state.base, path)
        try:
            merged = self.merged(ours, before, after)
        except ConflictError:
            self.state.mixed.add(path)
        else:
            self.state.base = self.objects.with_entries(self.state.base, {path: merged})
            if before is None or after is None:
                self._keep_modes([path])

    def merged(self, ours: Entry | None, before: Entry | None, after: Entry | None) -> Entry | None:
        """`ours` with the change from `before` to `after`. Raises ConflictError."""
        if ours == before:
            return after
        if after in (before, ours):
            return ours
        if ours is None or before is None or after is None or not all(is_text(each) for each in (ours, before, after)):
            raise ConflictError
        data = self.objects.read([ours.blob, before.blob, after.blob])
        if len(data) < len({ours.blob, before.blob, after.blob}):
            raise ConflictError
        merged = self.objects.merge(data[ours.blob], data[before.blob], data[after.blob])
        if merged is None:
            raise ConflictError
        return Entry(ours.mode if before.mode == after.mode else after.mode, self.objects.write(merged))

    def keep_file(self, path: str, after: str = "") -> None:
        """Take a file over into the baseline; `after` is that of its row, if the person has seen one."""
        found = self.wanted(path, after)
        self._keep({each: self.objects.entry(self.state.now, each) for each in found.paths}, found.paths)

    def keep_change(self, path: str, key: str, lines: tuple[int, int] | None = None) -> None:
        """Take one change of a file over, or the part of it that some lines are."""
        found = self.wanted(path)
        if found.before is None or found.after is None or found.renamed_from or not is_comparable(found):
            self.keep_file(path)
            return
        data = self.objects.read([found.before.blob, found.after.blob])
        content = hunks.kept(data[found.before.blob], data[found.after.blob], key, lines)
        if content is None:
            raise WriteRefusedError(f"{path} has changed since")
        is_all = content == data[found.after.blob]
        mode = found.after.mode if is_all else found.before.mode
        self._keep({path: Entry(mode, self.objects.write(content))}, [path] if is_all else [])

    def keep_all(self) -> None:
        """Take everything over."""
        found = self.waiting()
        self.state.base = self.state.now
        self._keep_modes(path for each in found for path in each.paths)
        self.settle()

    def _keep(self, entries: Mapping[str, Entry | None], whole: Iterable[str]) -> None:
        """Have other entries in the baseline; `whole` are the files that are there as on the disk."""
        self.state.base = self.objects.with_entries(self.state.base, entries)
        self._keep_modes(whole)
        self.settle()

    def _keep_modes(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.store.modes.keep(self.root, path)

    def settle(self) -> None:
        """Forget who changed files of which nothing waits any more."""
        waiting = {path for each in self.waiting() for path in each.paths}
        self.state.agents = {path: names for path, names in self.state.agents.items() if path in waiting}
        self.state.mixed &= waiting
        self.save()

    def wanted(self, path: str, after: str = "") -> Difference:
        """How a file differs from the baseline. Raises WriteRefusedError if not, or not as its row said."""
        found = self.find(path)
        if found is None:
            raise WriteRefusedError(f"nothing of {path} waits for a review")
        if after and (found.after is None or after != f"{found.after.mode} {found.after.blob}"):
            raise WriteRefusedError(f"{path} has changed since")
        return found
