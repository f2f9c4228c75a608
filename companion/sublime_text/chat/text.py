"""The text of a chat's view: the transcript, which only renders may edit, and behind it the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ...chats.transcript.render import MARK
from .. import buffers
from ..buffers import smallest_edit
from ..own_views import VIEWS

if TYPE_CHECKING:
    from ...chats.transcript.render import Render


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


SIGNS = "signs"
"""In a chat's record: how often the mark at the transcript's end occurs in the prompt.

Unlike the transcript's length, it stays valid while the transcript grows, even if the editor is killed.
"""
DRAFT = "draft"
"""In a chat's record: the prompt, which counts and not what a restored tab has there; None for a longer one."""
MAX_DRAFT = 1_000_000
"""Characters of a prompt that is in the record."""


class _Guard(sublime_plugin.TextChangeListener):
    """Reports changes of a buffer. Attached only to the chats' buffers."""

    @classmethod
    def is_applicable(cls, buffer: sublime.Buffer) -> bool:  # noqa: ARG003
        """Never by itself."""
        return False

    def __init__(self, changed: Callable[[Sequence[sublime.TextChange]], object]) -> None:
        super().__init__()
        self._changed = changed

    def on_text_changed(self, changes: list[sublime.TextChange]) -> None:
        """The text has changed."""
        self._changed(changes)


class ChatText:
    """Edits the transcript, and protects it from other edits. `damaged` is called if there was one."""

    def __init__(self, view: sublime.View, damaged: Callable[[], object]) -> None:
        self.view = view
        self.length = prompt_start(view)
        """Of the transcript."""
        self.is_damaged = False
        """Whether the transcript differs from the renders. A render that replaces everything corrects it."""
        self._damaged = damaged
        self.is_editing = False
        """Whether a change is ours, not the person's."""
        self.replaced = ""
        """What stood in a restored tab in place of the prompt, if that is not a part of it."""
        self._restore_prompt()
        self.undo = UndoHistory(self.prompt)
        self._count = view.change_count()
        self._guard = _Guard(self._changed)
        self._guard.attach(view.buffer())
        self.protect()

    def close(self) -> None:
        """Release the view, which stays as it is for the next instance."""
        if self._guard.is_attached():
            self._guard.detach()
        if self.view.is_valid():
            self.view.set_read_only(True)

    @property
    def prompt(self) -> str:
        """What the person is writing."""
        return self.view.substr(sublime.Region(self.length, self.view.size()))

    @property
    def is_in_prompt(self) -> bool:
        """Whether the carets are all in the prompt, with what is selected."""
        return bool(self.view.sel()) and all(region.begin() >= self.length for region in self.view.sel())

    def apply(self, render: Render) -> None:
        """Update the transcript. The prompt and the carets stay where they are."""
        before = [region.to_tuple() for region in self.view.sel()]
        edits = [(edit.start, edit.end, edit.text) for edit in render.edits]
        if render.replaces_all:
            edits = [(0, self.length, "".join(text for _, _, text in edits))]
        end, reaches_prompt = self.length, render.replaces_all
        for start, stop, text in edits:
            reaches_prompt |= stop >= end
            end += len(text) - (stop - start)
        if edits:
            self.edit(edits)
            self.view.clear_undo_stack()  # otherwise Undo would undo the transcript
        if reaches_prompt:
            move = lambda point: point - self.length + end if point >= self.length else min(point, end)  # noqa: E731
            self._select([sublime.Region(move(a), move(b)) for a, b in before])
        self.length = end
        self.is_damaged = False
        self._count = self.view.change_count()
        self.protect()

    def edit(self, edits: Sequence[tuple[int, int, str]]) -> None:
        """Edit the view in one step, also while it is read-only."""
        self.is_editing = True
        try:
            buffers.edit(self.view, edits)
        finally:
            self.is_editing = False

    def write(self, text: str) -> None:
        """Replace the prompt, and put the caret behind it."""
        self.edit([(self.length, self.view.size(), text)])
        self._keep_prompt()
        self.to_prompt()
        self._record()

    def take_step(self, by: int) -> None:
        """Undo (-1) or redo (1) a step in the prompt."""
        if step := self.undo.step(by):
            text, caret = step
            self.edit([(self.length, self.view.size(), text)])
            self._keep_prompt()
            self._select([sublime.Region(self.length + caret)])
            self.protect()

    def to_prompt(self) -> None:
        """Put the caret at the end of the prompt."""
        self._select([sublime.Region(self.view.size())])
        self.protect()
        self.view.show(self.view.size(), False)

    def protect(self) -> None:
        """Make the view read-only while a caret is in the transcript."""
        is_protected = any(region.begin() < self.length for region in self.view.sel())
        if self.view.is_read_only() != is_protected:
            self.view.set_read_only(is_protected)

    def _select(self, regions: Sequence[sublime.Region]) -> None:
        if list(self.view.sel()) != list(regions):
            self.view.sel().clear()
            self.view.sel().add_all(list(regions))

    def _changed(self, changes: Sequence[sublime.TextChange]) -> None:
        if self.is_editing:
            return
        if self.view.change_count() != self._count:
            self._look_for_damage(changes)
        self._keep_prompt()
        self._record()

    def _record(self) -> None:
        carets = [region.b for region in self.view.sel()]
        caret = max(0, carets[0] - self.length) if carets else 0
        self.undo.record(self.prompt, caret, monotonic())

    def _look_for_damage(self, changes: Sequence[sublime.TextChange]) -> None:
        damages = False
        for change in changes:
            start, end = change.a.pt, change.b.pt
            if start < self.length:
                damages = True
                # An edit across the boundary becomes part of the prompt.
                self.length = start if end > self.length else self.length + len(change.str) - (end - start)
        if damages and not self.is_damaged:
            self.is_damaged = True
            self._damaged()

    def _restore_prompt(self) -> None:
        """A tab that the editor has restored may be anybody's text: only what was typed here is the person's."""
        own = VIEWS.of(self.view)
        draft: object = own.get(DRAFT) if own else None
        if isinstance(draft, str) and draft != (other := self.prompt):
            self.replaced = "" if other.strip() in draft else other
            self.edit([(self.length, self.view.size(), draft)])
        self._keep_prompt()

    def _keep_prompt(self) -> None:
        if own := VIEWS.of(self.view):
            prompt = self.prompt
            draft = prompt if len(prompt) <= MAX_DRAFT else None
            own.keep(**{SIGNS: prompt.count(MARK), DRAFT: draft})


def prompt_start(view: sublime.View) -> int:
    """Where the prompt begins in a chat's view, which may be from an earlier run."""
    text = view.substr(sublime.Region(0, view.size()))
    own = VIEWS.of(view)
    signs: object = own.get(SIGNS) if own else 0
    found = len(text)
    for _ in range((signs if isinstance(signs, int) else 0) + 1):
        found = text.rfind(MARK, 0, found)
        if found < 0:
            return 0
    return found + len(MARK)
