"""Going on with what was said before: continue it, go back to an earlier prompt, copy the conversation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from ..backends.agent import Rewinding, RewindPoint
from ..conversation.failures import ChatError, MissingFeatureError
from ..conversation.snapshot import Message, Turn
from ..conversation.turns import changed_files
from ..ids import ChatId
from ..messages import sentence
from .chat import Chat, Registry, check_idle
from .prompt import Draft, file_of, mention
from .transcript.plain import relative

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
        files = tuple(relative(change.path, folder) for change in changed_files(_from(turns, asked[at])))
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


def _from(turns: Sequence[Turn], first: Turn) -> Sequence[Turn]:
    return turns[turns.index(first) :]


class ChatHistory:
    """Continues conversations, rewinds and forks them, and shows their earlier turns."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def continue_turn(self, chat_id: ChatId) -> None:
        """Continue the last turn, which was interrupted or has failed; in words where the daemon can't do it."""

        async def go_on(chat: Chat) -> None:
            client, session = chat.connection.connected
            identifier = None
            with contextlib.suppress(MissingFeatureError):
                identifier = await client.continue_turn(session)
            if identifier is None:
                chat.send(Draft("Continue"), mid_turn=False)

        self._registry.do(chat_id, go_on)

    async def targets(self, chat_id: ChatId) -> list[RewindTarget]:
        """The prompts that the conversation can go back to, the latest first, with what that would undo."""
        chat = self._registry[chat_id]
        client, session, folder = await self._registry.reached(chat_id)
        check_idle(chat)
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
        return await self._registry.turns.turn_files(chat.window, turn.key)

    async def rewind(self, chat_id: ChatId, to: RewindTarget, *, undo_files: bool) -> tuple[str, Draft]:
        """Go back to before an earlier prompt. Returns what happened, a sentence, and the prompt as it was written."""
        chat = self._registry[chat_id]
        client, session, folder = await self._registry.reached(chat_id)
        draft = chat.outbox.draft_of(to.turn, to.text)
        rewinding = Rewinding((), ())
        if to.rewinds:
            by_agent = undo_files and to.paths is None
            rewinding = await _once_idle(chat, lambda: client.rewind(session, to.point, undo_files=by_agent))
        check_idle(chat)
        left: list[str] = []
        if undo_files and to.paths is not None:
            try:
                changed, left = await self._registry.turns.restore_turn(chat.window, to.turn, to.paths)
                rewinding = Rewinding(tuple(changed), ())
            except OSError as error:  # the conversation may have gone back already, and the prompt comes back as well
                left = [sentence(error)]
        told = [_told(rewinding, folder.there) if to.rewinds else _undone(rewinding.changed, folder.there)]
        if not to.rewinds:
            told.append(STAYS.format(agent=chat.agent))
        return " ".join([*filter(None, told), *left]), draft

    async def fork(self, chat_id: ChatId) -> None:
        """Copy the conversation, and show the copy. The original stays in the list."""
        chat = self._registry[chat_id]
        client, session, _ = await self._registry.reached(chat_id)
        client.need("fork", "copy a conversation")
        copy = await _once_idle(chat, lambda: client.fork(session, chat.status.title))
        await client.detach(copy)
        chat.begin(copy.id, chat.connection.chosen)
        self._registry.screen.messenger.mention(
            "This is a copy of the conversation; the original stays among the sessions.", chat.window
        )

    def show_earlier(self, chat_id: ChatId) -> None:
        """Show a page of the turns before the first one that is shown."""
        if chat := self._registry.get(chat_id):
            chat.renderer.show_earlier()


async def _once_idle(chat: Chat, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask the daemon for something that it does only while no turn runs: it needs a moment after the end of one."""
    clock = asyncio.get_running_loop().time
    end = clock() + IDLE_LIMIT
    while True:
        check_idle(chat)
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
