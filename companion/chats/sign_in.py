"""How the person signs in: at a provider of models, or to the agent itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.agent import SigningIn, Way

if TYPE_CHECKING:
    from .chat import Chat


class ChatSignIn:
    """Signs the agent of a chat in."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def providers(self) -> list[str]:
        """The ids of the providers of models at which the daemon can sign in."""
        client, _, _ = await self._chat.connection.reached()
        return await client.sign_in_providers()

    async def begin(self, provider: str) -> SigningIn:
        """Begin to sign in at a provider."""
        client, _, _ = await self._chat.connection.reached()
        return await client.begin_sign_in(provider)

    async def progress(self, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        client, _, _ = await self._chat.connection.reached()
        return await client.sign_in_progress(identifier)

    async def cancel(self, identifier: str) -> None:
        """Give a sign-in up."""
        client, _ = self._chat.connection.connected
        await client.cancel_sign_in(identifier)

    async def methods(self) -> tuple[Way, ...]:
        """The ways to sign in that an agent on stdio offers."""
        methods = self._chat.connection.to_sign_in.ways
        # The person may be about to set a variable.
        self._chat.place.login.forget()
        return methods

    async def authenticate(self, method: str) -> None:
        """Have an agent on stdio sign the person in, which may take as long as they need in their browser."""
        connection = self._chat.connection
        await connection.to_sign_in.authenticate(method)
        connection.signed_in()

    async def sign_out(self) -> bool:
        """Sign the person out of an agent on stdio, and start it again, since it may go on with what it has in memory.

        Returns False if it stays as it is, because its conversation would be lost, or a turn that has begun meanwhile.

        Raises:
            ChatError: a turn runs, which would be lost.
        """
        chat = self._chat
        client, _ = chat.connection.connected
        client.need("sign_out", "sign you out")
        chat.check_idle()
        await client.sign_out()
        is_restarted = chat.status.running is None and (client.can_restart or not chat.connection.session)
        if is_restarted:
            chat.reconnect()
        return is_restarted
