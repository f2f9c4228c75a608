"""The tool calls of a turn that write files, as what they replace and what the agent said before each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ..conversation.snapshot import Message, Tool, Turn, path_of, whole_texts
from ..json_text import as_list, as_object
from ..platforms import files

MAX_SAID = 64 * 1024
"""Characters of what was said, from its end, in which a reason is looked for."""
_PATHS = ("file_path", "filePath", "absolute_path", "path")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str")
_CONTENT = ("content", "file_text")
_EVERYWHERE = ("replace_all", "replaceAll", "allow_multiple")


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """A text of a file that becomes another one: of the whole file, or of a piece of it."""

    path: str
    """Absolute."""
    old: str | None
    """Empty if there was no file; None if it isn't known what was in it."""
    new: str
    is_everywhere: bool = False
    """Whether each such piece is replaced."""
    is_whole: bool = False
    """Whether both are known to be all of the file."""


@dataclass(frozen=True, slots=True)
class WritingCall:
    """A tool call that has written files, and was completed."""

    id: str
    name: str
    replaced: tuple[TextReplacement, ...]
    reason: str = ""
    """What the agent has said before it; empty if it has said nothing."""
    asked: str = ""
    """What the person has said in the middle of the turn, if that came before it."""


@dataclass(frozen=True, slots=True)
class ReportedTurn:
    """A turn that is over, as its chat or its transcript tells it."""

    agent: str
    prompt: str
    calls: tuple[WritingCall, ...]
    model: str = ""
    session: str = ""
    turn: str = ""
    """Its key."""
    place: str = ""
    """The folder of the chat, or the path of the transcript."""
    command: str = ""
    """The name of the chat's agent in the settings; empty for the daemon."""
    is_chat: bool = True
    began: float = 0.0
    """When it was seen to run, in Unix time; 0 if nobody has."""


def calls_of(turn: Turn, full: Callable[[str], str]) -> Iterator[WritingCall]:
    """The tool calls of a chat's turn that have written files. `full` makes a path of the agent's an absolute one.

    A sub-agent's own words stand before its calls, not those of the agent that has sent it.
    """
    for tool, reason, asked in _tools(turn):
        if tool.status == "completed" and (replaced := tuple(_replaced(tool, full))):
            yield WritingCall(tool.id, tool.name or tool.title, replaced, reason, asked)


def said_before(turn: Turn, tool: str) -> str:
    """What the agent has said before a tool call that waits; empty if it has said nothing, or if that isn't sure.

    A call of a sub-agent may come without its parent, and while another call runs nobody knows whether it is one.
    """
    found = [(each, reason) for each, reason, _ in _tools(turn) if each.id == tool]
    runs = any(isinstance(each, Tool) and each.status == "in_progress" and each.id != tool for each in turn.items)
    return found[0][1] if len(found) == 1 and (found[0][0].parent or not runs) else ""


def _tools(turn: Turn) -> Iterator[tuple[Tool, str, str]]:
    """The tool calls, with what the agent has said before each, and the person in the middle of the turn."""
    said: dict[str | None, str] = {}
    asked = ""
    for at, item in enumerate(turn.items):
        match item:
            case Message(speaker="user") if at:
                said.clear()
                asked = item.text
            case Message(speaker="answer" | "thought"):
                said[item.parent] = last_paragraph(item.text)
            case Tool():
                yield item, said.get(item.parent, ""), asked
            case _:
                pass


def last_paragraph(text: str) -> str:
    """The last paragraph of what was said; of a long one, the end (`MAX_SAID`)."""
    lines = text[-MAX_SAID:].strip().split("\n")
    return "\n".join(reversed(list(takewhile(str.strip, reversed(lines))))).strip()


def _replaced(tool: Tool, full: Callable[[str], str]) -> Iterator[TextReplacement]:
    if whole := whole_texts(tool):
        old, new = whole
        yield TextReplacement(full(path_of(tool, tool.diffs[0])), old, new, is_whole=True)
        return
    is_everywhere = any(tool.input.get(name) is True for name in _EVERYWHERE)
    for diff in tool.diffs:
        # An agent may say nothing of what was there, though the file exists.
        yield TextReplacement(full(path_of(tool, diff)), diff.old or None, diff.new, is_everywhere)
    if not tool.diffs and tool.kind in {"edit", "other", ""}:
        yield from replaced_by(tool.input, full)


def replaced_by(arguments: Mapping[str, Any], full: Callable[[str], str]) -> Iterator[TextReplacement]:
    """What the arguments of a tool say that it writes, in the words that most agents have for that."""
    path = _first(arguments, _PATHS)
    if not path:
        return
    new = _first(arguments, _NEW)
    if new is not None:
        is_everywhere = any(arguments.get(name) is True for name in _EVERYWHERE)
        yield TextReplacement(full(path), _first(arguments, _OLD) or None, new, is_everywhere)
        return
    for edit in map(as_object, as_list(arguments.get("edits"))):
        if (new := _first(edit, _NEW)) is not None:
            yield TextReplacement(full(path), _first(edit, _OLD) or None, new, edit.get("replace_all") is True)
    if (content := _first(arguments, _CONTENT)) is not None:
        yield TextReplacement(full(path), None, content)


def _first(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)


def real_path(path: str, folders: Iterable[str]) -> str:
    """A path that an agent names, without links and as the system compares it; empty if it can't be one.

    So is one of another computer than the folders are on, where nobody looks. It blocks.
    """
    if not os.path.isabs(path) or files.is_elsewhere(path, folders):
        return ""
    try:
        return os.path.normcase(files.resolved(path))
    except OSError:
        return ""


def below(path: str, roots: Sequence[str]) -> str | None:
    """The outermost of some folders that a path is in; None if it is in none of them. All are real paths."""
    own = os.path.normcase(path)
    found = [root for root in roots if own.startswith(os.path.join(os.path.normcase(root), ""))]
    return min(found, key=len, default=None)
