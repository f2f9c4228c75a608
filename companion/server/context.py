"""The context that a CLI gets: the open files in the order of their focus (docs/protocols/qwen-ide.md#context).

`ContextSender` sends it whenever it has changed. `FileReads` looks at the files, some of which may be on a disk that
hangs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..editor import ViewId
from ..exclusion import Sharing, is_encodable
from ..platforms.programs import OPEN_FOLDERS
from ..protocol import Cursor, File, IdeContext, is_sendable
from .sessions import Session
from .window_screen import ContextRequest, OpenFile, Selection, WindowState

if TYPE_CHECKING:
    from .window import WindowServer

MAX_FILES = 10
"""The CLIs cut the list to this length (docs/protocols/qwen-ide.md#context)."""
MAX_SELECTED = 16_384
"""The longest selected text, in UTF-16 units. The CLIs cut longer ones and add a note."""
CANDIDATES = 4 * MAX_FILES
"""How many views are asked for their file. Some show no file, or one that isn't on disk."""


class FocusOrder:
    """The views of a window, ordered by their last focus."""

    def __init__(self) -> None:
        self._focused: dict[ViewId, int] = {}
        """The last focus of each view; of two with the same time the later one in the dictionary is the newer."""
        self._now: int | None = None
        """The time of the latest event of a focus."""

    def focused(self, view: ViewId, at: int) -> None:
        """A view gets the focus now, at a Unix time in milliseconds: it is the newest, whatever the clock says.

        Times that are later come from a clock that was ahead; they are moved before this one, in their order.
        """
        self._focused.pop(view, None)
        self._now = at
        ahead = sorted((other for other in self._focused if self._focused[other] >= at), key=self._focused.__getitem__)
        for other in ahead:
            del self._focused[other]
            self._focused[other] = at - 1
        self._focused[view] = at

    def seen(self, view: ViewId, at: int) -> None:
        """A view had the focus at that time, as the editor has remembered it. Calls may come in any order."""
        if self._now is not None:
            at = min(at, self._now - 1)
        if at > self._focused.get(view, 0):
            self._focused.pop(view, None)
            self._focused[view] = at

    def forget(self, view: ViewId) -> None:
        """A view was closed."""
        self._focused.pop(view, None)

    def recent(self) -> list[ViewId]:
        """The views that had the focus most recently, the latest first; at most CANDIDATES."""
        latest_first = list(reversed(self._focused))
        return sorted(latest_first, key=self._focused.__getitem__, reverse=True)[:CANDIDATES]

    def at(self, view: ViewId) -> int:
        """When a view last had the focus, as a Unix time in milliseconds; 0 for a view that never had it."""
        return self._focused.get(view, 0)


class Shown:
    """What the views of a window show, as far as the editor has told.

    An event is about one view, so only that one is asked again, and those that nobody has asked yet.
    """

    def __init__(self, order: FocusOrder) -> None:
        self._order = order
        self._files: dict[ViewId, OpenFile | None] = {}
        """By view; None for one that shows no file, or is not in this window."""
        self._others: Sequence[OpenFile] = ()
        """Those of tabs that never had the focus."""
        self._changed: set[ViewId] = set()
        self._is_old = True
        """Whether all views are to be asked."""

    def changed(self, view: ViewId | None = None) -> None:
        """A view may show another file now; None: any view may."""
        if view is None:
            self._is_old = True
        else:
            self._changed.add(view)

    def question(self, limit: int) -> ContextRequest:
        """What to ask; `limit` is that of the selected text."""
        recent = self._order.recent()
        is_whole = self._is_old or not self._changed.issubset(recent)
        views = (view for view in recent if is_whole or view in self._changed or view not in self._files)
        selected = next((view for view in recent if self._files.get(view, True)), None)
        question = ContextRequest(tuple(views), is_whole, selected, limit)
        self._is_old = False
        self._changed.clear()
        return question

    def answered(self, question: ContextRequest, state: WindowState) -> None:
        """The editor has answered a question."""
        asked = dict.fromkeys(question.views)
        found = {file.view: file for file in state.files if file.view in asked}
        if question.is_whole:
            self._files.clear()
            self._others = [file for file in state.files if file.view not in asked]
        self._files |= asked | found

    def files(self) -> list[OpenFile]:
        """The files, the one that had the focus last first."""
        recent = self._order.recent()
        known = [file for view in recent if (file := self._files.get(view))]
        return known + [file for file in self._others if not self._order.at(file.view)]


@dataclass(frozen=True, slots=True)
class Listed:
    """The files that a CLI may be told of."""

    files: Sequence[OpenFile] = ()
    """The one that had the focus last comes first."""
    hides_latest: bool = False
    """Whether a file that may not be told had the focus after all of these, so that none of them is active."""


def listed(
    files: Iterable[OpenFile], sharing: Sharing, folders: Sequence[str], hanging: Collection[str] = ()
) -> Listed:
    """The files that exist on disk and are not excluded, without duplicates, at most MAX_FILES.

    Reads from the disk, so this is not for an event loop. `hanging` are paths that are not looked at, nor told.
    """
    found: dict[str, OpenFile] = {}
    hides_latest = False
    for file in files:
        if len(found) == MAX_FILES:
            break
        if file.path in found:
            continue
        if file.path in hanging or sharing.is_excluded(file.path, folders):
            hides_latest = hides_latest or not found
        elif is_encodable(file.path) and os.path.isfile(file.path):
            found[file.path] = file
    return Listed(tuple(found.values()), hides_latest)


def cut(text: str, limit: int) -> str:
    """The first `limit` UTF-16 units of a text; one less if that would split a character."""
    text = text[:limit]
    # A character is two units at most, so a text of half the limit needs no counting.
    if len(text) <= limit // 2:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "ignore")


def active(known: Listed, order: FocusOrder) -> OpenFile | None:
    """The file that has the focus or had it last; None if it may not be told. One that never had it is not active."""
    first = next(iter(known.files), None)
    return first if first and order.at(first.view) and not known.hides_latest else None


def ide_context(
    known: Listed, order: FocusOrder, selection: Selection | None, *, is_trusted: bool | None
) -> IdeContext:
    """The context for these files. The active one has the selection. A file without a focus has the time 0."""
    open_files = [File(path=file.path, timestamp=order.at(file.view)) for file in known.files]
    if active(known, order):
        open_files[0] = replace(open_files[0], is_active=True, **_selected(selection))
    return IdeContext(open_files, is_trusted)


def _selected(selection: Selection | None) -> dict[str, Any]:
    if selection is None:
        return {}
    text = cut(selection.text, MAX_SELECTED) if selection.text else None
    return {"cursor": Cursor(selection.line, selection.character), "selected_text": text}


logger = logging.getLogger(__name__)

QUIET = 0.05
"""Seconds without a change before the context is sent."""


class ContextSender:
    """Asks the editor what a window shows, and tells its sessions what the settings allow."""

    def __init__(self, server: WindowServer) -> None:
        self._server = server
        self._order = FocusOrder()
        self._shown = Shown(self._order)
        self._reads = FileReads()
        self._quiet: asyncio.TimerHandle | None = None
        self._sent: IdeContext | None = None
        self._asking = asyncio.Lock()
        """Held while the editor is asked, so that an older answer never comes last."""
        self._due = False
        """Whether the context may have changed since the editor was asked."""
        self._newcomers: list[Session] = []
        """Sessions whose streams have opened since the context was sent."""
        self._is_sending = False
        self._is_mute = False
        """Whether the last context could not be sent."""
        self._is_over = False

    def stop(self) -> None:
        """Send no more changes."""
        self._is_over = True
        if self._quiet:
            self._quiet.cancel()

    def is_news(self) -> bool:
        """A context can't be sent. Returns whether the one before could be."""
        was_mute, self._is_mute = self._is_mute, True
        return not was_mute

    def focused(self, view: ViewId, at: int) -> None:
        """A view of the window got the focus, at a Unix time in milliseconds."""
        self._order.focused(view, at)
        self.touched(view)

    def seen(self, view: ViewId, at: int) -> None:
        """A view of the window had the focus at some time before."""
        self._order.seen(view, at)
        self.touched(view)

    def left(self, view: ViewId) -> None:
        """A view is in another window; it may have been in this one."""
        if self._order.at(view):
            self.touched(view)

    def closed(self, view: ViewId) -> None:
        """A view of any window was closed."""
        self._order.forget(view)
        self.touched()

    def touched(self, view: ViewId | None = None) -> None:
        """The context may have changed: what a view shows or its selection; without a view, anything."""
        self._shown.changed(view)
        if self._quiet:
            self._quiet.cancel()
        if not self._is_over:
            self._quiet = asyncio.get_running_loop().call_later(QUIET, self._send_soon)

    def stream_opened(self, session: Session) -> None:
        """A session's stream has opened: send it the current context."""
        logger.info("%s is connected to window %d", session.cli, session.window)
        self._newcomers.append(session)
        self._send_soon()

    def _send_soon(self) -> None:
        """Ask the editor, now or when it has answered: it may be busy for a minute, and one question is enough."""
        self._due = True
        if not self._is_sending:
            self._is_sending = True
            self._server.background(self._send_contexts())

    async def _send_contexts(self) -> None:
        try:
            while self._due:
                self._due = False
                await self._send_context()
        finally:
            self._is_sending = False

    async def _send_context(self) -> None:
        """Send the context to every session if it has changed, and to the new ones in any case."""
        async with self._asking:
            context = await self._context()
        newcomers, self._newcomers = self._newcomers, []
        if context is None:
            return
        has_changed = _comparable(context) != _comparable(self._sent)
        self._sent = context
        for session in self._server.sessions:
            if has_changed or session in newcomers:
                session.notify(context)
        if is_sendable(context):
            self._is_mute = False

    async def context(self) -> IdeContext | None:
        """The context for an agent that asks."""
        async with self._asking:
            return await self._context()

    async def _context(self) -> IdeContext | None:
        endpoint, windows = self._server.endpoint, self._server.editor.served
        await self._server.host.may_tell.wait()
        question = self._shown.question(_limit(self._server.settings.sharing))
        state = await windows.window_state(endpoint.window, question)
        if state is None:
            return None
        OPEN_FOLDERS.set(endpoint.window, state.folders)
        self._shown.answered(question, state)
        sharing = (
            self._server.settings.sharing
        )  # after the editor's answer: a change that it has found is here before that
        known = await self._reads.allowed(self._shown.files(), sharing, state.folders)
        folders = state.folders or tuple(dict.fromkeys(file.folder for file in known.files))
        if folders != endpoint.folders and not self._is_over:
            endpoint.folders = folders
            self._server.folders_changed()
        if not sharing.has_files:
            known = Listed()
        file = active(known, self._order)
        if file and file.view == question.selected and _limit(sharing) <= question.limit:
            selection = state.selection
        else:
            selection = await windows.selection(file.view, _limit(sharing)) if file else None
        if selection and not sharing.has_text:
            selection = replace(selection, text="")
        return ide_context(known, self._order, selection, is_trusted=self._server.settings.is_trusted)


def _limit(sharing: Sharing) -> int:
    """How much of a selected text is asked for."""
    return MAX_SELECTED if sharing.has_text else 0


def _comparable(context: IdeContext | None) -> object:
    """The parts of a context that matter to a CLI: it uses the order of the times only."""
    if context is None:
        return None
    return context.is_trusted, [replace(file, timestamp=0) for file in context.open_files]


T = TypeVar("T")
Read = Callable[[Iterable[str], Collection[str]], T]
"""Reads some paths, one after the other, without those that it gets besides."""

DISK_LIMIT = 1.5
"""Seconds after which a disk counts as one that hangs. An agent that asks for the context waits for 5."""
SLOW_DISK = 5.0
"""Seconds for many files on a disk that is slow, but answers."""
MOST_HANGING = 16
"""Reads that hang at the same time. Beyond them nothing is read, and so nothing is told."""


class FileReads:
    """Leaves out each file whose disk does not answer, until it does: it may be excluded, and is told to nobody.

    A call takes three times DISK_LIMIT seconds, if it has not to wait for room or for a disk that is slow.
    """

    def __init__(self) -> None:
        self._hanging: dict[str, asyncio.Task[Any]] = {}
        """The reads that have not ended, by the paths of their files."""
        self._room = asyncio.Semaphore(MOST_HANGING)

    async def allowed(self, files: Sequence[OpenFile], sharing: Sharing, folders: Sequence[str]) -> Listed:
        """The files that may be told."""
        by_path = {file.path: file for file in reversed(files)}

        def read(paths: Iterable[str], hanging: Collection[str]) -> Listed:
            return listed((by_path[path] for path in paths), sharing, folders, hanging)

        found = await self._read(list(dict.fromkeys(file.path for file in files)), read)
        return found or Listed(hides_latest=True)

    async def each(self, paths: Iterable[str], read_one: Callable[[str], T]) -> dict[str, T]:
        """What a read of each path gives, in their order. Raises TimeoutError if too many disks hang."""

        def read(paths: Iterable[str], hanging: Collection[str]) -> dict[str, T]:
            return {path: read_one(path) for path in paths if path not in hanging}

        found = await self._read(list(dict.fromkeys(paths)), read)
        if found is None:
            raise TimeoutError
        return found

    async def one(self, path: str, read_one: Callable[[str], T]) -> T:
        """What a read of a path gives. Raises TimeoutError if its disk hangs."""
        found = await self.each([path], read_one)
        if path not in found:
            raise TimeoutError
        return found[path]

    async def _read(self, paths: Sequence[str], read: Read[T]) -> T | None:
        for is_again in (False, True):
            if not await self._has_room():
                break
            steps = _Steps(paths)
            task = asyncio.create_task(asyncio.to_thread(read, steps, frozenset(self._hanging)))
            task.add_done_callback(lambda _: self._room.release())
            try:
                await self._wait(task, steps)
            except asyncio.CancelledError:
                for path in paths[steps.at : steps.at + 1]:
                    self._keep_back(path, task)
                raise
            if task.done():
                return task.result()
            if not is_again:
                await self._find_hanging(paths[steps.at :], read)
        return None

    @staticmethod
    async def _wait(task: asyncio.Task[Any], steps: _Steps) -> None:
        """Wait for a read while its disk answers."""
        end = time.monotonic() + SLOW_DISK
        while not task.done() and (left := min(steps.since + DISK_LIMIT, end) - time.monotonic()) > 0:
            await asyncio.wait([task], timeout=left)

    async def _has_room(self) -> bool:
        """Wait until another read may begin, for at most DISK_LIMIT seconds."""
        try:
            async with asyncio.timeout(DISK_LIMIT):
                return await self._room.acquire()
        except TimeoutError:
            return False

    async def _find_hanging(self, paths: Sequence[str], read: Read[Any]) -> None:
        """Read each file on a thread of its own."""
        reads = {
            asyncio.create_task(asyncio.to_thread(read, [path], ())): path
            for path in paths[: 2 * CANDIDATES]
            if path not in self._hanging
        }
        if not reads:
            return
        try:
            await asyncio.wait(reads, timeout=DISK_LIMIT)
        finally:
            for task, path in reads.items():
                self._keep_back(path, task)

    def _keep_back(self, path: str, task: asyncio.Task[Any]) -> None:
        """Leave out a file until a read of it has ended, unless it has."""
        if not task.done():
            self._hanging[path] = task
            task.add_done_callback(lambda _: self._hanging.pop(path, None))


class _Steps:
    """Paths, one after the other."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self.at = 0
        """The place of the one that is read."""
        self.since = time.monotonic()
        """When the read of it has begun."""

    def __iter__(self) -> Iterator[str]:
        for place, path in enumerate(self._paths):
            self.at, self.since = place, time.monotonic()
            yield path
