"""The chats of all windows, and what the person does with them.

A chat is named by the id of its view, which no other view of the editor has and which a reload leaves as it is. What
can be done besides a conversation is in parts: its options, the list of sessions, signing in, what runs in the
background.

Everything here runs on the companion thread. Failures are shown through the editor, never raised, except by
the methods that return something: those raise a ChatError with a message for the person.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Container, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from ..agents import DAEMON_AGENT, AgentCommand
from ..backends.agent import Agent, AgentSession, OfferedServer, SigningIn, Surroundings, Way
from ..backends.connector import Daemons, end_inherited, end_left
from ..background import answered
from ..clis.environment import LoginEnvironment
from ..conversation.failures import ChatError, NotConnectedError
from ..conversation.forms import Values
from ..conversation.snapshot import ChoiceKind, Task
from ..editor import ChatId, WindowId
from ..exclusion import Sharing
from ..json_text import as_list, as_object
from ..platforms import programs
from ..platforms.files import Content, FileRefusedError, HangingError, IrregularError, entry, real_folder
from ..review.reviews import Reviews
from ..settings import DaemonSettings
from .chat import CHANGED, CLOSED, QUICK_STOP_LIMIT, Chat, check_idle
from .chat_screen import ChatScreen
from .connection import Chosen
from .history import ChatChanges, ChatHistory, ChatSessions
from .outbox import ON_ITS_WAY, REMOVED
from .prompt import ChatFolder, Draft, Returned
from .transcript.plain import clean
from .watch import TurnReasons, WrittenTurns

logger = logging.getLogger(__name__)

MOST_OUTPUT = 64 * 1024
"""Bytes of the end of a task's output that are shown."""
_KINDS = {"shell": "Command", "agent": "Sub-agent", "monitor": "Monitor"}
FOLDER_LIMIT = 5.0
"""Seconds to look at a folder of the window that an agent is to get."""
REACH_LIMIT = 10.0
"""Seconds that a question to the daemon waits for the connection."""
CUT_OFF = "This still waited when the editor was closed."
MAX_FILES = 50
"""How many files a completion offers."""
FILES_LIMIT = 2.0
"""Seconds for a completion."""


class ChatOptions:
    """Switches the options of conversations."""

    def __init__(self, chats: Chats) -> None:
        self._chats = chats

    def switch(self, chat_id: ChatId, kind: ChoiceKind, value: str) -> None:
        """Switch the mode, the model, or how long the model thinks."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connection.connected
            await client.switch(session, kind, value)
            chat.chose(**{kind: value})
            if kind == "effort" and (choices := await client.choices(session)):
                chat.connection.conversation.set_choices(choices)
            if kind == "model" and client.model_is_default:
                name = next((choice.name for choice in chat.status.models if choice.id == value), value)
                told = f"{name} is now your default model in {DAEMON_AGENT}, too."
                self._chats.screen.messenger.mention(told, chat.window)

        self._chats.do(chat_id, switch)

    def set(self, chat_id: ChatId, option: str, value: str | bool) -> None:
        """Set another option of the session, to the id of a value or to true or false."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connection.connected
            await client.set_option(session, option, value)
            chat.chose(options={option: value})

        self._chats.do(chat_id, switch)


