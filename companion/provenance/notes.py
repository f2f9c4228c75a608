"""Who has written a committed line, by the notes of git-ai in the person's repository (`refs/notes/ai`).

Nothing is written there, and git is run on an empty repository of ours that borrows its objects, with little time. A
note is believed as far as it is exact: it has the form that its standard names, is one of the commit in which git finds
the line, says so of itself, and names one agent for the line and no person. Its standard, and why Qwen Code's notes are
not read: /docs/protocols/commit-notes.md. Everything here blocks.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import json_text
from ..changes.lines import MAX_COMPARED, differences
from ..json_text import as_object
from ..platforms import files
from ..snapshots import project
from ..snapshots.git import Git, GitStoppedError, program
from .log import LoggedCall, LoggedTurn, Reason

REF = "refs/notes/ai"
SCHEMA = "authorship/3.0.0"
LIMIT = 5.0
"""Seconds that all runs of git for one question may take."""
LARGEST = 1024 * 1024
"""Bytes of a note, or of a commit."""
MOST_ROWS = 100
"""Lines that git is asked about at once."""
MOST_PARTS = 20_000
"""Values in a note, or ranges of lines."""
_ID = re.compile("[0-9a-f]{40}")
_RANGES = re.compile(r"[1-9]\d{0,8}(?:-[1-9]\d{0,8})?(?:,[1-9]\d{0,8}(?:-[1-9]\d{0,8})?)*")
_SESSION = re.compile(r"(s_[0-9a-f]+)::t_[0-9a-f]+")
_PROMPT = re.compile("[0-9a-f]{7,16}")
_WRITTEN = re.compile(rb"^author [^\n]*> (\d{1,11}) [+-]\d{4}$", re.MULTILINE)


_Agent = tuple[str, str, str]
"""Its name, its model and its session."""
_Attested = tuple[str, range, _Agent | None]
"""A path, some lines of its file, from 1, and whose they are; None for a person, and for what is not known."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a line has come from."""

    commit: str
    path: str
    line: int
    """From 1."""


def noted(path: str, lines: Sequence[str], rows: Iterable[int]) -> list[Reason]:
    """What the notes say of some lines of a file, from 0; nothing of those that are not committed as they are.

    `path` is a real path, `lines` are the file's as they are now. No turn has a prompt: git-ai keeps none in a note.
    """
    top = project.top(os.path.dirname(path))
    found = project.repository(top) if top else None
    if top is None or found is None:
        return []
    notes, head = project.ref(found, REF), project.head(found).commit
    if not (_ID.fullmatch(notes) and _ID.fullmatch(head)):
        return []
    name = os.path.relpath(path, top).replace(os.sep, "/")
    lent = project.lent_objects(found, [head, notes])
    if not lent or "\n" in name:
        return []
    try:
        with tempfile.TemporaryDirectory(prefix="qwen-companion-", ignore_cleanup_errors=True) as folder:
            objects = _Objects(folder, lent)
            return list(_noted(objects, notes, f"{head}:{name}", lines, list(rows)[:MOST_ROWS]))
    except (OSError, ValueError):  # git's errors, or what it prints isn't what it was asked for
        return []


class _Objects:
    """The objects of the person's repository, read by git in a folder of ours."""

    def __init__(self, folder: str, lent: Sequence[str]) -> None:
        for name in ("objects", "refs", "tree"):
            os.mkdir(os.path.join(folder, name))
        files.write_private(os.path.join(folder, "HEAD"), b"ref: refs/heads/none\n")
        # Its work tree is an empty folder: git would look for attributes and names of authors in the person's.
        self._git = Git(program(), folder, os.path.join(folder, "tree"))
        self._lent = lent
        self._end = time.monotonic() + LIMIT

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        left = self._end - time.monotonic()
        if left <= 0:
            raise GitStoppedError("there is no time left")
        settings = ("core.commitGraph=false",)
        return self._git.run(*arguments, given=given, lent=self._lent, settings=settings, limit=left)

    def read(self, names: Sequence[str], limit: int) -> dict[str, bytes]:
        """The objects with some names, as git has them; those that are not there, or larger, are left out."""
        sizes = self._run("cat-file", "--batch-check=%(objectname) %(objectsize)", given=_listed(names))
        words = [line.split() for line in sizes.decode("utf-8", "replace").splitlines()]
        there = [
            name
            for name, each in zip(names, words, strict=True)
            if len(each) == 2 and each[1].isdecimal() and int(each[1]) <= limit
        ]
        printed = self._run("cat-file", "--batch", given=_listed(there)) if there else b""
        found: dict[str, bytes] = {}
        for name in there:
            about, _, rest = printed.partition(b"\n")
            size = int(about.split()[-1])
            found[name], printed = rest[:size], rest[size + 1 :]
        return found

    def origins(self, committed: str, lines: Mapping[int, str]) -> dict[int, _Origin]:
        """Where lines of a file in a commit have come from. `committed` is `commit:path`, `lines` are from 1."""
        commit, _, path = committed.partition(":")
        ranges = [f"-L{line},{line}" for line in lines]
        # Not as `--porcelain`: that has texts of the commits, of any length.
        printed = self._run("blame", "-l", "-f", "-n", "-s", "--root", *ranges, commit, "--", path)
        found: dict[int, _Origin] = {}
        for (line, text), row in zip(sorted(lines.items()), printed.split(b"\n"), strict=False):
            about = os.fsdecode(row.removesuffix(f") {text}".encode("utf-8", "surrogateescape")))
            words = re.fullmatch(r"([0-9a-f]{40}) (.*\S) +(\d+) +(\d+)", about, re.DOTALL)
            if words and int(words[4]) == line:
                found[line] = _Origin(words[1], words[2], int(words[3]))
        return found


