"""The private store of one folder: snapshots of it, as trees of a bare git repository.

The store has an index, which is the last scan of the folder, and whose times make the next scan cheap. Files are listed
by `git ls-files`, filtered here and added by `git update-index`: what the settings exclude is never read, and a file
over 10 MB never copied. A first round begins with a copy of the index of the person's repository, whose ids need no
file to be read; its trees are made and the files are copied afterwards (`copies`). Nothing of the repository itself is
linked or kept.

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
from . import project
from .copies import Copies, remove_unfinished
from .entries import FILE, LARGE, LINK, PROGRAM, REPOSITORY, Entry, Modes, TreeSnapshot
from .files import blob_id, large_id
from .git import Git, GitError, GitStoppedError, names_in
from .objects import EMPTY_TREE, OWN, SCRATCH, Commits, StoreObjects
from .project import EXCLUDES, Repository
from .store_index import IndexListing, StoreIndex, Survey, add_parents, ids_in

MANY_FILES = 200_000
MANY_BYTES = 5 * 1024**3
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -diff -merge\n"
_RULES = "rules"
_GIT_ATTRIBUTES = ".gitattributes"
_SAMPLE = 200
"""Files whose permissions say which are the usual ones."""
_TICK = 20_000_000
"""Nanoseconds by which the time of a file may be too early: the system takes it from a clock that ticks."""
_TELLS_MOVES = os.name != "nt"
"""Whether a file knows when it was moved: Windows has the time of its creation there, and its folder knows."""
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
class Scan:
    """What a scan found."""

    snapshot: TreeSnapshot
    fresh: tuple[str, ...] = ()
    """The paths that differ from the scan before and were written since a time."""
    written: Mapping[str, int] = field(default_factory=dict[str, int])
    """When they were written, in nanoseconds of Unix time."""
    corrected: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """What files really are of which the baseline has something else: the index of the repository said so.

    Each scan has them until `Copies.corrected` is told.
    """
    is_current: bool = False
    """Whether nothing had to be brought up to date."""
    at: float = field(default_factory=time.monotonic)
    """When it had been made, by the monotonic clock."""


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
    """Snapshots of the folder `root` in the folder `path`. `excluded` says which relative paths are never read."""

    def __init__(self, path: str, root: str, git: Git, excluded: Callable[[Sequence[str]], AbstractSet[str]]) -> None:
        self.path = path
        self.root = root
        self._git = git
        self.excluded = excluded
        self._beside: dict[str, Entry] = {}
        self._stats: dict[str, tuple[int, ...]] = {}
        """The stat of each file beside, for which its entry was made."""
        self._tree = ""
        self._begun: TreeSnapshot | None = None
        """What a round has begun with, until its trees are made."""
        self._copied: AbstractSet[str] | None = None
        """The files of it that were read; None if only the store tells."""
        self._known = 0
        """How many files were taken from the person's index."""
        self._absent: set[str] = set()
        """The files that are in no index and are listed whenever they are there, though ignore rules leave them out."""
        self.modes = Modes()
        self.objects = StoreObjects(path, root, git)
        self.copies = Copies(path, root, self.objects, self.modes, excluded)
        self.commits = Commits(self.objects, git)
        self.index = StoreIndex(path, root, os.path.join(path, _RULES), git)
        self._written: dict[str, int] = {}
        """When the files of the last scan were written, in nanoseconds."""
        self._failed: dict[str, tuple[int, ...]] = {}

    def open(self, last: TreeSnapshot | None) -> TreeSnapshot:
        """Make the store if there is none. Returns the last scan of the round in it; None is for no round.

        Raises DamagedError if the store can't be read.
        """
        make_private_folders(self.path)
        if not os.path.isdir(os.path.join(self.path, "objects")):
            self._git.run("init", "-q", "--template=")
        make_private_folders(os.path.join(self.path, "info"))
        self._write_file(os.path.join("info", "attributes"), _ATTRIBUTES.encode())
        self.unlock()
        remove_unfinished(self.path)
        if last is None:
            self._tree = EMPTY_TREE
            return TreeSnapshot(EMPTY_TREE, {})
        try:
            if last.is_made:
                self.objects.blobs(last.tree)  # if it is there
                self._tree = self.objects.write_tree("index")
                self.copies.open(self.index.ids())
            else:
                self._begun = last = TreeSnapshot(self._make_trees, last.beside)
                self._complete()
        except GitError as error:
            raise DamagedError(str(error)) from error
        return last

    def unlock(self) -> None:
        """Remove the locks of a git that was killed: nobody else writes this store, one git at a time."""
        for name in ("index.lock", f"{SCRATCH}.lock", "HEAD.lock"):
            self._remove_file(name)

    def resume(self, base: TreeSnapshot, modes: Modes) -> None:
        """Go on with the baseline of a round and its permissions. Raises DamagedError if the baseline isn't there."""
        self.modes = self.copies.modes = modes
        try:
            blobs = self.objects.blobs(base.tree)
            is_whole = self.copies.find_lost(blobs.values())
        except GitError as error:
            raise DamagedError("a part of the baseline is missing") from error
        self._absent = (blobs.keys() | _files_in(base.beside)) - self.index.ids().keys()
        if not is_whole:
            raise DamagedError("a part of the baseline is missing")

    def begin(self, excludes: Sequence[str], *, may_be_large: bool = False, since: int = 0) -> Began:
        """Take what is on the disk as a baseline.

        `excludes` are the files with ignore rules of the person's own, `since` is a time in nanoseconds. Raises
        TooLargeError, GitError.
        """
        self._complete()
        is_first = self._tree == EMPTY_TREE
        if is_first:
            self._remove_file("index")  # left by a beginning that has failed
        found = project.repository(self.root)
        own = self._survey_own(found)
        survey = own if own and is_first else self.index.survey()
        ignored, made = self._rules_now(excludes, survey)
        self._write_file(_RULES, made)
        outside = {*self.index.outside(survey.others)}
        outside -= {*own.names} if own and outside else set[str]()
        nested = sorted(name.rstrip("/") for name in outside if name.endswith("/"))
        nested += self._ignored_repositories(ignored)
        made += project.rules_without(nested)
        self._write_file(_RULES, made)
        taken = self._taken(found, own) if found and own and is_first else ()
        new = {name for name in outside if not name.endswith("/")}
        if taken and own:
            gone = {*own.names}.difference(taken) if len(taken) < len(own.names) else set[str]()
            self.copies.expect()
            self.index.begin(OWN, {*own.repositories, *gone})
            self._known = len(taken)
            listing = IndexListing(untracked=new | gone)
            try:
                scan = self._seen(listing, may_be_large=may_be_large, since=since, is_made=False)
            finally:
                self._tree = "" if self._begun else EMPTY_TREE
            self._copied = scan.written.keys()
            self.copies.claim_later(self._complete, len(taken))
            self.modes.begin(self.root, [*scan.written, *_sampled(taken)])
            self._absent = gone - scan.written.keys() | _files_in(self._beside)
        else:
            tracked = {*own.names} if own else set[str]()
            indexed, changed = ((), set[str]()) if is_first else (survey.names, {*survey.rest})
            if not is_first:
                self.index.drop({*self.index.ignored()} - tracked)
            listing = IndexListing(changed, untracked=new | tracked.difference(indexed))
            scan = self._seen(listing, may_be_large=may_be_large, since=since)
            now = self.objects.blobs(scan.snapshot.tree)
            self.copies.open(now)
            self.modes.begin(self.root, [*(now.keys() - self.copies.claimed), *self._beside, *_sampled([*now])])
            self._absent = tracked - now.keys()
        untracked = [name for name in survey.others if name.endswith("/") and name not in ignored]
        return Began(scan.snapshot, made, nested, sorted(self.index.empty(untracked)), list(scan.fresh))

    def _complete(self) -> None:
        """Make the trees of a round that has just begun, before its index changes."""
        if self._begun:
            self._tree = self._begun.tree

    def _make_trees(self) -> str:
        listed = self.index.listed()
        tree, folders = self.objects.write_folders(listed)
        self.index.forget_trees(folders)
        ids = ids_in(listed)
        if self._copied is None:
            self.copies.open(ids)
        else:
            self.copies.claim({path: blob for path, blob in ids.items() if path not in self._copied})
        self._begun = None
        return tree

    def change_rules(self, old: bytes, new: bytes) -> dict[str, Entry | None]:
        """Have other ignore rules, which the person has written.

        Returns the files that are left out by now, and as they are those that no longer are: neither is a change of
        anybody. Raises GitError.
        """
        self._complete()
        outside = ("ls-files", "-z", "-o", "-X", os.path.join(self.path, _RULES))
        self._write_file(_RULES, old)
        before = {*names_in(self._git.run(*outside))}
        self._write_file(_RULES, new)
        after = {*names_in(self._git.run(*outside))}
        shown, hidden = (filter(_is_file, names) for names in (after - before, before - after))
        own = self._survey_own(project.repository(self.root))
        gone = {*self.index.ignored(), *hidden}.difference(own.names if own else ())
        self.index.drop(gone)
        self._absent -= gone
        self._tree = ""
        now = self.scan(new).snapshot
        return dict.fromkeys(gone) | {path: self.objects.entry(now, path) for path in shown}

    def _survey_own(self, found: Repository | None) -> Survey | None:
        """The folder beside the index of the person's repository; None if that can't be read."""
        if found and project.copy_index(found, os.path.join(self.path, OWN)):
            with contextlib.suppress(GitError):  # it is damaged, split, sparse or of another kind
                return self.index.survey(OWN)
        return None

    def _rules_now(self, excludes: Sequence[str], survey: Survey) -> tuple[set[str], bytes]:
        """The folders that the ignore rules leave out of a survey's finds, and the rules as they are now."""
        top = project.top(self.root)
        at_top = project.repository(top) if top else None
        listed = [*excludes, *([os.path.join(at_top.common, "info", "exclude")] if at_top else ())]
        self._write_file(_RULES, project.ignore_rules(self.root, (), top, listed))
        ignored, rest = self.index.standard(survey.others)
        folders = {name for name in ignored if name.endswith("/")}
        inside = (f"{name}{project.IGNORE}" for name in folders)
        names = (*survey.for_git, *survey.others, *ignored, *rest, *inside)
        found = {name for name in names if f"/{name}".endswith(f"/{project.IGNORE}")}
        return folders, project.ignore_rules(self.root, found, top, listed)

    def _taken(self, found: Repository, own: Survey) -> Sequence[str]:
        """The files with whose ids in the index of the person's repository a round can begin.

        An id is taken if the file on the disk has its very bytes, as far as git knows.
        """
        attributes = [path for path in own.for_git if path.endswith(_GIT_ATTRIBUTES)]
        # One that is gone may have held when the others were written.
        is_whole = all(os.path.isfile(os.path.join(self.root, path)) for path in attributes)
        by_filter, by_ending = project.changed_by_git(found, self.root, attributes)
        if by_filter or not is_whole:
            return []
        plain = [path for path in own.names if path not in own.rest] if own.rest else own.names
        if excluded := self.excluded(plain):
            plain = [path for path in plain if path not in excluded]
        if by_ending:
            blobs = self.index.ids(OWN)
            lent = project.lent_objects(found, blobs.values())
            sizes = self.objects.sizes(blobs.values(), lent) if lent else {}
            plain = [path for path in plain if self._size(path) == sizes.get(blobs[path], -1)]
        return plain

    def _size(self, path: str) -> int | None:
        with contextlib.suppress(OSError):
            return os.lstat(os.path.join(self.root, path)).st_size
        return None

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

    def scan(self, rules: bytes) -> Scan:
        """Scan the folder, and copy what has changed since the last scan into the store.

        `rules` are the ignore rules. Raises GitError.
        """
        self._complete()
        began = time.time_ns()
        self._write_file(_RULES, rules)
        listing = self.index.listing(rules)
        listing.untracked |= {path for path in self._absent if os.path.lexists(os.path.join(self.root, path))}
        scan = self._seen(listing, began=began)
        if scan.is_current:
            self.index.note(listing, rules, began)
        return scan

    def _seen(
        self,
        listing: IndexListing,
        *,
        may_be_large: bool = True,
        since: int = 0,
        is_made: bool = True,
        began: int = 0,
    ) -> Scan:
        """Bring the index up to date with what differs from it. Raises TooLargeError, GitError.

        Unless `is_made` the tree of that is made as soon as something needs it. `began` is when the listing was asked
        for, in nanoseconds.
        """
        gone = {path for path in listing.gone if not self._is_hidden(path)}
        indexed = listing.changed - gone
        seen = indexed | listing.untracked
        nested = {name for name in seen if name.endswith("/")}
        seen -= nested | gone
        self._written.clear()
        add, beside, stats = self._sorted(seen, gone, listing.untracked, may_be_large=may_be_large)
        wrong = self.copies.seen(indexed | gone)
        found, large, sizes = self._sorted({*wrong}, set(), frozenset(), may_be_large=True)
        # What was written since the listing is found by the next scan: it is no mistake of the repository's index.
        wrong = {path for path in wrong if self.changed_at(path) < began - _TICK}
        add = sorted({*add, *wrong.intersection(found)})
        beside |= {path: entry for path, entry in large.items() if path in wrong}
        stats |= sizes
        for path in wrong:
            self.modes.keep(self.root, path)
        # A file may have grown over the limit, or can't be read any more.
        remove = gone | (indexed & beside.keys()) | wrong
        hidden = {*self.index.ignored()} & gone if gone else set[str]()
        if remove or add:
            self._tree = ""  # until the index is written as a whole
            unreadable = self._unreadable(self.index.update(listing, remove, add))
        else:
            unreadable = {}
        self._written |= {path: self.written_at(path) for path in add}  # it may have been written while it was read
        if is_made:
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
        self._absent = (self._absent | hidden | _files_in(beside)) - {*add}
        fresh = tuple(sorted(path for path, at in self._written.items() if at >= since)) if since else ()
        now = TreeSnapshot(self._tree if is_made else self._make_trees, dict(beside))
        self._begun = None if is_made else now
        corrected = self.objects.entries(now, sorted(wrong)) if wrong else {}
        self.copies.corrected(wrong - corrected.keys())
        return Scan(now, fresh, dict(self._written), corrected, not (remove or add))

    def _rules_elsewhere(self) -> dict[str, Entry]:
        """The repository's ignore rules that are in no file of the folder, as an entry that tells if they change."""
        if not (found := project.repository(self.root)):
            return {EXCLUDES: self._beside[EXCLUDES]} if EXCLUDES in self._beside else {}
        data = b"".join(rule + b"\n" for rule in project.rules_in(os.path.join(found.common, "info", "exclude")))
        return {EXCLUDES: Entry(FILE, blob_id(data), "rules")} if data else {}

    def _sorted(
        self, seen: set[str], gone: set[str], new: AbstractSet[str], *, may_be_large: bool
    ) -> tuple[list[str], dict[str, Entry], dict[str, tuple[int, ...]]]:
        """The paths to add, and what is known of the others. Paths that are no files any more join the `gone` ones.

        Of what is seen, `new` was in no scan before.
        """
        add: list[str] = []
        beside: dict[str, Entry] = {}
        stats: dict[str, tuple[int, ...]] = {}
        size = 0
        behind = self._behind_links(seen)
        gone |= behind
        seen -= behind
        excluded = self.excluded([*seen])
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
            if path in excluded:
                beside[path], stats[path] = Entry(mode, f"{found.st_size}-{found.st_mtime_ns}", "excluded"), key
            elif not is_link and found.st_size > LARGE:
                known = self._beside.get(path) if self._stats.get(path) == key else None
                beside[path], stats[path] = known or self._large(path, mode), key
            elif self._failed.get(path) == key:
                beside[path], stats[path] = Entry(mode, f"{found.st_size}-{found.st_mtime_ns}", "unreadable"), key
            else:
                add.append(path)
        files = len(seen) + self._known
        if not may_be_large and (files > MANY_FILES or size > MANY_BYTES):
            raise TooLargeError(files, size)
        self._known = 0
        return sorted(add), beside, stats

    def _behind_links(self, paths: Iterable[str]) -> set[str]:
        """Those of some files that are in a folder no longer, but behind the link that has its place."""
        folders = set[str]()
        for path in paths:
            add_parents(path, folders)
        links = tuple(f"{each}/" for each in folders if os.path.islink(os.path.join(self.root, each)))
        return {path for path in paths if path.startswith(links)} if links else set()

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

    def changed_at(self, path: str) -> int:
        """When a file has come to its place or was written, or when one was last removed from its folder.

        In nanoseconds of Unix time. A file that was moved there has the time of its text still.
        """
        place, at = os.path.join(self.root, path), 0
        if not _TELLS_MOVES:
            place, at = os.path.dirname(place), self.written_at(path)
        while len(place) >= len(self.root):
            try:
                found = os.lstat(place)
            except OSError:
                place = os.path.dirname(place)
            else:
                return max(at, found.st_mtime_ns, found.st_ctime_ns)
        return at

    def _remove_file(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.path, name))

    def _write_file(self, name: str, data: bytes) -> None:
        path = os.path.join(self.path, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


def _is_file(name: str) -> bool:
    """Whether git has listed a file, and not a folder with a repository of its own."""
    return not name.endswith("/")


def _files_in(beside: Mapping[str, Entry]) -> set[str]:
    """The files beside a tree, which are in no index."""
    return {path for path, entry in beside.items() if entry.why in {"excluded", "large", "unreadable"}}


def _sampled(files: Sequence[str]) -> Sequence[str]:
    """Of some files those whose permissions stand for all others."""
    return files[:: max(1, len(files) // _SAMPLE)]
