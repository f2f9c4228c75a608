"""The objects in a store: the files of snapshots, how two of them differ, and others made of them. All of it blocks.

A content is only given out if its id says so: what is damaged or forged is as good as lost. `Commits` has those of the
person's own repository. What names one is read from the repository's files, so git is given nothing but ids, and runs
in the store with the repository's objects lent to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import zlib
from binascii import unhexlify
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import project
from .entries import LARGE, LARGEST, REPOSITORY, Difference, Entry, TreeSnapshot
from .files import WriteRefusedError, blob_id, copied, is_gits_own
from .git import MEMORY, Git, GitError, GitStoppedError, batches, few_batches, names_in
from .project import Repository, copy_index, lent_objects, repository

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
SCRATCH = "scratch.index"
"""The index in which other trees are made than that of the last scan."""
OWN = "own.index"
"""A copy of the index of the person's repository."""
_ID = re.compile("[0-9a-f]{40}")
_RENAMES = 500
"""Files that are compared to find renamed ones."""
_PART = 16 * 1024 * 1024
"""Bytes that are written at once."""
_ABOUT = 64
"""Bytes in which git says what an object is, before that."""
_SOON = 1024 * 1024
"""Bytes that are read before the first of many files is written."""
_MANY = 2 * 1024 * 1024
"""Bytes from which on two processes take less time to compress them than one; each takes 10 ms to start."""


