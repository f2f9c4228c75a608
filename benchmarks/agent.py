"""An agent on its standard input and output: `python -m benchmarks.agent FILE`.

It answers as `benchmarks.daemon` does, and writes a line into FILE when each answer began.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from .daemon import SETTLED, STEP, WISH, piece


def send(**message: Any) -> None:
    """Send a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def talk(told: str, number: int, prompt: str, pause: float, chunks: int = 0) -> None:
    """Answer a prompt with pieces."""
    time.sleep(SETTLED)
    begun = time.perf_counter()
    for at in range(chunks):
        behind = begun + at * pause - time.perf_counter()
        if behind > STEP:
            sys.stdout.flush()
            time.sleep(behind)
        text = f"{prompt} begins. " if not at else piece(at)
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        send(method="session/update", params={"sessionId": "s", "update": update})
    sys.stdout.flush()
    with open(told, "a", encoding="utf-8") as file:
        file.write(json.dumps({"prompt": prompt, "begun": begun}) + "\n")
    send(id=number, result={"stopReason": "end_turn"})
    sys.stdout.flush()


def main() -> None:
    """Serve until the input ends."""
    prompts = 0
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                send(id=message["id"], result={"protocolVersion": 1, "agentInfo": {"name": "bench", "title": "Bench"}})
            case "session/new":
                send(id=message["id"], result={"sessionId": "s"})
            case "session/prompt":
                prompts += 1
                found = WISH.search(message["params"]["prompt"][0]["text"])
                assert found
                wish = json.loads(found[0])
                arguments = (sys.argv[1], message["id"], f"p{prompts}")
                threading.Thread(target=talk, args=arguments, kwargs=wish, daemon=True).start()
            case _:
                pass
        sys.stdout.flush()


if __name__ == "__main__":
    main()
