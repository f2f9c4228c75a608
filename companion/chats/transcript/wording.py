"""The chat's own lines about what happens in a turn: tool calls, questions, attachments, commands of the person.

Text from a model or a tool is flattened or indented in them, so that it can't look like a line of the chat. The
answer itself is as the model wrote it and may hold any line; but buttons and keys belong to an `Ask` alone.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from ...agents import DAEMON_AGENT
from ...conversation.forms import Form
from ...conversation.snapshot import (
    Attachment,
    Cost,
    Diff,
    Locality,
    Permission,
    Status,
    Step,
    Tool,
    Turn,
    Unsent,
    duration,
)
from ...review.changes import Count, changes, count_of, lines_of
from ..prompt import file_of
from .plain import GAP, SIGNS, YOU, clean, flat, foreign, presentable, relative, sentence, spelled, whole
from .render import Ask, Running, Writer

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
_PATH_NAMES = ("path", "filename")
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
            or (_plain_name(name) in _OF_DIFFS and bool(diffs) and _is_in_diffs(_plain_name(name), value, diffs))
        )
        if not is_shown:
            yield name, value


def text_beside(permission: Permission) -> str:
    """The text of a question, unless an argument or the title says the same."""
    text, command = permission.text.strip(), command_of(permission.input)
    # A command is shown in the place of the title.
    said = [command or permission.title, *(as_text(value) for value in permission.input.values())]
    return "" if text in (each.strip() for each in said) else text


def _plain_name(name: str) -> str:
    return name.replace("_", "").lower()


def _texts_asked(permission: Permission) -> set[object]:
    """Every text of a permission's questions."""
    said: set[object] = {text for each in permission.questions for text in (each.text, each.header)}
    return said | {text for each in permission.questions for answer in each.answers for text in answer}


