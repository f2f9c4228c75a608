"""The way from a window's chat to its daemon: reaches it, reads a session, and tries again when that fails."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable

from ..conversation.conversation import Conversation
from ..conversation.snapshot import ConnectionStatus, Locality, Snapshot
from ..daemon.address import Address, resolve, starts_own
from ..daemon.answers import Session
from ..daemon.client import Client, load
from ..daemon.errors import DaemonError, DisabledError, NotConnectedError
from ..daemon.locality import where
from ..daemon.process import launch
from ..daemon.process.private import CONNECTING, PrivateDaemon
from ..settings import DaemonSettings
from .reader import Backoff, Chat

logger = logging.getLogger(__name__)

LEAVE_LIMIT = 0.5
"""Seconds to take leave of a session."""


class BrokenError(DaemonError):
    """A mistake of this package's, or an answer that nobody has thought of."""

    remedy = "Reconnect to go on; Sublime Text's console says more."


class Connection:
    """Reads one session at a time with `run`, as a task. `say` tells what has become of a private daemon."""

    def __init__(self, settings: Callable[[], DaemonSettings], say: Callable[[str], object]) -> None:
        self.private = PrivateDaemon(say)
        self.folder = ""
        """The chat's, as the editor calls it."""
        self.session = ""
        """The id of the session that is shown, once there is something in it to be resumed."""
        self.locality = Locality()
        self.own_clients: set[str] = set()
        """Who we were to the daemon so far: it gives us another name each time."""
        self.stays = False
        """Whether the session is somebody else's from now on, so that nobody takes leave of it."""
        self._settings = settings
        self._client: Client | None = None
        self._chat: Chat | None = None
        self._broken = ""
        self._again = asyncio.Event()

    @property
    def connected(self) -> tuple[Client, Session]:
        """What asks the daemon, and the session that is shown.

        Raises:
            NotConnectedError: there is none at the moment.
        """
        if self._client is None or self._chat is None:
            raise NotConnectedError
        return self._client, self._chat.session

    def begin(self, session: str) -> None:
        """The next conversation is that of a session, or a new one."""
        self.session = session
        self.locality = Locality(folder=self.folder)
        self.private.may_restart = True
        self._chat = None
        self._broken = ""

    def again(self) -> None:
        """Reach the daemon anew, now: the settings, the private one, the connection."""
        self._again.set()

    def break_off(self, why: str) -> None:
        """Read no more until somebody wants to try again. `why` is a sentence."""
        self._broken = why
        self._again.set()

    def seen(self, view: Snapshot) -> None:
        """What is shown now."""
        if self._chat:
            self.own_clients.add(self._chat.session.client_id)
            if view.order:
                self.session = self._chat.session.id
        if (
            view.status.connection.state in {"waiting", "lost"}
            and self.locality.is_private
            and self.private.has_ended()
        ):
            self._again.set()

    async def run(self, conversation: Conversation) -> None:
        """Read until cancelled. What goes wrong is said by the conversation's connection, never raised."""
        backoff = Backoff()
        has_broken = False
        while True:
            self._again.clear()
            wait: float | None = None
            try:
                if self._broken:
                    why, self._broken = self._broken, ""
                    raise BrokenError(why)  # noqa: TRY301 - it is said like the others
                await load()
                async with Client(await self._address(conversation)) as client:
                    await self._converse(client, conversation, backoff)
                continue
            except DaemonError as error:
                wait = backoff.after(error)
                conversation.connected(ConnectionStatus("lost" if wait is None else "waiting", str(error), wait))
            except Exception as error:
                logger.exception("The chat could not be read")
                # What is shown may be half of what was read: it is read anew.
                if self._chat:
                    self.session, self._chat = self._chat.session.id, None
                wait = None if has_broken else backoff.next()
                has_broken = True
                broken = BrokenError(f"The chat could not be read ({type(error).__name__}).")
                conversation.connected(ConnectionStatus("lost" if wait is None else "waiting", str(broken), wait))
            if await self._is_wanted_within(wait):
                backoff.reset()
                has_broken = False

    async def _is_wanted_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._again.wait()
        except TimeoutError:
            return False

    async def _address(self, conversation: Conversation) -> Address:
        """The daemon to use; a private one is started if none runs, and ended if it isn't wanted."""
        settings = self._settings()

        def connecting(message: str) -> None:
            conversation.connected(ConnectionStatus("connecting", message))

        environment = os.environ
        if settings.enabled and starts_own(managed=settings.managed, url=settings.url, environment=environment):
            return await self.private.address(self.folder, settings.command, connecting)
        await self.private.stop(launch.STOP_LIMIT)
        if not settings.enabled:
            raise DisabledError
        connecting(CONNECTING)
        return resolve(url=settings.url, token=settings.token, environment=environment)

    async def _converse(self, client: Client, conversation: Conversation, backoff: Backoff) -> None:
        """Read a session until somebody wants to try again."""
        folder = await client.connect(self.folder)
        is_private = self.private.is_at(client.address)
        self.locality = where(client.address, client.capabilities, folder, is_private=is_private)
        if self._chat is None or not self.session:
            known = self.session
            session = Session.known(known, folder) if known else await client.create(folder, scope="thread")
            conversation.cursor = None
            self._chat = Chat(client, session, conversation)
        chat = self._chat
        chat.reconnect(client)
        self._client = client
        backoff.reset()
        reading = asyncio.create_task(chat.run())
        again = asyncio.create_task(self._again.wait())
        is_over = True
        try:
            await asyncio.wait((reading, again), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                is_over = False
                await reading
            # One in which nothing was said is not taken up again.
            is_over = not self.session or not self._settings().enabled
        finally:
            if self._client is client:
                self._client = None
            reading.cancel()
            again.cancel()
            await asyncio.wait((reading, again))
            if is_over and not self.stays:
                if self._chat is chat:
                    self._chat = None  # who comes back is somebody else to the daemon
                await _leave(client, chat.session)


async def _leave(client: Client, session: Session) -> None:
    with contextlib.suppress(DaemonError, TimeoutError):
        async with asyncio.timeout(LEAVE_LIMIT):
            await client.detach(session)
