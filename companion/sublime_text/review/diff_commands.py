"""The commands of diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import sublime
import sublime_plugin

from .. import package

if TYPE_CHECKING:
    from .diff_view import DiffView
    from .diffs import Diffs


class _DiffCommand(sublime_plugin.TextCommand):
    """A command on a diff: the one that the view belongs to, else the only one of the window."""

    def is_enabled(self) -> bool:
        """Whether it is clear which diff is meant."""
        adapter = package.adapter()
        if adapter is None:
            return False
        return adapter.diffs.awaited.has(self.view) or self._diff() is not None

    def is_visible(self) -> bool:
        """Whether it can do something: a menu has no entry otherwise."""
        return self.is_enabled()

    def run(self, edit: sublime.Edit, *, by_key: bool = False) -> None:
        """Run the command on the diff. `by_key` says that a key or a save did it, perhaps by accident."""
        adapter = package.adapter()
        if adapter and adapter.diffs.awaited.has(self.view):
            args = {"by_key": True} if by_key else {}
            adapter.diffs.awaited.later(lambda: self.view.run_command(self.name(), args))
        elif adapter and (diff := self._diff()):
            if not by_key and diff.has(self.view) and diff.is_shown:
                diff.attention.entered()
            self._on_diff(adapter.diffs, diff, by_key=by_key)

    def _diff(self) -> DiffView | None:
        adapter = package.adapter()
        return adapter.diffs.meant(self.view) if adapter else None

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        raise NotImplementedError


class QwenCompanionAcceptDiffCommand(_DiffCommand):
    """Accept the proposed change with the person's edits."""

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diffs.answers.accept(diff, by_key=by_key)


class QwenCompanionRejectDiffCommand(_DiffCommand):
    """Reject the proposed change."""

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diffs.answers.reject(diff, by_key=by_key)


class QwenCompanionReloadDiffCommand(_DiffCommand):
    """Compare with the file as it is on the disk now."""

    def is_enabled(self) -> bool:
        """Whether the file has changed since the diff was opened."""
        diff = self._diff()
        return diff is not None and diff.review.can_reload

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diffs.actions(diff).read_again()


class QwenCompanionDiffWarningsCommand(_DiffCommand):
    """Say what the header warns of, where it doesn't fit."""

    def is_enabled(self) -> bool:
        """Whether there is a warning."""
        diff = self._diff()
        return diff is not None and bool(diff.warnings)

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diff.say_warnings()


class QwenCompanionToggleLineEndingsCommand(_DiffCommand):
    """Revert a change of line endings or of the byte order mark, or make it again."""

    def is_enabled(self) -> bool:
        """Whether the proposal has such a change."""
        diff = self._diff()
        return diff is not None and bool(diff.review.endings)

    def _on_diff(self, diffs: Diffs, diff: DiffView, *, by_key: bool) -> None:
        diffs.actions(diff).keep_endings(keeps=not diff.review.keeps_endings)


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
    """Close one view of a diff, and not all views that are selected beside it."""

    def run(self, edit: sublime.Edit) -> None:
        """Without its original, the diff is inline; without its proposal, it is rejected."""
        self.view.close()

    def is_visible(self) -> bool:
        """It is not shown in menus."""
        return False


class QwenCompanionReopenRejectedCommand(sublime_plugin.WindowCommand):
    """Open the text of a diff that was rejected in this run."""

    def is_enabled(self) -> bool:
        """Whether there is one."""
        adapter = package.adapter()
        return adapter is not None and bool(adapter.diffs.answers.rejected)

    def run(self) -> None:
        """Open the only one, or choose from a list."""
        if adapter := package.adapter():
            adapter.diffs.answers.rejected.reopen(self.window)


class _WindowDiffsCommand(sublime_plugin.WindowCommand):
    """A command on all diffs of a window."""

    def is_enabled(self) -> bool:
        """Whether there is a diff."""
        return bool(self._diffs())

    def _diffs(self) -> list[DiffView]:
        adapter = package.adapter()
        return adapter.diffs.in_window(self.window) if adapter else []


class QwenCompanionAcceptAllCommand(_WindowDiffsCommand):
    """Accept every diff of the window that the person has seen."""

    def run(self) -> None:
        """Accept each with its current text. The others stay."""
        if adapter := package.adapter():
            adapter.diffs.answers.accept_all(self.window)


class QwenCompanionRejectAllCommand(_WindowDiffsCommand):
    """Reject every diff of the window."""

    def run(self) -> None:
        """Reject each."""
        if adapter := package.adapter():
            adapter.diffs.answers.reject_all(self.window)


class QwenCompanionGoToDiffCommand(sublime_plugin.WindowCommand):
    """Go to the next change that waits for a review, proposed or written, or to the one before.

    If nothing waits in this window, go to the window where a diff does.
    """

    def is_enabled(self) -> bool:
        """Whether anything waits."""
        adapter = package.adapter()
        if adapter is None:
            return False
        here = adapter.diffs.in_window(self.window) or adapter.written.listings.of(self.window).rows
        return bool(here or adapter.diffs.elsewhere(self.window))

    def is_visible(self) -> bool:
        """The same, in the menus."""
        return self.is_enabled()

    def run(self, *, previous: bool = False) -> None:
        """Proposals come first, since a CLI waits for them; the oldest one at the beginning."""
        if not (adapter := package.adapter()):
            return
        view, step = adapter.focus.last(self.window), -1 if previous else 1
        if view and adapter.diffs.awaited.has(view):
            adapter.diffs.awaited.later(lambda: self.run(previous=previous))
            return
        diffs, rows = adapter.diffs.in_window(self.window), adapter.written.listings.of(self.window).rows
        is_in_file = view is not None and adapter.written.listings.row_in(view) is not None
        if view and (diff := adapter.diffs.find(view)):
            adapter.diffs.entered(diff)
            adapter.diffs.actions(diff).move(step, lambda: self._go_beyond(diff, step))
        elif rows and (not diffs or (view and is_in_file and not adapter.written.is_last(view, step))):
            adapter.written.go(self.window, view, step)
        elif diffs and is_in_file:
            adapter.diffs.show(diffs[0 if step > 0 else -1], step)
        elif diffs:
            adapter.diffs.show_front(self.window)
        elif other := adapter.diffs.elsewhere(self.window):
            other.window.bring_to_front()
            adapter.diffs.show(other)

    def _go_beyond(self, diff: DiffView, step: Literal[1, -1]) -> None:
        """The diff has no further change: go to the next one, then to what is written, and around."""
        if not (adapter := package.adapter()):
            return
        diffs, rows = adapter.diffs.in_window(self.window), adapter.written.listings.of(self.window).rows
        at = diffs.index(diff) + step if diff in diffs else 0
        if rows and not 0 <= at < len(diffs):
            adapter.written.go(self.window, None, step)
        elif len(diffs) > 1:
            adapter.diffs.show(diffs[at % len(diffs)], step)
        else:
            adapter.diffs.actions(diff).move(step)
