"""The real Copilot CLI: how it is started with the scripted model, and how to make that write."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from ..agents.published import AGENTS, npm
from .cli import START, STEP, Cli
from .model import Call, Model, Script
from .qwen import Home
from .terminal import Terminal, WaitedError

READY = "❯"
BUSY = ("Thinking", "esc to cancel", "Waiting")


def program() -> list[str]:
    """The command. Raises MissingError."""
    return npm("copilot", "@github/copilot/npm-loader.js")()


class Copilot(Cli):
    """Copilot CLI in a terminal, in the home's project folder, which it trusts. Nothing tells it of an editor."""

    def __init__(self, home: Home, model: Model, cwd: Path | None = None, options: Sequence[str] = ()) -> None:
        cwd = cwd or home.workspace
        folder = home.home / ".copilot"
        folder.mkdir(exist_ok=True)
        trusted = {"trusted_folders": [str(cwd)], "banner": "never"}
        (folder / "config.json").write_text(json.dumps(trusted), encoding="utf-8")
        environment = AGENTS["copilot"].prepare(model.base_url.removesuffix("/v1"), home)
        super().__init__(
            model, Terminal([*program(), *options], cwd=cwd, env={**environment, "TERM": "xterm-256color"})
        )

    def wait_ready(self) -> None:
        """Wait until it takes a prompt."""
        self.terminal.wait_text(READY, START)

    def idle(self) -> bool:
        """Whether it takes a prompt."""
        text = self.terminal.text()
        return READY in text and not any(word in text for word in BUSY)

    def ask(self, words: str, *rounds: Sequence[Call]) -> Script:
        """Type a prompt for which the model makes these rounds of tool calls. Returns at once."""
        script = self.model.script(*rounds)
        self.wait_idle()
        self.terminal.type(f"{words} {script.tag}")
        self.terminal.wait("request to the model", lambda: self.model.requests_of(script), STEP)
        return script

    def ask_to_edit(self, path: Path, old: str, new: str) -> Script:
        """Have the model read a file and replace a piece of it."""
        edit = {"path": str(path), "old_str": old, "new_str": new}
        return self.ask(f"Edit {path.name}", [Call("view", {"path": str(path)})], [Call("edit", edit)])


def lock_of(home: Home, limit: float = STEP) -> dict[str, object]:
    """The lock file of the editor's window."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        for path in (home.home / ".copilot" / "ide").glob("*.lock"):
            return json.loads(path.read_text("utf-8"))
        time.sleep(0.05)
    raise WaitedError("there is no lock file")
