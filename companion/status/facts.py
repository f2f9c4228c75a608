"""What the companion knows of itself and of the CLIs at one moment. Immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..clis.families import CliFamily

if TYPE_CHECKING:
    from ..clis.processes import RunningCli


@dataclass(frozen=True, slots=True)
class Cli:
    """A CLI that runs, and what its files say."""

    running: RunningCli
    version: tuple[int, ...] | None
    settings_path: str
    ide_mode: bool | None
    """None where the settings can't be read."""
    approval: str | None
    """The approval mode of its settings, if they have one."""
    looks_in: str = ""
    """The folder that it looks for editors in, if that is not the one that we write to."""

    @property
    def family(self) -> CliFamily:
        """Its family."""
        return self.running.family

    @property
    def name(self) -> str:
        """What the person calls it: with its process, as there may be several."""
        return f"{self.family.name} (process {self.running.pid})"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that a window is published with."""

    path: str
    real: str
    """The path without links."""
    since: float
    """When CLIs could first find it, as a Unix time in seconds."""


@dataclass(frozen=True, slots=True)
class DiscoveryFile:
    """A discovery file of a window, as it is on disk."""

    cli: str
    path: str
    state: Literal["ours", "missing", "another's"]
    modified: float | None = None
    refused: str = ""
    """Why it can't be written, in words that follow its folder's path."""


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
    """Another editor's lock file that names a folder of ours."""

    editor: str
    path: str
    port: int
    folder: str
    is_newer: bool


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal inside the editor, with the variables that it was opened with."""

    title: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A window as the editor shows it."""

    number: int
    title: str
    folders: tuple[str, ...]
    terminals: tuple[Terminal, ...] = ()


@dataclass(frozen=True, slots=True)
class Served:
    """A window as the companion serves it."""

    port: int
    folders: tuple[Folder, ...]
    files: tuple[DiscoveryFile, ...] = ()
    sessions: tuple[ConnectedCli, ...] = ()
    diffs: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the report tells, at one moment."""

    at: float
    about: tuple[tuple[str, str], ...]
    """Names and versions of the package, the editor, the system."""
    windows: tuple[ShownWindow, ...]
    """The one in front comes first."""
    served: Mapping[int, Served] = field(default_factory=dict[int, Served])
    clis: tuple[Cli, ...] | None = None
    """None until somebody has looked."""
    libraries: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    """What is wrong in the settings."""
    messages: tuple[tuple[float, str], ...] = ()
    """What was said to the person, with the Unix time."""
    note: str = ""
