"""Following an agent: its places are shown beside, and the focus stays."""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, loaded
from .companion_case import Steps
from .test_changes_review import ChangesCase as WrittenCase

LINES = "".join(f"line {number}\n" for number in range(1, 200))


class TestFollowing(ChatCase):
    """A chat that has the focus, beside a file."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.following = self.adapter.following
        self.addCleanup(self.following.close)
        for name in ("one.py", "two.py"):
            (self.folder / name).write_text(LINES)
        self.window.focus_view(self.view)

    def visit(self, name: str, line: int | None, what: str = "read", chat: Any = None) -> None:
        path = name if name.startswith("\\") else str(self.folder / name)
        visit = loaded("editor").Visit(path, line, "Qwen Code", what, chat or self.chat.id)
        self.adapter.following.show_visits(self.window.id(), [visit])

    def beside(self, name: str) -> Any:
        view = self.window.find_open_file(str(self.folder / name))
        return view if view and not view.is_loading() and view.sheet() in self.window.selected_sheets() else None

    def marked(self, name: str) -> int | None:
        view = self.beside(name)
        regions = view.get_regions("qwen_companion.followed") if view else []
        return view.rowcol(regions[0].begin())[0] + 1 if regions else None

    def follow(self) -> None:
        self.window.run_command("qwen_companion_follow")

    def test_the_place_is_shown_beside_and_the_focus_stays(self) -> Steps:
        self.follow()
        self.visit("one.py", 100)
        yield lambda: self.marked("one.py") == 100
        self.assertEqual(self.window.active_view(), self.view)
        self.assertIn(self.view.sheet(), self.window.selected_sheets())
        self.visit("two.py", 7)
        yield lambda: self.marked("two.py") == 7
        self.assertEqual(self.window.active_view(), self.view)
        self.assertIsNone(self.beside("one.py"))

    def test_a_place_is_shown_for_a_while_before_the_next_one(self) -> Steps:
        """The time for the next one came whenever it was due since the beginning."""
        self.set_limit("sublime_text.places", "QUIET", 1000)
        places = loaded("sublime_text.places")
        shown, show = list[float](), places.show_beside
        with patch.object(places, "show_beside", lambda *args: (shown.append(time.monotonic()), show(*args))):
            self.follow()
            yield 700
            self.visit("one.py", 100)
            yield lambda: shown
            self.visit("two.py", 7)
            yield lambda: len(shown) == 2
        self.assertGreater(shown[1] - shown[0], 0.8)

    def test_nothing_is_shown_unless_it_is_followed_and_the_list_has_it(self) -> Steps:
        self.visit("one.py", 100)
        self.visit("two.py", None, "edit")
        yield lambda: len(self.following.recent(self.window)) == 2
        self.assertIsNone(self.window.find_open_file(str(self.folder / "one.py")))
        self.window.run_command("qwen_companion_recent_files")
        yield lambda: self.screen.panels
        items, pick = self.screen.panels.pop()
        self.assertEqual([item.trigger for item in items], ["two.py", "one.py:100"])
        pick(1)
        yield lambda: (self.window.active_view() or self.view).file_name() == str(self.folder / "one.py")

    def test_what_is_no_file_of_this_computer_is_not_shown(self) -> Steps:
        self.follow()
        opened: list[str] = []
        folder = self.folder / "folder.py"
        folder.mkdir()
        (self.folder / "keys.pem").write_text("secret")
        window, open_file = sublime.Window, sublime.Window.open_file
        followed = self.following._followed[self.window.id()]
        with patch.object(
            window, "open_file", lambda this, path, *more: opened.append(path) or open_file(this, path, *more)
        ):
            for path in (
                "\\\\evil.example\\share\\a.py",
                "//evil.example/a.py",
                "/nowhere/new.py",
                str(folder),
                "keys.pem",
            ):
                self.visit(path, None)
                yield lambda: not followed.is_busy and not followed.due
            self.visit("one.py", 1)
            yield lambda: self.beside("one.py")
            self.assertEqual(opened, [str(self.folder / "one.py")])
            recent = self.following.recent(self.window)
            self.assertFalse([visit.path for visit in recent if "evil" in visit.path])
            command = loaded("sublime_text.places").QwenCompanionRecentFilesCommand(self.window)
            command._open(next(visit for visit in recent if visit.path == "/nowhere/new.py"))
            yield lambda: self.screen.said("There is no file")
        self.assertEqual(opened, [str(self.folder / "one.py")])

    def test_a_place_without_a_line_has_no_mark(self) -> Steps:
        self.follow()
        self.visit("one.py", 100)
        yield lambda: self.marked("one.py") == 100
        self.visit("one.py", None)
        yield lambda: self.marked("one.py") is None
        self.assertTrue(self.following.follows(self.window))

    def test_what_is_loaded_after_the_end_is_not_marked(self) -> Steps:
        beside = loaded("sublime_text.places")
        late: list[Any] = []
        with patch.object(beside, "_when_loaded", lambda view, shown: late.append(lambda: shown(view))):
            self.follow()
            self.visit("one.py", 100)
            yield lambda: late
            self.follow()
        view = self.window.find_open_file(str(self.folder / "one.py"))
        assert view
        yield lambda: not view.is_loading()
        late.pop()()
        self.assertEqual(view.get_regions("qwen_companion.followed"), [])

    def test_another_chat_is_not_followed(self) -> Steps:
        self.follow()
        self.visit("one.py", 5, chat=self.chat.id + 1000)
        yield 100
        self.assertIsNone(self.window.find_open_file(str(self.folder / "one.py")))
        self.assertEqual(len(self.following.recent(self.window)), 1)

    def test_whoever_scrolls_there_is_left_alone(self) -> Steps:
        self.follow()
        self.visit("one.py", 100)
        yield lambda: self.marked("one.py") == 100
        yield lambda: self.following._followed[self.window.id()].at  # it knows where the view is
        self.assertTrue(self.following.follows(self.window))
        self.beside("one.py").set_viewport_position((0.0, 0.0), animate=False)
        yield lambda: not self.following.follows(self.window)
        self.assertIsNone(self.marked("one.py"))
        self.visit("two.py", 7)
        yield 100
        self.assertIsNone(self.window.find_open_file(str(self.folder / "two.py")))

    def test_whoever_types_there_is_left_alone(self) -> Steps:
        self.follow()
        self.visit("one.py", 100)
        yield lambda: self.marked("one.py") == 100
        view = self.beside("one.py")
        self.window.focus_view(view)
        view.run_command("insert", {"characters": "x"})
        yield lambda: not self.following.follows(self.window)
        view.set_scratch(True)

    def test_a_file_that_the_person_is_in_is_not_scrolled(self) -> Steps:
        self.follow()
        view = self.window.open_file(str(self.folder / "one.py"))
        yield lambda: not view.is_loading()
        self.window.focus_view(view)
        before = view.viewport_position()
        self.visit("one.py", 150)
        yield 100
        self.assertEqual(view.viewport_position(), before)

    def test_the_command_stops_it_too(self) -> Steps:
        self.follow()
        self.assertTrue(self.following.follows(self.window))
        self.follow()
        self.assertFalse(self.following.follows(self.window))
        yield 0

    def test_what_a_cli_proposes_is_in_the_list(self) -> Steps:
        yield from self.open_diff("def greet(name):\n    return name\n")
        [visit] = self.following.recent(self.window)
        self.assertEqual((visit.path, visit.agent, visit.what), (str(self.file), "Qwen Code", "proposal"))

    def test_no_file_covers_a_proposal_that_is_in_sight(self) -> Steps:
        self.follow()
        yield from self.open_diff("def greet(name):\n    return name\n")
        self.visit("one.py", 100)
        yield 1000
        self.assertIsNone(self.window.find_open_file(str(self.folder / "one.py")))
        self.assertTrue(loaded("sublime_text.windows").is_visible(self.proposal))


class TestWithoutAnAgent(ChatCase):
    def test_both_commands_are_hidden_while_nobody_is_there(self) -> Steps:
        commands = loaded("sublime_text.places")
        window = yield from self.another_window()
        for name in ("QwenCompanionFollowCommand", "QwenCompanionRecentFilesCommand"):
            self.assertFalse(getattr(commands, name)(window).is_visible())


class TestFollowingACli(WrittenCase):
    """A CLI that writes without asking."""

    def test_what_it_writes_is_shown_at_its_last_change_and_the_focus_stays(self) -> Steps:
        following = loaded("sublime_text.package").adapter().following
        self.addCleanup(following.close)
        self.window.focus_view(self.view)
        path = self.folder / "written.txt"
        path.write_text(LINES)
        yield from self.begin_anew()
        self.assertTrue(loaded("sublime_text.places").QwenCompanionFollowCommand(self.window).is_visible())
        self.window.run_command("qwen_companion_follow")
        path.write_text(LINES.replace("line 150\n", "line one hundred and fifty\n"))
        yield {"condition": lambda: self.window.find_open_file(str(path)), "timeout": 60_000}
        view = self.window.find_open_file(str(path))
        assert view
        regions = lambda: view.get_regions("qwen_companion.followed")  # noqa: E731
        yield lambda: regions() and view.rowcol(regions()[0].begin())[0] == 149
        self.assertEqual(self.window.active_view(), self.view)
        [visit] = following.recent(self.window)
        self.assertEqual((visit.path, visit.line, visit.agent, visit.what), (str(path), 150, "Qwen Code", "written"))
