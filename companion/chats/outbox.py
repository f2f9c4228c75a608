"""Sends a person's prompts in order, once the chat is connected. What can't be sent goes back to the prompt."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..backends.agent import Agent, AgentSession, Block
from ..background import answered
from ..conversation.failures import ChatError, MissingFeatureError, StreamLostError, UncertainError, UnsendableError
from ..conversation.snapshot import Unsent
from ..platforms.files import FileRefusedError, MissingError, OversizeError, UnreadableError, read
from . import prompt
from .prompt import ChatFolder, Draft, Mention, Returned, mentions, path_of, undone_text

if TYPE_CHECKING:
    from .chat import Chat

MAX_PICTURE = 8 * 1024 * 1024
"""Bytes."""
LOOK_UP_LIMIT = 10.0
"""Seconds to look up all files that a prompt mentions."""
UNDONE_LIMIT = 5.0
"""Seconds that a prompt waits for what was undone."""

_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
MAX_INJECTED = 16_000
"""Characters of a message into a turn that runs; the daemon takes 16 k."""
MAX_REMEMBERED = 20
"""How many of the latest drafts are remembered, for one that is sent again or gone back to."""
QUICK = 0.3
"""Seconds after which a draft that still waits can be taken back."""
ARRIVAL_LIMIT = 3.0
"""Seconds to look whether a prompt has arrived whose answer was lost."""
ARRIVAL_STEP = 0.1
"""Seconds between two looks."""
UNSENT = "This could not be sent."
REMOVED = "It was removed from the queue."
ON_ITS_WAY = "This was on its way: check whether it has arrived before you send it again."


async def blocks(draft: Draft, client: Agent, folder: ChatFolder) -> list[Block]:
    """The blocks of a draft.

    Raises:
        UnsendableError: a file is excluded, a picture can't be read, or there is nothing to send.
        ChatError: the daemon can't be asked for the files that are mentioned.
    """
    unsaved = {folder.path_here(path): text for path, text in draft.unsaved.items()}
    named = mentions(draft.text)
    try:
        async with asyncio.timeout(LOOK_UP_LIMIT):
            files = await asyncio.gather(*(_mentioned_file(mention, unsaved, client, folder) for mention in named))
    except TimeoutError:
        raise StreamLostError("The daemon doesn't say which files it has.") from None
    named_files = [path for _, path in filter(None, files)]
    if why := await asyncio.to_thread(
        folder.refusal, [*named_files, *(path_of(each.uri) for each in draft.excerpts), *draft.pictures]
    ):
        raise UnsendableError(why)
    found: list[Block] = []
    at = 0
    for mention, file in zip(named, files, strict=True):
        if file is None or mention.start < at:
            continue
        _add_text(found, draft.text[at : mention.start])
        at, path = file
        found.append(await _mentioned(path, unsaved, folder))
    _add_text(found, draft.text[at:])
    found += (prompt.resource_block(excerpt.uri, excerpt.text) for excerpt in draft.excerpts)
    for picture in draft.pictures:
        found.append(await _picture(picture))
    if not found:
        raise UnsendableError("There is nothing to send.")
    return found


def _add_text(found: list[Block], text: str) -> None:
    if text.strip() or (text and found):
        found.append(prompt.text_block(text))


async def _mentioned_file(
    mention: Mention, unsaved: Mapping[str, str], client: Agent, folder: ChatFolder
) -> tuple[int, str] | None:
    """Where the name of a file ends in the text, and that file as the person names it; None if there is none."""
    for end, path in mention.paths:
        if folder.path_here(path) in unsaved or await client.is_file(path):
            return end, path
    return None


async def _mentioned(path: str, unsaved: Mapping[str, str], folder: ChatFolder) -> Block:
    buffer = unsaved.get(folder.path_here(path))
    if buffer is not None:
        return prompt.resource_block(f"file://{folder.path_there(path)}", buffer)
    if _picture_kind(path) and folder.is_local:
        return await _picture(os.path.join(folder.here, path))
    return prompt.link_block(folder.path_there(path))


async def _picture(path: str) -> Block:
    name = os.path.basename(path)
    kind = _picture_kind(path)
    if kind is None:
        raise UnsendableError(f"{name} is not a picture that can be sent.", "Take a PNG, JPEG, GIF or WebP file.")
    try:
        content = await answered(path, lambda: read(path, MAX_PICTURE, follows_links=True))
    except OversizeError:
        raise UnsendableError(f"{name} is larger than 8 MB.", "Take a smaller picture.") from None
    except (MissingError, UnreadableError) as error:
        raise UnsendableError(f"{name} can't be read: {error.strerror}.") from None
    except FileRefusedError as error:
        raise UnsendableError(f"{name} {error.why}.") from None
    return prompt.image_block(content.data, kind)


def _picture_kind(path: str) -> str | None:
    return _PICTURES.get(os.path.splitext(path)[1].lower())


@dataclass(eq=False, slots=True)
class _Waiting:
    """A draft that the conversation doesn't show yet."""

    draft: Draft
    is_slow: bool = False
    is_going: bool = False
    """Whether it may have reached the daemon."""
    prompt: str = ""
    """Its id once the daemon has taken it."""
    rebuilds: int = 0
    """How often the conversation had been rebuilt by then."""
    task: asyncio.Task[object] | None = None

    @property
    def state(self) -> Literal["waiting", "sending", "sent"]:
        """How far it has come."""
        return "sent" if self.prompt else "sending" if self.is_going else "waiting"


