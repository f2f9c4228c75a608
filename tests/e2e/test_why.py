"""Why is this here?: real CLIs in terminals write, and each line leads to its own prompt and sentence."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ..agents.published import PATCH, codex_edit, codex_write
from .claude import Claude
from .cli import STEP
from .codex import Codex
from .copilot import Copilot
from .gemini import Gemini
from .model import Call, Model
from .qwen import Home, Qwen
from .reasons import CHECK, SHOP, CliTools, Reasons
from .session import CliSession
from .test_changes import Reviewed, gemini_edit, qwen_edit

#: Seconds in which the transcripts are looked at once after a CLI has connected.
LOOKS = 5.0


def read_file(path: str) -> Call:
    return Call("read_file", {"file_path": path})


def write_file(path: str, content: str) -> Call:
    return Call("write_file", {"file_path": path, "content": content})


def claude_read(path: str) -> Call:
    return Call("Read", {"file_path": path})


def claude_edit(path: str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": False})


def claude_write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": path, "content": content})


def copilot_read(path: str) -> Call:
    return Call("view", {"path": path})


def copilot_edit(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "old_str": old, "new_str": new})


def copilot_write(path: str, content: str) -> Call:
    return Call("create", {"path": path, "file_text": content})


def copilot_patch(path: str, old: str, new: str) -> Call:
    return Call(
        "apply_patch", PATCH.format(f"*** Update File: {path}\n@@\n{diff_lines('-', old)}{diff_lines('+', new)}")
    )


def copilot_add(path: str, content: str) -> Call:
    return Call("apply_patch", PATCH.format(f"*** Add File: {path}\n{diff_lines('+', content)}"))


def diff_lines(sign: str, text: str) -> str:
    return "".join(sign + line for line in text.splitlines(keepends=True))


def claude(home: Home, model: Model) -> Claude:
    """Claude Code as *Run Claude Code* starts it: its terminal names the window's port."""
    end = time.monotonic() + STEP
    while not (locks := list((home.home / ".claude" / "ide").glob("*.lock"))):
        assert time.monotonic() < end, "there is no lock file"
        time.sleep(0.05)
    return Claude(home, model, port=int(locks[0].stem), mode="acceptEdits")


class Kind(NamedTuple):
    """A CLI in a terminal that doesn't ask before it writes."""

    start: Callable[[Home, Model], Any]
    tools: CliTools


KINDS = {
    "Qwen Code": Kind(
        lambda home, model: Qwen(home, model, approval="yolo"),
        CliTools(read_file, lambda path, old, new: qwen_edit(Path(path), old, new), write_file),
    ),
    "Gemini CLI": Kind(
        lambda home, model: Gemini(home, model, approval="yolo"),
        CliTools(read_file, lambda path, old, new: gemini_edit(Path(path), old, new), write_file),
    ),
    "Claude Code": Kind(
        claude,
        CliTools(claude_read, claude_edit, claude_write),
    ),
    "Copilot CLI": Kind(
        lambda home, model: Copilot(home, model, options=["--allow-all-tools", "--allow-all-paths"]),
        CliTools(copilot_read, copilot_edit, copilot_write),
    ),
    "Copilot CLI with a model of OpenAI": Kind(
        lambda home, model: Copilot(
            home, model, options=["--allow-all-tools", "--allow-all-paths"], called="gpt-5.1-codex"
        ),
        CliTools(None, copilot_patch, copilot_add),
    ),
    "Codex": Kind(Codex, CliTools(None, codex_edit, codex_write)),
}
#: `scripts/setup --all` installs it.
LONG = {"Codex", "Copilot CLI with a model of OpenAI"}


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in KINDS])
def asking(request: pytest.FixtureRequest, programs: None, gemini_program: None) -> Iterator[tuple[Reviewed, CliTools]]:
    kind = KINDS[request.param]

    def prepared(home: Home, model: Model) -> Any:
        home.write("shop.py", SHOP)
        home.answer_transcripts(may=True)
        model.explains = True
        return kind.start(home, model)

    found = Reviewed(CliSession[Any].begin(prepared))
    yield found, kind.tools
    found.session.close()


def test_each_line_of_a_cli_in_a_terminal_leads_to_its_own_prompt_and_sentence(
    asking: tuple[Reviewed, CliTools],
) -> None:
    at, tools = asking
    cli, reasons = at.session.cli, Reasons(at.editor, at.folder)
    if isinstance(cli, Codex):  # it is not connected: nobody looks at the folder before its first prompt
        at.run("qwen_companion_begin_round")
    at.wait_baseline()
    time.sleep(LOOKS)  # nobody types a prompt as fast as a test
    for prompt in reasons.prompts(tools):
        script = cli.ask(prompt.words, *prompt.rounds)
        cli.wait_done(script)
        reasons.done(prompt, script)
    at.run("qwen_companion_keep_all_changes")
    at.wait_listed()
    reasons.hold()
    git = ["git", "-C", str(at.folder), "-c", "user.name=A", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    shop = at.folder / "shop.py"
    text = shop.read_text()
    shop.write_text(text.replace(CHECK, "").replace("def total", f"def check(title):\n{CHECK}\n\ndef total"))
    time.sleep(2)
    reasons.hold()
    at.session.restart()
    reasons.editor = at.session.editor
    reasons.editor.lock()
    reasons.hold()
