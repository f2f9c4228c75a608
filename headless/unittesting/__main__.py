"""`python -m headless.unittesting`: run a package's tests inside the stand-in."""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import os
import shutil
import sys
import tempfile
import threading
import unittest
from collections.abc import Sequence

from headless import modules
from headless.app import Application
from headless.unittesting import cases

EXIT_LIMIT = 10.0
FAILED = 1


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="headless-sublime test", description="Run a package's tests.")
    result.add_argument("--package", default=".", help="the package's folder or zip")
    result.add_argument("--name", help="the package's name (default: from its path)")
    result.add_argument("--tests", default="tests", help="the folder of the tests")
    result.add_argument("--pattern", default="test*.py", help="which of its files have tests")
    result.add_argument("-k", action="append", default=[], help="only tests whose names match")
    result.add_argument("-f", "--failfast", action="store_true", help="stop at the first failure")
    return result


def move_home(folder: str) -> None:
    """Let the person's folders be in `folder`; tests must not touch the real ones."""
    old_home = os.path.realpath(os.path.expanduser("~"))
    for name, value in list(os.environ.items()):
        if name.endswith("_HOME") and os.path.realpath(value).startswith(old_home + os.sep):
            del os.environ[name]
    os.environ["HOME"] = os.environ["USERPROFILE"] = folder
    for name, part in {
        "XDG_CONFIG_HOME": ".config",
        "XDG_CACHE_HOME": ".cache",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_RUNTIME_DIR": ".run",
        "APPDATA": "AppData/Roaming",
        "LOCALAPPDATA": "AppData/Local",
    }.items():
        os.environ[name] = os.path.join(folder, *part.split("/"))
        os.makedirs(os.environ[name], mode=0o700, exist_ok=True)


def tests_package(package: str, tests: str) -> str:
    """The dotted name of the tests' folder inside the package."""
    inside = os.path.relpath(os.path.abspath(tests), os.path.abspath(package))
    if inside.startswith(os.pardir) or not os.path.isdir(package):
        inside = os.path.normpath(tests).lstrip("." + os.sep)
    return inside.replace(os.sep, ".")


def collect(prefix: str, folder: str, pattern: str, names: list[str]) -> unittest.TestSuite:
    """The tests of the folder's modules, imported as modules of the package."""
    loader = unittest.TestLoader()
    if names:
        loader.testNamePatterns = [name if "*" in name else f"*{name}*" for name in names]
    suite = unittest.TestSuite()
    for file in sorted(os.listdir(folder)):
        if fnmatch.fnmatch(file, pattern) and file.endswith(".py"):
            module = importlib.import_module(f"{prefix}.{file[:-3]}")
            suite.addTests(loader.loadTestsFromModule(module))
    return suite


def run(options: argparse.Namespace) -> int:
    """Start the editor with the package, run the tests, and leave; the exit code."""
    modules.install()
    sys.modules["unittesting"] = cases
    app = Application()
    app.new_window()
    app.loader.add(options.package, options.name)
    name = options.name or os.path.basename(os.path.abspath(options.package)).split(".")[0]
    prefix = f"{name}.{tests_package(options.package, options.tests)}"
    app.loader.add_folder(prefix, os.path.abspath(options.tests))
    app.start()
    app.loop.turn(0.05)
    suite = collect(prefix, options.tests, options.pattern, options.k)
    runner = unittest.TextTestRunner(verbosity=2, failfast=options.failfast)
    result = runner.run(suite)
    app.shut_down()
    if not result.testsRun:
        print("no test has run", file=sys.stderr)
    return 0 if result.wasSuccessful() and result.testsRun else FAILED


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tests in temporary folders of the person; exit with 1 unless all is well."""
    options = parser().parse_args(arguments)
    home = tempfile.mkdtemp(prefix="headless-")
    move_home(home)
    code = FAILED
    try:
        code = run(options)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    sys.stdout.flush()
    # A package's threads that are left must not keep the process.
    guard = threading.Timer(EXIT_LIMIT, lambda: os._exit(code))
    guard.daemon = True
    guard.start()
    sys.exit(code)


if __name__ == "__main__":
    main()
