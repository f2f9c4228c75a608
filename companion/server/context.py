"""The context that a CLI gets: the open files in the order of their focus (docs/protocols/qwen-ide.md#context)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..exclusion import Sharing, is_encodable
from ..ids import ViewId
from ..protocol import Cursor, File, IdeContext, WorkspaceState
from .window_screen import ContextRequest, OpenFile, Selection, WindowState

MAX_FILES = 10
"""The CLIs cut the list to this length (docs/protocols/qwen-ide.md#context)."""
MAX_SELECTED = 16_384
"""The longest selected text, in UTF-16 units. The CLIs cut longer ones and add a note."""
CANDIDATES = 4 * MAX_FILES
"""How many views are asked for their file. Some show no file, or one that isn't on disk."""


class FocusOrder:
    """The views of a window, ordered by their last focus."""

    def __init__(self) -> None:
        self._focused: dict[ViewId, int] = {}
        """The last focus of each view; of two with the same time the later one in the dictionary is the newer."""
        self._now: int | None = None
        """The time of the latest event of a focus."""

    def focused(self, view: ViewId, at: int) -> None:
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

    def seen(self, view: ViewId, at: int) -> None:
        """A view had the focus at that time, as the editor has remembered it. Calls may come in any order."""
        if self._now is not None:
            at = min(at, self._now - 1)
        if at > self._focused.get(view, 0):
            self._focused.pop(view, None)
            self._focused[view] = at

    def forget(self, view: ViewId) -> None:
        """A view was closed."""
        self._focused.pop(view, None)

    def recent(self) -> list[ViewId]:
        """The views that had the focus most recently, the latest first; at most CANDIDATES."""
        latest_first = list(reversed(self._focused))
        return sorted(latest_first, key=self._focused.__getitem__, reverse=True)[:CANDIDATES]

    def at(self, view: ViewId) -> int:
        """When a view last had the focus, as a Unix time in milliseconds; 0 for a view that never had it."""
        return self._focused.get(view, 0)


class Shown:
    """What the views of a window show, as far as the editor has told.

    An event is about one view, so only that one is asked again, and those that nobody has asked yet.
    """

    def __init__(self, order: FocusOrder) -> None:
        self._order = order
        self._files: dict[ViewId, OpenFile | None] = {}
        """By view; None for one that shows no file, or is not in this window."""
        self._others: Sequence[OpenFile] = ()
        """Those of tabs that never had the focus."""
        self._changed: set[ViewId] = set()
        self._is_old = True
        """Whether all views are to be asked."""

    def changed(self, view: ViewId | None = None) -> None:
        """A view may show another file now; None: any view may."""
        if view is None:
            self._is_old = True
        else:
            self._changed.add(view)

    def question(self, limit: int) -> ContextRequest:
        """What to ask; `limit` is that of the selected text."""
        recent = self._order.recent()
        is_whole = self._is_old or not self._changed.issubset(recent)
        views = (view for view in recent if is_whole or view in self._changed or view not in self._files)
        selected = next((view for view in recent if self._files.get(view, True)), None)
        question = ContextRequest(tuple(views), is_whole, selected, limit)
        self._is_old = False
        self._changed.clear()
        return question

    def answered(self, question: ContextRequest, state: WindowState) -> None:
        """The editor has answered a question."""
        asked = dict.fromkeys(question.views)
        found = {file.view: file for file in state.files if file.view in asked}
        if question.is_whole:
            self._files.clear()
            self._others = [file for file in state.files if file.view not in asked]
        self._files |= asked | found

    def files(self) -> list[OpenFile]:
        """The files, the one that had the focus last first."""
        recent = self._order.recent()
        known = [file for view in recent if (file := self._files.get(view))]
        return known + [file for file in self._others if not self._order.at(file.view)]


@dataclass(frozen=True, slots=True)
class Listed:
    """The files that a CLI may be told of."""

    files: Sequence[OpenFile] = ()
    """The one that had the focus last comes first."""
    hides_latest: bool = False
    """Whether a file that may not be told had the focus after all of these, so that none of them is active."""


def listed(
    files: Iterable[OpenFile], sharing: Sharing, folders: Sequence[str], hanging: Collection[str] = ()
) -> Listed:
    """The files that exist on disk and are not excluded, without duplicates, at most MAX_FILES.

    Reads from the disk, so this is not for an event loop. `hanging` are paths that are not looked at, nor told.
    """
    found: dict[str, OpenFile] = {}
    hides_latest = False
    for file in files:
        if len(found) == MAX_FILES:
            break
        if file.path in found:
            continue
        if file.path in hanging or sharing.is_excluded(file.path, folders):
            hides_latest = hides_latest or not found
        elif is_encodable(file.path) and os.path.isfile(file.path):
            found[file.path] = file
    return Listed(tuple(found.values()), hides_latest)


def cut(text: str, limit: int) -> str:
    """The first `limit` UTF-16 units of a text; one less if that would split a character."""
    text = text[:limit]
    # A character is two units at most, so a text of half the limit needs no counting.
    if len(text) <= limit // 2:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "ignore")


def active(known: Listed, order: FocusOrder) -> OpenFile | None:
    """The file that has the focus or had it last; None if it may not be told. One that never had it is not active."""
    first = next(iter(known.files), None)
    return first if first and order.at(first.view) and not known.hides_latest else None


def ide_context(
    known: Listed, order: FocusOrder, selection: Selection | None, *, is_trusted: bool | None
) -> IdeContext:
    """The context for these files. The active one has the selection. A file without a focus has the time 0."""
    open_files = [File(path=file.path, timestamp=order.at(file.view)) for file in known.files]
    if active(known, order):
        open_files[0] = replace(open_files[0], is_active=True, **_selected(selection))
    return IdeContext(workspace_state=WorkspaceState(open_files=open_files, is_trusted=is_trusted))


def _selected(selection: Selection | None) -> dict[str, Any]:
    if selection is None:
        return {}
    text = cut(selection.text, MAX_SELECTED) if selection.text else None
    return {"cursor": Cursor(selection.line, selection.character), "selected_text": text}
