"""The tools that tell an agent what the editor knows. None of them changes anything.

Each tells what `context` and `context_exclude` allow and nothing of other files.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..exclusion import Told, is_encodable
from ..ids import WindowId
from ..problems.diagnostic import SEVERITIES, Diagnostic
from ..problems.quiet import LONGEST, settled
from ..problems.shown import ShownProblems
from ..settings import Settings
from .context import MAX_SELECTED, cut
from .new_problems import Looked
from .port import Selection, SymbolPlaces, SymbolQuestion, ToolSource
from .tool_schemas import (
    DiagnosticAnswer,
    FindReferencesArguments,
    FindSymbolArguments,
    GetDiagnosticsAnswer,
    GetDiagnosticsArguments,
    GetOpenFilesAnswer,
    GetOpenFilesArguments,
    GetSelectionAnswer,
    OpenFileAnswer,
    OpenFileArguments,
    PlaceAnswer,
    SelectionAnswer,
    SymbolAnswer,
    SymbolsAnswer,
    TabAnswer,
)

T = TypeVar("T")

DISK = 5.0
"""Seconds that a tool waits for the disk, which may hang."""
OFF = "The user's setting “context” is “off”: this editor tells nothing of its files."
GONE = "The editor's window is closed."
EXCLUDED = "The user's setting “context_exclude” keeps {path} back."


class UntoldError(Exception):
    """A call that gets no answer; the sentence is for the agent."""


class EditorKnowledge:
    """Answers for one window."""

    def __init__(
        self,
        window: WindowId,
        source: ToolSource,
        settings: Callable[[], Settings],
        folders: Callable[[], Sequence[str]],
    ) -> None:
        """`settings` and `folders` are those of the window."""
        self._window = window
        self._source = source
        self._settings = settings
        self._folders = folders

    async def diagnostics(self, arguments: GetDiagnosticsArguments) -> GetDiagnosticsAnswer:
        """The tool getDiagnostics."""
        told, offset = self._told(), arguments.offset
        if arguments.paths is not None:
            await self._check(told, arguments.paths)
        paths = None if arguments.paths is None else await self._as_open(arguments.paths)
        shown, is_settled = await settled(lambda: self._shown(paths), arguments.wait_seconds)
        if shown is None:
            raise UntoldError(GONE)
        grave = SEVERITIES[: SEVERITIES.index(arguments.severity) + 1]
        found = [each for each in await self.listed(shown, told) if each.severity in grave]
        page, following = _page(found, offset, arguments.limit)
        return GetDiagnosticsAnswer(
            diagnostics=[answer_of(each, told) for each in page],
            total=len(found),
            next_cursor=following,
            provider=shown.provider,
            is_settled=is_settled,
            not_open=list(shown.unchecked),
        )

    async def look(self, path: str, seconds: float) -> Looked | None:
        """The problems of one file, after at most so many seconds; None if they are not told or nobody knows.

        A file that is not there has none. Raises TimeoutError if nobody has looked at its last change in that time.
        """
        told = self._settings().told
        if not told.has_files or await _on_disk(lambda: told.is_excluded(path, self._folders())):
            return None
        paths = await self._as_open([path])
        shown, _ = await settled(lambda: self._shown(paths), seconds)
        if shown is None or not shown.files:
            return None
        if shown.unchecked:
            return None if await _on_disk(lambda: os.path.lexists(path)) else Looked(shown.provider, ())
        if shown.awaited:
            raise TimeoutError
        return Looked(shown.provider, await self.listed(shown, told))

    async def listed(self, shown: ShownProblems, told: Told) -> list[Diagnostic]:
        """The problems that may be told."""
        return [each for each in await _on_disk(lambda: shown.diagnostics(told)) if is_encodable(each.path)]

    async def open_files(self, arguments: GetOpenFilesArguments) -> GetOpenFilesAnswer:
        """The tool getOpenFiles."""
        told, offset = self._told(), arguments.offset
        tabs = await self._source.tabs(self._window)
        if tabs is None:
            raise UntoldError(GONE)
        folders = self._folders()
        allowed = await _on_disk(
            lambda: [each for each in tabs if is_encodable(each.path) and not told.is_excluded(each.path, folders)]
        )
        page, following = _page(allowed, offset, arguments.limit)
        files = [
            TabAnswer(
                path=each.path,
                language=each.language,
                is_active=each.is_active,
                is_visible=each.is_visible,
                has_unsaved_changes=each.has_unsaved_changes,
            )
            for each in page
        ]
        return GetOpenFilesAnswer(files=files, total=len(allowed), next_cursor=following)

    async def selection(self) -> GetSelectionAnswer:
        """The tool getSelection."""
        told = self._told()
        found = await self._source.selected(self._window, MAX_SELECTED if told.has_text else 0)
        if found is None or not is_encodable(found.path):
            return GetSelectionAnswer(path=None, selections=[])
        if await _on_disk(lambda: told.is_excluded(found.path, self._folders())):
            return GetSelectionAnswer(path=None, selections=[])
        selections = [
            SelectionAnswer(start=_place(start), end=_place(end), text=_text(start.text, told), is_cut=is_cut)
            for start, end, is_cut in found.parts
        ]
        return GetSelectionAnswer(path=found.path, selections=selections)

    async def symbol(self, arguments: FindSymbolArguments) -> SymbolsAnswer:
        """The tool findSymbol."""
        return await self._symbols(SymbolQuestion(arguments.name), arguments.offset, arguments.limit)

    async def references(self, arguments: FindReferencesArguments) -> SymbolsAnswer:
        """The tool findReferences."""
        if not arguments.name and arguments.path is None:
            raise UntoldError("findReferences: it needs a name, or a path with a line and a character.")
        if arguments.path is not None:
            await self._check(self._told(), [arguments.path])
        [path] = await self._as_open([arguments.path]) if arguments.path else [""]
        question = SymbolQuestion(arguments.name, path, arguments.line, arguments.character, wants_references=True)
        return await self._symbols(question, arguments.offset, arguments.limit)

    async def _symbols(self, question: SymbolQuestion, offset: int, limit: int) -> SymbolsAnswer:
        told = self._told()
        found = await self._source.find_symbols(self._window, question)
        if found is None:
            raise UntoldError(GONE)
        if found.why_none:
            raise UntoldError(found.why_none)
        allowed = await _on_disk(lambda: self._allowed(found, told))
        page, following = _page(allowed, offset, limit)
        return SymbolsAnswer(places=page, total=len(allowed), next_cursor=following, provider=found.provider)

    def _allowed(self, found: SymbolPlaces, told: Told) -> list[SymbolAnswer]:
        folders = self._folders()
        excluded: dict[str, bool] = {}
        places: list[SymbolAnswer] = []
        for each in found.places:
            if each.path not in excluded:
                excluded[each.path] = not is_encodable(each.path) or told.is_excluded(each.path, folders)
            if not excluded[each.path]:
                name, container = (each.name, each.container) if told.has_text else ("", "")
                places.append(
                    SymbolAnswer(
                        path=each.path,
                        line=each.line,
                        character=each.character,
                        name=name,
                        kind=each.kind,
                        container=container,
                    )
                )
        return places

    async def show(self, arguments: OpenFileArguments) -> OpenFileAnswer:
        """The tool openFile."""
        path = _normal(arguments.path)
        await self._check(self._settings().told, [path])
        if not await _on_disk(lambda: os.path.isfile(path)):
            raise UntoldError(f"openFile: {path} is no file.")
        is_shown = await self._source.show_place(self._window, path, arguments.line)
        return OpenFileAnswer(is_shown=is_shown)

    def _told(self) -> Told:
        told = self._settings().told
        if not told.has_files:
            raise UntoldError(OFF)
        return told

    async def _check(self, told: Told, paths: Sequence[str]) -> None:
        folders = self._folders()
        excluded = await _on_disk(lambda: next((each for each in paths if told.is_excluded(each, folders)), None))
        if excluded is not None:
            raise UntoldError(EXCLUDED.format(path=excluded))

    async def _as_open(self, paths: Sequence[str]) -> list[str]:
        """Normal paths, each once; a file that a tab shows in the tab's spelling, in which everybody knows it here."""
        wanted = list(dict.fromkeys(map(_normal, paths)))
        tabs = [tab.path for tab in await self._source.tabs(self._window) or ()]
        if not set(wanted) - set(tabs):
            return wanted
        return await _on_disk(lambda: list(dict.fromkeys(_as_open(path, tabs) for path in wanted)))

    async def _shown(self, paths: Sequence[str] | None) -> ShownProblems | None:
        shown = await self._source.shown_problems(self._window, paths)
        if shown is None or not paths:
            return shown
        is_open = [path for path in paths if path not in shown.unchecked]
        unseen = await _on_disk(lambda: [path for path in is_open if _is_unseen(path, shown.seen.get(path, 0.0))])
        return replace(shown, awaited=tuple(dict.fromkeys([*shown.awaited, *unseen])))


