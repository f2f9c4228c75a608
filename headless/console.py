"""The `sys.stdout` and `sys.stderr` of the editor's plugin host."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from typing import IO


class Console(io.TextIOBase):
    """A stream as the host has it: no `fileno`, no `encoding`, `writable()` is False, and text is shown by lines."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown_in: IO[str] = getattr(sys, name)
        self._rest = ""
        self._lock = threading.RLock()
        setattr(sys, name, self)

    def write(self, text: str) -> None:  # type: ignore[override]
        """Show a text once its line is complete. Returns None, as in the host."""
        with self._lock:
            self._rest += text
            if "\n" in text or "\r" in text:
                self.flush()

    def flush(self) -> None:
        """Show a line that is not complete."""
        with self._lock, contextlib.suppress(ValueError, OSError):
            rest, self._rest = self._rest, ""
            self._shown_in.write(rest)
            self._shown_in.flush()

    def restore(self) -> None:
        """Put the original stream back."""
        self.flush()
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._shown_in)


def install() -> list[Console]:
    """Replace the process's streams by the host's, except those that are not files."""
    return [Console(name) for name in ("stdout", "stderr") if getattr(getattr(sys, name), "encoding", None) is not None]
