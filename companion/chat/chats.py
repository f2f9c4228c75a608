"""The chats of all windows, and what the person does with them.

A chat is named by the id of its view, which no other view of the editor has and which a reload leaves as it is.

Everything here runs on the companion thread. Failures are shown through the editor, never raised, except by
the methods that return something: those raise a ChatError with a message for the person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ..acp.environment import LoginEnvironment
from ..acp.port import OfferedServer
from ..acp.process import end_left, has_program
from ..agents import AgentCommand
from ..conversation.failures import NotConnectedError
from ..conversation.snapshot import DAEMON_AGENT
from ..daemon.client import Client
from ..daemon.locality import agent_page, page
from ..daemon.process import launch
from ..review.reviews import Reviews
from ..settings import DaemonSettings
from ..told import Told
from .agents import AgentsOfChats
from .background import BackgroundOfChats
from .changes import ChangesOfChats
from .chat import QUICK_STOP_LIMIT, Chat
from .daemons import Daemons, end_inherited
from .mentions import pattern
from .past import PastOfChats
from .port import ChatScreen
from .prompt import Draft
from .sessions import SessionsOfChats
from .sign_in import SignInOfChats
from .windows import REACH_LIMIT

logger = logging.getLogger(__name__)

MAX_FILES = 50
"""How many files a completion offers."""
FILES_LIMIT = 2.0
"""Seconds for a completion."""


class Chats(AgentsOfChats, BackgroundOfChats, ChangesOfChats, PastOfChats, SessionsOfChats, SignInOfChats):
    """The chats of an editor's windows."""

    def __init__(self, editor: ChatScreen, reviews: Reviews) -> None:
        super().__init__(editor)
        self._reviews = reviews
        self._settings = DaemonSettings()
        self._environment = LoginEnvironment()
        self.told_of: Callable[[int], Told] = lambda _: Told()
        """What may be told of a window's files."""
        self.on_change: Callable[[], object] = lambda: None
        """Called when another number of questions waits in a window."""
        self.admit: Callable[[int, str], OfferedServer | None] = lambda _window, _agent: None
        """Offers a window's MCP server to an agent."""
        self.dismiss_agent: Callable[[int, str], object] = lambda _window, _token: None
        """An agent with a token for that has ended."""
        self._daemons: dict[int, Daemons] = {}
        """What the chats of each window share."""
        self._ending: set[asyncio.Task[None]] = set()
        """The ends of what has closed."""

    def configure(self, settings: DaemonSettings) -> None:
        """The settings are there, or have changed: what they switch off ends, the rest is taken at a connection."""
        before, self._settings = self._settings, settings
        for chat in self._chats.values():
            chat.configured(is_changed=settings != before)
        for daemons in self._daemons.values():
            # An open chat ends its daemon itself, after it has left its session.
            if not settings.enabled and not daemons.in_use():
                self._end(daemons.stop(launch.STOP_LIMIT))

    def open(self, number: int, window: int, folder: str, session: str = "", agent: str = "") -> None:
        """Connect a chat, or draw it again if it is connected. `session` is the id of one to resume.

        `agent` is the name of the agent to start; empty for the daemon.
        """
        if (chat := self._chats.get(number)) and chat.shows(folder, session, agent):
            chat.show_again()
            return
        command = next((each for each in self._settings.agents if each.name == agent), None)
        if agent and command is None:
            self._editor.say(f"There is no agent “{agent}” in the setting “agents”.", window)
        else:
            self._made(number, window).open(folder, session, command)

    async def programs(self) -> list[str]:
        """The names of the agents whose program is there."""
        environment = await self._environment.get()
        agents = self._settings.agents
        found = await asyncio.to_thread(lambda: [has_program(agent.command[0], environment) for agent in agents])
        return [agent.name for agent, is_there in zip(agents, found, strict=True) if is_there]

    def close(self, number: int) -> None:
        """The person has closed the chat's view. A private daemon runs until the window closes."""
        if chat := self._chats.pop(number, None):
            chat.close()
            self._end(chat.finished())

    def window_closed(self, window: int) -> None:
        """A window closes: its chats and its private daemons end."""
        chats = [self._chats.pop(number) for number, chat in list(self._chats.items()) if chat.window == window]
        for chat in chats:
            chat.dismiss()
        daemons = self._daemons.pop(window, None)

        async def end() -> None:
            await asyncio.gather(*(chat.stop() for chat in chats))
            if daemons:
                await daemons.stop(launch.STOP_LIMIT)

        self._end(end())

    def send(self, number: int, draft: Draft, *, mid_turn: bool = False) -> None:
        """Send a prompt, as soon as the chat is connected; into the turn that runs with `mid_turn`.

        One that can't be sent goes back to the editor (`return_draft`).
        """
        if chat := self._chats.get(number):
            chat.send(draft, mid_turn=mid_turn)
        else:
            self._editor.return_draft(number, draft, str(NotConnectedError()))

    def questions(self, window: int) -> int:
        """How many permissions wait in a window's chats without a diff that shows them."""
        return sum(chat.questions for chat in self._chats.values() if chat.window == window)

    def asking(self, window: int) -> tuple[str, ...]:
        """The names of the agents that ask these, in alphabetical order."""
        asking = (chat for chat in self._chats.values() if chat.window == window and chat.questions)
        return tuple(sorted({chat.agent for chat in asking}))

    def cancel(self, number: int) -> None:
        """End the turn that runs."""

        async def cancel(chat: Chat) -> None:
            client, session = chat.connected
            await client.cancel(session)

        self._do(number, cancel)

    def dequeue(self, number: int, prompt: str) -> None:
        """Remove a prompt that waits; its text goes back to the editor (`return_draft`)."""

        async def dequeue(chat: Chat) -> None:
            client, session = chat.connected
            text = next((queued.text for queued in chat.status.queue if queued.id == prompt), "")
            if await client.dequeue(session, prompt):
                draft = chat.outbox.draft_of(prompt, text)
                self._editor.return_draft(number, draft, "It was removed from the queue.")
            else:
                self._editor.mention("This prompt is no longer in the queue.", chat.window)

        self._do(number, dequeue)

    def unsend(self, number: int, unsent: str) -> None:
        """Take back what has not gone out to the daemon yet (`Frame.unsent`); it goes to the editor."""
        if chat := self._chats.get(number):
            if draft := chat.outbox.take_one(unsent):
                self._editor.return_draft(number, draft, "It was taken back before it was sent.")
            else:
                self._editor.mention("It has been sent already.", chat.window)

    def vote(self, number: int, permission: str, option: str | None, answers: Mapping[str, str] | None = None) -> None:
        """Answer a permission with the id of an option; None for "cancelled"."""
        self._do(number, lambda chat: chat.answer(permission, option, answers))

    def switch_model(self, number: int, model: str) -> None:
        """Switch the model."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connected
            await client.switch_model(session, model)
            if isinstance(client, Client):
                name = next((choice.name for choice in chat.status.models if choice.id == model), model)
                self._editor.mention(f"{name} is now your default model in {DAEMON_AGENT}, too.", chat.window)

        self._do(number, switch)

    def switch_mode(self, number: int, mode: str) -> None:
        """Switch the approval mode."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connected
            await client.switch_mode(session, mode)

        self._do(number, switch)

    def show_earlier(self, number: int) -> None:
        """Show a page of the turns before the first one that is shown."""
        if chat := self._chats.get(number):
            chat.show_earlier()

    def switch_effort(self, number: int, effort: str) -> None:
        """Switch how long the model thinks."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connected
            await client.switch_effort(session, effort)
            chat.set_choices(await client.choices(session))

        self._do(number, switch)

    def reconnect(self, number: int, agent: AgentCommand | None = None) -> None:
        """Connect again, even if connected, with the current settings. The session is resumed.

        `agent` is the chat's agent with the command that the person allows now; None for the one that it has.
        """
        if chat := self._chats.get(number):
            chat.reconnect(agent)

    def confirm_here(self, number: int) -> None:
        """The person says that the daemon is on this computer."""
        if chat := self._chats.get(number):
            chat.confirm_here()

    def begin(self, number: int) -> None:
        """Begin a new conversation in a chat."""
        if chat := self._chats.get(number):
            chat.begin()

    async def files(self, number: int, words: str) -> list[str]:
        """Files on the daemon's machine whose path has these words, relative to the chat's folder; for a completion."""
        client, _ = self._chat(number).connected
        try:
            async with asyncio.timeout(FILES_LIMIT):
                found = await client.glob(pattern(words), MAX_FILES)
        except TimeoutError:
            return []
        folder = self._chat(number).chat_folder
        allowed = await asyncio.to_thread(lambda: [path for path in found if not folder.refusal([path])])
        return sorted((path for path in allowed if path != "."), key=lambda path: (len(path), path))

    async def locality(self, number: int) -> str:
        """The page on the daemon: where it runs, with which files, servers, skills, providers, variables."""
        chat = self._chat(number)
        client, _, _ = await chat.reached(REACH_LIMIT)
        return await page(client, chat.locality) if isinstance(client, Client) else agent_page(chat.locality)

    # The companion's life

    def inherit(self, left: Mapping[int, Mapping[str, Any]], windows: Mapping[int, object]) -> None:
        """Take what the instance before this one has left; what belongs to a window that is gone ends.

        What another version of the package has left in another form is lost; the sessions can be resumed.
        """
        for window, one in left.items():
            try:
                self._shared(window).inherit(one)
                for number, chat in one["chats"].items():
                    self._made(number, window).inherit(chat)
                    if window in windows and self._chats[number].is_at_work:
                        self._editor.take_up_chat(number)
            except (LookupError, TypeError, ValueError, AttributeError):
                logger.exception("The chats of another version of the package can't be taken over")
            if window not in windows:
                self.window_closed(window)

    def dismiss(self) -> None:
        """Close all diffs without a vote: the questions stay with the daemon."""
        for chat in self._chats.values():
            chat.dismiss()

    async def stop(self, *, hand_over: bool) -> dict[int, dict[str, Any]]:
        """End everything; with `hand_over` all but the daemons. Returns what the next instance needs, by window."""
        chats, self._chats = self._chats, {}
        shared, self._daemons = self._daemons, {}
        windows = {number: chat.window for number, chat in chats.items()}
        plain = await asyncio.gather(*(chat.stop(hand_over=hand_over) for chat in chats.values()))
        if not hand_over:
            await asyncio.gather(*(daemons.stop(QUICK_STOP_LIMIT) for daemons in shared.values()))
        if ending := list(self._ending):
            await asyncio.wait(ending, timeout=QUICK_STOP_LIMIT)
        left: dict[int, dict[str, Any]] = {}
        for window, daemons in shared.items() if hand_over else ():
            own = {number: one for number, one in zip(chats, plain, strict=True) if windows[number] == window}
            left[window] = {**daemons.hand_over(), "chats": own}
        return left

    @staticmethod
    def end_inherited(left: Mapping[str, Any]) -> None:
        """End the agents and the daemons that no instance has taken over. From any thread; it blocks for a moment."""
        for chat in left["chats"].values():
            if agent := chat["process"]:
                end_left(agent)
        end_inherited(left)

    def offer(self, window: int, agent: str) -> OfferedServer | None:
        """Offer a window's MCP server to an agent, if the person wants that."""
        return self.admit(window, agent) if self._settings.agents_use_editor else None

    def _end(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.get_running_loop().create_task(work)
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _shared(self, window: int) -> Daemons:
        if window not in self._daemons:
            self._daemons[window] = Daemons(
                lambda message: self._editor.say(message, window), lambda: self._folders_of_daemons(window)
            )
        return self._daemons[window]

    def _folders_of_daemons(self, window: int) -> set[str]:
        return {chat.folder for chat in self._chats.values() if chat.window == window and chat.needs_daemon}

    def _made(self, number: int, window: int) -> Chat:
        if number not in self._chats:
            self._chats[number] = Chat(
                number,
                window,
                self._editor,
                self._reviews,
                lambda: self._settings,
                lambda: self.told_of(window),
                self._environment,
                self._shared(window),
                self.on_change,
                _Server(self, window),
            )
        return self._chats[number]


class _Server:
    """The MCP server of one window, for the agents of its chats."""

    def __init__(self, chats: Chats, window: int) -> None:
        self._chats = chats
        self._window = window

    def admit(self, agent: str) -> OfferedServer | None:
        """See EditorServer."""
        return self._chats.offer(self._window, agent)

    def dismiss(self, token: str) -> None:
        """See EditorServer."""
        self._chats.dismiss_agent(self._window, token)
