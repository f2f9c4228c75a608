"""The port to an editor whose files an agent reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..conversation.forms import Form, Values
from ..ids import WindowId
from ..review.disk import Encodings, Stamp

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


class EditorServer(Protocol):
    """Offers the editor's MCP server to agents, if the person wants that."""

    def admit(self, agent: str) -> OfferedServer | None:
        """Let an agent in; None if it is not offered."""
        ...

    def dismiss(self, token: str) -> None:
        """That agent has ended."""
        ...


class AgentQuestions(Protocol):
    """Asks the person what an agent wants to know, called on the companion thread."""

    async def elicit(self, window: WindowId, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        """Have the person fill in a form, or go to a page, while there is no conversation that could show it.

        Returns `accept`, `decline` or None if they did neither, and what they have entered.
        """
        ...


class AgentFiles(Protocol):
    """The files of the editor, called on the companion thread."""

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
