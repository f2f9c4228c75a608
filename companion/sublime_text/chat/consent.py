"""The person says yes to the command of an agent before it is ever started, once for each folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import sublime

from ...agents import DAEMON_AGENT
from ...chats.transcript.plain import flat, spelled
from ...platforms.paths import path_key
from ...variables import named_variables
from ...visible import at_most

if TYPE_CHECKING:
    from ...agents import AgentCommand
    from ...mcp_servers import McpServer

FILE = "QwenCompanion Agents.sublime-settings"
"""Keeps what the person has said yes to and what they have installed, in their own Packages/User."""

MOST_LISTED = 10
"""MCP servers in the question."""
LISTED = 500
"""Characters of each."""
_FOLDERS = "allowed_folders"
"""There: the folders in which each agent may be started, the latest last."""
MOST_FOLDERS = 200
"""How many of them are kept for an agent."""
_SERVERS = "allowed_servers"
"""There: the MCP servers that the person has said yes to."""


class Consent:
    """The agents that the person has allowed, each with its command and the folders where it may be started.

    A new command is asked about again, and so is another folder.
    """

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

    def allows(self, name: str, folder: str = "") -> bool:
        """Whether the person has said yes to an agent with its present command, in a folder if one is given."""
        agent = self.find(name)
        allowed = agent is not None and self._allowed().get(name) == list(agent.command)
        allowed = allowed and (not folder or path_key(folder) in map(path_key, self._folders().get(name, ())))
        return allowed and self._words == sublime.load_settings(FILE).get(_SERVERS, [])

    def renew(self, name: str, folder: str, then: Callable[[AgentCommand | None], object]) -> None:
        """Call `then` with the agent of a name, which may have another command now, if the person allows it there.

        None if the settings have no such agent any more.
        """
        agent = self.find(name)
        if agent is None or self.ask(agent, folder):
            then(agent)

    def ask(self, agent: AgentCommand, folder: str) -> bool:
        """Ask if that hasn't been done yet. Returns whether the agent may be started in a folder."""
        if self.allows(agent.name, folder):
            return True
        words = self._words
        listed = "\n    ".join(at_most(spelled(each), LISTED) for each in words[:MOST_LISTED])
        if len(words) > MOST_LISTED:
            listed += f"\n    … and {len(words) - MOST_LISTED:,} more, which are not shown"
        servers = f"Like every agent, it gets these MCP servers:\n\n    {listed}\n\n" if words else ""
        named = at_most(spelled(named_variables(agent.environment)))
        variables = f"It gets the variables {named}.\n\n" if named else ""
        question = (
            f"Start {flat(agent.name, 80)} for this chat?\n\n    {at_most(spelled(shlex.join(agent.command)))}\n\n"
            f"{variables}{servers}"
            f"It runs on this computer with your rights, in {at_most(spelled(folder))}, and ends with the chat. "
            "What you allow it to change is written by the editor."
        )
        if not sublime.ok_cancel_dialog(question, "Start", "QwenCompanion"):
            return False
        sublime.load_settings(FILE).set(_SERVERS, words)
        self.allow(agent, folder)
        return True

    @property
    def _words(self) -> list[str]:
        """The MCP servers, each as the person sees it."""
        return [server.words for server in self._servers()]

    def allow(self, agent: AgentCommand, folder: str = "") -> None:
        """The person has said yes to the command of an agent, and to starting it in a folder if one is given."""
        allowed, folders = self._allowed(), self._folders()
        before = folders.get(agent.name, []) if allowed.get(agent.name) == list(agent.command) else []
        added = [folder] if folder else []
        latest = [*(each for each in before if each not in added), *added][-MOST_FOLDERS:]
        sublime.load_settings(FILE).set("allowed", {**allowed, agent.name: list(agent.command)})
        sublime.load_settings(FILE).set(_FOLDERS, {**folders, agent.name: latest})
        sublime.save_settings(FILE)

    @property
    def last(self) -> str:
        """The agent that was picked last, if it may still be started; empty for none, or for the daemon."""
        last = sublime.load_settings(FILE).get("last")
        return last if isinstance(last, str) and self.allows(last) else ""

    def picked(self, name: str) -> None:
        """Remember what was picked."""
        if sublime.load_settings(FILE).get("last", "") == name:
            return
        sublime.load_settings(FILE).set("last", name)
        sublime.save_settings(FILE)

    @staticmethod
    def _folders() -> dict[str, list[str]]:
        value: Any = sublime.load_settings(FILE).get(_FOLDERS)
        return cast("dict[str, list[str]]", value) if isinstance(value, dict) else {}

    @staticmethod
    def _allowed() -> dict[str, list[str]]:
        value: Any = sublime.load_settings(FILE).get("allowed")
        return cast("dict[str, list[str]]", value) if isinstance(value, dict) else {}
