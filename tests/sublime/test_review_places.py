"""Where a diff opens, and what the window shows afterwards."""

from __future__ import annotations

from typing import Any

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'
TWO_GROUPS: Any = {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}


class TestPlaces(CompanionCase):
    """The layout, the tabs and the focus are afterwards as before."""

    def test_two_groups_show_afterwards_what_they_showed_before(self) -> Steps:
        """The window's own layout; the sheets selected in other groups stay."""
        self.window.set_layout(TWO_GROUPS)
        right: list[sublime.View] = []
        for name in ("b.py", "c.py"):
            yield from self.open_view(name)
            right.append(self.opened)
            self.window.set_view_index(self.opened, 1, len(right) - 1)
        # An editor may neither select in two groups at once nor leave the other group alone: then it shows one tab.
        self.select([self.view])
        self.select(right)
        self.select([self.view])
        if self.selected(1) != right:
            self.select([self.view, *right])
        right = [view for view in self.selected(1) if view]
        self.window.focus_view(self.view)
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(self.window.layout(), TWO_GROUPS)
        self.assertEqual(self.selected(0), [self.view, self.proposal])
        self.assertEqual(self.selected(1), right)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        self.assertEqual((self.selected(0), self.selected(1)), ([self.view], right))
        self.assertEqual((self.window.layout(), self.window.active_view()), (TWO_GROUPS, self.view))

    def open_terminal(self) -> sublime.View:
        """A terminal in a second group."""
        self.window.set_layout(TWO_GROUPS)
        terminal = self.window.new_file()
        terminal.settings().set("terminus_view", True)
        terminal.set_scratch(True)
        self.window.set_view_index(terminal, 1, 0)
        return terminal

    def test_a_diff_opens_beside_the_code_and_not_over_the_terminal(self) -> Steps:
        """The terminal in another group stays visible and focused."""
        terminal = self.open_terminal()
        self.window.focus_view(terminal)
        yield lambda: self.focused() == terminal
        yield from self.open_diff(PROPOSAL)
        yield 100
        self.assertEqual((self.selected(0), self.selected(1)), ([self.original, self.proposal], [terminal]))
        self.assertEqual(self.window.active_view(), terminal)
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written()
        self.assertEqual((self.selected(0), self.selected(1)), ([self.view], [terminal]))
        self.assertEqual(self.window.active_view(), terminal)

    def test_the_focus_returns_to_the_terminal_from_which_the_person_moved_into_the_diff(self) -> Steps:
        """The window's previous focus returns; in another group the terminal had it."""
        terminal = self.open_terminal()
        for side in ("original", "proposal"):
            self.window.focus_view(terminal)
            yield lambda: self.focused() == terminal
            yield from self.open_diff(PROPOSAL)
            self.window.focus_view(getattr(self, side))
            self.proposal.run_command("qwen_companion_reject_diff")
            yield from self.closed()
            yield 100
            self.assertEqual((self.selected(0), self.selected(1)), ([self.view], [terminal]))
            self.assertEqual(self.window.active_view(), terminal)

    def test_the_focus_returns_to_a_panel_from_which_the_person_moved_into_the_diff(self) -> Steps:
        """The window's previous focus returns; a terminal in a panel had it."""
        panel = yield from self.open_terminal_panel()
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        yield lambda: self.focused() == self.proposal
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written()
        yield lambda: (self.focused(), self.selected()) == (panel, [self.view])

    def test_a_panel_that_was_hidden_meanwhile_stays_hidden(self) -> Steps:
        """The focus can't return to what is no longer there."""
        panel = yield from self.open_terminal_panel()
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.proposal)
        yield lambda: self.focused() == self.proposal
        self.window.run_command("hide_panel")
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        yield 100
        self.assertEqual((self.window.active_panel(), self.focused()), (None, self.view))
        self.assertTrue(panel.is_valid())

    def test_the_focus_returns_to_the_terminal_after_the_last_of_several_diffs(self) -> Steps:
        """In whichever order they are answered, and from wherever the later one was opened."""
        for order in ([0, 1], [1, 0]):
            panel = yield from self.open_terminal_panel()
            proposals = []
            for name in ("first.py", "second.py"):
                yield from self.open_diff("x = 1\n", self.folder / name)
                proposals.append(self.proposal)
                self.window.focus_view(self.proposal)
                yield lambda: self.focused() == self.proposal
            for number in order:
                self.window.focus_view(proposals[number])
                proposals[number].run_command("qwen_companion_reject_diff")
                yield lambda proposal=proposals[number]: not proposal.is_valid()
            yield from self.closed()
            yield lambda panel=panel: (self.focused(), self.selected()) == (panel, [self.view])

    def test_a_tab_that_the_person_has_chosen_meanwhile_stays(self) -> Steps:
        """Nothing of the person's own is moved."""
        yield from self.open_view("b.py")
        self.window.focus_view(self.view)
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.opened)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        self.assertEqual((self.selected(), self.window.active_view()), ([self.opened], self.opened))

    def test_a_tab_chosen_meanwhile_in_another_group_stays(self) -> Steps:
        """The focus that the person has moved stays where it is."""
        self.window.set_layout(TWO_GROUPS)
        yield from self.open_view("b.py")
        other = self.opened
        yield from self.open_view("c.py")
        for view in (other, self.opened):
            self.window.set_view_index(view, 1, 0)
        self.window.focus_view(self.view)
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(other)
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        yield from self.closed()
        self.assertEqual((self.selected(0), self.selected(1)), ([self.view], [other]))
        self.assertEqual(self.window.active_view(), other)

    def test_two_tabs_side_by_side_are_back_after_the_last_of_several_diffs(self) -> Steps:
        """As before once the last diff is closed, in whichever order they are."""
        for order in ([0, 1], [1, 0]):
            yield from self.open_view("b.py")
            self.select([self.view, self.opened])
            self.window.focus_view(self.view)
            first = yield from self.propose("x = 1\n", self.folder / "first.py")
            second = yield from self.propose("x = 1\n", self.folder / "second.py")
            answers = loaded("sublime_text.package").adapter().diffs.answers
            for diff in [(first, second)[number] for number in order]:
                answers.reject(diff)
                yield lambda diff=diff: not diff.views
            yield from self.closed()
            self.assertEqual(self.selected(), [self.view, self.opened])
            self.assertEqual(self.window.active_view(), self.view)

    def test_a_diff_stays_level_with_its_original_when_edits_of_another_are_kept(self) -> Steps:
        """The view that keeps them opens behind what is shown."""
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("qwen_companion_go_to_diff")
        shown = [self.original, self.proposal]
        self.assertEqual(self.selected(), shown)
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        diffs = loaded("sublime_text.package").adapter().diffs
        diffs.show(diffs.in_window(self.window)[0])
        self.assertEqual(self.selected(), shown)
        self.proposal.run_command("append", {"characters": "# mine\n"})
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.folder / "b.py")))
        yield lambda: "x = 1\n# mine\n" in [text_of(view) for view in self.window.views()]
        yield 100
        self.assertEqual(self.selected(), shown)

    def test_a_window_without_a_view_has_a_place_for_a_diff(self) -> Steps:
        """coder/claudecode.nvim#231, no suitable window and the agent crashes."""
        self.view.close()
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(self.selected(), [self.original, self.proposal])
        self.proposal.run_command("qwen_companion_accept_diff")
        yield from self.written()
        self.assertEqual(self.window.views(), [])

    def test_the_commands_work_from_the_left_side_too(self) -> Steps:
        """A diff is one thing, whichever side has the focus."""
        yield from self.open_diff(PROPOSAL)
        yield lambda: self.proposal.get_regions("qwen_companion.changes")
        self.window.focus_view(self.original)
        self.window.focus_view(self.original)
        self.window.run_command("qwen_companion_go_to_diff")
        self.assertEqual(self.window.active_view(), self.proposal)
        self.original.run_command("qwen_companion_accept_diff")
        yield from self.written()
        self.assertEqual(self.content, PROPOSAL)

    def test_two_agents_of_one_name_have_tabs_of_different_names(self) -> Steps:
        """Two terminals propose the same file."""
        other = self.connect()
        yield from self.done(other.connected)
        for cli in (self.cli, other):
            yield from self.open_diff(PROPOSAL, cli=cli)
        names = [view.name() for view in self.window.views() if "←" in view.name()]
        self.assertEqual(sorted(names), ["app.py ← Qwen Code", "app.py ← Qwen Code (2)"])

    def test_auto_is_inline_beside_the_code_and_side_by_side_once_the_person_is_there(self) -> Steps:
        """Where each side has 80 columns."""
        self.set_setting("diff_layout", "auto")
        for columns, shown in ((1, 2), (10_000, 1)):
            with self.subTest(columns):
                self.set_limit("sublime_text.review.diffs", "SIDE_COLUMNS", columns)
                self.window.focus_view(self.view)
                yield from self.open_diff(PROPOSAL)
                self.assertEqual(self.selected(), [self.view, self.proposal])
                self.window.run_command("qwen_companion_go_to_diff")
                self.assertEqual(len(self.selected()), shown)
                self.assertEqual(self.window.active_view(), self.proposal)
                self.proposal.run_command("qwen_companion_toggle_diff_layout")
                self.window.focus_view(self.view)
                self.window.run_command("qwen_companion_go_to_diff")
                self.assertEqual(len(self.selected()), 3 - shown)
                self.proposal.run_command("qwen_companion_reject_diff")
                yield from self.closed()

    def test_a_file_that_the_person_has_closed_beside_a_proposal_does_not_come_back(self) -> Steps:
        """They want to see the proposal alone, as after Toggle Diff Layout."""
        self.set_setting("diff_layout", "auto")
        self.set_limit("sublime_text.review.diffs", "SIDE_COLUMNS", 1)
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("qwen_companion_go_to_diff")
        [original] = diff_views(self.window, "original")
        original.run_command("qwen_companion_close_diff_view")
        yield lambda: self.selected() == [self.proposal]
        self.window.run_command("qwen_companion_go_to_diff")
        yield 100
        self.assertEqual(self.selected(), [self.proposal])
