"""The transcripts of CLIs in terminals: what the person has asked, what was said, and which files the tools wrote.

None is read before the person has been asked (`Transcripts.allow`).

A transcript is another program's file, in a form that drifts, and whoever writes it may lie. So nothing in it is
believed for itself: a turn is worth something once one of its tool calls has left a file on the disk that is equal to
the byte, and `lines` has the last word on each line. No time is taken from it. What is not understood is passed over.

Where they are, and what is in them: /docs/protocols/transcripts.md. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast

from .. import json_text
from ..changes import places
from ..changes.lines import MAX_COMPARED
from ..changes.state import CLOCK
from ..clis.families import qwen_home
from ..editor import ReviewId, WindowId
from ..json_text import as_list, as_object, as_text, read_own
from ..platforms import files
from ..settings import ReadTranscripts
from .calls import ReportedTurn, TextReplacement, WritingCall, last_paragraph, real_path, replaced_by

TAIL = 4 * 1024 * 1024
"""Bytes of a transcript's end that are read first."""
STEP = 16 * 1024 * 1024
"""Bytes that are read of what is new: of more, only the end."""
MOST_NEW = 20_000
"""Lines that are looked at of what is new: of more, the last ones. Each takes up to 50 µs, and holds all threads up."""
DOCUMENT = 20 * 1024 * 1024
"""Bytes of a transcript that is a single document."""
MOST_PARTS = 200_000
"""Values in a line, or in such a document."""
MOST_FILES = 4
"""Transcripts of one CLI in one folder: the newest."""
MOST_FOLDERS = 500
MOST_SESSIONS = 50
"""Folders of a CLI that has one for each session: those that were begun or resumed last."""
LATE = 5_000_000_000
"""Nanoseconds by which a transcript may be late, or a clock be ahead of another one."""
RECENT = 600.0
"""Seconds within which a transcript was written that somebody begins to read."""
SENT = 5.0
"""Seconds after which what a command stands for is sent at the latest."""
MOST_CALLS = 2_000
"""Of one turn."""
MOST_KEPT = 32 * 1024 * 1024
"""Characters that the calls of one turn may replace and write, and those of one transcript that wait."""
MOST_LINES = 100_000
"""Of one diff: they are found in one go, which holds all threads up."""
MOST_LINKED = 10_000
"""Lines of which it is remembered which prompt they go back to."""
STRANGE = 20
"""Lines in a row of which nothing is understood: then the transcript has another form than was expected."""
_ANSWER = "transcripts.json"
"""In the folder of the stores: what the person has answered."""
_VERSION = re.compile(r"[\w.+-]{1,40}")
_FILES = "\n--- Content from referenced files ---"
"""Comes before the contents of files that the person has named; in the text itself with old versions."""
_TYPED = "logs.json"
"""Beside the folder of Gemini CLI's transcripts: what was typed."""
_LONGEST = 64 * 1024
"""Characters of a prompt that are kept."""

Kind = Literal["qwen", "gemini", "claude", "codex", "copilot"]
KINDS: Mapping[Kind, str] = {
    "qwen": "Qwen Code",
    "gemini": "Gemini CLI",
    "claude": "Claude Code",
    "codex": "Codex",
    "copilot": "Copilot CLI",
}
Object = Mapping[str, Any]
Reader = tuple[Kind, WindowId]
"""The CLI and the window for which transcripts are read."""


@dataclass(frozen=True, slots=True)
class StrangeTranscript:
    """A transcript that isn't understood."""

    cli: str
    path: str
    version: str = ""
    """That of the CLI, as the transcript has it; empty if it doesn't say."""


@dataclass(slots=True)
class WaitingCall:
    """A call that has no result so far."""

    name: str
    path: str
    """The file that its arguments name, if they name one."""
    replaced: tuple[TextReplacement, ...]
    """What it would replace."""
    size: int
    """Characters of that."""
    reason: str
    written_by: float
    """When its line was there, in Unix time."""
    proposal: ReviewId | None = None
    """The first diff that it would have made: it is no reason for another one."""


@dataclass(slots=True)
class TranscriptTurn:
    """A prompt in a transcript, and what has come of it so far."""

    key: str
    prompt: str
    at: float = 0.0
    """When the transcript says that it was sent, in Unix time; 0 if it doesn't. It may lie."""
    began: float = 0.0
    """When it was seen to run, in Unix time."""
    calls: list[WritingCall] = field(default_factory=list[WritingCall])
    model: str = ""
    """The one that has made its calls; empty as long as there are none."""
    size: int = 0
    """Characters that its calls have replaced and written. From too many on they are nobody's."""
    is_over: bool = False
    state: Literal["new", "running", "ended", "old"] = "new"
    """Whether the changes know of it.

    An old one was there before anybody looked, and nothing is known of its writes; or it is a chat's.
    """
    logged: set[str] = field(default_factory=set[str])
    """The calls that were given to the log."""
    after: int = 0
    """In nanoseconds of Unix time: it was sent later, as files were written for the prompt before it until then."""


class _Conversation:
    """What a transcript has told so far. A call is one only once its result says that it was done."""

    def __init__(self) -> None:
        self.cwd = ""
        self.session = ""
        self.model = ""
        self.turns: list[TranscriptTurn] = []
        self.taken = 0
        """How often something was understood that belongs to a prompt."""
        self.written_by = 0.0
        """When what is read now was there, in Unix time."""
        self.begins_later = False
        """Whether what comes first belongs to a prompt that is not known, such as when the beginning was not read."""
        self.is_theirs = True
        """Whether what is done now was asked for by the person, as far as is known."""
        self.awaits_prompt = False
        """Whether the person is about to ask: what is done before that belongs to no prompt."""
        self.command: tuple[str, float] | None = None
        """The person's command that the next message is the text of, and when it was typed, in Unix time."""
        self.task = ""
        """The key of the turn that has begun last, where the lines of a turn name it."""
        self._reason = ""
        self._pending: dict[str, WaitingCall] = {}
        self._known: set[str] = set()
        self._prompts: dict[str, str] = {}
        """The key of the prompt that each of the last lines goes back to, by the line's key."""

    def asks(self, key: str, text: str, at: object) -> None:
        """The person asks something, in the words that they have typed."""
        if not key or not text.strip():  # it can't be told from others, or said: nothing may go to the prompt before it
            self.begins(is_theirs=False)
            return
        self.taken += 1
        self.awaits_prompt = False
        self._prompts[key] = key
        if key in self._known:  # a document is read from its beginning each time
            self.is_theirs = bool(self.turns) and key == self.turns[-1].key
            self._reason = ""
            if self.is_theirs:
                self.turns[-1].is_over = False
            return
        self._known.add(key)
        for turn in self.turns:
            turn.is_over = True
        self.turns = [*self.turns[-1:], TranscriptTurn(key, text[:_LONGEST], _time(at))]
        self.is_theirs = True
        self.skips()

    def goes_on(self, key: str, parent: str) -> bool:
        """Whether a line, which comes after another one, goes back to the last prompt, as far as is known.

        Two CLIs that go on with one session at once both write into its transcript.
        """
        last = self.turns[-1].key if self.turns else ""
        prompt = self._prompts.get(parent, last)
        if key:
            self._prompts[key] = prompt
        if len(self._prompts) > MOST_LINKED:
            del self._prompts[next(iter(self._prompts))]
        return prompt == last

    def begins(self, *, is_theirs: bool) -> None:
        """A turn begins: for the person, who is about to ask, or for something else, such as a timer.

        So one may have in what can't be read.
        """
        self.over()
        self.is_theirs = self.awaits_prompt = is_theirs
        self.skips()

    def says(self, text: str) -> None:
        """The agent says or thinks something."""
        if text.strip():
            self._take()
            self._reason = last_paragraph(text)

    def calls(self, key: str, name: str, arguments: object) -> None:
        """The agent calls a tool."""
        self._take()
        if not self.is_theirs or self.awaits_prompt:
            return
        if self.turns and key not in self._known:
            self.turns[-1].is_over = False
        if key and key not in self._pending and isinstance(arguments, dict) and len(self._pending) < MOST_CALLS:
            given = cast("Object", arguments)
            path = as_text(given.get("file_path")) or as_text(given.get("path"))
            replaced = tuple(self._replaced(given))
            if _size(replaced) + sum(each.size for each in self._pending.values()) > MOST_KEPT:
                return
            self._pending[key] = WaitingCall(name, path, replaced, _size(replaced), self._reason, self.written_by)

    def done(self, key: str, display: object = None) -> None:
        """A call was done. `display` has the whole texts, if the CLI tells them."""
        self._take()
        pending = self._pending.pop(key, None)
        if pending is None or key in self._known or not self.turns:
            return
        self._known.add(key)
        turn = self.turns[-1]
        whole = self._whole(as_object(display), pending.path)
        replaced = (whole,) if whole else pending.replaced
        turn.size += _size(replaced)
        if replaced and len(turn.calls) < MOST_CALLS and turn.size <= MOST_KEPT:
            turn.calls.append(WritingCall(key, pending.name, replaced, pending.reason))
            turn.model = self.model

    def failed(self, key: str) -> None:
        """A call was not done."""
        self._take()
        self._pending.pop(key, None)

    def waiting(self, since: float) -> list[WaitingCall]:
        """The calls that wait and were written down since a Unix time."""
        return [pending for pending in self._pending.values() if pending.written_by >= since]

    def skips(self) -> None:
        """What comes now does not go on with what was said before."""
        self._reason = ""
        self._pending.clear()

    def over(self) -> None:
        """The answer is through."""
        if self.turns:
            self.turns[-1].is_over = True

    def _take(self) -> None:
        self.taken += bool(self.turns) or self.begins_later

    def _whole(self, shown: Object, path: str) -> TextReplacement | None:
        """The whole texts of a call, if the CLI tells them."""
        path = as_text(shown.get("filePath")) or as_text(shown.get("file_path")) or path
        old = shown.get("originalContent", shown.get("originalFile"))
        new = shown.get("newContent")
        if path and isinstance(new, str) and (old is None or isinstance(old, str)):
            return TextReplacement(self._full(path), old or "", new, is_whole=True)
        return None

    def _replaced(self, arguments: Object) -> Iterator[TextReplacement]:
        if changes := as_object(arguments.get("changes")):
            yield from _changed(changes, self._full)
        elif patch := as_text(arguments.get("patch")):
            yield from _patched(patch, self._full)
        else:
            yield from replaced_by(arguments, self._full)

    def _full(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, path)) if self.cwd else path


