"""All changes of a turn: which files, how many lines, and the diffs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..conversation.failures import ChatError
from ..conversation.snapshot import Turn
from ..conversation.turns import FileChange, changed_files
from ..ids import ChatId, WindowId
from ..review.changes import changes, count_of, lines_of
from ..review.compare import Change
from .chat import Registry
from .history import RewindTarget, rewind_targets
from .transcript.plain import clean, flat, relative

CONTEXT = 3
"""Lines that are shown before and after a change."""
NOTHING = "No turn has changed a file."


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What a turn has changed in a file."""

    name: str
    """Its path, relative to the chat's folder if it is in there."""
    path: str
    inserted: int
    deleted: int
    diff: str
    """A unified diff."""


@dataclass(frozen=True, slots=True)
class TurnChanges:
    """What a turn has changed."""

    turn: str
    """Its key."""
    text: str
    """Its prompt."""
    files: tuple[ChangedFile, ...]
    is_untold: bool = False
    """Whether the daemon knows of changes of more files since this prompt than the tools of the turns have told."""
    by_tools: bool = False
    """Whether this is what the agent's tools have told: nobody has looked at the files, or they are not here."""

    @property
    def inserted(self) -> int:
        """Lines."""
        return sum(file.inserted for file in self.files)

    @property
    def deleted(self) -> int:
        """Lines."""
        return sum(file.deleted for file in self.files)


class ChatChanges:
    """Lists what the turns of a conversation have changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def by_turn(self, chat_id: ChatId) -> list[TurnChanges]:
        """The turns that have changed files, the latest first.

        Raises:
            ChatError: none has.
        """
        chat = self._registry[chat_id]
        folder, turns = chat.connection.folder.there, chat.turns
        points: list[RewindTarget] = []
        with contextlib.suppress(ChatError):
            client, session = chat.connection.connected
            points = rewind_targets(turns, await client.rewind_points(session) if client.can("rewind") else [], folder)
        written: dict[str, list[FileChange]] = {}
        for turn in turns if chat.is_local else ():
            if (texts := await self._registry.turns.turn_texts(chat.window, turn.key)) is not None:
                written[turn.key] = [FileChange(*each) for each in texts]
        found = await asyncio.to_thread(_changes, turns, points, folder, written)
        if not found:
            raise ChatError(NOTHING)
        return found

    async def of_turn(self, window: WindowId, turn: str, folder: str) -> tuple[ChangedFile, ...] | None:
        """What a turn of anybody, by its key, had changed when it ended; None if nobody has looked at the files.

        The names are relative to the folder.
        """
        texts = await self._registry.turns.turn_texts(window, turn)
        if texts is None:
            return None
        return await asyncio.to_thread(lambda: tuple(_file(FileChange(*each), folder) for each in texts))


def _changes(
    turns: Sequence[Turn],
    points: Sequence[RewindTarget],
    folder: str,
    written: Mapping[str, Sequence[FileChange]] = MappingProxyType({}),
) -> list[TurnChanges]:
    known = {point.turn: point for point in points}
    found: list[TurnChanges] = []
    for turn in reversed(turns):
        point = known.get(turn.key)
        looked = written.get(turn.key)
        is_untold = looked is None and point is not None and point.count > len(point.files)
        if files := [_file(change, folder) for change in (changed_files([turn]) if looked is None else looked)]:
            found.append(TurnChanges(turn.key, flat(turn.asked), tuple(files), is_untold, looked is None))
    return found


def _file(change: FileChange, folder: str) -> ChangedFile:
    name = relative(change.path, folder)
    found = changes(change.old, change.new)
    counts = count_of(found, change.old, change.new)
    diff = "\n".join(_unified(name, change, found)) + "\n"
    return ChangedFile(name, change.path, counts.inserted, counts.deleted, diff)


def _unified(name: str, change: FileChange, found: Sequence[Change]) -> Iterator[str]:
    old, new = lines_of(change.old), lines_of(change.new)
    yield f"--- {name if change.old else '/dev/null'}"
    yield f"+++ {name if change.new else '/dev/null'}"
    for hunk in _hunks(found):
        first, last = hunk[0], hunk[-1]
        before = min(CONTEXT, first.old_start)
        after = min(CONTEXT, max(0, _count(old) - last.old_end))
        start, new_start = first.old_start - before, first.new_start - before
        length, new_length = last.old_end + after - start, last.new_end + after - new_start
        yield f"@@ -{_range(start, length)} +{_range(new_start, new_length)} @@"
        at = start
        for each in hunk:
            yield from (f" {clean(line)}" for line in old[at : each.old_start])
            yield from (f"-{clean(line)}" for line in old[each.old_start : each.old_end] if change.old)
            yield from (f"+{clean(line)}" for line in new[each.new_start : each.new_end] if change.new)
            at = each.old_end
        yield from (f" {clean(line)}" for line in old[at : at + after])


def _range(start: int, length: int) -> str:
    """A range of lines in the head of a hunk; an empty one has the number of the line before it."""
    return f"{start + 1 if length else start},{length}"


def _count(lines: Sequence[str]) -> int:
    """How many lines a reader sees."""
    return len(lines) if lines[-1] else len(lines) - 1


def _hunks(found: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes that share their lines of context."""
    hunk: list[Change] = []
    for change in found:
        if hunk and change.old_start - hunk[-1].old_end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk
