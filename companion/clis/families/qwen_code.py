"""Qwen Code. Facts: docs/protocols/qwen-ide.md."""

from __future__ import annotations

import os
from pathlib import Path

from .. import screen
from .family import CliFamily, DiscoveryName, Habits, Launch, temporary_folder


def qwen_home() -> Path:
    """`$QWEN_HOME`, else `~/.qwen`."""
    named = os.environ.get("QWEN_HOME")
    return Path(os.path.abspath(os.path.expanduser(named))) if named else Path.home() / ".qwen"


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
