"""Translates OpenAI's Responses API to and from chat completions, which the scripted model speaks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from .model import Call

Part = dict[str, Any]
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}


def is_for(path: str) -> bool:
    """Whether a path belongs to the API."""
    return path.partition("?")[0].endswith("/responses")


def conversation(body: dict[str, Any]) -> dict[str, Any]:
    """A request as a chat completions request."""
    given: Any = body.get("input", [])
    items: list[Part] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    messages: list[Part] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            messages.append({"role": item.get("role"), "content": item.get("content")})
        elif kind in _CALLS:
            # The calls of one answer are items of their own.
            if messages and messages[-1].get("tool_calls"):
                messages[-1]["tool_calls"].append(item)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [item]})
        elif kind.endswith("_output"):
            messages.append({"role": "tool", "content": json.dumps(item.get("output"))})
    # Codex names its tools in the conversation.
    tools = body.get("tools") or [item for item in items if item.get("type") == "additional_tools"]
    return {**body, "messages": messages, "tools": tools}


def answer(body: dict[str, Any], pieces: Sequence[str], thoughts: Sequence[str], calls: Sequence[Call]):
    """The type of an answer's content, and its events."""
    response = {"id": f"resp_{uuid4().hex}", "object": "response", "created_at": int(time.time())}
    response |= {"status": "in_progress", "model": body.get("model"), "output": [], "tools": [], "usage": None}
    events = list(_events(response, pieces, thoughts, calls))
    if body.get("stream"):
        numbered = ({**event, "sequence_number": number} for number, event in enumerate(events))
        return "text/event-stream", [_encoded(event) for event in numbered]
    return "application/json", [json.dumps(events[-1]["response"]).encode()]


def _encoded(event: Part) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _events(response: Part, pieces: Sequence[str], thoughts: Sequence[str], calls: Sequence[Call]) -> Iterator[Part]:
    yield {"type": "response.created", "response": response}
    items = [*([_thought(thoughts)] if thoughts else []), *([_message(pieces)] if any(pieces) else [])]
    items += [_call(call) for call in calls]
    for index, (start, deltas, done) in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": start}
        for delta in deltas:
            yield {"item_id": start["id"], "output_index": index, **delta}
        yield {"type": "response.output_item.done", "output_index": index, "item": done}
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120}
    output = [done for _, _, done in items]
    yield {
        "type": "response.completed",
        "response": {**response, "status": "completed", "output": output, "usage": usage},
    }


def _thought(thoughts: Sequence[str]) -> tuple[Part, list[Part], Part]:
    summary = {"type": "summary_text", "text": "".join(thoughts)}
    start = {"type": "reasoning", "id": f"rs_{uuid4().hex}", "summary": [], "encrypted_content": None}
    part = {"summary_index": 0}
    deltas = [
        {"type": "response.reasoning_summary_part.added", **part, "part": {"type": "summary_text", "text": ""}},
        *({"type": "response.reasoning_summary_text.delta", **part, "delta": thought} for thought in thoughts),
        {"type": "response.reasoning_summary_text.done", **part, "text": summary["text"]},
    ]
    return start, deltas, {**start, "summary": [summary]}


def _message(pieces: Sequence[str]) -> tuple[Part, list[Part], Part]:
    start = {"type": "message", "id": f"msg_{uuid4().hex}", "role": "assistant", "status": "in_progress", "content": []}
    text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    deltas = [
        {"type": "response.content_part.added", "content_index": 0, "part": {**text, "text": ""}},
        *({"type": "response.output_text.delta", "content_index": 0, "delta": piece} for piece in pieces),
    ]
    return start, deltas, {**start, "status": "completed", "content": [text]}


def _call(call: Call) -> tuple[Part, list[Part], Part]:
    """A call of a function, or of a custom tool, whose argument is a text."""
    item = {"call_id": f"call_{uuid4().hex}", "name": call.tool, "status": "completed"}
    if isinstance(call.arguments, str):
        item |= {"type": "custom_tool_call", "id": f"ctc_{uuid4().hex}", "input": call.arguments}
        delta = {"type": "response.custom_tool_call_input.delta", "delta": call.arguments}
        return {**item, "input": "", "status": "in_progress"}, [delta], item
    text = json.dumps(call.arguments)
    item |= {"type": "function_call", "id": f"fc_{uuid4().hex}", "arguments": text}
    delta = {"type": "response.function_call_arguments.delta", "delta": text}
    return {**item, "arguments": "", "status": "in_progress"}, [delta], item
