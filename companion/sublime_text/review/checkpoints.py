"""The list of checkpoints, and going back to one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat
from ...ids import WindowId
from ...review.changes import counted
from ..calls import AskLater, Post
from ..panels import PanelItem, choose, say

if TYPE_CHECKING:
    from ...changes.decisions import Point, Preview

_NAMES = 20


class CheckpointPicker:
    """Lists the checkpoints of a window. `ask` asks the companion, `tell` calls something on its thread."""

    def __init__(self, ask: AskLater, tell: Post) -> None:
        self._ask = ask
        self._tell = tell

    def choose(self, window: sublime.Window) -> None:
        """Show the list."""
        number = WindowId(window.id())
        self._ask(window, lambda companion: companion.decisions.points(number), lambda found: self._list(window, found))

    def _list(self, window: sublime.Window, found: list[Point]) -> None:
        if not found:
            say(window, "There is no checkpoint yet.")
            return
        items: list[PanelItem] = [
            (_caption(point), _details(point), lambda point=point: self._preview(window, point)) for point in found
        ]
        choose(window, items, "Go back to the files before…")

    def _preview(self, window: sublime.Window, point: Point) -> None:
        self._ask(
            window,
            lambda companion: companion.decisions.planned(point),
            lambda preview: self._confirm(window, point, preview),
        )

    def _confirm(self, window: sublime.Window, point: Point, preview: Preview) -> None:
        if not preview.files and not preview.left:
            say(window, "Nothing has changed since then.")
            return
        parts = (
            ("Changes", preview.changed),
            ("Deletes", preview.deleted),
            ("Brings back", preview.back),
            ("Moves back", preview.moved),
            ("Left alone", preview.left),
        )
        question = f"Restore {counted(preview.files, 'file')}? What you have saved yourself stays."
        question += "".join(f"\n\n{what}:\n{_names(paths)}" for what, paths in parts if paths)
        if sublime.ok_cancel_dialog(question, "Restore"):
            number, root, at = WindowId(window.id()), point.root, point.number
            self._tell(lambda companion: companion.decisions.restore(number, root, at))


def _names(paths: Sequence[str]) -> str:
    return "\n".join(flat(path, 200) for path in paths[:_NAMES]) + ("\n…" if len(paths) > _NAMES else "")


def _caption(point: Point) -> str:
    return point.words or f"{point.agent or 'An agent'} begins to write"


def _details(point: Point) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(point.at))
    return f"{at} · {point.agent} · {counted(point.files, 'file')} changed since"
