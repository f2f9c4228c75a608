"""An agent on its standard input and output, as the agent of one chat.

`connect` starts the process and shakes hands, `create` and `load` open a session, `events` tells what happens. It has
one session at a time. Everything runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from ...agents import AgentCommand, McpServer, decides, is_variable
from ...background import answered
from ...conversation import events
from ...conversation.events import Envelope, Replay
from ...conversation.failures import MissingFeatureError, SessionGoneError, StaleError
from ...conversation.forms import Values
from ...conversation.snapshot import ChoiceKind, Choices, Locality, Queued
from ...platforms import programs
from ...platforms.files import HangingError, real_folder
from ..agent import (
    Agent,
    AgentSession,
    Block,
    Feature,
    OfferedServer,
    SessionInfo,
    SessionPage,
    Surroundings,
    Way,
    Workplace,
)
from ..wire import MOST_SHORT, read
from . import extensions, process, schema
from .errors import AgentError, AnswerError, EndedError, VersionError
from .files import Edited, find
from .peer import Peer, RunningAgent
from .process import AgentProcess
from .prompts import OURS, Events, Prompts
from .schema import AuthMethod
from .services import Services

logger = logging.getLogger(__name__)

START_LIMIT = 60.0
"""Seconds for `initialize`; 1 to 3 on an idle machine with Node.js."""
INSTALL_LIMIT = 300.0
"""Seconds for `initialize` of a program that another one installs first: some packages have 400 MB."""
SESSION_LIMIT = 90.0
"""Seconds to open a session: the agent may have to start servers of its own."""
DETACH_LIMIT = 0.3
"""Seconds to close a session."""
MAX_EARLY = 100
"""Updates that are kept until it is known which session is open."""
LEAVE_LIMIT = 0.2
"""Seconds that requests of the agent have to be answered before it is left to the next instance."""
_FEATURES: Mapping[Feature, Sequence[str]] = {"sessions": ["list"], "fork": ["fork", "load"], "sign_out": ["logout"]}
"""What only some of these agents can do, with what of `RunningAgent.has` it needs."""
_OTHERS: frozenset[Feature] = frozenset({"history", "rewind", "tasks", "sign_in"})
"""What none of them can do."""


class AcpAgent(Agent):
    """Talks with one agent. Close it."""

    forgets_options = True

    def __init__(self, command: AgentCommand, place: Workplace) -> None:
        """`place` is the window of its chat."""
        self._reading: asyncio.Task[None] | None = None
        peer = Peer(command.name, self._write, self._requested, self._notified, self._unreadable)
        self.running = RunningAgent(command, place, peer)
        self.folders: tuple[str, ...] = ()
        """The other folders that its session was given."""
        self.settings = schema.SessionSettings(schema.Opened())
        """What its session can switch."""
        self._events = Events()
        self._prompts = Prompts(self.running, self._events, self._turn_over)
        self._services = Services(self.running, self._events, self._prompts)
        self._early: list[Mapping[str, Any]] | None = None
        """What came of sessions that aren't open, while one is being opened."""
        self._begun = 0.0
        """When the session was begun, as a Unix time in seconds; 0 if that isn't known."""
        self._offered: OfferedServer | None = None

    def can(self, feature: Feature) -> bool:
        return feature not in _OTHERS and all(map(self.running.has, _FEATURES.get(feature, ())))

    def missing(self, what: str) -> MissingFeatureError:
        return self.running.missing(what)

    @property
    def folder(self) -> str:
        """The one that it works in."""
        return self.running.folder

    @property
    def name(self) -> str:
        """What the agent calls itself; what the person calls it until it has said that."""
        return self.running.name

    @property
    def said(self) -> str:
        """What its program has printed last besides the protocol, for whoever waits for its start."""
        return self.running.process.said if self.running.process else ""

    # Its process

    async def connect(self, folder: str) -> str:
        """Start the agent in a folder and shake hands. Returns the folder as the agent gets it.

        Raises:
            AgentError: it can't be started, ends at once, doesn't answer, or speaks another version.
        """
        running, command = self.running, self.running.command
        await running.settle_in(await asyncio.to_thread(real_folder, folder))
        started = await process.start(
            command.name, command.command, running.folder, running.environment, command.install
        )
        running.process = started
        self._reading = asyncio.create_task(self._read(started))
        answer = await running.peer.call(
            "initialize",
            {"protocolVersion": schema.VERSION, "clientCapabilities": schema.CAPABILITIES, "clientInfo": schema.CLIENT},
            INSTALL_LIMIT if extensions.installs(command.command) else START_LIMIT,
        )
        started.has_answered = True
        running.info = read(schema.Initialized, answer) or schema.Initialized()
        if not schema.is_known(running.info.protocol_version):
            raise VersionError(self.name, running.info.protocol_version)
        running.peer.agent = started.agent = self.name
        return self.folder

    async def describe(self, locality: Locality) -> str:
        lines = [
            f"# {locality.agent}",
            "",
            f"- Version: {locality.version or 'not told'}",
            f"- Folder: {locality.folder}",
            "- Files, commands and keys are those of this computer.",
            "- It is a process of this chat, and ends with it.",
        ]
        return "\n".join(lines) + "\n"

    async def close(self) -> None:
        """End the agent and all that it has started."""
        running = self.running
        self._prompts.stop_waiting_for_cancel()
        self._prompts.close()
        running.peer.close(EndedError(self.name, "it was closed"))
        await self._prompts.closed()
        await self._services.close()
        if running.process:
            await running.process.stop()
        if self._offered:
            running.place.dismiss(self._offered.token)
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _read(self, agent: AgentProcess) -> None:
        try:
            async for line in agent.lines():
                self.running.peer.receive(line)
                if not self._events.is_history:
                    await self._events.room()
        except Exception:
            logger.exception("%s can't be read", self.name)
            await agent.stop(0)
        error = await agent.ended()
        self.running.peer.close(error)
        self._services.questions.cancel()
        self._prompts.agent_ended()
        await self._prompts.closed()
        self._events.fail(error)
        # What it has left behind ends with it.
        await self._services.terminals.kill_all()
        await agent.stop(0)

    # What it sends

    def _write(self, line: bytes) -> None:
        if self.running.process:
            self.running.process.write(line)

    async def _requested(self, method: str, params: Mapping[str, Any]) -> Any:
        return await self._services.answer(method, params)

    def _unreadable(self, what: str) -> None:
        self._events.publish(events.Unsupported(f"{what}, from {self.name}"))

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification. One of an unknown method is ignored, and what is told of another session."""
        if method == "session/update":
            told = self._services.decoder.decode(params, self.running.session, self.settings)
            if told is not None:
                self._publish(told)
            elif self._early is not None and len(self._early) < MAX_EARLY:
                self._early.append(params)
            else:
                logger.debug("%s tells of another session", self.name)
        elif method == "elicitation/complete":
            self._services.questions.completed(str(params.get("elicitationId")))
        elif not method.startswith(("_", "$")) and "/" in method:
            logger.debug("%s sends the notification %s", self.name, method)

    def _publish(self, told: Iterable[events.Event]) -> None:
        for event in told:
            if isinstance(event, events.ToolCallUpdate):
                self._prompts.acted()
            if not isinstance(event, events.Ignored):
                self._events.publish(event)

    # Sessions

    async def create(self, folder: str) -> AgentSession:
        """Begin a new session. No other client shares it.

        Raises:
            SignInError: the agent wants the person to sign in first.
            AgentError: it opens none.
        """
        params, early = {"cwd": folder, **await self._around(folder)}, list[Mapping[str, Any]]()
        self._early = early
        try:
            opened = await self._opened("session/new", params)
        finally:
            self._early = None
        if not opened.session_id:
            raise AnswerError(self.name, 0, "it has opened no session")
        self.running.session, self._begun = opened.session_id, time.time()
        for told in early:
            self._notified("session/update", told)
        return AgentSession.known(opened.session_id, folder, OURS, self._begun)

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Resume a session, and get its conversation.

        Raises:
            MissingFeatureError: the agent can't do that.
            SignInError: see `create`.
            SessionGoneError: it has no such session.
        """
        running = self.running
        if not running.has("load"):
            raise running.missing("resume a conversation")
        if pause := extensions.pause_before_load(running.info.info.name, session.begun, time.time()):
            logger.info("%s would empty the conversation if it loaded it now: %.0f s are waited", self.name, pause)
            await asyncio.sleep(pause)
        running.session, self._begun = session.id, session.begun
        self._events.begin_history(session.id)
        method = "session/load" if running.info.abilities.load_session else "session/resume"
        folder = session.folder or self.folder
        params = {"sessionId": session.id, "cwd": folder, **await self._around(folder)}
        try:
            await self._opened(method, params)
        except AnswerError as error:
            raise SessionGoneError(f"{self.name} can't resume this conversation: {error.message}.") from None
        finally:
            history = self._events.end_history()
        self._events.drop()
        loaded = AgentSession.known(session.id, folder, OURS, session.begun)
        is_silent = method == "session/resume" and not any(envelope.prompt for envelope in history)
        return loaded, Replay(history, is_silent=is_silent)

    async def _opened(self, method: str, params: Mapping[str, Any]) -> schema.Opened:
        answer = await self.running.signed_in(self.running.peer.call(method, params, SESSION_LIMIT))
        opened = read(schema.Opened, answer) or schema.Opened()
        self.settings = schema.SessionSettings.of(opened)
        return opened

    async def fork(self, session: AgentSession, title: str = "") -> AgentSession:
        """Copy the session with everything that was said in it. The agent names the copy."""
        self.need("fork", "copy a conversation")
        folder = session.folder
        params = {"sessionId": session.id, "cwd": folder, **await self._around(folder)}
        forked = read(schema.Opened, await self.running.call("session/fork", params)) or schema.Opened()
        if not forked.session_id:
            raise AnswerError(self.name, 0, "it has copied nothing")
        return AgentSession.known(forked.session_id, folder, OURS, time.time())

    async def detach(self, session: AgentSession) -> None:
        if self.running.info.abilities.session_capabilities.close:
            with contextlib.suppress(AgentError):
                named = {"sessionId": session.id or self.running.session}
                await self.running.peer.call("session/close", named, DETACH_LIMIT)

    async def list_sessions(self, folder: str, cursor: str = "") -> SessionPage:
        self.need("sessions", "list conversations")
        params = {"cwd": folder, **({"cursor": cursor} if cursor else {})}
        page = read(schema.SessionList, await self.running.call("session/list", params)) or schema.SessionList()
        listed = (
            {"sessionId": each.id, "workspaceCwd": each.cwd or folder, "displayName": each.title}
            | {"updatedAt": each.updated_at}
            for each in page.sessions
        )
        following = "" if page.next_cursor == cursor else page.next_cursor
        return SessionPage(tuple(map(SessionInfo.model_validate, listed)), following)

    async def delete_session(self, session: AgentSession) -> None:
        """Delete a session and its history.

        Raises:
            MissingFeatureError: the agent can't, or can only list them.
        """
        self.need("sessions", "delete a conversation")
        if not self.running.has("delete"):
            raise self.missing("delete a conversation")
        await self.running.call("session/delete", {"sessionId": session.id})

    async def _around(self, folder: str) -> dict[str, Any]:
        """What a session gets besides its folder: MCP servers, and the other folders of the window."""
        around = await self.running.place.surroundings()
        others = [each for each in around.folders if each != folder] if self.running.has("folders") else []
        self.folders = tuple(others)
        more = {"additionalDirectories": others} if others else {}
        return {"mcpServers": [*self._servers(), *await self._own_servers(around)], **more}

    async def _own_servers(self, around: Surroundings) -> list[Mapping[str, Any]]:
        """The person's own MCP servers. What can't be offered is said."""
        if not around.servers:
            return []
        running = self.running
        environment, has_http = await running.place.login.get(), running.has("http")
        entries, missing = await asyncio.to_thread(
            partial(_offered_servers, around.servers, environment, has_http=has_http, hide=running.hide)
        )
        for sentence in missing:
            running.say(sentence)
        return entries

    def _servers(self) -> list[Mapping[str, Any]]:
        """The editor's own MCP server, as the protocol has it, if the agent is offered that."""
        if self._offered is None and self.running.has("http"):
            self._offered = self.running.place.admit(self.name)
            if self._offered:
                self.running.hide(self._offered.token)
        return [self._offered.entry] if self._offered else []

    # The conversation

    @contextlib.asynccontextmanager
    async def events(self, session: AgentSession) -> AsyncGenerator[AsyncGenerator[Envelope]]:
        """The events of the session, until the agent has ended, which is raised."""
        if session.id != self.running.session:
            raise StaleError  # an agent that was started anew has loaded nothing yet
        yield self._events.envelopes

    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        """Send a prompt, which waits while a turn runs. Returns its id, which the events of its turn carry.

        Raises:
            UnsendableError: the agent doesn't take pictures.
            AgentError: it has ended.
        """
        self.running.peer.check()
        return self._prompts.send([self.running.suited(block) for block in blocks])

    async def inject(self, session: AgentSession, message: str) -> str | None:
        return await self._prompts.inject(message)

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        return self._prompts.queue

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        return self._prompts.dequeue(prompt)

    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        self._services.questions.answer(request, option, answers or {})

    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs, if one does: its questions are cancelled, and what it runs is killed."""
        if self._prompts.running is None or self._prompts.give_up():
            return
        self._prompts.cancel()
        self._services.questions.cancel()
        await self._services.terminals.kill_all()

    async def _turn_over(self) -> None:
        await self._services.turn_over()

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written, and the agent is told."""
        await self._services.files.allowed(Edited(path, proposed, content))

    async def stop_terminal(self, terminal: str) -> bool:
        """End what runs in a terminal. Returns False if nothing does; the agent is told how it has ended."""
        return await self._services.terminals.stop(terminal)

    async def is_file(self, path: str) -> bool:
        try:
            return await answered(path, partial(os.path.isfile, os.path.join(self.folder, path)))
        except HangingError:
            return False

    async def find_files(self, words: str, limit: int) -> list[str]:
        given_up = threading.Event()
        try:
            return await asyncio.to_thread(find, self.folder, words, limit, given_up)
        finally:
            given_up.set()

    # What the session can switch

    async def choices(self, session: AgentSession) -> Choices:
        return self.settings.choices

    async def switch(self, session: AgentSession, kind: ChoiceKind, value: str) -> None:
        """Switch by an option where the session has one.

        Raises:
            MissingFeatureError: it has none for how long the model thinks.
        """
        option = self.settings.option("thought_level" if kind == "effort" else kind)
        if option and not (kind == "mode" and self.settings.opened.modes.available):
            await self.set_option(session, option.id, value)
            return
        match kind:
            case "mode":
                await self.running.call("session/set_mode", {"sessionId": session.id, "modeId": value})
                self.settings.mode = value
            case "model":
                await self.running.call("session/set_model", {"sessionId": session.id, "modelId": value})
                self.settings.model = value
            case "effort":
                raise self.missing("switch how long the model thinks")
        self._tell_choices()

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        params: dict[str, object] = {"sessionId": session.id, "configId": option, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        before = self.settings.options
        answer = read(schema.OptionsUpdate, await self.running.call("session/set_config_option", params))
        if answer and answer.options:
            self.settings.update(answer.options)
        elif self.settings.options is before and (unsure := self.settings.accepted(option, value)):
            self.running.say(f"{self.running.name} has accepted {unsure}, but doesn't say what holds now.")
        self._tell_choices()

    def _tell_choices(self) -> None:
        self._events.publish(events.StatusUpdate(self.settings.choices.changes))

    # Signing in

    @property
    def ways(self) -> tuple[Way, ...]:
        return ways(self.running.command, self.running.info.auth_methods)

    async def authenticate(self, method: str) -> None:
        """Sign in by one of its own methods, which may open a browser and wait for the person.

        Raises:
            AgentError: it refuses.
        """
        self._services.expect_questions()
        await self.running.peer.call("authenticate", {"methodId": method}, None)
        # The agent says so, which need not be true.
        self._prompts.signed_in()

    async def sign_out(self) -> None:
        """Have the agent forget who the person is.

        Raises:
            AgentError: it refuses.
        """
        self.need("sign_out", "sign you out")
        await self.running.call("logout", {})

    @property
    def can_restart(self) -> bool:
        return self.running.has("load")

    @property
    def is_signed_out(self) -> bool:
        return self._prompts.is_signed_out

    @property
    def held(self) -> str | None:
        return self._prompts.held

    # A reload of the package

    @property
    def unread(self) -> list[Envelope]:
        return self._events.unread

    async def hand_over(self) -> dict[str, Any] | None:
        """Leave the agent to the next instance, in the middle of whatever it does. Returns what `resume` needs.

        None if it could not be left; then it has ended. Afterwards `unread` has the last events.
        """
        running, agent = self.running, self.running.process
        if not (agent and self._reading and running.session and agent.is_running):
            await self.close()
            return None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        for line in agent.take_ready():
            running.peer.receive(line)
        end = asyncio.get_running_loop().time() + LEAVE_LIMIT
        while self._prompts.running and not (self._prompts.held or running.peer.waits_for("session/prompt")):
            # The turn has just ended, which is being told.
            await asyncio.sleep(0.005)
            if asyncio.get_running_loop().time() > end:
                break
        self._prompts.stop()  # the peer counts its calls now
        peer = await running.peer.hand_over(LEAVE_LIMIT)
        prompts = await self._prompts.hand_over()
        services = await self._services.hand_over()
        left = await agent.hand_over() if services and not self._events.is_history else None
        if services is None or left is None:
            await self.close()
            return None
        is_cancelling = self._prompts.is_cancelled
        self._prompts.stop_waiting_for_cancel()
        return {
            **services,
            "session": running.session,
            "begun": self._begun,
            "settings": self.settings.hand_over(),
            "offered": (self._offered.url, self._offered.token) if self._offered else None,
            "folders": self.folders,
            "subagents": self._services.decoder.subagents.parents,
            "peer": peer,
            "prompts": prompts,
            "process": left,
            "agent": running.info.model_dump(mode="json", by_alias=True),
            "command": (running.command.name, list(running.command.command)),
            "folder": self.folder,
            "is_cancelling": is_cancelling,
        }

    async def resume(self, left: Mapping[str, Any]) -> AgentSession:
        """Go on with an agent that another instance has left. Returns its session.

        Raises whatever is wrong with what another version of the package may have left in another form.
        """
        running = self.running
        running.info = read(schema.Initialized, left["agent"]) or schema.Initialized()
        await running.settle_in(left["folder"])
        taking = asyncio.create_task(self._take_over(left))
        try:
            await asyncio.wait([taking])
        except asyncio.CancelledError:
            # Half taken over, it would be nobody's. Whoever cancels finds it whole, at the next `await`.
            await asyncio.wait([taking])
            cast("asyncio.Task[Any]", asyncio.current_task()).cancel()
        return taking.result()

    async def _take_over(self, left: Mapping[str, Any]) -> AgentSession:
        running = self.running
        running.session, self._begun = left["session"], left.get("begun", 0.0)
        self.folders = tuple(left.get("folders", ()))
        self._services.decoder.subagents.parents = dict(left.get("subagents", {}))
        self.settings = schema.SessionSettings.inherited(left["settings"])
        self._offered = OfferedServer(*left["offered"]) if left["offered"] else None
        session = AgentSession.known(running.session, self.folder, OURS, self._begun)
        await self._services.take_over(left)
        running.process = await process.take_over(left["process"])
        running.peer.agent = running.process.agent = self.name
        self._prompts.resume(left["prompts"], running.peer.go_on(left["peer"], "session/prompt"))
        self._reading = asyncio.create_task(self._read(running.process))
        running.peer.repeat(left["peer"])
        if left["is_cancelling"] and self._prompts.running:
            self._prompts.wait_for_cancel(self._prompts.running)
        return session


def _offered_servers(
    servers: tuple[McpServer, ...],
    environment: Mapping[str, str],
    *,
    has_http: bool,
    hide: Callable[[str], object],
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The servers as the protocol has them, and a sentence on each that can't be offered. It looks at the disk.

    Args:
        servers: the person's.
        environment: has the secrets, and the PATH.
        has_http: whether the agent takes servers by HTTP.
        hide: is told each value that is no word of the settings.
    """
    entries: list[Mapping[str, Any]] = []
    missing: list[str] = []
    for server in servers:
        try:
            filled = server.filled(environment)
        except KeyError as error:
            missing.append(
                f"The MCP server {server.name} is left out: there is no environment variable {error.args[0]}."
            )
            continue
        for variable in server.variables:
            hide(environment[variable])
        pairs = [{"name": name, "value": value} for name, value in filled.values.items()]
        if server.url and has_http:
            entries.append({"type": "http", "name": server.name, "url": filled.url, "headers": pairs})
        elif server.url:
            missing.append(f"The MCP server {server.name} is left out: the agent takes none over HTTP.")
        elif command := programs.resolve(filled.command, environment):
            entries.append({"name": server.name, "command": command[0], "args": command[1:], "env": pairs})
        else:
            missing.append(f"The MCP server {server.name} is left out: there is no program “{server.command[0]}”.")
    return entries, missing


def ways(command: AgentCommand, methods: Sequence[AuthMethod]) -> tuple[Way, ...]:
    """The ways to sign in of an agent that is started with a command."""
    return tuple(_way(command, method) for method in methods)


def _way(command: AgentCommand, method: AuthMethod) -> Way:
    name = method.name or method.id
    line = extensions.login(command.command, method)
    if line is None and method.type == "terminal":
        line = (*command.command, *method.args)
    if line:
        # A method names arguments, never another program, and no variable may make another one of it.
        given = {each: value for each, value in method.env.items() if isinstance(value, str)}
        if refused := next((each for each in given if decides(each) or not is_variable(each)), None):
            why = f"It sets {refused[:64]!r}, which decides {decides(refused) or 'what nobody knows'}."
            return Way(method.id, name, why, "refused")
        if sum(map(len, (*line, *given, *given.values()))) > MOST_SHORT:
            return Way(method.id, name, "Its command is too long to be shown.", "refused")
        environment = {**command.environment, **given}
        return Way(method.id, name, method.description, "terminal", line, environment, given)
    if method.type == "env_var":
        variables = tuple(
            f"{each.name}{f' ({each.label})' if each.label else ''}{', if you like' if each.optional else ''}"
            for each in method.vars
        )
        page = method.link if method.link.startswith(("https://", "http://")) else ""
        return Way(method.id, name, method.description, "variables", variables=variables, page=page)
    return Way(method.id, name, method.description, "agent")
