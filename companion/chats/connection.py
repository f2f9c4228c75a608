"""The connection of a chat: it reaches the daemon, reads a session's events, and tries again when that fails.

The reader never waits for the screen: each event goes into the conversation at once, and the screen gets a snapshot
when it is ready. A slow screen needs no more memory than the conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

from ..agents import AgentCommand
from ..backends.backend import Backend
from ..backends.connector import Connector
from ..backends.parts import Authentication
from ..backends.sessions import AgentSession
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError, NotConnectedError
from ..conversation.snapshot import ConnectionStatus, Locality, Snapshot
from ..exclusion import Told
from .chosen import Chosen
from .prompt import ChatFolder
from .reader import AttachedSession, Backoff, SessionEndedError, StaleError, after, read, tell

logger = logging.getLogger(__name__)

BACKOFF = (0.2, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before each try; the last one repeats."""
LEAVE_LIMIT = 0.5
"""Seconds to detach from a session."""


class BrokenError(ChatError):
    """A defect of this package, or an answer that it doesn't expect."""

    remedy = "Reconnect to go on; Sublime Text's console says more."


class CalledOffError(ChatError):
    """The person has cancelled the start of an agent."""

    remedy = "Reconnect to start it."
    final = True

    def __init__(self, agent: str) -> None:
        super().__init__(f"The start of {agent} was cancelled.")


