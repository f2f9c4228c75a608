"""The context that a CLI gets: the open files in the order of their focus (companion-spec.md C)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..protocol import Cursor, File, IdeContext, WorkspaceState
from .port import OpenFile, Selection

MAX_FILES = 10
"""The CLIs cut the list to this length (C5)."""
MAX_SELECTED = 16_384
"""The longest selected text, in UTF-16 units. The CLIs cut longer ones and add a note (C5)."""
CANDIDATES = 4 * MAX_FILES
"""How many views are asked for their file. Some show no file, or one that isn't on disk."""


class FocusOrder:
    """The views of a window, ordered by their last focus."""

    def __init__(self) -> None:
        self._focused: dict[int, int] = {}
        """The last focus of each view; of two with the same time the later one in the dictionary is the newer."""
        self._now: int | None = None
        """The time of the newest focus that was seen to happen."""

    def focused(self, view: int, at: int) -> None:
        """A view gets the focus now, at a Unix time in milliseconds: it is the newest, whatever the clock says.

        Times that are later come from a clock that was ahead; they are moved before this one, in their order.
        """
        self._focused.pop(view, None)
        self._now = at
        ahead = sorted((other for other in self._focused if self._focused[other] >= at), key=self._focused.__getitem__)
        for other in ahead:
            del self._focused[other]
            self._focused[other] = at - 1
        self._focused[view] = at

    def seen(self, view: int, at: int) -> None:
        """A view had the focus at that time, as was kept from before. Calls may come in any order."""
        if self._now is not None:
            at = min(at, self._now - 1)
        if at > self._focused.get(view, 0):
            self._focused.pop(view, None)
            self._focused[view] = at

    def forget(self, view: int) -> None:
        """A view was closed."""
        self._focused.pop(view, None)

    def recent(self) -> list[int]:
        """The views that had the focus most recently, the latest first; at most CANDIDATES."""
        latest_first = list(reversed(self._focused))
        return sorted(latest_first, key=self._focused.__getitem__, reverse=True)[:CANDIDATES]

    def at(self, view: int) -> int:
        """When a view last had the focus, as a Unix time in milliseconds; 0 for a view that never had it."""
        return self._focused.get(view, 0)


def existing_files(files: Sequence[OpenFile]) -> list[OpenFile]:
    """The files that exist on disk, without duplicates, at most MAX_FILES (C3, C5). Not for an event loop."""
    found: dict[str, OpenFile] = {}
    for file in files:
        if len(found) == MAX_FILES:
            break
        if file.path not in found and _is_encodable(file.path) and os.path.isfile(file.path):
            found[file.path] = file
    return list(found.values())


def _is_encodable(path: str) -> bool:
    """Whether a path fits into JSON. A file name that isn't UTF-8 holds lone surrogates, which don't."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def cut(text: str, limit: int) -> str:
    """The first `limit` UTF-16 units of a text; one less if that would split a character."""
    text = text[:limit]
    # A character is two units at most, so a text of half the limit needs no counting.
    if len(text) <= limit // 2:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "ignore")


def ide_context(
    files: Sequence[OpenFile], order: FocusOrder, selection: Selection | None, *, is_trusted: bool | None
) -> IdeContext:
    """The context for these files. The first one is the active one and has the selection (C2, C4).

    A file that never had the focus is not active, and its time is 0.
    """
    open_files = [File(path=file.path, timestamp=order.at(file.view)) for file in files]
    if files and order.at(files[0].view):
        active = {"is_active": True}
        open_files[0] = open_files[0].model_copy(update=active | _selected(selection))
    return IdeContext(workspace_state=WorkspaceState(open_files=open_files, is_trusted=is_trusted))


def _selected(selection: Selection | None) -> dict[str, object]:
    if selection is None:
        return {}
    cursor: dict[str, object] = {"cursor": Cursor(line=selection.line, character=selection.character)}
    return cursor | ({"selected_text": cut(selection.text, MAX_SELECTED)} if selection.text else {})
