"""Comments under their lines, in every view that shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import sublime

from ...comments import Comment, CommentedLines, Side, kept_lines
from ...platforms.paths import path_key
from ..minihtml import COLOURS, safe
from ..windows import is_code

if TYPE_CHECKING:
    from ...comments import Comments
    from ..adapter import Adapter

KEY = "qwen_companion.comments"
_REGION = "qwen_companion.comment."
GONE = "the lines have changed"
_FLAGS = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO
_STYLE = f"""
<style>{COLOURS}
div {{ padding: 0.2rem 0.6rem; background-color: var(--tint); margin: 0.1rem 0; }}
</style>
"""


CommentedPlace = tuple[int, int, tuple[str, ...]]
"""The first and the last line of a place, from 1, and the text that a comment keeps of them."""


class CommentTarget(NamedTuple):
    """What a view shows that can be commented: a file, and which side of its change."""

    path: str
    side: Side
    agent: str


class CommentViews:
    """Draws the comments. Lives on the UI thread."""

    def __init__(self, adapter: Adapter, comments: Comments) -> None:
        self._adapter = adapter
        self._comments = comments
        self._drawn: dict[int, _Drawn] = {}

    def place(self, view: sublime.View) -> CommentTarget | None:
        """What a view shows; None if it can't be commented."""
        if diff := self._adapter.diffs.find(view):
            is_original = diff.original is not None and view.buffer_id() == diff.original.buffer_id()
            side: Side = "original" if is_original else "proposal"
            return CommentTarget(diff.review.file_path, side, diff.review.owner.cli)
        path = view.file_name()
        if not path or not is_code(view):
            return None
        return CommentTarget(path, "file", self._adapter.written.listings.agent_of(view))

    def draw(self, view: sublime.View, *, is_loaded: bool = False) -> None:
        """Show the comments of a view where their lines are now, and take note of that.

        After its file was loaded, lines may have moved without the editor's knowledge.
        """
        place = None if view.is_loading() else self.place(view)
        shown = (
            [comment for comment in self._comments.of_file(place.path) if self._shows(place, comment)] if place else []
        )
        drawn = self._drawn.get(view.id())
        if drawn is None:
            if not shown:
                return
            drawn = self._drawn[view.id()] = _Drawn(view)
        found = _Finder(view, is_loaded=is_loaded)
        phantoms: list[sublime.Phantom] = []
        for comment in shown:
            is_bound = place is not None and _is_taken_away(place, comment)
            region, is_gone = found.bound(comment) if is_bound else found.region(comment)
            view.add_regions(_REGION + comment.id, [region], flags=_FLAGS)
            if place and self._settles(place, comment):
                first = view.rowcol(region.begin())[0] + 1
                has_changed = is_gone and not is_bound
                if (first, has_changed) != (comment.first, comment.has_changed):
                    self._comments.move(comment.id, first, has_changed=has_changed)
            at = sublime.Region(view.line(max(region.begin(), region.end() - 1)).end())
            click: Callable[[str], None] = lambda href: self._adapter.comments.clicked(view, href)  # noqa: E731
            phantoms.append(
                sublime.Phantom(at, self._html(comment, is_gone=is_gone), sublime.PhantomLayout.BLOCK, click)
            )
        drawn.show({comment.id for comment in shown}, phantoms)
        if not shown:
            del self._drawn[view.id()]

    def taken_away(self, view: sublime.View) -> list[Comment]:
        """The comments of a view whose lines were taken away from its file."""
        place = self.place(view)
        found = self._comments.of_file(place.path) if place else ()
        return [each for each in found if place and self._shows(place, each) and _is_taken_away(place, each)]

    def shows(self, view: sublime.View) -> bool:
        """Whether a view shows comments."""
        return view.id() in self._drawn

    def draw_file(self, path: str, *, is_loaded: bool = False) -> None:
        """Draw again in all views that show a file or its proposals."""
        for window in sublime.windows():
            for view in window.views():
                if (place := self.place(view)) and path_key(place.path) == path_key(path):
                    self.draw(view, is_loaded=is_loaded)

    def at_caret(self, view: sublime.View) -> list[Comment]:
        """The comments on the line of the caret, which is the last one of a selection."""
        line = view.line(_selected(view)[0].end())
        return [
            comment
            for comment, region in self._regions(view)
            if view.full_line(region).intersects(line) or view.line(region).contains(line)
        ]

    def points(self, view: sublime.View) -> list[int]:
        """Where the comments of a view begin, from the top."""
        return sorted({region.begin() for _, region in self._regions(view)})

    def region(self, view: sublime.View, comment: Comment) -> sublime.Region | None:
        """Where a comment is in a view; None if that doesn't show it."""
        return next((region for each, region in self._regions(view) if each.id == comment.id), None)

    def forget(self, view: sublime.View) -> None:
        """A view was closed."""
        self._drawn.pop(view.id(), None)

    def close(self) -> None:
        """Remove everything from the screen."""
        for drawn in self._drawn.values():
            drawn.show(set(), [])
        self._drawn.clear()

    def _regions(self, view: sublime.View) -> list[tuple[Comment, sublime.Region]]:
        if (place := self.place(view)) is None or not self.shows(view):
            return []
        comments = self._comments.of_file(place.path)
        return [(each, at[0]) for each in comments if (at := view.get_regions(_REGION + each.id))]

    def _shows(self, place: CommentTarget, comment: Comment) -> bool:
        """Whether a view shows a comment: a proposal that is written, or was rejected, is the file.

        A comment on a line that was taken away is where that was.
        """
        if comment.side == place.side:
            return True
        if place.side == "file":
            return comment.side == "removed" or not self._is_proposed(place.path)
        return place.side == "proposal" and comment.side == "file"

    @staticmethod
    def _settles(place: CommentTarget, comment: Comment) -> bool:
        """Whether a view decides where a comment's lines are."""
        return place.side in (comment.side, "file")

    def _is_proposed(self, path: str) -> bool:
        return any(
            diff.review.file_path == path
            for window in sublime.windows()
            for diff in self._adapter.diffs.in_window(window)
        )

    @staticmethod
    def _html(comment: Comment, *, is_gone: bool) -> str:
        words = "<br>".join(safe(line) for line in comment.words.splitlines() or [""])
        about = [word for word in (comment.state, GONE if is_gone else "") if word]
        note = f' <span class="quiet">({safe(", ".join(about))})</span>' if about else ""
        if comment.by:
            words = f"<b>{safe(comment.by)} points out:</b> {words}"
            links = f'<a href="delete:{comment.id}">dismiss</a>'
        else:
            links = f'<a href="edit:{comment.id}">edit</a><a href="delete:{comment.id}">delete</a>'
        return f'<body id="qwen-companion-comment">{_STYLE}<div>¶ {words}{note} {links}</div></body>'


