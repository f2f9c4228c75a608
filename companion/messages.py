"""What every room needs of what is on the screen: messages to the person. Standard library only."""

from __future__ import annotations

import re
from typing import Protocol

from .ids import WindowId

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
