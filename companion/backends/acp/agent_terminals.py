"""The terminals that an agent runs by itself and shows in its tool calls, such as Codex's commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import extensions
from .decoder import MAX_SHOWN, Printed

MAX_KEPT = 200
"""Terminals whose output is remembered."""


class AgentTerminals:
    """What the agent says that its own terminals have printed. The end of each output is kept."""

    def __init__(self) -> None:
        self._printed: dict[str, Printed] = {}

    def note(self, update: Mapping[str, Any]) -> bool:
        """Take in what an update of a tool call says of a terminal. Returns whether it says anything."""
        if (news := extensions.terminal_news(update)) is None:
            return False
        known = self._printed.pop(news.terminal, Printed("", is_cut=False, is_running=True))
        text = news.text if news.is_whole else known.text + news.text
        is_cut = (known.is_cut and not news.is_whole) or len(text) > MAX_SHOWN
        self._printed[news.terminal] = Printed(text[-MAX_SHOWN:], is_cut, known.is_running and not news.has_ended)
        while len(self._printed) > MAX_KEPT:
            del self._printed[next(iter(self._printed))]
        return True

    def printed(self, terminal: str) -> Printed | None:
        """What a terminal has printed; None if the agent has said nothing of it."""
        return self._printed.get(terminal)
