"""Tabs, groups, panels and windows."""

from __future__ import annotations

import sublime

from .editor_case import SETTLED, SPLIT, EditorCase, Steps, sheets, until


class TestPanels(EditorCase):
    """The views of panels."""

    def test_a_view_in_a_panel_has_the_sheet_id_0_and_an_element(self) -> None:
        panel = self.panel()
        self.assertEqual(panel.sheet_id(), 0)
        self.assertTrue(panel.element())

    def test_focus_view_gives_the_focus_back_to_a_panel(self) -> Steps:
        panel, tab = self.panel(), self.new("tab")
        for view in (panel, tab):
            self.window.focus_view(view)
            yield SETTLED
        self.trying.EVENTS.clear()
        self.window.focus_view(panel)
        yield until(lambda: self.heard(panel, "on_activated"), "the view of the panel was not activated")

    def test_active_panel_names_the_one_shown_while_a_tab_has_the_focus(self) -> Steps:
        self.panel()
        self.window.focus_view(self.new("tab"))
        yield SETTLED
        self.assertEqual(self.window.active_panel(), "output.qwen_companion_try")
        self.window.run_command("hide_panel")
        yield SETTLED
        self.assertIsNone(self.window.active_panel())


class TestTabs(EditorCase):
    """Selected tabs and groups."""

    def split(self, *groups: int) -> list[sublime.View]:
        """New tabs, each in its group."""
        self.window.set_layout(SPLIT)
        views = [self.new(str(number)) for number in range(len(groups))]
        for at, (view, group) in enumerate(zip(views, groups, strict=True)):
            self.window.set_view_index(view, group, groups[:at].count(group))
        return views

    def test_focus_sheet_keeps_the_other_selected_tabs(self) -> Steps:
        both = [self.new("first"), self.new("second")]
        self.window.select_sheets(sheets(*both))
        yield SETTLED
        self.assertEqual(self.shown(), both)
        for sheet in sheets(*both):
            self.window.focus_sheet(sheet)
            yield SETTLED
            self.assertEqual(self.shown(), both)

    def test_select_sheets_selects_in_each_group(self) -> Steps:
        views = self.split(0, 0, 1, 1)
        self.window.select_sheets(sheets(*views))
        yield SETTLED
        self.assertEqual((self.shown(0), self.shown(1)), (views[:2], views[2:]))

    def test_select_sheets_leaves_the_selected_tabs_of_another_group_alone(self) -> Steps:
        views = self.split(0, 1, 1)
        self.window.select_sheets(sheets(*views[1:]))
        yield SETTLED
        self.window.select_sheets(sheets(views[0]))
        yield SETTLED
        self.assertEqual(self.shown(1), views[1:])

    def test_close_closes_all_selected_tabs_of_the_group(self) -> Steps:
        first, second = self.new("first"), self.new("second")
        self.window.select_sheets(sheets(first, second))
        self.window.focus_view(first)
        yield SETTLED
        self.window.run_command("close")
        yield SETTLED
        self.assertEqual([first.is_valid(), second.is_valid()], [False, False])

    def test_a_file_gets_the_focus_before_it_is_loaded(self) -> Steps:
        view = self.open("order.txt", "text\n")
        heard = lambda: list(dict.fromkeys(self.heard(view, "on_activated", "on_load")))  # noqa: E731
        yield until(lambda: len(heard()) == 2, "not both events came")
        self.assertEqual(heard(), ["on_activated", "on_load"])

    def test_listeners_are_told_of_a_save_on_the_window_and_on_the_view(self) -> Steps:
        view = self.open("save.txt", "text\n")
        yield until(lambda: not view.is_loading(), "it did not load")
        self.window.focus_view(view)
        for target in (self.window, view):
            self.trying.EVENTS.clear()
            target.run_command("save")
            yield SETTLED
            self.assertIn("save", [command for _, _, command in self.trying.EVENTS], type(target))


class TestWindows(EditorCase):
    """Windows and their projects."""

    def test_a_new_window_begins_with_an_untitled_tab(self) -> None:
        self.assertEqual(self.first_tabs, 1)

    def test_the_data_of_a_project_has_a_change_at_once(self) -> None:
        settings = {"QwenCompanionTry": {"value": 1}}
        self.window.set_project_data({"folders": [], "settings": settings})
        self.assertEqual((self.window.project_data() or {}).get("settings"), settings)

    def test_giving_the_focus_does_not_raise_a_window_that_is_behind(self) -> Steps:
        first, second = self.new("first"), self.new("second")
        for focus, target in ((self.window.focus_view, first), (self.window.focus_sheet, sheets(second)[0])):
            self.front.bring_to_front()
            yield until(lambda: sublime.active_window() == self.front, "the other window did not come to the front")
            focus(target)  # pyright: ignore[reportArgumentType] - each has its own
            yield 2 * SETTLED
            self.assertEqual(sublime.active_window(), self.front)
