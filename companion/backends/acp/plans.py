"""Plans that are told in another way than as a list of steps (docs/protocols/acp.md#updates)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...conversation import events
from ...conversation.snapshot import Step
from ..wire import as_object

MAX_KEPT = 50
"""Plans in prose that are remembered."""
_STATES = {"pending", "in_progress", "completed", "cancelled"}


class Plans:
    """The plans in prose of one session. They are shown as parts of the answer."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """By the ids of the plans, as far as they were told."""

    def decode(self, update: Mapping[str, Any]) -> events.Event | None:
        """What an update adds to a plan in prose, which it has whole; None if it is of anything else."""
        plan = as_object(update.get("plan"))
        if update.get("sessionUpdate") != "plan_update" or plan.get("type") != "markdown":
            return None
        identifier, text = str(plan.get("planId")), plan.get("content")
        if not isinstance(text, str):
            return events.Unsupported("a plan without a text")
        told = self._told.pop(identifier, "")
        self._told[identifier] = text
        while len(self._told) > MAX_KEPT:
            del self._told[next(iter(self._told))]
        # One that was written anew is told whole.
        more = text.removeprefix(told) if text.startswith(told) else f"\n\n{text}"
        return events.AgentMessageChunk(events.TextContent(more), message=f"plan {identifier}")


def todo_list(call: Mapping[str, Any]) -> events.Plan | None:
    """The plan that a tool call has made; None if it is no such call.

    OpenCode 1.18 and Mistral Vibe 3.0 keep their plans with a tool, whose arguments have the steps as `todos`, and tell
    nothing else of them.
    """
    given = as_object(call.get("rawInput")).get("todos")
    if call.get("status") != "completed" or not isinstance(given, list):
        return None
    steps: list[Step] = []
    for each in map(as_object, cast("list[object]", given)):
        text, state = each.get("content"), each.get("status")
        if not isinstance(text, str) or not isinstance(state, str) or state not in _STATES:
            return None
        if state != "cancelled":
            steps.append(Step(text, state))
    return events.Plan(tuple(steps))
