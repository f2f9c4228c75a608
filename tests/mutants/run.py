"""Runs all mutants of this folder, or those whose file or text contains one of the arguments.

`--places` only says which of them have no place in the code any more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutant import ROOT, GoneError, Mutant, read

NEEDED = (
    "companion",
    "headless",
    "docs",
    "tests/unit",
    "tests/sublime",
    "tests/npm/agents/claude-agent-acp/node_modules/@agentclientprotocol/sdk/schema",
)
LIMIT = 300
"""Seconds for the tests of one mutant; one that makes them wait for ever is noticed too."""


def copy_to(folder: Path) -> None:
    """Copy what the tests need."""
    files = [path.relative_to(ROOT) for where in (ROOT, ROOT / "tests") for path in where.iterdir() if path.is_file()]
    for name in (*NEEDED, *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).is_file():  # what npm installs may be missing
            shutil.copy(ROOT / name, folder / name)


def passes(folder: Path, tests: tuple[str, ...]) -> bool:
    """Whether these tests pass."""
    in_editor = [test for test in tests if test.startswith("tests/sublime/")]
    others = [test for test in tests if test not in in_editor]
    commands = [["pytest", "-x", "-q", "-p", "no:cacheprovider", *others]] if others else []
    for test in in_editor:
        path, _, name = test.partition("::")
        where = ["--package", ".", "--name", "QwenCompanion", "--tests", "tests/sublime", "--pattern", Path(path).name]
        commands.append(["headless.unittesting", "--failfast", *where, *(["-k", name] if name else [])])
    return all(run_tests(folder, command) for command in commands)


def run_tests(folder: Path, arguments: list[str]) -> bool:
    """Whether the tests of one runner pass."""
    command = [sys.executable, "-B", "-m", *arguments]  # a mutant may have the size and the time of what it replaces
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1, 3):  # 3: a test took too long
        sys.exit(f"The tests {' '.join(arguments)} could not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def is_noticed(folder: Path, mutant: Mutant) -> bool:
    """Whether the tests notice a mutant."""
    path = folder / "companion" / mutant.file
    plain = path.read_text("utf-8")
    path.write_text(mutant.of(plain), "utf-8")
    try:
        return not passes(folder, mutant.tests)
    finally:
        path.write_text(plain, "utf-8")


def gone(mutants: list[Mutant]) -> Iterator[str]:
    """Say which mutants have no place in the code, or no tests."""
    for mutant in mutants:
        try:
            mutant.of((ROOT / "companion" / mutant.file).read_text("utf-8"))
        except (GoneError, OSError) as error:
            yield f"{mutant.what}: {error}"
        for test in mutant.tests:
            path, _, name = test.partition("::")
            named = rf"(?:def|class) \w*{re.escape(name.rpartition('::')[2])}" if name else ""
            if not (ROOT / path).is_file() or not re.search(named, (ROOT / path).read_text("utf-8")):
                yield f"{mutant.what}: there is no {test}"


def main() -> None:
    """Run them, and say which survive."""
    words = [argument for argument in sys.argv[1:] if argument != "--places"]
    lists = sorted(Path(__file__).parent.glob("*.txt"))
    mutants = [mutant for path in lists for mutant in read(path.read_text("utf-8"))]
    chosen = [one for one in mutants if not words or any(word in f"{one.file} {one.what}" for word in words)]
    if not chosen:
        sys.exit(f"No mutant has {' or '.join(words)} in its file or description.")
    if missing := list(gone(chosen)):
        print(*missing, f"{len(missing)} have no place.", sep="\n")
    if missing or "--places" in sys.argv:
        sys.exit(bool(missing))
    survivors: list[Mutant] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_to(folder)
        for test in sorted({test for one in chosen for test in one.tests}):
            if not passes(folder, (test,)):
                sys.exit(f"{test} fails without any mutant.")
        for number, mutant in enumerate(chosen, 1):
            started = time.monotonic()
            noticed = is_noticed(folder, mutant)
            outcome = "noticed" if noticed else f"survives, because {mutant.reason}" if mutant.reason else "SURVIVES"
            print(f"{number:3} {time.monotonic() - started:5.1f} s {mutant.file}: {mutant.what}: {outcome}", flush=True)
            if not noticed and not mutant.reason:
                survivors.append(mutant)
    print(f"{len(chosen)} mutants, {len(survivors)} of them survive without a reason.")
    sys.exit(bool(survivors))


main()
