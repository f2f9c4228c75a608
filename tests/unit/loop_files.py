"""Notices when the package looks at a file on an event loop: a disk that hangs would stop all that runs there."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = str(Path(__file__).parents[2] / "companion") + os.sep
TESTS = str(Path(__file__).parents[1]) + os.sep
CALLS = (
    "open", "stat", "lstat", "access", "listdir", "scandir", "readlink", "unlink", "remove", "rename", "replace",
    "mkdir", "rmdir", "chmod", "utime", "link", "symlink",
)  # fmt: skip
_SUPPORTS = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids)
_NO_DISK = ("/proc/", "/sys/", "/dev/")
_MEASURES = f"{os.sep}coverage{os.sep}"
_EVENTS = os.path.join("asyncio", "events.py")


@contextmanager
def noticed() -> Iterator[list[str]]:
    """Until its end, each such look is in the list, as the call and the lines of the package that led to it."""
    found: list[str] = []
    before = {(os, name): getattr(os, name) for name in CALLS if hasattr(os, name)}
    before |= {(io, "open"): io.open, (builtins, "open"): builtins.open}
    replaced: list[tuple[set[Any], Any]] = []
    for (module, name), call in before.items():
        watched = _watched(call, found)
        setattr(module, name, watched)
        for supported in _SUPPORTS:
            if call in supported:
                supported.add(watched)
                replaced.append((supported, watched))
    try:
        yield found
    finally:
        for (module, name), call in before.items():
            setattr(module, name, call)
        for supported, watched in replaced:
            supported.discard(watched)


def _watched(call: Callable[..., Any], found: list[str]) -> Callable[..., Any]:
    def watched(*args: Any, **kwargs: Any) -> Any:
        if asyncio._get_running_loop() is not None and args and _is_on_disk(args[0]) and (by := _by()):
            found.append(f"{call.__name__}({args[0]!r}): {by}")
        return call(*args, **kwargs)

    return watched


def _is_on_disk(path: object) -> bool:
    # A number is a descriptor, and what that leads to is open already.
    return not isinstance(path, int) and not str(path).startswith(_NO_DISK)


def _by() -> str:
    """The lines of the package that are at work on the loop; empty if it is a test's doing, or an import."""
    frame = sys._getframe(2)
    lines: list[str] = []
    is_waited_for = False
    while frame and not frame.f_code.co_filename.endswith(_EVENTS):
        name = frame.f_code.co_filename
        if "importlib" in name or _MEASURES in name or name.endswith(("linecache.py", "traceback.py")):
            return ""
        if name.startswith(PACKAGE):
            lines.append(f"{name.removeprefix(PACKAGE)}:{frame.f_lineno}")
            is_waited_for = bool(frame.f_code.co_flags & inspect.CO_COROUTINE)
        elif name.startswith(TESTS):
            # A test may call what blocks, and be called; it may also wait for a coroutine that must not block.
            return " < ".join(lines) if is_waited_for else ""
        frame = frame.f_back
    return " < ".join(lines)
