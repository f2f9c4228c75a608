"""The CLI families that look for an editor: their discovery files, their variables and their differences.

Each family is one `CliFamily` in `FAMILIES`; no other module names it. Facts: docs/protocols/qwen-ide.md and
docs/protocols/gemini-ide.md.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..exclusion import is_encodable
from . import screen


def temporary_folder() -> Path:
    """The folder of Node's `os.tmpdir()`. Python's own choice differs: it skips folders that it can't write to."""
    if sys.platform == "win32":
        named = os.environ.get("TEMP") or os.environ.get("TMP")
        return Path(named or os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "temp"))
    return Path(os.environ.get("TMPDIR") or os.environ.get("TMP") or os.environ.get("TEMP") or "/tmp")  # noqa: S108 - Node's default


def qwen_home() -> Path:
    """`$QWEN_HOME`, else `~/.qwen`."""
    named = os.environ.get("QWEN_HOME")
    return Path(os.path.abspath(os.path.expanduser(named))) if named else Path.home() / ".qwen"


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
    """The options with which the person has already chosen that."""
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
    """The key of the approval mode in its settings."""
    asking_modes: frozenset[str]
    """The approval modes that ask before changing files."""
    silent_since: tuple[int, ...] | None
    """The version since which its default mode doesn't ask."""
    sends_token_since: tuple[int, ...]
    needs_variables_until: tuple[int, ...] | None
    """The version since which it finds an editor without the variables."""
    yes_enables: bool
    """Whether answering "Yes" to its first question turns the IDE mode on."""


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
        }
        return {name: value for name, value in values.items() if name}


QWEN_CODE = CliFamily(
    name="Qwen Code",
    port_variable="QWEN_CODE_IDE_SERVER_PORT",
    workspace_variable="QWEN_CODE_IDE_WORKSPACE_PATH",
    files=(
        # From 0.5.2 on.
        DiscoveryName(qwen_home, ("ide",), "{port}.lock"),
        # The published name.
        DiscoveryName(temporary_folder, ("qwen", "ide"), "qwen-code-ide-server-{pid}-{port}.json"),
        # 0.1.3 to 0.5.0, in this order. If the first exists, the second isn't read.
        DiscoveryName(temporary_folder, (), "qwen-code-ide-server-{pid}.json", legacy=True),
        DiscoveryName(temporary_folder, ("gemini", "ide"), "qwen-code-ide-server-{pid}-{port}.json", legacy=True),
    ),
    # Since 0.21 it changes files without asking by default, and no diff opens:
    # docs/protocols/qwen-ide.md#approval-mode.
    launch=Launch(
        key="qwen",
        npm_package="@qwen-code/qwen-code",
        resume=("--continue",),
        resume_since=(0, 5),
        ask=("--approval-mode", "default"),
        unless=frozenset({"--approval-mode", "--yolo", "-y"}),
    ),
    habits=Habits(
        folder=".qwen",
        home_variable="QWEN_HOME",
        home_is_folder=True,
        approval_setting="tools.approvalMode",
        asking_modes=frozenset({"default", "plan"}),
        silent_since=(0, 21),
        sends_token_since=(0, 1),
        needs_variables_until=(0, 12),
        yes_enables=True,
    ),
    layouts=(screen.BOX_AND_CONTEXT, screen.RULES_AND_CONTEXT, screen.RULES_AND_MODE),
    # From 0.21.2 on; older ones find no folder in either form.
    reads_json_folders=True,
)

GEMINI_CLI = CliFamily(
    name="Gemini CLI",
    port_variable="GEMINI_CLI_IDE_SERVER_PORT",
    workspace_variable="GEMINI_CLI_IDE_WORKSPACE_PATH",
    token_variable="GEMINI_CLI_IDE_AUTH_TOKEN",  # noqa: S106 - a name
    pid_variable="GEMINI_CLI_IDE_PID",
    # Never the one without a port: it would win over every other file, whatever the folder
    # (docs/protocols/gemini-ide.md#discovery).
    files=(DiscoveryName(temporary_folder, ("gemini", "ide"), "gemini-ide-server-{pid}-{port}.json"),),
    # If there is no conversation, it says so and begins a new one.
    launch=Launch(
        key="gemini",
        npm_package="@google/gemini-cli",
        resume=("--resume", "latest"),
        resume_since=(0, 20),
        quotes_paths=True,
    ),
    habits=Habits(
        folder=".gemini",
        home_variable="GEMINI_CLI_HOME",
        home_is_folder=False,
        approval_setting="general.defaultApprovalMode",
        asking_modes=frozenset({"default", "plan"}),
        silent_since=None,
        sends_token_since=(0, 6),
        needs_variables_until=None,
        yes_enables=False,
    ),
    layouts=(screen.BOX_AND_CONTEXT, screen.BOX_AND_MODEL, screen.RULES_AND_MODEL, screen.RULES_AND_COLUMNS),
    keeps_edits=True,
)

FAMILIES = (QWEN_CODE, GEMINI_CLI)

TERMINAL_VARIABLES = {"TERM_PROGRAM": "sublime"}
"""Only for terminals that we open: Gemini CLI recognizes the editor by it from 0.25 on."""


def keeps_edits(cli: str) -> bool:
    """Whether the CLI of that name writes an edited proposal after "yes" in its terminal.

    The name of one that runs elsewhere begins with that of its family.
    """
    families = (family for family in FAMILIES if cli == family.name or cli.startswith(f"{family.name} "))
    return any(family.keeps_edits for family in families)
