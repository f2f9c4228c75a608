"""What goes with a prompt by itself: the name of the active file, and what is selected in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import sublime

from ...chats.prompt import Excerpt
from ...exclusion import Sharing
from ..windows import is_excluded

if TYPE_CHECKING:
    from .view import ChatView

SETTLED = 300
"""Milliseconds after a change of a selection until the bar names it."""
MOST = 16 * 1024
"""Characters of a selection that goes along by itself. More has to be added by hand."""
NAME_ONLY = "(This file is active in the editor. Its text does not come with the prompt; read it if it matters.)"


def context_of(view: sublime.View | None, sharing: Sharing) -> Excerpt | None:
    """What a view gives to a prompt by itself; None for nothing. Excluded files give nothing."""
    if view is None or not sharing.has_files:
        return None
    path, window = view.file_name(), view.window()
    if (shown := path or view.name()) and is_excluded(sharing, shown, window.folders() if window else ()):
        return None
    selected = next((region for region in view.sel() if not region.empty()), None)
    if selected and sharing.has_text:
        return excerpt(view, selected, MOST)
    return Excerpt(*named(view), NAME_ONLY, is_automatic=True) if path else None


def named(view: sublime.View) -> tuple[str, str]:
    """The address of what a view shows, and what to call it."""
    if path := view.file_name():
        return Path(path).as_uri(), PurePath(path).name
    return f"untitled:{view.name() or 'untitled'}", view.name() or "untitled"


def excerpt(view: sublime.View, region: sublime.Region, most: int | None = None) -> Excerpt:
    """A selection; with `most`, its first characters, as what goes by itself."""
    uri, name = named(view)
    # A selection that ends at the beginning of a line doesn't include that line.
    first, last = view.rowcol(region.begin())[0] + 1, view.rowcol(region.end() - 1)[0] + 1
    text = view.substr(region)
    if most is not None and len(text) > most:
        text = f"{text[:most]}\n(The rest of the selection is left out.)"
    return excerpt_of_lines(uri, name, first, last, text, is_automatic=most is not None)


def excerpt_of_lines(uri: str, name: str, first: int, last: int, text: str, *, is_automatic: bool = False) -> Excerpt:
    """The text of some lines, from 1, of what has an address and a name."""
    lines, fragment = (f"{first}-{last}", f"L{first}-L{last}") if last > first else (f"{first}", f"L{first}")
    return Excerpt(f"{uri}#{fragment}", f"{name}:{lines}", text, is_automatic=is_automatic)


class ContextOffers:
    """Offers it to the chats of a window. Lives on the UI thread."""

    def __init__(
        self,
        chats: Callable[[sublime.Window], Sequence[ChatView]],
        context: Callable[[sublime.Window], Excerpt | None],
    ) -> None:
        """`chats` are those of a window, `context` is what goes with their prompts now."""
        self._chats = chats
        self._context = context
        self._looking: set[int] = set()
        """The windows in which the active file is looked at soon."""

    def look_soon(self, window: sublime.Window | None) -> None:
        """The same after a while, since a selection changes often."""
        if window and self._chats(window) and window.id() not in self._looking:
            self._looking.add(window.id())

            def look() -> None:
                self._looking.discard(window.id())
                self.look(window)

            sublime.set_timeout(look, SETTLED)

    def look(self, window: sublime.Window | None) -> None:
        """Another file may be active in a window, or something else selected in it."""
        if window and (chats := self._chats(window)):
            context = self._context(window)
            for chat in chats:
                chat.offer(context)
