"""All files of a turn at once: the list that stays open, the next and the previous file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of

PANEL = "QwenCompanion Diffs"
NAMES = ("a.py", "b.py", "c.py")


class TestList(CompanionCase):
    """Several proposals of one turn."""

    def open_three(self, *, waits: bool = False) -> Steps:
        """Three diffs, of which the first has the focus: self.proposals. The others may wait for their tabs."""
        self.proposals: list[sublime.View] = []
        for name in NAMES:
            if waits and name != "a.py":
                yield from self.propose(f"{name}\n", self.folder / name)
                continue
            yield from self.open_diff(f"{name}\n", self.folder / name)
            self.proposals.append(self.proposal)
            if name == "a.py":
                self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: len(self.diffs().in_window(self.window)) == 3
        yield lambda: all(diff.counts for diff in self.diffs().in_window(self.window))

    def show_list(self) -> Steps:
        """Open the list: self.panel."""
        self.window.run_command("qwen_companion_diff_list")
        yield lambda: self.window.active_panel() == f"output.{PANEL}"
        panel = self.window.find_output_panel(PANEL)
        assert panel
        self.panel = panel

    def diffs(self) -> Any:
        return loaded("sublime_text.package").adapter().diffs

    def rows(self) -> list[list[str]]:
        """The first four columns of the list."""
        return [[cell for cell in line.split("  ") if cell][:3] for line in text_of(self.panel).split("\n")[1:]]

    def put_caret(self, row: int) -> None:
        """Put the caret of the list into a row."""
        self.panel.sel().clear()
        self.panel.sel().add(self.panel.text_point(row, 0))

    def test_enter_of_vintage_opens_the_diff_of_a_row(self) -> Steps:
        """The keymap of Vintage is loaded after ours, and has Enter go down a line."""
        yield from self.open_three()
        yield from self.show_list()
        enter = {"motion": "move", "motion_args": {"by": "lines", "forward": True, "extend": True}}
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        answer = listener.on_text_command(self.panel, "set_motion", enter)
        self.assertEqual(answer, ("qwen_companion_open_listed_diff", {}))

    def test_it_has_each_file_with_its_counts_and_its_state(self) -> Steps:
        """One list of files with +/− and a state each."""
        yield from self.open_three(waits=True)
        yield from self.show_list()
        expected = [["a.py", "+1 −0", "viewed"], ["b.py", "+1 −0", "not viewed"], ["c.py", "+1 −0", "not viewed"]]
        self.assertEqual(self.rows(), expected)
        title, first = text_of(self.panel).split("\n")[:2]
        self.assertIn("3 of 3 files wait for an answer", title)
        self.assertIn("next F8 · previous Shift+F8", title)
        self.assertTrue(first.endswith("Qwen Code"))
        self.assertTrue(self.panel.is_read_only())
        self.assertEqual(self.focused(), self.panel)

    def test_it_stays_open_and_says_what_has_become_of_each(self) -> Steps:
        """The list stays; the states change."""
        yield from self.open_three()
        yield from self.show_list()
        self.window.focus_view(self.proposals[0])
        self.proposals[0].run_command("append", {"characters": "# mine\n"})
        yield lambda: self.rows()[0] == ["a.py", "+2 −0", "edited"]
        self.proposals[0].run_command("qwen_companion_accept_diff")
        yield lambda: self.rows()[-1] == ["a.py", "+2 −0", "accepted"]
        yield lambda: self.rows()[0] == ["b.py", "+1 −0", "viewed"]
        self.window.run_command("qwen_companion_reject_diff")
        yield lambda: [row[2] for row in self.rows()] == ["viewed", "accepted", "rejected"]
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.folder / "c.py"), suppressNotification=True))
        yield lambda: [row[2] for row in self.rows()] == ["accepted", "rejected", "closed"]
        yield lambda: "Every file is answered." in text_of(self.panel)
        self.assertEqual(self.window.active_panel(), f"output.{PANEL}")
        yield from self.open_diff("x = 1\n", self.folder / "d.py")
        yield lambda: [row[0] for row in self.rows()] == ["d.py"]

    def test_an_entry_opens_its_diff(self) -> Steps:
        """By Enter, and by a click."""
        yield from self.open_three()
        yield from self.show_list()
        self.put_caret(3)
        self.panel.run_command("qwen_companion_open_listed_diff")
        self.assertEqual(self.window.active_view(), self.proposals[2])
        self.assertEqual(self.window.active_panel(), f"output.{PANEL}")
        self.put_caret(2)
        loaded("sublime_text.listeners").QwenCompanionListener().on_post_text_command(self.panel, "drag_select", {})
        opened = self.diffs().in_window(self.window)[1].proposal
        self.assertEqual(self.window.active_view(), opened)
        yield lambda: self.rows()[1][2] == "viewed"
        self.put_caret(0)  # the title
        self.panel.run_command("qwen_companion_open_listed_diff")
        self.assertEqual(self.window.active_view(), opened)

    def test_keys_go_to_the_next_file_and_to_the_previous_one(self) -> Steps:
        """And around."""
        yield from self.open_three()
        for previous, expected in ((False, 1), (False, 2), (False, 0), (True, 2), (True, 1)):
            self.window.run_command("qwen_companion_go_to_diff", {"previous": previous} if previous else None)
            self.assertEqual(self.window.active_view(), self.proposals[expected])

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

    def test_the_rest_is_accepted_or_rejected_at_once(self) -> Steps:
        """By a link or a command."""
        yield from self.open_three()
        yield from self.show_list()
        self.proposals[0].run_command("qwen_companion_reject_diff")
        yield lambda: len(self.rows()) == 3 and self.rows()[-1][2] == "rejected"
        self.screen.click(self.panel, "accept_all")
        yield lambda: [row[2] for row in self.rows()] == ["rejected", "accepted", "accepted"]
        self.assertEqual(self.screen.phantoms(self.panel, "qwen_companion.diff_list"), [])
        yield from self.open_three()
        yield lambda: self.screen.phantoms(self.panel, "qwen_companion.diff_list")
        self.screen.click(self.panel, "reject_all")
        yield lambda: [row[2] for row in self.rows()] == ["rejected"] * 3

    def test_a_file_in_a_folder_and_one_elsewhere_say_where_they_are(self) -> Steps:
        """Files of one name must be told apart."""
        elsewhere = self.folder.parent / f"{self.folder.name}-elsewhere.py"
        for path in (self.folder / "sub" / "folder" / "a.py", elsewhere):
            yield from self.open_diff("x\n", path)
        yield from self.show_list()
        lines = text_of(self.panel).split("\n")[1:]
        self.assertTrue(lines[0].endswith(f"Qwen Code  {Path('sub', 'folder')}"), lines)
        self.assertTrue(lines[1].endswith(f"Qwen Code  {elsewhere}"), lines)

    def test_the_columns_are_aligned_and_a_name_is_one_line(self) -> None:
        rows_module, tally = loaded("sublime_text.diff.rows"), loaded("review.changes").Tally
        rows = [
            rows_module.Row(1, "a.py", tally(1, 0, 1), "viewed", "Qwen Code", "/a.py"),
            rows_module.Row(2, "long\nname.py", None, "not viewed", "Gemini CLI", "/long\nname.py"),
        ]
        self.assertEqual(
            rows_module.table(rows),
            [
                "  a.py          +1 −0  viewed      Qwen Code   /a.py",
                "  long\ufffdname.py         not viewed  Gemini CLI  /long\ufffdname.py",
            ],
        )
        self.assertEqual((rows_module.table([]), rows_module.title(0, 0, 0)), ([], "Nothing waits."))
        self.assertTrue(rows_module.title(1, 0, 1).startswith("1 of 1 file waits"))
