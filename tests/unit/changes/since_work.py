"""A window with a review since a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from companion.changes.change_screen import SinceListing, SincePoint
from companion.changes.rows import ChangeRow
from companion.changes.since import SinceReviews
from companion.changes.state import Chosen
from companion.editor import WindowId
from companion.review.document import Body

from .work import WINDOW, Work


@dataclass
class SinceWork:
    """A window whose folder is a repository, and its review since a commit. `known` has the lines of agents."""

    work: Work
    known: set[int] = field(default_factory=set[int])
    rows: Sequence[int] = ()

    def __post_init__(self) -> None:
        self.since = SinceReviews(self.work.rounds.roots, self.work.rounds.begun, self._by_agents)
        self._point: SincePoint | None = None

    async def _by_agents(self, window: WindowId, path: str, rows: Sequence[int]) -> set[int]:
        self.rows = rows
        return self.known

    async def point(self, name: str) -> SincePoint:
        points = await self.since.points(WINDOW)
        assert isinstance(points, list), points
        return next(each for each in points if name in (each.name, each.subject))

    async def begin(self, name: str) -> dict[str, str]:
        """Compare with something. What differs: the kind of each file."""
        return self.kinds(await self.compare(name))

    async def compare(self, name: str) -> SinceListing:
        self._point = await self.point(name)
        return await self.listing()

    async def listing(self) -> SinceListing:
        assert self._point
        listing = await self.since.listing(WINDOW, self._point)
        self._point = listing.point
        return listing

    async def bodies(self, path: str) -> dict[str, tuple[str, Body]]:
        assert self._point
        return await self.since.bodies(WINDOW, self._point, [path])

    async def listed(self) -> dict[str, str]:
        return self.kinds(await self.listing())

    @staticmethod
    def kinds(listing: SinceListing) -> dict[str, str]:
        assert listing.trouble == ""
        return {row.path: row.kind for row in listing.rows}

    async def keys(self, path: str) -> list[Chosen]:
        """The changes of a file."""
        bodies = await self.bodies(path)
        return [(each[4], None) for each in bodies[path][1].changes]

    async def undo(self, path: str, chosen: Sequence[Chosen] = ()) -> dict[str, str]:
        row = next(row for row in (await self.listing()).rows if row.path == path)
        return self.kinds(await self.undo_row(row, chosen))

    async def undo_row(self, row: ChangeRow, chosen: Sequence[Chosen] = ()) -> SinceListing:
        assert self._point
        return await self.since.undo(WINDOW, self._point, row, chosen)
