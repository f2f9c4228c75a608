"""What Claude Code and OpenCode say on a WebSocket: JSON-RPC with MCP's handshake, and tools of their own names.

Unofficial: docs/protocols/claude-ide.md has the facts and how each was seen. The CLI calls the tools itself, its model
sees `getDiagnostics` only. `openDiff` answers when the person has decided; whatever ends a diff but an acceptance is
answered as a rejection, since the CLI takes a closed tab for a yes. `executeCode` is not offered: it runs code.

What each tool tells is what `EditorKnowledge` tells, so `context` and `context_exclude` hold for it. Places count from
0 here, in UTF-16 units.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

import pydantic_core
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, StrictStr
from pydantic.alias_generators import to_camel
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from ... import __version__, json_text
from ...clis.families import FAMILIES, CliFamily, called
from ...exclusion import is_encodable, shortened
from ...protocol import DiffOutcome, FilePath, IdeContext, Notification
from ...review.review import Owner, Unclaimed
from ...visible import is_plain
from ..endpoint import Caller
from ..http.access import Access
from ..knowledge import NotSharedError
from ..offer import CANCELLED, answered, failed, listed, text, why_refused
from ..sessions import MOST_CALLS, Session, Stream
from ..tool_schemas import (
    MOST,
    DiagnosticAnswer,
    GetDiagnosticsArguments,
    GetOpenFilesArguments,
    NoArguments,
    OpenFileArguments,
    PlaceAnswer,
)
from .websocket import WebSocket, frame

if TYPE_CHECKING:
    from ..window import WindowServer

WAIT = 2.0
"""Seconds that getDiagnostics waits for a language server. The CLI asks before each request to its model."""
DIFF_TOOLS = frozenset({"openDiff", "close_tab", "closeAllDiffTabs"})
NO_EDITOR = "No active editor found"


class Arguments(BaseModel):
    """Those of a tool, by their own names."""

    model_config = ConfigDict(frozen=True)


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class OpenDiff(Arguments):
    """A proposed change. Each diff has a name of its own."""

    new_file_path: FilePath
    new_file_contents: StrictStr
    tab_name: StrictStr
    old_file_path: StrictStr = ""


class CloseTab(Arguments):
    """The diff to close."""

    tab_name: StrictStr


class Diagnostics(Arguments):
    """The file whose problems are asked for; without one, those of all."""

    uri: StrictStr = ""


class OpenFileCall(_Camel):
    """The file to show, and a text in it."""

    file_path: FilePath
    start_text: StrictStr = ""


class OneFile(_Camel):
    """A file."""

    file_path: FilePath


TOOLS: dict[str, tuple[str, type[BaseModel]]] = {
    "openDiff": ("Show a proposed change as a diff that the user edits, accepts or rejects.", OpenDiff),
    "close_tab": ("Close a diff by its name.", CloseTab),
    "closeAllDiffTabs": ("Close the diffs of this connection.", NoArguments),
    "getDiagnostics": ("The errors and warnings that the user's editor shows.", Diagnostics),
    "openFile": ("Show a file in the editor. The keyboard focus stays where the user types.", OpenFileCall),
    "getOpenEditors": ("The files that are open in tabs.", NoArguments),
    "getWorkspaceFolders": ("The folders of the editor's window.", NoArguments),
    "getCurrentSelection": ("What the user has selected.", NoArguments),
    "getLatestSelection": ("What the user has selected last.", NoArguments),
    "checkDocumentDirty": ("Whether an open file has unsaved changes.", OneFile),
    "saveDocument": ("Save an open file.", OneFile),
}
"""The description and the arguments of each tool."""


def texts(*words: str) -> dict[str, Any]:
    """A result with a text for each part."""
    return {"content": [{"type": "text", "text": each} for each in words]}


def as_json(value: object) -> dict[str, Any]:
    """A result with a value as JSON."""
    return text(json.dumps(value, ensure_ascii=False))


async def selection_of(server: WindowServer, there: Callable[[str], str] = str) -> dict[str, Any]:
    """What is selected in a window, as `selection_changed` has it. A nameless file if nothing may be told.

    `there` gives what the CLI calls a path.
    """
    try:
        found = await server.knowledge.selection()
    except NotSharedError:
        found = None
    if found is None or found.path is None or not found.selections:
        return {"text": "", "filePath": "", "fileUrl": "", "selection": _range(None, None)}
    # With several selections, it is the first one that counts. A text that is kept back leaves the place of the caret.
    first = found.selections[0]
    end = first.end if first.text else first.start
    path = there(found.path)
    url = f"file:///{quote(path.replace(os.sep, '/').lstrip('/'), safe='/:')}"
    return {
        "text": first.text,
        "filePath": path,
        "fileUrl": Path(path).as_uri() if path == found.path else url,
        "selection": _range(first.start, end),
    }


def _range(start: PlaceAnswer | None, end: PlaceAnswer | None) -> dict[str, Any]:
    return {"start": _place(start), "end": _place(end), "isEmpty": start == end}


def _place(place: PlaceAnswer | None) -> dict[str, int]:
    return {"line": place.line - 1, "character": place.character - 1} if place else {"line": 0, "character": 0}


class ClaudeTools:
    """Answers the calls that no person decides on."""

    def __init__(self, server: WindowServer) -> None:
        self._server = server
        self._knowledge = server.knowledge
        self.runs: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "getDiagnostics": self._diagnostics,
            "openFile": self._open_file,
            "getOpenEditors": self._open_editors,
            "getWorkspaceFolders": self._folders,
            "getCurrentSelection": self._selection,
            "getLatestSelection": self._selection,
            "checkDocumentDirty": self._is_dirty,
            "saveDocument": self._save,
        }
        """By name."""

    async def _diagnostics(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return as_json(await self.problems(Diagnostics.model_validate(arguments).uri))

    async def problems(self, uri: str) -> list[dict[str, Any]]:
        """The problems of a file, or of all if `uri` is empty, by files. Raises ValueError and TimeoutError."""
        paths = [path_of(uri)] if uri else None
        asked = GetDiagnosticsArguments.model_validate({"paths": paths, "limit": MOST, "waitSeconds": WAIT})
        answer = await self._knowledge.diagnostics(asked)
        found: dict[str, list[DiagnosticAnswer]] = {path: [] for path in paths or ()}
        for one in answer.diagnostics:
            found.setdefault(one.path, []).append(one)
        return [
            {"uri": Path(path).as_uri(), "diagnostics": list(map(_diagnostic, rows))} for path, rows in found.items()
        ]

    async def _open_file(self, arguments: dict[str, Any]) -> dict[str, Any]:
        given = OpenFileCall.model_validate(arguments)
        where = OpenFileArguments.model_validate({"path": given.file_path})
        shown = await self._knowledge.show(where, given.start_text)
        return text(f"Opened file: {given.file_path}") if shown.is_shown else text("The file could not be shown.")

    async def _open_editors(self, _arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await self._knowledge.open_files(GetOpenFilesArguments.model_validate({"limit": MOST}))
        return as_json(
            {
                "tabs": [
                    {
                        "uri": Path(one.path).as_uri(),
                        "isActive": one.is_active,
                        "label": os.path.basename(one.path),
                        "languageId": one.language.lower(),
                        "isDirty": one.has_unsaved_changes,
                    }
                    for one in answer.files
                ]
            }
        )

    async def _folders(self, _arguments: dict[str, Any]) -> dict[str, Any]:
        folders = self._server.endpoint.folders
        named = [{"name": Path(one).name, "uri": Path(one).as_uri(), "path": one} for one in folders]
        return as_json({"success": True, "folders": named, "rootPath": next(iter(folders), None)})

    async def _selection(self, _arguments: dict[str, Any]) -> dict[str, Any]:
        selection = await selection_of(self._server)
        if not selection["filePath"]:
            return as_json({"success": False, "message": NO_EDITOR})
        return as_json({"success": True, **selection})

    async def _is_dirty(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = OneFile.model_validate(arguments).file_path
        if (tab := await self._knowledge.tab(path)) is None:
            return as_json({"success": False, "message": f"Document not open: {path}"})
        return as_json({"success": True, "filePath": path, "isDirty": tab.has_unsaved_changes, "isUntitled": False})

    async def _save(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = OneFile.model_validate(arguments).file_path
        if (tab := await self._knowledge.tab(path)) is None:
            return as_json({"success": False, "message": f"Document not open: {path}"})
        is_saved = await self._knowledge.save(tab.path)
        message = "Document saved successfully" if is_saved else "Document could not be saved"
        return as_json({"success": is_saved, "filePath": path, "saved": is_saved, "message": message})


def path_of(uri: str) -> str:
    """The path of a file's address; what is no such address is a path already."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    # On Windows a drive is known by its colon, before anything is unescaped.
    return url2pathname(re.sub("%3A", ":", parts.path, flags=re.IGNORECASE))