def _qwen(talk: _Conversation, line: Object) -> None:
    """Qwen Code 0.24: a line for each message, which names its folder."""
    talk.cwd = talk.cwd or as_text(line.get("cwd"))
    talk.session = talk.session or as_text(line.get("sessionId"))
    goes_on = talk.goes_on(as_text(line.get("uuid")), as_text(line.get("parentUuid")))
    parts = [as_object(part) for part in as_list(as_object(line.get("message")).get("parts"))]
    match line.get("type"):
        case "user" if line.get("provenance", "real_user") == "real_user":
            talk.asks(as_text(line.get("uuid")), _typed_in_qwen(talk, line, parts), line.get("timestamp"))
        case "system" if line.get("subtype") == "slash_command":
            said = as_object(line.get("systemPayload"))
            if said.get("phase") == "invocation" and said.get("sentToModel", True):
                talk.command = as_text(said.get("rawCommand")), _time(line.get("timestamp"))
        case "user":  # a timer, a task in the background that has ended, a goal
            talk.begins(is_theirs=False)
        case "assistant" if goes_on:
            talk.model = as_text(line.get("model")) or talk.model
            _qwens_words(talk, parts)
        case "tool_result":
            result = as_object(line.get("toolCallResult"))
            key = as_text(result.get("callId"))
            if result.get("status") == "success":
                talk.done(key, result.get("resultDisplay"))
            else:
                talk.failed(key)
        case _:
            pass


def _qwens_words(talk: _Conversation, parts: Sequence[Object]) -> None:
    """What Qwen Code says, and the tools that it is about to call."""
    has_calls = False
    for part in parts:
        talk.says(as_text(part.get("text")))
        if call := as_object(part.get("functionCall")):
            has_calls = True
            talk.calls(as_text(call.get("id")), as_text(call.get("name")), call.get("args"))
    if not has_calls:
        talk.over()


def _typed_in_qwen(talk: _Conversation, line: Object, parts: Sequence[Object]) -> str:
    """What the person has typed; empty if that isn't known.

    A command of theirs is sent as the text that it stands for, with what `!{}` and `@{}` in it have read.
    """
    command, talk.command = talk.command, None
    if line.get("subtype") == "mid_turn_user_message":
        return as_text(as_object(line.get("systemPayload")).get("displayText")).partition(_FILES)[0]
    if command is None:
        return _typed(parts)
    # A hook may have refused the text, and then this is something else.
    words, at = command
    return words if 0 <= _time(line.get("timestamp")) - at <= SENT else ""


def _gemini(talk: _Conversation, line: Object) -> None:
    """Gemini CLI 0.61: a message is written anew when something comes to it."""
    talk.session = talk.session or as_text(line.get("sessionId"))
    match line.get("type"):
        case "user":
            shown = line.get("displayContent")  # what the person has typed, if something else was sent
            if words := _typed(line.get("content") if shown is None else shown):
                talk.asks(as_text(line.get("id")), words, line.get("timestamp"))
            elif shown is not None:  # the CLI itself says something after a tool, such as that it shall go on
                talk.begins(is_theirs=False)
        case "gemini":
            talk.model = as_text(line.get("model")) or talk.model
            for thought in as_list(line.get("thoughts")):
                talk.says(as_text(as_object(thought).get("description")))
            talk.says(" ".join(as_text(as_object(part).get("text")) for part in _parts(line.get("content"))))
            calls = [as_object(call) for call in as_list(line.get("toolCalls"))]
            for call in calls:
                key = as_text(call.get("id"))
                talk.calls(key, as_text(call.get("name")), call.get("args"))
                if call.get("status") == "success":
                    talk.done(key, call.get("resultDisplay"))
                elif call.get("status") in {"error", "cancelled"}:
                    talk.failed(key)
            if not calls:
                talk.over()  # until calls come to it
        case _:
            pass


def _claude(talk: _Conversation, line: Object) -> None:
    """Claude Code 2.1.318: messages as its API has them. It says which ones the person has written."""
    talk.cwd = talk.cwd or as_text(line.get("cwd"))
    talk.session = talk.session or as_text(line.get("sessionId"))
    goes_on = talk.goes_on(as_text(line.get("uuid")), as_text(line.get("parentUuid")))
    if any(line.get(name) is True for name in _CLAUDES_ASIDES):
        if line.get("isMeta") is True and _speaker(line) not in (None, "human"):
            talk.begins(is_theirs=False)
        return
    message = as_object(line.get("message"))
    parts = [as_object(part) for part in _parts(message.get("content"))]
    match line.get("type"):
        case "user":
            _claudes_user(talk, line, parts)
        case "attachment":
            queued = as_object(line.get("attachment"))
            if queued.get("type") == "queued_command" and "origin" in queued:  # said while it works
                said = [as_object(part) for part in _parts(queued.get("prompt"))]
                _claudes_prompt(talk, line, queued, [as_text(part.get("text")) for part in said])
        case "assistant" if goes_on:
            talk.model = as_text(message.get("model")) or talk.model
            for part in parts:
                talk.says(as_text(part.get("text")) or as_text(part.get("thinking")))
                if part.get("type") == "tool_use":
                    talk.calls(as_text(part.get("id")), as_text(part.get("name")), part.get("input"))
            if message.get("stop_reason") == "end_turn":
                talk.over()
        case _:
            pass


