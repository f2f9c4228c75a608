"""Diffs that are open while the package is loaded again: the CLI and the person notice nothing."""

from __future__ import annotations

import threading
from typing import Any
from unittest.mock import patch

import sublime
import sublime_plugin

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

FILE = 'def greet(name):\n    print("hi")\n'
PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'
STORM = 20


class ReloadCase(CompanionCase):
    """A package that is unloaded and loaded again."""

    def unload(self) -> None:
        loaded("sublime_text.package").unload()

    def reload(self) -> Steps:
        """Load the package again, and wait until it has taken up its diffs."""
        self.unload()
        yield 1
        yield from self.load()

    def load(self) -> Steps:
        loaded("sublime_text.package").load()
        yield from self.taken_up()

    def taken_up(self) -> Steps:
        """Wait until the instance that is loaded has taken up its diffs."""
        adapter = loaded("sublime_text.package").adapter()
        yield {"condition": lambda: not adapter.thread.is_starting, "timeout": 60_000}
        yield {"condition": lambda: not adapter.diffs.are_awaited, "timeout": 60_000}

    def diffs(self) -> Any:
        return loaded("sublime_text.package").adapter().diffs

    def answered(self, count: int = 1) -> Steps:
        """Wait for the outcomes of the CLI."""
        yield {"condition": lambda: len(self.cli.outcomes) >= count, "timeout": 60_000}


