"""How a round begins, or goes on."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence

from ..ids import WindowId
from ..platforms.reasons import reason_of
from . import places
from .folder import Folder
from .git import GitMissingError
from .roots import Roots, is_in
from .store import TooLargeError

logger = logging.getLogger(__name__)


class RoundStarts:
    """Begins the rounds in the folders of a window. Runs on the companion thread."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._large: dict[str, bool] = {}
        """Whether a large folder may be copied."""

    async def begin(self, window: WindowId, before: Sequence[str], *, anew: bool = False) -> bool:
        """Begin, or go on. `before` are those who were at work until now. Returns whether snapshots are wanted."""
        known = self._roots.windows.get(window)
        if known is None or self._roots.work.settings_of(window).review == "off":
            return False
        async with known.beginning:
            folders = await asyncio.to_thread(_real, self._roots.work.folders_of(window))
            for root in [root for root in known.folders if not is_in(root, folders)]:
                self._roots.let_go(known.folders.pop(root), window)
            for root in folders:
                await self._begin_root(window, root, before, anew=anew)
            if anew:
                known.done.clear()
            for folder in list(known.folders.values()):
                self._roots.publish_all(folder)
            self._roots.publish(window)
        return True

    async def _begin_root(self, window: WindowId, root: str, before: Sequence[str], *, anew: bool) -> None:
        if why := await asyncio.to_thread(places.refusal, root):
            self._roots.say_once(why, window)
            return
        if window not in self._roots.windows:  # it was closed meanwhile
            return
        folder = self._roots.join(window, root)
        if folder.has_round and not anew and folder.waits:
            return
        name = os.path.basename(root) or root
        try:
            if said := await folder.call(folder.open):
                self._roots.editor.say(said, window)
            during = await self._first_look(window, folder, before, anew=anew)
        except GitMissingError as error:
            self._roots.say_once(
                f"What agents write can't be reviewed: {error}. Install it, or set “review” to “off”.", window
            )
            return
        except TooLargeError:
            return  # the person was asked
        except OSError as error:
            logger.warning("No snapshot of %s: %s", root, error)
            self._roots.say_once(f"What agents write in {name} can't be reviewed: {reason_of(error)}.", window)
            return
        if during:
            names = ", ".join(during[:3]) + (", …" if len(during) > 3 else "")
            why = f"Written while the first snapshot of {name} was made, and so not listed: {names}."
            self._roots.editor.say(why, window)
        for nested in folder.round.state.nested:
            await self._begin_root(window, os.path.join(root, *nested.split("/")), before, anew=anew)

    async def _first_look(self, window: WindowId, folder: Folder, before: Sequence[str], *, anew: bool) -> list[str]:
        may_be_large = self._large.get(folder.root, False)
        async with folder.lock:
            try:
                return await folder.call(folder.begin, before, anew=anew, may_be_large=may_be_large)
            except TooLargeError as error:
                if folder.root in self._large:
                    raise
                question = f"{folder.root} has {error}. Take snapshots of it, to review what agents write there?"
                self._large[folder.root] = await self._roots.editor.confirm(window, question, "Take Snapshots")
                if not self._large[folder.root]:
                    raise
                return await folder.call(folder.begin, before, anew=anew, may_be_large=True)


def _real(folders: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(os.path.normcase(os.path.realpath(folder)) for folder in folders))
