"""The log of the package, in the editor's console: what goes wrong, and with the setting "debug" what happens.

Python's root logger is left alone; it belongs to all packages. Neither tokens nor the text of files are ever shown:
our own messages don't hold them, and of other people's only what can't hold them is shown.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable
from types import TracebackType

LIBRARIES = ("mcp", "uvicorn")
"""The loggers of the libraries; of them only warnings are wanted, and errors."""
PREFIX = "QwenCompanion"
_SECRET = re.compile(r"(?<![\w/\\-])[\w-]{43,}(?![\w-])")
"""What our tokens look like."""
_MAX_MESSAGE = 500
"""Characters of a message; a longer one may well hold a piece of a file."""

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Log:
    """Writes to the console from now on, until it is closed."""

    def __init__(self, write: Callable[[str], object], *, debug: bool) -> None:
        """`write` gets one or more lines; it is called on any thread."""
        self._handler = _Handler(write)
        self._ours = logging.getLogger(__package__)
        self._loggers = [self._ours, *map(logging.getLogger, LIBRARIES)]
        self._before = [(logger, logger.level, logger.propagate) for logger in self._loggers]
        for logger in self._loggers:
            logger.addHandler(self._handler)
            logger.propagate = False
            logger.setLevel(logging.WARNING)
        self.set_debug(debug=debug)

    def set_debug(self, *, debug: bool) -> None:
        """Whether to write what happens, too."""
        self._ours.setLevel(logging.DEBUG if debug else logging.WARNING)

    def close(self) -> None:
        """Leave the loggers as they were."""
        for logger, level, propagate in self._before:
            logger.removeHandler(self._handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _Handler(logging.Handler):
    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self._write = write
        self.setFormatter(_Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(self.format(record))
        except Exception:  # noqa: BLE001 - a console that can't be written to must not stop what is logged
            self.handleError(record)


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]} …"
        if record.levelno >= logging.WARNING:
            message = f"{record.levelname.lower()}: {message}"
        room = record.name.removeprefix(f"{__package__}.")
        text = f"{PREFIX} {self.formatTime(record, '%H:%M:%S')} [{room}] {message}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return _SECRET.sub("…", text)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - logging's name
        """The places where an error came through and its type: its message may hold what was to be checked."""
        kind, _, trace = ei
        places = [f"  {place.filename}:{place.lineno} {place.name}" for place in traceback.extract_tb(trace)]
        return "\n".join([*places, f"  {kind.__name__ if kind else ''}"])
