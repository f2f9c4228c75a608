"""What only some agents offer: options of their own, ways to sign in, and terminals of the editor."""

from __future__ import annotations

import asyncio

from ..acp.environment import LoginEnvironment
from ..acp.signing import Way
from .chat import Chat
from .registry import Windows


class AgentsOfChats(Windows):
    """Does what an agent offers besides what every chat has."""

    _environment: LoginEnvironment

    async def sign_in_ways(self, number: int) -> tuple[Way, ...]:
        """The ways to sign in that the chat's agent offers."""
        ways = self._chat(number).agent_client.ways
        # The person may be about to set a variable.
        self._environment.forget()
        return ways

    async def sign_in_by(self, number: int, way: str) -> None:
        """Have the agent sign the person in, which may take as long as they need in their browser."""
        chat = self._chat(number)
        await chat.agent_client.authenticate(way)
        chat.signed_in()

    def stop_terminals(self, number: int, terminals: str) -> None:
        """End what runs in terminals of the chat, given as words; the turn goes on."""

        async def stop(chat: Chat) -> None:
            client = chat.agent_client
            if not any(await asyncio.gather(*map(client.stop_terminal, terminals.split()))):
                self._editor.mention("It has ended already.", chat.window)

        self._do(number, stop)

    def set_option(self, number: int, option: str, value: str | bool) -> None:
        """Set an option of the session, to the id of a value or to true or false."""

        async def set_it(chat: Chat) -> None:
            client, session = chat.connected
            await client.set_option(session, option, value)

        self._do(number, set_it)
