"""What the status bar of each window shows: who is connected, and what waits for the person."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from .background import LoopTasks
from .changes.rounds import Rounds
from .chats.chats import Chats
from .clis import families
from .editor import Editor, WindowStatus
from .ids import WindowId
from .review.reviews import Reviews
from .server.window import WindowServer
from .settings import Settings
from .status.findings import approval_mode, is_inside
from .status.survey import clis

SILENT = "{name} doesn't ask before it changes files ({why}). {after}"
TO_BE_ASKED = " To be asked, {how}."
REVIEWED = "What it writes comes up for review."
UNSEEN = "What it writes isn't shown: the setting “review” is “off”."


def silent_clis(folders: Sequence[str]) -> dict[str, str]:
    """The families of which a CLI runs in one of these folders in a mode that doesn't ask, each with the reason."""
    real = [os.path.realpath(folder) for folder in folders]
    found: dict[str, str] = {}
    for cli in clis():
        cwd = os.path.realpath(cli.running.cwd or os.sep)
        mode, why = approval_mode(cli)
        if mode in cli.family.silent_modes and any(is_inside(cwd, folder) for folder in real):
            found[cli.family.name] = f"{mode}, {why}"
    return found


QUIET = 0.05
"""Seconds within which changes of a status are shown as one: a replaced stream is no change."""


class WindowStatuses:
    """Shows the status of each window when it has changed."""

    def __init__(
        self,
        editor: Editor,
        windows: Mapping[WindowId, WindowServer],
        reviews: Reviews,
        chats: Chats,
        changes: Rounds,
        settings_of: Callable[[WindowId], Settings],
        background: LoopTasks,
    ) -> None:
        self._editor = editor
        self._windows = windows
        self._reviews = reviews
        self._chats = chats
        self._changes = changes
        self._settings_of = settings_of
        self._background = background
        self._shown: dict[WindowId, WindowStatus] = {}
        self._timer: asyncio.TimerHandle | None = None

    def of(self, window: WindowId) -> WindowStatus:
        """The CLIs that are connected to a window, and what waits there."""
        server = self._windows.get(window)
        sessions = server.sessions if server else ()
        # An agent of a chat has its chat, and doesn't listen for anything.
        clis = tuple(session.cli for session in sessions if session.stream and not session.is_agent)
        proposing = {review.owner.cli for review in self._reviews if review.owner.window == window}
        listing = self._changes.listing(window)
        # Who has chosen to review afterwards knows it.
        is_chosen = self._settings_of(window).review == "after"
        unasking = set[str]() if is_chosen else self._changes.unasking(window) - proposing
        return WindowStatus(
            clis,
            diffs=sum(review.window == window for review in self._reviews),
            questions=self._chats.questions(window),
            asking=self._chats.asking(window),
            written=listing.count,
            authors=listing.agents,
            unasking=tuple(dict.fromkeys(name for name in clis if name in unasking)),
        )

    def changed(self) -> None:
        """The status of a window may have changed."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(QUIET, self._show)

    def forget(self, window: WindowId) -> None:
        """A window has closed."""
        self._shown.pop(window, None)

    def _show(self) -> None:
        self._timer = None
        for window in self._windows:
            status = self.of(window)
            before = self._shown.get(window)
            if status != before:
                self._shown[window] = status
                if set(status.clis) - set(before.clis if before else ()):
                    self._background(self._look_for_silent(window))
                self._changes.clis(window, status.clis)
                self._editor.status_bar.show_status(window, status)

    async def _look_for_silent(self, window: WindowId) -> None:
        """A CLI has connected: say once if it is one that never asks."""
        server = self._windows.get(window)
        found = await asyncio.to_thread(silent_clis, server.endpoint.folders) if server else {}
        if window not in self._windows:
            return
        known = self._changes.unasking(window)
        for name in [name for name in self.of(window).clis if name in found and name not in known]:
            known.add(name)
            if self._settings_of(window).review == "after":
                continue
            after = UNSEEN if self._settings_of(window).review == "off" else REVIEWED
            how = families.to_be_asked(name)
            said = SILENT.format(name=name, why=found[name], after=after)
            self._editor.messenger.mention(said + (TO_BE_ASKED.format(how=how) if how else ""), window)
            self.changed()
