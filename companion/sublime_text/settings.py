"""The package's settings file, read as the companion's Settings."""

from __future__ import annotations

from collections.abc import Callable

import sublime

from ..editor import Settings

FILE = "QwenCompanion.sublime-settings"
_KEY = "qwen_companion"


class SettingsFile:
    """The settings of the package, with a call on each change."""

    def __init__(self) -> None:
        self._file = sublime.load_settings(FILE)

    def read(self) -> Settings:
        """The settings as they are now. A value of the wrong type counts as absent."""
        is_trusted = self._file.get("is_trusted")
        return Settings(is_trusted=is_trusted if isinstance(is_trusted, bool) else None)

    def on_change(self, call: Callable[[Settings], None]) -> None:
        """Call with the new settings whenever the file changes."""
        self._file.add_on_change(_KEY, lambda: call(self.read()))

    def close(self) -> None:
        """Stop calling."""
        self._file.clear_on_change(_KEY)
