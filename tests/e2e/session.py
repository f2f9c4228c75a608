"""An editor and a CLI that are connected, and the texts that the tests work on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Self, TypeVar

from .cli import Cli
from .editor import Editor
from .gemini import Gemini
from .model import Model
from .qwen import Home, Qwen

#: Seconds to wait until the work of the previous test is over.
CALM = 10.0
GREET = 'def greet(name):\n    print("hi")\n\n\ngreet("Ada")\n'
GREET_BETTER = (
    'def greet(name):\n    if not name:\n        raise ValueError(name)\n    print(f"hi {name}")\n\n\ngreet("Ada")\n'
)

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


class Session(CliSession[Qwen]):
    """A session with Qwen Code in a terminal outside the editor."""

    @classmethod
    def start(cls) -> Self:
        return cls.begin(Qwen)

    @property
    def qwen(self) -> Qwen:
        return self.cli


class GeminiSession(CliSession[Gemini]):
    """A session with Gemini CLI in a terminal outside the editor."""

    @classmethod
    def start(cls) -> Self:
        return cls.begin(Gemini)

    @property
    def gemini(self) -> Gemini:
        return self.cli
