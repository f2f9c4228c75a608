"""An editor on a project, beside the real Claude Code, Copilot CLI or OpenCode with a scripted model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from companion.clis.families import CLAUDE_CODE, COPILOT_CLI, OPENCODE, CliFamily

from ..agents.published import AGENTS
from .claude import Claude, program
from .cli import Cli
from .copilot import Copilot
from .editor import Editor
from .model import Model, Script
from .opencode import OpenCode
from .qwen import Home
from .session import GREET


class Place:
    """An editor on a project, a model and the CLIs of a test."""

    family: CliFamily
    locks: str
    """The folder of the lock files, in the home."""

    def __init__(self) -> None:
        self.home, self.model = Home.make(), Model()
        self.path = self.home.write("greet.py", GREET)
        self.editor = Editor(self.home, [self.home.workspace])
        self.view = self.editor.open_file(self.path)
        self.clis: list[Cli] = []

    @classmethod
    def version(cls) -> str:
        """The CLI's version."""
        return AGENTS[cls.family.launch.key].version

    def start(self, cwd: Path, *, asks: bool = True) -> Cli:
        """Start a CLI in the folder of a window; with `asks` it asks before it changes a file."""
        raise NotImplementedError

    def run(self, cwd: Path | None = None, *, asks: bool = True) -> Cli:
        """The same, and wait until it takes a prompt and is connected."""
        cwd = cwd or self.home.workspace
        self.lock(cwd)
        cli = self.start(cwd, asks=asks)
        self.clis.append(cli)
        cli.wait_ready()
        self.wait_connected(self.view if cwd == self.home.workspace else self.editor.open_file(cwd / "greet.py"))
        return cli

    def lock(self, folder: Path | None = None) -> dict[str, Any]:
        """The lock file of the window of a folder, and its name as `name`."""
        wanted = str(folder or self.home.workspace)

        def find() -> dict[str, Any] | None:
            for path in (self.home.home / self.locks).glob("*.lock"):
                body = json.loads(path.read_text("utf-8"))
                if wanted in body["workspaceFolders"]:
                    return {**body, "name": path.stem}
            return None

        found = self.editor.wait("lock file", find)
        assert found
        return found

    def is_connected(self, view: int | None = None) -> bool:
        """Whether the status bar says that such a CLI is connected."""
        return self.family.name in str(self.editor.view(view or self.view)["status"])

    def wait_connected(self, view: int | None = None) -> None:
        """Wait until it says so, which the CLI doesn't always."""
        self.editor.wait("status", lambda: self.is_connected(view))

    def select(self, row: int) -> None:
        """The person selects a line."""
        view = self.editor.open_file(self.path)
        start = len("".join(GREET.splitlines(keepends=True)[:row]))
        self.editor.do("select", view=view, regions=[[start, start + len(GREET.splitlines()[row])]])

    def heard(self, script: Script) -> str:
        """What the model was told in a turn."""
        return json.dumps([request.body for request in self.model.requests_of(script)])

    def close(self) -> None:
        for cli in self.clis:
            cli.close()
        self.editor.kill()
        self.model.close()
        self.home.remove()


class ClaudePlace(Place):
    """With Claude Code as *Run Claude Code* starts it."""

    family = CLAUDE_CODE
    locks = ".claude/ide"

    @classmethod
    def version(cls) -> str:
        """Its own. The adapter that it comes with has another one."""
        return subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.split()[0]

    def start(self, cwd: Path, *, asks: bool = True) -> Claude:
        mode = "default" if asks else "acceptEdits"
        return Claude(self.home, self.model, port=int(self.lock(cwd)["name"]), mode=mode, cwd=cwd)


class CopilotPlace(Place):
    """With Copilot CLI in any terminal."""

    family = COPILOT_CLI
    locks = ".copilot/ide"

    def start(self, cwd: Path, *, asks: bool = True) -> Copilot:
        return Copilot(self.home, self.model, cwd, () if asks else ("--allow-all-tools", "--allow-all-paths"))


class OpenCodePlace(Place):
    """With OpenCode in any terminal."""

    family = OPENCODE
    locks = ".claude/ide"

    def start(self, cwd: Path, *, asks: bool = True) -> OpenCode:
        return OpenCode(self.home, self.model, cwd, asks=asks)
