"""The registry of agents: the list, kept for a day, and what was installed from it.

Runs on the companion thread; what blocks is done by the executor.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import http.client
import io
import logging
import os
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from ..editor import WindowId
from ..platforms import paths, programs
from ..platforms.files import is_busy, is_mine, make_private_folders, write_private
from .archives import unpack
from .entries import (
    WHERE,
    ArchiveError,
    ArchiveSource,
    DownloadError,
    InstallError,
    InstallPlan,
    RegistryEntry,
    RegistryError,
    agents_folder,
    is_address,
    plan,
    put_in_place,
    read_day,
    read_entries,
    remove,
    remove_others,
    restore_all,
)

QUIET = 30.0
"""Seconds without a byte after which a download is given up."""
_PIECE = 256 * 1024

Progress = Callable[[int, int], object]
"""Gets the bytes that have come and those that are to come, which is 0 if that isn't known. From any thread."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to an address that could have been in the registry."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The request to follow."""
        if not is_address(newurl) or (req.full_url.startswith("https:") and not newurl.startswith("https:")):
            raise urllib.error.URLError("it redirects to an address that isn't safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, limit: int, seconds: float, to: BinaryIO, progress: Progress | None = None) -> str:
    """Write what is at an address into a file, at most `limit` bytes within `seconds`. Returns its SHA-256 in hex.

    Raises:
        DownloadError: it can't be had, or is too large.
        OSError: it can't be written.
    """
    host, end = urlsplit(url).hostname or "", time.monotonic() + seconds
    digest, size = hashlib.sha256(), 0
    if not is_address(url):
        raise DownloadError(host, "the address doesn't begin with https://")
    for piece, whole in _pieces(url, host):
        size += len(piece)
        if size > limit:
            raise DownloadError(host, f"it sends more than {limit // 1024**2} MB")
        if time.monotonic() > end:
            raise DownloadError(host, f"it wasn't finished after {seconds:.0f} s")
        digest.update(piece)
        to.write(piece)
        if progress:
            progress(size, whole)
    return digest.hexdigest()


def _pieces(url: str, host: str) -> Iterator[tuple[bytes, int]]:
    """What is at an address, each piece with the bytes of all of it, which are 0 if that isn't known.

    Raises DownloadError.
    """
    size = 0
    try:
        with _open(url) as answer:
            whole = int(answer.headers.get("Content-Length") or 0)
            while piece := answer.read1(_PIECE):
                size += len(piece)
                yield piece, whole
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(host, f"it answers {error.code}") from None
    except urllib.error.URLError as error:
        raise DownloadError(host, _plain(error.reason)) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DownloadError(host, _plain(error)) from None
    if size < whole:
        raise DownloadError(host, "the connection was closed before the end")


def _open(url: str) -> Any:
    import truststore  # noqa: PLC0415 - a companion that installs nothing does without this library

    opener = urllib.request.build_opener(
        _SafeRedirects, urllib.request.HTTPSHandler(context=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    )
    request = urllib.request.Request(url, headers={"User-Agent": "QwenCompanion"})  # noqa: S310 - `is_address` was asked
    return opener.open(request, timeout=QUIET)


def _plain(why: object) -> str:
    """A reason without numbers of errors."""
    words = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
    return words.rstrip(".") or type(why).__name__


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
        at_work: Callable[[], Collection[str]],
        address: str = ADDRESS,
    ) -> None:
        """`mention` shows how far a download is in a window's status bar; `environment` has the agents' PATH.

        `at_work` gives the programs of the agents that run.
        """
        self._mention = mention
        self._environment = environment
        self._programs = at_work
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
        kept = os.path.join(paths.user_cache(), "registry.json")
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
        fetch(self._address, LIST_LIMIT, LIST_SECONDS, data)
        entries = read_entries(data.getvalue())
        try:
            make_private_folders(os.path.dirname(kept))
            write_private(kept, data.getvalue())
        except OSError as error:
            logger.info("The registry's list can't be kept: %s", error)
        return entries

    async def install(self, wanted: InstallPlan, window: WindowId, keep: str = "") -> None:
        """Do what a plan says. Other versions of the agent go, but for the folder `keep` and those that are at work.

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

            # A path above them has several spellings.
            own = os.path.join("", "agents", wanted.entry.id, "")
            running = [path.rpartition(own)[2].partition(os.sep)[0] for path in self._programs() if own in path]
            await asyncio.to_thread(self._install, wanted, progress, [os.path.basename(keep), *running])

    def _install(self, wanted: InstallPlan, progress: Progress, kept: list[str]) -> None:
        try:
            if isinstance(wanted.source, ArchiveSource):
                self._unpack(wanted, wanted.source, progress)
                kept.append(os.path.basename(wanted.folder))
            else:
                make_private_folders(wanted.folder)
            remove_others(_folder(wanted.entry.id), kept)
            with contextlib.suppress(OSError):
                os.rmdir(_folder(wanted.entry.id))
        except OSError as error:
            remedy = "Close its chats first." if is_busy(error) else None
            raise InstallError(f"{wanted.entry.name} can't be installed: {error.strerror or error}.", remedy) from None

    @staticmethod
    def _unpack(wanted: InstallPlan, source: ArchiveSource, progress: Progress) -> None:
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
                found = fetch(source.url, ARCHIVE_LIMIT, ARCHIVE_SECONDS, file, progress)
            if source.sha256 not in ("", found):
                raise ArchiveError(f"its SHA-256 is {found}, and the registry has {source.sha256}")
            unpack(archive, temporary, source.program)
            programs.unquarantine(temporary)
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
