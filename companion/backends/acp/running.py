"""An agent at work: its process, our requests to it, what it has said about itself, and what a refusal means."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from ...agents import AgentCommand
from ...conversation.failures import MissingFeatureError, UnsendableError
from ..agent import Block
from ..workplace import Workplace
from . import schema
from .errors import AUTHENTICATION_NEEDED, METHOD_NOT_FOUND, AnswerError, SignInError
from .peer import Peer
from .process import AgentProcess

CALL_LIMIT = 30.0
"""Seconds to wait for an answer; a prompt is waited for without a limit."""


OPENING = ("authenticate", "session/new", "session/load", "session/resume", "session/fork")
"""The calls during which there may be no conversation that could show a question."""


class RunningAgent:
    """An agent at work, which all parts of its client share. It works once there is a `process`."""

    def __init__(self, command: AgentCommand, place: Workplace, peer: Peer) -> None:
        self.command = command
        self.place = place
        self.peer = peer
        self.info = schema.Initialized()
        """What it has said about itself, once it is connected."""
        self.process: AgentProcess | None = None
        self.folder = ""
        """The chat's, as the agent has it."""
        self.environment: Mapping[str, str] = {}
        """What it and its commands get."""
        self.session = ""
        """The id of the one that is open; empty if none is."""

    async def settle_in(self, folder: str) -> None:
        """Work in a folder."""
        self.folder = folder
        self.environment = {**await self.place.login.get(), **self.command.environment}

    def end(self, why: str) -> None:
        """End its process at once. `why` follows "has ended"."""
        if self.process:
            self.process.end(why)

    def hide(self, secret: str) -> None:
        """Show a secret neither in the log nor in a message."""
        if self.process:
            self.process.hide(secret)

    def say(self, message: str) -> None:
        """Show a sentence to the person."""
        self.place.screen.messenger.say(message, self.place.id)

    @property
    def name(self) -> str:
        """What the agent calls itself; what the person calls it until it has said that."""
        return self.info.info.title or self.info.info.name or self.command.name

    @property
    def is_over(self) -> bool:
        """Whether the agent has ended, so that nothing is sent any more."""
        return self.peer.is_closed

    @property
    def is_opening(self) -> bool:
        """Whether a sign-in or the opening of a session waits for the agent."""
        return any(map(self.peer.waits_for, OPENING))

    def has(self, feature: str) -> bool:
        """Whether the agent has a feature: load, list, delete, fork, folders, image, embedded, http, logout."""
        abilities = self.info.abilities
        return {
            "load": abilities.load_session or abilities.session_capabilities.resume,
            "list": abilities.session_capabilities.list,
            "delete": abilities.session_capabilities.delete,
            "image": abilities.prompt_capabilities.image,
            "embedded": abilities.prompt_capabilities.embedded_context,
            "fork": abilities.session_capabilities.fork,
            "folders": abilities.session_capabilities.additional_directories,
            "http": abilities.mcp_capabilities.http,
            "logout": abilities.auth.logout,
        }.get(feature, False)

    def missing(self, what: str) -> MissingFeatureError:
        """The error for what the agent hasn't. `what` follows "can't"."""
        return MissingFeatureError(what, f"{self.name} can't {what}.", "")

    def suited(self, block: Block) -> Block:
        """A block of a prompt as the agent takes it.

        Raises:
            UnsendableError: it doesn't take pictures.
        """
        if block.get("type") == "image" and not self.has("image"):
            raise UnsendableError(f"{self.name} doesn't take pictures.", "Remove the picture.")
        if block.get("type") == "resource" and not self.has("embedded"):
            resource = block["resource"]
            return {"type": "text", "text": f"{resource['uri']}:\n```\n{resource['text']}\n```\n"}
        return block

    async def call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request.

        Raises:
            MissingFeatureError: the agent doesn't know the method.
            AgentError: see Peer.
        """
        try:
            return await self.peer.call(method, params, CALL_LIMIT)
        except AnswerError as error:
            if error.code == METHOD_NOT_FOUND:
                raise self.missing(f"do that ({method})") from None
            raise

    async def signed_in(self, answer: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer to a request that only somebody who has signed in may make.

        Raises:
            SignInError: the person hasn't.
            AgentError: see Peer.
        """
        try:
            return await answer
        except AnswerError as error:
            if error.code == AUTHENTICATION_NEEDED:
                methods = [each.name or each.id for each in self.info.auth_methods]
                raise SignInError(self.name, methods, error.message) from None
            raise
