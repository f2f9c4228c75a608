"""What a chat needs of what answers it: the daemon of Qwen Code, or an agent on its standard input and output.

Features decide what is offered, never the kind of the back end. A method whose feature is missing raises
MissingFeatureError.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from ..backends.sessions import FoundSession, Session, SessionPage
from ..conversation.events import Envelope
from ..conversation.history import Cursor, History, Oldest
from ..conversation.snapshot import Choices, Command, ContextWindow, Queued, Task
from ..daemon.past import Rewinding, RewindPoint
from ..daemon.sign_in import SigningIn

Block = Mapping[str, Any]
"""A part of a prompt: see `prompt`."""
Feature = Literal["choices", "tasks", "edits"]
"""choices: models and modes; tasks: a list of what runs in the background; edits: an edited proposal is written."""


class SessionEvents(Protocol):
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
    """Answers one chat. Raises a ChatError for whatever fails."""

    def can(self, feature: Feature) -> bool:
        """Whether it has a feature."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...

    # Sessions

    async def create(self, folder: str, *, scope: Literal["single", "thread"] = ...) -> Session:
        """Begin a new session in a folder ("thread")."""
        ...

    async def load(self, session: Session) -> tuple[Session, History]:
        """Take up a session again, and get its conversation."""
        ...

    async def detach(self, session: Session) -> None:
        """Leave a session."""
        ...

    async def sessions(self, folder: str, cursor: str = ..., *, is_archived: bool = ...) -> SessionPage:
        """A page of the sessions of a folder."""
        ...

    async def search(self, folder: str, words: str) -> list[FoundSession]:
        """The sessions of a folder in which somebody has said something."""
        ...

    async def pin(self, session: Session, *, is_pinned: bool) -> None:
        """Keep a session at the top of the list, or no longer."""
        ...

    async def archive(self, session: Session, *, is_archived: bool) -> None:
        """Put a session into the archive, or take it out again."""
        ...

    async def rename(self, session: Session, title: str) -> None:
        """Give a session a title."""
        ...

    async def delete(self, session: Session) -> None:
        """Delete a session and its history."""
        ...

    async def export(
        self, session: Session, form: Literal["html", "md", "json", "jsonl"], *, is_archived: bool = ...
    ) -> str:
        """A session's whole conversation as a text."""
        ...

    # A conversation

    def events(self, session: Session, cursor: Cursor | None) -> AbstractAsyncContextManager[SessionEvents]:
        """The events of a session after a cursor."""
        ...

    async def prompt(self, session: Session, blocks: Sequence[Block]) -> str:
        """Send a prompt, which waits while a turn runs. Returns its id, which the events of its turn carry."""
        ...

    async def inject(self, session: Session, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs that takes one."""
        ...

    async def queue(self, session: Session) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        ...

    async def dequeue(self, session: Session, prompt: str) -> bool:
        """Remove a prompt that waits. Returns False if it doesn't."""
        ...

    async def cancel(self, session: Session) -> None:
        """End the turn that runs."""
        ...

    async def vote(
        self, session: Session, request: str, option: str | None, answers: Mapping[str, str] | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it."""
        ...

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written instead of it."""
        ...

    async def choices(self, session: Session) -> Choices:
        """The models and the modes that the session can switch to."""
        ...

    async def switch_model(self, session: Session, model: str) -> None:
        """Switch the model."""
        ...

    async def switch_mode(self, session: Session, mode: str) -> None:
        """Switch the mode."""
        ...

    async def switch_effort(self, session: Session, effort: str) -> None:
        """Switch how long the model thinks."""
        ...

    async def set_option(self, session: Session, option: str, value: str | bool) -> None:
        """Set another option of the session, to the id of a value or to true or false."""
        ...

    async def commands(self, session: Session) -> tuple[Command, ...]:
        """The slash commands of the session."""
        ...

    async def window(self, session: Session) -> ContextWindow | None:
        """How full the context window is; None if it isn't told on request."""
        ...

    # The past

    async def go_on(self, session: Session) -> str | None:
        """Continue the turn that was interrupted. Returns the id of its prompt; None if there is nothing to."""
        ...

    async def earlier(self, session: Session, oldest: Oldest) -> tuple[list[Envelope], bool]:
        """The page of a conversation before a turn, and whether there are older ones."""
        ...

    async def rewind_points(self, session: Session) -> list[RewindPoint]:
        """The prompts that a session can be rewound to, the oldest first."""
        ...

    async def rewind(self, session: Session, point: str, *, undo_files: bool) -> Rewinding:
        """Forget a prompt and everything after it."""
        ...

    async def fork(self, session: Session, title: str = ...) -> Session:
        """Copy a session with everything that was said in it."""
        ...

    # What runs in the background

    async def tasks(self, session: Session) -> tuple[Task, ...]:
        """What the agent does besides its turn, and has done, the oldest first."""
        ...

    async def agents(self, session: Session) -> tuple[Task, ...]:
        """The sub-agents of a session."""
        ...

    async def stop_task(self, session: Session, task: Task) -> bool:
        """Stop a task. Returns False if it didn't run any more."""
        ...

    # Signing in with a code on a web page

    async def sign_in_providers(self) -> list[str]:
        """The ids of the providers at which one can sign in."""
        ...

    async def begin_sign_in(self, provider: str) -> SigningIn:
        """Begin to sign in."""
        ...

    async def sign_in(self, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        ...

    async def cancel_sign_in(self, identifier: str) -> None:
        """Give a sign-in up."""
        ...

    # Files

    async def is_file(self, path: str) -> bool:
        """Whether the chat's folder has a file; `path` is relative to it or absolute."""
        ...

    async def glob(self, pattern: str, limit: int) -> list[str]:
        """The files and folders that match a pattern, relative to the chat's folder."""
        ...
