"""One window's endpoint as CLIs see it: its port, its tokens, its folders and its discovery files.

Standard library only: an endpoint is opened and published before the libraries are imported. Until then, the kernel
queues a CLI that connects.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from ..clis.discovery import DiscoveryFiles, Lives
from ..clis.families import FAMILIES, TERMINAL_VARIABLES, CliFamily, DiscoveryName, Door, called
from ..editor import WindowId
from ..handover import Inheritance
from ..platforms import local_sockets
from ..platforms.files import reason_of
from ..platforms.paths import own_spelling
from .window_screen import ServedWindow

PATIENCE = 1.0
"""Seconds that the removal of the discovery files waits for a write that has begun."""
NO_SOCKET = "Copilot CLI can't find this editor, which can't open a socket for it: {why}."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request, by its token. A session belongs to the caller of this name that has opened it."""

    name: str
    """That of its family, with where it runs if that is not here, or the name of an agent."""
    door: Door = "http"
    is_agent: bool = False
    """Whether a chat has started it, or it is the model of a CLI: it knows the tools, but not the notifications."""
    is_model: bool = False
    is_elsewhere: bool = False
    """Whether it runs on another computer, in a container or in WSL."""


@dataclass
class Endpoint:
    """A window's listening socket, tokens, sessions and discovery files.

    What concerns the files may block, since they may be on a disk that hangs: `publish`, `heal`, `touch`, `withdraw`,
    `hand_over` and `close` are not for an event loop. They may be called on any thread.
    """

    window: WindowId
    state: Inheritance
    """What the next instance goes on with after a reload, as this one has gone on with it."""
    folders: tuple[str, ...] = ()
    in_front: bool = False
    """Whether its window is in front. Only that one writes the file that all windows share."""
    legacy_files: bool = True
    """Whether to write the files that Qwen Code reads before 0.5.2, too."""
    refusals: dict[str, float] = field(default_factory=dict[str, float], repr=False)
    """What was wrong with requests that were refused, "host" or "token", with the Unix time of the latest."""
    pipe: str = ""
    """The name of the pipe that Windows has in place of a Unix socket, as soon as it is served."""
    port: int = field(init=False)
    """The TCP port on 127.0.0.1."""
    publications: list[DiscoveryFiles] = field(init=False)
    """One for each CLI family, each with a token of its own: the token says who calls, and for which window."""
    _told: tuple[str, ...] = field(init=False, default=())
    """The folders as they were published: each as the person has opened it, and as its disk spells it."""
    _why_no_socket: str = field(init=False, default="")
    """A sentence on a socket that can't be opened."""
    _said: list[str] = field(init=False, repr=False, default_factory=list[str])
    """The sentences that `publish` and `heal` have returned about what is still so."""
    _over: list[str] = field(init=False, repr=False, default_factory=list[str])
    """Those about what is over, until `settled` returns them."""
    _is_withdrawn: bool = field(init=False, repr=False, default=False)
    """Whether nothing is written any more."""
    _goes_on: bool = field(init=False, repr=False, default=False)
    """Whether the next instance goes on with the endpoint."""
    _disk: ClassVar[threading.Lock] = threading.Lock()
    """Held while files are written or removed, so that none is written after its removal. All windows share one file,
    which would be lost if one of them took it over between another one's look at it and its removal."""

    def __post_init__(self) -> None:
        self.port = self.state.port = self.state.port or self.state.listener.getsockname()[1]
        self.publications = [
            # 32 random bytes.
            DiscoveryFiles(family, self.port, self.state.tokens.get(family.name) or secrets.token_urlsafe(32))
            for family in FAMILIES
            if family.files
        ]
        self.state.tokens = {each.family.name: each.token for each in self.publications}
        self.state.files = []

    @classmethod
    def open(cls, window: ServedWindow, inherited: Inheritance | None = None) -> Endpoint:
        """Listen for a window: on the inherited socket if there is one, else on its old port if that is free.

        Raises OSError if the system has no port to give, or not the inherited one.
        """
        if inherited:
            endpoint = cls(window.id, inherited, window.folders)
            endpoint.listen_again()
            return endpoint
        try:
            listener = listen(window.port)
        except OSError:
            listener = listen()
        return cls(window.id, Inheritance(listener), window.folders)

    def listen_again(self) -> None:
        """Listen on the same port with another socket, unless the one that there is still does. Raises OSError."""
        if listens(self.state.listener, self.port):
            return
        if is_at(self.state.listener, self.port):
            self.state.listener.close()
        else:  # whatever has closed it: its number may be another file's by now
            self.state.listener.detach()
        self.state.listener = listen(self.port)

    def hand_over(self) -> Inheritance:
        """Withdraw the discovery files. The socket of what is returned belongs to the next instance from now on."""
        self.withdraw(goes_on=True)
        return self.state

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables by which a CLI in a terminal chooses this window."""
        return self._variables(one for one in self.publications if not one.family.own_variables)

    def terminal_variables(self, family: CliFamily) -> dict[str, str]:
        """`variables` for a terminal in which we run a CLI ourselves; they also name the editor."""
        own = self._variables(one for one in self.publications if one.family is family)
        return self.variables | own | TERMINAL_VARIABLES

    def _variables(self, publications: Iterable[DiscoveryFiles]) -> dict[str, str]:
        values: dict[str, str] = {}
        told = self._told if set(self.folders) <= set(self._told) else self.folders
        for one in publications:
            values |= one.family.variables(told, self.port, one.token, os.getppid())
        return values

    def caller(self, token: str, door: Door = "http") -> Caller | None:
        """Whose token of a door this is. Takes the same time for a wrong one."""
        found = None
        for known, caller in self._callers():
            if secrets.compare_digest(token.encode(), known.encode()) and caller.door == door:
                found = caller
        return found

    def _callers(self) -> Iterator[tuple[str, Caller]]:
        """Each token that is valid, and whose it is."""
        for one in self.publications:
            yield one.token, Caller(one.family.name, one.family.door)
        for token, name in self.state.guests.items():
            yield token, Caller(name, is_agent=True)
        for token, name in self.state.elsewhere.items():
            doors: list[Door] = [family.door for family in called(name)]
            yield token, Caller(name, doors[0] if doors else "http", is_elsewhere=True)

    def admit(self, agent: str) -> str:
        """Let in an agent that a chat has started. Returns its token: 32 random bytes, valid until `dismiss`."""
        token = secrets.token_urlsafe(32)
        # No CLI is called that, whatever the agent says that it is called.
        self.state.guests[token] = f"{agent} (chat)"
        return token

    def admit_elsewhere(self, words: str) -> dict[str, str]:
        """Let in CLIs that run somewhere else: `words` follow their names. Returns their tokens, by family."""
        tokens: dict[str, str] = {}
        for family in (one.family for one in self.publications if one.family.connects_elsewhere):
            name = f"{family.name} {words}"
            known = next((token for token, called in self.state.elsewhere.items() if called == name), None)
            tokens[family.name] = known or secrets.token_urlsafe(32)
            self.state.elsewhere[tokens[family.name]] = name
        return tokens

    def dismiss(self, token: str) -> str | None:
        """Such an agent has ended. Returns the name that it was let in with."""
        return self.state.guests.pop(token, None)

    def names(self, family: CliFamily) -> list[DiscoveryName]:
        """The discovery files of this window for a family, by the current settings and window in front."""
        if family.door == "socket" and not (self.state.local or self.pipe):
            return []
        return [
            name
            for name in family.files
            if (self.legacy_files or not name.legacy) and (self.in_front or not name.is_shared)
        ]

    def publish(self) -> list[str]:
        """Write the discovery files for the current folders. Returns a sentence for each new failure."""
        now, folders = time.time(), self.folders
        # A folder's own disk may hang, too, which concerns no other window.
        self._told = tuple(dict.fromkeys(each for folder in folders for each in (folder, own_spelling(folder))))
        self.state.folders_since = {folder: self.state.folders_since.get(folder, now) for folder in folders}
        return self._on_disk(self._publish)

    def _publish(self) -> None:
        self._open_socket()
        for one in self.publications:
            one.socket = self.state.local.getsockname() if self.state.local else self.pipe
            one.publish(self._told, self.names(one.family))

    def _open_socket(self) -> bool:
        """Open the Unix socket unless it is open. Returns whether there is one."""
        if self.state.local is None and sys.platform != "win32" and any(one.door == "socket" for one in FAMILIES):
            try:
                self.state.local = local_sockets.listen(f"{self.port}.sock")
                self._why_no_socket = ""
            except OSError as error:
                self._why_no_socket = NO_SOCKET.format(why=reason_of(error))
        return self.state.local is not None

    def settled(self) -> list[str]:
        """The sentences of `publish` and `heal` about failures that are over, each once."""
        over, self._over = self._over, []
        return over

    def heal(self, lives: Lives) -> list[str]:
        """Write the discovery files again that were removed or changed. Returns the same as `publish`."""
        return self._on_disk(lambda: self._heal(lives))

    def _heal(self, lives: Lives) -> None:
        if self.state.local and not os.path.lexists(self.state.local.getsockname()):
            self.close_socket()  # somebody has removed it, so that nobody reaches it any more
            self._publish()
            return
        if self._why_no_socket and self._open_socket():
            self._publish()
            return
        for one in self.publications:
            one.heal(self._told, self.names(one.family), lives)

    def touch(self) -> list[str]:
        """Make the discovery files the newest, because the window got the focus. Returns the same as `publish`."""
        return self._on_disk(lambda: [one.touch() for one in self.publications])

    def withdraw(self, *, goes_on: bool = False) -> None:
        """Remove the discovery files, and write none any more. May be called twice; waits for a second at most.

        Those that a CLI watches stay if the next instance `goes_on` with the endpoint.
        """
        self._goes_on |= goes_on
        is_done, self._is_withdrawn = self._is_withdrawn, True
        # Where a disk hangs, whoever holds the lock removes the files in the end.
        if self._disk.acquire(timeout=0 if is_done else PATIENCE):
            try:
                self._remove()
            finally:
                self._disk.release()

    def _on_disk(self, work: Callable[[], object]) -> list[str]:
        with self._disk:
            if self._is_withdrawn:
                return []
            work()
            if self._is_withdrawn:
                self._remove()
            found = [self._why_no_socket, *(why for one in self.publications for why in one.troubles)]
            before, self._said = self._said, [why for why in found if why]
            self._over += [why for why in before if why not in found]
            return [why for why in self._said if why not in before]

    def _remove(self) -> None:
        for publication in self.publications:
            if self._goes_on and self.state.local and publication.family.watches_file:
                self.state.files += publication.hand_over()
            else:
                publication.withdraw()

    def close_socket(self) -> None:
        """Remove the Unix socket. Its disk may hang, so this is not for an event loop."""
        local, self.state.local = self.state.local, None
        if local:
            local_sockets.remove(local)

    def close(self) -> None:
        """Withdraw the discovery files and stop listening. May be called twice."""
        self.withdraw()
        self.state.close()


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
