"""A scripted model on loopback, with the APIs of OpenAI (both), Anthropic and Gemini.

A test registers a script: rounds of tool calls, then a closing sentence or an answer in pieces. The prompt has the
script's tag, so the model's answer never depends on the wording of the prompt, and texts with any bytes reach the CLI
without being typed. The next round follows from the conversation itself, so a repeated request gets the same answer.
Requests without a tag (titles, suggestions) are answered "ok".
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import anthropic_api, gemini_api, responses_api

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
TAG = re.compile(r"\(task #(\d+)\)")


@dataclass(frozen=True)
class Call:
    """One tool call that the model makes."""

    tool: str
    arguments: dict[str, Any] | str
    """The arguments; a text for a custom tool."""


@dataclass(frozen=True)
class Script:
    """What the model does for one prompt: one list of calls per round, then `done`."""

    number: int
    rounds: Sequence[Sequence[Call]]
    pieces: Sequence[str] = ()
    """The pieces of the answer; empty for the sentence `done`."""
    thoughts: Sequence[str] = ()
    """The pieces of the thoughts before it."""
    pause: float = 0.0
    """Seconds before each piece."""
    failure: str = ""
    """The error that the model returns instead of an answer."""
    words: str = ""
    """A text in the prompt that replaces the tag, for a prompt that looks as if a person wrote it."""
    reasons: Sequence[str] = ()
    """What a model that explains says before the calls of each round; empty for a sentence with the numbers."""

    @property
    def tag(self) -> str:
        """The text by which the model recognizes the prompt of this script."""
        return f"(task #{self.number})"

    def said(self, number: int) -> str:
        """The sentence before the calls of a round, from 0, of a model that explains what it does."""
        return self.reasons[number] if self.reasons else f"Step {number + 1} of task {self.number} is needed."

    @property
    def done(self) -> str:
        """The sentence that closes the turn."""
        return f"Task {self.number} is through."


@dataclass
class Request:
    """One request of the CLI."""

    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body.get("messages", [])

    def last_user_text(self) -> str:
        """Everything in the newest prompt: the person's words and the context that the CLI added."""
        texts: list[str] = []
        for message in reversed(self.messages):
            if message.get("role") == "assistant":
                if texts:
                    break
                continue
            if message.get("role") == "user":
                texts.insert(0, text_of(message.get("content")))
        return "\n".join(texts)


def text_of(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


class Model:
    """The server; `with Model() as model:`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.suggestion = ""
        """What the person might write next, if the agent asks for that."""
        self.explains = False
        """Whether it says a sentence before the calls of each round."""
        self._scripts: dict[int, Script] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="model", daemon=True
        )
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def script(self, *rounds: Sequence[Call]) -> Script:
        """Register what the model does for a prompt with the script's tag."""
        script = Script(len(self._scripts) + 1, rounds)
        self._scripts[script.number] = script
        return script

    def speech(
        self,
        *pieces: str,
        thoughts: Sequence[str] = (),
        pause: float = 0.0,
        failure: str = "",
        rounds: Sequence[Sequence[Call]] = (),
        words: str = "",
        reasons: Sequence[str] = (),
    ) -> Script:
        """Register the answer to a prompt with the script's tag: rounds of calls, then the pieces."""
        script = Script(len(self._scripts) + 1, rounds, pieces, thoughts, pause, failure, words, reasons)
        self._scripts[script.number] = script
        return script

    def speaking(self, body: dict[str, Any]) -> Script | None:
        """The script of a request that is answered in pieces; otherwise None."""
        if self.suggestion and "[SUGGESTION MODE" in Request(body).last_user_text():
            return None
        script, rounds_done = self._turn(body.get("messages", []))
        if script is None or not body.get("tools") or rounds_done < len(script.rounds):
            return None
        return script if script.pieces or script.failure else None

    def requests_of(self, script: Script) -> list[Request]:
        """The requests that belong to one script's turn, oldest first."""
        return [request for request in list(self.requests) if self._turn(request.messages)[0] == script]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, body: dict[str, Any]) -> tuple[str, Sequence[Call]]:
        """The text and the tool calls for one request."""
        self.requests.append(request := Request(body))
        if self.suggestion and "[SUGGESTION MODE" in request.last_user_text():
            return json.dumps({"suggestion": self.suggestion}), ()
        script, rounds_done = self._turn(body.get("messages", []))
        if script is None or not body.get("tools"):
            return "ok", ()
        if rounds_done < len(script.rounds):
            return script.said(rounds_done) if self.explains else "", script.rounds[rounds_done]
        return script.done, ()

    def _turn(self, messages: Sequence[dict[str, Any]]) -> tuple[Script | None, int]:
        """The script of the newest prompt with a tag, and how many of its rounds are done."""
        rounds = 0
        for message in reversed(messages):
            if message.get("role") == "assistant" and message.get("tool_calls"):
                rounds += 1
            elif message.get("role") == "user":
                text = text_of(message.get("content"))
                tags = TAG.findall(text)
                if tags:
                    return self._scripts.get(int(tags[-1])), rounds
                for script in self._scripts.values():
                    if script.words and script.words in text:
                        return script, rounds
        return None, 0


