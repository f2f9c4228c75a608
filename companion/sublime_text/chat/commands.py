"""The commands of the chat."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ...conversation.snapshot import DAEMON_AGENT
from ...daemon.address import resolve, starts_own
from ...daemon.errors import DaemonError
from ...settings import FILE
from .. import package
from ..panels import PanelItem, choose, say
from ..windows import CHAT_FOLDER_SETTING, is_chat
from .agents import offer
from .chats import waiting
from .html import CONTINUED

if TYPE_CHECKING:
    from ...settings import DaemonSettings
    from ..adapter import Adapter
    from .view import ChatView

NO_FOLDER = "Open a folder first: a chat works in a folder of its window."


class QwenCompanionChatEditCommand(sublime_plugin.TextCommand):
    """Replace parts of a view by texts, as one edit."""

    def run(self, edit: sublime.Edit, edits: list[list[Any]]) -> None:
        """`edits` are start, end and text; the points of each are those after the edits before it."""
        for start, end, text in edits:
            if start == end:
                self.view.insert(edit, start, text)
            else:
                self.view.replace(edit, sublime.Region(start, end), text)

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False


class QwenCompanionChatHomeCommand(sublime_plugin.TextCommand):
    """Go to the beginning of the line, or of the prompt in it."""

    def run(self, edit: sublime.Edit, extend: bool = False) -> None:
        """With `extend`, select up to there."""
        adapter = package.adapter()
        if adapter is None or (chat := adapter.chats.find(self.view)) is None:
            return
        moved: list[sublime.Region] = []
        for region in self.view.sel():
            start = self.view.line(region.b).begin()
            start = max(start, chat.text.length) if region.b >= chat.text.length else start
            moved.append(sublime.Region(region.a if extend else start, start))
        self.view.sel().clear()
        self.view.sel().add_all(moved)

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False


class _ChatCommand(sublime_plugin.WindowCommand):
    """A command for the window's chat."""

    opens_chat = False
    """Whether the command opens the chat first if the window has none."""

    def is_enabled(self) -> bool:
        """Whether there is a chat for which it makes sense, or one may be opened."""
        chat = self.chat()
        return self.opens_chat if chat is None else self.makes_sense(chat)

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether the command can do something now."""
        return True

    def chat(self) -> ChatView | None:
        """The window's chat."""
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


def have_chat(window: sublime.Window, then: Callable[[Adapter, ChatView], object]) -> None:
    """Open the window's chat if needed, then call `then`. The person may be asked first and may decline."""
    adapter = package.adapter()
    if adapter is None:
        return
    if chat := adapter.chats.of(window):
        then(adapter, chat)
        return

    def begin(agent: str) -> None:
        if agent or _is_wanted(adapter, window):
            opened = lambda folder: then(adapter, adapter.chats.open(window, folder, agent))  # noqa: E731
            # After the companion has got the settings.
            sublime.set_timeout(lambda: _pick_folder(window, opened))

    def ask(found: list[str] | None) -> None:
        if found:
            offer(adapter, window, found, begin)
        else:
            begin("")

    if (last := adapter.consent.last) or adapter.settings.value("daemon.enabled"):
        begin(last)
    else:
        # Nothing was picked or turned on yet.
        adapter.ask_later(window, lambda companion: companion.chats.programs(), ask)


def _is_wanted(adapter: Adapter, window: sublime.Window) -> bool:
    """Whether the chat is on. If not, the person is asked to turn it on."""
    if adapter.settings.value("daemon.enabled"):
        return True
    try:
        where = _where(adapter.settings.daemon())
    except DaemonError as error:
        say(window, str(error))
        return False
    if not sublime.ok_cancel_dialog(
        f"The chat with {DAEMON_AGENT} is turned off.\n\n{where}", "Turn On", "Qwen Companion"
    ):
        return False
    sublime.load_settings(FILE).set("daemon.enabled", True)
    sublime.save_settings(FILE)
    return True


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
    address = resolve(url=settings.url, token=settings.token, environment=os.environ)
    whose = address.warning or "Files, commands and keys are those of the machine on which that runs."
    return f"It talks to the `qwen serve` at {address.url}. {whose}"


def _pick_folder(window: sublime.Window, picked: Callable[[str], object]) -> None:
    folders = window.folders()
    remembered = window.settings().get(CHAT_FOLDER_SETTING)
    if not folders:
        say(window, NO_FOLDER)
    elif len(folders) == 1 or any(map(is_chat, window.views())):
        picked(folders[0])  # A chat from before a restart keeps its own.
    else:
        choices: list[PanelItem] = [
            (PurePath(folder).name or folder, folder, lambda folder=folder: picked(folder)) for folder in folders
        ]
        selected = folders.index(remembered) if remembered in folders else -1
        choose(window, choices, "The folder to chat about", selected=selected)


class QwenCompanionChatCommand(sublime_plugin.WindowCommand):
    """Open the window's chat, or go to it."""

    def run(self) -> None:
        """The focus goes to its prompt."""
        have_chat(self.window, lambda adapter, chat: adapter.chats.open(self.window, chat.folder))


class QwenCompanionChatWithCommand(sublime_plugin.WindowCommand):
    """Begin a new conversation with an agent that the person picks."""

    def run(self) -> None:
        """Ask which."""
        adapter = package.adapter()
        if adapter is None:
            return
        chat = adapter.chats.of(self.window)

        def picked(agent: str) -> None:
            if not agent and not _is_wanted(adapter, self.window):
                return
            if chat := adapter.chats.of(self.window):
                adapter.chats.switch(chat, agent)
            else:
                sublime.set_timeout(
                    lambda: _pick_folder(self.window, lambda folder: adapter.chats.open(self.window, folder, agent))
                )

        def ask(found: list[str] | None) -> None:
            offer(adapter, self.window, found or [], picked, chat.agent_key if chat else "-")

        adapter.ask_later(self.window, lambda companion: companion.chats.programs(), ask)


