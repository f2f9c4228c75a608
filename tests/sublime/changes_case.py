"""A diff with several changes, and what a test does with it."""

from __future__ import annotations

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of

LINES = [f"line {number} is here\n" for number in range(1, 121)]
FILE = "".join(LINES)
CHANGED = [*LINES]
CHANGED[29:31] = []
CHANGED[12:12] = ["inserted one\n", "inserted two\n"]
CHANGED[2] = "line 3 was here\n"
PROPOSAL = "".join(CHANGED)
"""Line 3 is changed, two lines are new above line 13, lines 30 and 31 are gone."""
ROWS = [2, 12, 31]
"""Where the proposal has its changes; the last one is a row that lines are missing before."""
CHANGES = "qwen_companion.changes"
GAPS = "qwen_companion.gaps"


class ChangesCase(CompanionCase):
    """A diff with three changes."""

    def setUp(self) -> Steps:
        self.set_setting("review", "off")  # what these tests write on the disk is none of the changes
        yield from super().setUp()
        self.file.write_text(FILE)
        yield lambda: text_of(self.view) == FILE

    def open_changes(self, content: str = PROPOSAL) -> Steps:
        """Open the diff and wait for its marks."""
        yield from self.open_diff(content)
        yield lambda: self.regions() and self.screen.header(self.proposal)
        # The marks are drawn in steps: changes with lines first, then those without.
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield lambda: len(self.rows()) == diff.counts.changes and diff.is_drawn_to_fit
        yield from self.turned()
        state: object = None
        while state != (state := self.screen.state()):
            yield 50

    def command(self, name: str) -> None:
        """Run one of the package's commands on the proposal."""
        self.proposal.run_command(f"qwen_companion_{name}")

    def go(self, *, previous: bool = False) -> None:
        """Press the key of *Next Change* in the proposal, or that of *Previous Change*."""
        self.window.focus_view(self.proposal)
        self.window.run_command("qwen_companion_go_to_diff", {"previous": previous})

    def row(self) -> int:
        """The row of the proposal's caret, from 0."""
        [caret] = self.proposal.sel()
        return self.proposal.rowcol(caret.b)[0]

    def rows(self) -> list[int]:
        """The rows of the proposal's changes."""
        return [self.proposal.rowcol(region.begin())[0] for region in self.regions()]

    def regions(self) -> list[sublime.Region]:
        """The regions of the proposal's changes. One is empty where lines were only deleted."""
        return sorted(each for key in (CHANGES, GAPS) for each in self.proposal.get_regions(key))

    def put_caret(self, row: int) -> None:
        """Put the proposal's caret in a row."""
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(row, 3))

    def becomes(self, text: str) -> Steps:
        """Wait for the text of the proposal."""
        yield {"condition": lambda: text_of(self.proposal) == text, "timeout_message": "another text"}


def without(change: int) -> str:
    """The proposal with one of its changes reverted, counted from 0."""
    lines = [*CHANGED]
    if change == 0:
        lines[2] = LINES[2]
    elif change == 1:
        del lines[12:14]
    else:
        lines[31:31] = LINES[29:31]
    return "".join(lines)
