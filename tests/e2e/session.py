"""An editor and a Qwen Code that are connected, and the texts that the tests work on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from .editor import Editor
from .model import Model
from .qwen import Home, Qwen

#: Seconds for the end of what the test before has done.
CALM = 10.0
GREET = 'def greet(name):\n    print("hi")\n\n\ngreet("Ada")\n'
GREET_BETTER = (
    'def greet(name):\n    if not name:\n        raise ValueError(name)\n    print(f"hi {name}")\n\n\ngreet("Ada")\n'
)


@dataclass
class Session:
    """An editor on a project folder, and a Qwen Code in a terminal outside the editor that is connected to it."""

    home: Home
    editor: Editor
    model: Model
    qwen: Qwen

    @classmethod
    def start(cls) -> Session:
        """Editor first, as the CLI looks for one only at its start (qwen-ide.md §3)."""
        home = Home.make()
        home.write("greet.py", GREET)
        home.write("other.txt", "one\ntwo\nthree\n")
        model = Model()
        editor: Editor | None = None
        qwen: Qwen | None = None
        try:
            editor = Editor(home, [home.workspace])
            editor.lock()
            qwen = Qwen(home, model)
            qwen.wait_ready()
            qwen.wait_connected()
        except BaseException:
            if qwen is not None:
                qwen.close()
            if editor is not None:
                editor.kill()
            model.close()
            home.remove()
            raise
        return cls(home, editor, model, qwen)

    def calm(self) -> bool:
        """Whether a test can begin, now or within `CALM` seconds: the CLI is idle, the editor runs, no diff is open."""
        end = time.monotonic() + CALM
        while self.qwen.terminal.running and self.editor.running:
            if self.qwen.idle() and not self.editor.sides("proposal"):
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return False

    def file(self, name: str, text: str | bytes = GREET) -> Path:
        """A file of the project that no other test uses."""
        return self.home.write(name, text)

    def close(self) -> None:
        """End the CLI and the editor, whatever state they are in."""
        self.qwen.close()
        self.editor.kill()
        self.model.close()
        self.home.remove()
