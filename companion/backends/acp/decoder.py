"""Decodes what an agent says in `session/update`. What is newer than this version becomes a notice.

Sub-agents have sessions of their own, which belong to the one that has announced them: Claude Agent and Codex tell of
them so to clients that declare `subagents`, which the protocol calls unstable. What has another form than is known is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import BeforeValidator

from ...conversation import events
from ...conversation.snapshot import ChatNotice, Cost, Step
from ...json_text import as_object, as_text
from ..updates import MAX_TITLE, RUNNING_TERMINALS, decode_update, plain_content
from ..wire import MOST_SHORT, ConfigOption, Text, Wire, as_id, count, objects, one_line, read, several
from . import extensions
from .tool_calls import ToolCalls

if TYPE_CHECKING:
    from .client import AcpAgent

T = TypeVar("T")

MAX_PLANS = 50
"""Plans in prose, and compactions, that are remembered."""
_STATES = {"pending", "in_progress", "completed", "cancelled"}


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


class UpdateDecoder:
    """Decodes the updates of one session and of its sub-agents."""

    def __init__(self, agent: AcpAgent) -> None:
        self._agent = agent
        self.subagents = Subagents()
        self.calls = ToolCalls()
        self._plans: dict[str, str] = {}
        """The plans in prose by their ids, as far as they were told."""
        self._compactions: dict[str, tuple[str, str]] = {}
        """By their ids: the last state, and the summary as far as they were told."""

    def hand_over(self) -> dict[str, Any]:
        """What the next instance needs to go on where this one was."""
        return {
            "calls": self.calls.hand_over(),
            "subagents": self.subagents.parents,
            "plans": self._plans,
            "compactions": self._compactions,
        }

    def take_over(self, left: Mapping[str, Any]) -> None:
        """Go on with what `hand_over` has left."""
        self.calls.take_over(left["calls"])
        self.subagents.parents = dict(left["subagents"])
        # An older version has kept these for itself.
        self._plans, self._compactions = dict(left.get("plans", {})), dict(left.get("compactions", {}))

    def decode(self, params: Mapping[str, Any]) -> Iterator[events.Event] | None:
        """What a `session/update` tells; None for what is not of this conversation, such as another session's.

        It brings the settings of the session up to date.
        """
        session = self._agent.session
        told = self.subagents.update(params, session)
        update = told.get("update")
        if told.get("sessionId") != session or not isinstance(update, dict):
            return None
        return self._decode(cast("Mapping[str, Any]", update))

    def _decode(self, update: Mapping[str, Any]) -> Iterator[events.Event]:
        settings = self._agent.settings
        match str(update.get("sessionUpdate")):
            case "tool_call" | "tool_call_update":
                yield from self._tool_call(update)
            case "plan_update":
                yield self._plan(as_object(update.get("plan", update.get("content", update))))
            case "plan_removed":
                yield events.StatusUpdate({"plan": ()})
            case "compaction_update" | "compaction_summary_chunk":
                yield from self._compaction(update)
            case "config_option_update":
                settings.update(several(ConfigOption)(update.get("configOptions")))
                yield events.StatusUpdate(settings.choices.changes)
            case "user_message_chunk" if extensions.is_own_context(update):
                pass
            case kind:
                event = decode_update(update)
                if isinstance(event, events.StatusUpdate):
                    settings.mode = event.changes.get("mode", settings.mode)
                if isinstance(event, events.Ignored) and not kind.startswith("_"):
                    event = events.Unsupported(f"an update of the kind “{kind[:40]}”, which this version doesn't know")
                yield event

    def _tool_call(self, update: Mapping[str, Any]) -> Iterator[events.Event]:
        """A tool call by its name here, with what its terminals have printed, and the plan that it has made."""
        call = self.calls.note(update, self._agent.prompts.scope)
        if "toolCallId" in call:
            update = {**update, "toolCallId": call["toolCallId"]}
        if plan := todo_list(call):
            yield plan
        self._agent.services.tool_call_updated(update, call)
        if self._agent.services.terminals.note_own(update):
            # What a terminal of its own has printed is shown where the tool call shows the terminal.
            update = {**update, "content": call.get("content")}
        yield decode_update(with_terminals(update, self._agent.services.terminals.printed))

    def _plan(self, plan: Mapping[str, Any]) -> events.Event:
        """A plan as a list is the session's; one in prose, which is told whole each time, is a part of the answer."""
        if plan.get("type") != "markdown":
            if isinstance(plan.get("entries"), list):
                return decode_update({"sessionUpdate": "plan", "entries": plan["entries"]})
            return events.Unsupported("a plan that is not a list")
        identifier, text = str(plan.get("planId")), plan.get("content")
        if not isinstance(text, str):
            return events.Unsupported("a plan without a text")
        told = self._plans.pop(identifier, "")
        _remember(self._plans, identifier, text)
        return events.MessageChunk("answer", _news(text, told), message=f"plan {identifier}")

    def _compaction(self, update: Mapping[str, Any]) -> Iterator[events.Event]:
        """Lines of the chat say when a compaction begins and ends; its summary is a thought."""
        if (found := read(_Compaction, update)) is None:
            yield events.Unsupported("a compaction that can't be read")
            return
        state, told = self._compactions.pop(found.compaction_id, ("", ""))
        content = as_object(update.get("content"))
        more = plain_content(content) if content else ""
        if summary := objects(update.get("summary")):
            more = _news("\n".join(map(plain_content, summary)), told)
        _remember(self._compactions, found.compaction_id, (found.status or state, told + more))
        if more:
            yield events.MessageChunk("thought", more, message=f"compaction {found.compaction_id}")
        if found.status != state and (sentence := _COMPACTED.get(found.status)):
            because = f": {found.error}" if found.error else "."
            yield ChatNotice(sentence + because if found.status == "failed" else sentence)


