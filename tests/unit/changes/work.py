"""A window with folders, and the rounds in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from companion.changes.decisions import Decisions, Point
from companion.changes.folder import Folder
from companion.changes.roots import WindowChanges
from companion.changes.rounds import Rounds
from companion.changes.rows import ChangeRow
from companion.editor import ChatId, ViewId, WindowId
from companion.review.review import Review
from companion.review.reviews import Reviews
from companion.settings import Settings

from ..memory_editor import MemoryEditor

LINES = "".join(f"line {number}\n" for number in range(1, 31))
AGENT = "Qwen Code"
WINDOW = WindowId(1)
CHAT = ChatId(ViewId(7))


@dataclass
class Work:
    """One window, and the rounds in it."""

    stores: Path
    folders: list[str]
    settings: Settings = field(default_factory=Settings)
    editor: MemoryEditor = field(default_factory=MemoryEditor)
    tasks: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])
    errors: list[BaseException] = field(default_factory=list[BaseException])
    turns: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])

    def __post_init__(self) -> None:
        self.reviews = Reviews(self.editor, self, self.background)
        self.rounds = Rounds(self.editor, self, self.reviews, self.background, str(self.stores))
        self.decisions = Decisions(self.rounds.roots, self.reviews)

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        return tuple(self.folders)

    def settings_of(self, window: WindowId) -> Settings:
        return self.settings

    def changes_changed(self) -> None:
        pass

    def change_proposed(self, review: Review) -> None:
        pass

    def proposal_answered(self, review: Review) -> None:
        self.decisions.answered(review)

    def proposal_written(self, review: Review, text: str) -> None:
        pass

    def turn_written(self, chat: int, turn: str, files: int) -> None:
        self.turns.append((chat, turn, files))

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[object]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.errors.append(error)

    @property
    def path(self) -> Path:
        return Path(self.folders[0])

    @property
    def rows(self) -> dict[str, ChangeRow]:
        return {row.path: row for row in self.rows_of(WINDOW)}

    def rows_of(self, window: WindowId) -> Sequence[ChangeRow]:
        return self.rounds.listing(window).rows

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(3000):  # a busy machine spaces the scans out
            if holds():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"{self.rows} {self.editor.said}")

    async def restore(self, point: Point) -> None:
        """Go back to a checkpoint in all that is shown of it."""
        planned = await self.decisions.planned(point)
        self.decisions.restore(WINDOW, point.root, point.number, planned.shown)

    @property
    def known(self) -> WindowChanges:
        """What is known of the window."""
        return self.rounds.roots.window(WINDOW)

    async def begun(self, *names: str) -> None:
        """CLIs connect, and the rounds of all folders begin."""
        self.rounds.clis(WINDOW, names or (AGENT,))
        await self.until(lambda: self.known.folders and all(folder.has_round for folder in self.known.folders.values()))
        await self.until(lambda: not self.known.beginning.locked())

    async def in_turn(self) -> Folder:
        """A turn of a chat begins: the folder, with its checkpoint."""
        self.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", 0)
        await self.until(lambda: (found := self.rounds.roots.folder(self.folders[0])) and found.round.state.checkpoints)
        return self.known.folders[self.folders[0]]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.rounds.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert self.errors == []
