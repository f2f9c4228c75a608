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

    def seen(self, snapshot: Snapshot, agent: str) -> None:
        """Look at a snapshot. `agent` is what the agent calls itself."""
        running = snapshot.status.running or ""
        if running != self._running:
            self._running = running
            self._told.clear()
        visits: list[Visit] = []
        for turn in snapshot.changed:
            for tool in turn.items if running and turn.key == running else ():
                if isinstance(tool, Tool) and tool.kind in _KINDS:
                    visits += self._fresh(tool, agent)
        if visits:
            self._editor.show_visits(self._window, visits)

    def _fresh(self, tool: Tool, agent: str) -> Iterator[Visit]:
        for path, line in _places(tool):
            # What was written is looked at again.
            key = (tool.id, path, line, tool.kind == "edit" and tool.status == "completed")
            if key not in self._told:
                self._told.add(key)
                yield Visit(self._path(path), line, agent, tool.kind, self._id)


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
