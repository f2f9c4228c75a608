"""The commands of the chat that open a panel or a dialog: models, modes, sessions, attachments."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ...agents import DAEMON_AGENT
from ...chats.prompt import Excerpt, mention
from .. import package
from ..panels import Page, PanelItem, choose, say
from ..places import Menu, if_there
from ..windows import is_code
from .chat_commands import _ChatCommand, ask, is_chat_on
from .context import excerpt, named
from .opening import have_chat
from .prompt import find_picture, named_picture

if TYPE_CHECKING:
    from ...chats.chats import ChatOptions
    from ...conversation.snapshot import Choice, SessionOption, Status
    from ...ids import ChatId
    from ..adapter import Adapter
    from .view import ChatView


NO_PICTURE = "There is no picture in the clipboard that can be read. Copy the path of its file, or attach the file."
PICTURES = ["png", "jpg", "jpeg", "gif", "webp"]
BECOMES_DEFAULT = f"The model becomes your default in {DAEMON_AGENT}, for other chats and terminals too"


class _SwitchCommand(_ChatCommand):
    """Switch to another model or mode."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether there are any to choose from."""
        return bool(self.choices(chat.status)[1])

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        current, choices = self.choices(chat.status)
        _choose(chat, choices, current, self.placeholder(chat), partial(self._switch, adapter, chat))

    def _switch(self, adapter: Adapter, chat: ChatView, identifier: str) -> None:
        adapter.thread.post(lambda companion: self.switch(companion.chats.options, chat.id, identifier))

    def placeholder(self, chat: ChatView) -> str:
        """What is asked."""
        raise NotImplementedError

    def choices(self, status: Status) -> tuple[str, Sequence[Choice]]:
        """The id of the current one, and all of them."""
        raise NotImplementedError

    def switch(self, options: ChatOptions, chat: ChatId, identifier: str) -> None:
        """Switch to one of them, on the companion thread."""
        raise NotImplementedError


def _choose(
    chat: ChatView, choices: Sequence[Choice], current: object, placeholder: str, picked: Callable[[str], object]
) -> None:
    """Ask for one of several; `current` is the id of the one that is marked."""
    items: list[PanelItem] = [(one.name or one.id, one.description, partial(picked, one.id)) for one in choices]
    marks = ["current" if one.id == current else "" for one in choices]
    selected = marks.index("current") if "current" in marks else -1
    choose(chat.window, items, placeholder, selected=selected, annotations=marks)


class QwenCompanionChatModelCommand(_SwitchCommand):
    """Switch the model."""

    def placeholder(self, chat: ChatView) -> str:
        """The daemon's agent keeps the model for all that comes; another agent does so for the session."""
        return f"The model of {chat.agent}" if chat.agent_key else BECOMES_DEFAULT

    def choices(self, status: Status) -> tuple[str, Sequence[Choice]]:
        """The models."""
        return status.model, status.models

    def switch(self, options: ChatOptions, chat: ChatId, identifier: str) -> None:
        """Switch the model."""
        options.switch_model(chat, identifier)


class QwenCompanionChatModeCommand(_SwitchCommand):
    """Switch the approval mode."""

    def placeholder(self, chat: ChatView) -> str:
        """The agent says what each mode allows."""
        return f"What {chat.agent} may do without asking"

    def choices(self, status: Status) -> tuple[str, Sequence[Choice]]:
        """The modes."""
        return status.mode, status.modes

    def switch(self, options: ChatOptions, chat: ChatId, identifier: str) -> None:
        """Switch the mode."""
        options.switch_mode(chat, identifier)


class QwenCompanionChatEffortCommand(_SwitchCommand):
    """Switch how long the model thinks."""

    def placeholder(self, chat: ChatView) -> str:
        """It holds for the session."""
        return "How long the model thinks in this conversation"

    def choices(self, status: Status) -> tuple[str, Sequence[Choice]]:
        """The efforts."""
        return status.effort, status.efforts

    def switch(self, options: ChatOptions, chat: ChatId, identifier: str) -> None:
        """Switch the effort."""
        options.switch_effort(chat, identifier)


class QwenCompanionChatOptionsCommand(_ChatCommand):
    """Set one of the agent's own options of the session."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether the agent has any."""
        return bool(chat.status.options)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which one."""
        options = chat.status.options
        choices: list[PanelItem] = [
            (one.name, one.description, partial(_change, adapter, chat, one)) for one in options
        ]
        choose(chat.window, choices, f"Options of {chat.agent}", annotations=[one.shown for one in options])


def _change(adapter: Adapter, chat: ChatView, option: SessionOption) -> None:
    """Turn a switch over; ask for the value of anything else."""

    def set_to(value: str | bool) -> None:
        adapter.thread.post(lambda companion: companion.chats.options.set(chat.id, option.id, value))

    if isinstance(option.value, bool):
        set_to(not option.value)
    else:
        _choose(chat, option.values, option.value, option.name, set_to)


class QwenCompanionDaemonCommand(_ChatCommand):
    """Show where the chat's daemon runs, and its configuration."""

    opens_chat = True

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """The page opens at once and is filled when the daemon answers."""
        page = Page(chat.window, "daemon", "Qwen: Where the Chat Runs")
        page.show("Asking the daemon…\n")
        ask(adapter, chat, lambda chats: chats.locality(chat.id), page.show, lambda why: page.show(f"{why}\n"))


