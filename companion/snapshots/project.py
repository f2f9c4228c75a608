"""The person's own repository and its ignore rules: read as files, never by git with its configuration, never written.

An agent or whoever made the project decides what is in it. Only regular files of a limited size are opened, a link is
none, and what git is to open is looked at before.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..platforms import files
from ..platforms.files import is_elsewhere

EXCLUDES = ".git/info/exclude"
"""The file with ignore rules that no folder shows, as it is named in a list."""
_SMALL = 64 * 1024
"""Bytes of a file of git's that names something."""
_LISTED = 16 * 1024 * 1024
"""Bytes of a file of git's that lists something."""
_INDEX = 256 * 1024 * 1024
_MAX_FOLDERS = 6
"""Folders of objects that borrow from each other: git follows no more than five."""
_MAX_PACKED = 20_000
_LISTED_REFS = (b"refs/heads/", b"refs/remotes/", b"refs/tags/")
_MAX_REFS = 5_000
_OF_WINDOWS = re.compile(r"^\\\\\?\\(?=[a-z]:)", re.IGNORECASE)
"""What Windows puts before a path of a drive that a link leads to."""
_CHANGES_BYTES = re.compile(rb"filter|ident|working-tree-encoding|\[attr\]", re.IGNORECASE)
_NAMES_ATTRIBUTES = re.compile(rb"attributesfile", re.IGNORECASE)
"""A setting that names a further file with attributes."""
_CHANGES_ENDINGS = re.compile(rb"crlf|eol|text|include", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Repository:
    """The folders of a repository."""

    own: str
    """That of this work tree, with HEAD and the index."""
    common: str
    """That of all its work trees, with the objects and the refs."""


@dataclass(frozen=True, slots=True)
class Head:
    """What `HEAD` says at the moment, and what moved it last."""

    commit: str = ""
    moved_by: str = ""
    """The first word of the last line in HEAD's log, such as "commit" or "checkout"."""
    stash: str = ""
    index: str = ""
    """Identifies what is in the index: the stat of its file."""


def repository(folder: str) -> Repository | None:
    """The repository whose work tree a folder is; None if it has none."""
    at = _git_folder(folder)
    if not at or not _text(at, "HEAD"):
        return None
    common = _led(at, _text(at, "commondir").strip() or ".")
    return Repository(at, common) if common else None


def obstacle(root: str, *, is_for_rules: bool) -> str:
    """The path of a file below a folder for which git waits when it lists what is there; empty if there is none.

    Git opens HEAD and `commondir` of each repository below, and with `is_for_rules` each `.gitignore`. To look for them
    takes about as long as git takes for its list.
    """
    folders = [root]
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name.lower()
                if name == ".git":
                    at = _git_folder(folder) if folder != root else ""
                    opened = [os.path.join(at, name) for name in ("HEAD", "commondir")] if at else []
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                else:
                    opened = [entry.path] if is_for_rules and name == ".gitignore" else []
                for path in opened:
                    if is_endless(path):
                        return path
    return ""


def is_endless(path: str) -> bool:
    """Whether something is a pipe or a device, also behind a link."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _git_folder(folder: str) -> str:
    """The folder of git's own for a work tree; empty if there can't be one, or if it is on another computer."""
    at = os.path.join(folder, ".git")
    named = ".git"
    if os.path.islink(at):
        named = _OF_WINDOWS.sub("", os.readlink(at))
    elif os.path.isfile(at):
        start, _, named = _text(folder, ".git").partition("gitdir:")
        if start or not named:
            return ""
    return _led(folder, named)


def _led(base: str, named: str) -> str:
    """The real path of what a file or a link of git's in the folder `base` names; empty if it is on another computer.

    There is no look at that computer: Windows would send it the person's credentials. The share that the folder itself
    is on is no other one.
    """
    named = named.strip()
    share = os.path.splitdrive(base)[0]
    return "" if is_elsewhere(named, [base, share]) else os.path.realpath(os.path.join(base, named))


def top(folder: str) -> str | None:
    """The folder itself or the nearest one above it that is a work tree."""
    at = folder
    while True:
        if os.path.lexists(os.path.join(at, ".git")) and repository(at):
            return at
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def head(found: Repository | None) -> Head:
    """Where `HEAD` is."""
    if found is None:
        return Head()
    commit = _text(found.own, "HEAD").strip()
    for _ in range(5):
        if not commit.startswith("ref:"):
            break
        commit = ref(found, commit[4:].strip())
    return Head(commit, _moved_by(found), ref(found, "refs/stash"), _stat(os.path.join(found.own, "index")))


def is_made_since(found: Repository, blob: str, at: int) -> bool:
    """Whether an object was added to the repository since a time in nanoseconds, as `git add` does with new content."""
    with contextlib.suppress(OSError):
        return os.lstat(os.path.join(found.common, "objects", blob[:2], blob[2:])).st_mtime_ns >= at
    return False


def copy_index(found: Repository, target: str) -> bool:
    """Copy the repository's index, with its time: git compares the times of files with that. False if there is none."""
    try:
        private = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(private, "wb") as file, files.place(os.path.join(found.own, "index")) as entry:
            copied = entry.copy(file, _INDEX)
        os.utime(target, ns=(copied.st_atime_ns, copied.st_mtime_ns))
    except OSError:
        return False
    return True


def changed_by_git(found: Repository, root: str, attributes: Iterable[str]) -> tuple[bool, bool]:
    """Whether a blob may have other bytes of the same size than its file, and whether it may have other line endings.

    `attributes` are the files with attributes in the folder, relative to it. Each file that says so counts, also where
    it may not hold, and so does one that can't be read.
    """
    named = [*((root, path) for path in attributes), (found.common, os.path.join("info", "attributes"))]
    texts = [*(_bytes(*each) for each in named), *_own_files("attributes")]
    config = [(found.common, "config"), (found.own, "config.worktree")]
    configured = [*(_bytes(*each) for each in config), *_own_files("config")]
    by_filter = any(text is None or _CHANGES_BYTES.search(text) for text in texts)
    by_filter = by_filter or any(text is None or _NAMES_ATTRIBUTES.search(text) for text in configured)
    # On Windows git changes them unless it is told otherwise.
    by_ending = os.name == "nt" or any(text is None or _CHANGES_ENDINGS.search(text) for text in (*texts, *configured))
    return by_filter, by_ending


def lent_objects(found: Repository, blobs: Iterable[str]) -> list[str]:
    """The folders with the repository's objects, for a run of git that is to read some blobs there.

    None if anything that git would open is no regular file, or if git may take a name for that of another folder.
    """
    folders = [os.path.join(found.common, "objects")]
    for folder in folders:
        listed = _bytes(folder, os.path.join("info", "alternates"))
        if listed is None or os.pathsep in folder or len(folders) > _MAX_FOLDERS:
            return []
        for line in os.fsdecode(listed).split("\n"):
            if not line or line.startswith("#"):
                continue
            path = _led(folder, line)
            # Git has quotes of its own there, and ".." takes a name away, also that of a link.
            if not path or line[0] == '"' or path != os.path.realpath(os.path.normpath(os.path.join(folder, line))):
                return []
            if path not in folders:
                folders.append(path)
    inner = [os.path.join(folder, name) for folder in folders for name in ("pack", "info")]
    loose = [os.path.join(folder, blob[:2], blob[2:]) for folder in folders for blob in blobs]
    packed = [os.path.join(folder, name) for folder in inner for name in _names(folder)]
    if len(packed) > _MAX_PACKED or not all(_is_plain(path) for path in (*folders, *inner, *packed, *loose)):
        return []
    return folders


def _is_plain(path: str) -> bool:
    """Whether something is a file, a folder or not there."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _own_files(name: str) -> Iterator[bytes | None]:
    """What is in the person's and the system's files of git's for all repositories, where they usually are.

    They may be links, as whoever keeps such files in a repository of their own has them.
    """
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (os.path.join(base, "git", name), os.path.join(home, f".git{name}"), f"/etc/git{name}"):
        yield _bytes("", path, follows_links=True)


def _stat(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ino}"


def ref(found: Repository, name: str) -> str:
    """What a ref has: an id, or `ref:` and the name of another one; empty if there is none."""
    for base in dict.fromkeys((found.own, found.common)):
        if text := _text(base, os.path.join(*name.split("/"))).strip():
            return text
    for line in (_bytes(found.common, "packed-refs", _LISTED) or b"").splitlines():
        words = line.split()
        if len(words) == 2 and words[1] == os.fsencode(name):
            return words[0].decode("ascii", "replace")
    return ""


def refs(found: Repository) -> dict[str, str]:
    """The ids of the branches and tags, also of other computers', by their full names such as `refs/tags/v1`."""
    known: dict[str, str] = {}
    for line in (_bytes(found.common, "packed-refs", _LISTED) or b"").splitlines():
        words = line.split(b" ", 1)
        if len(words) == 2 and words[1].startswith(_LISTED_REFS):
            known[os.fsdecode(words[1])] = words[0].decode("ascii", "replace")
            if len(known) >= _MAX_REFS:
                return known
    for kind in _LISTED_REFS:
        top = os.path.join(found.common, *os.fsdecode(kind).split("/")[:-1])
        for folder, _, names in os.walk(top) if _is_plain(top) else ():
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), found.common).replace(os.sep, "/")
                known[path] = _text(found.common, path).strip()
                if len(known) >= _MAX_REFS:
                    return known
    return known


