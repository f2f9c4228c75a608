"""What one instance of the package hands over to the next one in the same process, so that no CLI notices a reload.

A listening socket continues to accept connections while nobody serves it: the kernel queues them. With the tokens and
the session ids, the next instance can answer as if nothing had happened (`server.http.app`).

The editor's thread only announces a handover, which takes no time. The old instance then fills it on its own thread,
and the next one waits for it on its own. If there is no next one after `GRACE` seconds, because it was not loaded or
could not be, whoever asks is told so; after `LIMIT` seconds everything is given up.

The data are kept in `sys.modules`. The next instance has classes of its own, perhaps of another version of the package:
it takes only the fields that it knows, whose values are plain.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from .editor import WindowId
from .json_text import remove_if
from .platforms import local_sockets

HOLDER = "_qwen_companion_handover"
OpenConnection = tuple[socket.socket, bytes]
"""A connection that waits for a request, and the first bytes of that if some have been read."""
GRACE = 10.0
"""Seconds until requests are told that the package isn't loaded."""
LIMIT = 300.0
"""Seconds after which the data are given up: the package was removed, not reloaded."""
WAIT = 5.0
"""Seconds that an instance waits for what the previous one hands over, if nobody knows whether that one still lives."""
PATIENCE = 60.0
"""Seconds that it waits while the previous one lives, which may be importing the libraries."""
NOT_LOADED = (
    "QwenCompanion is not loaded in Sublime Text: it was disabled, or its update or its libraries could not be loaded. "
    "Sublime's console says why (View → Show Console)."
)
_REQUEST_LIMIT = 3.0
"""Seconds that an answer may take to be read: on a machine as busy as at an upgrade, clients are slow as well. Whoever
has not said all of a request's head holds nobody up, however long that takes."""
_CLOSE_LIMIT = 1.0
"""Seconds for which a client that has its answer may send nothing before it closes the connection. After that it may be
reset."""
_DRAIN_LIMIT = 5.0
"""Seconds that the rest of a request may take which has its answer, however often some of it comes."""
_MOST_SILENT = 128
"""Connections of a window that wait for a request; the oldest one is closed for the next. Windows can look at 512."""
_MOST_HEAD = 65536
"""Bytes of a request's head."""
_END = b"\r\n\r\n"
"""Ends it."""
_LOOK = 0.1
"""Seconds between two checks whether an instance has received the data."""


@dataclass
class Inheritance:
    """What one instance after the other has of one window's endpoint, chats and reviews."""

    listener: socket.socket
    tokens: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the name of a CLI family to its token."""
    sessions: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the session ids that the CLIs know to the names of the families."""
    clis: list[str] = field(default_factory=list[str])
    """The CLIs that were connected and are not back yet."""
    folders_since: dict[str, float] = field(default_factory=dict[str, float])
    """Since when each folder has been published, as a Unix time in seconds."""
    chat: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """What its chats and their daemons need to continue (`Chats.stop`); empty without a chat."""
    outboxes: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]], repr=False)
    """From session ids to notifications that could not be sent yet, as JSON objects."""
    connections: list[OpenConnection] = field(default_factory=list[OpenConnection], repr=False)
    guests: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the tokens of the agents that go on to their names."""
    elsewhere: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From the tokens of CLIs that run somewhere else to their names."""
    calls: dict[str, dict[int | str, Callable[[], object]]] = field(
        default_factory=dict[str, dict[int | str, Callable[[], object]]], repr=False
    )
    """What cancels the calls that still wait: by the ids of their sessions and their own. From any thread."""
    live: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], repr=False)
    """The connections of other doors than HTTP, each as its door has left it; `socket` is the connection's."""
    titles: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """From session ids to what the CLIs call their conversations."""
    local: socket.socket | None = None
    """The listening Unix socket. While nobody serves it, the kernel queues whoever connects."""
    files: list[str] = field(default_factory=list[str])
    """The discovery files that stay."""
    reviews: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], repr=False)
    """The reviews that are open, accepted and not written yet, or answered (`review.to_plain`), in their order."""
    port: int = 0
    """Where the listener was bound; 0 until an endpoint has it."""

    def close(self) -> None:
        """Close all sockets, and remove the Unix socket from the disk, which may hang. May be called twice."""
        self.listener.close()
        if self.local:
            local_sockets.remove(self.local)
        for connection, _ in self.connections:
            connection.close()
        for living in self.live:
            living["socket"].close()


@dataclass(frozen=True)
class Chores:
    """What is done when no instance takes the data."""

    end_chat: Callable[[dict[str, Any]], object]
    abandon_reviews: Callable[[list[dict[str, Any]]], object]
    """Called after `GRACE` seconds with the open reviews that no instance has taken."""


NO_CHORES = Chores(end_chat=lambda _: None, abandon_reviews=lambda _: None)
"""For an instance that leaves neither chats nor reviews, or can't end them without its libraries."""


