"""The commands of written changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ...ids import WindowId
from .. import package
from ..panels import say
from ..windows import is_code

if TYPE_CHECKING:
    from ...changes.rows import ChangeRow
    from .diff_view import DiffView
    from .diffs import Diffs
    from .written import Decision, WrittenChanges


class QwenCompanionReviewChangesCommand(sublime_plugin.WindowCommand):
    """Go to the first change that an agent has written and nobody has reviewed."""

    def run(self) -> None:
        """Say so if there is none."""
        if adapter := package.adapter():
            adapter.written.go(self.window, None)

    def is_visible(self) -> bool:
        """Whether there is one; `F8` leads there from a diff."""
        return _waits(self.window) and not package.is_in_diff(self.window.active_view())


def _waits(window: sublime.Window) -> bool:
    """Whether written changes of a window wait for a review."""
    adapter = package.adapter()
    return adapter is not None and bool(adapter.written.listings.of(window).rows)


class _ChangeCommand(sublime_plugin.TextCommand):
    """A command on the changes at the carets, of a proposal or of a file that is written already."""

    def is_enabled(self) -> bool:
        """Whether a caret is in a change, or the view is one of a proposal."""
        return package.is_in_change(self.view)

    def run(self, edit: sublime.Edit) -> None:
        """In a proposal after a reload, as soon as it is known whether it goes on."""
        self._run()

    def _run(self) -> None:
        if not (adapter := package.adapter()):
            return
        if adapter.diffs.awaited.has(self.view):
            adapter.diffs.awaited.later(self._run)
        elif diff := adapter.diffs.find(self.view):
            adapter.diffs.entered(diff)
            self._in_proposal(adapter.diffs, diff)
        else:
            self._in_file(adapter.written)

    def _in_proposal(self, diffs: Diffs, diff: DiffView) -> None:
        raise NotImplementedError

    def _in_file(self, written: WrittenChanges) -> None:
        raise NotImplementedError


class QwenCompanionKeepChangeCommand(_ChangeCommand):
    """Keep the changes at the carets, or the selected lines of a written one, and go to the next change."""

    def _in_proposal(self, diffs: Diffs, diff: DiffView) -> None:
        diffs.keep_change(diff)

    def _in_file(self, written: WrittenChanges) -> None:
        written.decide_at_carets(self.view, "keep")


class QwenCompanionUndoChangeCommand(_ChangeCommand):
    """Undo the changes at the carets, or the selected lines of a written one; in a proposal, once more restores it."""

    def _in_proposal(self, diffs: Diffs, diff: DiffView) -> None:
        diffs.actions(diff).undo(self.view)

    def _in_file(self, written: WrittenChanges) -> None:
        written.decide_at_carets(self.view, "undo")


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


class _AllCommand(sublime_plugin.WindowCommand):
    """A command on all written changes of a window."""

    decision: Decision = "keep"

    def is_enabled(self) -> bool:
        """Whether anything waits."""
        return _waits(self.window)

    def is_visible(self) -> bool:
        """Whether it can do something, and no diff has the focus, in which it could be taken for that one's."""
        return self.is_enabled() and not package.is_in_diff(self.window.active_view())

    def run(self) -> None:
        """Keep or undo them."""
        if adapter := package.adapter():
            adapter.written.decide_all(self.window, self.decision)


class QwenCompanionKeepAllChangesCommand(_AllCommand):
    """Keep everything that agents have written."""

    decision = "keep"


class QwenCompanionUndoAllChangesCommand(_AllCommand):
    """Undo everything that agents have written."""

    decision = "undo"


class QwenCompanionTakeBackCommand(sublime_plugin.WindowCommand):
    """Take back what was decided last: a keep, an undo, a restore, an accepted or a rejected proposal."""

    def is_visible(self) -> bool:
        """Whether anything was ever listed, so that something may have been undone, and the person looks at a file."""
        adapter, view = package.adapter(), self.window.active_view()
        return adapter is not None and not adapter.written.listings.is_empty and (view is None or is_code(view))

    def run(self) -> None:
        """Ask only if text of the person's own goes with that."""
        if adapter := package.adapter():
            number = WindowId(self.window.id())
            adapter.thread.post(lambda companion: companion.decisions.take_back(number))


class QwenCompanionCompareOverwrittenCommand(sublime_plugin.TextCommand):
    """Show what a save of this file has overwritten of an agent's beside the file."""

    def is_enabled(self) -> bool:
        """Whether there is something to compare."""
        adapter = package.adapter()
        return adapter is not None and adapter.written.overwritten.waits(self.view)

    def is_visible(self) -> bool:
        """Not in the palette otherwise."""
        return self.is_enabled()

    def run(self, edit: sublime.Edit) -> None:
        """Once."""
        if adapter := package.adapter():
            adapter.written.overwritten.compare(self.view)


class QwenCompanionBeginRoundCommand(sublime_plugin.WindowCommand):
    """Begin a review round: what is on the disk now counts as reviewed."""

    def is_visible(self) -> bool:
        """Whether an agent is there, or something waits, and the person looks at a file."""
        adapter, view = package.adapter(), self.window.active_view()
        if adapter is None or not self.window.folders() or (view and not is_code(view)):
            return False
        is_there = adapter.status_bar.clis(self.window) or adapter.chats.within(self.window)
        return bool(is_there) or _waits(self.window)

    def run(self) -> None:
        """Ask first if something waits."""
        if not (adapter := package.adapter()):
            return
        if not self.window.folders():
            say(self.window, "Open a folder first: what is reviewed is in the folders of the window.")
            return
        files = len(adapter.written.listings.of(self.window).rows)
        question = f"{files} file{'s' * (files != 1)} wait{'s' * (files == 1)} for a review. Begin a new round anyway?"
        if not files or sublime.ok_cancel_dialog(question, "Begin a New Round"):
            number = WindowId(self.window.id())
            adapter.thread.post(lambda companion: companion.changes.begin(number))
            adapter.comments.forget_sent(self.window)


class QwenCompanionRestoreCheckpointCommand(sublime_plugin.WindowCommand):
    """Go back to the files as they were before a prompt."""

    def run(self) -> None:
        """Choose from a list; then say what is going to be done."""
        if adapter := package.adapter():
            adapter.checkpoints.choose(self.window)


class QwenCompanionForgetSnapshotsCommand(sublime_plugin.WindowCommand):
    """Remove the snapshots of all folders."""

    def run(self) -> None:
        """Ask first."""
        question = (
            "Remove all snapshots? What agents have written then counts as reviewed, and can't be undone. "
            "Why they have written it is forgotten."
        )
        if (adapter := package.adapter()) and sublime.ok_cancel_dialog(question, "Forget Snapshots"):
            number = WindowId(self.window.id())
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
