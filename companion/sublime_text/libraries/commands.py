"""The command that repairs the libraries."""

from __future__ import annotations

import sublime_plugin

from .. import package


class QwenCompanionRepairLibrariesCommand(sublime_plugin.WindowCommand):
    """Reinstall the libraries that are missing or do not fit."""

    def run(self) -> None:
        """In the background; what came of it is said in the status bar and the console."""
        if adapter := package.adapter():
            adapter.libraries.repair(self.window)
