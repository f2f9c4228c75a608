"""What goes when a person sends a prompt: its text with what it names and what is attached, or a command instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sublime

from ...chats.mentions import mentions
from ...chats.prompt import Draft, Excerpt
from ...chats.slash import Instead, translated
from ..panels import NO_ANSWER, say
from .clicks import Tell
from .context import ContextOffers
from .view import ChatView

if TYPE_CHECKING:
    from ...chats.chats import Chats

STARTING_CHAT = "QwenCompanion is starting. Send the prompt again when the chat is connected."


class PromptSender:
    """Sends prompts. Lives on the UI thread."""

    def __init__(
        self,
        tell: Tell,
        context: ContextOffers,
        begin: Callable[[ChatView], object],
        *,
        is_starting: Callable[[], bool],
        sent: Callable[[ChatView, Draft], object],
    ) -> None:
        """`begin` begins a new conversation in a chat. `sent` hears of each prompt that goes.

        `is_starting`: whether the companion will answer, but not yet.
        """
        self._tell = tell
        self._context = context
        self._begin = begin
        self._is_starting = is_starting
        self._sent = sent

    def send(
        self, chat: ChatView, text: str | None = None, *, mid_turn: bool = False, excerpts: Sequence[Excerpt] = ()
    ) -> None:
        """Send a text with what goes with it, or what the person has written in the prompt."""
        draft = Draft(text, tuple(excerpts)) if text is not None else chat.draft()
        draft = replace(draft, unsaved=_unsaved(chat, draft.text))
        if not (draft.text.strip() or draft.excerpts or draft.pictures):
            return
        if text is None and chat.render is None:
            # What is sent would be lost, so it stays in the prompt.
            say(chat.window, STARTING_CHAT if self._is_starting() else NO_ANSWER)
            return
        self._context.look(chat.window)
        context = chat.context
        if text is None:
            chat.sent()
        if instead := translated(draft.text):
            what, rest = instead
            self._do_instead(chat, what)
            if text is None and (rest or draft.excerpts or draft.pictures):
                chat.take_back(replace(draft, text=rest))
            return
        in_turn = mid_turn and chat.status.running is not None
        # A message into a running turn is a text alone, and so is a command.
        if context and not in_turn and not draft.text.startswith("/"):
            draft = replace(draft, excerpts=(*draft.excerpts, context))
        self._sent(chat, draft)
        chat.sending()

        def send(chats: Chats) -> None:
            chats.send(chat.id, draft, mid_turn=in_turn)
            sublime.set_timeout(chat.taken)

        self._tell(send)

    def _do_instead(self, chat: ChatView, what: Instead) -> None:
        """Do what a slash command is for."""
        if what == "new":
            self._begin(chat)
        else:
            chat.window.focus_view(chat.view)
            chat.window.run_command(f"qwen_companion_chat_{what}")


def _unsaved(chat: ChatView, text: str) -> dict[str, str]:
    """The texts of the unsaved buffers that a prompt names, by their paths."""
    named = {_spelled(os.path.join(chat.folder, path)) for mention in mentions(text) for _, path in mention.paths}
    views = {path: view for view in chat.window.views() if named and (path := view.file_name()) and view.is_dirty()}
    return {
        path: view.substr(sublime.Region(0, view.size())) for path, view in views.items() if _spelled(path) in named
    }


def _spelled(path: str) -> str:
    return os.path.normcase(os.path.normpath(path))
