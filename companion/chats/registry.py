"""The chats that are open in any window, by their ids."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ..backends.backend import Backend
from ..backends.sessions import AgentSession
from ..conversation.failures import AlreadyAnsweredError, ChatError, NotConnectedError
from ..ids import ChatId, WindowId
from .chat import Chat
from .port import ChatScreen
from .prompt import ChatFolder

REACH_LIMIT = 10.0
"""Seconds that a question to the daemon waits for the connection."""
BUSY = "A turn runs: wait until it ends, or cancel it first."


class Registry:
    """Finds chats for the parts of `Chats`, and says on the screen what goes wrong with one."""

    def __init__(self, editor: ChatScreen) -> None:
        self.editor = editor
        self.chats: dict[ChatId, Chat] = {}

    def get(self, chat_id: ChatId) -> Chat | None:
        """The chat with an id; None if it has closed."""
        return self.chats.get(chat_id)

    def __getitem__(self, chat_id: ChatId) -> Chat:
        """The chat with an id.

        Raises:
            NotConnectedError: it has closed.
        """
        if chat := self.chats.get(chat_id):
            return chat
        raise NotConnectedError

    async def reached(self, chat_id: ChatId) -> tuple[Backend, AgentSession, ChatFolder]:
        """The client, the session and the folder of a chat once it is connected; see `ChatConnection.reached`."""
        return await self[chat_id].connection.reached(REACH_LIMIT)

    def within(self, window: WindowId) -> list[Chat]:
        """The chats of a window."""
        return [chat for chat in self.chats.values() if chat.window == window]

    def take(self, window: WindowId) -> list[Chat]:
        """The chats of a window, which are not found any more."""
        return [self.chats.pop(chat_id) for chat_id, chat in list(self.chats.items()) if chat.window == window]

    def do(self, chat_id: ChatId, act: Callable[[Chat], Coroutine[Any, Any, None]]) -> None:
        """Start doing something with a chat. A failure is shown, not raised."""
        chat = self.get(chat_id)
        if chat is None:
            self.editor.say(str(NotConnectedError()))
            return

        async def do() -> None:
            try:
                await act(chat)
            except AlreadyAnsweredError as error:
                self.editor.mention(str(error), chat.window)
            except ChatError as error:
                self.editor.say(str(error), chat.window)

        chat.background(do())


def check_idle(chat: Chat) -> None:
    """Raise a ChatError if a turn runs."""
    if chat.status.running is not None:
        raise ChatError(BUSY)
