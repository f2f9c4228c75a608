"""The package's commands."""

from __future__ import annotations

import sublime
import sublime_plugin

from . import package
from .diff_view import DiffView


class QwenCompanionFillViewCommand(sublime_plugin.TextCommand):
    """Put a text into an empty view, as it is."""

    def run(self, edit: sublime.Edit, text: str) -> None:
        """`text` has plain line feeds."""
        self.view.insert(edit, 0, text)
        self.view.sel().clear()
        self.view.sel().add(0)

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False


class _DiffCommand(sublime_plugin.TextCommand):
    """A command on a diff: that of its view, else the only one of the window."""

    def is_enabled(self) -> bool:
        """Whether it is clear which diff is meant."""
        return self._diff() is not None

    def _diff(self) -> DiffView | None:
        adapter = package.adapter()
        return adapter.diffs.meant(self.view) if adapter else None


class QwenCompanionAcceptDiffCommand(_DiffCommand):
    """Accept the proposed change, with what was edited in it."""

    def run(self, edit: sublime.Edit) -> None:
        """Tell the CLI, which writes the file."""
        if (adapter := package.adapter()) and (diff := self._diff()):
            adapter.diffs.accept(diff)


class QwenCompanionRejectDiffCommand(_DiffCommand):
    """Reject the proposed change."""

    def run(self, edit: sublime.Edit) -> None:
        """Tell the CLI, which leaves the file as it is."""
        if (adapter := package.adapter()) and (diff := self._diff()):
            adapter.diffs.reject(diff)
