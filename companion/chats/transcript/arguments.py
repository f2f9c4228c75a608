"""What a tool call's arguments say that nothing else in a question shows: the person must be able to read all of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ...conversation.snapshot import Diff, Permission
from .plain import presentable

_OF_DIFFS = frozenset({
    "abspath", "absolutepath", "changes", "content", "contents", "diff", "edits", "filename", "filepath", "filetext",
    "newcontent", "newfilecontents", "newstr", "newstring", "newtext", "oldstr", "oldstring", "oldtext", "patch",
    "path", "unifieddiff",
})  # fmt: skip
"""Arguments of tools that edit, in lower case without underscores. Those with other names are shown beside a diff."""


def command_of(arguments: Mapping[str, Any]) -> str:
    """The command of a tool call as a line of a shell; empty if it has none that can be written as one."""
    command: object = arguments.get("command")
    if isinstance(command, list):
        words = cast("list[object]", command)
        return shlex.join(map(str, words)) if words and all(isinstance(word, str) for word in words) else ""
    return command if isinstance(command, str) else ""


def is_nothing(value: object) -> bool:
    """Whether an argument says nothing. False and 0 say something."""
    return value is None or (isinstance(value, str) and not value.strip())


def as_text(value: object) -> str:
    """An argument as a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def left_over(permission: Permission) -> Iterator[tuple[str, object]]:
    """The arguments that neither the command of a question nor its diffs nor what it asks shows."""
    has_command = bool(command_of(permission.input).strip())
    for name, value in permission.input.items():
        is_shown = (
            is_nothing(value)
            or (name == "command" and has_command)
            or (name == "questions" and _is_asked(permission, value))
            or (_plain(name) in _OF_DIFFS and bool(permission.diffs) and _is_in_diffs(value, permission.diffs))
        )
        if not is_shown:
            yield name, value


def text_beside(permission: Permission) -> str:
    """The text of a question, unless an argument or the title says the same."""
    text, command = permission.text.strip(), command_of(permission.input)
    # A command is shown in the place of the title.
    said = [command or permission.title, *(as_text(value) for value in permission.input.values())]
    return "" if text in (each.strip() for each in said) else text


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _is_asked(permission: Permission, value: object) -> bool:
    """Whether the questions of a permission hold every text of an argument."""
    said = {text for each in permission.questions for text in (each.text, each.header)}
    said |= {text for each in permission.questions for answer in each.answers for text in answer}
    return all(isinstance(each, bool) or each in said for each in _leaves(value))


def _is_in_diffs(value: object, diffs: Iterable[Diff]) -> bool:
    """Whether diffs show every text of an argument: it is a path of theirs, or a part of their texts."""
    shown = [presentable(text) for diff in diffs for text in (diff.old, diff.new)]
    paths = {diff.path for diff in diffs}
    return all(
        not isinstance(each, str) or each in paths or any(presentable(each) in text for text in shown)
        for each in _leaves(value)
    )


def _leaves(value: object) -> Iterator[object]:
    """What an argument holds, without the names in it. Decoders keep it from being nested too deeply."""
    if isinstance(value, dict):
        for each in cast("dict[str, object]", value).values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in cast("list[object]", value):
            yield from _leaves(each)
    else:
        yield value
