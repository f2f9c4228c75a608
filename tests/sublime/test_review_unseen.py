"""A diff never takes what the person types, and is never accepted unseen."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

FILE = 'def greet(name):\n    print("hi")\n'
PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'
BY_HAND = {"async": True}


class TestUnseen(CompanionCase):
    """The focus, keys and saves."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("sublime_text.review.answers", "SETTLED", 1.0)
        self.now = 1000.0
        self.enterContext(patch.object(loaded("sublime_text.review.answers"), "monotonic", lambda: self.now))

    def test_what_is_being_typed_goes_on_in_its_own_view(self) -> Steps:
        """The focus jumped to the proposal, and the next letters went into it."""
        self.view.run_command("insert", {"characters": "a"})
        yield from self.open_diff(PROPOSAL)
        self.assertEqual((self.window.active_view(), self.focused()), (self.view, self.view))
        self.assertEqual(self.selected(), [self.view, self.proposal])
        self.window.run_command("insert", {"characters": "b"})
        self.assertEqual(text_of(self.proposal), PROPOSAL)
        self.window.run_command("save", BY_HAND)
        self.now += 1.1
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))
        self.assertTrue(text_of(self.view).startswith("ab") or text_of(self.view).endswith("ab"))

    def test_a_diff_waits_while_another_one_has_its_tab(self) -> Steps:
        """It doesn't cover what is being typed in; it opens when the one before is answered, and the CLI waits."""
        yield from self.open_diff(PROPOSAL)
        first = self.proposal
        self.window.focus_view(first)
        shown = self.selected()
        diff = yield from self.propose("x = 1\n", self.folder / "b.py")
        yield 200
        self.assertEqual((self.selected(), self.window.active_view()), (shown, first))
        self.assertEqual(len(diff_views(self.window, "proposal")), 1)
        yield lambda: "2 diffs" in self.view.get_status("zz_qwen_companion")
        self.now += 1.1
        first.run_command("qwen_companion_accept_diff")
        yield lambda: diff.is_open and self.window.active_view() == diff.proposal
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])
        call = self.cli.call("closeDiff", filePath=str(self.folder / "b.py"), suppressNotification=True)
        yield from self.done(call)
        yield from self.closed()

    def test_the_text_of_a_diff_that_waits_is_told_when_the_cli_closes_it(self) -> Steps:
        """No call depends on a tab."""
        yield from self.open_diff(PROPOSAL)
        diff = yield from self.propose("x = 1\n", self.folder / "b.py")
        call = self.cli.call("closeDiff", filePath=str(self.folder / "b.py"), suppressNotification=True)
        yield from self.done(call)
        self.assertIn("x = 1", str(call.result()["content"]))
        self.assertFalse(diff.is_open)
        yield 100
        self.assertEqual(diff_views(self.window, "proposal"), [self.proposal])

    def test_a_diff_that_the_cli_closes_hands_the_focus_to_no_other_diff(self) -> Steps:
        """What is being typed in it would go on in the next one."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        first = self.proposal
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        yield lambda: not first.is_valid()
        yield 100
        self.assertEqual(self.window.active_view(), self.view)
        self.assertIn(self.proposal, self.selected())

    def test_keys_and_saves_wait_until_the_diff_has_been_there_for_a_moment(self) -> Steps:
        """Gone to, and on the screen for a second."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        self.window.run_command("save", BY_HAND)
        self.proposal.run_command("qwen_companion_reject_diff", {"by_key": True})
        self.screen.click(self.proposal, "accept")
        yield lambda: len([m for m in self.screen.messages if "only just appeared" in m]) == 3
        self.assertEqual(self.cli.outcomes, [])
        self.now += 1.1
        self.window.run_command("save", BY_HAND)
        yield from self.written()
        self.assertEqual(self.content, PROPOSAL)

    def test_a_diff_that_comes_back_by_itself_takes_no_second_key_or_click(self) -> Steps:
        """It has been seen before, but the second click was meant for the diff that has closed."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        first = self.proposal
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        self.window.run_command("qwen_companion_go_to_diff")
        self.window.run_command("qwen_companion_go_to_diff")
        self.now += 1.1
        self.window.run_command("save", BY_HAND)
        yield lambda: not self.proposal.is_valid() and self.window.active_view() == first
        self.window.run_command("save", BY_HAND)
        self.screen.click(first, "accept")
        yield lambda: len([m for m in self.screen.messages if "only just appeared" in m]) == 2
        yield lambda: self.cli.outcomes
        self.assertEqual(len(self.cli.outcomes), 1)
        self.now += 1.1
        self.window.run_command("save", BY_HAND)
        yield lambda: len(self.cli.outcomes) == 2

    def test_a_diff_that_got_the_focus_by_itself_takes_no_key_before_a_click(self) -> Steps:
        """In a window without any other view."""
        self.view.close()
        yield from self.open_diff(PROPOSAL)
        self.now += 1.1
        self.assertEqual(self.window.active_view(), self.proposal)
        self.window.run_command("save", BY_HAND)
        yield lambda: self.screen.said("F8", "opened by itself")
        self.assertEqual(self.cli.outcomes, [])
        loaded("sublime_text.listeners").QwenCompanionListener().on_post_text_command(self.proposal, "drag_select", {})
        self.window.run_command("save", BY_HAND)
        yield from self.written()

    def test_go_to_diff_goes_to_the_waiting_one_and_then_to_the_next(self) -> Steps:
        """The status bar names its key."""
        yield from self.open_diff(PROPOSAL)
        first = self.proposal
        yield lambda: "1 diff (F8)" in self.view.get_status("zz_qwen_companion")
        self.window.run_command("qwen_companion_go_to_diff")
        self.assertEqual(self.window.active_view(), first)
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        self.assertEqual(self.window.active_view(), first)
        for expected in (self.proposal, first):
            self.window.run_command("qwen_companion_go_to_diff")
            yield lambda expected=expected: self.window.active_view() == expected
        self.now += 1.1
        self.window.run_command("save", BY_HAND)
        yield lambda: [told["filePath"] for _, told in self.cli.outcomes] == [str(self.file)]

    def test_an_unseen_diff_is_shown_before_it_can_be_accepted(self) -> Steps:
        """Never accept what the person has not looked at."""
        yield from self.open_diff(PROPOSAL)
        self.select([self.view])
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.screen.said("Look at the diff of app.py")
        self.assertEqual((self.window.active_view(), self.cli.outcomes), (self.proposal, []))

    def test_six_proposals_of_which_nobody_has_gone_to_one_are_not_accepted_together(self) -> Steps:
        """They arrive at once while the person types; a minute passes."""
        yield from self.propose_six()
        self.assertEqual(len(diff_views(self.window, "proposal")), 1)
        self.window.run_command("qwen_companion_review")
        self.window.focus_view(self.view)
        tab = loaded("sublime_text.package").adapter().review.tab(self.window).view
        self.now += 60
        self.window.run_command("qwen_companion_accept_all")
        yield 100
        self.assertEqual(self.cli.outcomes, [])
        self.assertEqual(text_of(tab).count("not seen yet"), 6)
        self.assertEqual(
            self.screen.messages[-1],
            "QwenCompanion: Nothing accepted. Go to each first (F8): a.py, b.py, c.py, 3 more",
        )

    def test_tabs_that_flash_by_are_not_seen(self) -> Steps:
        """Each of six comes to the screen, and goes again because its CLI closes it or another one comes."""
        diffs = yield from self.propose_six()
        for diff in diffs:
            loaded("sublime_text.package").adapter().diffs._open_by_itself(diff) if not diff.is_open else None
            self.window.focus_view(diff.proposal)
            self.now += 0.3
        self.window.focus_view(self.view)
        self.now += 60
        self.window.run_command("qwen_companion_accept_all")
        yield lambda: self.screen.said("Nothing accepted")
        self.assertEqual(self.cli.outcomes, [])

    def test_accepting_all_accepts_what_was_seen_and_names_the_rest(self) -> Steps:
        """One was gone to, and two others were in front in the Review."""
        diffs = yield from self.propose_six()
        self.window.run_command("qwen_companion_go_to_diff")
        for diff in diffs[2:4]:
            diff.attention.entered()
        self.window.run_command("qwen_companion_accept_all")
        yield lambda: len(self.cli.outcomes) == 3
        names = [Path(told["filePath"]).name for method, told in self.cli.outcomes if method == "ide/diffAccepted"]
        self.assertEqual(sorted(names), ["a.py", "c.py", "d.py"])
        self.assertEqual({told["content"] for _, told in self.cli.outcomes}, {"x = 1\n"})
        yield lambda: self.screen.said("Accepted", "3 wait: b.py, e.py, f.py")
        yield lambda: [view.name() for view in diff_views(self.window, "proposal")] == ["b.py ← Qwen Code"]
        self.assertTrue(all(len(message) <= 80 for message in self.screen.messages), self.screen.messages)

    def test_a_terminal_that_keeps_the_focus_leaves_a_diff_unseen(self) -> Steps:
        """The editor may tell of a tab that had the focus for a moment after the panel has it again."""
        panel = yield from self.open_terminal_panel()
        yield from self.open_diff(PROPOSAL)
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        self.window.focus_view(self.proposal)
        self.window.focus_view(panel)
        listener.on_activated(self.proposal)
        listener.on_activated(panel)
        self.now += 60
        self.window.run_command("qwen_companion_accept_all")
        yield lambda: self.screen.said("Nothing accepted", "app.py")
        self.assertEqual(self.cli.outcomes, [])

    def test_a_diff_that_had_the_focus_for_a_second_is_seen(self) -> Steps:
        """A click on its tab, of which the editor tells no more than that."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        self.now += 0.5
        self.window.run_command("qwen_companion_accept_all")
        yield lambda: self.screen.said("Nothing accepted", "app.py")
        self.now += 0.6
        self.window.run_command("qwen_companion_accept_all")
        yield from self.written()

    def test_a_diff_of_another_window_is_not_seen_in_the_time_that_the_person_is_elsewhere(self) -> Steps:
        """It has the focus of its window, which nobody looks at."""
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        self.now += 0.2
        other = yield from self.another_window()
        other.focus_view(other.new_file())
        yield from self.turned()
        self.now += 60
        self.window.bring_to_front()
        yield lambda: self.focused() == self.proposal
        yield from self.turned()
        self.window.run_command("qwen_companion_accept_all")
        yield lambda: self.screen.said("Nothing accepted", "app.py")
        self.assertEqual(self.cli.outcomes, [])
        self.now += 1.1
        self.window.run_command("qwen_companion_accept_all")
        yield from self.written()

    def test_a_diff_that_a_key_has_brought_takes_a_key_at_once(self) -> Steps:
        """The second of waiting is for what appears by itself."""
        for number, name in enumerate(("a.py", "b.py")):
            yield from self.open_diff("x = 1\n", self.folder / name)
            at = self.window.get_view_index(self.proposal)[1]
            args = {"index": at} if number else {}
            self.window.run_command("select_by_index" if number else "qwen_companion_go_to_diff", args)
            self.window.run_command("save", BY_HAND)
            yield lambda: not self.proposal.is_valid()
            yield lambda number=number: len(self.cli.outcomes) == number + 1
            self.window.focus_view(self.view)

    def propose_six(self) -> Generator[Any, Any, list[Any]]:
        """Six proposals of one turn, with the focus in a file all the time."""
        for name in "abcdef":
            yield from self.propose("x = 1\n", self.folder / f"{name}.py")
        self.assertEqual(self.focused(), self.view)
        found: list[Any] = loaded("sublime_text.package").adapter().diffs.in_window(self.window)
        return found

    def test_the_key_of_go_to_diff_works_only_while_a_diff_waits(self) -> Steps:
        """Each binding has a context of our own."""
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        asked = (self.view, "qwen_companion.diff_waits", sublime.QueryOperator.EQUAL, True, False)
        self.assertFalse(listener.on_query_context(*asked))
        yield from self.open_diff(PROPOSAL)
        self.assertTrue(listener.on_query_context(*asked))

    def test_a_window_behind_is_not_raised_and_has_its_focus_when_it_comes_to_the_front(self) -> Steps:
        """`focus_view` raises the window (sublimehq/sublime_text#4407)."""
        other = yield from self.another_window()
        focused: list[sublime.Window] = []
        names = ("focus_view", "focus_sheet", "focus_group")
        originals = {name: getattr(sublime.Window, name) for name in names}

        def spy(name: str) -> Any:
            return lambda window, *args: (focused.append(window), originals[name](window, *args))[1]

        spies: dict[str, Any] = {name: spy(name) for name in names}
        with patch.multiple(sublime.Window, **spies):
            yield from self.open_diff(PROPOSAL)
            self.proposal.run_command("qwen_companion_reject_diff")
            yield from self.closed()
            yield from self.open_diff(PROPOSAL)
            yield 100
        self.assertNotIn(self.window, focused)
        self.assertEqual(sublime.active_window(), other)
        other.run_command("close_window")
        self.window.bring_to_front()
        yield lambda: self.window.active_view() == self.view
        yield lambda: self.focused() == self.view
