"""The part of a long history that is not shown yet, as it came: it is decoded a page at a time, from its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...conversation.events import MOST_TURNS, Envelope
from ..wire import as_object
from .decoder import decode

Raw = tuple[str, str]
"""An event that isn't read yet: its kind, and its JSON text. The garbage collector needn't look into it."""

MOST_EVENTS = 200
"""Events of a page of several turns."""
_STATE = frozenset({
    "approval_mode_changed", "available_commands_update", "current_mode_update", "model_switched", "plan",
    "session_info_update", "session_metadata_updated", "usage_update",
})  # fmt: skip
"""Kinds of events that tell what holds from then on."""


class EarlierEvents:
    """The events before a history's last page. See `conversation.history.Earlier`."""

    def __init__(self, events: Sequence[Raw]) -> None:
        self._events = list(events)

    def __bool__(self) -> bool:
        return bool(self._events)

    def take_page(self) -> list[Envelope]:
        """The last page of them, which is taken out."""
        at = page_start(self._events)
        page = [decode(text) for _, text in self._events[at:]]
        del self._events[at:]
        return page


def split(events: Sequence[Raw]) -> tuple[list[Raw], list[Raw]]:
    """A history as the events before its last page, and the last page.

    The page begins with the latest of the earlier events that tell what still holds, such as the list of commands.
    """
    # A rewind counts the turns from the first one.
    at = 0 if any(event[0] == "session_rewound" for event in events) else page_start(events)
    holds = {event[0]: event for event in events[:at] if event[0] in _STATE}
    return list(events[:at]), [*holds.values(), *events[at:]]


def page_start(events: Sequence[Raw]) -> int:
    """Where the last page of some events begins: always with a prompt, except for the first page."""
    turns = 0
    for at in range(len(events) - 1, 0, -1):
        if _is_prompt(events[at]) and not _is_prompt(events[at - 1]):
            turns += 1
            if turns == MOST_TURNS or len(events) - at >= MOST_EVENTS:
                return at
    return 0


def _is_prompt(event: Raw) -> bool:
    return event[0] == "user_message_chunk"


def kind_of(event: Mapping[str, Any]) -> str:
    """The kind of an update, or else the type of the event."""
    if event.get("type") != "session_update":
        return str(event.get("type"))
    data = as_object(event.get("data"))
    # The daemon's pages of history have the update itself for data.
    return str(as_object(data.get("update", data)).get("sessionUpdate"))
