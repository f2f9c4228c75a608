"""What the person does in diffs: their commands on changes, what they have seen, whether an answer counts.

The commands run one after the other, however fast they are given. Nothing is answered unseen. What they have edited or
rejected is kept: in a tab, or to be reopened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Literal

import sublime

from ...chats.transcript.plain import flat
from ...review.changes import Action, Target, edits_of
from ..bridge import unsaid
from ..buffers import text_of, write_all
from ..keys import KEYS
from ..panels import LONGEST_MESSAGE, NOTICES, PanelItem, choose, named, say
from ..windows import GroupContents, focus_view, select
from .diff_marks import ANY_GENERATION, make_edits, rows_in
from .header import NOT_EXACT, show_reason

if TYPE_CHECKING:
    from ...review.changes import TextEdit
    from ...review.marks import Marks
    from ..adapter import Adapter
    from .diff_view import DiffView

TARGETS = "qwen_companion.targets"
"""Key of the hidden regions that keep a command's carets while the proposal is edited."""
OVERTAKEN = "The proposal was edited meanwhile: do that again."
FAILED = "This can't be done here. The console has the error."
NOT_EDITABLE = "Accept or reject {name} as a whole: {cli} takes no edits."
EDITED = "This change was edited meanwhile: look at it again."
NO_CHANGE = "There is no change at the caret."
TRIES = 5
"""How often the edits of a command are computed again because the text has changed meanwhile."""

SETTLED = 1.0
"""Seconds that what appeared by itself has to stay until it counts as seen, and a key, a save or a click answers it."""
JUST_APPEARED = "The diff of {} has only just appeared. Try again in a second."
LONGEST_NAME = 24
"""Characters of a file's name in a message that has several."""


