"""What a person adds to a CLI so that its model may use the editor's tools: the text for each CLI.

Each starts `mcp_bridge.mjs` with Node, which finds the window of the CLI's folder by itself, so that the text holds no
port and no token and stays right when the editor is started again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from dataclasses import dataclass
from typing import Any, Literal

from ..platforms.files import make_private_folders, write_private
from ..platforms.paths import user_data
from ..visible import visible

SERVER = "sublime-text"
"""What the CLIs call the server."""
BRIDGE = "mcp_bridge.mjs"
HOOK_LIMIT = 10_000
"""Milliseconds for the hook. Both CLIs that have one count so."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """A CLI that can use MCP servers."""

    key: str
    name: str
    file: str
    """Where the text goes, in words."""
    form: Literal["json", "toml"] = "json"
    hook_event: str = ""
    """The hook that runs after a tool of it; empty if it has none that may tell the model something."""
    hook_matcher: str = ""
    """Which tools change files, as its hooks name them."""


CLIENTS = (
    McpClient("qwen", "Qwen Code", "~/.qwen/settings.json", "json", "PostToolUse", "edit|write_file"),
    McpClient("gemini", "Gemini CLI", "~/.gemini/settings.json", "json", "AfterTool", "replace|write_file"),
    McpClient("claude", "Claude Code", "~/.claude.json", "json"),
    McpClient("codex", "Codex", "~/.codex/config.toml", "toml"),
)


def bridge_file() -> str:
    """Where the script is kept: the path stays, so that what was copied stays right."""
    return os.path.join(user_data(), BRIDGE)


def install(script: bytes) -> str:
    """Write the script, and return its path. Raises OSError. May block."""
    path = bridge_file()
    make_private_folders(os.path.dirname(path))
    write_private(path, script)
    return path


def install_for(key: str, script: bytes, node: str) -> str:
    """Write the script and a file that has a CLI start it with this Node, an absolute path.

    Returns the file's path. Raises OSError. May block.
    """
    client = next(each for each in CLIENTS if each.key == key)
    path = os.path.join(user_data(), f"mcp_{key}.json")
    write_private(path, configuration(client, install(script), node=node).encode())
    return path


def renew(script: bytes) -> None:
    """Write the script of this version where one of another version is. May block."""
    with contextlib.suppress(OSError):
        with open(bridge_file(), "rb") as file:
            is_old = file.read() != script
        if is_old:
            install(script)


def configuration(client: McpClient, bridge: str, *, with_hook: bool = False, node: str = "node") -> str:
    """The text to add to a CLI's configuration; `bridge` is the path of the script.

    With the hook, what the editor shows of a file goes to the model with the answer of the tool that has changed it.
    """
    args = [bridge, client.name]
    if client.form == "toml":
        rows = [f"[mcp_servers.{SERVER}]", 'command = "node"', f"args = {_json(args)}", ""]
        return "\n".join(rows)
    server: dict[str, Any] = {"command": node, "args": args}
    if client.key == "claude":
        server = {"type": "stdio", **server}
    found: dict[str, Any] = {"mcpServers": {SERVER: server}}
    if with_hook and client.hook_event:
        quoted = f'"{bridge}"' if sys.platform == "win32" else shlex.quote(bridge)
        command = f"node {quoted} --hook"
        hook = {"type": "command", "command": command, "timeout": HOOK_LIMIT}
        entry = {"matcher": client.hook_matcher, "hooks": [hook]}
        found["hooks"] = {client.hook_event: [entry]}
    return _json(found, indent=2) + "\n"


def _json(value: object, indent: int | None = None) -> str:
    """A value as JSON, as TOML writes an array of strings, too. Each character that acts or hides is escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\x7f", "\\u007f")
    return text if visible(text) == text else json.dumps(value, indent=indent).replace("\x7f", "\\u007f")
