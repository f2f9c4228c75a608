"""All chats, as what is done with them needs them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ..conversation.failures import AlreadyAnsweredError, ChatError, NotConnectedError
from .chat import Chat
from .port import ChatScreen

REACH_LIMIT = 10.0
"""Seconds that a question to the daemon waits for the connection."""


class Windows:
    """Knows the chats of all windows. In all methods, `number` is the id of a chat's view."""

    def __init__(self, editor: ChatScreen) -> None:
        self._editor = editor
        self._chats: dict[int, Chat] = {}

    def _chat(self, number: int) -> Chat:
        if chat := self._chats.get(number):
            return chat
        raise NotConnectedError

    def _do(self, number: int, act: Callable[[Chat], Coroutine[Any, Any, None]]) -> None:
        """Do something with a chat, and say what goes wrong."""
        chat = self._chats.get(number)
        if chat is None:
            self._editor.say(str(NotConnectedError()))
            return

        async def do() -> None:
            try:
                await act(chat)
            except AlreadyAnsweredError as error:
                self._editor.mention(str(error), chat.window)
            except ChatError as error:
                self._editor.say(str(error), chat.window)

        chat.background(do())
