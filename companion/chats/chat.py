"""One chat: reads and shows its conversation, and sends what the person writes.

Two tasks run while it is open: `connection` reads, and `renderer` shows. What the person does comes from `chats`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from ..agents import AgentCommand
from ..backends.backend import Backend
from ..backends.connector import Connector, agents_of
from ..backends.daemons import Daemons
from ..backends.port import EditorServer
from ..backends.sessions import AgentSession
from ..backends.surroundings import Surroundings
from ..clis.environment import LoginEnvironment
from ..conversation.conversation import Conversation
from ..conversation.snapshot import ConnectionStatus, Snapshot, Status, Turn
from ..exclusion import Told
from ..ids import ChatId, WindowId
from ..review.reviews import Reviews
from ..settings import DaemonSettings
from .chosen import Chosen
from .connection import ChatConnection
from .inherited import Inherited, plain
from .outbox import Outbox
from .permissions import Approvals
from .port import ChatScreen
from .prompt import ChatFolder, Draft
from .renderer import Renderer
from .turn_watch import TurnWatch, WrittenTurns
from .undone import UndoneNews
from .visit_watch import VisitWatch

logger = logging.getLogger(__name__)

SEND_LIMIT = 60.0
"""Seconds that a prompt waits for the connection."""
QUICK_STOP_LIMIT = 1.0
"""Seconds that a private daemon has to end by itself while the editor waits."""
MOST_SHOWN = 200
"""Turns that a chat's text has, unless the person scrolls up to further ones."""
LEAST_SHOWN = 180
"""Turns that stay when there are more than that."""


