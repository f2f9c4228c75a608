"""The objects in a store: the files of snapshots, how two of them differ, and others made of them. All of it blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from .entries import Difference, Entry, TreeSnapshot
from .git import Git, GitError, GitStoppedError, batches
from .merging import merged_by, without_conflict
from .project import LinkedObjects, Repository

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
SCRATCH = "scratch.index"
"""The index in which other trees are made than that of the last look."""
_RENAMES = 500
"""Files that are compared to find renamed ones."""


class StoreObjects:
    """The objects in the store `path` of the folder `root`; `links` are those that it shares with the person's."""

    def __init__(self, path: str, root: str, git: Git, links: LinkedObjects) -> None:
        self._path = path
        self._root = root
        self._git = git
        self._links = links

    def has_tree(self, tree: str) -> bool:
        """Whether a tree and everything in it is there."""
        if tree == EMPTY_TREE:
            return True
        try:
            listed = self._git.run("rev-list", "--objects", "--missing=print", "--no-object-names", tree, "--")
        except GitStoppedError:
            raise
        except GitError:
            return False
        return b"?" not in listed

    def write_tree(self, index: str) -> str:
        """The tree of an index of the store."""
        with self._links.untouched():
            return self._git.run("write-tree", "--missing-ok", index=index).decode().strip()

    def differences(self, before: TreeSnapshot, after: TreeSnapshot, *, renames: bool = True) -> list[Difference]:
        """How two snapshots differ, by path."""
        found: list[Difference] = []
        if before.tree != after.tree:
            detect = (f"-l{_RENAMES}", "-M") if renames else ("--no-renames",)
            raw = self._git.run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *detect, before.tree, after.tree)
            found = list(_split(_parsed(raw), {*before.beside, *after.beside}))
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
            found.append(Difference(path, old, new))
        return sorted(found, key=lambda each: each.path)

    def entry(self, snapshot: TreeSnapshot, path: str) -> Entry | None:
        """One file of a snapshot."""
        return self.entries(snapshot, [path]).get(path)

    def entries(self, snapshot: TreeSnapshot, paths: Sequence[str]) -> dict[str, Entry]:
        """Some files of a snapshot; those that it lacks are left out."""
        found = {path: snapshot.beside[path] for path in paths if path in snapshot.beside}
        if rest := [path for path in paths if path not in found]:
            # The paths are literal, by the environment.
            for part in batches(rest):
                for line in self._git.run("ls-tree", "-z", snapshot.tree, "--", *part).split(b"\0")[:-1]:
                    about, _, name = line.partition(b"\t")
                    mode, kind, blob = about.decode().split()
                    if kind == "blob" and os.fsdecode(name) in part:
                        found[os.fsdecode(name)] = Entry(mode, blob)
        return found

    def with_entries(self, snapshot: TreeSnapshot, entries: Mapping[str, Entry | None]) -> TreeSnapshot:
        """A snapshot with some files replaced, or removed where there is None."""
        beside = {path: entry for path, entry in snapshot.beside.items() if path not in entries}
        lines: list[bytes] = []
        for path, entry in entries.items():
            if entry and entry.why:
                beside[path] = entry
            kept = entry if entry and not entry.why else None
            about = f"{kept.mode} {kept.blob}" if kept else f"0 {'0' * 40}"
            lines.append(about.encode() + b"\t" + os.fsencode(path) + b"\0")
        # Removals first, so that a folder can take a file's place.
        lines.sort(key=lambda line: not line.startswith(b"0 "))
        self._git.run("read-tree", snapshot.tree, index=SCRATCH)
        self._git.run("update-index", "-z", "--index-info", given=b"".join(lines), index=SCRATCH)
        return TreeSnapshot(self.write_tree(SCRATCH), beside)

    def read(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """The contents of some blobs; those that the store lacks are left out."""
        wanted = list(dict.fromkeys(blob for blob in blobs if _is_id(blob)))
        if not wanted:
            return {}
        printed = self._git.run("cat-file", "--batch", given="".join(f"{blob}\n" for blob in wanted).encode())
        found: dict[str, bytes] = {}
        at = 0
        while at < len(printed):
            end = printed.index(b"\n", at)
            words = printed[at:end].decode().split()
            at = end + 1
            if len(words) == 3:
                size = int(words[2])
                found[words[0]] = printed[at : at + size]
                at += size + 1
        return found

    def committed(self, found: Repository, commit: str, path: str, *, in_index: bool) -> bytes | None:
        """A file as the person's repository has it, in its index or in a commit; None if it has none.

        `path` is relative to the repository's work tree. The index is read as a file, and nothing is written there.
        """
        self._links.link(found)
        try:
            if not in_index:
                return self._git.run("cat-file", "blob", f"{commit}:{path}")
            index = os.path.join(found.own, "index")
            listed = self._git.run("ls-files", "-z", "-s", "--", path, index=index)
            blob = listed.split(b" ", 2)[1].decode() if listed.count(b"\0") == 1 else ""
            return self.read([blob]).get(blob)
        except GitError:
            return None

    def indexed(self, found: Repository, below: str, paths: Sequence[str]) -> dict[str, str]:
        """The ids of some files in the index of the person's repository, which is read as a file.

        `below` is the folder's path in the repository's work tree, empty if it is that. Raises GitError.
        """
        prefix = f"{below}/" if below else ""
        listed = self._git.run("ls-files", "-z", "-s", index=os.path.join(found.own, "index"))
        wanted = {prefix + path: path for path in paths}
        ids: dict[str, str] = {}
        for line in listed.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            if path := wanted.get(os.fsdecode(name)):
                ids[path] = about.split(b" ")[1].decode()
        return ids

    def write(self, data: bytes) -> str:
        """Copy bytes into the store; returns their id."""
        with self._links.untouched():
            return self._git.run("hash-object", "-w", "--no-filters", "--stdin", given=data).decode().strip()

    def write_file(self, path: str) -> str:
        """Copy a file of any size into the store; returns its id."""
        full = os.path.join(self._root, path)
        with self._links.untouched():
            return self._git.run("hash-object", "-w", "--no-filters", "--", full).decode().strip()

    def merge(self, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
        """Three texts merged by `git merge-file`; None if they conflict."""
        simple = without_conflict(ours, base, theirs)
        return merged_by(self._git, self._path, ours, base, theirs) if simple is None else simple


def _is_id(blob: str) -> bool:
    return len(blob) == 40 and all(character in "0123456789abcdef" for character in blob)


def _split(found: Iterable[Difference], beside: AbstractSet[str]) -> Iterator[Difference]:
    """The same without the renames of a file that one side has beside its tree: it is not gone, or was there before."""
    for each in found:
        if each.renamed_from and not beside.isdisjoint(each.paths):
            yield Difference(each.renamed_from, each.before, None)
            yield Difference(each.path, None, each.after)
        else:
            yield each


def _parsed(raw: bytes) -> list[Difference]:
    parts = raw.split(b"\0")
    found: list[Difference] = []
    at = 0
    while at < len(parts) and parts[at].startswith(b":"):
        old_mode, new_mode, old, new, status = parts[at][1:].decode().split()
        before = None if old_mode == "000000" else Entry(old_mode, old)
        after = None if new_mode == "000000" else Entry(new_mode, new)
        path = os.fsdecode(parts[at + 1])
        if status[0] == "R":
            found.append(Difference(os.fsdecode(parts[at + 2]), before, after, path))
            at += 3
        else:
            found.append(Difference(path, before, after))
            at += 2
    return found
