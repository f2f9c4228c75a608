"""What Copilot CLI says: MCP over HTTP, as on the window's port, but on a Unix socket or on a named pipe of Windows.

Unofficial: docs/protocols/copilot-ide.md has the facts and how each was seen. Whoever has the nonce of the lock file is
let in. The CLI calls the tools itself; what each tells is what `EditorKnowledge` tells, so `context` and
`context_exclude` hold for it. Places count from 0 here, in UTF-16 units.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, StrictStr
from pydantic_core import to_json

from ...exclusion import shortened
from ...handover import OpenConnection
from ...platforms.files import reason_of
from ...protocol import FilePath, IdeContext, Notification
from ..http.app import App
from ..http.connections import HttpServer
from ..knowledge import NotSharedError
from ..offer import Asking, Later, ServedTools, decided, failed, listed, why_refused
from ..sessions import Session, Stream, StreamWire
from ..tool_schemas import NoArguments
from .claude import Arguments, ClaudeTools, CloseTab, Diagnostics, as_json, selection_of

if TYPE_CHECKING:
    from ..window import WindowServer

logger = logging.getLogger(__name__)

QUIET = 0.2
"""Seconds from the first change until it is told, with those that come meanwhile."""
MOST_TITLE = 200
"""Characters of a conversation's name that are kept: at first it is the whole prompt."""


class DiffCall(Arguments):
    """A proposed change. Each diff has a name of its own."""

    original_file_path: FilePath
    new_file_contents: StrictStr
    tab_name: StrictStr


class SessionName(Arguments):
    """What the CLI calls its conversation."""

    name: StrictStr


TOOLS: dict[str, tuple[str, type[BaseModel]]] = {
    "get_vscode_info": ("Which editor this is.", NoArguments),
    "get_selection": ("What the user has selected.", NoArguments),
    "get_diagnostics": ("The errors and warnings that the user's editor shows.", Diagnostics),
    "open_diff": ("Show a proposed change as a diff that the user accepts or rejects.", DiffCall),
    "close_diff": ("Close a diff by its name.", CloseTab),
    "update_session_name": ("Tell what this conversation is called.", SessionName),
}
"""The description and the arguments of each tool."""
DIFF_TOOLS = ("open_diff", "close_diff")


class CopilotTools(ServedTools):
    """Answers the requests of the sessions of one window's socket."""

    server_name = "vscode-copilot-cli"
    """The CLI takes one of this name only for an editor."""
    server_version = "1.0.0"
    names = tuple(TOOLS)

    def __init__(self, server: WindowServer) -> None:
        super().__init__(server)
        self._claude = ClaudeTools(server)
        self._pushes: WeakKeyDictionary[Session, Pushes] = WeakKeyDictionary()

    def listing(self, session: Session | None) -> dict[str, Any]:
        """The result of tools/list."""
        shows = self._server.settings.show_diffs
        return {
            "tools": [
                listed(name, *tool, execution={"taskSupport": "forbidden"})
                for name, tool in (TOOLS.items() if session else ())
                if shows or name not in DIFF_TOOLS
            ]
        }

    def write(self, session: Session, wire: StreamWire, notification: Notification) -> bool:
        """Tell a session what has changed: of its context, what this CLI wants to know."""
        if not isinstance(notification, IdeContext) or (stream := session.stream) is None:
            return True
        pushes = self._pushes.get(session)
        if pushes is None or pushes.wire != wire:
            pushes = self._pushes[session] = Pushes(self, wire)
        if not pushes.is_telling:
            pushes.is_telling = True
            self._server.background(pushes.tell(stream))
        pushes.is_due = True
        return True

    async def result(
        self,
        session: Session,
        name: str,
        arguments: dict[str, Any],
        later: Later,  # noqa: ARG002 - a diff opens before its answer
    ) -> dict[str, Any]:
        """The result of a call. That of open_diff takes until the person has decided."""
        match name:
            case "get_vscode_info":
                return as_json(
                    {"ideName": "Sublime Text", "appName": "Sublime Text", "version": "4", "processId": os.getpid()}
                )
            case "get_selection":
                selection = await self.selection()
                return as_json({"current": bool(selection["filePath"]), **selection})
            case "get_diagnostics":
                return as_json(await self.diagnostics(Diagnostics.model_validate(arguments).uri))
            case "update_session_name":
                name = SessionName.model_validate(arguments).name
                self._server.endpoint.state.titles[session.known_as] = shortened(name, MOST_TITLE)
                return as_json({"success": True})
            case "close_diff":
                return self._close(session, CloseTab.model_validate(arguments).tab_name)
            case _:
                return await self._open(session, DiffCall.model_validate(arguments))

    async def selection(self) -> dict[str, Any]:
        """What is selected. A nameless file if nothing may be told."""
        selection = await selection_of(self._server)
        return {**selection, "fileUrl": _url(selection["fileUrl"])}

    async def diagnostics(self, uri: str = "") -> list[dict[str, Any]]:
        """The problems of one file or of all, by files."""
        found = await self._claude.problems(uri)
        for file in found:
            file["uri"] = _url(file["uri"])
            for each in file["diagnostics"]:
                each["severity"] = each["severity"].lower()
        return found

    # Diffs

    async def _open(self, session: Session, given: DiffCall) -> dict[str, Any]:
        path, tab, call = given.original_file_path, given.tab_name, _call_of(given.tab_name)
        session.cancel(call)
        asking = Asking(session.window, session.cli, is_model=False)
        session.calls[call] = asking.close
        try:
            if not self._server.settings.show_diffs:
                return failed("open_diff: the user has turned diffs off.")
            if why := await why_refused(self._server, session, path, "open_diff", "original_file_path"):
                return failed(why)
            if asking.has_outcome:  # it was closed meanwhile
                return _outcome(tab, "closed")
            title = self._server.endpoint.state.titles.get(session.known_as, "")
            new, since = given.new_file_contents, session.since
            found = await decided(self._server, asking, path, new, title=title, connected=since)
            return _outcome(tab, found["outcome"])
        finally:
            if session.calls.get(call) == asking.close:
                del session.calls[call]

    def _close(self, session: Session, tab: str) -> dict[str, Any]:
        is_open = session.cancel(_call_of(tab))
        return as_json(
            {"success": True, "already_closed": not is_open, "tab_name": tab, "message": "Closed", "error": None}
        )


