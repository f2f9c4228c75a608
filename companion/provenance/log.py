"""The log of who wrote which lines, and why: a file for each folder, in the private store beside its snapshots.

It has a line of JSON for each turn. It has no line of the person's files, only a hash of each, and it outlives the
snapshots: a year, or 20 MB of a folder. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

from ..changes import places
from ..platforms import files
from ..platforms.files import is_mine, lock, write_private

DAYS = 365
SIZE = 20 * 1024 * 1024
"""Bytes of the log of one folder."""
KEPT = 15 * 1024 * 1024
"""Bytes that stay when it has become too large."""
MAX_PROMPT = 4 * 1024
"""Characters of a prompt."""
MAX_REASON = 1024
"""Characters of what an agent has said before a tool call."""
MAX_LINES = 50_000
"""Lines of one turn."""
MOST_KNOWN = 10
"""Files whose turns are kept in memory."""
_MAX_NAME = 200
"""Characters of any other text, such as the name of a model."""
_SUFFIX = ".why"
_VERSION = 1
_WAIT = 2.0
"""Seconds in which another editor has written its turn."""


def hash_of(line: str) -> str:
    """What stands for a line: the same, however it is indented and spaced. Empty for a blank one."""
    text = "".join(line.split())
    if not text:
        return ""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).digest()
    return urlsafe_b64encode(digest).decode("ascii")


@dataclass(frozen=True, slots=True)
class Run:
    """Lines below each other that one tool call has written, without blank ones, each by its hash."""

    before: tuple[str, ...]
    """The lines above them: at most two."""
    added: tuple[str, ...]
    after: tuple[str, ...]
    """The lines below them."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A tool call that has written a file."""

    path: str
    """In the folder, with slashes."""
    runs: tuple[Run, ...]
    id: str = ""
    name: str = ""
    """The tool's own name."""
    reason: str = ""
    """What the agent said before it; empty if it said nothing."""
    asked: str = ""
    """What the person has said in the middle of the turn, if that came before it."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """A prompt, and what was written for it. Without an agent, they are the person's own lines."""

    at: float
    """Unix time."""
    agent: str
    calls: tuple[LoggedCall, ...]
    model: str = ""
    session: str = ""
    turn: str = ""
    """The key of the turn in its chat."""
    prompt: str = ""
    place: str = ""
    """The folder of the chat, or the path of the transcript."""
    command: str = ""
    """The name of the chat's agent in the settings; empty for the daemon."""
    is_chat: bool = True

    def short(self) -> LoggedTurn:
        """The same within the limits."""
        left = MAX_LINES
        calls: list[LoggedCall] = []
        for call in self.calls:
            left -= sum(len(run.added) for run in call.runs)
            if left < 0:
                break
            reason, asked = call.reason[-MAX_REASON:], call.asked[:MAX_PROMPT]
            calls.append(replace(call, reason=reason, asked=asked, id=call.id[:_MAX_NAME], name=call.name[:_MAX_NAME]))
        names = {name: getattr(self, name)[:_MAX_NAME] for name in _NAMES}
        return replace(self, calls=tuple(calls), prompt=self.prompt[:MAX_PROMPT], **names)


_NAMES = ("agent", "model", "session", "turn", "command")
TEXTS = (*_NAMES, "prompt", "place")
"""The fields of a turn that are texts. Those of a `ReportedTurn` have the same names."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some lines of a file are there."""

    rows: tuple[int, ...]
    """From 0."""
    turn: LoggedTurn
    call: LoggedCall
    commit: str = ""
    """The commit whose note says so; empty if it is our own log."""


