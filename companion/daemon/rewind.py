"""The daemon's routes about what was said before: continue it, go back to an earlier prompt, copy it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from ..backends.sessions import Session
from ..backends.wire import Text, Wire
from . import answers
from .routes import Routes, path

REWIND_LIMIT = 60.0
"""Seconds to rewind or to copy a conversation: files are written."""


class _DiffStats(Wire):
    files_changed: int = 0
    insertions: int = 0
    deletions: int = 0


class RewindPoint(Wire):
    """A prompt that a session can be rewound to, so that it was never asked."""

    id: str = Field(alias="promptId")
    """The agent's own; the prompt's events have another."""
    index: int = Field(alias="turnIndex")
    """Which of the prompts that the model was asked it is, from 0."""
    timestamp: Text = ""
    stats: _DiffStats = Field(default=_DiffStats(), alias="diffStats")
    """What undoing the changes of files since then would change."""


class Rewinding(Wire):
    """What came of a rewind."""

    files_changed: tuple[str, ...] = ()
    files_failed: tuple[str, ...] = ()


class Past(Routes):
    """Continues a conversation, rewinds it and forks it."""

    async def go_on(self, session: Session) -> str | None:
        """Continue the turn that was interrupted. Returns the id of its prompt; None if there is nothing to continue.

        Raises:
            MissingFeatureError: this daemon can't do that.
        """
        answer = await self._transport.json("POST", path(session, "continue"), {}, session)
        return str(answer.get("promptId", "")) if answer.get("accepted") is True else None

    async def rewind_points(self, session: Session) -> list[RewindPoint]:
        """The prompts that a session can be rewound to, the oldest first."""
        self._need("session_rewind")
        answer = await self._transport.json("GET", path(session, "rewind/snapshots"), session=session)
        return [answers.read(RewindPoint, each) for each in answers.objects(answer.get("snapshots"))]

    async def rewind(self, session: Session, point: str, *, undo_files: bool) -> Rewinding:
        """Forget a prompt and everything after it; with `undo_files` also what was changed in files since then.

        Raises:
            RefusedError: a turn runs, or the prompt is one that was summed up meanwhile.
        """
        self._need("session_rewind")
        body: Mapping[str, Any] = {"promptId": point, "rewindFiles": undo_files}
        answer = await self._transport.json("POST", path(session, "rewind"), body, session, limit=REWIND_LIMIT)
        return answers.read(Rewinding, answer)

    async def fork(self, session: Session, title: str = "") -> Session:
        """Copy a session with everything that was said in it. Returns the copy, with this client attached to it."""
        self._need("session_branch")
        body = {"name": title or None}
        answer = await self._transport.json("POST", path(session, "branch"), body, session, limit=REWIND_LIMIT)
        return answers.read(Session, answer)
