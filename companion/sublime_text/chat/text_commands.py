"""The commands of the keys in a chat's view. Each is for the chat in that view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ...chats.mentions import open_mention
from .. import buffers, package

if TYPE_CHECKING:
    from .view import ChatView


class _ChatTextCommand(sublime_plugin.TextCommand):
    """A command on the chat in the view."""

    def is_enabled(self, **_args: Any) -> bool:
        """Whether there is one."""
        return self.chat() is not None

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False

    def chat(self) -> ChatView | None:
        """The chat in the view."""
        adapter = package.adapter()
        return adapter.chats.find(self.view) if adapter else None


class QwenCompanionChatHomeCommand(_ChatTextCommand):
    """Go to the beginning of the line, or of the prompt in it."""

    def run(self, edit: sublime.Edit, extend: bool = False) -> None:
        """With `extend`, select up to there."""
        if (chat := self.chat()) is None:
            return
        moved: list[sublime.Region] = []
        for region in self.view.sel():
            start = self.view.line(region.b).begin()
            start = max(start, chat.text.length) if region.b >= chat.text.length else start
            moved.append(sublime.Region(region.a if extend else start, start))
        self.view.sel().clear()
        self.view.sel().add_all(moved)


class QwenCompanionChatRecallCommand(_ChatTextCommand):
    """Put an earlier prompt into the input."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 for the one before, 1 for the one after."""
        if (chat := self.chat()) and (text := chat.step(by)) is not None:
            chat.text.write(text)


class QwenCompanionChatSuggestionCommand(_ChatTextCommand):
    """Take the suggested prompt, which is shown in grey, into the input."""

    def run(self, edit: sublime.Edit) -> None:
        """The person may edit it before it is sent."""
        if (chat := self.chat()) and (suggestion := chat.suggestion):
            chat.text.write(suggestion)


class QwenCompanionChatUndoCommand(_ChatTextCommand):
    """Undo or redo in the prompt."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 to undo, 1 to redo."""
        if chat := self.chat():
            chat.text.take_step(by)


class QwenCompanionChatFollowCommand(_ChatTextCommand):
    """Open the file that is named at the caret, or unfold or fold what begins in its line."""

    def run(self, edit: sublime.Edit) -> None:
        """Do the first of these that applies."""
        carets = [region.b for region in self.view.sel()]
        if carets and (adapter := package.adapter()) and (chat := self.chat()):
            adapter.chats.clicks.follow(chat, carets[0])


class QwenCompanionChatTypeCommand(_ChatTextCommand):
    """Type into the prompt while the caret is elsewhere."""

    def run(self, edit: sublime.Edit, character: str) -> None:
        """`character` is the key."""
        if chat := self.chat():
            chat.text.to_prompt()
            self.view.run_command("insert", {"characters": character})


class QwenCompanionChatCompleteCommand(_ChatTextCommand):
    """Complete the mention or the slash command before the caret."""

    def run(self, edit: sublime.Edit, text: str) -> None:
        """`text` replaces its beginning."""
        if (chat := self.chat()) is None or not chat.text.is_in_prompt:
            return
        caret = self.view.sel()[0].b
        before = self.view.substr(sublime.Region(chat.text.length, caret))
        found = open_mention(before) if text.startswith("@") else (0, "")
        start = chat.text.length + (found[0] if found else len(before))
        buffers.edit(self.view, [(start, caret, text)])
        self.view.sel().clear()
        self.view.sel().add(start + len(text))
