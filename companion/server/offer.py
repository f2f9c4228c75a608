"""What a window offers to a CLI, whichever door that comes in by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..protocol import Notification
from ..review.review import Owner
from ..review.reviews import Reviews
from ..settings import Settings
from .endpoint import Endpoint
from .knowledge import EditorKnowledge
from .sessions import Background, CliSessions


@dataclass(frozen=True)
class Offer:
    """The parts of a window's server that a door uses."""

    endpoint: Endpoint
    sessions: CliSessions
    reviews: Reviews
    knowledge: EditorKnowledge
    """What is told of the window's files, as `context` and `context_exclude` allow it."""
    settings: Callable[[], Settings]
    unsendable: Callable[[Owner, Notification], object]
    """Keeps an accepted text that no message can hold, and has the change rejected."""
    background: Background
