"""What only some agents offer: options of their own."""

from __future__ import annotations

from .window_chat import WindowChat
from .windows import Windows


class AgentsOfChats(Windows):
    """Does what an agent offers besides what every chat has."""

    def set_option(self, window: int, option: str, value: str | bool) -> None:
        """Set an option of the session, to the id of a value or to true or false."""

        async def set_it(chat: WindowChat) -> None:
            client, session = chat.connected
            await client.set_option(session, option, value)

        self._do(window, set_it)