class QwenCompanionChatSendCommand(sublime_plugin.WindowCommand):
    """Send a prompt."""

    def run(self, text: str | None = None, mid_turn: bool = False) -> None:
        """`text`, or the content of the prompt; with `mid_turn` into the running turn, if there is one."""
        have_chat(self.window, lambda adapter, chat: adapter.chats.send(chat, text, mid_turn=mid_turn))


class QwenCompanionChatCancelCommand(_ChatCommand):
    """End the turn that runs."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether one runs."""
        return chat.render is not None and chat.render.status.running is not None

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon."""
        adapter.chats.cancel(chat)


class QwenCompanionChatContinueCommand(_ChatCommand):
    """Continue the last turn, which was interrupted or has failed."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is one."""
        return chat.render is not None and chat.render.status.last in CONTINUED

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon."""
        adapter.chats.go_on(chat)


class QwenCompanionChatEarlierCommand(_ChatCommand):
    """Show earlier turns of a long conversation."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there are any."""
        return chat.render is not None and chat.render.status.has_earlier

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask for a page of them."""
        adapter.chats.show_earlier(chat)


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

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The conversation stays."""
        adapter.chats.reconnect(chat)


class QwenCompanionChatNewCommand(_ChatCommand):
    """Begin a new conversation."""

    opens_chat = True

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The one before stays in the list."""
        begin(adapter, chat)


class QwenCompanionChatFolderCommand(_ChatCommand):
    """Have the chat work in another folder of the window."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is another folder."""
        return any(folder != chat.folder for folder in chat.window.folders())

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which. The conversation of the other folder, or a new one, is shown then."""
        folders = chat.window.folders()
        choices: list[PanelItem] = [
            (PurePath(folder).name or folder, folder, lambda folder=folder: adapter.chats.move(chat, folder))
            for folder in folders
        ]
        selected = folders.index(chat.folder) if chat.folder in folders else -1
        marks = ["current" if at == selected else "" for at in range(len(folders))]
        choose(chat.window, choices, "The folder to chat about", selected=selected, annotations=marks)


class QwenCompanionChatLinksCommand(_ChatCommand):
    """Use one of the links of the chat without the mouse."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there is one."""
        adapter = package.adapter()
        return adapter is not None and bool(adapter.chats.links(chat))

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        choices: list[PanelItem] = [
            (item.caption, item.line, partial(adapter.chats.use_link, chat, item)) for item in adapter.chats.links(chat)
        ]
        choose(chat.window, choices, "The links of the chat")


class QwenCompanionChatAnswerCommand(sublime_plugin.WindowCommand):
    """Answer the oldest permission."""

    def run(self, kind: str) -> None:
        """`kind` is that of an option: allow_once, allow_always, reject_once or reject_always."""
        if (adapter := package.adapter()) and (chat := adapter.chats.of(self.window)):
            adapter.chats.answer(chat, kind)

    def is_enabled(self, kind: str = "") -> bool:
        """Whether one waits."""
        adapter = package.adapter()
        chat = adapter.chats.of(self.window) if adapter else None
        return chat is not None and waiting(chat) is not None


def begin(adapter: Adapter, chat: ChatView) -> None:
    """Begin a new conversation in a chat."""
    window = chat.window.id()
    adapter.thread.post(lambda companion: companion.chats.begin(window))


class _ChatTextCommand(sublime_plugin.TextCommand):
    """A command on the chat in the view."""

    def is_enabled(self) -> bool:
        """Whether there is one."""
        return self.chat() is not None

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False

    def chat(self) -> ChatView | None:
        """The chat in the view."""
        adapter = package.adapter()
        return adapter.chats.find(self.view) if adapter else None


class QwenCompanionChatRecallCommand(_ChatTextCommand):
    """Put an earlier prompt into the input."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 for the one before, 1 for the one after."""
        if (chat := self.chat()) and (text := chat.step(by)) is not None:
            self.view.replace(edit, sublime.Region(chat.text.length, self.view.size()), text)
            chat.text.to_prompt()

    def is_enabled(self, by: int = 0) -> bool:
        """Whether there is a chat."""
        return self.chat() is not None


class QwenCompanionChatUndoCommand(_ChatTextCommand):
    """Undo or redo in the prompt."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 to undo, 1 to redo."""
        if chat := self.chat():
            chat.text.take_step(by)

    def is_enabled(self, by: int = 0) -> bool:
        """Whether there is a chat."""
        return self.chat() is not None


class QwenCompanionChatFollowCommand(_ChatTextCommand):
    """Open the file that is named at the caret, or unfold or fold what begins in its line."""

    def run(self, edit: sublime.Edit) -> None:
        """Do the first of these that applies."""
        if (adapter := package.adapter()) and (chat := self.chat()):
            adapter.chats.follow(chat, self.view.sel()[0].b)


class QwenCompanionChatTypeCommand(_ChatTextCommand):
    """Type into the prompt while the caret is elsewhere."""

    def run(self, edit: sublime.Edit, character: str) -> None:
        """`character` is the key."""
        if chat := self.chat():
            chat.text.to_prompt()
            self.view.run_command("insert", {"characters": character})

    def is_enabled(self, character: str = "") -> bool:
        """Whether there is a chat."""
        return self.chat() is not None
