"""`python -m headless.unittesting`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

Completed = subprocess.CompletedProcess[str]
ROOT = Path(__file__).parents[2]
TESTS = """
import os
import sublime
from unittesting import AWAIT_WORKER, DeferrableTestCase, DeferrableViewTestCase, TempDirectoryTestCase
from ...part import VALUE
from .helper import HELP

class TestSteps(DeferrableTestCase):
    @classmethod
    def setUpClass(cls):
        yield 5
        cls.value = VALUE
    def setUp(self):
        self.log = ["setup"]
        yield lambda: True
        self.addCleanup(lambda: self.log.append("cleanup"))
    def test_a_condition_gives_its_value(self):
        sublime.set_timeout_async(lambda: sublime.set_timeout(lambda: self.log.append("async")), 20)
        found = yield lambda: self.log[1:]
        self.assertEqual(found, ["async"])
        self.assertEqual((self.value, HELP), (1, 2))
    def test_the_worker_is_waited_for(self):
        sublime.set_timeout_async(lambda: self.log.append("done"))
        yield AWAIT_WORKER
        self.assertEqual(self.log[-1], "done")
    def test_a_condition_may_take_too_long(self):
        with self.assertRaisesRegex(TimeoutError, "never"):
            yield {"condition": lambda: False, "timeout": 50, "period": 5, "timeout_message": "never"}
    def test_the_home_is_another(self):
        self.assertNotEqual(os.path.expanduser("~"), os.environ["REAL_HOME"])

class TestView(DeferrableViewTestCase):
    def test_text(self):
        self.setText("a\\nb")
        self.setCaretTo(1, 0)
        yield 1
        self.assertRowContentsEqual(1, "b")

class TestFolder(TempDirectoryTestCase):
    def test_folder(self):
        self.assertEqual(self.window.folders(), [self._temp_dir])
"""
BAD = """
import unittest

class T(unittest.TestCase):
    def test_bad(self):
        self.fail("so")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A package with tests."""
    root = tmp_path / "Sample"
    for name, text in {
        "part.py": "VALUE = 1\n",
        "plugin.py": "import sublime\n",
        "tests/editor/test_it.py": TESTS,
        "tests/editor/helper.py": "HELP = 2\n",
        "tests/editor/test_bad.py": BAD,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run(root: Path, *options: str) -> tuple[int, str]:
    done = started(root, *options)
    return done.returncode, done.stderr


def started(root: Path, *options: str, package: str = ".", tests: str = "tests/editor") -> Completed:
    command = ["--package", package, "--name", "Sample", "--tests", tests, *options]
    return subprocess.run(
        [sys.executable, "-m", "headless.unittesting", *command],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT), "REAL_HOME": os.path.expanduser("~")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize("copied", [[], ["--loose"]])
def test_tests_run_inside_the_package_on_the_ui_thread(root: Path, copied: list[str]):
    code, output = run(root, "--pattern", "test_it.py", *copied)
    assert "Ran 6 tests" in output
    assert code == 0, output


def test_a_failure_is_the_exit_code(root: Path):
    code, output = run(root, "-k", "test_bad")
    assert "FAILED (failures=1)" in output
    assert code == 1


def test_a_test_that_hangs_ends_the_run_and_says_where(root: Path):
    text = "import threading, unittest\nclass T(unittest.TestCase):\n    def test_it(self): threading.Event().wait()\n"
    (root / "tests/editor/test_hangs.py").write_text(text)
    code, output = run(root, "--pattern", "test_hangs.py", "--hang-limit", "2")
    assert code == 1
    assert "Timeout" in output
    assert "test_hangs.py" in output
    assert "Ran " not in output


def test_no_test_is_a_failure_too(root: Path):
    assert run(root, "-k", "no such test")[0] == 1


def test_a_zipped_package_is_tested_by_tests_from_elsewhere(root: Path):
    archive = root.with_suffix(".sublime-package")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("part.py", "VALUE = 1\n")
    done = started(root, "--pattern", "test_it.py", package=str(archive))
    assert done.returncode == 0, done.stderr


CASES = """
import asyncio
import os
import sublime
from unittesting import AsyncTestCase, DeferrableTestCase, DeferrableViewTestCase, OverridePreferencesTestCase
from unittesting.helpers import ViewTestCase

