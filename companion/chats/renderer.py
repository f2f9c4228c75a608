"""Shows the conversation of one chat on the screen, as often as the screen is ready for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

from ..backends.backend import needed
from ..backends.connector import Connector
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError
from ..conversation.snapshot import Snapshot, Turn
from ..ids import ChatId, WindowId
from .connection import ChatConnection
from .outbox import Outbox
from .permissions import Approvals
from .port import ChatScreen
from .transcript.render import Render
from .transcript.transcript import Transcript

logger = logging.getLogger(__name__)

MANY = 50
"""Turns whose text takes long to make: about 0.2 ms each."""
SLICE = 200
"""Items, such as tool calls and messages, that are new in one frame."""
FRAMES_PER_SECOND = 30
"""Snapshots that a screen gets at most."""


class Renderer:
    """Brings the view of a chat up to date."""

    def __init__(
        self,
        chat_id: ChatId,
        window: WindowId,
        editor: ChatScreen,
        connector: Connector,
        connection: ChatConnection,
        outbox: Outbox,
        approvals: Approvals,
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Task[object]],
        looked: Callable[[Snapshot], object],
        gone: Callable[[], object],
    ) -> None:
        """`looked` is called with each snapshot before it is shown, `gone` once the editor has no view for the chat."""
        self._id = chat_id
        self._window = window
        self._editor = editor
        self._connector = connector
        self._connection = connection
        self._outbox = outbox
        self._approvals = approvals
        self._background = background
        self._looked = looked
        self._gone = gone
        self._showing: asyncio.Task[object] | None = None
        self._fetching: asyncio.Task[object] | None = None
        self._is_shown_anew = False
        """Whether all was shown at once, because a part of it could not be."""
        self._written: tuple[str, int] = "", 0
        """A turn that has ended, and how many files were found to be changed in it. The tools tell less than that."""

    def begin(self) -> None:
        """Show the whole conversation anew, and what comes."""
        self.stop()
        self._showing = self._background(self._run(self._connection.conversation))

    def stop(self) -> None:
        """Show nothing more."""
        if self._showing:
            self._showing.cancel()
            self._showing = None

    def show_earlier(self) -> None:
        """Show a page of the turns before the first one that is shown."""
        conversation = self._connection.conversation
        if not (self._fetching and not self._fetching.done()) and not conversation.show_earlier():
            self._fetching = self._background(self._fetch_earlier(conversation))

    def turn_written(self, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn that has ended."""
        self._written = turn, files
        self._connection.conversation.changed.set()

    async def _run(self, conversation: Conversation) -> None:
        conversation.hide_earlier()
        transcript = Transcript()
        transcript.own_clients = self._connector.daemons.own_clients
        known: dict[str, int] = {}
        async for snapshot in snapshots(conversation):
            try:
                self._looked(snapshot)
            except Exception:
                logger.exception("What a chat asks could not be looked after")
            transcript.shows_diffs = self._approvals.shows_diffs
            for part in slices(snapshot, known):
                self._is_shown_anew = False
                if not await self._shown(transcript, part, conversation):
                    asyncio.get_running_loop().call_soon(self._gone)
                    return
                if self._is_shown_anew:
                    break

    async def _fetch_earlier(self, conversation: Conversation) -> None:
        """Put the page before the first turn that is known into a conversation; say what goes wrong."""
        try:
            client, session = self._connection.connected
            history = needed(client.history, client, "show earlier turns page by page")
            page, has_more = await history.earlier(session, conversation.oldest)
        except ChatError as error:
            self._editor.mention(str(error), self._window)
            return
        conversation.prepend(page, has_more=has_more)

    async def _shown(self, transcript: Transcript, snapshot: Snapshot, conversation: Conversation) -> bool:
        """Bring the editor up to date. Returns whether it shows the chat at all."""
        has_failed = False
        while True:
            try:
                self._outbox.shown()
                render = await self._render(transcript, snapshot)
                return await self._editor.show_chat(self._id, render)
            except TimeoutError:
                # It may have been shown or not.
                pass
            except Exception as error:
                logger.exception("The chat could not be shown")
                if has_failed:
                    why = f"The chat could not be shown ({type(error).__name__})."
                    self._editor.say(why, self._window)
                    self._connection.break_off(why)
                    transcript.reset()
                    return True
                has_failed = True
            transcript.reset()
            snapshot, self._is_shown_anew = conversation.look_at_all(), True

    async def _render(self, transcript: Transcript, snapshot: Snapshot) -> Render:
        """The text of a snapshot; that of many turns is made on another thread, so that the loop isn't held up."""
        turn, files = self._written
        if turn in snapshot.order[-1:] and not snapshot.status.running:
            snapshot = replace(snapshot, status=replace(snapshot.status, changed=files))
        about = snapshot, self._connector.locality, self._connection.session, self._outbox.unsent
        if len(snapshot.changed) > MANY:
            render = await asyncio.to_thread(transcript.update, *about)
        else:
            render = transcript.update(*about)
        return replace(render, chosen=self._connection.chosen.as_plain(self._connection.session))


def slices(snapshot: Snapshot, known: dict[str, int]) -> Iterator[Snapshot]:
    """A snapshot as several, each with at most `SLICE` items more than the one before.

    An agent may tell of thousands of tool calls between two frames. `known` has how many items of each turn were
    shown, and is brought up to date.
    """
    for key in known.keys() - set(snapshot.order):
        del known[key]
    turns, left = list[Turn](), SLICE
    for turn in snapshot.changed:
        shown = known.get(turn.key, 0)
        while len(turn.items) - shown > left:
            shown += left
            yield replace(snapshot, changed=(*turns, replace(turn, items=turn.items[:shown])))
            turns, left = [], SLICE
        left -= max(0, len(turn.items) - shown)
        known[turn.key] = len(turn.items)
        turns.append(turn)
    yield replace(snapshot, changed=tuple(turns))


async def snapshots(conversation: Conversation, per_second: float = FRAMES_PER_SECOND) -> AsyncGenerator[Snapshot]:
    """What to show: at once, and then after changes, at most `per_second` times.

    The next snapshot is taken when it is asked for, so a slow screen gets fewer. A conversation has one such reader.
    """
    yield conversation.look_at_all()
    while True:
        await conversation.changed.wait()
        yield conversation.look()
        await asyncio.sleep(1 / per_second)