def _news(text: str, told: str) -> str:
    """What a text that is told whole adds to what was told of it; one that was written anew is told whole."""
    return text.removeprefix(told) if text.startswith(told) else f"\n\n{text}"


def _remember(known: dict[str, T], identifier: str, value: T) -> None:
    """Put something behind what is known of others, of which the oldest goes."""
    known[identifier] = value
    while len(known) > MAX_PLANS:
        del known[next(iter(known))]


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
    total, read, written = (count(usage.get(name)) for name in ("totalTokens", "inputTokens", "outputTokens"))
    # What was read from a cache is not among the input tokens of some agents.
    used = Cost(read=max(read, total - written), written=written)
    return events.MessageChunk("answer", usage=used) if used.read or used.written else None


MAX_SUBAGENTS = 200
"""Sub-agents of one session; what further ones do is not shown."""
MAX_ID = 200
"""Characters of the id of a session."""
_TOLD = {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "notice"}
"""What a sub-agent tells that belongs to the conversation. Its settings, plans and costs are its own."""
_RUNNING = {"running", "requires_action"}


class Subagents:
    """Has the messages of sub-agents be those of the session that a chat shows.

    A sub-agent becomes a tool call, and what it says and does has that call for its parent, as Qwen Code has it. The
    ids of its own tool calls get a name before them: another sub-agent may number its calls alike.
    """

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        """By the session of each sub-agent: the session that has announced it."""

    def update(self, params: Mapping[str, Any], session: str) -> Mapping[str, Any]:
        """The parameters of a `session/update`; those of a sub-agent as the session's own.

        One that says nothing of the conversation has none.
        """
        teller, told = params.get("sessionId"), as_object(params.get("update"))
        if not isinstance(teller, str) or not (teller == session or teller in self.parents):
            return params
        kind = told.get("sessionUpdate")
        if kind == "subagent_update":
            update = self._announced(teller, told, session)
        elif kind in ("session_message", "session_message_chunk"):
            update = self._exchanged(teller, told)
        elif teller == session:
            return params
        else:
            update = self._owned(teller, told) if kind in _TOLD else None
        return {"sessionId": session, "update": update}

    def request(self, params: Mapping[str, Any], session: str) -> Mapping[str, Any]:
        """The parameters of a request; those of a sub-agent as the session's own."""
        asker = params.get("sessionId")
        if not isinstance(asker, str) or asker not in self.parents:
            return params
        call = as_object(params.get("toolCall"))
        about = {"toolCall": self._owned(asker, call)} if call else {}
        return {**self._named(asker, params), **about, "sessionId": session}

    def _announced(self, teller: str, told: Mapping[str, Any], session: str) -> Mapping[str, Any] | None:
        """The tool call that a sub-agent is, or what has changed about it."""
        child = told.get("sessionId")
        if not isinstance(child, str) or not 0 < len(child) <= MAX_ID or child == session:
            return None
        title = one_line(as_text(told.get("title")), MAX_TITLE)
        news: dict[str, Any] = {"status": _status(as_object(told.get("state")))}
        if child not in self.parents:
            if len(self.parents) >= MAX_SUBAGENTS:
                return None
            self.parents[child] = teller
            news |= {"name": "subagent", "kind": "other", "title": title or "Sub-agent"}
        elif title:
            news["title"] = title
        if description := as_text(told.get("description"))[:MOST_SHORT]:
            news["content"] = _text(description)
        return self._changed(child, news)

    def _exchanged(self, teller: str, told: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What a session has told its sub-agent, or has got from it. The sub-agent's own view says nothing new."""
        sender, recipient = (as_text(told.get(name)) for name in ("senderSessionId", "recipientSessionId"))
        words = "\n".join(as_text(block.get("text")) for block in objects(told.get("content")))
        if words and sender == teller and self.parents.get(recipient) == teller:
            return self._changed(recipient, {"rawInput": {"prompt": words}})
        if words and recipient == teller and self.parents.get(sender) == teller:
            return self._changed(sender, {"content": _text(words)})
        return None

    def _changed(self, child: str, news: Mapping[str, Any]) -> Mapping[str, Any]:
        known = {name: value for name, value in news.items() if value is not None}
        update = {"sessionUpdate": "tool_call_update", "toolCallId": _call(child), **known}
        return self._of(self.parents[child], update)

    def _owned(self, child: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """An update or a tool call of a sub-agent, with its own call for the parent."""
        return self._of(child, self._named(child, told))

    def _named(self, child: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        identifier = as_id(fields.get("toolCallId"))
        return fields if identifier is None else {**fields, "toolCallId": f"{_call(child)} {identifier}"}

    def _of(self, teller: str, update: Mapping[str, Any]) -> Mapping[str, Any]:
        if teller not in self.parents:
            return update
        return {**update, "_meta": {**as_object(update.get("_meta")), "parentToolCallId": _call(teller)}}


def _status(state: Mapping[str, Any]) -> str | None:
    """The status of the tool call that a sub-agent is; None if that isn't told."""
    match state.get("state"):
        case str(name) if name in _RUNNING:
            return "in_progress"
        case "idle":
            return "completed" if as_text(state.get("stopReason")) in ("", "end_turn") else "failed"
        case _:
            return None


def _call(child: str) -> str:
    """The id of the tool call that a sub-agent is."""
    return f"subagent {child}"


def _text(words: str) -> list[Mapping[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": words}}]
