"""The chats of all windows: which there are, and what the editor tells of them.

A chat is named by the id of its view, which no other view of the editor has and which a reload leaves as it is.

Everything here runs on the companion thread. Failures are shown through the editor, never raised, except by
the methods that return something: those raise a ChatError with a message for the person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ..backends.agent import OfferedServer, Surroundings
from ..backends.connector import Connector, Daemons, end_inherited, end_left
from ..background import answered
from ..clis.environment import LoginEnvironment
from ..conversation.failures import NotConnectedError
from ..editor import ChatId, WindowId
from ..exclusion import Sharing
from ..json_text import as_object
from ..platforms import programs
from ..platforms.files import HangingError, real_folder
from ..review.reviews import Reviews
from ..settings import DaemonSettings
from .chat import CHANGED, CLOSED, QUICK_STOP_LIMIT, Chat, LeftChat
from .chat_screen import ChatScreen
from .connection import Chosen
from .history import ChangedFile, changed_in
from .outbox import ON_ITS_WAY
from .prompt import Draft, Returned

if TYPE_CHECKING:
    from ..changes.rounds import Rounds
    from ..provenance.why import Provenance

logger = logging.getLogger(__name__)

FOLDER_LIMIT = 5.0
"""Seconds to look at a folder of the window that an agent is to get."""
CUT_OFF = "This still waited when the editor was closed."


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
        self.chats = chats
        self.daemons = Daemons(self)

    @property
    def settings(self) -> DaemonSettings:
        """As they are now."""
        return self.chats.settings

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
        return {chat.connector.folder for chat in self.chats.all_of(self.id) if chat.needs_daemon}

    def sharing(self) -> Sharing:
        """What may be told of the window's files."""
        return self.chats.windows.sharing_of(self.id)

    async def surroundings(self) -> Surroundings:
        """What an agent gets besides the folder of its chat."""
        settings, sharing, folders = self.settings, self.sharing(), self.chats.windows.folders_of(self.id)
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
        return self.chats.windows.admit(self.id, agent) if self.settings.agents_use_editor else None

    def dismiss(self, token: str) -> None:
        """The agent has ended: its token is worth nothing any more."""
        self.chats.windows.dismiss_agent(self.id, token)


