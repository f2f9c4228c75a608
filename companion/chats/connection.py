"""The connection of a chat: it reaches the daemon, reads a session's events, and tries again when that fails.

The reader never waits for the screen: each event goes into the conversation at once, and the screen gets a snapshot
when it is ready. A slow screen needs no more memory than the conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from ..agents import DAEMON_AGENT, AgentCommand
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
from ..conversation.snapshot import Choice, ChoiceKind, Choices, ConnectionStatus, Locality, Snapshot, Status
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
LEAVE_LIMIT = 0.5
"""Seconds to detach from a session."""
_CHOICES: Mapping[ChoiceKind, str] = {"mode": "the mode", "model": "the model", "effort": "how long the model thinks"}


class Backoff:
    """How long to wait before each try, longer each time."""

    def __init__(self, delays: Sequence[float]) -> None:
        self._delays = delays
        self._tries = 0

    def reset(self) -> None:
        """A try has worked, or somebody wants to try again."""
        self._tries = 0

    def next(self) -> float:
        """Seconds before the next try."""
        delay = self._delays[min(self._tries, len(self._delays) - 1)]
        self._tries += 1
        return delay

    def after(self, error: ChatError) -> float:
        """Seconds before the next try after an error."""
        return max(self.next(), min(error.retry_after or 0, MAX_ASKED))


@dataclass(slots=True)
class AttachedSession:
    """The session that is read, and the client that reads it while there is one."""

    session: AgentSession
    is_stale: bool
    """Whether the conversation must be rebuilt from the session's history."""
    client: Agent | None = None
    may_be_another: bool = False
    """Whether another daemon may be at the address by now, perhaps on another machine."""


async def read(
    client: Agent, attachment: AttachedSession, conversation: Conversation, backoff: Backoff, chosen: Chosen
) -> None:
    """Read a session's events until the stream ends, which is an error too. `chosen` is set before the next prompt."""
    was = chosen.before = chosen.before or conversation.status
    if attachment.is_stale:
        attachment.session, history = await client.load(attachment.session)
        conversation.rebuild(history)
        attachment.is_stale = False
        if not conversation.status.commands:
            # A list that comes while the agent makes its history is in neither the history nor the events.
            with contextlib.suppress(ChatError):
                conversation.set(commands=await client.commands(attachment.session))
    session = attachment.session
    async with client.events(session) as envelopes:
        if choices := await client.choices(session):
            conversation.set_choices(choices)
            if client.forgets_options:
                await _choose_again(client, session, was, chosen, choices, conversation)
        conversation.set(lacks=client.lacks)
        conversation.set_connection(ConnectionStatus("live", wants_sign_in=client.is_signed_out))
        await _follow(client, session, envelopes, conversation, backoff, chosen)
    raise StreamLostError("The daemon has ended the stream of events.")


async def _follow(
    client: Agent,
    session: AgentSession,
    envelopes: AsyncIterator[Envelope],
    conversation: Conversation,
    backoff: Backoff,
    chosen: Chosen,
) -> None:
    measuring = asyncio.create_task(_measure(client, session, conversation))
    news = asyncio.Event()
    watching = asyncio.create_task(_watch(client, session, conversation, news))
    choosing: asyncio.Task[None] | None = None
    try:
        is_measured = False
        async for envelope in envelopes:
            if not conversation.apply(envelope):
                raise StaleError
            changed = envelope.event.changes.keys() if isinstance(envelope.event, events.StatusUpdate) else set[str]()
            if changed & {"mode", "model", "options"}:
                chosen.follow(conversation.status)
            if envelope.id is not None:
                backoff.reset()
            if _concerns_tasks(envelope.event):
                news.set()
            if isinstance(envelope.event, events.TurnCompleted) and conversation.asked(envelope.prompt).startswith("/"):
                # A command may have switched the model or the mode, of which no event tells.
                if choosing:
                    choosing.cancel()
                choosing = asyncio.create_task(_choose(client, session, conversation, chosen))
            is_measured |= "window" in changed
            # 0.21.2 doesn't tell by itself.
            if isinstance(envelope.event, events.TurnCompleted) and not is_measured:
                measuring.cancel()
                measuring = asyncio.create_task(_measure(client, session, conversation))
    finally:
        measuring.cancel()
        watching.cancel()
        if choosing:
            choosing.cancel()


