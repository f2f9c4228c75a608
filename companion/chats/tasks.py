"""What the agent of a chat does besides its turn: a list, a page about each, and how one is stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..background import answered
from ..conversation.failures import ChatError
from ..conversation.snapshot import Task
from ..json_text import as_list, as_object
from ..platforms.files import Content, FileRefusedError, IrregularError, entry
from .transcript.plain import clean

if TYPE_CHECKING:
    from .chat import Chat

MOST_OUTPUT = 64 * 1024
"""Bytes of the end of a task's output that are shown."""
_KINDS = {"shell": "Command", "agent": "Sub-agent", "monitor": "Monitor"}


class ChatTasks:
    """Lists the tasks of a conversation, shows what they do, and stops them."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def all(self) -> list[Task]:
        """What the agent does besides its turn, and has done: what runs first, then the latest."""
        client, session, _ = await self._chat.connection.reached()
        found = await client.tasks(session, with_past=True)
        return sorted(found, key=lambda task: (not task.is_running, -task.began))

    async def page(self, identifier: str) -> tuple[str, bool]:
        """A page about a task with the end of its output, and whether it still runs."""
        found = next((task for task in await self.all() if task.id == identifier), None)
        if found is None:
            raise ChatError("The daemon doesn't know this task any more.")
        is_local = self._chat.is_local
        output = await _output(found) if is_local and found.output else None
        return "\n".join(_task_page(found, output, is_local=is_local)) + "\n", found.is_running

    async def stop(self, task: Task) -> str:
        """Stop a task. Returns what happened, a sentence."""
        client, session, _ = await self._chat.connection.reached()
        stopped = await client.stop_task(session, task)
        self._chat.connection.conversation.set(tasks=await client.tasks(session))
        return f"{task.title} is stopped." if stopped else f"{task.title} has ended already."

    async def stop_terminals(self, terminals: Sequence[str]) -> None:
        """End what runs in terminals that the editor has opened for the agent; the turn goes on."""
        client, _ = self._chat.connection.connected
        if not any(await asyncio.gather(*map(client.stop_terminal, terminals))):
            self._chat.mention("It has ended already.")


def _task_page(task: Task, output: str | None, *, is_local: bool) -> Iterator[str]:
    yield f"# {clean(task.title)}"
    yield ""
    yield f"- {_KINDS.get(task.kind, 'Task')}: {' '.join(clean(task.about).split()) or task.id}"
    yield f"- State: {task.status}, {task.duration}"
    if task.tokens:
        yield f"- Tokens: {task.tokens}"
    if task.error:
        yield f"- Error: {' '.join(clean(task.error).split())}"
    if task.output and not is_local:
        yield f"- Output: in {task.output}, on the machine of the daemon"
    if output is not None:
        yield from ("", "## Output", "", output or "Nothing yet.")


async def _output(task: Task) -> str:
    """The end of a task's output, as a text."""
    try:
        content = await answered(task.output, lambda: _end(task.output))
    except IrregularError:
        return "The output is not in a regular file."
    except FileRefusedError as error:
        return f"The output can't be read: {error.strerror}."
    text = content.data.decode("utf-8", "replace")
    if not content.is_whole:
        text = text.partition("\n")[2]
    lines = map(_said, text.splitlines()) if task.kind == "agent" else map(clean, text.splitlines())
    return "\n".join(line for line in lines if line is not None)


def _end(path: str) -> Content:
    with entry(path, follows_links=True) as at:
        return at.read_end(MOST_OUTPUT)


def _said(record: str) -> str | None:
    """What a sub-agent's record says: a text, or the name of a tool that is called; None if neither."""
    try:
        fields: object = json.loads(record)
    except (ValueError, RecursionError):
        return None
    message = as_object(as_object(fields).get("message"))
    words: list[str] = []
    for part in as_list(message.get("parts")):
        text, call = as_object(part).get("text"), as_object(as_object(part).get("functionCall")).get("name")
        if isinstance(text, str) and text.strip():
            words.append("\n".join(map(clean, text.strip().splitlines())))
        elif isinstance(call, str):
            words.append(f"→ {clean(call)}")
    return "\n".join(words) or None
