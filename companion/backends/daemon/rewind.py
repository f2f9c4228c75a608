"""The daemon's routes about what was said before: continue it, go back to an earlier prompt, copy it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..parts import Rewinding, RewindPoint
from ..sessions import AgentSession
from ..wire import Text, Wire, objects
from . import answers
from .routes import Routes, path

REWIND_LIMIT = 60.0
"""Seconds to rewind or to copy a conversation: files are written."""


class _DiffStats(Wire):
    files_changed: int = 0
    insertions: int = 0
    deletions: int = 0


class _Point(Wire):
    prompt_id: str
    turn_index: int
    timestamp: Text = ""
    diff_stats: _DiffStats = _DiffStats()

    def point(self) -> RewindPoint:
        stats = self.diff_stats
        return RewindPoint(
            self.prompt_id, self.turn_index, self.timestamp, stats.files_changed, stats.insertions, stats.deletions
        )


class _Rewinding(Wire):
    files_changed: tuple[str, ...] = ()
    files_failed: tuple[str, ...] = ()


class DaemonRewind:
    """Continues a conversation, rewinds it and copies it."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def go_on(self, session: AgentSession) -> str | None:
        """Continue the turn that was interrupted. Returns the id of its prompt; None if there is nothing to continue.

        Raises:
            MissingFeatureError: this daemon can't do that.
        """
        answer = await self._routes.transport.json("POST", path(session, "continue"), {}, session)
        return str(answer.get("promptId", "")) if answer.get("accepted") is True else None

    async def points(self, session: AgentSession) -> list[RewindPoint]:
        """The prompts that a session can be rewound to, the oldest first."""
        self._routes.need("session_rewind")
        answer = await self._routes.transport.json("GET", path(session, "rewind/snapshots"), session=session)
        return [answers.read(_Point, each).point() for each in objects(answer.get("snapshots"))]

    async def rewind(self, session: AgentSession, point: str, *, undo_files: bool) -> Rewinding:
        """Forget a prompt and everything after it; with `undo_files` also what was changed in files since then.

        Raises:
            RefusedError: a turn runs, or the prompt is one that was summed up meanwhile.
        """
        self._routes.need("session_rewind")
        body: Mapping[str, Any] = {"promptId": point, "rewindFiles": undo_files}
        answer = await self._routes.transport.json("POST", path(session, "rewind"), body, session, limit=REWIND_LIMIT)
        rewound = answers.read(_Rewinding, answer)
        return Rewinding(rewound.files_changed, rewound.files_failed)

    async def fork(self, session: AgentSession, title: str = "") -> AgentSession:
        """Copy a session with everything that was said in it. Returns the copy, with this client attached to it."""
        self._routes.need("session_branch")
        body = {"name": title or None}
        answer = await self._routes.transport.json("POST", path(session, "branch"), body, session, limit=REWIND_LIMIT)
        return answers.read(AgentSession, answer)
