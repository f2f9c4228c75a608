"""The commands of the review: of proposals, of what is written already, and those of the keys in the Review's tab."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import sublime
import sublime_plugin

from ...chats.transcript.plain import flat
from ...editor import WindowId
from ...review.changes import counted
from ...review.document import GAP_KIND, REMOVED_KIND, Block, ReviewTurn
from .. import package
from ..comments.comment_commands import go_to
from ..comments.views import CommentTarget
from ..panels import PanelItem, choose, say, show_turn
from ..places import if_openable
from ..windows import as_opened, is_code, is_visible
from .answers import reopen

if TYPE_CHECKING:
    from ...changes.decisions import Point, Preview
    from ...changes.rows import ChangeRow
    from ...changes.state import Decision
    from ...chats.history import ChangedFile
    from ..adapter import Adapter
    from .diff_view import DiffView
    from .diffs import Diffs
    from .review_tab import ReviewTab, What

FILTER = "Show only files with"
NAMED_FILES = 20
"""Files of a kind that a question names."""


class _WindowCommand(sublime_plugin.WindowCommand):
    """A command in a window, which the menus and the palette have only while there is something for it to do."""

    def is_visible(self) -> bool:
        """Whether there is."""
        return (adapter := package.adapter()) is not None and self._has_work(adapter)

    def run(self) -> None:
        """Nothing is done while the package isn't loaded."""
        if adapter := package.adapter():
            self._do(adapter)

    def _has_work(self, adapter: Adapter) -> bool:
        return True

    def _do(self, adapter: Adapter) -> None:
        raise NotImplementedError

    @property
    def _number(self) -> WindowId:
        return WindowId(self.window.id())

    @property
    def _is_at_code(self) -> bool:
        """Whether the window has a folder, and the person looks at a file or at nothing."""
        view = self.window.active_view()
        return bool(self.window.folders()) and (view is None or is_code(view))


class _DiffCommand(sublime_plugin.TextCommand):
    """A command on a diff: the one that the view belongs to, else the only one of the window."""

    def is_enabled(self) -> bool:
        """Whether it is clear which diff is meant, and it can do something there."""
        adapter = package.adapter()
        if adapter is None:
            return False
        return adapter.diffs.awaits(self.view) or ((diff := self._diff()) is not None and self._is_for(diff))

    def is_visible(self) -> bool:
        """Whether it can do something: a menu has no entry otherwise."""
        return self.is_enabled()

    def run(self, edit: sublime.Edit, *, by_key: bool = False) -> None:
        """Run the command on the diff. `by_key` says that a key or a save did it, perhaps by accident."""
        adapter = package.adapter()
        if adapter and adapter.diffs.awaits(self.view):
            args = {"by_key": True} if by_key else {}
            adapter.diffs.later(lambda: self.view.run_command(self.name(), args))
        elif adapter and (diff := self._diff()):
            if not by_key and diff.has(self.view) and diff.is_shown:
                diff.attention.entered()
            self._on_diff(adapter.diffs, diff, by_key=by_key)

    def _diff(self) -> DiffView | None:
        adapter = package.adapter()
        return adapter.diffs.meant(self.view) if adapter else None

    def _is_for(self, diff: DiffView) -> bool:
        return True

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        raise NotImplementedError


class QwenCompanionAcceptDiffCommand(_DiffCommand):
    """Accept the proposed change with your edits."""

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diffs.answers.accept(diff, by_key=by_key)


class QwenCompanionRejectDiffCommand(_DiffCommand):
    """Reject the proposed change."""

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diffs.answers.reject(diff, by_key=by_key)


class QwenCompanionReloadDiffCommand(_DiffCommand):
    """Compare with the file as it is on the disk now."""

    def _is_for(self, diff: DiffView) -> bool:
        return diff.review.can_reload

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diff.actions.read_again()


class QwenCompanionDiffWarningsCommand(_DiffCommand):
    """Say what the header warns of, where it doesn't fit."""

    def _is_for(self, diff: DiffView) -> bool:
        return bool(diff.warnings)

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diff.say_warnings()


class QwenCompanionToggleLineEndingsCommand(_DiffCommand):
    """Revert a change of line endings or of the byte order mark, or make it again."""

    def _is_for(self, diff: DiffView) -> bool:
        return bool(diff.review.endings)

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diff.actions.keep_endings(keeps=not diff.review.keeps_endings)


