"""What whoever answers a chat needs of the editor, and of the window that the chat is in."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..editor import WindowId
from ..review.review_screen import FileScreen

if TYPE_CHECKING:
    from ..agents import McpServer
    from ..clis.environment import LoginEnvironment
    from ..exclusion import Sharing
    from ..settings import DaemonSettings

SERVER = "qwen-companion"
"""What the editor's server is called among an agent's servers."""


@dataclass(frozen=True, slots=True)
class OfferedServer:
    """The editor's own MCP server, as it is offered to one agent."""

    url: str
    token: str = field(repr=False)

    @property
    def entry(self) -> Mapping[str, Any]:
        """As the protocol has it in `mcpServers`."""
        header = {"name": "Authorization", "value": f"Bearer {self.token}"}
        return {"type": "http", "name": SERVER, "url": self.url, "headers": [header]}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the person lets every agent of a window have besides the folder of its chat."""

    folders: tuple[str, ...] = ()
    """Absolute paths. None of them is excluded."""
    servers: tuple[McpServer, ...] = ()


class Workplace(Protocol):
    """The window of a chat, for what answers there. Called on the companion thread."""

    @property
    def id(self) -> WindowId:
        """The window's."""
        ...

    @property
    def screen(self) -> FileScreen:
        """The editor."""
        ...

    @property
    def login(self) -> LoginEnvironment:
        """What agents are started with."""
        ...

    @property
    def settings(self) -> DaemonSettings:
        """As they are now."""
        ...

    @property
    def daemon_folders(self) -> Collection[str]:
        """The folders whose chats need a daemon."""
        ...

    def sharing(self) -> Sharing:
        """What may be told of the window's files."""
        ...

    def surroundings(self) -> Awaitable[Surroundings]:
        """What a session gets besides its folder."""
        ...

    def admit(self, agent: str) -> OfferedServer | None:
        """Offer the editor's MCP server to an agent; None if it is not offered."""
        ...

    def dismiss(self, token: str) -> None:
        """That agent has ended: its token is worth nothing any more."""
        ...