class Holder(ModuleType):
    """A handover: announced, then left, then received or given up."""

    def __init__(self, leaver: threading.Thread | None = None) -> None:
        super().__init__(HOLDER)
        self.leaver = leaver
        """The thread that will fill it."""
        self.left = threading.Event()
        self.done = threading.Event()
        """Set when an instance has received it, or none will."""
        self.thread: threading.Thread | None = None
        self._left: dict[WindowId, Inheritance] = {}
        self._lock = threading.Lock()

    def put(self, left: dict[WindowId, Inheritance], keeper: threading.Thread) -> None:
        """Fill it, and start the thread that gives up in the end what nobody has received."""
        self._left = left
        self.thread = keeper
        keeper.start()
        self.left.set()

    def expire(self, chores: Chores) -> None:
        """Nobody takes over: reject the open reviews, each once, and remove the discovery files and the Unix sockets.

        An instance that comes later opens other sockets.
        """
        with self._lock:
            left = list(self._left.values())
            reviews = [review for one in left for review in one.reviews]
            sockets = [one.local for one in left if one.local]
            for one in left:
                for review in one.reviews:
                    _reject(review, one.outboxes)
                    _forget_call(review["owner"], one.live)
                one.reviews, one.local = [], None
        if reviews:  # before anything that a disk may hold up
            chores.abandon_reviews(reviews)
        for one in left:
            _remove_files(one.files, one.tokens)
        for listener in sockets:
            local_sockets.remove(listener)

    def take_outbox(self, token: str, session: str) -> list[dict[str, Any]]:
        """What a CLI with this token, whose session has this id, has not been told yet. It gets that now."""
        found: list[dict[str, Any]] = []
        with self._lock:
            for one in self._left.values():
                callers = {known: name for name, known in one.tokens.items()} | one.elsewhere
                names = [name for known, name in callers.items() if hmac.compare_digest(token.encode(), known.encode())]
                if one.sessions.get(session) in names:
                    found += one.outboxes.pop(session, [])
        return found

    def idle(self) -> list[OpenConnection]:
        """The connections that wait for a request."""
        with self._lock:
            return [connection for one in self._left.values() for connection in one.connections]

    def accept(self, listener: socket.socket) -> tuple[socket.socket, socket.socket | None] | None:
        """Accept a connection, and keep it until its request comes, also for the next instance.

        Returns it and the oldest one, if that has to make room; None if an instance has the listener already. Raises
        OSError.
        """
        with self._lock:  # an instance that takes over now finds the client in the kernel's queue or here
            for one in self._left.values():
                if listener in (one.listener, one.local):
                    connection, _ = listener.accept()
                    connection.setblocking(False)
                    kept = one.connections
                    oldest = kept.pop(0)[0] if len(kept) >= _MOST_SILENT else None
                    kept.append((connection, b""))
                    return connection, oldest
        return None

    def read(self, connection: socket.socket) -> bytes | None:
        """Read on from one of these connections, and take it as soon as the head of a request is here; returns that.

        None if there is more to come, or if an instance has the connection already.
        """
        with self._lock:
            for left in self._left.values():
                kept = left.connections
                for place, (one, head) in enumerate(kept):
                    if one is connection:
                        try:
                            data = one.recv(_MOST_HEAD)
                        except BlockingIOError:
                            return None
                        except OSError:  # the client has gone
                            data = b""
                        if data and _END not in head + data and len(head + data) < _MOST_HEAD:
                            kept[place] = one, head + data
                            return None
                        del kept[place]
                        return head + data
        return None

    def pop(self) -> dict[WindowId, Inheritance]:
        """Its data, by window; only the first caller gets them."""
        with self._lock:
            left, self._left = self._left, {}
        return left


def announce(leaver: threading.Thread | None = None) -> Holder:
    """Say that an instance is about to leave something. Takes no time, so it may be called on the editor's thread."""
    if unclaimed := claim():
        unclaimed.done.set()
    holder = Holder(leaver)
    sys.modules[HOLDER] = holder
    return holder


def hand_over(left: dict[WindowId, Inheritance], chores: Chores, holder: Holder | None = None) -> None:
    """Hand over the endpoints of these windows."""
    holder = holder or announce()
    listeners = [each for one in left.values() for each in (one.listener, one.local) if each]
    arguments = holder, listeners, chores
    keeper = threading.Thread(target=_keep, args=arguments, name="qwen-companion-handover", daemon=True)
    holder.put(left, keeper)


def claim() -> Any:
    """The handover of the previous instance, None if there is none. Takes no time; nobody else gets it any more."""
    return sys.modules.pop(HOLDER, None)


def receive(holder: Any) -> dict[WindowId, Inheritance]:
    """What was handed over, by window; waits until it is left. The caller owns it from now on."""
    if not hasattr(holder, "left") or not _is_left(holder):
        return {}
    left: dict[WindowId, Any] = holder.pop()
    holder.done.set()
    if holder.thread:
        holder.thread.join(WAIT)
    # It may come from another version of the package.
    known = {each.name for each in fields(Inheritance)}
    values: dict[WindowId, dict[str, Any]] = {window: vars(one) for window, one in left.items()}
    return {window: Inheritance(**{name: one[name] for name in known & one.keys()}) for window, one in values.items()}


