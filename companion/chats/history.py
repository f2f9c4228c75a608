"""What was said and done before: continue it, go back to an earlier prompt, copy the conversation, list the changes.

And the list of the folder's conversations.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from ..backends.agent import AgentSession, ExportForm, FoundSession, Rewinding, RewindPoint, SessionInfo, SessionPage
from ..conversation.failures import ChatError, MissingFeatureError, SessionGoneError
from ..conversation.snapshot import FileChange, Message, Turn, changed_files
from ..editor import sentence
from ..review.changes import changes, count_of, lines_of
from ..review.compare import Change
from .prompt import Draft, file_of, mention
from .transcript.plain import clean, flat, relative

if TYPE_CHECKING:
    from .chat import Chat

T = TypeVar("T")

_CLOCK = 1.0
"""Seconds by which the times of a prompt and of its point may differ."""
IDLE_LIMIT = 3.0
"""Seconds that the daemon has to end a turn whose end it has told."""
IDLE_STEP = 0.1
"""Seconds between two tries."""
NOWHERE = "There is no prompt yet to go back to."
STAYS = "{agent} can't go back by itself, and still knows what was said."
CHECKPOINTS = 20
"""Prompts that are listed for an agent that can't go back itself."""


@dataclass(frozen=True, slots=True)
class RewindTarget:
    """An earlier prompt to which the conversation can be rewound, as if it had never been asked."""

    point: str
    """The daemon's id of it."""
    turn: str
    """The key of its turn."""
    text: str
    files: tuple[str, ...] = ()
    """Those that are known to have been changed since then, relative to the chat's folder."""
    count: int = 0
    """How many files undoing the changes since then would change."""
    inserted: int = 0
    """Lines that were added since then."""
    deleted: int = 0
    paths: tuple[str, ...] | None = None
    """The absolute paths of what is undone by a checkpoint of the files; None if there is none."""
    rewinds: bool = True
    """Whether the agent can forget what was said since then. Otherwise only the files go back."""


def rewind_targets(turns: Sequence[Turn], points: Sequence[RewindPoint], folder: str = "") -> list[RewindTarget]:
    """The prompts that the conversation can go back to, the latest first.

    A point is the n-th prompt that the model was asked. Its time must fit as well: going back to another prompt than
    the person means would cost work. Points from before a rewind are older than the prompts that have them now.
    """
    asked = [turn for turn in turns if turn.asks_model]
    missing = max(0, len(points) - len(asked))
    found: list[RewindTarget] = []
    for point in points:
        at = point.index - missing
        if not 0 <= at < len(asked) or (at + 1 < len(asked) and _is_after(point, asked[at + 1])):
            continue
        files = tuple(relative(change.path, folder) for change in changed_files(turns[turns.index(asked[at]) :]))
        key, text = asked[at].key, _written(asked[at], folder)
        found.append(RewindTarget(point.id, key, text, files, point.files, point.inserted, point.deleted))
    return found[::-1]


def _written(turn: Turn, folder: str) -> str:
    """A turn's prompt as the person may have written it: the conversation has only the names of the files in it."""
    text, at = turn.asked, 0
    first = turn.items[0] if turn.items else None
    for attachment in first.attachments if isinstance(first, Message) else ():
        name = f"@{attachment.name}"
        found = text.find(name, at)
        path, _ = file_of(attachment.uri)
        if found >= 0 and path:
            named = mention(relative(path, folder))
            text, at = text[:found] + named + text[found + len(name) :], found + len(named)
    return text


def _is_after(point: RewindPoint, turn: Turn) -> bool:
    """Whether a point was made after a turn had begun."""
    try:
        made = datetime.fromisoformat(point.timestamp).timestamp()
    except ValueError:
        return False
    return turn.began is not None and made > turn.began + _CLOCK


