"""Runs what "Run Qwen Code" and "Run Gemini CLI" ask Terminus to start."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from companion.visible import visible

from . import gemini, qwen
from .cli import STEP
from .clis import NOT_IN_A_CONTAINER, pinned
from .editor import Editor
from .gemini import StartedGemini
from .model import Call, Model, Script
from .qwen import Home, StartedQwen, node_modules, pinned_command
from .session import GREET, GREET_BETTER
from .terminal import Terminal

TERMINUS = Path(__file__).parent / "Terminus"
PASTE = "\x1b[200~{}\x1b[201~"
#: Ten lines; a test sends two of them to the CLI.
NOTES = "".join(f"note {number}\n" for number in range(1, 11))

Started = StartedQwen | StartedGemini
STARTED: dict[str, Callable[[Model, Terminal], Started]] = {"qwen": StartedQwen, "gemini": StartedGemini}
each_cli = pytest.mark.parametrize("key", STARTED)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a login shell with start-up files")


class TerminusEditor:
    """An editor with a stand-in for Terminus, and a home whose login shell finds `qwen` and `gemini`."""

    def __init__(self, home: Home, **chosen: Any) -> None:
        """`chosen` are settings of this package."""
        self.home = home
        home.write("greet.py", GREET)
        home.write("my notes.txt", NOTES)
        # Without an approval mode in its settings, Qwen Code never asks.
        self._write(".qwen/settings.json", json.dumps({**qwen.settings(), "tools": {}}))
        self._write(".gemini/settings.json", json.dumps(gemini.settings()))
        # With a named model, the CLI sends no request to choose one.
        settings = json.dumps({"gemini_command": ["gemini", "-m", "gemini-2.5-flash"], **chosen})
        self._write(".config/sublime-text/Packages/User/QwenCompanion.sublime-settings", settings)
        commands = {"qwen": pinned_command(), "gemini": pinned("gemini", gemini.NEWEST)}
        for name, line in commands.items():
            program = self._write(f"programs/{name}", f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n')
            program.chmod(0o755)
        folders = [home.home / "programs", Path(commands["qwen"][0]).parent]
        self._write(".bash_profile", f"PATH={':'.join(shlex.quote(str(folder)) for folder in folders)}:$PATH\n")
        self.model = Model()
        self.editor = Editor(home, [home.workspace], also=[TERMINUS])

    def _write(self, name: str, text: str) -> Path:
        path = self.home.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def told(self, command: str) -> dict[str, Any]:
        """Wait for the first call of a Terminus command, and return its arguments."""
        log = self.home.home / "terminus.jsonl"

        def found() -> dict[str, Any] | None:
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            return next((args for name, args in map(json.loads, lines) if name == command), None)

        args = self.editor.wait(f"terminus_{command}", found)
        assert args is not None
        return args

    def terminal(self, args: dict[str, Any]) -> Terminal:
        """Start the command that Terminus was asked to start, in the same way."""
        environment = self.home.environment(
            TERM="xterm-256color",
            SHELL="/bin/bash",
            OPENAI_API_KEY="none-needed",
            OPENAI_BASE_URL=self.model.base_url,
            OPENAI_MODEL="scripted",
            QWEN_CODE_DISABLE_CRON="1",
            QWEN_DISABLE_AUTO_TITLE="1",
            GEMINI_API_KEY="none-needed",
            GOOGLE_GEMINI_BASE_URL=self.model.base_url.removesuffix("/v1"),
            NODE_OPTIONS=NOT_IN_A_CONTAINER,
        )
        # Terminus sets its own name, whatever the arguments say.
        environment |= args["env"] | {"TERM_PROGRAM": "Terminus-Sublime"}
        return Terminal(args["cmd"], cwd=Path(args["cwd"]), env=environment)

    @contextlib.contextmanager
    def run(self, key: str, prepare: Callable[[dict[str, Any]], None] = lambda _: None) -> Iterator[Started]:
        """Run the command for a CLI, and wait until it is connected. `prepare` may change what Terminus was told."""
        self.editor.do("command", name="qwen_companion_run", args={"cli": key})
        prepare(args := self.told("open"))
        with contextlib.closing(STARTED[key](self.model, self.terminal(args))) as cli:
            cli.wait_ready()
            cli.wait_connected()
            yield cli

    def close(self) -> None:
        self.editor.kill()
        self.model.close()


def shown(terminal: Terminal) -> dict[str, Any]:
    """What the stand-in for Terminus is told of a terminal that the test has opened."""
    return {"text": "\n".join(terminal.lines()), "pid": terminal.pid}


@pytest.fixture
def terminus(programs: None) -> Iterator[TerminusEditor]:
    with Home.make() as home, contextlib.closing(TerminusEditor(home)) as terminus:
        terminus.editor.lock()
        yield terminus


@each_cli
def test_the_cli_of_the_run_command_connects_asks_and_reads_what_is_sent(terminus: TerminusEditor, key: str) -> None:
    """The person only runs the command."""
    with terminus.run(key) as cli:
        view = terminus.editor.open_file(terminus.home.workspace / "my notes.txt")
        start = NOTES.index("note 4")
        terminus.editor.do("select", view=view, regions=[[start, NOTES.index("note 6")]])
        cli.wait_idle()
        terminus.editor.do("command", name="terminus_show_screen", args=shown(cli.terminal))
        terminus.editor.do("command", name="qwen_companion_send", view=view)
        sent = terminus.told("send")
        assert (sent["string"], sent["tag"]) == (r"@my\ notes.txt lines 4-5 ", key)
        cli.terminal.press(PASTE.format(sent["string"]))
        cli.terminal.wait_text(sent["string"].strip())
        script = terminus.model.script()
        cli.terminal.type(f"Say hello {script.tag}")
        cli.wait_done(script)
        prompt = str(terminus.model.requests_of(script)[0].messages)
        assert "lines 4-5" in prompt
        assert "note 10" in prompt, "the CLI has read the file"

        path = terminus.home.workspace / "greet.py"
        edit = cli.ask_to_write(path, GREET_BETTER)
        terminus.editor.accept(terminus.editor.wait_diff(path))
        cli.wait_done(edit)
        assert path.read_text(encoding="utf-8") == GREET_BETTER


@each_cli
def test_comments_arrive_in_the_prompt_as_one_text_that_the_person_sends(terminus: TerminusEditor, key: str) -> None:
    """Three comments in two files: the model gets each line and each word as it was written."""
    script = terminus.model.script()
    odd = "why `x` and ``` here? \x1b[201~ 😀 שלום"
    words = ["use the helper in money.py", odd, f"and this {script.tag}"]
    with terminus.run(key) as cli:
        cli.wait_idle()
        for at, (name, start) in enumerate([("greet.py", 0), ("greet.py", 20), ("my notes.txt", 0)]):
            view = terminus.editor.open_file(terminus.home.workspace / name)
            terminus.editor.do("select", view=view, regions=[[start, start]])
            terminus.editor.do("command", name="qwen_companion_comment", args={"text": words[at]}, view=view)
        terminus.editor.do("command", name="terminus_show_screen", args=shown(cli.terminal))
        terminus.editor.do("command", name="qwen_companion_send_comments")
        sent = terminus.told("send")
        assert (sent["bracketed"], sent["tag"]) == (True, key)
        cli.terminal.press(PASTE.format(sent["string"]))
        cli.terminal.wait("paste in the prompt", lambda: "Type your message" not in cli.terminal.text())
        time.sleep(1)
        assert not terminus.model.requests_of(script), "nothing is sent before Enter"
        cli.terminal.press("\r")
        cli.wait_done(script)
        prompt = terminus.model.requests_of(script)[0].last_user_text()
        # Both CLIs unescape the mentions, and put a blank before one that begins a line.
        for quoted, said in zip(("def greet(name):", '    print("hi")', "note 1"), words, strict=True):
            assert f"```\n{quoted}\n```\n{visible(said)}" in prompt
        for mention in ("@greet.py line 1", "@greet.py line 2", r"@my\ notes.txt line 1"):
            assert mention in sent["string"]
        assert "note 10" in prompt, "the CLI has read the file"


@each_cli
def test_a_rejection_takes_its_comments_into_the_prompt_that_follows(terminus: TerminusEditor, key: str) -> None:
    """Nothing is pasted into the question; once the CLI has its answer, its prompt gets the comments."""
    path = terminus.home.workspace / "greet.py"
    before = path.read_bytes()
    with terminus.run(key) as cli:
        cli.wait_idle()
        cli.ask_to_write(path, GREET_BETTER)
        proposal = terminus.editor.wait_diff(path)["id"]
        cli.wait_question()
        terminus.editor.do("command", name="terminus_show_screen", args=shown(cli.terminal))
        script = terminus.model.script()
        words = f"not like this {script.tag}"
        terminus.editor.do("command", name="qwen_companion_comment", args={"text": words}, view=proposal)
        terminus.editor.do("command", name="qwen_companion_reject_with_comments", view=proposal)
        cli.wait_idle()
        assert "send" not in (terminus.home.home / "terminus.jsonl").read_text(encoding="utf-8")
        terminus.editor.do("command", name="terminus_show_screen", args=shown(cli.terminal))
        sent = terminus.told("send")
        assert words in sent["string"]
        cli.terminal.press(PASTE.format(sent["string"]))
        cli.terminal.wait("paste in the prompt", lambda: "Type your message" not in cli.terminal.text())
        time.sleep(1)
        cli.terminal.press("\r")
        cli.wait_done(script)
        assert words in terminus.model.requests_of(script)[0].last_user_text()
        assert path.read_bytes() == before


def test_gemini_cli_connects_without_its_discovery_file(terminus: TerminusEditor) -> None:
    """The variables of the terminal are enough, although Terminus sets TERM_PROGRAM to its own name."""

    def hide(args: dict[str, Any]) -> None:
        for file in (terminus.home.tmp / "gemini" / "ide").iterdir():
            file.unlink()
        # The CLI gets another temporary folder, because the editor would restore a file that is removed.
        args["env"]["TMPDIR"] = str(terminus.home.root)

    with terminus.run("gemini", hide):
        pass


@pytest.mark.parametrize("is_offered", [True, False])
def test_qwen_code_gets_the_editors_tools_only_if_the_person_has_said_so(programs: None, *, is_offered: bool) -> None:
    """Its model points out two lines of a file: the person sees it there, and in the Review."""
    with Home.make() as home:
        # As npm installs it, the program is in its package.
        own = node_modules() / "@qwen-code" / "qwen-code" / "package.json"
        home.home.joinpath("programs").mkdir()
        home.home.joinpath("programs", "package.json").write_bytes(own.read_bytes())
        command = [str(home.home / "programs" / "qwen")]
        chosen = {"qwen_command": command, "agents_use_editor": is_offered}
        with contextlib.closing(TerminusEditor(home, **chosen)) as terminus:
            terminus.editor.lock()
            path = home.workspace / "greet.py"
            view = terminus.editor.open_file(path)
            commands: list[str] = []
            with terminus.run("qwen", lambda args: commands.append(shlex.join(args["cmd"]))) as cli:
                cli.wait_idle()
                found = _point_out(cli, path)
            told = json.dumps([each.body for each in terminus.model.requests_of(found)])
            assert ("--mcp-config" in commands[0], "sublime-text__pointOut" in told) == (is_offered, True)
            drawn = "".join(each["html"] for each in terminus.editor.view(view)["phantoms"])
            terminus.editor.do("command", name="qwen_companion_review")
            line = "Qwen Code points out · greet.py:1 · <b>this</b> is a decision"

            def reviewed() -> str:
                texts = [each["text"] for each in terminus.editor.views(text=True) if each["name"] == "Review"]
                return "".join(texts).replace("\xa0", " ")

            terminus.editor.wait("the Review", lambda: "Nothing waits" in reviewed())
            assert (line in reviewed()) is is_offered
            assert ("&lt;b&gt;this&lt;/b&gt; is a decision" in drawn) is is_offered


def _point_out(cli: Started, path: Path) -> Script:
    name = "mcp__sublime-text__pointOut"
    place = {"path": str(path), "startLine": 1, "endLine": 2, "note": "<b>this</b> is a decision"}
    script = cli.ask(
        "Point out what to look at",
        [Call("tool_search", {"query": f"select:{name}"})],
        [Call("tool_call", {"name": name, "arguments": place})],
    )

    def goes_on() -> bool:
        """The person allows the tool."""
        screen = cli.terminal.text()
        if "Yes, allow once" in screen and "pointout" in screen.lower() and cli.terminal.quiet_for() > 0.3:
            cli.terminal.press("\r")
        return script.done in screen

    cli.terminal.wait("end of the turn", goes_on, 2 * STEP)
    return script
