"""What a chat shows, as immutable values that another thread may keep. Standard library alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from pathlib import PurePath
from time import time
from typing import Any, Literal, cast

from .forms import Form


@dataclass(frozen=True, slots=True)
class Task:
    """What the agent does besides its turn: a command in the background, a sub-agent, a monitor."""

    id: str
    kind: str
    """shell, agent, monitor, or something newer."""
    title: str
    status: str
    """running, paused, completed, failed, cancelled, or something newer."""
    began: float
    """Seconds since 1970 by the agent's clock."""
    seconds: float | None = None
    """How long it took; None while it runs."""
    about: str = ""
    """The command, or what the sub-agent is asked to do."""
    output: str = ""
    """The path of the file with its output on the agent's machine."""
    error: str = ""
    tokens: int = 0
    is_background: bool = True
    """Whether the turn doesn't wait for it."""

    @property
    def is_running(self) -> bool:
        """Whether it may still do something."""
        return self.status in {"running", "paused", "pending"}

    @property
    def duration(self) -> str:
        """How long it took, or has been running."""
        seconds = max(0.0, time() - self.began) if self.seconds is None else self.seconds
        return duration(seconds)


def duration(seconds: float) -> str:
    """A time in words, such as "2 min 5 s"."""
    minutes, rest = divmod(round(seconds) if isfinite(seconds) else 0, 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


Speaker = Literal["user", "answer", "thought", "shell"]
TurnState = Literal["running", "done", "cancelled", "failed", "interrupted"]
ConnectionState = Literal["connecting", "live", "waiting", "lost", "ended"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file or another resource that came with a message."""

    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message without a break."""

    speaker: Speaker
    text: str
    """It only grows, so that a screen can append the new part."""
    attachments: tuple[Attachment, ...] = ()
    parent: str | None = None
    """The tool call of the sub-agent that says it; None for the main agent."""
    is_aside: bool = False
    """Whether it came in the middle of another message, which continues before it."""
    name: str = field(default="", compare=False)
    """What its pieces are found by: the agent's id of it, or what an aside is about."""


@dataclass(frozen=True, slots=True)
class ChatNotice:
    """A line of the chat itself, not of the agent: an event that is shown as it is."""

    text: str
    is_aside: bool = False
    """Whether it came in the middle of a message, which continues before it."""


@dataclass(frozen=True, slots=True)
class Diff:
    """A change of a file."""

    path: str
    old: str
    """Empty for a new file."""
    new: str
    is_part: bool = False
    """Whether both texts are a piece of the file whose place isn't known."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file on the agent's machine."""

    path: str
    line: int | None = None
    """From 1."""


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One way to answer a permission request."""

    id: str
    name: str
    kind: str
    """allow_once, allow_always, reject_once, reject_always, or something newer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person. Its answer goes under its index, as text."""

    text: str
    header: str
    several: bool
    """Whether more than one of the answers may be chosen."""
    answers: tuple[tuple[str, str], ...]
    """The proposed ones, each with its description."""


@dataclass(frozen=True, slots=True)
class Permission:
    """The agent asks, and waits."""

    id: str
    turn: str
    """The key of its turn."""
    tool: str
    """The id of the tool call that it is about."""
    title: str
    kind: str
    options: tuple[PermissionOption, ...]
    questions: tuple[Question, ...] = ()
    diffs: tuple[Diff, ...] = ()
    """What would be changed; nothing is written yet."""
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    state: Literal["open", "selected", "cancelled"] = "open"
    chosen: PermissionOption | None = None
    voter: str | None = None
    """The client that has answered, if a client has."""
    form: Form | None = None
    """What the person is to fill in, or the page they are to go to."""
    text: str = ""
    """What the agent says about it besides."""

    @property
    def is_choice(self) -> bool:
        """Whether the options are answers to choose from, rather than ways to allow something."""
        return not self.questions and not self.form and sum(each.kind == "allow_once" for each in self.options) > 1


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call."""

    id: str
    name: str
    """The tool's own name, for example write_file."""
    title: str
    kind: str
    """read, edit, delete, move, search, execute, think, fetch, switch_mode or other."""
    status: str
    """pending, in_progress, completed, failed, or something newer."""
    text: str = ""
    diffs: tuple[Diff, ...] = ()
    locations: tuple[Location, ...] = ()
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output: Any = None
    permissions: tuple[Permission, ...] = ()
    """What was asked about it, in that order; several may be open."""
    parent: str | None = None
    """The tool call of the sub-agent that makes it."""
    terminals: tuple[str, ...] = ()
    """The ids of the terminals in which the editor runs something for it now."""


Item = Message | Tool | ChatNotice


@dataclass(frozen=True, slots=True)
class Cost:
    """What a turn has taken."""

    seconds: float = 0.0
    """From its first event to its last one so far; 0 if that isn't known."""
    read: int = 0
    """Tokens that the model was given, in all its calls."""
    written: int = 0
    """Tokens that it has answered."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and what came of it."""

    key: str
    """The prompt's id; something else for what belongs to none."""
    state: TurnState
    items: tuple[Item, ...]
    client: str | None = None
    """The client that has asked."""
    stop_reason: str = ""
    error: str = ""
    cancelling: bool = False
    """Whether somebody has asked it to end."""
    cost: Cost = Cost()
    began: float | None = None
    """When it began, in seconds since 1970 by the agent's clock."""
    asks_model: bool = False
    """Whether its prompt is one for the model, not a command that the agent does itself."""

    @property
    def asked(self) -> str:
        """The text of its prompt; empty if there was none."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Message) and first.speaker == "user" else ""


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


@dataclass(frozen=True, slots=True)
class Queued:
    """A prompt that waits for its turn."""

    id: str
    text: str
    client: str | None = None


@dataclass(frozen=True, slots=True)
class Unsent:
    """A prompt that the person has sent and that the conversation doesn't have yet."""

    id: str
    """Our own."""
    text: str
    state: Literal["waiting", "sending", "sent"]
    """Waiting for the connection, on its way, or taken by the agent."""
    can_be_removed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the agent's plan."""

    text: str
    status: str
    """pending, in_progress or completed."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """How full the context window is, in tokens, and what the session has cost."""

    size: int
    used: int
    cost: float | None = None
    """In `currency`; None if the agent doesn't say that."""
    currency: str = ""
    """By ISO 4217, such as "USD"."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command."""

    name: str
    description: str
    hint: str


ChoiceKind = Literal["mode", "model", "effort"]
"""What a session is switched by: its approval mode, its model, and how long that thinks."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A model, a mode or an effort that can be switched to."""

    id: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class SessionOption:
    """Something else of a session that can be set."""

    id: str
    name: str
    value: str | bool
    """The id of one of the `values`; true or false for a switch."""
    description: str = ""
    values: tuple[Choice, ...] = ()
    """Empty for a switch."""

    @property
    def shown(self) -> str:
        """The value in words."""
        if isinstance(self.value, bool):
            return "on" if self.value else "off"
        return next((each.name for each in self.values if each.id == self.value), self.value)


@dataclass(frozen=True, slots=True)
class Choices:
    """The models, modes and other options of a session, and the current ones."""

    model: str
    mode: str
    models: tuple[Choice, ...]
    modes: tuple[Choice, ...]
    effort: str = ""
    efforts: tuple[Choice, ...] = ()
    """How long the model may think; empty if that can't be chosen."""
    options: tuple[SessionOption, ...] = ()
    """What can be set besides these."""

    @property
    def changes(self) -> dict[str, Any]:
        """The fields of a `Status` that these are. A model or a mode that isn't told stays as it is."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in told.items() if value or name not in {"model", "mode"}}


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The state of a chat's connection to its agent."""

    state: ConnectionState
    message: str = ""
    """Why it isn't live: a sentence and a remedy."""
    retry_in: float | None = None
    """Seconds from one try to the next while it waits."""
    wants_sign_in: bool = False
    """Whether it isn't live because the person has to sign in."""
    can_be_cancelled: bool = False
    """Whether an agent is being started, which the person can end."""


@dataclass(frozen=True, slots=True)
class Status:
    """Everything but the turns."""

    connection: ConnectionStatus = ConnectionStatus("connecting")
    title: str = ""
    model: str = ""
    mode: str = ""
    models: tuple[Choice, ...] = ()
    modes: tuple[Choice, ...] = ()
    effort: str = ""
    """How long the model may think: the id of one of the `efforts`."""
    efforts: tuple[Choice, ...] = ()
    options: tuple[SessionOption, ...] = ()
    """What else of the session can be set."""
    window: ContextWindow | None = None
    plan: tuple[Step, ...] = ()
    commands: tuple[Command, ...] = ()
    queue: tuple[Queued, ...] = ()
    permissions: tuple[Permission, ...] = ()
    """Those that wait for an answer, the oldest first."""
    tasks: tuple[Task, ...] = ()
    """What the agent does besides its turn, and has done; the oldest first."""
    suggestion: str = ""
    """What the agent thinks the next prompt could be."""
    running: str | None = None
    """The key of the turn that runs."""
    last: TurnState | None = None
    """The state of the last turn."""
    changed: int = 0
    """How many files the last turn has changed, once it is over."""
    has_earlier: bool = False
    """Whether there are turns before the first one that is shown."""
    lacks: tuple[str, ...] = ()
    """What the agent can't do, as `backends.agent.Feature` names it: sessions, rewind, tasks and others."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The conversation at one moment, with the turns that have changed since the snapshot before."""

    order: tuple[str, ...]
    """The keys of all turns in order. A turn whose key is gone is to be removed."""
    changed: tuple[Turn, ...]
    """The turns that are new or have changed."""
    status: Status


@dataclass(frozen=True, slots=True)
class Locality:
    """Where a chat's files, commands and keys are: on the agent's machine."""

    host: str = ""
    """In words for the person: “this computer”, or a host's name."""
    folder: str = ""
    """As the agent calls it."""
    version: str = ""
    """The agent's."""
    is_local: bool = True
    """Whether the agent's files are known to be this machine's."""
    is_known: bool = True
    """Whether it is known at all where the agent is."""
    is_private: bool = False
    """Whether it was started for this window, and ends with it."""
    warning: str = ""
    """What the person should know before using it, a sentence."""
    agent: str = ""
    """What the agent calls itself."""
    folders: tuple[str, ...] = ()
    """The other folders that it works in."""
