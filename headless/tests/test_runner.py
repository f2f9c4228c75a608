"""`python -m headless.unittesting`."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

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


def run(tmp_path: Path, *options: str, package: Path | None = None) -> tuple[int, str]:
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
    done = subprocess.run(
        [sys.executable, "-m", "headless.unittesting", "--package", str(package or root), "--name", "Sample", *options],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT), "REAL_HOME": os.path.expanduser("~")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


def test_tests_run_inside_the_package_on_the_ui_thread(tmp_path: Path):
    code, output = run(tmp_path, "--tests", "tests/editor", "--pattern", "test_it.py")
    assert "Ran 6 tests" in output
    assert code == 0, output


def test_a_failure_is_the_exit_code(tmp_path: Path):
    code, output = run(tmp_path, "--tests", "tests/editor", "-k", "test_bad")
    assert "FAILED (failures=1)" in output
    assert code == 1


def test_no_test_is_a_failure_too(tmp_path: Path):
    assert run(tmp_path, "--tests", "tests/editor", "-k", "no such test")[0] == 1


def test_a_zipped_package_is_tested_by_tests_from_elsewhere(tmp_path: Path):
    archive = tmp_path / "Sample.sublime-package"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("part.py", "VALUE = 1\n")
    code, output = run(tmp_path, "--tests", "tests/editor", "--pattern", "test_it.py", package=archive)
    assert code == 0, output
