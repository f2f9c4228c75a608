"""Shows the conversation of one chat on the screen, as often as the screen is ready for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

from ..backends.backend import needed
from ..backends.connector import Connector
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError
from ..conversation.snapshot import Snapshot
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
    ) -> None:
        self._id = chat_id
        self._window = window
        self._editor = editor
        self._connector = connector
        self._connection = connection
        self._outbox = outbox
        self._approvals = approvals
        self.written: tuple[str, int] | None = None
        """A turn that has ended, and how many files were found to be changed in it. The tools tell less than that."""

    async def run(self, conversation: Conversation, looked: Callable[[Snapshot], object]) -> bool:
        """Show a conversation until cancelled. Returns False when the editor doesn't show the chat any more.

        `looked` is called with each snapshot before it is shown.
        """
        conversation.hide_earlier()
        transcript = Transcript()
        transcript.own_clients = self._connector.daemons.own_clients
        async for snapshot in snapshots(conversation):
            try:
                looked(snapshot)
            except Exception:
                logger.exception("What a chat asks could not be looked after")
            transcript.shows_diffs = self._approvals.shows_diffs
            if not await self._shown(transcript, snapshot, conversation):
                return False
        return True

    async def fetch_earlier(self, conversation: Conversation) -> None:
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
            snapshot = conversation.look_at_all()

    async def _render(self, transcript: Transcript, snapshot: Snapshot) -> Render:
        """The text of a snapshot; that of many turns is made on another thread, so that the loop isn't held up."""
        if self.written and (turns := snapshot.order) and turns[-1] == self.written[0] and not snapshot.status.running:
            snapshot = replace(snapshot, status=replace(snapshot.status, changed=self.written[1]))
        about = snapshot, self._connector.locality, self._connection.session, self._outbox.unsent
        if len(snapshot.changed) > MANY:
            render = await asyncio.to_thread(transcript.update, *about)
        else:
            render = transcript.update(*about)
        return replace(render, chosen=self._connection.chosen.as_plain(self._connection.session))


async def snapshots(conversation: Conversation, per_second: float = FRAMES_PER_SECOND) -> AsyncGenerator[Snapshot]:
    """What to show: at once, and then after changes, at most `per_second` times.

    The next snapshot is taken when it is asked for, so a slow screen gets fewer. A conversation has one such reader.
    """
    yield conversation.look_at_all()
    while True:
        await conversation.changed.wait()
        yield conversation.look()
        await asyncio.sleep(1 / per_second)
