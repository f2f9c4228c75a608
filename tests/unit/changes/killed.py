"""Undoes, redoes or restores what waits in a folder, and is killed at its nth step on the disk: see test_journal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from companion.changes import journal
from companion.changes.folder import Folder
from companion.snapshots import files

from .work import AGENT, WINDOW, Work


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

    files.rename = counted(files.rename)
    files.delete = counted(files.delete)
    files.set_mode = counted(files.set_mode)
    journal.rename = counted(journal.rename)
    journal.Journal.end = counted(journal.Journal.end)  # type: ignore[method-assign]


async def main(base: Path, what: str, step: int) -> None:
    """Take up the round, decide, and end by itself if the step doesn't come."""
    async with Work(base / "stores", [str(base / "project")]) as work:
        await work.begun(AGENT)
        await work.until(lambda: what == "redo" or work.rows)
        folder: Folder = work.known.folders[work.folders[0]]
        killed_at(step)
        if what == "undo":
            work.decisions.undo_all(WINDOW)
        elif what == "redo":
            work.decisions.take_back(WINDOW)
        else:
            work.decisions.restore(WINDOW, folder.root, folder.round.state.checkpoints[0].number)
        await asyncio.gather(*[task for task in work.tasks if task is not work.known.watching])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
