"""The tools that tell an agent what the editor knows, show the person a place, or save a file that is open.

Each tells what `context` and `context_exclude` allow and nothing of other files. `NewProblems` finds the problems that
an agent's changes have made, for the answer of its next tool.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from ..comments import MAX_NOTES, Comment, kept_lines
from ..exclusion import Sharing, is_encodable, shortened
from ..platforms.files import FileRefusedError, is_elsewhere, read, why_unopened
from ..platforms.paths import path_key
from ..problems import LONGEST, SEVERITIES, STEP, Diagnostic, ShownProblems, fresh, settled
from ..review.disk import read_file
from ..visible import visible_name
from .context import MAX_SELECTED, FileReads, cut
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
    PointOutAnswer,
    PointOutArguments,
    SelectionAnswer,
    SymbolAnswer,
    SymbolsAnswer,
    TabAnswer,
)
from .window_screen import SymbolPlace, SymbolQuestion, Tab

if TYPE_CHECKING:
    from .window import WindowServer

T = TypeVar("T")
Named = TypeVar("Named", Tab, SymbolPlace)

OFF = "The user's setting “context” is “off”: this editor tells nothing of its files."
GONE = "The editor's window is closed."
EXCLUDED = "The user's setting “context_exclude” keeps {path} back."
OUTSIDE = "{path} is not in a folder of the editor's window: only the user saves it."
FULL = "pointOut: the user has {most} notes to look at, which is the most. There is room when they dismiss some."
MOST_READ = 4 * 1024 * 1024
"""Bytes of a file in which openFile looks for a text."""
MAX_NAME = 64
"""Characters of an agent's name beside its words."""


class NotSharedError(Exception):
    """A call that gets no answer; the sentence is for the agent."""


