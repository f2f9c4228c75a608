"""Sends a window's context to its sessions whenever it has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from ..exclusion import Sharing
from ..ids import ViewId
from ..platforms.open_folders import OPEN_FOLDERS
from ..protocol import ContextUpdate, IdeContext, is_sendable
from ..settings import Settings
from .context import MAX_SELECTED, FocusOrder, Listed, Shown, active, ide_context
from .endpoint import Endpoint
from .file_reads import FileReads
from .sessions import Background, Session
from .window_screen import ServedWindows

logger = logging.getLogger(__name__)

QUIET = 0.05
"""Seconds without a change before the context is sent."""


class ContextSender:
    """Asks the editor what a window shows, and tells its sessions what the settings allow."""

    def __init__(
        self,
        endpoint: Endpoint,
        windows: ServedWindows,
        reads: FileReads,
        settings: Callable[[], Settings],
        sessions: Callable[[], Iterable[Session]],
        background: Background,
        may_tell: asyncio.Event,
        folders_changed: Callable[[], object],
    ) -> None:
        """`may_tell` is set as soon as the settings are known, without which nothing of a file is told.

        `folders_changed` is called when the endpoint has got other folders, which are not published yet.
        """
        self._order = FocusOrder()
        self._shown = Shown(self._order)
        self._endpoint = endpoint
        self._windows = windows
        self._reads = reads
        self._settings = settings
        self._sessions = sessions
        self._background = background
        self._may_tell = may_tell
        self._folders_changed = folders_changed
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
            self._background(self._send_contexts())

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
        update = ContextUpdate(params=context)
        for session in self._sessions():
            if has_changed or session in newcomers:
                session.notify(update)
        if is_sendable(update):
            self._is_mute = False

    async def context(self) -> IdeContext | None:
        """The context for an agent that asks."""
        async with self._asking:
            return await self._context()

    async def _context(self) -> IdeContext | None:
        await self._may_tell.wait()
        question = self._shown.question(_limit(self._settings().sharing))
        state = await self._windows.window_state(self._endpoint.window, question)
        if state is None:
            return None
        OPEN_FOLDERS.set(self._endpoint.window, state.folders)
        self._shown.answered(question, state)
        sharing = self._settings().sharing  # after the editor's answer: a change that it has found is here before that
        known = await self._reads.listed(self._shown.files(), sharing, state.folders)
        folders = state.folders or tuple(dict.fromkeys(file.folder for file in known.files))
        if folders != self._endpoint.folders and not self._is_over:
            self._endpoint.folders = folders
            self._folders_changed()
        if not sharing.has_files:
            known = Listed()
        file = active(known, self._order)
        if file and file.view == question.selected and _limit(sharing) <= question.limit:
            selection = state.selection
        else:
            selection = await self._windows.selection(file.view, _limit(sharing)) if file else None
        if selection and not sharing.has_text:
            selection = replace(selection, text="")
        return ide_context(known, self._order, selection, is_trusted=self._settings().is_trusted)


def _limit(sharing: Sharing) -> int:
    """How much of a selected text is asked for."""
    return MAX_SELECTED if sharing.has_text else 0


def _comparable(context: IdeContext | None) -> object:
    """The parts of a context that matter to a CLI: it uses the order of the times only."""
    if context is None:
        return None
    state = context.workspace_state
    return state.is_trusted, [replace(file, timestamp=0) for file in state.open_files]
