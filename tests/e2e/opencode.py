"""The real OpenCode in a terminal: how it is started with the scripted model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ..agents.published import AGENTS, opencode
from .cli import START, Cli
from .model import Model, Script
from .qwen import Home
from .terminal import Terminal

READY = ("Ask anything", "ctrl+p commands")
BUSY = ("esc interrupt", "Permission required")


class OpenCode(Cli):
    """OpenCode in a terminal, in the home's project folder. Nothing tells it of an editor, unless `more` does.

    Without `asks` it has no setting that makes it ask before it changes a file.
    """

    empty = ""

    def __init__(
        self,
        home: Home,
        model: Model,
        cwd: Path | None = None,
        more: Mapping[str, str] | None = None,
        *,
        asks: bool = True,
    ) -> None:
        environment = AGENTS["opencode"].prepare(model.base_url.removesuffix("/v1"), home)
        if not asks:
            path = home.home / ".config" / "opencode" / "opencode.json"
            settings = json.loads(path.read_text(encoding="utf-8"))
            del settings["permission"]
            path.write_text(json.dumps(settings), encoding="utf-8")
        environment |= {"TERM": "xterm-256color", **(more or {})}
        super().__init__(model, Terminal([opencode()[0]], cwd=cwd or home.workspace, env=environment))

    def wait_ready(self) -> None:
        """Wait until it takes a prompt."""
        self.terminal.wait_text(READY[0], START)

    def idle(self) -> bool:
        """Whether it takes a prompt."""
        text = self.terminal.text()
        return any(word in text for word in READY) and not any(word in text for word in BUSY)

    def ask_to_edit(self, path: Path, old: str, new: str) -> Script:
        """Have the model read a file and replace a piece of it."""
        agent = AGENTS["opencode"]
        assert agent.read
        return self.ask(f"Edit {path.name}", [agent.read(str(path))], [agent.edit(str(path), old, new)])