class Chats:
    """The chats of an editor's windows."""

    def __init__(
        self, screen: ChatScreen, reviews: Reviews, windows: Windows, turns: Rounds, reasons: Provenance
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
        self._unopened: dict[ChatId, tuple[WindowId, Mapping[str, Any]]] = {}
        """The windows of chats that nobody has opened since a reload, and what was left of them (`LeftChat`)."""
        self.shared: dict[WindowId, ChatWindow] = {}
        """What the chats of each window share, once there was one."""
        self._ending: set[asyncio.Task[None]] = set()
        """The ends of what has closed."""
        self._leaving: set[Chat] = set()
        """Those that nothing shows any more, until they are done."""

    def window(self, window: WindowId) -> ChatWindow:
        """What the chats of a window share."""
        if window not in self.shared:
            self.shared[window] = ChatWindow(self, window)
        return self.shared[window]

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

    def within(self, window: WindowId) -> list[Chat]:
        """The chats of a window."""
        return [chat for chat in self.by_id.values() if chat.window == window]

    def all_of(self, window: WindowId) -> list[Chat]:
        """The same, with those that nothing shows any more and that are not done."""
        return [*self.within(window), *(chat for chat in self._leaving if chat.window == window)]

    def tell(self, chat_id: ChatId, call: Callable[[Chat], Coroutine[Any, Any, None] | None]) -> None:
        """Have a chat do something. A failure is shown, not raised."""
        if chat := self.get(chat_id):
            if work := call(chat):
                chat.do(work)
        else:
            self.screen.messenger.say(str(NotConnectedError()))

    def configure(self, settings: DaemonSettings) -> None:
        """The settings were read or have changed. What they turn off ends; the rest holds from the next connection."""
        before, self.settings = self.settings, settings
        for chat in self.by_id.values():
            chat.configured(is_changed=settings != before)
        for chat in self._leaving if not settings.enabled else ():
            if chat.needs_daemon:
                chat.leave(with_daemon=True)
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
        chat = self.get(chat_id)
        left = LeftChat.of(self._unopened[chat_id][1]) if chat_id in self._unopened else None
        shown = chat.shown if chat else (left.folder, left.agent, left.session) if left else None
        if shown and not session and shown[:2] == (folder, agent):
            session = shown[2]
        if chat and chat.is_open and shown == (folder, agent, session):
            chat.renderer.begin()
            return
        command = next((each for each in self.settings.agents if each.name == agent), None)
        if agent and command is None:
            self.screen.messenger.say(f"There is no agent “{agent}” in the setting “agents”.", window)
        else:
            self._unopened.pop(chat_id, None)
            kept = Chosen.from_plain(chosen, session)
            self._begin(Chat(chat_id, self.window(window), folder, session, command, kept, left))
            if not shown:
                self._give_back(chat_id, waiting)

    def _begin(self, chat: Chat) -> None:
        """Show a chat in its tab, in the place of the one that was there."""
        if before := self.by_id.get(chat.id):
            self._see_off(before, CHANGED)
            chat.outbox.sent |= before.outbox.sent  # the person may come back to that conversation
        self.by_id[chat.id] = chat
        chat.begin()

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
        """The ids of the sessions that chats show, or see a turn to its end in."""
        unopened = {plain["session"] for _, plain in self._unopened.values()}
        chats = (*self.by_id.values(), *self._leaving)
        return (unopened | {chat.connection.session for chat in chats}) - {""}

    def turn_written(self, chat_id: ChatId, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn that has ended."""
        if chat := self.get(chat_id):
            chat.renderer.turn_written(turn, files)

    async def turn_changes(self, window: WindowId, turn: str, folder: str) -> tuple[ChangedFile, ...] | None:
        """What a turn of anybody, by its key, had changed when it ended; None if nobody has looked at the files.

        The names are relative to the folder.
        """
        texts = await self.turns.turn_texts(window, turn)
        return None if texts is None else await asyncio.to_thread(changed_in, texts, folder)

    def close(self, chat_id: ChatId, waiting: Sequence[Returned] = ()) -> None:
        """The person has closed the chat's view. A private daemon runs until the window closes.

        `waiting` is as in `open`.
        """
        if chat := self.by_id.pop(chat_id, None) or self._take_unopened(chat_id):
            self._see_off(chat, CLOSED)
        else:
            self._give_back(chat_id, waiting)

    def _take_unopened(self, chat_id: ChatId) -> Chat | None:
        """A chat that nobody has opened since a reload, to be ended."""
        if chat_id not in self._unopened:
            return None
        window, plain = self._unopened.pop(chat_id)
        left = LeftChat.of(plain)
        return Chat(chat_id, self.window(window), left.folder, left=left)

    def show(self, chat_id: ChatId, session: str = "", chosen: Chosen | None = None) -> None:
        """Show another conversation in a chat's tab, if that is open: the one of a session, or a new one."""
        if (chat := self.get(chat_id)) is None:
            return
        if chat.is_open and session and session == chat.connection.session:
            chat.renderer.begin()
        else:
            where = chat.connector
            self._begin(Chat(chat_id, chat.place, where.folder, session, where.agent, chosen))

    def take_queues(self, chat: Chat) -> None:
        """A chat shows what waits in its session: it gives it back, not one that sees a turn to its end there."""
        for other in filter(chat.shares_session, self._leaving):
            if queued := other.outbox.queued:
                chat.outbox.inherit(queued, {})
                other.outbox.take(with_queue=False)

    def _see_off(self, chat: Chat, why: str) -> None:
        chat.close(why)
        for each in self._leaving:
            each.show_soon()  # it may have gone on because this one has shown its session again
        self._leaving.add(chat)
        self._end(self._until_left(chat))

    async def _until_left(self, chat: Chat) -> None:
        await chat.finished()
        self._leaving.discard(chat)

    def _leave(self, window: WindowId | None = None) -> None:
        """Nobody reads any more what closed chats have left, those of a window if one is named."""
        for chat in self._leaving:
            if window in (None, chat.window):
                chat.leave(with_daemon=window is not None)

    def _give_back(self, chat_id: ChatId, waiting: Sequence[Returned]) -> None:
        for each in waiting:
            self.screen.chats.return_draft(chat_id, each.draft, ON_ITS_WAY if each.may_have_arrived else CUT_OFF)

    def window_closed(self, window: WindowId) -> None:
        """A window closes: its chats and its private daemons end."""
        unopened = [chat_id for chat_id, (home, _) in self._unopened.items() if home == window]
        chats = [*self.within(window), *filter(None, map(self._take_unopened, unopened))]
        for chat in chats:
            self.by_id.pop(chat.id, None)
        for chat in chats:
            chat.leave(with_daemon=True)
        self._leave(window)
        place = self.shared.pop(window, None)

        async def end() -> None:
            # To cancel again what a chat still does would cut short how its agent is ended.
            await asyncio.gather(*(chat.finished() for chat in chats))
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

    # The companion's life

    def inherit(self, left: Mapping[WindowId, Mapping[str, Any]], windows: Container[int]) -> None:
        """Take what the instance before this one has left; what belongs to a window that is gone ends.

        What another version of the package has left in another form is lost; the sessions can be resumed.
        """
        for window, one in left.items():
            try:
                self.window(window).daemons.inherit(one)
                for chat_id, chat in one["chats"].items():
                    self._inherit(chat_id, window, chat, can_resume=window in windows)
            except (LookupError, TypeError, ValueError, AttributeError):
                logger.exception("The chats of another version of the package can't be taken over")
            if window not in windows:
                self.window_closed(window)

    def _inherit(self, chat_id: ChatId, window: WindowId, plain: Mapping[str, Any], *, can_resume: bool) -> None:
        """Keep what is left of a chat until that is opened: at once if an agent or a turn goes on.

        What waited in one that can't be read comes back from its tab.
        """
        try:
            left = LeftChat.of(plain)
        except ValueError:
            logger.exception("A chat of another version of the package can't be taken over")
            place = self.window(window)
            connector = Connector(place, place.daemons, "")
            connector.inherited = as_object(plain).get("process")
            connector.end_inherited()
            return
        self._unopened[chat_id] = window, plain
        if can_resume and (left.process or left.has_turn):
            self.screen.chats.resume_chat(chat_id)

    def dismiss(self) -> None:
        """Close all diffs without a vote: the questions stay with the daemon."""
        for chat in self.by_id.values():
            chat.approvals.dismiss()

    async def stop(self, *, hand_over: bool) -> dict[WindowId, dict[str, Any]]:
        """End everything; with `hand_over` all but the daemons. Returns what the next instance needs, by window."""
        unopened = dict(self._unopened)
        if not hand_over:
            self.by_id.update({chat_id: chat for chat_id in unopened if (chat := self._take_unopened(chat_id))})
        chats, self.by_id, self._unopened = self.by_id, {}, {}
        self._leave()
        shared, self.shared = self.shared, {}
        plain = await asyncio.gather(*(chat.stop(hand_over=hand_over) for chat in chats.values()))
        if not hand_over:
            await asyncio.gather(*(place.daemons.stop(QUICK_STOP_LIMIT) for place in shared.values()))
        if ending := list(self._ending):
            await asyncio.wait(ending, timeout=QUICK_STOP_LIMIT)
        left: dict[WindowId, dict[str, Any]] = {}
        for window, place in shared.items() if hand_over else ():
            own = {chat_id: one for chat_id, (home, one) in unopened.items() if home == window}
            for chat, one in zip(chats.values(), plain, strict=True):
                own |= {chat.id: one} if chat.window == window else {}
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
