"""Moving between changes, reverting and restoring them: one command after another, however fast they are given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import sublime

from ...review.targets import Action, Target
from ..panels import say
from ..windows import focus_view
from .header import NOT_EXACT
from .navigation import make_edits, rows_in

if TYPE_CHECKING:
    from ...review.changes import TextEdit
    from ...review.reviews import Reviews
    from .diff_view import DiffView

TARGETS = "qwen_companion.targets"
"""Key of the hidden regions that keep a command's carets while the proposal is edited."""
OVERTAKEN = "The proposal was edited meanwhile: do that again."
TRIES = 5
"""How often the edits of a command are computed again because the text has changed meanwhile."""


class ChangeActions:
    """The commands on the changes of one diff. `tell` runs a function with the reviews on the companion thread."""

    def __init__(self, diff: DiffView, tell: Callable[[Callable[[Reviews], object]], None]) -> None:
        self._diff = diff
        self._tell = tell
        self._queue: deque[tuple[Callable[[], object], bool]] = deque()
        """What waits, each with whether it is about the text that those before it make."""
        self._waiting: Callable[[], Target] | None = None
        self._carets: list[sublime.Region] = []
        self._tries = 0
        self._done: tuple[Action, int, list[sublime.Region]] | None = None
        """What the key of *Undo Change* has done last, and the version and the carets of the proposal after that."""

    @property
    def is_busy(self) -> bool:
        """Whether a command waits, for its edits or for its turn."""
        return self._waiting is not None or bool(self._queue)

    def add(self, command: Callable[[], object], *, of_text: bool = False) -> None:
        """Run a command after the commands before, or with `of_text` only if those have done what they were for."""
        self._queue.append((command, of_text))
        self.run()

    def run(self) -> None:
        """Run what waits, once the diff has arrived and no command waits for edits."""
        while self._queue and self._waiting is None and not self._diff.is_arriving:
            command, _ = self._queue.popleft()
            command()

    def move(self, step: Literal[1, -1], beyond: Callable[[], object] | None = None) -> None:
        """Go to the next or the previous change, after the commands before.

        If there is none, `beyond` is called; without it, the first one from the other end comes.
        """
        self.add(lambda: self._move(step, beyond))

    def undo(self, view: sublime.View) -> None:
        """Revert the changes at the carets of the view that a command was run in, or restore what was reverted."""
        of_diff = view if self._diff.has(view) else self._diff.proposal
        self.add(lambda: self._begin_at_carets(self._undo_or_redo(), of_diff))

    def follow(self, action: Action, *fingerprints: str) -> None:
        """Revert or restore the changes that a link or a key names, as one edit."""
        self.add(lambda: self._begin(lambda: Target(action, fingerprints=fingerprints)))

    def compare(self) -> None:
        """Have the companion compare the texts as they are now, for the marks."""
        if (text := self._diff.text()) is not None:
            number, version = self._diff.review.number, self._diff.proposal.change_count()
            self._tell(lambda reviews: reviews.texts.compare(number, text, version))

    def read_again(self) -> None:
        """Compare with the file as it is on the disk now."""
        self._tell(lambda reviews: reviews.texts.reload(self._diff.review.number))

    def keep_endings(self, *, keeps: bool) -> None:
        """Use the line endings and the byte order mark of the file on disk, or those of the proposal."""
        self._tell(lambda reviews: reviews.texts.keep_endings(self._diff.review.number, keeps=keeps))

    def answered(self, edits: Sequence[TextEdit], version: int) -> None:
        """The edits for the current command have arrived, perhaps none."""
        if self._waiting is None or not self._diff.proposal.is_valid():
            return
        if edits and self._diff.proposal.change_count() != version and self._tries < TRIES:
            self._send()
            return
        if edits and self._diff.proposal.change_count() == version:
            proposal, action = self._diff.proposal, self._waiting().action
            make_edits(proposal, edits, moves_carets=list(proposal.sel()) == self._carets)
            self._done = action, proposal.change_count(), list(proposal.sel())
            self._tell(lambda reviews: reviews.texts.edited(self._diff.review.number))
        else:
            self._forget_acceptance()
            if edits:
                say(self._diff.window, OVERTAKEN)
        self._waiting = None
        self._diff.proposal.erase_regions(TARGETS)
        self.run()

    def _forget_acceptance(self) -> None:
        """A command has not done what it was for: an acceptance that comes after it was meant for another text."""
        self._queue = deque(each for each in self._queue if not each[1])

    def _undo_or_redo(self) -> Action:
        """What the key does: the opposite of what it has just done here, where two changes may be close together."""
        proposal = self._diff.proposal
        is_here = self._done is not None and self._done[1:] == (proposal.change_count(), list(proposal.sel()))
        return "redo" if is_here and self._done and self._done[0] == "undo" else "undo"

    def _move(self, step: Literal[1, -1], beyond: Callable[[], object] | None) -> None:
        diff = self._diff
        if diff.marked.go(step, wraps=beyond is None):
            focus_view(diff.window, diff.proposal)
        else:
            (beyond or (lambda: say(diff.window, "There is no change.")))()

    def _begin_at_carets(self, action: Action, view: sublime.View) -> None:
        original, proposal = self._diff.original, self._diff.proposal
        if original and view.buffer_id() == original.buffer_id():
            lines = tuple(rows_in(view, each) for each in view.sel())
            self._begin(lambda: Target(action, lines, "old"))
        else:
            flags = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO
            proposal.add_regions(TARGETS, list(view.sel()), flags=flags)
            self._begin(
                lambda: Target(action, tuple(rows_in(proposal, each) for each in proposal.get_regions(TARGETS)))
            )

    def _begin(self, target: Callable[[], Target]) -> None:
        if not self._diff.is_exact:  # the very text is accepted, and not that of the view
            self._forget_acceptance()
            say(self._diff.window, NOT_EXACT)
            return
        self._waiting = target
        self._carets = list(self._diff.proposal.sel())
        self._tries = 0
        self._send()

    def _send(self) -> None:
        text = self._diff.text()
        if self._waiting and text is not None:
            self._tries += 1
            target, version = self._waiting(), self._diff.proposal.change_count()
            self._tell(lambda reviews: reviews.texts.edit(self._diff.review.number, target, text, version))
