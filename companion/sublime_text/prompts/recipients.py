"""Who could get a text in a window: the CLIs in its terminals, and its chats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..chat.view import ChatView, used_at
from ..terminal import terminals
from ..terminal.terminals import Terminal
from .screen import has_empty_prompt

if TYPE_CHECKING:
    import sublime

    from ..chat.chats import ChatViews


@dataclass(frozen=True)
class Recipient:
    """A CLI in a terminal, or a chat."""

    target: Terminal | ChatView
    agent: str
    """Its name; empty if nobody knows what runs in a terminal."""
    used_at: int
    """When it had the focus last, in Unix milliseconds; 0 for never."""

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return self.agent or (self.target.title if isinstance(self.target, Terminal) else "")

    @property
    def title(self) -> str:
        """What to call it in a list."""
        return self.target.title if isinstance(self.target, Terminal) else f"the chat with {self.agent}"

    @property
    def folder(self) -> str:
        """The folder that it works in."""
        return self.target.folder


def recipients(chats: ChatViews, window: sublime.Window, *, waits: bool = False) -> list[Recipient]:
    """All of a window, the one used last first.

    Terminals that the person opened by hand count if they show a CLI's empty prompt, or if it `waits` for that.
    """
    found = [
        Recipient(one, one.family.name if one.family else "", one.focused_at // 1_000_000)
        for one in terminals.running(window)
    ]
    found += [Recipient(one, "", 0) for one in terminals.others(window) if waits or has_empty_prompt(one.view)]
    chats.last(window)  # takes over one from before a restart
    found += [Recipient(chat, chat.agent, used_at(chat.view)) for chat in chats.within(window)]
    return sorted(found, key=lambda one: -one.used_at)


def meant(found: Sequence[Recipient], agent: str = "") -> list[Recipient]:
    """Which of all is meant: those of an agent, else the one used last; several if that isn't clear."""
    own = [one for one in found if agent and one.agent == agent]
    if own:
        return own
    unknown = [one for one in found if not one.agent]
    if agent and unknown:
        return unknown
    if agent or not found or not found[0].used_at:
        return list(found)
    return [found[0]]
