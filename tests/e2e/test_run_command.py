"""What "Run Qwen Code" tells Terminus, really started: the CLI connects, and reads what "Send Selection" sends."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .cli import Cli
from .editor import Editor
from .model import Model
from .qwen import Home, Qwen, pinned_command, settings
from .session import GREET, GREET_BETTER
from .terminal import Terminal

TERMINUS = Path(__file__).parent / "Terminus"
PASTE = "\x1b[200~{}\x1b[201~"
#: Ten lines, of which the CLI is told two.
NOTES = "".join(f"note {number}\n" for number in range(1, 11))

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a login shell with start-up files")


class Started(Qwen):
    """The CLI as it was started by somebody else."""

    def __init__(self, model: Model, terminal: Terminal) -> None:
        Cli.__init__(self, model, terminal)


@dataclass
class Place:
    """An editor with Terminus, and a person's home whose login shell finds `qwen`."""

    home: Home
    editor: Editor
    model: Model

    def told(self, command: str) -> dict[str, Any]:
        """The arguments of Terminus's first call of a kind; waited for."""
        log = self.home.home / "terminus.jsonl"

        def found() -> dict[str, Any] | None:
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            return next((args for name, args in map(json.loads, lines) if name == command), None)

        args = self.editor.wait(f"terminus_{command}", found)
        assert args is not None
        return args

    def start(self, args: dict[str, Any]) -> Started:
        """Start what Terminus would start, as it would."""
        environment = self.home.environment(
            TERM="xterm-256color",
            SHELL="/bin/bash",
            OPENAI_API_KEY="none-needed",
            OPENAI_BASE_URL=self.model.base_url,
            OPENAI_MODEL="scripted",
            QWEN_CODE_DISABLE_CRON="1",
            QWEN_DISABLE_AUTO_TITLE="1",
        )
        # Terminus's own name goes first, whatever it is told.
        environment |= args["env"] | {"TERM_PROGRAM": "Terminus-Sublime"}
        return Started(self.model, Terminal(args["cmd"], cwd=Path(args["cwd"]), env=environment))


@pytest.fixture
def place(programs: None) -> Iterator[Place]:
    home = Home.make()
    home.write("greet.py", GREET)
    home.write("my notes.txt", NOTES)
    # The person's own settings would never ask.
    (home.qwen_home / "settings.json").write_text(json.dumps(settings("auto-edit")), encoding="utf-8")
    programs_folder = home.root / "programs"
    programs_folder.mkdir()
    qwen = programs_folder / "qwen"
    qwen.write_text(f'#!/bin/sh\nexec {shlex.join(pinned_command())} "$@"\n', encoding="utf-8")
    qwen.chmod(0o755)
    node = Path(pinned_command()[0]).parent
    (home.home / ".bash_profile").write_text(
        f"PATH={shlex.quote(str(programs_folder))}:{shlex.quote(str(node))}:$PATH\n", encoding="utf-8"
    )
    model = Model()
    editor: Editor | None = None
    try:
        editor = Editor(home, [home.workspace], also=[TERMINUS])
        editor.lock()
        yield Place(home, editor, model)
    finally:
        if editor is not None:
            editor.kill()
        model.close()
        home.remove()


def test_the_cli_of_the_run_command_connects_asks_and_reads_what_is_sent(place: Place) -> None:
    """Issue 4, "Terminal": nothing but the command was done by the person."""
    place.editor.do("command", name="qwen_companion_run", args={"cli": "qwen"})
    cli = place.start(place.told("open"))
    try:
        cli.wait_ready()
        cli.wait_connected()

        view = place.editor.open_file(place.home.workspace / "my notes.txt")
        start = NOTES.index("note 4")
        place.editor.do("select", view=view, regions=[[start, NOTES.index("note 6")]])
        place.editor.do("command", name="qwen_companion_send_selection", view=view)
        sent = place.told("send")
        assert (sent["string"], sent["tag"]) == (r"@my\ notes.txt lines 4-5 ", "qwen")
        cli.wait_idle()
        cli.terminal.press(PASTE.format(sent["string"]))
        cli.terminal.wait_text(sent["string"].strip())
        script = place.model.script()
        cli.terminal.type(f"Say hello {script.tag}")
        cli.wait_done(script)
        prompt = place.model.requests_of(script)[0].last_user_text()
        assert "lines 4-5" in prompt
        assert "note 10" in prompt, "the CLI has read the file"

        path = place.home.workspace / "greet.py"
        edit = cli.ask_to_write(path, GREET_BETTER)
        place.editor.accept(place.editor.wait_diff(path))
        cli.wait_done(edit)
        assert path.read_text(encoding="utf-8") == GREET_BETTER
    finally:
        cli.close()
