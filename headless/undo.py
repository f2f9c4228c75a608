"""Undo and redo: what each command changed, as one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headless import variations
from headless.changes import Change, Span

RegionLists = dict[str, list[Span]]


@dataclass
class Step:
    """One command's changes, and what was selected before and after it.

    `before` and `after` hold, by view id, the selection and the regions that take part in
    undo (those without RegionFlags.NO_UNDO).
    """

    command: str
    args: dict[str, Any] | None
    changes: list[Change] = field(default_factory=list)
    before: dict[int, tuple[list[Span], RegionLists]] = field(default_factory=dict)
    after: dict[int, tuple[list[Span], RegionLists]] = field(default_factory=dict)

    @property
    def typed(self) -> str:
        """What was typed, if this step is typing on one line; else an empty string."""
        characters = str((self.args or {}).get("characters", "")) if self.command == "insert" else ""
        return "" if "\n" in characters else characters

    def takes(self, following: Step) -> bool:
        """Whether `following` is a letter typed right after this step's text."""
        return bool(self.typed) and len(following.typed) == 1 and following.before == self.after

    def take(self, following: Step) -> None:
        """Make `following` part of this step."""
        self.args = {"characters": self.typed + following.typed}
        self.changes += following.changes
        self.after = following.after


class History:
    """The steps that can be undone and those that can be redone."""

    def __init__(self) -> None:
        self._done: list[Step] = []
        self._undone: list[Step] = []
        # The step after which the text was what is on disk; None stands for the very start.
        # Once that step can't be reached any more, the buffer stays modified for good.
        self._clean: object = None
        self._base: object = None
        # How many steps there were when the mark for gluing was set.
        self._mark: int | None = None

    @property
    def _top(self) -> object:
        return self._done[-1] if self._done else self._base

    @property
    def modified(self) -> bool:
        """Whether the text differs from the one when `mark_clean` was last called."""
        return self._top is not self._clean

    def mark_clean(self) -> None:
        """Note that the present text is the one on disk."""
        self._clean = self._top

    def record(self, step: Step) -> None:
        """Add the step of a command; what was undone before can no longer be redone.

        A letter typed after others becomes part of their step.
        """
        glues = variations.chosen("typed-letters") == "one-step" and not self._undone
        if glues and self._done and self._done[-1] is not self._clean and self._done[-1].takes(step):
            self._done[-1].take(step)
        else:
            self._done.append(step)
        self._undone.clear()

    def mark(self, *, again: bool = True) -> None:
        """Make the next step the first of those that `glue` joins; with `again`, even if there is a mark already."""
        if again or self._mark is None:
            self._mark = len(self._done)

    def unmark(self) -> None:
        """Remove the mark."""
        self._mark = None

    def glue(self) -> None:
        """Join all steps since the mark."""
        mark, self._mark = self._mark, None
        glued = [] if mark is None else self._done[mark:]
        if len(glued) < 2:
            return
        changes = [change for step in glued for change in step.changes]
        whole = Step(glued[0].command, glued[0].args, changes, glued[0].before, glued[-1].after)
        if self._clean is glued[-1]:
            self._clean = whole
        self._done[mark:] = [whole]

    def undo(self) -> Step | None:
        """The step to undo, if any."""
        if not self._done:
            return None
        self._undone.append(self._done.pop())
        return self._undone[-1]

    def redo(self) -> Step | None:
        """The step to redo, if any."""
        if not self._undone:
            return None
        self._done.append(self._undone.pop())
        return self._done[-1]

    def clear(self) -> None:
        """Forget all steps, but not whether the text is modified."""
        modified = self.modified
        self._mark = None
        self._done.clear()
        self._undone.clear()
        self._base = object()
        self._clean = object() if modified else self._base

    def command(self, index: int) -> Step | None:
        """The step `index` steps back (0, -1, …) or forth (1, 2, …)."""
        if index > 0:
            return self._undone[-index] if index <= len(self._undone) else None
        return self._done[index - 1] if -index < len(self._done) else None
