"""The package's settings file, read as typed values. A value of the wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import sublime

from ..editor import Settings
from .diff_view import Layout

FILE = "QwenCompanion.sublime-settings"
_KEY = "qwen_companion"
_DEFAULTS = Settings()

T = TypeVar("T", bool, int)


class SettingsFile:
    """The settings of the package, with a call on each change."""

    def __init__(self) -> None:
        self._file = sublime.load_settings(FILE)

    def read(self) -> Settings:
        """Those that the companion needs, as they are now."""
        is_trusted = self._file.get("is_trusted")
        return Settings(
            is_trusted=is_trusted if isinstance(is_trusted, bool) else None,
            show_diffs=self._value("show_diffs", _DEFAULTS.show_diffs),
            max_marked_bytes=self._value("max_marked_bytes", _DEFAULTS.max_marked_bytes),
            max_marked_lines=self._value("max_marked_lines", _DEFAULTS.max_marked_lines),
        )

    @property
    def layout(self) -> Layout:
        """How a diff opens."""
        return "inline" if self._file.get("diff_layout") == "inline" else "side_by_side"

    def on_change(self, call: Callable[[Settings], None]) -> None:
        """Call with the new settings whenever the file changes."""
        self._file.add_on_change(_KEY, lambda: call(self.read()))

    def close(self) -> None:
        """Stop calling."""
        self._file.clear_on_change(_KEY)

    def _value(self, key: str, default: T) -> T:
        value = self._file.get(key)
        return cast("T", value) if type(value) is type(default) else default