class ChatHistory:
    """Continues a conversation, rewinds and forks it."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def continue_turn(self) -> None:
        """Continue the last turn, which was interrupted or has failed; in words where the daemon can't do it."""
        client, session = self._chat.connection.connected
        identifier = None
        with contextlib.suppress(MissingFeatureError):
            identifier = await client.continue_turn(session)
        if identifier is None:
            self._chat.send(Draft("Continue"), mid_turn=False)

    async def targets(self) -> list[RewindTarget]:
        """The prompts that the conversation can go back to, the latest first, with what that would undo."""
        chat = self._chat
        client, session, folder = await self._chat.connection.reached()
        chat.check_idle()
        points = await client.rewind_points(session) if client.can("rewind") else []
        targets = rewind_targets(chat.turns, points, folder.there)
        found = await self._with_checkpoints(chat, targets, folder.there, rewinds=client.can("rewind"))
        if not found:
            client.need("rewind", "go back to an earlier prompt")
            raise ChatError(NOWHERE)
        return found

    async def _with_checkpoints(
        self, chat: Chat, targets: Sequence[RewindTarget], folder: str, *, rewinds: bool
    ) -> list[RewindTarget]:
        """The targets with what their checkpoints say of the files; those of an agent that can't rewind are made."""
        known = {target.turn: target for target in targets}
        found: list[RewindTarget] = []
        for turn in reversed(chat.turns):
            target = known.get(turn.key)
            files = await self._files_of(chat, turn) if target or len(found) < CHECKPOINTS else None
            if files is not None and (target or not rewinds):
                target = target or RewindTarget("", turn.key, _written(turn, folder), rewinds=False)
                names = tuple(relative(path, folder) for path in files)
                target = replace(target, files=names, count=len(names), paths=tuple(files))
            if target:
                found.append(target)
        return found

    async def _files_of(self, chat: Chat, turn: Turn) -> list[str] | None:
        if not chat.is_local or not turn.asks_model:
            return None
        return await self._chat.place.turns.turn_files(chat.window, turn.key)

    async def rewind(self, to: RewindTarget, *, undo_files: bool) -> tuple[str, Draft]:
        """Go back to before an earlier prompt. Returns what happened, a sentence, and the prompt as it was written."""
        chat = self._chat
        client, session, folder = await self._chat.connection.reached()
        draft = chat.outbox.sent.get(to.turn) or Draft(to.text)
        rewinding = Rewinding()
        if to.rewinds:
            by_agent = undo_files and to.paths is None
            rewinding = await _once_idle(chat, lambda: client.rewind(session, to.point, undo_files=by_agent))
        else:
            chat.check_idle()
        left: list[str] = []
        if undo_files and to.paths is not None:
            try:
                chat.check_idle()  # another turn may have begun during the rewind
                changed, left = await self._chat.place.turns.restore_turn(chat.window, to.turn, to.paths)
                rewinding = Rewinding(changed=tuple(changed))
            # The conversation may have gone back already, and the prompt comes back as well.
            except (ChatError, OSError) as error:
                left = [sentence(error)]
        told = [_told(rewinding, folder.there) if to.rewinds else _undone(rewinding.changed, folder.there)]
        if not to.rewinds:
            told.append(STAYS.format(agent=chat.agent))
        return " ".join([*filter(None, told), *left]), draft

    async def fork(self) -> None:
        """Copy the conversation, and show the copy. The original stays in the list."""
        chat = self._chat
        client, session, _ = await self._chat.connection.reached()
        client.need("fork", "copy a conversation")
        copy = await _once_idle(chat, lambda: client.fork(session, chat.status.title))
        await client.detach(copy)
        chat.show(copy.id, chat.connection.chosen)
        chat.mention("This is a copy of the conversation; the original stays among the sessions.")


