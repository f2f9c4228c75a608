"""What a family of CLIs is: its door, its discovery files, its variables and its differences from others."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...exclusion import is_encodable
from .. import screen


def temporary_folder() -> Path:
    """The folder of Node's `os.tmpdir()`. Python's own choice differs: it skips folders that it can't write to."""
    if sys.platform == "win32":
        named = os.environ.get("TEMP") or os.environ.get("TMP")
        return Path(named or os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "temp"))
    return Path(os.environ.get("TMPDIR") or os.environ.get("TMP") or os.environ.get("TEMP") or "/tmp")  # noqa: S108 - Node's default


@dataclass(frozen=True, slots=True)
class DiscoveryFolder:
    """A folder that CLIs search.

    We create and check everything below `base`. `base` itself may be a link, as with managed dotfiles.
    """

    base: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The folder's full path."""
        return self.base.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class DiscoveryName:
    """The name of a discovery file, in which `{pid}` is the editor's process and `{port}` the server's port."""

    base: Callable[[], Path]
    parts: tuple[str, ...]
    name: str
    legacy: bool = False
    """Only Qwen Code before 0.5.2 reads it; a setting leaves it out."""

    @property
    def folder(self) -> DiscoveryFolder:
        """The folder of the file, by the current environment."""
        return DiscoveryFolder(self.base(), self.parts)

    @property
    def is_shared(self) -> bool:
        """Whether all windows share one file of this name. It belongs to the window in front."""
        return "{port}" not in self.name

    @property
    def pattern(self) -> str:
        """A regular expression of all such names."""
        return re.escape(self.name).replace(r"\{pid\}", r"\d+").replace(r"\{port\}", r"\d+")

    def file(self, pid: int, port: int) -> str:
        """The name of one file."""
        return self.name.format(pid=pid, port=port)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a CLI is started in a terminal of the editor."""

    key: str
    """The family's name in our commands and settings; also its program's name."""
    npm_package: str
    resume: tuple[str, ...]
    """The options that continue the folder's last conversation."""
    resume_since: tuple[int, ...] = ()
    """The version since which it knows them. Qwen Code 0.1.3 prints its help and ends."""
    ask: tuple[str, ...] = ()
    """The options that make it ask before it changes a file."""
    unless: frozenset[str] = frozenset()
    """The options with which the person has already chosen that, or that it never asks."""
    without_editor: frozenset[str] = frozenset()
    """Subcommands and options with which it looks for no editor, beside those that all have."""
    mcp: str = ""
    """The option that gives it MCP servers by a file; empty if it has none."""
    mcp_since: tuple[int, ...] = ()
    """The first version that is known to have it."""
    quotes_paths: bool = False
    """Whether a path after an @ may be in double quotes on Windows."""


@dataclass(frozen=True, slots=True)
class Habits:
    """The behaviour that decides whether a family connects to an editor and whether it shows a diff."""

    folder: str
    """The name of its folder, in the person's home and in a project."""
    home_variable: str
    """The variable that moves that folder."""
    home_is_folder: bool
    """Whether the variable names the folder itself rather than its parent."""
    approval_setting: str
    """The key of the approval mode in its settings; empty if they have none."""
    silent_modes: frozenset[str]
    """The approval modes in which it changes files without asking."""
    silent_since: tuple[int, ...] | None
    """The version since which its default mode doesn't ask; empty if none of its versions do."""
    sends_token_since: tuple[int, ...]
    needs_variables_until: tuple[int, ...] | None
    """The version since which it finds an editor without the variables."""
    yes_enables: bool
    """Whether answering "Yes" to its first question turns the IDE mode on."""
    mode_option: str = "--approval-mode"
    """The option that chooses the approval mode; empty if it has none."""
    to_be_asked: str = "press Shift+Tab in it"
    """What the person does in one that never asks."""
    settings: tuple[str, ...] = ("settings.json",)
    """The files of its settings, in its folder. Where two of them differ, the later one wins."""
    project_settings: tuple[str, ...] = ()
    """Those of a project, in the project, which win; empty if they are in the folder of the same name there."""
    approval: Callable[[Sequence[Mapping[str, Any]]], object] | None = None
    """What all its settings say of the approval mode, if one key doesn't tell it."""
    mode_variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """The approval modes that variables set, whatever its settings say; “unknown” where that takes more than a look."""
    connect: str = "/ide enable"
    """What the person types into it to have it connect; empty if it tries that again by itself."""
    connect_anew: str = "type “/ide disable” and “/ide enable” in the CLI"
    """What they do to have it leave the editor that it is connected to for another one, in an imperative."""
    tells: str = "/ide status"
    """What they type to learn whether it is connected."""
    looks_again: bool = False
    """Whether it also finds an editor that comes after its start."""


