"""What one instance of the package leaves of a chat for the next one, besides the process that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..conversation.conversation import Conversation
from ..conversation.snapshot import ChatNotice, Item, Message, Status, Tool, Turn
from .prompt import Draft, Excerpt, Returned


def plain(conversation: Conversation) -> dict[str, Any]:
    """A conversation as plain data."""
    return {"status": asdict(conversation.status), "turns": [asdict(turn) for turn in conversation.turns]}


def restored(data: Mapping[str, Any]) -> Conversation | None:
    """The conversation that `plain` was given; None if another version of the package has left it in another form."""
    try:
        status = _adapter(Status).validate_python(data["status"])
        left = [{**turn, "items": tuple(map(_item, turn["items"]))} for turn in data["turns"]]
        turns = _adapter(tuple[Turn, ...]).validate_python(left)
    except (ValidationError, LookupError, TypeError, AttributeError):
        return None
    conversation = Conversation()
    conversation.restore(turns, status)
    return conversation


def _item(data: Mapping[str, Any]) -> Item:
    """An item of a turn. A call in another form must not pass for a line of the chat's, which has a text, too."""
    kind = Message if "speaker" in data else Tool if "id" in data else ChatNotice
    return _adapter(kind).validate_python(data)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@dataclass
class Inherited:
    """What is left of a chat, until it is shown again."""

    unsent: list[Returned] = field(default_factory=list[Returned])
    """What goes back to the person."""
    queued: dict[str, Draft] = field(default_factory=dict[str, Draft])
    """What waits for its turn, by the ids of the prompts."""
    held: dict[str, Draft] = field(default_factory=dict[str, Draft])
    """The prompt that waits for a sign-in, by its id, until its agent is taken up."""
    conversation: Mapping[str, Any] | None = None
    """What was shown, as plain data."""
    has_turn: bool = False
    """Whether a turn ran."""

    @classmethod
    def from_plain(cls, left: Mapping[str, Any]) -> Inherited:
        """What `as_plain` has made."""
        queued, held = (
            {prompt: _draft(draft) for prompt, draft in left.get(name, {}).items()} for name in ("queued", "held")
        )
        return cls(
            [Returned(_draft(each), bool(each.get("may_have_arrived"))) for each in left["unsent"]],
            queued,
            held,
            left.get("conversation"),
            bool(left.get("has_turn")),
        )

    def as_plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "unsent": [{**asdict(each.draft), "may_have_arrived": each.may_have_arrived} for each in self.unsent],
            "queued": {prompt: asdict(draft) for prompt, draft in self.queued.items()},
            "held": {prompt: asdict(draft) for prompt, draft in self.held.items()},
            "conversation": self.conversation,
            "has_turn": self.has_turn,
        }

    def take_unsent(self) -> list[Returned]:
        """What goes back to the person, only once."""
        unsent, self.unsent = self.unsent, []
        return unsent

    def take_queued(self) -> dict[str, Draft]:
        """What waits for its turn, only once."""
        queued, self.queued = self.queued, {}
        return queued

    def take_held(self) -> dict[str, Draft]:
        """The prompt that waits for a sign-in, only once."""
        held, self.held = self.held, {}
        return held

    def take_conversation(self) -> Conversation | None:
        """What was shown, only once; None if there is nothing that can be read."""
        left, self.conversation = self.conversation, None
        return restored(left) if left else None

    def give_up(self) -> None:
        """Nobody goes on with the conversation: what waits in it goes back to the person."""
        self.conversation = None
        self.unsent += map(Returned, (*self.take_held().values(), *self.take_queued().values()))


def _draft(data: Mapping[str, Any]) -> Draft:
    """The draft of plain data."""
    excerpts = tuple(Excerpt(**excerpt) for excerpt in data["excerpts"])
    return Draft(data["text"], excerpts, tuple(data["pictures"]), dict(data["unsaved"]))