def answer_of(diagnostic: Diagnostic, told: Told) -> DiagnosticAnswer:
    """A problem as it is told. A message may quote the text, which "files" keeps back."""
    return DiagnosticAnswer(
        path=diagnostic.path,
        start=PlaceAnswer(line=diagnostic.start.line, character=diagnostic.start.character),
        end=PlaceAnswer(line=diagnostic.end.line, character=diagnostic.end.character),
        severity=diagnostic.severity,
        source=encodable(diagnostic.source),
        code=encodable(diagnostic.code),
        message=encodable(diagnostic.message) if told.has_text else "",
    )


def encodable(text: str) -> str:
    """A text as JSON can hold it: half of a character becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _is_unseen(path: str, seen: float) -> bool:
    """Whether a file was written a moment ago and the editor has not noticed it yet."""
    try:
        written = os.stat(path).st_mtime
    except OSError:
        return False
    return seen < written and time.time() - written < LONGEST


def _normal(path: str) -> str:
    return os.path.normpath(path)


def _as_open(path: str, tabs: Sequence[str]) -> str:
    """The tab of a file: a link leads to it, or its path differs in what the disk ignores, such as upper case."""
    return path if path in tabs else next((each for each in tabs if _is_same(each, path)), path)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _text(text: str, told: Told) -> str:
    return encodable(cut(text, MAX_SELECTED)) if told.has_text else ""


def _place(selection: Selection) -> PlaceAnswer:
    return PlaceAnswer(line=selection.line, character=selection.character)


def _page(found: Sequence[T], offset: int, limit: int) -> tuple[list[T], str | None]:
    """A page, and the cursor of the one after it."""
    end = offset + limit
    return list(found[offset:end]), str(end) if end < len(found) else None


def _on_disk(look: Callable[[], T]) -> Awaitable[T]:
    """What reads links from a disk, which may hang. Raises TimeoutError then."""
    return asyncio.wait_for(asyncio.to_thread(look), DISK)
