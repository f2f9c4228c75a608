"""An editor and a CLI that are connected, and the texts that the tests work on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Self, TypeVar

from .cli import Cli
from .editor import Editor, Told
from .gemini import Gemini
from .model import Model, Script
from .qwen import Home, Qwen

#: Seconds to wait until the work of the previous test is over.
CALM = 10.0
GREET = 'def greet(name):\n    print("hi")\n\n\ngreet("Ada")\n'
GREET_BETTER = (
    'def greet(name):\n    if not name:\n        raise ValueError(name)\n    print(f"hi {name}")\n\n\ngreet("Ada")\n'
)
EDITED = GREET_BETTER.replace("hi {name}", "good morning, {name}")
#: Seconds; longer than the companion's debounce (50 ms) and the delivery of an update to the CLI.
SETTLED = 3.0

C = TypeVar("C", bound=Cli)


@dataclass
class CliSession(Generic[C]):
    """An editor on a project folder, and a CLI in a terminal that is connected to it."""

    home: Home
    editor: Editor
    model: Model
    cli: C

    @classmethod
    def begin(cls, make: Callable[[Home, Model], C]) -> Self:
        """Start the editor first: the CLI looks for one only when it starts (docs/protocols/qwen-ide.md#discovery)."""
        home = Home.make()
        home.write("greet.py", GREET)
        home.write("other.txt", "one\ntwo\nthree\n")
        model = Model()
        editor: Editor | None = None
        cli: C | None = None
        try:
            editor = Editor(home, [home.workspace])
            editor.lock()
            cli = make(home, model)
            cli.wait_ready()
            cli.wait_connected()
        except BaseException:
            if cli is not None:
                cli.close()
            if editor is not None:
                editor.kill()
            model.close()
            home.remove()
            raise
        return cls(home, editor, model, cli)

    def calm(self) -> bool:
        """Whether a test can begin, now or within `CALM` seconds: the CLI is idle, the editor runs, no diff is open."""
        end = time.monotonic() + CALM
        while self.cli.terminal.running and self.editor.running:
            if self.cli.idle() and not self.editor.sides("proposal"):
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return False

    def file(self, name: str, text: str | bytes = GREET) -> Path:
        """A file of the project that no other test uses."""
        return self.home.write(name, text)

    def propose(self, path: Path, text: str) -> tuple[Script, Told]:
        """Have the model write a file. Returns its script and the proposal of the diff, which is open then."""
        return self.cli.ask_to_write(path, text), self.editor.wait_diff(path)

    def accept(self, proposal: Told, script: Script) -> None:
        """Accept a proposal, and wait until the CLI has written it."""
        self.editor.accept(proposal)
        self.cli.wait_done(script)
        self.editor.wait_no_diff()

    def told(self, script: Script) -> str:
        """The text of the first request of a turn: the editor's context and the conversation."""
        return "\n".join(str(message.get("content")) for message in self.model.requests_of(script)[0].messages)

    def assert_refused(self, path: Path) -> None:
        """Assert that a file is unchanged, no diff is open, and the CLI accepts the next prompt.

        Qwen Code tells the model of the refusal with it.
        """
        self.cli.wait_idle()
        self.editor.wait_no_diff()
        assert path.read_text(encoding="utf-8") == GREET
        script = self.cli.ask("What now")
        self.cli.wait_done(script)
        results = [message for message in self.model.requests_of(script)[0].messages if message.get("role") == "tool"]
        assert not isinstance(self.cli, Qwen) or "did not allow" in str(results[-1]["content"])

    def restart(self) -> None:
        """Start the editor again after it has ended."""
        self.editor.kill()
        self.editor = Editor(self.home, [self.home.workspace])

    def close(self) -> None:
        """End the CLI and the editor, whatever their state."""
        self.cli.close()
        self.editor.kill()
        self.model.close()
        self.home.remove()


Session = CliSession[Qwen]
GeminiSession = CliSession[Gemini]
