"""The parts that a back end of a chat has or hasn't. See `backend`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..conversation.events import Envelope, Oldest
from ..conversation.snapshot import Choices, Command, ContextWindow, Queued, Task
from .sessions import AgentSession, FoundSession, SessionPage

ExportForm = Literal["html", "md", "json", "jsonl"]


class Sessions(Protocol):
    """The sessions of a folder."""

    async def list(self, folder: str, cursor: str = ...) -> SessionPage:
        """A page of them."""
        ...

    async def delete(self, session: AgentSession) -> None:
        """Delete a session and its history."""
        ...


class Catalog(Protocol):
    """What else can be done with the sessions of a folder."""

    async def search(self, folder: str, words: str) -> list[FoundSession]:
        """The sessions in which somebody has said something."""
        ...

    async def rename(self, session: AgentSession, title: str) -> None:
        """Give a session that is at work a title.

        Raises:
            SessionGoneError: it has to be loaded first.
        """
        ...

    async def pin(self, session: AgentSession, *, is_pinned: bool) -> None:
        """Keep a session at the top of the list, or no longer."""
        ...

    async def archived(self, folder: str, cursor: str = ...) -> SessionPage:
        """A page of the sessions in the archive."""
        ...

    async def archive(self, session: AgentSession, *, is_archived: bool) -> None:
        """Put a session into the archive, or take it out again."""
        ...

    async def export(self, session: AgentSession, form: ExportForm, *, is_archived: bool = ...) -> str:
        """A session's whole conversation as a text."""
        ...


class History(Protocol):
    """Reads what came before the turns that are known."""

    async def earlier(self, session: AgentSession, oldest: Oldest) -> tuple[list[Envelope], bool]:
        """The page of a conversation before a turn, and whether there are older ones."""
        ...


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A prompt that a session can be rewound to, so that it was never asked."""

    id: str
    """The agent's own; the prompt's events have another."""
    index: int
    """Its number among the prompts that the model was asked, from 0."""
    timestamp: str = ""
    """ISO 8601."""
    files: int = 0
    """How many files undoing the changes since then would change."""
    inserted: int = 0
    """Lines that were added since then."""
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Rewinding:
    """What came of a rewind: paths of files."""

    changed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Rewind(Protocol):
    """Continues a conversation and rewinds it."""

    async def go_on(self, session: AgentSession) -> str | None:
        """Continue the turn that was interrupted. Returns the id of its prompt; None if there is nothing to."""
        ...

    async def points(self, session: AgentSession) -> list[RewindPoint]:
        """The prompts that a session can be rewound to, the oldest first."""
        ...

    async def rewind(self, session: AgentSession, point: str, *, undo_files: bool) -> Rewinding:
        """Forget a prompt and everything after it; with `undo_files` also what was changed in files since then."""
        ...


class Fork(Protocol):
    """Copies conversations."""

    async def fork(self, session: AgentSession, title: str = ...) -> AgentSession:
        """Copy a session with everything that was said in it. Returns the copy, attached to it."""
        ...


class Tasks(Protocol):
    """What the agent does besides its turn: commands in the background, sub-agents."""

    async def list(self, session: AgentSession) -> tuple[Task, ...]:
        """All of it, and what it has done, the oldest first."""
        ...

    async def agents(self, session: AgentSession) -> tuple[Task, ...]:
        """The sub-agents of a session, those of before a restart too."""
        ...

    async def stop(self, session: AgentSession, task: Task) -> bool:
        """Stop a task. Returns False if it didn't run any more."""
        ...


class Options(Protocol):
    """Switches what a session can switch."""

    @property
    def model_is_default(self) -> bool:
        """Whether a switch of the model makes it the person's default, too."""
        ...

    @property
    def forgets(self) -> bool:
        """Whether a session that is loaded again may have other values than the person has chosen."""
        ...

    async def choices(self, session: AgentSession) -> Choices | None:
        """What the session can switch, and what it is now; None if that isn't told."""
        ...

    async def switch_model(self, session: AgentSession, model: str) -> None:
        """Switch the model."""
        ...

    async def switch_mode(self, session: AgentSession, mode: str) -> None:
        """Switch the mode."""
        ...

    async def switch_effort(self, session: AgentSession, effort: str) -> None:
        """Switch how long the model thinks."""
        ...

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        """Set another option of the session, to the id of a value or to true or false."""
        ...


