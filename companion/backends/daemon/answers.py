"""What the daemon's routes answer (docs/protocols/qwen-serve.md#routes), as values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

from pydantic import BeforeValidator, Field, ValidationError

from ...conversation.events import Envelope, EventCursor, Replay
from ...conversation.snapshot import Choices, ContextWindow, Queued
from ..choices import OfferedModels, OfferedModes, OptionValue, choices_of
from ..wire import Object, Text, Wire, as_list, objects, texts
from .decoder import decode
from .errors import RefusedError
from .history import EarlierEvents, Raw, kind_of, split

M = TypeVar("M", bound=Wire)
EFFORT = "reasoning_effort"
"""The option of a session that says how long the model thinks."""


Objects = Annotated[list[dict[str, Any]], BeforeValidator(objects)]


def read(model: type[M], answer: Mapping[str, Any]) -> M:
    """An answer as a value.

    Raises:
        RefusedError: it isn't one.
    """
    try:
        return model.model_validate({name: value for name, value in answer.items() if value is not None})
    except ValidationError:
        raise RefusedError(200, "its answer can't be read") from None


class _Workspace(Wire):
    cwd: str


class Capabilities(Wire):
    """What the daemon is and can do."""

    version: Text = Field(default="", alias="qwenCodeVersion")
    """For the person. The features say what the daemon can do."""
    features: frozenset[str]
    workspace_cwd: str
    workspaces: tuple[_Workspace, ...] = ()
    """Empty while the daemon boots."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that it works in."""
        return tuple(dict.fromkeys([self.workspace_cwd, *(workspace.cwd for workspace in self.workspaces)]))

    def folder(self, folder: str) -> str | None:
        """A folder as the daemon calls it; None if it works elsewhere."""
        wanted = _real(folder)
        return next((served for served in self.folders if _real(served) == wanted), None)


def _real(folder: str) -> str:
    return os.path.normcase(os.path.realpath(folder))


def capabilities(answer: Mapping[str, Any]) -> Capabilities | None:
    """What `/capabilities` says; None if it is no daemon's."""
    try:
        return Capabilities.model_validate(answer)
    except ValidationError:
        return None


class _Option(Wire):
    """An option of a session."""

    id: str
    current: Text = Field(default="", alias="currentValue")
    options: tuple[OptionValue, ...] = ()


class _State(Wire):
    """The models, the modes and the options of a session."""

    models: OfferedModels = OfferedModels()
    modes: OfferedModes = OfferedModes()
    config_options: Objects = Field(default_factory=list[dict[str, Any]])


class _Stated(Wire):
    state: Object = Field(default_factory=dict)


def choices(answer: Mapping[str, Any]) -> Choices:
    """What `/context` says of the models and the modes."""
    state = read(_State, read(_Stated, answer).state)
    efforts = [read(_Option, each) for each in state.config_options if each.get("id") == EFFORT]
    effort = efforts[0] if efforts else _Option(id=EFFORT)
    return Choices(
        state.models.current,
        state.modes.current,
        choices_of(state.models.available),
        choices_of(state.modes.available),
        effort.current,
        choices_of(effort.options),
    )


class _Loaded(Wire):
    last_event_id: int
    event_epoch: str = ""
    has_active_prompt: bool = False
    history_has_more: Annotated[bool, BeforeValidator(bool)] = False


_HISTORIES = {"compactedReplay", "liveJournal"}


def keep(name: str, item: object, text: str) -> object:
    """What to keep of a list's item in an answer of `/load`: the events of a history stay as they came."""
    if name not in _HISTORIES:
        return item
    return (kind_of(cast("Mapping[str, Any]", item)), text) if isinstance(item, dict) else None


def _raw(value: object) -> list[Raw]:
    return [cast("Raw", item) for item in as_list(value) if isinstance(item, tuple)]


def history(answer: Mapping[str, Any], queue: tuple[Queued, ...], *, has_pages: bool) -> Replay:
    """The conversation in an answer of `/load`. `has_pages`: whether the daemon gives what it leaves out as pages."""
    loaded = read(_Loaded, answer)
    # Not a part of the model: validating a long list would keep all other threads waiting.
    settled, journal = _raw(answer.get("compactedReplay")), _raw(answer.get("liveJournal"))
    has_more = loaded.history_has_more
    if has_pages and settled and settled[0][0] == "history_truncated":
        settled, has_more = settled[1:], True
    before, page = split([*settled, *journal])
    return Replay(
        tuple(decode(text) for _, text in page),
        EventCursor(loaded.event_epoch, loaded.last_event_id),
        loaded.has_active_prompt,
        queue,
        EarlierEvents(before),
        has_more=has_pages and has_more,
    )


class _Page(Wire):
    events: Objects = Field(default_factory=list[dict[str, Any]])
    has_more: Annotated[bool, BeforeValidator(bool)] = False


def page(answer: Mapping[str, Any]) -> tuple[list[Envelope], bool]:
    """The events of a page of a transcript, and whether there are older ones."""
    found = read(_Page, answer)
    return list(map(decode, found.events)), found.has_more


class _IndexedTurn(Wire):
    turn_id: Text = ""
    prompt_id: Text = ""


class _Index(Wire):
    snapshot: Text = ""
    start: int = 0
    turns: tuple[_IndexedTurn, ...] = ()


def index(answer: Mapping[str, Any]) -> tuple[str, int, dict[str, str]]:
    """A page of the index of turns: what names the index, its first turn's number, and the records by their prompts."""
    found = read(_Index, answer)
    return found.snapshot, found.start, {turn.prompt_id: turn.turn_id for turn in found.turns}


class Pending(Wire):
    """A prompt that runs or waits."""

    prompt_id: str
    text: Text = ""
    state: Text = ""
    originator_client_id: str | None = None


def pending(answer: Mapping[str, Any]) -> list[Pending]:
    """The prompts that run or wait."""
    return [read(Pending, each) for each in objects(answer.get("pendingPrompts"))]


class _Injected(Wire):
    messages: Objects = Field(default_factory=list[dict[str, Any]])
    settled_message_ids: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()
    promoted_message_ids: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()


def injected(answer: Mapping[str, Any]) -> set[str]:
    """The ids of the messages that were sent into turns: those that wait, are through, or have become prompts."""
    found = read(_Injected, answer)
    waiting = texts([message.get("messageId") for message in found.messages])
    return {*waiting, *found.settled_message_ids, *found.promoted_message_ids}


class _Usage(Wire):
    total_tokens: int
    context_window_size: int


class _Used(Wire):
    usage: _Usage


def window(answer: Mapping[str, Any]) -> ContextWindow:
    """The use of the context window."""
    usage = read(_Used, answer).usage
    return ContextWindow(usage.context_window_size, usage.total_tokens)
