"""The undo history of a prompt: the editor's own would undo the transcript, too."""

from __future__ import annotations

from dataclasses import dataclass

from ..buffers import smallest_edit

MOST_STEPS = 200
"""Steps that can be undone."""
MOST_KEPT = 4_000_000
"""Characters of all steps together, the latest one aside."""
WORD = 1.0
"""Seconds within which letters that follow one another are one step."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A change of the prompt at a point, and the carets before and after it."""

    start: int
    old: str
    new: str
    before: int
    after: int

    @property
    def size(self) -> int:
        return len(self.old) + len(self.new)


class UndoHistory:
    """What has changed in a prompt, step by step. Each text is kept once, however many steps follow it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._caret = len(text)
        self._steps: list[_Step] = []
        self._at = 0
        """How many of the steps are done; those behind them can be done again."""
        self._typed = 0.0

    def record(self, text: str, caret: int, now: float) -> None:
        """The person has changed the prompt. `now` is in seconds."""
        before = self._text
        if text == before:
            return
        start, end, new = smallest_edit(before, text)
        is_letter = start == end == len(before) and len(new) == 1 and not new.isspace()
        continues = is_letter and now - self._typed < WORD and self._at > 0
        self._typed = now if start == end == len(before) and len(new) == 1 else 0.0
        del self._steps[self._at :]
        if continues:
            last = self._steps.pop()
            self._steps.append(_Step(last.start, last.old, last.new + new, last.before, caret))
        else:
            self._steps.append(_Step(start, before[start:end], new, self._caret, caret))
        self._text, self._caret = text, caret
        self._forget()

    def step(self, by: int) -> tuple[str, int] | None:
        """The prompt and its caret one step back (-1) or forth (1); None at either end."""
        if not 0 <= self._at + by <= len(self._steps):
            return None
        step = self._steps[min(self._at, self._at + by)]
        new, old, caret = (step.old, step.new, step.before) if by < 0 else (step.new, step.old, step.after)
        self._text = self._text[: step.start] + new + self._text[step.start + len(old) :]
        self._at, self._caret, self._typed = self._at + by, caret, 0.0
        return self._text, caret

    def _forget(self) -> None:
        """Keep the latest steps, as far as there is room."""
        kept, room = 1, MOST_KEPT
        for step in self._steps[-2::-1]:
            room -= step.size
            if room < 0 or kept == MOST_STEPS:
                break
            kept += 1
        del self._steps[:-kept]
        self._at = len(self._steps)