async def _choose(client: Agent, session: AgentSession, conversation: Conversation, chosen: Chosen) -> None:
    """Ask for the models and the modes."""
    with contextlib.suppress(ChatError):
        if choices := await client.choices(session):
            conversation.set_choices(choices)
            chosen.follow(conversation.status)


async def _choose_again(
    client: Agent, session: AgentSession, was: Status, chosen: Chosen, now: Choices, conversation: Conversation
) -> None:
    """Set again what the person had chosen, before the next prompt, and say what could not be set."""
    wanted = _wanted(client, session, was, chosen, now)
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
        conversation.set_choices(choices)
    if failed:
        conversation.tell(f"This could not be set as it was before: {', '.join(each.name for each in failed)}.")
    chosen.fail({each.kind: each.name for each in failed if each.is_chosen})
    chosen.follow(conversation.status)


class _Setting(NamedTuple):
    """Something that is to be set again."""

    kind: str
    """What `Chosen.fail` calls it."""
    name: str
    """In words."""
    is_chosen: bool
    """Whether the person has chosen it. The mode always counts: another one may allow more."""
    set: Callable[[], Awaitable[None]] | None
    """None if it isn't offered any more."""


def _wanted(client: Agent, session: AgentSession, was: Status, chosen: Chosen, now: Choices) -> list[_Setting]:
    """What is to be set again."""
    wanted: list[_Setting] = []
    for kind, name in _CHOICES.items():
        before, own, current = (getattr(each, kind) for each in (was, chosen, now))
        offered: Sequence[Choice] = getattr(now, f"{kind}s")
        value, is_chosen = before or own, bool(own) or kind == "mode"
        if value in ("", current):
            continue
        if any(each.id == value for each in offered) or (own and not offered):
            wanted.append(_Setting(kind, name, is_chosen, partial(client.switch, session, kind, value)))
        elif offered and is_chosen:
            wanted.append(_Setting(kind, name, is_chosen, None))
    values = {each.id: each.value for each in now.options}
    names = {each.id: f"“{each.name}”" for each in (*was.options, *now.options)}
    for key, value in {**chosen.options, **{each.id: each.value for each in was.options}}.items():
        kind, name, is_chosen = option_kind(key), names.get(key, key), key in chosen.options
        if key not in values and is_chosen:
            wanted.append(_Setting(kind, name, is_chosen, None))
        elif key in values and values[key] != value:
            wanted.append(_Setting(kind, name, is_chosen, partial(client.set_option, session, key, value)))
    return wanted


async def _watch(client: Agent, session: AgentSession, conversation: Conversation, news: asyncio.Event) -> None:
    """Keep the list of tasks up to date: after events that concern them, and from time to time while one runs."""
    if not client.can("tasks"):
        return
    while True:
        news.clear()
        with contextlib.suppress(ChatError):
            conversation.set(tasks=await client.tasks(session))
        runs = any(task.is_running for task in conversation.status.tasks)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TASKS_STEP if runs else None):
                await news.wait()
        await asyncio.sleep(TASKS_PAUSE)


def _concerns_tasks(event: events.Event) -> bool:
    """Whether tasks may have begun or ended by the time of an event."""
    if isinstance(event, events.MessageChunk):
        return event.aside is not None
    return isinstance(event, events.ToolCallUpdate | events.TurnCompleted | events.TurnFailed)


async def _measure(client: Agent, session: AgentSession, conversation: Conversation) -> None:
    """Ask how full the context window is; the history doesn't tell."""
    with contextlib.suppress(ChatError):
        if window := await client.context_window(session):
            conversation.set(window=window)


def after(
    error: ChatError, attachment: AttachedSession | None, conversation: Conversation, backoff: Backoff
) -> float | None:
    """Show an error. Returns the seconds before the next try; None if only a person can solve it."""
    wait = None if error.final else backoff.after(error)
    if attachment and error.agent_may_change:
        attachment.may_be_another = True
    if isinstance(error, SessionGoneError) and attachment and attachment.client:
        if not attachment.is_stale:
            # The daemon was restarted, or has put the session aside: it is loaded from the disk.
            attachment.is_stale = True
            return 0
        conversation.interrupt()
    tell(error, wait, conversation)
    return wait