def _listed(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\n" for name in names)


def _noted(
    objects: _Objects, notes: str, committed: str, lines: Sequence[str], rows: Sequence[int]
) -> Iterator[Reason]:
    data = objects.read([committed], MAX_COMPARED).get(committed)
    if data is None:
        return
    before = data.decode("utf-8", "surrogateescape").split("\n")
    unchanged = _unchanged([line.removesuffix("\r") for line in before], lines)
    wanted = {row: unchanged[row] + 1 for row in rows if row in unchanged and lines[row].strip()}
    if not wanted:
        return
    origins = objects.origins(committed, {line: before[line - 1] for line in wanted.values()})
    commits = dict.fromkeys(origin.commit for origin in origins.values())
    places = {f"{notes}:{place}": commit for commit in commits for place in _places(commit)}
    read = objects.read([*places, *commits], LARGEST)
    texts = {commit: read[place].decode("utf-8", "replace") for place, commit in places.items() if place in read}
    said = {commit: _attested(text, commit) for commit, text in texts.items()}
    found: dict[tuple[str, _Agent], list[int]] = {}
    for row, line in wanted.items():
        origin = origins.get(line)
        if origin and (agent := _agent(said.get(origin.commit, ()), origin)):
            found.setdefault((origin.commit, agent), []).append(row)
    for (commit, (name, model, session)), own in found.items():
        written = _WRITTEN.search(read.get(commit, b"").partition(b"\n\n")[0])
        turn = LoggedTurn(float(written[1]) if written else 0.0, name, (), model, session)
        yield Reason(tuple(own), turn.short(), LoggedCall("", ()), commit)


def _unchanged(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """The lines of a text that another one has, too: where they are in both, from 0, by the later one."""
    found: dict[int, int] = {}
    old = new = 0
    for change in (*differences(before, after), None):
        end = change.new_start if change else len(after)
        found.update(zip(range(new, end), range(old, len(before)), strict=False))
        if change:
            old, new = change.old_end, change.new_end
    return found


def _places(commit: str) -> Iterator[str]:
    """Where the note of a commit may be: git makes folders when there are many."""
    yield commit
    yield f"{commit[:2]}/{commit[2:]}"
    yield f"{commit[:2]}/{commit[2:4]}/{commit[4:]}"


def _agent(attested: Iterable[_Attested], origin: _Origin) -> _Agent | None:
    """The agent of a line, if a note names one and is exact; else None."""
    agents = {agent for path, lines, agent in attested if path == origin.path and origin.line in lines}
    return agents.pop() if len(agents) == 1 else None


def _attested(note: str, commit: str) -> list[_Attested]:
    """What the note of a commit says of lines; nothing if it isn't exact, or has too many parts."""
    attested, divider, rest = note.partition("\n---\n")
    about = _parsed(rest)
    if not divider or about.get("schema_version") != SCHEMA or about.get("base_commit_sha") != commit:
        return []  # git copies notes to other commits, in which the lines are somewhere else
    if attested.count(",") + attested.count("\n") > MOST_PARTS:
        return []
    path, found = "", list[_Attested]()
    for each in attested.split("\n"):
        if not each.startswith("  "):
            path = each[1:-1] if len(each) > 1 and each[0] == each[-1] == '"' else each
            continue
        key, _, ranges = each[2:].partition(" ")
        if not _RANGES.fullmatch(ranges):
            return []
        agent = _of_key(key, about)
        found += [(path, _lines(part), agent) for part in ranges.split(",")]
    return found


def _lines(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def _of_key(key: str, about: Mapping[str, Any]) -> _Agent | None:
    """The agent of a key; None for a person, and for what is not known."""
    session = _SESSION.fullmatch(key)
    records: object = about.get("sessions") if session else about.get("prompts") if _PROMPT.fullmatch(key) else None
    record = as_object(as_object(records).get(session[1] if session else key))
    who = as_object(record.get("agent_id"))
    tool, model, identifier = (who.get(name) for name in ("tool", "model", "id"))
    if not (isinstance(tool, str) and tool.strip()):
        return None
    return tool, model if isinstance(model, str) else "", identifier if isinstance(identifier, str) else ""


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        return as_object(json_text.read(text, MOST_PARTS))
    except (ValueError, RecursionError):
        return {}
