"""An agent on its standard input and output, as the back end of one chat.

Start with `AgentClient`: `connect` starts the process and shakes hands, `create` and `load` open a session, `events`
tells what happens. A client has one session at a time. Everything runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from ...agents import AgentCommand
from ...clis.environment import LoginEnvironment
from ...conversation.events import Envelope, EventCursor, Replay, Unsupported
from ...conversation.failures import MissingFeatureError
from ...conversation.forms import Values
from ...conversation.snapshot import Locality
from ...exclusion import Told
from ...ids import WindowId
from ...platforms.files import real_folder
from ..backend import Block
from ..port import EditorServer
from ..sessions import AgentSession
from ..surroundings import Surroundings
from ..wire import read
from . import decoder, extensions, process, schema
from .authentication import AgentAuthentication
from .cancellation import Cancellation
from .errors import AnswerError, EndedError, SignInError, VersionError
from .finding import AgentFolder
from .notifications import Notifications
from .options import AgentOptions
from .peer import Peer
from .process import AgentProcess
from .prompts import Prompts
from .publisher import Publisher
from .requests import Requests
from .services import Screen, Services
from .session import OpenSession
from .sessions import AgentSessions
from .steering import AgentSteering
from .stream import EventQueue
from .workplace import Workplace

logger = logging.getLogger(__name__)

START_LIMIT = 60.0
"""Seconds for `initialize`; 1 to 3 on an idle machine with Node.js."""
INSTALL_LIMIT = 300.0
"""Seconds for `initialize` of a program that another one installs first: some packages have 400 MB."""
LEAVE_LIMIT = 0.2
"""Seconds that requests of the agent have to be answered before it is left to the next instance."""


class AgentClient:
    """Talks with one agent: see `backends.backend.Backend`. Close it."""

    catalog = history = rewind = tasks = queries = sign_in = None

    def __init__(
        self,
        command: AgentCommand,
        editor: Screen,
        window: WindowId,
        environment: LoginEnvironment,
        told: Callable[[], Told],
        server: EditorServer | None,
        surroundings: Callable[[], Awaitable[Surroundings]],
    ) -> None:
        """`told` is what may be told of the window's files.

        `server` offers the editor's own MCP server to the agent; `surroundings` is what a session gets besides.
        """
        say = functools.partial(editor.say, window=window)
        self._command = command
        self._environment = environment
        self._process: AgentProcess | None = None
        self._reading: asyncio.Task[None] | None = None
        self._workplace = Workplace()
        self._stream = EventQueue()
        self._peer = Peer(command.name, self._write, self._requested, self._notified, self._junk)
        self._requests = Requests(command, self._peer)
        self._publisher = Publisher(self._stream, lambda: self._prompts.running)
        self._prompts = Prompts(self._stream, self._ask, self._turn_over)
        self._cancellation = Cancellation(self._requests, self._peer, self._prompts, self._stream, self._end)
        self._services = self.edits = self.terminals = self._made_services(editor, window, told)
        self.options = AgentOptions(self._requests, self._publisher.publish, say)
        self._session = OpenSession(
            self._requests,
            self._peer,
            self._workplace,
            self._publisher,
            self._stream,
            self.options,
            server,
            self._hide,
            surroundings,
            environment.get,
            say,
        )
        self._notifications = Notifications(
            self._requests, self._services, self._session, self.options, self._prompts, self._publisher
        )
        self._sessions = AgentSessions(self._requests)
        self.steering = AgentSteering(self._prompts, self._requests, lambda: self._session.id)
        self.authentication = AgentAuthentication(
            self._requests, self._peer, self._services.expect_questions, self._prompts.signed_in
        )
        self.files = AgentFolder(self._workplace)

    def _made_services(self, editor: Screen, window: WindowId, told: Callable[[], Told]) -> Services:
        return Services(
            editor,
            window,
            self._requests,
            self._workplace,
            told,
            self._prompts,
            self._publisher,
            self._stream.epoch,
            lambda: self._cancellation.is_on,
        )

    @property
    def sessions(self) -> AgentSessions | None:
        """The list of sessions, if the agent can list them."""
        return self._sessions if self._requests.has("list") else None

    @property
    def fork(self) -> OpenSession | None:
        """Copies of the conversation, if the agent can make one and take it up."""
        return self._session if self._requests.has("fork") and self._requests.has("load") else None

    @property
    def sign_out(self) -> AgentAuthentication | None:
        """Signing out, if the agent can do that."""
        return self.authentication if self._requests.has("logout") else None

    @property
    def handover(self) -> AgentClient:
        """Going on with it after a reload of the package."""
        return self

    def missing(self, what: str) -> MissingFeatureError:
        """The error for a part that it hasn't. `what` follows "can't"."""
        return self._requests.missing(what)

    @property
    def folder(self) -> str:
        """The one that it works in."""
        return self._workplace.folder

    @property
    def folders(self) -> tuple[str, ...]:
        """The other folders that its session was given."""
        return self._session.folders

    @property
    def name(self) -> str:
        """What the agent calls itself; what the person calls it until it has said that."""
        return self._requests.name

    @property
    def said(self) -> str:
        """What its program has printed last besides the protocol, for whoever waits for its start."""
        return self._process.said if self._process else ""

    @property
    def agent(self) -> schema.Agent:
        """What it has said about itself, once it is connected."""
        return self._requests.agent

    async def connect(self, folder: str) -> str:
        """Start the agent in a folder and shake hands. Returns the folder as the agent gets it.

        Raises:
            AgentError: it can't be started, ends at once, doesn't answer, or speaks another version.
        """
        await self._settle_in(await asyncio.to_thread(real_folder, folder))
        name, command, place = self._command.name, self._command.command, self._workplace
        self._process = await process.start(name, command, place.folder, place.environment, self._command.install)
        self._reading = asyncio.create_task(self._read(self._process))
        answer = await self._peer.call(
            "initialize",
            {"protocolVersion": schema.VERSION, "clientCapabilities": schema.CAPABILITIES, "clientInfo": schema.CLIENT},
            INSTALL_LIMIT if extensions.installs(command) else START_LIMIT,
        )
        self._process.has_answered = True
        self._requests.agent = read(schema.Agent, answer) or schema.Agent()
        if not schema.is_known(self.agent.protocol_version):
            raise VersionError(self.name, self.agent.protocol_version)
        self._peer.agent = self._process.agent = self.name
        return self.folder

    async def _settle_in(self, folder: str) -> None:
        self._workplace.folder = folder
        self._workplace.environment = {**await self._environment.get(), **self._command.environment}

    async def describe(self, locality: Locality) -> str:
        """A page for the person on the agent."""
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
        self._cancellation.stop()
        self._prompts.close()
        self._peer.close(EndedError(self.name, "it was closed"))
        await self._prompts.closed()
        await self._services.close()
        if self._process:
            await self._process.stop()
        self._session.close()
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def create(self, folder: str) -> AgentSession:
        """Begin a new session. No other client shares it."""
        return await self._session.create(folder)

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Take up a session again, and get its conversation."""
        return await self._session.load(session)

    async def detach(self, session: AgentSession) -> None:
        """Leave the session; its history stays."""
        await self._session.detach(session.id)

    @contextlib.asynccontextmanager
    async def events(self, session: AgentSession, cursor: EventCursor | None) -> AsyncGenerator[EventQueue]:
        """The events of the session, until the agent has ended, which is raised."""
        yield self._stream

    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        """Send a prompt, which waits while a turn runs. Returns its id, which the events of its turn carry.

        Raises:
            UnsendableError: the agent doesn't take pictures.
        """
        return self._prompts.send([self._requests.suited(block) for block in blocks])

    async def _ask(self, blocks: Sequence[Block]) -> str:
        params = {"sessionId": self._session.id, "prompt": list(blocks)}
        return await self._stop_reason(self._peer.call("session/prompt", params, None))

    async def _stop_reason(self, answer: Awaitable[Mapping[str, Any]] | None) -> str:
        """Why a turn has stopped, from the answer to `session/prompt`; nothing if that was lost."""
        if answer is None:
            return ""
        try:
            ended = read(schema.Ended, await self._requests.signed_in(answer)) or schema.Ended()
        except (AnswerError, SignInError):
            if self._cancellation.is_on:
                return "cancelled"  # some agents tell what was cut off as an error
            raise
        if used := decoder.decode_usage(ended.usage):
            self._publisher.publish(used)
        return ended.stop_reason

    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it."""
        self._services.questions.answer(request, option, answers or {})

    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs, if one does: its questions are cancelled, and what it runs is killed."""
        if (running := self._prompts.running) is None or self._prompts.give_up():
            return
        self._cancellation.begin(running, session.id)
        self._services.questions.cancel()
        await self._services.kill_all()

    async def _turn_over(self) -> None:
        self._cancellation.stop()
        await self._services.turn_over()

    async def _read(self, running: AgentProcess) -> None:
        try:
            async for line in running.lines():
                self._peer.receive(line)
                if not self._publisher.is_history:
                    await self._stream.room()
        except Exception:
            logger.exception("%s can't be read", self.name)
            await running.stop(0)
        error = await running.ended()
        self._peer.close(error)
        self._services.questions.cancel()
        await self._prompts.closed()
        self._stream.fail(error)
        # What it has left behind ends with it.
        await self._services.kill_all()
        await running.stop(0)

    def _write(self, line: bytes) -> None:
        if self._process:
            self._process.write(line)

    def _end(self, why: str) -> None:
        if self._process:
            self._process.end(why)

    def _hide(self, secret: str) -> None:
        if self._process:
            self._process.hide(secret)

    def _junk(self, what: str) -> None:
        self._publisher.publish(Unsupported(f"{what}, from {self.name}"))

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        self._notifications.take(method, params)

    async def _requested(self, method: str, params: Mapping[str, Any]) -> Any:
        return await self._services.answer(method, params, self._session.id)

    @property
    def unread(self) -> list[Envelope]:
        """The events that nobody has read."""
        return self._stream.unread

    async def leave(self) -> dict[str, Any] | None:
        """Let go of the agent in the middle of whatever it does. Returns what `take_over` needs.

        None if it could not be left; then it has ended. Afterwards `unread` has the last events.
        """
        if not (self._process and self._reading and self._session.id and self._process.is_running):
            await self.close()
            return None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        for line in self._process.take_ready():
            self._peer.receive(line)
        end = asyncio.get_running_loop().time() + LEAVE_LIMIT
        while self._prompts.running and not (self._prompts.is_held or self._peer.waits_for("session/prompt")):
            # The turn has just ended, which is being told.
            await asyncio.sleep(0.005)
            if asyncio.get_running_loop().time() > end:
                break
        self._prompts.stop()  # the peer counts its calls now
        peer = await self._peer.leave(LEAVE_LIMIT)
        self._services.outputs.show()
        prompts = await self._prompts.leave()
        services = await self._services.leave()
        left = await self._process.leave() if services and not self._publisher.is_history else None
        if services is None or left is None:
            await self.close()
            return None
        is_cancelling = self._cancellation.is_on
        self._cancellation.stop()
        return {
            **services,
            **self._session.leave(),
            "peer": peer,
            "prompts": prompts,
            "process": left,
            "agent": self.agent.model_dump(mode="json", by_alias=True),
            "command": (self._command.name, list(self._command.command)),
            "folder": self.folder,
            "is_cancelling": is_cancelling,
        }

    async def take_over(self, left: Mapping[str, Any]) -> AgentSession:
        """Go on with an agent that another instance has left. Returns its session.

        Raises whatever is wrong with what another version of the package may have left in another form.
        """
        self._requests.agent = read(schema.Agent, left["agent"]) or schema.Agent()
        await self._settle_in(left["folder"])
        session = self._session.take_over(left)
        await self._services.take_over(left)
        self._process = await process.take_over(left["process"])
        self._peer.agent = self._process.agent = self.name
        answer = self._peer.go_on(left["peer"], "session/prompt")
        self._prompts.take_over(left["prompts"], lambda: self._stop_reason(answer))
        self._reading = asyncio.create_task(self._read(self._process))
        self._peer.repeat(left["peer"])
        if left["is_cancelling"] and self._prompts.running:
            self._cancellation.watch(self._prompts.running)
        return session
