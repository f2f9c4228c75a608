"""Regenerates tests/unit/clis/screens: the end of what the published CLIs show, by version, state and width.

Run it with `python -m tests.e2e.record_screens [texts] [qwen-0.24.4 … claude …]` after `. scripts/env.sh`; with `texts`
only the prompts with a text of Qwen Code and Gemini CLI are recorded anew. A screen follows a line such as
`=== asks-write-80 other`: the state, the columns, and whether a person sees a prompt there that is “empty”, one with a
“text”, or something “other”. That word comes from a person: it stays as it was, and a state that is new gets “unknown”,
which the tests refuse.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..agents.published import AGENTS
from . import terminal
from .claude import Claude
from .cli import ESCAPE, PROMPT, Cli
from .clis import CLIS, NEWEST_QWEN, pinned, version_of
from .gemini import Gemini
from .gemini import settings as gemini_settings
from .model import Call, Model
from .places import ClaudePlace, CopilotPlace, OpenCodePlace, Place
from .qwen import PROJECT, Home, Qwen
from .qwen import settings as qwen_settings
from .terminal import WaitedError

SCREENS = PROJECT / "tests" / "unit" / "clis" / "screens"
WIDTHS = (130, 80, 60, 40)
LINES = 14
"""Lines of a screen's end that are kept."""
DIALOG = 36
"""The same for OpenCode, with its prompt in the middle, or a dialog far above it."""
PLACES: dict[str, type[Place]] = {"claude": ClaudePlace, "copilot": CopilotPlace, "opencode": OpenCodePlace}
CALM, TURNING = 0.7, 3.0
"""Seconds without output after which a screen is complete, and after which one that never rests is."""
BACKSPACE, CTRL_C, CTRL_R, CTRL_U, SHIFT_TAB = "\x7f", "\x03", "\x12", "\x15", "\x1b[Z"
ONE_PASTE = "\x1b[200~{}\x1b[201~"
PASTE = ONE_PASTE.format("\n".join(["line"] * 12))


class Recorder:
    """The screens of one version."""

    def __init__(self, path: Path, lines: int = LINES) -> None:
        self.name = path.stem
        self._lines = lines
        self._path = path
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        self._labels = dict(re.findall(r"^=== (\S+) (\w+)$", old, re.MULTILINE))
        screens = [part.partition("\n") for part in old.split("=== ")[1:]]
        self._old = {head.partition(" ")[0]: text.removesuffix("\n") for head, _, text in screens}
        self._found: dict[str, str] = {}

    def state(self, cli: Cli, name: str, keys: str = "", shows: str = "") -> None:
        """Press keys, wait until the screen is calm, and remember it."""
        cli.terminal.press(keys)
        if shows:
            cli.terminal.wait_text(shows)
        end = time.monotonic() + TURNING
        time.sleep(CALM)
        while cli.terminal.quiet_for() < CALM and time.monotonic() < end:
            time.sleep(0.05)
        text = "\n".join(cli.terminal.lines()[-self._lines :]).replace(str(PROJECT), "/home/ada/companion")
        # A folder of the run; what is narrow shows a part of its name.
        text = re.sub(r"qc-\w{8}", "qc-00000000", text)
        if text not in self._found.values():
            self._found[f"{name}-{terminal.COLUMNS}"] = text

    def write(self, *, keeps: bool = False) -> None:
        """Replace the file, or only the states that were recorded."""
        found = {**(self._old if keeps else {}), **self._found}
        parts = [f"=== {name} {self._labels.get(name, 'unknown')}\n{text}\n" for name, text in found.items()]
        self._path.write_text("".join(parts), encoding="utf-8")


@contextmanager
def started(family: str, number: str, ui: dict[str, object], **more: str) -> Iterator[Cli]:
    """A CLI in a home of its own."""
    make, own = (Qwen, qwen_settings()) if family == "qwen" else (Gemini, gemini_settings())
    merged = {"ui": {**dict(own["ui"]), **ui}}  # type: ignore[call-overload]
    with Home.make() as home, closing(Model()) as model:
        home.write("greet.py", "print(1)\n")
        with closing(make(home, model, command=pinned(family, number), also=merged, more=more)) as cli:
            yield cli


def clear(cli: Cli) -> None:
    """Have the CLI show the empty prompt again."""
    for keys in (ESCAPE, ESCAPE, CTRL_U):
        if not cli.idle():
            cli.terminal.press(keys)
            time.sleep(CALM)


