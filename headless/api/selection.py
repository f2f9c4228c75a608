"""Selection: what is selected in a view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headless.api.region import Region
from headless.api.types import Point
from headless.host import app, locked
from headless.regions import merged, subtracted
from headless.window import ViewState


def _span(x: Region | Point) -> tuple[int, int]:
    return x.to_tuple() if isinstance(x, Region) else (x, x)


class Selection:
    """The selected regions of a view: sorted, none overlapping another."""

    def __init__(self, id: int) -> None:
        self.view_id = id

    def _view(self) -> ViewState:
        return app().view(self.view_id)

    def _region(self, span: tuple[int, int]) -> Region:
        return Region(*span, self._view().xpos.get(span, -1))

    def _set(self, spans: Iterable[tuple[int, int]]) -> None:
        view = self._view()
        view.selection = merged(view.buffer.clamped(spans))
        app().selection_changed(view)

    def __iter__(self) -> Iterator[Region]:
        # As in the editor: the number of regions is read once, each region when its turn comes.
        for index in range(len(self)):
            spans = self._view().selection
            yield self._region(spans[index]) if index < len(spans) else Region(-1)

    @locked
    def __len__(self) -> int:
        return len(self._view().selection)

    @locked
    def __getitem__(self, index: int) -> Region:
        return self._region(self._view().selection[index])

    @locked
    def __delitem__(self, index: int) -> None:
        spans = list(self._view().selection)
        del spans[index]
        self._set(spans)

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, Selection) and list(self) == list(rhs)

    # A selection changes, so it can't be a key.
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, rhs: Selection | None) -> bool:
        return rhs is not None and list(self) < list(rhs)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"Selection({self.view_id!r})"

    def __str__(self) -> str:
        return f"{self!r}[{', '.join(map(str, self))}]"

    def is_valid(self) -> bool:
        """Whether its view is open."""
        return self.view_id in app().views

    @locked
    def clear(self) -> None:
        """Select nothing."""
        self._set([])

    @locked
    def add(self, x: Region | Point) -> None:
        """Select `x` too."""
        if isinstance(x, Region) and x.xpos >= 0:
            self._view().xpos[x.to_tuple()] = x.xpos
        self._set([*self._view().selection, _span(x)])

    @locked
    def add_all(self, regions: Iterable[Region | Point]) -> None:
        """Select all of `regions` too."""
        self._set([*self._view().selection, *(_span(x) for x in regions)])

    @locked
    def subtract(self, region: Region) -> None:
        """Select nothing in `region`."""
        self._set(subtracted(self._view().selection, _span(region)))

    @locked
    def contains(self, region: Region) -> bool:
        """Whether all of `region` is selected."""
        return any(region in self._region(span) for span in self._view().selection)

    def has_empty_region(self) -> bool:
        """Whether any region is a caret without a selected text."""
        return any(region.empty() for region in self)

    def has_non_empty_region(self) -> bool:
        """Whether any text is selected."""
        return any(not region.empty() for region in self)

    def has_multiple_non_empty_regions(self) -> bool:
        """Whether text is selected at several places."""
        return sum(not region.empty() for region in self) > 1
