"""OpenCode's terminal, which reads the lock files of Claude Code. Unofficial. Facts: docs/protocols/claude-ide.md."""

from __future__ import annotations

from .. import screen
from .family import CliFamily, Habits, Launch

OPENCODE = CliFamily(
    name="OpenCode",
    port_variable="",
    workspace_variable="",
    files=(),
    launch=Launch(
        key="opencode",
        npm_package="opencode-ai",
        resume=("--continue",),
        without_editor=frozenset({"run", "web", "github", "models", "upgrade", "export", "import", "stats", "session"}),
    ),
    habits=Habits(
        folder=".config/opencode",
        home_variable="OPENCODE_CONFIG_DIR",
        home_is_folder=True,
        approval_setting="permission.edit",
        asking_modes=frozenset({"ask"}),
        silent_since=(),
        sends_token_since=(0,),
        needs_variables_until=None,
        yes_enables=True,
        mode_option="",
        to_be_asked="set “permission.edit” to “ask” in its opencode.json",
        settings="opencode.json",
        project_settings="opencode.json",
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
)
