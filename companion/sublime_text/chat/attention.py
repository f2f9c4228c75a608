"""Whether a key can be meant as an answer to what a chat asks: the person has had time to see it, and isn't writing."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import sublime

from ..windows import is_visible

if TYPE_CHECKING:
    from ...chat.transcript.render import Ask
    from .text import ChatText

CALM = 1.0
"""Seconds that a question is on the screen, with nothing written in the prompt, before a key answers it."""
LOOKS = 200
"""Milliseconds between looks while something is asked: no event tells that a view is scrolled or a tab is hidden."""
STALL = 0.6
"""Seconds without a look, in which the editor hung: what was typed meanwhile comes now, and was typed blindly."""


class Attention:
    """Watches over the first question of a chat, from when it is asked until it is answered."""

    def __init__(self, text: ChatText) -> None:
        self._text = text
        self._ask: Ask | None = None
        self._since: float | None = None
        """Since when the question has been on the screen with nothing written."""
        self._looked = 0.0
        self._is_ticking = False

    def asked(self, ask: Ask | None) -> None:
        """What is asked first has changed, or has moved; None if nothing is asked, or the chat is let go of."""
        if ask is None or self._ask is None or ask.permission.id != self._ask.permission.id:
            self._since = None
        self._ask = ask
        self.look()
        if ask and not self._is_ticking:
            self._is_ticking = True
            sublime.set_timeout(self._tick, LOOKS)

    def look(self) -> None:
        """See whether the question is on the screen, and whether something is written."""
        now = monotonic()
        if self._ask is None or not self._is_calm(self._ask.at):
            self._since = None
        elif self._since is None or now - self._looked > STALL:
            self._since = now
        self._looked = now

    @property
    def is_due(self) -> bool:
        """Whether a key counts as an answer now."""
        self.look()
        return self._since is not None and monotonic() - self._since >= CALM

    def _is_calm(self, point: int) -> bool:
        view = self._text.view
        is_written = view.size() > self._text.length
        is_in_front = is_visible(view) and view.window() == sublime.active_window()
        return is_in_front and not is_written and view.visible_region().contains(point)

    def _tick(self) -> None:
        self._is_ticking = self._ask is not None and self._text.view.is_valid()
        if self._is_ticking:
            self.look()
            sublime.set_timeout(self._tick, LOOKS)
