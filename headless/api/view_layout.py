"""What View tells about where its text is on the screen, and folding."""

from __future__ import annotations

from bisect import bisect_left

from headless import variations
from headless.api.region import Region
from headless.api.selection import Selection
from headless.api.types import DIP, Point, Vector
from headless.api.view_text import span_of
from headless.host import app, locked
from headless.metrics import EM_WIDTH, LINE_HEIGHT
from headless.window import ViewState


class ViewLayout:
    """Layout, scrolling and folds. The grid is fixed: see headless.metrics."""

    def _state(self) -> ViewState:
        raise NotImplementedError

    @locked
    def visible_region(self) -> Region:
        """What is on the screen."""
        return Region(*app().metrics.visible(self._state()))

    @locked
    def show(
        self,
        location: Region | Selection | Point,
        show_surrounds: bool = True,
        keep_to_left: bool = False,
        animate: bool = True,
    ) -> None:
        """Scroll to a place, if it is not on the screen."""
        if isinstance(location, Selection):
            if not len(location):
                return
            location = location[0]
        point = location.b if isinstance(location, Region) else location
        app().metrics.show(self._state(), point, show_surrounds)

    @locked
    def show_at_center(self, location: Region | Point, animate: bool = True) -> None:
        """Scroll until a place is in the middle of the screen."""
        app().metrics.show_at_center(self._state(), span_of(location)[0])

    @locked
    def viewport_position(self) -> Vector:
        """How far the view is scrolled."""
        view = self._state()
        return view.drawn_scroll if variations.chosen("viewport-lags") == "yes" else view.scroll

    @locked
    def set_viewport_position(self, xy: Vector, animate: bool = True) -> None:
        """Scroll to a layout position."""
        app().metrics.scroll_to(self._state(), *xy)

    @locked
    def viewport_extent(self) -> Vector:
        """The size of what is on the screen."""
        return app().metrics.viewport(self._state())

    @locked
    def layout_extent(self) -> Vector:
        """The size of the whole layout."""
        return app().metrics.extent(self._state())

    @locked
    def text_to_layout(self, tp: Point) -> Vector:
        """The layout position of a point."""
        return app().metrics.position(self._state(), tp)

    @locked
    def layout_to_text(self, xy: Vector) -> Point:
        """The point nearest to a layout position."""
        return app().metrics.point(self._state(), *xy)

    @locked
    def layout_to_window(self, xy: Vector) -> Vector:
        """A layout position relative to the view's corner, which is taken as the window's."""
        left, top = self._state().scroll
        return xy[0] - left, xy[1] - top

    @locked
    def window_to_layout(self, xy: Vector) -> Vector:
        """The layout position of a place in the window."""
        left, top = self._state().scroll
        return xy[0] + left, xy[1] + top

    def text_to_window(self, tp: Point) -> Vector:
        """The place of a point in the window."""
        return self.layout_to_window(self.text_to_layout(tp))

    def window_to_text(self, xy: Vector) -> Point:
        """The point nearest to a place in the window."""
        return self.layout_to_text(self.window_to_layout(xy))

    def line_height(self) -> DIP:
        """The height of a line."""
        return LINE_HEIGHT

    def em_width(self) -> DIP:
        """The width of a character."""
        return EM_WIDTH

    # -- folding -------------------------------------------------------------------------------

    @locked
    def is_folded(self, region: Region) -> bool:
        """Whether a region is inside a fold."""
        begin, end = span_of(region)
        return any(a <= begin and end <= b for a, b in self._state().folds)

    @locked
    def folded_regions(self) -> list[Region]:
        """All folds."""
        return [Region(a, b) for a, b in sorted(self._state().folds)]

    @locked
    def fold(self, x: Region | list[Region]) -> bool:
        """Fold regions; False if all were folded already."""
        view, changed = self._state(), False
        folds = sorted(view.folds)  # none is inside another one, so their ends are in order, too
        for region in [x] if isinstance(x, Region) else x:
            begin, end = view.buffer.clamped([span_of(region)])[0]
            at = bisect_left(folds, (begin, end))
            if begin < end and not any(a <= begin and end <= b for a, b in folds[max(0, at - 1) : at + 1]):
                first = last = bisect_left(folds, (begin, begin))
                while last < len(folds) and folds[last][1] <= end:
                    last += 1
                folds[first:last] = [(begin, end)]
                changed = True
        view.folds = folds
        return changed

    @locked
    def unfold(self, x: Region | list[Region]) -> list[Region]:
        """Unfold what is in regions; returns the folds that are gone."""
        view = self._state()
        wanted = [span_of(region) for region in ([x] if isinstance(x, Region) else x)]
        gone = [f for f in view.folds if any(f[0] <= e and b <= f[1] for b, e in wanted)]
        view.folds = [fold for fold in view.folds if fold not in gone]
        return [Region(*fold) for fold in sorted(gone)]
