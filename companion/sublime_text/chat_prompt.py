"""What a person writes into a chat: mentions of files, slash commands, and the prompts of before. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MENTION = re.compile(r"(?<!\S)@((?:\\.|[^\s\\])+)")
_OPEN_MENTION = re.compile(r"(?<!\S)@((?:\\.|[^\s\\])*)$")
_OPEN_COMMAND = re.compile(r"/(\S*)$")
_PUNCTUATION = ".,;:!?)]}'\""
_BLANK = re.compile(r"(\s|\\)")
KEPT = 50
"""How many of the latest prompts can be recalled."""


def mention(path: str) -> str:
    """A file as a prompt names it."""
    return "@" + _BLANK.sub(r"\\\1", path)


def mentions(prompt: str) -> list[str]:
    """The paths that a prompt names: with what follows them without a blank, and without such punctuation."""
    raw = [found[1] for found in _MENTION.finditer(prompt)]
    return [_unescaped(path) for one in raw for path in dict.fromkeys((one, one.rstrip(_PUNCTUATION)))]


def open_mention(before: str) -> tuple[int, str] | None:
    """Where the mention begins that is being written at the end of a text, and the path so far."""
    found = _OPEN_MENTION.search(before)
    return (found.start(), _unescaped(found[1])) if found else None


def open_command(before: str) -> str | None:
    """The name so far of the slash command that is being written; it is the first word of a prompt."""
    found = _OPEN_COMMAND.match(before)
    return found[1] if found else None


def _unescaped(path: str) -> str:
    return re.sub(r"\\(.)", r"\1", path)


class Recall:
    """The prompts that were sent, the latest last, and which one of them is in the input."""

    def __init__(self, sent: Sequence[str] = ()) -> None:
        self.sent = list(sent)[-KEPT:]
        self._at = len(self.sent)
        self._draft = ""

    @property
    def is_recalling(self) -> bool:
        """Whether a prompt of before is in the input."""
        return self._at < len(self.sent)

    def add(self, prompt: str) -> None:
        """A prompt was sent."""
        if prompt.strip():
            self.sent = [*(one for one in self.sent if one != prompt), prompt][-KEPT:]
        self._at = len(self.sent)
        self._draft = ""

    def step(self, by: int, current: str) -> str | None:
        """The prompt `by` steps further, or the draft behind the last; None if there is none.

        `current` is what is in the input.
        """
        at = self._at + by
        if not 0 <= at <= len(self.sent):
            return None
        if not self.is_recalling:
            self._draft = current
        self._at = at
        return self.sent[at] if self.is_recalling else self._draft
