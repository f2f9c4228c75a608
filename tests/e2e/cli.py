"""A real CLI in a terminal, and what a person does in it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from .model import Call, Model, Script
from .terminal import Terminal, WaitedError

#: Seconds until the prompt must appear: docs/protocols/qwen-ide.md#terminal.
START = 90.0
#: Seconds for one step of a turn on a busy machine.
STEP = 60.0
#: Texts of Qwen Code and Gemini CLI, the same in every version that is tested.
PROMPT, APPLY, CONNECTED = "Type your message", "Apply this change?", "Connected to Sublime Text"
SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|esc to cancel")
#: Seconds after which a CLI has stopped trying to reopen a lost stream.
LAST_RETRY = 4.0
ESCAPE = "\x1b"


class Cli:
    """A CLI that runs in a terminal."""

    empty = PROMPT
    """What it shows as long as nothing is typed; empty if that is no fixed text."""

    def __init__(self, model: Model, terminal: Terminal) -> None:
        self.model = model
        self.terminal = terminal

    def wait_ready(self) -> None:
        """Wait until the CLI accepts a prompt."""
        self.terminal.wait_text(PROMPT, START)

    def wait_connected(self) -> None:
        """Wait until `/ide status` says "Connected". The CLI connects a moment after its prompt appears."""
        for _ in range(10):
            if CONNECTED in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI did not connect; its screen:\n{self.terminal.text()}")

    def wait_told(self, name: str) -> None:
        """Wait until `/ide status` names a file: its context has come since the file was opened."""
        for _ in range(10):
            if name in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI was not told of {name}; its screen:\n{self.terminal.text()}")

    def wait_disconnected(self) -> None:
        """Wait until `/ide status` no longer says "Connected". The CLI notices within a few seconds."""
        for _ in range(10):
            if CONNECTED not in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI did not notice that its server is gone; its screen:\n{self.terminal.text()}")

    def reconnect(self) -> None:
        """Type `/ide enable` after the server has gone, more than once if necessary.

        The CLI tries to reopen the lost stream 1 s and 2.5 s after the loss. If such an attempt fails, the CLI also
        marks a connection made in the meantime as lost (seen with 0.24.4).
        """
        self.wait_disconnected()
        time.sleep(LAST_RETRY)
        for _ in range(3):
            self.command("/ide enable")
            if CONNECTED in self.command("/ide status"):
                return
        raise WaitedError(f"the CLI did not reconnect; its screen:\n{self.terminal.text()}")

    def idle(self) -> bool:
        """Whether the CLI accepts a prompt and does nothing else."""
        text = self.terminal.text()
        return PROMPT in text and APPLY not in text and not SPINNER.search(text)

    def wait_idle(self) -> None:
        """Wait until the CLI is idle and its screen has not changed for 0.3 s."""
        self.terminal.wait("idle CLI", lambda: self.idle() and self.terminal.quiet_for() > 0.3, STEP)

    def ask(self, words: str, *rounds: Sequence[Call]) -> Script:
        """Type a prompt for which the model makes these rounds of tool calls. Returns at once.

        Args:
            words: a short text; a long one would wrap on the screen.
            rounds: the calls of each round.
        """
        script = self.model.script(*rounds)
        self.wait_idle()
        self.terminal.type(f"{words} {script.tag}", self.empty)
        self.terminal.wait("request to the model", lambda: self.model.requests_of(script), STEP)
        return script

    def ask_to_write(self, path: Path, content: str) -> Script:
        """Have the model write a whole file."""
        raise NotImplementedError

    def ask_to_edit(self, path: Path, old: str, new: str) -> Script:
        """Have the model replace a piece of a file."""
        raise NotImplementedError

    def wait_done(self, script: Script) -> None:
        """Wait until the turn is over. The CLI has written its files by then."""
        self.terminal.wait_text(script.done, STEP)

    def wait_question(self) -> None:
        """Wait until the CLI asks in the terminal whether to apply a change."""
        self.terminal.wait_text(APPLY, STEP)

    def command(self, line: str) -> str:
        """Type a slash command. Returns what the screen shows below it once the CLI is idle."""
        self.wait_idle()
        self.terminal.type(line, PROMPT)
        self.wait_idle()
        return self.terminal.text().rpartition(line)[2]

    def close(self) -> None:
        self.terminal.close()
