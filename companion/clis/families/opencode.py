"""OpenCode's terminal, which reads the lock files of Claude Code. Unofficial. Facts: docs/protocols/claude-ide.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...json_text import setting
from .. import screen
from .family import CliFamily, Habits, Launch


def edit_permission(settings: Sequence[Mapping[str, Any]]) -> object:
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
        approval=edit_permission,
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
