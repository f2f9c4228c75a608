"""What a chat is connected to: its session, its agent, and where that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..acp.client import AgentClient
from ..backends.sessions import Session
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError, NotConnectedError
from ..conversation.snapshot import Locality, Status, Turn
from ..daemon.process import launch
from ..told import Told
from .backend import Backend
from .connection import Connection
from .prompt import ChatFolder


class Reach:
    """A chat as far as its connection and its conversation tell of it."""

    def __init__(self, connection: Connection, told: Callable[[], Told]) -> None:
        """`told` gives what may be told of the window's files."""
        self._connection = connection
        self._told = told
        self._conversation = Conversation()
        self._news = asyncio.Event()

    def _looked(self) -> None:
        """There is something new in the conversation."""
        self._news.set()
        self._news = asyncio.Event()

    @property
    def session(self) -> str:
        """The id of the session that is shown, once there is something in it to be resumed."""
        return self._connection.session

    @property
    def folder(self) -> str:
        """The chat's folder, as the editor calls it."""
        return self._connection.folder

    @property
    def daemon(self) -> launch.Daemon | None:
        """The private one of its folder, if that has one."""
        return self._connection.private.daemon

    @property
    def status(self) -> Status:
        """Everything but the turns."""
        return self._conversation.status

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns."""
        return self._conversation.turns

    @property
    def is_local(self) -> bool:
        """Whether the daemon's files are this machine's, as far as can be known."""
        return self._connection.locality.is_local

    @property
    def locality(self) -> Locality:
        """Where the daemon is."""
        return self._connection.locality

    @property
    def connected(self) -> tuple[Backend, Session]:
        """What asks the daemon, and the session that is shown.

        Raises:
            NotConnectedError: there is none at the moment.
        """
        return self._connection.connected

    @property
    def agent_client(self) -> AgentClient:
        """See Connection."""
        return self._connection.agent_client

    def signed_in(self) -> None:
        """See Connection."""
        self._connection.signed_in()

    async def reached(self, limit: float) -> tuple[Backend, Session, ChatFolder]:
        """The same once the chat is connected, with its folder.

        Raises:
            NotConnectedError: it isn't within `limit` seconds.
            ChatError: what keeps it from that.
        """
        try:
            async with asyncio.timeout(limit):
                while (connection := self._conversation.status.connection).state != "live":
                    if connection.state in {"lost", "ended"}:
                        raise ChatError(connection.message)
                    await self._news.wait()
        except TimeoutError:
            raise NotConnectedError from None
        return *self.connected, self.chat_folder

    @property
    def chat_folder(self) -> ChatFolder:
        """The chat's folder, here and there."""
        where = self._connection.locality
        return ChatFolder(self._connection.folder, where.folder, where.is_local, self._told())

    @property
    def agent(self) -> str:
        """What the agent calls itself."""
        return self._connection.locality.agent

    @property
    def can_be_edited(self) -> bool:
        """Whether an edited proposal is what is written."""
        return self._connection.has_client and self.connected[0].can("edits")

    def path(self, path: str) -> str:
        """A path of the daemon's as an absolute one."""
        return self.chat_folder.path_there(path)
