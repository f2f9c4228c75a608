"""Diffs on the screen."""

from __future__ import annotations

import json

import sublime

from .companion_case import CompanionCase, Steps, diff_views, text_of
from .own import value

PROPOSAL = 'def greet(name):\n    print(f"hi {name}")\n'


class TestDiffs(CompanionCase):
    def test_a_diff_shows_the_file_and_the_editable_proposal_side_by_side(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(text_of(self.original), self.file.read_text())
        self.assertEqual(text_of(self.proposal), PROPOSAL)
        self.assertTrue(self.original.is_read_only())
        self.assertFalse(self.proposal.is_read_only())
        shown = self.window.selected_sheets_in_group(self.window.get_view_index(self.proposal)[0])
        self.assertEqual([sheet.view() for sheet in shown], [self.view, self.proposal])
        self.assertEqual(value(self.proposal, "file_path"), str(self.file))

    def test_the_first_undo_does_not_empty_the_proposal(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_accepting_by_command_sends_the_text_and_closes_the_views(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes
        expected = ("ide/diffAccepted", {"filePath": str(self.file), "content": PROPOSAL})
        self.assertEqual(self.cli.outcomes, [expected])
        yield lambda: not diff_views(self.window, "proposal") and not diff_views(self.window, "original")

    def test_accepting_sends_what_was_edited(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("append", {"characters": "greet('you')\n"})
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][1]["content"], PROPOSAL + "greet('you')\n")

    def test_accepting_from_another_view_goes_to_the_diff_first(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("qwen_companion_accept_diff")
        yield lambda: self.screen.said("Look at the diff of app.py")
        self.assertEqual((self.cli.outcomes, self.window.active_view()), ([], self.proposal))
        self.window.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes

    def test_an_unedited_proposal_comes_back_byte_for_byte(self) -> Steps:
        for content in ("a\r\nb\r\n", "a\r\nb\nc\rd", "\ufeffa\n", "a\tb", "\t\n\n", "😀\u2028é\x0c\n", "no end", "\n"):
            yield from self.open_diff(content)
            before = len(self.cli.outcomes)
            self.proposal.run_command("qwen_companion_accept_diff")
            yield lambda before=before: len(self.cli.outcomes) > before
            self.assertEqual(self.cli.outcomes[-1][1]["content"], content)

    def test_an_edited_proposal_keeps_its_line_endings(self) -> Steps:
        yield from self.open_diff("a\r\nb\nc\r\n")
        self.proposal.run_command("append", {"characters": "d\n"})
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][1]["content"], "a\r\nb\nc\r\nd\r\n")

    def test_rejecting_by_command_sends_a_rejection(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes, [("ide/diffRejected", {"filePath": str(self.file)})])
        yield lambda: not diff_views(self.window, "proposal")

    def test_closing_the_proposal_rejects_it(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.close()
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes, [("ide/diffRejected", {"filePath": str(self.file)})])
        yield lambda: not diff_views(self.window, "original")

    def test_closing_the_original_decides_nothing(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.original.close()
        yield 200
        self.assertEqual(self.cli.outcomes, [])
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][0], "ide/diffAccepted")

    def test_the_only_diff_of_a_window_is_meant_from_any_view(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.view)
        self.view.run_command("qwen_companion_reject_diff")
        yield lambda: self.cli.outcomes

    def test_of_two_diffs_only_that_of_the_view_is_meant(self) -> Steps:
        other = self.connect()
        yield from self.done(other.connected)
        yield from self.open_diff(PROPOSAL)
        first = self.proposal
        yield from self.open_diff("other\n", cli=other)
        self.assertFalse(sublime_is_enabled(self.view))
        self.window.focus_view(first)
        first.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes and diff_views(self.window, "proposal") == [self.proposal]
        yield 200
        self.assertEqual(other.outcomes, [])
        self.assertEqual(diff_views(self.window, "proposal"), [self.proposal])

    def test_an_empty_text_is_refused_and_the_diff_stays(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.edit(self.proposal, "")
        self.proposal.run_command("qwen_companion_accept_diff")
        yield 300
        self.assertEqual(self.cli.outcomes, [])
        self.assertEqual(diff_views(self.window, "proposal"), [self.proposal])

    def test_close_diff_answers_with_the_text_and_notifies_of_nothing(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        closed = self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True)
        yield from self.done(closed)
        self.assertEqual(json.loads(closed.result()["content"][0]["text"]), {"content": PROPOSAL})
        yield lambda: not diff_views(self.window, "proposal")
        yield 200
        self.assertEqual(self.cli.outcomes, [])

    def test_edits_of_a_diff_that_the_cli_closes_are_kept_in_a_view(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("append", {"characters": "mine\n"})
        closed = self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True)
        yield from self.done(closed)
        self.assertEqual(json.loads(closed.result()["content"][0]["text"]), {"content": PROPOSAL + "mine\n"})
        kept = lambda: [v for v in self.window.views() if text_of(v) == PROPOSAL + "mine\n"]  # noqa: E731
        yield lambda: not diff_views(self.window, "proposal") and kept()
        self.assertEqual(kept()[0].name(), "app.py (your edits)")

    def test_a_new_file_is_shown_as_the_proposal_alone(self) -> Steps:
        """The left half was empty."""
        path = self.folder / "new" / "file.py"
        yield from self.open_diff("x = 1\n", path)
        self.assertEqual(diff_views(self.window, "original"), [])
        yield lambda: self.proposal.get_regions("qwen_companion.changes") == [sublime.Region(0, 6)]
        self.assertFalse(value(self.proposal, "inline"))
        self.proposal.run_command("qwen_companion_toggle_diff_layout")
        [original] = diff_views(self.window, "original")
        self.assertEqual(text_of(original), "")
        self.proposal.run_command("qwen_companion_toggle_diff_layout")
        yield lambda: not original.is_valid()
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes[0][1], {"filePath": str(path), "content": "x = 1\n"})
        self.assertFalse(path.exists())

    def test_the_persons_own_buffer_and_its_undo_history_are_left_alone(self) -> Steps:
        self.view.run_command("append", {"characters": "# unsaved\n"})
        before, count = text_of(self.view), self.view.change_count()
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(text_of(self.original), self.file.read_text())
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: self.cli.outcomes and not diff_views(self.window, "proposal")
        self.assertEqual((text_of(self.view), self.view.change_count()), (before, count))
        self.assertTrue(self.view.is_dirty())

    def test_the_window_shows_afterwards_what_it_showed_before(self) -> Steps:
        (self.folder / "b.py").write_text("x\n")
        self.window.open_file(str(self.folder / "b.py"))
        self.window.focus_view(self.view)
        layout = self.window.layout()
        yield from self.open_diff(PROPOSAL)
        self.proposal.run_command("qwen_companion_reject_diff")
        yield lambda: not diff_views(self.window, "proposal")
        self.assertEqual(self.window.active_view(), self.view)
        self.assertEqual(self.window.selected_sheets_in_group(0), [self.view.sheet()])
        self.assertEqual(self.window.layout(), layout)

    def test_a_terminal_keeps_the_focus_and_stays_visible(self) -> Steps:
        terminal = self.window.new_file()
        terminal.settings().set("terminus_view", True)
        terminal.set_scratch(True)
        self.window.focus_view(terminal)
        yield from self.open_diff(PROPOSAL)
        yield 50
        self.assertEqual(self.window.active_view(), terminal)
        shown = self.window.selected_sheets_in_group(self.window.get_view_index(terminal)[0])
        self.assertEqual([sheet.view() for sheet in shown], [terminal, self.proposal])
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: not diff_views(self.window, "proposal")
        self.assertEqual(self.window.active_view(), terminal)
        self.assertEqual(self.window.selected_sheets_in_group(0), [terminal.sheet()])

    def test_the_same_path_proposed_again_replaces_the_diff_silently(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        old = self.proposal
        yield from self.open_diff("second\n")
        yield lambda: not old.is_valid()
        self.assertEqual([text_of(v) for v in diff_views(self.window, "proposal")], ["second\n"])
        self.assertEqual(self.cli.outcomes, [])

    def test_closing_the_window_rejects_its_diffs(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.window.run_command("close_window")
        yield lambda: self.cli.outcomes
        self.assertEqual(self.cli.outcomes, [("ide/diffRejected", {"filePath": str(self.file)})])

    def test_a_diff_opens_in_the_window_of_its_cli(self) -> Steps:
        other = yield from self.another_window()
        yield from self.open_diff(PROPOSAL)
        self.assertEqual(self.proposal.window(), self.window)
        self.assertEqual(diff_views(other, "proposal"), [])


def sublime_is_enabled(view: sublime.View) -> bool:
    """Whether "Accept Diff" can be run from a view."""
    from ...companion.sublime_text.review.review_commands import QwenCompanionAcceptDiffCommand  # noqa: PLC0415 - the loaded package's

    return QwenCompanionAcceptDiffCommand(view).is_enabled()
