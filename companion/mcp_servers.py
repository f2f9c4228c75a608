"""The MCP servers that the person gives to every agent: the setting `agents_mcp_servers`.

No project can set it. Secrets are named, and come from the environment. Standard library only: the UI thread imports
it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from .web import is_safe

_NAME = re.compile(r"[\w][\w .-]{0,63}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|API_?KEY|AUTH(?!OR(?!I))|CREDENTIAL|COOKIE|PRIVATE", re.IGNORECASE)
_KEYS = {"command", "environment", "url", "headers"}


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server that runs as a process beside the agent, or that is reached by HTTP."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for a server by HTTP."""
    url: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of its environment, or headers. `${NAME}` in them is a variable of the login environment."""

    @property
    def words(self) -> str:
        """What the person says yes to: a line without any secret."""
        named = f" with {', '.join(self.values)}" if self.values else ""
        return f"{self.name}: {shlex.join(self.command) or self.url}{named}"

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that the values name."""
        return [name for value in self.values.values() for name in _VARIABLE.findall(value)]

    def filled(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The values with what the environment has. Raises KeyError with the name of a variable that isn't there."""
        return {name: _VARIABLE.sub(lambda found: environment[found[1]], value) for name, value in self.values.items()}


def read_mcp_servers(value: object) -> tuple[tuple[McpServer, ...], list[str]]:
    """The servers of a setting's value, and a sentence on each entry that is wrong."""
    if not isinstance(value, dict):
        return (), ["“agents_mcp_servers” must be an object in braces; none is used."]
    found: list[McpServer] = []
    wrong: list[str] = []
    for name, entry in cast("dict[str, Any]", value).items():
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        if why := _wrong(name, fields):
            wrong.append(f"“agents_mcp_servers”: “{name[:64]}” {why}.")
            continue
        values = dict(fields.get("headers" if "url" in fields else "environment", {}))
        found.append(McpServer(name, tuple(fields.get("command", ())), fields.get("url", ""), values))
    return tuple(found), wrong


def _wrong(name: str, fields: Mapping[str, Any]) -> str:
    """Why an entry can't be used, in words that follow its name; empty if it can."""
    if not _NAME.fullmatch(name):
        return "is not a name for a server"
    if unknown := sorted(set(fields) - _KEYS):
        return f"has the unknown key “{unknown[0]}”"
    is_web = "url" in fields
    if is_web == ("command" in fields):
        return "needs either a “command” or a “url”"
    if "headers" in fields and not is_web:
        return "has “headers” without a “url”"
    if "environment" in fields and is_web:
        return "has an “environment” without a “command”"
    return (_wrong_address if is_web else _wrong_command)(fields)


def _wrong_address(fields: Mapping[str, Any]) -> str:
    if not isinstance(fields["url"], str) or not is_safe(fields["url"]):
        return "has a “url” that is not one of https, or of this computer"
    return _wrong_values(fields.get("headers", {}))


def _wrong_command(fields: Mapping[str, Any]) -> str:
    command: object = fields["command"]
    if not isinstance(command, list) or not command or not all(map(_is_text, cast("list[object]", command))):
        return "needs a “command”: a list of a program and its arguments"
    return _wrong_values(fields.get("environment", {}))


def _wrong_values(values: object) -> str:
    if not isinstance(values, dict):
        return "has values that are not an object of strings"
    for name, value in cast("dict[str, object]", values).items():
        if not isinstance(value, str) or not name or not (name + value).isprintable():
            return "has values that are not an object of strings"
        if _SECRET.search(name) and not _VARIABLE.search(value):
            return f"has a secret in “{name}”: write “${{NAME}}”, the variable of your environment that holds it"
    return ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
