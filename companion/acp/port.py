"""The port to an editor whose files an agent reads and writes."""

from __future__ import annotations

from typing import Protocol

from ..review.disk import Encodings


class AgentFiles(Protocol):
    """The files of the editor, called on the companion thread."""

    async def buffer(self, path: str) -> str | None:
        """The unsaved text of a file that is open, with plain line feeds; None if it isn't open or has no edits."""
        ...

    async def replace_buffer(self, path: str, text: str) -> bool:
        """Replace the text of a file that is open, as one step of undo, and save it. Returns False if it isn't open.

        `text` has plain line feeds and no byte order mark. The view keeps its encoding and its line endings.
        """
        ...

    async def encodings(self, path: str) -> Encodings:
        """How the editor decodes a file."""
        ...

    async def may_touch(self, window: int, agent: str, path: str, *, writes: bool) -> bool:
        """Ask the person whether an agent may read or write a file that is outside the chat's folders."""
        ...
