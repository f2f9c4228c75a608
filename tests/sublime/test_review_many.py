"""Several proposals of one turn: the next and the previous one."""

from __future__ import annotations

from typing import Any

import sublime

from .companion_case import CompanionCase, Steps, loaded

NAMES = ("a.py", "b.py", "c.py")


class TestSeveral(CompanionCase):
    """Several proposals of one turn."""

    def open_three(self) -> Steps:
        """Three diffs, of which the first has the focus: self.proposals."""
        self.proposals: list[sublime.View] = []
        for name in NAMES:
            yield from self.open_diff(f"{name}\n", self.folder / name)
            self.proposals.append(self.proposal)
            if name == "a.py":
                self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: len(self.diffs().in_window(self.window)) == 3
        yield lambda: all(diff.counts for diff in self.diffs().in_window(self.window))

    def diffs(self) -> Any:
        return loaded("sublime_text.package").adapter().diffs

    def test_keys_go_to_the_next_file_and_to_the_previous_one(self) -> Steps:
        """And around."""
        yield from self.open_three()
        for previous, expected in ((False, 1), (False, 2), (False, 0), (True, 2), (True, 1)):
            self.window.run_command("qwen_companion_go_to_diff", {"previous": previous} if previous else None)
            self.assertEqual(self.window.active_view(), self.proposals[expected])

    def test_each_key_counts_though_the_next_one_has_no_tab_yet(self) -> Steps:
        """Those that came before its changes were marked led to the same one after it."""
        names = (*NAMES, "d.py")
        for name in names:
            yield from self.propose(f"{name}\n", self.folder / name)
        self.window.run_command("qwen_companion_go_to_diff")
        found = self.diffs().in_window(self.window)
        yield lambda: self.window.active_view() == found[0].proposal and not found[0].is_arriving
        for _ in names[1:]:
            self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: not any(diff.is_arriving or diff.actions.is_busy for diff in found)
        yield from self.turned()
        self.assertEqual([self.window.active_view()], [diff.proposal for diff in found[3:] if diff.is_open])

    def test_after_an_answer_the_next_file_opens(self) -> Steps:
        """The one after it in the list, not the first."""
        yield from self.open_three()
        self.window.run_command("qwen_companion_go_to_diff")
        for expected in (2, 0):
            self.window.run_command("qwen_companion_reject_diff")
            yield lambda expected=expected: self.window.active_view() == self.proposals[expected]

    def test_after_an_answer_the_next_file_of_another_group_opens(self) -> Steps:
        columns = {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
        self.window.run_command("set_layout", columns)
        yield from self.open_diff("a\n", self.folder / "a.py")
        first = self.proposal
        other = self.window.new_file()
        self.window.set_view_index(other, 1, 0)
        self.window.focus_view(other)
        yield from self.open_diff("b\n", self.folder / "b.py")
        self.assertNotEqual(self.window.get_view_index(first)[0], self.window.get_view_index(self.proposal)[0])
        self.window.focus_view(first)
        first.run_command("qwen_companion_accept_diff")
        yield lambda: not first.is_valid()
        yield lambda: self.window.active_view() == self.proposal
