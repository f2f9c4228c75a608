"""What a chat needs of what answers it: a small core, and parts that a back end has or hasn't.

A part that it hasn't is None. The chat asks for the part, never for the kind of the back end. Whatever fails is raised
as a ChatError.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from ..conversation.events import Envelope, EventCursor, Replay
from ..conversation.failures import MissingFeatureError
from ..conversation.forms import Values
from ..conversation.snapshot import Locality
from .parts import (
    Authentication,
    Catalog,
    Edits,
    Fork,
    Handover,
    History,
    Options,
    Queries,
    Rewind,
    Sessions,
    SignIn,
    SignOut,
    Steering,
    Tasks,
    TerminalControl,
    WorkspaceFiles,
)
from .sessions import AgentSession

P = TypeVar("P")
Block = Mapping[str, Any]
"""A part of a prompt, as the Agent Client Protocol has it: see `prompt`."""


class EventStream(Protocol):
    """The events of a session."""

    @property
    def epoch(self) -> str:
        """Names the run of the back end in which the events' ids count."""
        ...

    @property
    def envelopes(self) -> AsyncIterator[Envelope]:
        """The events, until the stream ends."""
        ...


class Backend(Protocol):
    """Answers one chat."""

    @property
    def sessions(self) -> Sessions | None:
        """The list of sessions."""
        ...

    @property
    def catalog(self) -> Catalog | None:
        """Titles, a search, an archive and texts of sessions."""
        ...

    @property
    def history(self) -> History | None:
        """The earlier parts of a conversation."""
        ...

    @property
    def rewind(self) -> Rewind | None:
        """Other ways on from what was said."""
        ...

    @property
    def fork(self) -> Fork | None:
        """Copies of conversations."""
        ...

    @property
    def tasks(self) -> Tasks | None:
        """What the agent does besides its turn."""
        ...

    @property
    def options(self) -> Options | None:
        """Models, modes and other options."""
        ...

    @property
    def queries(self) -> Queries | None:
        """What no event tells."""
        ...

    @property
    def steering(self) -> Steering | None:
        """Messages into the turn that runs, and the queue."""
        ...

    @property
    def files(self) -> WorkspaceFiles | None:
        """The files of its folder."""
        ...

    @property
    def edits(self) -> Edits | None:
        """Proposals that the person edits."""
        ...

    @property
    def terminals(self) -> TerminalControl | None:
        """The editor's terminals in which it runs commands."""
        ...

    @property
    def sign_in(self) -> SignIn | None:
        """Signing in with a code."""
        ...

    @property
    def authentication(self) -> Authentication | None:
        """Signing in by the agent's own methods."""
        ...

    @property
    def sign_out(self) -> SignOut | None:
        """Signing out."""
        ...

    @property
    def handover(self) -> Handover | None:
        """Going on with it after a reload of the package."""
        ...

    def missing(self, what: str) -> MissingFeatureError:
        """The error for a part that it hasn't. `what` follows "can't"."""
        ...

    async def create(self, folder: str) -> AgentSession:
        """Begin a new session in a folder."""
        ...

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Take up a session again, and get its conversation."""
        ...

    def events(self, session: AgentSession, cursor: EventCursor | None) -> AbstractAsyncContextManager[EventStream]:
        """The events of a session after a cursor."""
        ...

    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        """Send a prompt, which waits while a turn runs. Returns its id, which the events of its turn carry."""
        ...

    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs."""
        ...

    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it."""
        ...

    async def describe(self, locality: Locality) -> str:
        """A page for the person on what it is and where it runs."""
        ...

    async def detach(self, session: AgentSession) -> None:
        """Leave a session; its history stays."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


def lacking(backend: Backend) -> tuple[str, ...]:
    """The names of the parts that a back end hasn't."""
    parts = [name for name, member in vars(Backend).items() if isinstance(member, property)]
    return tuple(name for name in parts if getattr(backend, name) is None)


def needed(part: P | None, backend: Backend, what: str) -> P:
    """A part of a back end that it has. `what` follows "can't" in the error.

    Raises:
        MissingFeatureError: it hasn't.
    """
    if part is None:
        raise backend.missing(what)
    return part
