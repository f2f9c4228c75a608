"""What a chat needs of what answers it, whatever that is: the interface that the daemon and every agent on stdio have.

`Workplace` is what they need of the editor, and of the window that the chat is in. `Agent.can` says what one can do
besides a conversation. A chat asks that, never for the kind of the agent. Whatever fails is raised as a ChatError.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, get_args

from pydantic import AliasChoices, AliasPath, Field

from ..conversation.events import Envelope, Oldest, Replay
from ..conversation.failures import MissingFeatureError
from ..conversation.forms import Values
from ..conversation.snapshot import ChoiceKind, Choices, Command, ContextWindow, Locality, Queued, Task
from ..editor import WindowId
from ..review.review_screen import FileScreen
from .wire import AnyCount, Text, Texts, Wire, part, parts

if TYPE_CHECKING:
    from ..agents import McpServer
    from ..clis.environment import LoginEnvironment
    from ..exclusion import Sharing
    from ..settings import DaemonSettings

SERVER = "qwen-companion"
"""What the editor's server is called among an agent's servers."""


@dataclass(frozen=True, slots=True)
class OfferedServer:
    """The editor's own MCP server, as it is offered to one agent."""

    url: str
    token: str = field(repr=False)

    @property
    def entry(self) -> Mapping[str, Any]:
        """As the protocol has it in `mcpServers`."""
        header = {"name": "Authorization", "value": f"Bearer {self.token}"}
        return {"type": "http", "name": SERVER, "url": self.url, "headers": [header]}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the person lets every agent of a window have besides the folder of its chat."""

    folders: tuple[str, ...] = ()
    """Absolute paths. None of them is excluded."""
    servers: tuple[McpServer, ...] = ()


class Workplace(Protocol):
    """The window of a chat, for what answers there. Called on the companion thread."""

    id: WindowId
    login: LoginEnvironment
    """What agents are started with."""

    @property
    def screen(self) -> FileScreen:
        """The editor."""
        ...

    @property
    def settings(self) -> DaemonSettings:
        """As they are now."""
        ...

    @property
    def daemon_folders(self) -> Collection[str]:
        """The folders whose chats need a daemon."""
        ...

    def sharing(self) -> Sharing:
        """What may be told of the window's files."""
        ...

    def surroundings(self) -> Awaitable[Surroundings]:
        """What a session gets besides its folder."""
        ...

    def admit(self, agent: str) -> OfferedServer | None:
        """Offer the editor's MCP server to an agent; None if it is not offered."""
        ...

    def dismiss(self, token: str) -> None:
        """That agent has ended: its token is worth nothing any more."""
        ...


Feature = Literal["sessions", "history", "rewind", "fork", "tasks", "edits", "sign_in", "authentication", "sign_out"]
"""What some agents can do and others can't, and what a chat or a command has to know before it asks.

sessions: list the sessions of a folder. history: read the earlier parts of a conversation. rewind: continue a turn, and
go back to an earlier prompt. fork: copy a conversation. tasks: tell of what runs besides the turn. edits: take
proposals that the person has edited. sign_in: with a code on a page. authentication: by methods of its own. sign_out.
"""
ExportForm = Literal["html", "md", "json", "jsonl"]
Block = Mapping[str, Any]
"""A part of a prompt, as the Agent Client Protocol has it: see `chats.prompt`."""


class AgentSession(Wire):
    """A session that this client takes part in, or wants to."""

    id: str = Field(validation_alias="sessionId")
    folder: Text = Field(default="", validation_alias=AliasChoices("workspaceCwd", "cwd"))
    """As the agent calls it."""
    client_id: str = ""
    """Our client id in it; empty where nobody else can take part."""
    attached: bool = False
    """Whether it was there before."""
    begun: float = 0.0
    """When it was begun, as a Unix time in seconds; 0 if that isn't known."""


class SessionInfo(AgentSession):
    """A session in the list."""

    title: Text = Field(default="", validation_alias=AliasChoices("displayName", "title"))
    created_at: Text = ""
    updated_at: Text = ""
    client_count: int = 0
    has_active_prompt: bool = False
    is_waiting_for_permission: bool = False
    is_waiting_for_user_question: bool = False
    is_pinned: bool = False
    is_archived: bool = False


class SessionPage(Wire):
    """A part of the list of sessions."""

    sessions: Annotated[tuple[SessionInfo, ...], parts(SessionInfo)] = ()
    cursor: Text = Field(default="", validation_alias="nextCursor")
    """Where the next part begins; empty if this is the last one."""

    def after(self, cursor: str) -> str:
        """Where the part after this one begins, which was asked for by a cursor; that one again means that it ends."""
        return "" if self.cursor == cursor else self.cursor


class FoundSession(Wire):
    """A session in which something was found."""

    session: Annotated[SessionInfo, part(SessionInfo)]
    snippet: Text = ""
    """The words around it."""