async def _once_idle(chat: Chat, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask the daemon for something that it does only while no turn runs: it needs a moment after the end of one."""
    clock = asyncio.get_running_loop().time
    end = clock() + IDLE_LIMIT
    while True:
        chat.check_idle()
        try:
            return await ask()
        except ChatError as error:
            if not error.is_conflict or clock() > end:
                raise
        await asyncio.sleep(IDLE_STEP)


def _told(rewinding: Rewinding, folder: str) -> str:
    if failed := ", ".join(relative(path, folder) for path in rewinding.failed):
        return f"The conversation was rewound, but these files could not be undone: {failed}."
    return " ".join(filter(None, ("The conversation was rewound.", _undone(rewinding.changed, folder))))


def _undone(paths: Sequence[str], folder: str) -> str:
    """A sentence on the files that were undone; empty without one."""
    return f"Undone: {', '.join(relative(path, folder) for path in paths)}." if paths else ""


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

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def by_turn(self) -> list[TurnChanges]:
        """The turns that have changed files, the latest first.

        Raises:
            ChatError: none has.
        """
        chat = self._chat
        folder, turns = chat.connection.folder.there, chat.turns
        points: list[RewindTarget] = []
        with contextlib.suppress(ChatError):
            client, session = chat.connection.connected
            points = rewind_targets(turns, await client.rewind_points(session) if client.can("rewind") else [], folder)
        written: dict[str, list[FileChange]] = {}
        for turn in turns if chat.is_local else ():
            if (texts := await self._chat.place.turns.turn_texts(chat.window, turn.key)) is not None:
                written[turn.key] = [FileChange(*each) for each in texts]
        found = await asyncio.to_thread(_changes, turns, points, folder, written)
        if not found:
            raise ChatError(NOTHING)
        return found


def changed_in(texts: Sequence[tuple[str, str, str]], folder: str) -> tuple[ChangedFile, ...]:
    """Files that have changed, by their paths with the old and the new texts; the names are relative to a folder."""
    return tuple(_file(FileChange(*each), folder) for each in texts)


def _changes(
    turns: Sequence[Turn],
    points: Sequence[RewindTarget],
    folder: str,
    written: Mapping[str, Sequence[FileChange]],
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


class ChatSessions:
    """Lists conversations, and changes what is in the list."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def page(self, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the conversations in the chat's folder: those that are pinned first, then the latest."""
        client, _, folder = await self._chat.connection.reached()
        page = await client.list_sessions(folder.there, cursor, is_archived=is_archived)
        listed = sorted(page.sessions, key=_session_order, reverse=True)
        return SessionPage(sessions=tuple(listed), cursor=page.cursor)

    async def search(self, words: str) -> list[FoundSession]:
        """The conversations in the chat's folder in which something was said."""
        client, _, folder = await self._chat.connection.reached()
        return await client.search_sessions(folder.there, words)

    async def rename(self, session: str, title: str) -> None:
        """Give a conversation a title."""
        client, _, folder = await self._chat.connection.reached()
        known = AgentSession(id=session, folder=folder.there)
        try:
            await client.rename_session(known, title)
        except SessionGoneError:
            # Only one that is at work can be renamed.
            loaded, _ = await client.load(known)
            await client.rename_session(loaded, title)
            await client.detach(loaded)

    async def pin(self, session: str, *, is_pinned: bool) -> None:
        """Keep a conversation at the top of the list, or no longer."""
        client, _, folder = await self._chat.connection.reached()
        await client.pin_session(AgentSession(id=session, folder=folder.there), is_pinned=is_pinned)

    async def archive(self, session: str, *, is_archived: bool) -> None:
        """Put a conversation into the archive, or take it out. The chat that shows it begins a new one."""
        client, shown, folder = await self._chat.connection.reached()
        await client.archive_session(AgentSession(id=session, folder=folder.there), is_archived=is_archived)
        if is_archived and session == shown.id:
            self._chat.show()

    async def reopen(self, session: str) -> None:
        """Take a conversation out of the archive, and show it."""
        await self.archive(session, is_archived=False)
        self._chat.show(session)

    async def delete(self, session: str) -> None:
        """Delete a conversation and its history. The chat that shows it begins a new one."""
        client, shown, folder = await self._chat.connection.reached()
        await client.delete_session(AgentSession(id=session, folder=folder.there))
        if session == shown.id:
            self._chat.show()

    async def export(self, session: str, form: ExportForm, *, is_archived: bool = False) -> str:
        """A conversation as a text."""
        client, _, folder = await self._chat.connection.reached()
        return await client.export_session(AgentSession(id=session, folder=folder.there), form, is_archived=is_archived)


def _session_order(session: SessionInfo) -> tuple[bool, str]:
    return session.is_pinned, session.updated_at or session.created_at
