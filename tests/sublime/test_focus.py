"""Where the focus goes (faults of the editor)."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded

BETTER = 'def greet(name):\n    print(f"hi {name}")\n'


class TestWindowBehind(CompanionCase):
    """sublimehq/sublime_text#4407: `Window.focus_view` and `focus_sheet` raise their window."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.front = yield from self.another_window()
        self.front.bring_to_front()
        yield lambda: sublime.active_window() == self.front
        for name in ("focus_view", "focus_sheet"):
            self._raise_on(name)

    def _raise_on(self, name: str) -> None:
        original: Any = getattr(sublime.Window, name)

        def call(window: sublime.Window, target: Any) -> None:
            original(window, target)
            window.bring_to_front()

        patcher = patch.object(sublime.Window, name, call)
        patcher.start()
        self.addCleanup(patcher.stop)

    def test_a_diff_in_a_window_behind_leaves_the_window_behind(self) -> Steps:
        yield from self.open_diff(BETTER)
        yield 100
        self.assertEqual(sublime.active_window(), self.front)
        closed = self.cli.call("closeDiff", filePath=str(self.file))
        yield from self.done(closed)
        yield from self.closed()
        yield 100
        self.assertEqual(sublime.active_window(), self.front)

    def test_the_focus_moves_once_the_window_comes_to_the_front(self) -> Steps:
        yield from self.open_view("other.py")
        self.select([self.view, self.opened])
        self.window.focus_view(self.opened)
        yield lambda: self.window.active_view() == self.opened
        self.front.bring_to_front()
        yield lambda: sublime.active_window() == self.front
        focus = loaded("sublime_text.package").adapter().focus
        focus.give(self.window, self.view)
        yield 100
        self.assertEqual(self.window.active_view(), self.opened)
        self.window.bring_to_front()
        yield lambda: self.focused() == self.view

    def test_kept_edits_open_in_a_window_behind_without_raising_it(self) -> Steps:
        loaded("sublime_text.package").adapter().port.keep_text(self.window.id(), "app.py", "text\n", "Why.")
        yield lambda: any(view.name() == "app.py (your edits)" for view in self.window.views())
        yield 100
        self.assertEqual(sublime.active_window(), self.front)


class TestPanel(CompanionCase):
    """sublimehq/sublime_text#3349: the focus does not go back to a panel."""

    def test_a_panel_that_did_not_get_the_focus_back_is_shown_and_focused_again(self) -> Steps:
        panel = self.window.create_output_panel("companion_focus")
        panel.settings().set("terminus_view", True)
        self.window.run_command("show_panel", {"panel": "output.companion_focus"})
        self.window.focus_view(panel)
        yield from self.open_diff(BETTER)
        self.window.focus_view(self.proposal)
        yield lambda: self.focused() == self.proposal
        original, asked = sublime.Window.focus_view, []

        def once_lost(window: sublime.Window, view: sublime.View) -> None:
            asked.append(view)
            if view != panel or asked.count(panel) > 1:
                original(window, view)

        with patch.object(sublime.Window, "focus_view", once_lost):
            self.proposal.run_command("qwen_companion_reject_diff")
            yield from self.closed()
            yield lambda: self.focused() == panel
        self.assertEqual(self.window.active_panel(), "output.companion_focus")
        self.assertEqual(diff_views(self.window, "proposal"), [])

    def test_a_panel_that_the_person_has_hidden_in_the_meantime_stays_hidden(self) -> Steps:
        panel = self.window.create_output_panel("companion_focus")
        self.window.run_command("show_panel", {"panel": "output.companion_focus"})
        self.window.focus_view(self.view)
        yield lambda: self.focused() == self.view
        self.know()
        focus = loaded("sublime_text.package").adapter().focus
        with patch.object(sublime.Window, "focus_view", lambda *_: None):
            focus.give(self.window, panel)
            self.assertIn(self.window.id(), focus._awaited)
            self.window.run_command("hide_panel")
            yield lambda: self.window.id() not in focus._awaited
        self.assertIsNone(self.window.active_panel())