class QwenCompanionToggleDiffLayoutCommand(_DiffCommand):
    """Switch a diff, or a file with written changes, between side by side and inline."""

    def is_enabled(self) -> bool:
        """Whether there is a diff, or something to show beside the file."""
        adapter = package.adapter()
        return super().is_enabled() or (adapter is not None and adapter.written.can_toggle(self.view))

    def run(self, edit: sublime.Edit, *, by_key: bool = False) -> None:
        """In a file with written changes, show its baseline beside it."""
        adapter = package.adapter()
        if adapter and adapter.written.can_toggle(self.view):
            adapter.written.toggle_layout(self.view)
        else:
            super().run(edit, by_key=by_key)

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diff.has_chosen_layout = True
        diff.toggle_layout()


class QwenCompanionCloseDiffViewCommand(sublime_plugin.TextCommand):
    """Close one view of a diff, or a baseline, and not all views that are selected beside it."""

    def run(self, edit: sublime.Edit) -> None:
        """Without its original, the diff is inline; without its proposal, it is rejected."""
        self.view.close()


class QwenCompanionReopenRejectedCommand(_WindowCommand):
    """Open the text of a diff that was rejected in this run."""

    def _has_work(self, adapter: Adapter) -> bool:
        return adapter.written.listings.has_rejected

    def _do(self, adapter: Adapter) -> None:
        adapter.ask_later(self.window, lambda companion: companion.decisions.rejected(), partial(reopen, self.window))


class _EveryDiffCommand(_WindowCommand):
    def _has_work(self, adapter: Adapter) -> bool:
        return bool(adapter.diffs.in_window(self.window))


class QwenCompanionAcceptAllCommand(_EveryDiffCommand):
    """Accept every diff of the window that you have seen."""

    def _do(self, adapter: Adapter) -> None:
        adapter.diffs.answers.accept_all(self.window)


class QwenCompanionRejectAllCommand(_EveryDiffCommand):
    """Reject every diff of the window."""

    def _do(self, adapter: Adapter) -> None:
        adapter.diffs.answers.reject_all(self.window)


class QwenCompanionGoToDiffCommand(sublime_plugin.WindowCommand):
    """Go to the next change that waits for a review, proposed or written, or to the one before.

    Where no file is in sight, open the Review. If nothing waits in this window, go to the window where a diff does.
    """

    def is_enabled(self) -> bool:
        """Whether anything waits."""
        return package.is_waiting(self.window)

    is_visible = is_enabled

    def run(self, *, previous: bool = False) -> None:
        """Proposals come first, since a CLI waits for them; the oldest one at the beginning."""
        if not (adapter := package.adapter()):
            return
        view, step = adapter.focus.last(self.window), -1 if previous else 1
        if view and adapter.diffs.awaits(view):
            adapter.diffs.later(lambda: self.run(previous=previous))
            return
        view = adapter.written.sides.right_of(view) if view else None
        diffs, rows = adapter.diffs.in_window(self.window), adapter.written.listings.of(self.window).rows
        views = self.window.views(include_transient=True)
        is_in_file = view is not None and adapter.written.listings.row_in(view) is not None
        if view and (tab := adapter.review.of(view)):
            tab.go("change", step)
        elif view and (diff := adapter.diffs.find(view)):
            adapter.diffs.entered(diff)
            diff.actions.move(step, lambda: self._go_beyond(diff, step))
        elif rows and not diffs and not any(is_code(each) and is_visible(each) for each in views):
            adapter.review.show(self.window)
        elif rows and (not diffs or (view and is_in_file and not adapter.written.is_last(view, step))):
            adapter.written.go(self.window, view, step)
        elif diffs and is_in_file:
            adapter.diffs.show(diffs[0 if step > 0 else -1], step)
        elif diffs:
            adapter.diffs.show(next((diff for diff in diffs if diff.is_shown), diffs[0]))
        elif other := adapter.diffs.elsewhere(self.window):
            other.window.bring_to_front()
            adapter.diffs.show(other)

    def _go_beyond(self, diff: DiffView, step: Literal[1, -1]) -> None:
        """The diff has no further change: go to the next one, then to what is written, and around."""
        if not (adapter := package.adapter()):
            return
        view = self.window.active_view()
        if (here := adapter.diffs.find(view) if view else None) and here is not diff:  # a key before has led there
            here.actions.move(step, lambda: self._go_beyond(here, step))
            return
        diffs, rows = adapter.diffs.in_window(self.window), adapter.written.listings.of(self.window).rows
        at = diffs.index(diff) + step if diff in diffs else 0
        if rows and not 0 <= at < len(diffs) and adapter.written.go(self.window, None, step):
            return
        if len(diffs) > 1:
            adapter.diffs.show(diffs[at % len(diffs)], step)
        else:
            diff.actions.move(step)


