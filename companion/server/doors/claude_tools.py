"""The tools of Claude Code's editor, by their names and in their forms: docs/protocols/claude-ide.md#tools.

What each tells is what `EditorKnowledge` tells, so `context` and `context_exclude` hold for it. Places count from 0
here, in UTF-16 units.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from pydantic import BaseModel, ConfigDict, StrictStr
from pydantic.alias_generators import to_camel

from ...protocol import FilePath
from ..agent_tools import text
from ..knowledge import NotSharedError
from ..offer import Offer
from ..tool_schemas import (
    MOST,
    DiagnosticAnswer,
    GetDiagnosticsArguments,
    GetOpenFilesArguments,
    OpenFileArguments,
    PlaceAnswer,
)

WAIT = 2.0
"""Seconds that getDiagnostics waits for a language server. The CLI asks before each request to its model."""
DIFF_TOOLS = frozenset({"openDiff", "close_tab", "closeAllDiffTabs"})
NO_EDITOR = "No active editor found"


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class OpenDiff(_Arguments):
    """A proposed change. Each diff has a name of its own."""

    new_file_path: FilePath
    new_file_contents: StrictStr
    tab_name: StrictStr
    old_file_path: StrictStr = ""


class CloseTab(_Arguments):
    """The diff to close."""

    tab_name: StrictStr


class Diagnostics(_Arguments):
    """The file whose problems are asked for; without one, those of all."""

    uri: StrictStr = ""


class OpenFileCall(_Camel):
    """The file to show, and a text in it."""

    file_path: FilePath
    start_text: StrictStr = ""


class OneFile(_Camel):
    """A file."""

    file_path: FilePath


class Nothing(_Arguments):
    """No arguments."""


TOOLS: dict[str, tuple[type[BaseModel], str]] = {
    "openDiff": (OpenDiff, "Show a proposed change as a diff that the user edits, accepts or rejects."),
    "close_tab": (CloseTab, "Close a diff by its name."),
    "closeAllDiffTabs": (Nothing, "Close the diffs of this connection."),
    "getDiagnostics": (Diagnostics, "The errors and warnings that the user's editor shows."),
    "openFile": (OpenFileCall, "Show a file in the editor. The keyboard focus stays where the user types."),
    "getOpenEditors": (Nothing, "The files that are open in tabs."),
    "getWorkspaceFolders": (Nothing, "The folders of the editor's window."),
    "getCurrentSelection": (Nothing, "What the user has selected."),
    "getLatestSelection": (Nothing, "What the user has selected last."),
    "checkDocumentDirty": (OneFile, "Whether an open file has unsaved changes."),
    "saveDocument": (OneFile, "Save an open file."),
}
"""The arguments and the description of each tool."""


def listed(names: Iterable[str]) -> list[dict[str, Any]]:
    """As tools/list has them."""
    return [
        {"name": name, "description": TOOLS[name][1], "inputSchema": TOOLS[name][0].model_json_schema(by_alias=True)}
        for name in names
    ]


def texts(*words: str) -> dict[str, Any]:
    """A result with a text for each part."""
    return {"content": [{"type": "text", "text": each} for each in words]}


def _json(value: object) -> dict[str, Any]:
    return text(json.dumps(value, ensure_ascii=False))


async def selection_of(offer: Offer, there: Callable[[str], str] = str) -> dict[str, Any]:
    """What is selected in a window, as `selection_changed` has it. A nameless file if nothing may be told.

    `there` gives what the CLI calls a path.
    """
    try:
        found = await offer.knowledge.selection()
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

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._knowledge = offer.knowledge
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
        return _json(await self.problems(Diagnostics.model_validate(arguments).uri))

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
        return _json(
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
        folders = self._offer.endpoint.folders
        named = [{"name": Path(one).name, "uri": Path(one).as_uri(), "path": one} for one in folders]
        return _json({"success": True, "folders": named, "rootPath": next(iter(folders), None)})

    async def _selection(self, _arguments: dict[str, Any]) -> dict[str, Any]:
        selection = await selection_of(self._offer)
        if not selection["filePath"]:
            return _json({"success": False, "message": NO_EDITOR})
        return _json({"success": True, **selection})

    async def _is_dirty(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = OneFile.model_validate(arguments).file_path
        if (tab := await self._knowledge.tab(path)) is None:
            return _json({"success": False, "message": f"Document not open: {path}"})
        return _json({"success": True, "filePath": path, "isDirty": tab.has_unsaved_changes, "isUntitled": False})

    async def _save(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = OneFile.model_validate(arguments).file_path
        if (tab := await self._knowledge.tab(path)) is None:
            return _json({"success": False, "message": f"Document not open: {path}"})
        is_saved = await self._knowledge.save(tab.path)
        message = "Document saved successfully" if is_saved else "Document could not be saved"
        return _json({"success": is_saved, "filePath": path, "saved": is_saved, "message": message})


def path_of(uri: str) -> str:
    """The path of a file's address; what is no such address is a path already."""
    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" else uri


def _diagnostic(one: DiagnosticAnswer) -> dict[str, Any]:
    return {
        "message": one.message,
        "severity": one.severity.capitalize(),
        "range": {"start": _place(one.start), "end": _place(one.end)},
        "source": one.source,
        "code": one.code,
    }
