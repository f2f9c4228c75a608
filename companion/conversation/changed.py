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
                old, new = _whole(item, diff)
                before = found.get(path)
                found[path] = replace(before, new=new) if before else FileChange(path, old, new)
    return [change for change in found.values() if change.old != change.new]


def _path(tool: Tool, diff: Diff) -> str:
    """The path of a changed file. The diffs of 0.21.2 have only its name."""
    name = PurePath(diff.path).name
    places = [place.path for place in tool.locations] + [str(tool.input.get("file_path") or "")]
    return next((path for path in places if len(path) > len(diff.path) and PurePath(path).name == name), diff.path)


def _whole(tool: Tool, diff: Diff) -> tuple[str, str]:
    """The whole texts of a file before and after a call, where the tool tells them."""
    output: object = tool.output
    told = cast("Mapping[str, Any]", output if isinstance(output, dict) else {})
    old, new = told.get("originalContent"), told.get("newContent")
    if len(tool.diffs) == 1 and isinstance(new, str) and (old is None or isinstance(old, str)):
        return old or "", new
    return diff.old, diff.new
