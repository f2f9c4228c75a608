"""Regenerates tests/unit/backends/daemon/recordings: what the pinned `qwen serve` sends in a session.

Every kind of event is in it. Run it with `python -m tests.e2e.record` after `. scripts/env.sh`. Paths are made
neutral and the list of slash commands is cut to three; nothing else is changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

from companion.backends.daemon import private, transport
from companion.backends.daemon.address import Address
from companion.backends.daemon.decoder import decode
from companion.chats import prompt
from companion.conversation.failures import ChatError

from .daemon import Daemons, Talk, run, said, talk, until
from .model import Call

RECORDINGS = Path(__file__).resolve().parents[1] / "unit" / "backends" / "daemon" / "recordings"


class Recorder:
    def __init__(self, daemons: Daemons) -> None:
        self.daemons = daemons
        self.lines: list[str] = []

    def read(self, data: Any) -> Any:
        """Replaces `decode`, and records what it reads."""
        self.lines.append(self.clean(data if isinstance(data, str) else json.dumps(data)))
        return decode(data)

    def clean(self, text: str) -> str:
        value = json.loads(text.replace(str(self.daemons.home.root), "/home/ada"))
        _shorten(value)
        return json.dumps(value, ensure_ascii=False)

    def write(self, name: str) -> None:
        RECORDINGS.mkdir(exist_ok=True)
        (RECORDINGS / name).write_text("".join(line + "\n" for line in self.lines), encoding="utf-8")
        self.lines.clear()


def _shorten(value: Any) -> None:
    if isinstance(value, dict):
        for name in ("availableCommands", "availableSkills"):
            if isinstance(value.get(name), list):
                value[name] = value[name][:3]
        for inner in value.values():
            _shorten(inner)
    elif isinstance(value, list):
        for inner in value:
            _shorten(inner)


async def _converse(daemons: Daemons, here: Talk) -> None:
    model, session = daemons.model, here.session
    target = daemons.home.write("target.txt", "alpha beta\n")
    await here.done(await here.ask(model.speech("The answer ", "is ", "42.", thoughts=("Let me ", "think."))))
    blocks = [
        prompt.text_block("See "),
        prompt.link_block(str(target)),
        prompt.resource_block("file:///new.py", "print(1)"),
    ]
    await here.done(await here.client.prompt(session, blocks))

    async def answered(kind: str, *rounds: list[Call], answers: dict[str, str] | None = None) -> None:
        key = await here.ask(model.script(*rounds))
        await here.vote(await here.asked(), kind, answers)
        await here.done(key)

    edit = Call("edit", {"file_path": str(target), "old_string": "alpha", "new_string": "ALPHA"})
    await answered("allow_once", [Call("read_file", {"file_path": str(target)})], [edit])
    await answered("reject_once", [Call("write_file", {"file_path": str(target), "content": "no\n"})])
    shell = {"command": "touch made.txt", "description": "make a file", "is_background": False}
    await answered("allow_once", [Call("run_shell_command", shell)])
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    question = {"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": options}
    await answered("allow_once", [Call("ask_user_question", {"questions": [question]})], answers={"0": "Blue"})
    todos = [{"id": "1", "content": "Look", "status": "completed"}, {"id": "2", "content": "Do", "status": "pending"}]
    await here.done(await here.ask(model.script([Call("todo_write", {"todos": todos})])))
    await here.done(await here.ask(model.speech(failure="the model says no")))

    slow = await here.ask(model.speech(*["tick "] * 50, pause=0.1))
    await until(lambda: (turn := here.turn(slow)) and said(turn))
    following = await here.ask(model.speech("Next."))
    dropped = await here.ask(model.speech("Never."))
    await until(lambda: len(here.conversation.status.queue) == 2)
    await here.client.dequeue(session, dropped)
    await here.client.cancel(session)
    await here.done(following)

    key = await here.ask(model.script([Call("run_shell_command", shell | {"command": "touch other.txt"})]))
    permission = await here.asked()
    await here.client.cancel(session)
    await here.done(key)
    with contextlib.suppress(ChatError):
        await here.vote(permission, "allow_once")

    await here.client.switch(session, "model", "scripted-b(openai)")
    with contextlib.suppress(ChatError):
        await here.client.switch(session, "model", "missing(openai)")
    for mode in ("plan", "auto-edit", "default"):
        await here.client.switch(session, "mode", mode)
    await here.client.rename_session(session, "A name")
    await until(lambda: here.conversation.status.title == "A name")
    await asyncio.sleep(0.5)


async def _record(daemons: Daemons) -> None:
    recorder = Recorder(daemons)
    daemon = await daemons.start()
    try:
        with patch.object(transport, "decode", recorder.read):
            async with talk(daemon.address, str(daemons.home.workspace)) as here:
                await _converse(daemons, here)
                session = here.session
                await _history(recorder, here, "history-live.json")
                await here.client.transport.json("DELETE", f"/session/{session.id}", session=session)
                await until(lambda: here.conversation.status.connection.state == "ended")
                recorder.write("session.jsonl")
                await _history(recorder, here, "history-disk.json")
            await _died(daemons, daemon.address)
            recorder.lines = [line for line in recorder.lines if '"session_died"' in line]
            recorder.write("died.jsonl")
    finally:
        await asyncio.to_thread(daemon.end, private.STOP_LIMIT)


async def _history(recorder: Recorder, here: Talk, name: str) -> None:
    """Record the answer of `/load`."""
    session = here.session
    body = {"cwd": session.folder}
    answer = await here.client.transport.json("POST", f"/session/{session.id}/load", body, session)
    RECORDINGS.mkdir(exist_ok=True)
    pretty = json.dumps(json.loads(recorder.clean(json.dumps(answer))), ensure_ascii=False, indent=1)
    (RECORDINGS / name).write_text(pretty + "\n", encoding="utf-8")


async def _died(daemons: Daemons, address: Address) -> None:
    """End the agent's process."""
    async with talk(address, str(daemons.home.workspace)) as here:
        for process in psutil.process_iter(["cmdline", "cwd"]):
            if "--acp" in (process.info["cmdline"] or []) and process.info["cwd"] == str(daemons.home.workspace):
                process.kill()
        await until(lambda: here.conversation.status.connection.state == "ended")


def main() -> None:
    daemons = Daemons.make()
    try:
        run(_record(daemons))
    finally:
        daemons.close()


if __name__ == "__main__":
    main()
