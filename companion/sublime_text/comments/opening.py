"""Goes to a comment, wherever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

from ...comments.comment import Comment
from ..calls import OffThread
from ..places import open_place
from ..windows import put_caret

if TYPE_CHECKING:
    from .views import CommentViews


def go_to(window: sublime.Window, off_thread: OffThread, views: CommentViews, comment: Comment) -> None:
    """Show a comment and put the caret at its lines, in the view that shows it, else in its file."""
    for view in window.views():
        if (region := views.region(view, comment)) is not None:
            window.focus_view(view)
            put_caret(view, region.begin())
            return
    open_place(window, off_thread, comment.path, comment.first)