class Outbox:
    """The drafts of one chat, until the conversation shows them.

    They go back to the chat if they can't be sent.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._sending = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[str, _Waiting] = {}
        self.sent: dict[str, Draft] = {}
        """The latest drafts that the agent has taken, by the ids of the prompts."""
        self.sent_at = 0
        """When the last prompt was sent, in nanoseconds of Unix time."""

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """What the conversation doesn't show yet, the oldest first."""
        is_queued = self._chat.connection.conversation.is_queued
        return tuple(
            Unsent(key, _summary(each.draft), each.state, can_be_removed=each.is_slow and not each.is_going)
            for key, each in self._waiting.items()
            if not is_queued(each.prompt)
        )

    def send(self, draft: Draft, *, mid_turn: bool) -> None:
        """Send a draft as a prompt, or into the turn that runs. It is given back if that fails."""
        key = str(next(self._numbers))
        self._waiting[key] = waiting = _Waiting(draft)
        waiting.task = self._chat.background(self._deliver(key, waiting, mid_turn=mid_turn))
        asyncio.get_running_loop().call_later(QUICK, self._look_at, key)
        self._chat.show_soon()

    def shown(self) -> None:
        """Forget what the conversation shows by now, and give back what it should show but has lost."""
        conversation = self._chat.connection.conversation
        found: set[str] = set()
        for key, waiting in list(self._waiting.items()):
            if not waiting.prompt or conversation.is_queued(waiting.prompt):
                continue  # what is in the queue may still be lost, together with it
            if conversation.has(waiting.prompt):
                del self._waiting[key]
                if conversation.was_removed(waiting.prompt):
                    self._chat.give_back(waiting.draft, REMOVED)
            elif conversation.rebuilds > waiting.rebuilds:
                # The history of 0.21.2 on disk has other ids than the events.
                shown = _Shown(waiting.draft)
                before = [
                    each for each in conversation.replaced if shown.is_in(each.text) and each.id != waiting.prompt
                ]
                now = [each.id for each in conversation.prompts if shown.is_in(each.text)]
                own = [each for each in now[len(before) :] if each not in found][:1]
                found.update(own)
                if self._settle(key) and not own:
                    ended = self._chat.agent if self._chat.connector.agent else "The daemon"
                    self._chat.give_back(waiting.draft, f"{ended} has ended before it began this.")

    @property
    def queued(self) -> dict[str, Draft]:
        """What waits for its turn, as far as is known, by the ids of the prompts."""
        return {each.prompt: each.draft for each in self._waiting.values() if each.prompt and self._is_to_begin(each)}

    def unbegun(self, prompt: str, why: str = REMOVED) -> None:
        """A prompt never gets its turn: it goes back, unless the conversation has told so before."""
        for key, waiting in list(self._waiting.items()):
            if waiting.prompt == prompt and self._settle(key):
                self._chat.give_back(waiting.draft, why)

    def inherit(self, queued: Mapping[str, Draft], held: Mapping[str, Draft]) -> None:
        """Look after what waits for its turn, or for a sign-in, since before a reload or the end of a tab."""
        self.sent |= {**queued, **held}
        rebuilds = self._chat.connection.conversation.rebuilds
        for key, draft in queued.items():
            self._waiting[key] = _Waiting(draft, is_going=True, prompt=key, rebuilds=rebuilds)

    def lost(self, agent: str) -> None:
        """An agent has ended: give back what waited for its turn there."""
        if lost := self.queued:
            self._chat.connection.conversation.forget_queue()
        for identifier in lost:
            self.unbegun(identifier, f"{agent} has ended before it began this.")

    def _is_to_begin(self, waiting: _Waiting) -> bool:
        """Whether nobody has begun it yet, as far as the conversation knows: the screen may know less."""
        conversation = self._chat.connection.conversation
        return conversation.is_queued(waiting.prompt) or not conversation.has(waiting.prompt)

    def left(self, *, with_queue: bool) -> list[Returned]:
        """What was not sent yet, the oldest first, or waits for its turn."""
        waiting = self._waiting.values()
        left = [each for each in waiting if not each.prompt or (with_queue and self._is_to_begin(each))]
        return [Returned(each.draft, each.is_going and not each.prompt) for each in left]

    def take(self, *, with_queue: bool) -> list[Returned]:
        """The same, which belongs to the caller from now on."""
        left = self.left(with_queue=with_queue)
        for waiting in self._waiting.values():
            if waiting.task:
                waiting.task.cancel()
        self._waiting = {}
        self._chat.show_soon()
        return left

    def take_one(self, key: str) -> Draft | None:
        """Take one of the unsent drafts; None if it was sent or is being sent."""
        waiting = self._waiting.get(key)
        if waiting is None or waiting.is_going:
            return None
        self._settle(key)
        if waiting.task:
            waiting.task.cancel()
        return waiting.draft

    async def _deliver(self, key: str, waiting: _Waiting, *, mid_turn: bool) -> None:
        why = ""
        try:
            async with self._sending:
                await self._send(waiting, mid_turn=mid_turn)
        except ChatError as error:
            why = str(error)
        finally:
            if not waiting.prompt and self._settle(key):
                self._chat.give_back(waiting.draft, why or (ON_ITS_WAY if waiting.is_going else UNSENT))

    def _look_at(self, key: str) -> None:
        if waiting := self._waiting.get(key):
            waiting.is_slow = True
            self._chat.show_soon()

    def _settle(self, key: str) -> bool:
        """Let go of a draft. Returns whether it was still ours."""
        waiting = self._waiting.pop(key, None)
        self._chat.show_soon()
        return waiting is not None

    async def _send(self, waiting: _Waiting, *, mid_turn: bool) -> None:
        client, session, folder = await self._chat.ready()
        content = await blocks(waiting.draft, client, folder)
        is_prompt = not mid_turn and not waiting.draft.text.startswith("/")
        if undone := await self._undone() if is_prompt else []:
            content.append(prompt.text_block(undone_text(undone)))
        # That takes its time: the agent may have ended meanwhile, or another one is there.
        client, session, _ = await self._chat.ready()
        known = {each.id for each in self._chat.connection.conversation.prompts} | set(self.sent)
        waiting.is_going = True
        self.sent_at = time.time_ns()
        self._chat.show_soon()
        try:
            identifier = await _inject(client, session, content) if mid_turn else None
            if identifier is None:
                identifier = await client.prompt(session, content)
        except ChatError as error:
            if not error.may_have_arrived:
                raise
            identifier = await self._arrived(waiting.draft, content, known, session.client_id, error)
        waiting.prompt, waiting.rebuilds = identifier, self._chat.connection.conversation.rebuilds
        self._chat.show_soon()
        self.sent[identifier] = waiting.draft
        for old in list(self.sent)[:-MAX_REMEMBERED]:
            del self.sent[old]
        if undone:
            # The next prompt waits for it, but no longer than it waits for what was undone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(UNDONE_LIMIT):
                    await self._chat.place.turns.notes_sent(self._chat.window, undone)

    async def _undone(self) -> list[str]:
        """What the person has undone, which goes with a prompt that is sent now, if they want that.

        A disk that does not answer must not hold the prompt up.
        """
        place = self._chat.place
        if not place.tells_undone:
            return []
        try:
            async with asyncio.timeout(UNDONE_LIMIT):
                return await place.turns.undone_since(place.id)
        except TimeoutError:
            return []

    async def _arrived(
        self, draft: Draft, content: Iterable[Block], known: Container[str], client: str | None, lost: ChatError
    ) -> str:
        """The id of a prompt whose answer was lost, once it is found among those that run, wait or have run.

        `client` has sent it.

        Raises:
            ChatError: it isn't found, or there is no connection to ask.
        """
        clock = asyncio.get_running_loop().time
        own = _Shown(draft)
        # The queue shows the first text of a prompt.
        queued = str(next((block["text"] for block in content if block["type"] == "text"), ""))
        try:
            backend, session, _ = await self._chat.ready()
            end = clock() + ARRIVAL_LIMIT
            while True:
                waiting = await backend.queue(session)
                pending = [each for each, _ in waiting if each.text.startswith(queued)]
                shown = [each for each in self._chat.connection.conversation.prompts if own.is_in(each.text)]
                for each in (*shown, *pending):
                    # A history from disk doesn't say who has sent a prompt.
                    is_ours = not client or each.client in {None, client}
                    if is_ours and each.id not in known:
                        return each.id
                if clock() > end:
                    raise lost
                await asyncio.sleep(ARRIVAL_STEP)
        except ChatError as error:
            if error is lost:
                raise
            raise UncertainError from None