class EditorKnowledge:
    """Answers for one window. What a disk that hangs holds is left out; the rest is told."""

    def __init__(self, server: WindowServer) -> None:
        self._server = server
        self._window = server.endpoint.window
        self._source = server.editor.tools
        self._reads = FileReads()

    async def diagnostics(self, arguments: GetDiagnosticsArguments) -> GetDiagnosticsAnswer:
        """The tool getDiagnostics."""
        sharing, offset = self._sharing(), arguments.offset
        asked = arguments.paths
        checked = asked if asked is None else await self._checked(sharing, asked)
        paths = checked if checked is None else await self._as_open(checked)
        shown, is_settled = await settled(lambda: self._shown(paths), arguments.wait_seconds)
        if shown is None:
            raise NotSharedError(GONE)
        grave = SEVERITIES[: SEVERITIES.index(arguments.severity) + 1]
        listed, is_whole = await self._listed(shown, sharing)
        found = [each for each in listed if each.severity in grave]
        page, following = _page(found, offset, arguments.limit)
        return GetDiagnosticsAnswer(
            diagnostics=[answer_of(each, sharing) for each in page],
            total=len(found),
            next_cursor=following,
            provider=shown.provider,
            is_settled=is_settled and is_whole and checked == asked,
            not_open=list(shown.unchecked),
        )

    async def look(self, path: str, seconds: float) -> Looked | None:
        """The problems of one file, after at most so many seconds; None if they are not told or nobody knows.

        A file that is not there has none. Raises TimeoutError if nobody has looked at its last change in that time.
        """
        sharing = self._server.settings.sharing
        if not sharing.has_files or await self._is_excluded(sharing, path):
            return None
        paths = await self._as_open([path])
        shown, _ = await settled(lambda: self._shown(paths), seconds)
        if shown is None or not shown.files:
            return None
        if shown.unchecked:
            return None if await self._reads.one(path, os.path.lexists) else Looked(shown.provider, ())
        if shown.awaited:
            raise TimeoutError
        listed, is_whole = await self._listed(shown, sharing)
        if not is_whole:
            raise TimeoutError
        return Looked(shown.provider, listed)

    async def _listed(self, shown: ShownProblems, sharing: Sharing) -> tuple[list[Diagnostic], bool]:
        """The problems that may be told, and whether each disk has answered."""
        files = [file for file in shown.files if file.rows and is_encodable(file.path)]
        excluded = await self._excluded(sharing, (file.path for file in files), shown.folders)
        allowed = replace(shown, files=[file for file in files if excluded.get(file.path) is False])
        is_whole = all(file.path in excluded for file in files)
        return await asyncio.to_thread(allowed.diagnostics), is_whole

    async def open_files(self, arguments: GetOpenFilesArguments) -> GetOpenFilesAnswer:
        """The tool getOpenFiles."""
        sharing, offset = self._sharing(), arguments.offset
        tabs = await self._source.tabs(self._window)
        if tabs is None:
            raise NotSharedError(GONE)
        allowed = await self._allowed(sharing, tabs)
        page, following = _page(allowed, offset, arguments.limit)
        files = list(map(TabAnswer.model_validate, page))
        return GetOpenFilesAnswer(files=files, total=len(allowed), next_cursor=following)

    async def selection(self) -> GetSelectionAnswer:
        """The tool getSelection."""
        sharing = self._sharing()
        found = await self._source.selected(self._window, MAX_SELECTED if sharing.has_text else 0)
        if found is None or not is_encodable(found.path) or await self._is_excluded(sharing, found.path):
            return GetSelectionAnswer(path=None, selections=[])
        selections = [
            SelectionAnswer(
                start=PlaceAnswer.model_validate(start),
                end=PlaceAnswer.model_validate(end),
                text=encodable(cut(start.text, MAX_SELECTED)) if sharing.has_text else "",
                is_cut=is_cut,
            )
            for start, end, is_cut in found.parts
        ]
        return GetSelectionAnswer(path=found.path, selections=selections)

    async def symbol(self, arguments: FindSymbolArguments) -> SymbolsAnswer:
        """The tool findSymbol."""
        return await self._symbols(SymbolQuestion(arguments.name), arguments.offset, arguments.limit)

    async def references(self, arguments: FindReferencesArguments) -> SymbolsAnswer:
        """The tool findReferences."""
        if not arguments.name and arguments.path is None:
            raise NotSharedError("findReferences: it needs a name, or a path with a line and a character.")
        if arguments.path is not None:
            await self._check(self._sharing(), arguments.path)
        [path] = await self._as_open([arguments.path]) if arguments.path else [""]
        question = SymbolQuestion(arguments.name, path, arguments.line, arguments.character, wants_references=True)
        return await self._symbols(question, arguments.offset, arguments.limit)

    async def _symbols(self, question: SymbolQuestion, offset: int, limit: int) -> SymbolsAnswer:
        sharing = self._sharing()
        found = await self._source.find_symbols(self._window, question)
        if found is None:
            raise NotSharedError(GONE)
        if found.why_none:
            raise NotSharedError(found.why_none)
        allowed = await self._allowed(sharing, found.places)
        page, following = _page(allowed, offset, limit)
        told = page if sharing.has_text else [replace(each, name="", container="") for each in page]
        places = list(map(SymbolAnswer.model_validate, told))
        return SymbolsAnswer(places=places, total=len(allowed), next_cursor=following, provider=found.provider)

    async def show(self, arguments: OpenFileArguments, words: str = "") -> OpenFileAnswer:
        """The tool openFile; with `words` at the line in which they begin."""
        path = await self._reachable("openFile", arguments.path)
        if why := await self._reads.one(path, why_unopened):
            raise NotSharedError(f"openFile: {why}")
        line = await self._reads.one(path, lambda path: _line_of(path, words)) if words else arguments.line
        [spelled] = await self._as_open([path])
        is_shown = await self._source.show_place(self._window, spelled, line)
        return OpenFileAnswer(is_shown=is_shown)

    async def point_out(self, by: str, arguments: PointOutArguments) -> PointOutAnswer:
        """The tool pointOut, for an agent of this name, whose words stay its own: one line of plain text."""
        first, last, words = arguments.start_line, arguments.end_line, " ".join(arguments.note.split())
        if not words or last < first:
            raise ValueError("endLine: it comes before startLine" if words else "note: it has no words")
        path, folders = await self._reachable("pointOut", arguments.path), self._server.endpoint.folders
        found = await self._reads.one(path, lambda path: _lines_in(folders, path, first, last))
        if isinstance(found, str):
            raise NotSharedError(f"pointOut: {shortened(path, 300)} {found}")
        here, lines = found
        kept = kept_lines("\n".join(lines))
        [spelled] = await self._as_open([here])
        note = Comment(
            spelled,
            first,
            kept,
            visible_name(words),
            left_out=len(lines) - len(kept),
            by=visible_name(plain_agent(by))[:MAX_NAME],
            rank=arguments.order,
        )
        notes = await self._source.point_out(self._window, note)
        if notes is None:
            raise NotSharedError(GONE)
        if not notes:
            raise NotSharedError(FULL.format(most=MAX_NOTES))
        return PointOutAnswer(notes=notes)

    async def tab(self, path: str) -> Tab | None:
        """The tab that shows a file that may be told, whatever links lead to it; None if there is none."""
        sharing = self._sharing()
        [spelled] = await self._as_open([path])
        tabs = await self._source.tabs(self._window) or ()
        found = next((each for each in tabs if each.path == spelled), None)
        return None if found is None or await self._is_excluded(sharing, found.path) else found

    async def save(self, path: str) -> bool:
        """Save a file of the window's folders that a tab shows. Returns whether it has no unsaved changes then.

        Nobody is asked: Claude Code has the file saved that it is about to read or to change.
        """
        await self._check(self._sharing(), path)
        folders = self._server.endpoint.folders
        if not await self._reads.one(path, lambda path: _within(path, folders)):
            raise NotSharedError(OUTSIDE.format(path=path))
        return await self._source.save_file(self._window, path)

    def _sharing(self) -> Sharing:
        sharing = self._server.settings.sharing
        if not sharing.has_files:
            raise NotSharedError(OFF)
        return sharing

    async def _reachable(self, tool: str, path: str) -> str:
        """The normal form of a path that a tool may look at. Raises NotSharedError."""
        path = _normal(path)
        if is_elsewhere(path, self._server.endpoint.folders):
            raise NotSharedError(f"{tool}: {shortened(path, 300)} is on another computer.")
        await self._check(self._server.settings.sharing, path)
        return path

    async def _allowed(self, sharing: Sharing, found: Sequence[Named]) -> list[Named]:
        """Those whose files may be told."""
        excluded = await self._excluded(sharing, (each.path for each in found))
        return [each for each in found if is_encodable(each.path) and excluded.get(each.path) is False]

    async def _check(self, sharing: Sharing, path: str) -> None:
        if await self._is_excluded(sharing, path):
            raise NotSharedError(EXCLUDED.format(path=path))

    async def _checked(self, sharing: Sharing, paths: Sequence[str]) -> list[str]:
        """Those whose disks answer. Raises NotSharedError for an excluded one, and TimeoutError if no disk answers."""
        excluded = await self._excluded(sharing, paths)
        if hidden := next((path for path in excluded if excluded[path]), None):
            raise NotSharedError(EXCLUDED.format(path=hidden))
        if paths and not excluded:
            raise TimeoutError
        return [path for path in paths if path in excluded]

    async def _is_excluded(self, sharing: Sharing, path: str) -> bool:
        folders = self._server.endpoint.folders
        return await self._reads.one(path, lambda path: sharing.is_excluded(path, folders))

    async def _excluded(
        self, sharing: Sharing, paths: Iterable[str], folders: Sequence[str] | None = None
    ) -> dict[str, bool]:
        """Whether each path is excluded, without those whose disks hang."""
        roots = self._server.endpoint.folders if folders is None else folders
        return await self._reads.each(paths, lambda path: sharing.is_excluded(path, roots))

    async def _as_open(self, paths: Sequence[str]) -> list[str]:
        """Normal paths, each once; a file that a tab shows in the tab's spelling, in which everybody knows it here.

        A link leads to such a file, or its path differs in what the disk ignores, such as upper case.
        """
        wanted = list(dict.fromkeys(map(_normal, paths)))
        tabs = [tab.path for tab in await self._source.tabs(self._window) or ()]
        other = [path for path in wanted if path not in tabs]
        if not other:
            return wanted
        found = await self._reads.each([*other, *tabs], _identity)
        by_identity = {identity: tab for tab in reversed(tabs) if (identity := found.get(tab))}
        spelled = {path: by_identity.get(identity, path) for path in other if (identity := found.get(path))}
        return list(dict.fromkeys(spelled.get(path, path) for path in wanted))

    async def _shown(self, paths: Sequence[str] | None) -> ShownProblems | None:
        shown = await self._source.shown_problems(self._window, paths)
        if shown is None or not paths:
            return shown
        is_open = [path for path in paths if path not in shown.unchecked]
        found = await self._reads.each(is_open, lambda path: _is_unseen(path, shown.seen.get(path, 0.0)))
        unseen = [path for path in found if found[path]]
        return replace(shown, awaited=tuple(dict.fromkeys([*shown.awaited, *unseen])))


