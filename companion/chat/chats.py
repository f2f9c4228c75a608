"""The chats of all windows, at most one for each, and what the person does with them.

Everything here runs on the companion thread. Failures are shown through the editor, never raised, except by
the methods that return something: those raise a ChatError with a message for the person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ..acp.environment import LoginEnvironment
from ..acp.port import OfferedServer
from ..acp.process import end_left, has_program
from ..conversation.failures import NotConnectedError
from ..conversation.snapshot import DAEMON_AGENT
from ..daemon.client import Client
from ..daemon.locality import agent_page, page
from ..daemon.process import launch
from ..daemon.process.private import handed_over
from ..review.reviews import Reviews
from ..settings import DaemonSettings
from ..told import Told
from .agents import AgentsOfChats
from .background import BackgroundOfChats
from .changes import ChangesOfChats
from .mentions import pattern
from .past import PastOfChats
from .port import ChatScreen
from .prompt import Draft
from .sessions import SessionsOfChats
from .sign_in import SignInOfChats
from .window_chat import QUICK_STOP_LIMIT, WindowChat
from .windows import REACH_LIMIT

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
        self._ending: set[asyncio.Task[dict[str, Any]]] = set()
        """The chats of windows that have closed."""

    def configure(self, settings: DaemonSettings) -> None:
        """The settings are there, or have changed: what they switch off ends, the rest is taken at a connection."""
        before, self._settings = self._settings, settings
        for chat in self._windows.values():
            chat.configured(is_changed=settings != before)

    def open(self, window: int, folder: str, session: str = "", agent: str = "") -> None:
        """Connect a window's chat, or draw it again if it has one already. `session` is the id of one to resume.

        `agent` is the name of the agent to start; empty for the daemon.
        """
        command = next((each for each in self._settings.agents if each.name == agent), None)
        if agent and command is None:
            self._editor.say(f"There is no agent “{agent}” in the setting “agents”.", window)
        else:
            self._made(window).open(folder, session, command)

    async def programs(self) -> list[str]:
        """The names of the agents whose program is there."""
        environment = await self._environment.get()
        agents = self._settings.agents
        found = await asyncio.to_thread(lambda: [has_program(agent.command[0], environment) for agent in agents])
        return [agent.name for agent, is_there in zip(agents, found, strict=True) if is_there]

    def close(self, window: int) -> None:
        """The person has closed the chat's view. A private daemon runs until the window closes."""
        if chat := self._windows.get(window):
            chat.close()

    def window_closed(self, window: int) -> None:
        """A window closes: its chat and its private daemon end."""
        if chat := self._windows.pop(window, None):
            chat.dismiss()
            ending = asyncio.get_running_loop().create_task(chat.stop())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    def send(self, window: int, draft: Draft, *, mid_turn: bool = False) -> None:
        """Send a prompt, as soon as the chat is connected; into the turn that runs with `mid_turn`.

        One that can't be sent goes back to the editor (`return_draft`).
        """
        if chat := self._windows.get(window):
            chat.send(draft, mid_turn=mid_turn)
        else:
            self._editor.return_draft(window, draft, str(NotConnectedError()))

    def questions(self, window: int) -> int:
        """How many permissions wait in a window's chat without a diff that shows them."""
        chat = self._windows.get(window)
        return chat.questions if chat else 0

    def cancel(self, window: int) -> None:
        """End the turn that runs."""

        async def cancel(chat: WindowChat) -> None:
            client, session = chat.connected
            await client.cancel(session)

        self._do(window, cancel)

    def dequeue(self, window: int, prompt: str) -> None:
        """Remove a prompt that waits; its text goes back to the editor (`return_draft`)."""

        async def dequeue(chat: WindowChat) -> None:
            client, session = chat.connected
            text = next((queued.text for queued in chat.status.queue if queued.id == prompt), "")
            if await client.dequeue(session, prompt):
                draft = chat.outbox.draft_of(prompt, text)
                self._editor.return_draft(window, draft, "It was removed from the queue.")
            else:
                self._editor.mention("This prompt is no longer in the queue.", window)

        self._do(window, dequeue)

    def unsend(self, window: int, unsent: str) -> None:
        """Take back what has not gone out to the daemon yet (`Frame.unsent`); it goes to the editor."""
        if chat := self._windows.get(window):
            if draft := chat.outbox.take_one(unsent):
                self._editor.return_draft(window, draft, "It was taken back before it was sent.")
            else:
                self._editor.mention("It has been sent already.", window)

    def vote(self, window: int, permission: str, option: str | None, answers: Mapping[str, str] | None = None) -> None:
        """Answer a permission with the id of an option; None for "cancelled"."""
        self._do(window, lambda chat: chat.answer(permission, option, answers))

    def switch_model(self, window: int, model: str) -> None:
        """Switch the model."""

        async def switch(chat: WindowChat) -> None:
            client, session = chat.connected
            await client.switch_model(session, model)
            if isinstance(client, Client):
                name = next((choice.name for choice in chat.status.models if choice.id == model), model)
                self._editor.mention(f"{name} is now your default model in {DAEMON_AGENT}, too.", window)

        self._do(window, switch)

    def switch_mode(self, window: int, mode: str) -> None:
        """Switch the approval mode."""

        async def switch(chat: WindowChat) -> None:
            client, session = chat.connected
            await client.switch_mode(session, mode)

        self._do(window, switch)

    def show_earlier(self, window: int) -> None:
        """Show a page of the turns before the first one that is shown."""
        if chat := self._windows.get(window):
            chat.show_earlier()

    def switch_effort(self, window: int, effort: str) -> None:
        """Switch how long the model thinks."""

        async def switch(chat: WindowChat) -> None:
            client, session = chat.connected
            await client.switch_effort(session, effort)
            chat.set_choices(await client.choices(session))

        self._do(window, switch)

    def reconnect(self, window: int) -> None:
        """Connect again, even if connected, with the current settings. The session is resumed."""
        if chat := self._windows.get(window):
            chat.reconnect()

    def confirm_here(self, window: int) -> None:
        """The person says that the daemon is on this computer."""
        if chat := self._windows.get(window):
            chat.confirm_here()

    def begin(self, window: int) -> None:
        """Begin a new conversation in the window's chat."""
        if chat := self._windows.get(window):
            chat.begin()

    async def files(self, window: int, words: str) -> list[str]:
        """Files on the daemon's machine whose path has these words, relative to the chat's folder; for a completion."""
        client, _ = self._chat(window).connected
        try:
            async with asyncio.timeout(FILES_LIMIT):
                found = await client.glob(pattern(words), MAX_FILES)
        except TimeoutError:
            return []
        folder = self._chat(window).chat_folder
        allowed = await asyncio.to_thread(lambda: [path for path in found if not folder.refusal([path])])
        return sorted((path for path in allowed if path != "."), key=lambda path: (len(path), path))

    async def locality(self, window: int) -> str:
        """The page on the daemon (F6): where it runs, with which files, servers, skills, providers, variables."""
        chat = self._chat(window)
        client, _, _ = await chat.reached(REACH_LIMIT)
        return await page(client, chat.locality) if isinstance(client, Client) else agent_page(chat.locality)

    # The companion's life

    def inherit(self, left: Mapping[int, Mapping[str, Any]], windows: Mapping[int, object]) -> None:
        """Take what the instance before this one has left; what belongs to a window that is gone ends."""
        for window, one in left.items():
            chat = self._made(window)
            chat.inherit(one)
            if window not in windows:
                self.window_closed(window)

    def dismiss(self) -> None:
        """Close all diffs without a vote: the questions stay with the daemon."""
        for chat in self._windows.values():
            chat.dismiss()

    async def stop(self, *, hand_over: bool) -> dict[int, dict[str, Any]]:
        """End everything; with `hand_over` all but the daemons. Returns what the next instance needs, by window."""
        chats, self._windows = self._windows, {}
        left = await asyncio.gather(
            *(chat.stop(hand_over=hand_over, limit=QUICK_STOP_LIMIT) for chat in chats.values())
        )
        if ending := list(self._ending):
            await asyncio.wait(ending, timeout=QUICK_STOP_LIMIT)
        return dict(zip(chats, left, strict=True)) if hand_over else {}

    @staticmethod
    def end_inherited(left: Mapping[str, Any]) -> None:
        """End the daemon or the agent that no instance has taken over. From any thread; it blocks for a moment."""
        if agent := left.get("process"):
            end_left(agent)
        if daemon := handed_over(left):
            launch.stop_now(daemon)

    def offer(self, window: int, agent: str) -> OfferedServer | None:
        """Offer a window's MCP server to an agent, if the person wants that."""
        return self.admit(window, agent) if self._settings.agents_use_editor else None

    def _made(self, window: int) -> WindowChat:
        if window not in self._windows:
            self._windows[window] = WindowChat(
                window,
                self._editor,
                self._reviews,
                lambda: self._settings,
                lambda: self.told_of(window),
                self._environment,
                self.on_change,
                _Server(self, window),
            )
        return self._windows[window]


class _Server:
    """The MCP server of one window, for the agents of its chat."""

    def __init__(self, chats: Chats, window: int) -> None:
        self._chats = chats
        self._window = window

    def admit(self, agent: str) -> OfferedServer | None:
        """See EditorServer."""
        return self._chats.offer(self._window, agent)

    def dismiss(self, token: str) -> None:
        """See EditorServer."""
        self._chats.dismiss_agent(self._window, token)