class ProvenanceLog:
    """The logs of all folders. `stores` is the folder of the snapshots; None for the user's own."""

    def __init__(self, stores: str | None = None) -> None:
        self._stores = stores
        self._known: dict[tuple[str, str], tuple[tuple[int, ...], list[LoggedTurn]]] = {}
        """What was read last: by the log and the path of a file, with what the log was then."""

    def add(self, root: str, turn: LoggedTurn) -> None:
        """Add a turn to the log of a folder. Raises OSError, PlaceError if there is no place for it."""
        places.prepare(self._stores or places.stores())
        path = _path(self._folder, root)
        line = json.dumps(_plain(turn.short()), separators=(",", ":")).encode() + b"\n"
        with _alone(f"{path}.lock"):
            # Whoever writes begins a line: one that was torn by the end of an editor stays alone.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
            with os.fdopen(descriptor, "ab") as file:
                if not is_mine(os.fstat(file.fileno())):
                    raise OSError("the log belongs to another user")
                torn = file.tell() and not _ends_with_line(path)
                file.write(b"\n" + line if torn else line)
                size = file.tell()
            if size > SIZE:
                _shorten(path, KEPT)

    def turns(self, path: str) -> list[tuple[str, LoggedTurn]]:
        """The turns in which a file was written, the oldest first, each with the folder whose log has it.

        `path` is a real path. A line that can't be read is passed over.
        """
        found: list[tuple[float, str, LoggedTurn]] = []
        folder = self._folder
        for root in _above(path):
            name, latest = os.path.relpath(path, root).replace(os.sep, "/"), 0.0
            for turn in self._of(_path(folder, root), name):
                latest = max(latest, turn.at)  # in a log the order counts: the clock may have been set back
                found.append((latest, root, turn))
        return [(root, turn) for _, root, turn in sorted(found, key=lambda each: each[0])]

    def every(self, root: str, since: float = 0.0) -> list[LoggedTurn]:
        """All turns of a folder since a time, the oldest first."""
        data = _read(_path(self._folder, root))
        turns = [turn for line in data.split(b"\n") if (turn := _turn(line)) and turn.at >= since]
        return sorted(turns, key=lambda turn: turn.at)

    def _of(self, path: str, name: str) -> list[LoggedTurn]:
        try:
            found = os.stat(path, follow_symlinks=False)
        except OSError:
            return []
        stamp = found.st_ino, found.st_size, found.st_mtime_ns
        before, turns = self._known.get((path, name), ((), []))
        if before != stamp:
            turns = _TurnSearch(name).of(path)
            for oldest in [*self._known][: max(0, len(self._known) - MOST_KNOWN)]:
                self._known.pop(oldest, None)
            self._known[path, name] = stamp, turns
        return turns

    def forget(self) -> int:
        """Remove all logs. Returns how many there were."""
        return sum(_remove(path) for path in self._all())

    def forget_old(self, now: float | None = None) -> None:
        """Remove what is older than a year."""
        oldest = (time.time() if now is None else now) - DAYS * 86_400
        for path in self._all():
            with contextlib.suppress(OSError), _alone(f"{path}.lock"):
                if os.stat(path).st_mtime < oldest:
                    os.unlink(path)
                else:
                    first = _turn(_read(path).split(b"\n", 1)[0])
                    if first is None or first.at < oldest:
                        _shorten(path, SIZE, oldest)

    def _all(self) -> list[str]:
        with contextlib.suppress(OSError):
            return [each.path for each in os.scandir(self._folder) if each.name.endswith(_SUFFIX)]
        return []

    @property
    def _folder(self) -> str:
        """The folder of the stores, without links."""
        return os.path.realpath(self._stores or places.stores())


class _TurnSearch:
    """Finds the turns in which a file was written in a log that comes in pieces: to make lines of all of it is slow."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._wanted = json.dumps(name).encode()
        self._rest = b""
        self._found: list[LoggedTurn] = []

    def of(self, path: str) -> list[LoggedTurn]:
        """Those in the log at a path; none if it can't be read."""
        with contextlib.suppress(OSError), files.place(path) as entry:
            entry.copy(cast("BinaryIO", self), 2 * SIZE)
        self.write(b"\n")
        return self._found

    def write(self, data: bytes) -> int:
        """Take the next piece, as a file does."""
        begin, whole = data.find(b"\n") + 1, data.rfind(b"\n") + 1
        if not begin:
            self._rest += data
            return len(data)
        self._take(self._rest + data[:begin])
        end = begin
        while (at := data.find(self._wanted, end, whole)) >= 0:
            start, end = data.rfind(b"\n", end, at) + 1 or end, data.index(b"\n", at)
            self._take(data[start:end])
        self._rest = data[whole:]
        return len(data)

    def _take(self, line: bytes) -> None:
        if self._wanted in line and (turn := _turn(line, self._name)) and turn.calls:
            self._found.append(turn)


