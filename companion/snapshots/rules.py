"""Which files of a folder are left out of its snapshots: the ignore rules of git, as they were when a round began.

They are written as one list for `git ls-files -X`, so that a round doesn't depend on what becomes of the `.gitignore`
files: an agent that removes a line has not created the files behind it, and one that adds a line hides nothing. Of two
rules the later one holds, as the deeper `.gitignore` does in git.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence

from ..platforms import files

IGNORE = ".gitignore"
_SPECIAL = re.compile(rb"([\\*?\[\]])")
_LIMIT = 1024 * 1024
MOST = 4 * 1024 * 1024
"""Bytes of the list: a rule gets the path of its folder, so that a small file in a deep folder makes many of them."""


class RulesError(OSError):
    """There are too many ignore rules; the text is for the person."""

    def __init__(self) -> None:
        super().__init__(f"its ignore rules take over {MOST >> 20} MB, so shorten the .gitignore files in deep folders")


class _Rules(bytearray):
    """A list of rules that is made."""

    def add(self, rules: Iterable[bytes], folder: bytes = b"") -> _Rules:
        """Add the rules of the `.gitignore` in a folder. Raises RulesError before they take too much."""
        for rule in rules:
            if len(self) + len(folder) + len(rule) > MOST:
                raise RulesError
            self += _anchored(rule, folder) + b"\n"
        return self


def ignore_list(root: str, ignores: Iterable[str], top: str | None, excludes: Sequence[str]) -> bytes:
    """The rules for a folder.

    `ignores` are the relative paths of its `.gitignore` files, `top` is the work tree that the folder is in, and
    `excludes` are the files with rules for all of that, the weakest first. Raises RulesError.
    """
    rules = _Rules()
    above = _above(root, top)
    for path in excludes:
        rules.add(_below(above[0] if above else (), rules_in(path, follows_links=True)))
    for at, folder in enumerate(above):
        rules.add(_below(folder, rules_in(os.path.join(top or root, *above[0][:at], IGNORE))))
    for path in sorted(ignores, key=lambda path: (path.count("/"), path)):
        rules.add(rules_in(os.path.join(root, path)), os.fsencode(path[: -len(IGNORE)]))
    return bytes(rules)


def replaced(rules: bytes, path: str, before: bytes, after: bytes) -> bytes:
    """The rules after a file with some was changed; `path` is relative to the root. Raises RulesError."""
    folder = os.fsencode(path[: -len(IGNORE)]) if path.endswith(IGNORE) else b""
    old, new = _Rules(), _Rules().add(_split(after), folder)
    with contextlib.suppress(RulesError):  # so many are in no list
        old.add(_split(before), folder)
    at = (b"\n" + rules).find(b"\n" + old) if old else -1
    made = rules + new if at < 0 else rules[:at] + new + rules[at + len(old) :]
    if len(made) > MOST:
        raise RulesError
    return made


def without(names: Iterable[str]) -> bytes:
    """Rules that leave out these folders and what is in them, such as nested repositories."""
    return b"".join(b"/" + _escaped(os.fsencode(name.rstrip("/"))) + b"/\n" for name in sorted(names))


def _above(root: str, top: str | None) -> list[tuple[str, ...]]:
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
        data = files.read(path, _LIMIT, follows_links=follows_links).data
    except OSError:
        return []
    return _split(data)


def _split(data: bytes) -> list[bytes]:
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


def _below(names: Sequence[str], rules: Iterable[bytes]) -> list[bytes]:
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