def _diagnostic(one: DiagnosticAnswer) -> dict[str, Any]:
    return {
        "message": one.message,
        "severity": one.severity.capitalize(),
        "range": {"start": _place(one.start), "end": _place(one.end)},
        "source": one.source,
        "code": one.code,
    }


logger = logging.getLogger(__name__)

TOKEN = "x-claude-code-ide-authorization"  # noqa: S105 - a name
MOST_CONNECTIONS = 32
"""Of one window. Each has a token, so it is a CLI of this user's."""
SETTLING = 0.5
"""Seconds after the list of the tools. Told of a selection before that, Claude Code 2.1.318 stays half connected: it
proposes nothing to the editor (docs/protocols/claude-ide.md#connection)."""
AGAIN = "QwenCompanion is being loaded again. Ask once more."
CAN_RELEASE = sys.platform != "win32"
"""Whether another loop can go on with a connection. On Windows it is bound to ours for ever."""


Mention = tuple[str, Sequence[tuple[int, int]]]
"""A file, and the lines of it; none for all of it."""


class ClaudeDoor:
    """The WebSockets of one window."""

    def __init__(self, server: WindowServer) -> None:
        self.server = server
        self.tools = ClaudeTools(server)
        self.clients: list[Client] = []
        self._access = Access(server)
        self._inherited: list[tuple[Client, Mapping[str, Any]]] = []
        for one in server.endpoint.state.live:
            client = Client(self, one["family"])
            client.inherit(one)
            self._inherited.append((client, one))
            self.clients.append(client)

    def protocol(self, **_: object) -> WebSocket:
        """What uvicorn gives a connection to whose client asks for a WebSocket."""
        return WebSocket(self)

    def refusal(self, headers: Headers) -> Response | None:
        """The answer to a request for a connection that is not let in: as everywhere, Host, Origin, then the token."""
        if refused := self._access.refusal(headers):
            return refused
        if self._caller(headers) is None:
            return PlainTextResponse("Unauthorized", 401)
        if len(self.clients) >= MOST_CONNECTIONS:
            return PlainTextResponse("Too many connections", 503, {"retry-after": "1"})
        return None

    def opened(self, wire: WebSocket, headers: Headers) -> Client:
        """A connection is open."""
        caller = self._caller(headers)
        assert caller  # noqa: S101 - it was let in
        client = Client(self, caller.name)
        client.wire = wire
        self.clients.append(client)
        return client

    def _caller(self, headers: Headers) -> Caller | None:
        return self.server.endpoint.caller(headers.get(TOKEN, ""), "websocket")

    def owner_of(self, left: Mapping[str, Any], cli: str) -> Owner:
        """The owner of a review that was opened on a connection from before a reload."""
        for client, _ in self._inherited:
            if client.identifier == left["websocket"] and (found := client.proposals.get(left["call"])):
                return found
        return Unclaimed(self.server.endpoint.window, cli)

    async def resume(self) -> None:
        """Go on with the connections of the previous instance."""
        # Not before: where the libraries fail, the next attempt begins with them.
        inherited, self._inherited, self.server.endpoint.state.live = self._inherited, [], []
        for client, left in inherited:
            client.wire = wire = WebSocket.resumed(self, client, left["unread"])
            connection: socket.socket = left["socket"]
            try:
                await asyncio.get_running_loop().connect_accepted_socket(lambda wire=wire: wire, connection)
            except OSError:  # the client has closed it meanwhile
                connection.close()
                client.lost()
            else:
                client.resumed()

    async def answered(self) -> None:
        """Wait until no call is being answered, but those that wait for the person."""
        await asyncio.gather(*(client.answered() for client in self.clients))

    def release(self) -> list[dict[str, Any]]:
        """Leave the connections to the next instance, as plain data. One that can't be left ends here."""
        return [left for client in list(self.clients) if (left := client.release())]

    def mention(self, named: Sequence[Mention], family: CliFamily | None = None) -> tuple[int, list[str]]:
        """Put files, or lines of them from 1, into the prompt of each CLI, or of each of a family on this computer.

        Returns into how many, and the paths that were left out since they would act there or mention another file: a
        CLI types them as they are.
        """
        listening = [one for one in self.clients if one.is_listening and (family is None or one.cli == family.name)]
        left = [path for path, _ in named if not is_plain(path) or _MENTIONS.search(path)]
        rest = [(path, lines) for path, lines in named if path not in left]
        for client in listening:
            for path, lines in rest:
                for each in lines or [None]:
                    client.mention(path, each)
        return (len(listening) if rest else 0), left

    def close(self) -> None:
        """Say goodbye to everybody."""
        for client in list(self.clients):
            client.close()


