"""What snapshots cost beside git itself, on a tree of many files in a repository."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from companion.changes import folder as changes_folder
from companion.changes.round import Seen
from companion.exclusion import Sharing
from tests.unit.changes.folders import Folder, git
from tests.unit.changes.work import WINDOW, Work

FILES = 50_000
LINES = 140
"""In each file: about 4 kB, 200 MB together."""
CHANGED = 3_000
A_SECOND = 200
"""Files that an agent writes in a second while the person keeps one."""
TRIES = 5
WORKING = 60.0
"""Seconds for which an agent writes."""


class Project(Folder):
    """Has the files excluded that the setting excludes in each editor, where nobody has changed it."""

    def excluded(self, paths: Sequence[str]) -> set[str]:
        """Those of some paths that are never read."""
        told, root = Sharing(), str(self.path)
        return {path for path in told.suspects(root, paths) if told.leaves_out(os.path.join(root, path), [root])}


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
    """The first snapshot beside `git status`, and its copies beside `git add -A` of the same files, which stores them.

    In a clone that has its objects still, `git add` would store nothing.
    """
    other = base / "other"
    shutil.copytree(project.path, other, ignore=shutil.ignore_patterns(".git"))
    git(other, "init", "-q")
    added = timed(lambda: git(other, "add", "-A"))
    asked: list[float] = []
    begun: list[float] = []
    for number in range(TRIES):
        project.store_path = base / f"store-{number}"
        project.reopen()
        asked.append(timed(lambda: git(project.path, "status", "--porcelain")))
        begun.append(timed(project.round.begin))
    copied = timed(lambda: project.store.copies.more(600))
    own = sum(each.stat().st_size for each in project.store_path.rglob("*") if each.is_file())
    whole = sum(each.stat().st_size for each in (project.path / ".git").rglob("*") if each.is_file())
    ratios = {"changes.begin_ratio": median(begun) / median(asked), "changes.copies_ratio": copied / added}
    return ratios | {"changes.store_ratio": own / whole}


def scan(project: Folder) -> dict[str, float]:
    """A scan where nothing has changed, beside `git status`."""
    status = ["git", "status", "--porcelain"]
    run = lambda: subprocess.run(status, cwd=project.path, check=True, capture_output=True)  # noqa: E731
    pairs = [(timed(project.scan), timed(run)) for _ in range(TRIES)]
    looked, asked = median(one for one, _ in pairs), median(other for _, other in pairs)
    return {"changes.scan_ratio": looked / asked}


def deciding(base: Path, project: Path) -> dict[str, float]:
    """How soon the first and the last of thousands of files are undone, and one is kept while many are written."""
    paths = [project / f"d{number // 500}" / f"e{number // 50 % 10}" / f"f{number}.txt" for number in range(CHANGED)]
    before = {path: path.read_bytes() for path in paths}

    def write(path: Path) -> None:
        lines = before[path].split(b"\n")
        lines[10], lines[60], lines[110] = b"%.9f" % time.perf_counter(), b"y", b"z"
        path.write_bytes(b"\n".join(lines))

    async def until(holds: Callable[[], object]) -> float:
        began = time.perf_counter()
        while not holds():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)
        return time.perf_counter() - began

    async def work() -> dict[str, float]:
        async with Work(base / "stores", [str(project)]) as work:
            await work.begun()
            for path in paths:
                write(path)
            await until(lambda: len(work.rows) == CHANGED)
            began, used = time.perf_counter(), sum(os.times()[:4])
            work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
            await until(lambda: any(path.read_bytes() == before[path] for path in paths[:: CHANGED // 10]))
            first = time.perf_counter() - began
            await until(lambda: not work.rows)
            found = {"changes.undo_first_s": first, "changes.undo_all_s": time.perf_counter() - began}
            found["changes.undo_all_cpu_s"] = sum(os.times()[:4]) - used
            if any(path.read_bytes() != text for path, text in before.items()):
                raise RuntimeError("not everything is undone")
            is_over = threading.Event()
            writer = threading.Thread(target=lambda: _write_on(write, paths[A_SECOND:], is_over))
            writer.start()
            kept: list[float] = []
            for path in paths[:TRIES]:
                write(path)
                name = path.relative_to(project).as_posix()
                work.rounds.scan(WINDOW)
                await until(lambda: name in work.rows)  # noqa: B023 - in the same turn
                work.decisions.decide_files(WINDOW, [work.rows[name]], "keep")
                kept.append(await until(lambda: name not in work.rows))  # noqa: B023
            is_over.set()
            writer.join()
            return found | {"changes.keep_s": median(kept)}

    return asyncio.run(work())


def _write_on(write: Callable[[Path], object], paths: Sequence[Path], is_over: threading.Event) -> None:
    for path in itertools.cycle(paths):
        write(path)
        if is_over.wait(1 / A_SECOND):
            return


def working(base: Path, project: Path) -> dict[str, float]:
    """What the copies take of a core, and then the scans while an agent writes a file twice in a second."""
    scans: list[float] = []
    scan = changes_folder.Folder.scan

    def counted(folder: changes_folder.Folder, *args: Any, **more: Any) -> Seen:
        scans.append(time.perf_counter())
        return scan(folder, *args, **more)

    async def work() -> dict[str, float]:
        async with Work(base / "stores", [str(project)]) as work:
            await work.begun()
            [folder] = work.known.folders.values()
            before, began = sum(os.times()[:4]), time.perf_counter()
            while folder.left_to_copy:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.1)
            copying = (sum(os.times()[:4]) - before) / (time.perf_counter() - began)
            scans.clear()
            before, began = sum(os.times()[:4]), time.perf_counter()
            while time.perf_counter() - began < WORKING:
                (project / "d0" / "e0" / "f0.txt").write_text(f"{time.perf_counter()}\n", "utf-8")
                await asyncio.sleep(0.5)
            working = (sum(os.times()[:4]) - before) / (time.perf_counter() - began)
            return {"changes.copying_core_percent": 100 * copying, "changes.core_percent": 100 * working}

    changes_folder.Folder.scan = counted  # type: ignore[method-assign]
    try:
        used = asyncio.run(work())
    finally:
        changes_folder.Folder.scan = scan  # type: ignore[method-assign]
    pauses = [later - earlier for earlier, later in pairwise(scans)]
    if not pauses:
        raise RuntimeError("nobody has scanned")
    return used | {"changes.pause_s": min(pauses)}


def figures() -> dict[str, float]:
    """All figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        project = Project(base)
        make(project.path)
        found = first(base, project) | scan(project) | deciding(base, project.path)
        return found | working(base, project.path)
