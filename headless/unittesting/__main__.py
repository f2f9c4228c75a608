"""`python -m headless.unittesting`: run a package's tests inside the stand-in."""

from __future__ import annotations

import argparse
import faulthandler
import fnmatch
import importlib
import json
import os
import secrets
import shutil
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator, Sequence
from typing import Any

from headless import jsonc, modules, variations
from headless.app import Application
from headless.paths import move_home
from headless.unittesting import cases, steps

EXIT_LIMIT = 10.0
HANG_LIMIT = 400.0
"""Seconds for one test. Nothing else ends a UI thread that waits for ever."""
FAILED = 1


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="headless-sublime test", description="Run a package's tests.")
    result.add_argument("--package", default=".", help="the package's folder or zip")
    result.add_argument("--name", help="the package's name (default: from its path)")
    result.add_argument("--also", action="append", default=[], metavar="PATH", help="a further package, loaded before")
    result.add_argument("--tests", default="tests", help="the folder of the tests")
    result.add_argument("--pattern", default="test*.py", help="which of its files have tests")
    result.add_argument("-k", action="append", default=[], help="only tests whose names match")
    result.add_argument(
        "--packages", action="append", default=[], metavar="FOLDER", help="copy its packages, but do not load them"
    )
    result.add_argument(
        "--variation", action="append", default=[], metavar="NAME=VALUE", help="how an uncertain thing behaves"
    )
    result.add_argument("--variations", choices=["random", "list"], help="choose all by chance, or list them")
    result.add_argument("--seed", type=int, help="what the chance begins with (default: another each time)")
    result.add_argument("--loose", action="store_true", help="copy the package into the Packages folder first")
    result.add_argument("--report", metavar="FILE", help="write the outcome of each test there, as JSON")
    result.add_argument(
        "--hang-limit", type=float, default=HANG_LIMIT, metavar="SECONDS", help="after which a test ends the run"
    )
    result.add_argument("-f", "--failfast", action="store_true", help="stop at the first failure")
    return result


def tests_package(package: str, tests: str) -> str:
    """The dotted name of the tests' folder inside the package."""
    inside = os.path.relpath(os.path.abspath(tests), os.path.abspath(package))
    if inside.startswith(os.pardir) or not os.path.isdir(package):
        inside = os.path.normpath(tests).lstrip("." + os.sep)
    return inside.replace(os.sep, ".")


def condition_timeout(package: str) -> float:
    """The milliseconds to wait for a condition, as the package's `unittesting.json` says."""
    try:
        with open(os.path.join(package, "unittesting.json"), encoding="utf-8") as file:
            return float(jsonc.loads(file.read())["condition_timeout"])
    except (OSError, KeyError):
        return steps.DEFAULT_TIMEOUT_MS


