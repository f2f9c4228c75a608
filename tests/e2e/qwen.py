"""The real Qwen Code CLI: where it is, its settings, a home of its own, and how to make its model write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from .cli import Cli
from .model import Call, Model, Script
from .terminal import Terminal

PROJECT = Path(__file__).resolve().parents[2]
COMPILED = PROJECT / ".cache" / "node"
#: The variables that CLIs and editors get from the machine. Others would make the tests depend on the machine.
KEPT_VARIABLES = (
    "PATH",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "PROGRAMFILES",
    "PROGRAMDATA",
    "NUMBER_OF_PROCESSORS",
)


class MissingError(Exception):
    """A program that the tests need is missing. The message is one sentence."""


def node_modules() -> Path:
    """The folder of the pinned npm packages: `$NODE_MODULES`, or else tests/npm/node_modules. It may not exist."""
    return Path(os.environ.get("NODE_MODULES") or PROJECT / "tests" / "npm" / "node_modules")


def node() -> Path:
    """The path of Node 22 or later, which the CLI requires.

    It is `$NODE`, or else the one on PATH, or else the one that scripts/setup installed from npm.

    Raises:
        MissingError: there is none.
    """
    from_npm = sorted((PROJECT / "tests" / "npm" / "node" / "node_modules").glob("node-*/bin/node*"))
    candidates = [os.environ.get("NODE"), shutil.which("node"), *map(str, from_npm)]
    for candidate in candidates:
        if candidate and version([candidate, "--version"]) >= (22,):
            return Path(candidate)
    raise MissingError("Node 22 or later is missing: scripts/setup gets it.")


def pinned_command() -> list[str]:
    """The command that runs the pinned Qwen Code.

    Raises:
        MissingError: the CLI or Node is missing.
    """
    entry = node_modules() / "@qwen-code" / "qwen-code" / "cli-entry.js"
    if not entry.is_file():
        raise MissingError("Qwen Code is missing: scripts/setup installs @qwen-code/qwen-code from tests/npm.")
    return [str(node()), str(entry)]


def command_of_this_machine(oldest: tuple[int, ...]) -> list[str] | None:
    """The `qwen` on PATH if it runs and is at least version `oldest`, otherwise None."""
    program = shutil.which("qwen")
    if program is None or version([program, "--version"]) < oldest:
        return None
    return [program]


def version(command: Sequence[str]) -> tuple[int, ...]:
    """The version that a command prints; (0,) if it does not run or prints something else."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    words = done.stdout.split()
    numbers = words[-1].lstrip("v").split("-")[0].split(".") if words and done.returncode == 0 else []
    return tuple(int(number) for number in numbers if number.isdigit()) or (0,)


@dataclass(frozen=True)
class Home:
    """A home, a temporary folder and a project folder for one editor and its CLIs."""

    root: Path

    @classmethod
    def make(cls) -> Home:
        """Make one in the system's temporary folder. Its path is resolved, as programs report it."""
        home = cls(Path(tempfile.mkdtemp(prefix="qc-")).resolve())
        for folder in (home.home, home.tmp, home.workspace, home.qwen_home):
            folder.mkdir(parents=True)
        home.answer_transcripts(may=False)  # else each first connection asks about them
        return home

    def answer_transcripts(self, *, may: bool) -> None:
        """The person has said whether the transcripts of CLIs may be read."""
        stores = self.home / ".cache" / "qwen-companion" / "snapshots"
        stores.mkdir(0o700, parents=True, exist_ok=True)
        (stores / "transcripts.json").write_text(json.dumps({"read": may}), encoding="utf-8")

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def workspace(self) -> Path:
        return self.root / "project"

    @property
    def qwen_home(self) -> Path:
        return self.home / ".qwen"

    def environment(self, **more: str) -> dict[str, str]:
        """The variables for a program that lives here."""
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        folders = {name: str(self.home / folder) for name, folder in XDG_FOLDERS.items()}
        places = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "APPDATA": str(self.home),
            "LOCALAPPDATA": str(self.home),
        }
        temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(self.tmp))
        # A CLI that a person starts has been compiled at an earlier start; that of Qwen Code is below TMPDIR.
        others = {"NODE_COMPILE_CACHE": str(COMPILED), "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1,localhost"}
        return {**kept, **folders, **places, **temporary, **others, **more}

    def write(self, name: str, text: str | bytes) -> Path:
        """A file of the project folder, byte for byte."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


XDG_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_RUNTIME_DIR": ".run",
}


def settings(approval: str = "default") -> dict[str, object]:
    """The CLI's settings.json: IDE mode on, no questions and no network access.

    Only the approval mode "default" opens diffs (docs/protocols/qwen-ide.md#detection).
    """
    return {
        "$version": 4,
        "ide": {"enabled": True, "hasSeenNudge": True},
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": "scripted"},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "ui": {"hideTips": True, "enableFollowupSuggestions": False},
        "tools": {"approvalMode": approval} if approval else {},
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    }


class Qwen(Cli):
    """Qwen Code in a terminal, in the home's project folder.

    Args:
        command: a command to run instead of the pinned one.
        inside: whether the terminal is one inside the editor (`Terminal`).
        more: further environment variables.
        approval: the approval mode in its settings; empty for the CLI's own default.
        also: what the person has added to its settings.
    """

    def __init__(
        self,
        home: Home,
        model: Model,
        *,
        approval: str = "default",
        command: Sequence[str] | None = None,
        cwd: Path | None = None,
        inside: bool = False,
        more: Mapping[str, str] | None = None,
        also: Mapping[str, object] | None = None,
    ) -> None:
        written = {**settings(approval), **(also or {})}
        (home.qwen_home / "settings.json").write_text(json.dumps(written), encoding="utf-8")
        command = pinned_command() if command is None else command
        environment = home.environment(
            TERM="xterm-256color",
            SHELL="/bin/bash",
            OPENAI_API_KEY="none-needed",
            OPENAI_BASE_URL=model.base_url,
            OPENAI_MODEL="scripted",
            QWEN_CODE_DISABLE_CRON="1",
            QWEN_DISABLE_AUTO_TITLE="1",
            **(more or {}),
        )
        # The folder of the command's own Node comes first, because the CLI restarts itself as "node".
        environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), environment.get("PATH", "")])
        super().__init__(model, Terminal(command, cwd=cwd or home.workspace, env=environment, inside=inside))

    def ask_to_write(self, path: Path, content: str) -> Script:
        """Have the model write a whole file. It first reads an existing file, as the CLI requires."""
        first = [[Call("read_file", {"file_path": str(path)})]] if path.exists() else []
        return self.ask(
            f"Write {path.name}", *first, [Call("write_file", {"file_path": str(path), "content": content})]
        )

    def ask_to_edit(self, path: Path, old: str, new: str, *, words: str | None = None) -> Script:
        """Have the model read a file and replace a piece of it."""
        edit = Call("edit", {"file_path": str(path), "old_string": old, "new_string": new})
        return self.ask(words or f"Edit {path.name}", [Call("read_file", {"file_path": str(path)})], [edit])


class StartedQwen(Qwen):
    """Qwen Code in a terminal that is already running."""

    def __init__(self, model: Model, terminal: Terminal) -> None:
        Cli.__init__(self, model, terminal)