def _waits(window: sublime.Window) -> bool:
    """Whether written changes of a window wait for a review."""
    adapter = package.adapter()
    return adapter is not None and bool(adapter.written.listings.of(window).rows)


class _ChangeCommand(sublime_plugin.TextCommand):
    """A command on the changes at the carets, of a proposal or of a file that is written already."""

    decision: Decision = "keep"

    def is_enabled(self) -> bool:
        """Whether a caret is in a change, or the view is one of a proposal."""
        return package.is_in_change(self.view)

    def run(self, edit: sublime.Edit) -> None:
        """In a proposal after a reload, as soon as it is known whether it goes on."""
        if not (adapter := package.adapter()):
            return
        if adapter.diffs.awaits(self.view):
            adapter.diffs.later(partial(self.run, edit))
        elif not (diff := adapter.diffs.find(self.view)):
            adapter.written.decide_at_carets(self.view, self.decision)
        else:
            adapter.diffs.entered(diff)
            if self.decision == "keep":
                diff.actions.keep()
            else:
                diff.actions.undo(self.view)


class QwenCompanionKeepChangeCommand(_ChangeCommand):
    """Keep the changes at the carets, or the selected lines of a written one, and go to the next change."""

    decision = "keep"


class QwenCompanionUndoChangeCommand(_ChangeCommand):
    """Undo the changes at the carets, or the selected lines of a written one; in a proposal, once more restores it."""

    decision = "undo"


class _FileCommand(sublime_plugin.WindowCommand):
    """A command on a whole file: the proposal that has the focus, else one with written changes.

    That is the one at the Review's caret, the one of a path, or the active one.
    """

    decision: Decision = "keep"

    def is_enabled(self) -> bool:
        """Whether anything waits."""
        return self._diff() is not None or _waits(self.window)

    def is_visible(self) -> bool:
        """Whether the file that it would be for has such changes."""
        return self._diff() is not None or self._row("") is not None

    def run(self, path: str = "", *, by_key: bool = False) -> None:
        """Answer the proposal, or keep or undo all changes of the file; then the next file comes."""
        if not (adapter := package.adapter()):
            return
        if not path and (diff := self._diff()):
            answer = "accept" if self.decision == "keep" else "reject"
            diff.proposal.run_command(f"qwen_companion_{answer}_diff", {"by_key": by_key})
        elif row := self._row(path):
            view = None if path else adapter.focus.last(self.window)
            if tab := adapter.review.of(view) if view else None:
                tab.decide(self.decision, is_file=True)
            else:
                adapter.written.decide_file(self.window, row, self.decision)
        else:
            say(self.window, "No change in this file waits for a review.")

    def _diff(self) -> DiffView | None:
        """The proposal that has the focus."""
        adapter = package.adapter()
        view = adapter.focus.last(self.window) if adapter else None
        return adapter.diffs.find(view) if adapter and view else None

    def _row(self, path: str) -> ChangeRow | None:
        if not (adapter := package.adapter()):
            return None
        if path:
            return adapter.written.listings.row_of(self.window, path)
        view = adapter.focus.last(self.window)
        return (adapter.review.row_at_caret(view) or adapter.written.listings.row_in(view)) if view else None


class QwenCompanionKeepFileCommand(_FileCommand):
    """Keep all changes of a file: accept a proposal, or keep what is written."""

    decision = "keep"


class QwenCompanionUndoFileCommand(_FileCommand):
    """Undo all changes of a file: reject a proposal, or undo what is written."""

    decision = "undo"


class _EveryChangeCommand(_WindowCommand):
    decision: Decision

    def is_enabled(self) -> bool:
        """Whether anything waits."""
        return _waits(self.window)

    def _has_work(self, adapter: Adapter) -> bool:
        # With a diff in front it could be taken for that one's.
        return self.is_enabled() and not package.is_in_diff(self.window.active_view())

    def _do(self, adapter: Adapter) -> None:
        adapter.written.decide_all(self.window, self.decision)


class QwenCompanionKeepAllChangesCommand(_EveryChangeCommand):
    """Keep everything that agents have written."""

    decision = "keep"


class QwenCompanionUndoAllChangesCommand(_EveryChangeCommand):
    """Undo everything that agents have written."""

    decision = "undo"