class StoreObjects:
    """The objects in the store `path` of the folder `root`."""

    def __init__(self, path: str, root: str, git: Git) -> None:
        self._path = path
        self._root = root
        self._git = git
        self.unsaved: set[str] = set()
        """The ids of contents of snapshots that nobody has: their files were changed before they were copied."""

    def blobs(self, tree: str) -> dict[str, str]:
        """The ids of the files in a tree, by path."""
        listed = self._git.run("ls-tree", "-r", "-z", tree)
        lines = (line.partition(b"\t") for line in listed.split(b"\0")[:-1])
        return {os.fsdecode(name): about.split(b" ")[2].decode() for about, _, name in lines}

    def sizes(self, blobs: Iterable[str], lent: Sequence[str] = (), what: str = "objectsize") -> dict[str, int]:
        """The sizes in bytes of some contents, as git has them; those that the store lacks are left out."""
        asked = _lines(dict.fromkeys(filter(is_id, blobs)))
        if not asked:
            return {}
        form = f"--batch-check=%(objectname) %({what})"
        printed = self._git.run("cat-file", "--buffer", form, given=asked, lent=lent)
        words = (line.split(" ") for line in printed.decode("ascii", "replace").splitlines())
        return {blob: int(size) for blob, size in words if size.isdecimal()}

    def lacking(self, blobs: Iterable[str]) -> set[str]:
        """Those of some contents that the store lacks."""
        wanted = set(blobs)
        return wanted - self.sizes(wanted).keys()

    def write_tree(self, index: str) -> str:
        """The tree of an index of the store."""
        return self._git.run("write-tree", "--missing-ok", index=index).decode().strip()

    def write_folders(self, listed: Iterable[bytes]) -> tuple[str, list[str]]:
        """Have the trees of some files in one pack: a file for each folder takes longer than all the rest.

        The files are listed as `git ls-files -s` does. Returns the tree of all of them, and the folders.
        """
        packed: dict[bytes, bytes] = {}
        folders: list[str] = []
        inside: list[tuple[bytes, list[bytes]]] = [(b"", [])]
        """The folder of a file and those above it, each with what is in it so far."""

        def close() -> bytes:
            path, lines = inside.pop()
            data = b"".join(lines)
            tree = hashlib.sha1(b"tree %d\0" % len(data) + data, usedforsecurity=False).digest()
            packed[tree] = _packed_tree(data)
            if inside:
                folders.append(os.fsdecode(path))
                inside[-1][1].append(b"40000 %b\0%b" % (path[:-1].rpartition(b"/")[2], tree))
            return tree

        # In the order of the paths, the lines of a tree are as git has them: a folder's name ends with a slash there.
        for line in sorted(listed, key=lambda line: line[50:]):
            folder, slash, name = line[50:].rpartition(b"/")
            if inside[-1][0] != (folder := folder + slash):
                while not folder.startswith(inside[-1][0]):
                    close()
                while (at := inside[-1][0]) != folder:
                    inside.append((folder[: folder.index(b"/", len(at)) + 1], []))
            inside[-1][1].append(b"%b %b\0%b" % (line[:6], name, unhexlify(line[7:47])))
        while len(inside) > 1:
            close()
        tree = close()
        pack = b"PACK" + struct.pack(">II", 2, len(packed)) + b"".join(packed.values())
        self._git.run("index-pack", "--stdin", given=pack + hashlib.sha1(pack, usedforsecurity=False).digest())
        return tree.hex(), folders

    def differences(self, before: TreeSnapshot, after: TreeSnapshot, *, renames: bool = True) -> list[Difference]:
        """How two snapshots differ, by path."""
        found: list[Difference] = []
        if before is after:
            return found
        if before.tree != after.tree:
            raw = self._compared(before.tree, after.tree, f"-l{_RENAMES}" if renames else "")
            found = list(_split(self._parsed(raw), {*before.beside, *after.beside}))
        if before.beside == after.beside:
            return found
        for path in sorted({*before.beside, *after.beside}):
            old, new = before.beside.get(path), after.beside.get(path)
            if old == new:
                continue
            # A file that has grown over the limit is gone from the one and new in the other.
            other = next((each for each in found if each.path == path and not each.renamed_from), None)
            if other:
                found.remove(other)
                old, new = old or other.before, new or other.after
            if old != new:  # else it is in the tree of one of them
                found.append(Difference(path, old, new))
        return sorted(found, key=lambda each: each.path)

    def _compared(self, before: str, after: str, limit: str) -> bytes:
        plain = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev")
        if limit:
            # To tell how alike two files are git needs all contents.
            alike = "-M100%" if self.unsaved else "-M"
            with contextlib.suppress(GitError, GitStoppedError):
                return self._git.run(*plain, limit, alike, before, after)
        return self._git.run(*plain, "--no-renames", before, after)

    def _parsed(self, raw: bytes) -> list[Difference]:
        parts = raw.split(b"\0")
        found: list[Difference] = []
        at = 0
        while at < len(parts) and parts[at].startswith(b":"):
            old_mode, new_mode, old, new, status = parts[at][1:].decode().split()
            before = None if old_mode == "000000" else self._made(old_mode, old)
            after = None if new_mode == "000000" else self._made(new_mode, new)
            path = os.fsdecode(parts[at + 1])
            if status[0] == "R":
                found.append(Difference(os.fsdecode(parts[at + 2]), before, after, path))
                at += 3
            else:
                found.append(Difference(path, before, after))
                at += 2
        return found

    def _made(self, mode: str, blob: str) -> Entry:
        return Entry(mode, blob, "unsaved" if blob in self.unsaved else "")

    def entry(self, snapshot: TreeSnapshot, path: str) -> Entry | None:
        """One file of a snapshot."""
        return self.entries(snapshot, [path]).get(path)

    def entries(self, snapshot: TreeSnapshot, paths: Sequence[str]) -> dict[str, Entry]:
        """Some files of a snapshot; those that it lacks are left out."""
        found = {path: snapshot.beside[path] for path in paths if path in snapshot.beside}
        if rest := [path for path in paths if path not in found]:
            # The paths are literal, by the environment.
            names = {os.fsencode(path): path for path in rest}
            for part in few_batches(rest):
                options = ("--", *part) if part else ("-r",)
                for line in self._git.run("ls-tree", "-z", snapshot.tree, *options).split(b"\0")[:-1]:
                    if (path := names.get(line[line.index(b"\t") + 1 :])) and line[7:11] == b"blob":
                        found[path] = self._made(line[:6].decode(), line[12:52].decode())
        return found

    def with_entries(self, snapshot: TreeSnapshot, entries: Mapping[str, Entry | None]) -> TreeSnapshot:
        """A snapshot with some files replaced, or removed where there is None."""
        beside = {path: entry for path, entry in snapshot.beside.items() if path not in entries}
        wanted = {path: entry for path, entry in beside.items() if not entry.why}
        wanted |= {path: entry for path, entry in entries.items() if entry and entry.why in {"", "unsaved"}}
        for path in self._apart(snapshot.tree, wanted, entries.keys() - wanted.keys()):
            beside[path] = wanted.pop(path)
        lines: list[bytes] = []
        for path in {*entries, *wanted}:
            entry, kept = entries.get(path), wanted.get(path)
            if kept:
                beside.pop(path, None)
            elif entry:
                beside[path] = entry
            about = f"{kept.mode} {kept.blob}" if kept else f"0 {'0' * 40}"
            lines.append(about.encode() + b"\t" + os.fsencode(path) + b"\0")
        # Removals first, so that a folder can take a file's place.
        lines.sort(key=lambda line: not line.startswith(b"0 "))
        self._git.run("read-tree", snapshot.tree, index=SCRATCH)
        self._git.run("update-index", "-z", "--index-info", given=b"".join(lines), index=SCRATCH)
        return TreeSnapshot(self.write_tree(SCRATCH), beside)

    def _apart(self, tree: str, wanted: Mapping[str, Entry], gone: AbstractSet[str]) -> set[str]:
        """Those of some files that a tree can't have: it has a file where they need a folder, or the other way round.

        The files that are `gone` are in nobody's way.
        """
        folders = {path: _folders_above(path) for path in wanted}
        kinds: dict[str, str] = {}
        for part in batches(list({*wanted, *(each for above in folders.values() for each in above)})):
            for line in self._git.run("ls-tree", "-t", "-z", tree, "--", *part).split(b"\0")[:-1]:
                about, _, name = line.partition(b"\t")
                kinds[os.fsdecode(name)] = about.decode().split()[1]
        apart = {path for path in wanted if kinds.get(path) == "tree"}
        for path in list(apart):
            inner = names_in(self._git.run("ls-tree", "-r", "--name-only", "-z", tree, "--", path))
            if gone >= {*inner}:
                apart.discard(path)
        there = {name for name, kind in kinds.items() if kind == "blob"} - gone | (wanted.keys() - apart)
        return apart | {path for path in wanted if not there.isdisjoint(folders[path])}

    def subtree(self, tree: str, path: str) -> str:
        """The tree of a folder in a tree; the empty one if it isn't there."""
        if not path:
            return tree
        try:
            return self._git.run("rev-parse", "--verify", "-q", f"{tree}:{path}").decode().strip()
        except GitError:
            return EMPTY_TREE

    def grafted(self, tree: str, path: str, part: str) -> str:
        """A tree in which a folder has another tree. It is written."""
        above, made = path, part
        while above:
            above, _, name = above.rpartition("/")
            listed = self._git.run("ls-tree", "-z", self.subtree(tree, above)).split(b"\0")[:-1]
            lines = [line for line in listed if line.partition(b"\t")[2] != os.fsencode(name)]
            if made != EMPTY_TREE:
                lines.append(f"040000 tree {made}\t".encode() + os.fsencode(name))
            given = b"".join(line + b"\0" for line in lines)
            made = self._git.run("mktree", "-z", "--missing", given=given).decode().strip()
        return made

    def copy_from(self, store: str, trees: Iterable[str], blobs: Iterable[str]) -> None:
        """Copy what some trees need, and some contents, from another store that has them."""
        lent = [os.path.join(store, "objects")]
        if found := self.sizes(self.lacking({*self.needed(trees, lent), *blobs}), lent):
            self.pack(found, lent)

    def needed(self, trees: Iterable[str], lent: Sequence[str] = ()) -> list[str]:
        """The ids of some trees and of what is in them, whether that is there or not."""
        command = ("rev-list", "--objects", "--missing=allow-any", "--no-object-names", "--stdin")
        return self._git.run(*command, given=_lines(trees), lent=lent).decode("ascii").split()

    def pack(self, objects: Collection[str], lent: Sequence[str] = ()) -> str:
        """Copy objects, also lent ones, into one pack of the store. Returns its path without the ending."""
        path = os.path.join(self._path, "objects", "pack", "pack")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        named = self._git.run("pack-objects", "-q", "--window=0", path, given=_lines(sorted(objects)), lent=lent)
        self.unsaved.difference_update(objects)
        return f"{path}-{named.decode().strip()}"

    def read(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """The contents of some blobs; those that the store lacks, and those that are damaged, are left out."""
        return self._read(blobs, (), MEMORY)

    def _read(self, blobs: Iterable[str], lent: Sequence[str], most: int) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(blob for blob in blobs if is_id(blob)))
        if not wanted:
            return {}
        printed = self._git.run("cat-file", "--batch", given=_lines(wanted), lent=lent, most=most)
        found: dict[str, bytes] = {}
        at = 0
        while at < len(printed):
            end = printed.index(b"\n", at)
            words = printed[at:end].decode().split()
            at = end + 1
            if len(words) == 3:
                size = int(words[2])
                data = printed[at : at + size]
                at += size + 1
                if blob_id(data) == words[0]:
                    found[words[0]] = data
        return found

    def has(self, blob: str) -> bool:
        """Whether the content of a file can be had, also of one that is too large to be copied before it is needed."""
        return bool(self.read([blob]) or self._recoverable([blob], LARGEST)[0])

    def bring(self, blob: str) -> dict[str, bytes]:
        """Copy the content of a file that is too large to be copied before it is needed. Returns it if there is one."""
        found = self.recovered([blob], LARGEST)
        for data in found.values():
            self.write(data)
        return found

    def why_lost(self, path: str, blob: str) -> str:
        """A sentence on why the content of a file isn't given out."""
        if blob in self.unsaved:
            return f"{path} was changed before it was copied: its old text was not saved"
        if self.sizes([blob]):
            return f"the copy of what {path} was before is damaged"
        return f"what {path} was before is lost: it is over 10 MB and not in git"

    def recovered(self, blobs: Iterable[str], limit: int = LARGE) -> dict[str, bytes]:
        """Contents of the person's own repository, each checked against its id; those that it lacks are left out.

        `limit` is the most bytes that each may have.
        """
        read: dict[str, bytes] = {}
        sizes, lent = self._recoverable(blobs, limit)
        with contextlib.suppress(GitError, GitStoppedError, ValueError):
            for part in _parts(sizes):
                read |= self._read(part, lent, sum(sizes[blob] + _ABOUT for blob in part))
        return read

    def _recoverable(self, blobs: Iterable[str], limit: int) -> tuple[dict[str, int], list[str]]:
        """The sizes of contents of the person's own repository, up to a limit, and the folders that have them."""
        wanted = list(dict.fromkeys(filter(is_id, blobs)))
        found = repository(self._root)
        if not wanted or not found or not (lent := lent_objects(found, wanted)):
            return {}, []
        with contextlib.suppress(GitError, GitStoppedError, ValueError):
            return {blob: size for blob, size in self.sizes(wanted, lent).items() if size <= limit}, lent
        return {}, []

    def committed(self, found: Repository, commit: str, path: str, *, in_index: bool) -> bytes | None:
        """A file as the person's repository has it, in its index or in a commit; None if it has none, or a large one.

        `path` is relative to the repository's work tree. The index is read as a copy, and nothing is written there.
        """
        try:
            if in_index:
                blob = self.indexed(found, "", [path]).get(path, "")
            elif is_id(commit) and (lent := lent_objects(found, [commit])):
                blob = self._git.run("rev-parse", "--verify", "-q", f"{commit}:{path}", lent=lent).decode().strip()
            else:
                return None
            return (self.recovered([blob]) or self.read([blob])).get(blob)
        except (GitError, GitStoppedError):
            return None

    def indexed(self, found: Repository, below: str, paths: Sequence[str]) -> dict[str, str]:
        """The ids of some files in a copy of the index of the person's repository.

        `below` is the folder's path in the repository's work tree, empty if it is that. Raises GitError.
        """
        if not copy_index(found, os.path.join(self._path, OWN)):
            return {}
        wanted = {(os.fsencode(f"{below}/{path}" if below else path)): path for path in paths}
        listed = self._git.run("ls-files", "-z", "-s", index=OWN).split(b"\0")[:-1]
        return {path: line[7:47].decode() for line in listed if (path := wanted.get(line[50:]))}

    def write(self, data: bytes) -> str:
        """Copy bytes into the store; returns their id."""
        blob = self._git.run("hash-object", "-w", "--no-filters", "--stdin", given=data).decode().strip()
        self.unsaved.discard(blob)
        return blob

    def write_all(self, contents: Sequence[bytes]) -> None:
        """Copy contents into the store, in one pack, or in two at once if there are many."""
        if sum(map(len, contents)) < _MANY:
            self._write_pack(contents)
            return
        with ThreadPoolExecutor(2) as pool:
            for written in [pool.submit(self._write_pack, contents[half::2]) for half in range(2)]:
                written.result()

    def _write_pack(self, contents: Sequence[bytes]) -> None:
        given = b"".join(b"blob\ndata %d\n%b\n" % (len(data), data) for data in contents)
        self._git.run("fast-import", "--quiet", "--depth=0", given=given)
        if self.unsaved:
            self.unsaved.difference_update(map(blob_id, contents))

    def write_file(self, path: str) -> str:
        """Copy a large file into the store; returns its id. Raises WriteRefusedError if it is a huge one, or no file.

        Git gets a copy of it: from the folder it would follow a link that has taken its place, and wait for a pipe.
        """
        with copied(self._root, path, self._path) as copy:
            return self._git.run("hash-object", "-w", "--no-filters", "--", copy).decode().strip()


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:at]) for at in range(1, len(parts))]