def tell(error: ChatError, wait: float | None, conversation: Conversation) -> None:
    """Show an error, and the seconds before the next try; None if there is none."""
    state = "lost" if wait is None else "waiting"
    conversation.set_connection(ConnectionStatus(state, str(error), wait, error.wants_sign_in))


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
    """Reads one session at a time with `run`, as a task."""

    def __init__(self, connector: Connector, place: Workplace) -> None:
        """`place` is the window of the chat."""
        self._connector = connector
        self._place = place
        self.conversation = Conversation()
        """What is read."""
        self.session = ""
        """The id of the session that is shown, once it has something to resume."""
        self.left: dict[str, Any] | None = None
        """What the next instance needs to go on with the agent, once it is left."""
        self.stays = False
        """Whether the session is left to the next instance, so that nobody detaches from it."""
        self.chosen = Chosen()
        """What the person has chosen for it."""
        self._attachment: AttachedSession | None = None
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
        if self._attachment is None or self._attachment.client is None:
            raise NotConnectedError
        return self._attachment.client, self._attachment.session

    def begin(self, session: str, chosen: Chosen) -> None:
        """Make the next conversation that of a session, or a new one, with what the person has chosen for it."""
        if session != self.session or not self._connector.can_resume:
            self._connector.end_inherited()
        self.session = session
        self.chosen = chosen
        self._connector.begin()
        self._attachment = None
        self._broken = ""

    async def reached(self, limit: float) -> tuple[Agent, AgentSession, ChatFolder]:
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
    def locality(self) -> Locality:
        """Where its files are, as far as that is known."""
        return self._connector.locality

    @property
    def folder(self) -> ChatFolder:
        """The chat's folder, here and there."""
        where = self.locality
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
        return self._attachment is not None and self._attachment.client is not None

    @property
    def held(self) -> str | None:
        """The id of the prompt that waits for a sign-in."""
        return self._attachment.client.held if self._attachment and self._attachment.client else None

    @property
    def to_sign_in(self) -> Agent:
        """The agent that signs the person in, which may wait for that.

        Raises:
            NotConnectedError: there is none.
        """
        client = self._unsigned or (self._attachment.client if self._attachment else None)
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
        if self._attachment:
            self._connector.daemons.own_clients.add(self._attachment.session.client_id)
            # A notice before any prompt is nothing to resume.
            if snapshot.order and snapshot.order[-1] != START:
                self.session = self._attachment.session.id
        is_away = snapshot.status.connection.state in {"waiting", "lost"}
        if is_away and self.has_client and self._connector.has_moved:
            self._again.set()

    async def run(self) -> None:
        """Read the current conversation until cancelled. Failures are shown in its status; none is raised."""
        conversation = self.conversation
        backoff = Backoff(BACKOFF)
        attachment: AttachedSession | None = None
        has_broken = False
        try:
            while True:
                self._again.clear()
                wait: float | None
                try:
                    client, attachment = await self._join(attachment, conversation, backoff)
                    await self._read_until_again(client, attachment, conversation, backoff)
                    wait = 0
                except StaleError as error:
                    if attachment and error.agent_may_change:
                        attachment.may_be_another = True
                    wait = backoff.next()
                except SessionEndedError as end:
                    conversation.interrupt()
                    conversation.set_connection(ConnectionStatus("ended", str(end)))
                    wait = None
                except ChatError as error:
                    attachment = await self._broken_off(error, attachment, conversation)
                    wait = after(error, attachment, conversation, backoff)
                except Exception as error:
                    logger.exception("The chat could not be read")
                    wait = None if has_broken else backoff.next()
                    has_broken = True
                    broken = BrokenError(f"The chat could not be read ({type(error).__name__}).")
                    tell(broken, wait, conversation)
                    attachment = await self._forget(attachment)
                if await self._is_wanted_within(wait):
                    if not self._is_signed_in:
                        await self._close_unsigned()
                    self._is_signed_in = False
                    attachment = await self._drop(attachment)
                    backoff.reset()
                    has_broken = False
                elif wait and attachment and attachment.client:
                    conversation.set_connection(ConnectionStatus("connecting"))
        finally:
            await self._finish(attachment, conversation)

    async def _is_wanted_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._again.wait()
        except TimeoutError:
            return self._again.is_set()  # at the last moment

    # Reaching the daemon, and leaving it

    async def _join(
        self, attachment: AttachedSession | None, conversation: Conversation, backoff: Backoff
    ) -> tuple[Agent, AttachedSession]:
        """The session to read, and its client. Whichever is missing is created."""
        if self._broken:
            why, self._broken = self._broken, ""
            raise BrokenError(why)
        if attachment and attachment.client:
            await self._look_again(attachment)
            return attachment.client, attachment
        agent, left = self._connector.agent, self._connector.inherited
        if left and agent:
            attachment = await self._continued(agent, left) or attachment
            if attachment and attachment.client:
                return attachment.client, attachment
        client, self._attachment = await self._unless_called_off(self._opened(attachment, conversation))
        backoff.reset()
        return client, self._attachment

    async def _unless_called_off(
        self, opening: Coroutine[Any, Any, tuple[Agent, AttachedSession]]
    ) -> tuple[Agent, AttachedSession]:
        task = self._opening = asyncio.create_task(opening)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            if not self._is_called_off:
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and not task.exception():
                await task.result()[0].close()
            raise
        finally:
            self._opening, self._is_called_off = None, False
        if task.cancelled():
            raise CalledOffError(self._connector)
        return task.result()

    async def _opened(
        self, attachment: AttachedSession | None, conversation: Conversation
    ) -> tuple[Agent, AttachedSession]:
        """The client, with the session if that is still there, else with one that it opens."""
        client, folder = await self._client(conversation)
        try:
            if attachment is None or not self.session:
                known = self.session
                session = AgentSession.known(known, folder) if known else await client.create(folder)
                # A session that was there before may have begun long before its oldest event.
                attachment = AttachedSession(session, session.attached or not session.client_id)
        except BaseException as error:
            if isinstance(error, ChatError) and error.wants_sign_in and client.can("authentication"):
                self._unsigned = client
            else:
                await client.close()
            raise
        attachment.client = client
        return client, attachment

    async def _client(self, conversation: Conversation) -> tuple[Agent, str]:
        """The client of the daemon or of the agent, and the folder as it calls it."""
        agent = self._connector.agent
        if agent is None:
            return await self._connector.reach_daemon(conversation)
        if self._unsigned:
            client, self._unsigned = self._unsigned, None
            return client, self._connector.locality.folder
        return await self._connector.start_agent(agent, conversation)

    async def _continued(self, agent: AgentCommand, left: Mapping[str, Any]) -> AttachedSession | None:
        """The agent that another instance has left; None if that can't be taken up, and is ended."""
        if (taken := await self._connector.resume_agent(agent, left)) is None:
            return None
        client, session = taken
        self._attachment = AttachedSession(session, is_stale=False, client=client)
        return self._attachment

    async def _look_again(self, attachment: AttachedSession) -> None:
        """Ask what is at the address, if another daemon may be there by now."""
        if attachment.may_be_another:
            await self._connector.look_again()
            attachment.may_be_another = False

    async def _drop(self, attachment: AttachedSession | None, *, is_over: bool = False) -> AttachedSession | None:
        """Let go of the daemon. Returns the session if it is to be taken up again; if not, it is left."""
        if attachment is None or attachment.client is None:
            return attachment
        client, attachment.client = attachment.client, None
        # A session in which nothing was said is not taken up again.
        is_over = is_over or not self.session or self._connector.is_off
        try:
            if not is_over or self.stays:
                return attachment
            if self._attachment is attachment:
                self._attachment = None
            with contextlib.suppress(ChatError, TimeoutError):
                async with asyncio.timeout(LEAVE_LIMIT):
                    await client.detach(attachment.session)
            return None
        finally:
            if self.stays:
                self.left = await client.hand_over()
            else:
                await client.close()

    async def _broken_off(
        self, error: ChatError, attachment: AttachedSession | None, conversation: Conversation
    ) -> AttachedSession | None:
        """What is left of a session that can't be read on."""
        if self._connector.agent:
            conversation.interrupt()  # what ran has ended with its process
        if error.wants_sign_in and attachment and attachment.client and attachment.client.can("authentication"):
            self._unsigned, attachment.client = attachment.client, None
        return await self._drop(attachment) if isinstance(error, CalledOffError) else attachment

    async def _close_unsigned(self) -> None:
        client, self._unsigned = self._unsigned, None
        if client:
            await client.close()

    async def _finish(self, attachment: AttachedSession | None, conversation: Conversation) -> None:
        """Nobody reads any more."""
        client = attachment.client if attachment else None
        await self._close_unsigned()
        await self._drop(attachment, is_over=True)
        if self.left and client:
            for envelope in client.unread:
                conversation.apply(envelope)

    async def _forget(self, attachment: AttachedSession | None) -> None:
        """Let go of everything but the session's id: the conversation may hold half of an event."""
        if attachment:
            self.session, self._attachment = attachment.session.id, None
            if attachment.client:
                await attachment.client.close()

    # Reading

    async def _read_until_again(
        self, client: Agent, attachment: AttachedSession, conversation: Conversation, backoff: Backoff
    ) -> None:
        """Read a session until somebody wants to start over. Everything else that ends it is raised."""
        reading = self._opening = asyncio.create_task(read(client, attachment, conversation, backoff, self.chosen))
        again = asyncio.create_task(self._again.wait())
        try:
            await asyncio.wait((reading, again), return_when=asyncio.FIRST_COMPLETED)
            if reading.cancelled():
                raise CalledOffError(self._connector)
            if reading.done():
                await reading
        except (StaleError, SessionEndedError):
            attachment.is_stale = True
            raise
        finally:
            self._opening, self._is_called_off = None, False
            reading.cancel()
            again.cancel()
            await asyncio.wait((reading, again))


