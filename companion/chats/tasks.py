"""What the agents of the chats do besides their turns: listed, followed, stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import cast

from ..backends.backend import needed
from ..backends.wire import as_object
from ..background import answered
from ..conversation.failures import ChatError
from ..conversation.snapshot import Task
from ..ids import ChatId
from ..platforms.files import Content, FileRefusedError, IrregularError, entry
from .chat import Chat
from .registry import Registry
from .transcript.plain import clean

MOST_OUTPUT = 64 * 1024
"""Bytes of the end of a task's output that are shown."""
_KINDS = {"shell": "Command", "agent": "Sub-agent", "monitor": "Monitor"}


class ChatTasks:
    """Lists the tasks of a conversation, shows what they do, and stops them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def all(self, chat_id: ChatId) -> list[Task]:
        """What the agent does besides its turn, and has done: what runs first, then the latest."""
        client, session, _ = await self._registry.reached(chat_id)
        tasks = needed(client.tasks, client, "list what runs in the background")
        found = {task.id: task for task in await tasks.agents(session)}
        found |= {task.id: task for task in await tasks.list(session)}
        return sorted(found.values(), key=lambda task: (not task.is_running, -task.began))

    async def page(self, chat_id: ChatId, identifier: str) -> tuple[str, bool]:
        """A page about a task with the end of its output, and whether it still runs."""
        found = next((task for task in await self.all(chat_id) if task.id == identifier), None)
        if found is None:
            raise ChatError("The daemon doesn't know this task any more.")
        is_local = self._registry[chat_id].is_local
        output = await _output(found) if is_local and found.output else None
        return "\n".join(_page(found, output, is_local=is_local)) + "\n", found.is_running

    async def stop(self, chat_id: ChatId, task: Task) -> str:
        """Stop a task. Returns what happened, a sentence."""
        chat = self._registry[chat_id]
        client, session, _ = await self._registry.reached(chat_id)
        tasks = needed(client.tasks, client, "stop what runs in the background")
        stopped = await tasks.stop(session, task)
        chat.connection.conversation.set_tasks(await tasks.list(session))
        return f"{task.title} is stopped." if stopped else f"{task.title} has ended already."

    def stop_terminals(self, chat_id: ChatId, terminals: Sequence[str]) -> None:
        """End what runs in terminals that the editor has opened for the agent; the turn goes on."""

        async def stop(chat: Chat) -> None:
            client, _ = chat.connection.connected
            control = needed(client.terminals, client, "stop what runs in a terminal")
            if not any(await asyncio.gather(*map(control.stop_terminal, terminals))):
                self._registry.editor.mention("It has ended already.", chat.window)

        self._registry.do(chat_id, stop)


def _page(task: Task, output: str | None, *, is_local: bool) -> Iterator[str]:
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
    parts: object = message.get("parts")
    words: list[str] = []
    for part in cast("list[object]", parts) if isinstance(parts, list) else []:
        text, call = as_object(part).get("text"), as_object(as_object(part).get("functionCall")).get("name")
        if isinstance(text, str) and text.strip():
            words.append(_clean_lines(text))
        elif isinstance(call, str):
            words.append(f"→ {clean(call)}")
    return "\n".join(words) or None


def _clean_lines(text: str) -> str:
    """A text without control characters, line by line."""
    return "\n".join(map(clean, text.strip().splitlines()))
