"""The listening socket of a window. Standard library only, and no asyncio: it is opened before anything is loaded."""

from __future__ import annotations

import socket
import sys


def listen(port: int = 0) -> socket.socket:
    """A listening socket on the loopback interface; port 0 lets the system choose."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":
            # No other process may listen on our port. On other systems that is the default.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            # Closed connections in TIME_WAIT must not keep us from our old port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def place_of(listener: socket.socket) -> int | str:
    """The port of a TCP socket, the path of a Unix socket. Raises OSError."""
    name: str | tuple[str, int] = listener.getsockname()
    return name if isinstance(name, str) else name[1]


def is_at(listener: socket.socket, place: int | str) -> bool:
    """Whether a socket still is the one that was bound to a port or a path."""
    try:
        return place_of(listener) == place
    except (OSError, IndexError):
        return False


def listens(listener: socket.socket, place: int | str) -> bool:
    """Whether a socket still is the one that listens on a port or at a path."""
    try:
        return is_at(listener, place) and listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
    except OSError:
        return False