def _spoken(script: Script) -> list[dict[str, Any]]:
    """The pieces of a script, as the model streams them."""
    thoughts = [{"reasoning_content": thought} for thought in script.thoughts]
    return [*thoughts, *({"content": piece} for piece in script.pieces)]


def _called(call: Call) -> dict[str, Any]:
    """A tool call, as the API has it."""
    if isinstance(call.arguments, str):
        return {"type": "custom", "custom": {"name": call.tool, "input": call.arguments}}
    return {"type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}}


def _streamed(head: dict[str, Any], deltas: Sequence[dict[str, Any]], finish: str) -> list[bytes]:
    """The events of a streamed answer."""
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish}])
    head = {**head, "object": "chat.completion.chunk"}
    chunks = [*({**head, "choices": choice} for choice in choices), {**head, "choices": [], "usage": USAGE}]
    return [b"data: " + data + b"\n\n" for data in (*(json.dumps(chunk).encode() for chunk in chunks), b"[DONE]")]


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _speak(self, script: Script, events: Sequence[bytes]) -> None:
        if script.failure:
            self._send("application/json", json.dumps({"error": {"message": script.failure}}).encode(), 400)
            return
        self.close_connection = True
        try:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                time.sleep(script.pause)
                self.wfile.write(event)
        except OSError:  # the CLI has cancelled
            pass

    def _answer_completions(self, model: Model, body: dict[str, Any]) -> None:
        text, calls = model.answer(body)
        name = f"chatcmpl-{len(model.requests)}"
        head = {"id": name, "created": int(time.time()), "model": body.get("model", "scripted")}
        if speaking := model.speaking(body):
            self._speak(speaking, _streamed(head, _spoken(speaking), "stop"))
            return
        tool_calls = [
            {"index": index, "id": f"call-{name}-{index}", **_called(call)} for index, call in enumerate(calls)
        ]
        finish = "tool_calls" if calls else "stop"
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if tool_calls:
            message["tool_calls"] = tool_calls
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._send(
                "application/json",
                json.dumps({**head, "object": "chat.completion", "usage": USAGE, "choices": [choice]}).encode(),
            )
            return
        self._send("text/event-stream", b"".join(_streamed(head, [message], finish)))

    def _answer_elsewhere(self, model: Model, body: dict[str, Any]) -> None:
        """Answer a request of the Messages API or of the Responses API."""
        is_anthropic = anthropic_api.is_for(self.path)
        translated = (anthropic_api if is_anthropic else responses_api).conversation(body)
        text, calls = model.answer(translated)
        script = model.speaking(translated)
        pieces, thoughts = (script.pieces, script.thoughts) if script else ([text], [])
        if is_anthropic:
            kind, events = anthropic_api.answer(self.path, body, pieces, thoughts, calls)
        else:
            kind, events = responses_api.answer(body, pieces, thoughts, calls)
        if len(events) == 1:
            self._send(kind, events[0])
        else:
            self._speak(script or Script(0, ()), events)

    def _send(self, kind: str, body: bytes, status: int = 200) -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the CLI ended in the middle of an answer
            self.close_connection = True


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(_Answers):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is the base class's)
            pass

        def do_HEAD(self) -> None:
            self._send("application/json", b"")

        def do_GET(self) -> None:
            self._send(
                "application/json",
                json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}).encode(),
            )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if gemini_api.is_for(self.path):
                translated = gemini_api.conversation(body)
                text, calls = model.answer(translated)
                speaking = model.speaking(translated)
                if speaking and speaking.pieces and gemini_api.is_streamed(self.path):
                    self._speak(speaking, gemini_api.spoken(speaking.pieces))
                else:
                    self._send(*gemini_api.answer(self.path, text, calls))
                return
            if anthropic_api.is_for(self.path) or responses_api.is_for(self.path):
                self._answer_elsewhere(model, body)
                return
            self._answer_completions(model, body)

    return Handler
