"""The tool calls of a session, each with all that the agent has told of it."""

from __future__ import annotations

import asyncio
import itertools
import os
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

from ...json_text import as_list, as_object, as_text
from ...provenance.calls import replaced_by
from ...provenance.lines import Effort, TooMuchError
from ...review.disk import SourceText
from ..wire import as_id, as_line, objects

MAX_KEPT = 500
"""Tool calls that are remembered. An agent tells of the older ones no more."""


class ToolCalls:
    """Merges what an agent tells of a tool call over its life: a field that is absent or null is as it was before.

    A permission request names its tool call, and may have nothing but its id (docs/protocols/acp.md#updates). Some
    models number their calls anew in each turn or for each answer: a call that is over lends nothing to the next one
    with its id, which gets a name of its own.
    """

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}
        """By name, which is the id unless there was another call with that."""
        self._names: dict[str, str] = {}
        """The names of the calls that go by another one than their id."""
        self._turn: object = None

    def note(self, update: Mapping[str, Any], turn: object = None) -> dict[str, Any]:
        """Take in a tool call or an update of one, of a turn. Returns all that is known, with the call's name as id.

        An object without an id is returned as it came. What was told in another turn is forgotten.
        """
        if (identifier := as_id(update.get("toolCallId"))) is None:
            return dict(update)
        self._begin(turn)
        if update.get("sessionUpdate") == "tool_call" and not is_over(update):
            self._renew(identifier)
        return self._merge(identifier, update)

    def name(self, identifier: str) -> str:
        """The name of the call that an id means now."""
        return self._names.get(identifier, identifier)

    def knows(self, name: str) -> bool:
        """Whether a tool call was told of."""
        return name in self._calls

    def asked(self, call: Mapping[str, Any], turn: object = None) -> dict[str, Any]:
        """The tool call of a permission request, with what was told of it before.

        What the request says counts. Where an argument was told in another way before, that is there too, as
        “… (told before)”. Content without a diff comes after the diffs that the call had; those of a call with another
        kind or another argument are left out.
        """
        if (identifier := as_id(call.get("toolCallId"))) is None:
            return dict(call)
        self._begin(turn)
        self._renew(identifier)
        known = self._calls.get(self.name(identifier), {})
        merged = self._merge(identifier, call)
        told, asks = as_object(known.get("rawInput")), as_object(call.get("rawInput"))
        differing = {f"{key} (told before)": told[key] for key in told if key in asks and told[key] != asks[key]}
        if not has_diff(call) and has_diff(known):
            is_other = bool(differing) or known.get("kind") not in (None, merged.get("kind"))
            merged["content"] = [*([] if is_other else known["content"]), *as_list(call.get("content"))]
        if told and asks:
            merged["rawInput"] = {**told, **asks}
        self._calls[self.name(identifier)] = dict(merged)
        if differing:
            merged["rawInput"] = {**merged["rawInput"], **differing}
        return merged

    def hand_over(self) -> dict[str, Any]:
        """What the next instance needs of the turn that runs."""
        return {"calls": self._calls, "names": self._names, "turn": self._turn}

    def take_over(self, left: Mapping[str, Any]) -> None:
        """Go on with what `hand_over` has left."""
        self._calls, self._names, self._turn = dict(left["calls"]), dict(left["names"]), left["turn"]

    def _begin(self, turn: object) -> None:
        """Forget the calls of other turns than this one."""
        if turn != self._turn:
            self._calls.clear()
            self._names.clear()
            self._turn = turn

    def _renew(self, identifier: str) -> None:
        """Let an id mean a new call if the one that it means is over."""
        if is_over(self._calls.get(self.name(identifier), {})):
            names = (f"{identifier} #{number}" for number in itertools.count(2))
            self._names[identifier] = next(name for name in names if name not in self._calls)

    def _merge(self, identifier: str, told: Mapping[str, Any]) -> dict[str, Any]:
        name = self.name(identifier)
        news = {key: value for key, value in told.items() if value is not None and key != "sessionUpdate"}
        merged = self._calls[name] = {**self._calls.pop(name, {}), **news, "toolCallId": name}
        while len(self._calls) > MAX_KEPT:
            oldest = next(iter(self._calls))
            del self._calls[oldest]
            self._names = {identifier: each for identifier, each in self._names.items() if each != oldest}
        return dict(merged)


