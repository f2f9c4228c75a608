"""The panel in which the person picks the agent that a chat is with."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

import sublime

from ...agents import DAEMON_AGENT
from ...visible import shown_line
from ..panels import PanelItem, choose, say, to_clipboard

if TYPE_CHECKING:
    from ...agents import AgentCommand
    from ..adapter import Adapter

DAEMON = f"{DAEMON_AGENT}, by its daemon"
DAEMON_DETAILS = f"qwen serve · for everything that {DAEMON_AGENT} can do in a chat"

INSTALL = "Install an Agent…"
INSTALL_DETAILS = "from the registry of the Agent Client Protocol"


def offer(
    adapter: Adapter,
    window: sublime.Window,
    is_there: list[str],
    picked: Callable[[str], object],
    here: Collection[str] = (),
) -> None:
    """Ask which agent a chat is to be with. `picked` gets its name, which is empty for the daemon.

    `is_there` are the names of those whose program was found. The others tell how they are installed. `here` are those
    that the window has a chat with.
    """
    agents = adapter.settings.daemon().agents
    there = [agent for agent in agents if agent.name in is_there]
    missing = [agent for agent in agents if agent.name not in is_there]

    choices: list[PanelItem] = [(agent.name, shlex.join(agent.command), partial(picked, agent.name)) for agent in there]
    choices.append((DAEMON, DAEMON_DETAILS, partial(picked, "")))
    names = [*(agent.name for agent in there), ""]
    choices += [(agent.name, _how(agent), lambda agent=agent: _install(window, agent)) for agent in missing]
    choices.append((INSTALL, INSTALL_DETAILS, lambda: window.run_command("qwen_companion_install_agent")))
    marks = ["open" if name in here else "" for name in names] + ["not found"] * len(missing)
    choose(window, choices, "The agent to chat with", annotations=marks)


def _how(agent: AgentCommand) -> str:
    return f"Install it: {agent.install}" if agent.install else f"There is no program “{agent.command[0]}”"


def _install(window: sublime.Window, agent: AgentCommand) -> None:
    if agent.install:
        to_clipboard(shown_line(agent.install))
        say(window, f"{agent.name} is not found. The command that installs it is in the clipboard: {agent.install}")
    else:
        say(window, f"{agent.name} is not found: there is no program “{agent.command[0]}”.")
