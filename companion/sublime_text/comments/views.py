"""Comments under their lines, in every view that shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ...comments.comment import Comment, Side, find
from ..minihtml import safe
from ..style import COLOURS
from ..windows import is_code

if TYPE_CHECKING:
    from ...comments.comments import Comments
    from ..diff.diffs import Diffs

KEY = "qwen_companion.comments"
_REGION = "qwen_companion.comment."
GONE = "the lines have changed"
_STYLE = f"""
<style>{COLOURS}
div.comment {{ padding: 0.2rem 0.6rem; background-color: var(--tint); margin: 0.1rem 0; }}
</style>
"""


class CommentTarget:
    """What a view shows that can be commented: a file, and which side of its change."""

    def __init__(self, path: str, side: Side, agent: str = "") -> None:
        self.path = path
        self.side: Side = side
        self.agent = agent


class CommentViews:
    """Draws the comments. Lives on the UI thread. `act` is called with edit:ID or delete:ID that was clicked."""

    def __init__(self, comments: Comments, diffs: Diffs, act: Callable[[sublime.View, str], None]) -> None:
        self._comments = comments
        self._diffs = diffs
        self._act = act
        self._phantoms: dict[int, sublime.PhantomSet] = {}

    def place(self, view: sublime.View) -> CommentTarget | None:
        """What a view shows; None if it can't be commented."""
        if diff := self._diffs.find(view):
            is_original = diff.original is not None and view.buffer_id() == diff.original.buffer_id()
            return CommentTarget(
                diff.review.file_path, "original" if is_original else "proposal", diff.review.owner.cli
            )
        path = view.file_name()
        return CommentTarget(path, "file") if path and is_code(view) else None

    def draw(self, view: sublime.View) -> None:
        """Show the comments of a view where their lines are now."""
        place = self.place(view)
        shown = [comment for comment in self._comments.of_file(place.path) if _belongs(comment, place)] if place else []
        phantoms = self._phantoms.get(view.id())
        if phantoms is None:
            if not shown:
                return
            phantoms = self._phantoms[view.id()] = sublime.PhantomSet(view, KEY)
        lines = _lines(view)
        drawn: list[sublime.Phantom] = []
        for comment in shown:
            region = self._region(view, comment, lines)
            view.add_regions(_REGION + comment.id, [region], flags=sublime.RegionFlags.HIDDEN)
            is_gone = _text(view, region) != comment.lines
            at = sublime.Region(view.line(max(region.begin(), region.end() - 1)).end())
            click: Callable[[str], None] = lambda href: self._act(view, href)  # noqa: E731
            drawn.append(sublime.Phantom(at, self._html(comment, is_gone=is_gone), sublime.PhantomLayout.BLOCK, click))
        phantoms.update(drawn)
        if not shown:
            del self._phantoms[view.id()]

    def draw_file(self, path: str) -> None:
        """Draw again in all views that show a file or its proposals."""
        for window in sublime.windows():
            for view in window.views():
                if (place := self.place(view)) and place.path == path:
                    self.draw(view)

    def settle(self, path: str) -> None:
        """Take note of where the lines of a file's comments are now, in the views that are open."""
        for window in sublime.windows():
            for view in window.views():
                place = self.place(view)
                if place is None or place.path != path:
                    continue
                for comment in self._comments.of_file(path):
                    regions = view.get_regions(_REGION + comment.id)
                    if not regions or not _belongs(comment, place):
                        continue
                    text = _text(view, regions[0])
                    first = view.rowcol(regions[0].begin())[0] + 1
                    if not regions[0].empty() or not comment.lines:
                        self._comments.move(comment.id, first, text)

    def at(self, view: sublime.View, point: int) -> list[Comment]:
        """The comments on the line of a point."""
        place = self.place(view)
        if place is None:
            return []
        line = view.line(point)
        found: list[Comment] = []
        for comment in self._comments.of_file(place.path):
            regions = view.get_regions(_REGION + comment.id) if _belongs(comment, place) else []
            if any(view.full_line(region).intersects(line) or region.contains(line) for region in regions):
                found.append(comment)
        return found

    def points(self, view: sublime.View) -> list[int]:
        """Where the comments of a view begin, from the top."""
        place = self.place(view)
        comments = self._comments.of_file(place.path) if place else ()
        regions = (region for comment in comments for region in view.get_regions(_REGION + comment.id))
        return sorted(region.begin() for region in regions)

    def forget(self, view: sublime.View) -> None:
        """A view was closed."""
        self._phantoms.pop(view.id(), None)

    def close(self) -> None:
        """Remove everything from the screen."""
        for phantoms in self._phantoms.values():
            phantoms.update([])
        self._phantoms.clear()

    def _region(self, view: sublime.View, comment: Comment, lines: list[str]) -> sublime.Region:
        """Where the lines of a comment are: as the editor has moved them, or where they are found."""
        known = view.get_regions(_REGION + comment.id)
        if known and (not known[0].empty() or not comment.lines):
            return known[0]
        first = find(comment, lines)
        row = min((first or comment.first) - 1, max(len(lines) - 1, 0))
        last = min(row + max(len(comment.lines), 1) - 1, max(len(lines) - 1, 0)) if first else row
        return sublime.Region(view.text_point(row, 0), view.line(view.text_point(last, 0)).end())

    @staticmethod
    def _html(comment: Comment, *, is_gone: bool) -> str:
        words = "<br>".join(safe(line) for line in comment.words.splitlines() or [""])
        about = [word for word in ("sent" if comment.is_sent else "", GONE if is_gone else "") if word]
        note = f' <span class="quiet">({", ".join(about)})</span>' if about else ""
        links = f'<a href="edit:{comment.id}">edit</a><a href="delete:{comment.id}">delete</a>'
        return f'<body id="qwen-companion-comment">{_STYLE}<div class="comment">💬 {words}{note} {links}</div></body>'


def _belongs(comment: Comment, place: CommentTarget) -> bool:
    """Whether a view shows a comment: a proposal that is written is the file."""
    return comment.side == place.side or {comment.side, place.side} == {"file", "proposal"}


def _lines(view: sublime.View) -> list[str]:
    return view.substr(sublime.Region(0, view.size())).split("\n")


def _text(view: sublime.View, region: sublime.Region) -> tuple[str, ...]:
    return tuple(view.substr(view.full_line(region)).removesuffix("\n").split("\n"))


def selected_lines(view: sublime.View) -> tuple[int, tuple[str, ...]]:
    """The first line of the selection, from 1, and the text of its lines; a caret has one line."""
    region = view.sel()[0] if len(view.sel()) else sublime.Region(0)
    end = region.end() - 1 if region.size() and view.rowcol(region.end())[1] == 0 else region.end()
    lines = sublime.Region(region.begin(), max(region.begin(), end))
    return view.rowcol(lines.begin())[0] + 1, _text(view, lines)
