"""How a chat is opened: whether the person wants it, with which agent, and in which folder.

The person says yes to the command of an agent before it is ever started, once for each folder.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import sublime

from ...agents import DAEMON_AGENT, named_variables
from ...backends.daemon.address import resolve, starts_own
from ...backends.daemon.errors import DaemonError
from ...chats.transcript.plain import flat, spelled
from ...json_text import as_object
from ...platforms.paths import path_key
from ...settings import FILE
from ...visible import at_most, shown_line
from .. import package
from ..own_views import VIEWS
from ..panels import PanelItem, choose, say, to_clipboard
from ..windows import is_folder_of

if TYPE_CHECKING:
    from ...agents import AgentCommand
    from ...settings import DaemonSettings
    from ..adapter import Adapter
    from ..settings import SettingsFile
    from .view import ChatView


FOLDER = "chat folder"
"""Remembered of a window: the folder of its latest chat."""
NO_FOLDER = "Open a folder first: a chat works in a folder of its window."

AGENTS_FILE = "QwenCompanion Agents.sublime-settings"
"""Keeps what the person has said yes to and what they have installed, in their own Packages/User."""

MOST_LISTED = 10
"""MCP servers in the question."""
LISTED = 500
"""Characters of each."""
_ALLOWED = "allowed"
"""There: the command of each agent that the person has said yes to."""
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

    def __init__(self, settings: SettingsFile) -> None:
        self._settings = settings

    def find(self, name: str) -> AgentCommand | None:
        """The agent of a name, as the settings have it now."""
        return next((agent for agent in self._settings.daemon().agents if agent.name == name), None)

    def letter(self, name: str) -> str:
        """What stands for an agent where there is little room; for the daemon's agent if none is named."""
        agent = self.find(name or DAEMON_AGENT)
        return agent.icon if agent else (name or DAEMON_AGENT)[:1].upper()

    def allows(self, name: str, folder: str = "") -> bool:
        """Whether the person has said yes to an agent with its present command, in a folder if one is given."""
        agent = self.find(name)
        allowed = agent is not None and self._kept(_ALLOWED).get(name) == list(agent.command)
        allowed = allowed and (not folder or path_key(folder) in map(path_key, self._kept(_FOLDERS).get(name, ())))
        return allowed and self._words == sublime.load_settings(AGENTS_FILE).get(_SERVERS, [])

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
        sublime.load_settings(AGENTS_FILE).set(_SERVERS, words)
        self.allow(agent, folder)
        return True

    @property
    def _words(self) -> list[str]:
        """The MCP servers that every agent gets, each as the person sees it."""
        return [server.words for server in self._settings.daemon().agents_mcp_servers]

    def allow(self, agent: AgentCommand, folder: str = "") -> None:
        """The person has said yes to the command of an agent, and to starting it in a folder if one is given."""
        allowed, folders = self._kept(_ALLOWED), self._kept(_FOLDERS)
        before = folders.get(agent.name, []) if allowed.get(agent.name) == list(agent.command) else []
        added = [folder] if folder else []
        latest = [*(each for each in before if each not in added), *added][-MOST_FOLDERS:]
        sublime.load_settings(AGENTS_FILE).set(_ALLOWED, {**allowed, agent.name: list(agent.command)})
        sublime.load_settings(AGENTS_FILE).set(_FOLDERS, {**folders, agent.name: latest})
        sublime.save_settings(AGENTS_FILE)

    @property
    def last(self) -> str:
        """The agent that was picked last, if it may still be started; empty for none, or for the daemon."""
        last = sublime.load_settings(AGENTS_FILE).get("last")
        return last if isinstance(last, str) and self.allows(last) else ""

    def picked(self, name: str) -> None:
        """Remember what was picked."""
        if sublime.load_settings(AGENTS_FILE).get("last", "") == name:
            return
        sublime.load_settings(AGENTS_FILE).set("last", name)
        sublime.save_settings(AGENTS_FILE)

    @staticmethod
    def _kept(name: str) -> dict[str, list[str]]:
        return as_object(sublime.load_settings(AGENTS_FILE).get(name))


Opened = Callable[["Adapter", "ChatView"], object]


def have_chat(window: sublime.Window, then: Opened) -> None:
    """Call `then` with the chat that commands are for, after opening one if the window has none.

    The person may be asked first and may decline.
    """
    adapter = package.adapter()
    if adapter is None:
        return
    if chat := adapter.chats.last(window):
        then(adapter, chat)
        return

    def begin(agent: str) -> None:
        _begin(adapter, window, agent, then)

    def ask(found: list[str] | None) -> None:
        if found:
            offer(adapter, window, found, begin)
        else:
            begin("")

    if (last := adapter.consent.last) or adapter.settings.value("chat_enabled"):
        begin(last)
    else:
        # Nothing was picked or turned on yet.
        adapter.ask_later(window, lambda companion: companion.chats.programs(), ask)


