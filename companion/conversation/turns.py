"""Builds a turn from events: messages grow, tool calls change, permissions are asked and answered."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
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


@dataclass(slots=True)
class _Said:
    """A message that grows. Its text is joined only for a snapshot."""

    speaker: Speaker
    parent: str | None
    pieces: list[str] = field(default_factory=list[str])
    attachments: tuple[Attachment, ...] = ()
    aside: str = ""
    """The name of a message of its own, which other pieces don't belong to."""
    shown: Message | None = None
    message: str = ""
    """The agent's id of the message, if it has said one."""

    def show(self) -> Message:
        if self.shown is None:
            text = "".join(self.pieces)
            self.pieces = [text]
            self.shown = Message(self.speaker, text, self.attachments, self.parent, bool(self.aside))
        return self.shown


@dataclass(slots=True)
class TurnBuilder:
    """A prompt and what comes of it."""

    key: str
    client: str | None
    state: TurnState = "running"
    stop_reason: str = ""
    error: str = ""
    cancelling: bool = False
    record: str = ""
    """What the history on disk calls its beginning; empty if that isn't known."""
    cost: Cost = field(default_factory=Cost)
    began: float | None = None
    """When its first event came, in seconds since 1970 by the agent's clock."""
    has_used_model: bool = False
    """Whether the model is known to have been asked."""
    _items: list[_Said | ChatNotice | str] = field(default_factory=list["_Said | ChatNotice | str"])
    """A text is the id of a tool call."""
    _tools: dict[str, Tool] = field(default_factory=dict[str, Tool])

    @classmethod
    def of(cls, turn: Turn) -> TurnBuilder:
        """A turn that goes on. Its open questions are left out: whoever has asked asks again."""
        builder = cls(
            turn.key,
            turn.client,
            turn.state,
            turn.stop_reason,
            turn.error,
            turn.cancelling,
            cost=turn.cost,
            began=turn.began,
            has_used_model=turn.asks_model,
        )
        for item in turn.items:
            match item:
                case Message():
                    aside = "aside" if item.is_aside else ""
                    builder._items.append(_Said(item.speaker, item.parent, [item.text], item.attachments, aside))
                case Tool():
                    answered = tuple(asked for asked in item.permissions if asked.state != "open")
                    builder._items.append(item.id)
                    builder._tools[item.id] = replace(item, permissions=answered)
                case ChatNotice():
                    builder._items.append(item)
        return builder

    def show(self) -> Turn:
        """The turn as it is now."""
        items: list[Item] = []
        for item in self._items:
            match item:
                case _Said():
                    items.append(item.show())
                case str():
                    items.append(self._tools[item])
                case ChatNotice():
                    items.append(item)
        return Turn(
            self.key,
            self.state,
            tuple(items),
            self.client,
            self.stop_reason,
            self.error,
            self.cancelling,
            self.cost,
            self.began,
            self.asks_model,
        )

    @property
    def asked(self) -> str:
        """The text that the turn began with; empty if there was no prompt."""
        first = self._items[0] if self._items else None
        return first.show().text if isinstance(first, _Said) and first.speaker == "user" and not first.aside else ""

    @property
    def asks_model(self) -> bool:
        """Whether its prompt is one for the model, which the agent counts; not a command that the agent does itself."""
        is_command = self.asked.startswith("/") and not self._tools
        return bool(self.asked) and (self.has_used_model or not is_command)

    def restore(self, seen: TurnBuilder) -> None:
        """Take the items of the same turn as it was seen, if there are more of them."""
        if seen.size > self.size:
            self._items, self._tools = seen._items, seen._tools

    def account(self, at: float | None, chunk: events.MessageChunk | None) -> None:
        """Take note of when an event was sent, in seconds since 1970, and of what a call of the model has used."""
        if chunk and chunk.record and not self.record:
            self.record = chunk.record
        if chunk and (usage := chunk.usage):
            cost = self.cost
            self.cost = replace(cost, read=cost.read + usage.read, written=cost.written + usage.written)
        if at is not None and self.began is not None:
            self.cost = replace(self.cost, seconds=max(self.cost.seconds, at - self.began))

    def join(self, rest: TurnBuilder) -> None:
        """Add the rest of the turn, which was read before its beginning."""
        self._items += [item for item in rest._items if not (isinstance(item, str) and item in self._tools)]
        self._tools |= rest._tools
        self.end(rest.state, rest.stop_reason, rest.error)

    @property
    def size(self) -> int:
        """How much was said and done, as a measure to compare with."""
        said = (item.show() for item in self._items if isinstance(item, _Said))
        return sum(len(message.text) for message in said) + len(self._tools)

    def note(self, text: str, *, is_aside: bool = False) -> None:
        """Add a line of the chat's own."""
        self._items.append(ChatNotice(text, is_aside))

    def say(self, speaker: Speaker, text: str, parent: str | None = None, aside: str = "", message: str = "") -> None:
        """Append to the last message if it is this speaker's; otherwise begin a new one.

        An `aside` is the name of a message of its own, which doesn't break the one that streams. Another `message`, an
        id, is another message.
        """
        said = self._said(speaker, parent, aside, message)
        said.pieces.append(text)
        said.shown = None

    def interject(self, text: str) -> None:
        """Add what the person has sent into the turn: a message of its own, even right after the prompt."""
        self._items.append(_Said("user", None, [text]))

    def attach(self, speaker: Speaker, attachment: Attachment, parent: str | None = None) -> None:
        """Add an attachment to what a speaker says."""
        said = self._said(speaker, parent)
        said.attachments += (attachment,)
        said.shown = None

    def has(self, call: str) -> bool:
        """Whether a tool call was made in it."""
        return call in self._tools

    def tool(self, update: events.ToolCallUpdate) -> None:
        """Apply an update of a tool call."""
        tool = self._tools.get(update.id)
        if tool is None:
            tool = Tool(update.id, "", "", "other", "pending")
            self._items.append(tool.id)
        self._tools[tool.id] = _merged(tool, update)

    def ask(self, request: events.PermissionRequest) -> Permission:
        """Make a tool call wait for an answer."""
        call = request.tool_call
        before = self._tools.get(call.id)
        if before and before.status in {"completed", "failed"}:
            # A history has what came of a call before the question whether it may be made.
            call = replace(call, status="", content=None, output=None)
        self.tool(call)
        tool = self._tools[call.id]
        permission = Permission(
            request.id,
            self.key,
            tool.id,
            request.title or tool.title,
            tool.kind,
            request.options,
            request.questions,
            request.tool_call.content.diffs if request.tool_call.content else (),
            {} if request.form else tool.input,
            form=request.form,
            text=request.tool_call.content.text if request.tool_call.content else "",
        )
        asked = tuple(each for each in tool.permissions if each.id != permission.id)
        self._tools[tool.id] = replace(tool, permissions=(*asked, permission))
        return permission

    def answer(
        self, permission: Permission, *, is_selected: bool, option: str | None = None, voter: str | None = None
    ) -> None:
        """A permission that was asked here is answered."""
        state: Literal["selected", "cancelled"] = "selected" if is_selected else "cancelled"
        chosen = next((each for each in permission.options if each.id == option), None)
        answered = replace(permission, state=state, chosen=chosen, voter=voter)
        tool = self._tools[permission.tool]
        permissions = tuple(answered if each.id == permission.id else each for each in tool.permissions)
        self._tools[tool.id] = replace(tool, permissions=permissions)

    def end(self, state: TurnState, stop_reason: str = "", error: str = "") -> None:
        """The turn is over."""
        self.state, self.stop_reason, self.error, self.cancelling = state, sys.intern(stop_reason), error, False

    def _said(self, speaker: Speaker, parent: str | None, aside: str = "", message: str = "") -> _Said:
        for item in reversed(self._items):
            if isinstance(item, _Said) and (item.speaker, item.parent, item.aside) == (speaker, parent, aside):
                if message and item.message != message:
                    break
                return item
            is_aside = (isinstance(item, _Said) and item.aside) or (isinstance(item, ChatNotice) and item.is_aside)
            if not is_aside:
                break
        said = _Said(speaker, parent, aside=aside, message=message)
        self._items.append(said)
        return said


def _merged(tool: Tool, update: events.ToolCallUpdate) -> Tool:
    """A tool call with an update applied."""
    content = update.content
    return replace(
        tool,
        name=update.name or tool.name,
        title=update.title or tool.title,
        kind=update.kind or tool.kind,
        status=update.status or tool.status,
        text=tool.text if content is None else content.text,
        diffs=tool.diffs if content is None else content.diffs,
        locations=tool.locations if update.locations is None else update.locations,
        # The first event of a call has an empty input: its arguments come later.
        input=update.input or tool.input,
        output=tool.output if update.output is None else update.output,
        parent=update.parent or tool.parent,
        terminals=tool.terminals if update.terminals is None else update.terminals,
    )


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
