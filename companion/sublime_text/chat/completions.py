"""What is completed in the prompt of a chat: files after an @, slash commands at its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ...chat.mentions import mention, open_mention
from .. import package
from .prompt import open_command

if TYPE_CHECKING:
    from ..adapter import Adapter
    from .view import ChatView

_FLAGS = (
    sublime.AutoCompleteFlags.INHIBIT_WORD_COMPLETIONS
    | sublime.AutoCompleteFlags.INHIBIT_EXPLICIT_COMPLETIONS
    | sublime.AutoCompleteFlags.DYNAMIC_COMPLETIONS
)
_FILE = (sublime.KindId.NAVIGATION, "f", "File")
_COMMAND = (sublime.KindId.FUNCTION, "/", "Command")


def completions(adapter: Adapter, chat: ChatView, before: str) -> sublime.CompletionList:
    """What can follow the beginning of a prompt; files come when the daemon has told them.

    Where there is nothing of ours there is nothing at all: Enter would take a word in place of sending the prompt.
    """
    if open_command(before) is not None:
        commands = chat.frame.status.commands if chat.frame else ()
        items = [
            _completion(f"/{command.name}", f"/{command.name} ", command.hint, _COMMAND, command.description)
            for command in commands
        ]
        return sublime.CompletionList(items, _FLAGS)
    if (found := open_mention(before)) is None:
        return sublime.CompletionList([], _FLAGS)
    listed, (_, words), window = sublime.CompletionList(), found, chat.window.id()

    def show(paths: Sequence[str]) -> None:
        listed.set_completions([_completion(path, f"{mention(path)} ", "", _FILE) for path in paths], _FLAGS)

    adapter.ask_later(chat.window, lambda companion: companion.chats.files(window, words), show, lambda _: show(()))
    return listed


def _completion(
    trigger: str, text: str, annotation: str, kind: tuple[sublime.KindId, str, str], details: str = ""
) -> sublime.CompletionItem:
    # What the editor takes for the word before the caret is not what is to be replaced: a path has many words.
    item = sublime.CompletionItem.command_completion(
        trigger, "qwen_companion_chat_complete", {"text": text}, annotation, kind
    )
    item.details = details.replace("&", "&amp;").replace("<", "&lt;")
    return item


class QwenCompanionChatCompleteCommand(sublime_plugin.TextCommand):
    """Complete the mention or the slash command before the caret."""

    def run(self, edit: sublime.Edit, text: str) -> None:
        """`text` replaces what there is of it."""
        adapter = package.adapter()
        if adapter is None or (chat := adapter.chats.find(self.view)) is None or not chat.text.is_in_prompt:
            return
        caret = self.view.sel()[0].b
        before = self.view.substr(sublime.Region(chat.text.length, caret))
        found = open_mention(before) if text.startswith("@") else (0, "")
        start = chat.text.length + (found[0] if found else len(before))
        self.view.replace(edit, sublime.Region(start, caret), text)

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False
