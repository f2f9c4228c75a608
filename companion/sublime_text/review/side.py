"""Opens the view of one side of a diff, and makes a view one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import sublime

from ..keys import KEYS
from ..own_views import VIEWS
from .leftovers import KEYS_STATUS

if TYPE_CHECKING:
    from ...review.review import Review

Side = Literal["original", "proposal"]
_KEYS = {
    "Accept": "accept_diff",
    "Reject": "reject_diff",
    "Next": "go_to_diff",
    "Keep": "keep_change",
    "Undo": "undo_change",
}


def keys() -> str:
    """What the status bar says while the focus is in a diff: its commands with the person's keys."""
    return " · ".join(KEYS.after(words, command) for words, command in _KEYS.items())


def open_side(
    window: sublime.Window, group: int, review: Review, side: Side, title: str, like: sublime.View | None
) -> sublime.View:
    """A new, empty view in a group, with the syntax and the indentation of the view `like`, which has the file open."""
    view = window.new_file()
    if window.get_view_index(view)[0] != group:
        window.set_view_index(view, group, len(window.views_in_group(group)))
    view.set_name(title)
    set_up(view, review, side)
    syntax = like.syntax() if like else None
    if syntax := syntax or sublime.find_syntax_for_file(review.file_path, review.shown[:1000]):
        view.assign_syntax(syntax)
    if like:
        for name in ("tab_size", "translate_tabs_to_spaces"):
            view.settings().set(name, like.settings().get(name))
    return view


def set_up(view: sublime.View, review: Review, side: Side) -> None:
    """Make a view one of a diff: its record has the number of the review, and the path exactly as the CLI sent it."""
    VIEWS.take(view, side, review=review.number, file_path=review.file_path)
    view.set_scratch(True)
    settings = view.settings()
    settings.set("mini_diff", False)  # it would say what our own marks say, perhaps a line apart
    settings.set("word_wrap", False)  # wrapped lines would make the sides uneven
    view.set_status(KEYS_STATUS, keys())
