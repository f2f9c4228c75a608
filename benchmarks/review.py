"""How soon a large diff of real files is on the screen, and how long it stalls the UI thread."""

from __future__ import annotations

import itertools
import json
import random
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import sublime

from companion.review.changes import changes
from companion.settings import Settings
from tests.sublime.cli import Cli
from tests.unit.review.git import hunks, marked, real_pairs

from .editor import ROOT, Editor, views

CHANGES = "qwen_companion.changes"
PARTS = (0.01, 0.1, 0.5)
"""The shares of a text that are changed."""
LIMITS = Settings()
QUIET_MS = 150
"""The debounce of the marks in ms, which `review.marks_ms` leaves out."""


def real_files() -> list[list[str]]:
    """The lines of each of the 20 largest Python and JavaScript files of the installed libraries."""
    folders = [Path(sysconfig.get_paths()["purelib"]), ROOT / "tests" / "npm" / "node_modules"]
    files = [file for folder in folders for kind in ("*.py", "*.js", "*.mjs") for file in folder.rglob(kind)]
    largest = sorted(files, key=lambda file: (-file.stat().st_size, file))[:20]
    return [file.read_text("utf-8", "replace").splitlines() for file in largest]


def text(files: list[list[str]], count: int) -> list[str]:
    """A list of `count` lines from real files."""
    # Bundled programs have lines of megabytes, which are left out. 100,000 of the other lines are about 4 MB.
    lines = [line for file in files for line in file if len(line) < 120]
    return list(itertools.islice(itertools.cycle(lines), count))


def mutated(lines: list[str], changes: int) -> str:
    """The lines, with `changes` of them changed, removed or doubled: the same ones in every run."""
    chance = random.Random(1)  # noqa: S311 - the same numbers in each run
    chosen = set(chance.sample(range(len(lines)), changes))
    changed: Iterator[list[str]] = (
        chance.choice([[line + "  # changed"], [], [line, line.upper()]]) if number in chosen else [line]
        for number, line in enumerate(lines)
    )
    return "\n".join(itertools.chain.from_iterable(changed)) + "\n"


def shown(editor: Editor, cli: Cli, file: Path, lines: list[str], changes: int) -> tuple[float, float]:
    """Open a diff. Returns the ms until its text, its marks and its header are there, and the longest stall in ms.

    A file that is too large for marks has none.
    """
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    proposal = mutated(lines, changes)
    editor.rest(0.3)
    editor.take_stall_ms()
    is_marked = len(lines) <= LIMITS.max_marked_lines and file.stat().st_size <= LIMITS.max_marked_characters
    started = time.perf_counter()
    call = cli.call("openDiff", filePath=str(file), newContent=proposal)
    editor.wait(
        lambda: [v for v in views("proposal") if (v.get_regions(CHANGES) if is_marked else v.size() == len(proposal))]
    )
    took = (time.perf_counter() - started) * 1000
    editor.rest(0.5)
    call.result()
    view = views("proposal")[0]
    if view.size() != len(proposal):
        raise RuntimeError("the proposal is not whole")
    return took, editor.take_stall_ms()


def close(editor: Editor, cli: Cli) -> None:
    """Reject the diff."""
    views("proposal")[0].run_command("qwen_companion_reject_diff")
    editor.wait(lambda: not views("proposal"))


def marks(editor: Editor) -> float:
    """Type in a line of the proposal. Returns the ms until the marks are up to date, without the debounce."""
    view = views("proposal")[0]
    before = len(view.get_regions(CHANGES))
    point = next(
        view.text_point(row, 0)
        for row in range(5_000, 10_000)
        # beside a change it would become a part of that
        if not any(
            region.intersects(sublime.Region(view.text_point(row - 2, 0), view.text_point(row + 3, 0)))
            for region in view.get_regions(CHANGES)
        )
        and len(view.line(view.text_point(row, 0))) > 10
    )
    view.sel().clear()
    view.sel().add(sublime.Region(point))
    started = time.perf_counter()
    view.run_command("insert", {"characters": "typed "})
    editor.wait(lambda: len(view.get_regions(CHANGES)) > before)
    return (time.perf_counter() - started) * 1000 - QUIET_MS


