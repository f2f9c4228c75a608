"""The real Claude Code: where it is, its settings, and how to make its model write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .cli import START, STEP, Cli
from .model import Call, Model, Script
from .qwen import PROJECT, Home, MissingError
from .terminal import Terminal

KEY = "none-needed-none-needed-none-needed"
READY = "❯"
QUESTION = "Do you want to"


def program() -> str:
    """The program that Anthropic's SDK ships, which is Claude Code.

    Raises:
        MissingError: it is missing.
    """
    folder = PROJECT / "tests/npm/agents/claude-agent-acp/node_modules/@anthropic-ai"
    found = sorted(folder.glob("claude-agent-sdk-*/claude*"))
    if not found:
        raise MissingError("Claude Code is missing: scripts/setup installs it from tests/npm/agents/claude-agent-acp.")
    return str(found[0])


def settle(home: Path, cwd: Path, mode: str = "default", also: Mapping[str, object] | None = None) -> None:
    """Write what its first start would ask, with a permission mode, into a home; the person trusts the folder."""
    (home / ".claude").mkdir(exist_ok=True)
    known = {
        "hasCompletedOnboarding": True,
        "hasSeenAutoDefaultNudge": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(cwd): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        **(also or {}),
    }
    (home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
    settings = {"permissions": {"defaultMode": mode}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def variables(model: Model) -> dict[str, str]:
    """What makes it talk to this model and to nobody else."""
    return {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": model.base_url.removesuffix("/v1"),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }


class Claude(Cli):
    """Claude Code in a terminal, in the home's project folder.

    Args:
        port: that of the window that has run it in a terminal of its own; None for any other terminal.
        mode: the permission mode of its settings.
        also: what the person has added to its configuration.
        more: further environment variables.
    """

    empty = ""

    def __init__(
        self,
        home: Home,
        model: Model,
        *,
        port: int | None = None,
        mode: str = "default",
        also: Mapping[str, object] | None = None,
        cwd: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        cwd = cwd or home.workspace
        settle(home.home, cwd, mode, also)
        own = {"CLAUDE_CODE_SSE_PORT": str(port), "ENABLE_IDE_INTEGRATION": "true"} if port else {}
        environment = home.environment(
            TERM="xterm-256color",
            SHELL="/bin/bash",
            **variables(model),
            **own,
            **(more or {}),
        )
        super().__init__(model, Terminal([program()], cwd=cwd, env=environment))
        self._port = port

    def wait_ready(self) -> None:
        """Wait until it takes a prompt."""
        self.terminal.wait("prompt", self.idle, START)

    def wait_connected(self) -> None:
        """Wait until it has a connection to the port that its terminal names."""

        def is_connected() -> bool:
            return any(wire.raddr and wire.raddr.port == self._port for wire in self.terminal.connections())

        self.terminal.wait("connection", is_connected, STEP)

    def idle(self) -> bool:
        """Whether it takes a prompt."""
        text = self.terminal.text()
        return READY in text and QUESTION not in text and "esc to interrupt" not in text

    def ask_to_edit(self, path: Path, old: str, new: str) -> Script:
        """Have the model read a file and replace a piece of it."""
        edit = {"file_path": str(path), "old_string": old, "new_string": new, "replace_all": False}
        return self.ask(f"Edit {path.name}", [Call("Read", {"file_path": str(path)})], [Call("Edit", edit)])

    def ask_to_write(self, path: Path, content: str) -> Script:
        """Have the model write a whole file. It reads an existing one first, as the CLI requires."""
        first = [[Call("Read", {"file_path": str(path)})]] if path.exists() else []
        write = {"file_path": str(path), "content": content}
        return self.ask(f"Write {path.name}", *first, [Call("Write", write)])
