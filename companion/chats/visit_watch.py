"""Notices where the agent of a chat reads and writes, from what its tool calls say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from ..conversation.snapshot import Diff, Snapshot, Tool
from ..ids import ChatId, WindowId
from ..visits import Visit
from .port import ChatScreen

_KINDS = {"read", "edit", "delete", "move", "search"}


class VisitWatch:
    """Watches the tool calls of the turn that runs in one chat. `path` makes a path of the agent's an absolute one."""

    def __init__(self, chat_id: ChatId, window: WindowId, editor: ChatScreen, path: Callable[[str], str]) -> None:
        self._id = chat_id
        self._window = window
        self._editor = editor
        self._path = path
        self._running = ""
        self._told: set[tuple[str, str, int | None, bool]] = set()
        self._looked: dict[str, Tool] = {}
        """The tool calls of the turn as they were looked at last: to compare their texts again takes time."""

    def seen(self, snapshot: Snapshot, agent: str) -> None:
        """Look at a snapshot. `agent` is what the agent calls itself."""
        running = snapshot.status.running or ""
        if running != self._running:
            self._running = running
            self._told.clear()
            self._looked.clear()
        visits: list[Visit] = []
        for turn in snapshot.changed:
            for tool in turn.items if running and turn.key == running else ():
                if isinstance(tool, Tool) and tool.kind in _KINDS and self._looked.get(tool.id) is not tool:
                    self._looked[tool.id] = tool
                    visits += self._fresh(tool, agent)
        if visits:
            self._editor.show_visits(self._window, visits)

    def _fresh(self, tool: Tool, agent: str) -> Iterator[Visit]:
        for path, line in _places(tool):
            # What was written is looked at again.
            key = (tool.id, path, line, tool.kind == "edit" and tool.status == "completed")
            where = self._path(path)
            # What waits to be allowed is shown only where the agent may be anyway.
            waits = tool.status == "pending" or any(asked.state == "open" for asked in tool.permissions)
            if key not in self._told and (not waits or self._is_inside(where)):
                self._told.add(key)
                yield Visit(where, line, agent, tool.kind, self._id)

    def _is_inside(self, path: str) -> bool:
        """Whether a path is in the chat's folder."""
        folder = self._path("").replace("\\", "/").rstrip("/")
        names = path.replace("\\", "/").split("/")
        return ".." not in names and path.replace("\\", "/").startswith(f"{folder}/")


def _places(tool: Tool) -> Iterator[tuple[str, int | None]]:
    """The files of a tool call, each with its line if that is known."""
    diffs = {diff.path: _first_changed(diff) for diff in tool.diffs}
    for place in tool.locations:
        if place.path:
            yield place.path, place.line or diffs.pop(place.path, None)
    yield from (each for each in diffs.items() if each[0] not in {place.path for place in tool.locations})


def _first_changed(diff: Diff) -> int:
    """The first line that differs, from 1."""
    old, new = diff.old.split("\n"), diff.new.split("\n")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    return min(sum(1 for _ in same) + 1, max(len(new), 1))
