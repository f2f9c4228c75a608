"""Clones of a proposal, and a diff in another window: a key acts on the diff that has the focus, or on nothing."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of
from .own import views

FILE = 'def greet(name):\n    print("hi")\n'
PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'
BY_HAND = {"async": True}
WAITING = "qwen_companion.diff_waits"


class TestClones(CompanionCase):
    """The person has split the view of a proposal, or cloned its tab."""

    def clone(self) -> sublime.View:
        """Clone the tab of the proposal, and go to the clone."""
        before = self.window.views()
        self.window.focus_view(self.proposal)
        self.window.run_command("clone_file")
        [clone] = [view for view in self.window.views() if view not in before]
        self.window.focus_view(clone)
        return clone

    def test_a_save_in_a_clone_accepts_its_own_diff(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        first = self.proposal
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        other, self.proposal = self.proposal, first
        self.clone()
        self.window.run_command("save", BY_HAND)
        yield lambda: self.cli.outcomes
        [(_, params)] = self.cli.outcomes
        self.assertEqual((params["filePath"], params["content"]), (str(self.file), PROPOSAL))
        yield lambda: diff_views(self.window, "proposal") == [other]

    def test_a_view_of_a_diff_that_is_over_accepts_no_other_one(self) -> Steps:
        """Its key took the only diff of the window, which nobody had looked at."""
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("qwen_companion_go_to_diff")
        stale = self.window.new_file()
        stale.set_scratch(True)
        views().take(stale, "proposal", review=4_000)
        self.window.focus_view(stale)
        for command, args in (
            ("save", BY_HAND),
            ("qwen_companion_reject_diff", {"by_key": True}),
            ("qwen_companion_accept_diff", None),
        ):
            self.window.run_command(command, args)
        yield 100
        self.assertEqual((self.cli.outcomes, self.proposal.is_valid()), ([], True))

    def test_the_clones_close_with_the_diff(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        clone = self.clone()
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written()
        self.assertFalse(clone.is_valid())

    def test_the_diff_goes_on_in_its_clone_when_its_own_tab_is_closed(self) -> Steps:
        """Nothing is rejected and nothing is lost as long as the person has a view of it."""
        yield from self.open_diff(PROPOSAL)
        clone = self.clone()
        self.edit(clone, "mine\n")
        self.proposal.close()
        yield lambda: "Accept" in self.screen.header(clone)
        self.assertEqual(self.cli.outcomes, [])
        self.proposal = clone
        self.window.focus_view(clone)
        yield from self.accepted()
        self.assertEqual(self.content, "mine\n")
        self.assertEqual(self.window.views(), [self.view])

    def test_the_clone_is_rejected_as_the_last_view_of_the_diff_and_the_edits_are_kept(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        clone = self.clone()
        self.edit(clone, "mine\n")
        self.proposal.close()
        yield lambda: "Accept" in self.screen.header(clone)
        clone.close()
        yield lambda: self.cli.outcomes
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])
        yield lambda: [text_of(view) for view in self.window.views() if "your edits" in view.name()] == ["mine\n"]

    def test_a_change_is_reverted_at_the_caret_of_the_clone(self) -> Steps:
        self.file.write_text("".join(f"{number}\n" for number in range(30)))
        yield from self.open_diff("".join(f"{'x' if number in (3, 20) else ''}{number}\n" for number in range(30)))
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield lambda: diff.counts and diff.counts.changes == 2
        clone = self.clone()
        clone.sel().clear()
        clone.sel().add(clone.text_point(20, 0))
        clone.run_command("qwen_companion_undo_change")
        yield lambda: "x20" not in text_of(self.proposal)
        self.assertIn("x3\n", text_of(self.proposal))

    def test_an_edit_in_a_clone_is_marked(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield lambda: diff.counts and diff.counts.changes == 1
        self.edit(self.clone(), f"first\n{PROPOSAL}")
        yield lambda: diff.counts.changes == 2


class TestAnotherWindow(CompanionCase):
    """The person has dragged a diff to another window."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.open_diff(PROPOSAL)
        self.there = yield from self.another_window()

    def drag(self) -> None:
        """Have the proposal in the other window, with the focus, as far as a package can notice it.

        No command of the editor moves a tab to another window.
        """
        of, active, dragged = sublime.View.window, sublime.Window.active_view, self.proposal
        window = lambda view: self.there if view == dragged else of(view)  # noqa: E731
        focused = lambda window: dragged if window == self.there else active(window)  # noqa: E731
        for owner, name, told in ((sublime.View, "window", window), (sublime.Window, "active_view", focused)):
            self.enterContext(patch.object(owner, name, told))
        self.adapter = loaded("sublime_text.package").adapter()
        self.adapter.events.on_activated(dragged)

    def test_it_belongs_to_the_window_that_it_is_in(self) -> Steps:
        self.drag()
        diff = self.adapter.diffs.find(self.proposal)
        self.assertEqual(self.adapter.diffs.in_window(self.window), [])
        self.assertEqual(self.adapter.diffs.in_window(self.there), [diff])
        yield from self.rejected()

    def test_the_next_proposal_opens_where_it_was(self) -> Steps:
        """No other diff has a tab there."""
        waiting = yield from self.propose("x = 1\n", self.folder / "b.py")
        self.assertFalse(waiting.is_open)
        self.drag()
        yield lambda: waiting.is_open
        self.assertEqual(waiting.window, self.window)
        yield from self.rejected()

    def test_the_file_follows_the_proposal(self) -> Steps:
        self.drag()
        yield lambda: not diff_views(self.window, "original")
        yield lambda: [text_of(view) for view in diff_views(self.there, "original")] == [FILE]
        self.assertEqual(self.cli.outcomes, [])
        yield from self.rejected()

    def test_its_keys_answer_it_and_go_to_it(self) -> Steps:
        """No key did: they counted only in the window in which it had opened."""
        self.drag()
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        waits = listener.on_query_context(self.proposal, WAITING, sublime.QueryOperator.EQUAL, True, False)
        self.assertTrue(waits)
        yield from self.rejected()

    def test_a_revert_in_it_is_taken_back_where_it_is(self) -> Steps:
        """Its session belongs to the window that it came from."""
        self.drag()
        diff = self.adapter.diffs.find(self.proposal)
        yield lambda: diff.counts
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(1, 0))
        self.proposal.run_command("qwen_companion_undo_change")
        yield lambda: text_of(self.proposal) == FILE and diff.review.reverts
        self.there.run_command("qwen_companion_take_back")
        yield lambda: text_of(self.proposal) == PROPOSAL
        yield from self.rejected()
        yield lambda: self.adapter.written.listings.of(self.there).can_take_back
        self.there.run_command("qwen_companion_take_back")
        kept = lambda: [view for view in self.there.views() if view.name() == "app.py (your edits)"]  # noqa: E731
        yield kept
        for view in kept():
            view.set_scratch(True)
            view.close()

    def test_the_status_bar_counts_it_where_it_is(self) -> Steps:
        running = self.adapter_of_package().thread._running[1]
        numbers = [window.id() for window in (self.window, self.there)]
        yield lambda: [running.statuses.of(number).diffs for number in numbers] == [1, 0]
        self.drag()
        yield lambda: [running.statuses.of(number).diffs for number in numbers] == [0, 1]
        yield from self.rejected()

    def test_the_file_alone_in_another_window_leaves_the_diff_inline(self) -> Steps:
        [original] = diff_views(self.window, "original")
        proposal, self.proposal = self.proposal, original
        self.drag()
        self.proposal = proposal
        yield lambda: not original.is_valid()
        diff = self.adapter.diffs.find(proposal)
        self.assertEqual((diff.layout, diff.window, self.cli.outcomes), ("inline", self.window, []))
        self.adapter.diffs.show(diff)
        yield from self.rejected()

    @staticmethod
    def adapter_of_package() -> Any:
        return loaded("sublime_text.package").adapter()

    def rejected(self) -> Steps:
        """Reject it with the key."""
        self.proposal.run_command("qwen_companion_reject_diff", {"by_key": True})
        yield lambda: self.cli.outcomes
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])
        yield lambda: not self.proposal.is_valid() and not diff_views(self.there, "original")

    def test_its_edits_are_kept_when_the_project_that_it_came_from_closes(self) -> Steps:
        self.drag()
        self.edit(self.proposal, "mine\n")
        self.adapter.events.on_pre_close_project(self.window)
        yield lambda: self.cli.outcomes
        self.assertEqual([method for method, _ in self.cli.outcomes], ["ide/diffRejected"])
        kept = lambda: [view for view in self.there.views() if view.name() == "app.py (your edits)"]  # noqa: E731
        yield kept
        [view] = kept()
        self.assertEqual(text_of(view), "mine\n")
        view.set_scratch(True)
        view.close()
