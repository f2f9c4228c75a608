"""Notices when a turn of a chat begins and ends, which files its tools name, and where it reads and writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from ..conversation.conversation import START
from ..conversation.snapshot import Diff, Snapshot, Tool, Turn
from ..editor import ChatId, Visit, WindowId
from .chat_screen import ChatScreen

if TYPE_CHECKING:
    from ..changes.rounds import Rounds

MAX_WORDS = 200
"""Characters of a prompt."""
_WRITES = {"edit", "delete", "move"}
_LATE = 10_000_000_000
"""Nanoseconds within which an agent begins a prompt that needn't wait."""


class TurnWatch:
    """Watches the turns of one chat."""

    def __init__(self, chat_id: ChatId, window: WindowId, listener: Rounds) -> None:
        self._id = chat_id
        self._window = window
        self._listener = listener
        self._running = ""
        self._began = 0.0
        """When that was seen first, in Unix time."""
        self._last: str | None = None
        """The last turn of the last look while the chat was connected, empty if there was none; None if unknown."""
        self._is_connected = False
        self._ended = 0
        """When the last turn has ended, in nanoseconds."""
        self._named: set[str] = set()

    def seen(self, snapshot: Snapshot, agent: str, sent: int) -> list[Turn]:
        """Look at a snapshot. Returns the turns that have ended since the last look, as far as it has them.

        `agent` is what the agent calls itself, `sent` is when the last prompt was sent. Each turn has when it began,
        also if its agent doesn't say that.
        """
        if not self._is_connected and snapshot.status.connection.state == "live":
            self._is_connected = True
            self._listener.connected(self._window)
        running = snapshot.status.running or ""
        turns = {turn.key: turn for turn in snapshot.changed}
        over: list[Turn] = []
        news = list(self._since(running, snapshot.order, turns))
        if snapshot.status.connection.state == "live":
            self._last = snapshot.order[-1] if snapshot.order else ""
        elif not self._last:
            self._last = None  # what is there next may be a history
        for key in news:
            if before := turns.get(self._running):
                self._name(before, agent)
                over.append(replace(before, began=min(before.began or self._began, self._began)))
            if self._running:
                self._listener.turn_ended(self._window, self._id, self._running)
                self._ended = time.time_ns()
            self._running, self._began = key, time.time()
            if key:
                self._named.clear()
                words = " ".join(turns[key].asked[:MAX_WORDS].split()) if key in turns else ""
                # A prompt that has waited for the turn before says nothing of when its own began.
                began = sent if max(self._ended, time.time_ns() - _LATE) < sent else 0
                self._listener.turn_began(self._window, self._id, agent, key, words, began)
        if running in turns:
            self._name(turns[running], agent)
        return over

    def _since(self, running: str, order: Sequence[str], turns: Container[str]) -> Iterator[str]:
        """The turns that have begun since the last look, and nothing if none runs any more."""
        if running and running == self._running:
            return
        # What has waited for the one that ran may have had its whole turn by now, and so may a quick one.
        before = self._running or self._last
        begun = order[order.index(before) + 1 :] if before in order else order if before == "" else ()
        later = [key for key in begun if key in turns and key not in {running, START}]
        yield from later
        if later or running != self._running:
            yield running

    def _name(self, turn: Turn, agent: str) -> None:
        for item in turn.items:
            if isinstance(item, Tool) and item.kind in _WRITES:
                for path in {*(place.path for place in item.locations), *(diff.path for diff in item.diffs)}:
                    if path not in self._named:
                        self._named.add(path)
                        self._listener.named(agent, path)


_VISITED = {"read", "edit", "delete", "move", "search"}


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
                if isinstance(tool, Tool) and tool.kind in _VISITED and self._looked.get(tool.id) is not tool:
                    self._looked[tool.id] = tool
                    visits += self._fresh(tool, agent)
        if visits:
            self._editor.following.show_visits(self._window, visits)

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