def is_over(call: Mapping[str, Any]) -> bool:
    """Whether a tool call, or what an update says of one, has ended."""
    return call.get("status") in ("completed", "failed")


def with_told_diffs(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool call that edits files and has no diff, with those that its arguments tell.

    OpenCode 1.18 asks without a diff if all lines of it are indented.
    """
    if call.get("kind") != "edit" or has_diff(call):
        return call
    arguments = as_object(call.get("rawInput"))
    told = list(replaced_by(arguments, str))
    # Less than what is going to be written is worse than nothing.
    is_all = all(each.old and os.path.isabs(each.path) for each in told)
    if not told or not is_all or len(told) != max(1, len(as_list(arguments.get("edits")))):
        return call
    diffs = [{"type": "diff", "path": each.path, "oldText": each.old, "newText": each.new} for each in told]
    return {**call, "content": [*diffs, *as_list(call.get("content"))]}


def has_diff(call: Mapping[str, Any]) -> bool:
    """Whether a tool call has a diff among its content."""
    return any(each.get("type") == "diff" for each in objects(call.get("content")))


def paths(call: Mapping[str, Any]) -> set[str]:
    """The absolute paths of the files that a tool call names."""
    parts = [each for name in ("content", "locations") for each in objects(call.get(name))]
    named = (each.get("path") for each in parts)
    return {path for path in named if isinstance(path, str) and os.path.isabs(path) and "\0" not in path}


Texts = Callable[[str], Awaitable[Sequence[str]]]
"""The texts that a path may mean: the file on the disk, then an unsaved text of it. Empty if neither can be read."""

_OCCURRENCE = 10
"""What it costs to look at the line of an occurrence, in the unit of `Effort`."""
_ALL = ("replace_all", "replaceAll", "allow_multiple")
"""Arguments by which agents say that every occurrence is replaced."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement in a file."""

    old: str
    new: str
    lines: Sequence[int] = ()
    """The lines that the agent names for it, from 1."""
    is_everywhere: bool = False
    """Every occurrence is replaced."""


async def whole_files(call: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    """A tool call whose diffs are whole files against whole files, one for each file.

    A piece that can't be placed in its file stays as it is, with `isPart`; so do all that would cost too much.
    """
    effort = Effort()
    content = as_list(call.get("content"))
    lines, everywhere = _lines(call), _everywhere(call)
    by_path: dict[str, list[Mapping[str, Any]]] = {}
    for part in content:
        if _is_diff(part):
            by_path.setdefault(part["path"], []).append(part)
    placed: dict[str, list[Mapping[str, Any]]] = {}
    for path, diffs in by_path.items():
        edits, known = _edits(diffs, lines.get(path, ()), everywhere), await texts(path)
        found = await asyncio.to_thread(_whole, edits, known, effort)
        if found is None:
            placed[path] = [{**diff, "isPart": bool(diff.get("oldText"))} for diff in diffs]
        else:
            placed[path] = [{**diffs[0], "oldText": found[0], "newText": found[1]}]
    if not placed:
        return dict(call)
    rest = [part for part in content if not _is_diff(part)]
    return {**call, "content": [*(diff for diffs in placed.values() for diff in diffs), *rest]}


def place(text: str, edit: Replacement, effort: Effort) -> str | None:
    """A file's text after an edit; None if it isn't clear where the edit belongs. Raises TooMuchError.

    Both texts are compared with line feeds only; lines that the edit leaves keep their endings.
    """
    effort.spend(len(text))
    source = SourceText(text)
    shown, old, new = source.shown, SourceText(edit.old).shown, SourceText(edit.new).shown
    if not old:
        return source.restore(new) if shown else edit.new
    many = shown.count(old)
    if many == 1 or (many and edit.is_everywhere):
        effort.spend(many * len(new))  # a text may double with each edit
        return source.restore(shown.replace(old, new))
    if not many and old.endswith("\n") and old != "\n" and shown.endswith(old[:-1]):
        # The last line of the file has no ending.
        return source.restore(shown.removesuffix(old[:-1]) + new.removesuffix("\n"))
    if not many or not edit.lines:
        return None
    effort.spend(_OCCURRENCE * (many + len(edit.lines)))
    named = list(islice(_named(shown, old, edit.lines), 2))
    return source.restore(shown[: named[0]] + new + shown[named[0] + len(old) :]) if len(named) == 1 else None


def _whole(edits: Sequence[Replacement], texts: Sequence[str], effort: Effort) -> tuple[str, str] | None:
    """A file before and after some edits; None if they fit none of its texts, or if that costs too much."""
    if len(edits) == 1 and edits[0].old and any(is_same(text, edits[0].old) for text in texts):
        return edits[0].old, edits[0].new
    for text in texts:
        changed: str | None = text
        try:
            for edit in edits:
                changed = place(changed, edit, effort) if changed is not None else None
        except TooMuchError:
            return None
        if changed is not None:
            return text, changed
    return None


def _named(text: str, piece: str, lines: Sequence[int]) -> Iterator[int]:
    """The occurrences of a piece that have one of the lines."""
    wanted, height = sorted(lines), piece.rstrip("\n").count("\n")
    line, end, at = 1, 0, text.find(piece)
    while at >= 0:
        line, end = line + text.count("\n", end, at), at
        following = bisect_left(wanted, line)
        if following < len(wanted) and wanted[following] <= line + height:
            yield at
        at = text.find(piece, at + len(piece))


def _edits(diffs: Sequence[Mapping[str, Any]], lines: Sequence[int], everywhere: Container[str]) -> list[Replacement]:
    """The edits of a file, for which some lines are named, in the order in which they are made.

    Several with a line each are made from the end of the file, so that none moves the lines of the others.
    """
    if not 1 < len(diffs) == len(lines):
        return [_edit(diff, lines, everywhere) for diff in diffs]
    pairs = sorted(zip(lines, diffs, strict=True), key=itemgetter(0), reverse=True)
    return [_edit(diff, (line,), everywhere) for line, diff in pairs]


def _edit(diff: Mapping[str, Any], lines: Sequence[int], everywhere: Container[str]) -> Replacement:
    old = as_text(diff.get("oldText"))
    return Replacement(old, diff["newText"], lines, old in everywhere)


def _lines(call: Mapping[str, Any]) -> dict[str, list[int]]:
    """The lines that a call names, by path."""
    named: dict[str, list[int]] = {}
    for place in objects(call.get("locations")):
        if line := as_line(place.get("line")):
            named.setdefault(as_text(place.get("path")), []).append(line)
    return named


def _everywhere(call: Mapping[str, Any]) -> set[str]:
    """The texts of which the arguments of a call, or those of one of its edits, ask for every occurrence."""
    given = as_object(call.get("rawInput"))
    if any(given.get(name) is True for name in _ALL):
        return {as_text(part.get("oldText")) for part in objects(call.get("content"))}
    nested = (edit for value in given.values() for edit in objects(value))
    asking = (edit for edit in nested if any(edit.get(name) is True for name in _ALL))
    return {text for edit in asking for text in edit.values() if isinstance(text, str)}


def _is_diff(part: object) -> bool:
    fields = as_object(part)
    has_texts = isinstance(fields.get("path"), str) and isinstance(fields.get("newText"), str)
    return has_texts and fields.get("type") == "diff"


def is_same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but line endings and a byte order mark."""
    return SourceText(one).shown == SourceText(other).shown
