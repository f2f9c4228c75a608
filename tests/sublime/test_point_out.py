"""What an agent points out: in the file, in the Review, and how the person dismisses or answers it."""

from __future__ import annotations

from typing import Any

from .companion_case import Steps, at_once, loaded
from .test_review_reload import ReloadCase
from .test_review_tab import ReviewCase

AGENT = "Qwen Code"


def panel() -> Any:
    return loaded("sublime_text.package").adapter().comments


class PointedOutCase(ReviewCase):
    """A window with a file of three lines, and an agent that points something out."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.file.write_text("a\nb\nc\n")
        yield lambda: self.view.substr(self.view.line(0)) == "a"
        self.addCleanup(lambda: panel().delete(list(panel().comments)))

    def points_out(self, words: str, line: int = 2, rank: int = 1, by: str = AGENT) -> Any:
        """What the editor does for the tool."""
        text = ("a", "b", "c")[line - 1]
        note = loaded("comments").Comment(str(self.file), line, (text,), words, by=by, rank=rank)
        return at_once(loaded("sublime_text.package").adapter().tools.point_out, self.window.id(), note)

    def drawn(self) -> str:
        return "".join(content for content, _ in self.screen._of(self.view, "qwen_companion.comments"))

    def at(self, line: int) -> None:
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(line - 1, 0))
        self.window.focus_view(self.view)


class TestWhatAnAgentPointsOut(PointedOutCase):
    def test_it_stands_at_its_lines_as_the_agents_words(self) -> Steps:
        self.assertEqual(self.points_out("the rounding is mine"), 1)
        self.assertIn(f"<b>{AGENT} points out:</b> the rounding is mine", self.drawn())
        self.assertNotIn("edit:", self.drawn())
        self.assertEqual(panel().unsent(self.window), ())
        self.assertNotIn("to send", self.view.get_status("zz_qwen_companion"))
        self.at(1)
        self.view.run_command("qwen_companion_go_to_comment")
        self.assertEqual(self.view.rowcol(self.view.sel()[0].b)[0], 1)
        self.view.run_command("insert", {"characters": "x\n"})
        yield lambda: panel().notes(self.window)[0].first == 3

    def test_the_review_has_them_first_in_the_agents_order(self) -> Steps:
        yield from self.begun()
        self.file.write_text("a\nb\nchanged\n")
        yield from self.waits(1)
        self.points_out("third", 1, rank=2**31 - 1)
        self.points_out("second", 3, rank=2)
        self.points_out("first", 2, rank=1)
        self.at(1)
        self.view.run_command("qwen_companion_comment", {"text": "mine"})
        yield from self.review()
        head = f"¶ {AGENT} points out · app.py:"
        yield self.has(
            "— 1 file", f"{head}2 · first", f"{head}3 · second", f"{head}1 · third", "▾ app.py", "¶ app.py:1 ·"
        )

    def test_a_key_of_the_review_opens_answers_and_dismisses_it(self) -> Steps:
        self.points_out("look")
        yield from self.review()
        yield self.has(f"¶ {AGENT} points out")
        self.go_to("¶")
        self.press("c")
        caption, _, done = self.screen.inputs[-1]
        self.assertEqual(caption, "Comment on app.py:2")
        done("I see")
        [answer] = panel().unsent(self.window)
        self.assertEqual((answer.words, answer.first, answer.agent), ("I see", 2, AGENT))
        yield self.has(f"¶ {AGENT}", "¶ app.py:2 · I see")
        self.go_to("¶")
        self.press("enter")
        yield lambda: self.window.active_view() == self.view
        self.assertEqual(self.view.rowcol(self.view.sel()[0].b)[0], 1)
        self.window.focus_view(self.tab)
        self.go_to("¶")
        self.press("x")
        self.assertEqual(panel().notes(self.window), [])
        yield lambda: not any(AGENT in line and "points" in line for line in self.lines())
        self.go_to("¶")
        self.press("x")
        self.assertEqual(panel().unsent(self.window), (answer,))

    def test_the_command_dismisses_the_notes_of_the_line_and_keeps_the_answer(self) -> None:
        self.points_out("one")
        self.points_out("two", 3)
        self.at(2)
        self.view.run_command("qwen_companion_comment", {"text": "I see"})
        [answer] = panel().unsent(self.window)
        self.assertEqual(answer.agent, AGENT)
        self.window.run_command("qwen_companion_delete_comments")
        self.assertEqual([each.words for each in panel().of_window(self.window)], ["I see", "two"])
        self.at(1)
        self.window.run_command("qwen_companion_delete_comments", {"asks": False})
        self.assertEqual(panel().of_window(self.window), [])

    def test_a_click_dismisses_it(self) -> None:
        self.points_out("look")
        [note] = panel().notes(self.window)
        self.screen.click(self.view, f"delete:{note.id}")
        self.assertEqual((panel().notes(self.window), self.drawn()), ([], ""))

    def test_it_goes_with_the_last_change_that_is_answered_and_not_before(self) -> Steps:
        (self.folder / "b.py").write_text("b\n")
        yield from self.begun()
        self.points_out("nothing is written yet")
        self.file.write_text("a\nb\nchanged\n")
        (self.folder / "b.py").write_text("changed\n")
        yield from self.waits(2)
        self.window.run_command("qwen_companion_keep_file", {"path": str(self.file)})
        yield from self.waits(1)
        self.assertEqual(len(panel().notes(self.window)), 1)
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.folder / "b.py")})
        yield from self.waits(0)
        yield lambda: not panel().notes(self.window)

    def test_there_is_room_for_fifty_in_a_window_whoever_they_are_from(self) -> None:
        for number in range(50):
            self.assertEqual(self.points_out("look", by=f"agent {number}"), number + 1)
        self.assertEqual(self.points_out("look", by="another"), 0)
        self.assertEqual(len(panel().notes(self.window)), 50)

    def test_nothing_in_it_is_a_link_or_markup(self) -> Steps:
        hostile = "<a href='delete:x'>ok</a> &lt;b&gt; [x](http://x) \x1b[0m"
        self.points_out(hostile, by=f"<h1>{AGENT}</h1>\u202e")
        self.assertEqual(self.drawn().count("<a "), 1)
        self.assertNotIn("<h1", self.drawn())
        self.assertNotIn("\u202e", self.drawn())
        yield from self.review()
        yield self.has(f"¶ <h1>{AGENT}</h1>\\u202e points out")
        self.assertTrue(all(line.isprintable() for line in self.lines()))

    def test_a_window_that_is_gone_has_none(self) -> None:
        note = loaded("comments").Comment(str(self.file), 1, ("a",), "look", by=AGENT)
        self.assertIsNone(at_once(loaded("sublime_text.package").adapter().tools.point_out, 987654, note))


class TestPointedOutOverAReload(ReloadCase):
    def test_it_stands_until_it_is_dismissed(self) -> Steps:
        self.addCleanup(lambda: panel().delete(list(panel().comments)))
        note = loaded("comments").Comment(str(self.file), 1, ("def greet(name):",), "look", by=AGENT, rank=3)
        panel().point_out(self.window, note)
        yield from self.reload()
        yield lambda: [(each.words, each.by, each.rank) for each in panel().notes(self.window)] == [("look", AGENT, 3)]
        yield lambda: panel().views.shows(self.view)
