"""One chat: reads and shows its conversation, and sends what the person writes.

Two tasks run while it is open: its `connection` reads, and its `renderer` shows, as often as the screen is ready. What
the person does comes from `chats`, which also has the `ChatWindow` that the chats of a window share. `Inherited` is
what one instance of the package leaves of a chat for the next one, besides the process that answers.
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

from ..agents import AgentCommand
from ..backends.agent import Agent, AgentSession
from ..backends.connector import Connector
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError
from ..conversation.snapshot import ChatNotice, ConnectionStatus, Item, Message, Snapshot, Status, Tool, Turn
from ..editor import ChatId
from ..provenance.calls import ReportedTurn, calls_of
from .connection import ChatConnection, Chosen
from .outbox import ON_ITS_WAY, Outbox
from .permissions import Approvals
from .prompt import ChatFolder, Draft, Excerpt, Returned
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

    def begin(self) -> None:
        """Show the whole conversation anew, and what comes."""
        self.stop()
        conversation = self._chat.connection.conversation
        self._tasks = [self._chat.background(work) for work in (self._run(conversation), self._look(conversation))]

    def stop(self) -> None:
        """Show nothing more."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    def show_earlier(self) -> None:
        """Show a page of the turns before the first one that is shown."""
        conversation = self._chat.connection.conversation
        if not (self._fetching and not self._fetching.done()) and not conversation.show_earlier():
            self._fetching = self._chat.background(self._fetch_earlier(conversation))

    def turn_written(self, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn that has ended."""
        conversation = self._chat.connection.conversation
        if conversation.has(turn):  # and not one of the conversation that was shown before
            self._written = turn, files
            conversation.changed.set()

    async def _run(self, conversation: Conversation) -> None:
        conversation.hide_earlier()
        transcript = Transcript()
        transcript.own_clients = self._chat.connector.daemons.own_clients
        known: dict[str, int] = {}
        async for snapshot in snapshots(conversation):
            self._look_after(snapshot)
            transcript.shows_diffs = self._chat.place.shows_diffs
            for part in slices(snapshot, known):
                self._is_shown_anew = False
                if not await self._shown(transcript, part, conversation):
                    asyncio.get_running_loop().call_soon(self._chat.close)
                    return
                if self._is_shown_anew:
                    break

    async def _look(self, conversation: Conversation) -> None:
        """Look after what goes on while the screen is busy, as long as a dialog is open there."""
        while True:
            await conversation.changed.wait()
            await asyncio.sleep(SLOW)
            if conversation.changed.is_set():
                self._look_after(conversation.peek())

    def _look_after(self, snapshot: Snapshot) -> None:
        try:
            self._chat.look_after(snapshot)
        except Exception:
            logger.exception("What a chat asks could not be looked after")

    async def _fetch_earlier(self, conversation: Conversation) -> None:
        """Put the page before the first turn that is known into a conversation; say what goes wrong."""
        try:
            client, session = self._chat.connection.connected
            page, has_more = await client.earlier(session, conversation.oldest)
        except ChatError as error:
            self._chat.place.screen.messenger.mention(str(error), self._chat.window)
            return
        conversation.prepend(page, has_more=has_more)

    async def _shown(self, transcript: Transcript, snapshot: Snapshot, conversation: Conversation) -> bool:
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
            snapshot, self._is_shown_anew = conversation.whole_snapshot(), True
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
    """A chat with an agent, in a view of its own."""

    def __init__(self, chat_id: ChatId, place: ChatWindow) -> None:
        self.id = chat_id
        self.place = place
        self.window = place.id
        self.connector = Connector(place, place.daemons)
        self.connection = ChatConnection(self.connector, place)
        self._is_open = False
        self._tasks: set[asyncio.Task[object]] = set()
        self._reading: asyncio.Task[object] | None = None
        self._seeing_out: asyncio.Task[object] | None = None
        self._agent_name = ""
        self._inherited = Inherited()
        self._turn_watch = TurnWatch(chat_id, place.id, place.turns)
        self._visit_watch = VisitWatch(chat_id, place.id, place.screen, self.connection.path_there)
        self.outbox = Outbox(self)
        self.approvals = Approvals(self)
        self.renderer = Renderer(self)

    @property
    def needs_daemon(self) -> bool:
        """Whether it talks to the daemon of its folder: it is open, or sees a turn to its end there."""
        return (self._is_open or self._seeing_out is not None) and self.connector.agent is None

    @property
    def outlasts(self) -> bool:
        """Whether the daemon goes on with a turn that is shown, whatever the chat shows next."""
        is_daemons = self.connector.agent is None and self.is_local
        return self._is_open and is_daemons and self.status.running is not None

    def is_at(self, session: str) -> bool:
        """Whether it shows a session."""
        return self._is_open and bool(session) and session == self.connection.session

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
        self._leave_conversation()  # it belongs to the folder and the agent until now
        is_same = _name(agent) == self._agent_name
        self.connector.agent, self._agent_name = agent, _name(agent)
        if is_same and (not self.connector.folder or folder == self.connector.folder):
            session = session or self.connection.session
        self.connector.folder = folder
        self.begin(session, Chosen.from_plain(chosen, session))

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
        self._leave_conversation()
        self._is_open = True
        self.connection.begin(session, chosen or Chosen())
        self.connection.conversation = self._begun()
        self._give_back_all(self._inherited.take_unsent(), "It was not sent before the package was reloaded.")
        self._reading = self.background(self.connection.run())
        self.renderer.begin()

    def _leave_conversation(self) -> None:
        """Show another one from now on."""
        self._give_back_all(self._end(with_queue=self._loses_queue), CHANGED)
        self.end_turn()

    def _begun(self) -> Conversation:
        """What the agent that goes on has said already; nothing for a new conversation."""
        conversation = self._inherited.take_conversation() if self.connector.inherited else None
        if conversation:
            self.outbox.inherit(self._inherited.take_queued(), self._inherited.held)
        else:
            self.connector.end_inherited()
            self._inherited.give_up()
        return conversation or Conversation()

    def close(self, why: str = CLOSED) -> None:
        """It isn't shown any more. The turn of a daemon is seen to its end: what it writes is to be listed.

        What was not sent goes back with a sentence that says `why`.
        """
        goes_on, queued = self.outlasts, self.outbox.queued
        self.give_back_unsent(why)
        self.connector.end_inherited()
        self._is_open = False
        if goes_on:
            self.outbox.inherit(queued, {})
            self.approvals.dismiss()
            self.renderer.stop()
            self._seeing_out = self.background(self._see_out())
        else:
            self.leave()

    async def _see_out(self) -> None:
        """Read on until what runs is over, and what waits for its turn there; or until it asks, which nobody sees.

        What is ours in the queue comes back if what answers ends before it has begun that.
        """
        conversation = self.connection.conversation
        while (status := self.status).running is not None or status.queue:
            is_stuck = status.permissions or status.connection.state in _OVER
            if is_stuck and (self._loses_queue or not self.outbox.queued):
                break
            await conversation.changed.wait()
            self._watch_turns(conversation.snapshot())
        self._seeing_out = None
        self.give_back_unsent()
        self.leave()

    def leave(self) -> None:
        """Nobody reads what a closed chat has left any more."""
        self._end(with_queue=False)
        self.end_turn()

    def give_back_unsent(self, why: str = CLOSED, *, with_daemon: bool = False) -> None:
        """The chat is about to end: what was not sent goes back to the person, whose tab may have moved.

        `with_daemon`: its private daemon ends as well.
        """
        taken = self._take_unsent(with_queue=self._loses_queue or (with_daemon and self._ends_here))
        self._inherited.give_up()
        self._give_back_all([*self._inherited.take_unsent(), *taken], why)

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
        return self._loses_queue or self.connection.locality.is_private

    @property
    def _held(self) -> dict[str, Draft]:
        """The prompt that waits for a sign-in, by its id; empty if none does, or its draft isn't known."""
        prompt = self.connection.held
        draft = self.outbox.sent(prompt)
        return self._inherited.held | ({prompt: draft} if prompt and draft else {})

    def _take_held(self) -> dict[str, Draft]:
        """The same, only once."""
        held = self._held
        self._inherited.take_held()
        for prompt in held:
            self.outbox.forget(prompt)  # the agent holds it until its connection has ended
        return held

    def configured(self, *, is_changed: bool) -> None:
        """The settings were read. The chat's apply at the next connection; a chat that is switched off ends now."""
        self.show_soon()  # the window may want diffs now
        if self.connector.agent:
            return
        if not self.place.settings.enabled:
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
            inherited.held = self._take_held()
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
        if agent and self._is_open:
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
        # What is being reached or loaded takes it once it is there.
        if self.status.connection.state in {"waiting", "lost", "ended"}:
            self.reconnect()
        # Who sends something looks at the end.
        self.connection.conversation.hide_earlier(MOST_SHOWN, LEAST_SHOWN)
        self.connection.chosen.sends()
        self.outbox.send(draft, mid_turn=mid_turn)

    def chose(self, **choices: Any) -> None:
        """The person has chosen something for the session, which holds: fields of `Chosen`."""
        self.connection.chosen.take(**choices)
        self.show_soon()

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
        for prompt, draft in self._inherited.take_held().items():
            if prompt != self.connection.held:
                self.give_back(draft, f"{self.agent} has ended before it began this.")

    def _watch_turns(self, snapshot: Snapshot) -> None:
        for turn in self._turn_watch.seen(snapshot, self.agent, self.outbox.sent_at):
            calls = tuple(calls_of(turn, self.connection.path_there))
            about = self.status.model, self.connection.session, turn.key, self.connector.folder, self._agent_name
            told = ReportedTurn(self.agent, turn.asked, calls, *about, began=turn.began or 0.0)
            self.place.reasons.turn_over(self.place.id, told)

    def end_turn(self) -> None:
        """Nobody looks at the conversation any more: its turn is over with what was done in it so far."""
        if self.is_local:
            self.connection.conversation.interrupt()
            self._watch_turns(self.connection.conversation.whole_snapshot())

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

    def _end(self, *, with_queue: bool) -> list[Returned]:
        """Stop reading, showing and sending. Returns what was not sent; `with_queue` what waits for its turn, too."""
        self.approvals.dismiss()
        self.renderer.stop()
        for task in filter(None, (self._reading, self._seeing_out)):
            task.cancel()
        self._reading = self._seeing_out = None
        return self._take_unsent(with_queue=with_queue)

    def _take_unsent(self, *, with_queue: bool) -> list[Returned]:
        # An agent's process goes with its queue, and with the prompt that it holds; a daemon keeps them.
        held = self._take_held() if with_queue and self._is_open else {}
        return [*map(Returned, held.values()), *self.outbox.take(with_queue=with_queue)]

    def _give_back_all(self, unsent: Iterable[Returned], why: str) -> None:
        for draft, may_have_arrived in unsent:
            self.give_back(draft, ON_ITS_WAY if may_have_arrived else why)

    def give_back(self, draft: Draft, why: str) -> None:
        """Put a draft back into the prompt, and say why."""
        self.place.screen.chats.return_draft(self.id, draft, why)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("Unexpected: %s", error, exc_info=error)


def _name(agent: AgentCommand | None) -> str:
    return agent.name if agent else ""


def check_idle(chat: Chat) -> None:
    """Raise a ChatError if a turn runs."""
    if chat.status.running is not None:
        raise ChatError(BUSY)


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
class Inherited:
    """What is left of a chat, until it is shown again."""

    unsent: list[Returned] = field(default_factory=list[Returned])
    """What goes back to the person."""
    queued: dict[str, Draft] = field(default_factory=dict[str, Draft])
    """What waits for its turn, by the ids of the prompts."""
    held: dict[str, Draft] = field(default_factory=dict[str, Draft])
    """The prompt that waits for a sign-in, by its id, until its agent is taken up."""
    conversation: Mapping[str, Any] | None = None
    """What was shown, as plain data."""
    has_turn: bool = False
    """Whether a turn ran."""

    @classmethod
    def from_plain(cls, left: Mapping[str, Any]) -> Inherited:
        """What `as_plain` has made."""
        queued, held = (
            {prompt: _draft(draft) for prompt, draft in left.get(name, {}).items()} for name in ("queued", "held")
        )
        return cls(
            [Returned(_draft(each), bool(each.get("may_have_arrived"))) for each in left["unsent"]],
            queued,
            held,
            left.get("conversation"),
            bool(left.get("has_turn")),
        )

    def as_plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "unsent": [{**asdict(each.draft), "may_have_arrived": each.may_have_arrived} for each in self.unsent],
            "queued": {prompt: asdict(draft) for prompt, draft in self.queued.items()},
            "held": {prompt: asdict(draft) for prompt, draft in self.held.items()},
            "conversation": self.conversation,
            "has_turn": self.has_turn,
        }

    def take_unsent(self) -> list[Returned]:
        """What goes back to the person, only once."""
        unsent, self.unsent = self.unsent, []
        return unsent

    def take_queued(self) -> dict[str, Draft]:
        """What waits for its turn, only once."""
        queued, self.queued = self.queued, {}
        return queued

    def take_held(self) -> dict[str, Draft]:
        """The prompt that waits for a sign-in, only once."""
        held, self.held = self.held, {}
        return held

    def take_conversation(self) -> Conversation | None:
        """What was shown, only once; None if there is nothing that can be read."""
        left, self.conversation = self.conversation, None
        return restored(left) if left else None

    def give_up(self) -> None:
        """Nobody goes on with the conversation: what waits in it goes back to the person."""
        self.conversation = None
        self.unsent += map(Returned, (*self.take_held().values(), *self.take_queued().values()))


def _draft(data: Mapping[str, Any]) -> Draft:
    """The draft of plain data."""
    excerpts = tuple(Excerpt(**excerpt) for excerpt in data["excerpts"])
    return Draft(data["text"], excerpts, tuple(data["pictures"]), dict(data["unsaved"]))
