"""An editor for each test, on the test's thread."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from headless import modules, variations
from headless.app import Application
from headless.paths import Paths

modules.install()
# A busy machine is slow, which is no fault of the code; and a run should find tomorrow what it finds today.
hypothesis.settings.register_profile("headless", deadline=None, derandomize=True)
hypothesis.settings.load_profile("headless")


def pytest_addoption(parser: pytest.Parser) -> None:
    with contextlib.suppress(ValueError):  # the tests of the folder above may have added it
        parser.addoption("--all", action="store_true", help="run the long tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--all"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application]:
    """An editor with one window and nothing in it."""
    variations.reset()
    application = Application(Paths(str(tmp_path / "data"), str(tmp_path / "cache")))
    for sheet in application.new_window().sheets():
        application.tabs.close_sheet(sheet)
    yield application
    application.dispose()
    variations.reset()


@pytest.fixture
def window(app: Application) -> Any:
    """The editor's window."""
    return app.window_handle(app.windows[0])


@pytest.fixture
def view(window: Any) -> Any:
    """An empty view in the window."""
    return window.new_file()


@pytest.fixture
def settle(app: Application) -> Callable[[], None]:
    """Lets the loop do all that is due, on both threads."""

    def turn() -> None:
        done: list[int] = []
        app.loop.post(lambda: app.loop.worker.post(lambda: app.loop.post(lambda: done.append(1))))
        app.loop.run_until(lambda: done)

    return turn


Package = Callable[..., Any]


@pytest.fixture
def package(app: Application, tmp_path: Path) -> Package:
    """Loads a package `Sample` whose plugin.py has the given code; returns its module."""

    def load(code: str, **files: str) -> Any:
        root = tmp_path / "Sample"
        root.mkdir(exist_ok=True)
        header = "import sublime, sublime_plugin\n"
        (root / "plugin.py").write_text(header + textwrap.dedent(code))
        for name, text in files.items():
            (root / name.replace("__", ".")).write_text(textwrap.dedent(text))
        app.loader.add(str(root), "Sample")
        return sys.modules["Sample.plugin"]

    return load
