"""What snapshots cost beside git itself, on a tree of many files in a repository."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from companion.changes import folder as changes_folder
from companion.changes.round import Seen
from tests.unit.changes.folders import Folder, git
from tests.unit.changes.work import Work

FILES = 50_000
LINES = 140
"""In each file: about 4 kB, 200 MB together."""
CHANGED = 300
TRIES = 5
WORKING = 60.0
"""Seconds for which an agent writes."""


def timed(work: Callable[[], object]) -> float:
    """The seconds that something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def make(folder: Path) -> None:
    """A repository with one commit, in a pack."""
    chance = random.Random(1)  # noqa: S311 - the same texts in each run
    words = [f"{chance.random():.16f} a line" for _ in range(5_000)]
    for number in range(FILES):
        path = folder / f"d{number // 500}" / f"e{number // 50 % 10}" / f"f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([str(number), *chance.choices(words, k=LINES)]) + "\n", "utf-8")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin"), ("repack", "-adq")):
        git(folder, "-c", "gc.auto=0", *arguments)


def first(base: Path, project: Folder) -> dict[str, float]:
    """The first snapshot beside `git status`, its copies beside `git add -A` of a clone whose index is gone."""
    clone = base / "clone"
    git(base, "clone", "-q", "--no-hardlinks", str(project.path), str(clone))
    (clone / ".git" / "index").unlink()
    added = timed(lambda: git(clone, "add", "-A"))
    asked = timed(lambda: git(project.path, "status", "--porcelain"))
    begun = timed(project.round.begin)
    copied = timed(lambda: project.store.copies.more(600))
    own = sum(each.stat().st_size for each in project.store_path.rglob("*") if each.is_file())
    whole = sum(each.stat().st_size for each in (clone / ".git").rglob("*") if each.is_file())
    ratios = {"changes.begin_ratio": begun / asked, "changes.copies_ratio": copied / added}
    return ratios | {"changes.store_ratio": own / whole}


def look(project: Folder) -> dict[str, float]:
    """A look where nothing has changed, beside `git status`."""
    status = ["git", "status", "--porcelain"]
    run = lambda: subprocess.run(status, cwd=project.path, check=True, capture_output=True)  # noqa: E731
    pairs = [(timed(project.look), timed(run)) for _ in range(TRIES)]
    looked, asked = median(one for one, _ in pairs), median(other for _, other in pairs)
    return {"changes.look_ratio": looked / asked}


def undo(project: Folder) -> dict[str, float]:
    """Undo everything in some hundred files."""
    for number in range(CHANGED):
        path = project.path / f"d{number // 500}" / f"e{number // 50 % 10}" / f"f{number}.txt"
        lines = path.read_text("utf-8").split("\n")
        lines[10], lines[60], lines[110] = "x", "y", "z"
        path.write_text("\n".join(lines), "utf-8")
    project.look()
    rows = timed(project.round.rows)
    return {"changes.rows_300_s": rows, "changes.undo_all_s": timed(project.undo_all)}


def working(base: Path, project: Path) -> dict[str, float]:
    """What the looks take of a core while an agent writes a file twice in a second."""
    looks: list[float] = []
    look = changes_folder.Folder.look

    def counted(folder: changes_folder.Folder, *args: Any, **more: Any) -> Seen:
        looks.append(time.perf_counter())
        return look(folder, *args, **more)

    async def work() -> float:
        async with Work(base / "stores", [str(project)]) as work:
            await work.begun()
            looks.clear()
            before, began = sum(os.times()[:4]), time.perf_counter()
            while time.perf_counter() - began < WORKING:
                (project / "d0" / "e0" / "f0.txt").write_text(f"{time.perf_counter()}\n", "utf-8")
                await asyncio.sleep(0.5)
            return (sum(os.times()[:4]) - before) / (time.perf_counter() - began)

    changes_folder.Folder.look = counted  # type: ignore[method-assign]
    try:
        used = asyncio.run(work())
    finally:
        changes_folder.Folder.look = look  # type: ignore[method-assign]
    pauses = [later - earlier for earlier, later in pairwise(looks)]
    if not pauses:
        raise RuntimeError("nobody has looked")
    return {"changes.core_percent": 100 * used, "changes.pause_s": min(pauses)}


def figures() -> dict[str, float]:
    """All figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        project = Folder(base)
        make(project.path)
        found = first(base, project) | look(project) | undo(project)
        return found | working(base, project.path)
