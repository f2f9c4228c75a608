"""The chats of all windows, as what is done with them needs them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ..conversation.failures import AlreadyAnsweredError, ChatError, NotConnectedError
from .port import ChatScreen
from .window_chat import WindowChat

REACH_LIMIT = 10.0
"""Seconds that a question to the daemon waits for the connection."""


class Windows:
    """Knows each window's chat."""

    def __init__(self, editor: ChatScreen) -> None:
        self._editor = editor
        self._windows: dict[int, WindowChat] = {}

    def _chat(self, window: int) -> WindowChat:
        if chat := self._windows.get(window):
            return chat
        raise NotConnectedError

    def _do(self, window: int, act: Callable[[WindowChat], Coroutine[Any, Any, None]]) -> None:
        """Do something with a window's chat, and say what goes wrong."""
        chat = self._windows.get(window)
        if chat is None:
            self._editor.say(str(NotConnectedError()), window)
            return

        async def do() -> None:
            try:
                await act(chat)
            except AlreadyAnsweredError as error:
                self._editor.mention(str(error), window)
            except ChatError as error:
                self._editor.say(str(error), window)

        chat.background(do())
