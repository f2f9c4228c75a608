"""The port to an editor that shows chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..editor import ChatId
from ..review.review_screen import FileScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..editor import Visit, WindowId
    from .prompt import Draft
    from .transcript.render import Render


class ChatsOnScreen(Protocol):
    """The chats on the screen, called on the companion thread."""

    async def show_chat(self, chat: ChatId, render: Render) -> bool:
        """Update the view of a chat, by the view's id. Returns False if there is none.

        It is awaited before the next render, so that a busy editor gets fewer of them.
        """
        ...

    def resume_chat(self, chat: ChatId) -> None:
        """Somebody works for a chat of the instance before this one: connect it, even if its tab is hidden."""
        ...

    def return_draft(self, chat: ChatId, draft: Draft, why: str) -> None:
        """Put a draft back into the chat's prompt, and say why. If the chat has closed, show it in a tab of its own."""
        ...


class Followers(Protocol):
    """Whoever follows agents, called on the companion thread."""

    def show_visits(self, window: WindowId, visits: Sequence[Visit]) -> None:
        """The agent of a chat reads or writes at these places, in this order."""
        ...


class ChatScreen(FileScreen, Protocol):
    """What the chats need of the screen."""

    @property
    def chats(self) -> ChatsOnScreen:
        """The chats."""
        ...

    @property
    def following(self) -> Followers:
        """Who follows their agents."""
        ...
