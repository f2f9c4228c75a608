"""Runs the test suites of other packages in headless; see scripts/fidelity."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TIME_LIMIT = 1200  # seconds for one suite


@dataclass(frozen=True)
class Suite:
    """A package, how its tests are run, and how many of them passed when that was last written down."""

    name: str
    version: str
    """The commit or release that the floor is for."""
    floor: int
    pattern: str = "test*.py"
    is_library: bool = False
    """Whether the tests import the package as a library; it is then in Packages too, but not loaded."""


SUITES = (
    Suite("AlignTab", "August 2026", 9),
    Suite("AutoWrap", "August 2026", 2),
    Suite("GitSavvy", "2a90ecbc", 350),
    Suite("LSP", "7ffc7211", 295),
    Suite("NeoVintageous", "365fc002", 480, "test__[a-e]*.py"),
    Suite("SublimeLinter", "ebc22956", 467),
    Suite("sublime_lib", "1.6.0", 245, is_library=True),
    Suite("UnitTesting", "1e968c58", 44),
)


@dataclass
class Outcome:
    """What became of a suite."""

    passed: int = 0
    run: int = 0
    not_loaded: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, report: Path) -> Outcome:
        """The outcome that the runner has written."""
        if not report.exists():
            return cls(not_loaded=["the run did not end"])
        told = json.loads(report.read_text("utf-8"))
        tests: dict[str, str] = told["tests"]
        return cls(
            sum(outcome == "passed" for outcome in tests.values()),
            len(tests),
            told["not loaded"],
            sorted(name for name, outcome in tests.items() if outcome in ("failed", "error")),
        )


def run(suite: Suite, archive: Path, log: Path) -> Outcome:
    """Run a suite in a process of its own; what that prints goes to `log`."""
    with tempfile.TemporaryDirectory(prefix="fidelity-") as name:
        folder = Path(name)
        package = folder / "packages" / suite.name
        with zipfile.ZipFile(archive) as file:
            file.extractall(package)
        # Servers and linters that the tests start are to run with this Python, whatever the folder says.
        (folder / "bin").mkdir()
        for python in ("python", "python3"):
            shutil.copy(HERE / "python.sh", folder / "bin" / python)
        options = ["--name", suite.name, "--loose"]
        if suite.is_library:
            options = ["--name", f"{suite.name}_tests", "--packages", str(package.parent)]
        path = [str(ROOT), str(HERE), *([str(package)] if suite.is_library else [])]
        command = [sys.executable, "-m", "headless.unittesting", "--package", str(package), *options]
        command += ["--tests", str(package / "tests"), "--pattern", suite.pattern, "--report", str(folder / "report")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path),
            "PATH": os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", "")]),
            "FIDELITY_PYTHON": sys.executable,
        }
        with log.open("wb") as output:
            try:
                subprocess.run(
                    command, cwd=folder, env=environment, stdout=output, stderr=output, timeout=TIME_LIMIT, check=False
                )
            except subprocess.TimeoutExpired:
                return Outcome(not_loaded=[f"it took more than {TIME_LIMIT} s"])
        return Outcome.of(folder / "report")


def main() -> None:
    """Run the suites that are asked for, or all whose archives are there."""
    parser = argparse.ArgumentParser(prog="scripts/fidelity", description="Runs other packages' tests in headless.")
    parser.add_argument("--packages", type=Path, default=ROOT.parent / "shared" / "fidelity" / "packages")
    parser.add_argument("--failed", action="store_true", help="name the tests that failed")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these packages")
    options = parser.parse_intermixed_args()
    unknown = set(options.names) - {suite.name for suite in SUITES}
    if unknown:
        parser.error(f"no suite is named {', '.join(sorted(unknown))}")
    logs = ROOT / ".cache" / "fidelity"
    logs.mkdir(parents=True, exist_ok=True)
    bad = []
    for suite in SUITES:
        if options.names and suite.name not in options.names:
            continue
        archive = options.packages / f"{suite.name}.zip"
        if not archive.exists():
            print(f"{suite.name:16} no archive {archive}")
            bad.append(suite.name)
            continue
        outcome = run(suite, archive, logs / f"{suite.name}.log")
        reached = outcome.passed >= suite.floor and not outcome.not_loaded and outcome.run > 0
        verdict = "" if reached else "  FAILED"
        figures = f"{outcome.passed}/{outcome.run}, floor {suite.floor}{verdict}"
        print(f"{suite.name:14} {suite.version:12} {figures}", flush=True)
        for each in outcome.not_loaded:
            print(f"  not loaded: {each}")
        for each in outcome.failed if options.failed else ():
            print(f"  failed: {each}")
        if not reached:
            bad.append(suite.name)
    if bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
