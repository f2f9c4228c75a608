"""The commands of comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from .. import package
from ..panels import say
from .sending import copy, send

if TYPE_CHECKING:
    from ...comments.comment import Comment
    from .panel import CommentPanel

NOTHING = "There are no comments to send."
LOOKS_AFTER_ANSWER = 100
"""Looks at a terminal, ten in a second, until the CLI has left its question after an answer."""


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
        if adapter and (why := adapter.refusal(self.window, [comment.path for comment in comments])):
            say(self.window, why)
            return
        copy(comments)
        say(self.window, f"{len(comments)} comment{'s' * (len(comments) != 1)} copied.")


class QwenCompanionDeleteCommentsCommand(sublime_plugin.WindowCommand):
    """Delete the comments on the line of the caret, or all that were not sent."""

    def run(self, *, asks: bool = True) -> None:
        """Deleting all of them is asked before."""
        panel, view = _panel(), self.window.active_view()
        if panel is None:
            return
        here = panel.views.at(view, view.sel()[0].b) if view and len(view.sel()) else []
        comments = here or list(panel.unsent(self.window))
        question = f"Delete {len(comments)} comment{'s' * (len(comments) != 1)} of this window?"
        if here or (comments and (not asks or sublime.ok_cancel_dialog(question, "Delete", "Qwen Companion"))):
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
        path = diff.review.file_path
        adapter.comments.views.settle(path)
        comments = [comment for comment in adapter.comments.comments.of_file(path) if not comment.is_sent]
        diff.attention.entered()
        adapter.diffs.reject(diff)
        if comments:
            # The CLI shows its prompt again once it has got the answer.
            send(adapter, window, comments, LOOKS_AFTER_ANSWER)

    def is_enabled(self) -> bool:
        """Whether the view belongs to a diff."""
        adapter = package.adapter()
        return adapter is not None and adapter.diffs.find(self.view) is not None


class QwenCompanionGoToCommentCommand(sublime_plugin.TextCommand):
    """Go to the next comment, or to the previous one."""

    def run(self, edit: sublime.Edit, *, forward: bool = True) -> None:
        """At the last one it begins again at the top."""
        panel = _panel()
        points = panel.views.points(self.view) if panel else []
        if not points:
            return
        caret = self.view.sel()[0].b if len(self.view.sel()) else 0
        line = self.view.line(caret).begin()
        if forward:
            target = next((point for point in points if point > line), points[0])
        else:
            target = next((point for point in reversed(points) if point < line), points[-1])
        self.view.sel().clear()
        self.view.sel().add(target)
        self.view.show_at_center(target)

    def is_enabled(self, *, forward: bool = True) -> bool:
        """Whether the view has comments."""
        panel = _panel()
        return panel is not None and bool(panel.views.points(self.view))
