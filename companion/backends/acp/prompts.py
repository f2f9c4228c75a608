"""The prompts of one session, and the events of their turns on the way to the conversation.

One prompt runs, the others wait. What is sent into a turn waits until the agent asks for it. A flood of events waits in
the pipe, not in memory.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...conversation import events
from ...conversation.events import Envelope, Event, TurnCompleted, is_prompt
from ...conversation.failures import ChatError, UncertainError
from ...conversation.snapshot import Queued
from ...json_text import as_object, as_text
from ..agent import Block
from ..updates import decode_update
from . import decoder, extensions
from .errors import (
    AgentError,
    AnswerError,
    EndedError,
    SignInError,
    SilentError,
    UnnamedError,
)

if TYPE_CHECKING:
    from .client import AcpAgent

logger = logging.getLogger(__name__)

OURS = "editor"
"""Our client id in each session; an agent on stdio has no other client."""
MAX_WAITING = 512
"""Events that wait at most; then nothing more is read from the agent."""


class Events:
    """The events of the turn that runs, and of a history while it is loaded. One reader follows them."""

    def __init__(self) -> None:
        self._waiting: deque[Envelope] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._is_read = False
        """Whether somebody follows the events."""
        self._end: AgentError | None = None
        self.turn: str | None = None
        """The id of the prompt whose turn runs."""
        self._session = ""
        self._history: list[Envelope] | None = None
        self._past: Envelope | None = None
        """The last event of a history that goes on after the answer to its request, as with Gemini CLI 0.61."""
        self._numbers = itertools.count(1)

    def put(self, event: Event, prompt: str | None = None) -> None:
        """Add an event, of a prompt's turn if one is named."""
        self._waiting.append(Envelope(event, None, prompt, OURS if prompt else None))
        if len(self._waiting) >= MAX_WAITING:
            self._room.clear()
        self._news.set()

    async def room(self) -> None:
        """Wait until there is room for more. What comes before anybody follows is kept, as a history is.

        Whoever is about to follow asks the agent things first, and its answers come behind all that.
        """
        if self._is_read:
            await self._room.wait()

    def fail(self, error: AgentError) -> None:
        """No more events come."""
        self._end = self._end or error
        self._news.set()

    @property
    def unread(self) -> list[Envelope]:
        """The events that nobody has read."""
        return list(self._waiting)

    def drop(self) -> None:
        """Forget what waits: a history that is read next has it."""
        self._waiting.clear()
        self._room.set()
        self._is_read = False

    @property
    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The events, until the agent has ended, which is raised."""
        self._is_read = True
        while True:
            while self._waiting:
                envelope = self._waiting.popleft()
                if len(self._waiting) < MAX_WAITING:
                    self._room.set()
                yield envelope
            if self._end:
                raise self._end
            self._news.clear()
            await self._news.wait()

    # Where an event belongs

    @property
    def is_history(self) -> bool:
        """Whether a history is being loaded."""
        return self._history is not None

    def begin_history(self, session: str) -> None:
        """What comes now is the history of a session."""
        self._session, self._history, self._past = session, [], None

    def end_history(self) -> tuple[Envelope, ...]:
        """The history is loaded: what has come of it."""
        found, self._history = self._history or [], None
        return tuple(found)

    def begin_turn(self, prompt: str) -> None:
        """What comes now is of the turn of a prompt, and no more of a history."""
        self.turn, self._past = prompt, None

    def publish(self, event: Event) -> None:
        """Add an event where it belongs: to the turn that runs, or to the history that is loaded."""
        if running := self.turn:
            if is_prompt(event):
                return  # an echo: the prompt is there already
            self.put(event, running)
            return
        last, self._past = self._past, self._of_history(event, self._past)
        if self._history is not None:
            self._history.append(self._past)
            return
        self.put(event, self._past.prompt)
        if self._past.prompt and (last is None or last.prompt != self._past.prompt):
            self.put(TurnCompleted(), self._past.prompt)

    def _of_history(self, event: Event, last: Envelope | None) -> Envelope:
        """An event of a history. A prompt after anything else begins a turn."""
        prompt = last.prompt if last else None
        if is_prompt(event) and not (last and is_prompt(last.event)):
            prompt = event.prompt or event.record or f"{self._session}-{next(self._numbers)}"
        return Envelope(event, None, prompt, OURS)


CANCEL_LIMIT = 20.0
"""Seconds that a turn has to end after a cancel."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    blocks: Sequence[Block]
    is_for_turn: bool = False
    """Whether it is sent into the turn that runs, if the agent asks for it in time."""


