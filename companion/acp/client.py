"""An agent on its standard input and output, as the back end of one chat.

Start with `AgentClient`: `connect` starts the process and shakes hands, `create` and `load` open a session, `events`
tells what happens. A client has one session at a time. Everything runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, cast

from ..agents import AgentCommand
from ..backends.sessions import Session
from ..backends.wire import as_object
from ..clis.environment import LoginEnvironment
from ..conversation import events
from ..conversation.failures import UnsendableError
from ..conversation.history import Cursor
from ..conversation.snapshot import ContextWindow, Queued
from ..platforms.files import real_folder
from ..told import Told
from . import decoder, extensions, finding, process, proposals, schema, tool_calls
from .agent_terminals import AgentTerminals
from .choosing import Choosing
from .errors import INTERNAL_ERROR, METHOD_NOT_FOUND, EndedError, RequestError, SilentError, VersionError
from .files import Edited, Files
from .leaving import Leaving, stop_reason
from .news import News
from .opening import Opening
from .outputs import Outputs
from .peer import Peer
from .port import AgentFiles, EditorServer, OfferedServer
from .process import AgentProcess
from .prompts import Block, Prompts
from .questions import Questions
from .signing import Way, ways
from .stream import Stream
from .terminals import Terminals
from .tool_calls import ToolCalls

logger = logging.getLogger(__name__)

START_LIMIT = 60.0
"""Seconds for `initialize`; 1 to 3 on an idle machine with Node.js."""
CANCEL_LIMIT = 20.0
"""Seconds that a turn has to end after a cancel."""
MAX_VERSION = 40
"""Characters of a version of the protocol in a message."""
CLIENT = {"name": "QwenCompanion", "title": "QwenCompanion for Sublime Text", "version": "1"}
CAPABILITIES: Mapping[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"configOptions": {"boolean": {}}},
    "auth": {"terminal": True},
    "plan": {},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}
TOLD = (
    "(From the editor: the user has edited your change of {path} before allowing it. The file now holds the user's "
    "version, not yours. Read it again before you change or describe it.)"
)
NOT_WRITTEN = (
    "(From the editor: the user has edited your change of {path} before allowing it, but the file holds something "
    "else. Read it again before you change or describe it.)"
)


class Screen(AgentFiles, Protocol):
    """What a client needs from the editor."""

    def say(self, message: str, window: int | None = None) -> None:
        """See Messages."""
        ...

    def keep_text(self, window: int, title: str, text: str, why: str) -> None:
        """See Messages."""
        ...


class AgentClient(Choosing, Leaving, Opening):
    """Talks with one agent. Close it."""

    def __init__(
        self,
        command: AgentCommand,
        editor: Screen,
        window: int,
        environment: LoginEnvironment,
        told: Callable[[], Told] = Told,
        server: EditorServer | None = None,
    ) -> None:
        """`told` is what may be told of the window's files.

        `server` offers the editor's own MCP server to the agent.
        """
        super().__init__(command)
        self._editor = editor
        self._window = window
        self._login = environment
        self._told_of = told
        self._server = server
        self._offered: OfferedServer | None = None
        self._process: AgentProcess | None = None
        self._reading: asyncio.Task[None] | None = None
        self._stream = Stream()
        self._peer = Peer(command.name, self._write, self._requested, self._notified, self._junk)
        self._prompts = Prompts(self._stream, self._ask, self._turn_over)
        self._files: Files | None = None
        self._terminals: Terminals | None = None
        self._news = News(self._stream, lambda: self._prompts.running)
        self._questions = Questions(self._publish, self._stream.epoch)
        self._outputs = Outputs(self._output, self._publish)
        self._calls = ToolCalls()
        self._own_terminals = AgentTerminals()
        self._settling: set[asyncio.Task[None]] = set()
        self._cancelling: asyncio.TimerHandle | None = None
        self._cancelled: str | None = None
        """The prompt that the person has cancelled last."""

    # The agent

    def can(self, feature: Literal["choices", "tasks", "edits"]) -> bool:
        """Whether a chat can count on something. What the protocol doesn't have, no agent can."""
        return feature != "tasks"

    async def connect(self, folder: str) -> str:
        """Start the agent in a folder and shake hands. Returns the folder as the agent gets it.

        Raises:
            AgentError: it can't be started, ends at once, doesn't answer, or speaks another version.
        """
        self.folder = await asyncio.to_thread(real_folder, folder)
        environment = {**await self._login.get(), **self.command.environment}
        name, command = self.command.name, self.command.command
        self._process = await process.start(name, command, self.folder, environment, self.command.install)
        self._made(environment)
        self._reading = asyncio.create_task(self._read(self._process))
        answer = await self._peer.call(
            "initialize",
            {"protocolVersion": schema.VERSION, "clientCapabilities": CAPABILITIES, "clientInfo": CLIENT},
            START_LIMIT,
        )
        self.agent = schema.read(schema.Agent, answer) or schema.Agent()
        if not schema.is_known(self.agent.protocol_version):
            raise VersionError(self.name, str(self.agent.protocol_version)[:MAX_VERSION])
        self._peer.agent = self._process.agent = self.name
        return self.folder

    def _made(self, environment: Mapping[str, str]) -> tuple[Files, Terminals]:
        self._files = Files(self._editor, self._window, lambda: self.name, self.folder, self._told, self._told_of)
        self._terminals = Terminals(self.folder, environment, self._outputs.printed)
        return self._files, self._terminals

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways to sign in."""
        return ways(self.command, self.agent.auth_methods)

    async def authenticate(self, method: str) -> None:
        """Sign in by one of the agent's own methods, which may open a browser and wait for the person.

        Raises:
            AgentError: it refuses.
        """
        await self._peer.call("authenticate", {"methodId": method}, None)

    async def close(self) -> None:
        """End the agent and all that it has started."""
        if self._cancelling:
            self._cancelling.cancel()
        self._outputs.close()
        self._questions.cancel()
        self._prompts.close()
        self._peer.close(EndedError(self.name, "it was closed"))
        await self._prompts.closed()
        if self._terminals:
            await self._terminals.close()
        if self._process:
            await self._process.stop()
        if self._server and self._offered:
            self._server.dismiss(self._offered.token)
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def _servers(self) -> list[Mapping[str, Any]]:
        if self._server and self._process and self._offered is None and self.has("http"):
            self._offered = self._server.admit(self.name)
            if self._offered:
                self._process.hide(self._offered.token)
        return [self._offered.entry] if self._offered else []

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
        self._questions.cancel()
        if not self._is_cancelled:
            self._cancel_later(running)
        if self._terminals:
            await self._terminals.kill_all()

    async def vote(
        self, session: Session, request: str, option: str | None, answers: Mapping[str, str] | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it.

        Raises:
            AlreadyAnsweredError: it is settled.
        """
        self._questions.vote(request, option, answers or {})

    async def stop_terminal(self, terminal: str) -> bool:
        """End what runs in a terminal. Returns False if nothing does; the agent is told how it has ended."""
        found = self._terminals.find(terminal) if self._terminals else None
        if found is None or not found.is_running:
            return False
        await found.kill()
        return True

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written, and the agent is told."""
        if self._files:
            await self._files.allowed(Edited(path, proposed, content))

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

    async def _read(self, running: AgentProcess) -> None:
        try:
            async for line in running.lines():
                self._peer.receive(line)
                if not self._news.is_history:
                    await self._stream.room()
        except Exception:
            logger.exception("%s can't be read", self.name)
            await running.stop(0)
        error = await running.ended()
        self._peer.close(error)
        self._questions.cancel()
        await self._prompts.closed()
        self._stream.fail(error)
        # What it has left behind ends with it.
        if self._terminals:
            await self._terminals.kill_all()
        await running.stop(0)

    def _write(self, line: bytes) -> None:
        if self._process:
            self._process.write(line)

    def _junk(self, what: str) -> None:
        self._publish(events.Unsupported(f"{what}, from {self.name}"))

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
        self._outputs.noted(update)
        call = self._noted(update)
        if self._own_terminals.note(update):
            # What a terminal of its own has printed is shown where the tool call shows the terminal.
            update = {**update, "content": call.get("content")}
        event = decoder.decode(update, self._output, self._settings)
        if not isinstance(event, events.Ignored):
            self._publish(event)

    def _noted(self, update: Mapping[str, Any]) -> Mapping[str, Any]:
        """All that is known of an update's tool call. If it is over, its files have what the person has made of it."""
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return {}
        call = self._calls.note(update)
        if update.get("status") in ("completed", "failed") and not self._news.is_history:
            task = asyncio.create_task(self._settle(tool_calls.paths(call)))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)
        return call

    async def _settle(self, paths: Collection[str]) -> None:
        if self._files:
            self._keep(await self._files.settle(paths))

    def _keep(self, lost: Iterable[Edited]) -> None:
        """Keep what the person has accepted and the agent hasn't written."""
        for edited in lost:
            name = os.path.basename(edited.path)
            why = f"{self.name} has not written {name} as it proposed. The text that you accepted is kept here."
            self._editor.keep_text(self._window, name, edited.content, why)
            self._prompts.note(NOT_WRITTEN.format(path=edited.path))

    def _publish(self, event: events.Event) -> None:
        self._news.publish(event)

    async def _requested(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a request of the agent."""
        if not self._files or not self._terminals:
            raise RequestError(METHOD_NOT_FOUND, "there is no session")
        match method:
            case "terminal/create" | "fs/write_text_file" if self._is_cancelled:
                raise RequestError(INTERNAL_ERROR, "the person has cancelled this")
            case "session/request_permission":
                is_ours = params.get("sessionId") == self._session
                turn = self._prompts.running
                call = await self._asked_about(as_object(params.get("toolCall")))
                is_over = self._is_cancelled or self._prompts.running != turn
                return await self._questions.ask(call, params.get("options"), is_ours=is_ours, is_over=is_over)
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

    async def _asked_about(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """The tool call of a permission request with all that is known of it, its diffs as whole files."""
        call = self._calls.asked(call)
        await self._settle(tool_calls.paths(call))
        if self._files:
            call = await proposals.whole_files(call, self._files.texts)
        return decoder.with_terminals(call, self._output)

    # Turns

    async def _ask(self, blocks: Sequence[Block]) -> str:
        params = {"sessionId": self._session, "prompt": list(blocks)}
        return await stop_reason(self._asked("session/prompt", params, None))

    async def _turn_over(self) -> None:
        if self._cancelling:
            self._cancelling.cancel()
            self._cancelling = None
        self._questions.cancel()
        self._outputs.show()
        if self._settling:
            await asyncio.gather(*self._settling)
        if self._files:
            self._keep(await self._files.settle_all())

    @property
    def _is_cancelled(self) -> bool:
        """Whether the person has cancelled the turn that runs, and not one that was just ending then."""
        return self._cancelled is not None and self._cancelled == self._prompts.running

    def _cancel_later(self, prompt: str) -> None:
        if self._cancelling:
            self._cancelling.cancel()
        self._cancelled = prompt
        self._cancelling = asyncio.get_running_loop().call_later(CANCEL_LIMIT, self._not_cancelled, prompt)

    def _not_cancelled(self, prompt: str) -> None:
        """The agent doesn't end its turn."""
        self._cancelling = None
        if self._prompts.running == prompt and self._process:
            error = SilentError(self.name, CANCEL_LIMIT)
            self._peer.close(error)
            self._stream.fail(error)
            # Nobody knows what else it would do.
            self._process.end("it doesn't end its turn")

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

    def _output(self, terminal: str) -> decoder.Printed | None:
        found = self._terminals.printed(terminal) if self._terminals else None
        return found or self._own_terminals.printed(terminal)