def _claudes_user(talk: _Conversation, line: Object, parts: Sequence[Object]) -> None:
    """The results of calls, or what somebody has said."""
    results = [part for part in parts if part.get("type") == "tool_result"]
    for part in results:
        key = as_text(part.get("tool_use_id"))
        if part.get("is_error") is True:
            talk.failed(key)
        else:
            talk.done(key, _claudes(line.get("toolUseResult")) if len(results) == 1 else None)
    texts = [as_text(part.get("text")) for part in parts if part.get("type") == "text"]
    if not results or (any(texts) and _speaker(line) == "human"):
        _claudes_prompt(talk, line, line, texts)


def _claudes_prompt(talk: _Conversation, line: Object, said: Object, texts: Sequence[str]) -> None:
    """Who has asked for what follows: the person, if `said` tells so and has words."""
    words = "\n".join(filter(None, texts))
    if command := _CLAUDES_COMMAND.fullmatch(words):  # the text that it stands for is an aside
        words = " ".join(filter(None, command.groups()))
    if words.strip() and _speaker(said) == "human":
        talk.asks(as_text(line.get("uuid")), words, line.get("timestamp"))
    else:  # an interruption, a command, another session, a task in the background that has ended, a picture alone
        talk.begins(is_theirs=False)


_CLAUDES_COMMAND = re.compile(
    r"<command-message>[^<]*</command-message>\s*"
    r"<command-name>([^<]*)</command-name>(?:\s*<command-args>(.*?)</command-args>)?\s*",
    re.DOTALL,
)
_CLAUDES_ASIDES = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isVirtual")
"""What is true of a message that is none of the person's and begins nothing."""


def _speaker(said: Object) -> object:
    """Who has said it, such as "human" or another session; None if that is the CLI itself."""
    return as_object(said.get("origin")).get("kind")


def _claudes(value: object) -> Object:
    """The whole texts of an edit or a write of Claude Code's, in the words of the others."""
    shown = as_object(value)
    old, content = shown.get("originalFile"), shown.get("content")
    gone, come = shown.get("oldString"), shown.get("newString")
    if isinstance(content, str) and (old is None or isinstance(old, str)) and "originalFile" in shown:
        return {"filePath": shown.get("filePath"), "originalContent": old, "newContent": content}
    if isinstance(old, str) and isinstance(gone, str) and isinstance(come, str) and gone and gone in old:
        many = old.count(gone) if shown.get("replaceAll") is True else 1
        if many * len(come) > MAX_COMPARED:
            return {}
        new = old.replace(gone, come, many)
        return {"filePath": shown.get("filePath"), "originalContent": old, "newContent": new}
    return {}


def _codex(talk: _Conversation, line: Object) -> None:
    """Codex 0.166: items as its person sees them, among others as its API has them."""
    payload = as_object(line.get("payload"))
    turn = as_text(payload.get("turn_id"))
    is_last = not (turn and talk.task) or turn == talk.task  # else it is of another Codex in this session
    match line.get("type"), payload.get("type"):
        case ("session_meta", _) if payload.get("thread_source") == "user":  # not of a sub-agent
            talk.cwd, talk.session = as_text(payload.get("cwd")), as_text(payload.get("id"))
        case ("turn_context", _):
            talk.model = as_text(payload.get("model")) or talk.model
        case ("event_msg", "task_started"):
            talk.task = turn
            talk.begins(is_theirs=as_object(payload.get("turn_attribution")).get("turn_trigger") == "user")
        case ("event_msg", "item_completed") if is_last:
            _codexs_item(talk, as_object(payload.get("item")), line.get("timestamp"))
        case ("event_msg", "task_complete" | "turn_aborted") if is_last:
            talk.over()
        case _:
            pass


def _codexs_item(talk: _Conversation, item: Object, at: object) -> None:
    match item.get("type"):
        case "UserMessage" if talk.is_theirs:
            if (words := _joined(item.get("content"))).strip():
                talk.asks(as_text(item.get("id")), words, at)
            else:  # a picture alone
                talk.begins(is_theirs=False)
        case "AgentMessage":
            talk.says(_joined(item.get("content")))
        case "FileChange":
            key = as_text(item.get("id"))
            talk.calls(key, "apply_patch", {"changes": item.get("changes")})
            if item.get("status") == "completed":
                talk.done(key)
            else:
                talk.failed(key)
        case _:
            pass