class ChatSignIn:
    """Signs agents in."""

    def __init__(self, chats: Chats) -> None:
        self._chats = chats

    async def providers(self, chat_id: ChatId) -> list[str]:
        """The ids of the providers of models at which the daemon can sign in."""
        client, _, _ = await self._chats.reached(chat_id)
        return await client.sign_in_providers()

    async def begin(self, chat_id: ChatId, provider: str) -> SigningIn:
        """Begin to sign in at a provider."""
        client, _, _ = await self._chats.reached(chat_id)
        return await client.begin_sign_in(provider)

    async def progress(self, chat_id: ChatId, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        client, _, _ = await self._chats.reached(chat_id)
        return await client.sign_in_progress(identifier)

    async def cancel(self, chat_id: ChatId, identifier: str) -> None:
        """Give a sign-in up."""
        client, _ = self._chats[chat_id].connection.connected
        await client.cancel_sign_in(identifier)

    async def methods(self, chat_id: ChatId) -> tuple[Way, ...]:
        """The ways to sign in that an agent on stdio offers."""
        methods = self._chats[chat_id].connection.to_sign_in.ways
        # The person may be about to set a variable.
        self._chats.login.forget()
        return methods

    async def authenticate(self, chat_id: ChatId, method: str) -> None:
        """Have an agent on stdio sign the person in, which may take as long as they need in their browser."""
        connection = self._chats[chat_id].connection
        await connection.to_sign_in.authenticate(method)
        connection.signed_in()

    async def sign_out(self, chat_id: ChatId) -> bool:
        """Sign the person out of an agent on stdio, and start it again, since it may go on with what it has in memory.

        Returns False if it stays as it is, because its conversation would be lost, or a turn that has begun meanwhile.

        Raises:
            ChatError: a turn runs, which would be lost.
        """
        chat = self._chats[chat_id]
        client, _ = chat.connection.connected
        client.need("sign_out", "sign you out")
        check_idle(chat)
        await client.sign_out()
        is_restarted = chat.status.running is None and (client.can_restart or not chat.connection.session)
        if is_restarted:
            chat.reconnect()
        return is_restarted


class ChatTasks:
    """Lists the tasks of a conversation, shows what they do, and stops them."""

    def __init__(self, chats: Chats) -> None:
        self._chats = chats

    async def all(self, chat_id: ChatId) -> list[Task]:
        """What the agent does besides its turn, and has done: what runs first, then the latest."""
        client, session, _ = await self._chats.reached(chat_id)
        found = {task.id: task for task in await client.sub_agents(session)}
        found |= {task.id: task for task in await client.tasks(session)}
        return sorted(found.values(), key=lambda task: (not task.is_running, -task.began))

    async def page(self, chat_id: ChatId, identifier: str) -> tuple[str, bool]:
        """A page about a task with the end of its output, and whether it still runs."""
        found = next((task for task in await self.all(chat_id) if task.id == identifier), None)
        if found is None:
            raise ChatError("The daemon doesn't know this task any more.")
        is_local = self._chats[chat_id].is_local
        output = await _output(found) if is_local and found.output else None
        return "\n".join(_task_page(found, output, is_local=is_local)) + "\n", found.is_running

    async def stop(self, chat_id: ChatId, task: Task) -> str:
        """Stop a task. Returns what happened, a sentence."""
        chat = self._chats[chat_id]
        client, session, _ = await self._chats.reached(chat_id)
        stopped = await client.stop_task(session, task)
        chat.connection.conversation.set(tasks=await client.tasks(session))
        return f"{task.title} is stopped." if stopped else f"{task.title} has ended already."

    def stop_terminals(self, chat_id: ChatId, terminals: Sequence[str]) -> None:
        """End what runs in terminals that the editor has opened for the agent; the turn goes on."""

        async def stop(chat: Chat) -> None:
            client, _ = chat.connection.connected
            if not any(await asyncio.gather(*map(client.stop_terminal, terminals))):
                self._chats.screen.messenger.mention("It has ended already.", chat.window)

        self._chats.do(chat_id, stop)


def _task_page(task: Task, output: str | None, *, is_local: bool) -> Iterator[str]:
    yield f"# {clean(task.title)}"
    yield ""
    yield f"- {_KINDS.get(task.kind, 'Task')}: {' '.join(clean(task.about).split()) or task.id}"
    yield f"- State: {task.status}, {task.duration}"
    if task.tokens:
        yield f"- Tokens: {task.tokens}"
    if task.error:
        yield f"- Error: {' '.join(clean(task.error).split())}"
    if task.output and not is_local:
        yield f"- Output: in {task.output}, on the machine of the daemon"
    if output is not None:
        yield from ("", "## Output", "", output or "Nothing yet.")


async def _output(task: Task) -> str:
    """The end of a task's output, as a text."""
    try:
        content = await answered(task.output, lambda: _end(task.output))
    except IrregularError:
        return "The output is not in a regular file."
    except FileRefusedError as error:
        return f"The output can't be read: {error.strerror}."
    text = content.data.decode("utf-8", "replace")
    if not content.is_whole:
        text = text.partition("\n")[2]
    lines = map(_said, text.splitlines()) if task.kind == "agent" else map(clean, text.splitlines())
    return "\n".join(line for line in lines if line is not None)


def _end(path: str) -> Content:
    with entry(path, follows_links=True) as at:
        return at.read_end(MOST_OUTPUT)


def _said(record: str) -> str | None:
    """What a sub-agent's record says: a text, or the name of a tool that is called; None if neither."""
    try:
        fields: object = json.loads(record)
    except (ValueError, RecursionError):
        return None
    message = as_object(as_object(fields).get("message"))
    words: list[str] = []
    for part in as_list(message.get("parts")):
        text, call = as_object(part).get("text"), as_object(as_object(part).get("functionCall")).get("name")
        if isinstance(text, str) and text.strip():
            words.append(_clean_lines(text))
        elif isinstance(call, str):
            words.append(f"→ {clean(call)}")
    return "\n".join(words) or None


def _clean_lines(text: str) -> str:
    """A text without control characters, line by line."""
    return "\n".join(map(clean, text.strip().splitlines()))


class Windows(Protocol):
    """What the companion knows of the windows that chats are in."""

    def sharing_of(self, window: WindowId, /) -> Sharing:
        """What may be told of a window's files."""
        ...

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        """The folders of a window."""
        ...

    def admit(self, window: WindowId, agent: str) -> OfferedServer | None:
        """Let an agent use the MCP server of a window; None if the window has no server."""
        ...

    def dismiss_agent(self, window: WindowId, token: str) -> None:
        """The agent with a token has ended."""
        ...

    def changes_changed(self) -> None:
        """Other questions wait."""
        ...


class ChatWindow:
    """What the chats of one window share. See `backends.agent.Workplace`."""

    def __init__(self, chats: Chats, window: WindowId) -> None:
        self.id = window
        self.screen = chats.screen
        self.reviews = chats.reviews
        self.login = chats.login
        self.turns = chats.turns
        self.reasons = chats.reasons
        self._chats = chats
        self.daemons = Daemons(self)

    @property
    def settings(self) -> DaemonSettings:
        """As they are now."""
        return self._chats.settings

    @property
    def shows_diffs(self) -> bool:
        """Whether the person wants to see what would be changed as diffs."""
        return self.reviews.host.settings_of(self.id).show_diffs

    @property
    def tells_undone(self) -> bool:
        """Whether the person wants an agent to know what they have undone."""
        return self.reviews.host.settings_of(self.id).tell_undone != "never"

    @property
    def daemon_folders(self) -> set[str]:
        """The folders whose chats need a daemon."""
        return {chat.connector.folder for chat in self._chats.all_of(self.id) if chat.needs_daemon}

    def sharing(self) -> Sharing:
        """What may be told of the window's files."""
        return self._chats.windows.sharing_of(self.id)

    async def surroundings(self) -> Surroundings:
        """What an agent gets besides the folder of its chat."""
        settings, sharing, folders = self.settings, self.sharing(), self._chats.windows.folders_of(self.id)
        if not settings.agents_all_folders:
            folders = ()

        def look(folder: str) -> str:
            return "" if sharing.is_excluded(folder, folders) else real_folder(folder)

        async def found(folder: str) -> str:
            try:
                return await answered(folder, partial(look, folder), FOLDER_LIMIT)
            except HangingError as error:
                self.screen.messenger.say(f"{error}. The agent does not get it.", self.id)
                return ""

        allowed = await asyncio.gather(*map(found, folders))
        return Surroundings(tuple(filter(None, allowed)), settings.agents_mcp_servers)

    def admit(self, agent: str) -> OfferedServer | None:
        """Offer the window's MCP server to an agent, if the person wants that; with a token of its own."""
        return self._chats.windows.admit(self.id, agent) if self.settings.agents_use_editor else None

    def dismiss(self, token: str) -> None:
        """The agent has ended: its token is worth nothing any more."""
        self._chats.windows.dismiss_agent(self.id, token)

    def questions_changed(self) -> None:
        """Other questions wait."""
        self._chats.windows.changes_changed()


class Chats:
    """The chats of an editor's windows.

    `sessions`, `history`, `changes`, `tasks`, `options` and `sign_in` are what can be done besides a conversation.
    """

    def __init__(
        self, screen: ChatScreen, reviews: Reviews, windows: Windows, turns: WrittenTurns, reasons: TurnReasons
    ) -> None:
        """`turns` is told of the turns, and knows what was written in them; `reasons` gets what was said in each."""
        self.screen = screen
        self.reviews = reviews
        self.windows = windows
        self.turns = turns
        self.reasons = reasons
        self.settings = DaemonSettings()
        self.login = LoginEnvironment()
        self.by_id: dict[ChatId, Chat] = {}
        """Those that are open."""
        self.shared: dict[WindowId, ChatWindow] = {}
        """What the chats of each window share, once there was one."""
        self._ending: set[asyncio.Task[None]] = set()
        """The ends of what has closed."""
        self._leaving: set[Chat] = set()
        """Those that nothing shows any more, until they are done."""
        self.sessions = ChatSessions(self)
        self.history = ChatHistory(self)
        self.changes = ChatChanges(self)
        self.tasks = ChatTasks(self)
        self.options = ChatOptions(self)
        self.sign_in = ChatSignIn(self)

    def window(self, window: WindowId) -> ChatWindow:
        """What the chats of a window share."""
        if window not in self.shared:
            self.shared[window] = ChatWindow(self, window)
        return self.shared[window]

    def made(self, chat_id: ChatId, window: WindowId) -> Chat:
        """The chat with an id, which is made if there is none."""
        if chat_id not in self.by_id:
            self.by_id[chat_id] = Chat(chat_id, self.window(window))
        return self.by_id[chat_id]

    def get(self, chat_id: ChatId) -> Chat | None:
        """The chat with an id; None if it has closed."""
        return self.by_id.get(chat_id)

    def __getitem__(self, chat_id: ChatId) -> Chat:
        """The chat with an id.

        Raises:
            NotConnectedError: it has closed.
        """
        if chat := self.by_id.get(chat_id):
            return chat
        raise NotConnectedError

    async def reached(self, chat_id: ChatId) -> tuple[Agent, AgentSession, ChatFolder]:
        """The client, the session and the folder of a chat once it is connected; see `ChatConnection.reached`."""
        return await self[chat_id].connection.reached(REACH_LIMIT)

    def within(self, window: WindowId) -> list[Chat]:
        """The chats of a window."""
        return [chat for chat in self.by_id.values() if chat.window == window]

    def all_of(self, window: WindowId) -> list[Chat]:
        """The same, with those that nothing shows any more and that are not done."""
        return [*self.within(window), *(chat for chat in self._leaving if chat.window == window)]

    def do(self, chat_id: ChatId, act: Callable[[Chat], Coroutine[Any, Any, None]]) -> None:
        """Start doing something with a chat. A failure is shown, not raised."""
        chat = self.get(chat_id)
        if chat is None:
            self.screen.messenger.say(str(NotConnectedError()))
            return

        async def do() -> None:
            try:
                await act(chat)
            except ChatError as error:
                self.screen.messenger.mention(str(error), chat.window)

        chat.background(do())

    def configure(self, settings: DaemonSettings) -> None:
        """The settings were read or have changed. What they turn off ends; the rest holds from the next connection."""
        before, self.settings = self.settings, settings
        for chat in self.by_id.values():
            chat.configured(is_changed=settings != before)
        for place in self.shared.values():
            # An open chat ends its daemon itself, after it has left its session.
            if not settings.enabled and not place.daemon_folders:
                self._end(place.daemons.stop())

    def open(
        self,
        chat_id: ChatId,
        window: WindowId,
        folder: str,
        session: str = "",
        agent: str = "",
        chosen: Mapping[str, Any] | None = None,
        waiting: Sequence[Returned] = (),
    ) -> None:
        """Connect a chat, or draw it again if it is connected. `session` is the id of one to resume.

        `agent` is the name of the agent to start; empty for the daemon. `chosen` and `waiting` are what the editor has
        kept of those of a `Render`. What waits comes back if nobody here knows the chat: it is from before a restart.
        """
        if (chat := self.get(chat_id)) and chat.shows(folder, session, agent):
            chat.renderer.begin()
            return
        command = next((each for each in self.settings.agents if each.name == agent), None)
        if agent and command is None:
            self.screen.messenger.say(f"There is no agent “{agent}” in the setting “agents”.", window)
        else:
            is_known = chat is not None
            self._for_another(self.made(chat_id, window)).open(folder, session, command, chosen)
            if not is_known:
                self._give_back(chat_id, waiting)

    async def environment(self) -> Mapping[str, str]:
        """What agents are started with: the variables of the person's login shell."""
        return await self.login.get()

    async def programs(self) -> list[str]:
        """The names of the agents whose program is there."""
        environment = await self.login.get()
        agents = self.settings.agents
        found = await asyncio.to_thread(lambda: [programs.find(agent.command[0], environment) for agent in agents])
        return [agent.name for agent, path in zip(agents, found, strict=True) if path]

    def at_work(self) -> list[str]:
        """The programs of the agents of all chats."""
        agents = (chat.connector.agent for chat in self.by_id.values())
        return [agent.command[0] for agent in agents if agent]

    def open_sessions(self) -> set[str]:
        """The ids of the sessions that chats show."""
        return {chat.connection.session for chat in self.by_id.values()} - {""}

    def turn_written(self, chat_id: ChatId, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn that has ended."""
        if chat := self.get(chat_id):
            chat.renderer.turn_written(turn, files)

    def close(self, chat_id: ChatId, waiting: Sequence[Returned] = ()) -> None:
        """The person has closed the chat's view. A private daemon runs until the window closes.

        `waiting` is as in `open`.
        """
        if chat := self.by_id.pop(chat_id, None):
            self._see_off(chat, CLOSED)
        else:
            self._give_back(chat_id, waiting)

    def show(self, chat_id: ChatId, session: str = "", chosen: Chosen | None = None) -> None:
        """Show another conversation in a chat's tab, if that is open: the one of a session, or a new one."""
        if (chat := self.get(chat_id)) is None:
            return
        if chat.is_at(session):
            chat.renderer.begin()
        else:
            self._for_another(chat).begin(session, chosen)

    def _for_another(self, chat: Chat) -> Chat:
        """The chat that shows another conversation in the tab of one.

        The daemon goes on with a turn in the one before, which is seen to its end as if the tab had been closed.
        """
        if not chat.outlasts:
            return chat
        other = self.by_id[chat.id] = Chat(chat.id, chat.place)
        other.connector.folder = chat.connector.folder
        self._see_off(chat, CHANGED)
        return other

    def _see_off(self, chat: Chat, why: str) -> None:
        chat.close(why)
        self._leaving.add(chat)
        self._end(self._until_left(chat))

    async def _until_left(self, chat: Chat) -> None:
        await chat.finished()
        self._leaving.discard(chat)

    def _leave(self, window: WindowId | None = None) -> None:
        """Nobody reads any more what closed chats have left, those of a window if one is named."""
        for chat in self._leaving:
            if window in (None, chat.window):
                chat.give_back_unsent(with_daemon=window is not None)
                chat.leave()

    def _give_back(self, chat_id: ChatId, waiting: Sequence[Returned]) -> None:
        for draft, may_have_arrived in waiting:
            self.screen.chats.return_draft(chat_id, draft, ON_ITS_WAY if may_have_arrived else CUT_OFF)

    def window_closed(self, window: WindowId) -> None:
        """A window closes: its chats and its private daemons end."""
        chats = self.within(window)
        for chat in chats:
            del self.by_id[chat.id]
        for chat in chats:
            chat.approvals.dismiss()
            chat.give_back_unsent(with_daemon=True)
            chat.end_turn()
        self._leave(window)
        place = self.shared.pop(window, None)

        async def end() -> None:
            await asyncio.gather(*(chat.stop() for chat in chats))
            if place:
                await place.daemons.stop()

        self._end(end())

    def send(self, chat_id: ChatId, draft: Draft, *, mid_turn: bool = False) -> None:
        """Send a prompt, as soon as the chat is connected; into the turn that runs with `mid_turn`.

        One that can't be sent goes back to the editor (`return_draft`).
        """
        if chat := self.get(chat_id):
            chat.send(draft, mid_turn=mid_turn)
        else:
            self.screen.chats.return_draft(chat_id, draft, str(NotConnectedError()))

    def questions(self, window: WindowId) -> int:
        """How many permissions wait in a window's chats without a diff that shows them."""
        return sum(chat.approvals.questions for chat in self.within(window))

    def asking(self, window: WindowId) -> tuple[str, ...]:
        """The names of the agents that ask these, in alphabetical order."""
        asking = (chat for chat in self.within(window) if chat.approvals.questions)
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

        self.do(chat_id, cancel)

    def dequeue(self, chat_id: ChatId, prompt: str) -> None:
        """Remove a prompt that waits; its text goes back to the editor (`return_draft`)."""

        async def dequeue(chat: Chat) -> None:
            client, session = chat.connection.connected
            text = next((queued.text for queued in chat.status.queue if queued.id == prompt), "")
            is_ours = prompt in chat.outbox.queued
            if not await client.dequeue(session, prompt):
                self.screen.messenger.mention("This prompt is no longer in the queue.", chat.window)
            elif is_ours:
                chat.outbox.removed(prompt)
            else:
                chat.give_back(Draft(text), REMOVED)

        self.do(chat_id, dequeue)

    def unsend(self, chat_id: ChatId, unsent: str) -> None:
        """Take back what has not gone out to the daemon yet (`Frame.unsent`); it goes to the editor."""
        if chat := self.get(chat_id):
            if draft := chat.outbox.take_one(unsent):
                self.screen.chats.return_draft(chat_id, draft, "It was taken back before it was sent.")
            else:
                self.screen.messenger.mention("It has been sent already.", chat.window)

    def vote(self, chat_id: ChatId, permission: str, option: str | None, answers: Values | None = None) -> None:
        """Answer a permission with the id of an option; None for "cancelled"."""
        self.do(chat_id, lambda chat: chat.approvals.give(permission, option, answers))

    def reconnect(self, chat_id: ChatId, agent: AgentCommand | None = None) -> None:
        """Connect again, even if connected, with the current settings. The session is resumed.

        `agent` is the chat's agent with the command that the person allows now; None for the one that it has.
        """
        if chat := self.get(chat_id):
            chat.reconnect(agent)

    def confirm_here(self, chat_id: ChatId) -> None:
        """The person says that the daemon is on this computer."""
        if chat := self.get(chat_id):
            chat.connection.confirm_here()

    async def files(self, chat_id: ChatId, words: str) -> list[str]:
        """Files on the daemon's machine whose path has these words, relative to the chat's folder; for a completion."""
        chat = self[chat_id]
        client, _ = chat.connection.connected
        try:
            async with asyncio.timeout(FILES_LIMIT):
                found = await client.find_files(words, MAX_FILES)
        except TimeoutError:
            return []
        folder = chat.connection.folder
        allowed = await asyncio.to_thread(lambda: [path for path in found if not folder.refusal([path])])
        return sorted((path for path in allowed if path != "."), key=lambda path: (len(path), path))

    async def locality(self, chat_id: ChatId) -> str:
        """The page on what answers: where it runs, and with which servers, skills, providers and variables."""
        chat = self[chat_id]
        client, _, _ = await self.reached(chat_id)
        return await client.describe(chat.connector.locality)

    # The companion's life

    def inherit(self, left: Mapping[WindowId, Mapping[str, Any]], windows: Container[int]) -> None:
        """Take what the instance before this one has left; what belongs to a window that is gone ends.

        What another version of the package has left in another form is lost; the sessions can be resumed.
        """
        for window, one in left.items():
            try:
                self.window(window).daemons.inherit(one)
                for chat_id, chat in one["chats"].items():
                    if self._inherited(chat_id, window, chat).is_at_work and window in windows:
                        self.screen.chats.resume_chat(chat_id)
            except (LookupError, TypeError, ValueError, AttributeError):
                logger.exception("The chats of another version of the package can't be taken over")
            if window not in windows:
                self.window_closed(window)

    def _inherited(self, chat_id: ChatId, window: WindowId, left: Mapping[str, Any]) -> Chat:
        """A chat of the instance before this one. What waited in one that can't be read comes back from its tab."""
        chat = self.made(chat_id, window)
        try:
            chat.inherit(left)
        except (LookupError, TypeError, ValueError, AttributeError):
            logger.exception("A chat of another version of the package can't be taken over")
            chat.connector.end_inherited()
            del self.by_id[chat_id]
        return chat

    def dismiss(self) -> None:
        """Close all diffs without a vote: the questions stay with the daemon."""
        for chat in self.by_id.values():
            chat.approvals.dismiss()

    async def stop(self, *, hand_over: bool) -> dict[WindowId, dict[str, Any]]:
        """End everything; with `hand_over` all but the daemons. Returns what the next instance needs, by window."""
        chats = dict(self.by_id)
        self.by_id.clear()
        self._leave()
        shared, self.shared = self.shared, {}
        plain = await asyncio.gather(*(chat.stop(hand_over=hand_over) for chat in chats.values()))
        if not hand_over:
            await asyncio.gather(*(place.daemons.stop(QUICK_STOP_LIMIT) for place in shared.values()))
        if ending := list(self._ending):
            await asyncio.wait(ending, timeout=QUICK_STOP_LIMIT)
        left: dict[WindowId, dict[str, Any]] = {}
        for window, place in shared.items() if hand_over else ():
            own = {
                chat_id: one for (chat_id, chat), one in zip(chats.items(), plain, strict=True) if chat.window == window
            }
            left[window] = {**place.daemons.hand_over(), "chats": own}
        return left

    @staticmethod
    def end_inherited(left: Mapping[str, Any]) -> None:
        """End the agents and the daemons that no instance has taken over. From any thread; it blocks for a moment."""
        for chat in left["chats"].values():
            if agent := chat["process"]:
                end_left(agent)
        end_inherited(left)

    def _end(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.get_running_loop().create_task(work)
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
