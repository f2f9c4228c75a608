"""The person says yes to the command of an agent once before it is ever started."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import sublime

from ...agents import DAEMON_AGENT
from ...chats.transcript.plain import flat, spelled

if TYPE_CHECKING:
    from ...agents import AgentCommand
    from ...mcp_servers import McpServer

FILE = "QwenCompanion Agents.sublime-settings"
"""Keeps what the person has said yes to and what they have installed, in their own Packages/User."""

_SERVERS = "allowed_servers"
"""There: the MCP servers that the person has said yes to."""


class Consent:
    """The agents that the person has allowed, each with its command. A new command is asked about again."""

    def __init__(
        self, agents: Callable[[], tuple[AgentCommand, ...]], servers: Callable[[], tuple[McpServer, ...]]
    ) -> None:
        """`servers` are the MCP servers that every agent gets."""
        self._agents = agents
        self._servers = servers

    def find(self, name: str) -> AgentCommand | None:
        """The agent of a name, as the settings have it now."""
        return next((agent for agent in self._agents() if agent.name == name), None)

    def letter(self, name: str) -> str:
        """What stands for an agent where there is little room; for the daemon's agent if none is named."""
        agent = self.find(name or DAEMON_AGENT)
        return agent.icon if agent else (name or DAEMON_AGENT)[:1].upper()

    def allows(self, name: str) -> bool:
        """Whether the person has said yes to an agent with its present command."""
        agent = self.find(name)
        allowed = agent is not None and self._allowed().get(name) == list(agent.command)
        return allowed and self._words == sublime.load_settings(FILE).get(_SERVERS, [])

    def renew(self, name: str, then: Callable[[AgentCommand | None], object]) -> None:
        """Call `then` with the agent of a name, which may have another command now, if the person allows that one.

        None if the settings have no such agent any more.
        """
        agent = self.find(name)
        if agent is None or self.ask(agent):
            then(agent)

    def ask(self, agent: AgentCommand) -> bool:
        """Ask if that hasn't been done yet. Returns whether the agent may be started."""
        if self.allows(agent.name):
            return True
        words = self._words
        listed = "\n    ".join(map(spelled, words))
        servers = f"Like every agent, it gets these MCP servers:\n\n    {listed}\n\n" if words else ""
        question = (
            f"Start {flat(agent.name, 80)} for this chat?\n\n    {spelled(shlex.join(agent.command))}\n\n{servers}"
            "It runs on this computer with your rights, in the folder of the chat, and ends with the chat. "
            "What you allow it to change is written by the editor."
        )
        if not sublime.ok_cancel_dialog(question, "Start", "Qwen Companion"):
            return False
        sublime.load_settings(FILE).set(_SERVERS, words)
        self.allow(agent)
        return True

    @property
    def _words(self) -> list[str]:
        """The MCP servers, each as the person sees it."""
        return [server.words for server in self._servers()]

    def allow(self, agent: AgentCommand) -> None:
        """The person has said yes to the command of an agent."""
        allowed = {**self._allowed(), agent.name: list(agent.command)}
        sublime.load_settings(FILE).set("allowed", allowed)
        sublime.save_settings(FILE)

    @property
    def last(self) -> str:
        """The agent that was picked last, if it may still be started; empty for none, or for the daemon."""
        last = sublime.load_settings(FILE).get("last")
        return last if isinstance(last, str) and self.allows(last) else ""

    def picked(self, name: str) -> None:
        """Remember what was picked."""
        sublime.load_settings(FILE).set("last", name)
        sublime.save_settings(FILE)

    @staticmethod
    def _allowed() -> dict[str, list[str]]:
        value: Any = sublime.load_settings(FILE).get("allowed")
        return cast("dict[str, list[str]]", value) if isinstance(value, dict) else {}
