"""Gemini CLI. Facts: docs/protocols/gemini-ide.md."""

from __future__ import annotations

from .. import screen
from .family import CliFamily, DiscoveryName, Habits, Launch, temporary_folder

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
