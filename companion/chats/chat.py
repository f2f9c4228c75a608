"""One chat: reads and shows its conversation, and sends what the person writes.

Two tasks run while it is open: its `connection` reads, and its `renderer` shows, as often as the screen is ready. What
the person does comes from `chats`, which also has the `ChatWindow` that the chats of a window share. `LeftChat` is what
one instance of the package leaves of a chat to the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from ..agents import DAEMON_AGENT, AgentCommand
from ..backends.agent import Agent, AgentSession
from ..backends.connector import Connector
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError
from ..conversation.snapshot import (
    ChatNotice,
    ChoiceKind,
    ConnectionStatus,
    Item,
    Message,
    Snapshot,
    Status,
    Tool,
    Turn,
)
from ..editor import ChatId
from ..provenance.calls import ReportedTurn, calls_of
from .connection import ChatConnection, Chosen, option_kind
from .history import ChatChanges, ChatHistory, ChatSessions
from .outbox import ON_ITS_WAY, REMOVED, Outbox
from .permissions import Approvals
from .prompt import ChatFolder, Draft, Returned
from .sign_in import ChatSignIn
from .tasks import ChatTasks
from .transcript.render import Render
from .transcript.transcript import Transcript
from .watch import TurnWatch, VisitWatch

if TYPE_CHECKING:
    from .chats import ChatWindow

logger = logging.getLogger(__name__)

MANY = 50
"""Turns whose text takes long to make: about 0.2 ms each."""
SLICE = 200
"""Pieces that are new in one frame: a tool call or a notice is one, a message has one for each `PIECE` characters.

One more for each `LINES` lines that begin in them, since each line is looked at.
"""
PIECE = 1000
LINES = 50
FRAMES_PER_SECOND = 30
"""Snapshots that a screen gets at most."""
SLOW = 0.1
"""Seconds after which a screen counts as busy that hasn't taken what is to be shown."""
BEGIN_LIMIT = 0.2
"""Seconds within which the turn of a prompt begins that has left the queue."""
SEND_LIMIT = 60.0
"""Seconds that a prompt waits for the connection."""
QUICK_STOP_LIMIT = 1.0
"""Seconds that a private daemon has to end by itself while the editor waits."""
MOST_SHOWN = 200
"""Turns that a chat's text has, unless the person scrolls up to further ones."""
LEAST_SHOWN = 180
"""Turns that stay when there are more than that."""
CLOSED = "The chat was closed before this was sent."
CHANGED = "The conversation has changed before this was sent."
_OVER = {"lost", "ended"}
"""The states of a connection that only a person ends."""
BUSY = "A turn runs: wait until it ends, or cancel it first."
MAX_FILES = 50
"""How many files a completion offers."""
FILES_LIMIT = 2.0
"""Seconds for a completion."""