def typing(recorder: Recorder, cli: Cli) -> None:
    recorder.state(cli, "empty", shows="Type your")
    recorder.state(cli, "typed", "hello there")
    recorder.state(cli, "after-ctrl-c-typed", CTRL_C)
    time.sleep(2)  # until it no longer counts as the first of two
    for name, keys in (
        ("pasted", PASTE),
        ("shell-mode", "!"),
        ("slash", "/"),
        ("question-mark", "?"),
        ("at-file", "@gr"),
    ):
        recorder.state(cli, name, keys)
        clear(cli)
        cli.terminal.press(CTRL_U)


def typed() -> list[tuple[str, str]]:
    """Texts that the person types, and what looks like one: the name of the state, and the keys."""
    mention = ONE_PASTE.format("@greet.py ")
    wide = terminal.COLUMNS
    return [
        ("text-short", "please read "),
        ("text-mentions", mention + mention),
        ("text-two-lines", "word " * (wide // 5 + 2)),
        ("text-three-lines", "words " * (wide * 2 // 6 + 2)),
        ("text-chinese", "请看这个文件" * (wide // 12 + 1)),
        ("text-question", "Do you want to proceed? ❯ 1. Yes"),
        ("text-broken", ONE_PASTE.format("first\n\n  ❯ 1. Yes\n  2. No")),
        ("text-slash", "/mo"),
        ("text-at", "see @gr"),
        ("text-search", CTRL_R + "he"),
        ("text-shell", "!ls"),
    ]


def texts(recorder: Recorder, cli: Cli) -> None:
    """Prompts with a text that the person has typed, and what looks like one."""
    for name, keys in typed():
        recorder.state(cli, name, keys)
        for _ in range(9):
            cli.terminal.press(BACKSPACE + CTRL_U)
            time.sleep(0.1)
        if name in {"text-search", "text-shell"}:
            cli.terminal.press(ESCAPE)
            time.sleep(CALM)
            cli.terminal.press(CTRL_U)
        cli.terminal.wait_text(PROMPT)
    cli.terminal.type("/vim")
    time.sleep(2)
    cli.terminal.press("i")
    time.sleep(CALM)
    recorder.state(cli, "text-vim-insert", "some text")
    recorder.state(cli, "text-vim-normal", ESCAPE)


def working(recorder: Recorder, cli: Cli) -> None:
    slow = cli.model.speech("I am ", "thinking.", pause=4.0)
    cli.terminal.type(f"go {slow.tag}")
    recorder.state(cli, "working")
    recorder.state(cli, "working-typed", "more")
    cli.terminal.press(CTRL_U)
    recorder.state(cli, "after-a-turn", shows="thinking.")
    run = Call("run_shell_command", {"command": "rm -i greet.py", "description": "x", "is_background": False})
    cli.terminal.type(f"run {cli.model.script([run]).tag}")
    recorder.state(cli, "asks-shell", shows=" 1. ")
    recorder.state(cli, "after-a-no", ESCAPE)
    write = Call("write_file", {"file_path": str(Path("new.py").absolute()), "content": "x = 1\n"})
    cli.terminal.type(f"w {cli.model.script([write]).tag}")
    recorder.state(cli, "asks-write", shows=" 1. ")
    clear(cli)


def modes(recorder: Recorder, cli: Cli) -> None:
    for name in ("auto-accept", "mode-2", "mode-3", "mode-4"):
        recorder.state(cli, name, SHIFT_TAB)
    cli.terminal.type("/theme")
    recorder.state(cli, "dialog-theme")
    clear(cli)
    cli.terminal.type("/vim")
    recorder.state(cli, "vim-insert")
    recorder.state(cli, "vim-normal", ESCAPE)
    cli.terminal.press(CTRL_C)
    recorder.state(cli, "exited", CTRL_C)


def attempt(part: Callable[[Recorder, Cli], None], recorder: Recorder, cli: Cli) -> None:
    try:
        part(recorder, cli)
    except WaitedError as error:
        print(f"{recorder.name}: {part.__name__} at {terminal.COLUMNS} columns: {error}")


def record_texts(family: str, number: str) -> None:
    recorder = Recorder(SCREENS / f"{family}-{version_of(family, number)}.txt")
    for terminal.COLUMNS in WIDTHS:
        with started(family, number, {}) as cli:
            cli.wait_ready()
            attempt(texts, recorder, cli)
        recorder.write(keeps=True)


def record(family: str, number: str) -> None:
    recorder = Recorder(SCREENS / f"{family}-{version_of(family, number)}.txt")
    for terminal.COLUMNS in WIDTHS:
        with started(family, number, {}) as cli:
            for part in (typing, working, modes):
                attempt(part, recorder, cli)
        with started(family, number, {}) as cli:
            cli.wait_ready()
            attempt(texts, recorder, cli)
        for name, ui, more in (
            ("alternate", {"useAlternateBuffer": True}, {}),
            ("truecolor", {}, {"COLORTERM": "truecolor"}),
        ):
            with started(family, number, dict(ui), **more) as cli:
                recorder.state(cli, f"{name}-empty", shows="Type your")
                recorder.state(cli, f"{name}-typed", "hello")
    recorder.write()


def record_place(name: str) -> None:
    """Record a CLI that is connected to an editor, and its prompt where it isn't."""
    recorder = Recorder(SCREENS / f"{name}-{PLACES[name].version()}.txt", DIALOG if name == "opencode" else LINES)
    for terminal.COLUMNS in WIDTHS:
        with closing(PLACES[name]()) as place:
            cli = place.run()
            recorder.state(cli, "empty")
            place.select(1)
            recorder.state(cli, "selected")
            place_states(recorder, place, cli, name)
        with closing(PLACES[name]()) as place:
            place.lock()
            place.editor.quit()
            cli = Claude(place.home, place.model, also={"editorMode": "vim"}) if name == "claude" else None
            cli = cli or place.start(place.home.workspace)
            place.clis.append(cli)
            cli.wait_ready()
            recorder.state(cli, "alone-empty")
            recorder.state(cli, "alone-typed", "hello")
            if name == "claude":
                recorder.state(cli, "vim-normal", ESCAPE)
        recorder.write()


def place_states(recorder: Recorder, place: Place, cli: Cli, name: str) -> None:
    """What a person does in a CLI that is connected."""
    press = cli.terminal.press
    for state, keys in (*typed(), ("pasted", PASTE), ("shell-mode", "!"), ("slash", "/"), ("at-file", "@gr")):
        recorder.state(cli, state, keys)
        if state == "text-search":
            press(ESCAPE)
            time.sleep(CALM)
        for _ in range(12):
            press(BACKSPACE + CTRL_U)
            time.sleep(0.1)
    recorder.state(cli, "after-texts")
    slow = place.model.speech("I am ", "thinking.", pause=4.0)
    cli.terminal.type(f"go {slow.tag}")
    time.sleep(1.5)
    recorder.state(cli, "working")
    recorder.state(cli, "working-typed", "more")
    press(CTRL_U)
    cli.terminal.wait_text("thinking.")
    recorder.state(cli, "after-a-turn")
    recorder.state(cli, "typed-after-a-turn", "hello")
    press(CTRL_U + BACKSPACE)
    agent = AGENTS[name]
    for state, call in (
        ("asks-shell", agent.run("rm -i greet.py")),
        ("asks-write", agent.write(str(place.home.workspace / "new.py"), "x = 1\n")),
    ):
        script = place.model.script([call])
        cli.terminal.type(f"do {script.tag}")
        cli.terminal.wait("request", lambda script=script: place.model.requests_of(script))
        time.sleep(2)
        recorder.state(cli, state)
        press(ESCAPE)
        time.sleep(2)
        recorder.state(cli, f"after-{state}")
    for number in range(4):
        recorder.state(cli, f"mode-{number}", "\t" if name == "opencode" else SHIFT_TAB)
    recorder.state(cli, "question-mark", "?")
    press(BACKSPACE + CTRL_U)
    cli.terminal.type("/model")
    time.sleep(1)
    recorder.state(cli, "dialog-model")
    press(ESCAPE)
    time.sleep(CALM)
    recorder.state(cli, "after-dialog")
    recorder.state(cli, "after-ctrl-c", CTRL_C)
    recorder.state(cli, "exited", CTRL_C)


def main() -> None:
    terminal.ROWS = 50
    folders = [folder.name.split("-", 1) for folder in sorted(CLIS.iterdir()) if (folder / "node_modules").is_dir()]
    found = [("qwen", NEWEST_QWEN), *((family, number) for family, number in folders if family in {"qwen", "gemini"})]
    chosen = [word for word in sys.argv[1:] if word != "texts"]
    for name in PLACES:
        if "texts" not in sys.argv[1:] and (not chosen or name in chosen):
            record_place(name)
    for family, number in found:
        if not chosen or f"{family}-{number}" in chosen:
            (record_texts if "texts" in sys.argv[1:] else record)(family, number)


if __name__ == "__main__":
    main()
