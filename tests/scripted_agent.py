"""A scripted agent that speaks the protocol on its standard input and output: `python scripted_agent.py SCRIPT`.

SCRIPT is Python. It may define functions by the names of methods, with `_` for a slash: `session_prompt(params)` gives
the result. `update(**fields)` sends news of the session, `ask(method, **params)` a request whose answer it returns,
`raw(bytes)` prints anything. What the client sends is in `seen`.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Any

answers: dict[int, queue.Queue[Any]] = {}
seen: list[dict[str, Any]] = []
lock = threading.Lock()
count = 0


def raw(data: bytes) -> None:
    with lock:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(**message: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": "s", "update": fields})


def say(text: str, kind: str = "agent_message_chunk") -> None:
    update(sessionUpdate=kind, content={"type": "text", "text": text})


def request(method: str, params: Any) -> int:
    """Send a request without waiting."""
    global count  # noqa: PLW0603 - this is a script
    with lock:
        count += 1
        number = count
    answers[number] = queue.Queue()
    send(id=number, method=method, params=params)
    return number


def ask(method: str, **params: Any) -> Any:
    return answers[request(method, {"sessionId": "s", **params})].get()


class Failure(Exception):  # noqa: N818 - a script raises it as an answer
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def initialize(params: Any) -> Any:
    return {
        "protocolVersion": 1,
        "agentInfo": {"name": "scripted", "title": "Scripted Agent", "version": "1"},
        "agentCapabilities": {"loadSession": True, "promptCapabilities": {"image": True, "embeddedContext": True}},
    }


def session_new(params: Any) -> Any:
    return {"sessionId": "s"}


def session_load(params: Any) -> Any:
    return {}


def session_prompt(params: Any) -> Any:
    say("You said: " + "".join(block.get("text", "") for block in params["prompt"]))
    return {"stopReason": "end_turn"}


def session_cancel(params: Any) -> Any:
    return None


def main() -> None:
    space: dict[str, Any] = globals()
    with open(sys.argv[1], encoding="utf-8") as file:
        exec(compile(file.read(), sys.argv[1], "exec"), space)  # noqa: S102 - a test has written it
    for line in sys.stdin.buffer:
        message = json.loads(line)
        seen.append(message)
        if "method" not in message:
            # An answer to what a script has printed by itself is for nobody.
            if isinstance(message["id"], int) and message["id"] in answers:
                answers[message["id"]].put(message.get("result", message.get("error")))
            continue
        threading.Thread(target=answer, args=(message, space), daemon=True).start()
    os._exit(0)


def answer(message: dict[str, Any], space: dict[str, Any]) -> None:
    act = space.get(message["method"].replace("/", "_"))
    try:
        if act is None:
            raise Failure(-32601, "not found")  # noqa: TRY301 - one place answers
        result = act(message["params"])
    except Failure as failure:
        if "id" in message:
            send(id=message["id"], error={"code": failure.code, "message": str(failure)})
        return
    if "id" in message and result != "silence":
        send(id=message["id"], result=result)


if __name__ == "__main__":
    main()
    time.sleep(0)
