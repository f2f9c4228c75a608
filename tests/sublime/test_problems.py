"""What the editor knows of the files: problems, symbols and tabs, and what the person does with the problems."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, at_once, loaded
from .terminal_case import EMPTY_PROMPT, TerminalCase


def problem(line: int, message: str) -> dict[str, Any]:
    """As SublimeLinter has it."""
    return {"line": line, "start": 0, "error_type": "error", "msg": message, "linter": "flake", "code": "E1"}


def linter(errors: dict[str, list[dict[str, Any]]]) -> Any:
    """SublimeLinter, which has found this."""
    module: Any = types.ModuleType("SublimeLinter.lint")
    module.persist = types.SimpleNamespace(file_errors=errors)
    return patch.dict(sys.modules, {"SublimeLinter.lint": module})


class Session:
    """A session of the package LSP with a server that is asked for problems, and the buffer of a file."""

    def __init__(self) -> None:
        self.config = types.SimpleNamespace(name="server")
        self.diagnostics: Any = self
        self.view: sublime.View | None = None
        self.looked_at = -1
        """The change count that the server has looked at."""

    def get_diagnostics_for_uri(self, _uri: str) -> list[Any]:
        return []

    def get_identifiers(self, _view: sublime.View) -> set[None]:
        return {None}

    def get_session_buffer_for_uri_async(self, _uri: str) -> Any:
        buffer = types.SimpleNamespace(diagnostics=self, some_view=lambda: self.view)
        buffer.has_latest_diagnostics = lambda: self.view and self.view.change_count() == self.looked_at
        return buffer

    def session_view_for_view_async(self, view: sublime.View) -> bool:
        return view == self.view

    def installed(self) -> Any:
        """LSP, with this session alone."""
        module: Any = types.ModuleType("LSP.plugin")
        module.LspWindowCommand = lambda _: types.SimpleNamespace(sessions=lambda: [self])
        module.Request = object
        module.filename_to_uri = lambda path: path
        module.parse_uri = lambda uri: ("file", uri)
        return patch.dict(sys.modules, {"LSP.plugin": module})


class TestSendProblems(TerminalCase):
    """A CLI with an empty prompt, and a linter."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.run_cli(shows=EMPTY_PROMPT)
        self.window.focus_view(self.view)
        found = {str(self.file): [problem(0, "one\x1b[201~"), problem(1, "two")]}
        patcher = linter(found)
        patcher.start()
        self.addCleanup(patcher.stop)

    def send(self, **args: Any) -> None:
        self.window.run_command("qwen_companion_send_problems", args)

    def test_those_of_the_file_are_in_the_prompt_and_not_submitted(self) -> Steps:
        self.send()
        yield lambda: self.terminus.sent
        [paste] = self.terminus.sent
        self.assertTrue(paste["bracketed"])
        self.assertEqual(paste["string"], "@app.py\n- 1:1 error: one [201~ (flake E1)\n- 2:1 error: two (flake E1)")

    def test_those_of_the_selected_lines_only(self) -> Steps:
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(1, 2))
        self.send(scope="selection")
        yield lambda: self.terminus.sent
        self.assertEqual(self.terminus.sent[0]["string"], "@app.py\n- 2:1 error: two (flake E1)")

    def test_a_selection_that_ends_where_a_line_begins_is_without_that_line(self) -> Steps:
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(0, self.view.text_point(1, 0)))
        self.send(scope="selection")
        yield lambda: self.terminus.sent
        self.assertEqual(self.terminus.sent[0]["string"], "@app.py\n- 1:1 error: one [201~ (flake E1)")

    def test_an_excluded_file_stays_here_in_the_window_too(self) -> Steps:
        self.set_setting("context_exclude", ["app.py"])
        self.send()
        yield lambda: self.screen.said("app.py stays here")
        self.send(scope="window")
        yield lambda: self.screen.said("No file of this window has problems")
        self.assertEqual(self.terminus.sent, [])

    def test_without_an_empty_prompt_they_are_in_the_clipboard(self) -> Steps:
        self.terminal.run_command("append", {"characters": "Apply this change?\n  1. Yes\n"})
        sublime.set_clipboard("")
        self.send()
        yield lambda: "two" in sublime.get_clipboard()
        self.assertEqual(self.terminus.sent, [])