class StoredContents:
    """Some contents of the store, which are read in parts as they are asked for: best in their order."""

    def __init__(self, objects: StoreObjects, blobs: Iterable[str]) -> None:
        self._objects = objects
        self._unread = {blob: part for part in _parts(objects.sizes(blobs), _SOON) for blob in part}
        """By id: those that are read with it, none once they were."""
        self._read: dict[str, bytes] = {}

    def __contains__(self, blob: str) -> bool:
        return blob in self._unread

    def of(self, path: str, blob: str) -> bytes:
        """What a file is to have; it is copied if it wasn't yet. Raises WriteRefusedError if nobody has it."""
        read, part = self._read, self._unread.get(blob)
        if blob not in read:
            read = self._objects.read(part or [blob])
            if part:
                self._read = read
                part.clear()
        if blob not in read:
            read = self._objects.bring(blob)
        if blob not in read:
            raise WriteRefusedError(self._objects.why_lost(path, blob))
        return read[blob]


def _lines(ids: Iterable[str]) -> bytes:
    """Ids for the standard input of git."""
    return "".join(f"{each}\n" for each in ids).encode()


def is_id(blob: str) -> bool:
    """Whether a text is an id of git's, as SHA-1 has them."""
    return _ID.fullmatch(blob) is not None


def _packed_tree(data: bytes) -> bytes:
    """A tree as a pack has it (`git help gitformat-pack`)."""
    size, rest = len(data) & 15, len(data) >> 4
    head = [2 << 4 | size]
    while rest:
        head[-1] |= 128
        head.append(rest & 127)
        rest >>= 7
    return bytes(head) + zlib.compress(data, 0)


