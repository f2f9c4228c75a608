"""How a chat is opened: whether the person wants it, with which agent, and in which folder."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import sublime

from ...agents import DAEMON_AGENT
from ...backends.daemon.address import resolve, starts_own
from ...backends.daemon.errors import DaemonError
from ...settings import FILE
from ...visible import shown_line
from .. import package
from ..own_views import VIEWS
from ..panels import PanelItem, choose, say, to_clipboard
from ..windows import is_folder_of
from .chats import FOLDER

if TYPE_CHECKING:
    from ...agents import AgentCommand
    from ...settings import DaemonSettings
    from ..adapter import Adapter
    from .view import ChatView

NO_FOLDER = "Open a folder first: a chat works in a folder of its window."


def have_chat(window: sublime.Window, then: Callable[[Adapter, ChatView], object]) -> None:
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
        if agent or _is_wanted(adapter, window):
            # After the companion has got the settings.
            sublime.set_timeout(lambda: _open(adapter, window, agent, then))

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


def _open(adapter: Adapter, window: sublime.Window, agent: str, then: Callable[[Adapter, ChatView], object]) -> None:
    """Open a chat; or go on with one from before a restart, which may be one now."""
    if chat := adapter.chats.last(window):
        then(adapter, chat)
        return

    def picked(folder: str) -> None:
        if _is_allowed(adapter, agent, folder):
            then(adapter, adapter.chats.open(window, folder, agent))

    _pick_folder(window, picked)


def _is_allowed(adapter: Adapter, name: str, folder: str) -> bool:
    """Whether the person allows an agent in a folder; they may be asked. It is the one that was picked last then."""
    agent = adapter.consent.find(name) if name else None
    if name and (agent is None or not adapter.consent.ask(agent, folder)):
        return False
    adapter.consent.picked(name)
    return True


def open_with(window: sublime.Window) -> None:
    """Ask for an agent, and begin a conversation with it in a further tab."""
    adapter = package.adapter()
    if adapter is None:
        return

    def picked(agent: str) -> None:
        if agent or _is_wanted(adapter, window):
            sublime.set_timeout(lambda: opened(agent))

    def opened(agent: str) -> None:
        def begin(folder: str) -> None:
            if _is_allowed(adapter, agent, folder):
                adapter.chats.open(window, folder, agent, is_new=True)

        chat = adapter.chats.of(window)
        if chat and is_folder_of(window, chat.folder):
            begin(chat.folder)
        else:
            _pick_folder(window, begin)

    def ask(found: list[str] | None) -> None:
        here = {chat.agent_key for chat in adapter.chats.within(window)}
        offer(adapter, window, found or [], picked, here)

    adapter.ask_later(window, lambda companion: companion.chats.programs(), ask)


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