class TestProblems(CompanionCase):
    """No terminal, no chat."""

    def read(self, paths: Sequence[str] | None = None) -> Steps:
        """What the editor shows: self.shown."""
        found: list[Any] = []
        loaded("sublime_text.package").adapter().problems.read(self.window.id(), paths, found.append)
        yield lambda: found
        self.shown = found[0]

    def awaits(self, path: str, *, awaited: bool) -> Steps:
        """Wait until a file is waited for, or is not."""
        found: list[Any] = []
        read = loaded("sublime_text.package").adapter().problems.read

        def is_so() -> bool:
            read(self.window.id(), [path], found.append)
            return any((path in each.awaited) == awaited for each in found)

        yield is_so

    def command(self) -> Any:
        return loaded("sublime_text.problems").QwenCompanionSendProblemsCommand(self.window)

    def test_without_a_provider_the_command_is_hidden(self) -> None:
        self.assertFalse(self.command().is_visible())
        with linter({}):
            self.assertTrue(self.command().is_visible())

    def test_the_results_of_a_build_are_problems_where_nothing_else_knows_any(self) -> Steps:
        panel = self.window.create_output_panel("exec")
        self.addCleanup(self.window.destroy_output_panel, "exec")
        panel.settings().set("result_file_regex", r"^([^:]+):(\d+):(\d+): (.*)$")
        panel.settings().set("result_base_dir", str(self.folder))
        panel.run_command("append", {"characters": "app.py:2:5: warning: unused\n"})
        self.assertTrue(self.command().is_visible())
        yield from self.read()
        [found] = self.shown.diagnostics()
        self.assertEqual((self.shown.provider, found.severity, found.start.line), ("build", "warning", 2))
        self.assertEqual(found.path, str(self.folder / "app.py"))
        with linter({}):
            yield from self.read()
        self.assertEqual((self.shown.provider, list(self.shown.diagnostics())), ("SublimeLinter", []))

    def test_a_problem_in_an_open_file_counts_characters_and_utf_16_units(self) -> Steps:
        yield from self.open_view("smile.py", "x = '😀' + y\n")
        path = str(self.folder / "smile.py")
        with linter({path: [{**problem(0, "y"), "start": 10, "offending_text": "y"}]}):
            yield from self.read([path])
        [found] = self.shown.diagnostics()
        self.assertEqual((found.start.column, found.start.character, found.end.character), (11, 12, 13))

    def test_a_server_that_says_the_problems_are_unchanged_is_not_waited_for(self) -> Steps:
        self.set_setting("agents_use_editor", True)
        session = Session()
        with session.installed():
            yield from self.open_view("pulled.py")
            path, session.view = str(self.folder / "pulled.py"), self.opened
            session.looked_at = self.opened.change_count()
            yield from self.awaits(path, awaited=False)
            self.opened.set_scratch(True)
            self.opened.run_command("append", {"characters": "y\n"})
            yield from self.awaits(path, awaited=True)
            session.looked_at = self.opened.change_count()
            yield from self.read([path])
            self.assertEqual(list(self.shown.awaited), [])

    def test_a_linter_that_finds_the_same_as_before_is_not_waited_for(self) -> Steps:
        self.set_setting("agents_use_editor", True)
        yield from self.open_view("linted.py")
        path = str(self.folder / "linted.py")
        self.opened.set_scratch(True)
        errors: dict[str, list[dict[str, Any]]] = {path: []}
        with linter(errors):
            self.opened.run_command("append", {"characters": "y\n"})
            yield from self.awaits(path, awaited=True)
            errors[path] = []
            yield from self.read([path])
            self.assertEqual(list(self.shown.awaited), [])

    def test_a_file_that_is_loaded_again_is_linted(self) -> Steps:
        """SublimeLinter looks at what is typed and saved, and hears nothing of a file that an agent writes."""
        self.set_setting("agents_use_editor", True)
        yield from self.open_view("written.py")
        run: list[str] = []
        play = sublime.View.run_command

        def played(view: sublime.View, command: str, args: Any = None) -> None:
            if command == "sublime_linter_lint":
                run.append(view.file_name() or "")
            else:
                play(view, command, args)

        with linter({}), patch.object(sublime.View, "run_command", played):
            sys.modules["SublimeLinter.lint"].persist.assigned_linters = {self.opened.buffer_id(): {"flake"}}
            (self.folder / "written.py").write_text("y\n", encoding="utf-8")
            yield lambda: run
        self.assertEqual(run, [str(self.folder / "written.py")])

    def test_a_file_that_is_closed_is_not_waited_for(self) -> Steps:
        self.set_setting("agents_use_editor", True)
        session = Session()
        with session.installed():
            yield from self.open_view("closed.py")
            path, session.view = str(self.folder / "closed.py"), self.opened
            self.opened.set_scratch(True)
            self.opened.run_command("append", {"characters": "y\n"})
            yield from self.awaits(path, awaited=True)
            self.opened.close()
            yield lambda: not self.opened.is_valid()
            yield from self.read([path])
            self.assertEqual(list(self.shown.awaited), [])

    def test_a_place_is_shown_and_the_focus_stays(self) -> Steps:
        yield from self.open_view("here.py")
        path = self.folder / "there.py"
        path.write_text("x\n" * 200, encoding="utf-8")
        here = self.opened
        self.window.focus_view(here)
        yield lambda: self.window.active_view() == here
        adapter = loaded("sublime_text.package").adapter()
        shown = at_once(adapter.tools.show_place, self.window.id(), str(path), 150)
        self.assertTrue(shown)
        view = self.window.find_open_file(str(path))
        assert view
        self.addCleanup(view.close)
        yield lambda: not view.is_loading()
        yield lambda: view.visible_region().contains(view.text_point(149, 0))
        self.assertEqual(self.window.active_view(), here)
        self.assertEqual(view.get_regions("qwen_companion.followed"), [])

    def test_a_configuration_names_a_script_that_is_there(self) -> Steps:
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_copy_mcp_configuration", {"cli": "qwen"})
        yield lambda: "mcpServers" in sublime.get_clipboard()
        copied = json.loads(sublime.get_clipboard())
        script, name = copied["mcpServers"]["sublime-text"]["args"]
        self.assertEqual(name, "Qwen Code")
        with open(script, "rb") as file:
            self.assertIn(b"notifications/tools/list_changed", file.read())
        self.assertIn("--hook", json.dumps(copied["hooks"]))
        yield lambda: self.screen.said("Turn on the setting “agents_use_editor”")
        self.window.run_command("qwen_companion_copy_mcp_configuration", {"cli": "codex"})
        yield lambda: "[mcp_servers.sublime-text]" in sublime.get_clipboard()

    def test_the_agents_that_can_be_chosen_are_named(self) -> Steps:
        self.window.run_command("qwen_companion_copy_mcp_configuration", {"cli": "other"})
        yield lambda: self.screen.said("“codex”")
