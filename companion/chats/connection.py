"""The connection of a chat: it reaches the daemon, reads a session's events, and tries again when that fails.

The reader never waits for the screen: each event goes into the conversation at once, and the screen gets a snapshot
when it is ready. A slow screen needs no more memory than the conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

from ..agents import DAEMON_AGENT
from ..backends.agent import Agent, AgentSession, Workplace
from ..backends.connector import Connector
from ..conversation import events
from ..conversation.conversation import START, Conversation
from ..conversation.events import Envelope
from ..conversation.failures import (
    ChatError,
    NotConnectedError,
    SessionEndedError,
    SessionGoneError,
    StaleError,
    StreamLostError,
)
from ..conversation.snapshot import Choice, ChoiceKind, Choices, ConnectionStatus, Snapshot, Status
from ..json_text import as_object
from .prompt import ChatFolder

logger = logging.getLogger(__name__)

MAX_ASKED = 60.0
"""Seconds that a daemon may ask to wait."""
TASKS_STEP = 3.0
"""Seconds between two looks at the tasks while one runs."""
TASKS_PAUSE = 0.5
"""Seconds between them at least."""
BACKOFF = (0.2, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before each try; the last one repeats."""
REACH_LIMIT = 10.0
"""Seconds that a question to the agent waits for the connection."""
LEAVE_LIMIT = 0.5
"""Seconds to detach from a session."""
_CHOICES: Mapping[str, str] = {"mode": "the mode", "model": "the model", "effort": "how long the model thinks"}
"""What is chosen besides the agent's own options, in words."""
_OPTION = "option "
"""What the kinds of these begin with."""


@dataclass(slots=True)
class AttachedSession:
    """The session that is read, and the client that reads it while there is one."""

    session: AgentSession
    is_stale: bool
    """Whether the conversation must be rebuilt from the session's history."""
    client: Agent | None = None
    may_be_another: bool = False
    """Whether another daemon may be at the address by now, perhaps on another machine."""


class _Setting(NamedTuple):
    """Something that is to be set again."""

    kind: str
    """As in `Chosen.values`."""
    name: str
    """In words."""
    is_chosen: bool
    """Whether the person has chosen it. The mode always counts: another one may allow more."""
    set: Callable[[], Awaitable[None]] | None
    """None if it isn't offered any more."""


def _wanted(client: Agent, session: AgentSession, was: Status, chosen: Chosen, now: Choices) -> list[_Setting]:
    """What is to be set again."""
    wanted: list[_Setting] = []
    current = values_of(now)
    names = {**_CHOICES, **{option_kind(each.id): f"“{each.name}”" for each in (*was.options, *now.options)}}
    # A model may bring how long it thinks: that comes after it.
    for kind, value in {**dict.fromkeys(_CHOICES), **values_of(was), **chosen.values}.items():
        if value is None or value == current.get(kind):
            continue
        option, is_chosen = kind.removeprefix(_OPTION), kind in chosen.values
        if kind in _CHOICES:
            offered: Sequence[Choice] = getattr(now, f"{kind}s")
            can_be_set = any(each.id == value for each in offered) or (is_chosen and not offered)
            is_told = bool(offered)
            call = partial(client.switch, session, cast("ChoiceKind", kind), cast("str", value))
        else:
            can_be_set, is_told = kind in current, True
            call = partial(client.set_option, session, option, value)
        is_chosen |= kind == "mode"
        if can_be_set or (is_told and is_chosen):
            wanted.append(_Setting(kind, names.get(kind, option), is_chosen, call if can_be_set else None))
    return wanted


def _concerns_tasks(event: events.Event) -> bool:
    """Whether tasks may have begun or ended by the time of an event."""
    if isinstance(event, events.MessageChunk):
        return event.aside is not None
    return isinstance(event, events.ToolCallUpdate | events.TurnCompleted | events.TurnFailed)


class BrokenError(ChatError):
    """A defect of this package, or an answer that it doesn't expect."""

    remedy = "Reconnect to go on; Sublime Text's console says more."


class CalledOffError(ChatError):
    """The person has cancelled the start of an agent."""

    remedy = "Reconnect to start it."
    final = True

    def __init__(self, connector: Connector) -> None:
        name = connector.agent.name if connector.agent else DAEMON_AGENT
        super().__init__(f"The start of {name} was cancelled.")