class QwenCompanionTheyAreMineCommand(_WindowCommand):
    """Say that you have used git yourself: what it has changed is no longer listed as an agent's."""

    def _has_work(self, adapter: Adapter) -> bool:
        return adapter.written.listings.of(self.window).by_git > 0

    def _do(self, adapter: Adapter) -> None:
        number = self._number
        adapter.thread.post(lambda companion: companion.decisions.they_are_mine(number))


class QwenCompanionTakeBackCommand(_WindowCommand):
    """Take back what was decided last: a keep, an undo, a restore, an accepted or a rejected proposal."""

    def _has_work(self, adapter: Adapter) -> bool:
        is_reverted = any(diff.review.reverts for diff in adapter.diffs.in_window(self.window))
        return is_reverted or adapter.written.listings.of(self.window).can_take_back

    def _do(self, adapter: Adapter) -> None:
        number = self._number
        take_back = partial(adapter.thread.post, lambda companion: companion.decisions.take_back(number))
        then = partial(adapter.review.after_decisions, self.window, take_back)
        adapter.diffs.after_commands(self.window, then)


class QwenCompanionCompareOverwrittenCommand(sublime_plugin.TextCommand):
    """Show what a save of this file has overwritten of an agent's beside the file."""

    def is_enabled(self) -> bool:
        """Whether there is something to compare."""
        adapter = package.adapter()
        return adapter is not None and adapter.written.overwritten.waits(self.view)

    is_visible = is_enabled

    def run(self, edit: sublime.Edit) -> None:
        """Once."""
        if adapter := package.adapter():
            adapter.written.overwritten.compare(self.view)


class QwenCompanionBeginRoundCommand(_WindowCommand):
    """Begin a review round: what is on the disk now counts as reviewed."""

    def _has_work(self, adapter: Adapter) -> bool:
        is_there = adapter.status_bar.clis(self.window) or adapter.chats.within(self.window)
        return self._is_at_code and (bool(is_there) or _waits(self.window))

    def _do(self, adapter: Adapter) -> None:
        if not self.window.folders():
            say(self.window, "Open a folder first: what is reviewed is in the folders of the window.")
            return
        files = len(adapter.written.listings.of(self.window).rows)
        question = f"{counted(files, 'file')} wait{'s' * (files == 1)} for a review. Begin a new round anyway?"
        if not files or sublime.ok_cancel_dialog(question, "Begin a New Round"):
            number = self._number
            adapter.thread.post(lambda companion: companion.changes.begin(number))
            adapter.comments.forget_sent(self.window)


class QwenCompanionRestoreCheckpointCommand(_WindowCommand):
    """Go back to the files as they were before a prompt."""

    def _has_work(self, adapter: Adapter) -> bool:
        return adapter.written.listings.of(self.window).has_checkpoints

    def _do(self, adapter: Adapter) -> None:
        window, number = self.window, self._number

        def listed(found: list[Point]) -> None:
            if not found:
                say(window, "There is no checkpoint yet.")
                return
            items: list[PanelItem] = [
                (point.words or f"{point.agent or 'An agent'} begins to write", _details(point), partial(plan, point))
                for point in found
            ]
            choose(window, items, "Go back to the files before…")

        def plan(point: Point) -> None:
            planned = partial(_confirm_restore, adapter, window, point)
            adapter.ask_later(window, lambda companion: companion.decisions.planned(point), planned)

        adapter.ask_later(window, lambda companion: companion.decisions.points(number), listed)


def _details(point: Point) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(point.at))
    return f"{at} · {point.agent} · {counted(point.files, 'file')} changed since"


def _confirm_restore(adapter: Adapter, window: sublime.Window, point: Point, preview: Preview) -> None:
    if not preview.files and not preview.left:
        say(window, "Nothing has changed since then.")
        return
    parts = (
        ("Changes", preview.changed),
        ("Deletes", preview.deleted),
        ("Brings back", preview.back),
        ("Moves back", preview.moved),
        ("Left alone", preview.left),
    )
    question = f"Restore {counted(preview.files, 'file')}? What you have saved yourself stays."
    question += "".join(f"\n\n{what}:\n{_names(paths)}" for what, paths in parts if paths)
    if sublime.ok_cancel_dialog(question, "Restore"):
        number = WindowId(window.id())
        shown = preview.shown
        adapter.thread.post(lambda companion: companion.decisions.restore(number, point.root, point.number, shown))


