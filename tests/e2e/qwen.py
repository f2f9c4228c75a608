"""The real Qwen Code CLI: where it is, its settings, a home of its own, and a person's way with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .model import Call, Model, Script
from .terminal import Terminal, WaitedError

PROJECT = Path(__file__).resolve().parents[2]
#: Seconds until the prompt must be up: 3 on an idle machine, more than 40 were seen on a busy one (qwen-ide.md §9).
START = 90.0
#: Seconds for one step of a turn on a busy machine.
STEP = 60.0
#: The CLI's words (0.24.4).
PROMPT, APPLY, CONNECTED = "Type your message", "Apply this change?", "Connected to Sublime Text"
SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|esc to cancel")
#: Seconds after which a CLI has given up a lost stream.
LAST_RETRY = 4.0
ESCAPE = "\x1b"
#: Of the machine's own variables a CLI and an editor need these; the others would make the tests depend on the machine.
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
    """A program that the tests cannot do without is not there; one readable sentence."""


def node_modules() -> Path:
    """The folder of the pinned npm packages: `$NODE_MODULES`, else tests/npm/node_modules. It need not exist."""
    return Path(os.environ.get("NODE_MODULES") or PROJECT / "tests" / "npm" / "node_modules")


def node() -> Path:
    """A Node of version 22 or later, which the CLI demands.

    `$NODE`, else the one on PATH, else the one that scripts/setup took from npm.

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
    """The `qwen` on PATH if it runs and is at least `oldest`, else None."""
    program = shutil.which("qwen")
    if program is None or version([program, "--version"]) < oldest:
        return None
    return [program]


def version(command: Sequence[str]) -> tuple[int, ...]:
    """What a command that prints a version says; (0,) when it does not run or says something else."""
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
    """A home, a temporary folder and a project folder that nobody else uses: for one editor and its CLIs."""

    root: Path

    @classmethod
    def make(cls) -> Home:
        """In the system's temporary folder; its path is resolved, so that it is the one that the programs report."""
        home = cls(Path(tempfile.mkdtemp(prefix="qc-")).resolve())
        for folder in (home.home, home.tmp, home.workspace, home.qwen_home):
            folder.mkdir(parents=True)
        return home

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
        return {**kept, **folders, **places, **temporary, "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1,localhost", **more}

    def write(self, name: str, text: str | bytes) -> Path:
        """A file of the project folder, byte for byte."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


XDG_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_RUNTIME_DIR": ".run",
}


def settings(approval: str = "default") -> dict[str, object]:
    """The CLI's settings.json: IDE mode on, nothing that asks or goes out to the network.

    Only the approval mode "default" ever opens a diff (qwen-ide.md §3).
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
        "tools": {"approvalMode": approval},
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    }


class Qwen:
    """The CLI in a terminal outside the editor, in the home's project folder."""

    def __init__(
        self, home: Home, model: Model, *, command: Sequence[str] | None = None, cwd: Path | None = None
    ) -> None:
        self.home = home
        self.model = model
        (home.qwen_home / "settings.json").write_text(json.dumps(settings()), encoding="utf-8")
        command = pinned_command() if command is None else command
        environment = home.environment(
            TERM="xterm-256color",
            SHELL="/bin/bash",
            OPENAI_API_KEY="none-needed",
            OPENAI_BASE_URL=model.base_url,
            OPENAI_MODEL="scripted",
            QWEN_CODE_DISABLE_CRON="1",
            QWEN_DISABLE_AUTO_TITLE="1",
        )
        # The folder of the command's own Node comes first: the CLI starts itself again by that name.
        environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), environment.get("PATH", "")])
        self.terminal = Terminal(command, cwd=cwd or home.workspace, env=environment)

    def wait_ready(self) -> None:
        """Wait until the CLI takes a prompt."""
        self.terminal.wait_text(PROMPT, START)

    def wait_connected(self) -> None:
        """Wait until `/ide status` says "Connected": the CLI connects a moment after its prompt is up."""
        for _ in range(5):
            if CONNECTED in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI did not connect; its screen:\n{self.terminal.text()}")

    def wait_disconnected(self) -> None:
        """Wait until `/ide status` does not say "Connected" any more: the CLI notices within a few seconds."""
        for _ in range(10):
            if CONNECTED not in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI did not notice that its server is gone; its screen:\n{self.terminal.text()}")

    def reconnect(self) -> None:
        """`/ide enable` after the server has gone, again if need be.

        Twice the CLI tries to take up the lost stream, 1 s and 2.5 s after the loss, and the failure of such a try
        marks a connection as lost that was made in between (seen with 0.24.4).
        """
        self.wait_disconnected()
        time.sleep(LAST_RETRY)
        for _ in range(3):
            self.command("/ide enable")
            if CONNECTED in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI did not reconnect; its screen:\n{self.terminal.text()}")

    def idle(self) -> bool:
        """Whether the CLI takes a prompt and does nothing else."""
        text = self.terminal.text()
        return PROMPT in text and APPLY not in text and not SPINNER.search(text)

    def wait_idle(self) -> None:
        """Wait until the CLI has been idle and its screen still for 0.3 s."""
        self.terminal.wait("idle CLI", lambda: self.idle() and self.terminal.quiet_for() > 0.3, STEP)

    def ask(self, words: str, *rounds: Sequence[Call]) -> Script:
        """Type a prompt for which the model makes these rounds of tool calls. Returns at once.

        Args:
            words: a few words; long ones would wrap on the screen.
            rounds: the calls of each round.
        """
        script = self.model.script(*rounds)
        self.wait_idle()
        self.terminal.type(f"{words} {script.tag}")
        self.terminal.wait("request to the model", lambda: self.model.requests_of(script), STEP)
        return script

    def ask_to_write(self, path: Path, content: str) -> Script:
        """Have the model write a whole file; one that exists is read before, which the CLI demands."""
        first = [[Call("read_file", {"file_path": str(path)})]] if path.exists() else []
        return self.ask(
            f"Write {path.name}", *first, [Call("write_file", {"file_path": str(path), "content": content})]
        )

    def ask_to_edit(self, path: Path, old: str, new: str, *, words: str | None = None) -> Script:
        """Have the model replace a piece of a file, which it reads before."""
        edit = Call("edit", {"file_path": str(path), "old_string": old, "new_string": new})
        return self.ask(words or f"Edit {path.name}", [Call("read_file", {"file_path": str(path)})], [edit])

    def wait_done(self, script: Script) -> None:
        """Wait until the turn is over: the CLI has written what it had to write."""
        self.terminal.wait_text(script.done, STEP)

    def wait_question(self) -> None:
        """Wait until the CLI asks for the person's leave in the terminal."""
        self.terminal.wait_text(APPLY, STEP)

    def command(self, line: str) -> str:
        """Type a slash command; what the screen shows below it once the CLI is idle."""
        self.wait_idle()
        self.terminal.type(line)
        self.wait_idle()
        return self.terminal.text().rpartition(line)[2]

    def close(self) -> None:
        self.terminal.close()
