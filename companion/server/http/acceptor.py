"""Accepts connections in a thread of its own, and gives them to the loop.

asyncio's loop on Windows binds a listener to its completion port for ever, so that after a reload the next loop can't
accept on it (WinError 87), and it closes the listener when a client resets before it is accepted (WinError 64,
python/cpython#93821). A listener that only `select` looks at has neither problem. All systems do it this way, so that
the tests on any of them try what Windows needs.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import selectors
import socket
import threading
from collections.abc import Callable

from ..listener import listens, place_of

logger = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds until the next try when the system has no file descriptor or no memory for a connection."""
LACKING = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
PASSING = {
    errno.EAGAIN,
    errno.EWOULDBLOCK,
    errno.EINTR,
    errno.ECONNABORTED,
    errno.ECONNRESET,
    errno.EPROTO,
    errno.EPERM,
}
"""The client has gone, or a firewall has refused it; the listener is all right."""
GONE = {64, 10053, 10054}
"""What Windows says of a client that has gone."""


class Closable(socket.socket):
    """A connection that asyncio's loop on Windows closes even if the client has reset it.

    That loop shuts a connection down first; if that fails, it leaves the socket to the garbage collector
    (`_call_connection_lost` in CPython's `asyncio/proactor_events.py`).
    """

    def shutdown(self, how: int, /) -> None:
        """Nothing has to be shut down where nobody is connected any more."""
        with contextlib.suppress(OSError):
            super().shutdown(how)


class Acceptor:
    """Accepts on one listener, from `start` to `stop`. `accepted` gets each connection, on the loop."""

    def __init__(self, listener: socket.socket, accepted: Callable[[socket.socket], object]) -> None:
        self._listener = listener
        self._place = place_of(listener)
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._is_over = asyncio.Event()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="qwen-companion-accept", daemon=True)

    def start(self) -> None:
        """Begin. Raises OSError if the system has no file descriptor for it."""
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._woken.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()

    async def stop(self) -> None:
        """Accept no more. All that was accepted has been given to the loop afterwards."""
        self.abandon()
        await self._is_over.wait()

    def abandon(self) -> None:
        """Accept no more, without waiting for that."""
        self._is_stopping.set()
        self._wake.close()

    @property
    def is_accepting(self) -> bool:
        """Whether a client that connects now is accepted."""
        return self._thread.is_alive() and listens(self._listener, self._place)

    def _run(self) -> None:
        try:
            while not self._is_stopping.is_set():
                self._selector.select()
                while not self._is_stopping.is_set() and self._accept():
                    pass
        except (OSError, ValueError) as error:
            logger.warning("%s accepts no more: %s", self._place, error)
        finally:
            self._selector.close()
            self._woken.close()
            self._tell(self._is_over.set)

    def _accept(self) -> bool:
        """Accept a connection, and return whether there may be another one. Raises OSError if the listener is dead."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in LACKING:
                logger.error("socket.accept() out of system resource")  # noqa: TRY400 - the stack says nothing
                self._is_stopping.wait(PAUSE)
            elif error.errno not in PASSING and getattr(error, "winerror", None) not in GONE:
                raise
            return False
        try:
            connection.setblocking(False)
            if connection.family == socket.AF_INET:
                # Otherwise each answer waits 40 ms for the client's acknowledgement.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:  # the client has gone
            connection.close()
        else:
            if not self._tell(lambda: self._accepted(connection)):
                connection.close()
        return True

    def _tell(self, call: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop has ended
            return False
        return True
