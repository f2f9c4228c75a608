"""Claude Code. Unofficial: nobody has specified how it finds an editor. Facts: docs/protocols/claude-ide.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .. import screen
from .family import CliFamily, DiscoveryName, DoorAddress, Habits, Launch


def claude_home() -> Path:
    """`$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(os.path.abspath(os.path.expanduser(named))) if named else Path.home() / ".claude"


def lock(address: DoorAddress) -> dict[str, Any]:
    """What it reads in a lock file, besides the token and the editor's name."""
    return {"pid": os.getpid(), "workspaceFolders": list(address.folders), "transport": "ws"}


CLAUDE_CODE = CliFamily(
    name="Claude Code",
    port_variable="CLAUDE_CODE_SSE_PORT",
    workspace_variable="",
    files=(DiscoveryName(claude_home, ("ide",), "{port}.lock"),),
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
    lock=lock,
    host_variable="CLAUDE_CODE_IDE_HOST_OVERRIDE",
    # Whoever else inherits the port would connect without the token: OpenCode does.
    own_variables={"ENABLE_IDE_INTEGRATION": "true"},
)
