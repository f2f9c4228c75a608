"""The commands of the chat."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import sublime_plugin

from .. import package
from ..panels import PanelItem, choose
from .clicks import waiting
from .html import CONTINUED
from .opening import choose_folder, have_chat, open_with

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import sublime

    from ...chats.chats import Chats
    from ..adapter import Adapter
    from .view import ChatView

T = TypeVar("T")


def ask(
    adapter: Adapter,
    chat: ChatView,
    question: Callable[[Chats], Coroutine[Any, Any, T]],
    answer: Callable[[T], object],
    failed: Callable[[str], object] | None = None,
) -> None:
    """Ask the companion's chats something that takes a while, as `Adapter.ask_later`."""
    adapter.ask_later(chat.window, lambda companion: question(companion.chats), answer, failed)


def is_chat_on(window: sublime.Window) -> bool:
    """Whether the person has turned on the chat, has picked an agent, or has a chat open in the window."""
    adapter = package.adapter()
    if adapter is None:
        return False
    return bool(adapter.settings.value("daemon.enabled") or adapter.consent.last or adapter.chats.within(window))


class _ChatCommand(sublime_plugin.WindowCommand):
    """A command for the chat of the window that has the focus, or had it last."""

    opens_chat = False
    """Whether the command opens the chat first if the window has none."""
    begins = False
    """Whether the palette and the menus have it without a chat, too, once the chat is on."""
    needs = ""
    """The part of a back end without which the command can do nothing (`Status.lacks`)."""

    def is_enabled(self) -> bool:
        """Whether there is a chat for which it makes sense, or one may be opened."""
        chat = self.chat()
        return self.opens_chat if chat is None else self.makes_sense(chat)

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether the command can do something now."""
        return True

    def is_visible(self) -> bool:
        """Whether it can do something now, and the chat's agent can do it at all, as far as is known."""
        chat = self.chat()
        if chat is None:
            return self.begins and is_chat_on(self.window)
        return self.is_enabled() and self.needs not in chat.status.lacks

    def chat(self) -> ChatView | None:
        """The chat that the command is for."""
        adapter = package.adapter()
        return adapter.chats.of(self.window) if adapter else None

    def run(self) -> None:
        """Do it."""
        if self.opens_chat:
            have_chat(self.window, self.on_chat)
        elif (adapter := package.adapter()) and (chat := adapter.chats.of(self.window)):
            self.on_chat(adapter, chat)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """What the command does."""
        raise NotImplementedError


class QwenCompanionChatCommand(sublime_plugin.WindowCommand):
    """Go to the chat that had the focus last, or open one."""

    def run(self) -> None:
        """The focus goes to its prompt."""
        have_chat(self.window, lambda adapter, chat: adapter.chats.go_to(chat))


class QwenCompanionChatWithCommand(sublime_plugin.WindowCommand):
    """Open a further chat, with an agent that the person picks."""

    def run(self) -> None:
        """Ask which."""
        open_with(self.window)

    def is_visible(self) -> bool:
        """Whether the chat is on: “Chat” turns it on, and asks for the agent too."""
        return is_chat_on(self.window)


class QwenCompanionChatSendCommand(sublime_plugin.WindowCommand):
    """Send a prompt."""

    def run(self, text: str | None = None, mid_turn: bool = False) -> None:
        """`text`, or the content of the prompt; with `mid_turn` into the running turn, if there is one."""
        have_chat(self.window, lambda adapter, chat: adapter.chats.sender.send(chat, text, mid_turn=mid_turn))

    def is_visible(self, text: str | None = None, mid_turn: bool = False) -> bool:
        """Whether there is something to send."""
        adapter = package.adapter()
        chat = adapter.chats.of(self.window) if adapter else None
        return chat is not None and bool(text or chat.text.prompt.strip())


class QwenCompanionChatCancelCommand(_ChatCommand):
    """End the turn that runs, or the start of an agent."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether one runs."""
        return chat.status.running is not None or chat.status.connection.can_be_cancelled

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon."""
        adapter.chats.cancel(chat)


class QwenCompanionChatContinueCommand(_ChatCommand):
    """Continue the last turn, which was interrupted or has failed."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is one."""
        return chat.status.last in CONTINUED

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon."""
        adapter.chats.clicks.do(chat, "go_on")


class QwenCompanionChatEarlierCommand(_ChatCommand):
    """Show earlier turns of a long conversation."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there are any."""
        return chat.status.has_earlier

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask for a page of them."""
        adapter.chats.clicks.do(chat, "show_earlier")


class QwenCompanionChatLeaveOutCommand(_ChatCommand):
    """Leave out the active file and its selection, which would go with the prompt by themselves."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether they would."""
        return chat.context is not None

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Until another file is active."""
        chat.leave_out()


class QwenCompanionChatReconnectCommand(_ChatCommand):
    """Connect again now."""

    def is_visible(self) -> bool:
        """Whether the connection is lost; a key connects anew at any time."""
        chat = self.chat()
        return chat is not None and chat.status.connection.state != "live"

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The conversation stays."""
        adapter.chats.reconnect(chat)


class QwenCompanionChatNewCommand(_ChatCommand):
    """Begin a new conversation with the same agent, in the same tab."""

    opens_chat = True

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The one before stays in the list."""
        adapter.chats.begin(chat)


class QwenCompanionChatFolderCommand(_ChatCommand):
    """Have the chat work in another folder of the window."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is another folder."""
        return any(folder != chat.folder for folder in chat.window.folders())

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which. The conversation of the other folder, or a new one, is shown then."""
        choose_folder(chat.window, chat.folder, partial(adapter.chats.move, chat), "current")


class QwenCompanionChatLinksCommand(_ChatCommand):
    """Use one of the links of the chat without the mouse."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is one."""
        adapter = package.adapter()
        return adapter is not None and bool(adapter.chats.clicks.links(chat))

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        choices: list[PanelItem] = [
            (item.caption, item.line, partial(adapter.chats.clicks.do, chat, item.href))
            for item in adapter.chats.clicks.links(chat)
        ]
        choose(chat.window, choices, "The links of the chat")


class QwenCompanionChatAnswerCommand(sublime_plugin.WindowCommand):
    """Answer the oldest permission of the chat that has the focus, or had it last; or of one that the person picks."""

    def run(self, kind: str = "", number: int = 0) -> None:
        """`kind` is that of an option: allow_once, allow_always, reject_once or reject_always.

        `number` takes one of the answers that are offered, from 1.
        """
        adapter = package.adapter()
        chat = adapter.chats.of(self.window) if adapter else None
        if adapter is None or chat is None:
            return
        if waiting(chat):
            if number:
                adapter.chats.clicks.choose(chat, number)
            else:
                adapter.chats.clicks.answer(chat, kind)
            return
        # Another chat is never answered without its question being seen.
        choices: list[PanelItem] = [
            (permission.title, each.agent, partial(adapter.chats.clicks.answer, each, kind))
            for each in adapter.chats.within(self.window)
            if (permission := waiting(each))
        ]
        choose(self.window, choices, "What other chats of this window ask")

    def is_enabled(self, kind: str = "", number: int = 0) -> bool:
        """Whether one waits."""
        adapter = package.adapter()
        return adapter is not None and any(map(waiting, adapter.chats.within(self.window)))
