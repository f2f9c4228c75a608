"""What a save of the person has overwritten of an agent's: an offer to compare both, in each tab of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import sublime

from ..calls import AskLater
from ..notices import NOTICES
from ..style import COLOURS
from ..windows import is_code, real_path, views_of_file
from .sides import Lines

_OFFER = (
    f'<body id="qwen-companion-overwritten"><style>{COLOURS} body {{ margin: 0; }}</style>'
    'Your save has overwritten what an agent had written. <a href="compare">Compare</a></body>'
)


class _Offer(NamedTuple):
    """What a save has overwritten."""

    phantoms: Sequence[sublime.PhantomSet]
    """In each view of the file."""
    text: str
    who: str


class OverwrittenTexts:
    """The offers of all files. `show_beside` shows a text with a title beside a view; the lines are those that differ.

    Used on the UI thread only.
    """

    def __init__(self, ask: AskLater, show_beside: Callable[[sublime.View, str, str, Sequence[Lines]], object]) -> None:
        self._ask = ask
        self._show_beside = show_beside
        self._offers: dict[str, _Offer] = {}
        """By the file's real path."""

    def offer(self, window: sublime.Window, path: str, agents: Sequence[str], text: str) -> None:
        """A save has overwritten what agents had written: offer once to compare them."""
        real, who = real_path(path), ", ".join(agents)
        self._end(real)
        views = [view for view in views_of_file(path) if is_code(view)]
        phantoms = [sublime.PhantomSet(view, "qwen_companion.overwritten") for view in views]
        for view, shown in zip(views, phantoms, strict=True):
            act = partial(self._clicked, view)
            shown.update([sublime.Phantom(sublime.Region(0), _OFFER, sublime.PhantomLayout.BLOCK, act)])
        self._offers[real] = _Offer(phantoms, text, who)
        for each in {found.id(): found for view in views if (found := view.window())}.values() or (window,):
            NOTICES.add(f"Your save of {os.path.basename(path)} has overwritten what {who} had written. Compare", each)

    def waits(self, view: sublime.View) -> bool:
        """Whether a save of this file has overwritten something that was not compared yet."""
        return bool(self._offers) and real_path(view.file_name() or "") in self._offers

    def compare(self, view: sublime.View) -> None:
        """Show what a save has overwritten beside the file."""
        window = view.window()
        offer = self._end(real_path(view.file_name() or "")) if window else None
        if offer is None or window is None:
            return
        title = f"{os.path.basename(view.file_name() or '')} ({offer.who}, overwritten)"
        mine = view.substr(sublime.Region(0, view.size()))
        self._ask(
            window,
            lambda companion: companion.changes.compared(offer.text, mine),
            lambda changes: self._show_beside(view, offer.text, title, changes),
        )

    def close_all(self) -> None:
        """The package is unloaded."""
        for path in list(self._offers):
            self._end(path)

    def _end(self, path: str) -> _Offer | None:
        offer = self._offers.pop(path, None)
        for phantoms in offer.phantoms if offer else ():
            if phantoms.view.is_valid():
                phantoms.update([])
        return offer

    def _clicked(self, view: sublime.View, href: str) -> None:
        match href:
            case "compare":
                self.compare(view)
            case _:
                pass