def answer_of(diagnostic: Diagnostic, sharing: Sharing) -> DiagnosticAnswer:
    """A problem as it is told. A message may quote the text, which "files" keeps back."""
    return DiagnosticAnswer(
        path=diagnostic.path,
        start=PlaceAnswer.model_validate(diagnostic.start),
        end=PlaceAnswer.model_validate(diagnostic.end),
        severity=diagnostic.severity,
        source=encodable(diagnostic.source),
        code=encodable(diagnostic.code),
        message=encodable(diagnostic.message) if sharing.has_text else "",
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


def _within(path: str, folders: Iterable[str]) -> tuple[str, str] | None:
    """Where the links of a path lead to, and the folder that this is in; None if it is in none. It blocks."""
    real = os.path.realpath(path)
    key = PurePath(path_key(real))
    return next(((real, each) for each in folders if key.is_relative_to(path_key(os.path.realpath(each)))), None)


def _normal(path: str) -> str:
    return os.path.normpath(path)


def _identity(path: str) -> tuple[int, int] | None:
    """What is the same for all paths of a file; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _lines_in(folders: Sequence[str], path: str, first: int, last: int) -> tuple[str, list[str]] | str:
    """Some lines of a file, with its path as one of the folders has it; or why there are none. It blocks.

    What counts is where the links of a path lead to.
    """
    if (found_in := _within(path, folders)) is None:
        return "is in no folder of the user's window."
    real, folder = found_in
    try:
        found = read_file(real)
    except FileRefusedError as error:
        return f"{error.why}."
    if not found.exists or not found.is_text:
        return "is no text." if found.exists else "does not exist."
    lines = found.source.shown.split("\n")
    if len(lines) > 1 and not lines[-1]:
        del lines[-1]
    if last > len(lines):
        return f"has no line {last}."
    inner = PurePath(real).parts[len(PurePath(os.path.realpath(folder)).parts) :]
    return os.path.join(folder, *inner), lines[first - 1 : last]


def _line_of(path: str, words: str) -> int:
    """The line of a file, from 1, in which a text begins; the first one if it isn't there. It blocks."""
    try:
        content = read(path, MOST_READ, follows_links=True).data
    except OSError:
        return 1
    before, found, _ = content.decode("utf-8", "replace").partition(words)
    return before.count("\n") + 1 if found else 1


def _page(found: Sequence[T], offset: int, limit: int) -> tuple[list[T], str | None]:
    """A page, and the cursor of the one after it."""
    end = offset + limit
    return list(found[offset:end]), str(end) if end < len(found) else None


SOON = 0.5
"""Seconds that the look before a change may take."""
MOST_FILES = 20
"""Files of one agent that are looked at; of more, the last ones."""
MOST_LOOKS = 2
"""Answers that wait for the problems of one file."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What is wrong in a file."""

    provider: str
    """Who says so, as in `ShownProblems`."""
    problems: Sequence[Diagnostic]


Look = Callable[[str, float], Awaitable[Looked | None]]
"""The problems of a file, after at most so many seconds; None if nobody knows or they are not told.

Raises TimeoutError if nobody has looked at the file in that time.
"""
Before = asyncio.Task[Looked | None]


@dataclass(slots=True)
class _Change:
    """A file that an agent is about to change, or has changed since it was last told."""

    agent: str
    path: str
    before: Before | None = None
    """What was wrong in it before."""
    looks: int | None = None
    """The answers that have waited for its problems; None until it is changed."""


class NewProblems:
    """Remembers what was wrong before each change, and finds what is wrong since then."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._changes: dict[tuple[str, str], _Change] = {}
        """By the agent and the path; what was changed last comes last."""

    def proposed(self, agent: str, path: str) -> None:
        """An agent is about to change a file."""
        key = plain_agent(agent), os.path.normpath(path)
        known = self._changes.get(key)
        if known is None or (known.looks is None and known.before and known.before.done()):
            for old in [each for each, change in self._changes.items() if change.looks is None][: -MOST_FILES + 1]:
                del self._changes[old]
            before = asyncio.get_running_loop().create_task(self._look_before(key[1]))
            self._changes[key] = _Change(*key, before)

    def changed(self, agent: str, path: str) -> None:
        """The change was accepted, or is written."""
        key = plain_agent(agent), os.path.normpath(path)
        change = self._changes[key] = self._changes.pop(key, None) or _Change(*key)
        change.looks = 0
        for old in self._due(key[0])[:-MOST_FILES]:
            del self._changes[old.agent, old.path]

    async def of(self, agent: str) -> list[Diagnostic]:
        """What an agent's changes have made since it was last told. Waits until the servers have looked, 5 s in all.

        Of a file that nobody knew about before the change nothing is told: its problems may be older. One that is not
        looked at in time is for the next answer.
        """
        changes = self._due(plain_agent(agent))
        for change in changes:
            del self._changes[change.agent, change.path]  # the file may be changed again meanwhile
        try:
            found = await asyncio.gather(*map(self._made_in_time, changes))
        except asyncio.CancelledError:  # nothing of it was told
            for change in changes:
                self._put_back(change, change.looks or 0)
            raise
        told: list[Diagnostic] = []
        for change, made in zip(changes, found, strict=True):
            looks = (change.looks or 0) + 1
            if made is not None:
                told += made
            elif looks < MOST_LOOKS:
                self._put_back(change, looks)
        return [each for each in told if each.severity in ("error", "warning")]

    async def _made_in_time(self, change: _Change) -> list[Diagnostic] | None:
        """What a change has made; None if nobody can say that yet."""
        try:
            return await asyncio.wait_for(self._made(change), LONGEST)
        except TimeoutError:
            return None

    async def _made(self, change: _Change) -> list[Diagnostic]:
        end = asyncio.get_running_loop().time() + LONGEST - STEP
        before = await asyncio.shield(change.before) if change.before else None
        if before is None:
            return []
        after = await self._look(change.path, max(0.0, end - asyncio.get_running_loop().time()))
        if after is None or after.provider != before.provider:
            return []
        return fresh(before.problems, after.problems)

    async def _look_before(self, path: str) -> Looked | None:
        try:
            return await self._look(path, SOON)
        except TimeoutError:
            return None

    def _due(self, agent: str) -> list[_Change]:
        """What an agent has changed since it was last told."""
        return [each for each in self._changes.values() if each.agent == agent and each.looks is not None]

    def _put_back(self, change: _Change, looks: int) -> None:
        """The next answer tells it, with what has changed since then."""
        now = self._changes.setdefault((change.agent, change.path), change)
        now.before = change.before or now.before
        now.looks = looks if now is change or now.looks is None else min(looks, now.looks)


def plain_agent(agent: str) -> str:
    """An agent's name, whichever way it has come in: as a CLI, by its model, or in a chat."""
    return agent.removesuffix(" (MCP)").removesuffix(" (chat)")
