"""The chat of one window: it reaches a daemon, reads a session and shows it.

Two tasks work while it is open: one reaches the daemon and reads, one shows. What the person does comes from `chats`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from .approvals import Approvals
from .daemon import launch
from .daemon.address import URL_VARIABLE, Address, resolve
from .daemon.answers import Session
from .daemon.chat import Chat, views
from .daemon.client import Client
from .daemon.conversation import Conversation
from .daemon.errors import DaemonError, DisabledError, NotConnectedError
from .daemon.frame import Locality
from .daemon.locality import where
from .daemon.private import CONNECTING, PrivateDaemon, handed_over
from .daemon.prompt import Draft
from .daemon.transcript import Transcript
from .daemon.view import Connection, Status, View
from .drafts import Place
from .editor import DaemonSettings, Editor
from .outbox import Outbox, from_plain, plain
from .review import Reviews

logger = logging.getLogger(__name__)

SEND_LIMIT = 60.0
"""Seconds that a prompt waits for the connection."""
LEAVE_LIMIT = 0.5
"""Seconds to take leave of a session."""
QUICK_STOP_LIMIT = 1.0
"""Seconds that a private daemon has to end by itself while the editor waits."""


class WindowChat:
    """A window's chat and its private daemon, which goes on when the chat's view is closed."""

    def __init__(self, window: int, editor: Editor, reviews: Reviews, settings: Callable[[], DaemonSettings]) -> None:
        self._window = window
        self._editor = editor
        self._settings = settings
        self._folder = ""
        self._session = ""
        self._private = PrivateDaemon(lambda message: editor.say(message, window))
        self._is_open = False
        self._stays = False
        self._client: Client | None = None
        self._chat: Chat | None = None
        self._conversation = Conversation()
        self._locality = Locality()
        self._tasks: set[asyncio.Task[object]] = set()
        self._reading: asyncio.Task[object] | None = None
        self._showing: asyncio.Task[object] | None = None
        self._sends: set[asyncio.Task[object]] = set()
        self._again = asyncio.Event()
        self._news = asyncio.Event()
        self._answered: set[str] = set()
        self._own_clients: set[str] = set()
        """Who we were to the daemon so far: it gives us another name each time."""
        self._outbox = Outbox(lambda: self.reached(SEND_LIMIT), self._give_back)
        self._inherited: list[Draft] = []
        self._approvals = Approvals(self, editor, reviews, self.background)

    @property
    def window(self) -> int:
        """The window's id."""
        return self._window

    @property
    def session(self) -> str:
        """The id of the session that is shown, once there is something in it to be resumed."""
        return self._session

    @property
    def daemon(self) -> launch.Daemon | None:
        """The private one, if it has one."""
        return self._private.daemon

    @property
    def status(self) -> Status:
        """Everything but the turns."""
        return self._conversation.status

    @property
    def outbox(self) -> Outbox:
        """What the person sends."""
        return self._outbox

    @property
    def is_local(self) -> bool:
        """Whether the daemon's files are this machine's, as far as can be known."""
        return self._locality.is_local

    @property
    def locality(self) -> Locality:
        """Where the daemon is."""
        return self._locality

    @property
    def connected(self) -> tuple[Client, Session]:
        """What asks the daemon, and the session that is shown.

        Raises:
            NotConnectedError: there is none at the moment.
        """
        if self._client is None or self._chat is None:
            raise NotConnectedError
        return self._client, self._chat.session

    async def reached(self, limit: float) -> tuple[Client, Session, Place]:
        """The same once the chat is connected, with its folder.

        Raises:
            NotConnectedError: it isn't within `limit` seconds.
            DaemonError: what keeps it from that.
        """
        try:
            async with asyncio.timeout(limit):
                while (connection := self._conversation.status.connection).state != "live":
                    if connection.state in {"lost", "ended"}:
                        raise DaemonError(connection.message)
                    await self._news.wait()
        except TimeoutError:
            raise NotConnectedError from None
        return *self.connected, self.place

    @property
    def place(self) -> Place:
        """The chat's folder, here and there."""
        return Place(self._folder, self._locality.folder, self._locality.is_local)

    def path(self, path: str) -> str:
        """A path of the daemon's as an absolute one."""
        return self.place.path_there(path)

    # Opening and closing

    def open(self, folder: str, session: str) -> None:
        """Show a conversation of a folder: the one that is named, else the one that was shown, else a new one."""
        if self._is_open and folder == self._folder and session in {"", self._session}:
            self._show_anew()
            return
        if not self._folder or folder == self._folder:
            session = session or self._session
        self._folder = folder
        self.begin(session)
        drafts, self._inherited = self._inherited, []
        for draft in drafts:
            self._give_back(draft, "It was not sent before the package was loaded anew.")

    def begin(self, session: str = "") -> None:
        """Show a session; without one, begin a new conversation."""
        for draft in self._end():
            self._give_back(draft, "The conversation has changed before this was sent.")
        self._is_open = True
        self._session = session
        self._chat = None
        self._private.may_restart = True
        self._conversation = Conversation()
        self._locality = Locality(folder=self._folder)
        self._reading = self.background(self._live(self._conversation))
        self._show_anew()

    def resume(self, session: str) -> None:
        """Show another session."""
        if self._is_open and session == self._session:
            self._show_anew()
        else:
            self.begin(session)

    def close(self) -> None:
        """The view is closed. What was not sent is kept."""
        for draft in self._end():
            why = "The chat was closed before this was sent, so it is kept here."
            self._editor.keep_text(self._window, "Chat", draft.text, why)
        self._is_open = False

    def reconnect(self) -> None:
        """Try again all the way: the settings, the private daemon, the connection."""
        self._private.may_restart = True
        if self._conversation.status.connection.state in {"waiting", "lost", "ended"}:
            self._conversation.connected(Connection("connecting"))
            self._again.set()

    def dismiss(self) -> None:
        """Close the diffs without a vote."""
        self._approvals.dismiss()

    async def stop(self, *, hand_over: bool = False, limit: float = launch.STOP_LIMIT) -> dict[str, Any]:
        """End everything; with `hand_over` all but the daemon and the session.

        Returns what the next instance needs to go on with them, as plain data.
        """
        self._stays = hand_over
        unsent = [*self._inherited, *self._end()]
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not hand_over:
            await self._private.stop(limit)
        return {
            "folder": self._folder,
            "session": self._session,
            "clients": sorted(self._own_clients),
            "daemon": self._private.hand_over(),
            "unsent": [plain(draft) for draft in unsent],
        }

    def inherit(self, left: Mapping[str, Any]) -> None:
        """Take what the instance before this one has left. The chat is shown once it is opened."""
        self._folder, self._session = left["folder"], left["session"]
        self._own_clients.update(left["clients"])
        self._private.daemon = handed_over(left)
        self._inherited = [from_plain(draft) for draft in left["unsent"]]

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Do something as long as the window is there."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def send(self, draft: Draft, *, mid_turn: bool) -> None:
        """Send a draft as soon as the chat is connected."""
        self.reconnect()
        task = self.background(self._outbox.send(draft, mid_turn=mid_turn))
        self._sends.add(task)
        task.add_done_callback(self._sends.discard)

    async def answer(self, permission: str, option: str | None, answers: Mapping[str, str] | None = None) -> None:
        """Answer a permission.

        Raises:
            DaemonError: the daemon doesn't take the answer.
        """
        client, session = self.connected
        self._answered.add(permission)
        try:
            await client.vote(session, permission, option, answers)
        except DaemonError:
            self._answered.discard(permission)
            raise

    def has_answered(self, permission: str) -> bool:
        """See Approvals."""
        return permission in self._answered

    def _end(self) -> list[Draft]:
        """Stop reading, showing and sending. Returns what was not sent."""
        self._approvals.dismiss()
        for task in (self._reading, self._showing, *self._sends):
            if task:
                task.cancel()
        self._reading = self._showing = None
        return self._outbox.take()

    def _give_back(self, draft: Draft, why: str) -> None:
        self._editor.return_draft(self._window, draft, why)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("Unexpected: %s", error, exc_info=error)

    # Reaching the daemon and reading

    async def _live(self, conversation: Conversation) -> None:
        while True:
            self._again.clear()
            try:
                async with Client(await self._address(conversation)) as client:
                    await self._converse(client, conversation)
            except DaemonError as error:
                conversation.connected(Connection("lost", str(error)))
                await self._again.wait()

    async def _address(self, conversation: Conversation) -> Address:
        """The daemon to use; a private one is started if none runs."""
        settings = self._settings()

        def connecting(message: str) -> None:
            conversation.connected(Connection("connecting", message))

        environment = os.environ
        is_named = bool(settings.url.strip() or environment.get(URL_VARIABLE, "").strip())
        if settings.enabled and settings.managed and not is_named:
            return await self._private.address(self._folder, settings.command, connecting)
        connecting(CONNECTING)
        address = resolve(enabled=settings.enabled, url=settings.url, token=settings.token, environment=environment)
        if address is None:
            raise DisabledError
        return address

    async def _converse(self, client: Client, conversation: Conversation) -> None:
        """Read a session until somebody wants to try again."""
        folder = await client.connect(self._folder)
        is_private = self._private.is_at(client.address)
        self._locality = where(client.address, client.capabilities, folder, is_private=is_private)
        if self._chat is None or not self._session:
            known = self._session
            session = Session.known(known, folder) if known else await client.create(folder, scope="thread")
            conversation.cursor = None
            self._chat = Chat(client, session, conversation)
        chat = self._chat
        chat.reconnect(client)
        self._client = client
        reading = asyncio.create_task(chat.run())
        again = asyncio.create_task(self._again.wait())
        is_over = True
        try:
            await asyncio.wait((reading, again), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                await reading
            is_over = False
        finally:
            if self._client is client:
                self._client = None
            reading.cancel()
            again.cancel()
            await asyncio.wait((reading, again))
            if is_over and not self._stays:
                await self._leave(client, chat.session)

    async def _leave(self, client: Client, session: Session) -> None:
        with contextlib.suppress(DaemonError, TimeoutError):
            async with asyncio.timeout(LEAVE_LIMIT):
                await client.detach(session)

    # Showing

    def _show_anew(self) -> None:
        if self._showing:
            self._showing.cancel()
        self._showing = self.background(self._show(self._conversation))

    async def _show(self, conversation: Conversation) -> None:
        transcript = Transcript()
        transcript.own_clients = self._own_clients
        async for view in views(conversation):
            self._look_after(view)
            transcript.shows_diffs = self._approvals.shows_diffs
            if not await self._shown(transcript, view, conversation):
                asyncio.get_running_loop().call_soon(self.close)
                return

    async def _shown(self, transcript: Transcript, view: View, conversation: Conversation) -> bool:
        """Bring the editor up to date. Returns whether it shows the chat at all."""
        while True:
            frame = transcript.update(view, self._locality, self._session)
            try:
                return await self._editor.show_chat(self._window, frame)
            except TimeoutError:
                # It may have been shown or not.
                transcript.begin_anew()
                view = conversation.look_anew()

    def _look_after(self, view: View) -> None:
        """What follows from a look besides that it is shown."""
        self._news.set()
        self._news = asyncio.Event()
        if self._chat:
            self._own_clients.add(self._chat.session.client_id)
            if view.order:
                self._session = self._chat.session.id
        state = view.status.connection.state
        if state in {"waiting", "lost"} and self._locality.is_private and self._private.has_ended():
            self._again.set()
        self._approvals.update(view)
