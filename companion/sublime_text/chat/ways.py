"""Signing in to an agent on its standard input and output, by one of the ways that it offers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import sublime

from ..panels import PanelItem, choose, say
from ..terminal import terminals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...acp.signing import Way
    from ..adapter import Adapter
    from .view import ChatView


def ask_way(adapter: Adapter, chat: ChatView) -> None:
    """Ask the person which way they take, and begin it."""
    number = chat.id
    adapter.ask_later(
        chat.window,
        lambda companion: companion.chats.sign_in_ways(number),
        lambda ways: _choose(adapter, chat, ways),
    )


def _choose(adapter: Adapter, chat: ChatView, ways: Sequence[Way]) -> None:
    if not ways:
        say(chat.window, f"{chat.agent} offers no way to sign in from here. Run its command in a terminal.")
        return
    choices: list[PanelItem] = [(way.name, _details(way), lambda way=way: _begin(adapter, chat, way)) for way in ways]
    choose(chat.window, choices, f"How to sign in to {chat.agent}")


def _details(way: Way) -> str:
    if way.kind == "terminal":
        how = f"in a terminal: {shlex.join(way.command)}"
    elif way.kind == "variables":
        how = f"set {' and '.join(way.variables)}"
    else:
        return way.description
    return f"{way.description} · {how}" if way.description else how


def _begin(adapter: Adapter, chat: ChatView, way: Way) -> None:
    number = chat.id
    if way.kind == "variables":
        where = f"in the start-up file of your shell, or in “environment” of {chat.agent_key} in the setting “agents”"
        page = f" The value is from {way.page}." if way.page else ""
        say(chat.window, f"Set {' and '.join(way.variables)} {where}. Then click Reconnect in the chat.{page}")
    elif way.kind == "terminal":
        _in_terminal(chat, way)
    else:
        say(chat.window, f"{chat.agent} signs you in. It may open a page in your browser.")
        adapter.ask_later(
            chat.window,
            lambda companion: companion.chats.sign_in_by(number, way.id),
            lambda _: say(chat.window, f"You are signed in to {chat.agent}."),
        )


def _in_terminal(chat: ChatView, way: Way) -> None:
    """Run the agent's own login. It is over when the person says so, since only they can see that."""
    if terminals.is_installed():
        terminals.run_once(chat.window, f"Sign in to {chat.agent}", chat.folder, way.environment, list(way.command))
        say(chat.window, "Sign in there. Then click Reconnect in the chat.")
    else:
        line = shlex.join(way.command)
        sublime.set_clipboard(line)
        say(chat.window, f"Run this in a terminal, then click Reconnect in the chat. It is in the clipboard: {line}")