class UndecidedError(ChatError):
    """What the person has chosen does not hold, and they haven't said yet what is to be done."""

    remedy = "Choose another one, or send this again to go on."

    def __init__(self, failed: str) -> None:
        super().__init__(f"This was not sent, because {failed} could not be set as before.")


@dataclass
class Chosen:
    """The choices of one chat, and whether they hold."""

    mode: str = ""
    """Its id; empty if the person hasn't chosen one. The others likewise."""
    model: str = ""
    effort: str = ""
    options: dict[str, str | bool] = field(default_factory=dict[str, str | bool])
    """The values by the ids of the options."""
    before: Status | None = None
    """What held before a connection that has not brought all of it back yet."""
    _failed: dict[str, str] = field(default_factory=dict[str, str])
    """What does not hold, in words, by `mode`, `model`, `effort` or `option_kind`."""
    _is_told: bool = False

    @classmethod
    def from_plain(cls, value: object, session: str) -> Chosen:
        """What `as_plain` has made, if it was of this session. Anything else is empty."""
        kept = as_object(value)
        if kept.get("session") != session:
            return cls()
        mode, model, effort = (each if isinstance(each := kept.get(name), str) else "" for name in _CHOICES)
        options = {key: each for key, each in as_object(kept.get("options")).items() if isinstance(each, str | bool)}
        return cls(mode, model, effort, options)

    def as_plain(self, session: str) -> Mapping[str, Any]:
        """The choices for a session, as the editor keeps them; empty if there are none."""
        chosen: dict[str, Any] = {name: each for name in _CHOICES if (each := getattr(self, name))}
        if self.options:
            chosen["options"] = dict(self.options)
        return {"session": session, **chosen} if chosen else {}

    def take(
        self, *, mode: str = "", model: str = "", effort: str = "", options: Mapping[str, str | bool] | None = None
    ) -> None:
        """The person has chosen one of them, and it holds. What else does not hold waits for them still."""
        options = options or {}
        self.mode, self.model, self.effort = mode or self.mode, model or self.model, effort or self.effort
        self.options |= options
        if before := self.before:
            self.before = replace(
                before,
                mode=mode or before.mode,
                model=model or before.model,
                effort=effort or before.effort,
                options=tuple(replace(each, value=options.get(each.id, each.value)) for each in before.options),
            )
        taken = {name for name, each in zip(_CHOICES, (mode, model, effort), strict=True) if each}
        taken |= {option_kind(option) for option in options}
        if self._failed:
            self.fail({kind: words for kind, words in self._failed.items() if kind not in taken})

    def follow(self, status: Status) -> None:
        """The session has changed by itself: what was chosen is from now on what it has."""
        if self._failed:
            return
        self.mode, self.model, self.effort = (
            own and (getattr(status, name) or own)
            for name, own in zip(_CHOICES, (self.mode, self.model, self.effort), strict=True)
        )
        self.options |= {each.id: each.value for each in status.options if each.id in self.options}

    def fail(self, failed: Mapping[str, str]) -> None:
        """These could not be set, in words by their kinds: the next prompt waits for the person. Empty if all hold."""
        self._failed, self._is_told = dict(failed), False
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

    def sends(self) -> None:
        """The person sends something. Once they were told what doesn't hold, that means that they go on."""
        if self._is_told:
            self.fail({})


def option_kind(option: str) -> str:
    """What `Chosen.fail` calls an option. It may have the id `mode`."""
    return f"option {option}"
