"""Listening Unix sockets that only this user can reach. Not for an event loop: everything here uses the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import sys
import time

from . import files

LONGEST = 100
"""Bytes of a path. macOS takes 103, Linux 107."""
NEW = 60.0
"""Seconds for which nobody removes a socket at which nobody listens: its owner may be about to."""
SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What the machine lacks at the moment: file descriptors or memory."""


def no_port(error: BaseException) -> str:
    """Why nothing listens, and the one thing that helps: what the system says of it decides which."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) in SCARCE:
        return f"{files.reason_of(error) or 'there is no memory left'}. Close some tabs or programs."
    return (
        f"{files.reason_of(error)}. Let Sublime Text listen on 127.0.0.1: a firewall or a sandbox keeps it from that."
    )


def listen(name: str) -> socket.socket:
    """A socket that listens in a folder of ours. Its `getsockname()` is its path.

    Raises OSError, with a reason for a person.
    """
    if sys.platform == "win32":
        raise OSError("Windows has pipes instead")
    try:
        return _listen(_folder(name), name)
    except FileNotFoundError:  # another window has just removed the folder with its own socket
        return _listen(_folder(name), name)


def _listen(folder: str, name: str) -> socket.socket:
    assert sys.platform != "win32"  # noqa: S101 - for the types
    _sweep(folder)
    path = os.path.join(folder, name)
    if _is_left(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(128)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def remove(listener: socket.socket) -> None:
    """Stop listening, and remove the socket from the disk, and the folder with the last one."""
    with contextlib.suppress(OSError):
        path = listener.getsockname()
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
    listener.close()


def _folder(name: str) -> str:
    """The folder for sockets, made if it is missing. Raises OSError if it isn't this user's alone."""
    assert sys.platform != "win32"  # noqa: S101 - for the types
    bases = (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp")  # noqa: S108 - what is made there is checked
    own = f"qwen-companion-{os.getuid()}"
    named = [os.path.join(base, own) for base in bases if base and os.path.isdir(base)]
    folder = next((one for one in named if len(os.fsencode(os.path.join(one, name))) <= LONGEST), "")
    if not folder:
        raise OSError("no folder has a path that is short enough for a socket")
    with contextlib.suppress(FileExistsError):
        files.make_private_folder(folder)
    if why := files.unsafe(folder):
        raise OSError(f"{folder} {why}")
    files.close_to_others(folder)
    return folder


def _sweep(folder: str) -> None:
    """Remove what crashed editors have left."""
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > NEW and _is_left(entry.path):
                os.unlink(entry.path)


def _is_left(path: str) -> bool:
    """Whether a path is that of a socket at which nobody listens."""
    if sys.platform == "win32" or not stat.S_ISSOCK(_mode(path)):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
