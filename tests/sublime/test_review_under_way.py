"""Decisions that aren't done yet when the person goes on: none is lost, and none is about another change."""

from __future__ import annotations

from typing import Any

from .companion_case import Steps, loaded, text_of
from .test_review_tab import OLD, ReviewCase

AGENTS = "".join(f"agent {at}\n" if at % 10 == 0 else f"line {at}\n" for at in range(1, 41))
EQUAL = "".join("same\n" if at in (5, 25) else f"line {at}\n" for at in range(1, 41))


class TestUnderWay(ReviewCase):
    def four(self) -> Steps:
        """A file with four changes in the Review."""
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(AGENTS)
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py   +4 −4", "agent 40")
        yield lambda: self.row() == "line 10"

    def left(self) -> list[str]:
        return [line for line in self.file.read_text().split("\n") if line.startswith("agent")]

    def filter(self, words: str) -> None:
        self.tab.run_command("qwen_companion_review_do", {"what": "filter"})
        self.screen.inputs[-1][2](words)

    def test_they_are_done_if_the_file_is_folded(self) -> Steps:
        yield from self.four()
        self.press("u", "u", "u", "tab")
        yield lambda: self.left() == ["agent 40"]
        self.assertEqual(self.screen.messages, [])

    def test_they_are_done_if_the_file_is_filtered_out(self) -> Steps:
        yield from self.four()
        self.press("u", "u", "u")
        self.filter("nothing")
        yield lambda: self.left() == ["agent 40"]
        self.assertEqual(self.screen.messages, [])

    def test_they_are_done_if_the_review_is_closed(self) -> Steps:
        yield from self.four()
        self.press("u", "u", "u")
        self.tab.close()
        yield lambda: self.left() == ["agent 40"]
        self.assertEqual(self.screen.messages, [])

    def test_nothing_is_said_of_one_whose_window_was_closed_meanwhile(self) -> Steps:
        yield from self.four()
        self.fails("decisions", "decide_changes", loaded("changes.folder").FolderClosedError())
        go = self.slowed("decide_changes", "decisions")
        self.press("u")
        self.window.run_command("close_window")
        yield lambda: not self.window.is_valid()
        go()
        yield 300
        self.assertEqual(self.screen.messages, [])

    def test_the_undo_of_a_folded_file_comes_after_them(self) -> Steps:
        yield from self.four()
        self.press("u", "tab", "shift+u")
        yield from self.waits(0)
        self.assertEqual(self.file.read_text(), OLD)

    def test_the_undo_of_a_file_that_comes_after_them_leaves_what_was_not_seen(self) -> Steps:
        yield from self.four()
        self.press("u", "tab", "shift+u")
        self.file.write_text(AGENTS + "never seen\n")
        yield lambda: self.screen.said("app.py has changed")
        self.assertIn("never seen\n", self.file.read_text())

    def test_the_undo_of_a_file_waits_for_the_end_of_a_turn_like_that_of_its_changes(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.begun()
        running: Any = loaded("sublime_text.package").adapter().thread._running[1]
        self.file.write_text(OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield from self.waits(1)
        turns = running.changes.roots.window(self.window.id()).turns
        turns[7, "turn"] = "Agent"
        yield from self.review()
        yield self.has("▾ app.py", "thirty")
        self.press("u", "shift+u")
        listings = loaded("sublime_text.package").adapter().written.listings
        yield lambda: (going := listings.of(self.window).rows[0].going) and not going.changes
        del turns[7, "turn"]

    def test_everything_is_kept_by_the_first_line_after_what_is_under_way(self) -> Steps:
        """It was refused for the file that had just been decided in."""
        yield from self.four()
        self.press("u")
        self.go_to("—")
        self.press("k")
        yield from self.waits(0)
        self.assertEqual(self.left(), ["agent 20", "agent 30", "agent 40"])
        self.assertEqual(self.screen.messages, [])

    def test_one_take_back_takes_a_whole_turn_back_of_which_a_file_was_under_way(self) -> Steps:
        """That file was a decision of its own."""
        (self.folder / "b.py").write_text(OLD)
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        (self.folder / "b.py").write_text(OLD.replace("line 7\n", "seven\n"))
        yield from self.waits(2)
        yield from self.review()
        yield self.has("▾ app.py", "thirty", "▾ b.py", "seven")
        self.go_to("line 3")
        self.press("u")
        self.tab.run_command("qwen_companion_decide_turn", {"what": "keep"})
        yield from self.waits(0)
        self.window.run_command("qwen_companion_take_back")
        yield from self.waits(2)
        yield self.has("▾ app.py   +1 −1", "thirty", "▾ b.py")
        self.window.run_command("qwen_companion_take_back")
        yield self.has("▾ app.py   +2 −2", "three", "thirty", "▾ b.py")

    def test_one_is_taken_back_however_soon_that_is_asked_for(self) -> Steps:
        """Take Back said that there is no decision, or took the one before back."""
        yield from self.four()
        self.press("u", "u")
        self.window.run_command("qwen_companion_take_back")
        yield lambda: self.left() == ["agent 20", "agent 30", "agent 40"]
        yield self.has("▾ app.py   +3 −3")
        self.assertFalse(self.screen.said("no decision"))

    def test_all_are_taken_back_however_soon_that_is_asked_for(self) -> Steps:
        yield from self.four()
        for what in ("keep", "undo"):
            with self.subTest(what):
                self.window.run_command(f"qwen_companion_{what}_all_changes")
                self.window.run_command("qwen_companion_take_back")
                yield 800
                self.assertFalse(self.screen.said("no decision"))
                yield self.has("▾ app.py   +4 −4")
                self.assertEqual(self.file.read_text(), AGENTS)

    def test_a_second_decision_about_the_same_change_is_not_about_an_equal_one(self) -> Steps:
        """A double click, or another key before the marks follow."""
        new = EQUAL.replace("same\n", "agent\n")
        self.file.write_text(EQUAL)
        yield lambda: text_of(self.view) == EQUAL
        yield from self.begun()
        self.file.write_text(new)
        yield from self.waits(1)
        yield lambda: text_of(self.view) == new and len(self.screen.links(self.view)) == 4
        for link in ("undo:0", "undo:0"):
            self.screen.click(self.view, link)
        yield lambda: self.screen.said("app.py has changed since")
        self.assertEqual([self.file.read_text().split("\n")[at] for at in (4, 24)], ["same", "agent"])