def _names(paths: Sequence[str]) -> str:
    return "\n".join(flat(path, 200) for path in paths[:NAMED_FILES]) + ("\n…" if len(paths) > NAMED_FILES else "")


class QwenCompanionForgetSnapshotsCommand(_WindowCommand):
    """Remove the snapshots of all folders."""

    def _do(self, adapter: Adapter) -> None:
        question = (
            "Remove all snapshots? What agents have written then counts as reviewed, and can't be undone. "
            "Why they have written it is forgotten."
        )
        if sublime.ok_cancel_dialog(question, "Forget Snapshots"):
            number = self._number
            adapter.thread.post(lambda companion: companion.forget(number))


class QwenCompanionUnsavedTextCommand(sublime_plugin.TextCommand):
    """Merge, keep or drop unsaved text of a file that an agent has written meanwhile."""

    def run(self, edit: sublime.Edit) -> None:
        """Ask which."""
        if (adapter := package.adapter()) and (window := self.view.window()):
            adapter.unsaved.ask(window, self.view)

    def is_visible(self) -> bool:
        """Whether there is something to decide."""
        adapter = package.adapter()
        return adapter is not None and adapter.unsaved.waits(self.view)


class QwenCompanionReviewCommand(_WindowCommand):
    """Open the Review: all changes of the window in one tab."""

    def _has_work(self, adapter: Adapter) -> bool:
        return bool(adapter.diffs.in_window(self.window) or adapter.comments.notes(self.window)) or _waits(self.window)

    def _do(self, adapter: Adapter) -> None:
        adapter.review.show(self.window)


class QwenCompanionReviewSinceCommand(_WindowCommand):
    """Review all that has changed since a branch point, a tag or a commit, whoever has changed it."""

    def _has_work(self, adapter: Adapter) -> bool:
        return self._is_at_code and adapter.settings.of(self.window, "review") != "off"

    def _do(self, adapter: Adapter) -> None:
        adapter.review.choose_since(self.window)


class _ReviewCommand(sublime_plugin.TextCommand):
    """A command in the Review."""

    def tab(self) -> ReviewTab | None:
        """The Review that has the focus."""
        adapter = package.adapter()
        return adapter.review.of(self.view) if adapter else None


class QwenCompanionReviewGoCommand(_ReviewCommand):
    """Go to the next or the previous change, file or turn."""

    def run(self, edit: sublime.Edit, to: What, *, back: bool = False) -> None:
        """It is filled in first if it has to be."""
        if tab := self.tab():
            tab.go(to, -1 if back else 1)


class QwenCompanionReviewDecideCommand(_ReviewCommand):
    """Keep or undo what is at the caret, or answer a proposal."""

    def run(self, edit: sublime.Edit, what: Literal["keep", "undo", "accept", "reject"], *, file: bool = False) -> None:
        """On a heading, all under it is meant."""
        if not (tab := self.tab()):
            return
        if what in ("keep", "undo"):
            tab.decide(what, is_file=file)
            return
        tab.answer_here(what)


class QwenCompanionDecideTurnCommand(_ReviewCommand):
    """Keep or undo all changes under the heading of the turn at the caret in the Review."""

    def is_visible(self) -> bool:
        """Whether it is the Review of what waits."""
        tab = self.tab()
        return tab is not None and tab.feed.kind == "review"

    def run(self, edit: sublime.Edit, what: Decision) -> None:
        """Proposals under it wait for their own answers."""
        if tab := self.tab():
            tab.decide_turn(what)


class QwenCompanionShowTurnCommand(_ReviewCommand):
    """Show what a turn had changed when it ended: the one under whose heading the caret is in the Review."""

    def is_visible(self) -> bool:
        """Whether the caret is in what somebody has written."""
        tab = self.tab()
        return tab is not None and tab.turn is not None and isinstance(tab.turn.key, str)

    def run(self, edit: sublime.Edit) -> None:
        """In a tab, as one diff."""
        adapter, window, tab = package.adapter(), self.view.window(), self.tab()
        if adapter and window and tab and (turn := tab.turn):
            _show_turn(adapter, window, turn)


def _show_turn(adapter: Adapter, window: sublime.Window, turn: ReviewTurn) -> None:
    number, key, folder = WindowId(window.id()), turn.key, next(iter(window.folders()), "")
    if not isinstance(key, str):
        say(window, "There is no turn here to show.")
        return

    def show(found: tuple[ChangedFile, ...] | None) -> None:
        if found:
            show_turn(window, key, [file.diff for file in found])
        else:
            say(window, "Nobody has seen that turn begin, so nothing is known of what it had changed.")

    adapter.ask_later(window, lambda companion: companion.chats.turn_changes(number, key, folder), show)