class _Shown:
    """How a conversation shows a draft: a file that it mentions may have another name there."""

    def __init__(self, draft: Draft) -> None:
        text, at = draft.text.strip(), 0
        self._parts: list[str] = []
        for mention in mentions(text):
            if mention.start >= at:
                self._parts.append(text[at : mention.start + 1])
                at = mention.paths[0][0]
        self._parts.append(text[at:])

    def is_in(self, text: str) -> bool:
        """Whether a prompt with this text may be the draft's."""
        text = text.strip()
        first, *rest = self._parts
        if not first or not text.startswith(first):
            return not first and not text
        end = len(first)
        for part in rest:
            found = text.find(part, end + 1)
            if found < 0:
                return False
            end = found + len(part)
        # The names of what was attached may follow.
        follows = text[end : end + 1]
        return not self._parts[-1] or not follows or follows.isspace() or follows == "@"


async def _inject(client: Agent, session: AgentSession, content: list[Block]) -> str | None:
    """The id of a message once the running turn has taken it. A turn takes only text, and no long one."""
    message = content[0].get("text") if len(content) == 1 else None
    if not isinstance(message, str) or len(message) > MAX_INJECTED:
        return None
    try:
        return await client.inject(session, message)
    except MissingFeatureError:
        return None


def _summary(draft: Draft) -> str:
    """A draft as a line of text."""
    attached = (*(excerpt.name for excerpt in draft.excerpts), *map(os.path.basename, draft.pictures))
    return draft.text if draft.text.strip() else ", ".join(attached)
