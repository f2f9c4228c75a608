"""What a tool call's arguments say that nothing else in a question shows: the person must be able to read all of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, cast

from ...conversation.snapshot import Permission
from .plain import presentable

_OF_DIFFS = frozenset({
    "abspath", "absolutepath", "changes", "content", "contents", "diff", "edits", "filename", "filepath", "filetext",
    "newcontent", "newfilecontents", "newstr", "newstring", "newtext", "oldstr", "oldstring", "oldtext", "patch",
    "path", "unifieddiff",
})  # fmt: skip
"""Arguments of tools that edit, in lower case without underscores. Those with other names are shown beside a diff."""

_IN_OBJECTS = frozenset({*_OF_DIFFS, "add", "allowmultiple", "movepath", "replaceall", "type", "update"})
"""Names in the objects among those arguments: Codex has an object for each file, Claude one for each edit."""
_FLAGS = frozenset({"allowmultiple", "replaceall"})
"""Those that say how often a text is replaced, as the diffs show."""
_PATHS = ("path", "filename")
"""What the names of paths end with."""
_OF_QUESTIONS = frozenset({"description", "header", "label", "multiselect", "options", "question"})
"""Names in the objects of an argument that holds questions."""


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
    diffs = [(diff.path, presentable(text)) for diff in permission.diffs for text in (diff.old, diff.new)]
    for name, value in permission.input.items():
        is_shown = (
            is_nothing(value)
            or (name == "command" and has_command)
            or (name == "questions" and _is_asked("", value, _texts_asked(permission)))
            or (_plain(name) in _OF_DIFFS and bool(diffs) and _is_in_diffs(_plain(name), value, diffs))
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


def _texts_asked(permission: Permission) -> set[object]:
    """Every text of a permission's questions."""
    said: set[object] = {text for each in permission.questions for text in (each.text, each.header)}
    return said | {text for each in permission.questions for answer in each.answers for text in answer}


def _is_asked(name: str, value: object, said: Container[object]) -> bool:
    """Whether the texts of questions hold all of an argument. Decoders keep it from being nested too deeply."""
    if isinstance(value, dict):
        return all(
            _plain(key) in _OF_QUESTIONS and _is_asked(_plain(key), each, said)
            for key, each in cast("dict[str, object]", value).items()
        )
    if isinstance(value, list | tuple):
        return all(_is_asked(name, each, said) for each in cast("list[object]", value))
    return value in said or (isinstance(value, bool) and name == "multiselect")


def _is_in_diffs(name: str, value: object, diffs: Sequence[tuple[str, str]]) -> bool:
    """Whether diffs show all of an argument with a plain name: its paths, and its texts as parts of theirs.

    `diffs` are paths with the texts before and after.
    """
    if isinstance(value, dict):
        return all(_is_entry_in_diffs(key, each, diffs) for key, each in cast("dict[str, object]", value).items())
    if isinstance(value, list | tuple):
        return all(_is_in_diffs(name, each, diffs) for each in cast("list[object]", value))
    if is_nothing(value) or not isinstance(value, str):
        return is_nothing(value) or name in _FLAGS
    if name.endswith(_PATHS):
        return any(value == path for path, _ in diffs)
    # A call that deletes a file is never taken for one that changes it.
    return (name == "type" and value in {"add", "update"}) or any(presentable(value) in text for _, text in diffs)


def _is_entry_in_diffs(key: str, value: object, diffs: Sequence[tuple[str, str]]) -> bool:
    """Whether diffs show an entry of an object: what belongs to a path, or has one of the names that are known."""
    if of_file := [each for each in diffs if each[0] == key]:
        return _is_in_diffs("", value, of_file)
    return _plain(key) in _IN_OBJECTS and _is_in_diffs(_plain(key), value, diffs)
