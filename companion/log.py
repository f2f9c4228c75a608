"""The package's log in the editor's console: errors, and with the setting "debug" also what happens.

Only loggers of our own are touched: Python's root logger and those of the libraries belong to all packages. Tokens and
file contents are never written: our own messages don't contain them, and messages of libraries are shortened and
filtered.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Callable

SHARED = "_qwen_companion_"
"""Begins the names of what belongs to us and outlives an instance of the package, such as our copy of the SDK."""
SDK = f"{SHARED}mcp"
"""The logger of that copy (`libraries.sdk`); only its warnings and errors are written."""
PREFIX = "QwenCompanion"
SECRET = re.compile(r"(?<![\w/\\-])[\w-]{43,}(?![\w-])")
"""Matches our tokens, and not the session ids."""
_MAX_MESSAGE = 500
"""Characters of a message. A longer one may contain a part of a file, so it is cut."""


class Log:
    """Writes log records to the console until it is closed."""

    def __init__(self, write: Callable[[str], object], *, debug: bool) -> None:
        """`write` gets one or more lines and may be called on any thread."""
        self._handler = _Handler(write)
        self._ours = logging.getLogger(__package__)
        self._loggers = [self._ours, logging.getLogger(SDK)]
        self._before = [(logger, logger.level, logger.propagate) for logger in self._loggers]
        for logger in self._loggers:
            logger.addHandler(self._handler)
            logger.propagate = False
            logger.setLevel(logging.WARNING)
        self.set_debug(debug=debug)

    def set_debug(self, *, debug: bool) -> None:
        """Set whether debug messages are written."""
        self._ours.setLevel(logging.DEBUG if debug else logging.WARNING)

    def close(self) -> None:
        """Restore the loggers."""
        for logger, level, propagate in self._before:
            logger.removeHandler(self._handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _Handler(logging.Handler):
    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(self.format(record))
        except Exception:  # noqa: BLE001 - a broken console must not stop the code that logs
            self.handleError(record)

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]} …"
        if record.levelno >= logging.WARNING:
            message = f"{record.levelname.lower()}: {message}"
        room = record.name.removeprefix(f"{__package__}.").removeprefix(SHARED)
        text = f"{PREFIX} {time.strftime('%H:%M:%S', time.localtime(record.created))} [{room}] {message}"
        if record.exc_info:
            # The error's type and stack. Its message is left out because it may contain user data.
            kind, _, trace = record.exc_info
            places = [f"  {place.filename}:{place.lineno} {place.name}" for place in traceback.extract_tb(trace)]
            text = "\n".join([text, *places, f"  {kind.__name__ if kind else ''}"])
        return SECRET.sub("…", text)
