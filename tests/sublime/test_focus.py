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
        loaded("sublime_text.package").adapter().messenger.keep_text(self.window.id(), "app.py", "text\n", "Why.")
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
        focus = loaded("sublime_text.package").adapter().focus
        with patch.object(sublime.Window, "focus_view", lambda *_: None):
            focus.give(self.window, panel)
            self.assertIn(self.window.id(), focus._awaited)
            self.window.run_command("hide_panel")
            yield lambda: self.window.id() not in focus._awaited
        self.assertIsNone(self.window.active_panel())


class TestSelection(CompanionCase):
    """What other tabs and groups show, whatever the editor does with them."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.windows = loaded("sublime_text.windows")

    def replaced(self, name: str, call: Any) -> Any:
        """Replace a method of a window until the test is over. The result is the method itself."""
        original = getattr(sublime.Window, name)
        self.enterContext(patch.object(sublime.Window, name, call))
        return original

    def test_tabs_that_lose_their_place_beside_the_focused_one_are_selected_again(self) -> Steps:
        yield from self.open_view("other.py")
        both = [self.view, self.opened]

        def alone(window: sublime.Window, target: Any) -> None:
            before(window, target)
            window.select_sheets([self.view.sheet()])  # pyright: ignore[reportArgumentType]

        for name, focus, target in (
            ("focus_view", self.windows.focus_view, self.view),
            ("focus_sheet", self.windows.focus_sheet, self.view.sheet()),
        ):
            before = self.replaced(name, alone)
            self.select(both)
            focus(self.window, target)
            self.assertEqual(self.selected(), both, name)

    def test_the_other_groups_keep_their_selected_tabs(self) -> Steps:
        yield from self.split()
        others = [self.view, self.beside]
        self.select([*others, self.right[0]])

        def only_named(window: sublime.Window, sheets: list[sublime.Sheet]) -> None:
            original(window, sheets)
            if not any(sheet.group() == 0 for sheet in sheets):
                original(window, [*sheets, self.view.sheet()])  # pyright: ignore[reportArgumentType]

        original = self.replaced("select_sheets", only_named)
        self.windows.show_in_group(self.window, 1, self.window.sheets_in_group(1))
        self.assertEqual((self.selected(0), self.selected(1)), (others, self.right))

    def test_tabs_are_selected_alone_where_several_groups_at_once_do_not_work(self) -> Steps:
        yield from self.split()
        asked: list[int] = []

        def first_group(window: sublime.Window, sheets: list[sublime.Sheet]) -> None:
            asked.append(len(sheets))
            original(window, [sheet for sheet in sheets if sheet.group() == sheets[0].group()])

        original = self.replaced("select_sheets", first_group)
        original(self.window, [self.window.sheets_in_group(1)[0]])
        self.windows.show_in_group(self.window, 1, [self.right[1].sheet()])
        self.assertEqual(len(asked), 2)
        self.assertEqual(self.selected(1), [self.right[1]])

    def split(self) -> Steps:
        """Two groups of two tabs: self.view and self.beside, self.right."""
        yield from self.open_view("beside.py")
        self.beside = self.opened
        self.window.set_layout({"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
        self.right: list[sublime.View] = []
        for index in range(2):
            yield from self.open_view(f"right{index}.py")
            self.window.set_view_index(self.opened, 1, index)
            self.right.append(self.opened)


class TestClosing(CompanionCase):
    """sublimehq/sublime_text#4643: `close` closes all selected tabs."""

    def test_a_side_of_a_diff_is_closed_by_a_command_of_ours(self) -> Steps:
        yield from self.open_diff(BETTER)
        self.window.focus_view(self.original)
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        told = listener.on_window_command(self.window, "close", None)
        self.assertEqual(told, ("qwen_companion_close_diff_view", {}))