def _is_asked(name: str, value: object, said: Container[object]) -> bool:
    """Whether the texts of questions hold all of an argument. Decoders keep it from being nested too deeply."""
    if isinstance(value, dict):
        return all(
            _plain_name(key) in _OF_QUESTIONS and _is_asked(_plain_name(key), each, said)
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
    if name.endswith(_PATH_NAMES):
        return any(value == path for path, _ in diffs)
    # A call that deletes a file is never taken for one that changes it.
    return (name == "type" and value in {"add", "update"}) or any(presentable(value) in text for _, text in diffs)


def _is_entry_in_diffs(key: str, value: object, diffs: Sequence[tuple[str, str]]) -> bool:
    """Whether diffs show an entry of an object: what belongs to a path, or has one of the names that are known."""
    if of_file := [each for each in diffs if each[0] == key]:
        return _is_in_diffs("", value, of_file)
    return _plain_name(key) in _IN_OBJECTS and _is_in_diffs(_plain_name(key), value, diffs)


MOST_STEPS = 100
"""Steps of a plan that are shown; the plan is written anew with each change of the conversation."""
LONGEST_STEP = 1000
"""Characters of a step."""


def ending(turn: Turn) -> str:
    """How a turn ended, if not normally, and what it has taken, or that it is being cancelled; empty if unknown."""
    how = _how_ended(turn)
    took = _took(turn.cost) if turn.state != "running" else ""
    return "\n".join(line for line in (how, f"—{GAP}{took} —" if took else "") if line)


def _took(cost: Cost) -> str:
    """The time and the tokens of a turn."""
    time = duration(cost.seconds) if cost.seconds >= 1 else ""
    tokens = f"{amount(cost.read)} tokens in, {amount(cost.written)} out" if cost.read or cost.written else ""
    return " · ".join(part for part in (time, tokens) if part)


def amount(number: int) -> str:
    """A number of tokens, such as 4.1k."""
    for step, sign in ((1_000_000, "M"), (1000, "k")):
        if number >= step:
            return f"{number / step:.1f}".removesuffix(".0") + sign
    return str(number)


def _how_ended(turn: Turn) -> str:
    match turn.state:
        case "running":
            return f"—{GAP}Cancelling… —" if turn.cancelling else ""
        case "cancelled":
            return f"—{GAP}Cancelled —"
        case "failed":
            return f"—{GAP}Failed: {sentence(turn.error or 'it is not said why')} —"
        case "interrupted":
            return f"—{GAP}Interrupted: the agent ended before this was through. —"
        case "done":
            return _stopped(turn.stop_reason)


def _stopped(reason: str) -> str:
    if reason in {"", "end_turn", "cancelled"}:
        return ""
    known = {
        "max_tokens": "the answer has reached its maximum length",
        "max_turn_requests": "the turn has reached its maximum number of requests",
        "refusal": "the model refuses to go on",
    }
    return f"—{GAP}Stopped: {sentence(known.get(reason, reason))} —"


def header(locality: Locality) -> str:
    """Where the chat runs. Says only what is known."""
    # An agent may call itself anything, also what would look like one of the chat's own lines.
    program = foreign(f"{flat(locality.agent) or 'An agent'} {flat(locality.version)}".rstrip())
    host = f" {'on' if locality.is_known else 'at'} {flat(locality.host)}" if locality.host else ""
    folder = f", in {flat(locality.folder)}" if locality.folder else ""
    lines = [program + host + folder]
    if locality.folders:
        lines.append(f"It works in the window’s other folders, too: {', '.join(map(flat, locality.folders))}")
    if locality.host and locality.is_local:
        lines.append(f"Files, commands and keys are those of {flat(locality.host)}.")
    elif locality.host and not locality.is_known:
        lines.append("Files, commands and keys are those of the machine on which it runs.")
    elif locality.host:
        lines.append(f"Files, commands and keys are those of {flat(locality.host)}, not of this editor’s computer.")
    if locality.warning:
        lines.append(f"⚠{GAP}{sentence(locality.warning)}")
    return "\n".join(lines)


WAITS = "Waiting for the connection… Without one within a minute, this comes back to the prompt."
SIGN_IN = "Waiting until you sign in. Send a prompt to try again, or cancel."


def tail(status: Status, unsent: Iterable[Unsent] = ()) -> str:
    """What is above the prompt: prompts on their way, the plan and the state of the connection."""
    parts = (*map(_unsent, unsent), _plan(status.plan, is_running=status.running is not None), _connection(status))
    return "\n\n".join(part for part in parts if part)


def _unsent(prompt: Unsent) -> str:
    how = {"waiting": WAITS, "sending": "Sending…", "sent": "Sent. The agent has not begun…"}[prompt.state]
    return f"{YOU}{foreign(presentable(prompt.text)).strip(chr(10))}\n◌{GAP}{how}"


def _plan(plan: Iterable[Step], *, is_running: bool) -> str:
    steps = tuple(plan)
    if not steps or not (is_running or any(step.status != "completed" for step in steps)):
        return ""
    texts = (flat(step.text[: LONGEST_STEP + 1], LONGEST_STEP) for step in steps)
    lines = [f"  {SIGNS.get(step.status, '○')} {text}" for step, text in zip(steps[:MOST_STEPS], texts, strict=False)]
    more = [f"  … and {len(steps) - MOST_STEPS} more"] if len(steps) > MOST_STEPS else []
    return "\n".join([f"◇{GAP}Plan", *lines, *more])


def _connection(status: Status) -> str:
    connection = status.connection
    match connection.state:
        case "live":
            waits = connection.wants_sign_in and status.running is not None
            return f"◌{GAP}{SIGN_IN}" if waits else ""
        case "connecting":
            return f"◌{GAP}{sentence(connection.message)}" if connection.message else f"◌{GAP}Connecting…"
        case "waiting":
            again = f" The next try is in {connection.retry_in:.0f} s." if connection.retry_in is not None else ""
            return f"⚠{GAP}{sentence(connection.message or 'The connection is lost')}{again}"
        case "lost" | "ended":
            return f"⚠{GAP}{sentence(connection.message or 'The connection is lost')}"


INDENT = "    "
_VERBS = {"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Move", "execute": "Run", "fetch": "Fetch"}
_ITEM = re.compile(r"([ \t]*+)(?:[-*+]|\d{1,9}[.)])[ \t]++(?:(\[[ xX]\])[ \t]++)?(.*\S.*)")
"""An item of a list in markdown."""
_MOST_LINES = 60
"""Of one text among a tool call's details."""
_LONGEST = 500
"""Characters of a line among them."""
MOST_ASKED = 20_000
"""Characters of what a question shows, and of a command among the details of a call: an editor takes 0.2 s for 1 MB."""
_SHORT = 100
"""Characters of a line that stands for something longer."""
_SHOWN_ELSEWHERE = frozenset({
    "absolute_path", "command", "content", "edits", "file_path", "new_string", "old_string", "path", "questions",
})  # fmt: skip
"""Arguments that the line of the call, its diffs or its questions show."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the text of a line depends on besides its item."""

    folder: str
    """The chat's, as the daemon calls it."""
    own_clients: Container[str]
    agent: str = DAEMON_AGENT
    """What the agent calls itself."""
    shows_diffs: bool = True
    """Whether what would be changed opens as a diff."""


class _Room:
    """How much more of a question is shown, and how much of it is not."""

    def __init__(self, most: float = MOST_ASKED) -> None:
        self.hidden = 0
        self._left = most

    def take(self, text: str) -> str:
        """As much of a text as there is room for."""
        if len(text) <= self._left:
            self._left -= len(text)
            return text
        shown = text[: int(self._left)]
        self.hidden += len(text) - len(shown)
        self._left = 0
        return shown


# Tool calls


def write_tool(writer: Writer, tool: Tool, key: str, context: Context, *, is_running: bool) -> None:
    """A tool call: its line, its folded details, and its permissions. What only asks is shown as its question."""
    if tool.permissions and not tool.terminals and all(asked.state == "open" for asked in tool.permissions):
        for number, asked in enumerate(tool.permissions):
            writer.write("\n" if number else "")
            write_ask(writer, asked, context)
        return
    margin = "  " if tool.parent else ""
    begin = writer.length
    status = tool.status if is_running or tool.status != "in_progress" else "pending"
    writer.write(f"{margin}{SIGNS.get(status, '◐')}{GAP}")
    _write_target(writer, tool, context)
    if reason := _failure(tool):
        writer.write(f" — {reason}")
    start = writer.length
    for line in _details(tool, context):
        writer.write(f"\n{margin}{INDENT}{line}")
    writer.fold(key, start)
    if tool.terminals:
        # At the line's beginning: what is at the end of a fold is folded too.
        writer.marks.put(Running(begin, begin, tool.terminals))
    for asked in tool.permissions:
        if asked.state == "open":
            writer.write("\n")
            write_ask(writer, asked, context)
        else:
            writer.write(f"\n{margin}{_answered(asked, context.own_clients)}")


_DONE = {"read": "read", "edit": "edited", "delete": "deleted", "move": "moved", "fetch": "fetched", "execute": "ran"}
_MANY = {
    "execute": "ran {} commands", "fetch": "fetched {} pages", "search": "searched {} times", "": "made {} other calls",
}  # fmt: skip
_NAMED = 40
"""Characters of a command or a title in the line above a row of calls."""


def row(tools: Iterable[Tool], context: Context) -> str:
    """The line above a row of calls that are done, for example “Read 3 files, ran npm test”."""
    found: dict[str, dict[str, str]] = {}
    for tool in tools:
        title = flat(tool.title or tool.name or tool.kind, _NAMED)
        if tool.kind == "execute":
            kind, objects = tool.kind, [flat(command_of(tool.input), _NAMED) or title]
        elif tool.kind in _DONE and tool.locations:
            kind, objects = tool.kind, [relative(location.path, context.folder) for location in tool.locations]
        else:
            kind, objects = "search" if tool.kind == "search" else "", [tool.id]
        found.setdefault(kind, {}).update(dict.fromkeys(objects, title))
    words: list[str] = []
    for kind, titles in found.items():
        if len(titles) > 1:
            words.append(_MANY.get(kind, f"{_DONE.get(kind)} {{}} files").format(len(titles)))
        else:
            [(name, title)] = titles.items()
            words.append(f"{_DONE[kind]} {name}" if kind in _DONE else title)
    line = ", ".join(words)
    return f"▸{GAP}{line[:1].upper()}{line[1:]}\n"


def _write_target(writer: Writer, tool: Tool, context: Context) -> None:
    """A tool call on one line."""
    verb = _VERBS.get(tool.kind, "")
    if tool.name == "write_file":
        verb = "Write"
    title = flat(tool.title or tool.name or tool.kind, _SHORT)
    if tool.kind == "execute" and (command := _text(tool.input, "command")):
        writer.write(f"{verb} {flat(command, _SHORT)}")
        return
    locations = tool.locations if verb else ()
    if not locations:
        writer.write(title)
        return
    writer.write(verb)
    for number, location in enumerate(locations[:5]):
        writer.write(", " if number else " ")
        name = relative(location.path, context.folder)
        writer.link(f"{name}:{location.line}" if location.line else name, location.path, location.line)
    if len(locations) > 5:
        writer.write(f" and {len(locations) - 5} more")
    if tool.diffs:
        inserted, deleted = map(sum, zip(*(_diff(diff)[:2] for diff in tool.diffs), strict=True))
        writer.write(f" +{inserted} −{deleted}")


def _failure(tool: Tool) -> str:
    """Why a call has failed, in short; empty if the person has rejected it."""
    if tool.status != "failed" or any(map(_is_rejected, tool.permissions)):
        return ""
    return next((line[:_SHORT] for line in map(flat, tool.text.splitlines()) if line), "")


def _details(tool: Tool, context: Context) -> Iterable[str]:
    """A call's details as lines."""
    command = command_of(tool.input) if tool.kind == "execute" else ""
    if command:
        yield from whole(f"$ {command[:MOST_ASKED]}")
        if (more := len(command) - MOST_ASKED) > 0:
            yield f"… {more:,} more characters"
    shown = _SHOWN_ELSEWHERE if command or tool.diffs or tool.locations else frozenset({"questions"})
    shown -= frozenset() if command else {"command"}
    for name, value in tool.input.items():
        if name == "plan" and isinstance(value, str):
            yield from islice(checklist(value[:MOST_ASKED]), _MOST_LINES)
        elif name not in shown and not is_nothing(value):
            yield from _cut(f"{flat(name)}: {as_text(value)}")
    said = _said(tool)
    if said.strip() and said.strip() != _failure(tool):
        yield from _cut(said.strip("\r\n"))
    for diff in tool.diffs:
        inserted, deleted, lines = _diff(diff)
        if len(tool.diffs) > 1:
            yield f"{relative(diff.path, context.folder)} +{inserted} −{deleted}"
        yield from lines


def _said(tool: Tool) -> str:
    """A tool's text. For a command it is the output."""
    output: object = tool.output
    if not isinstance(output, dict):
        return tool.text
    result = cast("dict[str, object]", output)
    printed, code = result.get("output"), result.get("exitCode")
    if result.get("type") != "shell_result" or not isinstance(printed, str):
        return tool.text
    return f"{printed.rstrip()}\nexit code {code}" if code else printed


def _cut(text: str) -> Iterable[str]:
    # What is behind so many characters is only counted.
    most = 4 * _MOST_LINES * _LONGEST
    lines = clean(text[:most]).split("\n")
    yield from (line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines[:_MOST_LINES])
    if (count := len(lines) + text.count("\n", most)) > _MOST_LINES:
        yield f"… {count - _MOST_LINES} more lines"
    elif len(text) > most:
        yield "…"


@lru_cache(maxsize=16)  # a call is shown again with each of its updates
def _diff(diff: Diff) -> tuple[int, int, tuple[str, ...]]:
    """How many lines a change inserts and deletes, and those lines, cut."""
    counts, lines = _changed(clean(diff.old), clean(diff.new))
    return counts.inserted, counts.deleted, tuple(_cut("\n".join(lines))) if lines else ()


def _changed(before: str, after: str) -> tuple[Count, list[str]]:
    """How much differs in two texts, and the lines that do."""
    old, new = lines_of(before), lines_of(after)
    found = changes(old, new)
    counts = count_of(found, old, new)
    lines: list[str] = []
    for change in found:
        lines += [f"- {line}" for line in old[change.old_start : change.old_end]] if counts.deleted else []
        lines += [f"+ {line}" for line in new[change.new_start : change.new_end]] if counts.inserted else []
    return counts, lines


# Permissions


def write_ask(writer: Writer, permission: Permission, context: Context) -> None:
    """What is asked, and what would be done, indented. The buttons come below.

    Of what is very long a part is shown, and how much is left out: `whole_question` has all of it.
    """
    start, room = writer.length, _Room()
    writer.write(f"?{GAP}{flat(context.agent)} asks: {_asked(permission, context, room)}")
    for line in _proposal(permission, context, room):
        writer.write(f"\n{INDENT}{line}")
    if room.hidden:
        writer.write(
            f"\n{INDENT}⚠{GAP}{room.hidden:,} more characters of this are not shown here. “Show All” has them."
        )
    writer.marks.put(Ask(start, writer.length, permission, room.hidden))


def whole_question(permission: Permission, context: Context) -> str:
    """All that a question asks, however long that is. It may take seconds."""
    room = _Room(float("inf"))
    return "\n".join([_asked(permission, context, room), *_proposal(permission, context, room), ""])


def _asked(permission: Permission, context: Context, room: _Room) -> str:
    """What is asked, on one line; with the number of changed lines if the line names the file."""
    if permission.kind == "execute" and not permission.diffs and command_of(permission.input).strip():
        # The command itself is below, in full.
        return "Run this command?"
    title = spelled(room.take(permission.title or permission.kind))
    if _names_the_file(permission, context):
        inserted, deleted, _ = _diff(permission.diffs[0])
        verb = "" if " " in title else "Edit "
        return f"{verb}{title} +{inserted} −{deleted}"
    return title


def _names_the_file(permission: Permission, context: Context) -> bool:
    """Whether the title ends with the path of the only file that would be changed."""
    if len(permission.diffs) != 1 or len(permission.title) > MOST_ASKED:
        return False
    name = relative(permission.diffs[0].path, context.folder)
    return f" {spelled(permission.title)}".endswith(f" {name}")


def _proposal(permission: Permission, context: Context, room: _Room) -> Iterable[str]:
    """What would be done: a person must be able to read what they allow."""
    for question in permission.questions:
        yield spelled(room.take(question.text))
        for label, description in question.answers:
            yield _item(label, description, room)
    if permission.form:
        yield from _form(permission.form, room)
        return
    if permission.is_choice:
        yield from (f"{at}. {spelled(room.take(option.name))}" for at, option in enumerate(permission.options, 1))
    if (command := command_of(permission.input)).strip():
        yield from whole(f"$ {room.take(command)}")
    for name, value in left_over(permission):
        if name == "plan" and isinstance(value, str):
            yield from checklist(room.take(value))
        else:
            yield from whole(f"{spelled(room.take(name))}: {room.take(as_text(value))}")
    if text := text_beside(permission):
        yield from whole(room.take(text))
    yield from _proposed_changes(permission, context, room)


def _item(name: str, description: str, room: _Room) -> str:
    """One of the answers to a question."""
    more = f" — {spelled(room.take(description))}" if description else ""
    return f"· {spelled(room.take(name))}{more}"


def _form(form: Form, room: _Room) -> Iterable[str]:
    """What a form asks."""
    if form.page:
        yield f"It asks you to go to {flat(form.host)}:"
        yield from whole(room.take(form.page))
    for field in form.fields:
        yield spelled(f"{room.take(field.title)}{' (required)' if field.is_required else ''}")
        if field.description:
            yield from whole(room.take(field.description))
        for choice in field.choices:
            yield _item(choice.name, choice.description, room)
    if form.unknown:
        unknown = flat(room.take(", ".join(form.unknown)))
        yield f"It can only be declined: {unknown} is of a kind that this version doesn't know."


def checklist(plan: str) -> Iterable[str]:
    """A plan in markdown as lines, the items of its lists as boxes to tick. Nothing is left out but blank lines."""
    for line in presentable(plan).split("\n"):
        if found := _ITEM.fullmatch(line):
            depth, box, words = "  " * (len(found[1].expandtabs(4)) // 2), found[2] or "", found[3]
            yield from whole(f"{depth}{SIGNS['completed' if 'x' in box.lower() else 'pending']} {words}")
        elif line.strip():
            yield from whole(line.strip().lstrip("#").lstrip())


def _proposed_changes(permission: Permission, context: Context, room: _Room) -> Iterable[str]:
    diffs, is_named = permission.diffs, _names_the_file(permission, context)
    for diff in diffs:
        inserted, deleted, _ = _diff(diff)
        if not is_named:
            yield f"{spelled(room.take(relative(diff.path, context.folder)))} +{inserted} −{deleted}"
        if not context.shows_diffs:
            changed = "\n".join(_changed(presentable(diff.old), presentable(diff.new))[1])
            if shown := room.take(changed):
                for line in shown.split("\n"):
                    yield from whole(line)
    if diffs and context.shows_diffs:
        yield "The diff is open in another tab." if len(diffs) == 1 else "The diffs are open in other tabs."


def _is_rejected(permission: Permission) -> bool:
    chosen = permission.chosen
    return permission.state == "cancelled" or (chosen is not None and chosen.kind.startswith("reject"))


def _answered(permission: Permission, own_clients: Container[str]) -> str:
    chosen, is_rejected = permission.chosen, _is_rejected(permission)
    if permission.state == "cancelled":
        words = "Cancelled before it was answered"
    elif permission.is_choice and chosen:
        words = f"{'Rejected' if is_rejected else 'Answered'}: {flat(chosen.name, _SHORT)}"
    elif permission.form:
        words = "Declined" if is_rejected else "Went to the page" if permission.form.page else "Answered"
    elif chosen is None or permission.questions:
        words = "Not answered" if is_rejected else "Answered"
    else:
        name = flat(chosen.name, _SHORT)
        words = {"allow_once": "Allowed once", "reject_once": "Rejected"}.get(chosen.kind) or (
            f"Rejected: {name}"
            if is_rejected
            else f"Allowed: {name}"
            if "allow" in chosen.kind
            else f"Answered: {name}"
        )
    by = " by another client" if permission.voter is not None and permission.voter not in own_clients else ""
    return f"{'✗' if is_rejected else '✓'}{GAP}{words}{by}"


# Messages


def write_attachments(writer: Writer, attachments: Iterable[Attachment]) -> None:
    """A message's attachments, one line each."""
    for attachment in attachments:
        writer.write("\n  @ ")
        writer.link(flat(attachment.name or attachment.uri), *file_of(attachment.uri))


def write_shell(writer: Writer, text: str) -> None:
    """A command of the person with its output."""
    writer.write(INDENT + f"\n{INDENT}".join(_cut(text.strip("\r\n"))))


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
