"""Undoes, redoes or restores what waits, or undoes since a commit, and is killed at its nth step: see test_journal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from companion.changes import journal
from companion.platforms.files import FolderEntry
from companion.snapshots import files

from .since_work import SinceWork
from .work import AGENT, WINDOW, Work

SINCE = ("a.py", "gone.py", "made.py")
"""Files that are undone in a review since a commit: of the first one, two of three changes."""


def killed_at(step: int) -> None:
    """End this process as a kill does: before or after one of the steps, which are counted from 0."""
    steps = iter(range(1_000))

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            if next(steps) == step:
                os._exit(9)
            result = real(*args, **more)
            if next(steps) == step:
                os._exit(9)
            return result

        return call

    FolderEntry.rename = counted(FolderEntry.rename)  # type: ignore[method-assign]
    files.delete = counted(files.delete)
    files.set_mode = counted(files.set_mode)
    journal.rename = counted(journal.rename)
    journal.Journal.end = counted(journal.Journal.end)  # type: ignore[method-assign]


async def main(base: Path, what: str, step: int) -> None:
    """Take up the round, decide, and end by itself if the step doesn't come."""
    async with Work(base / "stores", [str(base / "project")]) as work:
        await work.begun(AGENT)
        await work.until(lambda: what == "redo" or work.rows)
        if what not in SINCE:
            killed_at(step)
        if what == "undo":
            work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        elif what == "redo":
            work.decisions.take_back(WINDOW)
        elif what in SINCE:
            since = SinceWork(work)
            await since.compare("begin")
            keys = await since.keys(what) if what == "a.py" else []
            killed_at(step)
            await since.undo(what, keys[:2])
        else:
            *_, first = await work.decisions.points(WINDOW)
            await work.restore(first)
        await asyncio.gather(*[task for task in work.tasks if task is not work.known.watching])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
