"""What all requests to an agent share: its name and its abilities, the connection, and what a refusal means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents import AgentCommand
from ..conversation.events import Event
from . import schema
from .errors import AUTHENTICATION_NEEDED, METHOD_NOT_FOUND, AnswerError, SignInError
from .lacking import Lacking
from .peer import Peer

CALL_LIMIT = 30.0
"""Seconds to wait for an answer; a prompt is waited for without a limit."""


class Asking(Lacking):
    """Asks one agent."""

    def __init__(self, command: AgentCommand) -> None:
        self.command = command
        self.agent = schema.Agent()
        """What it has said about itself, once it is connected."""
        self.folder = ""
        """The one that it works in."""
        self._peer: Peer
        self._session = ""
        self._begun = 0.0
        """When the session was begun, as a Unix time in seconds; 0 if that isn't known."""
        self._settings = schema.Settings(schema.Opened())

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the agent calls itself; what the person calls it until it has said that."""
        return self.agent.info.title or self.agent.info.name or self.command.name

    def has(self, feature: str) -> bool:
        """Whether the agent has a feature: load, list, delete, image, embedded, http."""
        abilities = self.agent.abilities
        return {
            "load": abilities.load_session or abilities.session_capabilities.resume,
            "list": abilities.session_capabilities.list,
            "delete": abilities.session_capabilities.delete,
            "image": abilities.prompt_capabilities.image,
            "embedded": abilities.prompt_capabilities.embedded_context,
            "http": abilities.mcp_capabilities.http,
        }.get(feature, False)

    async def _call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._peer.call(method, params, CALL_LIMIT)
        except AnswerError as error:
            if error.code == METHOD_NOT_FOUND:
                raise self._missing(f"do that ({method})") from None
            raise

    async def _asked(self, method: str, params: Mapping[str, Any], limit: float | None) -> Mapping[str, Any]:
        """The answer to a request that only somebody who has signed in may make.

        Raises:
            SignInError: the person hasn't.
            AgentError: see Peer.
        """
        try:
            return await self._peer.call(method, params, limit)
        except AnswerError as error:
            if error.code == AUTHENTICATION_NEEDED:
                methods = [each.name or each.id for each in self.agent.auth_methods]
                raise SignInError(self.name, methods, error.message) from None
            raise

    def _publish(self, event: Event) -> None:
        raise NotImplementedError