class Renderer:
    """Brings the view of a chat up to date."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._tasks: list[asyncio.Task[object]] = []
        self._fetching: asyncio.Task[object] | None = None
        self._is_shown_anew = False
        """Whether all was shown at once, because a part of it could not be."""
        self._written: tuple[str, int] = "", 0
        """A turn that has ended, and how many files were found to be changed in it. The tools tell less than that."""

    @property
    def _conversation(self) -> Conversation:
        return self._chat.connection.conversation

    def begin(self) -> None:
        """Show the whole conversation anew, and what comes."""
        self.stop()
        self._tasks = [self._chat.background(work) for work in (self._run(), self._look())]

    def stop(self) -> None:
        """Show nothing more."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    def show_earlier(self) -> None:
        """Show a page of the turns before the first one that is shown."""
        if not (self._fetching and not self._fetching.done()) and not self._conversation.show_earlier():
            self._fetching = self._chat.background(self._fetch_earlier())

    def turn_written(self, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn that has ended."""
        if self._conversation.has(turn):  # and not one of the conversation that was shown before
            self._written = turn, files
            self._chat.show_soon()

    async def _run(self) -> None:
        self._conversation.hide_earlier()
        transcript = Transcript()
        transcript.own_clients = self._chat.connector.daemons.own_clients
        known: dict[str, int] = {}
        async for snapshot in snapshots(self._conversation):
            self._look_after(snapshot)
            transcript.shows_diffs = self._chat.place.shows_diffs
            for part in slices(snapshot, known):
                self._is_shown_anew = False
                if not await self._shown(transcript, part):
                    asyncio.get_running_loop().call_soon(self._chat.close)
                    return
                if self._is_shown_anew:
                    break

    async def _look(self) -> None:
        """Look after what goes on while the screen is busy, as long as a dialog is open there."""
        while True:
            await self._conversation.changed.wait()
            await asyncio.sleep(SLOW)
            if self._conversation.changed.is_set():
                self._look_after(self._conversation.peek())

    def _look_after(self, snapshot: Snapshot) -> None:
        try:
            self._chat.look_after(snapshot)
        except Exception:
            logger.exception("What a chat asks could not be looked after")

    async def _fetch_earlier(self) -> None:
        """Put the page before the first turn that is known into the conversation; say what goes wrong."""
        try:
            client, session = self._chat.connection.connected
            page, has_more = await client.earlier(session, self._conversation.oldest)
        except ChatError as error:
            self._chat.mention(str(error))
            return
        self._conversation.prepend(page, has_more=has_more)

    async def _shown(self, transcript: Transcript, snapshot: Snapshot) -> bool:
        """Bring the editor up to date. Returns whether it shows the chat at all."""
        has_failed = False
        while True:
            try:
                self._chat.outbox.shown()
                render = await self._render(transcript, snapshot)
                return await self._chat.place.screen.chats.show_chat(self._chat.id, render)
            except TimeoutError:
                # It may have been shown or not.
                pass
            except Exception as error:
                logger.exception("The chat could not be shown")
                if has_failed:
                    why = f"The chat could not be shown ({type(error).__name__})."
                    self._chat.place.screen.messenger.say(why, self._chat.window)
                    self._chat.connection.break_off(why)
                    transcript.reset()
                    return True
                has_failed = True
            transcript.reset()
            snapshot, self._is_shown_anew = self._conversation.whole_snapshot(), True
            self._look_after(snapshot)

    async def _render(self, transcript: Transcript, snapshot: Snapshot) -> Render:
        """The text of a snapshot; that of many turns is made on another thread, so that the loop isn't held up."""
        turn, files = self._written
        if turn in snapshot.order[-1:] and not snapshot.status.running:
            snapshot = replace(snapshot, status=replace(snapshot.status, changed=files))
        about = snapshot, self._chat.connector.locality, self._chat.connection.session, self._chat.outbox.unsent
        if len(snapshot.changed) > MANY:
            render = await asyncio.to_thread(transcript.update, *about)
        else:
            render = transcript.update(*about)
        chosen = self._chat.connection.chosen.as_plain(self._chat.connection.session)
        return replace(render, chosen=chosen, waiting=self._chat.waiting)


def slices(snapshot: Snapshot, known: dict[str, int]) -> Iterator[Snapshot]:
    """A snapshot as several, each with at most `SLICE` pieces more than the one before.

    An agent may tell of thousands of tool calls between two frames, or send a message of megabytes. `known` has how
    many pieces of each turn were shown, and is brought up to date.
    """
    for key in known.keys() - set(snapshot.order):
        del known[key]
    turns, left = list[Turn](), SLICE
    for turn in snapshot.changed:
        shown, count = known.get(turn.key, 0), sum(map(_pieces, turn.items))
        while count - shown > left:
            shown += left
            yield replace(snapshot, changed=(*turns, replace(turn, items=tuple(_first(turn.items, shown)))))
            turns, left = [], SLICE
        left -= max(0, count - shown)
        known[turn.key] = count
        turns.append(turn)
    yield replace(snapshot, changed=tuple(turns))


def _pieces(item: Item) -> int:
    return sum(_weights(item.text)) if isinstance(item, Message) else 1


def _weights(text: str) -> Iterator[int]:
    """How many pieces each `PIECE` characters of a text are."""
    return (1 + text.count("\n", at, at + PIECE) // LINES for at in range(0, len(text) + 1, PIECE))


def _first(items: Iterable[Item], pieces: int) -> Iterator[Item]:
    """The first pieces of items; a message may end in the middle of its text."""
    for item in items:
        if pieces <= 0:
            return
        if isinstance(item, Message) and pieces < _pieces(item):
            whole = sum(total <= pieces for total in accumulate(_weights(item.text)))
            yield replace(item, text=item.text[: whole * PIECE])
        else:
            yield item
        pieces -= _pieces(item)


async def snapshots(conversation: Conversation, per_second: float = FRAMES_PER_SECOND) -> AsyncGenerator[Snapshot]:
    """What to show: at once, and then after changes, at most `per_second` times.

    The next snapshot is taken when it is asked for, so a slow screen gets fewer. A conversation has one such reader.
    """
    yield conversation.whole_snapshot()
    while True:
        await conversation.changed.wait()
        yield conversation.snapshot()
        await asyncio.sleep(1 / per_second)


class Chat:
    """A conversation with an agent in a tab. Another conversation in the same tab is another chat.

    `sessions`, `history`, `changes`, `tasks` and `sign_in` are what can be done besides the conversation.
    """

    def __init__(
        self,
        chat_id: ChatId,
        place: ChatWindow,
        folder: str,
        session: str = "",
        agent: AgentCommand | None = None,
        chosen: Chosen | None = None,
        left: LeftChat | None = None,
    ) -> None:
        """`session` is the id of the one to resume, empty for a new one.

        `agent` is the agent to start, which the person has allowed; None for the daemon. `chosen` is what the person
        has chosen for the session, `left` is what an earlier instance of the package has left of this tab.
        """
        self.id = chat_id
        self.place = place
        self.window = place.id
        self._left = left or LeftChat(folder)
        self.connector = Connector(place, place.daemons, folder, agent)
        self.connector.inherited = self._left.process
        self.connection = ChatConnection(self.connector, place, session, chosen)
        self._tasks: set[asyncio.Task[object]] = set()
        self._reading: asyncio.Task[object] | None = None
        self._seeing_out: asyncio.Task[object] | None = None
        self._turn_watch = TurnWatch(chat_id, place.id, place.turns)
        self._visit_watch = VisitWatch(chat_id, place.id, place.screen, self.connection.path_there)
        self.outbox = Outbox(self)
        self.approvals = Approvals(self)
        self.renderer = Renderer(self)
        self.sessions = ChatSessions(self)
        self.history = ChatHistory(self)
        self.changes = ChatChanges(self)
        self.tasks = ChatTasks(self)
        self.sign_in = ChatSignIn(self)

    @property
    def is_open(self) -> bool:
        """Whether its tab shows it."""
        return self._reading is not None and self._seeing_out is None

    @property
    def needs_daemon(self) -> bool:
        """Whether it talks to the daemon of its folder: it is open, or sees a turn to its end there."""
        return self._reading is not None and self.connector.agent is None

    @property
    def _outlasts(self) -> bool:
        """Whether the daemon goes on with a turn that is shown, whatever the tab shows next."""
        is_daemons = self.connector.agent is None and self.is_local
        return self.is_open and is_daemons and self.status.running is not None

    @property
    def _is_shown_again(self) -> bool:
        """Whether another chat of the window shows its session."""
        return any(each.is_open and self.shares_session(each) for each in self.place.chats.within(self.window))

    def shares_session(self, other: Chat) -> bool:
        """Whether another chat of the window is about the same session."""
        is_known = other is not self and bool(self.connection.session)
        return is_known and self.window == other.window and self.shown == other.shown

    @property
    def shown(self) -> tuple[str, str, str]:
        """What it shows: a folder, the name of the agent to start, and a session."""
        return self.connector.folder, self._agent_name, self.connection.session

    @property
    def _agent_name(self) -> str:
        return self.connector.agent.name if self.connector.agent else ""

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
        return self.connector.locality.is_local

    @property
    def agent(self) -> str:
        """What the agent calls itself."""
        return self.connector.locality.agent

    # Opening and closing

    def begin(self) -> None:
        """Show the conversation from now on; go on with what an earlier instance has left of it if that can be."""
        left = self._left
        goes_on = self.connector.can_resume and self.connection.session == left.session
        if goes_on and left.conversation and (conversation := restored(left.conversation)):
            self.connection.conversation = conversation
            self.outbox.inherit(left.queued, left.held)
            self._left, unsent = LeftChat(held=left.held), left.unsent
        else:
            unsent = self._give_up()
        self.connector.private.may_restart = True
        self._give_back_all(unsent, "It was not sent before the package was reloaded.")
        self._reading = self.background(self.connection.run())
        self.renderer.begin()

    def _give_up(self) -> list[Returned]:
        """Nobody goes on with what an earlier instance has left. Returns what waited there."""
        self.connector.end_inherited()
        left, self._left = self._left, LeftChat()
        return [*left.unsent, *map(Returned, (*left.held.values(), *left.queued.values()))]

    def close(self, why: str = CLOSED) -> None:
        """It isn't shown any more. The turn of a daemon is seen to its end: what it writes is to be listed.

        What was not sent goes back with a sentence that says `why`.
        """
        if self._outlasts:
            queued = self.outbox.queued
            self._give_back_unsent(why, with_queue=False)
            self.outbox.inherit(queued, {})
            self.approvals.dismiss()
            self.renderer.stop()
            self._seeing_out = self.background(self._see_out())
        elif self._seeing_out is None:  # a frame may have missed the tab before its end is told
            self.leave(why)

    async def _see_out(self) -> None:
        """Read on until what runs is over, and what waits for its turn there; or until it asks what nobody sees.

        What is ours in the queue comes back if what answers ends before it has begun that.
        """
        conversation, had_queue, has_ended = self.connection.conversation, False, False
        while (status := self.status).running is not None or status.queue or had_queue:
            if has_ended := status.connection.state != "live" and self.connector.has_moved:
                break
            is_unseen = bool(status.permissions) and not self._is_shown_again
            is_stuck = is_unseen or status.connection.state in _OVER
            if is_stuck and (self._loses_queue or not self.outbox.queued):
                break
            if status.running is None and not status.queue:
                await asyncio.sleep(BEGIN_LIMIT)
            else:
                await conversation.changed.wait()
            had_queue = bool(status.queue)
            self._watch_turns(conversation.snapshot())
        self._seeing_out = None
        self.leave(with_daemon=has_ended)

    def leave(self, why: str = CLOSED, *, with_daemon: bool = False) -> None:
        """Nobody reads it any more. What was not sent goes back to the person, whose tab may have moved.

        `with_daemon`: its private daemon ends as well, or has ended.
        """
        self.outbox.shown()  # of what was lost or removed since its tab was closed nobody has heard
        self._give_back_unsent(why, with_queue=self._loses_queue or (with_daemon and self._ends_here))
        self._end()
        if self.is_local:  # its turn is over with what was done in it so far
            self.connection.conversation.interrupt()
            self._watch_turns(self.connection.conversation.whole_snapshot())

    def _give_back_unsent(self, why: str, *, with_queue: bool) -> None:
        taken = self._take_unsent(with_queue=with_queue)
        self._give_back_all([*self._give_up(), *taken], why)

    async def finished(self) -> None:
        """Wait until everything is done that had begun when the view was closed."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def reconnect(self, agent: AgentCommand | None = None) -> None:
        """Start over: settings, private daemon, connection. The session is resumed.

        `agent` is the chat's agent with the command that the person allows now; None for the one that it has.
        """
        self.connector.agent = agent if agent and self.connector.agent else self._agent_now
        self.connector.private.may_restart = True
        self.connection.chosen.try_again()
        # A daemon that is being reached gets the settings of now anyway.
        if self.status.connection.state != "connecting" or self.connection.has_client:
            held = self._take_held()
            self.connection.conversation.set_connection(ConnectionStatus("connecting"))
            self.connection.again()
            for draft in held.values():
                # The agent has refused it until the person signs in.
                self.outbox.send(draft, mid_turn=False)

    @property
    def waiting(self) -> tuple[Returned, ...]:
        """What would be lost if the editor ended now, the oldest first."""
        return (*map(Returned, self._held.values()), *self.outbox.left(with_queue=self._ends_here))

    @property
    def _loses_queue(self) -> bool:
        """Whether nobody goes on with what waits for its turn once the chat ends: a daemon does."""
        return self.connector.agent is not None or self.status.connection.state == "ended"

    @property
    def _ends_here(self) -> bool:
        """Whether what answers ends with the window, and its queue with it."""
        return self._loses_queue or self.connector.locality.is_private

    @property
    def _held(self) -> dict[str, Draft]:
        """The prompt that waits for a sign-in, by its id; empty if none does, or its draft isn't known."""
        prompt = self.connection.held
        draft = self.outbox.sent.get(prompt or "")
        return self._left.held | ({prompt: draft} if prompt and draft else {})

    def _take_held(self) -> dict[str, Draft]:
        """The same, only once."""
        held, self._left.held = self._held, {}
        for prompt in held:
            self.outbox.sent.pop(prompt, None)  # the agent holds it until its connection has ended
        return held

    def configured(self, *, is_changed: bool) -> None:
        """The settings were read. The chat's apply at the next connection; a chat that is switched off ends now."""
        self.show_soon()  # the window may want diffs now
        if self.connector.agent:
            return
        if not self.place.settings.enabled:
            if self.is_open:
                self.connection.again()
        elif is_changed and self.status.connection.state in {"waiting", "lost"}:
            self.connection.again()

    async def stop(self, *, hand_over: bool = False) -> dict[str, Any]:
        """End everything; with `hand_over` all but the session.

        Returns what the next instance needs to go on with them, as plain data.
        """
        self.connection.stays = hand_over
        has_turn = self.is_open and self.status.running is not None
        queued, held = dict[str, Draft](), dict[str, Draft]()
        if self.connector.agent:  # a daemon keeps its queue
            queued, held = self.outbox.queued, self._take_held()
        self._end()
        unsent = self._take_unsent(with_queue=False)
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not hand_over:
            self.connector.end_inherited()
        process = self.connection.left or self.connector.inherited
        if process is None:  # nobody goes on with what waits there
            unsent += map(Returned, (*held.values(), *queued.values()))
            queued, held = {}, {}
        return {
            "folder": self.connector.folder,
            "session": self.connection.session,
            "agent": self._agent_name,
            "process": process,
            "unsent": [asdict(each) for each in unsent],
            "queued": {prompt: asdict(draft) for prompt, draft in queued.items()},
            "held": {prompt: asdict(draft) for prompt, draft in held.items()},
            "conversation": plain(self.connection.conversation) if process else None,
            "has_turn": has_turn,
        }

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Do something as long as the chat is there."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def send(self, draft: Draft, *, mid_turn: bool) -> None:
        """Send a draft as soon as the chat is connected."""
        # What is being reached or loaded takes it once it is there.
        if self.status.connection.state in {"waiting", "lost", "ended"}:
            self.reconnect()
        # Who sends something looks at the end.
        self.connection.conversation.hide_earlier(MOST_SHOWN, LEAST_SHOWN)
        self.connection.chosen.sends(self.status)
        self.outbox.send(draft, mid_turn=mid_turn)

    def show(self, session: str = "", chosen: Chosen | None = None) -> None:
        """Show another conversation in this tab, if that is open. See `Chats.show`."""
        self.place.chats.show(self.id, session, chosen)

    def unsend(self, unsent: str) -> None:
        """Take back what has not gone out to the agent yet (`Render.unsent`); it goes to the editor."""
        if draft := self.outbox.take_one(unsent):
            self.give_back(draft, "It was taken back before it was sent.")
        else:
            self.mention("It has been sent already.")

    async def dequeue(self, prompt: str) -> None:
        """Remove a prompt that waits for its turn; its text goes back to the editor."""
        client, session = self.connection.connected
        text = next((queued.text for queued in self.status.queue if queued.id == prompt), "")
        is_ours = prompt in self.outbox.queued
        if not await client.dequeue(session, prompt):
            self.mention("This prompt is no longer in the queue.")
        elif is_ours:
            self.outbox.unbegun(prompt)
        else:
            self.give_back(Draft(text), REMOVED)

    async def cancel(self, turn: str | None = None) -> None:
        """End the turn that runs, or the start of an agent.

        With `turn`, what the person saw running, one that has begun since then goes on.
        """
        if self.connection.call_off():
            return
        client, session = self.connection.connected
        if turn is None or self.status.running in (None, turn):
            await client.cancel(session)

    async def switch(self, kind: ChoiceKind, value: str) -> None:
        """Switch the mode, the model, or how long the model thinks."""
        client, session = self.connection.connected
        await client.switch(session, kind, value)
        self._chose(kind, value)
        if kind == "effort" and (choices := await client.choices(session)):
            self.connection.conversation.set_choices(choices)
        if kind == "model" and client.model_is_default:
            name = next((choice.name for choice in self.status.models if choice.id == value), value)
            self.mention(f"{name} is now your default model in {DAEMON_AGENT}, too.")

    async def set_option(self, option: str, value: str | bool) -> None:
        """Set another option of the session, to the id of a value or to true or false."""
        client, session = self.connection.connected
        await client.set_option(session, option, value)
        self._chose(option_kind(option), value)

    def _chose(self, kind: str, value: str | bool) -> None:
        self.connection.chosen.take(kind, value)
        self.show_soon()

    async def files(self, words: str) -> list[str]:
        """Files on the agent's machine whose path has these words, relative to the chat's folder; for a completion."""
        client, _ = self.connection.connected
        try:
            async with asyncio.timeout(FILES_LIMIT):
                found = await client.find_files(words, MAX_FILES)
        except TimeoutError:
            return []
        folder = self.connection.folder
        allowed = await asyncio.to_thread(lambda: [path for path in found if not folder.refusal([path])])
        return sorted((path for path in allowed if path != "."), key=lambda path: (len(path), path))

    async def locality(self) -> str:
        """The page on what answers: where it runs, and with which servers, skills, providers and variables."""
        client, _, _ = await self.connection.reached()
        return await client.describe(self.connector.locality)

    def check_idle(self) -> None:
        """Raise a ChatError if a turn runs."""
        if self.status.running is not None:
            raise ChatError(BUSY)

    def mention(self, sentence: str) -> None:
        """Say something to the person, in the chat's window."""
        self.place.screen.messenger.mention(sentence, self.window)

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Start doing something. A failure is shown, not raised."""

        async def do() -> None:
            try:
                await work
            except ChatError as error:
                self.mention(str(error))

        self.background(do())

    def show_soon(self) -> None:
        """Something is to be shown, although nothing has changed in the conversation."""
        self.connection.conversation.changed.set()

    async def ready(self) -> tuple[Agent, AgentSession, ChatFolder]:
        """The connection, once something may be sent.

        Raises:
            NotConnectedError: there is none within `SEND_LIMIT` seconds.
            UndecidedError: what the person has chosen does not hold.
            ChatError: what keeps it from that.
        """
        found = await self.connection.reached(SEND_LIMIT)
        self.connection.chosen.check()
        return found

    def look_after(self, snapshot: Snapshot) -> None:
        """What follows from a look besides that it is shown."""
        self.connection.seen(snapshot)
        if snapshot.status.queue:
            self.place.chats.take_queues(self)
        if self.is_local:
            self._watch_turns(snapshot)
            self._visit_watch.seen(snapshot, self.agent)
        is_lost = snapshot.status.connection.state == "lost"
        if self.connection.has_client or is_lost:
            self._settle_held()
        if is_lost and self.connector.agent:
            self.outbox.lost(self.agent)
        if snapshot.status.connection.state in _OVER:
            self.approvals.dismiss()
        else:
            self.approvals.update(snapshot)

    def _settle_held(self) -> None:
        """Give back the prompt that has waited for a sign-in since before a reload, if its agent was not taken up."""
        held, self._left.held = self._left.held, {}
        for prompt, draft in held.items():
            if prompt != self.connection.held:
                self.give_back(draft, f"{self.agent} has ended before it began this.")

    def _watch_turns(self, snapshot: Snapshot) -> None:
        for turn in self._turn_watch.seen(snapshot, self.agent, self.outbox.sent_at):
            calls = tuple(calls_of(turn, self.connection.path_there))
            about = self.status.model, self.connection.session, turn.key, self.connector.folder, self._agent_name
            told = ReportedTurn(self.agent, turn.asked, calls, *about, began=turn.began or 0.0)
            self.place.reasons.turn_over(self.place.id, told)

    @property
    def _agent_now(self) -> AgentCommand | None:
        """The agent as the settings have it now, with the command that the person has said yes to."""
        agent = self.connector.agent
        same = (
            each
            for each in self.place.settings.agents
            if agent and (each.name, each.command) == (agent.name, agent.command)
        )
        return next(same, agent)

    def _end(self) -> None:
        """Stop reading and showing."""
        self.approvals.dismiss()
        self.renderer.stop()
        for task in filter(None, (self._reading, self._seeing_out)):
            task.cancel()
        self._reading = self._seeing_out = None

    def _take_unsent(self, *, with_queue: bool) -> list[Returned]:
        """Stop sending. Returns what was not sent; `with_queue` what waits for its turn, too."""
        # An agent's process goes with its queue, and with the prompt that it holds; a daemon keeps them.
        held = self._take_held() if with_queue else {}
        return [*map(Returned, held.values()), *self.outbox.take(with_queue=with_queue)]

    def _give_back_all(self, unsent: Iterable[Returned], why: str) -> None:
        for each in unsent:
            self.give_back(each.draft, ON_ITS_WAY if each.may_have_arrived else why)

    def give_back(self, draft: Draft, why: str) -> None:
        """Put a draft back into the prompt, and say why."""
        self.place.screen.chats.return_draft(self.id, draft, why)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("Unexpected: %s", error, exc_info=error)


def plain(conversation: Conversation) -> dict[str, Any]:
    """A conversation as plain data."""
    return {"status": asdict(conversation.status), "turns": [asdict(turn) for turn in conversation.turns]}


def restored(data: Mapping[str, Any]) -> Conversation | None:
    """The conversation that `plain` was given; None if another version of the package has left it in another form."""
    try:
        status = _adapter(Status).validate_python(data["status"])
        left = [{**turn, "items": tuple(map(_item, turn["items"]))} for turn in data["turns"]]
        turns = _adapter(tuple[Turn, ...]).validate_python(left)
    except (ValidationError, LookupError, TypeError, AttributeError):
        return None
    conversation = Conversation()
    conversation.restore(turns, status)
    return conversation


def _item(data: Mapping[str, Any]) -> Item:
    """An item of a turn. A call in another form must not pass for a line of the chat's, which has a text, too."""
    kind = Message if "speaker" in data else Tool if "id" in data else ChatNotice
    return _adapter(kind).validate_python(data)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@dataclass
class LeftChat:
    """What one instance of the package leaves of a chat to the next one; `Chat.stop` has it as plain data."""

    folder: str = ""
    session: str = ""
    agent: str = ""
    """The name of the agent to start; empty for the daemon."""
    process: dict[str, Any] | None = None
    """The agent that goes on."""
    unsent: list[Returned] = field(default_factory=list[Returned])
    """What goes back to the person."""
    queued: dict[str, Draft] = field(default_factory=dict[str, Draft])
    """What waits for its turn, by the ids of the prompts."""
    held: dict[str, Draft] = field(default_factory=dict[str, Draft])
    """The prompt that waits for a sign-in, by its id, until its agent is taken up."""
    conversation: dict[str, Any] | None = None
    """What was shown, as plain data."""
    has_turn: bool = False
    """Whether a turn ran."""

    @classmethod
    def of(cls, left: Mapping[str, Any]) -> LeftChat:
        """What another instance has left.

        Raises:
            ValidationError: it was another version of the package, and has left it in another form.
        """
        return _adapter(cls).validate_python(left)
