"""The chats of all windows, and what the person does with them.

A chat is named by the id of its view, which no other view of the editor has and which a reload leaves as it is.

Everything here runs on the companion thread. Failures are shown through the editor, never raised, except by
the methods that return something: those raise a ChatError with a message for the person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Coroutine, Mapping
from typing import Any, Protocol

from ..agents import AgentCommand
from ..backends.connector import end_left
from ..backends.daemons import Daemons, end_inherited
from ..backends.port import EditorServer, OfferedServer
from ..backends.surroundings import Surroundings
from ..clis.environment import LoginEnvironment
from ..conversation.failures import NotConnectedError
from ..conversation.forms import Values
from ..exclusion import Told
from ..ids import ChatId, WindowId
from ..platforms import programs
from ..platforms.files import real_folder
from ..review.reviews import Reviews
from ..settings import DaemonSettings
from .changes import ChatChanges
from .chat import QUICK_STOP_LIMIT, Chat
from .history import ChatHistory
from .mentions import pattern
from .options import ChatOptions
from .port import ChatScreen
from .prompt import Draft
from .registry import Registry
from .sessions import ChatSessions
from .sign_in import ChatSignIn
from .tasks import ChatTasks
from .turn_watch import WrittenTurns

logger = logging.getLogger(__name__)

MAX_FILES = 50
"""How many files a completion offers."""
FILES_LIMIT = 2.0
"""Seconds for a completion."""


class AgentAccess(Protocol):
    """Lets the agents of chats use the MCP server of their window."""

    def admit(self, window: WindowId, agent: str) -> OfferedServer | None:
        """Let an agent in; None if the window has no server."""
        ...

    def dismiss_agent(self, window: WindowId, token: str) -> None:
        """The agent with a token has ended."""
        ...


class Chats:
    """The chats of an editor's windows.

    `sessions`, `history`, `changes`, `tasks`, `options` and `sign_in` are what can be done besides a conversation.
    """

    def __init__(
        self,
        editor: ChatScreen,
        reviews: Reviews,
        access: AgentAccess,
        told: Callable[[WindowId], Told],
        changed: Callable[[], object],
        turns: WrittenTurns,
        folders: Callable[[WindowId], tuple[str, ...]],
    ) -> None:
        """`told` gives what may be told of a window's files; `changed` is called when other questions wait.

        `turns` hears of the turns, and knows what was written in them; `folders` gives those of a window.
        """
        self._editor = editor
        self._reviews = reviews
        self._access = access
        self._told = told
        self._changed = changed
        self._turns = turns
        self._folders = folders
        self._settings = DaemonSettings()
        self._environment = LoginEnvironment()
        self._registry = Registry(editor)
        self._daemons: dict[WindowId, Daemons] = {}
        """What the chats of each window share."""
        self._ending: set[asyncio.Task[None]] = set()
        """The ends of what has closed."""
        self.sessions = ChatSessions(self._registry)
        self.history = ChatHistory(self._registry, turns)
        self.changes = ChatChanges(self._registry, turns)
        self.tasks = ChatTasks(self._registry)
        self.options = ChatOptions(self._registry)
        self.sign_in = ChatSignIn(self._registry, self._environment)

    def configure(self, settings: DaemonSettings) -> None:
        """The settings were read or have changed. What they turn off ends; the rest holds from the next connection."""
        before, self._settings = self._settings, settings
        for chat in self._registry.chats.values():
            chat.configured(is_changed=settings != before)
        for daemons in self._daemons.values():
            # An open chat ends its daemon itself, after it has left its session.
            if not settings.enabled and not daemons.in_use():
                self._end(daemons.stop())

    def open(
        self,
        chat_id: ChatId,
        window: WindowId,
        folder: str,
        session: str = "",
        agent: str = "",
        chosen: Mapping[str, Any] | None = None,
    ) -> None:
        """Connect a chat, or draw it again if it is connected. `session` is the id of one to resume.

        `agent` is the name of the agent to start; empty for the daemon. `chosen` is what the editor has kept of
        `Render.chosen`.
        """
        if (chat := self._registry.get(chat_id)) and chat.shows(folder, session, agent):
            chat.renderer.begin()
            return
        command = next((each for each in self._settings.agents if each.name == agent), None)
        if agent and command is None:
            self._editor.say(f"There is no agent “{agent}” in the setting “agents”.", window)
        else:
            self._made(chat_id, window).open(folder, session, command, chosen)

    async def environment(self) -> Mapping[str, str]:
        """What agents are started with: the variables of the person's login shell."""
        return await self._environment.get()

    async def programs(self) -> list[str]:
        """The names of the agents whose program is there."""
        environment = await self._environment.get()
        agents = self._settings.agents
        found = await asyncio.to_thread(lambda: [programs.find(agent.command[0], environment) for agent in agents])
        return [agent.name for agent, path in zip(agents, found, strict=True) if path]

    def turn_written(self, chat_id: ChatId, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn that has ended."""
        if chat := self._registry.get(chat_id):
            chat.renderer.turn_written(turn, files)

    def close(self, chat_id: ChatId) -> None:
        """The person has closed the chat's view. A private daemon runs until the window closes."""
        if chat := self._registry.chats.pop(chat_id, None):
            chat.close()
            self._end(chat.finished())

    def window_closed(self, window: WindowId) -> None:
        """A window closes: its chats and its private daemons end."""
        chats = self._registry.take(window)
        for chat in chats:
            chat.approvals.dismiss()
            chat.give_back_unsent()
        daemons = self._daemons.pop(window, None)

        async def end() -> None:
            await asyncio.gather(*(chat.stop() for chat in chats))
            if daemons:
                await daemons.stop()

        self._end(end())

    def send(self, chat_id: ChatId, draft: Draft, *, mid_turn: bool = False) -> None:
        """Send a prompt, as soon as the chat is connected; into the turn that runs with `mid_turn`.

        One that can't be sent goes back to the editor (`return_draft`).
        """
        if chat := self._registry.get(chat_id):
            chat.send(draft, mid_turn=mid_turn)
        else:
            self._editor.return_draft(chat_id, draft, str(NotConnectedError()))

    def questions(self, window: WindowId) -> int:
        """How many permissions wait in a window's chats without a diff that shows them."""
        return sum(chat.approvals.questions for chat in self._registry.within(window))

    def asking(self, window: WindowId) -> tuple[str, ...]:
        """The names of the agents that ask these, in alphabetical order."""
        asking = (chat for chat in self._registry.within(window) if chat.approvals.questions)
        return tuple(sorted({chat.agent for chat in asking}))

    def cancel(self, chat_id: ChatId, turn: str | None = None) -> None:
        """End the turn that runs, or the start of an agent.

        With `turn`, what the person saw running, one that has begun since then goes on.
        """

        async def cancel(chat: Chat) -> None:
            if chat.connection.call_off():
                return
            client, session = chat.connection.connected
            running = chat.connection.conversation.status.running
            if turn is None or running in (None, turn):
                await client.cancel(session)

        self._registry.do(chat_id, cancel)

    def dequeue(self, chat_id: ChatId, prompt: str) -> None:
        """Remove a prompt that waits; its text goes back to the editor (`return_draft`)."""

        async def dequeue(chat: Chat) -> None:
            client, session = chat.connection.connected
            text = next((queued.text for queued in chat.status.queue if queued.id == prompt), "")
            if client.steering and await client.steering.dequeue(session, prompt):
                draft = chat.outbox.draft_of(prompt, text)
                self._editor.return_draft(chat_id, draft, "It was removed from the queue.")
            else:
                self._editor.mention("This prompt is no longer in the queue.", chat.window)

        self._registry.do(chat_id, dequeue)

    def unsend(self, chat_id: ChatId, unsent: str) -> None:
        """Take back what has not gone out to the daemon yet (`Frame.unsent`); it goes to the editor."""
        if chat := self._registry.get(chat_id):
            if draft := chat.outbox.take_one(unsent):
                self._editor.return_draft(chat_id, draft, "It was taken back before it was sent.")
            else:
                self._editor.mention("It has been sent already.", chat.window)

    def vote(self, chat_id: ChatId, permission: str, option: str | None, answers: Values | None = None) -> None:
        """Answer a permission with the id of an option; None for "cancelled"."""
        self._registry.do(chat_id, lambda chat: chat.approvals.answers.give(permission, option, answers))

    def reconnect(self, chat_id: ChatId, agent: AgentCommand | None = None) -> None:
        """Connect again, even if connected, with the current settings. The session is resumed.

        `agent` is the chat's agent with the command that the person allows now; None for the one that it has.
        """
        if chat := self._registry.get(chat_id):
            chat.reconnect(agent)

    def confirm_here(self, chat_id: ChatId) -> None:
        """The person says that the daemon is on this computer."""
        if chat := self._registry.get(chat_id):
            chat.connection.confirm_here()

    def begin(self, chat_id: ChatId) -> None:
        """Begin a new conversation in a chat."""
        if chat := self._registry.get(chat_id):
            chat.begin()

    async def files(self, chat_id: ChatId, words: str) -> list[str]:
        """Files on the daemon's machine whose path has these words, relative to the chat's folder; for a completion."""
        chat = self._registry[chat_id]
        client, _ = chat.connection.connected
        try:
            async with asyncio.timeout(FILES_LIMIT):
                found = await client.files.glob(pattern(words), MAX_FILES) if client.files else []
        except TimeoutError:
            return []
        folder = chat.connection.folder
        allowed = await asyncio.to_thread(lambda: [path for path in found if not folder.refusal([path])])
        return sorted((path for path in allowed if path != "."), key=lambda path: (len(path), path))

    async def locality(self, chat_id: ChatId) -> str:
        """The page on what answers: where it runs, and with which servers, skills, providers and variables."""
        chat = self._registry[chat_id]
        client, _, _ = await self._registry.reached(chat_id)
        return await client.describe(chat.connector.locality)

    # The companion's life

    def inherit(self, left: Mapping[WindowId, Mapping[str, Any]], windows: Container[int]) -> None:
        """Take what the instance before this one has left; what belongs to a window that is gone ends.

        What another version of the package has left in another form is lost; the sessions can be resumed.
        """
        for window, one in left.items():
            try:
                self._shared(window).inherit(one)
                for chat_id, chat in one["chats"].items():
                    self._made(chat_id, window).inherit(chat)
                    if window in windows and self._registry[chat_id].is_at_work:
                        self._editor.take_up_chat(chat_id)
            except (LookupError, TypeError, ValueError, AttributeError):
                logger.exception("The chats of another version of the package can't be taken over")
            if window not in windows:
                self.window_closed(window)

    def dismiss(self) -> None:
        """Close all diffs without a vote: the questions stay with the daemon."""
        for chat in self._registry.chats.values():
            chat.approvals.dismiss()

    async def stop(self, *, hand_over: bool) -> dict[WindowId, dict[str, Any]]:
        """End everything; with `hand_over` all but the daemons. Returns what the next instance needs, by window."""
        chats = dict(self._registry.chats)
        self._registry.chats.clear()
        shared, self._daemons = self._daemons, {}
        plain = await asyncio.gather(*(chat.stop(hand_over=hand_over) for chat in chats.values()))
        if not hand_over:
            await asyncio.gather(*(daemons.stop(QUICK_STOP_LIMIT) for daemons in shared.values()))
        if ending := list(self._ending):
            await asyncio.wait(ending, timeout=QUICK_STOP_LIMIT)
        left: dict[WindowId, dict[str, Any]] = {}
        for window, daemons in shared.items() if hand_over else ():
            own = {
                chat_id: one for (chat_id, chat), one in zip(chats.items(), plain, strict=True) if chat.window == window
            }
            left[window] = {**daemons.hand_over(), "chats": own}
        return left

    @staticmethod
    def end_inherited(left: Mapping[str, Any]) -> None:
        """End the agents and the daemons that no instance has taken over. From any thread; it blocks for a moment."""
        for chat in left["chats"].values():
            if agent := chat["process"]:
                end_left(agent)
        end_inherited(left)

    def server(self, window: WindowId) -> EditorServer:
        """The MCP server of a window as its chats' agents get it: only if the person wants that."""
        return _Server(self._access, window, lambda: self._settings.agents_use_editor)

    async def _surroundings(self, window: WindowId) -> Surroundings:
        """What an agent of a window gets besides the folder of its chat."""
        settings, told, folders = self._settings, self._told(window), self._folders(window)
        if not settings.agents_all_folders:
            folders = ()
        allowed = await asyncio.to_thread(
            lambda: tuple(real_folder(each) for each in folders if not told.is_excluded(each, folders))
        )
        return Surroundings(allowed, settings.agents_mcp_servers)

    def _end(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.get_running_loop().create_task(work)
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _shared(self, window: WindowId) -> Daemons:
        if window not in self._daemons:
            self._daemons[window] = Daemons(
                lambda message: self._editor.say(message, window),
                lambda: self._folders_of_daemons(window),
                self._environment,
            )
        return self._daemons[window]

    def _folders_of_daemons(self, window: WindowId) -> set[str]:
        return {chat.connector.folder for chat in self._registry.within(window) if chat.needs_daemon}

    def _made(self, chat_id: ChatId, window: WindowId) -> Chat:
        if chat_id not in self._registry.chats:
            self._registry.chats[chat_id] = Chat(
                chat_id,
                window,
                self._editor,
                self._reviews,
                lambda: self._settings,
                lambda: self._told(window),
                self._environment,
                self._shared(window),
                self._changed,
                self._turns,
                self.server(window),
                lambda: self._surroundings(window),
            )
        return self._registry.chats[chat_id]


class _Server:
    """The MCP server of one window, for the agents of its chats."""

    def __init__(self, access: AgentAccess, window: WindowId, is_wanted: Callable[[], bool]) -> None:
        self._access = access
        self._window = window
        self._is_wanted = is_wanted

    def admit(self, agent: str) -> OfferedServer | None:
        """Offer the window's server to an agent, if the setting allows; with a token of its own."""
        return self._access.admit(self._window, agent) if self._is_wanted() else None

    def dismiss(self, token: str) -> None:
        """The agent has ended: its token is worth nothing any more."""
        self._access.dismiss_agent(self._window, token)
