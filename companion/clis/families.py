"""The CLI families that look for an editor: what a family is made of, and a `CliFamily` for each.

No other module names one: everything else iterates over `FAMILIES`. Facts: docs/protocols/qwen-ide.md,
docs/protocols/gemini-ide.md, docs/protocols/claude-ide.md and docs/protocols/copilot-ide.md. Nobody has specified how
Claude Code, Copilot CLI and OpenCode find an editor, so those are unofficial. OpenCode reads the lock files of Claude
Code.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from ..exclusion import is_encodable
from ..json_text import setting
from . import screen


def temporary_folder() -> Path:
    """The folder of Node's `os.tmpdir()`. Python's own choice differs: it skips folders that it can't write to."""
    if sys.platform == "win32":
        named = os.environ.get("TEMP") or os.environ.get("TMP")
        return Path(named or os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "temp"))
    return Path(os.environ.get("TMPDIR") or os.environ.get("TMP") or os.environ.get("TEMP") or "/tmp")  # noqa: S108 - Node's default


def _home(variable: str, folder: str) -> Path:
    """The folder that a variable names, else one in the person's home."""
    named = os.environ.get(variable)
    return Path(os.path.abspath(os.path.expanduser(named))) if named else Path.home() / folder


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
    reads_above: bool = False
    """Whether it reads those of the folders above, too, up to the work tree's own."""
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
    lock: Callable[[str, Sequence[str], str], dict[str, Any]] | None = None
    """What its discovery file says of a window, if that isn't what Qwen Code and Gemini CLI read.

    It gets the token, the folders, and the path of the Unix socket or the name of the pipe.
    """
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

    def workspace_path(self, folders: Sequence[str], delimiter: str = os.pathsep) -> str:
        """The `workspacePath` of some folders: joined by the path delimiter of the CLI's system.

        A percent sign stays: Gemini CLI decodes it from 0.27 on, but also in the folder that it runs in, so the two
        agree.
        """
        named = [folder for folder in folders if self.can_name(folder, delimiter)]
        if any(delimiter in folder for folder in named):
            return json.dumps(named, ensure_ascii=False)
        return delimiter.join(named)

    def can_name(self, folder: str, delimiter: str = os.pathsep) -> bool:
        """Whether `workspacePath` can hold a folder; the others are left out.

        One whose name contains the delimiter needs JSON: half of its name would be another folder. One whose name isn't
        UTF-8 is no JSON.
        """
        return is_encodable(folder) and (self.reads_json_folders or delimiter not in folder)

    def variables(
        self, folders: Sequence[str], port: int, token: str, pid: int, delimiter: str = os.pathsep
    ) -> dict[str, str]:
        """The environment variables by which a CLI in a terminal chooses a window's server."""
        values = {
            self.port_variable: str(port),
            self.workspace_variable: self.workspace_path(folders, delimiter),
            self.token_variable: token,
            self.pid_variable: str(pid),
            **self.own_variables,
        }
        return {name: value for name, value in values.items() if name}


def qwen_home() -> Path:
    """`$QWEN_HOME`, else `~/.qwen`."""
    return _home("QWEN_HOME", ".qwen")


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
        mcp="--mcp-config",
        mcp_since=(0, 21, 2),
    ),
    habits=Habits(
        folder=".qwen",
        home_variable="QWEN_HOME",
        home_is_folder=True,
        approval_setting="tools.approvalMode",
        silent_modes=frozenset({"auto", "auto-edit", "yolo"}),
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
        unless=frozenset({"--approval-mode", "--yolo", "-y"}),
        quotes_paths=True,
    ),
    habits=Habits(
        folder=".gemini",
        home_variable="GEMINI_CLI_HOME",
        home_is_folder=False,
        approval_setting="general.defaultApprovalMode",
        silent_modes=frozenset({"auto_edit", "yolo"}),
        silent_since=None,
        sends_token_since=(0, 6),
        needs_variables_until=None,
        yes_enables=False,
    ),
    layouts=(screen.BOX_AND_CONTEXT, screen.BOX_AND_MODEL, screen.RULES_AND_MODEL, screen.RULES_AND_COLUMNS),
    keeps_edits=True,
)


def _claude_home() -> Path:
    return _home("CLAUDE_CONFIG_DIR", ".claude")


def _claude_lock(_token: str, folders: Sequence[str], _socket: str) -> dict[str, Any]:
    """What it reads in a lock file, besides the token and the editor's name."""
    return {"pid": os.getpid(), "workspaceFolders": list(folders), "transport": "ws"}


CLAUDE_CODE = CliFamily(
    name="Claude Code",
    port_variable="CLAUDE_CODE_SSE_PORT",
    workspace_variable="",
    files=(DiscoveryName(_claude_home, ("ide",), "{port}.lock"),),
    launch=Launch(
        key="claude",
        npm_package="@anthropic-ai/claude-code",
        resume=("--continue",),
        ask=("--permission-mode", "default"),
        unless=frozenset({"--permission-mode", "--dangerously-skip-permissions"}),
        without_editor=frozenset({"-p", "--print"}),
    ),
    habits=Habits(
        folder=".claude",
        home_variable="CLAUDE_CONFIG_DIR",
        home_is_folder=True,
        approval_setting="permissions.defaultMode",
        silent_modes=frozenset({"acceptEdits", "auto", "bypassPermissions"}),
        silent_since=None,
        sends_token_since=(0,),
        needs_variables_until=None,
        yes_enables=True,
        mode_option="--permission-mode",
        project_settings=(".claude/settings.json", ".claude/settings.local.json"),
        connect="/ide",
        connect_anew="type “/ide” in the CLI",
        tells="/ide",
        looks_again=True,
    ),
    layouts=(screen.CLAUDE,),
    reads_json_folders=True,
    door="websocket",
    client="claude-code",
    lock=_claude_lock,
    host_variable="CLAUDE_CODE_IDE_HOST_OVERRIDE",
    # Whoever else inherits the port would connect without the token: OpenCode does.
    own_variables={"ENABLE_IDE_INTEGRATION": "true"},
)


