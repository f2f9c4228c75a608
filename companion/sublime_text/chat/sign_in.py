"""The command that signs in. At a provider of models: the code and the link in a tab, until it is done."""

from __future__ import annotations

import shlex
import time
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat, spelled
from ...platforms.programs import browse
from ...visible import at_most, shown_line
from .. import package
from ..package_control import is_installed
from ..panels import Page, PanelItem, choose, say, to_clipboard
from ..terminal import terminals
from ..terminal.terminals import TERMINUS
from . import html
from .chat_commands import _ChatCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...backends.agent import SigningIn, Way
    from ..adapter import Adapter
    from .view import ChatView


SHOWN = "sign_in"
"""In the record of the page: the id of the sign-in."""
BUTTONS = "qwen_companion.sign_in"
NOWHERE = "The daemon knows no provider where you can sign in. Set a key in its environment."
SIGN_OUT = "Sign out of {agent}? Its other chats and its own program are signed out, too."
SIGNED_OUT = "{agent} says that you are signed out. It is started again."
STAYS = "{agent} says that you are signed out. It may go on with what it has in memory until you close the chat."
SOONEST = 1.0
"""Seconds between two questions how far it is, at least."""


class QwenCompanionChatSignInCommand(_ChatCommand):
    """Sign in at a provider of models."""

    opens_chat = True

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask where if there are several, or how if the agent isn't the daemon's."""
        if chat.agent_key:
            chat.ask(lambda own: own.sign_in.methods(), partial(_choose_way, adapter, chat))
        else:
            chat.ask(lambda own: own.sign_in.providers(), partial(_choose, chat))


class QwenCompanionChatSignOutCommand(_ChatCommand):
    """Sign out of the agent, after a question. Its other chats and its own program are signed out, too."""

    needs = "sign_out"

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether the agent is there, and no turn runs."""
        return chat.status.connection.state == "live" and chat.status.running is None

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask, since it counts beyond this chat."""
        if sublime.ok_cancel_dialog(SIGN_OUT.format(agent=flat(chat.agent, 80)), "Sign Out", "QwenCompanion"):
            chat.ask(
                lambda own: own.sign_in.sign_out(),
                lambda is_restarted: say(chat.window, (SIGNED_OUT if is_restarted else STAYS).format(agent=chat.agent)),
            )


def _choose(chat: ChatView, providers: Sequence[str]) -> None:
    if not providers:
        say(chat.window, NOWHERE)
    elif len(providers) == 1:
        _begin(chat, providers[0])
    else:
        choices: list[PanelItem] = [(each, "", partial(_begin, chat, each)) for each in providers]
        choose(chat.window, choices, "Where to sign in")


def _begin(chat: ChatView, provider: str) -> None:
    chat.ask(lambda own: own.sign_in.begin(provider), partial(_SignIn, chat))


class _SignIn:
    """A sign-in in a tab of its own. Closing the tab gives it up."""

    def __init__(self, chat: ChatView, begun: SigningIn) -> None:
        self._chat = chat
        self._begun = begun
        self._page = Page(chat.window, "sign-in", "Qwen: Sign In")
        self._page.record.keep(**{SHOWN: begun.id})
        self._buttons = sublime.PhantomSet(self._page.view, BUTTONS)
        self._show(begun)

    def _is_shown(self, text: str | None = None) -> bool:
        """Whether the page is still there; it has this text then. A sign-in whose page was closed is given up."""
        is_shown = self._page.is_open and self._page.record.get(SHOWN) == self._begun.id
        if not is_shown:
            self._give_up()
        elif text is not None:
            self._page.show(text)
        return is_shown

    def _show(self, now: SigningIn) -> None:
        if not self._is_shown(_text(self._begun, now)):
            return
        if now.state == "pending":
            content = html.sign_in(has_page=bool(self._begun.page))
            end = sublime.Region(self._page.view.size())
            self._buttons.update([sublime.Phantom(end, content, sublime.PhantomLayout.BLOCK, self._clicked)])
            self._look_soon(now)
        else:
            self._buttons.update([])

    def _look_soon(self, now: SigningIn) -> None:
        sublime.set_timeout(self._look, int(1000 * max(SOONEST, now.interval)))

    def _show_trouble(self, why: str) -> None:
        """It isn't known how far it is. The daemon may answer again, and the code is good until it expires."""
        text = f"{_text(self._begun, self._begun)}\n{why}\n"
        if self._is_shown(text) and (not self._begun.expires or time.time() < self._begun.expires):
            self._look_soon(self._begun)

    def _look(self) -> None:
        if self._is_shown():
            self._chat.ask(lambda own: own.sign_in.progress(self._begun.id), self._show, self._show_trouble)

    def _give_up(self) -> None:
        cancelled = lambda _: say(self._chat.window, "The sign-in was cancelled.")  # noqa: E731
        self._chat.ask(lambda own: own.sign_in.cancel(self._begun.id), cancelled, lambda _: None)

    def _clicked(self, href: str) -> None:
        if href == "open":
            browse(self._begun.page)
        elif href == "copy":
            to_clipboard(shown_line(self._begun.code))
            say(self._chat.window, "Copied.")


def _text(begun: SigningIn, now: SigningIn) -> str:
    """The page. What the person does is known from the beginning; how far it is, from now."""
    lines = [f"# Sign in at {begun.provider}", ""]
    if now.state == "authorized":
        return "\n".join([*lines, "You are signed in. The next prompt uses it.", ""])
    if now.state == "failed":
        return "\n".join([*lines, f"The sign-in has failed: {now.why}. Run the command again to begin anew.", ""])
    lines += [f"1. Open {begun.page or 'the page of the provider'}", f"2. Enter this code: {begun.code}", ""]
    until = f" until {datetime.fromtimestamp(begun.expires).astimezone():%H:%M}" if begun.expires else ""
    return "\n".join([*lines, f"The daemon waits for you{until}. Closing this tab cancels the sign-in.", ""])


LOOK = 500
"""Milliseconds between two looks whether a login has ended."""
MOST_LOOKS = 60
"""After so many looks a login that hasn't begun isn't waited for any more."""


def _choose_way(adapter: Adapter, chat: ChatView, ways: Sequence[Way]) -> None:
    if not ways:
        say(chat.window, f"{chat.agent} offers no way to sign in from here. Run its command in a terminal.")
        return
    choices: list[PanelItem] = [
        (way.name, _way_details(way), lambda way=way: _take_way(adapter, chat, way)) for way in ways
    ]
    choose(chat.window, choices, f"How to sign in to {chat.agent}")


def _way_details(way: Way) -> str:
    if way.kind == "terminal":
        how = f"in a terminal: {at_most(spelled(shlex.join(way.command)))}"
    elif way.kind == "variables":
        how = f"set {' and '.join(way.variables)}"
    else:
        return way.description
    return f"{way.description} · {how}" if way.description else how


def _take_way(adapter: Adapter, chat: ChatView, way: Way) -> None:
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
        chat.ask(
            lambda own: own.sign_in.authenticate(way.id),
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
    return sublime.ok_cancel_dialog(question, "Sign In", "QwenCompanion")


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
        if has_begun and not terminals.is_running(self._name):
            self._ended()
        elif has_begun or self._looks < MOST_LOOKS:
            sublime.set_timeout(self.look, LOOK)

    def _ended(self) -> None:
        chat = self._adapter.chats.find(self._view)
        if chat and chat.status.connection.wants_sign_in:
            say(chat.window, f"The login has ended. The chat asks {chat.agent} again.")
            self._adapter.chats.reconnect(chat)
