"""What an agent's terminals print, as news of the tool calls that show them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ...conversation import events
from . import decoder
from .tool_calls import is_over

QUIET = 0.1
"""Seconds within which what a terminal prints is shown at once."""

_IS_OVER = "isOver"
"""What we add to a tool call that has ended."""


class Outputs:
    """Shows the terminals of one chat. `output` reads one, `publish` tells the chat."""

    def __init__(self, output: decoder.Output, publish: Callable[[events.Event], object]) -> None:
        self._output = output
        self._publish = publish
        self.shown_in: dict[str, dict[str, Any]] = {}
        """By terminal: the id and the content of the tool call that shows it."""
        self._fresh: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def noted(self, update: Mapping[str, Any]) -> None:
        """An update may be of a tool call that shows terminals, or no longer does, or is over."""
        call, shown = update.get("toolCallId"), decoder.terminals(update)
        if "content" in update:
            # The content that the agent has put in the place of a terminal stays.
            for terminal in [each for each, by in self.shown_in.items() if by.get("toolCallId") == call]:
                if terminal not in shown:
                    self._forget(terminal)
        for terminal in shown:
            self.shown_in[terminal] = {"toolCallId": call, "content": update.get("content")}
        if is_over(update):
            for by in self.shown_in.values():
                if by.get("toolCallId") == call:
                    by[_IS_OVER] = True
            self._prune()

    def printed(self, terminal: str) -> None:
        """A terminal has printed something, or has ended. It is shown soon."""
        if terminal in self.shown_in:
            self._fresh.add(terminal)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(QUIET, self.show)

    def show(self) -> None:
        """Show now what was printed."""
        self.close()
        fresh, self._fresh = self._fresh, set()
        for terminal in fresh:
            self._publish(decoder.decode_printed(self.shown_in[terminal], self._output))
        self._prune()

    def _prune(self) -> None:
        """Forget the terminals that have ended and are shown by calls that are over."""
        for terminal, by in list(self.shown_in.items()):
            if by.get(_IS_OVER) and terminal not in self._fresh:
                printed = self._output(terminal)
                if printed is None or not printed.is_running:
                    self._forget(terminal)

    def _forget(self, terminal: str) -> None:
        del self.shown_in[terminal]
        self._fresh.discard(terminal)

    def close(self) -> None:
        """Show nothing more by itself."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