def _parts(sizes: Mapping[str, int], limit: int = _PART) -> Iterator[list[str]]:
    """Contents in parts that fit into memory."""
    part: list[str] = []
    total = 0
    for blob, size in sizes.items():
        if part and total + size > limit:
            yield part
            part, total = [], 0
        part.append(blob)
        total += size
    if part:
        yield part


def _split(found: Iterable[Difference], beside: AbstractSet[str]) -> Iterator[Difference]:
    """The same without the renames of a file that one side has beside its tree: it is not gone, or was there before."""
    for each in found:
        if each.renamed_from and not beside.isdisjoint(each.paths):
            yield Difference(each.renamed_from, each.before, None)
            yield Difference(each.path, None, each.after)
        else:
            yield each


LATEST = 50
"""Commits that are listed."""
_SETTINGS = ("core.commitGraph=false",)
_LINE = re.compile(r"([0-9a-f]{40}) (\d{1,12}) (.*)")
_SUBJECT = "%<(200,trunc)%s"
"""The beginning of a subject, padded."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in the list."""

    id: str
    at: float
    """Unix time."""
    subject: str


class Commits:
    """The commits of the repository that a folder is in, or is."""

    def __init__(self, objects: StoreObjects, git: Git) -> None:
        self._objects = objects
        self._git = git

    def latest(self, found: Repository) -> list[Commit]:
        """The last commits of `HEAD`; of a shallow clone perhaps only one. None if there is none."""
        head = project.head(found).commit
        lent = project.lent_objects(found, [head]) if is_id(head) else []
        if not lent:
            return []
        for how in (f"--max-count={LATEST}", "--no-walk"):
            try:
                printed = self._git.run(
                    "rev-list", how, f"--format=%H %ct {_SUBJECT}", head, "--", lent=lent, settings=_SETTINGS
                )
            except GitError:
                continue
            lines = map(_LINE.fullmatch, printed.decode("utf-8", "replace").split("\n"))
            return [Commit(line[1], float(line[2]), line[3].rstrip(" ")) for line in lines if line]
        return []

    def commit_of(self, found: Repository, name: str) -> str:
        """The id of the commit that an id is of, which may be a tag's. Raises GitError."""
        lent = self._lent(found, [name])
        return self._git.run("rev-parse", "--verify", "-q", f"{name}^{{commit}}", lent=lent).decode().strip()

    def branch_point(self, found: Repository, commit: str) -> str:
        """The last commit that `HEAD` has in common with another one; empty if there is none. Raises GitError."""
        head = project.head(found).commit
        lent = self._lent(found, [head, commit])
        both = self._git.run("merge-base", head, commit, lent=lent, settings=_SETTINGS, answers=(0, 1))
        return both.decode().partition("\n")[0].strip()

    def files(self, found: Repository, commit: str, below: str) -> dict[str, Entry]:
        """The files of a commit in a folder of it, by their paths there: without other repositories. Raises GitError.

        A path that no folder can have is left out: whoever made the repository decides what is in its trees.
        """
        lent = self._lent(found, [commit])
        try:
            printed = self._git.run("ls-tree", "-r", "-z", f"{commit}:{below}", lent=lent)
        except GitError:
            if not below:
                raise
            return {}  # the folder wasn't there
        entries: dict[str, Entry] = {}
        for line in printed.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _, blob = about.decode().split()
            path = os.fsdecode(name)
            if mode != REPOSITORY and _is_plain(path):
                entries[path] = Entry(mode, blob)
        return entries

    def copy(self, found: Repository, blobs: Iterable[str]) -> set[str]:
        """Have some contents in the store; returns those that nobody has, or that are too large. Raises GitError."""
        wanted = self._objects.lacking(blobs)
        lent = self._lent(found, list(wanted)) if wanted else []
        sizes = self._objects.sizes(wanted, lent) if wanted else {}
        there = {blob for blob, size in sizes.items() if size <= LARGE}
        if there:
            self._objects.pack(there, lent)
        return wanted - there

    @staticmethod
    def _lent(found: Repository, ids: Sequence[str]) -> list[str]:
        if not all(map(is_id, ids)) or not (lent := project.lent_objects(found, ids)):
            raise GitError("the repository can't be read")
        return lent


def _is_plain(path: str) -> bool:
    names = path.replace("\\", "/").split("/") if os.name == "nt" else path.split("/")
    return not is_gits_own(path) and {"", ".", ".."}.isdisjoint(names)
