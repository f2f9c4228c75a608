"""Builds a turn from events: messages grow, tool calls change, permissions are asked and answered."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal, cast

from . import events
from .snapshot import (
    Attachment,
    ChatNotice,
    Cost,
    Diff,
    Item,
    Message,
    Permission,
    Speaker,
    Tool,
    Turn,
    TurnState,
)


class TurnBuilder:
    """A prompt and what comes of it: a turn that goes on. Its messages are put together only for a snapshot."""

    def __init__(self, turn: Turn) -> None:
        """Questions that are open are left out: whoever has asked asks again."""
        self.head = replace(turn, items=())
        """The turn without its items."""
        self.record = ""
        """What the history on disk calls its beginning; empty if that isn't known."""
        self.has_used_model = turn.asks_model
        """Whether the model is known to have been asked."""
        self._items: list[Item] = []
        self._more: dict[int, list[str]] = {}
        """What messages have got since they were last shown, by their places."""
        self._places: dict[str, int] = {}
        """Where the tool calls are, by their ids."""
        self._growing: dict[tuple[Speaker, str | None, str], int] = {}
        """Where the messages are that may go on, by their speakers, their parents and the names of asides."""
        for item in turn.items:
            if isinstance(item, Tool):
                answered = tuple(asked for asked in item.permissions if asked.state != "open")
                self._set_tool(replace(item, permissions=answered))
            else:
                self._add(item)

    def show(self) -> Turn:
        """The turn as it is now."""
        for at, pieces in self._more.items():
            message = cast("Message", self._items[at])
            self._items[at] = replace(message, text="".join((message.text, *pieces)))
        self._more.clear()
        return replace(self.head, items=tuple(self._items), asks_model=self.asks_model)

    @property
    def asked(self) -> str:
        """The text that the turn began with; empty if there was no prompt."""
        first = self._items[0] if self._items else None
        if not isinstance(first, Message) or first.speaker != "user" or first.is_aside:
            return ""
        return "".join((first.text, *self._more.get(0, ())))

    @property
    def asks_model(self) -> bool:
        """Whether its prompt is one for the model, which the agent counts; not a command that the agent does itself."""
        asked = self.asked
        is_command = asked.startswith("/") and not self._places
        return bool(asked) and (self.has_used_model or not is_command)

    def restore(self, seen: TurnBuilder) -> None:
        """Take the items of the same turn as it was seen, if there are more of them."""
        if seen.size > self.size:
            self._items, self._more, self._places = seen._items, seen._more, seen._places
            self._growing = seen._growing

    def account(self, at: float | None, chunk: events.MessageChunk | None) -> None:
        """Take note of when an event was sent, in seconds since 1970, and of what a call of the model has used."""
        cost, began = self.head.cost, self.head.began
        if chunk and chunk.record and not self.record:
            self.record = chunk.record
        if chunk and (usage := chunk.usage):
            cost = replace(cost, read=cost.read + usage.read, written=cost.written + usage.written)
        if at is not None and began is not None:
            cost = replace(cost, seconds=max(cost.seconds, at - began))
        if cost is not self.head.cost:
            self.head = replace(self.head, cost=cost)

    def join(self, rest: TurnBuilder) -> None:
        """Add the rest of the turn, which was read before its beginning."""
        for item in rest.show().items:
            if isinstance(item, Tool):
                self._set_tool(item)
            else:
                self._add(item)
        own, later = self.head, rest.head
        began = later.began if own.began is None else own.began
        seconds = later.cost.seconds
        if began is not None and later.began is not None:
            seconds = max(own.cost.seconds, seconds + later.began - began)
        cost = Cost(seconds, own.cost.read + later.cost.read, own.cost.written + later.cost.written)
        self.head = replace(later, key=own.key, client=own.client or later.client, cost=cost, began=began)
        self.has_used_model |= rest.has_used_model

    @property
    def size(self) -> int:
        """How much was said and done, as a measure to compare with."""
        said = (len(item.text) for item in self.show().items if isinstance(item, Message))
        return sum(said) + len(self._places)

    def note(self, text: str, *, is_aside: bool = False) -> None:
        """Add a line of the chat's own."""
        self._add(ChatNotice(text, is_aside))

    def say(self, speaker: Speaker, text: str, parent: str | None = None, aside: str = "", message: str = "") -> None:
        """Append to the last message if it is this speaker's; otherwise begin a new one.

        An `aside` is the name of a message of its own, which doesn't break the one that streams. Another `message`, an
        id, is another message.
        """
        self._more.setdefault(self._message(speaker, parent, aside, message), []).append(text)

    def interject(self, text: str) -> None:
        """Add what the person has sent into the turn: a message of its own, even right after the prompt."""
        self._add(Message("user", text))

    def attach(self, speaker: Speaker, attachment: Attachment, parent: str | None = None) -> None:
        """Add an attachment to what a speaker says."""
        at = self._message(speaker, parent)
        message = cast("Message", self._items[at])
        self._items[at] = replace(message, attachments=(*message.attachments, attachment))

    def has(self, call: str) -> bool:
        """Whether a tool call was made in it."""
        return call in self._places

    def tool(self, update: events.ToolCallUpdate) -> Tool:
        """Apply an update of a tool call. Returns the call as it is then."""
        return self._set_tool(replace(self._tool(update.id), **update.changes))

    def ask(self, request: events.PermissionRequest) -> Permission:
        """Make a tool call wait for an answer."""
        call, told = request.tool_call, request.tool_call.changes
        if self._tool(call.id).status in {"completed", "failed"}:
            # A history has what came of a call before the question whether it may be made.
            kept = told.keys() - {"status", "text", "diffs", "output"}
            call = replace(call, changes={name: told[name] for name in kept})
        tool = self.tool(call)
        permission = Permission(
            request.id,
            self.head.key,
            tool.id,
            request.title or tool.title,
            tool.kind,
            request.options,
            request.questions,
            told.get("diffs", ()),
            {} if request.form else tool.input,
            form=request.form,
            text=told.get("text", ""),
        )
        asked = tuple(each for each in tool.permissions if each.id != permission.id)
        self._set_tool(replace(tool, permissions=(*asked, permission)))
        return permission

    def answer(
        self, permission: Permission, *, is_selected: bool, option: str | None = None, voter: str | None = None
    ) -> None:
        """A permission that was asked here is answered."""
        state: Literal["selected", "cancelled"] = "selected" if is_selected else "cancelled"
        chosen = next((each for each in permission.options if each.id == option), None)
        answered = replace(permission, state=state, chosen=chosen, voter=voter)
        if not self.has(permission.tool):
            return  # what was seen of the turn has taken the place of what was asked in it
        tool = self._tool(permission.tool)
        permissions = tuple(answered if each.id == permission.id else each for each in tool.permissions)
        self._set_tool(replace(tool, permissions=permissions))

    def end(self, state: TurnState, stop_reason: str = "", error: str = "") -> None:
        """The turn is over."""
        self.head = replace(self.head, state=state, stop_reason=sys.intern(stop_reason), error=error, cancelling=False)

    def _tool(self, call: str) -> Tool:
        """The tool call with an id; a new one if there is none yet."""
        at = self._places.get(call)
        return Tool(call, "", "", "other", "pending") if at is None else cast("Tool", self._items[at])

    def _set_tool(self, tool: Tool) -> Tool:
        if (at := self._places.get(tool.id)) is None:
            self._places[tool.id] = self._add(tool)
        else:
            self._items[at] = tool
        return tool

    def _message(self, speaker: Speaker, parent: str | None, aside: str = "", message: str = "") -> int:
        """The place of the message that a piece belongs to, which is begun if there is none."""
        at = self._growing.get((speaker, parent, aside))
        if at is None or (message and cast("Message", self._items[at]).name != message):
            at = self._add(Message(speaker, "", parent=parent, is_aside=bool(aside), name=aside or message))
        return at

    def _add(self, item: Item) -> int:
        """Add an item. Returns its place. Unless it is an aside, no message before it goes on."""
        if isinstance(item, Tool) or not item.is_aside:
            self._growing.clear()
        if isinstance(item, Message):
            self._growing[item.speaker, item.parent, item.name if item.is_aside else ""] = len(self._items)
        self._items.append(item)
        return len(self._items) - 1


