"""Which change, file or proposal a key in the Review means: what the carets and selections of its view say."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import sublime

from .companion_case import Steps, loaded, text_of
from .test_review_tab import OLD, ReviewCase


class CaretCase(ReviewCase):
    def changed(self, **texts: str) -> Steps:
        """Files with changes, by their names without the ending, in the Review."""
        for name in texts:
            (self.folder / f"{name}.py").write_text(OLD)
        yield from self.begun()
        for name, text in texts.items():
            (self.folder / f"{name}.py").write_text(text)
        yield from self.waits(len(texts))
        yield from self.review()
        yield self.has(*(f"▾ {name}.py" for name in texts))

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.py").read_text()

    def select_from(self, *lines: str, rows: int = 1) -> None:
        """Select whole lines downwards, with their last line feed: so many from each that begins so."""
        self.tab.sel().clear()
        for line in lines:
            row = next(at for at, each in enumerate(self.lines()) if each.startswith(line))
            self.tab.sel().add(sublime.Region(self.tab.text_point(row, 0), self.tab.text_point(row + rows, 0)))

    def both_seen(self) -> Steps:
        """Two proposals in the Review that count as seen. Returns the diff of the second one."""
        self.file.write_text(OLD)
        (self.folder / "b.py").write_text(OLD)
        first = yield from self.propose(f"{OLD}more\n")
        second = yield from self.propose(OLD.replace("line 3\n", "three\n"), self.folder / "b.py")
        yield from self.review()
        yield self.has("▾ app.py", "more", "▾ b.py", "three")
        yield lambda: first.attention.is_seen and second.attention.is_seen
        return second


class TestSelectionsThatEndAtALine(CaretCase):
    """Ctrl+L, a triple click and Shift+Down leave the caret at the beginning of the line below."""

    def test_undo_of_a_files_last_lines_leaves_the_next_file_alone(self) -> Steps:
        """The next file was undone as a whole."""
        yield from self.changed(app=f"{OLD}one\ntwo\n", b=(other := OLD.replace("line 7\n", "seven\n")))
        self.select_from("two")
        self.press("u")
        yield lambda: self.text("app") == f"{OLD}one\n"
        self.assertEqual(self.text("b"), other)

    def test_it_stays_in_its_file_when_an_agent_goes_on_writing(self) -> Steps:
        """The Review is drawn anew: the caret was put on the heading, and the whole change was undone without it."""
        yield from self.changed(app=f"{OLD}one\ntwo\n", b=OLD.replace("line 7\n", "seven\n"))
        self.select_from("two")
        (self.folder / "b.py").write_text(other := OLD.replace("line 7\n", "7\n"))
        yield self.has("two", "▾ b.py", "7")
        self.press("u")
        yield lambda: self.text("app") == f"{OLD}one\n"
        self.assertEqual(self.text("b"), other)

    def test_accept_answers_the_proposal_of_the_selected_line(self) -> Steps:
        """The next one was accepted."""
        yield from self.both_seen()
        self.select_from("more")
        self.press("primary+s")
        yield lambda: self.cli.outcomes
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])

    def test_a_selection_of_two_files_decides_none(self) -> Steps:
        """The second one was undone as a whole if its heading was the last line."""
        yield from self.changed(
            app=(mine := OLD.replace("line 3\n", "three\n")), b=(other := OLD.replace("line 7\n", "seven\n"))
        )
        yield self.has("▾ app.py", "three", "▾ b.py", "seven")
        lines = self.lines()
        first = next(at for at, each in enumerate(lines) if each == "three")
        last = next(at for at, each in enumerate(lines) if each.startswith("▾ b.py"))
        for end in (last + 1, last + 3):
            self.tab.sel().clear()
            self.tab.sel().add(sublime.Region(self.tab.text_point(first, 0), self.tab.text_point(end, 0)))
            self.screen.messages.clear()
            self.press("u")
            self.assertTrue(self.screen.said("Select lines of one file."))
        self.go_to("three")
        self.tab.sel().add(sublime.Region(self.tab.text_point(lines.index("seven"), 0)))
        self.screen.messages.clear()
        self.press("u")
        self.assertTrue(self.screen.said("Select lines of one file."))
        yield 300
        self.assertEqual((self.text("app"), self.text("b")), (mine, other))

    def test_a_click_answers_its_proposal_whatever_is_selected(self) -> Steps:
        """The selection means nothing to a link."""
        second = yield from self.both_seen()
        self.select_from("more", rows=3)
        self.screen.click(self.tab, f"accept:{second.review.number}")
        yield lambda: self.cli.outcomes
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.folder / "b.py")])

    def test_a_second_key_does_not_answer_the_proposal_that_comes_next(self) -> Steps:
        """It was in sight for a while, so it counts as seen; the key was held, or pressed twice."""
        yield from self.both_seen()
        self.go_to("more")
        self.press("shift+escape")
        yield lambda: len(self.cli.outcomes) == 1 and "▾ app.py" not in "".join(self.lines())
        self.press("shift+escape")
        yield 300
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])


class TestViewsOfTheTab(CaretCase):
    """The person has cloned the Review, or split its view."""

    def clone(self) -> sublime.View:
        """A second view of it, which has the focus then: self.tab. Returns the first one."""
        first = self.tab
        self.window.focus_view(first)
        self.window.run_command("clone_file")
        [self.tab] = [view for view in self.window.views() if view != first and view.buffer_id() == first.buffer_id()]
        self.window.focus_view(self.tab)
        return first

    def test_a_key_means_the_caret_of_the_view_that_has_the_focus(self) -> Steps:
        """It decided at the caret of the first one, wherever that was."""
        yield from self.changed(app=OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield self.has("▾ app.py", "thirty")
        self.go_to("line 3")
        first = self.clone()
        self.go_to("line 30")
        self.press("u")
        yield lambda: self.text("app") == OLD.replace("line 3\n", "three\n")
        self.tab = first
        self.window.focus_view(first)
        self.go_to("three")
        self.press("u")
        yield lambda: self.text("app") == OLD

    def test_the_marks_are_in_the_view_that_has_the_focus(self) -> Steps:
        yield from self.changed(app=OLD.replace("line 3\n", "three\n"))
        yield self.has("▾ app.py", "three")
        first = self.clone()
        added = "qwen_companion.review.added"
        yield lambda: self.tab.get_regions(added) and not first.get_regions(added)
        self.assertFalse(self.tab.settings().get("line_numbers"))
        self.window.focus_view(first)
        yield lambda: first.get_regions(added) and not self.tab.get_regions(added)

    def two_proposals(self) -> Steps:
        """Two proposals of which the first one is answered, so that the second one comes; and another view."""
        self.file.write_text(OLD)
        (self.folder / "b.py").write_text(OLD)
        yield from self.propose(text := OLD.replace("line 3\n", "three\n"))
        self.second = yield from self.propose(text, self.folder / "b.py")
        yield from self.review()
        yield self.has("▾ app.py", "three", "▾ b.py", "three")
        self.go_to("three")
        self.first = self.clone()
        self.go_to("▾ b.py")
        self.window.focus_view(self.first)
        yield from self.turned()

    def test_who_goes_to_another_view_has_not_moved_the_caret(self) -> Steps:
        """Its caret is elsewhere, so the key that was pressed twice was taken for one of a person who has moved."""
        yield from self.two_proposals()
        yield lambda: self.second.attention.is_seen
        self.first.run_command("qwen_companion_review_decide", {"what": "reject"})
        yield lambda: not any(line.startswith("▾ app.py") for line in self.lines())
        self.window.focus_view(self.tab)
        self.press("shift+escape")
        self.assertTrue(self.screen.said("The diff of b.py has only just appeared"))
        yield 200
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])

    def test_a_key_of_one_view_moves_no_caret_of_another_one(self) -> Steps:
        """What it was to go to was filled in only then."""
        yield from self.changed(app=OLD.replace("line 3\n", "three\n"), b=OLD.replace("line 7\n", "seven\n"))
        yield self.has("▾ app.py", "three", "▾ b.py", "seven")
        self.go_to("three")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        tab._arrangement = tab._arrangement._replace(is_whole=False)
        with patch.object(tab, "_go", lambda *_: False), patch.object(tab, "draw"):
            self.press("n")
        self.clone()
        self.go_to("▾ app.py")
        yield from self.turned()
        tab.draw()
        self.assertEqual(self.row(), "▾app.py  +1 −1")

    def test_it_goes_on_in_one_view_when_the_other_is_closed(self) -> Steps:
        yield from self.changed(app=OLD.replace("line 3\n", "three\n"))
        yield self.has("▾ app.py", "three")
        first = self.clone()
        first.close()
        self.window.focus_view(self.tab)
        self.go_to("three")
        self.press("u")
        yield lambda: self.text("app") == OLD


class TestSeveralSelections(CaretCase):
    def select_in(self, view: sublime.View, *lines: str) -> None:
        """Select the first character of the first lines that are so."""
        view.sel().clear()
        for line in lines:
            row = text_of(view).replace("\xa0", " ").split("\n").index(line)
            view.sel().add(sublime.Region(view.text_point(row, 0), view.text_point(row, 1)))

    def test_undo_reverts_the_selected_changes_of_a_proposal_and_no_other_one(self) -> Steps:
        """The first revert moved the lines of the others, and the change below was reverted."""
        self.file.write_text(OLD)
        text = OLD.replace("line 5\n", "line 5\na1\na2\na3\n").replace("line 22\n", "line 22\nc1\n")
        yield from self.open_diff(text := text.replace("line 20\n", "line 20\nb1\nb2\n"))
        self.window.focus_view(self.view)
        yield from self.review()
        yield self.has("▾ app.py", "a1", "b2", "c1")
        self.select_in(self.tab, "a1", "b2")
        self.press("u")
        yield lambda: text_of(self.proposal) == OLD.replace("line 22\n", "line 22\nc1\n")
        self.window.run_command("qwen_companion_take_back")
        yield lambda: text_of(self.proposal) == text

    def created(self) -> Steps:
        """A change with five new lines."""
        self.file.write_text(OLD)
        yield lambda: text_of(self.view) == OLD
        yield from self.begun()
        self.file.write_text(self.with_lines("a1", "a2", "a3", "a4", "a5"))
        yield from self.waits(1)

    @staticmethod
    def with_lines(*lines: str) -> str:
        return OLD.replace("line 5\n", "\n".join(["line 5", *lines, ""]))

    def undo_lines(self, view: sublime.View, undo: Callable[[], object]) -> Steps:
        """Undo lines of the change, each of which has a selection of its own, with others between and without."""
        self.select_in(view, "a2", "a4")
        undo()
        yield lambda: self.file.read_text() == self.with_lines("a1", "a3", "a5")
        marked = loaded("sublime_text.package").adapter().written._views
        yield lambda: "a2" not in text_of(view) and all(each.is_current for each in marked.values())
        self.select_in(view, "a3", "a5")
        undo()
        yield lambda: self.file.read_text() == self.with_lines("a1")
        self.assertEqual(self.screen.messages, [])

    def test_lines_of_a_change_with_selections_of_their_own_are_decided_together_in_the_review(self) -> Steps:
        """Only the last one was, and nothing was said."""
        yield from self.created()
        yield from self.review()
        yield self.has("▾ app.py", "a5")
        yield from self.undo_lines(self.tab, lambda: self.press("u"))

    def test_lines_of_a_change_with_selections_of_their_own_are_decided_together_in_the_file(self) -> Steps:
        yield from self.created()
        yield lambda: "a5" in text_of(self.view) and len(self.screen.links(self.view)) == 2
        yield from self.undo_lines(self.view, lambda: self.view.run_command("qwen_companion_undo_change"))

    def test_the_status_bar_says_which_change_a_key_would_decide(self) -> Steps:
        """It told of the line below a selected one, where the caret is."""
        yield from self.created()
        yield lambda: "a5" in text_of(self.view) and len(self.screen.links(self.view)) == 2
        for line, said in (("line 5", ""), ("a5", "Change 1 of 1")):
            row = text_of(self.view).split("\n").index(line)
            self.view.sel().clear()
            self.view.sel().add(sublime.Region(self.view.text_point(row, 0), self.view.text_point(row + 1, 0)))
            loaded("sublime_text.package").adapter().written.caret_moved(self.view)
            self.assertEqual(self.view.get_status("zy_qwen_companion_keys").partition(" · ")[0], said)


class TestOnTheWay(CaretCase):
    def test_the_next_change_does_not_take_the_caret_when_it_comes_after_the_person_has_gone_elsewhere(self) -> Steps:
        """The caret jumped, and the next key decided another change than the one that was clicked."""
        (self.folder / "c.py").write_text(OLD)
        yield from self.changed(app=OLD.replace("line 30\n", "thirty\n"), b=OLD.replace("line 7\n", ""))
        yield self.has("▾ b.py", "line 7")
        go_on = self.slowed("bodies")
        (self.folder / "c.py").write_text(OLD.replace("line 20\n", "twenty\n"))
        yield self.has("▾ c.py")
        self.go_to("line 7")
        self.press("n")
        self.assertEqual(self.row(), "line 7")
        self.go_to("line 30")
        go_on()
        yield self.has("▾ c.py", "twenty")
        yield 100
        self.assertEqual(self.row(), "line 30")


class TestAnotherWindow(CaretCase):
    """The person has dragged the Review to another window, in which the same folder is open."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.changed(app=OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield self.has("▾ app.py", "thirty")
        self.there = yield from self.another_window()
        self.there.set_project_data({"folders": [{"path": str(self.folder)}]})
        self.adapter = loaded("sublime_text.package").adapter()
        yield lambda: self.adapter.written.listings.of(self.there).rows
        self.places = {self.tab: self.window}
        of = sublime.View.window
        self.enterContext(patch.object(sublime.View, "window", lambda view: self.places.get(view) or of(view)))

    def drag(self, window: sublime.Window) -> None:
        """Have the tab in a window, as far as a package can notice it: no command of the editor moves it there."""
        self.places[self.tab] = window
        self.adapter.events.on_activated(self.tab)

    def test_its_keys_go_on_deciding(self) -> Steps:
        """It was dead, and its own window thought that it was still open."""
        self.drag(self.there)
        self.assertIsNone(self.adapter.review.tab(self.window))
        yield self.has("▾ app.py", "thirty")
        self.go_to("line 30")
        self.press("u")
        yield lambda: self.text("app") == OLD.replace("line 3\n", "three\n")
        self.drag(self.window)
        self.assertIsNone(self.adapter.review.tab(self.there))
        self.go_to("three")
        self.press("u")
        yield lambda: self.text("app") == OLD

    def test_it_lists_no_answers_of_the_window_that_it_has_left(self) -> Steps:
        yield from self.open_diff(OLD)
        self.window.run_command("qwen_companion_reject_all")
        answered = lambda: [line for line in self.lines() if "rejected" in line]  # noqa: E731
        yield answered
        self.drag(self.there)
        yield 300
        yield self.has("▾ app.py", "thirty")
        self.assertEqual(answered(), [])
        self.drag(self.window)
        yield answered

    def test_of_two_tabs_of_one_text_the_one_that_has_the_focus_is_the_review(self) -> Steps:
        """The one that stayed was dead after its clone had been dragged."""
        own = self.tab
        self.window.focus_view(own)
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        assert clone
        self.adapter.events.on_activated(clone)
        self.tab = clone
        self.drag(self.there)
        self.assertEqual(self.adapter.review.tab(self.there).view, clone)
        for self.tab, line in ((own, "three"), (clone, "thirty")):
            self.adapter.events.on_activated(self.tab)
            tabs = [self.adapter.review.tab(window) for window in (self.window, self.there)]
            self.assertEqual([tab.view for tab in tabs if tab], [self.tab])
            yield self.has("▾ app.py", line)
            self.go_to(line)
            self.press("u")
            yield lambda line=line: line not in self.text("app")
        self.assertEqual(self.text("app"), OLD)

    def test_of_two_in_a_window_the_one_that_has_the_focus_is_the_review(self) -> Steps:
        dragged, own = self.tab, self.adapter.review.show(self.there)
        self.drag(self.there)
        for self.tab, line in ((dragged, "line 30"), (own, "three")):
            self.adapter.events.on_activated(self.tab)
            self.assertEqual(self.adapter.review.tab(self.there).view, self.tab)
            yield self.has("▾ app.py", line)
            self.go_to(line)
            self.press("u")
            yield lambda line=line: line in self.text("app") or self.text("app") == OLD
        yield lambda: self.text("app") == OLD