_MENTIONS = re.compile(r"\s@")
"""In a name: what comes after it would be another mention."""


class Client:
    """A CLI on a WebSocket."""

    def __init__(self, door: ClaudeDoor, caller: str) -> None:
        """`caller` is the family whose token it has, and where it runs; `clientInfo` may say that it is another."""
        self.wire: WebSocket | None = None
        [self.family] = called(caller)
        self._place = caller.removeprefix(self.family.name)
        """What follows its name if it runs elsewhere."""
        self.identifier = secrets.token_hex(16)
        self.proposals: dict[int | str, Proposal] = {}
        """The open diffs, by the ids of their calls."""
        self.server = door.server
        self._door = door
        self._session: Session | None = None
        self._stream: Stream | None = None
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._is_telling = False
        self._is_due = False
        """Whether the selection may have changed since it was told."""
        self._told: dict[str, Any] | None = None
        self._is_to_listen = False
        """Whether it has asked for what makes it hear what changes."""

    # The wire

    def received(self, text: str) -> None:
        """A message has come."""
        try:
            json_text.check(text)
            message: object = pydantic_core.from_json(text, allow_inf_nan=False)
        except ValueError:
            self._fail(None, -32700, "Parse error")
            return
        if self._session:
            self._session.last_message = time.time()
        given = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        method, identifier, params = given.get("method"), json_text.as_request_id(given.get("id")), given.get("params")
        params = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        if given.get("jsonrpc") != "2.0":
            self._fail(None, -32600, "Invalid request")
        elif isinstance(method, str) and identifier is not None:
            self._request(identifier, method, params)
        elif isinstance(method, str) and "id" not in given:
            self._notified(method, params)
        elif method is not None or not ("result" in given or "error" in given):  # we ask nothing
            self._fail(None, -32600, "Invalid request")

    def writable(self) -> None:
        """The client reads again."""
        if self._is_due:
            self._tell()

    def lost(self) -> None:
        """The connection has ended: nobody waits for its diffs any more."""
        for proposal in list(self.proposals.values()):
            self.server.reviews.orphan(proposal)
        self.proposals.clear()
        self._end()

    def _end(self) -> None:
        for task in self._answering.values():
            task.cancel()
        self._door.clients.remove(self)
        if self._stream:
            self._stream.end()
        if self._session:
            self.server.sessions.end(self.identifier)

    def close(self) -> None:
        """The window closes: its diffs are answered already."""
        if self.wire:
            self.wire.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.wire:
            self.wire.send(_text(message))

    def _fail(self, identifier: int | str | None, code: int, why: str) -> None:
        self._send({"id": identifier, "error": {"code": code, "message": why}})

    def _answer(self, identifier: int | str, result: Mapping[str, Any]) -> None:
        self._send({"id": identifier, "result": result})

    # Messages

    def _request(self, identifier: int | str, method: str, params: dict[str, Any]) -> None:
        if method == "initialize":
            self._initialize(identifier, params)
        elif method == "ping":
            self._answer(identifier, {})
        elif self._session is None:
            self._fail(identifier, -32600, "initialize comes first")
        elif method == "tools/list":
            self._answer(identifier, {"tools": [listed(name, *TOOLS[name]) for name in self._offered()]})
            self._listen_later()
        elif method == "tools/call":
            self._called(self._session, identifier, params)
        else:
            self._fail(identifier, -32601, f"Method not found: {shortened(method, 100)}")

    def _initialize(self, identifier: int | str, params: dict[str, Any]) -> None:
        if self._session:
            self._fail(identifier, -32600, "This connection is initialized")
            return
        asked, info = params.get("protocolVersion"), params.get("clientInfo")
        name = cast("dict[str, object]", info).get("name") if isinstance(info, dict) else None
        self.family = next((one for one in FAMILIES if one.door == "websocket" and one.client == name), self.family)
        self._begin()
        self._answer(
            identifier,
            {
                "protocolVersion": asked if asked in HANDSHAKE_PROTOCOL_VERSIONS else HANDSHAKE_PROTOCOL_VERSIONS[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "qwen-companion", "title": "QwenCompanion", "version": __version__},
            },
        )

    def _begin(self) -> Session:
        caller = Caller(self.cli, "websocket", is_elsewhere=bool(self._place))
        self._session = begun = self.server.sessions.begin(self.identifier, caller)
        return begun

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/initialized" and not self.family.shows_diffs:
            self._listen()
        elif method == "notifications/cancelled":
            number = json_text.as_request_id(params.get("requestId"))
            if number is None:
                return
            if proposal := self.proposals.get(number):
                proposal.withdraw()
            elif (task := self._answering.pop(number, None)) and task.cancel():
                self._answer(number, failed(CANCELLED))

    def _listen_later(self) -> None:
        """It hears what changes as soon as it has taken in the answer."""
        self._is_to_listen = True
        asyncio.get_running_loop().call_later(SETTLING, self._listen)

    def _listen(self) -> None:
        """It hears what changes from now on."""
        self._is_to_listen = True
        if self._session and self.wire and self.wire.is_open and self._stream is None:
            self._stream = _Stream(self._notify, self.wire.readable)
            self._session.initialized(self._answers)
            self.server.sessions.stream_opened(self._session, self._stream)

    async def _answers(self) -> None:
        if self.wire:
            await self.wire.ping()

    # What it is told

    def _notify(self, notification: Notification) -> bool:
        if self.wire is None or not self.wire.is_open or not self.wire.is_readable:
            return False
        if isinstance(notification, IdeContext):
            self._tell()
        return True

    @property
    def is_listening(self) -> bool:
        """Whether it hears what changes."""
        return self._stream is not None

    def mention(self, path: str, lines: tuple[int, int] | None) -> None:
        """Put a file, or lines of it from 1, into its prompt."""
        params: dict[str, Any] = {"filePath": self._session.there(path) if self._session else path}
        # Neither takes a mention with a line that is null. OpenCode reads on to the end from a single one.
        if lines is None and self.family.first_line:
            lines = 1, 1
        if lines:
            start, end = (line - 1 + self.family.first_line for line in lines)
            params |= {"lineStart": start, "lineEnd": end}
        self._send({"method": "at_mentioned", "params": params})

    def _tell(self) -> None:
        self._is_due = True
        if not self._is_telling:
            self._is_telling = True
            self.server.background(self._tell_selection())

    async def _tell_selection(self) -> None:
        """Tell what is selected. The editor is asked once for all that changes meanwhile."""
        try:
            while self._is_due and self.wire and self.wire.is_open and self.wire.is_readable:
                self._is_due = False
                with contextlib.suppress(TimeoutError):
                    selection = await selection_of(self.server, self._session.there if self._session else str)
                    for place in ("start", "end"):
                        selection["selection"][place]["line"] += self.family.first_line
                    if selection != self._told:
                        self._told = selection
                        self._send({"method": "selection_changed", "params": selection})
        finally:
            self._is_telling = False

    # ClaudeTools

    def _offered(self) -> list[str]:
        shows = self.family.shows_diffs and self.server.settings.show_diffs
        # The others are about files of this computer.
        return [name for name in TOOLS if (shows if name in DIFF_TOOLS else not self._place)]

    def _called(self, session: Session, identifier: int | str, params: dict[str, Any]) -> None:
        name: object = params.get("name")
        arguments: object = params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict) or name not in self._offered():
            self._fail(identifier, -32602, f"Unknown tool: {shortened(str(name), 100)}")
        elif identifier in self._answering or identifier in self.proposals:
            self._fail(identifier, -32600, "This id is in use")
        elif len(self._answering.keys() | self.proposals.keys()) >= MOST_CALLS:
            self._fail(identifier, -32000, "Too many calls wait for an answer")
        else:
            given = cast("dict[str, Any]", arguments)
            task = asyncio.create_task(self._run(session, identifier, name, given))
            self._answering[identifier] = task
            task.add_done_callback(functools.partial(self._ended, identifier))

    def _ended(self, identifier: int | str, task: asyncio.Task[None]) -> None:
        if self._answering.get(identifier) is task:
            del self._answering[identifier]

    async def _run(self, session: Session, identifier: int | str, name: str, arguments: dict[str, Any]) -> None:
        try:
            result = await answered(name, self._result(session, identifier, name, arguments))
        except Exception:
            logger.exception("Unexpected")
            result = failed(f"{name}: an error in QwenCompanion")
        if result is not None:
            self._answer(identifier, result)

    async def _result(
        self, session: Session, identifier: int | str, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The result of a call; None if it waits for the person."""
        match name:
            case "openDiff":
                if isinstance(path := arguments.get("new_file_path"), str):
                    arguments = {**arguments, "new_file_path": session.here(path)}
                return await self._open(session, identifier, OpenDiff.model_validate(arguments))
            case "close_tab":
                tab = CloseTab.model_validate(arguments).tab_name
                self._withdraw(lambda one: one.tab == tab)
                return texts("TAB_CLOSED")
            case "closeAllDiffTabs":
                return texts(f"CLOSED_{self._withdraw(lambda _: True)}_DIFF_TABS")
            case _:
                return await self._door.tools.runs[name](arguments)

    async def _open(self, session: Session, identifier: int | str, given: OpenDiff) -> dict[str, Any] | None:
        path = given.new_file_path
        proposal = self.proposals[identifier] = Proposal(self, identifier, path, given.tab_name)
        if why := await why_refused(self.server, session, path, "openDiff", "new_file_path"):
            del self.proposals[identifier]
            return failed(why)
        # It has one question for a file at a time: an older one has been answered in the terminal.
        self._withdraw(lambda one: one is not proposal and (one.tab == given.tab_name or one.path == path))
        connected = session.since if session.is_in_terminal else None
        self.server.reviews.open(proposal, path, given.new_file_contents, connected=connected)
        return None

    def _withdraw(self, is_meant: Callable[[Proposal], bool]) -> int:
        meant = [one for one in self.proposals.values() if is_meant(one)]
        for one in meant:
            one.withdraw()
        return len(meant)

    def settled(self, proposal: Proposal, words: list[str]) -> None:
        """A diff has its outcome."""
        if self.proposals.pop(proposal.identifier, None):
            if opening := self._answering.pop(proposal.identifier, None):
                opening.cancel()  # it was given up before it has opened
            self._answer(proposal.identifier, texts(*words))

    @property
    def cli(self) -> str:
        """Its name."""
        return self.family.name + self._place

    # A reload

    async def answered(self) -> None:
        """Wait until no call is being answered, but those that wait for the person."""
        if self._answering:
            await asyncio.wait(list(self._answering.values()))

    def release(self) -> dict[str, Any] | None:
        """Leave the connection to the next instance; None if that is impossible, and it ends."""
        for identifier, task in list(self._answering.items()):
            if task.cancel():
                self.proposals.pop(identifier, None)  # it has not opened
                self._answer(identifier, failed(AGAIN))
        left = None
        with contextlib.suppress(OSError):
            left = self.wire.release() if self.wire and CAN_RELEASE else None
        if left is None:
            for proposal in list(self.proposals.values()):
                self.settled(proposal, ["DIFF_REJECTED", proposal.tab])
                self.server.reviews.orphan(proposal)
            self.close()
            return None
        connection, unread = left
        for proposal in self.proposals.values():
            proposal.connection = connection
        self._door.clients.remove(self)
        session = self._session
        return {
            "door": "websocket",
            "socket": connection,
            "unread": unread,
            "identifier": self.identifier,
            "family": self.cli,
            "since": session.since if session else None,
            "is_listening": self._is_to_listen,
            "calls": {one.identifier: [one.path, one.tab] for one in self.proposals.values()},
        }

    def inherit(self, left: Mapping[str, Any]) -> None:
        """Be what the previous instance has left of a connection."""
        self.identifier = left["identifier"]
        for identifier, (path, tab) in left["calls"].items():
            self.proposals[identifier] = Proposal(self, identifier, path, tab)
        if left["since"] is not None:
            self._begin().since = left["since"]
        self._is_to_listen = left["is_listening"]

    def resumed(self) -> None:
        """Its wire is here."""
        if self._is_to_listen:
            self._listen()


class _Stream(Stream):
    """What a session has where the connection stays."""

    async def close(self, limit: float | None = None) -> None:  # noqa: ARG002 - nothing takes any time
        """Nothing is written any more."""
        self.closing.set()
        self.end()


class Proposal:
    """The owner of a diff whose outcome is the answer to a call."""

    is_model = False

    def __init__(self, client: Client, identifier: int | str, path: str, tab: str) -> None:
        self.identifier = identifier
        self.path = path
        self.tab = tab
        self.window = client.server.endpoint.window
        self.cli = client.cli
        self.connection: socket.socket | None = None
        """Set when the next instance has the connection."""
        self._client = client

    def notify(self, outcome: DiffOutcome) -> None:
        """Answer the call."""
        if outcome.content is None:
            self._client.settled(self, ["DIFF_REJECTED", self.tab])
        elif is_encodable(outcome.content):
            self._client.settled(self, ["FILE_SAVED", outcome.content])
        else:
            self._client.server.unsendable(self, outcome)

    def withdraw(self) -> None:
        """The CLI doesn't wait for the person any more. What they have edited is kept in a tab."""
        self.notify(DiffOutcome(self.path))
        self._client.server.background(self._client.server.reviews.close(self, self.path))

    def handed_over(self) -> dict[str, Any]:
        """The call, which the next instance answers; if there is none, whoever keeps the connection does."""
        connection = self.connection
        if connection is None:
            return {}
        identifier, tab = self.identifier, self.tab

        def answer(content: str | None) -> None:
            words = ["DIFF_REJECTED", tab] if content is None else ["FILE_SAVED", content]
            with contextlib.suppress(OSError):
                connection.sendall(frame(_text({"id": identifier, "result": texts(*words)})))

        return {"websocket": self._client.identifier, "call": identifier, "answer": answer}


def _text(message: Mapping[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8", "replace").decode()
