"""The way of a new user, as the README describes it: from the open folder to the first change that is accepted.

The real Qwen Code runs in the terminal that the package asks Terminus for. Only the model is a script.
"""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from headless import jsonc

from . import qwen
from .chatting import write_settings
from .cli import CONNECTED, ESCAPE, START, STEP
from .editor import SETTLED, Editor, Told
from .model import Call, Model
from .qwen import PROJECT, Home, StartedQwen, pinned_command
from .terminal import Terminal

TERMINUS = Path(__file__).parent / "Terminus"
EXAMPLE = PROJECT / "docs" / "example"
RUN = "Qwen: Run Qwen Code"
STATUS = "/ide status"
QUESTION = "Do you want to connect Sublime Text to Qwen Code?"
WISH = "Refuse titles that we do not sell, and round the total"
DONE = "Orders with unknown titles are refused now."
LINE = "    amount += prices[title] * copies;\n"
CHECK = "    if (!(title in prices)) {\n      throw new Error(`Unknown book: ${title}`);\n    }\n"
EDITED = CHECK.replace("Unknown book: ${title}", "We do not sell ${title}.")
RETURN, ROUNDED = "  return amount;\n", "  return Math.round(amount);\n"
ROWS = 11
"""Lines of a terminal in a panel."""

Show = Callable[[str, float, str], object]
"""Called at each step: a sentence on it, the seconds that a reader needs, and the name of its picture if it has one."""


