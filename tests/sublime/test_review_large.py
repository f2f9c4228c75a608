"""A diff of many changes: its commands take no longer than the text is long."""

from __future__ import annotations

from .companion_case import CompanionCase, Steps, loaded, text_of

LINES = 4_000
FILE = "".join(f"line {number}\n" for number in range(LINES))
PROPOSAL = "".join(f"{'line' if number % 2 else 'LINE'} {number}\n" for number in range(LINES))


class TestLarge(CompanionCase):
    """A file in which every other line changes."""

    def test_all_changes_are_reverted_and_made_again_each_in_one_step(self) -> Steps:
        """The editor takes a while for each single edit, and for each caret."""
        self.file.write_text(FILE)
        yield lambda: text_of(self.view) == FILE
        yield from self.open_diff(PROPOSAL)
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield {"condition": lambda: diff.counts and diff.counts.changes == LINES // 2, "timeout": 60_000}
        version = self.proposal.change_count()
        self.proposal.run_command("select_all")
        self.proposal.run_command("qwen_companion_undo_change")
        yield {"condition": lambda: text_of(self.proposal) == FILE, "timeout": 60_000}
        self.assertLessEqual(self.proposal.change_count(), version + 2)
        self.proposal.run_command("qwen_companion_undo_change")
        yield {"condition": lambda: text_of(self.proposal) == PROPOSAL, "timeout": 60_000}
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), FILE)
