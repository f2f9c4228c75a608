"""A program that runs a companion without some modules of the standard library or of the libraries.

`alone.py FOLDER --hide NAME…` starts it for one window and prints one JSON line for each event. `--hold NAME` delays
the import of a module. The line `show` on stdin makes all modules available, and the end of the input stops it.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from companion.companion import Editor
    from companion.editor import WindowId
    from companion.libraries.guard import Trouble

sys.path.append(str(Path(__file__).resolve().parents[2]))

hidden: set[str] = set()
shown = threading.Event()
held = ""


_find = PathFinder.find_spec


def find_spec(fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
    """Find modules on the path, except hidden ones. A held module is found only after `show`, or after 180 s."""
    if fullname.partition(".")[0] in hidden:
        return None
    if fullname == held:
        tell(event="held")
        shown.wait(180)
    return _find(fullname, path, target)


def tell(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


class QuietEditor:
    """An editor that shows nothing and prints its messages."""

    def __init__(self) -> None:
        self.messenger = self.served = self.tools = self.diffs = self.written = self.status_bar = self.libraries = self

    def listening(self, window: WindowId, port: int) -> None:
        tell(event="listening", port=port)

    async def window_state(self, window: WindowId, question: object):
        from companion.server.window_screen import WindowState  # noqa: PLC0415

        return WindowState(())

    def wrong(self, trouble: Trouble) -> None:
        tell(event="say", message=trouble.sentence())

    def show_status(self, window: WindowId, status: object) -> None:
        """Nothing is on a screen here."""

    def show_changes(self, window: WindowId, listing: object) -> None:
        """Nothing is on a screen here."""

    def say(self, message: str, window: WindowId | None = None) -> None:
        tell(event="say", message=message)

    def mention(self, message: str, window: WindowId) -> None:
        tell(event="say", message=message)

    def settle(self, message: str) -> None:
        tell(event="settle", message=message)


def main() -> None:
    global held  # noqa: PLW0603
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--hide", action="append", default=[])
    parser.add_argument("--hold", default="")
    arguments = parser.parse_args()
    hidden.update(arguments.hide)
    held = arguments.hold
    setattr(PathFinder, "find_spec", find_spec)  # noqa: B010 - pyright takes it for a method
    from companion import thread  # noqa: PLC0415
    from companion.server.window_screen import ServedWindow  # noqa: PLC0415
    from companion.settings import Settings  # noqa: PLC0415

    thread.RETRY = 0.05
    companion = thread.CompanionThread(
        cast("Editor", QuietEditor()), Settings(), lambda: [ServedWindow(cast("WindowId", 1), (arguments.folder,))]
    )
    tell(event="loaded", libraries=sorted({"mcp", "pydantic", "uvicorn", "psutil", "asyncio"} & sys.modules.keys()))
    companion.start()
    for _ in sys.stdin:
        hidden.clear()
        shown.set()
    tell(event="stopped", ended=companion.stop(60))


try:
    main()
except BaseException:
    traceback.print_exc()
    raise