def _copilot(talk: _Conversation, line: Object) -> None:
    """Copilot CLI 1.0.102: events of a session, which has its sub-agents' among them."""
    data = as_object(line.get("data"))
    if line.get("agentId"):  # of a sub-agent
        return
    # Once an answer is through, something other than the person may begin the next one, and no line says who has.
    is_over = bool(talk.turns) and talk.turns[-1].is_over
    match line.get("type"):
        case "session.start" if not data.get("detachedFromSpawningParentSessionId"):
            talk.session, talk.cwd = as_text(data.get("sessionId")), as_text(as_object(data.get("context")).get("cwd"))
            talk.model = as_text(data.get("selectedModel"))
        case "session.resume" | "session.context_changed" if talk.session:
            talk.cwd = as_text(as_object(data.get("context", data)).get("cwd")) or talk.cwd
        case "user.message" if as_text(data.get("content")).strip() and not _is_copilots_own(data):
            talk.asks(as_text(line.get("id")), as_text(data.get("content")), line.get("timestamp"))
        case "user.message":  # another agent, the autopilot that goes on, a picture alone
            talk.begins(is_theirs=False)
        case "system.notification" | "assistant.turn_start" if is_over:
            talk.begins(is_theirs=False)
        case "abort" | "session.shutdown":  # what was called has no result then
            talk.over()
            talk.skips()
        case "assistant.message":
            _copilots_words(talk, data)
        case "tool.execution_complete":
            ends = talk.done if data.get("success") is True else talk.failed
            ends(as_text(data.get("toolCallId")))
        case _:
            pass


def _is_copilots_own(data: Object) -> bool:
    return bool(data.get("source") or data.get("isAutopilotContinuation"))


def _copilots_words(talk: _Conversation, data: Object) -> None:
    """What Copilot CLI says, and the tools that it is about to call."""
    talk.model = as_text(data.get("model")) or talk.model
    talk.says(as_text(data.get("reasoningText")))
    talk.says(as_text(data.get("content")))
    requests = [as_object(each) for each in as_list(data.get("toolRequests"))]
    for each in requests:
        arguments = each.get("arguments")  # a text is a patch
        arguments = {"patch": arguments} if isinstance(arguments, str) else arguments
        talk.calls(as_text(each.get("toolCallId")), as_text(each.get("name")), arguments)
    if not requests:
        talk.over()


def _joined(content: object) -> str:
    return "\n".join(as_text(as_object(part).get("text")) for part in as_list(content))


def _is_beside(kind: Kind, line: Object) -> bool:
    """Whether a line is known to say nothing of a conversation with the person."""
    what = as_text(line.get("type"))
    match kind:
        case "qwen":
            return what == "system" or (what == "user" and line.get("provenance", "real_user") != "real_user")
        case "gemini":
            return what in {"info", "error", "warning"} or "sessionId" in line or any(key[:1] == "$" for key in line)
        case "claude":
            return any(line.get(name) is True for name in _CLAUDES_ASIDES) or what in _CLAUDES_OWN
        case "codex":
            inner = as_text(as_object(line.get("payload")).get("type"))
            return what in _CODEXS_OWN or (what in {"event_msg", "response_item"} and inner in _CODEXS_ITEMS)
        case "copilot":
            return bool(line.get("agentId")) or what in _COPILOTS_OWN or what.partition(".")[0] in _COPILOTS_ROOMS


_CLAUDES_OWN = {
    "api-request", "api-request-blob", "api-request-shape", "atis-latch", "attachment", "file-history-delta",
    "file-history-snapshot", "last-prompt", "mode", "permission-mode", "progress", "queue-operation", "summary",
    "system", "tools-used",
}  # fmt: skip
_CODEXS_OWN = {"compacted", "session_meta", "token_usage_record", "turn_context", "world_state"}
_CODEXS_ITEMS = {
    "additional_tools", "custom_tool_call", "custom_tool_call_output", "function_call", "function_call_output",
    "item_completed", "local_shell_call", "message", "reasoning", "task_complete", "task_started",
    "thread_settings_applied", "token_count", "turn_aborted", "web_search_call",
}  # fmt: skip
_COPILOTS_OWN = {
    "abort", "assistant.idle", "assistant.intent", "assistant.reasoning", "assistant.turn_end", "assistant.turn_start",
    "assistant.usage", "tool.execution_start", "tool.user_requested",
}  # fmt: skip
_COPILOTS_ROOMS = {
    "command", "elicitation", "exit_plan_mode", "external_tool", "hook", "mcp", "model", "permission", "session",
    "skill", "subagent", "system", "user_input",
}  # fmt: skip
_READERS: Mapping[Kind, Callable[[_Conversation, Object], None]] = {
    "qwen": _qwen,
    "gemini": _gemini,
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
}
_NAMES: Mapping[Kind, re.Pattern[str]] = {
    "gemini": re.compile(r"session-.*\.jsonl?"),  # a sub-agent's begins otherwise
    "copilot": re.compile(r"events\.jsonl"),
}
"""The names of transcripts, if not as those of the others."""
_ANY = re.compile(r".*\.jsonl")


_HUNK = re.compile(r"^@@.*\n", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n(?!\\)|[^\n]+(?=\n\\|\Z)")
"""A line of a diff, without its line feed if the next one says that the file has none there."""


def _changed(changes: Object, full: Callable[[str], str]) -> Iterator[TextReplacement]:
    """What Codex has changed, by path: a new file, or the lines of each hunk, with those around them."""
    for path, each in changes.items():
        change = as_object(each)
        where = full(as_text(change.get("move_path")) or path)
        if change.get("type") == "add":
            yield TextReplacement(where, None, as_text(change.get("content")))
        diff = as_text(change.get("unified_diff"))
        for hunk in _HUNK.split(diff)[1:] if diff.count("\n") <= MOST_LINES else ():
            yield TextReplacement(where, *_sides(_LINE.findall(hunk)))


_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.*)\n", re.MULTILINE)
_MOVE = re.compile(r"\*\*\* Move to: (.*)\n")


