"""Every message of our client to an agent, looked at with the schema of the official SDK.

The schema is in the npm package `@agentclientprotocol/sdk`, which the pinned Claude Agent brings. What is only in the
unstable schema is looked at with that one. Names that begin with an underscore are extensions, which have none.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from jsonschema import Draft202012Validator

SDK = Path(__file__).parent / "npm/agents/claude-agent-acp/node_modules/@agentclientprotocol/sdk/schema/v1"
#: Requests that agents make beyond the protocol, and those that were in it before version 1 was stable.
BEYOND = {"craft/drainMidTurnQueue", "session/set_model"}
_SHAPELESS = {"_meta", "rawInput", "rawOutput", "env", "availableCommands", "configOptions", "models", "modes"}
_KINDS = ("Request", "Response", "Notification")


@functools.cache
def _schema(name: str) -> Mapping[str, Any]:
    path = SDK / name
    assert path.is_file(), "The schema of the protocol is missing: scripts/setup installs it."
    return json.loads(path.read_text("utf-8"))


@functools.cache
def _methods(name: str) -> Mapping[tuple[str, str], str]:
    """The definitions of a schema, by method and kind."""
    found: dict[tuple[str, str], str] = {}
    for definition, fields in _schema(name)["$defs"].items():
        kind = next((kind for kind in _KINDS if definition.endswith(kind)), None)
        if kind and "x-method" in fields:
            found[fields["x-method"], kind] = definition
    return found


@functools.cache
def _validator(method: str, kind: str) -> Draft202012Validator | None:
    """What looks at a message; None if no schema has it."""
    for name in ("schema.json", "schema.unstable.json"):
        if definition := _methods(name).get((method, kind)):
            schema = {"$ref": f"#/$defs/{definition}", "$defs": _schema(name)["$defs"]}
            return Draft202012Validator(schema)
    return None


def problem(method: str, kind: str, value: Any) -> str | None:
    """What is wrong with the parameters or the result of a method; None if nothing is."""
    if method.startswith("_") or method in BEYOND:
        return None
    validator = _validator(method, kind)
    if validator is None:
        return f"the protocol has no {kind.lower()} {method}"
    error = next(iter(validator.iter_errors(value)), None)
    return error and f"{kind} {method}: {error.message} at {error.json_path}: {json.dumps(value)[:500]}"


def shapes(message: Mapping[str, Any], method: str) -> Iterator[str]:
    """What an agent's message has, by name: fields with dots between them, `[]` for the items of a list.

    What a tool or a model decides has no shape: arguments, outputs, and what is within `_meta`.
    """
    update = message.get("params", {}).get("update", {}) if method == "session/update" else {}
    kind = f" {update.get('sessionUpdate')}" if isinstance(update, dict) and update else ""
    for name in ("params", "result"):
        for path in _paths(message.get(name)):
            yield f"{method}{kind} {name}{path}"


def _paths(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, dict) and depth < 7:
        for name, inner in cast("dict[str, Any]", value).items():
            yield f".{name}"
            if name not in _SHAPELESS and not name.startswith(("/", "{")):
                yield from (f".{name}{path}" for path in _paths(inner, depth + 1))
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from (f"[]{path}" for path in _paths(inner, depth + 1))


class Watched:
    """The messages that were sent, what is wrong with them, and the shapes of those that came."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.shapes: set[str] = set()

    def receive(self, line: bytes, ours: Mapping[object, str]) -> None:
        """Note the shape of what an agent sends. `ours` has the methods of our requests by their ids."""
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict):
            fields = cast("dict[str, Any]", message)
            method = fields.get("method") or ours.get(json.dumps(fields.get("id")), "")
            if isinstance(method, str) and isinstance(fields.get("params", {}), dict):
                self.shapes |= set(shapes(fields, method))

    def look(self, message: Mapping[str, Any], asked: Mapping[object, str]) -> None:
        """Look at a message. `asked` has the methods of the agent's requests by their ids."""
        found: str | None
        if "method" in message:
            method, kind = message["method"], "Request" if "id" in message else "Notification"
            found = problem(method, kind, message["params"])
        elif "error" in message:
            method, error = "error", message["error"]
            is_error = type(error.get("code")) is int and isinstance(error.get("message"), str)
            found = None if is_error else f"no error of JSON-RPC: {error}"
        else:
            # A method that no schema has was not ours to answer.
            method = asked.get(json.dumps(message["id"]), "")
            found = problem(method, "Response", message["result"]) if _validator(method, "Response") else None
        if found:
            self.problems.append(found)


@contextmanager
def watched(peer: type[Any], *, keeps_shapes: bool) -> Iterator[Watched]:
    """Look at all that connections of a class send, and keep the shapes of what they get."""
    found = Watched()
    send: Callable[[Any, dict[str, Any]], None] = peer._send
    requested: Callable[[Any, object, str, Any], None] = peer._requested
    receive: Callable[[Any, bytes], None] = peer.receive
    asked: dict[object, str] = {}
    ours: dict[object, str] = {}

    def looked_at(self: Any, message: dict[str, Any]) -> None:
        found.look(message, asked)
        if "method" in message and "id" in message:
            ours[json.dumps(message["id"])] = message["method"]
        send(self, message)

    def received(self: Any, line: bytes) -> None:
        if keeps_shapes:
            found.receive(line, ours)
        receive(self, line)

    def noted(self: Any, number: object, method: str, params: Any) -> None:
        asked[json.dumps(number)] = method
        requested(self, number, method, params)

    with (
        patch.object(peer, "_send", looked_at),
        patch.object(peer, "_requested", noted),
        patch.object(peer, "receive", received),
    ):
        yield found