class _Drawn:
    """What was drawn in a view."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        self._phantoms = sublime.PhantomSet(view, KEY)
        self._ids: set[str] = set()

    def show(self, ids: set[str], phantoms: list[sublime.Phantom]) -> None:
        """Show these instead."""
        for gone in self._ids - ids:
            self._view.erase_regions(_REGION + gone)
        self._ids = ids
        self._phantoms.update(phantoms)


class _Finder:
    """Finds the lines of comments in a view: where the editor has moved them, else where the same text is."""

    def __init__(self, view: sublime.View, *, is_loaded: bool) -> None:
        self._view = view
        self._is_loaded = is_loaded
        self._all: CommentedLines | None = None

    def region(self, comment: Comment) -> tuple[sublime.Region, bool]:
        """The lines of a comment, and whether they have changed. Those that are gone have an empty region."""
        view = self._view
        known = view.get_regions(_REGION + comment.id)
        tracked = known[0] if known else None
        if tracked is not None and self._is(comment, tracked):
            return tracked, False
        is_there = tracked is not None and not tracked.empty()
        near = view.rowcol(tracked.begin())[0] + 1 if tracked is not None and is_there else comment.first
        if (first := self._lines.find(comment.moved(near))) is not None:
            found = self._from(first, comment)
            # Lines that were edited in place are not those elsewhere that happen to have the same text.
            if tracked is None or not is_there or self._is_loaded or view.full_line(tracked).intersects(found):
                return found, False
        if tracked is not None and is_there:
            return tracked, True
        return sublime.Region(view.text_point(min(near, len(self._lines)) - 1, 0)), True

    def bound(self, comment: Comment) -> tuple[sublime.Region, bool]:
        """Where the lines of a comment were taken away, and whether they are not there.

        Equal lines elsewhere are others.
        """
        known = [] if self._is_loaded else self._view.get_regions(_REGION + comment.id)
        region = known[0] if known else self._from(min(comment.first, len(self._lines)), comment)
        return region, not self._is(comment, region)

    def _from(self, first: int, comment: Comment) -> sublime.Region:
        view, last = self._view, min(first + comment.last - comment.first, len(self._lines))
        return sublime.Region(view.text_point(first - 1, 0), view.line(view.text_point(last - 1, 0)).end())

    def _is(self, comment: Comment, region: sublime.Region) -> bool:
        first, last = _rows(self._view, region)
        return last - first == comment.last - comment.first and _text(self._view, region) == comment.lines

    @property
    def _lines(self) -> CommentedLines:
        if self._all is None:
            self._all = CommentedLines(self._view.substr(sublime.Region(0, self._view.size())).split("\n"))
        return self._all


def _is_taken_away(place: CommentTarget, comment: Comment) -> bool:
    """Whether the lines of a comment that a view shows are not looked for there: they were taken away."""
    return place.side == "file" and comment.side in ("original", "removed")


def _text(view: sublime.View, region: sublime.Region) -> tuple[str, ...]:
    return kept_lines(view.substr(view.line(region)))


def _rows(view: sublime.View, region: sublime.Region) -> tuple[int, int]:
    """The first and the last line of a region, from 1."""
    return view.rowcol(region.begin())[0] + 1, view.rowcol(region.end())[0] + 1


def _selected(view: sublime.View) -> list[sublime.Region]:
    """What is selected, without a last line feed: the caret is below it then, on a line that isn't meant."""
    regions = [*view.sel()] or [sublime.Region(0)]
    return [
        sublime.Region(each.begin(), each.end() - (not each.empty() and view.rowcol(each.end())[1] == 0))
        for each in regions
    ]


def selected_lines(view: sublime.View) -> list[CommentedPlace]:
    """The lines of each selection. A caret has one line. Several on the same lines are one."""
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    for lines in _selected(view):
        found.setdefault(_rows(view, lines), _text(view, lines))
    return [(*rows, text) for rows, text in sorted(found.items())]
