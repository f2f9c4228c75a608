"""Translates Anthropic's Messages API to and from the OpenAI API, which the scripted model speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from .model import Call

Part = dict[str, Any]


def is_for(path: str) -> bool:
    """Whether a path belongs to the API."""
    return path.partition("?")[0].endswith(("/messages", "/messages/count_tokens"))


def conversation(body: dict[str, Any]) -> dict[str, Any]:
    """A request as a chat completions request; its pictures are in `images`."""
    messages: list[dict[str, Any]] = []
    images: list[Part] = []
    for message in body.get("messages", []):
        content: Any = message.get("content")
        parts: list[Part] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        images += [part for part in parts if part.get("type") == "image"]
        messages += [{"role": "tool", "content": _flat(part)} for part in parts if part.get("type") == "tool_result"]
        text = "\n".join(str(part["text"]) for part in parts if part.get("type") == "text")
        if message.get("role") == "assistant":
            calls = [part for part in parts if part.get("type") == "tool_use"]
            messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        elif text:
            messages.append({"role": "user", "content": text})
    return {**body, "messages": messages, "images": images}


def _flat(result: Part) -> str:
    content: Any = result.get("content")
    return content if isinstance(content, str) else json.dumps(content)


def answer(path: str, body: dict[str, Any], pieces: Sequence[str], thoughts: Sequence[str], calls: Sequence[Call]):
    """The type of an answer's content, and its events."""
    if "count_tokens" in path:
        return "application/json", [b'{"input_tokens": 100}']
    events = list(_events(body, pieces, thoughts, calls))
    if body.get("stream"):
        return "text/event-stream", [_encoded(event) for event in events]
    message = events[0]["message"]
    message |= {"content": [{"type": "text", "text": "".join(pieces)}], "stop_reason": "end_turn"}
    return "application/json", [json.dumps(message).encode()]


def _encoded(event: Part) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _events(
    body: dict[str, Any], pieces: Sequence[str], thoughts: Sequence[str], calls: Sequence[Call]
) -> Iterator[Part]:
    usage = {"input_tokens": 100, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": body.get("model")}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    signature = {"type": "signature_delta", "signature": "c2ln"}
    blocks: list[tuple[Part, list[Part]]] = []
    if thoughts:
        deltas = [{"type": "thinking_delta", "thinking": thought} for thought in thoughts]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]))
    if any(pieces):
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]))
    for call in calls:
        start = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": call.tool, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}]))
    for index, (start, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}