def _moved_by(found: Repository) -> str:
    try:
        with files.entry(os.path.join("logs", "HEAD"), below=found.own) as entry:
            lines = entry.read_end(4096).data.decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    message = lines[-1].partition("\t")[2] if lines else ""
    return re.split(r"[^a-z-]", message, maxsplit=1)[0]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _bytes(base: str, path: str, limit: int = _SMALL, *, follows_links: bool = False) -> bytes | None:
    """What is in a file below a folder: nothing if there is none, None if it is no regular file or a larger one."""
    try:
        return files.read(path, limit, below=base, follows_links=follows_links).data
    except FileNotFoundError:
        return b""
    except OSError:
        return None


def _text(base: str, path: str) -> str:
    return (_bytes(base, path) or b"").decode("utf-8", "surrogateescape")


IGNORE = ".gitignore"
_SPECIAL = re.compile(rb"([\\*?\[\]])")
_RULES_LIMIT = 1024 * 1024
MOST_RULES = 4 * 1024 * 1024
"""Bytes of the list: a rule gets the path of its folder, so that a small file in a deep folder makes many of them."""


class RulesError(OSError):
    """There are too many ignore rules; the text is for the person."""

    def __init__(self) -> None:
        super().__init__(
            f"its ignore rules take over {MOST_RULES >> 20} MB, so shorten the .gitignore files in deep folders"
        )


