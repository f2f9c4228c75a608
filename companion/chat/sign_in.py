"""Signing the daemon of a chat in."""

from __future__ import annotations

from ..daemon.sign_in import SigningIn
from .registry import REACH_LIMIT, Windows


class SignInOfChats(Windows):
    """Signs in at a provider of models, with a code that the person enters on a web page."""

    async def sign_in_providers(self, number: int) -> list[str]:
        """The ids of the providers at which one can sign in."""
        client, _, _ = await self._chat(number).reached(REACH_LIMIT)
        return await client.sign_in_providers()

    async def begin_sign_in(self, number: int, provider: str) -> SigningIn:
        """Begin to sign in."""
        client, _, _ = await self._chat(number).reached(REACH_LIMIT)
        return await client.begin_sign_in(provider)

    async def sign_in(self, number: int, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        client, _, _ = await self._chat(number).reached(REACH_LIMIT)
        return await client.sign_in(identifier)

    async def cancel_sign_in(self, number: int, identifier: str) -> None:
        """Give a sign-in up."""
        client, _ = self._chat(number).connected
        await client.cancel_sign_in(identifier)
