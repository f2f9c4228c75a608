"""The person's answers to diffs: whether one counts, and what is told the companion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat
from ..keys import KEYS
from ..notices import LONGEST, NOTICES, named
from ..panels import say
from .kept import RejectedTexts, open_kept

if TYPE_CHECKING:
    from ...review.reviews import Reviews
    from .diff_view import DiffView

LONGEST_NAME = 24
"""Characters of a file's name in a message that has several."""


class Answers:
    """Accepts and rejects diffs. `tell` runs a function with the reviews on the companion thread."""

    def __init__(
        self,
        tell: Callable[[Callable[[Reviews], object]], None],
        in_window: Callable[[sublime.Window], Sequence[DiffView]],
        show: Callable[[DiffView], object],
        accepted: Callable[[DiffView], object],
    ) -> None:
        """`in_window` gives the diffs of a window, `show` goes to one, `accepted` hears of each acceptance."""
        self._tell = tell
        self._in_window = in_window
        self._show = show
        self._accepted = accepted
        self.rejected = RejectedTexts()

    def accept(self, diff: DiffView, *, by_key: bool = False) -> None:
        """The person accepts."""
        text = diff.text()
        if text is not None and self._may_answer(diff, by_key=by_key):
            self._accept(diff, text)

    def reject(self, diff: DiffView, *, by_key: bool = False) -> None:
        """The person rejects. A command of that name is meant, whether they have seen the diff or not."""
        if not by_key or self._may_answer(diff, by_key=True):
            self._reject(diff)

    def accept_all(self, window: sublime.Window) -> None:
        """Accept the diffs of a window that the person has seen. The others stay, and the status bar names them."""
        diffs = self._in_window(window)
        seen = [diff for diff in diffs if diff.attention.is_seen]
        for diff in seen:
            if (text := diff.text()) is not None:
                self._accept(diff, text)
        if not seen and diffs:
            NOTICES.add(naming(f"Nothing accepted. Go to each first{KEYS.in_brackets('go_to_diff')}", diffs), window)

    def reject_all(self, window: sublime.Window) -> None:
        """Reject every diff of a window."""
        for diff in self._in_window(window):
            self._reject(diff)

    def closed(self, diff: DiffView) -> None:
        """The person has closed the proposal, which rejects it."""
        self._tell(lambda reviews: reviews.reject(diff.review.number))

    def _may_answer(self, diff: DiffView, *, by_key: bool) -> bool:
        """Whether the diff may be answered now. If not, the person hears why."""
        attention, name = diff.attention, flat(diff.review.name, LONGEST_NAME)
        if by_key and attention.is_new:
            why = f"The diff of {name} has only just appeared. Try again in a second."
        elif attention.is_seen:
            return True
        elif attention.has_landed:
            why = f"The diff of {name} has opened by itself. Go to it first{KEYS.in_brackets('go_to_diff')}."
        else:
            self._show(diff)
            why = f"Look at the diff of {name} before you answer."
        say(diff.window, why)
        return False

    def _accept(self, diff: DiffView, text: str) -> None:
        diff.attention.is_answered = True
        self._accepted(diff)
        self._tell(lambda reviews: reviews.accept(diff.review.number, text))

    def _reject(self, diff: DiffView) -> None:
        diff.attention.is_answered = True
        if (text := diff.text()) is not None:
            self.rejected.add(diff.review.name, text, diff.syntax)
            diff.is_kept = True
        self._tell(lambda reviews: reviews.reject(diff.review.number, text))


def keep_edits(diff: DiffView, window: sublime.Window) -> None:
    """Keep the text of a diff that closes without an answer, in a tab of this window or of a new one."""
    text, name, syntax = diff.text(), diff.review.name, diff.syntax
    if text is None or diff.is_kept:
        return
    diff.is_kept = True

    def keep() -> None:
        target = window
        if not target.is_valid():  # the last one has closed
            sublime.run_command("new_window")
            target = sublime.active_window()
        open_kept(target, name, text, syntax)
        why = f"The diff of {name} was closed without an answer. Your edits are kept in a tab."
        say(target, why)

    sublime.set_timeout(keep)


def accepted(diff: DiffView, rest: Sequence[DiffView]) -> str:
    """What the status bar says of an acceptance, with the diffs that wait still."""
    said = f"Accepted {flat(diff.review.name, LONGEST_NAME)}"
    if not rest:
        return f"{said} · no other proposal waits"
    return naming(f"{said} · {len(rest)} wait{'s' * (len(rest) == 1)}", rest)


def naming(said: str, diffs: Sequence[DiffView]) -> str:
    """A message for the status bar that names as many of the files as fit."""
    names = [flat(diff.review.name, LONGEST_NAME) for diff in diffs]
    message = ""
    for count in range(len(names) + 1):
        rest = [f"{len(names) - count} more"] if count < len(names) else []
        longer = f"{said}: {', '.join([*names[:count], *rest])}"
        if count and len(named(longer)) > LONGEST:
            break
        message = longer
    return message
