"""The person's answers to diffs: what they have seen, whether an answer counts, and what becomes of the texts.

Nothing is answered unseen. What they have edited or rejected is kept: in a tab, or to be reopened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import sublime

from ...chats.transcript.plain import flat
from ..buffers import write_all
from ..keys import KEYS
from ..notices import LONGEST, NOTICES, named
from ..panels import PanelItem, choose, say
from ..windows import GroupContents, select
from .diff_marks import ANY_GENERATION
from .header import show_reason

if TYPE_CHECKING:
    from ...review.reviews import Reviews
    from .diff_view import DiffView

SETTLED = 1.0
"""Seconds that what appeared by itself has to stay until it counts as seen, and a key, a save or a click answers it."""
JUST_APPEARED = "The diff of {} has only just appeared. Try again in a second."
LONGEST_NAME = 24
"""Characters of a file's name in a message that has several."""


class Attention:
    """What the person has seen of a diff.

    They have seen it once they have gone to it, or once it had the focus for a second that came to it by itself. That
    it was on the screen is not enough: many proposals cover each other within a moment.
    """

    def __init__(self) -> None:
        self._is_seen = False
        self._appeared: float | None = None
        """When it came to the screen by itself; None if it never did, or if the person has brought it since."""
        self._focused: float | None = None
        """When it got the focus by itself, unseen; None without the focus."""
        self.is_answered = False
        """The person has answered it in the editor, which is not its outcome yet."""
        self.has_landed = False
        """It opened with the focus, as the window had nothing else to focus: nobody knows whether anybody is there."""

    @property
    def is_seen(self) -> bool:
        """Whether the person has gone to it, or was there for a second."""
        return self._is_seen or (self._focused is not None and not _is_new(self._focused))

    @property
    def is_new(self) -> bool:
        """Whether it has only just appeared by itself: a key or a click may be meant for what was there before."""
        return _is_new(self._appeared) or _is_new(self._focused)

    def appeared(self) -> None:
        """It has come to the screen by itself, for the first time or because another one has closed."""
        self._appeared = monotonic()

    def focused(self) -> None:
        """One of its views got the focus, and nobody knows why."""
        if self._focused is None and not self.is_seen and not self.has_landed:
            self._focused = monotonic()

    def left(self) -> None:
        """Another view of the window got the focus."""
        self._is_seen = self.is_seen
        self._focused = None
        self.has_landed = False

    def entered(self) -> None:
        """The person has clicked into it, run a command in it, or had all of it in front in the Review for a second."""
        self._is_seen = True
        self._focused = None

    def brought(self) -> None:
        """The person has gone to it by a key or a command, which can't have been meant for anything else."""
        self.entered()
        self._appeared = None


def _is_new(since: float | None) -> bool:
    return since is not None and monotonic() - since < SETTLED


def open_kept(
    window: sublime.Window, name: str, text: str, syntax: sublime.Syntax | None = None, *, takes_focus: bool = False
) -> None:
    """Open a text in a tab. Without `takes_focus` it opens behind what the window shows.

    The tab is not scratch: the editor asks before it goes.
    """
    before = GroupContents(window, window.active_group())
    view = window.new_file()
    view.set_name(f"{name} (your edits)")
    if syntax := syntax or sublime.find_syntax_for_file(name, text[:1000]):
        view.assign_syntax(syntax)
    write_all(view, text)
    select(view, 0)
    if not takes_focus:
        before.restore()


def reopen(window: sublime.Window, rejected: Sequence[tuple[str, str]]) -> None:
    """Open one of these texts, which have names, in a tab: the only one, or the one that is chosen."""
    items: list[PanelItem] = [
        (name, text[:200].strip().partition("\n")[0], partial(open_kept, window, name, text, takes_focus=True))
        for name, text in rejected
    ]
    if len(items) == 1:
        items[0][2]()
    elif items:
        choose(window, items, "Reopen a rejected text")
    else:
        say(window, "No rejected text is left to reopen.")


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

    def accept(self, diff: DiffView, *, by_key: bool = False) -> None:
        """The person accepts what the commands before on the changes of the diff make of it."""
        if diff.text() is not None and self._may_answer(diff, by_key=by_key):
            diff.actions.add(partial(self._accept, diff), of_text=True)

    def reject(self, diff: DiffView, *, by_key: bool = False) -> None:
        """The person rejects. A command of that name is meant, whether they have seen the diff or not."""
        if not by_key or self._may_answer(diff, by_key=True):
            diff.actions.add(partial(self._reject, diff))

    def accept_all(self, window: sublime.Window) -> None:
        """Accept the diffs of a window that the person has seen. The others stay, and the status bar names them."""
        diffs = self._in_window(window)
        seen = [diff for diff in diffs if diff.attention.is_seen]
        for diff in seen:
            self.accept(diff)
        if not seen and diffs:
            NOTICES.add(naming(f"Nothing accepted. Go to each first{KEYS.in_brackets('go_to_diff')}", diffs), window)

    def reject_all(self, window: sublime.Window) -> None:
        """Reject every diff of a window."""
        for diff in self._in_window(window):
            self.reject(diff)

    def closed(self, diff: DiffView) -> None:
        """The person has closed the proposal, which rejects it."""
        self._tell(lambda reviews: reviews.reject(diff.review.number))

    def _may_answer(self, diff: DiffView, *, by_key: bool) -> bool:
        """Whether the diff may be answered now. If not, the person hears why."""
        attention, name = diff.attention, flat(diff.review.name, LONGEST_NAME)
        if by_key and attention.is_new:
            why = JUST_APPEARED.format(name)
        elif attention.is_seen:
            return True
        elif attention.has_landed:
            why = f"The diff of {name} has opened by itself. Go to it first{KEYS.in_brackets('go_to_diff')}."
        else:
            self._show(diff)
            why = f"Look at the diff of {name} before you answer."
        say(diff.window, why)
        return False

    def _accept(self, diff: DiffView) -> None:
        text = diff.text()
        if text is None or diff.attention.is_answered:  # and about to close
            return
        diff.attention.is_answered = True
        self._accepted(diff)
        self._tell(lambda reviews: reviews.accept(diff.review.number, text))

    def _reject(self, diff: DiffView) -> None:
        if diff.attention.is_answered:
            return
        diff.attention.is_answered = True
        text = diff.text()
        diff.is_kept = diff.is_kept or text is not None
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


def follow(href: str, diff: DiffView, answers: Answers) -> None:
    """Do what a link of a diff says."""
    what, _, of = href.partition(":")
    match what:
        case "accept":
            answers.accept(diff, by_key=True)
        case "reject":
            answers.reject(diff, by_key=True)
        case "next" | "previous":
            diff.actions.move(1 if what == "next" else -1)
        case "revert" | "restore":
            generation, _, fingerprint = of.partition(":")
            if generation in (str(diff.generation), ANY_GENERATION):
                diff.actions.follow(what, fingerprint)
            else:
                say(diff.window, "This link is out of date.")
        case "endings":
            diff.actions.keep_endings(keeps=of == "revert")
        case "warnings":
            diff.say_warnings()
        case "reason":
            show_reason(diff.proposal, diff.review)
        case "reload":
            diff.actions.read_again()
        case _:
            pass