def _path(folder: str, root: str) -> str:
    return os.path.join(folder, places.store_name(root) + _SUFFIX)


def _above(path: str) -> Iterator[str]:
    """The folders that a file is in, the nearest first."""
    at = os.path.dirname(path)
    while True:
        yield at
        above = os.path.dirname(at)
        if above == at:
            return
        at = above


@contextlib.contextmanager
def _alone(path: str) -> Generator[None]:
    """Nobody else writes a log meanwhile: two editors may have the same folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        end = time.monotonic() + _WAIT
        while not lock(descriptor):
            if time.monotonic() > end:
                raise OSError("another editor writes the log")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _ends_with_line(path: str) -> bool:
    with files.place(path) as entry:
        return entry.read_end(1).data == b"\n"


def _read(path: str) -> bytes:
    with contextlib.suppress(OSError), files.place(path) as entry:
        return entry.read_end(2 * SIZE).data
    return b""


def _shorten(path: str, most: int, oldest: float = 0.0) -> None:
    """Drop the oldest lines until the rest has at most so many bytes, and all that were written before a time."""
    lines = _read(path).split(b"\n")
    kept: list[bytes] = []
    size = 0
    for line in reversed(lines):
        size += len(line) + 1
        if size > most:
            break
        if (turn := _turn(line)) and turn.at >= oldest:
            kept.append(line)
    write_private(path, b"".join(line + b"\n" for line in reversed(kept)))


def _remove(path: str) -> bool:
    with contextlib.suppress(OSError):
        os.unlink(path)
    with contextlib.suppress(OSError):
        os.unlink(f"{path}.lock")
    return not os.path.lexists(path)


def _plain(turn: LoggedTurn) -> dict[str, Any]:
    calls = [
        {
            "path": call.path,
            "id": call.id,
            "name": call.name,
            "reason": call.reason,
            "asked": call.asked,
            "lines": [[" ".join(part) for part in (run.before, run.added, run.after)] for run in call.runs],
        }
        for call in turn.calls
    ]
    texts = {name: getattr(turn, name) for name in TEXTS}
    return {"v": _VERSION, "at": turn.at, **texts, "chat": turn.is_chat, "calls": calls}


def _turn(line: bytes, path: str = "") -> LoggedTurn | None:
    """A turn from a line of the log, with a path only what it has written there.

    None if the line is torn, or not one of ours.
    """
    try:
        plain: object = json.loads(line)
        if not isinstance(plain, dict):
            return None
        return _from_plain(cast("Mapping[str, Any]", plain), path)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _from_plain(plain: Mapping[str, Any], path: str) -> LoggedTurn | None:
    if plain["v"] != _VERSION:
        return None
    every = cast("Sequence[Mapping[str, Any]]", plain["calls"])
    calls = tuple(_call(each) for each in every if not path or each["path"] == path)
    texts = {name: _text(plain[name]) for name in TEXTS}
    return LoggedTurn(at=float(plain["at"]), calls=calls, is_chat=plain["chat"] is True, **texts)


def _call(plain: Mapping[str, Any]) -> LoggedCall:
    path, identifier, name, reason, asked = (_text(plain[key]) for key in ("path", "id", "name", "reason", "asked"))
    runs = ([tuple(_text(part).split()) for part in run] for run in plain["lines"])
    found = tuple(Run(before, added, after) for before, added, after in runs)
    return LoggedCall(path, found, identifier, name, reason, asked)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