class BrokenModule(unittest.TestCase):
    """Stands for a module of tests that can't be imported: one test, which fails."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__("fail_to_import")
        self._name = name
        self._error = error

    def id(self) -> str:
        """The name of the module."""
        return self._name

    def __str__(self) -> str:
        return self._name

    def fail_to_import(self) -> None:
        """Raise the error of the import."""
        raise self._error


def collect(prefix: str, folder: str, pattern: str, names: list[str]) -> unittest.TestSuite:
    """The tests of the folder's modules and of its sub-folders', imported as modules of the package."""
    loader = unittest.TestLoader()
    if names:
        loader.testNamePatterns = [name if "*" in name else f"*{name}*" for name in names]
    suite = unittest.TestSuite()
    for name in sorted(_modules(folder, pattern)):
        try:
            suite.addTests(loader.loadTestsFromModule(importlib.import_module(f"{prefix}.{name}")))
        except Exception as error:
            suite.addTest(BrokenModule(f"{prefix}.{name}", error))
    return suite


def _modules(folder: str, pattern: str) -> Iterator[str]:
    """The dotted names, below `folder`, of the modules whose files match `pattern`."""
    for parent, folders, files in os.walk(folder):
        # As unittest's discovery: sub-folders count if they are packages.
        folders[:] = [each for each in folders if os.path.isfile(os.path.join(parent, each, "__init__.py"))]
        for file in files:
            if fnmatch.fnmatch(file, pattern) and file.endswith(".py"):
                yield os.path.relpath(os.path.join(parent, file), folder)[:-3].replace(os.sep, ".")


class Result(unittest.TextTestResult):
    """Also keeps the outcome of each test, by its id, and ends the run if one hangs."""

    hang_limit = HANG_LIMIT

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.outcomes: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.limit()

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.limit()  # what comes between two tests, and after the last one, may hang as well

    def limit(self) -> None:
        """Print what each thread does, and end the process, unless this is called again in time."""
        self.stream.flush()
        faulthandler.dump_traceback_later(
            self.hang_limit, exit=True, file=sys.__stderr__ or 2
        )  # others take sys.stderr

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.outcomes.setdefault(test.id(), "passed")

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self.outcomes[test.id()] = "error"

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.outcomes[test.id()] = "failed"

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcomes[test.id()] = "failed"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.outcomes[test.id()] = "skipped"

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self.outcomes[test.id()] = "passed"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.outcomes[test.id()] = "failed"


def run(options: argparse.Namespace) -> int:
    """Start the editor with the package, run the tests, and leave; the exit code."""
    modules.install()
    cases.install()
    app = Application()
    app.new_window()
    for folder in options.packages:
        shutil.copytree(folder, app.paths.packages, dirs_exist_ok=True)
    for path in options.also:
        app.loader.add(path)
    package, tests = options.package, options.tests
    name = options.name or os.path.basename(os.path.abspath(package)).split(".")[0]
    inside = tests_package(package, tests)
    if options.loose:
        shutil.copytree(package, os.path.join(app.paths.packages, name), ignore=shutil.ignore_patterns(".git"))
        package = os.path.join(app.paths.packages, name)
        tests = os.path.join(package, *inside.split("."))
    broken = app.loader.add(package, name)
    # Once more, since the package UnitTesting puts its own cases there, which need its own runner.
    cases.install()
    app.loader.add_folder(f"{name}.{inside}", os.path.abspath(tests))
    steps.set_timeout_ms(condition_timeout(package))
    app.start()
    app.loop.turn(0.05)
    suite = collect(f"{name}.{inside}", tests, options.pattern, options.k)
    Result.hang_limit = options.hang_limit
    runner = unittest.TextTestRunner(verbosity=2, failfast=options.failfast, resultclass=Result)
    result = runner.run(suite)
    assert isinstance(result, Result)
    app.shut_down()
    if options.report:
        with open(options.report, "w", encoding="utf-8") as file:
            json.dump({"not loaded": broken, "tests": result.outcomes}, file, indent=1)
    if not result.testsRun:
        print("no test has run", file=sys.stderr)
    return 0 if result.wasSuccessful() and result.testsRun else FAILED


def _choose(options: argparse.Namespace) -> None:
    """Choose the variations, and say which."""
    variations.reset()
    if options.variations == "random":
        seed = secrets.randbelow(10**6) if options.seed is None else options.seed
        print(f"variations of the seed {seed}: {' '.join(variations.mix(seed))}", flush=True)
        variations.choose(variations.mix(seed))
    variations.choose(options.variation)
    if options.variation:
        print(f"variations: {' '.join(options.variation)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tests with temporary home and data folders; exit with 1 unless all pass."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    if options.variations == "list":
        print("\n".join(variations.alone()))
        return
    try:
        _choose(options)
    except ValueError as error:
        command_line.error(str(error))
    home = tempfile.mkdtemp(prefix="headless-")
    move_home(home)
    code = FAILED
    try:
        code = run(options)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    sys.stdout.flush()
    # Threads that a package has left must not keep the process alive.
    guard = threading.Timer(EXIT_LIMIT, lambda: os._exit(code))
    guard.daemon = True
    guard.start()
    sys.exit(code)


if __name__ == "__main__":
    main()
