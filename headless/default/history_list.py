"""Where the carets have been: what packages use of the editor's `Default.history_list`."""

from __future__ import annotations

import sublime

_histories: dict[int, JumpHistory] = {}


class JumpHistory:
    """The places of a window that a person can go back to: a view's id and its regions, the newest last."""

    LIMIT = 120

    def __init__(self) -> None:
        self.places: list[tuple[int, list[tuple[int, int]]]] = []

    def push_selection(self, view: sublime.View) -> None:
        """Remember where the carets of a view are, unless that is the newest place already."""
        place = view.id(), [region.to_tuple() for region in view.sel()]
        if self.places[-1:] != [place]:
            self.places = [*self.places, place][-self.LIMIT :]


def get_jump_history(window_id: int) -> JumpHistory:
    """The history of a window."""
    return _histories.setdefault(window_id, JumpHistory())


def get_jump_history_for_view(view: sublime.View) -> JumpHistory:
    """The history of a view's window; an empty one for a view without a window."""
    window = view.window()
    return get_jump_history(window.id()) if window else JumpHistory()
