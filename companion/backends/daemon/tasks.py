"""The daemon's routes for what the agent does besides its turn: commands in the background and sub-agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BeforeValidator

from ...conversation.snapshot import Task
from ..sessions import AgentSession
from ..wire import Number, Text, Wire, as_object, objects
from . import answers
from .routes import Routes, path

FEATURE = "session_tasks"
"""The feature of listing tasks and of stopping them."""


class _Stats(Wire):
    total_tokens: Number = 0.0


class _Task(Wire):
    id: str
    kind: str
    label: Text = ""
    description: Text = ""
    status: Text = ""
    start_time: Number = 0.0
    end_time: Number = 0.0
    command: Text = ""
    prompt: Text = ""
    output_file: Text = ""
    error: Text = ""
    stats: Annotated[_Stats, BeforeValidator(as_object)] = _Stats()
    is_backgrounded: bool = True

    def task(self) -> Task:
        return Task(
            self.id,
            self.kind,
            self.label or self.description or self.id,
            self.status,
            self.start_time / 1000,
            (self.end_time - self.start_time) / 1000 if self.end_time else None,
            self.command or self.prompt or self.description,
            self.output_file,
            self.error,
            int(self.stats.total_tokens),
            self.is_backgrounded,
        )


class DaemonTasks:
    """The tasks that a session of the daemon runs in the background."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def list(self, session: AgentSession) -> tuple[Task, ...]:
        """What a session's agent does besides its turn, and has done, the oldest first."""
        return _tasks(await self._routes.transport.json("GET", path(session, "tasks"), session=session))

    async def agents(self, session: AgentSession) -> tuple[Task, ...]:
        """The sub-agents of a session, those of before a restart too; none if the daemon doesn't list them."""
        if not self._routes.has("session_agents"):
            return ()
        return _tasks(await self._routes.transport.json("GET", path(session, "agents"), session=session))

    async def stop(self, session: AgentSession, task: Task) -> bool:
        """Stop a task. Returns False if it didn't run any more."""
        route = path(session, f"tasks/{quote(task.id, safe='')}/cancel")
        return (await self._routes.transport.json("POST", route, {"kind": task.kind}, session)).get("cancelled") is True


def _tasks(answer: Mapping[str, Any]) -> tuple[Task, ...]:
    return tuple(answers.read(_Task, each).task() for each in objects(answer.get("tasks")))
