"""`git diff` as the oracle for hunks, and real pairs of texts from the history of this repository."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from companion.review.compare import Change

ROOT = Path(__file__).resolve().parents[3]
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def hunks(folder: Path, old: str, new: str, *flags: str) -> list[Change]:
    """The hunks that git finds between two texts, without context."""
    paths = folder / "old", folder / "new"
    for path, text in zip(paths, (old, new), strict=True):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    # With -U0 git leaves out the common end of the texts, and sees other places to slide to.
    options = ("--no-index", "--no-color", "--text", "-U1", "--indent-heuristic", *flags)
    result = subprocess.run(["git", "diff", *options, *map(str, paths)], capture_output=True, check=False)
    if result.returncode not in {0, 1}:
        raise RuntimeError(result.stderr)
    found: list[Change] = []
    at = new_at = 0
    is_body = is_open = False
    for line in result.stdout.split(b"\n"):
        kind = line[:1]
        if header := _HUNK.match(line):
            start, count, new_start, new_count = (int(number or 1) for number in header.groups())
            # Git counts from 1, and names the line above where there are no lines.
            at, new_at = start - (count > 0), new_start - (new_count > 0)
            is_body, is_open = True, False
        elif is_body and kind in {b"-", b"+"}:
            one = found.pop() if is_open else Change(at, at, new_at, new_at)
            at, new_at = at + (kind == b"-"), new_at + (kind == b"+")
            found.append(Change(one.old_start, at, one.new_start, new_at))
            is_open = True
        elif kind != b"\\":
            at, new_at, is_open = at + 1, new_at + 1, False
    return found


def marked(found: list[Change]) -> int:
    """The number of marked lines."""
    return sum(change.deleted + change.inserted for change in found)


def real_pairs(count: int) -> Iterator[tuple[str, str]]:
    """Pairs of versions of a file from the history of this repository: always the same ones for the same history.

    There are none in a checkout without history.
    """
    listed = _git("log", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=M", "--format=")
    rows = (line.split() for line in listed.splitlines())
    pairs = sorted({(row[2], row[3]) for row in rows if row[-1].endswith((".py", ".md", ".json", ".toml"))})
    random.Random(1).shuffle(pairs)  # noqa: S311 - always the same order
    for one, other in pairs[:count]:
        yield _git("cat-file", "blob", one), _git("cat-file", "blob", other)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    result = subprocess.run(command, capture_output=True, check=False)
    return result.stdout.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
