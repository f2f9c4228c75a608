"""The tool calls of a session, each with all that the agent has told of it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

from ..wire import as_object, objects

MAX_KEPT = 500
"""Tool calls that are remembered. An agent tells of the older ones no more."""


class ToolCalls:
    """Merges what an agent tells of a tool call over its life: a field that is absent or null is as it was before.

    A permission request names its tool call, and may have nothing but its id (docs/protocols/acp.md#updates). Some
    models number their calls anew in each turn or for each answer: a call that is over lends nothing to the next one
    with its id, which gets a name of its own.
    """

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}
        """By name, which is the id unless there was another call with that."""
        self._names: dict[str, str] = {}
        """The names of the calls that go by another one than their id."""
        self._turn: object = None

    def note(self, update: Mapping[str, Any], turn: object = None) -> dict[str, Any]:
        """Take in a tool call or an update of one, of a turn. Returns all that is known, with the call's name as id.

        An object without an id is returned as it came. What was told in another turn is forgotten.
        """
        identifier = update.get("toolCallId")
        if not isinstance(identifier, str):
            return dict(update)
        self._begin(turn)
        if update.get("sessionUpdate") == "tool_call" and not is_over(update):
            self._renew(identifier)
        return self._merge(identifier, update)

    def name(self, identifier: str) -> str:
        """The name of the call that an id means now."""
        return self._names.get(identifier, identifier)

    def knows(self, name: str) -> bool:
        """Whether a tool call was told of."""
        return name in self._calls

    def asked(self, call: Mapping[str, Any], turn: object = None) -> dict[str, Any]:
        """The tool call of a permission request, with what was told of it before.

        What the request says counts. Where an argument was told in another way before, that is there too, as
        “… (told before)”. Content without a diff comes after the diffs that the call had.
        """
        identifier = call.get("toolCallId")
        if not isinstance(identifier, str):
            return dict(call)
        self._begin(turn)
        self._renew(identifier)
        known = self._calls.get(self.name(identifier), {})
        merged = self._merge(identifier, call)
        if not has_diff(call) and has_diff(known):
            merged["content"] = [*known["content"], *(merged["content"] if call.get("content") else [])]
        told, asks = as_object(known.get("rawInput")), as_object(call.get("rawInput"))
        if told and asks:
            merged["rawInput"] = {**told, **asks}
        self._calls[self.name(identifier)] = dict(merged)
        if differing := {f"{key} (told before)": told[key] for key in told if key in asks and told[key] != asks[key]}:
            merged["rawInput"] = {**merged["rawInput"], **differing}
        return merged

    def leave(self) -> dict[str, Any]:
        """What the next instance needs of the turn that runs."""
        return {"calls": self._calls, "names": self._names, "turn": self._turn}

    def take_over(self, left: Mapping[str, Any]) -> None:
        """Go on with what `leave` has left."""
        self._calls, self._names, self._turn = dict(left["calls"]), dict(left["names"]), left["turn"]

    def _begin(self, turn: object) -> None:
        """Forget the calls of other turns than this one."""
        if turn != self._turn:
            self._calls.clear()
            self._names.clear()
            self._turn = turn

    def _renew(self, identifier: str) -> None:
        """Let an id mean a new call if the one that it means is over."""
        if is_over(self._calls.get(self.name(identifier), {})):
            names = (f"{identifier} #{number}" for number in itertools.count(2))
            self._names[identifier] = next(name for name in names if name not in self._calls)

    def _merge(self, identifier: str, told: Mapping[str, Any]) -> dict[str, Any]:
        name = self.name(identifier)
        news = {key: value for key, value in told.items() if value is not None and key != "sessionUpdate"}
        merged = self._calls[name] = {**self._calls.pop(name, {}), **news, "toolCallId": name}
        while len(self._calls) > MAX_KEPT:
            oldest = next(iter(self._calls))
            del self._calls[oldest]
            self._names = {identifier: each for identifier, each in self._names.items() if each != oldest}
        return dict(merged)


def is_over(call: Mapping[str, Any]) -> bool:
    """Whether a tool call, or what an update says of one, has ended."""
    return call.get("status") in ("completed", "failed")


def has_diff(call: Mapping[str, Any]) -> bool:
    """Whether a tool call has a diff among its content."""
    return any(each.get("type") == "diff" for each in objects(call.get("content")))


def paths(call: Mapping[str, Any]) -> set[str]:
    """The absolute paths of the files that a tool call names."""
    parts = [each for name in ("content", "locations") for each in objects(call.get(name))]
    named = (each.get("path") for each in parts)
    return {path for path in named if isinstance(path, str) and os.path.isabs(path) and "\0" not in path}