class Pushes:
    """What one stream has been told."""

    def __init__(self, tools: CopilotTools, wire: StreamWire) -> None:
        self.wire = wire
        self.is_telling = False
        self.is_due = False
        self._tools = tools
        self._selection: dict[str, Any] | None = None
        self._problems: dict[str, Any] = {}
        """The problems that were told, by the addresses of their files."""

    async def tell(self, stream: Stream) -> None:
        """Tell what has changed. The editor is asked once for all that changes meanwhile."""
        try:
            while self.is_due and not stream.closed.is_set():
                await stream.before_end(stream.writable())  # a CLI that is suspended reads nothing
                await asyncio.sleep(QUIET)
                self.is_due = False
                with contextlib.suppress(TimeoutError, NotSharedError):
                    selection = await self._tools.selection()
                    if selection != self._selection and self._send("selection_changed", selection):
                        self._selection = selection
                    await self._tell_problems()
        finally:
            self.is_telling = False

    async def _tell_problems(self) -> None:
        found = {file["uri"]: file["diagnostics"] for file in await self._tools.diagnostics() if file["diagnostics"]}
        changed = {
            uri: found.get(uri, []) for uri in (found | self._problems) if found.get(uri) != self._problems.get(uri)
        }
        told = [{"uri": uri, "diagnostics": rows} for uri, rows in changed.items()]
        if told and self._send("diagnostics_changed", {"uris": told}):
            self._problems = found

    def _send(self, method: str, params: dict[str, Any]) -> bool:
        message = to_json({"jsonrpc": "2.0", "method": method, "params": params})
        is_sent = self.wire(b"event: message\r\ndata: " + message + b"\r\n\r\n")
        self.is_due |= not is_sent
        return is_sent


def _call_of(tab: str) -> str:
    """The name under which a session keeps the call that waits for the diff of a tab."""
    return f"open_diff {tab}"


_OUTCOMES = {
    "accepted": ("SAVED", "accepted_via_button"),
    "rejected": ("REJECTED", "rejected_via_button"),
    "closed": ("REJECTED", "closed_via_tool"),
}
"""The result, and what has led to it, by the outcome of `Asking`."""


def _outcome(tab: str, outcome: str) -> dict[str, Any]:
    result, trigger = _OUTCOMES[outcome]
    told = {"success": True, "result": result, "trigger": trigger, "tab_name": tab, "message": result, "error": None}
    return as_json(told)


def _url(url: str) -> str:
    """A file's address as the CLI compares it: on Windows the drive is in lower case, and its colon is escaped."""
    return re.sub(r"^file:///([A-Za-z]):", lambda found: f"file:///{found[1].lower()}%3A", url)


PIPE = r"\\.\pipe\qwen-companion-{name}.sock"


class CopilotDoor:
    """The socket of one window."""

    def __init__(self, server: WindowServer) -> None:
        self._endpoint = server.endpoint
        self._is_opening = False
        self.app = App(server, CopilotTools(server), "socket")
        self.server = HttpServer(self.app)

    async def open(self, inherited: Sequence[OpenConnection] = ()) -> None:
        """Answer requests, also on connections of the previous instance, as soon as there is a socket."""
        if self._is_opening:
            return
        self._is_opening = True
        endpoint = self._endpoint
        try:
            if sys.platform == "win32":
                # Another instance's pipe can't be served: asyncio binds it to its own loop.
                name = PIPE.format(name=secrets.token_hex(8))
                await self.server.open_pipe(name)
                endpoint.pipe = name
            elif endpoint.state.local:
                await self.server.stop_accepting()
                await self.server.open(endpoint.state.local, inherited)
        except OSError as error:
            logger.warning("Copilot CLI can't find this window, whose socket can't be served: %s", reason_of(error))
        finally:
            self._is_opening = False

    @property
    def is_due(self) -> bool:
        """Whether there is a socket that nobody serves."""
        return self._endpoint.state.local is not None and not self.server.is_accepting
