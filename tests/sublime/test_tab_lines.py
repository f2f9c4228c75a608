"""Lines that somebody knows of a file on the disk, in its tab with unsaved text."""

from __future__ import annotations

from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, at_once, loaded
from .test_review_tab import OLD, ReviewCase

TYPED = "a\nb\nc\nd\n"


def line_of(view: sublime.View) -> str:
    """The line of the caret."""
    return view.substr(view.line(view.sel()[0]))


def type_above(view: sublime.View, line: str) -> None:
    """Type some lines above this one."""
    view.sel().clear()
    view.sel().add(view.find(line, 0, sublime.FindFlags.LITERAL).begin())
    view.run_command("insert", {"characters": TYPED})


class TestReview(ReviewCase):
    def setUp(self) -> Steps:
        """One change, and unsaved lines above it."""
        yield from super().setUp()
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(new := OLD.replace("line 30\n", "line thirty\n"))
        yield from self.waits(1)
        yield lambda: self.view.substr(sublime.Region(0, self.view.size())) == new
        type_above(self.view, "line 9\n")

    def test_enter_leads_to_the_line_of_a_change_in_a_tab_with_unsaved_lines_above_it(self) -> Steps:
        yield from self.review()
        for line in ("line thirty", "line 29", "line 28"):
            yield self.has(line)
            self.window.focus_view(self.tab)
            self.go_to(line)
            self.press("enter")
            yield lambda line=line: line_of(self.view) == line
            self.assertEqual(self.window.active_view(), self.view)

    def test_it_is_shown_beside_its_baseline_at_that_line(self) -> Steps:
        yield from self.review()
        yield self.has("line thirty")
        self.go_to("line thirty")
        self.press("s")
        yield lambda: len(self.window.selected_sheets()) == 2
        right = self.window.active_view()
        assert right
        yield lambda: line_of(right) == "line thirty"


class TestPlaces(CompanionCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_setting("review", "off")
        self.file.write_text(OLD)
        yield lambda: self.view.size() == len(OLD)
        type_above(self.view, "line 9\n")

    def open(self, line: int) -> None:
        """Go to a line, as from a link in a chat."""
        adapter = loaded("sublime_text.package").adapter()
        loaded("sublime_text.places").open_place(adapter, self.window, str(self.file), line)

    def test_a_place_above_and_below_unsaved_lines_is_gone_to(self) -> Steps:
        for line in (8, 9, 20):
            self.window.focus_view(self.window.new_file())
            self.open(line)
            yield lambda line=line: line_of(self.view) == f"line {line}"
            self.assertEqual(self.window.active_view(), self.view)

    def test_who_types_before_the_place_is_found_stays_there(self) -> Steps:
        held = []
        places, adapter = loaded("sublime_text.places"), loaded("sublime_text.package").adapter()
        self.window.focus_view(self.view)
        with patch.object(adapter, "on_another_thread", lambda call, done: held.append((call, done))):
            places.line_in_tab(adapter, self.view, 20, self.fail)
        [(call, done)] = held
        self.view.run_command("insert", {"characters": "x"})
        done(call())
        yield 0

    def test_the_place_that_a_tool_shows_is_the_one_below_unsaved_lines(self) -> Steps:
        self.view.run_command("insert", {"characters": TYPED * 50})
        self.window.focus_view(self.window.new_file())
        adapter = loaded("sublime_text.package").adapter()
        self.assertTrue(at_once(adapter.tools.show_place, self.window.id(), str(self.file), 40))
        in_sight = lambda: self.view.substr(self.view.visible_region())  # noqa: E731
        yield lambda: "line 40\n" in in_sight()

    def test_the_place_of_a_followed_agent_is_shown_below_unsaved_lines(self) -> Steps:
        adapter = loaded("sublime_text.package").adapter()
        self.addCleanup(adapter.following.close)
        self.window.focus_view(self.window.new_file())
        adapter.following.begin(self.window, None, "the agents")
        visit = loaded("editor").Visit(str(self.file), 30, "Qwen Code", "written")
        adapter.following.show_visits(self.window.id(), [visit])
        marked = lambda: self.view.get_regions("qwen_companion.followed")  # noqa: E731
        yield lambda: [self.view.substr(each) for each in marked()] == ["line 30"]
        yield 1_000
        self.assertTrue(adapter.following.follows(self.window))
