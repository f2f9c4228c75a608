"""Decodes what an agent says in `session/update`. What is newer than this version becomes a notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, cast

from pydantic import BeforeValidator

from ...conversation import events
from ...conversation.snapshot import ChatNotice, Cost, Step
from ..updates import RUNNING_TERMINALS, decode_count, decode_update, plain_content
from ..wire import MOST_SHORT, Text, Wire, as_object, as_text, objects, one_line, read
from . import extensions
from .schema import OptionsUpdate, SessionSettings

MAX_PLANS = 50
"""Plans in prose, and compactions, that are remembered."""
_STATES = {"pending", "in_progress", "completed", "cancelled"}


class Plans:
    """The plans in prose of one session. They are shown as parts of the answer."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """By the ids of the plans, as far as they were told."""

    def decode(self, update: Mapping[str, Any]) -> events.Event | None:
        """What an update adds to a plan in prose, which it has whole; None if it is of anything else."""
        plan = as_object(update.get("plan"))
        if update.get("sessionUpdate") != "plan_update" or plan.get("type") != "markdown":
            return None
        identifier, text = str(plan.get("planId")), plan.get("content")
        if not isinstance(text, str):
            return events.Unsupported("a plan without a text")
        told = self._told.pop(identifier, "")
        self._told[identifier] = text
        while len(self._told) > MAX_PLANS:
            del self._told[next(iter(self._told))]
        # One that was written anew is told whole.
        more = text.removeprefix(told) if text.startswith(told) else f"\n\n{text}"
        return events.MessageChunk("answer", more, message=f"plan {identifier}")


_COMPACTED = {
    "in_progress": "The conversation is being compacted…",
    "completed": "The conversation was compacted.",
    "failed": "The conversation could not be compacted",
    "cancelled": "The conversation was not compacted: that was cancelled.",
}
"""What a line of the chat says of a compaction, by its state."""


class _Compaction(Wire):
    compaction_id: str
    status: Text = ""
    error: Annotated[str, BeforeValidator(lambda value: one_line(as_text(value), MOST_SHORT))] = ""


class Compactions:
    """The compactions of one session: lines of the chat say when one begins and ends; its summary is a thought."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, str]] = {}
        """By their ids: the last state, and the summary as far as they were told."""

    def decode(self, update: Mapping[str, Any]) -> list[events.Event] | None:
        """What an update adds; None if it is of anything else. A state that was told before adds nothing."""
        if update.get("sessionUpdate") not in ("compaction_update", "compaction_summary_chunk"):
            return None
        if (found := read(_Compaction, update)) is None:
            return [events.Unsupported("a compaction that can't be read")]
        state, told = self._told.pop(found.compaction_id, ("", ""))
        content = as_object(update.get("content"))
        more = plain_content(content) if content else ""
        if summary := objects(update.get("summary")):
            whole = "\n".join(map(plain_content, summary))
            more = whole.removeprefix(told) if whole.startswith(told) else f"\n\n{whole}"
        self._told[found.compaction_id] = found.status or state, told + more
        while len(self._told) > MAX_PLANS:
            del self._told[next(iter(self._told))]
        news: list[events.Event] = []
        if more:
            news.append(events.MessageChunk("thought", more, message=f"compaction {found.compaction_id}"))
        if found.status != state and (sentence := _COMPACTED.get(found.status)):
            because = f": {found.error}" if found.error else "."
            news.append(ChatNotice(sentence + because if found.status == "failed" else sentence))
        return news


def todo_list(call: Mapping[str, Any]) -> events.StatusUpdate | None:
    """The plan that a tool call has made; None if it is no such call.

    OpenCode 1.18 and Mistral Vibe 3.0 keep their plans with a tool, whose arguments have the steps as `todos`, and tell
    nothing else of them. A sub-agent's plan is its own.
    """
    if as_object(call.get("_meta")).get("parentToolCallId"):
        return None
    given = as_object(call.get("rawInput")).get("todos")
    if call.get("status") != "completed" or not isinstance(given, list):
        return None
    steps: list[Step] = []
    for each in map(as_object, cast("list[object]", given)):
        text, state = each.get("content"), each.get("status")
        if not isinstance(text, str) or not isinstance(state, str) or state not in _STATES:
            return None
        if state != "cancelled":
            steps.append(Step(text, state))
    return events.StatusUpdate({"plan": tuple(steps)})


