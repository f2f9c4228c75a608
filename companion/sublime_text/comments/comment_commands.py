"""The commands of comments."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ...comments.comment import Comment
from ...review.changes import counted
from .. import package
from ..bridge import OffThread
from ..panels import say
from ..places import open_place
from ..windows import put_caret
from .sending import copy, send, send_after_answer, told

if TYPE_CHECKING:
    from .panel import CommentPanel
    from .views import CommentViews


def go_to(window: sublime.Window, off_thread: OffThread, views: CommentViews, comment: Comment) -> None:
    """Show a comment and put the caret at its lines, in the view that shows it, else in its file."""
    for view in window.views():
        if (region := views.region(view, comment)) is not None:
            window.focus_view(view)
            put_caret(view, region.begin())
            return
    open_place(window, off_thread, comment.path, comment.first)


NOTHING = "There are no comments to send."


def _panel() -> CommentPanel | None:
    adapter = package.adapter()
    return adapter.comments if adapter else None


class QwenCompanionCommentCommand(sublime_plugin.TextCommand):
    """Comment on the line of the caret or on the selected lines."""

    def run(self, edit: sublime.Edit, text: str | None = None) -> None:
        """With a text, for keys and macros, nothing is asked."""
        if panel := _panel():
            panel.write(self.view, text)

    def is_enabled(self, text: str | None = None) -> bool:
        """Whether the view has lines that can be commented."""
        panel = _panel()
        return panel is not None and panel.views.place(self.view) is not None

    def is_visible(self, text: str | None = None) -> bool:
        """Whether it can do something: a menu has no entry otherwise."""
        return self.is_enabled()


class _CommentsCommand(sublime_plugin.WindowCommand):
    """A command on the comments that were not sent."""

    def is_enabled(self) -> bool:
        """Whether there are any."""
        panel = _panel()
        return panel is not None and bool(panel.unsent(self.window))

    def run(self) -> None:
        """Do it, or say that there are none."""
        panel = _panel()
        comments = panel.settled(self.window) if panel else ()
        if comments:
            self.on_comments(list(comments))
        else:
            say(self.window, NOTHING)

    def on_comments(self, comments: list[Comment]) -> None:
        """Do it with the comments of the window."""
        raise NotImplementedError


class QwenCompanionSendCommentsCommand(_CommentsCommand):
    """Send the comments to the agent that made the changes."""

    def on_comments(self, comments: list[Comment]) -> None:
        """They go into its prompt; the person sends it."""
        if adapter := package.adapter():
            send(adapter, self.window, comments)


class QwenCompanionCopyCommentsCommand(_CommentsCommand):
    """Copy the comments as Markdown."""

    def on_comments(self, comments: list[Comment]) -> None:
        """They stay unsent."""
        adapter = package.adapter()
        if adapter and (going := told(adapter, self.window, comments)):
            copy(going)
            say(self.window, f"{len(going)} comment{'s' * (len(going) != 1)} copied.")


class QwenCompanionDeleteCommentsCommand(sublime_plugin.WindowCommand):
    """Dismiss an agent's notes on the line of the caret, or delete your comments there, or all that were not sent."""

    def run(self, *, asks: bool = True) -> None:
        """Deleting all of them is asked before. Whoever dismisses a note keeps the comment that answers it."""
        panel, view = _panel(), self.window.active_view()
        if panel is None:
            return
        here = panel.views.at_caret(view) if view else []
        here = [comment for comment in here if comment.by] or here
        notes = panel.notes(self.window)
        comments = here or [*panel.unsent(self.window), *notes]
        of_agents = f", {len(notes)} of them from agents," if notes else ""
        question = f"Delete {counted(len(comments), 'comment')}{of_agents} in this window?"
        if here or (comments and (not asks or sublime.ok_cancel_dialog(question, "Delete", "QwenCompanion"))):
            panel.delete(comments)

    def is_enabled(self, *, asks: bool = True) -> bool:
        """Whether there are any."""
        panel = _panel()
        return panel is not None and any(True for _ in panel.comments)


class QwenCompanionRejectWithCommentsCommand(sublime_plugin.TextCommand):
    """Reject the proposed change, and send the comments on it to the agent."""

    def run(self, edit: sublime.Edit) -> None:
        """The comments of that file go; the others wait."""
        adapter, window = package.adapter(), self.view.window()
        diff = adapter.diffs.find(self.view) if adapter else None
        if adapter is None or window is None or diff is None:
            return
        comments = adapter.comments.on_file(diff.review.file_path)
        diff.attention.entered()
        adapter.diffs.answers.reject(diff)
        if comments:
            # To the agent that has asked, whoever they were for.
            asking = diff.review.owner.cli
            own = [replace(comment, agent=asking) for comment in comments]
            diff.actions.add(partial(send_after_answer, adapter, window, own))

    def is_enabled(self) -> bool:
        """Whether the view belongs to a diff."""
        adapter = package.adapter()
        return adapter is not None and adapter.diffs.find(self.view) is not None


class QwenCompanionGoToCommentCommand(sublime_plugin.TextCommand):
    """Go to the next comment, or to the previous one."""

    def run(self, edit: sublime.Edit, *, forward: bool = True) -> None:
        """After the last one of the view comes the next file with comments, and in the end the first one again."""
        adapter, window = package.adapter(), self.view.window()
        if adapter is None or window is None:
            return
        panel, step = adapter.comments, 1 if forward else -1
        caret = self.view.sel()[0].b if len(self.view.sel()) else 0
        line = self.view.line(caret).begin()
        points = [point for point in panel.views.points(self.view)[::step] if (point - line) * step > 0]
        if points:
            put_caret(self.view, points[0])
        elif comment := self._elsewhere(panel, window, step):
            go_to(window, adapter.on_another_thread, panel.views, comment)

    def is_enabled(self, *, forward: bool = True) -> bool:
        """Whether the window has comments."""
        panel, window = _panel(), self.view.window()
        return panel is not None and window is not None and bool(panel.of_window(window))

    def is_visible(self, *, forward: bool = True) -> bool:
        """In a diff only forwards, which comes around."""
        return forward or not package.is_in_diff(self.view)

    def _elsewhere(self, panel: CommentPanel, window: sublime.Window, step: int) -> Comment | None:
        """The first comment of the next file with comments; it is the same one if no other file has any."""
        comments = panel.of_window(window)[::step]
        place = panel.views.place(self.view)
        here = place.path if place else ""
        paths = list(dict.fromkeys(comment.path for comment in comments))
        after = [path for path in paths if (path > here) == (step > 0) and path != here]
        wanted = (after or paths)[:1]
        return next((comment for comment in comments if [comment.path] == wanted), None)
