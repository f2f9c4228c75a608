"""What the tests of this folder share. They run in the headless editor and, under UnitTesting, in the real one."""

from __future__ import annotations

import asyncio
import importlib
import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import sublime
from unittesting import DeferrableTestCase  # pyright: ignore[reportMissingImports] - the package UnitTesting has it

from .cli import Cli, discovery_file
from .own import tabs
from .screen import Screen

Steps = Iterator[Any]


def diff_views(window: sublime.Window, side: str) -> list[sublime.View]:
    """The views of the diffs in a window, on one side."""
    return tabs(window, side)


def text_of(view: sublime.View) -> str:
    """The whole text of a view."""
    return view.substr(sublime.Region(0, view.size()))


def loaded(name: str) -> ModuleType:
    """A module of the loaded package, such as "server.sessions"."""
    return importlib.import_module(f"{(__package__ or '').partition('.')[0]}.companion.{name}")


def at_once(method: Any, *args: Any, **kwargs: Any) -> Any:
    """Do on the UI thread what the companion asks of it."""
    return method.__wrapped__(method.__self__, *args, **kwargs)


def writes_forgotten() -> Future[None]:
    """Have the companion wait no longer for a CLI to write what was accepted; done when it has ended that."""
    ended: Future[None] = Future()

    async def end(tasks: list[asyncio.Task[object]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ended.set_result(None)

    def begin(companion: Any) -> None:
        tasks = [task for task in companion._background._tasks if "_await_write" in repr(task.get_coro())]
        companion._background(end(tasks))

    loaded("sublime_text.package").adapter().thread.post(begin)
    return ended


def new_window() -> Generator[Any, Any, sublime.Window]:
    """Open a window, and wait until it is there."""
    before = {window.id() for window in sublime.windows()}
    sublime.run_command("new_window")
    fresh = lambda: [window for window in sublime.windows() if window.id() not in before]  # noqa: E731
    yield fresh
    [window] = fresh()
    return window


class Errors(logging.Handler):
    """Keeps the errors that the package logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class CompanionCase(DeferrableTestCase):
    """A window on a folder with `app.py`, and a CLI that is connected to it.

    A test fails if the package logs an error, unless it `causes` that.
    """

    def setUp(self) -> Steps:
        self._errors, self._caused, logger = Errors(), list[str](), logging.getLogger(loaded("log").__package__)
        logger.addHandler(self._errors)
        self.addCleanup(logger.removeHandler, self._errors)
        self.screen = Screen(self)
        self.set_limit("sublime_text.review.answers", "SETTLED", 0.0)
        self.set_setting("diff_layout", "side_by_side")
        self.set_setting("read_transcripts", "off")  # else whoever connects a CLI is asked
        self.folder = Path(tempfile.mkdtemp(prefix="companion-")).resolve()
        self.file = self.folder / "app.py"
        self.file.write_bytes(b'def greet(name):\n    print("hi")\n')
        self.window = yield from new_window()
        for view in self.window.views():  # the untitled tab of a new window
            view.close()
        self.window.set_project_data({"folders": [{"path": str(self.folder)}]})
        self.view = self.window.open_file(str(self.file))
        yield lambda: not self.view.is_loading()
        self.window.bring_to_front()
        self.window.focus_view(self.view)
        # The first test waits for the libraries, which a busy machine imports slowly.
        yield {"condition": self._is_published, "timeout": 120_000}
        # What an earlier test was told may have come after its end.
        loaded("sublime_text.package").adapter().messenger.seen(self.window)
        self.clis: list[Cli] = []
        self.cli = self.connect()
        yield from self.done(self.cli.connected)

    def tearDown(self) -> Steps:
        if self.window.is_valid():
            # What a window that closes keeps of an edited diff would open in another one.
            self.window.run_command("qwen_companion_reject_all")
        for cli in self.clis:
            cli.close()
        # While the window is there: what is kept on account of them opens in it, and not in the next test's.
        yield from self.done(writes_forgotten())
        if self.window.is_valid():
            for view in self.window.views():
                view.set_scratch(True)
            self.window.run_command("close_window")
        yield lambda: not self.window.is_valid()
        shutil.rmtree(self.folder, ignore_errors=True)
        logged = self._errors.messages
        self.assertEqual([each for each in logged if not any(words in each for words in self._caused)], [])
        self.assertEqual([words for words in self._caused if not any(words in each for each in logged)], [])

    def causes(self, words: str) -> None:
        """The test makes something fail, of which the package tells with these words in its log."""
        self._caused.append(words)

    def another_window(self) -> Generator[Any, Any, sublime.Window]:
        """Open a window in front of the test's own. It closes when the test is over."""
        window = yield from new_window()
        self.addCleanup(window.run_command, "close_window")
        return window

    def open_terminal_panel(self) -> Generator[Any, Any, sublime.View]:
        """A terminal in a panel, which has the focus."""
        panel = self.window.create_output_panel("terminus_test")
        panel.settings().set("terminus_view", True)
        self.window.run_command("show_panel", {"panel": "output.terminus_test"})
        self.window.focus_view(panel)
        yield lambda: self.focused() == panel
        return panel

    def connect(self) -> Cli:
        """One more CLI for the window in front."""
        self.clis.append(Cli())
        return self.clis[-1]

    def done(self, future: Future[Any]) -> Steps:
        """Wait for what runs on another thread; its error is the test's."""
        yield {"condition": future.done, "timeout": 60_000}
        future.result()

    def open_diff(self, content: str, path: Path | str | None = None, cli: Cli | None = None) -> Steps:
        """Have the CLI propose a text, and wait until its diff is on the screen: self.original and self.proposal.

        Where another diff has a tab, it is gone to, and the focus comes back.
        """
        before = {view.id() for view in self.window.views()}
        diff = yield from self.propose(content, path, cli)
        if not diff.is_open:
            focused = self.focused()
            loaded("sublime_text.package").adapter().diffs.show(diff)
            loaded("sublime_text.package").adapter().focus.give(self.window, focused)
        fresh = lambda side: [v for v in diff_views(self.window, side) if v.id() not in before]  # noqa: E731
        yield lambda: fresh("proposal")
        self.proposal = fresh("proposal")[-1]
        self.original = fresh("original")[-1] if fresh("original") else self.proposal

    def propose(self, content: str, path: Path | str | None = None, cli: Cli | None = None) -> Generator[Any, Any, Any]:
        """Have the CLI propose a text; it may wait for its tab. Returns its diff."""
        diffs = loaded("sublime_text.package").adapter().diffs
        known = {diff.review.number for diff in diffs.in_window(self.window)}
        call = (cli or self.cli).call("openDiff", filePath=str(path or self.file), newContent=content)
        yield from self.done(call)
        self.assertEqual((call.result()["content"], call.result().get("isError", False)), ([], False))
        fresh = lambda: [diff for diff in diffs.in_window(self.window) if diff.review.number not in known]  # noqa: E731
        yield fresh
        return fresh()[-1]

    def go_to_each(self, count: int) -> None:
        """Go to so many diffs of the window, one after the other, and back to the file."""
        for _ in range(count):
            self.window.run_command("qwen_companion_go_to_diff")
        self.window.focus_view(self.view)

    def turned(self, times: int = 50) -> Steps:
        """Let the UI thread turn so often. What it had begun to do in steps, each on a later turn, is done then."""
        left = times

        def turn() -> None:
            nonlocal left
            left -= 1
            if left:
                sublime.set_timeout(turn)

        turn()
        yield lambda: not left

    def set_limit(self, module: str, name: str, value: float) -> None:
        """Have another limit in a module of the package until the test is over."""
        patcher = patch.object(loaded(module), name, value)
        patcher.start()
        self.addCleanup(patcher.stop)

    def slowed(self, name: str, part: str = "changes", only: str = "") -> Callable[[], None]:
        """Have a part of the companion answer only after what is returned is called; perhaps only what gets a word."""
        of: Any = attrgetter(part)(loaded("sublime_text.package").adapter().thread._running[1])
        real, may_go = getattr(of, name), threading.Event()

        async def slow(*given: Any) -> Any:
            if not only or only in given:
                await asyncio.to_thread(may_go.wait)
            return await real(*given)

        setattr(of, name, slow)
        self.addCleanup(may_go.set)
        self.addCleanup(setattr, of, name, real)
        return may_go.set

    def held(self) -> Callable[[], None]:
        """Have what is done on other threads for the UI end only after what is returned is called."""
        adapter = loaded("sublime_text.package").adapter()
        real, may_go = adapter.on_another_thread, threading.Event()

        def hold(call: Callable[[], Any], *then: Callable[..., object]) -> None:
            real(lambda: (may_go.wait(), call())[1], *then)

        adapter.on_another_thread = hold
        self.addCleanup(may_go.set)
        self.addCleanup(setattr, adapter, "on_another_thread", real)
        return may_go.set

    def fails(self, part: str, name: str, error: BaseException, times: int = 1) -> list[BaseException]:
        """Have a part of the companion fail so often where it is asked something. Gives the failures so far."""
        of: Any = getattr(loaded("sublime_text.package").adapter().thread._running[1], part)
        real, failures = getattr(of, name), list[BaseException]()

        async def fail(*given: Any, **named: Any) -> Any:
            if len(failures) < times:
                failures.append(error)
                raise error
            return await real(*given, **named)

        setattr(of, name, fail)
        self.addCleanup(setattr, of, name, real)
        return failures

    def set_setting(self, name: str, value: Any) -> None:
        """Have another setting of the package until the test is over."""
        settings = sublime.load_settings("QwenCompanion.sublime-settings")
        self.addCleanup(settings.set, name, settings.get(name))
        settings.set(name, value)

    def open_view(self, name: str, text: str = "x\n") -> Steps:
        """Open a file of the folder, new if need be: self.opened."""
        path = self.folder / name
        if not path.exists():
            path.write_bytes(text.encode())
        self.opened = self.window.open_file(str(path))
        yield lambda: not self.opened.is_loading()

    def accepted(self, cli: Cli | None = None) -> Steps:
        """Accept the proposal, and do what the CLI does then: write the file. Its text: self.content."""
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written(cli)

    def written(self, cli: Cli | None = None) -> Steps:
        """Wait for the acceptance of the only diff of the CLI, and write the file as the CLI does: self.content."""
        cli = cli or self.cli
        yield {"condition": lambda: cli.outcomes, "timeout": 60_000}
        [(method, params)] = cli.outcomes
        self.assertEqual(method, "ide/diffAccepted")
        self.content: str = params["content"]
        Path(params["filePath"]).write_bytes(self.content.encode())
        yield from self.closed()

    def closed(self) -> Steps:
        """Wait until no view of a diff is left."""
        yield lambda: not diff_views(self.window, "proposal") and not diff_views(self.window, "original")

    def selected(self, group: int = 0) -> list[sublime.View | None]:
        """The views that a group shows."""
        return [sheet.view() for sheet in self.window.selected_sheets_in_group(group)]

    def select(self, views: list[sublime.View]) -> None:
        """Have the groups of these views show them alone, side by side."""
        self.window.select_sheets([sheet for view in views if (sheet := view.sheet())])

    def focused(self) -> sublime.View:
        """The view that has the focus in the window, be it a panel's."""
        return loaded("sublime_text.package").adapter().focus.last(self.window)

    def edit(self, view: sublime.View, text: str) -> None:
        """Replace the text of a view as typing would, but without the indentation that the editor adds."""
        view.settings().set("auto_indent", False)
        view.run_command("select_all")
        view.run_command("insert", {"characters": text}) if text else view.run_command("right_delete")

    def _is_published(self) -> bool:
        try:
            return str(self.folder) in discovery_file().read_text("utf-8")
        except (OSError, KeyError):
            return False