class ChangeActions:
    """The commands on the changes of one diff."""

    def __init__(self, adapter: Adapter, diff: DiffView) -> None:
        self._adapter = adapter
        self._diff = diff
        self._queue: deque[tuple[Callable[[], object], bool]] = deque()
        """What waits, each with whether it is about the text that those before it make."""
        self._waiting: Callable[[], Target] | None = None
        self._carets: list[sublime.Region] = []
        self._tries = 0
        self._done: tuple[Action, int, list[sublime.Region]] | None = None
        """What the key that undoes has done last, and the version and the carets of the proposal after that."""

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

    def keep(self) -> None:
        """Go on to the next change; at the last one the person hears how to answer."""
        accept = KEYS.after("Accept", "accept_diff")
        why = f"That was the last change of {flat(self._diff.review.name, LONGEST_NAME)}. {accept}"
        self.move(1, lambda: say(self._diff.window, why))

    def undo(self, view: sublime.View) -> None:
        """Revert the changes at the carets of the view that a command was run in, or restore what was reverted."""
        of_diff = view if self._diff.has(view) else self._diff.proposal
        self.add(lambda: self._begin_at_carets(self._undo_or_redo(), of_diff))

    def follow(self, action: Action, *fingerprints: str) -> None:
        """Revert or restore the changes that a link or a key names, as one edit."""
        self.add(lambda: self._begin(lambda: Target(action, fingerprints=fingerprints)))

    def compare(self) -> None:
        """Have the companion compare the texts as they are now, and mark what differs."""
        diff, number, text, version = self._diff, self._diff.review.number, self._diff.text(), self._diff.version
        if text is None or version is None:
            return

        def show(marks: Marks | None) -> None:
            if diff.version == version and (marks or diff.review.unmarked):  # else it is over
                diff.show_marks(marks)
                self._adapter.review_changed(diff.window)

        question = lambda companion: companion.reviews.texts.compared(number, text)  # noqa: E731
        self._adapter.ask_later(diff.window, question, show, unsaid)

    def read_again(self) -> None:
        """Compare with the file as it is on the disk now."""
        self._adapter.diffs.tell(lambda reviews: reviews.texts.reload(self._diff.review.number))

    def keep_endings(self, *, keeps: bool) -> None:
        """Use the line endings and the byte order mark of the file on disk, or those of the proposal."""
        self._adapter.diffs.tell(lambda reviews: reviews.texts.keep_endings(self._diff.review.number, keeps=keeps))

    def _make(self, target: Target, text: str, version: int, action: Action, edits: Sequence[TextEdit]) -> None:
        """Make the edits of a text at this version of the proposal, perhaps none, that revert or restore a target."""
        diff, proposal = self._diff, self._diff.proposal
        if not proposal.is_valid():
            return
        is_same = proposal.change_count() == version
        if edits and not is_same and self._tries < TRIES:
            self._compute()
            return
        if edits and is_same:
            make_edits(proposal, edits, moves_carets=list(proposal.sel()) == self._carets)
            self._done = target.action, proposal.change_count(), list(proposal.sel())
            if action == "revert":
                number, after = diff.review.number, text_of(proposal)
                self._adapter.diffs.tell(lambda reviews: reviews.texts.reverted(number, text, after))
        else:
            self._refuse(OVERTAKEN if edits else EDITED if target.fingerprints else NO_CHANGE)
        self._go_on()

    def _failed(self) -> None:
        self._refuse(FAILED)
        self._go_on()

    def _go_on(self) -> None:
        """A command is done: run what waits behind it."""
        self._waiting = None
        self._diff.proposal.erase_regions(TARGETS)
        self.run()

    def _refuse(self, why: str) -> None:
        """Say why a command does nothing. An acceptance that comes after it was meant for another text."""
        self._queue = deque(each for each in self._queue if not each[1])
        say(self._diff.window, why)

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
        review = self._diff.review
        if not self._diff.is_exact:  # the very text is accepted, and not that of the view
            self._refuse(NOT_EXACT)
        elif not review.is_editable:
            self._refuse(NOT_EDITABLE.format(cli=review.owner.cli, name=review.name))
        else:
            self._waiting = target
            self._carets = list(self._diff.proposal.sel())
            self._tries = 0
            self._compute()

    def _compute(self) -> None:
        """Have the edits for what waits computed elsewhere."""
        review, text = self._diff.review, self._diff.text()
        if self._waiting and text is not None:
            self._tries += 1
            target, version = self._waiting(), self._diff.proposal.change_count()
            original, shown = review.original, review.shown
            self._adapter.on_another_thread(
                lambda: edits_of(target, original, shown, text),
                lambda found: self._make(target, text, version, *found),
                self._failed,
            )


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
    """Accepts and rejects diffs."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

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
        diffs = self._adapter.diffs.in_window(window)
        seen = [diff for diff in diffs if diff.attention.is_seen]
        for diff in seen:
            self.accept(diff)
        if not seen and diffs:
            NOTICES.add(naming(f"Nothing accepted. Go to each first{KEYS.in_brackets('go_to_diff')}", diffs), window)

    def reject_all(self, window: sublime.Window) -> None:
        """Reject every diff of a window."""
        for diff in self._adapter.diffs.in_window(window):
            self.reject(diff)

    def closed(self, diff: DiffView) -> None:
        """The person has closed the proposal, which rejects it."""
        self._adapter.diffs.tell(lambda reviews: reviews.reject(diff.review.number))

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
            self._adapter.diffs.show(diff)
            why = f"Look at the diff of {name} before you answer."
        say(diff.window, why)
        return False

    def _accept(self, diff: DiffView) -> None:
        text = diff.text()
        if text is None or diff.attention.is_answered:  # and about to close
            return
        diff.attention.is_answered = True
        self._adapter.comments.accepted(diff)
        self._adapter.diffs.tell(lambda reviews: reviews.accept(diff.review.number, text))

    def _reject(self, diff: DiffView) -> None:
        if diff.attention.is_answered:
            return
        diff.attention.is_answered = True
        text = diff.text()
        diff.is_kept = diff.is_kept or text is not None
        self._adapter.diffs.tell(lambda reviews: reviews.reject(diff.review.number, text))

    def follow(self, diff: DiffView, href: str) -> None:
        """Do what a link of a diff says, which the person has clicked, unless the next instance has the diff by now."""
        if diff in self._adapter.diffs.in_window(diff.window):
            if not diff.attention.is_new:
                diff.attention.entered()
            what, _, of = href.partition(":")
            self._clicked(diff, what, of)

    def _clicked(self, diff: DiffView, what: str, of: str) -> None:
        match what:
            case "accept" | "reject":
                answer = self.accept if what == "accept" else self.reject
                answer(diff, by_key=True)
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
        if count and len(named(longer)) > LONGEST_MESSAGE:
            break
        message = longer
    return message
