"""The companion: every window's server, the reviews, the chats, and the editor's events.

Every method runs on the companion thread; `thread` brings calls there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from .backends.agent import OfferedServer
from .backends.children import end_leftovers
from .background import LoopTasks, guarded
from .changes import places
from .changes.change_screen import ChangeScreen
from .changes.decisions import Decisions
from .changes.rounds import Rounds
from .changes.since import SinceReviews
from .chats.chat_screen import ChatScreen
from .chats.chats import Chats
from .clis import families
from .clis.discovery import EnvironmentVariables, clear_leftovers
from .clis.families import FAMILIES, CliFamily
from .clis.processes import wrote
from .clis.shell import Command
from .editor import ChatId, ViewId, WindowId
from .exclusion import Sharing
from .handover import Inheritance
from .libraries.guard import Trouble
from .platforms.local_sockets import no_port
from .platforms.programs import OPEN_FOLDERS
from .provenance.transcripts import KINDS, Reader
from .provenance.why import CliProposal, Provenance, review_report
from .registry.registry import AgentRegistry
from .review.review import Review
from .review.review_screen import ReviewScreen
from .review.reviews import Reviews
from .server.endpoint import Endpoint
from .server.sessions import STREAM_GONE_LIMIT
from .server.window import WindowServer
from .server.window_screen import ElsewhereOffer, ElsewhereState, ServedWindow, WindowScreen
from .settings import DaemonSettings, ReadTranscripts, Settings
from .status import survey
from .status.facts import Facts, WindowStatus
from .status.findings import approval_mode, is_inside
from .status.survey import clis

logger = logging.getLogger(__name__)

TICK = 2.0
"""Seconds between checks of what no event reports: folders, renamed and removed files, removed discovery files."""
FLUSH = 1.0
"""Seconds that the end of a server waits until everything is sent."""
PAUSE = 0.25
"""Seconds that the next instance waits at a reload until the requests of that moment are answered."""
NOT_STARTED = "No CLI can find this window: its server could not start. Sublime's console says why."
LINGER = 600.0
"""Seconds that a CLI has after a reload to read what was sent to it: it may be suspended."""
SILENT = "{name} doesn't ask before it changes files ({why}). {after}"
TO_BE_ASKED = " To be asked, {how}."
REVIEWED = "What it writes comes up for review."
UNSEEN = "What it writes isn't shown: the setting “review” is “off”."
QUIET = 0.05
"""Seconds within which changes of a status are shown as one: a replaced stream is no change."""


class StatusViews(Protocol):
    """The status of each window on the screen, called on the companion thread."""

    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        """Show which CLIs are connected and how many diffs and questions wait. Called when that changes."""
        ...


class LibraryTroubles(Protocol):
    """Whoever mends the libraries, called on the companion thread."""

    def wrong(self, trouble: Trouble) -> None:
        """Tell the person what is wrong with the libraries, and offer the remedy."""
        ...


class Editor(WindowScreen, ReviewScreen, ChangeScreen, ChatScreen, Protocol):
    """The port: everything that the companion needs from an editor.

    An editor hands over the objects that show something; each room describes those that it uses in a file of its own.
    Their methods are called on the companion thread, and move the call to the editor's own thread themselves.
    """

    @property
    def status_bar(self) -> StatusViews:
        """The status of each window."""
        ...

    @property
    def libraries(self) -> LibraryTroubles:
        """Who mends the libraries."""
        ...


class Companion:
    """Serves the windows of an editor."""

    def __init__(self, editor: Editor, settings: Settings, variables: EnvironmentVariables) -> None:
        self._background = LoopTasks()
        self.reviews = Reviews(editor, self, self._background)
        self.changes = Rounds(editor, self, self.reviews, self._background)
        self.decisions = Decisions(self.changes.roots, self.reviews)
        self.provenance = Provenance(
            self.changes, self.sharing_of, self._background, editor.messenger, self.reviews.explain
        )
        self.since = SinceReviews(self.changes.roots, self.changes.begun, self._written_by_agents)
        self.chats = Chats(editor, self.reviews, self, self.changes, self.provenance)
        self.registry = AgentRegistry(editor.messenger.mention, self.chats.environment, self.chats.at_work)
        self._editor = editor
        self._settings = settings
        self._window_settings: Mapping[WindowId, Settings] = {}
        self._variables = variables
        self._windows: dict[WindowId, WindowServer] = {}
        """The window in front is the last one; before it comes the one that was in front previously."""
        self._unserved: dict[WindowId, tuple[ServedWindow, str]] = {}
        """Windows for which the system had no port, or no file descriptor, each with what was said of it."""
        self.statuses = WindowStatuses(self, editor, self._windows, self._background)
        self._front: WindowId | None = None
        self._servers: dict[WindowServer, asyncio.Task[None]] = {}
        """Every server that has not ended; a window may have a new one before its old one has."""
        self._is_ending = False
        self.may_tell = asyncio.Event()
        """Set when the settings are known."""

    def start(self, endpoints: Sequence[Endpoint]) -> None:
        """Serve endpoints that are already open; the first one belongs to the window in front."""
        for number, endpoint in enumerate(reversed(endpoints)):
            self._serve(endpoint, check=not number)
        if endpoints:
            self._front = endpoints[0].window
        self.statuses.wait_for_clis()
        self._background(_clear_leftovers())
        self.provenance.start()
        self._background(self._look_again())

    def inherit_chats(self, chats: Mapping[WindowId, Mapping[str, Any]]) -> None:
        """Go on with what the previous instance has handed over of its chats and their daemons, by window."""
        self.chats.inherit(chats, self._windows)

    def inherit_reviews(self, reviews: Mapping[WindowId, Sequence[Mapping[str, Any]]]) -> None:
        """Go on with the open reviews that the previous instance has handed over, by window."""
        for number, left in reviews.items():
            if server := self._windows.get(number):
                self.reviews.inherit(left, server.owner_of)
                self.changes.roots.publish(number)

    def resume_reviews(self) -> None:
        """Show the inherited reviews in the views that they have had before."""
        self._background(self.reviews.resume())

    def begin_telling(self) -> None:
        """The settings are known, so that the CLIs may be told of the files that they allow, and these may be read."""
        self.may_tell.set()
        for server in self._windows.values():
            self._take_up_changes(server)

    async def started(self) -> None:
        """Wait until every window's requests are answered. Raises the reason if they can't be."""
        await asyncio.gather(*(window.started for window in self._windows.values()))

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        """The folders of a window."""
        server = self._windows.get(window)
        return server.endpoint.folders if server else ()

    def sharing_of(self, window: WindowId) -> Sharing:
        """What may be told of the files of a window."""
        return replace(self.settings_of(window).sharing, folders=self.folders_of(window))

    def settings_of(self, window: WindowId) -> Settings:
        """The settings of a window."""
        return self._window_settings.get(window, self._settings)

    def changes_changed(self) -> None:
        """Something waits for a review, or no longer."""
        self.statuses.changed()

    def streams_changed(self) -> None:
        """The stream of a session has opened or closed."""
        self.statuses.changed()

    def turn_written(self, chat: ChatId, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn of a chat that has ended."""
        self.chats.turn_written(chat, turn, files)

    async def review_markdown(self, window: WindowId, comments: str) -> str:
        """The review of a window as Markdown: its turns since the round began, what was decided, and the comments."""
        now = time.time()
        since = min((folder.round.state.began for folder in self.changes.roots.opened(window)), default=now)
        turns = await self.provenance.turns(window, since)
        return review_report(turns, self.changes.listing(window), comments, now)

    async def _written_by_agents(self, window: WindowId, path: str, rows: Sequence[int]) -> set[int]:
        """Which lines of a file, from 0, an agent is known to have written."""
        found = await self.provenance.why(window, path, None, rows, is_saved=True)
        return {row for reason in found for row in reason.rows}

    def forget(self, window: WindowId) -> None:
        """Remove all snapshots, and why lines were written."""
        self.changes.forget(window)
        self._background(self.provenance.forget())

    async def stop(self) -> None:
        """Reject the open diffs, notify the CLIs, and end everything."""
        self.chats.dismiss()
        self.reviews.reject_all()
        await self._withdraw()
        ending = asyncio.create_task(self.chats.stop(hand_over=False))
        await asyncio.gather(*(window.pause(PAUSE) for window in self._windows.values()))
        self.reviews.reject_all()  # what was proposed in between
        await self._close_all(FLUSH)
        await ending

    async def hand_over(self, give: Callable[[dict[WindowId, Inheritance]], object]) -> None:
        """Notify the CLIs, and let the next instance continue with everything, open diffs included.

        `give` gets what that needs, by window, as soon as the requests of now are answered. What takes longer, such
        as a CLI that is suspended and reads nothing, is waited for afterwards and holds nobody up.
        """
        self.reviews.leaving()
        self.statuses.leave()
        await self._withdraw(goes_on=True)
        ending = asyncio.create_task(self.chats.stop(hand_over=True))
        await asyncio.gather(*(window.pause(PAUSE) for window in self._windows.values()))
        chats = await ending
        # A CLI asks for another stream when one has ended, so this comes last.
        await asyncio.gather(*(window.end_streams(PAUSE) for window in self._windows.values()))
        left = {number: window.hand_over() for number, window in self._windows.items()}
        # In the same turn of the loop: what is accepted now is said by the next instance.
        for number, reviews in self.reviews.hand_over().items():
            if number in left:
                left[number].reviews.extend(reviews)
        for number, chat in chats.items():
            if number in left:
                left[number].chat.update(chat)
            else:
                await asyncio.to_thread(self.chats.end_inherited, chat)
        give(left)
        await self._close_all(LINGER)

    async def _withdraw(self, *, goes_on: bool = False) -> None:
        self._is_ending = True
        self.changes.close()
        self._variables.remove()
        await asyncio.gather(*(window.withdraw(goes_on=goes_on) for window in self._windows.values()))

    async def _close_all(self, limit: float) -> None:
        await asyncio.gather(*(window.close(limit) for window in self._windows.values()))
        for ended in await asyncio.gather(*self._servers.values(), return_exceptions=True):
            if isinstance(ended, BaseException):
                logger.error("A server did not end well", exc_info=ended)
        self._background.end()

    def window_opened(self, window: ServedWindow) -> None:
        """The editor has a new window."""
        OPEN_FOLDERS.set(window.id, window.folders)
        if window.id not in self._windows:
            try:
                endpoint = Endpoint.open(window)
            except OSError as error:
                self._try_again(window, f"No CLI can find this window: {no_port(error)}")
                return
            endpoint.legacy_files = self._settings.legacy_discovery_files
            self._editor.served.listening(window.id, endpoint.port)
            server = self._serve(endpoint)
            server.publish()
            self._background(self._await_start(window, server))
            if self._front is None:
                self.window_focused(window.id)

    def _try_again(self, window: ServedWindow, message: str) -> None:
        """A window has no server yet. Say so once."""
        if window.id not in self._unserved:
            self._editor.messenger.say(message, window.id)
            self._unserved[window.id] = window, message

    def window_closed(self, window: WindowId) -> None:
        """A window closes: its diffs are rejected, its sessions end."""
        OPEN_FOLDERS.remove(window)
        self._unserved.pop(window, None)
        self._end_window(window)

    def _end_window(self, window: WindowId) -> None:
        self.chats.window_closed(WindowId(window))
        self.reviews.reject_window(window)
        self.since.end(window)
        self.changes.window_closed(window)
        self.statuses.forget(window)
        if server := self._windows.pop(window, None):
            self._background(self._close(server))
            if window == self._front:
                self._front = None
                self._variables.remove()
                for other in list(self._windows)[-1:]:
                    self.window_focused(other)

    def focused(self, window: WindowId, view: ViewId, at: int) -> None:
        """A view got the focus, at a Unix time in milliseconds."""
        self.active(window, view, at)
        self.window_focused(window)

    def active(self, window: WindowId, view: ViewId, at: int) -> None:
        """A view has the focus in its window, which need not be in front."""
        if server := self._windows.get(window):
            server.contexts.focused(view, at)
            for other in self._windows.values():
                if other is not server:
                    other.contexts.left(view)

    def seen(self, window: WindowId, view: ViewId, at: int) -> None:
        """A view had the focus at some time before."""
        if server := self._windows.get(window):
            server.contexts.seen(view, at)

    def window_focused(self, window: WindowId) -> None:
        """A window came to the front: terminals that are opened from now on belong to it."""
        server = self._windows.get(window)
        if server and window == self._front:
            # If a CLI finds the files of several editors, it takes the newest.
            server.touch()
        elif server:
            self.changes.scan(window)
            self._front = window
            self._windows[window] = self._windows.pop(window)
            for number, one in self._windows.items():
                one.endpoint.in_front = number == window
            self._variables.set(server.endpoint.variables)
            server.publish()

    def view_closed(self, view: ViewId) -> None:
        """A view was closed, in any window."""
        for server in self._windows.values():
            server.contexts.closed(view)

    def touched(self, window: WindowId, view: ViewId | None = None) -> None:
        """The file or the selection of a view may have changed; without a view, anything of the window."""
        if server := self._windows.get(window):
            server.contexts.touched(view)

    def configure(
        self,
        settings: Settings,
        windows: Mapping[WindowId, Settings] | None = None,
        daemon: DaemonSettings | None = None,
    ) -> None:
        """The settings have changed; `windows` has those of windows whose project has its own."""
        # The daemon's settings are never logged: even an address may contain a secret.
        logger.debug("The settings are %s", settings)
        self._settings = settings
        self._window_settings = windows or {}
        if daemon:
            self.chats.configure(daemon)
        for server in self._windows.values():
            server.contexts.touched()
            if server.endpoint.legacy_files != settings.legacy_discovery_files:
                server.endpoint.legacy_files = settings.legacy_discovery_files
                server.publish()

    def terminal_environment(
        self, window: WindowId, family: CliFamily | None
    ) -> tuple[tuple[str, ...], dict[str, str]] | None:
        """A window's folders and the variables for a terminal; `family` if we run such a CLI in it ourselves."""
        if (server := self._windows.get(window)) is None:
            return None
        endpoint = server.endpoint
        return endpoint.folders, endpoint.terminal_variables(family) if family else endpoint.variables

    def mention(
        self,
        window: WindowId,
        named: Sequence[tuple[str, Sequence[tuple[int, int]]]],
        family: CliFamily | None = None,
    ) -> tuple[int, list[str]]:
        """Put files, or lines of them from 1, into the prompts that an editor can reach without their terminal.

        Only into those of a family if there is one. Returns into how many, and the paths that can't be put there.
        """
        server = self._windows.get(window)
        return server.websockets.mention(named, family) if server else (0, [])

    def offer_elsewhere(self, window: WindowId, words: str) -> ElsewhereOffer | None:
        """What CLIs need that run somewhere else to connect to a window; `words` say where they run."""
        server = self._windows.get(window)
        return server.offer_elsewhere(words) if server else None

    def state_elsewhere(self, window: WindowId, words: str) -> ElsewhereState:
        """Whether such CLIs have come to a window."""
        server = self._windows.get(window)
        return server.state_elsewhere(words) if server else ElsewhereState()

    def look_around(self, facts: Facts, tell: Callable[[Facts], object], commands: Sequence[Command] = ()) -> None:
        """Complete the facts of a status report. `tell` gets them twice: what is known at once, and everything.

        `commands` are those that run the CLIs by the settings; without any, they count as installed.
        """
        known = survey.known(facts, self._windows, self.reviews)
        roots = self.changes.roots
        served = {
            number: replace(one, troubles=roots.troubles(number), copying=roots.copying(number))
            for number, one in known.served.items()
        }
        unserved = {number: message for number, (_, message) in self._unserved.items()}
        asked, strange = self.provenance.question, self.provenance.strange
        known = replace(known, served=served, unserved=unserved, asked=asked, strange=strange)
        tell(known)
        self._background(survey.complete(known, self._windows, self.chats.environment, commands, tell))

    def _serve(self, endpoint: Endpoint, *, check: bool = False) -> WindowServer:
        window = endpoint.window
        server = WindowServer(endpoint, self._editor, self.reviews, self, self._background)
        self._windows[window] = server
        if self.may_tell.is_set():
            self._take_up_changes(server)
        self.statuses.changed()
        self._servers[server] = asyncio.create_task(server.serve(check=check))
        return server

    def _take_up_changes(self, server: WindowServer) -> None:
        """Take up what waits in the folders of a window, where a CLI may be at work."""
        window = server.endpoint.window
        self.changes.clis(window, tuple(self.statuses.at_work(server)))
        self.changes.opened(window)
        self.changes.roots.publish(window)

    def admit(self, window: WindowId, agent: str) -> OfferedServer | None:
        """Offer a window's server to an agent of its chat."""
        if (server := self._windows.get(window)) is None:
            return None
        return OfferedServer(*server.admit(agent))

    def dismiss_agent(self, window: WindowId, token: str) -> None:
        """An agent that a window's server has let in has ended."""
        if server := self._windows.get(window):
            server.dismiss(token)

    def folders_changed(self, window: WindowId) -> None:
        """A window has other folders, or they have been published."""
        self.changes.opened(window)
        server = self._windows.get(window)
        if server and window == self._front and not self._is_ending:
            self._variables.set(server.endpoint.variables)

    def change_proposed(self, review: Review) -> None:
        """An agent proposes a change."""
        is_of_cli = review.request is None and not review.owner.is_model  # not of a chat, nor of a model by its tool
        if is_of_cli:
            self.changes.proposed(review.owner.window, review.owner.cli)
        if (server := self._windows.get(review.owner.window)) and server.tells_news:
            server.news.proposed(review.owner.cli, review.file_path)

    def proposal_answered(self, review: Review) -> None:
        """The person has accepted a proposal, or rejected it."""
        self.decisions.answered(review)

    def proposal_written(self, review: Review, text: str) -> None:
        """A proposal is on the disk. If the person has not accepted it, it waits as a written change."""
        if review.outcome == "accepted":
            self.changes.written(review, text)
        if (server := self._windows.get(review.owner.window)) and server.tells_news:
            server.news.changed(review.owner.cli, review.file_path)

    def _read_transcripts(self) -> None:
        """Read what is new in the transcripts of the CLIs in terminals, as far as the setting allows."""
        wanted: dict[Reader, ReadTranscripts] = {}
        for window, server in self._windows.items():
            mode = self.settings_of(window).read_transcripts
            clis = [session.cli.lower() for session in server.sessions if session.stream and session.is_in_terminal]
            for kind in KINDS:
                if mode == "always" or (mode == "connected" and any(kind in cli for cli in clis)):
                    wanted[kind, window] = mode
        self.provenance.look(wanted, self.chats.open_sessions(), list(self._proposals()))

    def _proposals(self) -> Iterator[CliProposal]:
        """What the CLIs in terminals propose."""
        for review in self.reviews:
            owner, file = review.owner, review.disk.source
            if review.connected is None or not review.is_shown:
                continue
            for kind in KINDS:
                if kind in owner.cli.lower():
                    reader: Reader = kind, owner.window
                    old, new = (file.source, file.shown), review.proposed.source
                    yield CliProposal(reader, review.number, review.file_path, old, new, review.connected)

    async def _await_start(self, window: ServedWindow, server: WindowServer) -> None:
        try:
            await server.started
        except Exception:
            if self._windows.get(window.id) is server:
                logger.warning("Can't serve the window %d", window.id, exc_info=True)
                self._end_window(window.id)
                self._try_again(window, NOT_STARTED)
        else:
            if served := self._unserved.pop(window.id, None):
                self._editor.messenger.settle(served[1])

    async def _close(self, server: WindowServer) -> None:
        await server.close(FLUSH)
        # A stop meanwhile waits for it too.
        await asyncio.wait([self._servers[server]])
        if error := self._servers.pop(server).exception():
            logger.error("A server did not end well", exc_info=error)

    async def _look_again(self) -> None:
        while not self._is_ending:
            for window, _ in list(self._unserved.values()):
                guarded(self.window_opened, window)
            for server in self._windows.values():
                guarded(server.contexts.touched)
                guarded(server.heal)
                guarded(server.watch)
            guarded(self._read_transcripts)
            self._background(self.reviews.check_disk())
            await asyncio.sleep(TICK)


