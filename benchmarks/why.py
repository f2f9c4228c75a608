"""How soon it is known why a line is there: in a file of 10,000 lines, with a log of 19 MB that nobody has read yet."""

from __future__ import annotations

import os
import random
import tempfile
import time
from pathlib import Path
from statistics import median

from companion.exclusion import Sharing
from companion.platforms import files
from companion.provenance.log import SIZE, LoggedCall, LoggedTurn, ProvenanceLog, Run, hash_of
from companion.provenance.why import reasons

LINES = 10_000
WRITTEN = 200
"""Lines of a turn."""
OWN = 40
"""One turn of so many is in the file that is asked about."""
TRIES = 7
PIECE = 1024 * 1024


def turn(hashes: list[str], number: int, start: int) -> LoggedTurn:
    """A turn that has written lines from a row on, in the file or in one of 300 others."""
    end = start + WRITTEN
    name = f"src/file_{number % 300}.py" if number % OWN else "a.py"
    run = Run(tuple(hashes[max(0, start - 2) : start]), tuple(hashes[start:end]), tuple(hashes[end : end + 2]))
    call = LoggedCall(name, (run,), f"c{number}", "edit", "Because it says too little. " * 8)
    return LoggedTurn(1.8e9 + number, "Agent", (call,), "model", "session", f"t{number}", "Do this " * 80)


def logged(folder: Path, stores: str, hashes: list[str]) -> str:
    """Fill the log of a folder. Returns its path."""
    log, chance = ProvenanceLog(stores), random.Random(1)  # noqa: S311 - the same numbers in each run
    log.add(str(folder), turn(hashes, 0, 0))
    [path] = Path(stores).glob("*.why")
    number = 0
    while path.stat().st_size < SIZE - PIECE:
        number += 1
        log.add(str(folder), turn(hashes, number, chance.randrange(LINES - WRITTEN)))
    return str(path)


def read(path: str) -> None:
    """What nobody can be faster than: the log is read, and a name looked for in it."""
    with files.place(path) as entry:
        descriptor = entry.open()
        while data := os.read(descriptor, PIECE):
            data.count(b'"a.py"')
        os.close(descriptor)


def figures() -> dict[str, float]:
    """The milliseconds until the first answer and until the next ones, and the first ones beside a bare read."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        (folder := root / "project").mkdir()
        lines = [f"    value_{number} = compute({number}, 'some words of line {number}')" for number in range(LINES)]
        text = "\n".join(lines)
        (path := folder / "a.py").write_text(text, encoding="utf-8")
        log = logged(folder, str(root / "stores"), [hash_of(line) for line in lines])
        told = Sharing(folders=(str(folder),))
        first, again, bare = [list[float]() for _ in range(3)]
        for _ in range(TRIES):
            known = ProvenanceLog(str(root / "stores"))
            for took in (first, again):
                started = time.perf_counter()
                if not reasons(known, told, str(path), text, [0], is_saved=True):
                    raise RuntimeError("nothing is known")
                took.append(time.perf_counter() - started)
            started = time.perf_counter()
            read(log)
            bare.append(time.perf_counter() - started)
    ratio = median(first) / median(bare)
    return {"why.first_ratio": ratio, "why.first_ms": 1000 * median(first), "why.again_ms": 1000 * median(again)}
