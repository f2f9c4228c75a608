"""What turns have changed in files, from what their tools say. Pure; standard library alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, cast

from .snapshot import Diff, Tool, Turn


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
            for diff in item.diffs:
                path = _path(item, diff)
                known, is_whole = found.get(path), _is_whole(item)
                change = FileChange(path, *_whole(item, diff))
                found[path] = _merged(known, change, is_whole=is_whole) if known else change
    return [change for change in found.values() if change.old != change.new]


def _merged(before: FileChange, after: FileChange, *, is_whole: bool) -> FileChange:
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


def _path(tool: Tool, diff: Diff) -> str:
    """The path of a changed file. The diffs of 0.21.2 have only its name."""
    name = PurePath(diff.path).name
    places = [place.path for place in tool.locations] + [str(tool.input.get("file_path") or "")]
    return next((path for path in places if len(path) > len(diff.path) and PurePath(path).name == name), diff.path)


def _told(tool: Tool) -> Mapping[str, Any]:
    output: object = tool.output
    return cast("Mapping[str, Any]", output if isinstance(output, dict) else {})


def _is_whole(tool: Tool) -> bool:
    """Whether a call tells the whole texts of its file before and after."""
    old, new = _told(tool).get("originalContent"), _told(tool).get("newContent")
    return len(tool.diffs) == 1 and isinstance(new, str) and (old is None or isinstance(old, str))


def _whole(tool: Tool, diff: Diff) -> tuple[str, str]:
    """The whole texts of a file before and after a call, where the tool tells them."""
    if _is_whole(tool):
        return str(_told(tool).get("originalContent") or ""), str(_told(tool)["newContent"])
    return diff.old, diff.new