def _patched(patch: str, full: Callable[[str], str]) -> Iterator[TextReplacement]:
    """What a patch of `apply_patch` changes, as the models of OpenAI write it: new files, or lines between others."""
    if patch.count("\n") > MOST_LINES:
        return
    _, *parts = _FILE.split(patch)
    for kind, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        moved = _MOVE.match(text)
        for hunk in _HUNK.split(text) if kind != "Delete" else ():
            lines = [line for line in hunk.split("\n")[:-1] if not line.startswith("***")]
            while lines and not lines[-1]:  # it may only stand before what comes next
                lines.pop()
            empty = " " if kind == "Update" else ""  # models leave out the space before an empty line
            old, new = _sides([(line or empty) + "\n" for line in lines])
            # A piece without any other line may be at the end, or after a line that the patch only names.
            if old or (new and kind == "Add"):
                yield TextReplacement(full(moved[1] if moved else name), old if kind == "Update" else None, new)


def _sides(lines: Sequence[str]) -> tuple[str, str]:
    """What was there and what is there, by the lines of a diff."""
    old, new = ("".join(line[1:] for line in lines if line[:1] in kinds) for kinds in (" -", " +"))
    return old, new


def _size(replaced: Iterable[TextReplacement]) -> int:
    return sum(len(each.old or "") + len(each.new) for each in replaced)


class CliTranscript:
    """One transcript, read as it grows. `folder` is where the CLI runs if that is known from beside it."""

    def __init__(self, kind: Kind, base: str, path: str, folder: str = "") -> None:
        """`path` is below the folder `base`, in which no link is followed."""
        self.kind: Kind = kind
        self.path = os.path.join(base, path)
        self.talk = _Conversation()
        self.talk.cwd = folder
        self.is_old = False
        """Whether it was there before anybody looked, and has not been read since."""
        self.is_quiet = False
        """Whether nothing was new when it was read last."""
        self.grown_at = time.monotonic()
        """When something was new last, by the monotonic clock."""
        self.version = ""
        """That of the CLI, as far as the transcript says."""
        self._strange = 0
        """Lines in a row of which nothing was understood."""
        self._base = base
        self._name = path
        self._at = 0
        """Where the next line begins."""
        self._size = -1

    def read(self) -> None:
        """Take in what is new. Raises OSError."""
        with files.entry(self._name, below=self._base) as entry:
            size = entry.found().st_size
            self.is_quiet = size == self._size
            if self.is_quiet:
                return
            self.grown_at = time.monotonic()
            self.talk.written_by = entry.found().st_mtime
            if self._name.endswith(".json"):
                self._size = size
                self._document(entry.read(DOCUMENT).data)
                return
            if size < self._at:
                self._at, self._size, self.talk.begins_later = 0, -1, False
                self.talk.begins(is_theirs=False)
            start = max(self._at, size - (TAIL if self._size < 0 else STEP))
            content = entry.read_end(size - start)
            # It may have grown since, and then these are its last bytes.
            begin = max(0, content.found.st_size - (size - start))
            data = content.data[max(0, start - begin) :]
            start = max(start, begin)
        is_torn, self._at, self._size = start > self._at, start, size
        whole, _, rest = data.rpartition(b"\n")
        self._at += len(data) - len(rest)
        lines = whole.rsplit(b"\n", MOST_NEW)
        if is_torn := is_torn or len(lines) > MOST_NEW:
            self.talk.begins_later = True
            self.talk.begins(is_theirs=False)  # there may be a prompt in what is not read
        self._take(_parsed(line) for line in lines[1 if is_torn else 0 :] if line.strip())

    def _document(self, data: bytes) -> None:
        whole = _parsed(data)
        self.talk.session = as_text(whole.get("sessionId"))
        messages = as_list(whole.get("messages"))
        if data.strip() and "messages" not in whole:
            self._strange = STRANGE
        self._take(map(as_object, messages))

    def _take(self, lines: Iterable[Object]) -> None:
        """Take in some lines. In those of Gemini CLI, what it tells its model itself looks like a prompt."""
        typed: frozenset[str] | None = None
        for line in lines:
            if not line:  # it can't be read, and may be a prompt
                self.talk.begins(is_theirs=False)
            is_typed = True
            if self.kind == "gemini" and line.get("type") == "user" and "displayContent" not in line:
                typed = self._typed_beside() if typed is None else typed
                words = _typed(line.get("content"))
                is_typed = not words or words in typed
            if not is_typed:
                self.talk.begins_later = True
            self._feed(line if is_typed else {**line, "displayContent": ""})

    def _typed_beside(self) -> frozenset[str]:
        """What was typed into Gemini CLI, which writes that into another file."""
        folder = os.path.dirname(os.path.dirname(self._name))
        with contextlib.suppress(OSError, ValueError, RecursionError):
            data = files.read(os.path.join(folder, _TYPED), DOCUMENT, below=self._base).data
            return frozenset(
                as_text(as_object(each).get("message")) for each in as_list(json_text.read(data, MOST_PARTS))
            )
        return frozenset()

    def _feed(self, line: Object) -> None:
        before = self.talk.taken
        with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError):  # another form than was expected
            _READERS[self.kind](self.talk, line)
        data, payload = as_object(line.get("data")), as_object(line.get("payload"))
        for said in (line.get("version"), payload.get("cli_version"), data.get("copilotVersion")):
            if isinstance(said, str) and _VERSION.fullmatch(said):
                self.version = said
        if self.talk.taken != before:
            self._strange = 0
        elif not _is_beside(self.kind, line):
            self._strange += 1

    @property
    def strange(self) -> StrangeTranscript | None:
        """What to say of it if it isn't understood; None if it is, or if that can't be told yet."""
        is_strange = self._strange >= STRANGE
        return StrangeTranscript(KINDS[self.kind], self.path, self.version) if is_strange else None

    def leave_turns(self) -> None:
        """Leave its new turns to the chat that shows its session and tells of them, also once its tab is closed."""
        for turn in self.talk.turns:
            if turn.state == "new":
                turn.state = "old"

    def has_all_of(self, turn: TranscriptTurn) -> bool:
        """Whether nothing of a turn seems to be on its way."""
        return self.is_quiet or turn is not self.talk.turns[-1]

    def reported(self, turn: TranscriptTurn) -> ReportedTurn:
        """A turn for the log."""
        return ReportedTurn(
            KINDS[self.kind],
            turn.prompt,
            tuple(turn.calls),
            turn.model or self.talk.model,
            self.talk.session,
            f"{self.kind}:{self.talk.session}:{turn.key}",
            self.path,
            is_chat=False,
            began=turn.began,
        )


