"""What a person writes into a chat: slash commands, and the prompts of before. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_OPEN_COMMAND = re.compile(r"/(\S*)$")
KEPT = 50
"""How many of the latest prompts can be recalled."""
REMEMBERED_LENGTH = 10_000
"""Characters of a prompt that can be recalled after a reload too: settings are read and written whole."""


def open_command(before: str) -> str | None:
    """The name so far of the slash command that is being written; it is the first word of a prompt."""
    found = _OPEN_COMMAND.match(before)
    return found[1] if found else None


class Recall:
    """The prompts that were sent, the latest last, and which one of them is in the input.

    What the person has made of one stays until it is sent, and so does the draft behind the last.
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        """`state` is that of an earlier instance."""
        state = state or {}
        self.sent: list[str] = list(state.get("sent", ()))
        self._edits: dict[str, str] = dict(state.get("edits", {}))
        """By the prompt as it was sent; the draft's is that of none."""
        self._current: str = state.get("current", "")

    @property
    def state(self) -> dict[str, Any]:
        """All of it as plain data, but for long prompts that are nowhere but in the history."""
        needed = {self._current, *self._edits}
        sent = [prompt for prompt in self.sent if len(prompt) <= REMEMBERED_LENGTH or prompt in needed]
        return {"sent": sent, "edits": dict(self._edits), "current": self._current}

    @property
    def is_recalling(self) -> bool:
        """Whether a prompt of before is in the input."""
        return bool(self._current)

    def add(self, prompt: str) -> str:
        """What is in the input was sent. Returns the draft, which is there next."""
        self._edits.pop(self._current, None)
        if prompt.strip():
            self.sent = [*(one for one in self.sent if one != prompt), prompt][-KEPT:]
        self._current = ""
        self._edits = {one: edited for one, edited in self._edits.items() if one in self.sent or not one}
        return self._edits.pop("", "")

    def step(self, by: int, current: str) -> str | None:
        """The prompt `by` steps further, or the draft behind the last; None if there is none.

        `current` is what is in the input.
        """
        rows = [*self.sent, ""]
        at = rows.index(self._current) + by
        if not 0 <= at < len(rows):
            return None
        if current.strip() and current != self._current:
            self._edits[self._current] = current
        self._current = rows[at]
        return self._edits.pop(self._current, self._current)
