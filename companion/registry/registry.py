"""The registry of agents: the list, kept for a day, and what was installed from it.

Runs on the companion thread; what blocks is done by the executor.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass

from ..ids import WindowId
from ..platforms import folders, programs, quarantine
from ..platforms.files import is_busy, is_mine, make_private_folders, write_private
from . import downloads
from .archives import unpack
from .entries import ArchiveSource, RegistryEntry, read_day, read_entries
from .failures import InstallError, RegistryError
from .installed import put_in_place, remove, remove_others, restore_all
from .plans import WHERE, InstallPlan, agents_folder, plan

logger = logging.getLogger(__name__)

ADDRESS = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
DAY = 24 * 3600.0
LIST_LIMIT = 8 * 1024**2
"""Bytes of the list."""
LIST_SECONDS = 30.0
ARCHIVE_LIMIT = 1024**3
ARCHIVE_SECONDS = 3600.0
TELL = 1.0
"""Seconds between two messages on how far a download is."""
_KEPT = "registry.json"


@dataclass(frozen=True, slots=True)
class AgentListing:
    """What the registry has, for this computer."""

    entries: tuple[RegistryEntry, ...]
    plans: Mapping[str, InstallPlan]
    """By id; one that is missing can't be installed here."""
    at: float
    """When it was downloaded, in Unix seconds; 0 for the list that came with the package."""
    why: str = ""
    """Why it isn't a newer one, a sentence; empty if it is new enough."""
    there: tuple[str, ...] = ()
    """The runners that are there."""
    day: str = ""
    """Of which day the list that came with the package is, such as "2026-11-22"; empty for one that was downloaded."""


class AgentRegistry:
    """Lists agents and installs them."""

    def __init__(
        self,
        mention: Callable[[str, WindowId], object],
        environment: Callable[[], Awaitable[Mapping[str, str]]],
        address: str = ADDRESS,
    ) -> None:
        """`mention` shows how far a download is in a window's status bar; `environment` has the agents' PATH."""
        self._mention = mention
        self._environment = environment
        self._address = address
        self._at_work: set[str] = set()
        """The ids of the agents that are being installed or removed."""

    async def look(self, copy: bytes, *, anew: bool = False) -> AgentListing:
        """The list. It is downloaded if the last one is older than a day, or `anew` is true.

        Args:
            copy: the list that came with the package.
            anew: whether a list that isn't old is downloaded again.

        Raises:
            RegistryError: there is none that can be read.
        """
        return await asyncio.to_thread(self._look, copy, await self._environment(), anew)

    def _look(self, copy: bytes, environment: Mapping[str, str], anew: bool) -> AgentListing:
        kept = os.path.join(folders.cache(), _KEPT)
        entries, at = _kept(kept)
        why = ""
        if anew or not entries or not 0 <= time.time() - at < DAY:
            try:
                entries, at = self._download(kept), time.time()
            except RegistryError as error:
                why = error.sentence
                logger.info("The registry's list can't be had: %s", why)
        if not entries:
            entries, at = read_entries(copy), 0.0
        day = "" if at else read_day(copy)
        there = tuple(name for name in WHERE if programs.find(name, environment))
        plans = {entry.id: found for entry in entries if (found := plan(entry, there))}
        return AgentListing(entries, plans, at, why, there, day)

    def _download(self, kept: str) -> tuple[RegistryEntry, ...]:
        data = io.BytesIO()
        downloads.fetch(self._address, LIST_LIMIT, LIST_SECONDS, data)
        entries = read_entries(data.getvalue())
        try:
            make_private_folders(os.path.dirname(kept))
            write_private(kept, data.getvalue())
        except OSError as error:
            logger.info("The registry's list can't be kept: %s", error)
        return entries

    async def install(self, wanted: InstallPlan, window: WindowId, keep: str = "") -> None:
        """Do what a plan says. Other versions of the agent go, but for the folder `keep`, which may be at work.

        Raises:
            RegistryError: it could not be done, and what was there before is there still.
        """
        with self._working(wanted.entry.id):
            loop = asyncio.get_running_loop()
            told = 0.0

            def progress(done: int, whole: int) -> None:
                nonlocal told
                if time.monotonic() - told > TELL:
                    told = time.monotonic()
                    part = f" of {whole / 1e6:.0f}" if whole else ""
                    words = f"{wanted.entry.name} is being downloaded: {done / 1e6:.0f}{part} MB."
                    loop.call_soon_threadsafe(self._mention, words, window)

            await asyncio.to_thread(self._install, wanted, progress, keep)

    def _install(self, wanted: InstallPlan, progress: downloads.Progress, keep: str) -> None:
        try:
            kept = [keep]
            if isinstance(wanted.source, ArchiveSource):
                self._unpack(wanted, wanted.source, progress)
                kept.append(wanted.folder)
            else:
                make_private_folders(wanted.folder)
            # A path above them has several spellings.
            remove_others(_folder(wanted.entry.id), [os.path.basename(path) for path in kept])
            with contextlib.suppress(OSError):
                os.rmdir(_folder(wanted.entry.id))
        except OSError as error:
            remedy = "Close its chats first." if is_busy(error) else None
            raise InstallError(f"{wanted.entry.name} can't be installed: {error.strerror or error}.", remedy) from None

    @staticmethod
    def _unpack(wanted: InstallPlan, source: ArchiveSource, progress: downloads.Progress) -> None:
        above = _folder(wanted.entry.id)
        make_private_folders(above)
        if os.path.islink(above) or not is_mine(os.lstat(above)):
            raise InstallError(f"{wanted.entry.name} can't be installed: {above} is not a folder of this package.")
        # The name of a version never begins with a dot.
        temporary = os.path.join(above, f".{secrets.token_hex(8)}")
        archive = f"{temporary}.archive"
        restore_all(above)
        try:
            with open(archive, "xb") as file:
                found = downloads.fetch(source.url, ARCHIVE_LIMIT, ARCHIVE_SECONDS, file, progress)
            downloads.check(source.sha256, found)
            unpack(archive, temporary, source.program)
            quarantine.release(temporary)
            put_in_place(temporary, wanted.folder)
        finally:
            remove(temporary)
            remove(archive)

    async def remove(self, identifier: str) -> None:
        """Remove what was unpacked for an agent.

        Raises:
            RegistryError: something of it is still there, for example because it runs on Windows.
        """
        with self._working(identifier):
            folder = _folder(identifier)
            await asyncio.to_thread(remove, folder)
            if await asyncio.to_thread(os.path.lexists, folder):
                raise InstallError(f"A part of {identifier} can't be removed. Close its chats first.", "")

    @contextlib.contextmanager
    def _working(self, identifier: str) -> Generator[None]:
        if identifier in self._at_work:
            raise InstallError(f"{identifier} is being installed or removed already.", "")
        self._at_work.add(identifier)
        try:
            yield
        finally:
            self._at_work.discard(identifier)


def _folder(identifier: str) -> str:
    """The folder of an agent."""
    return os.path.join(agents_folder(), identifier)


def _kept(path: str) -> tuple[tuple[RegistryEntry, ...], float]:
    """The list that is kept, and when it was downloaded; an empty one if there is none that can be read."""
    with contextlib.suppress(OSError, ValueError, RegistryError), open(path, "rb") as file:
        found = os.fstat(file.fileno())
        if is_mine(found) and found.st_size <= LIST_LIMIT:
            return read_entries(file.read(LIST_LIMIT)), found.st_mtime
    return (), 0.0
