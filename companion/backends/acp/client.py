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
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from ...agents import AgentCommand, McpServer, decides, is_variable
from ...background import answered
from ...conversation import events
from ...conversation.events import Envelope, Replay
from ...conversation.failures import MissingFeatureError, SessionGoneError, StaleError, UnsendableError
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
    SessionPage,
    Surroundings,
    Way,
    Workplace,
)
from ..wire import MOST_SHORT, ConfigOption, objects, read, several
from . import extensions, process, schema
from .decoder import UpdateDecoder
from .errors import (
    AUTHENTICATION_NEEDED,
    METHOD_NOT_FOUND,
    AgentError,
    AnswerError,
    EndedError,
    SignInError,
)
from .files import Edited, find
from .peer import Peer
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
CALL_LIMIT = 30.0
"""Seconds to wait for another answer; a prompt is waited for without a limit."""
DETACH_LIMIT = 0.3
"""Seconds to close a session."""
MAX_VERSION = 40
"""Characters of a version of the protocol in a message."""
MAX_EARLY = 100
"""Updates that are kept until it is known which session is open."""
LEAVE_LIMIT = 0.2
"""Seconds that requests of the agent have to be answered before it is left to the next instance."""
_LISTED = ("sessionId", "cwd", "title", "updatedAt")
"""What the protocol has of a session in a list. Other names mean what the agent pleases, and not what a daemon does."""
_OPENING = ("authenticate", "session/new", "session/load", "session/resume", "session/fork")
"""The calls during which there may be no conversation that could show a question."""