class ChatConnection:
    """Reads one session with `run`, as a task."""

    def __init__(self, connector: Connector, place: Workplace, session: str = "", chosen: Chosen | None = None) -> None:
        """`place` is the window of the chat, `chosen` is what the person has chosen for the session."""
        self._connector = connector
        self._place = place
        self.conversation = Conversation()
        """What is read."""
        self.session = session
        """The id of the session that is shown, once it has something to resume."""
        self.left: dict[str, Any] | None = None
        """What the next instance needs to go on with the agent, once it is left."""
        self.stays = False
        """Whether the session is left to the next instance, so that nobody detaches from it."""
        self.chosen = chosen or Chosen()
        """What the person has chosen for it."""
        self._attached: AttachedSession | None = None
        self._tries = 0
        """Since the last one that has worked, or somebody wanted to try again."""
        self._broken = ""
        self._unsigned: Agent | None = None
        """The client that waits until the person has signed in."""
        self._is_signed_in = False
        self._opening: asyncio.Task[Any] | None = None
        """What starts an agent, opens its session or loads that, and then reads it."""
        self._is_called_off = False
        self._again = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def connected(self) -> tuple[Agent, AgentSession]:
        """The client to ask, and the session that is shown.

        Raises:
            NotConnectedError: there is none at the moment.
        """
        if self._attached is None or self._attached.client is None:
            raise NotConnectedError
        return self._attached.client, self._attached.session

    async def reached(self, limit: float = REACH_LIMIT) -> tuple[Agent, AgentSession, ChatFolder]:
        """The same once the chat is connected, with its folder.

        Raises:
            NotConnectedError: it isn't within `limit` seconds.
            ChatError: what keeps it from that.
        """
        try:
            async with asyncio.timeout(limit):
                while (connection := self.conversation.status.connection).state != "live":
                    if connection.state in {"lost", "ended"}:
                        raise ChatError(connection.message)
                    await self._news.wait()
        except TimeoutError:
            raise NotConnectedError from None
        return *self.connected, self.folder

    @property
    def folder(self) -> ChatFolder:
        """The chat's folder, here and there."""
        where = self._connector.locality
        return ChatFolder(self._connector.folder, where.folder, where.is_local, self._place.sharing())

    def path_there(self, path: str) -> str:
        """A path of the agent's as an absolute one."""
        return self.folder.path_there(path)

    def confirm_here(self) -> None:
        """The person says that the daemon is on this computer."""
        if self.has_client and self._connector.confirm_here():
            self._again.set()

    @property
    def has_client(self) -> bool:
        """Whether a daemon was reached. Its events may not be read at the moment."""
        return self._attached is not None and self._attached.client is not None

    @property
    def held(self) -> str | None:
        """The id of the prompt that waits for a sign-in."""
        return self._attached.client.held if self._attached and self._attached.client else None

    @property
    def to_sign_in(self) -> Agent:
        """The agent that signs the person in, which may wait for that.

        Raises:
            NotConnectedError: there is none.
        """
        client = self._unsigned or (self._attached.client if self._attached else None)
        if client is None or not client.can("authentication"):
            raise NotConnectedError
        return client

    def call_off(self) -> bool:
        """End the start of an agent, with that of its session. Returns False if none is being started."""
        if self._opening is None or not self.conversation.status.connection.can_be_cancelled:
            return False
        if not self._is_called_off:  # another cancel would cut short how the program is ended
            self._is_called_off = True
            self._opening.cancel()
        return True

    def signed_in(self) -> None:
        """The person has signed in to the agent that has waited for that: go on with it."""
        if self._unsigned:
            self._is_signed_in = True
            self._again.set()

    def again(self) -> None:
        """Start over now: settings, private daemon, connection."""
        self._again.set()

    def break_off(self, why: str) -> None:
        """Stop reading until somebody wants to try again. `why` is a sentence."""
        self._broken = why
        self._again.set()

    def seen(self, snapshot: Snapshot) -> None:
        """Take note of what is shown now."""
        self._news.set()
        self._news = asyncio.Event()
        if self._attached:
            self._connector.daemons.own_clients.add(self._attached.session.client_id)
            # A notice before any prompt is nothing to resume.
            if snapshot.order and snapshot.order[-1] != START:
                self.session = self._attached.session.id
        is_away = snapshot.status.connection.state in {"waiting", "lost"}
        if is_away and self.has_client and self._connector.has_moved:
            self._again.set()

    async def run(self) -> None:
        """Read the conversation until cancelled. Failures are shown in its status; none is raised."""
        has_broken = False
        try:
            while True:
                self._again.clear()
                wait: float | None
                try:
                    await self._join()
                    await self._read_until_again()
                    wait = 0
                except StaleError as error:
                    if self._attached and error.agent_may_change:
                        self._attached.may_be_another = True
                    wait = self._next_wait()
                except SessionEndedError as end:
                    self.conversation.interrupt()
                    self.conversation.set_connection(ConnectionStatus("ended", str(end)))
                    wait = None
                except ChatError as error:
                    await self._broken_off(error)
                    wait = self._after(error)
                except Exception as error:
                    logger.exception("The chat could not be read")
                    wait = None if has_broken else self._next_wait()
                    has_broken = True
                    self._tell(BrokenError(f"The chat could not be read ({type(error).__name__})."), wait)
                    await self._forget()
                if await self._is_wanted_within(wait):
                    if not self._is_signed_in:
                        await self._close_unsigned()
                    self._is_signed_in = False
                    await self._drop()
                    self._tries = 0
                    has_broken = False
                elif wait and self.has_client:
                    self.conversation.set_connection(ConnectionStatus("connecting"))
        finally:
            await self._finish()

    async def _is_wanted_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._again.wait()
        except TimeoutError:
            return self._again.is_set()  # at the last moment

    def _next_wait(self) -> float:
        """Seconds before the next try, more each time."""
        self._tries += 1
        return BACKOFF[min(self._tries, len(BACKOFF)) - 1]

    def _after(self, error: ChatError) -> float | None:
        """Show an error. Returns the seconds before the next try; None if only a person can solve it."""
        wait = None if error.final else max(self._next_wait(), min(error.retry_after or 0, MAX_ASKED))
        attached = self._attached
        if attached and error.agent_may_change:
            attached.may_be_another = True
        if isinstance(error, SessionGoneError) and attached and attached.client:
            if not attached.is_stale:
                # The daemon was restarted, or has put the session aside: it is loaded from the disk.
                attached.is_stale = True
                return 0
            self.conversation.interrupt()
        self._tell(error, wait)
        return wait

    def _tell(self, error: ChatError, wait: float | None) -> None:
        """Show an error, and the seconds before the next try; None if there is none."""
        state = "lost" if wait is None else "waiting"
        self.conversation.set_connection(ConnectionStatus(state, str(error), wait, error.wants_sign_in))

    # Reaching the daemon, and leaving it

    async def _join(self) -> None:
        """Reach the client and the session to read. Whichever is missing is created."""
        if self._broken:
            why, self._broken = self._broken, ""
            raise BrokenError(why)
        if self._attached and self._attached.client:
            if self._attached.may_be_another:
                await self._connector.look_again()
                self._attached.may_be_another = False
            return
        agent, left = self._connector.agent, self._connector.inherited
        if left and agent and (taken := await self._connector.resume_agent(agent, left)):
            client, session = taken
            self._attached = AttachedSession(session, is_stale=False, client=client)
            return
        self._attached = await self._unless_called_off(self._opened())
        self._tries = 0

    async def _unless_called_off(self, opening: Coroutine[Any, Any, AttachedSession]) -> AttachedSession:
        task = self._opening = asyncio.create_task(opening)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            if not self._is_called_off:
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and not task.exception() and (client := task.result().client):
                await client.close()
            raise
        finally:
            self._opening, self._is_called_off = None, False
        if task.cancelled():
            raise CalledOffError(self._connector)
        return task.result()

    async def _opened(self) -> AttachedSession:
        """The session if that is still there, else one that it opens, with its client."""
        client, folder = await self._client()
        attached = self._attached
        try:
            if attached is None or not self.session:
                known = self.session
                session = AgentSession(id=known, folder=folder) if known else await client.create(folder)
                # A session that was there before may have begun long before its oldest event.
                attached = AttachedSession(session, session.attached or not session.client_id)
        except BaseException as error:
            if isinstance(error, ChatError) and error.wants_sign_in and client.can("authentication"):
                self._unsigned = client
            else:
                await client.close()
            raise
        attached.client = client
        return attached

    async def _client(self) -> tuple[Agent, str]:
        """The client of the daemon or of the agent, and the folder as it calls it."""
        agent = self._connector.agent
        if agent is None:
            return await self._connector.reach_daemon(self.conversation)
        if self._unsigned:
            client, self._unsigned = self._unsigned, None
            return client, self._connector.locality.folder
        return await self._connector.start_agent(agent, self.conversation)

    async def _drop(self, *, is_over: bool = False) -> None:
        """Let go of the daemon, and of the session unless it is to be taken up again."""
        attached = self._attached
        if attached is None or attached.client is None:
            return
        client, attached.client = attached.client, None
        try:
            # A session in which nothing was said is not taken up again.
            if not self.stays and (is_over or not self.session or self._connector.is_off):
                self._attached = None
                with contextlib.suppress(ChatError, TimeoutError):
                    async with asyncio.timeout(LEAVE_LIMIT):
                        await client.detach(attached.session)
        finally:
            if self.stays:
                self.left = await client.hand_over()
            else:
                await client.close()

    async def _broken_off(self, error: ChatError) -> None:
        """A session can't be read on."""
        attached = self._attached
        if self._connector.agent:
            self.conversation.interrupt()  # what ran has ended with its process
        if error.wants_sign_in and attached and attached.client and attached.client.can("authentication"):
            self._unsigned, attached.client = attached.client, None
        if isinstance(error, CalledOffError):
            await self._drop()

    async def _close_unsigned(self) -> None:
        client, self._unsigned = self._unsigned, None
        if client:
            await client.close()

    async def _finish(self) -> None:
        """Nobody reads any more."""
        client = self._attached.client if self._attached else None
        await self._close_unsigned()
        await self._drop(is_over=True)
        if self.left and client:
            for envelope in client.unread:
                self.conversation.apply(envelope)

    async def _forget(self) -> None:
        """Let go of everything but the session's id: the conversation may hold half of an event."""
        attached, self._attached = self._attached, None
        if attached:
            self.session = attached.session.id
            if attached.client:
                await attached.client.close()

    # Reading

    async def _read_until_again(self) -> None:
        """Read a session until somebody wants to start over. Everything else that ends it is raised."""
        reading = self._opening = asyncio.create_task(self._read())
        again = asyncio.create_task(self._again.wait())
        try:
            await asyncio.wait((reading, again), return_when=asyncio.FIRST_COMPLETED)
            if reading.cancelled():
                raise CalledOffError(self._connector)
            if reading.done():
                await reading
        except (StaleError, SessionEndedError):
            if self._attached:
                self._attached.is_stale = True
            raise
        finally:
            self._opening, self._is_called_off = None, False
            reading.cancel()
            again.cancel()
            await asyncio.wait((reading, again))

    async def _read(self) -> None:
        """Read the session's events until the stream ends, which is an error too."""
        attached, conversation = self._attached, self.conversation
        if attached is None or attached.client is None:
            raise NotConnectedError
        client = attached.client
        was = self.chosen.before = self.chosen.before or conversation.status
        if attached.is_stale:
            attached.session, history = await client.load(attached.session)
            conversation.rebuild(history)
            attached.is_stale = False
            if not conversation.status.commands:
                # A list that comes while the agent makes its history is in neither the history nor the events.
                with contextlib.suppress(ChatError):
                    conversation.set(commands=await client.commands(attached.session))
        session = attached.session
        async with client.events(session) as envelopes:
            if choices := await client.choices(session):
                conversation.set_choices(choices)
                if client.forgets_options:
                    await self._choose_again(client, session, _wanted(client, session, was, self.chosen, choices))
            conversation.set(lacks=client.lacks)
            conversation.set_connection(ConnectionStatus("live", wants_sign_in=client.is_signed_out))
            await self._follow(client, session, envelopes)
        raise StreamLostError("The daemon has ended the stream of events.")

    async def _follow(self, client: Agent, session: AgentSession, envelopes: AsyncIterator[Envelope]) -> None:
        measuring = asyncio.create_task(self._measure(client, session))
        news = asyncio.Event()
        watching = asyncio.create_task(self._watch(client, session, news))
        choosing: asyncio.Task[None] | None = None
        try:
            is_measured = False
            async for envelope in envelopes:
                event = envelope.event
                if not self.conversation.apply(envelope):
                    raise StaleError
                changed = event.changes.keys() if isinstance(event, events.StatusUpdate) else set[str]()
                if changed & {"mode", "model", "options"}:
                    self.chosen.follow(self.conversation.status)
                if envelope.id is not None:
                    self._tries = 0
                if _concerns_tasks(event):
                    news.set()
                is_over = isinstance(event, events.TurnCompleted)
                if is_over and self.conversation.asked(envelope.prompt).startswith("/"):
                    # A command may have switched the model or the mode, of which no event tells.
                    if choosing:
                        choosing.cancel()
                    choosing = asyncio.create_task(self._choose(client, session))
                is_measured |= "window" in changed
                # 0.21.2 doesn't tell by itself.
                if is_over and not is_measured:
                    measuring.cancel()
                    measuring = asyncio.create_task(self._measure(client, session))
        finally:
            measuring.cancel()
            watching.cancel()
            if choosing:
                choosing.cancel()

    async def _choose(self, client: Agent, session: AgentSession) -> None:
        """Ask for the models and the modes."""
        with contextlib.suppress(ChatError):
            if choices := await client.choices(session):
                self.conversation.set_choices(choices)
                self.chosen.follow(self.conversation.status)

    async def _choose_again(self, client: Agent, session: AgentSession, wanted: Sequence[_Setting]) -> None:
        """Set again what the person had chosen, before the next prompt, and say what could not be set."""
        failed: list[_Setting] = []
        for each in wanted:
            try:
                if each.set is None:
                    failed.append(each)
                else:
                    await each.set()
            except ChatError:
                failed.append(each)
        if wanted and (choices := await client.choices(session)):
            self.conversation.set_choices(choices)
        if failed:
            names = ", ".join(each.name for each in failed)
            self.conversation.tell(f"This could not be set as it was before: {names}.")
        self.chosen.fail({each.kind: each.name for each in failed if each.is_chosen})
        self.chosen.follow(self.conversation.status)

    async def _watch(self, client: Agent, session: AgentSession, news: asyncio.Event) -> None:
        """Keep the list of tasks up to date: after events that concern them, and from time to time while one runs."""
        if not client.can("tasks"):
            return
        while True:
            news.clear()
            with contextlib.suppress(ChatError):
                self.conversation.set(tasks=await client.tasks(session))
            runs = any(task.is_running for task in self.conversation.status.tasks)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TASKS_STEP if runs else None):
                    await news.wait()
            await asyncio.sleep(TASKS_PAUSE)

    async def _measure(self, client: Agent, session: AgentSession) -> None:
        """Ask how full the context window is; the history doesn't tell."""
        with contextlib.suppress(ChatError):
            if window := await client.context_window(session):
                self.conversation.set(window=window)