def open_with(window: sublime.Window) -> None:
    """Ask for an agent, and begin a conversation with it in a further tab."""
    adapter = package.adapter()
    if adapter is None:
        return

    def ask(found: list[str] | None) -> None:
        here = {chat.agent_key for chat in adapter.chats.within(window)}
        offer(adapter, window, found or [], lambda agent: _begin(adapter, window, agent), here)

    adapter.ask_later(window, lambda companion: companion.chats.programs(), ask)


def _begin(adapter: Adapter, window: sublime.Window, agent: str, then: Opened | None = None) -> None:
    """Open a chat with an agent if the person wants one; a further one unless somebody waits for it (`then`)."""

    def opened(folder: str) -> None:
        if _is_allowed(adapter, agent, folder):
            chat = adapter.chats.open(window, folder, agent, is_new=then is None)
            if then:
                then(adapter, chat)

    def begin() -> None:
        chat = adapter.chats.last(window) if then else adapter.chats.of(window)
        if then and chat:
            then(adapter, chat)  # from before a restart, which may be one now
        elif chat and is_folder_of(window, chat.folder):
            opened(chat.folder)
        else:
            _pick_folder(window, opened)

    if agent or _is_wanted(adapter, window):
        # After the companion has got the settings.
        sublime.set_timeout(begin)


def _is_allowed(adapter: Adapter, name: str, folder: str) -> bool:
    """Whether the person allows an agent in a folder; they may be asked. It is the one that was picked last then.

    An instance of the package that was unloaded while it asked for the agent or the folder opens no chat.
    """
    if package.adapter() is not adapter:
        return False
    agent = adapter.consent.find(name) if name else None
    if name and (agent is None or not adapter.consent.ask(agent, folder)):
        return False
    adapter.consent.picked(name)
    return True


def _is_wanted(adapter: Adapter, window: sublime.Window) -> bool:
    """Whether the chat is on. If not, the person is asked to turn it on."""
    if adapter.settings.value("chat_enabled"):
        return True
    try:
        where = _where(adapter.settings.daemon())
    except DaemonError as error:
        say(window, str(error))
        return False
    if not sublime.ok_cancel_dialog(
        f"The chat with {DAEMON_AGENT} is turned off.\n\n{where}", "Turn On", "QwenCompanion"
    ):
        return False
    if adapter.settings.keep("chat_enabled", True):
        return True
    say(window, f"Your {FILE} has a syntax error: mend it first.")
    return False


def _where(settings: DaemonSettings) -> str:
    """What the person consents to: where Qwen Code runs.

    Raises:
        DaemonError: the address of the daemon can't be used.
    """
    if starts_own(managed=settings.managed, url=settings.url, environment=os.environ):
        return (
            "It runs `qwen serve` for this window on this computer, which takes about 500 MB of memory until the "
            "window closes."
        )
    address = resolve(url=settings.url, environment=os.environ)
    whose = address.warning or "Files, commands and keys are those of the machine on which that runs."
    return f"It talks to the `qwen serve` at {address.url}. {whose}"


def _pick_folder(window: sublime.Window, picked: Callable[[str], object]) -> None:
    folders = window.folders()
    remembered = str(VIEWS.remembered(window, FOLDER) or "")
    if not folders:
        say(window, NO_FOLDER)
    elif len(folders) == 1:
        picked(folders[0])
    else:
        choose_folder(window, remembered, picked)


def choose_folder(window: sublime.Window, before: str, picked: Callable[[str], object], mark: str = "") -> None:
    """Ask for a folder of a window. The one from before is selected, and has the mark."""
    folders = window.folders()
    choices: list[PanelItem] = [(PurePath(each).name or each, each, partial(picked, each)) for each in folders]
    selected = folders.index(before) if before in folders else -1
    marks = [mark if at == selected else "" for at in range(len(folders))]
    choose(window, choices, "The folder to chat about", selected=selected, annotations=marks)


# Which agent a chat is with

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
    choices += [(agent.name, _how_to_install(agent), lambda agent=agent: _install(window, agent)) for agent in missing]
    choices.append((INSTALL, INSTALL_DETAILS, lambda: window.run_command("qwen_companion_install_agent")))
    marks = ["open" if name in here else "" for name in names] + ["not found"] * len(missing)
    choose(window, choices, "The agent to chat with", annotations=marks)


def _how_to_install(agent: AgentCommand) -> str:
    return f"Install it: {agent.install}" if agent.install else f"There is no program “{agent.command[0]}”"


def _install(window: sublime.Window, agent: AgentCommand) -> None:
    if agent.install:
        to_clipboard(shown_line(agent.install))
        say(window, f"{agent.name} is not found. The command that installs it is in the clipboard: {agent.install}")
    else:
        say(window, f"{agent.name} is not found: there is no program “{agent.command[0]}”.")
