"""The comments as the adapter has them: kept, drawn, written in the input panel, and sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import sublime

from ...comments.comment import Comment
from ...comments.comments import Line
from .kept import KeptComments, Later
from .views import CommentTarget, CommentViews, selected_lines

if TYPE_CHECKING:
    from ...comments.comments import Comments
    from ..diff.diffs import Diffs

INPUT_SETTING = "qwen_companion.comment_input"
"""On the view of the input panel while a comment is written: Shift+Enter begins a line there."""


class CommentPanel:
    """Writes, draws and keeps the comments of all windows. Lives on the UI thread."""

    def __init__(
        self,
        diffs: Diffs,
        later: Later[Sequence[Comment] | str],
        say: Callable[[str], object],
        counted: Callable[[], object],
    ) -> None:
        """`counted` is called when the number of unsent comments may have changed."""
        self.kept = KeptComments(later, say)
        self.views = CommentViews(self.kept.comments, diffs, self._clicked)
        self._counted = counted

    @property
    def comments(self) -> Comments:
        """All comments."""
        return self.kept.comments

    def activated(self, view: sublime.View) -> None:
        """A view got the focus: its comments are shown."""
        window = view.window()
        if window is None:
            return
        self.kept.load(window, self._loaded)
        if (place := self.views.place(view)) is not None:
            root = self.kept.root(window, place.path)
            self.kept.load_root(root, self._loaded)
            self.views.draw(view)

    def unsent(self, window: sublime.Window) -> tuple[Comment, ...]:
        """The comments of a window that no agent has got."""
        return self.comments.unsent(self.kept.roots(window))

    def settled(self, window: sublime.Window) -> tuple[Comment, ...]:
        """The same, where their lines are now."""
        for path in {comment.path for comment in self.unsent(window)}:
            self.views.settle(path)
        return self.unsent(window)

    def write(self, view: sublime.View, text: str | None = None) -> None:
        """Comment the selected lines: with a text, or with what the person writes into the input panel.

        On the line of a comment that wasn't sent, the panel changes that one.
        """
        window, place = view.window(), self.views.place(view)
        if window is None or place is None:
            return
        first, lines = selected_lines(view)
        if text is not None:
            self._add(window, place, first, lines, text)
            return
        caret = view.sel()[0].b if len(view.sel()) else 0
        here = [comment for comment in self.views.at(view, caret) if not comment.is_sent]
        if here and len(lines) == 1:
            self.edit(window, here[-1])
            return
        line: Line = (place.path, place.side, first)

        def written(words: str) -> None:
            self.comments.keep_draft(line, "")
            self._add(window, place, first, lines, words)

        self._ask(
            window,
            f"Comment on line {first}" if len(lines) == 1 else f"Comment on lines {first}-{first + len(lines) - 1}",
            self.comments.draft(line),
            written,
            lambda words: self.comments.keep_draft(line, words),
        )

    def edit(self, window: sublime.Window, comment: Comment) -> None:
        """Let the person change a comment; an empty text deletes it."""

        def edited(words: str) -> None:
            if words.strip():
                self.comments.edit(comment.id, words)
            else:
                self.comments.delete([comment.id])
            self._redraw([comment.path])

        self._ask(window, "Comment", comment.words, edited, lambda _: None)

    def delete(self, comments: Iterable[Comment]) -> None:
        """Delete comments."""
        gone = list(comments)
        self.comments.delete(comment.id for comment in gone)
        self._redraw({comment.path for comment in gone})

    def sent(self, comments: Sequence[Comment]) -> None:
        """An agent has got comments."""
        self.comments.sent(comment.id for comment in comments)
        self._redraw({comment.path for comment in comments})

    def close(self) -> None:
        """The package is unloaded."""
        self.views.close()
        self.kept.close()

    def _add(
        self, window: sublime.Window, place: CommentTarget, first: int, lines: tuple[str, ...], words: str
    ) -> None:
        if not words.strip():
            return
        comment = Comment(place.path, first, lines, words, place.side, place.agent)
        self.comments.add(self.kept.root(window, place.path), comment)
        self._redraw([place.path])

    def _ask(
        self,
        window: sublime.Window,
        caption: str,
        before: str,
        done: Callable[[str], None],
        left: Callable[[str], None],
    ) -> None:
        """Ask for a text in the input panel. `left` gets what was written when the person leaves it."""
        written = before

        def changed(words: str) -> None:
            nonlocal written
            written = words

        panel = window.show_input_panel(caption, before, done, changed, lambda: left(written))
        panel.settings().set(INPUT_SETTING, True)

    def _clicked(self, view: sublime.View, href: str) -> None:
        action, _, identifier = href.partition(":")
        window, comment = view.window(), self.comments.find(identifier)
        if window is None or comment is None:
            return
        match action:
            case "edit":
                self.edit(window, comment)
            case "delete":
                self.delete([comment])

    def _loaded(self, root: str) -> None:
        self._redraw({comment.path for comment in self.comments.of_root(root)})

    def _redraw(self, paths: Iterable[str]) -> None:
        for path in set(paths):
            self.views.draw_file(path)
        self._counted()