def _copilot_home() -> Path:
    return _home("COPILOT_HOME", ".copilot")


def _copilot_lock(token: str, folders: Sequence[str], socket: str) -> dict[str, Any]:
    """What it reads in a lock file, besides the editor's name."""
    return {
        "socketPath": socket,
        "scheme": "pipe",
        "headers": {"Authorization": f"Nonce {token}"},
        "pid": os.getpid(),
        "timestamp": int(time.time() * 1000),
        "workspaceFolders": list(folders),
    }


COPILOT_CLI = CliFamily(
    name="Copilot CLI",
    port_variable="",
    workspace_variable="",
    # Others name the file by a random UUID. Here its last digits say which window it is.
    files=(DiscoveryName(_copilot_home, ("ide",), "7b0ca9b1-1de0-4d5e-8c0b-0000000{port}.lock"),),
    launch=Launch(
        key="copilot",
        npm_package="@github/copilot",
        resume=("--continue",),
        unless=frozenset({"--allow-all-tools", "--allow-all", "--yolo", "--allow-tool=write"}),
        without_editor=frozenset({"-p", "--prompt", "login"}),
    ),
    habits=Habits(
        folder=".copilot",
        home_variable="COPILOT_HOME",
        home_is_folder=True,
        approval_setting="",  # it has no such setting
        silent_modes=frozenset(),
        mode_variables={"COPILOT_ALLOW_ALL": "allow-all"},
        silent_since=None,
        sends_token_since=(0,),
        needs_variables_until=None,
        yes_enables=True,
        mode_option="",
        to_be_asked="start it without that",
        connect="/ide",
        connect_anew="type “/ide” in the CLI",
        tells="/ide",
        looks_again=True,
    ),
    layouts=(screen.COPILOT,),
    reads_json_folders=True,
    door="socket",
    lock=_copilot_lock,
    watches_file=True,
    takes_edits=False,
)


def _edit_permission(settings: Sequence[Mapping[str, Any]]) -> object:
    """What it does before it changes a file: the last of its rules that is about that, and the agent's own first."""
    found: object = None
    for key in ("permission", "agent.build.permission"):
        rules: dict[str, object] = {}
        for values in settings:
            given = setting(values, key)
            rules.update(cast("dict[str, object]", given) if isinstance(given, dict) else {"*": given} if given else {})
        found = next((rules[name] for name in reversed(rules) if name in {"edit", "*"}), found)
    return found


OPENCODE = CliFamily(
    name="OpenCode",
    port_variable="",
    workspace_variable="",
    files=(),
    launch=Launch(
        key="opencode",
        npm_package="opencode-ai",
        resume=("--continue",),
        unless=frozenset({"--auto", "--yolo", "--dangerously-skip-permissions"}),
        without_editor=frozenset({"run", "web", "github", "models", "upgrade", "export", "import", "stats", "session"}),
    ),
    habits=Habits(
        folder=".config/opencode",
        home_variable="OPENCODE_CONFIG_DIR",
        home_is_folder=True,
        approval_setting="permission.edit",
        silent_modes=frozenset({"allow"}),
        silent_since=(),
        sends_token_since=(0,),
        needs_variables_until=None,
        yes_enables=True,
        mode_option="",
        to_be_asked="set “permission.edit” to “ask” in its opencode.json",
        settings=("config.json", "opencode.json", "opencode.jsonc"),
        project_settings=(
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ),
        reads_above=True,
        approval=_edit_permission,
        # Settings, or the names of files and folders with them, which win over those of the folder.
        mode_variables={
            f"OPENCODE_{name}": "unknown" for name in ("CONFIG", "CONFIG_CONTENT", "CONFIG_DIR", "PERMISSION")
        },
        connect="",
        connect_anew="quit the CLI and start it again",
        tells="/status",
        looks_again=True,
    ),
    layouts=(screen.OPENCODE,),
    reads_json_folders=True,
    door="websocket",
    client="opencode",
    shows_diffs=False,
    first_line=1,
)


FAMILIES = (QWEN_CODE, GEMINI_CLI, CLAUDE_CODE, COPILOT_CLI, OPENCODE)

TERMINAL_VARIABLES = {"TERM_PROGRAM": "sublime"}
"""Only for terminals that we open: Gemini CLI recognizes the editor by it from 0.25 on."""


def keeps_edits(cli: str) -> bool:
    """Whether the CLI of that name writes an edited proposal after "yes" in its terminal.

    The name of one that runs elsewhere begins with that of its family.
    """
    return any(family.keeps_edits for family in called(cli))


def takes_edits(cli: str) -> bool:
    """Whether the CLI of that name writes an accepted text that is not the one that it proposed."""
    return all(family.takes_edits for family in called(cli))


def to_be_asked(cli: str) -> str:
    """What the person does to be asked by the CLI of that name, in an imperative; empty if it never asks an editor."""
    return next((family.habits.to_be_asked for family in called(cli) if family.shows_diffs), "")


def called(cli: str) -> list[CliFamily]:
    """The family of the CLI of that name; none for an agent."""
    return [family for family in FAMILIES if cli == family.name or cli.startswith(f"{family.name} ")]