def _is_left(holder: Any) -> bool:
    """Whether it is filled; waits for that."""
    leaver: threading.Thread | None = getattr(holder, "leaver", None)  # it may come from an older version
    if leaver is None:
        return holder.left.wait(WAIT)
    end = time.monotonic() + PATIENCE
    while leaver.is_alive() and time.monotonic() < end:
        if holder.left.wait(_LOOK):
            break
    return holder.left.is_set()


def give_up(left: dict[WindowId, Inheritance], chores: Chores) -> None:
    """Close what no instance takes."""
    for one in left.values():
        one.close()
        _remove_files(one.files, one.tokens)
        if one.chat:
            chores.end_chat(one.chat)


def _remove_files(paths: Sequence[str], tokens: Mapping[str, str]) -> None:
    for path in paths:
        remove_if(Path(path), "authToken", tokens.values())


def _reject(review: dict[str, Any], outboxes: dict[str, list[dict[str, Any]]]) -> None:
    """Tell the owner of an open review that it is rejected, as soon as it asks."""
    owner = review["owner"]
    was_told = "unwritten" in review or ("answered" in review and "accepted" not in review)
    if was_told or review["orphaned"]:
        return
    if "session" in owner:
        params = review["rejected"]["params"]
        path = owner.get("said", {}).get(params["filePath"], params["filePath"])
        outboxes.setdefault(owner["session"], []).append({**review["rejected"], "params": {**params, "filePath": path}})
    elif "answer" in owner:
        owner["answer"](None)


def _forget_call(owner: Mapping[str, Any], live: Sequence[Mapping[str, Any]]) -> None:
    """A call on a connection has its answer: an instance that comes late gives none."""
    for living in live:
        if living["identifier"] == owner.get("websocket"):
            living["calls"].pop(owner["call"], None)


def _keep(holder: Holder, listeners: Sequence[socket.socket], chores: Chores) -> None:
    """Wait until the data are received; refuse requests after a while, and give up in the end."""
    end = time.monotonic() + LIMIT
    if not holder.done.wait(min(GRACE, LIMIT)):
        holder.expire(chores)
    with selectors.DefaultSelector() as selector:
        for listener in listeners:
            with contextlib.suppress(OSError, ValueError):  # it is closed
                selector.register(listener, selectors.EVENT_READ)
        for connection, _ in holder.idle() if not holder.done.is_set() else ():
            with contextlib.suppress(OSError, ValueError):
                selector.register(connection, selectors.EVENT_READ, "a client")
        # On Windows, `select` fails without anything to look at.
        while not holder.done.wait(0 if selector.get_map() else _LOOK) and time.monotonic() < end:
            for key, _ in selector.select(_LOOK) if selector.get_map() else ():
                _answer_one(key, holder, selector)
    is_expired = not holder.done.is_set()
    if (left := holder.pop()) or is_expired:
        give_up(left, chores)
    if is_expired:
        holder.done.set()
        if sys.modules.get(HOLDER) is holder:
            del sys.modules[HOLDER]


def _answer_one(key: selectors.SelectorKey, holder: Holder, selector: selectors.BaseSelector) -> None:
    """Accept a connection, or read on from one, and answer the request that has come."""
    found: Any = key.fileobj
    try:
        if key.data is None:
            if (accepted := holder.accept(found)) is None:
                return
            connection, oldest = accepted
            if oldest:
                selector.unregister(oldest)
                oldest.close()
            selector.register(connection, selectors.EVENT_READ, "a client")
        elif (head := holder.read(found)) is not None:
            selector.unregister(found)
            _answer(found, holder, head)
    except (OSError, ValueError):  # as of a `select` that has too many, or where no file descriptor is free
        holder.done.wait(_LOOK)


def _answer(connection: socket.socket, holder: Holder, head: bytes) -> None:
    """Answer a request: with what its session has not been told yet, or that the package isn't loaded."""
    with contextlib.suppress(OSError), connection:
        connection.settimeout(_REQUEST_LIMIT)
        connection.sendall(_events(head, holder) or _refusal())
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(_CLOSE_LIMIT)
        end = time.monotonic() + _DRAIN_LIMIT
        # What is left of the request; a close before would be a reset.
        while connection.recv(65536) and time.monotonic() < end:
            pass


def _events(head: bytes, holder: Holder) -> bytes:
    """The answer to a session that asks for its stream and has something to hear; empty for all others."""
    if not head.startswith(b"GET "):
        return b""
    lines = head.partition(_END)[0].decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    token = headers.get("authorization", "").rpartition(" ")[2]
    waiting = holder.take_outbox(token, headers.get("mcp-session-id", ""))
    body = b"".join(
        b"event: message\r\ndata: " + json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\r\n\r\n" for one in waiting
    )
    start = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    return start + body if body else b""


def _refusal() -> bytes:
    """The answer that the package isn't loaded."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": NOT_LOADED}}
    body = json.dumps(error).encode()
    head = f"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}retry-after: 5\r\nconnection: close\r\n\r\n".encode() + body