Door = Literal["http", "websocket", "socket"]
"""How a CLI comes in: MCP over HTTP on the window's port, JSON-RPC over a WebSocket on it, or MCP on its own socket."""


@dataclass(frozen=True, slots=True)
class DoorAddress:
    """Where a CLI finds the door of a window."""

    port: int
    token: str = field(repr=False)
    folders: Sequence[str] = ()
    socket: str = ""
    """The path of the Unix socket or the name of the pipe, for a door that has one."""


@dataclass(frozen=True, slots=True)
class CliFamily:
    """How one family of CLIs finds an editor and how it differs from others."""

    name: str
    port_variable: str
    workspace_variable: str
    files: tuple[DiscoveryName, ...]
    launch: Launch
    habits: Habits
    layouts: tuple[screen.Layout, ...]
    """What it shows at the end of a terminal while it takes a prompt."""
    token_variable: str | None = None
    pid_variable: str | None = None
    """The variable with the editor's pid, for a CLI that can't find it among its parents."""
    reads_json_folders: bool = False
    """Whether it reads a JSON array of folders if one of them contains the path delimiter."""
    keeps_edits: bool = False
    """Whether "yes" in its terminal writes the text with the person's edits."""
    door: Door = "http"
    client: str = ""
    """Its name in MCP's `clientInfo`, which tells it from others that read the same discovery file."""
    lock: Callable[[DoorAddress], dict[str, Any]] | None = None
    """What its discovery file says of a door, if that isn't what Qwen Code and Gemini CLI read."""
    host_variable: str = ""
    """The variable with the editor's host, for a CLI in a container that looks for none but its own 127.0.0.1."""
    own_variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """More variables. With any, all of them are only for the terminals in which the editor runs this CLI."""
    shows_diffs: bool = True
    """Whether it proposes its changes to an editor."""
    first_line: int = 0
    """The number that it gives to the first line of a file. Where that is 1, a mention has to name lines."""
    watches_file: bool = False
    """Whether it takes the removal of its discovery file for the end of the editor, and gives up its open diffs."""
    takes_edits: bool = True
    """Whether it writes the text that the person has accepted, also where that is not the one that it proposed."""

    @property
    def connects_elsewhere(self) -> bool:
        """Whether it can be told of a port that leads to this computer."""
        return bool(self.files) and self.door != "socket"

    @property
    def silent_options(self) -> frozenset[str]:
        """The options with which it never asks."""
        return self.launch.unless - {self.habits.mode_option}

    @property
    def silent_modes(self) -> frozenset[str]:
        """The approval modes in which it never asks; such an option is one, by its name."""
        return self.habits.silent_modes | {option.lstrip("-") for option in self.silent_options}

    def workspace_path(self, folders: Sequence[str]) -> str:
        """The `workspacePath` of some folders: joined by the system's path delimiter.

        A percent sign stays: Gemini CLI decodes it from 0.27 on, but also in the folder that it runs in, so the two
        agree.
        """
        named = list(filter(self.can_name, folders))
        if any(os.pathsep in folder for folder in named):
            return json.dumps(named, ensure_ascii=False)
        return os.pathsep.join(named)

    def can_name(self, folder: str) -> bool:
        """Whether `workspacePath` can hold a folder; the others are left out.

        One whose name contains the delimiter needs JSON: half of its name would be another folder. One whose name isn't
        UTF-8 is no JSON.
        """
        return is_encodable(folder) and (self.reads_json_folders or os.pathsep not in folder)

    def variables(self, folders: Sequence[str], port: int, token: str, pid: int) -> dict[str, str]:
        """The environment variables by which a CLI in a terminal chooses a window's server."""
        values = {
            self.port_variable: str(port),
            self.workspace_variable: self.workspace_path(folders),
            self.token_variable: token,
            self.pid_variable: str(pid),
            **self.own_variables,
        }
        return {name: value for name, value in values.items() if name}