class AcpAgent(Agent):
    """Talks with one agent. Close it. Its parts share what is public here."""

    forgets_options = True

    def __init__(self, command: AgentCommand, place: Workplace) -> None:
        """`place` is the window of its chat."""
        self.command = command
        self.place = place
        self.info = schema.Initialized()
        """What it has said about itself, once it is connected."""
        self.process: AgentProcess | None = None
        self.folder = ""
        """The one that it works in, as it has it."""
        self.environment: Mapping[str, str] = {}
        """What it and its commands get."""
        self.session = ""
        """The id of the one that is open; empty if none is."""
        self.folders: tuple[str, ...] = ()
        """The other folders that its session was given."""
        self.settings = schema.SessionSettings()
        """What its session can switch."""
        self.peer = Peer(self)
        self.stream = Events()
        """What happens in its session, on the way to the chat."""
        self.decoder = UpdateDecoder(self)
        self.prompts = Prompts(self)
        self.services = Services(self)
        self._reading: asyncio.Task[None] | None = None
        self._early: list[Mapping[str, Any]] | None = None
        """What came of sessions that aren't open, while one is being opened."""
        self._begun = 0.0
        """When the session was begun, as a Unix time in seconds; 0 if that isn't known."""
        self._offered: OfferedServer | None = None

    @property
    def name(self) -> str:
        """What the agent calls itself; what the person calls it until it has said that."""
        return self.info.title or self.info.name or self.command.name

    def can(self, feature: Feature) -> bool:
        match feature:
            case "history" | "rewind" | "tasks" | "sign_in":
                return False
            case "sessions":
                return self.info.can_list
            case "fork":
                return self.info.can_fork and self.can_restart
            case "sign_out":
                return self.info.can_sign_out
            case _:
                return True

    @property
    def can_restart(self) -> bool:
        return self.info.can_load or self.info.can_resume

    def missing(self, what: str) -> MissingFeatureError:
        return MissingFeatureError(f"{self.name} can't {what}.")

    @property
    def is_opening(self) -> bool:
        """Whether a sign-in or the opening of a session waits for the agent."""
        return any(map(self.peer.waits_for, _OPENING))

    def say(self, message: str) -> None:
        """Show a sentence to the person."""
        self.place.screen.messenger.say(message, self.place.id)

    # Its process

    async def connect(self, folder: str) -> str:
        """Start the agent in a folder and shake hands. Returns the folder as the agent gets it.

        Raises:
            AgentError: it can't be started, ends at once, doesn't answer, or speaks another version.
        """
        command = self.command
        await self._settle_in(await asyncio.to_thread(real_folder, folder))
        started = await process.start(command.name, command.command, self.folder, self.environment, command.install)
        self.process = started
        self._reading = asyncio.create_task(self._read(started))
        answer = await self.peer.call(
            "initialize",
            {"protocolVersion": schema.VERSION, "clientCapabilities": schema.CAPABILITIES, "clientInfo": schema.CLIENT},
            INSTALL_LIMIT if extensions.installs(command.command) else START_LIMIT,
        )
        started.has_answered = True
        self.info = read(schema.Initialized, answer) or schema.Initialized()
        if not schema.is_known(self.info.protocol_version):
            said = f"{self.name} speaks version {str(self.info.protocol_version)[:MAX_VERSION]}"
            why = f"{said} of the Agent Client Protocol, and only version 1 is known."
            raise AgentError(why, "Update the agent, or this package.")
        started.agent = self.name
        return self.folder

    async def _settle_in(self, folder: str) -> None:
        self.folder = folder
        self.environment = {**await self.place.login.get(), **self.command.environment}

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
        self.prompts.stop_waiting_for_cancel()
        self.prompts.close()
        self.peer.close(EndedError(self.name, "it was closed"))
        await self.prompts.closed()
        self.services.questions.cancel()
        await self.services.terminals.close()
        if self.process:
            await self.process.stop()
        if self._offered:
            self.place.dismiss(self._offered.token)
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _read(self, agent: AgentProcess) -> None:
        try:
            async for line in agent.lines():
                self.peer.receive(line)
                if not self.stream.is_history:
                    await self.stream.room()
        except Exception:
            logger.exception("%s can't be read", self.name)
            await agent.stop(0)
        error = await agent.ended()
        self.peer.close(error)
        self.services.questions.cancel()
        self.prompts.end_wait(goes_on=True)  # it is sent to the closed peer, and fails as all do
        await self.prompts.closed()
        self.stream.fail(error)
        # What it has left behind ends with it.
        await self.services.terminals.kill_all()
        await agent.stop(0)

    # What it sends, and is asked

    def unreadable(self, what: str) -> None:
        """Something could not be read; `what` is a phrase for it."""
        self.stream.publish(events.Unsupported(f"{what}, from {self.name}"))

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification. One of an unknown method is ignored, and what is told of another session."""
        if method == "session/update":
            told = self.decoder.decode(params)
            if told is not None:
                for event in told:
                    if isinstance(event, events.ToolCallUpdate):
                        self.prompts.acted()
                    if not isinstance(event, events.Ignored):
                        self.stream.publish(event)
            elif self._early is not None and len(self._early) < MAX_EARLY:
                self._early.append(params)
            else:
                logger.debug("%s tells of another session", self.name)
        elif method == "elicitation/complete":
            self.services.questions.completed(str(params.get("elicitationId")))
        elif not method.startswith(("_", "$")) and "/" in method:
            logger.debug("%s sends the notification %s", self.name, method)

    async def call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request.

        Raises:
            MissingFeatureError: the agent doesn't know the method.
            AgentError: see Peer.
        """
        try:
            return await self.peer.call(method, params, CALL_LIMIT)
        except AnswerError as error:
            if error.code == METHOD_NOT_FOUND:
                raise self.missing(f"do that ({method})") from None
            raise

    async def signed_in(self, answer: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer to a request that only somebody who has signed in may make.

        Raises:
            SignInError: the person hasn't.
            AgentError: see Peer.
        """
        try:
            return await answer
        except AnswerError as error:
            if error.code == AUTHENTICATION_NEEDED:
                methods = [each.name or each.id for each in self.info.auth_methods]
                raise SignInError(self.name, methods, error.message) from None
            raise

    # Sessions

    async def create(self, folder: str) -> AgentSession:
        params, early = {"cwd": folder, **await self._around(folder)}, list[Mapping[str, Any]]()
        self._early = early
        try:
            opened = await self._opened("session/new", params)
        finally:
            self._early = None
        if not opened.session_id:
            raise AnswerError(self.name, 0, "it has opened no session")
        self.session, self._begun = opened.session_id, time.time()
        for told in early:
            self.notified("session/update", told)
        return AgentSession(id=opened.session_id, folder=folder, client_id=OURS, begun=self._begun)

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        if not self.can_restart:
            raise self.missing("resume a conversation")
        if pause := extensions.pause_before_load(self.info.name, session.begun, time.time()):
            logger.info("%s would empty the conversation if it loaded it now: %.0f s are waited", self.name, pause)
            await asyncio.sleep(pause)
        self.session, self._begun = session.id, session.begun
        self.stream.begin_history(session.id)
        method = "session/load" if self.info.can_load else "session/resume"
        folder = session.folder or self.folder
        params = {"sessionId": session.id, "cwd": folder, **await self._around(folder)}
        try:
            await self._opened(method, params)
        except AnswerError as error:
            raise SessionGoneError(f"{self.name} can't resume this conversation: {error.message}.") from None
        finally:
            history = self.stream.end_history()
        self.stream.drop()
        loaded = AgentSession(id=session.id, folder=folder, client_id=OURS, begun=session.begun)
        is_silent = method == "session/resume" and not any(envelope.prompt for envelope in history)
        return loaded, Replay(history, is_silent=is_silent)

    async def _opened(self, method: str, params: Mapping[str, Any]) -> schema.Opened:
        answer = await self.signed_in(self.peer.call(method, params, SESSION_LIMIT))
        opened = read(schema.Opened, answer) or schema.Opened()
        self.settings = schema.SessionSettings.of(opened)
        return opened

    async def fork(self, session: AgentSession, title: str = "") -> AgentSession:
        """Copy the session with everything that was said in it. The agent names the copy."""
        self.need("fork", "copy a conversation")
        folder = session.folder
        params = {"sessionId": session.id, "cwd": folder, **await self._around(folder)}
        forked = read(schema.Opened, await self.call("session/fork", params)) or schema.Opened()
        if not forked.session_id:
            raise AnswerError(self.name, 0, "it has copied nothing")
        return AgentSession(id=forked.session_id, folder=folder, client_id=OURS, begun=time.time())

    async def detach(self, session: AgentSession) -> None:
        if self.info.can_close:
            with contextlib.suppress(AgentError):
                await self.peer.call("session/close", {"sessionId": session.id or self.session}, DETACH_LIMIT)

    async def list_sessions(self, folder: str, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        self.need("sessions", "list conversations")
        if is_archived:
            raise self.missing("list archived conversations")
        params = {"cwd": folder, **({"cursor": cursor} if cursor else {})}
        answer = await self.call("session/list", params)
        sessions = [{name: each.get(name) for name in _LISTED} for each in objects(answer.get("sessions"))]
        page = read(SessionPage, {**answer, "sessions": sessions}) or SessionPage()
        listed = (each.model_copy(update={"folder": each.folder or folder}) for each in page.sessions)
        return SessionPage(sessions=tuple(listed), cursor=page.after(cursor))

    async def delete_session(self, session: AgentSession) -> None:
        if not (self.info.can_list and self.info.can_delete):
            raise self.missing("delete a conversation")
        await self.call("session/delete", {"sessionId": session.id})

    async def _around(self, folder: str) -> dict[str, Any]:
        """What a session gets besides its folder: MCP servers, and the other folders of the window."""
        around = await self.place.surroundings()
        others = [each for each in around.folders if self.info.takes_folders and each != folder]
        self.folders = tuple(others)
        more = {"additionalDirectories": others} if others else {}
        return {"mcpServers": [*self._servers(), *await self._own_servers(around)], **more}

    async def _own_servers(self, around: Surroundings) -> list[Mapping[str, Any]]:
        """The person's own MCP servers. What can't be offered is said."""
        if not around.servers:
            return []
        environment, has_http = await self.place.login.get(), self.info.takes_http
        for variable in (each for server in around.servers for each in server.variables):
            self._hide(environment.get(variable, ""))
        entries, missing = await asyncio.to_thread(_offered_servers, around.servers, environment, has_http=has_http)
        for sentence in missing:
            self.say(sentence)
        return entries

    def _servers(self) -> list[Mapping[str, Any]]:
        """The editor's own MCP server, as the protocol has it, if the agent is offered that."""
        if self._offered is None and self.info.takes_http:
            self._offered = self.place.admit(self.name)
            if self._offered:
                self._hide(self._offered.token)
        return [self._offered.entry] if self._offered else []

    def _hide(self, secret: str) -> None:
        if self.process:
            self.process.hide(secret)

    # The conversation

    @contextlib.asynccontextmanager
    async def events(self, session: AgentSession) -> AsyncGenerator[AsyncGenerator[Envelope]]:
        """The events of the session, until the agent has ended, which is raised."""
        if session.id != self.session:
            raise StaleError  # an agent that was started anew has loaded nothing yet
        yield self.stream.envelopes

    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        self.peer.check()
        return self.prompts.send([self._suited(block) for block in blocks])

    def _suited(self, block: Block) -> Block:
        """A block of a prompt as the agent takes it."""
        if block.get("type") == "image" and not self.info.takes_pictures:
            raise UnsendableError(f"{self.name} doesn't take pictures.", "Remove the picture.")
        if block.get("type") == "resource" and not self.info.takes_resources:
            resource = block["resource"]
            return {"type": "text", "text": f"{resource['uri']}:\n```\n{resource['text']}\n```\n"}
        return block

    async def inject(self, session: AgentSession, message: str) -> str | None:
        return await self.prompts.inject(message)

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        return self.prompts.queue

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        return self.prompts.dequeue(prompt)

    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        self.services.questions.answer(request, option, answers or {})

    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs, if one does: its questions are cancelled, and what it runs is killed."""
        if self.prompts.running is None or self.prompts.end_wait(goes_on=False):
            return
        self.prompts.cancel()
        self.services.questions.cancel()
        await self.services.terminals.kill_all()

    async def edited(self, path: str, proposed: str, content: str) -> None:
        await self.services.files.allowed(Edited(path, proposed, content))

    async def stop_terminal(self, terminal: str) -> bool:
        return await self.services.terminals.stop(terminal)

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
        """Switch by an option where the session has one."""
        option = self.settings.option("thought_level" if kind == "effort" else kind)
        if option and not (kind == "mode" and self.settings.opened.modes.available):
            await self.set_option(session, option.id, value)
            return
        match kind:
            case "mode":
                await self.call("session/set_mode", {"sessionId": session.id, "modeId": value})
                self.settings.mode = value
            case "model":
                await self.call("session/set_model", {"sessionId": session.id, "modelId": value})
                self.settings.model = value
            case "effort":
                raise self.missing("switch how long the model thinks")
        self._tell_choices()

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        params: dict[str, object] = {"sessionId": session.id, "configId": option, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        before = self.settings.options
        answer = await self.call("session/set_config_option", params)
        if options := several(ConfigOption)(answer.get("configOptions")):
            self.settings.update(options)
        elif self.settings.options is before and (unsure := self.settings.accepted(option, value)):
            self.say(f"{self.name} has accepted {unsure}, but doesn't say what holds now.")
        self._tell_choices()

    def _tell_choices(self) -> None:
        self.stream.publish(events.StatusUpdate(self.settings.choices.changes))

    # Signing in

    @property
    def ways(self) -> tuple[Way, ...]:
        return ways(self.command, self.info.auth_methods)

    async def authenticate(self, method: str) -> None:
        self.services.expect_questions()
        await self.peer.call("authenticate", {"methodId": method}, None)
        # The agent says so, which need not be true.
        self.prompts.signed_in()

    async def sign_out(self) -> None:
        self.need("sign_out", "sign you out")
        await self.call("logout", {})

    @property
    def is_signed_out(self) -> bool:
        return self.prompts.is_signed_out

    @property
    def held(self) -> str | None:
        return self.prompts.held

    # A reload of the package

    @property
    def unread(self) -> list[Envelope]:
        return self.stream.unread

    async def hand_over(self) -> dict[str, Any] | None:
        """Leave the agent to the next instance, in the middle of whatever it does. Returns what `resume` needs.

        None if it could not be left; then it has ended. Afterwards `unread` has the last events.
        """
        agent = self.process
        if not (agent and self._reading and self.session and agent.is_running):
            await self.close()
            return None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        for line in agent.take_ready():
            self.peer.receive(line)
        end = asyncio.get_running_loop().time() + LEAVE_LIMIT
        while self.prompts.running and not (self.prompts.held or self.peer.waits_for("session/prompt")):
            # The turn has just ended, which is being told.
            await asyncio.sleep(0.005)
            if asyncio.get_running_loop().time() > end:
                break
        self.prompts.stop()  # the peer counts its calls now
        peer = await self.peer.hand_over(LEAVE_LIMIT)
        prompts = await self.prompts.hand_over()
        files = self.services.files.hand_over()  # at once: what was settled is among the notes or here
        terminals = await self.services.terminals.hand_over()
        left = await agent.hand_over() if terminals and not self.stream.is_history else None
        if left is None:
            await self.close()
            return None
        is_cancelling = self.prompts.is_cancelled
        self.prompts.stop_waiting_for_cancel()
        return {
            "terminals": terminals,
            "files": files,
            **self.decoder.hand_over(),
            "session": self.session,
            "begun": self._begun,
            "settings": self.settings.model_dump(mode="json"),
            "offered": (self._offered.url, self._offered.token) if self._offered else None,
            "folders": self.folders,
            "peer": peer,
            "prompts": prompts,
            "process": left,
            "agent": self.info.model_dump(mode="json"),
            "command": (self.command.name, list(self.command.command)),
            "folder": self.folder,
            "is_cancelling": is_cancelling,
        }

    async def resume(self, left: Mapping[str, Any]) -> AgentSession:
        """Go on with an agent that another instance has left. Returns its session.

        Raises whatever is wrong with what another version of the package may have left in another form.
        """
        self.info = schema.Initialized.model_validate(left["agent"])
        await self._settle_in(left["folder"])
        taking = asyncio.create_task(self._take_over(left))
        try:
            await asyncio.wait([taking])
        except asyncio.CancelledError:
            # Half taken over, it would be nobody's. Whoever cancels finds it whole, at the next `await`.
            await asyncio.wait([taking])
            cast("asyncio.Task[Any]", asyncio.current_task()).cancel()
        return taking.result()

    async def _take_over(self, left: Mapping[str, Any]) -> AgentSession:
        self.session, self._begun = left["session"], left["begun"]
        self.folders = tuple(left["folders"])
        self.settings = schema.SessionSettings.model_validate(left["settings"])
        self._offered = OfferedServer(*left["offered"]) if left["offered"] else None
        session = AgentSession(id=self.session, folder=self.folder, client_id=OURS, begun=self._begun)
        self.services.files.take_over(left["files"])
        self.decoder.take_over(left)
        await self.services.terminals.take_over(left["terminals"])
        self.process = await process.take_over(left["process"], self.name)
        self.prompts.resume(left["prompts"], self.peer.go_on(left["peer"], "session/prompt"))
        self._reading = asyncio.create_task(self._read(self.process))
        self.peer.repeat(left["peer"])
        if left["is_cancelling"] and self.prompts.running:
            self.prompts.wait_for_cancel(self.prompts.running)
        return session


def _offered_servers(
    servers: tuple[McpServer, ...], environment: Mapping[str, str], *, has_http: bool
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The servers as the protocol has them, and a sentence on each that can't be offered. It looks at the disk.

    Args:
        servers: the person's.
        environment: has the secrets, and the PATH.
        has_http: whether the agent takes servers by HTTP.
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
