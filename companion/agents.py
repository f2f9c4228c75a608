"""The agents that a chat may start on their standard input and output: how each is started and installed.

The person's setting `agents` adds to the presets and to what they have installed from the registry. No project can set
it. Standard library only: the UI thread imports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from .json_text import as_object

DAEMON_AGENT = "Qwen Code"
"""What the agent of `qwen serve` is called: that does not say a name."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How an agent is started."""

    name: str
    """What the person calls it. Once it runs, it says its own name."""
    command: tuple[str, ...]
    """The program and its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What it gets in addition to the person's login environment. It may hold a key."""
    letter: str = ""
    """Stands for it where there is little room; empty for the first one of its name."""
    install: str = ""
    """The command that installs it, from its own documents."""

    @property
    def icon(self) -> str:
        """The letter that stands for it."""
        return self.letter or self.name[:1].upper()


PRESETS = (
    # qwenlm.github.io/qwen-code-docs, “ACP”
    AgentCommand("Qwen Code", ("qwen", "--acp"), install="npm install -g @qwen-code/qwen-code"),
    # geminicli.com/docs, “ACP mode”
    AgentCommand("Gemini CLI", ("gemini", "--acp"), install="npm install -g @google/gemini-cli"),
    # github.com/agentclientprotocol/claude-agent-acp
    AgentCommand("Claude Agent", ("claude-agent-acp",), install="npm install -g @agentclientprotocol/claude-agent-acp"),
    # github.com/agentclientprotocol/codex-acp
    AgentCommand("Codex", ("codex-acp",), letter="X", install="npm install -g @agentclientprotocol/codex-acp"),
    # docs.github.com/copilot, “ACP server”
    AgentCommand("Copilot CLI", ("copilot", "--acp", "--stdio"), install="npm install -g @github/copilot"),
    # opencode.ai/docs/acp
    AgentCommand("OpenCode", ("opencode", "acp"), install="npm install -g opencode-ai"),
    # github.com/MoonshotAI/kimi-code, “kimi acp”
    AgentCommand("Kimi Code", ("kimi", "acp"), install="npm install -g @moonshot-ai/kimi-code"),
    # github.com/mistralai/mistral-vibe, “ACP”
    AgentCommand("Mistral Vibe", ("vibe-acp",), install="uv tool install mistral-vibe"),
)
"""Those of the protocol's own list whose start is documented, each with the place of that document."""

_KEYS = {"command", "environment", "letter"}


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent that was installed from the registry."""

    id: str
    """The registry's."""
    version: str
    agent: AgentCommand
    folder: str = ""
    """What was unpacked for it; empty for a package, which its runner fetches."""

    def to_plain(self) -> dict[str, Any]:
        """As plain data, for `read_installed`."""
        agent = self.agent
        return {
            "name": agent.name,
            "version": self.version,
            "command": list(agent.command),
            "environment": dict(agent.environment),
            "folder": self.folder,
        }


def read_installed(value: object) -> dict[str, InstalledAgent]:
    """The agents that were installed, by the registry's id. What can't be read is left out."""
    found: dict[str, InstalledAgent] = {}
    for identifier, entry in as_object(value).items():
        fields = as_object(entry)
        name, version, folder = (fields.get(key) for key in ("name", "version", "folder"))
        plain = {key: fields[key] for key in _KEYS & fields.keys()}
        if _is_text(name) and isinstance(version, str) and isinstance(folder, str) and not _wrong(plain):
            agent = AgentCommand(str(name), tuple(plain["command"]), dict(plain.get("environment", {})))
            found[identifier] = InstalledAgent(identifier, version, agent, folder)
    return found


def read_agents(value: object, installed: Iterable[AgentCommand] = ()) -> tuple[tuple[AgentCommand, ...], list[str]]:
    """The agents of a setting's value with the presets, and a sentence on each entry that is wrong.

    An entry is a name with a command, or with null, which removes a preset or one of the `installed` agents. Those
    replace the presets of their names.
    """
    found = {agent.name: agent for agent in (*PRESETS, *installed)}
    if not isinstance(value, dict):
        return tuple(found.values()), ["“agents” must be an object in braces; only the presets are used."]
    wrong: list[str] = []
    for name, entry in cast("dict[str, Any]", value).items():
        if entry is None:
            found.pop(name, None)
            continue
        before = found.pop(name, None)
        if why := _wrong(entry):
            wrong.append(f"“agents”: “{name}” {why}.")
            continue
        found[name] = AgentCommand(
            name,
            tuple(entry["command"]),
            dict(entry.get("environment", {})),
            str(entry.get("letter", "")),
            before.install if before and before.command[:1] == tuple(entry["command"][:1]) else "",
        )
    return tuple(found.values()), wrong


def _wrong(entry: object) -> str:
    """Why an entry can't be used, in words that follow its name; empty if it can."""
    if not isinstance(entry, dict):
        return "must be an object in braces, or null"
    fields = cast("dict[str, Any]", entry)
    command: object = fields.get("command")
    if not isinstance(command, list) or not command or not all(map(_is_text, cast("list[object]", command))):
        return "needs a “command”: a list of a program and its arguments"
    environment: object = fields.get("environment", {})
    if not isinstance(environment, dict) or not all(map(_is_plain, cast("dict[str, object]", environment).values())):
        return "has an “environment” that is not an object of strings"
    letter: object = fields.get("letter", "")
    if not isinstance(letter, str) or len(letter) > 1:
        return "has a “letter” that is not one letter"
    unknown = sorted(set(fields) - _KEYS)
    return f"has the unknown key “{unknown[0]}”" if unknown else ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
