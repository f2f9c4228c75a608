"""A stand-in for Terminus, and what a test does with it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import TestCase
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded

ON_WINDOWS = os.name == "nt"
SETTINGS = "Terminus.sublime-settings"
RULE = "─" * 60


def prompt_with(text: str, sign: str = ">") -> str:
    """What Qwen Code 0.24.4 shows with a text in its prompt, as in tests/unit/clis/screens."""
    return f"{RULE}\n{sign} {text}\n{RULE}\n  ➜ project · scripted\n  ⏸ Ask permissions (shift + tab to cycle)\n"


EMPTY_PROMPT = prompt_with("  Type your message or @path/to/file")
GEMINI_PROMPT = (
    f"╭{RULE}╮\n│ >   Type your message or @path/to/file   │\n╰{RULE}╯\n /p   no sandbox   gemini-2.5-flash /model\n"
)
"""What Gemini CLI 0.25 shows."""


class Terminus:
    """What the package Terminus does with a terminal's view, without a process in it."""

    def __init__(self, test: TestCase) -> None:
        self.opened: list[dict[str, Any]] = []
        """The arguments of each `terminus_open`."""
        self.sent: list[dict[str, Any]] = []
        """The arguments of each `terminus_send_string`."""
        self.views: list[sublime.View] = []
        self.is_there = True
        """Whether the package is installed."""
        self.front: dict[int, str | None] = {}
        """By the id of a view: the key of the CLI in front, or None for another program; else what was run."""
        self.takes_pastes = True
        """Whether the program has turned bracketed paste on."""
        self.chosen: sublime.View | None = None
        """The terminal that Terminus types into without a tag; None for the one with the focus."""
        self._hosts: dict[int, SimpleNamespace] = {}
        self._run = sublime.Window.run_command
        play = lambda window, command, args=None: self._played(window, command, args)  # noqa: E731
        resources = sublime.find_resources
        own = f"Packages/Terminus/{SETTINGS}"
        found = lambda pattern: [own] * self.is_there if pattern == SETTINGS else resources(pattern)  # noqa: E731
        terminal: Any = ModuleType("terminal")
        commands: Any = ModuleType("commands")
        terminal.Terminal = SimpleNamespace(from_id=self._hosted)
        commands.TerminusFindTerminalMixin = lambda: SimpleNamespace(find_terminal=self._find)
        for patcher in (
            patch.dict(sys.modules, {"Terminus.terminus.terminal": terminal, "Terminus.terminus.commands": commands}),
            patch.object(loaded("clis.processes"), "cli_in_front", self._in_front),
            patch.object(sublime.Window, "run_command", play),
            patch.object(sublime, "find_resources", found),
        ):
            patcher.start()
            test.addCleanup(patcher.stop)

    def open(self, window: sublime.Window, title: str) -> sublime.View:
        """Open a terminal as the person does, by Terminus's own command."""
        self._open(window, {"title": title, "show_in_panel": False})
        return self.views[-1]

    def run_cli(
        self, window: sublime.Window, cli: str = "qwen", *, shows: str = "", **args: Any
    ) -> Generator[Any, Any, sublime.View]:
        """Run a CLI in a window, whose terminal then shows a text."""
        before = len(self.views)
        window.run_command("qwen_companion_run", {"cli": cli, **args})
        yield lambda: len(self.views) > before
        terminal = self.views[-1]
        if shows:
            yield lambda: terminal.settings().has("qwen_companion.terminal")
            terminal.run_command("append", {"characters": shows})
        return terminal

    def _played(self, window: sublime.Window, command: str, args: dict[str, Any] | None) -> None:
        if command == "terminus_open":
            self.opened.append(json.loads(json.dumps(args)))
            sublime.set_timeout(lambda: self._open(window, args or {}))
        elif command == "terminus_send_string":
            self.sent.append(args or {})
        else:
            self._run(window, command, args)

    def _hosted(self, number: int) -> SimpleNamespace | None:
        """Terminus's own object for a view, whose process has the view's number here."""
        if all(view.id() != number for view in self.views):
            return None
        process = SimpleNamespace(pid=number, fd=number)
        one = SimpleNamespace(process=process, bracketed_paste_mode_enabled=lambda: self.takes_pastes)
        return self._hosts.setdefault(number, one)

    def _find(self, window: sublime.Window, tag: str | None = None) -> SimpleNamespace | None:
        tagged = [view for view in self.views if self._setting(view, "terminus_view.args").get("tag") == tag]
        found = tagged[-1] if tag and tagged else self.chosen or window.active_view()
        return self._hosted(found.id()) if found else None

    @staticmethod
    def _setting(view: sublime.View, name: str) -> dict[str, Any]:
        found: Any = view.settings().get(name)
        return found or {}

    def _in_front(self, pid: int, _descriptor: int | None, families: Sequence[Any]) -> tuple[Any, int] | None:
        view = next(view for view in self.views if view.id() == pid)
        key = self._setting(view, "qwen_companion.terminal").get("cli", "qwen")
        family = next((each for each in families if each.launch.key == self.front.get(pid, key)), None)
        return (family, pid) if family else None

    def _open(self, window: sublime.Window, args: dict[str, Any]) -> None:
        panel = args.get("panel_name")
        view = window.create_output_panel(panel) if panel else window.new_file()
        view.set_name(args["title"])
        view.set_scratch(True)
        view.settings().set("terminus_view", True)
        view.settings().set("terminus_view.args", args)
        if panel:
            self._run(window, "show_panel", {"panel": f"output.{panel}"})
        window.focus_view(view)
        for command, arguments in args.get("post_view_hooks", []):
            view.run_command(command, arguments)
        self.views.append(view)


class TerminalCase(CompanionCase):
    """A window, a CLI that is connected to it, and Terminus."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.terminus = Terminus(self)
        if ON_WINDOWS:  # the package itself looks for the program there
            programs = loaded("platforms.programs")
            found = lambda words, _: None if words[0].startswith("no-such") else list(words)  # noqa: E731
            self.enterContext(patch.object(programs, "resolve", found))

    def run_cli(self, cli: str = "qwen", *, shows: str = "", **args: Any) -> Steps:
        """Run a CLI and wait for its terminal, which then shows a text: self.terminal."""
        self.terminal = yield from self.terminus.run_cli(self.window, cli, shows=shows, **args)

    def pick(self, caption: str) -> Steps:
        """Wait for a quick panel with that item, and pick it."""
        yield lambda: self.screen.panels and caption in self.captions()
        items, pick = self.screen.panels.pop()
        pick([item.trigger for item in items].index(caption))

    def captions(self) -> list[str]:
        """The items of the latest quick panel."""
        return [item.trigger for item in self.screen.panels[-1][0]]

    @property
    def args(self) -> dict[str, Any]:
        """What Terminus was told last."""
        return self.terminus.opened[-1]

    @property
    def mark(self) -> dict[str, Any]:
        """What the package remembers of the latest terminal."""
        mark: Any = self.terminal.settings().get("qwen_companion.terminal")
        return mark

    @property
    def line(self) -> str:
        """The command line of the CLI that was run last."""
        return " ".join(self.args["cmd"])
