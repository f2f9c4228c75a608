"""One window's server: its parts, from the start to the end or a reload."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from ..clis.processes import wrote
from ..handover import Inheritance, OpenConnection
from ..protocol import DiffOutcome, IdeContext, Notification
from ..review.review import Owner, Unclaimed
from ..review.reviews import Reviews
from ..settings import Settings
from . import sessions
from .context import ContextSender
from .doors.claude import ClaudeDoor
from .doors.copilot import CopilotDoor
from .endpoint import Endpoint
from .http.app import App, AwaitedSession
from .http.connections import HttpServer
from .knowledge import EditorKnowledge, NewProblems
from .offer import Asking
from .sessions import STREAM_GONE_LIMIT, Background, CliSessions, Session
from .tools import Tools
from .window_screen import ElsewhereOffer, ElsewhereState, ServerHost, WindowScreen

logger = logging.getLogger(__name__)

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
        self, endpoint: Endpoint, editor: WindowScreen, reviews: Reviews, host: ServerHost, background: Background
    ) -> None:
        self.endpoint = endpoint
        self.editor = editor
        self.reviews = reviews
        self.host = host
        self.background = background
        self._loop = asyncio.get_running_loop()
        self.contexts = ContextSender(self)
        self.sessions = CliSessions(self)
        self._awaited: dict[str, AwaitedSession] = {}
        """The owners of reviews whose CLIs have not come back after a reload, by the ids that these know."""
        self.knowledge = EditorKnowledge(self)
        """What is told of the window's files, as `context` and `context_exclude` allow it."""
        self.news = NewProblems(self.knowledge.look)
        """What the agents' changes have made."""
        self._app = App(self, Tools(self))
        self.websockets = ClaudeDoor(self)
        self._local = CopilotDoor(self)
        self._server = HttpServer(self._app, self.websockets.protocol)
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when requests are answered, or with the reason why they can't be."""
        self._is_over = asyncio.Event()
        self._disk_work: dict[str, Callable[[], list[str]]] = {}
        """What is to be done with the discovery files, by the name of the method."""
        self._is_on_disk = False
        self._is_opening = False
        self._is_closing = False

    @property
    def settings(self) -> Settings:
        """Those of the window, as they are now."""
        return self.host.settings_of(self.endpoint.window)

    def owner_of(self, review: Mapping[str, Any]) -> Owner:
        """The owner of a review that the previous instance has left."""
        left, cli = review["owner"], review["cli"]
        if "websocket" in left:
            return self.websockets.owner_of(left, cli)
        if "answer" in left:
            asking = Asking(self.endpoint.window, cli, is_model=left.get("is_model", True), left=left)
            if asking.ended:
                asking.ended.add_done_callback(lambda _: self._call_ended(asking))
            return asking
        if (known_as := left.get("session")) is None:
            return Unclaimed(self.endpoint.window, cli)
        if known_as not in self._awaited:
            outbox = self.endpoint.state.outboxes.setdefault(known_as, [])
            said = left.get("said", {})
            awaited = self._awaited[known_as] = AwaitedSession(known_as, self.endpoint.window, cli, outbox, said)
            loop = asyncio.get_running_loop()
            loop.call_later(STREAM_GONE_LIMIT, self.reviews.orphan, awaited)  # until it comes back after all
        return self._awaited[known_as]

    def _call_ended(self, asking: Asking) -> None:
        """A call from before the reload is over, on whatever thread: its diff, if it is still open, has no owner."""
        with contextlib.suppress(RuntimeError):  # this instance has ended as well
            self._loop.call_soon_threadsafe(self.reviews.orphan, asking)

    def resumed(self, session: Session) -> None:
        """A session from before a reload goes on."""
        if awaited := self._awaited.pop(session.known_as, None):
            session.said.update(awaited.said)
            self.reviews.pass_on(awaited, session)

    @property
    def tells_news(self) -> bool:
        """Whether agents are told of the problems that their changes have made."""
        return self.settings.agents_use_editor and self.settings.agents_new_problems

    async def serve(self, *, check: bool = False) -> None:
        """Answer requests until `close`. With `check`, see first whether the libraries do what is asked of them."""
        try:
            async with self._app.manager.run(), self._local.app.manager.run():
                if check:
                    await self._app.check()
                inherited, self.endpoint.state.connections = self.endpoint.state.connections, []
                await self._server.open(self.endpoint.state.listener, [one for one in inherited if _is_tcp(one)])
                await self._local.open([one for one in inherited if not _is_tcp(one)])
                if self.endpoint.pipe:
                    self.publish()
                await self.websockets.resume()
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
            self._local.server.abandon()

    async def pause(self, limit: float) -> None:
        """Send what waits and answer the last requests, for at most `limit` seconds. New connections wait."""
        self._is_closing = True
        self.contexts.stop()
        await asyncio.wait([self.started])
        await self._server.stop_accepting()
        await self._local.server.stop_accepting()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await asyncio.gather(
                    self.sessions.flush(),
                    self._app.answered(),
                    self.websockets.answered(),
                    self._local.app.answered(),
                )

    async def end_streams(self, limit: float) -> None:
        """End every stream cleanly, for at most `limit` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self.sessions.close()

    def hand_over(self) -> Inheritance:
        """What the next instance needs. Only what takes longer than `pause` had time for is still answered here."""
        self.sessions.is_left = True
        state = self.endpoint.state
        state.sessions = self._app.session_ids() | self._local.app.session_ids()
        state.outboxes = self._app.outboxes()
        for session, calls in (self._app.calls() | self._local.app.calls()).items():
            state.calls.setdefault(session, {}).update(calls)
        state.connections = self._server.release_idle() + self._local.server.release_idle()
        state.live += self.websockets.release()
        return state

    async def close(self, limit: float) -> None:
        """End every session cleanly and stop serving. What takes longer than `limit` seconds is cut off.

        But a call goes on whose diff the next instance has: the person may read that for as long as they like.
        """
        self._is_closing = True
        self.contexts.stop()
        await self.withdraw()
        await asyncio.wait([self.started])
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        await self._server.stop_accepting()
        await self._local.server.stop_accepting()
        if not self.sessions.is_left:
            self.endpoint.state.listener.close()
            await asyncio.to_thread(self.endpoint.close_socket)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await self.sessions.close()
        self.websockets.close()
        await self._server.close(end - loop.time(), self._waits)
        await self._local.server.close(end - loop.time(), self._waits)
        self.sessions.cancel()
        self._is_over.set()

    def _waits(self) -> bool:
        return self.sessions.is_left and any(session.calls for session in self.sessions)

    def unsendable(self, session: Owner, notification: Notification) -> None:
        """Half of a surrogate pair is no text that JSON in UTF-8 can hold. The session goes on without it."""
        if isinstance(notification, DiffOutcome) and notification.content is not None:
            name = os.path.basename(notification.file_path)
            why = UNSENT_TEXT.format(cli=session.cli, name=name)
            self.editor.messenger.keep_text(session.window, name, notification.content, why)
            session.notify(DiffOutcome(notification.file_path))
        elif not isinstance(notification, IdeContext) or self.contexts.is_news():
            self.editor.messenger.say(UNSENT.format(cli=session.cli), session.window)

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
        if name in self.endpoint.state.guests.values():
            return  # another chat with the same agent
        if name:
            self._app.forget_agent(name)
        for session in self.sessions:
            if session.is_agent and session.cli == name:
                self.sessions.end(session.identifier)

    def folders_changed(self) -> None:
        """The endpoint has got other folders, which are not published yet."""
        self.host.folders_changed(self.endpoint.window)
        self.publish()

    def publish(self) -> None:
        """Write the discovery files, soon."""
        self._on_disk("publish", self._publish)

    def _publish(self) -> list[str]:
        problems = self.endpoint.publish()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.host.folders_changed, self.endpoint.window)
            self._loop.call_soon_threadsafe(self.watch)
        return problems

    def heal(self) -> None:
        """Write the discovery files that are missing or changed, soon."""
        self._on_disk("heal", lambda: self.endpoint.heal(wrote))

    def watch(self) -> None:
        """Open the port again if it accepts no more, whatever the reason."""
        is_served = self.started.done() and not self.started.exception() and not self._is_closing
        if is_served and not self._is_opening and not self._server.is_accepting:
            self._is_opening = True
            self.background(self._open_again())
        elif is_served and self._local.is_due:
            self.background(self._local.open())

    async def _open_again(self) -> None:
        try:
            await self._server.stop_accepting()
            self.endpoint.listen_again()
            await self._server.open(self.endpoint.state.listener)
        except OSError as error:  # the next look tries again
            logger.warning("The port %d can't be opened again: %s", self.endpoint.port, error)
        else:
            logger.info("The port %d accepts again", self.endpoint.port)
        finally:
            self._is_opening = False

    def touch(self) -> None:
        """Make the discovery files the newest, soon, because the window got the focus."""
        self._on_disk("touch", self.endpoint.touch)

    async def withdraw(self, *, goes_on: bool = False) -> None:
        """Remove the discovery files: see `Endpoint.withdraw`. Waits for that, but not for a disk that hangs."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISK):
                await asyncio.to_thread(self.endpoint.withdraw, goes_on=goes_on)

    def _on_disk(self, name: str, work: Callable[[], list[str]]) -> None:
        """Do something with the discovery files, after what was asked before. While a disk hangs nothing piles up."""
        self._disk_work[name] = work
        if not self._is_on_disk:
            self._is_on_disk = True
            self.background(self._work_on_disk())

    async def _work_on_disk(self) -> None:
        try:
            while self._disk_work:
                for problem in await asyncio.to_thread(self._disk_work.pop(next(iter(self._disk_work)))):
                    self.editor.messenger.say(problem, self.endpoint.window)
                for problem in self.endpoint.settled():
                    self.editor.messenger.settle(problem)
        finally:
            self._is_on_disk = False

    async def session_ended(self, session: Session) -> None:
        """A session is over: nobody waits for its diffs any more."""
        self.reviews.orphan(session)
        self.endpoint.state.titles.pop(session.known_as, None)
        if session.caller.door != "websocket":
            app = self._app if session.caller.door == "http" else self._local.app
            with contextlib.suppress(RuntimeError):  # the manager has ended together with its sessions
                await app.end(session)


def _is_tcp(one: OpenConnection) -> bool:
    return one[0].family == socket.AF_INET
