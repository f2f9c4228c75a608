"""The sub-agents of a session. Each has a session of its own, which belongs to the one that has announced it.

Claude Agent and Codex tell of them so to clients that declare `subagents`, which the protocol calls unstable: what has
another form than is known is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...json_text import as_object, as_text
from ..updates import MAX_TITLE
from ..wire import MOST_SHORT, as_id, objects, one_line

MAX_SUBAGENTS = 200
"""Sub-agents of one session; what further ones do is not shown."""
MAX_ID = 200
"""Characters of the id of a session."""
_TOLD = {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "notice"}
"""What a sub-agent tells that belongs to the conversation. Its settings, plans and costs are its own."""
_RUNNING = {"running", "requires_action"}


class Subagents:
    """Has the messages of sub-agents be those of the session that a chat shows.

    A sub-agent becomes a tool call, and what it says and does has that call for its parent, as Qwen Code has it. The
    ids of its own tool calls get a name before them: another sub-agent may number its calls alike.
    """

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        """By the session of each sub-agent: the session that has announced it."""

    def update(self, params: Mapping[str, Any], session: str) -> Mapping[str, Any]:
        """The parameters of a `session/update`; those of a sub-agent as the session's own.

        One that says nothing of the conversation has none.
        """
        teller, told = params.get("sessionId"), as_object(params.get("update"))
        if not isinstance(teller, str) or not (teller == session or teller in self.parents):
            return params
        kind = told.get("sessionUpdate")
        if kind == "subagent_update":
            update = self._announced(teller, told, session)
        elif kind in ("session_message", "session_message_chunk"):
            update = self._exchanged(teller, told)
        elif teller == session:
            return params
        else:
            update = self._owned(teller, told) if kind in _TOLD else None
        return {"sessionId": session, "update": update}

    def request(self, params: Mapping[str, Any], session: str) -> Mapping[str, Any]:
        """The parameters of a request; those of a sub-agent as the session's own."""
        asker = params.get("sessionId")
        if not isinstance(asker, str) or asker not in self.parents:
            return params
        call = as_object(params.get("toolCall"))
        about = {"toolCall": self._owned(asker, call)} if call else {}
        return {**self._named(asker, params), **about, "sessionId": session}

    def _announced(self, teller: str, told: Mapping[str, Any], session: str) -> Mapping[str, Any] | None:
        """The tool call that a sub-agent is, or what has changed about it."""
        child = told.get("sessionId")
        if not isinstance(child, str) or not 0 < len(child) <= MAX_ID or child == session:
            return None
        title = one_line(as_text(told.get("title")), MAX_TITLE)
        news: dict[str, Any] = {"status": _status(as_object(told.get("state")))}
        if child not in self.parents:
            if len(self.parents) >= MAX_SUBAGENTS:
                return None
            self.parents[child] = teller
            news |= {"name": "subagent", "kind": "other", "title": title or "Sub-agent"}
        elif title:
            news["title"] = title
        if description := as_text(told.get("description"))[:MOST_SHORT]:
            news["content"] = _text(description)
        return self._changed(child, news)

    def _exchanged(self, teller: str, told: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What a session has told its sub-agent, or has got from it. The sub-agent's own view says nothing new."""
        sender, recipient = (as_text(told.get(name)) for name in ("senderSessionId", "recipientSessionId"))
        words = "\n".join(as_text(block.get("text")) for block in objects(told.get("content")))
        if words and sender == teller and self.parents.get(recipient) == teller:
            return self._changed(recipient, {"rawInput": {"prompt": words}})
        if words and recipient == teller and self.parents.get(sender) == teller:
            return self._changed(sender, {"content": _text(words)})
        return None

    def _changed(self, child: str, news: Mapping[str, Any]) -> Mapping[str, Any]:
        known = {name: value for name, value in news.items() if value is not None}
        update = {"sessionUpdate": "tool_call_update", "toolCallId": _call(child), **known}
        return self._of(self.parents[child], update)

    def _owned(self, child: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """An update or a tool call of a sub-agent, with its own call for the parent."""
        return self._of(child, self._named(child, told))

    def _named(self, child: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        identifier = as_id(fields.get("toolCallId"))
        return fields if identifier is None else {**fields, "toolCallId": f"{_call(child)} {identifier}"}

    def _of(self, teller: str, update: Mapping[str, Any]) -> Mapping[str, Any]:
        if teller not in self.parents:
            return update
        return {**update, "_meta": {**as_object(update.get("_meta")), "parentToolCallId": _call(teller)}}


def _status(state: Mapping[str, Any]) -> str | None:
    """The status of the tool call that a sub-agent is; None if that isn't told."""
    match state.get("state"):
        case str(name) if name in _RUNNING:
            return "in_progress"
        case "idle":
            return "completed" if as_text(state.get("stopReason")) in ("", "end_turn") else "failed"
        case _:
            return None


def _call(child: str) -> str:
    """The id of the tool call that a sub-agent is."""
    return f"subagent {child}"


def _text(words: str) -> list[Mapping[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": words}}]
