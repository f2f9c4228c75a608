"""A conversation as plain data, for the next instance of the package: what is on the screen stays there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .conversation import Conversation
from .snapshot import ChatNotice, Item, Message, Status, Tool, Turn

_KINDS: dict[str, type[Item]] = {"message": Message, "notice": ChatNotice, "tool": Tool}


def plain(conversation: Conversation) -> dict[str, Any]:
    """A conversation as plain data."""
    return {"status": asdict(conversation.status), "turns": [_plain(turn) for turn in conversation.turns]}


def restored(data: Mapping[str, Any]) -> Conversation | None:
    """The conversation that `plain` was given; None if another version of the package has left it in another form."""
    try:
        status = _adapter(Status).validate_python(data["status"])
        turns = [_turn(turn) for turn in data["turns"]]
    except (ValidationError, LookupError, TypeError, AttributeError):
        return None
    conversation = Conversation()
    conversation.restore(turns, status)
    return conversation


def _plain(turn: Turn) -> dict[str, Any]:
    fields = asdict(turn)
    names = {kind: name for name, kind in _KINDS.items()}
    fields["items"] = [
        [names[type(item)], item_fields] for item, item_fields in zip(turn.items, fields["items"], strict=True)
    ]
    return fields


def _turn(fields: Mapping[str, Any]) -> Turn:
    items = tuple(_adapter(_KINDS[name]).validate_python(item) for name, item in fields["items"])
    turn: Turn = _adapter(Turn).validate_python({**fields, "items": ()})
    return Turn(**{name: getattr(turn, name) for name in fields if name != "items"}, items=items)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
