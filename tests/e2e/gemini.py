"""The real Gemini CLI: where it is, its settings, and how to make its model write."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .cli import Cli
from .clis import NOT_IN_A_CONTAINER, pinned
from .model import Call, Model, Script
from .qwen import Home
from .terminal import Terminal

NEWEST = "0.61.0"


def settings() -> dict[str, object]:
    """The CLI's settings.json: IDE mode on, no questions and no network access.

    Facts: docs/protocols/gemini-ide.md#settings-for-a-run-offline.
    """
    return {
        "ide": {"enabled": True, "hasSeenNudge": True},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "disableAutoUpdate": True,
            "disableUpdateNag": True,
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "sessionRetention": {"enabled": False, "warningAcknowledged": True},
        },
        "ui": {"hideTips": True, "hideBanner": True, "useAlternateBuffer": False},
    }


class Gemini(Cli):
    """Gemini CLI in a terminal, in the home's project folder.

    Args:
        command: a command to run instead of the newest pinned version.
        inside: whether the terminal is one inside the editor (`Terminal`).
        more: further environment variables.
        approval: the approval mode of its command line; empty for the CLI's own default.
        also: what the person has added to its settings.
    """

    def __init__(
        self,
        home: Home,
        model: Model,
        *,
        approval: str = "",
        also: Mapping[str, object] | None = None,
        command: Sequence[str] | None = None,
        cwd: Path | None = None,
        inside: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> None:
        folder = home.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({**settings(), **(also or {})}), encoding="utf-8")
        command = pinned("gemini", NEWEST) if command is None else command
        environment = home.environment(
            TERM="xterm-256color",
            SHELL="/bin/bash",
            GEMINI_API_KEY="none-needed",
            GOOGLE_GEMINI_BASE_URL=model.base_url.removesuffix("/v1"),
            **{"NODE_OPTIONS": NOT_IN_A_CONTAINER, **(more or {})},
        )
        # The folder of the command's own Node comes first, because the CLI restarts itself as "node".
        environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), environment.get("PATH", "")])
        # With a named model, the CLI sends no request to choose one.
        command = [*command, "-m", "gemini-2.5-flash", *(("--approval-mode", approval) if approval else ())]
        super().__init__(model, Terminal(command, cwd=cwd or home.workspace, env=environment, inside=inside))

    def ask_to_write(self, path: Path, content: str) -> Script:
        """Have the model write a whole file."""
        return self.ask(f"Write {path.name}", [Call("write_file", {"file_path": str(path), "content": content})])

    def ask_to_edit(self, path: Path, old: str, new: str) -> Script:
        """Have the model replace a piece of a file."""
        arguments = {"file_path": str(path), "old_string": old, "new_string": new, "instruction": "Replace it."}
        return self.ask(f"Edit {path.name}", [Call("replace", arguments)])


class StartedGemini(Gemini):
    """Gemini CLI in a terminal that is already running."""

    def __init__(self, model: Model, terminal: Terminal) -> None:
        Cli.__init__(self, model, terminal)
