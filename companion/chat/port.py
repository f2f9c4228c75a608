"""What a chat asks of an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..messages import Messages

if TYPE_CHECKING:
    from .prompt import Draft
    from .transcript.render import Render


class ChatScreen(Messages, Protocol):
    """The chats on the screen, called on the companion thread."""

    async def show_chat(self, window: int, render: Render) -> bool:
        """Bring a window's chat up to date. Returns False if the window shows none.

        It is awaited before the next frame is made, so that a busy editor gets fewer of them.
        """
        ...

    def return_draft(self, window: int, draft: Draft, why: str) -> None:
        """Put what the person has written back into the chat's prompt, and say why."""
        ...