class Transcripts:
    """The transcripts that are read, of all windows.

    `stores` is the folder of the snapshots, which also keeps what the person has answered; None for the user's own.
    """

    def __init__(self, stores: str | None = None, environment: Mapping[str, str] = os.environ) -> None:
        self._stores = stores
        self._environment = environment
        self._allowed: set[Reader] = set()
        self._known: dict[str, CliTranscript] = {}
        self._read: set[str] = set()
        """Those that were read since it was said last which ones may be: each is read once for all windows."""
        self._looked: dict[Reader, tuple[tuple[str, ...], int]] = {}
        """The folders whose transcripts were looked for last, and when, in nanoseconds of Unix time."""

    @property
    def answer(self) -> bool | None:
        """Whether the person lets transcripts be read; None if they have not said."""
        kept = read_own(Path(self._stores or places.stores()) / _ANSWER) or {}
        may = kept.get("read")
        return may if isinstance(may, bool) else None

    def keep_answer(self, *, may: bool) -> None:
        """The person has said whether transcripts may be read. Raises OSError."""
        folder = self._stores or places.stores()
        places.prepare(folder)
        files.write_private(os.path.join(folder, _ANSWER), json.dumps({"read": may}).encode())

    def allow(self, wanted: Mapping[Reader, ReadTranscripts]) -> set[Reader]:
        """Those of some CLIs whose transcripts may be read from now on, each of them once; no others are.

        `wanted` has what the setting says. Only "always" says it for the person: "connected" is what it is by default.
        """
        may = None if "connected" not in wanted.values() else self.answer
        self._read.clear()
        self._allowed = {
            reader for reader, mode in wanted.items() if mode == "always" or (mode == "connected" and may is True)
        }
        kinds = {kind for kind, _ in self._allowed}
        self._looked = {key: looked for key, looked in self._looked.items() if key in self._allowed}
        self._known = {path: each for path, each in self._known.items() if each.kind in kinds}
        return self._allowed

    @property
    def strange(self) -> tuple[StrangeTranscript, ...]:
        """The transcripts that aren't understood."""
        return tuple(found for each in self._known.values() if (found := each.strange))

    def look(self, kind: Kind, window: WindowId, folders: Sequence[str]) -> tuple[list[CliTranscript], int]:
        """Read what is new in the transcripts of a CLI in the folders of a window, which are real paths.

        Also returns when that was done before, in nanoseconds of Unix time: a prompt that is new came after that; 0 if
        it is the first time.
        """
        if (kind, window) not in self._allowed:
            return [], 0
        now, own = time.time_ns(), tuple(folders)
        before, since = self._looked.get((kind, window), ((), 0))
        since = since if before == own else 0
        for base, name, folder in _found(kind, folders, now / 1e9 - RECENT, self._environment):
            if (path := os.path.join(base, name)) not in self._known:
                self._known[path] = CliTranscript(kind, base, name, folder)
                self._known[path].is_old = not since
        read: list[CliTranscript] = []
        for path, transcript in list(self._known.items()):
            if transcript.kind != kind:
                continue
            try:
                if path not in self._read:
                    transcript.read()
            except OSError:
                del self._known[path]
                continue
            self._read.add(path)
            cwd = real_path(transcript.talk.cwd, folders)
            is_here = bool(cwd) and places.is_in(cwd, folders)
            if is_here:
                read.append(transcript)
            _date(transcript, folders, since, is_here=is_here)
            transcript.is_old = False
        self._looked[kind, window] = own, now
        return read, since


