"""One window's server: it answers requests and sends the context to the sessions."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..clis.discovery import Lives
from ..exclusion import Told
from ..handover import Inheritance
from ..ids import ViewId
from ..protocol import (
    ContextUpdate,
    DiffAccepted,
    DiffOutcomeParams,
    DiffRejected,
    IdeContext,
    Notification,
    is_sendable,
)
from ..review.left_reviews import Unclaimed
from ..review.review import Owner
from ..review.reviews import Reviews
from ..settings import Settings
from . import sessions
from .context import MAX_SELECTED, FocusOrder, Listed, Shown, active, ide_context
from .endpoint import Endpoint
from .http.app import App
from .http.connections import HttpServer
from .http.resumed import AwaitedSession
from .knowledge import EditorKnowledge
from .new_problems import NewProblems
from .path_maps import PathMaps
from .port import ElsewhereOffer, ElsewhereState, WindowSource
from .sessions import STREAM_GONE_LIMIT, Background, CliSessions, Session
from .tab_looks import TabLooks
from .tools import AskingBefore, Tools

logger = logging.getLogger(__name__)

QUIET = 0.05
"""Seconds without a change before the context is sent."""
DISK = 1.0
"""Seconds that the end waits until the discovery files are removed, which a disk that hangs never does."""
UNSENT = "{cli} was not told something that contains half a character, which no message can carry."
UNSENT_TEXT = (
    "{cli} can't be sent the text of {name} that you accepted: it contains half a character. It is kept here, and the "
    "CLI was told that the change is rejected."
)


class WindowServer:
    """Serves one window's endpoint until it is closed."""

    def __init__(
        self,
        endpoint: Endpoint,
        editor: WindowSource,
        reviews: Reviews,
        settings: Settings,
        background: Background,
        may_tell: asyncio.Event,
        on_folders: Callable[[], None],
        on_streams: Callable[[], object],
    ) -> None:
        """`may_tell` is set as soon as the settings are known, without which nothing of a file is told.

        `on_streams` is called when the stream of a session has opened or closed.
        """
        self.endpoint = endpoint
        self.order = FocusOrder()
        self._shown = Shown(self.order)
        self._tabs = TabLooks()
        self.settings = settings
        self._editor = editor
        self._reviews = reviews
        self._background = background
        self._may_tell = may_tell
        self._on_folders = on_folders
        """Called when the folders have been published."""
        self._loop = asyncio.get_running_loop()
        self.sessions = CliSessions(
            endpoint.window,
            background,
            on_stream=self._stream_opened,
            on_end=self._end,
            on_resumed=self._resumed,
            on_unsendable=self._unsendable,
            on_change=on_streams,
            maps=lambda: PathMaps(self.settings.path_maps),
        )
        self._awaited: dict[str, AwaitedSession] = {}
        """The owners of reviews whose CLIs have not come back after a reload, by the ids that these know."""
        knowledge = EditorKnowledge(
            endpoint.window, editor, self._tabs, lambda: self.settings, lambda: self.endpoint.folders
        )
        self.news = NewProblems(knowledge.look)
        """What the agents' changes have made."""
        self._app = App(
            endpoint,
            self.sessions,
            Tools(self.sessions, reviews, self._told_context, lambda: self.settings, knowledge, self.news),
        )
        self._server = HttpServer(self._app, self._app.answer_at_once)
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when requests are answered, or with the reason why they can't be."""
        self._is_over = asyncio.Event()
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
        """Whether the last context could not be sent, and that was said."""
        self._disk_work: dict[str, Callable[[], list[str]]] = {}
        """What is to be done with the discovery files, by the name of the method."""
        self._is_on_disk = False
        self._is_opening = False
        self._is_closing = False

    def owner_of(self, review: Mapping[str, Any]) -> Owner:
        """The owner of a review that the previous instance has left."""
        left, cli = review["owner"], review["cli"]
        if answer := left.get("answer"):
            asking = AskingBefore(self.endpoint.window, cli, answer, left.get("ended"))
            if asking.ended:
                asking.ended.add_done_callback(lambda _: self._call_ended(asking))
            return asking
        if (known_as := left.get("session")) is None:
            return Unclaimed(self.endpoint.window, cli)
        if known_as not in self._awaited:
            outbox = self.endpoint.outboxes.setdefault(known_as, [])
            awaited = self._awaited[known_as] = AwaitedSession(known_as, self.endpoint.window, cli, outbox)
            loop = asyncio.get_running_loop()
            loop.call_later(STREAM_GONE_LIMIT, self._reviews.orphan, awaited)  # until it comes back after all
        return self._awaited[known_as]

    def _call_ended(self, asking: AskingBefore) -> None:
        """A call from before the reload is over, on whatever thread: its diff, if it is still open, has no owner."""
        with contextlib.suppress(RuntimeError):  # this instance has ended as well
            self._loop.call_soon_threadsafe(self._reviews.orphan, asking)

    def _resumed(self, session: Session) -> None:
        if awaited := self._awaited.pop(session.known_as, None):
            self._reviews.pass_on(awaited, session)

    @property
    def tells_news(self) -> bool:
        """Whether agents are told of the problems that their changes have made."""
        return self.settings.agents_use_editor and self.settings.agents_new_problems

    async def serve(self, *, check: bool = False) -> None:
        """Answer requests until `close`. With `check`, see first whether the libraries do what is asked of them."""
        try:
            async with self._app.manager.run():
                if check:
                    await self._app.check()
                inherited, self.endpoint.connections = self.endpoint.connections, []
                await self._server.open(self.endpoint.listener, inherited)
                self.started.set_result(None)
                ending = self._loop.call_later(sessions.IDLE_MODEL, self._app.forget_models)
                await self._is_over.wait()
                ending.cancel()
        except Exception as error:
            if self.started.done():
                raise
            self.started.set_exception(error)
        finally:
            self._server.abandon()

    async def pause(self, limit: float) -> None:
        """Send what waits and answer the last requests, for at most `limit` seconds. New connections wait."""
        self._stop_context()
        await asyncio.wait([self.started])
        await self._server.stop_accepting()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await asyncio.gather(self.sessions.flush(), self._app.answered())

    async def end_streams(self, limit: float) -> None:
        """End every stream cleanly, for at most `limit` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self.sessions.close()

    def leave(self) -> Inheritance:
        """What the next instance needs. Only what takes longer than `pause` had time for is still answered here."""
        self.sessions.is_left = True
        self.endpoint.sessions = self._app.session_ids()
        self.endpoint.outboxes = self._app.outboxes()
        self.endpoint.calls = self._app.calls()
        self.endpoint.connections = self._server.release_idle()
        return self.endpoint.inheritance()

    async def close(self, limit: float) -> None:
        """End every session cleanly and stop serving. What takes longer than `limit` seconds is cut off."""
        self._stop_context()
        await self.withdraw()
        await asyncio.wait([self.started])
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        await self._server.stop_accepting()
        if not self.sessions.is_left:
            self.endpoint.listener.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await self.sessions.close()
        await self._server.close(end - loop.time())
        self.sessions.cancel()
        self._is_over.set()

    def _stop_context(self) -> None:
        self._is_closing = True
        if self._quiet:
            self._quiet.cancel()

    def touched(self, view: ViewId | None = None) -> None:
        """The context may have changed: what a view shows or its selection; without a view, anything."""
        self._shown.changed(view)
        if self._quiet:
            self._quiet.cancel()
        if not self._is_closing:
            self._quiet = asyncio.get_running_loop().call_later(QUIET, self._send_soon)

    def _stream_opened(self, session: Session) -> None:
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
        for session in self.sessions:
            if has_changed or session in newcomers:
                session.notify(update)
        if is_sendable(update):
            self._is_mute = False

    def _unsendable(self, session: Session, notification: Notification) -> None:
        """Half of a surrogate pair is no text that JSON in UTF-8 can hold. The session goes on without it."""
        if isinstance(notification, DiffAccepted):
            path, content = notification.params.file_path, notification.params.content
            name = os.path.basename(path)
            why = UNSENT_TEXT.format(cli=session.cli, name=name)
            self._editor.keep_text(session.window, name, content, why)
            session.notify(DiffRejected(params=DiffOutcomeParams(file_path=path)))
        elif not self._is_mute:
            self._is_mute = isinstance(notification, ContextUpdate)
            self._editor.say(UNSENT.format(cli=session.cli), session.window)

    def admit(self, agent: str) -> tuple[str, str]:
        """Let in an agent that a chat has started. Returns the address for it, and its token."""
        return f"http://127.0.0.1:{self.endpoint.port}/mcp", self.endpoint.admit(agent)

    def offer_elsewhere(self, words: str) -> ElsewhereOffer:
        """Let in CLIs that run somewhere else; `words` say where."""
        self.endpoint.refusals.clear()
        return ElsewhereOffer(self.endpoint.port, self.endpoint.folders, self.endpoint.admit_elsewhere(words))

    def state_elsewhere(self, words: str) -> ElsewhereState:
        """Which of them are connected, and what was wrong with the latest request that was refused."""
        clis = tuple(one.cli for one in self.sessions if one.stream and one.cli.endswith(f" {words}"))
        refusals = self.endpoint.refusals
        return ElsewhereState(clis, max(refusals, key=refusals.__getitem__, default=""))

    def dismiss(self, token: str) -> None:
        """Such an agent has ended, and its sessions with it."""
        name = self.endpoint.dismiss(token)
        if name in self.endpoint.guests.values():
            return  # another chat with the same agent
        if name:
            self._app.forget_agent(name)
        for session in self.sessions:
            if session.is_agent and session.cli == name:
                self.sessions.end(session.identifier)

    async def _told_context(self) -> IdeContext | None:
        """The context for an agent that asks."""
        async with self._asking:
            return await self._context()

    async def _context(self) -> IdeContext | None:
        await self._may_tell.wait()
        question = self._shown.question(_limit(self.settings.told))
        state = await self._editor.window_state(self.endpoint.window, question)
        if state is None:
            return None
        self._shown.answered(question, state)
        told = self.settings.told  # after the editor's answer: a change that it has found is here before that
        known = await self._tabs.listed(self._shown.files(), told, state.folders)
        folders = state.folders or tuple(dict.fromkeys(file.folder for file in known.files))
        if folders != self.endpoint.folders and not self._is_closing:
            self.endpoint.folders = folders
            self._on_folders()
            self.publish()
        if not told.has_files:
            known = Listed()
        file = active(known, self.order)
        if file and file.view == question.selected and _limit(told) <= question.limit:
            selection = state.selection
        else:
            selection = await self._editor.selection(file.view, _limit(told)) if file else None
        if selection and not told.has_text:
            selection = replace(selection, text="")
        return ide_context(known, self.order, selection, is_trusted=self.settings.is_trusted)

    def publish(self) -> None:
        """Write the discovery files, soon."""
        self._on_disk("publish", self._publish)

    def _publish(self) -> list[str]:
        problems = self.endpoint.publish()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._on_folders)
        return problems

    def heal(self, lives: Lives) -> None:
        """Write the discovery files that are missing or changed, soon."""
        self._on_disk("heal", lambda: self.endpoint.heal(lives))

    def watch(self) -> None:
        """Open the port again if it accepts no more, whatever the reason."""
        is_served = self.started.done() and not self.started.exception() and not self._is_closing
        if is_served and not self._is_opening and not self._server.is_accepting:
            self._is_opening = True
            self._background(self._open_again())

    async def _open_again(self) -> None:
        try:
            await self._server.stop_accepting()
            self.endpoint.listen_again()
            await self._server.open(self.endpoint.listener)
        except OSError as error:  # the next look tries again
            logger.warning("The port %d can't be opened again: %s", self.endpoint.port, error)
        else:
            logger.info("The port %d accepts again", self.endpoint.port)
        finally:
            self._is_opening = False

    def touch(self) -> None:
        """Make the discovery files the newest, soon, because the window got the focus."""
        self._on_disk("touch", self.endpoint.touch)

    async def withdraw(self) -> None:
        """Remove the discovery files. Waits for that, but not for a disk that hangs."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISK):
                await asyncio.to_thread(self.endpoint.withdraw)

    def _on_disk(self, name: str, work: Callable[[], list[str]]) -> None:
        """Do something with the discovery files, after what was asked before. While a disk hangs nothing piles up."""
        self._disk_work[name] = work
        if not self._is_on_disk:
            self._is_on_disk = True
            self._background(self._work_on_disk())

    async def _work_on_disk(self) -> None:
        try:
            while self._disk_work:
                for problem in await asyncio.to_thread(self._disk_work.pop(next(iter(self._disk_work)))):
                    self._editor.say(problem, self.endpoint.window)
                for problem in self.endpoint.settled():
                    self._editor.settle(problem)
        finally:
            self._is_on_disk = False

    async def _end(self, session: Session) -> None:
        self._reviews.orphan(session)
        with contextlib.suppress(RuntimeError):  # the manager has ended together with its sessions
            await self._app.end(session)


def _limit(told: Told) -> int:
    """How much of a selected text is asked for."""
    return MAX_SELECTED if told.has_text else 0


def _comparable(context: IdeContext | None) -> object:
    """The parts of a context that matter to a CLI: it uses the order of the times only."""
    if context is None:
        return None
    state = context.workspace_state
    return state.is_trusted, [replace(file, timestamp=0) for file in state.open_files]
