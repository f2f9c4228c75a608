"""The tool calls of a session, each with all that the agent has told of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

MAX_KEPT = 500
"""Tool calls that are remembered. An agent tells of the older ones no more."""


class ToolCalls:
    """Merges what an agent tells of a tool call over its life: a field that is absent or null is as it was before.

    A permission request names its tool call, and may have nothing but its id (docs/protocols/acp.md#updates).
    """

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}

    def note(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """Take in a tool call, an update of one, or what a permission request says of one. Returns all that is known.

        An object without an id is returned as it came.
        """
        identifier = update.get("toolCallId")
        if not isinstance(identifier, str):
            return dict(update)
        told = {name: value for name, value in update.items() if value is not None and name != "sessionUpdate"}
        known = self._calls.pop(identifier, {})
        merged = self._calls[identifier] = {**known, **told}
        while len(self._calls) > MAX_KEPT:
            del self._calls[next(iter(self._calls))]
        return dict(merged)

    def knows(self, identifier: str) -> bool:
        """Whether a tool call was told of."""
        return identifier in self._calls

    def asked(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """The tool call of a permission request, with what was told of it before.

        Its arguments stay those of the call: some agents describe them in words of their own when they ask. Content
        without a diff comes after the diffs that the call had.
        """
        known = self._calls.get(str(call.get("toolCallId")), {})
        merged = self.note(call)
        if known.get("rawInput") and isinstance(call.get("rawInput"), dict):
            merged["rawInput"] = {**call["rawInput"], **known["rawInput"]}
        if not has_diff(call) and has_diff(known):
            merged["content"] = [*known["content"], *(merged["content"] if call.get("content") else [])]
        if isinstance(identifier := call.get("toolCallId"), str):
            self._calls[identifier] = dict(merged)
        return merged


def has_diff(call: Mapping[str, Any]) -> bool:
    """Whether a tool call has a diff among its content."""
    return any(each.get("type") == "diff" for each in _objects(call.get("content")))


def paths(call: Mapping[str, Any]) -> set[str]:
    """The absolute paths of the files that a tool call names."""
    parts = [each for name in ("content", "locations") for each in _objects(call.get(name))]
    named = (each.get("path") for each in parts)
    return {path for path in named if isinstance(path, str) and os.path.isabs(path) and "\0" not in path}


def _objects(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, dict)]
