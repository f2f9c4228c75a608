"""What a menu was opened on: the paths of the side bar, or a tab."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sublime

from .calls import OffThread
from .panels import say
from .windows import is_code


@dataclass(frozen=True, slots=True)
class Menu:
    """What a menu was opened on, from the arguments that it gives to a command."""

    paths: list[str] | None = None
    """Those of the side bar; None if it was not the side bar."""
    group: int | None = None
    index: int | None = None
    """The tab's place in the group: -1 for the active one; None if it was not a tab."""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Menu:
        """The side bar gives its paths as `paths`, or as `files` and `dirs`; a tab gives its `group` and `index`."""
        parts = [part for name in ("paths", "files", "dirs") if (part := arguments.get(name)) is not None]
        paths = list(dict.fromkeys(path for part in parts for path in part)) if parts else None
        return cls(paths, arguments.get("group"), arguments.get("index"))

    @property
    def was_used(self) -> bool:
        """Whether the command was run from the side bar or from a tab's menu."""
        return self.paths is not None or self.index is not None

    def tab(self, window: sublime.Window) -> sublime.View | None:
        """The view of a tab of the person's own: that of the tab's menu, or the active one for -1."""
        if self.index is None:
            return None
        if self.index < 0 or self.group is None or self.group < 0:
            view = window.active_view()
        else:
            sheets = window.sheets_in_group(self.group)
            view = sheets[self.index].view() if self.index < len(sheets) else None
        return view if view and is_code(view) else None

    def chosen(self, window: sublime.Window) -> list[str]:
        """The files and folders that it was opened on; empty if there are none, such as for a tab without a file."""
        if self.paths:
            return self.paths
        view = self.tab(window)
        path = view.file_name() if view else None
        return [path] if path else []


def if_there(
    off_thread: OffThread, window: sublime.Window, paths: Sequence[str], then: Callable[[Collection[str]], object]
) -> None:
    """Go on if these paths are on the disk, which may be slow; otherwise say which is gone.

    `then` gets those that are folders.
    """

    def look() -> tuple[str | None, Collection[str]]:
        gone = next((path for path in paths if not os.path.exists(path)), None)
        return gone, [path for path in paths if os.path.isdir(path)]

    def looked(found: tuple[str | None, Collection[str]]) -> None:
        gone, folders = found
        if gone:
            say(window, f"{gone} no longer exists.")
        else:
            then(folders)

    off_thread(look, looked)