class Queries(Protocol):
    """Tells on request what no event tells."""

    async def commands(self, session: AgentSession) -> tuple[Command, ...]:
        """The slash commands of the session."""
        ...

    async def window(self, session: AgentSession) -> ContextWindow | None:
        """How full the context window is; None if that isn't told."""
        ...


class Steering(Protocol):
    """Steers what runs and what waits."""

    async def inject(self, session: AgentSession, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs that takes one."""
        ...

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        ...

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        """Remove a prompt that waits. Returns False if it doesn't."""
        ...


class WorkspaceFiles(Protocol):
    """Looks for files where the agent works."""

    async def is_file(self, path: str) -> bool:
        """Whether the folder has a file; `path` is relative to it or absolute."""
        ...

    async def glob(self, pattern: str, limit: int) -> list[str]:
        """The files and folders that match a pattern, relative to the folder."""
        ...


class Edits(Protocol):
    """Writes proposals that the person has edited."""

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written instead of it."""
        ...


class TerminalControl(Protocol):
    """The terminals in which an agent runs commands."""

    async def stop_terminal(self, terminal: str) -> bool:
        """End what runs in a terminal. Returns False if nothing does."""
        ...


@dataclass(frozen=True, slots=True)
class SigningIn:
    """A sign-in that waits for the person, or is over."""

    id: str
    provider: str
    state: Literal["pending", "authorized", "failed"]
    code: str
    """What the person enters on the page."""
    page: str
    """The address of the page, http or https; empty if the agent gives another one."""
    expires: float
    """Seconds since 1970; 0 if that isn't known."""
    interval: float
    """Seconds between two questions how far it is."""
    why: str = ""
    """Why it has failed."""


class SignIn(Protocol):
    """Signs in at a provider of models, with a code that the person enters on a web page."""

    async def providers(self) -> list[str]:
        """The ids of the providers at which one can sign in."""
        ...

    async def begin(self, provider: str) -> SigningIn:
        """Begin to sign in, or take up a sign-in that has begun."""
        ...

    async def look(self, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        ...

    async def cancel(self, identifier: str) -> None:
        """Give a sign-in up."""
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """A way to sign in that an agent offers."""

    id: str
    name: str
    description: str
    kind: Literal["agent", "terminal", "variables", "refused"]
    """agent: it signs in when it is asked; terminal: a command does; variables: the person sets them.

    refused: a command would, with variables that an agent may not set; the description says it.
    """
    command: tuple[str, ...] = ()
    """The program and its arguments, for a terminal."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What the command gets in addition to the login environment."""
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """What of it the agent has said, which the person sees before the command runs."""
    variables: tuple[str, ...] = ()
    """Their names, each with what it is for if the agent says that."""
    page: str = ""
    """A page that gives what the variables need; http or https."""


class Authentication(Protocol):
    """Signs in by the ways that an agent offers."""

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways."""
        ...

    async def authenticate(self, method: str) -> None:
        """Sign in by one of the agent's own methods, which may open a browser and wait for the person."""
        ...


class SignOut(Protocol):
    """Signs the person out of an agent."""

    @property
    def can_restart(self) -> bool:
        """Whether a new process goes on with the conversation."""
        ...

    async def sign_out(self) -> None:
        """Have the agent forget who they are. A session that runs may go on with what it has in memory.

        Raises:
            ChatError: it refuses.
        """
        ...


class Handover(Protocol):
    """Leaves an agent to the next instance of the package, in the middle of whatever it does."""

    @property
    def unread(self) -> list[Envelope]:
        """The events that nobody has read."""
        ...

    async def leave(self) -> dict[str, Any] | None:
        """Let go of the agent. Returns what the next instance needs; None if it has ended instead."""
        ...
