"""Signing in to an agent on its standard input and output, by one of the ways that it offers."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat, spelled
from ...visible import at_most, shown_line
from .. import package
from ..other_packages import is_installed
from ..panels import PanelItem, choose, say, to_clipboard
from ..terminal import terminals
from ..terminal.terminus import TERMINUS
from .commands import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...backends.parts import Way
    from ..adapter import Adapter
    from .view import ChatView

LOOK = 500
"""Milliseconds between two looks whether a login has ended."""
MOST_LOOKS = 60
"""After so many looks a login that hasn't begun isn't waited for any more."""


def ask_way(adapter: Adapter, chat: ChatView) -> None:
    """Ask the person which way they take, and begin it."""
    ask(adapter, chat, lambda chats: chats.sign_in.methods(chat.id), partial(_choose, adapter, chat))


def _choose(adapter: Adapter, chat: ChatView, ways: Sequence[Way]) -> None:
    if not ways:
        say(chat.window, f"{chat.agent} offers no way to sign in from here. Run its command in a terminal.")
        return
    choices: list[PanelItem] = [(way.name, _details(way), lambda way=way: _begin(adapter, chat, way)) for way in ways]
    choose(chat.window, choices, f"How to sign in to {chat.agent}")


def _details(way: Way) -> str:
    if way.kind == "terminal":
        how = f"in a terminal: {at_most(spelled(shlex.join(way.command)))}"
    elif way.kind == "variables":
        how = f"set {' and '.join(way.variables)}"
    else:
        return way.description
    return f"{way.description} · {how}" if way.description else how


def _begin(adapter: Adapter, chat: ChatView, way: Way) -> None:
    if way.kind == "variables":
        where = f"in the start-up file of your shell, or in “environment” of {chat.agent_key} in the setting “agents”"
        page = f" The value is from {way.page}." if way.page else ""
        say(chat.window, f"Set {' and '.join(way.variables)} {where}. Then click Reconnect in the chat.{page}")
    elif way.kind == "refused":
        say(chat.window, f"This way to sign in is refused. {way.description} Run the agent in a terminal instead.")
    elif way.kind == "terminal":
        if _is_allowed(chat, way):
            _in_terminal(adapter, chat, way)
    else:
        say(chat.window, f"{chat.agent} signs you in. It may open a page in your browser.")
        ask(
            adapter,
            chat,
            lambda chats: chats.sign_in.authenticate(chat.id, way.id),
            lambda _: say(chat.window, f"{chat.agent} says that it is done. The chat asks it again."),
        )


def _is_allowed(chat: ChatView, way: Way) -> bool:
    """Whether the person lets the login have the variables that the agent names; yes if it names none."""
    if not way.given:
        return True
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in way.given.items())
    question = (
        f"Sign in to {flat(chat.agent, 80)} in a terminal?\n\n    {at_most(spelled(shlex.join(way.command)))}\n\n"
        f"with the variables\n\n    {at_most(spelled(given))}"
    )
    return sublime.ok_cancel_dialog(question, "Sign In", "Qwen Companion")


def _in_terminal(adapter: Adapter, chat: ChatView, way: Way) -> None:
    """Run the agent's own login. Without Terminus it is over when the person says so, since only they can see that."""
    if is_installed(TERMINUS):
        title = f"Sign in to {chat.agent}"
        try:
            name = terminals.run_once(chat.window, title, chat.folder, way.environment, list(way.command))
        except LookupError as missing:
            say(chat.window, str(missing))
            return
        say(chat.window, "Sign in there. The chat connects again when that has ended.")
        _Login(adapter, chat, name).look()
    else:
        line = shlex.join(way.command)
        to_clipboard(shown_line(line))
        say(chat.window, f"Run this in a terminal, then click Reconnect in the chat. It is in the clipboard: {line}")


class _Login:
    """A login in a terminal. When it has ended, the chat that wants it connects again, once."""

    def __init__(self, adapter: Adapter, chat: ChatView, name: str) -> None:
        """`name` is that of the terminal."""
        self._adapter = adapter
        self._view = chat.view
        self._name = name
        self._looks = 0

    def look(self) -> None:
        """Look whether it has ended, now and from time to time."""
        if package.adapter() is not self._adapter:
            return
        has_begun = terminals.has_begun(self._name)
        self._looks += 1
        if has_begun and not terminals.is_running_once(self._name):
            self._ended()
        elif has_begun or self._looks < MOST_LOOKS:
            sublime.set_timeout(self.look, LOOK)

    def _ended(self) -> None:
        chat = self._adapter.chats.find(self._view)
        if chat and chat.status.connection.wants_sign_in:
            say(chat.window, f"The login has ended. The chat asks {chat.agent} again.")
            self._adapter.chats.reconnect(chat)