class _Rules(bytearray):
    """A list of rules that is made."""

    def add(self, rules: Iterable[bytes], folder: bytes = b"") -> _Rules:
        """Add the rules of the `.gitignore` in a folder. Raises RulesError before they take too much."""
        for rule in rules:
            if len(self) + len(folder) + len(rule) > MOST_RULES:
                raise RulesError
            self += _anchored(rule, folder) + b"\n"
        return self


def ignore_rules(root: str, ignores: Iterable[str], top: str | None, excludes: Sequence[str]) -> bytes:
    """The ignore rules for a folder, as one list.

    Of two rules the later one holds, as the deeper `.gitignore` does in git. A round that keeps the list doesn't depend
    on what becomes of the files: an agent that removes a line has not created the files behind it, and one that adds a
    line hides nothing.

    `ignores` are the relative paths of its `.gitignore` files, `top` is the work tree that the folder is in, and
    `excludes` are the files with rules for all of that, the weakest first. Raises RulesError.
    """
    rules = _Rules()
    above = _folders_above(root, top)
    for path in excludes:
        rules.add(_rules_below(above[0] if above else (), rules_in(path, follows_links=True)))
    for at, folder in enumerate(above):
        rules.add(_rules_below(folder, rules_in(os.path.join(top or root, *above[0][:at], IGNORE))))
    for path in sorted(ignores, key=lambda path: (path.count("/"), path)):
        rules.add(rules_in(os.path.join(root, path)), os.fsencode(path[: -len(IGNORE)]))
    return bytes(rules)


