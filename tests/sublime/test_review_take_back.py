"""*Take Back* brings back what *Undo Change* has reverted in a proposal."""

from __future__ import annotations

from typing import Any

import sublime

from .changes_case import FILE, PROPOSAL, ROWS, ChangesCase, without
from .companion_case import Steps, loaded, text_of
from .test_review_reload import ReloadCase


class TestTakeBack(ReloadCase, ChangesCase):
    """A proposal with three changes."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.open_changes()

    def take_back(self) -> None:
        self.window.run_command("qwen_companion_take_back")

    def nothing_is_left(self) -> Steps:
        """Wait until it is said that nothing can be taken back."""
        self.take_back()
        yield lambda: self.screen.said("There is no decision to take back.")

    def test_reverts_are_taken_back_one_by_one_however_fast_the_keys_are(self) -> Steps:
        for row in (ROWS[0], ROWS[1]):
            self.put_caret(row)
            self.command("undo_change")
        self.take_back()
        yield from self.becomes(without(0))
        self.take_back()
        yield from self.becomes(PROPOSAL)
        yield lambda: self.rows() == ROWS
        yield from self.nothing_is_left()
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_two_that_are_asked_for_at_once_take_two_reverts_back(self) -> Steps:
        """Each waited for the other one behind the same revert."""
        for row in (ROWS[0], ROWS[1]):
            self.put_caret(row)
            self.command("undo_change")
        self.take_back()
        self.take_back()
        yield from self.becomes(PROPOSAL)
        yield lambda: self.rows() == ROWS
        yield from self.nothing_is_left()

    def test_all_that_a_selection_has_reverted_comes_back_with_the_edits_in_it(self) -> Steps:
        self.put_caret(ROWS[1])
        self.proposal.run_command("insert", {"characters": "mine"})
        before = text_of(self.proposal)
        self.proposal.sel().clear()
        self.proposal.sel().add(sublime.Region(0, self.proposal.size()))
        self.command("undo_change")
        yield from self.becomes(FILE)
        self.take_back()
        yield from self.becomes(before)

    def test_what_is_typed_since_stays(self) -> Steps:
        self.put_caret(ROWS[0])
        self.command("undo_change")
        yield from self.becomes(without(0))
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.take_back()
        yield from self.becomes(PROPOSAL + "# mine\n")
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), without(0) + "# mine\n")

    def test_where_it_was_edited_since_it_is_left_alone_and_that_is_said(self) -> Steps:
        self.put_caret(ROWS[0])
        self.command("undo_change")
        yield from self.becomes(without(0))
        self.put_caret(ROWS[0])
        self.proposal.run_command("insert", {"characters": "mine"})
        before = text_of(self.proposal)
        self.take_back()
        yield lambda: self.screen.said("app.py was edited where you had reverted it: that stays.")
        self.assertEqual(text_of(self.proposal), before)

    def test_what_undo_change_has_restored_is_not_taken_back(self) -> Steps:
        self.put_caret(ROWS[2])
        self.command("undo_change")
        self.command("undo_change")
        yield from self.nothing_is_left()
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_a_revert_in_the_review_is_taken_back_there(self) -> Steps:
        self.window.run_command("qwen_companion_review")
        tab = self.window.active_view()
        assert tab
        yield lambda: "inserted one" in text_of(tab)
        self.assertNotEqual(tab, self.proposal)
        tab.sel().clear()
        tab.sel().add(tab.find("inserted one", 0))  # a part of its lines
        tab.run_command("qwen_companion_review_decide", {"what": "undo"})
        yield from self.becomes(without(1))
        self.take_back()
        yield from self.becomes(PROPOSAL)

    def test_an_answer_is_taken_back_instead_after_a_reload_as_well(self) -> Steps:
        self.put_caret(ROWS[0])
        self.command("undo_change")
        yield from self.becomes(without(0))
        self.command("reject_diff")
        yield lambda: not self.proposal.is_valid()
        command: Any = loaded("sublime_text.review.review_commands").QwenCompanionTakeBackCommand(self.window)
        yield command.is_visible
        yield from self.reload()
        command = loaded("sublime_text.review.review_commands").QwenCompanionTakeBackCommand(self.window)
        yield command.is_visible
        self.take_back()
        yield lambda: any(text_of(view) == without(0) for view in self.window.views())
        yield lambda: not command.is_visible()
        yield from self.nothing_is_left()

    def test_it_is_taken_back_after_a_reload(self) -> Steps:
        self.put_caret(ROWS[0])
        self.command("undo_change")
        yield from self.becomes(without(0))
        yield from self.reload()
        self.take_back()
        yield from self.becomes(PROPOSAL)
        yield from self.nothing_is_left()

    def test_the_palette_has_it_where_something_was_reverted(self) -> Steps:
        command: Any = loaded("sublime_text.review.review_commands").QwenCompanionTakeBackCommand(self.window)
        self.window.focus_view(self.proposal)
        self.assertFalse(command.is_visible())
        self.put_caret(ROWS[0])
        self.command("undo_change")
        yield from self.becomes(without(0))
        yield command.is_visible