class QwenCompanionReviewDoCommand(_ReviewCommand):
    """Open what is at the caret, comment on it, dismiss an agent's note, fold a file, or filter."""

    def run(
        self,
        edit: sublime.Edit,
        what: Literal["open", "beside", "comment", "dismiss", "fold", "fold_all", "filter"],
    ) -> None:
        """Each has a key."""
        adapter, tab, window = package.adapter(), self.tab(), self.view.window()
        if adapter is None or tab is None or window is None:
            return
        match what:
            case "open" | "beside":
                self._open(adapter, window, tab, beside=what == "beside")
            case "comment":
                self._comment(adapter, window, tab)
            case "dismiss":
                self._dismiss(adapter, window, tab)
            case "fold" | "fold_all":
                tab.fold(is_all=what == "fold_all")
            case "filter":
                self._filter(window, tab)

    def _filter(self, window: sublime.Window, tab: ReviewTab) -> None:
        before = tab.wanted

        def done(words: str) -> None:
            tab.filter(words)
            window.focus_view(tab.view)

        window.show_input_panel(FILTER, before, done, tab.filter, lambda: tab.filter(before))

    def _open(self, adapter: Adapter, window: sublime.Window, tab: ReviewTab, *, beside: bool) -> None:
        feed, (block, line) = tab.feed, tab.here()
        row, diff = (feed.rows.get(block.file.key), feed.proposals.get(block.file.key)) if block.file else (None, None)
        number = _number(block, line)
        if diff:
            adapter.diffs.show(diff)
            if number:
                diff.actions.add(partial(diff.go_to_line, number))
            if beside and diff.layout == "inline":
                diff.has_chosen_layout = True
                diff.toggle_layout()
        elif row and row.kind in ("deleted", "link"):
            say(window, f"{row.path} is {row.kind}: there is nothing to open.")
        elif row:
            has_baseline = beside and feed.kind == "review"

            def open_it() -> None:
                window.focus_group(adapter.focus.code_group(window))
                adapter.written.open_line(window, row, number or 1, beside=has_baseline)

            if_openable(adapter, window, row.full_path, open_it)
        elif said := feed.comments.get(block.key):
            go_to(adapter, window, said)
        elif tab.turn:
            _show_turn(adapter, window, tab.turn)
        else:
            say(window, "There is nothing to open at the caret.")

    def _comment(self, adapter: Adapter, window: sublime.Window, tab: ReviewTab) -> None:
        feed, (block, line) = tab.feed, tab.here()
        number, body = _number(block, line), block.body
        if (said := feed.comments.get(block.key)) and said.by:
            target = CommentTarget(said.path, said.side, said.by)
            adapter.comments.write_at(window, target, said.first, said.lines)
            return
        if block.file is None or body is None or not number or block.kinds[line] == GAP_KIND:
            say(window, "Put the caret on a line of a change to comment on it.")
            return
        diff, row = feed.proposals.get(block.file.key), feed.rows.get(block.file.key)
        if diff:
            side = "proposal"
            if block.kinds[line] == REMOVED_KIND:
                side, number = "original", body.numbers[line - 1]
            target = CommentTarget(diff.review.file_path, side, diff.review.owner.cli)
        elif row:
            side = "removed" if block.kinds[line] == REMOVED_KIND else "file"
            target = CommentTarget(
                as_opened(window, row.full_path), side, row.agents[0] if len(row.agents) == 1 else ""
            )
        else:
            return
        adapter.comments.write_at(window, target, number, (body.line(line - 1),))

    def _dismiss(self, adapter: Adapter, window: sublime.Window, tab: ReviewTab) -> None:
        block, _ = tab.here()
        if (said := tab.feed.comments.get(block.key)) and said.by:
            adapter.comments.delete([said])
        else:
            say(window, "Put the caret on what an agent points out to dismiss it.")


def _number(block: Block, line: int) -> int:
    """The line of the new text that a line of a block stands for, from 1; 0 if there is none.

    For a removed line it is the one that is there now.
    """
    body = block.body
    if body is None or line == 0:
        return 0
    at = line - 1
    if block.kinds[line] == REMOVED_KIND:
        return body.changes[body.owners[at]][2] + 1
    return body.numbers[at] or (body.numbers[at + 1] if at + 1 < body.lines else 0)
