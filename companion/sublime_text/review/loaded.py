"""What each tab was loaded from: what the person saves is what they have changed in that, whatever is on the disk.

A stamp is taken for that of a tab's text only after the file was found to have this text. Before a save it tells
whether somebody has written the file since; then what is there is read, as the save is about to replace it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import sublime

from ...changes.change_screen import SavedText
from ...review.disk import Encodings, Stamp, decoded, read_bytes, stamp
from ...review.source_text import SourceText
from ..bridge import OffThread
from ..buffers import text_of
from ..panels import say
from ..windows import encodings_of, is_code

MAX_LOADED = 1_000_000
"""Characters of a text that is remembered, and bytes of a file that is read before a save."""
LIMIT = 0.03
"""Seconds that a save waits for what is on the disk: the disk may hang."""
LOST = "{name} was written by another program since it was loaded here, and what was there could not be read in time."


class _Loaded(NamedTuple):
    """What a tab has in common with its file."""

    path: str
    text: str | None
    """None if it is too large, or isn't known."""
    stamp: Stamp
    """That of the file with this text; None until it is known."""


@dataclass(slots=True)
class _Found:
    """What is on the disk before a save."""

    data: bytes | None = None
    is_lost: bool = False


class LoadedTexts:
    """The texts of all tabs, by their buffers. Used on the UI thread only. `elsewhere` reads files."""

    def __init__(self, elsewhere: OffThread) -> None:
        self._elsewhere = elsewhere
        self._known: dict[int, _Loaded] = {}
        self._saving: dict[int, tuple[SavedText, str | None]] = {}
        """What is known before a save, and the text that is about to be saved."""

    def loaded(self, view: sublime.View) -> None:
        """A view has the text of its file: it was loaded, loaded again, or saved."""
        if not view.is_dirty():
            self.based(view, _short_text(view))

    def based(self, view: sublime.View, text: str | None) -> None:
        """The text of a view is an edit of this text of its file."""
        name = view.file_name()
        if name is None or not is_code(view):
            return
        number, encodings = view.buffer_id(), encodings_of(name)
        known = self._known[number] = _Loaded(name, text, None)

        def note(found: Stamp) -> None:
            if self._known.get(number) is known:
                self._known[number] = known._replace(stamp=found)

        self._elsewhere(lambda: _stamp_of(known, encodings), note)

    def text(self, view: sublime.View) -> str | None:
        """The text of its file that a view's text is an edit of; None if that is too large, or isn't known."""
        known = self._known.get(view.buffer_id())
        return known.text if known and known.path == view.file_name() else None

    def is_from(self, view: sublime.View, text: str, found: Stamp) -> bool:
        """Whether a view's text is an edit of this text, with this stamp of its file."""
        known = self._known.get(view.buffer_id())
        if known is None or known.path != view.file_name():
            return False
        return known.text == text if known.text is not None else found is not None and known.stamp == found

    def saving(self, view: sublime.View) -> None:
        """A view is about to be saved: read what is on the disk if that isn't what the view was loaded from."""
        name, known = view.file_name(), self._known.get(view.buffer_id())
        saved = SavedText(since=time.time_ns())
        if name and known and known.path == name and view.is_dirty():
            encodings = encodings_of(name)
            found = _within(lambda: _found(known, encodings)) or _Found(is_lost=True)
            saved = replace(saved, loaded=known.text, found=found.data, is_lost=found.is_lost)
            if found.is_lost and (window := view.window()):
                say(window, LOST.format(name=os.path.basename(name)))
        self._saving[view.buffer_id()] = saved, _short_text(view)

    def saved(self, view: sublime.View) -> SavedText:
        """A view was saved: what is known of that."""
        saved, text = self._saving.pop(view.buffer_id(), (SavedText(), None))
        # Who edits the text after a save and before this is known has it unsaved.
        is_edited = view.is_dirty()
        self.based(view, text if is_edited else _short_text(view))
        return replace(saved, text=None if is_edited else self.text(view), until=time.time_ns())

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        number = view.buffer_id()
        left = (each for window in sublime.windows() for each in window.views() if each.id() != view.id())
        if not any(each.buffer_id() == number for each in left):
            self._known.pop(number, None)
            self._saving.pop(number, None)


def _short_text(view: sublime.View) -> str | None:
    """The text of a view; None if it is too large to be remembered."""
    return text_of(view) if view.size() <= MAX_LOADED else None


def _within(call: Callable[[], _Found]) -> _Found | None:
    """What a call has found, if it is quick."""
    found: list[_Found] = []
    thread = threading.Thread(target=lambda: found.append(call()), name="qwen-companion-before-save", daemon=True)
    thread.start()
    thread.join(LIMIT)
    return next(iter(found), None)


def _found(known: _Loaded, encodings: Encodings) -> _Found:
    """What is on the disk, unless it is what a tab was loaded from. Blocks."""
    now = stamp(known.path)
    if now is None or now == known.stamp:
        return _Found()
    if now[1] > MAX_LOADED:
        return _Found(is_lost=known.stamp is not None)
    try:
        data, _ = read_bytes(known.path)
    except OSError:
        return _Found(is_lost=True)
    return _Found() if _shown(data, encodings) == known.text else _Found(data)


def _stamp_of(known: _Loaded, encodings: Encodings) -> Stamp:
    """The stamp of a file that has a text; None if it has another one. Blocks."""
    before = stamp(known.path)
    if known.text is None:
        return before
    try:
        data, _ = read_bytes(known.path)
    except OSError:
        return None
    return before if _shown(data, encodings) == known.text and stamp(known.path) == before else None


def _shown(data: bytes, encodings: Encodings) -> str:
    return SourceText(decoded(data, encodings)[0]).shown
