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

    def is_visible(self) -> bool:
        """Whether something is wrong with them. By its name it runs at any time."""
        adapter = package.adapter()
        return adapter is None or adapter.libraries.has_trouble or adapter.thread.stop_reason is not None