class TestReload(ReloadCase):
    """One diff, and a reload."""

    def test_the_views_stay_with_the_edits_and_the_answer_goes_to_the_cli(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("qwen_companion_go_to_diff")
        self.edit(self.proposal, "mine\n")
        before = self.window.views()
        yield from self.reload()
        self.assertEqual(self.window.views(), before)
        self.assertEqual(self.window.active_view(), self.proposal)
        self.assertEqual(text_of(self.proposal), "mine\n")
        yield lambda: "Accept" in self.screen.header(self.proposal)
        self.assertIn("Current file", self.screen.header(self.original))
        self.assertEqual(self.cli.outcomes, [])
        yield from self.accepted()
        self.assertEqual(self.content, "mine\n")

    def test_the_editor_itself_reloads_the_package(self) -> Steps:
        """With modules that are made anew, as after an upgrade."""
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, "mine\n")
        before = loaded("review.review").Review
        package = (__package__ or "").partition(".")[0]
        sublime_plugin.reload_plugin(f"{package}.plugin")  # pyright: ignore[reportAttributeAccessIssue]
        self.assertIsNot(loaded("review.review").Review, before)
        yield from self.taken_up()
        yield from self.accepted()
        self.assertEqual(self.content, "mine\n")

    def test_an_instance_that_was_to_clear_old_diffs_when_it_was_unloaded_closes_none_of_those_it_left(self) -> Steps:
        """Where a reload comes soon after another one. Each that was not edited was rejected."""
        yield from self.open_diff(PROPOSAL)
        yield from self.reload()
        first = loaded("sublime_text.package").adapter()
        self.unload()
        first.events.on_load_project(self.window)  # it was waiting for its turn on the editor's thread
        self.assertTrue(self.proposal.is_valid())
        yield from self.load()
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))

    def test_a_command_that_is_given_while_the_package_starts_is_done_then(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.unload()
        loaded("sublime_text.package").load()
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written()
        self.assertEqual(self.content, PROPOSAL)

    def test_a_link_of_an_instance_that_has_been_unloaded_answers_no_diff_that_it_has_left(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: "Accept" in self.screen.header(self.proposal)
        may_hand_over = threading.Event()
        self.addCleanup(may_hand_over.set)
        loaded("sublime_text.package").adapter().thread.post(lambda _: may_hand_over.wait())
        self.unload()
        self.screen.click(self.proposal, "accept")
        may_hand_over.set()
        yield from self.load()
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)

    def test_what_is_undone_after_a_reload_is_what_was_done_before(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, "mine\n")
        yield from self.reload()
        for _ in range(3):
            self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_a_diff_that_nobody_has_gone_to_is_accepted_by_no_key_after_a_reload(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        yield from self.reload()
        self.proposal.run_command("qwen_companion_accept_diff", {"by_key": True})
        yield 100
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))

    def test_the_commands_on_changes_go_on(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        yield from self.reload()
        self.window.focus_view(self.proposal)
        self.proposal.run_command("select_all")
        self.proposal.run_command("qwen_companion_undo_change")
        yield lambda: text_of(self.proposal) == FILE
        self.proposal.run_command("qwen_companion_undo_change")
        yield lambda: text_of(self.proposal) == PROPOSAL

    def test_an_inline_diff_stays_inline(self) -> Steps:
        self.set_setting("diff_layout", "inline")
        yield from self.open_diff(PROPOSAL)
        yield lambda: "Accept" in self.screen.header(self.proposal)
        yield from self.reload()
        self.assertEqual(diff_views(self.window, "original"), [])
        self.assertEqual(self.diffs().find(self.proposal).layout, "inline")
        self.proposal.run_command("qwen_companion_toggle_diff_layout")
        yield lambda: diff_views(self.window, "original")
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)

    def test_after_the_answer_the_window_shows_what_it_showed_before_the_diff(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        yield from self.reload()
        yield from self.accepted()
        self.assertEqual(self.window.active_view(), self.view)
        self.assertEqual(self.window.views(), [self.view])

    def test_the_cli_closes_its_diff_after_a_reload(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        yield from self.reload()
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        yield from self.closed()
        self.assertEqual(self.cli.outcomes, [])

    def test_a_tab_that_is_closed_while_the_package_is_away_is_a_rejection(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.unload()
        self.proposal.close()
        yield from self.load()
        yield from self.answered()
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])
        yield from self.closed()

    def test_what_is_typed_while_the_package_is_away_is_part_of_the_answer(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.unload()
        self.edit(self.proposal, "mine\n")
        yield from self.load()
        yield from self.accepted()
        self.assertEqual(self.content, "mine\n")

    def test_the_review_goes_on_with_its_caret_and_with_what_was_answered(self) -> Steps:
        names = ("a.py", "b.py", "c.py")
        for name in names:
            yield from self.propose(f"{name}\n", self.folder / name)
        self.window.run_command("qwen_companion_review")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window).view
        yield lambda: "c.py\n" in text_of(tab)
        self.diffs().answers.reject(self.diffs().in_window(self.window)[0])
        yield lambda: "✓\xa0a.py · +1 −0 · rejected" in text_of(tab)
        row = text_of(tab).split("\n").index("c.py")
        tab.sel().clear()
        tab.sel().add(tab.text_point(row, 2))
        for _ in range(2):
            yield from self.reload()
            yield lambda: loaded("sublime_text.package").adapter().review.tab(self.window)
        self.assertEqual(loaded("sublime_text.package").adapter().review.tab(self.window).view, tab)
        yield lambda: "not seen yet" in text_of(tab) and "✓\xa0a.py · +1 −0 · rejected" in text_of(tab)
        yield lambda: tab.substr(tab.line(tab.sel()[0])) == "c.py"
        tab.run_command("qwen_companion_review_do", {"what": "open"})
        active = self.window.active_view()
        assert active
        self.assertEqual(text_of(active), "c.py\n")

    def test_a_text_that_was_rejected_before_can_be_reopened(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, "mine\n")
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        for wait in (True, False, True):  # the next one is unloaded before it has begun
            self.unload()
            loaded("sublime_text.package").load()
            if wait:
                yield from self.taken_up()
        kept = lambda: [view for view in self.window.views() if view.name().endswith("(your edits)")]  # noqa: E731
        self.window.run_command("qwen_companion_reopen_rejected")
        yield lambda: self.screen.panels or kept()
        if self.screen.panels:  # texts of other tests
            self.screen.panels[-1][1](0)
        yield kept
        [view] = kept()
        self.assertEqual(text_of(view), "mine\n")
        view.set_scratch(True)
        view.close()

    def test_a_large_text_that_was_not_complete_is_shown_again(self) -> Steps:
        text = "x = 1\n" * 400_000
        call = self.cli.call("openDiff", filePath=str(self.folder / "b.py"), newContent=text)
        yield {"condition": lambda: diff_views(self.window, "proposal"), "timeout": 60_000}
        yield from self.reload()
        yield from self.done(call)
        complete = lambda: [view for view in diff_views(self.window, "proposal") if view.size() == len(text)]  # noqa: E731
        yield {"condition": complete, "timeout": 30_000}
        self.assertEqual(len(diff_views(self.window, "proposal")), 1)

    def test_without_a_next_instance_edits_are_kept_and_all_else_is_closed(self) -> Steps:
        """The package is disabled or removed."""
        self.set_limit("handover", "GRACE", 0.5)
        yield from self.open_diff(PROPOSAL)
        edited = self.proposal
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        self.edit(edited, "mine\n")
        self.unload()
        self.addCleanup(self.begin_again)
        yield {"condition": lambda: not self.proposal.is_valid(), "timeout": 60_000}
        yield from self.closed()
        self.assertEqual((edited.is_valid(), text_of(edited), edited.is_scratch()), (True, "mine\n", False))
        yield from self.answered(2)
        self.assertEqual({method for method, _ in self.cli.outcomes}, {"ide/diffRejected"})
        self.assertEqual(len(self.cli.outcomes), 2)
        yield from self.load()
        self.assertTrue(edited.is_valid())

    def test_a_diff_that_the_next_instance_does_not_understand_holds_up_no_other(self) -> Steps:
        """As after an upgrade. It is rejected, and its edits are kept."""
        self.causes("The diff of app.py can't go on")
        yield from self.open_diff(PROPOSAL)
        odd = self.proposal
        self.edit(odd, "mine\n")
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        view = loaded("sublime_text.review.diff_view").DiffView
        leave = view.hand_over

        def older(diff: Any) -> dict[str, Any]:
            left = leave(diff)
            if diff.proposal == odd:
                del left["is_exact"]
            return left

        with patch.object(view, "hand_over", older):
            self.unload()
        yield from self.load()
        yield from self.answered()
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])
        self.assertEqual((odd.is_valid(), text_of(odd), odd.is_scratch()), (True, "mine\n", False))
        self.window.run_command("qwen_companion_go_to_diff")
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.answered(2)
        self.assertEqual(self.cli.outcomes[1][1]["content"], "x = 1\n")
        odd.set_scratch(True)
        odd.close()

    def test_a_diff_that_can_not_be_left_is_shown_anew(self) -> Steps:
        """This instance ends all the same, and its edits are kept."""
        self.causes("The diff of app.py can't be left to the next instance")
        yield from self.open_diff(PROPOSAL)
        before = self.proposal
        self.edit(before, "mine\n")
        old = loaded("sublime_text.package").adapter()
        with patch.object(
            loaded("sublime_text.review.diff_view").DiffView, "hand_over", side_effect=RuntimeError("no")
        ):
            self.unload()
        yield from self.load()
        yield {"condition": lambda: not old.thread._thread.is_alive(), "timeout": 30_000}
        yield lambda: [view for view in diff_views(self.window, "proposal") if view != before]
        self.assertEqual((before.is_valid(), text_of(before)), (True, "mine\n"))
        [self.proposal] = [view for view in diff_views(self.window, "proposal") if view != before]
        self.window.focus_view(self.proposal)
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)
        before.set_scratch(True)
        before.close()

    def begin_again(self) -> None:
        """Have the package loaded for the next test, whatever has become of this one."""
        package = loaded("sublime_text.package")
        if package.adapter() is None:
            package.load()