def replaced_rules(rules: bytes, path: str, before: bytes, after: bytes) -> bytes:
    """The rules after a file with some was changed; `path` is relative to the root. Raises RulesError."""
    folder = os.fsencode(path[: -len(IGNORE)]) if path.endswith(IGNORE) else b""
    old, new = _Rules(), _Rules().add(_split_rules(after), folder)
    with contextlib.suppress(RulesError):  # so many are in no list
        old.add(_split_rules(before), folder)
    at = (b"\n" + rules).find(b"\n" + old) if old else -1
    made = rules + new if at < 0 else rules[:at] + new + rules[at + len(old) :]
    if len(made) > MOST_RULES:
        raise RulesError
    return made


def rules_without(names: Iterable[str]) -> bytes:
    """Rules that leave out these folders and what is in them, such as nested repositories."""
    return b"".join(b"/" + _escaped(os.fsencode(name.rstrip("/"))) + b"/\n" for name in sorted(names))


def _folders_above(root: str, top: str | None) -> list[tuple[str, ...]]:
    """For each folder from `top` to the one above `root`, the names that lead from it to `root`."""
    if top is None or os.path.normcase(top) == os.path.normcase(root):
        return []
    names = tuple(os.path.relpath(root, top).split(os.sep))
    return [names[at:] for at in range(len(names))]


def rules_in(path: str, *, follows_links: bool = False) -> list[bytes]:
    """The ignore rules in a file, without comments. Git reads no `.gitignore` through a link either."""
    try:
        if not follows_links:
            path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        data = files.read(path, _RULES_LIMIT, follows_links=follows_links).data
    except OSError:
        return []
    return _split_rules(data)


def _split_rules(data: bytes) -> list[bytes]:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    kept = [line.removesuffix(b"\r") for line in lines]
    return [line for line in kept if line.strip() and not line.startswith(b"#")]


def _anchored(rule: bytes, folder: bytes) -> bytes:
    """A rule of the `.gitignore` in `folder`, which ends with a slash or is empty, as one of the root's."""
    if not folder:
        return rule
    sign, pattern = (b"!", rule[1:]) if rule.startswith(b"!") else (b"", rule)
    inside = pattern.rstrip(b" ").removesuffix(b"/")
    anywhere = b"/" not in inside
    return sign + b"/" + _escaped(folder) + (b"**/" if anywhere else b"") + pattern.removeprefix(b"/")


def _rules_below(names: Sequence[str], rules: Iterable[bytes]) -> list[bytes]:
    """The rules of a folder above the root that can hold in the root, to which these names lead."""
    if not names:
        return list(rules)
    prefix = os.fsencode("/".join(names)) + b"/"
    kept: list[bytes] = []
    for rule in rules:
        sign, pattern = (b"!", rule[1:]) if rule.startswith(b"!") else (b"", rule)
        plain = pattern.removeprefix(b"/")
        if b"/" not in pattern.rstrip(b" ").removesuffix(b"/") or pattern.startswith(b"**/"):
            kept.append(rule)
        elif plain.startswith(prefix):
            kept.append(sign + b"/" + plain[len(prefix) :])
    return kept


def _escaped(path: bytes) -> bytes:
    return _SPECIAL.sub(rb"\\\1", path)
