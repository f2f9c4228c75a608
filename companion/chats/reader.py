"""Reads one session's events into its conversation, and keeps what no event tells up to date."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ..backends.backend import Backend, EventStream, lacking
from ..backends.parts import Options
from ..backends.sessions import AgentSession
from ..conversation import events
from ..conversation.conversation import Conversation
from ..conversation.failures import ChatError, SessionGoneError, StreamLostError
from ..conversation.snapshot import Choices, ConnectionStatus, Status
from .chosen import Chosen, option_kind

MAX_ASKED = 60.0
"""Seconds that a daemon may ask to wait."""
TASKS_STEP = 3.0
"""Seconds between two looks at the tasks while one runs."""
TASKS_PAUSE = 0.5
"""Seconds between them at least."""


class StaleError(Exception):
    """The conversation must be rebuilt from the session's history."""


class SessionEndedError(Exception):
    """The session has ended; the message is for the person."""


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
    client: Backend | None = None
    may_be_another: bool = False
    """Whether another daemon may be at the address by now, perhaps on another machine."""


async def read(
    client: Backend, attachment: AttachedSession, conversation: Conversation, backoff: Backoff, chosen: Chosen
) -> None:
    """Read a session's events until the stream ends, which is an error too. `chosen` is set before the next prompt."""
    was = chosen.before = chosen.before or conversation.status
    if attachment.is_stale:
        attachment.session, history = await client.load(attachment.session)
        conversation.rebuild(history)
        attachment.is_stale = False
        if client.queries and not conversation.status.commands:
            # A list that comes while the agent makes its history is in neither the history nor the events.
            with contextlib.suppress(ChatError):
                conversation.set_commands(await client.queries.commands(attachment.session))
    session = attachment.session
    async with client.events(session, conversation.cursor) as stream:
        if not conversation.begin(stream.epoch):
            attachment.may_be_another = True
            raise StaleError
        if client.options and (choices := await client.options.choices(session)):
            conversation.set_choices(choices)
            if client.options.forgets:
                await _choose_again(client.options, session, was, chosen, choices, conversation)
        conversation.set_lacks(lacking(client))
        conversation.set_connection(ConnectionStatus("live"))
        await _follow(client, session, stream, conversation, backoff, chosen)
    raise StreamLostError("The daemon has ended the stream of events.")


async def _follow(
    client: Backend,
    session: AgentSession,
    stream: EventStream,
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
        async for envelope in stream.envelopes:
            _check(envelope.event, session)
            if not conversation.apply(envelope):
                raise StaleError
            if isinstance(envelope.event, events.CurrentModeUpdate | events.ConfigOptionUpdate):
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
            is_measured |= isinstance(envelope.event, events.UsageUpdate)
            # 0.21.2 doesn't tell by itself.
            if isinstance(envelope.event, events.TurnCompleted) and not is_measured:
                measuring.cancel()
                measuring = asyncio.create_task(_measure(client, session, conversation))
    finally:
        measuring.cancel()
        watching.cancel()
        if choosing:
            choosing.cancel()


async def _choose(client: Backend, session: AgentSession, conversation: Conversation, chosen: Chosen) -> None:
    """Ask for the models and the modes."""
    with contextlib.suppress(ChatError):
        if client.options and (choices := await client.options.choices(session)):
            conversation.set_choices(choices)
            chosen.follow(conversation.status)


async def _choose_again(
    options: Options, session: AgentSession, was: Status, chosen: Chosen, now: Choices, conversation: Conversation
) -> None:
    """Set again what the person had chosen, before the next prompt, and say what could not be set."""
    wanted = _wanted(options, session, was, chosen, now)
    failed: list[_Setting] = []
    for each in wanted:
        try:
            if each.set is None:
                failed.append(each)
            else:
                await each.set()
        except ChatError:
            failed.append(each)
    if wanted and (choices := await options.choices(session)):
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


def _wanted(options: Options, session: AgentSession, was: Status, chosen: Chosen, now: Choices) -> list[_Setting]:
    """What is to be set again."""
    wanted: list[_Setting] = []
    for kind, name, before, own, current, offered, switch in (
        ("mode", "the mode", was.mode, chosen.mode, now.mode, now.modes, options.switch_mode),
        ("model", "the model", was.model, chosen.model, now.model, now.models, options.switch_model),
        (
            "effort",
            "how long the model thinks",
            was.effort,
            chosen.effort,
            now.effort,
            now.efforts,
            options.switch_effort,
        ),
    ):
        value, is_chosen = before or own, bool(own) or kind == "mode"
        if value in ("", current):
            continue
        if any(each.id == value for each in offered) or (own and not offered):
            wanted.append(_Setting(kind, name, is_chosen, partial(switch, session, value)))
        elif offered and is_chosen:
            wanted.append(_Setting(kind, name, is_chosen, None))
    values = {each.id: each.value for each in now.options}
    names = {each.id: f"“{each.name}”" for each in (*was.options, *now.options)}
    for key, value in {**chosen.options, **{each.id: each.value for each in was.options}}.items():
        kind, name, is_chosen = option_kind(key), names.get(key, key), key in chosen.options
        if key not in values and is_chosen:
            wanted.append(_Setting(kind, name, is_chosen, None))
        elif key in values and values[key] != value:
            wanted.append(_Setting(kind, name, is_chosen, partial(options.set_option, session, key, value)))
    return wanted


async def _watch(client: Backend, session: AgentSession, conversation: Conversation, news: asyncio.Event) -> None:
    """Keep the list of tasks up to date: after events that concern them, and from time to time while one runs."""
    if (tasks := client.tasks) is None:
        return
    while True:
        news.clear()
        with contextlib.suppress(ChatError):
            conversation.set_tasks(await tasks.list(session))
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


async def _measure(client: Backend, session: AgentSession, conversation: Conversation) -> None:
    """Ask how full the context window is; the history doesn't tell."""
    with contextlib.suppress(ChatError):
        if client.queries and (window := await client.queries.window(session)):
            conversation.set_context_window(window)


def _check(event: events.Event, session: AgentSession) -> None:
    """Raise what an event says about the stream and the session."""
    match event:
        case events.ResyncRequired():
            raise StaleError
        case events.SessionDied():
            raise SessionEndedError("The agent's process has ended. Reconnect to resume the conversation.")
        case events.SessionClosed(client=closer):
            if closer == session.client_id:
                raise SessionEndedError("The session is closed. Reconnect to resume it.")
            raise SessionEndedError("Another client has closed the session. Reconnect to resume it.")
        case events.StreamEnded(why=why):
            raise StreamLostError(why)
        case _:
            pass


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
