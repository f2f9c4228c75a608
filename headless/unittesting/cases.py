"""The module `unittesting`: the test cases that tests of packages derive from."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from collections.abc import Callable
from typing import Any, ClassVar
from unittest import TestCase as TestCase
from unittest import expectedFailure as expectedFailure

from headless.unittesting.steps import AWAIT_WORKER as AWAIT_WORKER
from headless.unittesting.steps import drive

__all__ = [
    "AWAIT_WORKER",
    "DeferrableTestCase",
    "DeferrableViewTestCase",
    "TempDirectoryTestCase",
    "TestCase",
    "ViewTestCase",
    "expectedFailure",
]


class DeferrableTestCase(unittest.TestCase):
    """Tests, set-ups and tear-downs may be generators that yield what they wait for."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("setUpClass", "tearDownClass"):
            own = cls.__dict__.get(name)
            if isinstance(own, classmethod):
                setattr(cls, name, _driven(own.__func__))

    def _callSetUp(self) -> None:
        drive(self.setUp())

    def _callTestMethod(self, method: Callable[[], Any]) -> None:
        drive(method())

    def _callTearDown(self) -> None:
        drive(self.tearDown())

    def _callCleanup(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        drive(function(*args, **kwargs))


def _driven(function: Callable[[Any], Any]) -> classmethod[Any, [], tuple[()]]:
    return classmethod(lambda cls: drive(function(cls)))


class _ViewMixin:
    """A fresh scratch view for each test."""

    view_settings: ClassVar[dict[str, Any]] = {
        "auto_indent": False,
        "detect_indentation": False,
        "translate_tabs_to_spaces": False,
        "trim_automatic_white_space": False,
        "smart_indent": False,
        "tab_size": 4,
        "word_wrap": False,
    }

    def setUp(self) -> None:
        """Open the view."""
        import sublime

        self.window = sublime.active_window()
        self.view = self.window.new_file()
        self.view.set_scratch(True)
        self.view.settings().update(self.view_settings)

    def tearDown(self) -> None:
        """Close the view."""
        self.view.close()

    def setText(self, text: str) -> None:
        """Replace the view's text."""
        self.view.run_command("select_all")
        self.view.run_command("insert", {"characters": text})

    def addText(self, text: str) -> None:
        """Add to the view's text."""
        self.view.run_command("append", {"characters": text})

    def setCaretTo(self, row: int, col: int) -> None:
        """Put the one caret somewhere."""
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(row, col))

    def getRowText(self, row: int) -> str:
        """The text of a line."""
        return self.view.substr(self.view.line(self.view.text_point(row, 0)))

    def getText(self) -> str:
        """The whole text."""
        import sublime

        return self.view.substr(sublime.Region(0, self.view.size()))

    def assertViewContentsEqual(self, text: str) -> None:
        """The view has exactly this text."""
        self.assertEqual(self.getText(), text)  # type: ignore[attr-defined]  # noqa: PT009

    def assertRowContentsEqual(self, row: int, text: str) -> None:
        """The line has exactly this text."""
        self.assertEqual(self.getRowText(row), text)  # type: ignore[attr-defined]  # noqa: PT009


class ViewTestCase(_ViewMixin, unittest.TestCase):
    """Tests of a view."""


class DeferrableViewTestCase(_ViewMixin, DeferrableTestCase):
    """Tests of a view that may be generators."""


class TempDirectoryTestCase(DeferrableTestCase):
    """Tests in a window whose one folder is a temporary directory."""

    @classmethod
    def setUpClass(cls) -> None:
        """Make the directory and the window's folder."""
        import sublime

        cls._temp_dir = tempfile.mkdtemp()
        cls.window = sublime.active_window()
        cls._project_data = cls.window.project_data()
        cls.window.set_project_data({"folders": [{"path": cls._temp_dir}]})

    @classmethod
    def tearDownClass(cls) -> None:
        """Give the window its folders back and remove the directory."""
        cls.window.set_project_data(cls._project_data or {})
        shutil.rmtree(cls._temp_dir, ignore_errors=True)
