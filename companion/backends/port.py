"""What whoever answers a chat needs of the editor, and of the window that the chat is in."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..conversation.forms import Form, Values
from ..ids import WindowId
from ..messages import Screen
from ..review.disk import Encodings, Stamp

if TYPE_CHECKING:
    from ..clis.environment import LoginEnvironment
    from ..exclusion import Told
    from ..mcp_servers import McpServer
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


class AgentScreen(Screen, Protocol):
    """What an agent needs of the screen."""

    async def buffer(self, path: str) -> str | None:
        """The unsaved text of a file that is open, with plain line feeds; None if it isn't open or has no edits."""
        ...

    async def replace_buffer(self, path: str, text: str) -> Stamp:
        """Replace the text of a file that is open, as one step of undo, and save it.

        Returns its stamp then; None if it isn't open.

        `text` has plain line feeds and no byte order mark. The view keeps its encoding and its line endings.
        """
        ...

    async def encodings(self, path: str) -> Encodings:
        """How the editor decodes a file."""
        ...

    async def may_touch(self, window: WindowId, agent: str, path: str, *, writes: bool) -> bool:
        """Ask the person whether an agent may read or write a file that is outside the chat's folders."""
        ...

    async def elicit(self, window: WindowId, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        """Have the person fill in a form, or go to a page, while there is no conversation that could show it.

        Returns `accept`, `decline` or None if they did neither, and what they have entered.
        """
        ...


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
    def screen(self) -> AgentScreen:
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

    def told(self) -> Told:
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
