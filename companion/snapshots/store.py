"""The private store of one folder: snapshots of it, as trees of a bare git repository.

The store has an index, which is the last look at the folder, and whose times make the next look cheap. Files are listed
by `git ls-files`, filtered here and added by `git update-index`: what the settings exclude is never read, and a file
over 10 MB never copied. A first round begins with a copy of the index of the person's repository, whose ids need no
file to be read; the files are copied afterwards (`copies`). Nothing of the repository itself is linked or kept.

All of this blocks; it runs on the worker thread of the folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ..platforms.files import make_private_folders
from . import project, rules
from .copies import Copies, remove_unfinished
from .entries import FILE, LARGE, LINK, PROGRAM, REPOSITORY, Entry, TreeSnapshot
from .files import blob_id, large_id
from .git import Git, GitError, GitStoppedError, names_in
from .modes import Modes
from .objects import EMPTY_TREE, OWN, SCRATCH, StoreObjects
from .project import EXCLUDES, Repository
from .store_index import IndexListing, StoreIndex, Survey

MANY_FILES = 200_000
MANY_BYTES = 5 * 1024**3
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -diff -merge\n"
_RULES = "rules"
_GIT_ATTRIBUTES = ".gitattributes"
_SAMPLE = 1_000
"""Files whose permissions say which are the usual ones."""
_IGNORED_DEPTH = 2
_IGNORED_SEARCHED = 2_000
"""Ignored folders that are searched for repositories: a large one, such as of packages, must not hold up a round."""


class TooLargeError(Exception):
    """A folder has so much in it that the person is asked first."""

    def __init__(self, files: int, size: int) -> None:
        super().__init__(f"{files:,} files, {size / 1024**3:.1f} GB")


class DamagedError(GitError):
    """The store can't be read."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a look found."""

    snapshot: TreeSnapshot
    fresh: tuple[str, ...] = ()
    """The paths that differ from the look before and were written since a time."""
    written: Mapping[str, int] = field(default_factory=dict[str, int])
    """When they were written, in nanoseconds of Unix time."""
    differing: AbstractSet[str] = frozenset()
    """The files that the look before had otherwise, or with other times; also those that are gone."""
    corrected: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """What files really are of which the baseline has something else: the index of the repository said so."""
    is_current: bool = False
    """Whether nothing had to be brought up to date."""


@dataclass(frozen=True, slots=True)
class Began:
    """What a round begins with."""

    snapshot: TreeSnapshot
    rules: bytes
    """The ignore rules."""
    nested: list[str]
    """The nested repositories, which have rounds of their own."""
    empty: list[str]
    """The folders without a file in them. Each ends with a slash."""
    fresh: list[str]
    """The files that were written meanwhile: what was changed in them before counts as unchanged."""


