"""The commands of diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from .. import package

if TYPE_CHECKING:
    from .diffs import Diffs
    from .view import DiffView


class QwenCompanionEditDiffCommand(sublime_plugin.TextCommand):
    """Replace a part of a view with a text, unchanged."""

    def run(self, edit: sublime.Edit, start: int, end: int, text: str) -> None:
        """`start` and `end` are points; `text` has plain line feeds."""
        settings = self.view.settings()
        translates_tabs = "\t" in text and settings.get("translate_tabs_to_spaces")
        if translates_tabs:
            settings.set("translate_tabs_to_spaces", False)
        self.view.replace(edit, sublime.Region(start, end), text)
        if translates_tabs:
            settings.set("translate_tabs_to_spaces", True)

    def is_visible(self) -> bool:
        """It is not shown in menus."""
        return False


class _DiffCommand(sublime_plugin.TextCommand):
    """A command on a diff: the one that the view belongs to, else the only one of the window."""

    def is_enabled(self) -> bool:
        """Whether it is clear which diff is meant."""
        adapter = package.adapter()
        return adapter is not None and adapter.diffs.meant(self.view) is not None

    def run(self, edit: sublime.Edit) -> None:
        """Run the command on the diff."""
        if (adapter := package.adapter()) and (diff := adapter.diffs.meant(self.view)):
            self.on_diff(adapter.diffs, diff)

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Run the command on a diff."""
        raise NotImplementedError


class QwenCompanionAcceptDiffCommand(_DiffCommand):
    """Accept the proposed change with the person's edits."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Tell the CLI, which writes the file."""
        diffs.accept(diff)


class QwenCompanionRejectDiffCommand(_DiffCommand):
    """Reject the proposed change."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Tell the CLI, which leaves the file as it is."""
        diffs.reject(diff)


class QwenCompanionNextChangeCommand(_DiffCommand):
    """Go to the next change."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Move the proposal's caret."""
        diff.go(1)


class QwenCompanionPreviousChangeCommand(_DiffCommand):
    """Go to the previous change."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Move the proposal's caret."""
        diff.go(-1)


class QwenCompanionRevertChangeCommand(_DiffCommand):
    """Undo the change at the proposal's caret."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Use the lines of the file on disk."""
        diffs.revert(diff)


class QwenCompanionRestoreChangeCommand(_DiffCommand):
    """Restore the change at the proposal's caret."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Use the lines that the CLI proposed."""
        diffs.restore(diff)


class QwenCompanionToggleDiffLayoutCommand(_DiffCommand):
    """Switch a diff between side by side and inline."""

    def on_diff(self, diffs: Diffs, diff: DiffView) -> None:
        """Keep the proposal's text and its undo history."""
        diff.toggle_layout()


class _WindowDiffsCommand(sublime_plugin.WindowCommand):
    """A command on all diffs of a window."""

    def is_enabled(self) -> bool:
        """Whether there is a diff."""
        return bool(self._diffs())

    def _diffs(self) -> list[DiffView]:
        adapter = package.adapter()
        return adapter.diffs.in_window(self.window) if adapter else []


class QwenCompanionAcceptAllCommand(_WindowDiffsCommand):
    """Accept every diff of the window."""

    def run(self) -> None:
        """Accept each with its current text."""
        if adapter := package.adapter():
            for diff in self._diffs():
                adapter.diffs.accept(diff)


class QwenCompanionRejectAllCommand(_WindowDiffsCommand):
    """Reject every diff of the window."""

    def run(self) -> None:
        """Reject each."""
        if adapter := package.adapter():
            for diff in self._diffs():
                adapter.diffs.reject(diff)


class QwenCompanionPendingDiffsCommand(_WindowDiffsCommand):
    """Choose one of the window's diffs from a list."""

    def run(self) -> None:
        """Show the list, then the chosen diff."""
        diffs = self._diffs()
        items = [_item(diff) for diff in diffs]
        self.window.show_quick_panel(items, lambda index: self._picked(diffs[index]) if index >= 0 else None)

    def _picked(self, diff: DiffView) -> None:
        adapter = package.adapter()
        if adapter and diff in self._diffs():
            adapter.diffs.show(diff)


def _item(diff: DiffView) -> Any:
    review, counts = diff.review, diff.counts
    annotation = f"+{counts.inserted} −{counts.deleted}" if counts else ""
    kind = (sublime.KindId.COLOR_GREENISH, "D", "Diff")
    return sublime.QuickPanelItem(review.name, [review.file_path, review.owner.cli], annotation, kind)
