"""What a session gets besides its folder: the other folders of the window, and MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..mcp_servers import McpServer
from ..platforms import programs


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the person lets every agent of a window have."""

    folders: tuple[str, ...] = ()
    """Absolute paths. None of them is excluded."""
    servers: tuple[McpServer, ...] = ()


async def no_surroundings() -> Surroundings:
    """Nothing."""
    return Surroundings()


def offered(
    servers: tuple[McpServer, ...],
    environment: Mapping[str, str],
    *,
    has_http: bool,
    hide: Callable[[str], object],
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The servers as the protocol has them, and a sentence on each that can't be offered. It looks at the disk.

    Args:
        servers: the person's.
        environment: has the secrets, and the PATH.
        has_http: whether the agent takes servers by HTTP.
        hide: is told each value that is no word of the settings.
    """
    entries: list[Mapping[str, Any]] = []
    missing: list[str] = []
    for server in servers:
        try:
            filled = server.filled(environment)
        except KeyError as error:
            missing.append(
                f"The MCP server {server.name} is left out: there is no environment variable {error.args[0]}."
            )
            continue
        for variable in server.variables:
            hide(environment[variable])
        pairs = [{"name": name, "value": value} for name, value in filled.values.items()]
        if server.url and has_http:
            entries.append({"type": "http", "name": server.name, "url": filled.url, "headers": pairs})
        elif server.url:
            missing.append(f"The MCP server {server.name} is left out: the agent takes none over HTTP.")
        elif command := programs.resolve(filled.command, environment):
            entries.append({"name": server.name, "command": command[0], "args": command[1:], "env": pairs})
        else:
            missing.append(f"The MCP server {server.name} is left out: there is no program “{server.command[0]}”.")
    return entries, missing