class ChatConnection:
    """Reads one session at a time with `run`, as a task."""

    def __init__(self, connector: Connector, told: Callable[[], Told]) -> None:
        """`told` gives what may be told of the window's files."""
        self._connector = connector
        self._told = told
        self.conversation = Conversation()
        """What is read."""
        self.session = ""
        """The id of the session that is shown, once it has something to resume."""
        self.left: dict[str, Any] | None = None
        """What the next instance needs to go on with the agent, once it is left."""
        self.stays = False
        """Whether the session is left to the next instance, so that nobody detaches from it."""
        self.chosen = Chosen()
        """What the person has chosen for it."""
        self._attachment: AttachedSession | None = None
        self._broken = ""
        self._unsigned: Backend | None = None
        """The client that waits until the person has signed in."""
        self._is_signed_in = False
        self._starting: asyncio.Task[tuple[Backend, str]] | None = None
        """The start of an agent."""
        self._is_called_off = False
        self._again = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def connected(self) -> tuple[Backend, AgentSession]:
        """The client to ask, and the session that is shown.

        Raises:
            NotConnectedError: there is none at the moment.
        """
        if self._attachment is None or self._attachment.client is None:
            raise NotConnectedError
        return self._attachment.client, self._attachment.session

    def begin(self, session: str, chosen: Chosen) -> None:
        """Make the next conversation that of a session, or a new one, with what the person has chosen for it."""
        if session != self.session or not self._connector.can_take_over:
            self._connector.end_inherited()
        self.session = session
        self.chosen = chosen
        self._connector.begin()
        self._attachment = None
        self._broken = ""

    async def reached(self, limit: float) -> tuple[Backend, AgentSession, ChatFolder]:
        """The same once the chat is connected, with its folder.

        Raises:
            NotConnectedError: it isn't within `limit` seconds.
            ChatError: what keeps it from that.
        """
        try:
            async with asyncio.timeout(limit):
                while (connection := self.conversation.status.connection).state != "live":
                    if connection.state in {"lost", "ended"}:
                        raise ChatError(connection.message)
                    await self._news.wait()
        except TimeoutError:
            raise NotConnectedError from None
        return *self.connected, self.folder

    @property
    def locality(self) -> Locality:
        """Where its files are, as far as that is known."""
        return self._connector.locality

    @property
    def folder(self) -> ChatFolder:
        """The chat's folder, here and there."""
        where = self.locality
        return ChatFolder(self._connector.folder, where.folder, where.is_local, self._told())

    def path_there(self, path: str) -> str:
        """A path of the agent's as an absolute one."""
        return self.folder.path_there(path)

    def confirm_here(self) -> None:
        """The person says that the daemon is on this computer."""
        if self.has_client and self._connector.confirm_here():
            self._again.set()

    @property
    def has_client(self) -> bool:
        """Whether a daemon was reached. Its events may not be read at the moment."""
        return self._attachment is not None and self._attachment.client is not None

    @property
    def authentication(self) -> Authentication:
        """What signs the person in to the agent, which may wait for that.

        Raises:
            NotConnectedError: there is none.
        """
        client = self._unsigned or (self._attachment.client if self._attachment else None)
        if client is None or client.authentication is None:
            raise NotConnectedError
        return client.authentication

    def call_off(self) -> bool:
        """End the start of an agent. Returns False if none is being started."""
        if self._starting is None or self._starting.done():
            return False
        if not self._is_called_off:  # another cancel would cut short how the program is ended
            self._is_called_off = True
            self._starting.cancel()
        return True

    def signed_in(self) -> None:
        """The person has signed in to the agent that has waited for that: go on with it."""
        if self._unsigned:
            self._is_signed_in = True
            self._again.set()

    def again(self) -> None:
        """Start over now: settings, private daemon, connection."""
        self._again.set()

    def break_off(self, why: str) -> None:
        """Stop reading until somebody wants to try again. `why` is a sentence."""
        self._broken = why
        self._again.set()

    def seen(self, snapshot: Snapshot) -> None:
        """Take note of what is shown now."""
        self._news.set()
        self._news = asyncio.Event()
        if self._attachment:
            self._connector.daemons.own_clients.add(self._attachment.session.client_id)
            if snapshot.order:
                self.session = self._attachment.session.id
        is_away = snapshot.status.connection.state in {"waiting", "lost"}
        if is_away and self.has_client and self._connector.has_moved:
            self._again.set()

    async def run(self) -> None:
        """Read the current conversation until cancelled. Failures are shown in its status; none is raised."""
        conversation = self.conversation
        backoff = Backoff(BACKOFF)
        attachment: AttachedSession | None = None
        has_broken = False
        try:
            while True:
                self._again.clear()
                wait: float | None
                try:
                    client, attachment = await self._join(attachment, conversation, backoff)
                    await self._read_until_again(client, attachment, conversation, backoff)
                    wait = 0
                except StaleError:
                    wait = backoff.next()
                except SessionEndedError as end:
                    conversation.interrupt()
                    conversation.set_connection(ConnectionStatus("ended", str(end)))
                    wait = None
                except ChatError as error:
                    self._keep_unsigned(error, attachment)
                    wait = after(error, attachment, conversation, backoff)
                except Exception as error:
                    logger.exception("The chat could not be read")
                    wait = None if has_broken else backoff.next()
                    has_broken = True
                    broken = BrokenError(f"The chat could not be read ({type(error).__name__}).")
                    tell(broken, wait, conversation)
                    attachment = await self._forget(attachment)
                if await self._is_wanted_within(wait):
                    if not self._is_signed_in:
                        await self._close_unsigned()
                    self._is_signed_in = False
                    attachment = await self._drop(attachment)
                    backoff.reset()
                    has_broken = False
                elif wait and attachment and attachment.client:
                    conversation.set_connection(ConnectionStatus("connecting"))
        finally:
            await self._finish(attachment, conversation)

    async def _is_wanted_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._again.wait()
        except TimeoutError:
            return self._again.is_set()  # at the last moment

    # Reaching the daemon, and leaving it

    async def _join(
        self, attachment: AttachedSession | None, conversation: Conversation, backoff: Backoff
    ) -> tuple[Backend, AttachedSession]:
        """The session to read, and its client. Whichever is missing is created."""
        if self._broken:
            why, self._broken = self._broken, ""
            raise BrokenError(why)
        if attachment and attachment.client:
            await self._look_again(attachment)
            return attachment.client, attachment
        agent, left = self._connector.agent, self._connector.inherited
        if left and agent:
            attachment = await self._continued(agent, left, conversation) or attachment
            if attachment and attachment.client:
                return attachment.client, attachment
        client, folder = await self._client(conversation)
        try:
            if attachment is None or not self.session:
                known = self.session
                session = AgentSession.known(known, folder) if known else await client.create(folder)
                # A session that was there before may have begun long before its oldest event.
                attachment = AttachedSession(session, session.attached or not session.client_id)
                conversation.cursor = None
        except BaseException as error:
            if isinstance(error, ChatError) and error.wants_sign_in and client.authentication:
                self._unsigned = client
            else:
                await client.close()
            raise
        attachment.client = client
        self._attachment = attachment
        backoff.reset()
        return client, attachment

    async def _client(self, conversation: Conversation) -> tuple[Backend, str]:
        """The client of the daemon or of the agent, and the folder as it calls it."""
        agent = self._connector.agent
        if agent is None:
            return await self._connector.reach_daemon(conversation)
        if self._unsigned:
            client, self._unsigned = self._unsigned, None
            return client, self._connector.locality.folder
        starting = self._starting = asyncio.create_task(self._connector.start_agent(agent, conversation))
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            self.call_off()
            await asyncio.wait([starting])
            if not starting.cancelled() and not starting.exception():
                await starting.result()[0].close()
            raise
        finally:
            self._starting = None
            self._is_called_off = False
        if starting.cancelled():
            raise CalledOffError(agent.name)
        return starting.result()

    async def _continued(
        self, agent: AgentCommand, left: Mapping[str, Any], conversation: Conversation
    ) -> AttachedSession | None:
        """The agent that another instance has left; None if that can't be taken up, and is ended."""
        if (taken := await self._connector.take_over(agent, left)) is None:
            return None
        client, session = taken
        conversation.cursor = None
        self._attachment = AttachedSession(session, is_stale=False, client=client)
        return self._attachment

    async def _look_again(self, attachment: AttachedSession) -> None:
        """Ask what is at the address, if another daemon may be there by now."""
        if attachment.may_be_another:
            await self._connector.look_again()
            attachment.may_be_another = False

    async def _drop(self, attachment: AttachedSession | None, *, is_over: bool = False) -> AttachedSession | None:
        """Let go of the daemon. Returns the session if it is to be taken up again; if not, it is left."""
        if attachment is None or attachment.client is None:
            return attachment
        client, attachment.client = attachment.client, None
        # A session in which nothing was said is not taken up again.
        is_over = is_over or not self.session or self._connector.is_off
        try:
            if not is_over or self.stays:
                return attachment
            if self._attachment is attachment:
                self._attachment = None
            with contextlib.suppress(ChatError, TimeoutError):
                async with asyncio.timeout(LEAVE_LIMIT):
                    await client.detach(attachment.session)
            return None
        finally:
            if self.stays and client.handover:
                self.left = await client.handover.leave()
            else:
                await client.close()

    def _keep_unsigned(self, error: ChatError, attachment: AttachedSession | None) -> None:
        if error.wants_sign_in and attachment and attachment.client and attachment.client.authentication:
            self._unsigned, attachment.client = attachment.client, None

    async def _close_unsigned(self) -> None:
        client, self._unsigned = self._unsigned, None
        if client:
            await client.close()

    async def _finish(self, attachment: AttachedSession | None, conversation: Conversation) -> None:
        """Nobody reads any more."""
        client = attachment.client if attachment else None
        await self._close_unsigned()
        await self._drop(attachment, is_over=True)
        if self.left and client and client.handover:
            for envelope in client.handover.unread:
                conversation.apply(envelope)

    async def _forget(self, attachment: AttachedSession | None) -> None:
        """Let go of everything but the session's id: the conversation may hold half of an event."""
        if attachment:
            self.session, self._attachment = attachment.session.id, None
            if attachment.client:
                await attachment.client.close()

    # Reading

    async def _read_until_again(
        self, client: Backend, attachment: AttachedSession, conversation: Conversation, backoff: Backoff
    ) -> None:
        """Read a session until somebody wants to start over. Everything else that ends it is raised."""
        reading = asyncio.create_task(read(client, attachment, conversation, backoff, self.chosen))
        again = asyncio.create_task(self._again.wait())
        try:
            await asyncio.wait((reading, again), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                await reading
        except (StaleError, SessionEndedError):
            attachment.is_stale = True
            raise
        finally:
            reading.cancel()
            again.cancel()
            await asyncio.wait((reading, again))