class TestOpened(CaretCase):
    def test_enter_on_the_first_line_of_a_proposal_goes_there(self) -> Steps:
        """It went to the first change, as whoever comes to a diff does that they have not seen."""
        self.file.write_text(OLD)
        yield from self.propose(f"{OLD}more\n", self.folder / "b.py")
        diff = yield from self.propose(OLD.replace("line 3\n", "three\n"))
        yield from self.review()
        yield self.has("▾ app.py", "line 1", "three")
        self.go_to("▾ app.py")
        self.tab.run_command("move", {"by": "lines", "forward": True})
        self.assertEqual(self.row(), "line 1")
        self.press("enter")
        yield lambda: diff.is_open and self.window.active_view() == diff.proposal
        yield lambda: diff.proposal.get_regions("qwen_companion.changes")
        yield from self.turned()
        self.assertEqual([each.b for each in diff.proposal.sel()], [0])


class TestRemovedLines(CaretCase):
    def test_enter_on_a_removed_line_of_a_proposal_goes_to_what_is_there_now(self) -> Steps:
        """It went to the line with the old file's number."""
        self.file.write_text(OLD)
        imports = "".join(f"import {at}\n" for at in range(15))
        yield from self.open_diff(imports + OLD.replace("line 30\n", "line thirty\n"))
        self.window.focus_view(self.view)
        yield from self.review()
        yield self.has("▾ app.py", "line 30")
        self.go_to("line 30")
        self.press("enter")
        [caret] = self.proposal.sel()
        self.assertEqual(self.proposal.substr(self.proposal.line(caret)), "line thirty")
        self.go_to("line 30")
        self.tab.run_command("qwen_companion_review_do", {"what": "comment"})
        caption, _, done = self.screen.inputs[-1]
        self.assertEqual(caption, "Comment on app.py:30")
        done("Why?")
        [comment] = loaded("sublime_text.package").adapter().comments.of_window(self.window)
        self.assertEqual((comment.first, comment.lines, comment.side), (30, ("line 30",), "original"))