def _date(transcript: CliTranscript, folders: Sequence[str], since: int, *, is_here: bool) -> None:
    """Say of the new turns which are old, and after which time the others have begun at the earliest."""
    talk = transcript.talk
    for turn in talk.turns:
        # A time that lies can only make a turn older than it is.
        is_too_old = turn.at and turn.at * 1e9 < since - LATE
        is_before = transcript.is_old or is_too_old or (is_here and not since)
        is_running = turn is talk.turns[-1] and not turn.is_over
        if turn.state == "new" and is_before and not is_running:
            turn.state = "old"
        elif turn.state == "new" and since:
            turn.after = _written_before(talk, turn, folders)


def _written_before(talk: _Conversation, turn: TranscriptTurn, folders: Sequence[str]) -> int:
    """A time after that at which a file was written last that an earlier turn has written, and is as that left it.

    This turn may have changed others already, before the transcript says so.
    """
    earlier = talk.turns[: talk.turns.index(turn)]
    left = {each.path: each for found in earlier for call in found.calls for each in call.replaced}
    written = [0]
    for each in left.values():
        path = real_path(each.path, folders) if each.is_whole else ""
        if path and places.is_in(path, folders):
            with contextlib.suppress(OSError):
                now = files.read(path, STEP)
                if now.data == each.new.encode("utf-8", "surrogatepass"):
                    written.append(now.found.st_mtime_ns + CLOCK + 1)
    return max(written)


def _found(
    kind: Kind, folders: Sequence[str], since: float, environment: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """The transcripts of a CLI that were written since a Unix time, as `_places` has them, the newest last."""
    candidates: list[tuple[float, str, str, str]] = []
    for base, below, folder in _places(kind, folders, environment):
        with contextlib.suppress(OSError), os.scandir(os.path.join(base, below)) as entries:
            for entry in entries:
                if _NAMES.get(kind, _ANY).fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    at = entry.stat(follow_symlinks=False).st_mtime
                    if at >= since:
                        candidates.append((at, base, os.path.join(below, entry.name), folder))
    return [found[1:] for found in sorted(candidates)[-MOST_FILES:]]


def _places(kind: Kind, folders: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Where the transcripts of some folders are: a folder, one below it, and where the CLI runs if that is known."""
    home = os.path.expanduser("~")
    match kind:
        case "qwen":
            for base in dict.fromkeys(filter(None, (environment.get("QWEN_RUNTIME_DIR"), str(qwen_home())))):
                yield from ((base, os.path.join("projects", name, "chats"), "") for name in _named(base, folders))
        case "claude":
            base = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
            yield from ((base, os.path.join("projects", name), "") for name in _named(base, folders))
        case "gemini":
            base = os.path.join(environment.get("GEMINI_CLI_HOME") or home, ".gemini")
            hashes = {hashlib.sha256(os.fsencode(folder)).hexdigest(): folder for folder in folders}
            for name in _listed(os.path.join(base, "tmp")):
                below = os.path.join("tmp", name)
                folder = hashes.get(name) or _written(base, os.path.join(below, ".project_root"))
                if folder:
                    yield base, os.path.join(below, "chats"), folder
        case "codex":
            base = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
            yield from ((base, day, "") for day in _days(base))
        case "copilot":
            base = environment.get("COPILOT_HOME") or os.path.join(home, ".copilot")
            sessions = _newest(os.path.join(base, "session-state"))
            yield from ((base, os.path.join("session-state", name), "") for name in sessions)


def _named(base: str, folders: Sequence[str]) -> list[str]:
    """The projects that may be those of some folders or of what is below them: their names tell no more."""
    begins = tuple({re.sub("[^A-Za-z0-9]", "-", folder).lower() for folder in folders})
    return _listed(os.path.join(base, "projects"), begins)


def _listed(folder: str, begins: tuple[str, ...] = ("",)) -> list[str]:
    """The names in a folder that begin in one of these ways, whatever their case: so many of them."""
    with contextlib.suppress(OSError):
        return [name for name in os.listdir(folder) if name.lower().startswith(begins)][:MOST_FOLDERS]
    return []


def _days(base: str) -> Iterator[str]:
    """The folders of the last two days of Codex, which may be in two months or years."""
    found = ["sessions"]
    for _ in ("year", "month", "day"):
        below = (os.path.join(folder, name) for folder in found for name in _listed(os.path.join(base, folder)))
        found = sorted(below)[-2:]
    yield from found


def _newest(folder: str) -> list[str]:
    """The names in a folder in which something was made last; a session makes a file when it begins."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        dated = [(entry.stat(follow_symlinks=False).st_mtime, entry.name) for entry in entries]
        return [name for _, name in sorted(dated)[-MOST_SESSIONS:]]
    return []


def _written(base: str, path: str) -> str:
    with contextlib.suppress(OSError):
        return files.read(path, 16 * 1024, below=base).data.decode("utf-8", "surrogateescape").strip()
    return ""


def _parsed(data: bytes) -> Object:
    try:
        return as_object(json_text.read(data, MOST_PARTS))
    except (ValueError, RecursionError):
        return {}


def _parts(content: object) -> list[object]:
    """The parts of a message, of which a text alone is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def _typed(content: object) -> str:
    """The words of a message of Qwen Code or Gemini CLI: what files and hooks add to them comes after them."""
    texts = (as_text(as_object(part).get("text")) for part in _parts(content))
    return next(filter(None, texts), "").partition(_FILES)[0]


def _time(value: object) -> float:
    try:
        return datetime.fromisoformat(as_text(value)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
