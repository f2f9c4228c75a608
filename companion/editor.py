"""What each room knows of the editor: its ids, messages to the person, and the places at which agents are.

Standard library only: the UI thread imports it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NewType, Protocol

# The ids of windows, views, chats and reviews. Each lasts as long as the editor runs, over reloads, too.

WindowId = NewType("WindowId", int)
"""`sublime.Window.id()`."""
ViewId = NewType("ViewId", int)
"""`sublime.View.id()`; no view of another window has the same one."""
ChatId = NewType("ChatId", ViewId)
"""Names a chat: the id of its view."""
ReviewId = NewType("ReviewId", int)
"""Names a review. No other open one has the same."""


# Messages to the person.

_WORD = re.compile(r"[^\W\d_]+(?:['’]\w+)?(?= |\Z)")


def sentence(words: object) -> str:
    """Words, such as an error's, as a sentence. It begins with a capital letter, unless a file's name is first."""
    text = str(words)
    return f"{text[:1].upper() if _WORD.match(text) else text[:1]}{text[1:]}{'' if text.endswith('.') else '.'}"


class Messages(Protocol):
    """Messages to the person, from any thread."""

    def mention(self, message: str, window: WindowId) -> None:
        """Show one sentence for a moment."""
        ...

    def say(self, message: str, window: WindowId | None = None) -> None:
        """Show a problem and keep it for the status report. Without a window, the one in front shows it."""
        ...

    def settle(self, message: str) -> None:
        """The problem that `say` told is over."""
        ...

    def keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a new view, and say why. Without a window, in the one in front."""
        ...


class Screen(Protocol):
    """The objects that show something in the editor. They are called on the companion thread."""

    @property
    def messenger(self) -> Messages:
        """Messages."""
        ...


# Where agents work: the places in files that they read or write.

MOST_VISITS = 100
"""Files that are remembered of a window."""


@dataclass(frozen=True, slots=True)
class Visit:
    """An agent was at a place."""

    path: str
    """The absolute path on this machine."""
    line: int | None
    """From 1; None if nobody knows it."""
    agent: str
    """Its name."""
    what: str
    """What it did there, in a word: read, edit, delete, move, search, proposal or written."""
    chat: ChatId | None = None
    """The chat that it answers; None for a CLI."""


class RecentFiles:
    """The files of the agents of a window, each once, the one visited last first."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def add(self, visits: Iterable[Visit]) -> None:
        """Agents were there, in this order."""
        for visit in visits:
            key = os.path.normcase(visit.path)
            self._visits.pop(key, None)
            self._visits[key] = visit
        for key in list(self._visits)[:-MOST_VISITS]:
            del self._visits[key]

    def __iter__(self) -> Iterator[Visit]:
        """The latest first."""
        return iter(list(self._visits.values())[::-1])

    def __len__(self) -> int:
        return len(self._visits)