@dataclass(frozen=True, slots=True)
class FileChange:
    """What was changed in a file from the first of some turns to the last."""

    path: str
    """on the agent's machine; absolute where the agent says so."""
    old: str
    """Empty for a new file."""
    new: str


def changed_files(turns: Iterable[Turn]) -> list[FileChange]:
    """The files that tools have changed in these turns, in the order of their first changes."""
    found: dict[str, FileChange] = {}
    for turn in turns:
        for item in turn.items:
            if not isinstance(item, Tool) or item.status != "completed":
                continue
            whole = whole_texts(item)
            for diff in item.diffs:
                path = path_of(item, diff)
                known = found.get(path)
                change = FileChange(path, *(whole or (diff.old, diff.new)))
                found[path] = _joined(known, change, is_whole=whole is not None) if known else change
    return [change for change in found.values() if change.old != change.new]


def _joined(before: FileChange, after: FileChange, *, is_whole: bool) -> FileChange:
    """Two changes of a file, one after the other. Tools tell whole texts, or only the part that they replace."""
    if (
        is_whole
        and before.old
        and before.old not in after.old
        and after.old.count(before.new) == 1
        and before.new != before.old
    ):
        # The first one told a part of this text.
        return FileChange(before.path, after.old.replace(before.new, before.old, 1), after.new)
    # Whole texts that somebody has changed between the calls begin alike; parts from two places don't.
    if is_whole or before.new == after.old or (after.old and _first(before.new) == _first(after.old)):
        return replace(before, new=after.new)
    if after.old and before.new.count(after.old) == 1:
        return replace(before, new=before.new.replace(after.old, after.new, 1))
    return FileChange(before.path, _lines(before.old) + after.old, _lines(before.new) + after.new)


def _first(text: str) -> str:
    return text.partition("\n")[0]


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def path_of(tool: Tool, diff: Diff) -> str:
    """The path of a changed file. The diffs of 0.21.2 have only its name."""
    name = PurePath(diff.path).name
    places = [place.path for place in tool.locations] + [str(tool.input.get("file_path") or "")]
    return next((path for path in places if len(path) > len(diff.path) and PurePath(path).name == name), diff.path)


def _told(tool: Tool) -> Mapping[str, Any]:
    output: object = tool.output
    return cast("Mapping[str, Any]", output if isinstance(output, dict) else {})


def whole_texts(tool: Tool) -> tuple[str, str] | None:
    """The whole texts of a call's only file before and after it, where the tool tells them; None if it doesn't."""
    old, new = _told(tool).get("originalContent"), _told(tool).get("newContent")
    if len(tool.diffs) == 1 and isinstance(new, str) and (old is None or isinstance(old, str)):
        return old or "", new
    return None