class TestStorm(ReloadCase):
    """Many reloads in a row."""

    def test_ten_diffs_half_of_them_edited_outlive_twenty_reloads_with_one_outcome_each(self) -> Steps:
        proposals: dict[str, sublime.View] = {}
        for number in range(10):
            name = f"f{number}.py"
            yield from self.open_diff(f"x = {number}\n", self.folder / name)
            proposals[name] = self.proposal
            if number % 2:
                self.edit(self.proposal, f"mine {number}\n")
        order = [diff.review.file_path for diff in self.diffs().in_window(self.window)]
        for number in range(STORM):
            self.unload()
            yield number % 3 * 20  # also at once, and while the next one starts
            loaded("sublime_text.package").load()
            if number % 4 == 0:
                yield from self.taken_up()
        yield from self.taken_up()
        # A diff that had no tab is shown anew after those that are taken up.
        listed = lambda: [diff.review.file_path for diff in self.diffs().in_window(self.window)]  # noqa: E731
        yield {"condition": lambda: len(listed()) == len(order), "timeout": 60_000}
        self.assertEqual(listed(), order)
        for number, view in enumerate(proposals.values()):
            self.assertTrue(view.is_valid())
            self.assertEqual(text_of(view), f"mine {number}\n" if number % 2 else f"x = {number}\n")
        self.assertEqual(self.cli.outcomes, [])
        for number, view in enumerate(proposals.values()):
            self.window.focus_view(view)
            view.run_command("qwen_companion_reject_diff" if number in (3, 4) else "qwen_companion_accept_diff")
            yield lambda view=view: not view.is_valid()
        yield from self.answered(10)
        yield 200
        expected = [
            (str(self.folder / name), None if number in (3, 4) else f"{'mine' if number % 2 else 'x ='} {number}\n")
            for number, name in enumerate(proposals)
        ]
        self.assertEqual([(params["filePath"], params.get("content")) for _, params in self.cli.outcomes], expected)