class QwenCompanionChatAddCommand(sublime_plugin.WindowCommand):
    """Attach the selection to the next prompt, or else the file."""

    def run(self, **menu: Any) -> None:
        """What the agent can't read from a file goes as text: a selection, unsaved edits, another folder's file.

        `menu` is what the menu of the side bar or of a tab gives.
        """
        on = Menu.of(menu)
        adapter = package.adapter()
        if adapter and (paths := on.paths):

            def add(_: object) -> None:
                have_chat(self.window, lambda adapter, chat: _add_paths(adapter, chat, paths))

            if_there(adapter.on_another_thread, self.window, paths, add)
        elif view := self._view(on):
            have_chat(self.window, lambda adapter, chat: _add(adapter, chat, view))

    def is_enabled(self, **menu: Any) -> bool:
        """Whether there is a text to add."""
        on = Menu.of(menu)
        return self._view(on) is not None if on.paths is None else bool(on.paths)

    def is_visible(self, **menu: Any) -> bool:
        """Whether there is something to add, and the person has turned on the chat or has picked an agent."""
        return is_chat_on(self.window) and self.is_enabled(**menu)

    def _view(self, on: Menu) -> sublime.View | None:
        if on.index is not None:
            return on.tab(self.window)
        view, adapter = self.window.active_view(), package.adapter()
        if view and is_code(view):
            return view
        return adapter.focus.last_code(self.window) if adapter else None


def _add(adapter: Adapter, chat: ChatView, view: sublime.View) -> None:
    path = view.file_name()
    uri, name = named(view)
    if why := adapter.refusal(chat.window, [path or name]):
        say(chat.window, why)
        return
    selected = [region for region in view.sel() if not region.empty()]
    if selected:
        chat.excerpts += [excerpt(view, region) for region in selected]
    elif path and not view.is_dirty() and (relative := _relative(chat, path)):
        _mention(chat, relative)
    else:
        chat.excerpts.append(Excerpt(uri, name, view.substr(sublime.Region(0, view.size()))))
    chat.attached_changed()
    adapter.chats.go_to(chat)


def _add_paths(adapter: Adapter, chat: ChatView, paths: Sequence[str]) -> None:
    """Mention files and folders. Those outside of the chat's folder and those that are excluded can't be mentioned."""
    refused = {path: why for path in paths if (why := adapter.refusal(chat.window, [path]))}
    found = [(path, _relative(chat, path)) for path in paths if path not in refused]
    for _, relative in found:
        if relative:
            _mention(chat, relative)
    adapter.chats.go_to(chat)
    outside = [PurePath(path).name for path, relative in found if not relative]
    if refused:
        say(chat.window, next(iter(refused.values())))
    elif outside:
        say(chat.window, f"{outside[0]} is not in the folder of the chat, so {chat.agent} could not read it.")


def _relative(chat: ChatView, path: str) -> str | None:
    """A file's path in the chat's folder, None if the daemon doesn't have it there."""
    is_local = chat.render is None or chat.render.locality.is_local
    if not is_local or not chat.folder or not PurePath(path).is_relative_to(chat.folder):
        return None
    return PurePath(path).relative_to(chat.folder).as_posix()


def _mention(chat: ChatView, path: str) -> None:
    prompt = chat.text.prompt
    blank = "" if not prompt or prompt[-1].isspace() else " "
    chat.text.write(f"{prompt}{blank}{mention(path)} ")


class QwenCompanionChatPictureCommand(_ChatCommand):
    """Attach a picture to the next prompt: a file, or what is in the clipboard."""

    opens_chat = True

    def run(self, path: str | None = None, clipboard: bool = False) -> None:
        """`path` is that of its file. With `clipboard` the picture there, or the one whose path is there.

        Without either, the person picks a file; or one of the two if there may be a picture in the clipboard.
        """
        have_chat(self.window, lambda adapter, chat: self._attach(adapter, chat, path, clipboard=clipboard))

    def _attach(self, adapter: Adapter, chat: ChatView, path: str | None, *, clipboard: bool) -> None:
        attach = partial(_attach_pictures, adapter, chat)

        def ask() -> None:
            sublime.open_dialog(attach, [("Pictures", PICTURES)], chat.folder or None, multi_select=True)

        text = sublime.get_clipboard()
        if path:
            attach(os.path.expanduser(path))
        elif clipboard:
            _paste_picture(adapter, chat)
        elif text and not named_picture(text):
            ask()
        else:
            choices: list[PanelItem] = [
                ("From a File…", "", ask),
                ("From the Clipboard", named_picture(text) or "", lambda: _paste_picture(adapter, chat)),
            ]
            choose(chat.window, choices, "The picture to attach to the next prompt")


def _attach_pictures(adapter: Adapter, chat: ChatView, found: str | list[str] | None) -> None:
    chosen = found if isinstance(found, list) else [found] if found else []
    if why := adapter.refusal(chat.window, chosen):
        say(chat.window, why)
    elif chosen:
        chat.pictures += chosen
        chat.attached_changed()
        adapter.chats.go_to(chat)


def _paste_picture(adapter: Adapter, chat: ChatView) -> None:
    """Attach the picture in the clipboard, or the one whose path is there."""

    def taken(path: str | None) -> None:
        if path is None:
            say(chat.window, NO_PICTURE)
        elif chat.view.is_valid():
            chat.pictures.append(path)
            chat.attached_changed()

    folder, system, text = Path(sublime.cache_path(), "QwenCompanion"), sublime.platform(), sublime.get_clipboard()
    adapter.on_another_thread(lambda: find_picture(folder / "pictures", system, text), taken)