class RewindPoint(Wire):
    """A prompt that a session can be rewound to, so that it was never asked."""

    id: str = Field(validation_alias="promptId")
    """The agent's own; the prompt's events have another."""
    index: int = Field(validation_alias="turnIndex")
    """Its number among the prompts that the model was asked, from 0."""
    timestamp: Text = ""
    """ISO 8601."""
    files: AnyCount = Field(default=0, validation_alias=AliasPath("diffStats", "filesChanged"))
    """How many files undoing the changes since then would change."""
    inserted: AnyCount = Field(default=0, validation_alias=AliasPath("diffStats", "insertions"))
    """Lines that were added since then."""
    deleted: AnyCount = Field(default=0, validation_alias=AliasPath("diffStats", "deletions"))


class Rewinding(Wire):
    """What came of a rewind: paths of files."""

    changed: Texts = Field(default=(), validation_alias="filesChanged")
    failed: Texts = Field(default=(), validation_alias="filesFailed")


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


class Agent(ABC):
    """Answers one chat. What it can't do raises MissingFeatureError: see `can`."""

    model_is_default = False
    """Whether a switch of the model makes it the person's default, too."""
    forgets_options = False
    """Whether a session that is loaded again may have other values than the person has chosen."""

    @abstractmethod
    def can(self, feature: Feature) -> bool:
        """Whether it can do something that others can't."""

    @property
    def lacks(self) -> tuple[Feature, ...]:
        """What it can't do."""
        return tuple(feature for feature in get_args(Feature) if not self.can(feature))

    @abstractmethod
    def missing(self, what: str) -> MissingFeatureError:
        """The error for something that it can't do. `what` follows "can't"."""

    def need(self, feature: Feature, what: str) -> None:
        """Check that it can do something. `what` follows "can't" in the error.

        Raises:
            MissingFeatureError: it can't.
        """
        if not self.can(feature):
            raise self.missing(what)

    # The conversation

    @abstractmethod
    async def create(self, folder: str) -> AgentSession:
        """Begin a new session in a folder, as the agent calls it.

        Raises:
            ChatError: it opens none, for example because it wants the person to sign in first.
        """

    @abstractmethod
    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Resume a session, and get its conversation, or the end of a long one.

        Raises:
            SessionGoneError: it has no such session.
        """

    @abstractmethod
    def events(self, session: AgentSession) -> AbstractAsyncContextManager[AsyncIterator[Envelope]]:
        """The events of a session after those that were read and those of its history, until the stream ends.

        Raises:
            StaleError: some are missing, or it has not loaded the session.
            SessionEndedError: the session has ended.
        """

    @abstractmethod
    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        """Send a prompt, which waits while a turn runs. Returns its id, which the events of its turn carry.

        Raises:
            UnsendableError: it can't take a part of it.
        """

    @abstractmethod
    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs, if one does."""

    @abstractmethod
    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it.

        Raises:
            AlreadyAnsweredError: it is settled.
        """

    @abstractmethod
    async def describe(self, locality: Locality) -> str:
        """A page for the person on what it is and where it runs."""

    @abstractmethod
    async def detach(self, session: AgentSession) -> None:
        """Leave a session; its history stays."""

    @abstractmethod
    async def close(self) -> None:
        """Release it, or end it if it is a process of this chat."""

    # Sessions

    async def list_sessions(self, folder: str, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the sessions of a folder, or of those of its archive."""
        raise self.missing("list conversations")

    async def delete_session(self, session: AgentSession) -> None:
        """Delete a session and its history."""
        raise self.missing("delete a conversation")

    async def search_sessions(self, folder: str, words: str) -> list[FoundSession]:
        """The sessions of a folder in which somebody has said something."""
        raise self.missing("search its conversations")

    async def rename_session(self, session: AgentSession, title: str) -> None:
        """Give a session that is at work a title.

        Raises:
            SessionGoneError: it has to be loaded first.
        """
        raise self.missing("rename a conversation")

    async def pin_session(self, session: AgentSession, *, is_pinned: bool) -> None:
        """Keep a session at the top of the list, or no longer."""
        raise self.missing("pin a conversation")

    async def archive_session(self, session: AgentSession, *, is_archived: bool) -> None:
        """Put a session into the archive, or take it out again."""
        raise self.missing("put a conversation into an archive")

    async def export_session(self, session: AgentSession, form: ExportForm, *, is_archived: bool = False) -> str:
        """A session's whole conversation as a text."""
        raise self.missing("export a conversation")

    # What was said before

    async def earlier(self, session: AgentSession, oldest: Oldest) -> tuple[list[Envelope], bool]:
        """The page of a conversation before a turn, and whether there are older ones."""
        raise self.missing("show earlier turns page by page")

    async def continue_turn(self, session: AgentSession) -> str | None:
        """Continue the turn that was interrupted. Returns the id of its prompt; None if there is nothing to."""
        raise self.missing("continue a turn")

    async def rewind_points(self, session: AgentSession) -> list[RewindPoint]:
        """The prompts that a session can be rewound to, the oldest first."""
        raise self.missing("go back to an earlier prompt")

    async def rewind(self, session: AgentSession, point: str, *, undo_files: bool) -> Rewinding:
        """Forget a prompt and everything after it; with `undo_files` also what was changed in files since then.

        Raises:
            ChatError: a turn runs, or the prompt is one that was summed up meanwhile.
        """
        raise self.missing("go back to an earlier prompt")

    async def fork(self, session: AgentSession, title: str = "") -> AgentSession:
        """Copy a session with everything that was said in it. Returns the copy, attached to it."""
        raise self.missing("copy a conversation")

    # Tasks, files and terminals

    async def tasks(self, session: AgentSession, *, with_past: bool = False) -> tuple[Task, ...]:
        """What it does besides its turn, and has done, the oldest first; `with_past`: also before a restart of it."""
        raise self.missing("list what runs in the background")

    async def stop_task(self, session: AgentSession, task: Task) -> bool:
        """Stop a task. Returns False if it didn't run any more."""
        raise self.missing("stop what runs in the background")

    async def is_file(self, path: str) -> bool:
        """Whether its folder has a file; `path` is relative to it or absolute. False if it can't tell."""
        return False

    async def find_files(self, words: str, limit: int) -> list[str]:
        """The files and folders whose paths have some words, relative to its folder; none if it can't tell."""
        return []

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written, and the agent is told."""
        raise self.missing("take an edited proposal")

    async def stop_terminal(self, terminal: str) -> bool:
        """End what runs in a terminal of the editor, and tell the agent how. Returns False if nothing does."""
        raise self.missing("stop what runs in a terminal")

    # What a session can switch, and what no event tells

    async def choices(self, session: AgentSession) -> Choices | None:
        """What the session can switch, and what it is now; None if that isn't told."""
        return None

    @abstractmethod
    async def switch(self, session: AgentSession, kind: ChoiceKind, value: str) -> None:
        """Switch the mode, the model, or how long the model thinks, to the id of a choice."""

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        """Set another option of the session, to the id of a value or to true or false."""
        raise self.missing("set an option")

    async def commands(self, session: AgentSession) -> tuple[Command, ...]:
        """The slash commands of the session; none if it tells them by itself."""
        return ()

    async def context_window(self, session: AgentSession) -> ContextWindow | None:
        """How full the context window is; None if that isn't told."""
        return None

    # What runs and what waits

    async def inject(self, session: AgentSession, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs that takes one.

        Raises:
            UncertainError: it may have arrived.
        """
        return None

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        return []

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        """Remove a prompt that waits. Returns False if it doesn't."""
        return False

    # Signing in

    async def sign_in_providers(self) -> list[str]:
        """The ids of the providers of models at which one can sign in with a code."""
        raise self.missing("be signed in with a code")

    async def begin_sign_in(self, provider: str) -> SigningIn:
        """Begin to sign in with a code, or resume a sign-in that has begun.

        Raises:
            ChatError: the provider doesn't answer.
        """
        raise self.missing("be signed in with a code")

    async def sign_in_progress(self, identifier: str) -> SigningIn:
        """How far a sign-in is."""
        raise self.missing("be signed in with a code")

    async def cancel_sign_in(self, identifier: str) -> None:
        """Give a sign-in up."""
        raise self.missing("be signed in with a code")

    @property
    def ways(self) -> tuple[Way, ...]:
        """Its own ways to sign in."""
        return ()

    async def authenticate(self, method: str) -> None:
        """Sign in by one of its own methods, which may open a browser and wait for the person.

        Raises:
            ChatError: it refuses.
        """
        raise self.missing("sign you in")

    async def sign_out(self) -> None:
        """Have it forget who the person is. A session that runs may go on with what it has in memory.

        Raises:
            ChatError: it refuses.
        """
        raise self.missing("sign you out")

    @property
    def can_restart(self) -> bool:
        """Whether a new process goes on with the conversation."""
        return False

    # A reload of the package

    @property
    def is_signed_out(self) -> bool:
        """Whether it has said that it wants a sign-in, and not that this is over."""
        return False

    @property
    def held(self) -> str | None:
        """The id of the prompt that waits for a sign-in."""
        return None

    @property
    def unread(self) -> list[Envelope]:
        """The events that nobody has read, once it is handed over."""
        return []

    async def hand_over(self) -> dict[str, Any] | None:
        """Leave it to the next instance, in the middle of whatever it does. Returns what that needs.

        None if it has ended instead.
        """
        await self.close()
        return None