class TestCleanups(DeferrableTestCase):
    done = []
    def doCleanups(self):
        yield 1
        self.done.append("own")
        yield from super().doCleanups()
    def test_a_they_run_when_asked_for(self):
        self.addCleanup(self.done.append, 1)
        yield from super().doCleanups()
        self.assertEqual(self.done, [1])
    def test_b_they_run_at_the_end(self):
        self.assertEqual(self.done, [1, "own"])
    def test_c_a_coroutine_is_refused(self):
        with self.assertRaises(TypeError):
            self._drive(asyncio.sleep(0))

class TestAsync(AsyncTestCase):
    async def setUp(self):
        self.value = 1
    async def test_a_coroutine(self):
        await asyncio.sleep(0.01)
        self.assertEqual(self.value, 1)
    async def test_b_it_may_take_too_long(self, timeout_ms=50):
        await asyncio.sleep(30)

class TestView(ViewTestCase):
    def setUp(self):
        pass  # does not call super, as many do
    def test_carets(self):
        self.setText("ab\\ncd")
        self.setCaretTo(0, 1)
        self.addCaretAt(1, 1)
        self.assertCaretAt(0, 1)
        self.assertCaretsAt([(0, 1), (1, 1)])
        self.clearText()
        self.assertViewContentsEqual("")
        self.assertEqual(self.view.element(), "output:output")

class TestPreferences(OverridePreferencesTestCase):
    override_preferences = {"Mine.sublime-settings": {"size": 3}}
    def test_they_are_overridden(self):
        self.assertEqual(sublime.load_settings("Mine.sublime-settings").get("size"), 3)
"""


def test_the_other_cases_of_unittesting(root: Path, tmp_path: Path):
    (root / "tests" / "editor" / "test_cases.py").write_text(CASES)
    report = tmp_path / "report"
    code, output = run(root, "--pattern", "test_cases.py", "--report", str(report))
    outcomes = {name.rpartition(".")[2]: told for name, told in json.loads(report.read_text())["tests"].items()}
    assert outcomes.pop("test_b_it_may_take_too_long") == "error"
    assert "Task not completed within 0.05 seconds" in output
    assert len(outcomes) == 6, output
    assert set(outcomes.values()) == {"passed"}, output
    assert code == 1


def test_a_module_that_cant_be_imported_is_one_failed_test(root: Path, tmp_path: Path):
    folder = root / "tests" / "editor" / "deeper"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "test_broken.py").write_text("import nothing_of_this_name\n")
    report = tmp_path / "report"
    code, output = run(root, "--report", str(report))
    outcomes = json.loads(report.read_text())["tests"]
    assert outcomes["Sample.tests.editor.deeper.test_broken"] == "error"
    assert len(outcomes) == 8
    assert "nothing_of_this_name" in output
    assert code == 1


def test_the_seed_of_a_random_mix_of_variations_is_printed(root: Path):
    done = started(root, "--pattern", "test_it.py", "--variations", "random", "--seed", "7")
    assert done.stdout.startswith("variations of the seed 7: replace-moves-regions=")
    assert done.returncode == 0, done.stderr
    done = started(root, "--variation", "no-such=thing")
    assert "there is no variation 'no-such'" in done.stderr
    assert done.returncode == 2


def test_the_package_says_how_long_a_condition_is_waited_for(root: Path):
    """As UnitTesting: `condition_timeout` in the package's `unittesting.json`, in milliseconds."""
    (root / "unittesting.json").write_text('{"condition_timeout": 70, /* short */}')
    (root / "tests/test_never.py").write_text(
        "from unittesting import DeferrableTestCase\n"
        "class TestNever(DeferrableTestCase):\n"
        "    def test_it(self):\n"
        "        yield lambda: False\n"
    )
    done = started(root, "--pattern", "test_never.py", tests="tests")
    assert "within 0.07 seconds" in done.stderr
    assert done.returncode == 1
