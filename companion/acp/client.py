"""An agent on its standard input and output, as the back end of one chat.

Start with `AgentClient`: `connect` starts the process and shakes hands, `create` and `load` open a session, `events`
tells what happens. A client has one session at a time. Everything runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, cast

from ..agents import AgentCommand
from ..conversation import agent, events
from ..conversation.conversation import Choices, Cursor, History
from ..conversation.events import Envelope
from ..conversation.failures import AlreadyAnsweredError, SessionGoneError, UnsendableError
from ..conversation.sessions import Session, SessionInfo, SessionPage
from ..conversation.snapshot import ContextWindow, Queued
from ..told import Told
from . import extensions, finding, updates, wire
from .environment import LoginEnvironment
from .errors import (
    AUTHENTICATION_NEEDED,
    METHOD_NOT_FOUND,
    AgentError,
    AnswerError,
    EndedError,
    RequestError,
    SignInError,
    SilentError,
    VersionError,
)
from .files import Edited, Files
from .lacking import Lacking
from .peer import Peer
from .port import AgentFiles
from .process import AgentProcess, start
from .prompts import Block, Prompts
from .stream import OURS, Stream
from .terminals import Terminals

logger = logging.getLogger(__name__)

START_LIMIT = 60.0
"""Seconds for `initialize`; 1 to 3 on an idle machine with Node.js."""
SESSION_LIMIT = 90.0
"""Seconds to open a session: the agent may have to start servers of its own."""
CALL_LIMIT = 30.0
"""Seconds for everything else but a prompt."""
CANCEL_LIMIT = 20.0
"""Seconds that a turn has to end after a cancel."""
LEAVE_LIMIT = 0.3
"""Seconds to close a session."""
OUTPUT_QUIET = 0.1
"""Seconds within which what a terminal prints is shown at once."""
CLIENT = {"name": "QwenCompanion", "title": "QwenCompanion for Sublime Text", "version": "1"}
CAPABILITIES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
TOLD = (
    "(From the editor: the user has edited your change of {path} before allowing it. The file now holds the user's "
    "version, not yours. Read it again before you change or describe it.)"
)


class Screen(AgentFiles, Protocol):
    """What a client needs from the editor."""

    def say(self, message: str, window: int | None = None) -> None:
        """See Messages."""
        ...

    def keep_text(self, window: int, title: str, text: str, why: str) -> None:
        """See Messages."""
        ...


class AgentClient(Lacking):
    """Talks with one agent. Close it."""

    def __init__(
        self,
        command: AgentCommand,
        editor: Screen,
        window: int,
        environment: LoginEnvironment,
        told: Callable[[], Told] = Told,
        servers: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
    ) -> None:
        """`told` is what may be told of the window's files.

        `servers` are the MCP servers that are offered to the agent, as the protocol has them.
        """
        self.command = command
        self.agent = wire.Agent()
        """What it has said about itself, once `connect` has asked."""
        self.folder = ""
        """The one that it works in."""
        self._editor = editor
        self._window = window
        self._login = environment
        self._told_of = told
        self._servers = servers
        self._process: AgentProcess | None = None
        self._reading: asyncio.Task[None] | None = None
        self._stream = Stream()
        self._peer = Peer(command.name, self._write, self._requested, self._notified, self._junk)
        self._prompts = Prompts(self._stream, self._ask, self._turn_over)
        self._files: Files | None = None
        self._terminals: Terminals | None = None
        self._session = ""
        self._settings = wire.Settings(wire.Opened())
        self._replay: list[Envelope] | None = None
        """What a session's history has brought, while it is loaded."""
        self._past: Envelope | None = None
        """The last event of a history that goes on after the answer to its request, as with Gemini CLI 0.61."""
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[tuple[str | None, Mapping[str, str]]]] = {}
        self._shown_in: dict[str, Mapping[str, Any]] = {}
        """By terminal: the tool call that shows it."""
        self._fresh: set[str] = set()
        self._showing: asyncio.TimerHandle | None = None
        self._cancelling: asyncio.TimerHandle | None = None

    # The agent

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the agent calls itself; what the person calls it until it has said that."""
        return self.agent.info.title or self.agent.info.name or self.command.name

    def can(self, feature: Literal["choices", "tasks", "edits"]) -> bool:
        """Whether a chat can count on something. What the protocol doesn't have, no agent can."""
        return feature != "tasks"

    def has(self, feature: str) -> bool:
        """Whether the agent has a feature: load, list, resume, delete, image, embedded, mid_turn, http."""
        abilities = self.agent.abilities
        return {
            "load": abilities.load_session or abilities.session_capabilities.resume,
            "list": abilities.session_capabilities.list,
            "delete": abilities.session_capabilities.delete,
            "image": abilities.prompt_capabilities.image,
            "embedded": abilities.prompt_capabilities.embedded_context,
            "mid_turn": self._prompts.takes_messages,
            "http": abilities.mcp_capabilities.http,
        }.get(feature, False)

    async def connect(self, folder: str) -> str:
        """Start the agent in a folder and shake hands. Returns the folder as the agent gets it.

        Raises:
            AgentError: it can't be started, ends at once, doesn't answer, or speaks another version.
        """
        self.folder = await asyncio.to_thread(os.path.realpath, folder)
        environment = {**await self._login.get(), **self.command.environment}
        name, command = self.command.name, self.command.command
        self._process = await start(name, command, self.folder, environment, self.command.install)
        self._files = Files(self._editor, self._window, lambda: self.name, self.folder, self._told, self._told_of)
        self._terminals = Terminals(self.folder, environment, self._printed)
        self._reading = asyncio.create_task(self._read(self._process))
        answer = await self._peer.call(
            "initialize",
            {"protocolVersion": wire.VERSION, "clientCapabilities": CAPABILITIES, "clientInfo": CLIENT},
            START_LIMIT,
        )
        self.agent = wire.read(wire.Agent, answer) or wire.Agent()
        if self.agent.protocol_version not in {wire.VERSION, None}:
            raise VersionError(self.name, self.agent.protocol_version)
        self._peer.agent = self._process.agent = self.name
        return self.folder

    async def authenticate(self, method: str) -> None:
        """Sign in by one of the agent's methods.

        Raises:
            AgentError: it refuses.
        """
        await self._peer.call("authenticate", {"methodId": method}, None)

    async def close(self) -> None:
        """End the agent and all that it has started."""
        for timer in (self._showing, self._cancelling):
            if timer:
                timer.cancel()
        self._cancel_questions()
        self._prompts.close()
        self._peer.close(EndedError(self.name, "it was closed"))
        await self._prompts.closed()
        if self._terminals:
            await self._terminals.close()
        if self._process:
            await self._process.stop()
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    # Sessions

    async def create(self, folder: str, *, scope: Literal["single", "thread"] = "thread") -> Session:
        """Begin a new session. No other client shares it.

        Raises:
            SignInError: the agent wants the person to sign in first.
            AgentError: it refuses.
        """
        opened = await self._opened("session/new", {"cwd": folder, "mcpServers": list(self._servers())})
        if not opened.session_id:
            raise AnswerError(self.name, 0, "it has opened no session")
        self._session = opened.session_id
        return Session.known(self._session, folder, OURS)

    async def load(self, session: Session) -> tuple[Session, History]:
        """Take up a session again, and get its conversation.

        Raises:
            MissingFeatureError: the agent can't do that.
            SessionGoneError: it has no such session.
            AgentError: it refuses.
        """
        abilities = self.agent.abilities
        if not self.has("load"):
            raise self._missing("resume a conversation")
        self._session, self._replay, self._past = session.id, [], None
        method = "session/load" if abilities.load_session else "session/resume"
        params = {"sessionId": session.id, "cwd": session.folder or self.folder, "mcpServers": list(self._servers())}
        try:
            await self._opened(method, params)
            replay = self._replay
        except AnswerError as error:
            raise SessionGoneError(f"{self.name} can't resume this conversation: {error.message}.") from None
        finally:
            self._replay = None
        self._stream.drop()
        loaded = Session.known(session.id, session.folder or self.folder, OURS)
        return loaded, History(tuple(replay), self._stream.cursor)

    async def sessions(self, folder: str, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the sessions of a folder. There is no archive.

        Raises:
            MissingFeatureError: the agent can't list them.
        """
        if is_archived or not self.has("list"):
            raise self._missing("list archived conversations" if is_archived else "list conversations")
        params = {"cwd": folder, **({"cursor": cursor} if cursor else {})}
        page = wire.read(wire.Sessions, await self._call("session/list", params)) or wire.Sessions()
        listed = (
            {"sessionId": each.id, "workspaceCwd": each.cwd or folder, "displayName": each.title}
            | {"updatedAt": each.updated_at}
            for each in page.sessions
        )
        following = "" if page.next_cursor == cursor else page.next_cursor
        return SessionPage(tuple(map(SessionInfo.model_validate, listed)), following)

    async def delete(self, session: Session) -> None:
        """Delete a session and its history."""
        if not self.has("delete"):
            raise self._missing("delete a conversation")
        await self._call("session/delete", {"sessionId": session.id})

    async def detach(self, session: Session) -> None:
        """Leave a session; its history stays."""
        if self.agent.abilities.session_capabilities.close:
            with contextlib.suppress(AgentError):
                await self._peer.call("session/close", {"sessionId": session.id}, LEAVE_LIMIT)

    # A conversation

    @contextlib.asynccontextmanager
    async def events(self, session: Session, cursor: Cursor | None) -> AsyncGenerator[Stream]:
        """The events of the session, until the agent has ended, which is raised."""
        yield self._stream

    async def prompt(self, session: Session, blocks: Sequence[Block]) -> str:
        """Send a prompt, which waits while a turn runs. Returns its id, which the events of its turn carry.

        Raises:
            UnsendableError: the agent takes no pictures.
        """
        return self._prompts.send([self._suited(block) for block in blocks])

    async def inject(self, session: Session, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs, or the agent takes none."""
        return self._prompts.inject(message)

    async def queue(self, session: Session) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        return self._prompts.queue

    async def dequeue(self, session: Session, prompt: str) -> bool:
        """Remove a prompt that waits. Returns False if it doesn't."""
        return self._prompts.dequeue(prompt)

    async def cancel(self, session: Session) -> None:
        """End the turn that runs, if one does: its questions are cancelled, and what it runs is killed."""
        if (running := self._prompts.running) is None:
            return
        self._stream.publish(events.CancelRequested(), running)
        self._peer.notify("session/cancel", {"sessionId": session.id})
        self._cancel_questions()
        if self._cancelling is None:
            loop = asyncio.get_running_loop()
            self._cancelling = loop.call_later(CANCEL_LIMIT, self._not_cancelled, running)
        if self._terminals:
            await self._terminals.kill_all()

    async def vote(
        self, session: Session, request: str, option: str | None, answers: Mapping[str, str] | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it.

        Raises:
            AlreadyAnsweredError: it is settled.
        """
        future = self._asked.get(request)
        if future is None or future.done():
            raise AlreadyAnsweredError
        future.set_result((option, answers or {}))

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written, and the agent is told."""
        if self._files:
            await self._files.allowed(Edited(path, proposed, content))

    async def switch_model(self, session: Session, model: str) -> None:
        """Switch the model."""
        if option := self._settings.option("model"):
            await self.set_option(session, option.id, model)
        else:
            await self._call("session/set_model", {"sessionId": session.id, "modelId": model})
            self._settings.model = model
            self._choices_changed()

    async def switch_mode(self, session: Session, mode: str) -> None:
        """Switch the mode."""
        option = self._settings.option("mode")
        if option and not self._settings.opened.modes.available:
            await self.set_option(session, option.id, mode)
        else:
            await self._call("session/set_mode", {"sessionId": session.id, "modeId": mode})
            self._settings.mode = mode
            self._choices_changed()

    async def switch_effort(self, session: Session, effort: str) -> None:
        """Switch how long the model thinks.

        Raises:
            MissingFeatureError: the session has no such option.
        """
        if (option := self._settings.option("thought_level")) is None:
            raise self._missing("switch how long the model thinks")
        await self.set_option(session, option.id, effort)

    async def set_option(self, session: Session, option: str, value: str | bool) -> None:
        """Set one of the session's options."""
        params = {"sessionId": session.id, "configId": option, "value": value}
        answer = wire.read(wire.OptionsUpdate, await self._call("session/set_config_option", params))
        if answer and answer.options:
            self._settings.update(answer.options)
        self._choices_changed()

    @property
    def options(self) -> tuple[wire.Option, ...]:
        """The session's options, as they are now."""
        return self._settings.options

    async def choices(self, session: Session) -> Choices:
        """The models and the modes that the session can switch to."""
        return self._settings.choices

    async def window(self, session: Session) -> ContextWindow | None:
        """How full the context window is: None, since the agent tells it by itself, or not at all."""
        return None

    # Files

    async def is_file(self, path: str) -> bool:
        """Whether the chat's folder has a file; `path` is relative to it or absolute."""
        return await asyncio.to_thread(os.path.isfile, os.path.join(self.folder, path))

    async def glob(self, pattern: str, limit: int) -> list[str]:
        """The files and folders that match a pattern, relative to the chat's folder."""
        return await asyncio.to_thread(finding.find, self.folder, pattern, limit)

    # What the agent sends

    async def _read(self, process: AgentProcess) -> None:
        try:
            async for line in process.lines():
                self._peer.receive(line)
                if self._replay is None:
                    await self._stream.room()
        except Exception:
            logger.exception("%s can't be read", self.name)
            await process.stop(0)
        error = await process.ended()
        self._peer.close(error)
        self._cancel_questions()
        await self._prompts.closed()
        self._stream.fail(error)

    def _write(self, line: bytes) -> None:
        if self._process:
            self._process.write(line)

    def _junk(self, what: str) -> None:
        self._publish(agent.Unsupported(what=f"{what}, from {self.name}"))

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "session/update":
            if not method.startswith(("_", "$")) and "/" in method:
                logger.debug("%s sends the notification %s", self.name, method)
            return
        update = params.get("update")
        if params.get("sessionId") != self._session or not isinstance(update, dict):
            logger.debug("%s tells of another session", self.name)
            return
        self._updated(cast("dict[str, Any]", update))

    def _updated(self, update: Mapping[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if kind == "config_option_update":
            self._settings.update((wire.read(wire.OptionsUpdate, update) or wire.OptionsUpdate()).options)
            self._choices_changed()
            return
        is_echo = self._replay is None and self._prompts.running
        if kind == "user_message_chunk" and (is_echo or extensions.is_own_context(update)):
            return
        for terminal in updates.terminals(update):
            self._shown_in[terminal] = {**self._shown_in.get(terminal, {}), **update}
        event = updates.read(update, self._output)
        if isinstance(event, agent.ModeUpdate):
            self._settings.mode = event.current_mode_id
        self._publish(event)

    def _publish(self, event: events.Event) -> None:
        if self._prompts.running:
            self._past = None
            self._stream.publish(event, self._prompts.running)
            return
        last, self._past = self._past, self._replayed(event, self._past)
        if self._replay is not None:
            self._replay.append(self._past)
            return
        self._stream.publish(event, self._past.prompt)
        if self._past.prompt and (last is None or last.prompt != self._past.prompt):
            self._stream.publish(events.TurnCompleted(), self._past.prompt)

    def _replayed(self, event: events.Event, last: Envelope | None) -> Envelope:
        """An event of a history. A prompt after anything else begins a turn."""
        prompt = last.prompt if last else None
        if isinstance(event, agent.UserChunk) and not (last and isinstance(last.event, agent.UserChunk)):
            prompt = event.meta.prompt_id or event.meta.record_id or f"{self._session}-{next(self._numbers)}"
        return Envelope(event, None, prompt, OURS)

    async def _requested(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a request of the agent."""
        if not self._files or not self._terminals:
            raise RequestError(METHOD_NOT_FOUND, "there is no session")
        match method:
            case "session/request_permission":
                return await self._permission(params)
            case "fs/read_text_file":
                return await self._files.read(params)
            case "fs/write_text_file":
                await self._files.write(params)
                return {}
            case "terminal/create":
                return await self._terminals.create(params)
            case "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
                return await self._terminals.answer(method, params)
            case extensions.DRAIN:
                return extensions.drained(self._prompts.drain())
            case _:
                logger.debug("%s asks for %s, which isn't known", self.name, method)
                raise RequestError(METHOD_NOT_FOUND, f"“{method[:100]}” is not known")

    async def _permission(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the person, and wait for as long as they take."""
        call = params.get("toolCall")
        shown = updates.with_terminals(cast("dict[str, Any]", call), self._output) if isinstance(call, dict) else call
        number = f"{self._stream.epoch}-{next(self._numbers)}"
        request = agent.read_permission(number, shown, params.get("options"))
        self._publish(request)
        if isinstance(request, agent.Unsupported) or params.get("sessionId") != self._session:
            return {"outcome": {"outcome": "cancelled"}}
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            option, answers = await future
        finally:
            del self._asked[number]
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        self._publish(
            events.PermissionResolved(
                request_id=number, outcome=agent.Outcome(outcome=outcome["outcome"], option_id=option)
            )
        )
        return {"outcome": outcome, **({"answers": dict(answers)} if answers else {})}

    def _cancel_questions(self) -> None:
        for future in self._asked.values():
            if not future.done():
                future.set_result((None, {}))

    # Turns

    async def _ask(self, blocks: Sequence[Block]) -> str:
        params = {"sessionId": self._session, "prompt": list(blocks)}
        answer = wire.read(wire.Ended, await self._peer.call("session/prompt", params, None))
        return answer.stop_reason if answer else ""

    async def _turn_over(self) -> None:
        if self._cancelling:
            self._cancelling.cancel()
            self._cancelling = None
        self._cancel_questions()
        self._show_output()
        for lost in await self._files.settle() if self._files else ():
            name = os.path.basename(lost.path)
            why = f"{self.name} has not written {name} as it proposed. The text that you accepted is kept here."
            self._editor.keep_text(self._window, name, lost.content, why)

    def _not_cancelled(self, prompt: str) -> None:
        """The agent doesn't end its turn."""
        self._cancelling = None
        if self._prompts.running == prompt and self._process:
            error = SilentError(self.name, CANCEL_LIMIT)
            self._peer.close(error)
            self._stream.fail(error)

    def _told(self, edited: Edited) -> None:
        """An edited proposal is written: the agent has to know."""
        self._prompts.note(TOLD.format(path=edited.path))

    def _suited(self, block: Block) -> Block:
        """A block of a prompt as the agent takes it.

        Raises:
            UnsendableError: it takes no pictures.
        """
        if block.get("type") == "image" and not self.has("image"):
            raise UnsendableError(f"{self.name} takes no pictures.", "Remove the picture.")
        if block.get("type") == "resource" and not self.has("embedded"):
            resource = block["resource"]
            return {"type": "text", "text": f"{resource['uri']}:\n```\n{resource['text']}\n```\n"}
        return block

    # Terminals

    def _output(self, terminal: str) -> tuple[str, bool] | None:
        found = self._terminals.find(terminal) if self._terminals else None
        return (found.output, found.truncated) if found else None

    def _printed(self, terminal: str) -> None:
        if terminal in self._shown_in:
            self._fresh.add(terminal)
            if self._showing is None:
                self._showing = asyncio.get_running_loop().call_later(OUTPUT_QUIET, self._show_output)

    def _show_output(self) -> None:
        if self._showing:
            self._showing.cancel()
            self._showing = None
        fresh, self._fresh = self._fresh, set()
        for terminal in fresh:
            call = self._shown_in[terminal]
            # Only what it has printed is news.
            news = {name: call[name] for name in ("toolCallId", "content") if name in call}
            self._publish(updates.read({"sessionUpdate": "tool_call_update", **news}, self._output))

    # Asking

    async def _call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._peer.call(method, params, CALL_LIMIT)
        except AnswerError as error:
            if error.code == METHOD_NOT_FOUND:
                raise self._missing(f"do that ({method})") from None
            raise

    async def _opened(self, method: str, params: Mapping[str, Any]) -> wire.Opened:
        try:
            answer = await self._peer.call(method, params, SESSION_LIMIT)
        except AnswerError as error:
            if error.code == AUTHENTICATION_NEEDED:
                methods = [each.name or each.id for each in self.agent.auth_methods]
                raise SignInError(self.name, methods) from None
            raise
        opened = wire.read(wire.Opened, answer) or wire.Opened()
        self._settings = wire.Settings.of(opened)
        return opened

    def _choices_changed(self) -> None:
        self._publish(
            events.SessionSnapshot(
                current_model_id=self._settings.model or None, current_approval_mode=self._settings.mode or None
            )
        )