class Store:
    """Snapshots of the folder `root` in the folder `path`. `excludes` says whether a relative path is never read."""

    def __init__(self, path: str, root: str, git: Git, excludes: Callable[[str], bool]) -> None:
        self.path = path
        self.root = root
        self._git = git
        self.excludes = excludes
        self._beside: dict[str, Entry] = {}
        self._stats: dict[str, tuple[int, ...]] = {}
        """The stat of each file beside, for which its entry was made."""
        self._tree = ""
        self._known = 0, 0
        """How many files, and bytes of them, were taken from the person's index."""
        self._absent: set[str] = set()
        """The files that are gone and would be listed if they came again, though the ignore rules leave them out."""
        self.modes = Modes()
        self.objects = StoreObjects(path, root, git)
        self.copies = Copies(path, root, git, self.objects, self.modes)
        self._index = StoreIndex(path, root, os.path.join(path, _RULES), git)
        self._written: dict[str, int] = {}
        """When the files of the last look were written, in nanoseconds."""
        self._failed: dict[str, tuple[int, ...]] = {}

    def open(self) -> None:
        """Make the store if there is none. Raises DamagedError if there is one that can't be read."""
        make_private_folders(self.path)
        if not os.path.isdir(os.path.join(self.path, "objects")):
            self._git.run("init", "-q", "--template=")
        make_private_folders(os.path.join(self.path, "info"))
        self._write_file(os.path.join("info", "attributes"), _ATTRIBUTES.encode())
        for lock in ("index.lock", f"{SCRATCH}.lock", "HEAD.lock"):  # left by a run that was killed
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.path, lock))
        try:
            self._tree = self.objects.write_tree("index")
        except GitStoppedError:
            raise
        except GitError as error:
            raise DamagedError(str(error)) from error
        remove_unfinished(self.path)
        self.copies.open(self._index.ids())

    def resume(self, base: TreeSnapshot, modes: Modes) -> None:
        """Go on with the baseline of a round and its permissions. Raises DamagedError if the baseline isn't there."""
        self.modes = self.copies.modes = modes
        try:
            blobs = self.objects.blobs(base.tree)
            is_whole = self.copies.find_lost(blobs.values())
        except GitStoppedError:
            raise
        except GitError as error:
            raise DamagedError("a part of the baseline is missing") from error
        self._absent = blobs.keys() - self._index.ids().keys()
        if not is_whole:
            raise DamagedError("a part of the baseline is missing")

    def begin(self, excludes: Sequence[str], *, may_be_large: bool = False, since: int = 0) -> Began:
        """Take what is on the disk as a baseline.

        `excludes` are the files with ignore rules of the person's own, `since` is a time in nanoseconds. Raises
        TooLargeError, GitError.
        """
        began = time.time_ns()
        found = project.repository(self.root)
        own = self._survey_own(found)
        is_first = self._tree == EMPTY_TREE
        survey = own if own and is_first else self._index.survey()
        ignored, made = self._rules_now(excludes, survey)
        self._write_file(_RULES, made)
        tracked = own.names if own else set[str]()
        outside = {*self._index.outside(survey.others)} - tracked
        nested = sorted(name.rstrip("/") for name in outside if name.endswith("/"))
        nested += self._ignored_repositories(ignored)
        made += rules.without(nested)
        self._write_file(_RULES, made)
        taken = self._begin_with(found, own) if found and own and is_first else {}
        if not is_first:
            self._index.drop({*self._index.ignored()} - tracked)
        indexed, changed = (taken.keys(), set[str]()) if is_first else (survey.names, {*survey.rest})
        new = {name for name in outside if not name.endswith("/")} | (tracked - indexed)
        look = self._seen(IndexListing(changed, set(), new), may_be_large=may_be_large, since=since)
        if taken:
            self.copies.claim({path: blob for path, blob in taken.items() if path not in look.differing})
            now = {*taken} | look.written.keys()
        else:
            blobs = self.objects.blobs(look.snapshot.tree)
            self.copies.open(blobs)
            now = {*blobs}
        self._absent = {*tracked} - now
        self.modes.begin(self.root, self._sample(now), self.copies.claimed)
        untracked = [name for name in survey.others if name.endswith("/") and name not in ignored]
        empty = self._index.empty(untracked)
        self._index.remember(look.snapshot.beside.keys() & new, made, began, [*now, *empty])
        return Began(look.snapshot, made, nested, empty, list(look.fresh))

    def change_rules(self, old: bytes, new: bytes) -> dict[str, Entry | None]:
        """Have other ignore rules, which the person has written.

        Returns the files that are left out by now, and as they are those that no longer are: neither is a change of
        anybody. Raises GitError.
        """
        outside = ("ls-files", "-z", "-o", "-X", os.path.join(self.path, _RULES))
        self._write_file(_RULES, old)
        before = {*names_in(self._git.run(*outside))}
        self._write_file(_RULES, new)
        shown = {name for name in names_in(self._git.run(*outside)) if not name.endswith("/")} - before
        own = self._survey_own(project.repository(self.root))
        gone = {*self._index.ignored()} - (own.names if own else set[str]())
        self._index.drop(gone)
        self._tree = ""
        now = self.look(new).snapshot
        return dict.fromkeys(gone) | {path: self.objects.entry(now, path) for path in shown}

    def _survey_own(self, found: Repository | None) -> Survey | None:
        """The folder beside the index of the person's repository; None if that can't be read."""
        if found and project.copy_index(found, os.path.join(self.path, OWN)):
            try:
                return self._index.survey(OWN)
            except GitStoppedError:
                raise
            except GitError:  # it is damaged, split, sparse or of another kind
                pass
        return None

    def _rules_now(self, excludes: Sequence[str], survey: Survey) -> tuple[set[str], bytes]:
        """The folders that the ignore rules leave out of a survey's finds, and the rules as they are now."""
        top = project.top(self.root)
        at_top = project.repository(top) if top else None
        listed = [*excludes, *([os.path.join(at_top.common, "info", "exclude")] if at_top else ())]
        self._write_file(_RULES, rules.ignore_list(self.root, (), top, listed))
        ignored, rest = self._index.standard(survey.others)
        folders = {name for name in ignored if name.endswith("/")}
        inside = (f"{name}{rules.IGNORE}" for name in folders)
        names = [
            name for name in (*survey.names, *survey.others, *ignored, *rest, *inside) if name.endswith(rules.IGNORE)
        ]
        found = {name for name in names if f"/{name}".endswith(f"/{rules.IGNORE}")}
        return folders, rules.ignore_list(self.root, found, top, listed)

    def _begin_with(self, found: Repository, own: Survey) -> dict[str, str]:
        """Begin with the ids of the index of the person's repository. Returns those that are taken, by path.

        An id is taken if the file on the disk has its very bytes, as far as git knows.
        """
        attributes = [path for path in own.names if path.endswith(_GIT_ATTRIBUTES)]
        # One that is gone may have held when the others were written.
        is_whole = all(os.path.isfile(os.path.join(self.root, path)) for path in attributes)
        by_filter, by_ending = project.changed_by_git(found, self.root, attributes)
        if by_filter or not is_whole:
            return {}
        plain = {path: blob for path, blob in own.blobs.items() if not self.excludes(path)}
        if by_ending:
            lent = project.lent_objects(found, plain.values())
            sizes = self.objects.sizes(plain.values(), lent) if lent else {}
            plain = {path: blob for path, blob in plain.items() if self._size(path) == sizes.get(blob, -1)}
        if plain:
            self.copies.expect()
            self._tree, folders = self.objects.write_folders(plain, own.modes)
            self._index.begin(OWN, own, plain, folders)
            self._known = len(plain), 0
        return plain

    def _size(self, path: str) -> int | None:
        with contextlib.suppress(OSError):
            return os.lstat(os.path.join(self.root, path)).st_size
        return None

    def _sample(self, files: AbstractSet[str]) -> list[str]:
        """Of the files of a look those that stand for all others, and those that are not copied later."""
        step = max(1, len(files) // _SAMPLE)
        return [*(files - self.copies.claimed), *self._beside, *[*files][::step]]

    def _ignored_repositories(self, ignored: Iterable[str]) -> list[str]:
        """The repositories in what the ignore rules leave out, which have rules of their own."""
        found: list[str] = []
        todo = [(name.rstrip("/"), 0) for name in sorted(ignored)][:_IGNORED_SEARCHED]
        for path, depth in todo:
            full = os.path.join(self.root, path)
            if os.path.lexists(os.path.join(full, ".git")):
                found += [path] if project.repository(full) else []
            elif depth < _IGNORED_DEPTH:
                with contextlib.suppress(OSError), os.scandir(full) as entries:
                    below = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
                    todo += [(f"{path}/{name}", depth + 1) for name in below][: _IGNORED_SEARCHED - len(todo)]
        return found

    def look(self, rules: bytes) -> Look:
        """Look at the folder, and copy what has changed since the last look into the store.

        `rules` are the ignore rules. Raises GitError.
        """
        began = time.time_ns()
        self._write_file(_RULES, rules)
        listing = self._index.listing(rules)
        listing.untracked |= {path for path in self._absent if os.path.lexists(os.path.join(self.root, path))}
        look = self._seen(listing)
        if look.is_current:
            self._index.note(listing, rules, began)
        return look

    def _seen(self, listing: IndexListing, *, may_be_large: bool = True, since: int = 0) -> Look:
        """Bring the index up to date with what differs from it. Raises TooLargeError, GitError."""
        gone = {path for path in listing.gone if not self._is_hidden(path)}
        indexed = listing.changed - gone
        seen = indexed | listing.untracked
        nested = {name for name in seen if name.endswith("/")}
        seen -= nested | gone
        self._written.clear()
        add, beside, stats = self._sorted(seen, gone, listing.untracked, may_be_large=may_be_large)
        wrong = self.copies.seen(indexed | gone)
        add = sorted({*add, *wrong})
        # A file may have grown over the limit, or can't be read any more.
        remove = gone | (indexed & beside.keys()) | wrong
        hidden = {*self._index.ignored()} & gone if gone else set[str]()
        if remove or add:
            self._tree = ""  # until the index is written as a whole
            unreadable = self._unreadable(self._index.update(listing, remove, add))
        else:
            unreadable = {}
        self._written |= {path: self.written_at(path) for path in add}  # it may have been written while it was read
        self._tree = self._tree or self.objects.write_tree("index")
        if add and self.objects.unsaved:
            self.objects.unsaved = self.objects.lacking(self.objects.unsaved)
        beside |= unreadable
        for path in self._beside.keys() - beside.keys() - set(add):
            if self._is_hidden(path):
                beside[path] = self._beside[path]
                if path in self._stats:
                    stats[path] = self._stats[path]
        beside |= {name.rstrip("/"): Entry(REPOSITORY, "", "repository") for name in nested}
        beside |= self._rules_elsewhere()
        self._beside, self._stats = beside, stats
        self._absent = (self._absent | hidden) - {*add}
        fresh = tuple(sorted(path for path, at in self._written.items() if at >= since)) if since else ()
        now = TreeSnapshot(self._tree, dict(beside))
        corrected = self.objects.entries(now, sorted(wrong)) if wrong else {}
        return Look(now, fresh, dict(self._written), indexed | gone, corrected, not (remove or add))

    def _rules_elsewhere(self) -> dict[str, Entry]:
        """The repository's ignore rules that are in no file of the folder, as an entry that tells if they change."""
        if not (found := project.repository(self.root)):
            return {EXCLUDES: self._beside[EXCLUDES]} if EXCLUDES in self._beside else {}
        data = b"".join(rule + b"\n" for rule in rules.rules_in(os.path.join(found.common, "info", "exclude")))
        return {EXCLUDES: Entry(FILE, blob_id(data), "rules")} if data else {}

    def _sorted(
        self, seen: set[str], gone: set[str], new: AbstractSet[str], *, may_be_large: bool
    ) -> tuple[list[str], dict[str, Entry], dict[str, tuple[int, ...]]]:
        """The paths to add, and what is known of the others. Paths that are no files any more join the `gone` ones.

        Of what is seen, `new` was in no look before.
        """
        add: list[str] = []
        beside: dict[str, Entry] = {}
        stats: dict[str, tuple[int, ...]] = {}
        size = 0
        for path in seen:
            full = os.path.join(self.root, path)
            try:
                found = os.lstat(full)
            except PermissionError:
                continue
            except OSError:
                gone.add(path)
                continue
            is_link = stat.S_ISLNK(found.st_mode)
            if not is_link and not stat.S_ISREG(found.st_mode):
                gone.add(path)
                continue
            size += found.st_size
            self._written[path] = found.st_mtime_ns
            key = (found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode)
            if path in new:
                self.modes.seen(path, found.st_mode)
            mode = LINK if is_link else PROGRAM if found.st_mode & 0o100 else FILE
            if self.excludes(path):
                beside[path], stats[path] = Entry(mode, f"{found.st_size}-{found.st_mtime_ns}", "excluded"), key
            elif not is_link and found.st_size > LARGE:
                known = self._beside.get(path) if self._stats.get(path) == key else None
                beside[path], stats[path] = known or self._large(path, mode), key
            elif self._failed.get(path) == key:
                beside[path], stats[path] = Entry(mode, f"{found.st_size}-{found.st_mtime_ns}", "unreadable"), key
            else:
                add.append(path)
        files, size = len(seen) + self._known[0], size + self._known[1]
        if not may_be_large and (files > MANY_FILES or size > MANY_BYTES):
            raise TooLargeError(files, size)
        self._known = 0, 0
        return sorted(add), beside, stats

    def _large(self, path: str, mode: str) -> Entry:
        """A file that isn't copied has git's id, so that it may be found in the person's repository."""
        try:
            return Entry(mode, large_id(self.root, path, self._git.is_closed), "large")
        except OSError:
            if self._git.is_closed():
                raise GitStoppedError("it was ended") from None
            return Entry(mode, "unreadable", "unreadable")

    def _is_hidden(self, path: str) -> bool:
        """Whether a file is in a folder that may not be read, where nobody can tell what has become of it."""
        try:
            os.lstat(os.path.join(self.root, path))
        except PermissionError:
            return True
        except OSError:
            return False
        return False

    def _unreadable(self, paths: Iterable[str]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for path in paths:
            with contextlib.suppress(OSError):
                stated = os.lstat(os.path.join(self.root, path))
                self._failed[path] = (stated.st_size, stated.st_mtime_ns, stated.st_ino, stated.st_mode)
                mode = PROGRAM if stated.st_mode & 0o100 else FILE
                found[path] = Entry(mode, f"{stated.st_size}-{stated.st_mtime_ns}", "unreadable")
        return found

    def written_at(self, path: str) -> int:
        """When a file was written, in nanoseconds of Unix time; 0 if there is none."""
        try:
            return os.lstat(os.path.join(self.root, path)).st_mtime_ns
        except OSError:
            return 0

    def _write_file(self, name: str, data: bytes) -> None:
        path = os.path.join(self.path, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
