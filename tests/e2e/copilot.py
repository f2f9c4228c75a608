"""The real Copilot CLI: how it is started with the scripted model, and how to make that write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..agents.published import AGENTS, npm
from .cli import START, Cli
from .model import Call, Model, Script
from .qwen import Home
from .terminal import Terminal

READY = "❯"
BUSY = ("Thinking", "esc to cancel", "Waiting")


def program() -> list[str]:
    """The command. Raises MissingError."""
    return npm("copilot", "@github/copilot/npm-loader.js")()


class Copilot(Cli):
    """Copilot CLI in a terminal, in the home's project folder, which it trusts. Nothing tells it of an editor."""

    empty = ""

    def __init__(
        self, home: Home, model: Model, cwd: Path | None = None, options: Sequence[str] = (), called: str = ""
    ) -> None:
        """`called` is the name of the model, by which it chooses the tools; empty for one that edits by strings."""
        cwd = cwd or home.workspace
        folder = home.home / ".copilot"
        folder.mkdir(exist_ok=True)
        trusted = {"trusted_folders": [str(cwd)], "banner": "never"}
        (folder / "config.json").write_text(json.dumps(trusted), encoding="utf-8")
        environment = AGENTS["copilot"].prepare(model.base_url.removesuffix("/v1"), home)
        environment |= {"COPILOT_MODEL": called} if called else {}
        super().__init__(
            model, Terminal([*program(), *options], cwd=cwd, env={**environment, "TERM": "xterm-256color"})
        )

    def wait_ready(self) -> None:
        """Wait until it takes a prompt."""
        self.terminal.wait_text(READY, START)

    def wait_connected(self) -> None:
        """It connects by itself a moment later, and nothing on its screen stays to say so: the editor's status does."""

    def idle(self) -> bool:
        """Whether it takes a prompt."""
        text = self.terminal.text()
        return READY in text and not any(word in text for word in BUSY)

    def ask_to_edit(self, path: Path, old: str, new: str) -> Script:
        """Have the model read a file and replace a piece of it."""
        edit = {"path": str(path), "old_str": old, "new_str": new}
        return self.ask(f"Edit {path.name}", [Call("view", {"path": str(path)})], [Call("edit", edit)])