MAX_SHOWN = 20_000
"""Characters of a terminal's output that the chat shows, from its end."""


class Printed(NamedTuple):
    """What a terminal has printed."""

    text: str
    is_cut: bool
    """Whether the beginning is left out."""
    is_running: bool


Output = Callable[[str], Printed | None]
"""What a terminal has printed; None if there is no such terminal."""


def decode(update: Mapping[str, Any], output: Output, settings: SessionSettings) -> events.Event:
    """Decode an update. `settings` are those of the session, which it brings up to date."""
    kind = str(update.get("sessionUpdate"))
    match kind:
        case "config_option_update":
            settings.update((read(OptionsUpdate, update) or OptionsUpdate()).options)
            return events.StatusUpdate(settings.choices.changes)
        case "plan_update":
            return _plan(update.get("plan", update.get("content", update)))
        case "plan_removed":
            return events.StatusUpdate({"plan": ()})
        case "user_message_chunk" if extensions.is_own_context(update):
            return events.Ignored("the agent's own context")
        case "tool_call" | "tool_call_update":
            update = with_terminals(update, output)
        case _:
            pass
    event = decode_update(update)
    if isinstance(event, events.StatusUpdate):
        settings.mode = event.changes.get("mode", settings.mode)
    if isinstance(event, events.Ignored) and not kind.startswith("_"):
        return events.Unsupported(f"an update of the kind “{kind[:40]}”, which this version doesn't know")
    return event


def terminals(call: Mapping[str, Any]) -> list[str]:
    """The ids of the terminals that a tool call shows."""
    found = (part.get("terminalId") for part in objects(call.get("content")) if part.get("type") == "terminal")
    return [identifier for identifier in found if isinstance(identifier, str)]


def decode_printed(call: Mapping[str, Any], output: Output) -> events.Event:
    """The event for what the terminals of a tool call have printed, and for nothing else of the call."""
    news = {name: call[name] for name in ("toolCallId", "content") if name in call}
    return decode_update({"sessionUpdate": "tool_call_update", **with_terminals(news, output)})


def with_terminals(call: Mapping[str, Any], output: Output) -> Mapping[str, Any]:
    """A tool call whose terminals are replaced by the text of their output."""
    content = call.get("content")
    if not (named := terminals(call)):
        return {name: value for name, value in call.items() if name != RUNNING_TERMINALS}
    running = [name for name in named if (found := output(name)) and found.is_running]
    shown: list[Mapping[str, Any]] = []
    for part in objects(content):
        if part.get("type") != "terminal":
            shown.append(part)
        elif found := output(str(part.get("terminalId"))):
            is_cut = found.is_cut or len(found.text) > MAX_SHOWN
            words = f"…\n{found.text[-MAX_SHOWN:]}" if is_cut else found.text
            shown.append({"type": "content", "content": {"type": "text", "text": words}})
    return {**call, "content": shown, RUNNING_TERMINALS: running}


def decode_usage(usage: Mapping[str, Any]) -> events.Event | None:
    """The tokens of a turn, from the answer to its prompt; None if they aren't told."""
    total, read, written = (decode_count(usage.get(name)) for name in ("totalTokens", "inputTokens", "outputTokens"))
    # What was read from a cache is not among the input tokens of some agents.
    used = Cost(read=max(read, total - written), written=written)
    return events.MessageChunk("answer", usage=used) if used.read or used.written else None


def _plan(plan: object) -> events.Event:
    """A plan of the newer form; its entries are shown, whatever else it may be."""
    fields = as_object(plan)
    if isinstance(fields.get("entries"), list):
        return decode_update({"sessionUpdate": "plan", "entries": fields["entries"]})
    return events.Unsupported("a plan that is not a list")
