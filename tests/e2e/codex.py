"""The real Codex in a terminal: where it is, and how to make its model write."""

from __future__ import annotations

from collections.abc import Sequence

from ..agents.published import CODEX_CONFIGURATION, INSTALLED
from .chatting import write_settings
from .cli import START, STEP, Cli
from .model import Call, Model, Script
from .qwen import Home, MissingError
from .terminal import Terminal

READY = "Ask Codex to do anything"
AUTONOMOUS = """approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
"""
TRUSTED = '[projects."{}"]\ntrust_level = "trusted"\n'


def program() -> str:
    """The program for this system, which the agent for chats brings.

    Raises:
        MissingError: it is missing.
    """
    found = sorted((INSTALLED / "codex-acp" / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex*"))
    if not found:
        raise MissingError("Codex is missing: scripts/setup --agents installs it.")
    return str(found[0])


class Codex(Cli):
    """Codex in the home's project folder, which it trusts. It has no companion, and writes without asking.

    Its transcripts are read all the same: the person has set that.
    """

    def __init__(self, home: Home, model: Model) -> None:
        folder = home.home / ".codex"
        folder.mkdir()
        configuration = AUTONOMOUS + CODEX_CONFIGURATION.format(url=model.base_url.removesuffix("/v1"))
        text = configuration + TRUSTED.format(str(home.workspace).replace("\\", "\\\\"))
        (folder / "config.toml").write_text(text, encoding="utf-8")
        write_settings(home, read_transcripts="always")
        environment = home.environment(
            TERM="xterm-256color", SHELL="/bin/bash", OPENAI_API_KEY="none-needed", CODEX_HOME=str(folder)
        )
        super().__init__(model, Terminal([program()], cwd=home.workspace, env=environment))

    def wait_ready(self) -> None:
        """Wait until it takes a prompt."""
        self.terminal.wait_text(READY, START)

    def wait_connected(self) -> None:
        """It connects to nothing."""

    def idle(self) -> bool:
        """Whether it takes a prompt."""
        return READY in self.terminal.text()

    def ask(self, words: str, *rounds: Sequence[Call]) -> Script:
        """Type a prompt for which the model makes these rounds of tool calls. Returns at once."""
        script = self.model.script(*rounds)
        self.wait_idle()
        self.terminal.type(f"{words} {script.tag}")
        self.terminal.wait("request to the model", lambda: self.model.requests_of(script), STEP)
        return script