class Chat:
    """A chat with an agent, in a view of its own."""

    def __init__(
        self,
        chat_id: ChatId,
        window: WindowId,
        editor: ChatScreen,
        reviews: Reviews,
        settings: Callable[[], DaemonSettings],
        told: Callable[[], Told],
        environment: LoginEnvironment,
        daemons: Daemons,
        questions_changed: Callable[[], object],
        turns: WrittenTurns,
        server: EditorServer,
        surroundings: Callable[[], Awaitable[Surroundings]],
    ) -> None:
        """`daemons` are those of its window, `server` is that of its window; `turns` hears of its turns.

        `surroundings` is what an agent gets besides the chat's folder.
        """
        self.window = window
        self.connector = Connector(
            settings, daemons, agents_of(editor, window, environment, told, server, surroundings)
        )
        self.connection = ChatConnection(self.connector, told)
        self._id = chat_id
        self._editor = editor
        self._settings = settings
        self._is_open = False
        self._tasks: set[asyncio.Task[object]] = set()
        self._reading: asyncio.Task[object] | None = None
        news = UndoneNews(turns, window, lambda: reviews.settings_of(window).tell_undone != "never")
        self.outbox = self._made_outbox(news)
        self._turn_watch = TurnWatch(chat_id, window, turns)
        self._visit_watch = VisitWatch(chat_id, window, editor, self.connection.path_there)
        self._agent_name = ""
        self._inherited = Inherited()
        self.approvals = Approvals(window, editor, reviews, self.connection, self.background, questions_changed)
        self.renderer = Renderer(
            chat_id,
            window,
            editor,
            self.connector,
            self.connection,
            self.outbox,
            self.approvals,
            self.background,
            self._look_after,
            self.close,
        )

    def _made_outbox(self, news: UndoneNews) -> Outbox:
        return Outbox(
            self._ready,
            lambda: self.connection.conversation,
            self._give_back,
            self.background,
            self._show_soon,
            news,
        )

    @property
    def needs_daemon(self) -> bool:
        """Whether it is open, and talks to the daemon of its folder."""
        return self._is_open and self.connector.agent is None

    @property
    def status(self) -> Status:
        """Everything but the turns."""
        return self.connection.conversation.status

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns."""
        return self.connection.conversation.turns

    @property
    def is_local(self) -> bool:
        """Whether the daemon's files are this machine's, as far as can be known."""
        return self.connection.locality.is_local

    @property
    def agent(self) -> str:
        """What the agent calls itself."""
        return self.connection.locality.agent

    # Opening and closing

    def open(
        self, folder: str, session: str, agent: AgentCommand | None = None, chosen: Mapping[str, Any] | None = None
    ) -> None:
        """Show a conversation of a folder: the one that is named, else the one that was shown, else a new one.

        `agent` is the agent to start, which the person has allowed; None for the daemon. `chosen` is what the editor
        has kept of `connection.chosen`.
        """
        is_same = _name(agent) == self._agent_name
        self.connector.agent, self._agent_name = agent, _name(agent)
        if is_same and (not self.connector.folder or folder == self.connector.folder):
            session = session or self.connection.session
        self.connector.folder = folder
        self.begin(session, Chosen.from_plain(chosen, session))
        for draft in self._inherited.take_unsent():
            self._give_back(draft, "It was not sent before the package was reloaded.")

    def shows(self, folder: str, session: str, agent: str) -> bool:
        """Whether it is open with an agent in a folder, and shows a session; any session if none is named."""
        is_here = folder == self.connector.folder and session in {"", self.connection.session}
        return self._is_open and is_here and agent == self._agent_name

    @property
    def is_at_work(self) -> bool:
        """Whether an agent or a turn of the instance before this one goes on, and nobody has opened it since."""
        return not self._is_open and (self.connector.inherited is not None or self._inherited.has_turn)

    def begin(self, session: str = "", chosen: Chosen | None = None) -> None:
        """Show a session; without one, begin a new conversation. `chosen` is what the person has chosen for it."""
        for draft in self._end():
            self._give_back(draft, "The conversation has changed before this was sent.")
        self._is_open = True
        self.connection.begin(session, chosen or Chosen())
        self.connection.conversation = self._begun()
        self._reading = self.background(self.connection.run())
        self.renderer.begin()

    def _begun(self) -> Conversation:
        """What the agent that goes on has said already; nothing for a new conversation."""
        conversation = self._inherited.take_conversation() if self.connector.inherited else None
        if conversation:
            self.outbox.inherit(*self._inherited.take_waiting())
        else:
            self.connector.end_inherited()
            self._inherited.give_up()
        return conversation or Conversation()

    def resume(self, session: str) -> None:
        """Show another session."""
        if self._is_open and session == self.connection.session:
            self.renderer.begin()
        else:
            self.begin(session)

    def close(self) -> None:
        """The view is closed."""
        self.give_back_unsent()
        self._end()
        self.connector.end_inherited()
        self._is_open = False

    def give_back_unsent(self) -> None:
        """The chat is about to end: what was not sent goes back to the person, whose tab may have moved."""
        self._inherited.give_up()
        for draft in [*self._inherited.take_unsent(), *self._take_unsent()]:
            self._give_back(draft, "The chat was closed before this was sent.")

    async def finished(self) -> None:
        """Wait until everything is done that had begun when the view was closed."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def reconnect(self, agent: AgentCommand | None = None) -> None:
        """Start over: settings, private daemon, connection. The session is resumed. See `Chats.reconnect`."""
        self.connector.agent = agent if agent and self.connector.agent else self._agent_now
        self.connector.private.may_restart = True
        self.connection.chosen.try_again()
        # A daemon that is being reached gets the settings of now anyway.
        if self.status.connection.state != "connecting" or self.connection.has_client:
            held = self._held
            self.connection.conversation.set_connection(ConnectionStatus("connecting"))
            self.connection.again()
            for draft in held.values():
                # The agent has refused it until the person signs in.
                self.outbox.send(draft, mid_turn=False)

    @property
    def _held(self) -> dict[str, Draft]:
        """The prompt that waits for a sign-in, by its id; empty if none does, or its draft isn't known."""
        prompt = self.status.running if self.status.connection.wants_sign_in else None
        draft = self.outbox.sent(prompt)
        return {prompt: draft} if prompt and draft else {}

    def configured(self, *, is_changed: bool) -> None:
        """The chat's settings were read. They apply at the next connection; a chat that is switched off ends now."""
        if self.connector.agent:
            return
        if not self._settings().enabled:
            if self._is_open:
                self.connection.again()
        elif is_changed and self.status.connection.state in {"waiting", "lost"}:
            self.connection.again()

    async def stop(self, *, hand_over: bool = False) -> dict[str, Any]:
        """End everything; with `hand_over` all but the session.

        Returns what the next instance needs to go on with them, as plain data.
        """
        self.connection.stays = hand_over
        inherited = self._inherited
        if self._is_open:
            inherited.has_turn = self.status.running is not None
        # A daemon keeps its queue.
        if self.connector.agent:
            inherited.queued |= self.outbox.queued
            inherited.held |= self._held
        inherited.unsent += self._end(with_queue=False)
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not hand_over:
            self.connector.end_inherited()
        agent = self.connection.left or self.connector.inherited
        if self.connector.agent and agent is None:
            inherited.give_up()
        if self.connection.left:
            inherited.conversation = plain(self.connection.conversation)
        return {
            "process": agent,
            "folder": self.connector.folder,
            "session": self.connection.session,
            "agent": self._agent_name,
            **inherited.as_plain(),
        }

    def inherit(self, left: Mapping[str, Any]) -> None:
        """Take what the instance before this one has left. The chat is shown once it is opened."""
        self.connector.folder, self.connection.session = left["folder"], left["session"]
        self._agent_name = left["agent"]
        self.connector.inherited = left.get("process")
        self._inherited = Inherited.from_plain(left)

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Do something as long as the chat is there."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def send(self, draft: Draft, *, mid_turn: bool) -> None:
        """Send a draft as soon as the chat is connected."""
        if self.status.connection.state != "live":
            self.reconnect()
        # Who sends something looks at the end.
        self.connection.conversation.hide_earlier(MOST_SHOWN, LEAST_SHOWN)
        self.connection.chosen.sends()
        self.outbox.send(draft, mid_turn=mid_turn)

    def chose(self, **choices: Any) -> None:
        """The person has chosen something for the session, which holds: fields of `Chosen`."""
        self.connection.chosen.take(**choices)
        self._show_soon()

    def _show_soon(self) -> None:
        """Something is to be shown, although nothing has changed in the conversation."""
        self.connection.conversation.changed.set()

    async def _ready(self) -> tuple[Backend, AgentSession, ChatFolder]:
        """The connection, once something may be sent.

        Raises:
            NotConnectedError: there is none within `SEND_LIMIT` seconds.
            UndecidedError: what the person has chosen does not hold.
            ChatError: what keeps it from that.
        """
        found = await self.connection.reached(SEND_LIMIT)
        self.connection.chosen.check()
        return found

    def _look_after(self, snapshot: Snapshot) -> None:
        """What follows from a look besides that it is shown."""
        self.connection.seen(snapshot)
        if self.is_local:
            self._turn_watch.seen(snapshot, self.agent, self.outbox.sent_at)
            self._visit_watch.seen(snapshot, self.agent)
        if snapshot.status.connection.state == "lost" and self.connector.agent:
            self.outbox.lost(self.agent)
        if snapshot.status.connection.state in {"lost", "ended"}:
            self.approvals.dismiss()
        else:
            self.approvals.update(snapshot)

    @property
    def _agent_now(self) -> AgentCommand | None:
        """The agent as the settings have it now, with the command that the person has said yes to."""
        agent = self.connector.agent
        same = (
            each
            for each in self._settings().agents
            if agent and (each.name, each.command) == (agent.name, agent.command)
        )
        return next(same, agent)

    def _end(self, *, with_queue: bool = True) -> list[Draft]:
        """Stop reading, showing and sending. Returns what was not sent."""
        self.approvals.dismiss()
        self.renderer.stop()
        if self._reading:
            self._reading.cancel()
            self._reading = None
        return self._take_unsent(with_queue=with_queue)

    def _take_unsent(self, *, with_queue: bool = True) -> list[Draft]:
        # An agent's process goes with its queue, and with the prompt that it holds; a daemon keeps them.
        with_queue = with_queue and self.connector.agent is not None
        held = self._held if with_queue and self._is_open else {}
        return [*held.values(), *self.outbox.take(with_queue=with_queue)]

    def _give_back(self, draft: Draft, why: str) -> None:
        self._editor.return_draft(self._id, draft, why)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("Unexpected: %s", error, exc_info=error)


def _name(agent: AgentCommand | None) -> str:
    return agent.name if agent else ""
