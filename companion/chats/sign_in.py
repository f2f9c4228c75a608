"""Signing the agent of a chat in: the daemon by a code on a web page, an agent on stdio by one of its own methods."""

from __future__ import annotations

from ..backends.backend import Backend, needed
from ..backends.parts import SignIn, SigningIn, Way
from ..clis.environment import LoginEnvironment
from ..ids import ChatId
from .registry import Registry, check_idle


class ChatSignIn:
    """Signs agents in."""

    def __init__(self, registry: Registry, environment: LoginEnvironment) -> None:
        """`environment` is what agents are started with."""
        self._registry = registry
        self._environment = environment

    async def providers(self, chat_id: ChatId) -> list[str]:
        """The ids of the providers of models at which the daemon can sign in."""
        client, _, _ = await self._registry.reached(chat_id)
        return await _sign_in(client).providers()

    async def begin(self, chat_id: ChatId, provider: str) -> SigningIn:
        """Begin to sign in at a provider."""
        client, _, _ = await self._registry.reached(chat_id)
        return await _sign_in(client).begin(provider)

    async def progress(self, chat_id: ChatId, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        client, _, _ = await self._registry.reached(chat_id)
        return await _sign_in(client).look(identifier)

    async def cancel(self, chat_id: ChatId, identifier: str) -> None:
        """Give a sign-in up."""
        client, _ = self._registry[chat_id].connection.connected
        await _sign_in(client).cancel(identifier)

    async def methods(self, chat_id: ChatId) -> tuple[Way, ...]:
        """The ways to sign in that an agent on stdio offers."""
        methods = self._registry[chat_id].connection.authentication.ways
        # The person may be about to set a variable.
        self._environment.forget()
        return methods

    async def authenticate(self, chat_id: ChatId, method: str) -> None:
        """Have an agent on stdio sign the person in, which may take as long as they need in their browser."""
        connection = self._registry[chat_id].connection
        await connection.authentication.authenticate(method)
        connection.signed_in()

    async def sign_out(self, chat_id: ChatId) -> bool:
        """Sign the person out of an agent on stdio, and start it again, since it may go on with what it has in memory.

        Returns False if it stays as it is, because its conversation would be lost, or a turn that has begun meanwhile.

        Raises:
            ChatError: a turn runs, which would be lost.
        """
        chat = self._registry[chat_id]
        client, _ = chat.connection.connected
        part = needed(client.sign_out, client, "sign you out")
        check_idle(chat)
        await part.sign_out()
        is_restarted = chat.status.running is None and (part.can_restart or not chat.connection.session)
        if is_restarted:
            chat.reconnect()
        return is_restarted


def _sign_in(client: Backend) -> SignIn:
    return needed(client.sign_in, client, "be signed in with a code")
