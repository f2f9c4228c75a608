"""What the companion knows about itself and the CLIs at one moment. Immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..clis.families import CliFamily
from ..editor import WindowId
from ..exclusion import Sharing
from ..review.changes import Count
from ..settings import Review

if TYPE_CHECKING:
    from ..clis.processes import RunningCli
    from ..provenance.transcripts import StrangeTranscript

HANGS = "A disk does not answer. Until it does, nothing is known of what is on it, nor which CLIs run."
"""The note of facts that wait for a disk."""


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """What the status bar shows of a window."""

    clis: tuple[str, ...] = ()
    """The names of the connected CLIs, in the order of their connection."""
    diffs: int = 0
    """How many diffs wait for the person."""
    questions: int = 0
    """How many questions of the chats wait that no diff shows."""
    asking: tuple[str, ...] = ()
    """The agents that ask them."""
    written: Count = field(default_factory=Count)
    """What is written and nobody has reviewed."""
    authors: tuple[str, ...] = ()
    """The agents that have written them."""
    unasking: tuple[str, ...] = ()
    """Those of the connected CLIs that change files without asking, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Cli:
    """A running CLI, with what its files say."""

    running: RunningCli
    version: tuple[int, ...] | None
    settings_path: str
    ide_mode: bool | None
    """None where the settings can't be read."""
    approval: str | None
    """The approval mode of its settings, if they have one."""
    looks_in: str = ""
    """The folder where it looks for editors, if we don't write there."""

    @property
    def family(self) -> CliFamily:
        """Its family."""
        return self.running.family

    @property
    def name(self) -> str:
        """Its name with its process, as there may be several."""
        return f"{self.family.name} (process {self.running.pid})"


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """A published folder of a window."""

    path: str
    real: str
    """The path without links."""
    since: float
    """Since when it has been published, as a Unix time in seconds."""
    is_there: bool = True
    """Whether it is on the disk."""


@dataclass(frozen=True, slots=True)
class DiscoveryFile:
    """A window's discovery file on disk."""

    cli: str
    path: str
    state: Literal["ours", "missing", "another's"]
    modified: float | None = None
    refused: str = ""
    """Why it can't be written: words to put after its folder's path."""
    failed: str = ""
    """Why it could not be written the last time, in the same form."""


@dataclass(frozen=True, slots=True)
class ConnectedCli:
    """A session. Times are Unix times in seconds; `round_trip` is in seconds, None without an answer."""

    cli: str
    since: float
    last_message: float
    listens: bool
    round_trip: float | None


@dataclass(frozen=True, slots=True)
class Rival:
    """Another editor's lock file for one of our folders."""

    editor: str
    path: str
    port: int
    folder: str
    is_newer: bool
    family: CliFamily
    """The CLIs that read it."""


class Remote(NamedTuple):
    """A running program behind which a CLI may be that cannot see this editor's files."""

    pid: int
    program: str
    where: str
    """A phrase such as "over SSH on buildbox"."""


@dataclass(frozen=True, slots=True)
class TerminalVariables:
    """A terminal in the editor and the variables that it was opened with."""

    title: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ShownChat:
    """A chat in a tab."""

    title: str
    """With the name of its agent."""
    state: str
    """A few words."""
    folder: str
    trouble: str = ""
    """Why it isn't connected, and what to do about it; empty if it is, or is about to be."""


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A window as the editor shows it."""

    number: WindowId
    title: str
    folders: tuple[str, ...]
    terminals: tuple[TerminalVariables, ...] = ()
    chats: tuple[ShownChat, ...] = ()
    written: tuple[str, ...] = ()
    """The written changes that wait, a line for each file."""
    ignored: tuple[str, ...] = ()
    """The names of the package's own settings that the window's project has in vain."""


@dataclass(frozen=True, slots=True)
class Served:
    """A window as the companion serves it."""

    port: int
    folders: tuple[PublishedFolder, ...]
    files: tuple[DiscoveryFile, ...] = ()
    sessions: tuple[ConnectedCli, ...] = ()
    diffs: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    sharing: Sharing = field(default_factory=Sharing)
    """What a CLI learns by itself of the window's files."""
    troubles: tuple[str, ...] = ()
    """What is wrong with the review of what agents write, each with what to do about it."""
    review: Review = "before"
    """When the window's changes are reviewed."""
    copying: tuple[str, ...] = ()
    """What is still to be copied for an undo, a line for each folder."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the companion doesn't run."""

    why: str
    """A sentence with what to do about it."""
    is_of_libraries: bool
    """Whether the libraries are to be repaired."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything in the report, at one moment."""

    at: float
    about: tuple[tuple[str, str], ...]
    """Names and versions of the package, the editor, the system."""
    windows: tuple[ShownWindow, ...]
    """The one in front comes first."""
    served: Mapping[WindowId, Served] = field(default_factory=dict[WindowId, Served])
    clis: tuple[Cli, ...] | None = None
    """None if nobody has looked yet."""
    remote: tuple[Remote, ...] = ()
    """Programs behind which a CLI may run that cannot be seen here."""
    full: tuple[str, ...] = ()
    """Folders on whose disk there is no room."""
    has_cli: bool = True
    """Whether a CLI is installed, as far as can be told."""
    lacks_git: bool = False
    """Whether what agents write is to be reviewed, and there is no Git for it."""
    lacks_terminus: bool = False
    """Whether the package is missing or disabled in whose terminals *Run* starts a CLI."""
    libraries: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    """The problems in the settings."""
    messages: tuple[tuple[float, str], ...] = ()
    """The latest messages to the person, each with its Unix time."""
    unserved: Mapping[WindowId, str] = field(default_factory=dict[WindowId, str])
    """The windows for which the system has no port: a sentence with what to do about it."""
    asked: str = ""
    """What the person is asked before the first transcript of a CLI is read; empty if that needs no answer now."""
    strange: tuple[StrangeTranscript, ...] = ()
    """The transcripts that aren't understood."""
    stopped: Stop | None = None
    """Why the companion doesn't run, if that is known."""
    note: str = ""
