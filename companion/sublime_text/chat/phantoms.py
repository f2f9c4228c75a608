"""What a chat shows between its lines: the bar, the questions, the buttons of code blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

from ...chat.transcript.render import MARK
from . import html

if TYPE_CHECKING:
    from ...chat.transcript.render import Code, Render

BAR, ASKS, CODES = "qwen_companion.chat_bar", "qwen_companion.chat_asks", "qwen_companion.chat_codes"


class ChatPhantoms:
    """The phantoms of a chat's view. `clicked` is called with a link's href."""

    def __init__(self, view: sublime.View, clicked: Callable[[str], None]) -> None:
        for key in (BAR, ASKS, CODES):
            view.erase_phantoms(key)  # those of an instance that could not tidy up
        # The sets erase their phantoms when they are collected.
        self._bar, self._asks, self._codes = (sublime.PhantomSet(view, key) for key in (BAR, ASKS, CODES))
        self._clicked = clicked
        self._shown_asks: object = None
        self._shown_codes: tuple[Code, ...] = ()

    def show(self, frame: Render, attached: Sequence[str]) -> None:
        """Bring them up to date."""
        self.show_bar(frame, attached)
        if frame.asks != self._shown_asks:
            self._shown_asks = frame.asks
            asks = [(ask.at, html.ask(ask, is_first=at == 0)) for at, ask in enumerate(frame.asks)]
            self._asks.update([self._phantom(at, content, sublime.PhantomLayout.BLOCK) for at, content in asks])
        if frame.codes != self._shown_codes:
            self._shown_codes = frame.codes
            # Behind the fence above the first line.
            codes = [(max(0, code.start - 1), html.code(code)) for code in frame.codes]
            self._codes.update([self._phantom(at, content, sublime.PhantomLayout.INLINE) for at, content in codes])

    def show_bar(self, frame: Render, attached: Sequence[str]) -> None:
        """Bring the bar up to date, and to its place."""
        at = max(0, frame.length - len(MARK))
        self._bar.update([self._phantom(at, html.bar(frame, attached), sublime.PhantomLayout.BLOCK)])

    def close(self) -> None:
        """Take them from the view."""
        for phantoms in (self._bar, self._asks, self._codes):
            phantoms.update([])

    def _phantom(self, at: int, content: str, layout: sublime.PhantomLayout) -> sublime.Phantom:
        return sublime.Phantom(sublime.Region(at), content, layout, self._clicked)
