"""A daemon in a process of its own: `python -m benchmarks.daemon FOLDER`.

It prints its port, and when each answer began. A prompt that holds `{"chunks": N, "pause": S}` is
answered with N pieces, S seconds apart; one that holds `{"tools": N, "pause": S}` with N calls of tools.
The session `long` has a history of 3,000 turns, all of which `/load` gives, as for a session that is at work.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any

from tests.unit.fake_daemon import FEATURES, FakeDaemon, Request, Stream

WISH = re.compile(r"\{.*\}")
STEP = 0.01
"""Seconds between two bursts. The system's timer is no finer."""
SETTLED = 0.1
"""Seconds until the prompt itself is on the screen."""


def tell(**facts: Any) -> None:
    """Print facts as a JSON line for the process that started this one."""
    print(json.dumps(facts), flush=True)


def piece(number: int) -> str:
    """The text of a piece: prose, and now and then a new paragraph or some code."""
    if number % 400 == 399:
        return f"\n\n```python\nvalue = {number}\n```\n\n"
    return f"word{number} " if number % 50 else f"\n\nA new paragraph {number}: "


def _read(number: int) -> dict[str, Any]:
    said = {"type": "text", "text": f"line {number}\n" * 5}
    return {"rawInput": {"limit": number}, "content": [{"type": "content", "content": said}]}


def turn(number: int) -> list[dict[str, Any]]:
    """The events of a turn of a history, with a thought, an answer with code and names of files, and a tool call."""
    said = (
        ("user_message_chunk", f"Do it, number {number}."),
        ("agent_thought_chunk", "Hm. " * 20),
        ("agent_message_chunk", "See `src/a.py:3`.\n```py\nx = 1\n```\nDone with it. " * 2),
    )
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": kind, "content": {"type": "text", "text": text}} for kind, text in said
    ]
    call = {"toolCallId": f"t{number}", "title": "ReadFile", "kind": "read", "status": "completed"}
    updates.append({"sessionUpdate": "tool_call", "locations": [{"path": "src/a.py"}], **call, **_read(number)})
    events = [{"type": "session_update", "data": {"update": update}} for update in updates]
    return [{"promptId": f"p{number}", **event} for event in (*events, {"type": "turn_complete", "data": {}})]


def history(turns: int = 3000) -> dict[str, Any]:
    """The history in an answer of `/load`."""
    events = [event for number in range(turns) for event in turn(number)]
    return {"attached": True, "lastEventId": 0, "eventEpoch": "e", "compactedReplay": events}


class Daemon(FakeDaemon):
    """Begins a session, and answers a prompt as the prompt demands."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.capabilities(folder, features=[*FEATURES, "session_context"])
        self._folder = folder
        self._prompts = 0
        self._events = 0
        self._stream: Stream | None = None
        self._talks: set[asyncio.Task[None]] = set()
        models = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "Model"}]}
        self.routes |= {
            "POST /session": (200, {"sessionId": "s", "workspaceCwd": folder, "clientId": "c"}),
            "GET /session/s/context": (200, {"state": {"models": models}}),
            "GET /session/s/pending-prompts": (200, {"pendingPrompts": []}),
            "POST /session/s/detach": (204, None),
            "POST /session/s/prompt": self._prompted,
            "POST /session/long/load": (200, {"sessionId": "s", "workspaceCwd": folder, "clientId": "c"} | history()),
        }

    def _prompted(self, request: Request) -> tuple[int, Any]:
        self._prompts += 1
        text = request.body["prompt"][0]["text"]
        found = WISH.search(text)
        assert found
        task = asyncio.create_task(self._talk(f"p{self._prompts}", text, **json.loads(found[0])))
        self._talks.add(task)
        task.add_done_callback(self._talks.discard)
        return 202, {"promptId": f"p{self._prompts}"}

    async def _talk(self, prompt: str, text: str, pause: float, chunks: int = 0, tools: int = 0) -> None:
        stream = self._stream = self._stream or await self.streams.get()
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "user_message_chunk", "content": content}
        stream.send("session_update", self._next(), prompt, update=update)
        await asyncio.sleep(SETTLED)
        begun = time.perf_counter()
        for number in range(chunks):
            behind = begun + number * pause - time.perf_counter()
            if behind > STEP:
                await stream.writer.drain()
                await asyncio.sleep(behind)
            stream.say(self._next(), f"{prompt} begins. " if not number else piece(number), prompt)
        for number in range(tools):
            path = f"{self._folder}/file{number}.py"
            call = {"toolCallId": f"{prompt}-{number}", "title": "ReadFile", "kind": "read"}
            for update in (
                {"sessionUpdate": "tool_call", "status": "pending", **call},
                {"sessionUpdate": "tool_call_update", "status": "in_progress", "locations": [{"path": path}], **call},
                {"sessionUpdate": "tool_call_update", "status": "completed", **call, **_read(number)},
            ):
                stream.send("session_update", self._next(), prompt, update=update)
                await asyncio.sleep(pause)
        await stream.writer.drain()
        tell(prompt=prompt, begun=begun)
        stream.send("turn_complete", self._next(), prompt, stopReason="end_turn")

    def _next(self) -> int:
        self._events += 1
        return self._events


async def main() -> None:
    """Serve until the process is ended."""
    async with Daemon(sys.argv[1]).serving() as daemon:
        tell(port=daemon.port)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
