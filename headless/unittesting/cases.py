"""The module `unittesting`: the test cases that tests of packages derive from."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future
from typing import Any, ClassVar
from unittest import TestCase as TestCase
from unittest import expectedFailure as expectedFailure

from headless import host
from headless.unittesting.steps import AWAIT_WORKER as AWAIT_WORKER
from headless.unittesting.steps import DEFAULT_TIMEOUT_MS, drive

__all__ = [
    "AWAIT_WORKER",
    "AsyncTestCase",
    "AsyncViewTestCase",
    "DeferrableMethod",
    "DeferrableTestCase",
    "DeferrableViewTestCase",
    "OverridePreferencesTestCase",
    "TempDirectoryTestCase",
    "TestCase",
    "ViewTestCase",
    "expectedFailure",
]

DeferrableMethod = Generator


def install() -> None:
    """Let tests import this module as `unittesting`, and its cases from `unittesting.helpers` too."""
    sys.modules["unittesting"] = sys.modules["unittesting.helpers"] = sys.modules[__name__]


class DeferrableTestCase(unittest.TestCase):
    """Tests, set-ups, tear-downs and cleanups may be generators that yield what they wait for."""

    timeout_ms: int = DEFAULT_TIMEOUT_MS
    """How long a coroutine may take."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("setUpClass", "tearDownClass"):
            own = cls.__dict__.get(name)
            if isinstance(own, classmethod):
                setattr(cls, name, _driven(own.__func__))
        if "doCleanups" in cls.__dict__:
            cls.doCleanups = _driven_cleanups(cls.__dict__["doCleanups"])  # type: ignore[method-assign]

    def _callSetUp(self) -> Any:
        self._drive(self.setUp())

    def _callTestMethod(self, method: Callable[[], Any]) -> None:
        self._drive(method())

    def _callTearDown(self) -> Any:
        self._drive(self.tearDown())

    def _callCleanup(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._drive(function(*args, **kwargs))

    def doCleanups(self) -> Any:
        """Do the cleanups at once; returns something empty, so that `yield from self.doCleanups()` works."""
        super().doCleanups()
        return ()

    @classmethod
    def _drive(cls, steps: Any) -> tuple[()]:
        if not isinstance(steps, Coroutine):
            return drive(steps)
        # A test sets its limit with a parameter, its class with an attribute.
        frame = getattr(steps, "cr_frame", None)
        timeout = frame.f_locals.get("timeout_ms", cls.timeout_ms) if frame else cls.timeout_ms
        future = cls.run_coroutine(steps)

        def wait() -> Generator[Any, Any, None]:
            message = f"Task not completed within {timeout / 1000:.2f} seconds."
            try:
                yield {"condition": future.done, "timeout": timeout}
            except TimeoutError:
                future.cancel()
                raise TimeoutError(message) from None
            future.result()

        return drive(wait())

    @staticmethod
    def run_coroutine(coro: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Not for this kind of case: raises TypeError."""
        coro.close()
        raise TypeError(f"{coro!r} is a coroutine: only an AsyncTestCase runs those")

    @staticmethod
    def defer(delay: int, callback: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        """Call a function in `delay` milliseconds."""
        import sublime

        sublime.set_timeout(lambda: callback(*args, **kwargs), delay)


def _driven(function: Callable[[Any], Any]) -> classmethod[Any, [], tuple[()]]:
    return classmethod(lambda cls: cls._drive(function(cls)))


def _driven_cleanups(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(self: Any) -> Any:
        # An error there belongs to the test, and must not end the run.
        with self._outcome.testPartExecutor(self) if self._outcome else contextlib.nullcontext():
            self._drive(function(self))
        return ()

    return run


class AsyncTestCase(DeferrableTestCase):
    """Tests, set-ups and tear-downs may be coroutines; they run in an event loop of another thread."""

    _loop: ClassVar[asyncio.AbstractEventLoop | None] = None

    @staticmethod
    def run_coroutine(coro: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine."""
        if AsyncTestCase._loop is None:
            AsyncTestCase._loop = asyncio.new_event_loop()
            threading.Thread(target=AsyncTestCase._loop.run_forever, name="asyncio", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coro, AsyncTestCase._loop)


class _ViewMixin:
    """A fresh output panel for each test, as `view`; there whether or not a case has a `setUp` of its own."""

    view_settings: ClassVar[dict[str, Any]] = {
        "detect_indentation": False,
        "translate_tabs_to_spaces": False,
        "word_wrap": False,
    }
    window: Any
    view: Any

    def _callSetUp(self) -> Any:
        import sublime

        self._panel = f"unittesting-scratch-{self.id()}"  # type: ignore[attr-defined]
        self.window = sublime.active_window()
        self.view = self.window.create_output_panel(self._panel, unlisted=True)
        for key, value in self.view_settings.items():
            self.view.settings().set(key, value)
        super()._callSetUp()  # type: ignore[misc]

    def _callTearDown(self) -> Any:
        try:
            super()._callTearDown()  # type: ignore[misc]
        finally:
            self.window.destroy_output_panel(self._panel)

    def textPoint(self, row: int, col: int) -> int:
        """The point of a row and a column, both from 0."""
        return int(self.view.text_point(row, col))

    def setText(self, text: str) -> None:
        """Replace the view's text."""
        self.clearText()
        self.insertText(text)

    def clearText(self) -> None:
        """Delete the view's text."""
        self.view.run_command("select_all")
        self.view.run_command("right_delete")

    def insertText(self, text: str) -> None:
        """Type a text at the carets."""
        self.view.run_command("insert", {"characters": text})

    def addCaretAt(self, row: int, col: int) -> None:
        """Put one more caret somewhere."""
        self.view.sel().add(self.textPoint(row, col))

    def setCaretTo(self, row: int, col: int) -> None:
        """Put the one caret somewhere."""
        self.view.sel().clear()
        self.addCaretAt(row, col)

    def getRowText(self, row: int) -> str:
        """The text of a line."""
        return self.view.substr(self.view.line(self.textPoint(row, 0)))

    def getText(self) -> str:
        """The whole text."""
        import sublime

        return self.view.substr(sublime.Region(0, self.view.size()))

    def assertCaretAt(self, row: int, col: int) -> None:
        """Check that the first selection begins here."""
        self._equal(self.view.sel()[0].begin(), self.textPoint(row, col))

    def assertCaretsAt(self, carets: Iterable[tuple[int, int]]) -> None:
        """Check that the selections begin exactly at these rows and columns."""
        begins = tuple(region.begin() for region in self.view.sel())
        self._equal(begins, tuple(self.textPoint(row, col) for row, col in carets))

    def assertViewContentsEqual(self, text: str) -> None:
        """Check that the view has exactly this text."""
        self._equal(self.getText(), text)

    def assertRowContentsEqual(self, row: int, text: str) -> None:
        """Check that the line has exactly this text."""
        self._equal(self.getRowText(row), text)

    def _equal(self, found: object, wanted: object) -> None:
        self.assertEqual(found, wanted)  # type: ignore[attr-defined]  # noqa: PT009


class ViewTestCase(_ViewMixin, unittest.TestCase):
    """Tests of a view."""


class DeferrableViewTestCase(_ViewMixin, DeferrableTestCase):
    """Tests of a view that may be generators."""


class AsyncViewTestCase(_ViewMixin, AsyncTestCase):
    """Tests of a view that may be coroutines."""


class TempDirectoryTestCase(DeferrableTestCase):
    """Tests in a window of their own whose one folder is a temporary directory."""

    _temp_dir: ClassVar[str]
    window: ClassVar[Any]

    @classmethod
    def setUpClass(cls) -> None:
        """Make the directory and the window."""
        import sublime

        cls._temp_dir = tempfile.mkdtemp()
        sublime.run_command("new_window")
        cls.window = sublime.active_window()
        cls.window.set_project_data({"folders": [{"path": cls._temp_dir}]})
        super().setUpClass()

    @classmethod
    def tearDownClass(cls) -> None:
        """Close the window and remove the directory."""
        cls.window.run_command("close_window")
        shutil.rmtree(cls._temp_dir, ignore_errors=True)
        super().tearDownClass()


class OverridePreferencesTestCase(DeferrableTestCase):
    """Tests with settings files of their own instead of the present ones."""

    override_preferences: ClassVar[dict[str, dict[str, Any]]] = {}
    """The contents of each file, by its name."""

    @classmethod
    def setUpClass(cls) -> Any:
        """Put the files there, and wait until the editor has read them."""
        import sublime

        for name, settings in cls.override_preferences.items():
            path = _user_file(name)
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, path + ".bak")
            with open(path, "w", encoding="utf-8") as file:
                file.write(sublime.encode_value(settings, True))
            host.app().settings.poll()
        super().setUpClass()

    @classmethod
    def tearDownClass(cls) -> None:
        """Restore the files that were there."""
        for name in cls.override_preferences:
            path = _user_file(name)
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
            with contextlib.suppress(FileNotFoundError):
                os.rename(path + ".bak", path)
        super().tearDownClass()


def _user_file(name: str) -> str:
    import sublime

    return os.path.join(sublime.packages_path(), "User", name)
