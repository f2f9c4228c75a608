"""The command that lists what the agent does in the background, follows it and stops it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import sublime

from ..page import Page
from ..panels import PanelItem, choose, say
from .commands import _ChatCommand, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...conversation.snapshot import Task
    from ..adapter import Adapter
    from .view import ChatView

SHOWN = "task"
"""In the record of a task's page: which chat's task it shows."""
STEP = 1000
"""Milliseconds between two looks at a task that is followed."""
NONE = "Nothing has run in the background in this conversation."


class QwenCompanionChatTasksCommand(_ChatCommand):
    """List what the agent does in the background; follow or stop it."""

    needs = "tasks"

    def is_visible(self) -> bool:
        """Whether anything was begun in the background, as far as the chat shows."""
        chat = self.chat()
        return super().is_visible() and chat is not None and bool(chat.status.tasks)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask which."""
        ask(adapter, chat, lambda chats: chats.tasks.all(chat.id), partial(_list, adapter, chat))


def _list(adapter: Adapter, chat: ChatView, found: Sequence[Task]) -> None:
    if not found:
        say(chat.window, NONE)
        return
    choices: list[PanelItem] = [
        (task.title, f"{task.status}, {task.duration}", lambda task=task: _ask(adapter, chat, task)) for task in found
    ]
    marks = ["running" if task.is_running else "" for task in found]
    choose(chat.window, choices, "What runs in the background, and has run", annotations=marks)


def _ask(adapter: Adapter, chat: ChatView, task: Task) -> None:
    if not task.is_running:
        _follow(adapter, chat, task)
        return

    def stop() -> None:
        ask(adapter, chat, lambda chats: chats.tasks.stop(chat.id, task), partial(say, chat.window))

    follow = partial(_follow, adapter, chat, task)
    choices: list[PanelItem] = [("Follow", "Show what it does in a tab", follow), ("Stop", "", stop)]
    choose(chat.window, choices, task.title)


def _follow(adapter: Adapter, chat: ChatView, task: Task) -> None:
    """Show a task in a tab, and keep that up to date as long as the task runs and the tab shows it."""
    page = Page(chat.window, "task", f"Qwen Companion: {task.title}")
    # The ids of tasks are those of the chat.
    shown = f"{chat.id}:{task.id}"
    page.record.keep(**{SHOWN: shown})
    page.show("Asking the daemon…\n")

    def look() -> None:
        if page.is_open and page.record.get(SHOWN) == shown:
            ask(adapter, chat, lambda chats: chats.tasks.page(chat.id, task.id), show, fail)

    def fail(why: str) -> None:
        page.show(f"{why}\n")

    def show(told: tuple[str, bool]) -> None:
        text, is_running = told
        if page.is_open and page.record.get(SHOWN) == shown:
            page.show(text)
        if is_running:
            sublime.set_timeout(look, STEP)

    look()
