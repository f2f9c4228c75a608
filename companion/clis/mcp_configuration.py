"""What a person adds to a CLI so that its model may use the editor's tools: the text for each CLI.

Each starts `mcp_bridge.mjs` with Node, which finds the window of the CLI's folder by itself, so that the text holds no
port and no token and stays right when the editor is started again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

SERVER = "sublime-text"
"""What the CLIs call the server."""
BRIDGE = "mcp_bridge.mjs"


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
    hook_seconds: int = 10
    hook_unit: int = 1
    """How many of its units of time are a second."""


CLIENTS = (
    McpClient("qwen", "Qwen Code", "~/.qwen/settings.json", "json", "PostToolUse", "edit|write_file", 10, 1000),
    McpClient("gemini", "Gemini CLI", "~/.gemini/settings.json", "json", "AfterTool", "replace|write_file", 10, 1000),
    McpClient("claude", "Claude Code", ".mcp.json of the project", "json"),
    McpClient("codex", "Codex", "~/.codex/config.toml", "toml"),
)


def configuration(client: McpClient, bridge: str, *, with_hook: bool = False) -> str:
    """The text to add to a CLI's configuration; `bridge` is the path of the script.

    With the hook, what the editor shows of a file goes to the model with the answer of the tool that has changed it.
    """
    args = [bridge, client.name]
    if client.form == "toml":
        rows = [f"[mcp_servers.{SERVER}]", 'command = "node"', f"args = {json.dumps(args)}", ""]
        return "\n".join(rows)
    server: dict[str, Any] = {"command": "node", "args": args}
    if client.key == "claude":
        server = {"type": "stdio", **server}
    found: dict[str, Any] = {"mcpServers": {SERVER: server}}
    if with_hook and client.hook_event:
        command = f"node {json.dumps(bridge)} --hook"
        timeout = client.hook_seconds * client.hook_unit
        entry = {"matcher": client.hook_matcher, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}
        found["hooks"] = {client.hook_event: [entry]}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