class FirstChange:
    """An editor with a folder, the package and a stand-in for Terminus. The methods are the steps, in order."""

    def __init__(self, show: Show = lambda *_: None, package: Path | None = None, **chosen: Any) -> None:
        """`package` is a built one, to be installed as a person would; without it the sources are used.

        `chosen` are settings of the package.
        """
        self._show = show
        self._stack = ExitStack()
        self.home = Home.make()
        self._stack.callback(self.home.remove)
        if chosen:
            write_settings(self.home, **chosen)
        try:
            self._begin(package)
        except BaseException:
            self._stack.close()
            raise

    def _begin(self, package: Path | None) -> None:
        shutil.copytree(EXAMPLE, self.home.workspace, dirs_exist_ok=True)
        self.file = self.home.workspace / "orders.js"
        before = self.file.read_text(encoding="utf-8")
        self.proposed = before.replace(LINE, CHECK + LINE).replace(RETURN, ROUNDED)
        self.wanted = before.replace(LINE, EDITED + LINE)
        # Nothing of the IDE mode and of approvals: that is what a new user has.
        settings = {name: value for name, value in qwen.settings().items() if name not in ("ide", "tools")}
        self._write(".qwen/settings.json", json.dumps(settings))
        command = pinned_command()
        program = self._write("programs/qwen", f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        program.chmod(0o755)
        folders = [program.parent, Path(command[0]).parent]
        self._write(".bash_profile", f"PATH={':'.join(shlex.quote(str(folder)) for folder in folders)}:$PATH\n")
        self.model = Model()
        self._stack.callback(self.model.close)
        self.editor = Editor(self.home, [self.home.workspace], package=package, also=[TERMINUS])
        self._stack.callback(self.editor.kill)
        self.window: int = self.editor.state()["windows"][0]["id"]
        self.qwen: StartedQwen | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # The steps

    def open_folder(self) -> None:
        """The folder is open, and one of its files."""
        self.editor.lock()
        for view in self.editor.views():  # the untitled tab of a new window
            self.editor.do("close_view", view=view["id"])
        self.view = self.editor.open_file(self.file)
        self.show("Open a folder in Sublime Text.", 4, "connect-1")

    def run(self) -> None:
        """Run the command of the palette, and what Terminus is asked to start."""
        palette = jsonc.loads((PROJECT / "Default.sublime-commands").read_text(encoding="utf-8"))
        [entry] = [entry for entry in palette if entry["caption"] == RUN]
        self.editor.do("command", name=entry["command"], args=entry["args"], window=self.window)
        terminal = self._terminal()
        self.qwen = StartedQwen(self.model, terminal)
        self._stack.callback(self.qwen.close)
        self.qwen.terminal.wait_text(QUESTION, START)
        self.show("Run “Qwen: Run Qwen Code” from the command palette.", 5, "connect-2")

    def connect(self) -> None:
        """Answer “Yes”, which is chosen, and look whether it has worked."""
        assert self.qwen
        self.qwen.terminal.press("\r")
        self.qwen.terminal.wait_text(CONNECTED, STEP)
        self.qwen.wait_idle()
        self.show("Answer Yes. It runs /ide enable and is connected.", 5, "connect-3")
        told = self.qwen.command(STATUS)
        assert CONNECTED in told, told
        assert self.file.name in told, told
        self.show("/ide status says so, and which files it knows of.", 4)

    def decline(self) -> None:
        """Don't answer “Yes”, and ask the status report why it isn't connected."""
        assert self.qwen
        self.qwen.terminal.press(ESCAPE)
        self.editor.do("command", name="hide_panel", window=self.window)
        self.editor.do("command", name="qwen_companion_status", window=self.window)
        self.editor.wait("finding", lambda: "/ide enable" in str([view["phantoms"] for view in self.editor.views()]))

    def ask(self) -> Told:
        """Ask for a change, and wait for its diff."""
        assert self.qwen
        start = self.file.read_text(encoding="utf-8").index(LINE.strip())
        self.editor.do("select", view=self.view, regions=[[start, start + len(LINE.strip())]])
        write = Call("write_file", {"file_path": str(self.file), "content": self.proposed})
        read = Call("read_file", {"file_path": str(self.file)})
        self.model.speech(DONE, rounds=[[read], [write]], words=WISH)
        self.qwen.terminal.press(WISH)
        self.qwen.terminal.wait_text(WISH)
        self.show("Ask for a change. Qwen Code sees the selected line.", 5)
        self.qwen.terminal.wait("pause", lambda: self.qwen and self.qwen.terminal.quiet_for() > 1, STEP)
        self.qwen.terminal.press("\r")
        proposal = self.editor.wait_diff(self.file)
        self.editor.wait("marks", lambda: self.editor.view(proposal["id"])["annotations"])
        self.qwen.wait_question()
        self.show("It proposes two changes. The diff opens, and the focus stays in the terminal.", 6, "connect-4")
        return proposal

    def review(self, proposal: Told) -> None:
        """Go to the diff, revert the second change and edit the first."""
        self.editor.do("command", name="hide_panel", window=self.window)
        self._press("f8", proposal)
        self.show("F8 goes to the diff, and to its first change.", 5, "review-1")
        self._press("f8", proposal)
        self.show("F8 goes to the next change as well.", 3)
        self._press("ctrl+shift+f8", proposal)
        self.editor.wait("reverted change", lambda: "restore:" in str(self.editor.view(proposal["id"])["annotations"]))
        self.show("Ctrl+Shift+F8 undoes it. The link at the change does the same.", 5, "review-2")
        text = self.editor.view(proposal["id"])["text"]
        old, new = "Unknown book: ${title}", "We do not sell ${title}."
        start = text.index(old)
        self.editor.do("select", view=proposal["id"], regions=[[start, start + len(old)]])
        for piece in (new[:5], new[5:11], new[11:]):
            self.editor.do("insert", view=proposal["id"], text=piece)
            is_last = piece.endswith(".")
            self.show("Edit the rest as you like.", 4 if is_last else 1.2, "connect-5" if is_last else "")

    def accept(self, proposal: Told) -> None:
        """Accept with the key for saving; Qwen Code writes the file."""
        assert self.qwen
        time.sleep(SETTLED)
        self._press("ctrl+s", proposal)
        self.editor.wait_no_diff()
        self.qwen.terminal.wait_text(DONE, STEP)
        self.qwen.wait_idle()
        self.show("Ctrl+S accepts. Qwen Code writes exactly your text.", 4)
        self.editor.do("command", name="qwen_companion_show_terminal", window=self.window)
        self.show("The file holds what you have accepted, and the model is told so.", 6, "connect-6")

    # What they need

    def show(self, what: str, seconds: float, picture: str = "") -> None:
        """Show the step, with what the terminal shows now."""
        self.refresh()
        self._show(what, seconds, picture)

    def refresh(self) -> None:
        """Bring the terminal's panel up to date."""
        panel = next((view for view in self._panels() if view["settings"].get("terminus_view")), None)
        if panel and self.qwen:
            lines = _without_notices(self.qwen.terminal.text().splitlines())
            self.editor.do("set_text", view=panel["id"], text="\n".join(lines[-ROWS:]))

    def _press(self, key: str, proposal: Told) -> None:
        self.editor.do("press", keys=key, view=proposal["id"])

    def _panels(self) -> list[Told]:
        [window] = [one for one in self.editor.state()["windows"] if one["id"] == self.window]
        return list(window["panels"].values())

    def _terminal(self) -> Terminal:
        log = self.home.home / "terminus.jsonl"

        def asked() -> dict[str, Any] | None:
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            return next((args for name, args in map(json.loads, lines) if name == "open"), None)

        args = self.editor.wait("terminal", asked)
        assert args
        model = {"OPENAI_API_KEY": "none-needed", "OPENAI_BASE_URL": self.model.base_url, "OPENAI_MODEL": "scripted"}
        calm = {"QWEN_CODE_DISABLE_CRON": "1", "QWEN_DISABLE_AUTO_TITLE": "1"}
        environment = self.home.environment(TERM="xterm-256color", SHELL="/bin/bash", **model, **calm)
        environment |= args["env"] | {"TERM_PROGRAM": "Terminus-Sublime"}
        return Terminal(args["cmd"], cwd=Path(args["cwd"]), env=environment)

    def _write(self, name: str, text: str) -> Path:
        path = self.home.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def _without_notices(lines: list[str]) -> list[str]:
    """A terminal's lines without what the CLI says of the machine that the pictures are made on."""
    noted = next((at for at, line in enumerate(lines) if "Ripgrep not available" in line), None)
    if noted is None:
        return lines
    return lines[next(at for at in range(noted, len(lines)) if "╰" in lines[at]) + 1 :]