class WindowStatuses:
    """Shows the status of each window when it has changed."""

    def __init__(
        self, companion: Companion, editor: Editor, windows: Mapping[WindowId, WindowServer], background: LoopTasks
    ) -> None:
        self._companion = companion
        self._editor = editor
        self._windows = windows
        self._background = background
        self._shown: dict[WindowId, WindowStatus] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._has_left = False
        """Whether the next instance shows what changes now."""

    def of(self, window: WindowId) -> WindowStatus:
        """The CLIs that are connected to a window, and what waits there."""
        server = self._windows.get(window)
        sessions = server.sessions if server else ()
        # An agent of a chat has its chat, and doesn't listen for anything.
        clis = tuple(session.cli for session in sessions if session.stream and not session.is_agent)
        proposing = {review.owner.cli for review in self._companion.reviews if review.owner.window == window}
        listing = self._companion.changes.listing(window)
        # Who has chosen to review afterwards knows it.
        is_chosen = self._companion.settings_of(window).review == "after"
        unasking = set[str]() if is_chosen else self._companion.changes.unasking(window) - proposing
        return WindowStatus(
            clis,
            diffs=sum(review.window == window for review in self._companion.reviews),
            questions=self._companion.chats.questions(window),
            asking=self._companion.chats.asking(window),
            written=listing.count,
            authors=listing.agents,
            unasking=tuple(dict.fromkeys(name for name in clis if name in unasking)),
        )

    def changed(self) -> None:
        """The status of a window may have changed."""
        if self._timer is None and not self._has_left:
            self._timer = asyncio.get_running_loop().call_later(QUIET, self._show)

    def forget(self, window: WindowId) -> None:
        """A window has closed."""
        self._shown.pop(window, None)

    def leave(self) -> None:
        """A reload ends all streams: note who is connected, since they work on until they are back."""
        self._has_left = True
        if self._timer:
            self._timer.cancel()
        for server in self._windows.values():
            server.endpoint.state.clis = self.at_work(server)

    def wait_for_clis(self) -> None:
        """Those who were connected before a reload count as at work until they are back, or have had time for that."""
        if any(server.endpoint.state.clis for server in self._windows.values()):
            asyncio.get_running_loop().call_later(STREAM_GONE_LIMIT, self._wait_no_longer)

    def _wait_no_longer(self) -> None:
        if self._has_left:
            return
        for server in self._windows.values():
            server.endpoint.state.clis = []
        self.changed()

    def at_work(self, server: WindowServer) -> list[str]:
        """The CLIs that are connected to a window, and those that come back after a reload."""
        clis = self.of(server.endpoint.window).clis
        return [*clis, *(name for name in server.endpoint.state.clis if name not in clis)]

    def _show(self) -> None:
        self._timer = None
        for window, server in self._windows.items():
            status = self.of(window)
            before = self._shown.get(window)
            if self._companion.may_tell.is_set():
                self._companion.changes.clis(window, tuple(self.at_work(server)))
            server.endpoint.state.clis = [name for name in server.endpoint.state.clis if name not in status.clis]
            if status != before:
                self._shown[window] = status
                if set(status.clis) - set(before.clis if before else ()):
                    self._background(self._look_for_silent(window))
                self._editor.status_bar.show_status(window, status)

    async def _look_for_silent(self, window: WindowId) -> None:
        """A CLI has connected: say once if it is one that never asks."""
        server = self._windows.get(window)
        found = await asyncio.to_thread(silent_clis, server.endpoint.folders) if server else {}
        if window not in self._windows:
            return
        known = self._companion.changes.unasking(window)
        for name in [name for name in self.of(window).clis if name in found and name not in known]:
            known.add(name)
            if self._companion.settings_of(window).review == "after":
                continue
            after = UNSEEN if self._companion.settings_of(window).review == "off" else REVIEWED
            how = families.to_be_asked(name)
            said = SILENT.format(name=name, why=found[name], after=after)
            self._editor.messenger.mention(said + (TO_BE_ASKED.format(how=how) if how else ""), window)
            self.changed()


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


async def _clear_leftovers() -> None:
    """Remove the discovery files of a crashed editor, end its processes, and remove snapshots that nobody needs."""
    for path in await asyncio.to_thread(clear_leftovers, FAMILIES, wrote):
        logger.info("Removed %s, which a crashed editor left behind", path)
    for pid in await asyncio.to_thread(end_leftovers):
        logger.info("Ended the process %d, which a crashed editor left behind", pid)
    for store in await asyncio.to_thread(places.shrink):
        logger.info("Removed the snapshots in %s", store)