@dataclass(slots=True)
class _RunningTurn:
    key: str
    blocks: Sequence[Block]
    refused: str = ""
    """What the agent has said if the prompt waits for a sign-in."""
    has_acted: bool = False
    """Whether the agent has done something in it."""


class Prompts:
    """Runs the prompts of an agent's session in order."""

    def __init__(self, agent: AcpAgent) -> None:
        self.takes_messages = False
        """Whether the agent asks for messages in the middle of a turn."""
        self._agent = agent
        self._events = agent.stream
        self.is_signed_out = False
        """Whether the chat has been told that the agent wants a sign-in, and not that this is over."""
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._waiting: dict[str, _Waiting] = {}
        self._notes: list[str] = []
        self._turn: _RunningTurn | None = None
        self._task: asyncio.Task[None] | None = None
        self._held: asyncio.Future[bool] | None = None
        """Whether the prompt that waits for a sign-in goes on."""
        self._is_left = False
        self._cancelled: str | None = None
        """The prompt that the person has cancelled last."""
        self._cancel_timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> str | None:
        """The id of the prompt whose turn runs."""
        return self._turn.key if self._turn else None

    @property
    def scope(self) -> object:
        """What the tool calls of now belong to: the history, the turn that runs, or none."""
        return "history" if self._events.is_history else (self.running,)

    @property
    def queue(self) -> list[tuple[Queued, str]]:
        """What runs or waits, each with its state: running or queued."""
        running = [(Queued(self._turn.key, ""), "running")] if self._turn else []
        return [*running, *((Queued(key, _text(each.blocks)), "queued") for key, each in self._waiting.items())]

    def send(self, blocks: Sequence[Block]) -> str:
        """Run a prompt now or after those before it. Returns its id, which its events carry.

        If the turn that runs waits for a sign-in, its prompt is tried again: the person may have signed in elsewhere.
        """
        key = self._key()
        if self._turn is None:
            self._start(key, blocks)
        else:
            self._wait(key, _Waiting(blocks))
            self.end_wait(goes_on=True)
        return key

    async def inject(self, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs, or the agent takes none.

        Raises:
            UncertainError: the agent may have taken it, and doesn't say so.
            AgentError: see Peer.
        """
        agent, running = self._agent, self.running
        if running is None or agent.peer.is_closed or not extensions.can_steer(agent.info):
            return self._keep_for_turn(message)
        try:
            answer = await agent.call(extensions.STEERING, extensions.steering(agent.session, message))
        except (EndedError, SilentError, UnnamedError) as error:
            raise UncertainError(error.sentence) from None
        except AnswerError:
            # It is sent as a prompt of its own then.
            return None
        if answer.get("outcome") != "injected":
            return None
        self._events.put(events.MessagesInjected((message,), (key := self._key(),)), running)
        return key

    def _keep_for_turn(self, message: str) -> str | None:
        """Keep a message until the agent asks for it. Returns its id; None if no turn runs that takes one."""
        if self._turn is None or not self.takes_messages:
            return None
        self._wait(key := self._key(), _Waiting([{"type": "text", "text": message}], is_for_turn=True))
        return key

    def acted(self) -> None:
        """The agent has used a tool, written a file, run a command or got a permission."""
        if self._turn:
            self._turn.has_acted = True

    def note(self, message: str) -> None:
        """Tell the agent something, in this turn if it asks, else with the next prompt."""
        self._notes.append(message)

    def drain(self) -> list[str]:
        """What the agent gets in the middle of its turn."""
        self.takes_messages = True
        taken = {key: _text(each.blocks) for key, each in self._waiting.items() if each.is_for_turn}
        for key in taken:
            del self._waiting[key]
        notes, self._notes = self._notes, []
        if taken:
            self._events.put(events.MessagesInjected(tuple(taken.values()), tuple(taken)), self.running)
        return [*notes, *taken.values()]

    def dequeue(self, key: str) -> bool:
        """Remove what waits. Returns False if it doesn't."""
        if self._waiting.pop(key, None) is None:
            return False
        self._events.put(events.PromptDequeued(key, is_removed=True))
        return True

    # A cancel, which an agent has to follow

    @property
    def is_cancelled(self) -> bool:
        """Whether the person has cancelled the turn that runs, and not one that was just ending then."""
        return self._cancelled is not None and self._cancelled == self.running

    def cancel(self) -> None:
        """Tell the agent to end the turn that runs."""
        if self._turn is None:
            return
        self._events.put(events.CancelRequested(), self._turn.key)
        self._agent.peer.notify("session/cancel", {"sessionId": self._agent.session})
        if not self.is_cancelled:
            self.wait_for_cancel(self._turn.key)

    def wait_for_cancel(self, prompt: str) -> None:
        """End the agent if it doesn't end the turn of a prompt in time."""
        self.stop_waiting_for_cancel()
        self._cancelled = prompt
        self._cancel_timer = asyncio.get_running_loop().call_later(CANCEL_LIMIT, self._not_cancelled, prompt)

    def stop_waiting_for_cancel(self) -> None:
        """The turn is over, or the agent."""
        if self._cancel_timer:
            self._cancel_timer.cancel()
            self._cancel_timer = None

    def _not_cancelled(self, prompt: str) -> None:
        self._cancel_timer = None
        if self.running == prompt:
            error = SilentError(self._agent.name, CANCEL_LIMIT)
            self._agent.peer.close(error)
            self._events.fail(error)
            if self._agent.process:
                # Nobody knows what else it would do.
                self._agent.process.end("it doesn't end its turn")

    # Its end

    def close(self) -> None:
        """End without a word."""
        if self._task:
            self._task.cancel()

    async def closed(self) -> None:
        """Wait until a `close` has taken effect."""
        if self._task:
            await asyncio.wait([self._task])

    @property
    def held(self) -> str | None:
        """The id of the prompt whose turn runs and waits for a sign-in."""
        return self._turn.key if self._turn and self._turn.refused else None

    def stop(self) -> None:
        """Start no prompt any more: the next instance does."""
        self._is_left = True

    async def hand_over(self) -> dict[str, Any]:
        """Stop without a word. Returns what `resume` needs."""
        self.stop()
        self.close()
        await self.closed()
        turn = self._turn
        return {
            "running": turn and (turn.key, turn.blocks, turn.refused, turn.has_acted),
            "waiting": [(key, list(each.blocks), each.is_for_turn) for key, each in self._waiting.items()],
            "notes": list(self._notes),
            "takes_messages": self.takes_messages,
            "is_signed_out": self.is_signed_out,
            "prefix": self._prefix,
            "next": next(self._numbers),
        }

    def resume(self, left: Mapping[str, Any], answer: Awaitable[Mapping[str, Any]] | None) -> None:
        """Go on with what `hand_over` has left. `answer` is that to the prompt that runs."""
        self._prefix, self._numbers = left["prefix"], itertools.count(left["next"])
        self._notes, self.takes_messages = list(left["notes"]), left["takes_messages"]
        self.is_signed_out = left["is_signed_out"]
        self._waiting = {key: _Waiting(blocks, is_for_turn) for key, blocks, is_for_turn in left["waiting"]}
        if left["running"]:
            self._run(_RunningTurn(*left["running"]), partial(self._stop_reason, answer))
        else:
            self._start_next()

    def _key(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    def _wait(self, key: str, waiting: _Waiting) -> None:
        self._waiting[key] = waiting
        self._events.put(Queued(key, _text(waiting.blocks)))

    def _start(self, key: str, blocks: Sequence[Block]) -> None:
        self._tell_sign_in()  # the person may have signed in elsewhere
        for block in blocks:
            self._events.put(decode_update({"sessionUpdate": "user_message_chunk", "content": dict(block)}), key)
        notes, self._notes = self._notes, []
        asked = [*({"type": "text", "text": note} for note in notes), *blocks]
        self._run(_RunningTurn(key, asked), partial(self._ask, asked))

    def _run(self, turn: _RunningTurn, answer: Callable[[], Awaitable[str]]) -> None:
        self._turn = turn
        self._events.begin_turn(turn.key)
        self._task = asyncio.get_running_loop().create_task(self._follow(turn, answer))

    async def _ask(self, blocks: Sequence[Block]) -> str:
        """Send a prompt's blocks. Returns why the turn has stopped."""
        params = {"sessionId": self._agent.session, "prompt": list(blocks)}
        return await self._stop_reason(self._agent.peer.call("session/prompt", params, None))

    async def _stop_reason(self, answer: Awaitable[Mapping[str, Any]] | None) -> str:
        """Why a turn has stopped, from the answer to `session/prompt`; nothing if that was lost."""
        if answer is None:
            return ""
        try:
            ended = await self._agent.signed_in(answer)
        except (AnswerError, SignInError) as error:
            if self.is_cancelled:
                return "cancelled"  # some agents tell what was cut off as an error
            if isinstance(error, UnnamedError):
                self._agent.peer.notify("session/cancel", {"sessionId": self._agent.session})
            raise
        # A draft of the protocol that some agents follow.
        if used := decoder.decode_usage(as_object(ended.get("usage"))):
            self._events.publish(used)
        return as_text(ended.get("stopReason"))

    async def _answered(self, turn: _RunningTurn, answer: Callable[[], Awaitable[str]]) -> str:
        """Why a turn has stopped. A prompt that is refused until the person signs in waits for that."""
        while True:
            try:
                if not turn.refused:
                    return await answer()
            except SignInError as error:
                if turn.has_acted:  # sent again, it would do once more what is done
                    self._tell_sign_in(str(error), turn.key)
                    part = "This is not sent again by itself, since a part of it is done."
                    raise AgentError(f"{part} Sign in, then ask {error.agent} to go on.") from None
                turn.refused = str(error)
            goes_on = await self._hold(turn)
            turn.refused = ""  # it stays if the task is cancelled, for the next instance
            if not goes_on:
                return "cancelled"
            self._tell_sign_in(prompt=turn.key)
            answer = partial(self._ask, turn.blocks)

    async def _hold(self, turn: _RunningTurn) -> bool:
        """Wait for a sign-in. Returns whether the prompt goes on."""
        self._held = asyncio.get_running_loop().create_future()
        self._tell_sign_in(turn.refused, turn.key)
        try:
            return await self._held
        finally:
            self._held = None

    def signed_in(self) -> None:
        """The person has signed in, it seems: a prompt that waits for that is sent again."""
        if not self.end_wait(goes_on=True):
            self._tell_sign_in()

    def _tell_sign_in(self, words: str = "", prompt: str | None = None) -> None:
        """Tell the chat that the agent wants a sign-in, in the agent's words; without words, that this is over."""
        if self.is_signed_out != bool(words):
            self.is_signed_out = bool(words)
            self._events.put(events.SignInRequired(words), prompt)

    def end_wait(self, *, goes_on: bool) -> bool:
        """Send the prompt that waits for a sign-in, or end its turn. Returns False if none waits."""
        if self._held is None or self._held.done():
            return False
        self._held.set_result(goes_on)
        return True

    async def _follow(self, turn: _RunningTurn, answer: Callable[[], Awaitable[str]]) -> None:
        end: events.TurnCompleted | events.TurnFailed
        is_over = False
        try:
            reason = await self._answered(turn, answer)
        except (EndedError, SilentError) as error:
            end, is_over = events.TurnFailed(error.sentence), True
        except ChatError as error:
            end = events.TurnFailed(error.sentence)
        else:
            end = events.TurnCompleted(reason)
        self.stop_waiting_for_cancel()
        try:
            await self._agent.services.turn_over()
        except Exception:
            logger.exception("A turn has not ended well")
        self._turn = self._events.turn = None
        self._events.put(end, turn.key)
        # What waits for an agent that has ended never runs: the person gets it back.
        if not is_over:
            self._start_next()

    def _start_next(self) -> None:
        if self._waiting and not self._is_left:
            following = next(iter(self._waiting))
            blocks = self._waiting.pop(following).blocks
            self._events.put(events.PromptDequeued(following))
            self._start(following, blocks)


def _text(blocks: Sequence[Block]) -> str:
    """What is shown of a prompt that waits: its first text."""
    return next((str(block["text"]) for block in blocks if block.get("type") == "text"), "")
