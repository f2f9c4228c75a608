"""Translates requests and answers of the Gemini API to and from the OpenAI API, which the scripted model speaks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import Call


def is_for(path: str) -> bool:
    """Whether a path belongs to the Gemini API."""
    return "/v1beta/" in path


def conversation(body: dict[str, Any]) -> dict[str, Any]:
    """A `generateContent` request as a chat completions request."""
    messages: list[dict[str, Any]] = []
    for content in body.get("contents", []):
        parts: list[dict[str, Any]] = content.get("parts", [])
        text = "\n".join(str(part["text"]) for part in parts if "text" in part)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        messages += [{"role": "tool", "content": json.dumps(result.get("response"))} for result in results]
        if content.get("role") == "model":
            messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        elif text:
            messages.append({"role": "user", "content": text})
    return {"messages": messages, "tools": body.get("tools")}


def answer(path: str, text: str, calls: Sequence[Call]) -> tuple[str, bytes]:
    """An answer in the format of the Gemini API: its content type and its body."""
    if "countTokens" in path:
        return "application/json", b'{"totalTokens": 10}'
    said = [{"text": text}] if text or not calls else []
    body = _body(
        [*said, *({"functionCall": {"name": call.tool, "args": call.arguments}} for call in calls)], is_last=True
    )
    if is_streamed(path):
        return "text/event-stream", b"data: " + body + b"\n\n"
    return "application/json", body


def is_streamed(path: str) -> bool:
    """Whether a path is that of an answer in pieces."""
    return "streamGenerateContent" in path


def spoken(pieces: Sequence[str]) -> list[bytes]:
    """The events of an answer in pieces."""
    last = len(pieces) - 1
    return [b"data: " + _body([{"text": piece}], is_last=at == last) + b"\n\n" for at, piece in enumerate(pieces)]


def _body(parts: list[dict[str, Any]], *, is_last: bool) -> bytes:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if is_last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted", "responseId": "scripted"}
    return json.dumps(answer).encode()