class UndecidedError(ChatError):
    """What the person has chosen does not hold, and they haven't said yet what is to be done."""

    remedy = "Choose another one, or send this again to go on."

    def __init__(self, failed: str) -> None:
        super().__init__(f"This was not sent, because {failed} could not be set as before.")


@dataclass
class Chosen:
    """The choices of one chat, and whether they hold."""

    values: dict[str, str | bool] = field(default_factory=dict[str, str | bool])
    """What the person has chosen, by `mode`, `model`, `effort` or `option_kind`."""
    before: Status | None = None
    """What held before a connection that has not brought all of it back yet."""
    _failed: Mapping[str, str] = field(default_factory=dict[str, str])
    """What does not hold, in words, by its kind."""
    _is_told: bool = False

    @classmethod
    def from_plain(cls, value: object, session: str) -> Chosen:
        """What `as_plain` has made, if it was of this session. Anything else is empty."""
        kept = as_object(value)
        if kept.get("session") != session:
            return cls()
        return cls({kind: each for kind, each in kept.items() if kind != "session" and isinstance(each, str | bool)})

    def as_plain(self, session: str) -> Mapping[str, Any]:
        """The choices for a session, as the editor keeps them; empty if there are none."""
        return {"session": session, **self.values} if self.values else {}

    def take(self, kind: str, value: str | bool) -> None:
        """The person has chosen something, and it holds. What else does not hold waits for them still."""
        self.values[kind] = value
        if self._failed:
            self.fail({failed: words for failed, words in self._failed.items() if failed != kind})

    def follow(self, status: Status) -> None:
        """The session has changed by itself: what was chosen is from now on what it has."""
        if not self._failed:
            now = values_of(status)
            self.values = {kind: now.get(kind, value) for kind, value in self.values.items()}

    def fail(self, failed: Mapping[str, str]) -> None:
        """These could not be set, in words by their kinds: the next prompt waits for the person. Empty if all hold."""
        self._failed, self._is_told = failed, False
        if not failed:
            self.before = None

    def try_again(self) -> None:
        """A new connection sets them again. What was told of the one before is no reason to go on in this one."""
        self._is_told = False

    def check(self) -> None:
        """Raise UndecidedError if the person has to decide first."""
        if self._failed:
            self._is_told = True
            raise UndecidedError(", ".join(self._failed.values()))

    def sends(self, status: Status) -> None:
        """The person sends something. Once they were told what doesn't hold, they go on with what the session has."""
        if self._is_told:
            self.fail({})
            self.follow(status)


def option_kind(option: str) -> str:
    """What `Chosen.values` calls an option. It may have the id `mode`."""
    return f"{_OPTION}{option}"


def values_of(session: Status | Choices) -> dict[str, str | bool]:
    """What a session has of all that can be chosen, by its kind."""
    found = {kind: value for kind in _CHOICES if (value := getattr(session, kind))}
    return found | {option_kind(each.id): each.value for each in session.options}