def typing(editor: Editor, cli: Cli, folder: Path) -> dict[int, float]:
    """Ms that a key in a file costs the UI thread, by the number of diffs that wait: the median of 30 keys."""
    own = folder / "own.py"
    own.write_text("x = 1\n")
    view = sublime.active_window().open_file(str(own))
    editor.wait(lambda: not view.is_loading())
    took: dict[int, float] = {}
    opened = 0
    for count in (0, 100, 300):
        while opened < count:
            cli.call("openDiff", filePath=str(folder / f"file{opened}.py"), newContent=f"x = {opened}\n").result()
            opened += 1
        editor.wait(lambda count=count: len(waiting()) == count)
        sublime.active_window().focus_view(view)
        editor.rest(1)
        keys: list[float] = []
        for _ in range(30):
            started = time.perf_counter()
            view.run_command("insert", {"characters": "a"})
            keys.append((time.perf_counter() - started) * 1000)
            editor.rest(0.02)
        took[count] = median(keys)
    sublime.active_window().run_command("qwen_companion_reject_all")
    editor.wait(lambda: not waiting())
    return took


def waiting() -> Sequence[object]:
    """The proposals that wait for an answer. Only the first of them has a tab."""
    package = sys.modules["QwenCompanion.companion.sublime_text.package"]
    return package.adapter().diffs.in_window(sublime.active_window())


def git_ms(folder: Path, old: str, new: str) -> float:
    """Ms of `git diff --no-index`: the best of three."""
    took: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        hunks(folder, old, new)
        took.append((time.perf_counter() - started) * 1000)
    return min(took)


def one_line(editor: Editor, cli: Cli, file: Path) -> float:
    """The time until a change in one line of 5 MB is shown, by that of git: the best of three."""
    words = " ".join(f"word{number}" for number in range(480_000))
    old, new = [words], words.replace("word240000", "another", 1)
    ratio: list[float] = []
    for _ in range(3):
        file.write_text(old[0] + "\n")
        started = time.perf_counter()
        call = cli.call("openDiff", filePath=str(file), newContent=new + "\n")
        editor.wait(lambda: [v for v in views("proposal") if v.size() == len(new) + 1])
        took = (time.perf_counter() - started) * 1000
        call.result()
        editor.rest(0.5)
        close(editor, cli)
        ratio.append(took / git_ms(file.parent, old[0] + "\n", new + "\n"))
    return min(ratio)


def lines_ratio(folder: Path) -> float:
    """The marked lines by those of `git diff --histogram`, the worst of the pairs of this repository's history."""
    pairs = list(real_pairs(200))
    return max(
        (marked(changes(*pair)) / max(1, marked(hunks(folder, *pair, "--histogram"))) for pair in pairs), default=1
    )


def figures() -> dict[str, float]:
    """10,000 lines with 200 changes; 100,000 lines and each of the real files, with 1 %, 10 % and 50 % changed.

    The worst of each counts. `review.growth` is the time for each of 100,000 lines divided by that for each of 10,000,
    with 2 % changed in both; both times are medians of three runs.
    """
    files = real_files()
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(folder)
        editor.start()
        cli = editor.connect()
        file = Path(folder, "large.py")

        def opened(lines: list[str], changes: int) -> tuple[float, float]:
            found = shown(editor, cli, file, lines, changes)
            close(editor, cli)
            return found

        small, large = text(files, 10_000), text(files, 100_000)
        ten = [shown(editor, cli, file, small, 200)]
        typed_ms = min(marks(editor) for _ in range(3))
        close(editor, cli)
        ten += [opened(small, 200) for _ in range(2)]
        hundred = [opened(large, int(100_000 * part)) for part in PARTS]
        linear = [opened(large, 2_000) for _ in range(3)]
        real = [opened(lines, max(1, int(len(lines) * part))) for lines in files for part in PARTS]
        typed = typing(editor, cli, Path(folder))
        ratio = one_line(editor, cli, file)
        lines = lines_ratio(Path(folder))
        cli.close()
        editor.leave()
    print(json.dumps({"10k": ten, "100k": hundred, "2 %": linear, "files": real}), file=sys.stderr)
    return {
        "review.10k.shown_ms": max(took for took, _ in ten),
        "review.10k.stall_ms": max(stall for _, stall in ten),
        "review.100k.shown_ms": max(took for took, _ in hundred + linear),
        "review.100k.stall_ms": max(stall for _, stall in hundred + linear),
        "review.files.shown_ms": max(took for took, _ in real),
        "review.files.stall_ms": max(stall for _, stall in real),
        "review.growth": median(took for took, _ in linear) / median(took for took, _ in ten) / 10,
        "review.marks_ms": typed_ms,
        "review.typing_0_ms": typed[0],
        "review.typing_100_ms": typed[100],
        "review.typing_300_ms": typed[300],
        "review.git_ratio": ratio,
        "review.lines_ratio": lines,
    }
