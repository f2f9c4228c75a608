"""What a new user meets on the first day, with the real Qwen Code: each message word for word."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..file_systems import fill, mounted, root
from . import qwen
from .editor import Editor
from .qwen import Qwen, pinned_command
from .session import GREET, GREET_BETTER
from .terminal import Terminal
from .test_status import Desk

TERMINUS = Path(__file__).parent / "Terminus"
NO_CLI = (
    "No CLI is installed: neither “qwen” nor “gemini” nor “claude” nor “copilot” nor “opencode” is on the PATH of your "
    "login shell or of Sublime Text. "
    "Install one, for example with: npm install -g @qwen-code/qwen-code"
)
NOT_FOUND = (
    "QwenCompanion: qwen is not on the PATH of your login shell or of Sublime Text. "
    "Install it with: npm install -g @qwen-code/qwen-code - "
    "or name yours in the setting qwen_command."
)
# Python runs a module of a certain name when it starts. A CLI of another test would count as one that is installed.
HIDES_OTHER_PROCESSES = """\
import psutil

psutil.process_iter = lambda *_: iter([psutil.Process()])
"""
OWN_MODE = "QwenCompanion: Qwen Code writes without asking: its settings say “auto-edit”."
READS = "Do you want to proceed?"
"""What the CLI asks before it reads a file outside of its folder."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a login shell with start-up files")


@pytest.fixture
def desk(programs: None) -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


def reviewed(editor: Editor, cli: Qwen, path: Path) -> None:
    """The CLI is connected, and a change of a file is reviewed."""
    cli.wait_connected()
    script = cli.ask_to_write(path, GREET_BETTER)
    proposal = editor.wait_diff(path)
    cli.wait_question()
    editor.accept(proposal)
    cli.wait_done(script)
    assert path.read_text(encoding="utf-8") == GREET_BETTER


def told(desk: Desk, editor: Editor) -> dict[str, object]:
    """What Terminus was asked to open."""
    log = desk.home.home / "terminus.jsonl"
    editor.wait("terminal", lambda: log.exists() and log.read_text(encoding="utf-8").count("\n"))
    return dict(json.loads(log.read_text(encoding="utf-8").splitlines()[0])[1])


def said(editor: Editor) -> list[str]:
    return [str(message["text"]) for message in editor.state()["messages"]]


def _solid(text: str) -> str:
    """The terminal breaks lines anywhere."""
    return "".join(text.split())


def test_without_a_cli_the_terminal_and_the_status_report_say_how_to_install_one(desk: Desk) -> None:
    empty = desk.home.home / "empty"
    empty.mkdir()
    node = Path(pinned_command()[0]).parent
    clean = [folder for folder in os.environ["PATH"].split(os.pathsep) if not shutil.which("qwen", path=folder)]
    assert str(node) not in clean or not (node / "qwen").exists()
    for name in (".bash_profile", ".profile"):
        (desk.home.home / name).write_text(f"PATH={shlex.quote(os.pathsep.join(clean))}\n", encoding="utf-8")
    alone = desk.home.root / "alone"
    alone.mkdir()
    (alone / "sitecustomize.py").write_text(HIDES_OTHER_PROCESSES, encoding="utf-8")
    first = {"PYTHONPATH": os.pathsep.join([str(alone), str(qwen.PROJECT)])}
    desk.editors.append(editor := Editor(desk.home, [desk.home.workspace], also=[TERMINUS], variables=first))
    editor.lock()
    editor.do("command", name="qwen_companion_run", args={"cli": "qwen"})
    arguments = told(desk, editor)
    command, folder = arguments["cmd"], arguments["cwd"]
    assert isinstance(command, list)
    environment = desk.home.environment(TERM="xterm-256color", SHELL="/bin/bash")
    terminal = Terminal([str(word) for word in command], cwd=Path(str(folder)), env=environment)
    try:
        terminal.wait("sentence", lambda: _solid(NOT_FOUND) in _solid(terminal.text()))
    finally:
        terminal.close()
    assert desk.report(editor).findings.count(NO_CLI) == 1


def test_a_mode_of_the_persons_own_is_respected_and_said_once(desk: Desk) -> None:
    settings = json.dumps(qwen.settings("auto-edit"))
    (desk.home.qwen_home / "settings.json").write_text(settings, encoding="utf-8")
    desk.editors.append(editor := Editor(desk.home, [desk.home.workspace], also=[TERMINUS]))
    editor.lock()
    editor.do("command", name="qwen_companion_run", args={"cli": "qwen"})
    assert "--approval-mode" not in str(told(desk, editor)["cmd"])
    editor.wait("message", lambda: OWN_MODE in said(editor))
    assert said(editor).count(OWN_MODE) == 1


@pytest.mark.parametrize("name", ["-it's a $HOME; x%20 (1) & co", "#äöü 日本"])
def test_a_folder_with_an_odd_name(desk: Desk, name: str) -> None:
    folder = desk.home.workspace / name
    folder.mkdir()
    path = folder / "my file, #1.py"
    path.write_text(GREET, encoding="utf-8")
    editor = desk.editor(folder)
    editor.wait("lock file", editor.lock_files)
    cli = desk.qwen(cwd=folder)
    assert isinstance(cli, Qwen)
    reviewed(editor, cli, path)


def test_in_a_folder_below_the_one_that_is_open(desk: Desk) -> None:
    folder = desk.home.workspace / "a" / "b"
    folder.mkdir(parents=True)
    path = folder / "greet.py"
    path.write_text(GREET, encoding="utf-8")
    editor = desk.open()
    reviewed(editor, desk.qwen(cwd=folder), path)


def test_a_diff_that_waits_in_another_window_is_said_in_the_one_in_front(desk: Desk) -> None:
    """F8 goes there."""
    other = desk.home.home / "other"
    other.mkdir()
    editor = desk.open()
    cli = desk.qwen()
    cli.wait_connected()
    second = editor.do("new_window", folders=[str(other)])["window"]
    path = desk.home.workspace / "greet.py"
    script = cli.ask_to_write(path, GREET_BETTER)
    proposal = editor.wait_diff(path)
    front = editor.do("new_file", window=second)["view"]
    editor.wait("status", lambda: "1 diff in another window (F8)" in str(editor.view(front)["status"]))
    editor.do("command", name="qwen_companion_go_to_diff", window=second)
    editor.accept(proposal)
    cli.wait_done(script)


def test_without_a_temporary_folder_qwen_code_connects_all_the_same(desk: Desk) -> None:
    gone = desk.home.root / "gone"
    variables = {name: str(gone) for name in ("TMPDIR", "TMP", "TEMP")}
    desk.editors.append(editor := Editor(desk.home, [desk.home.workspace], variables=variables))
    editor.lock()
    reviewed(editor, desk.qwen(), desk.home.workspace / "greet.py")


def test_a_home_in_which_the_folder_is_a_file(desk: Desk) -> None:
    """Said once, with what the system says and nothing else."""
    shutil.rmtree(desk.home.qwen_home)
    desk.home.qwen_home.write_text("", encoding="utf-8")
    editor = desk.editor(desk.home.workspace)
    sentence = (
        f"QwenCompanion: Qwen Code can't find this editor through {desk.home.qwen_home / 'ide'}: not a directory."
    )
    editor.wait("message", lambda: any(one.startswith(sentence[:60]) for one in said(editor)))
    assert len([one for one in said(editor) if "can't find this editor" in one]) == 1
    text = desk.report(editor).text
    assert "Qwen Code can't find this editor through" in text
    assert "Errno" not in text


@root
@pytest.mark.parametrize(
    ("options", "reason", "advice"),
    [
        ("mode=700,size=64k", "no space left on device", "no space left on device"),
        ("ro", "read-only file system", "it can't be written to"),
    ],
    ids=["full", "read-only"],
)
def test_a_home_that_can_not_be_written_is_said_once_until_it_can(
    desk: Desk, options: str, reason: str, advice: str
) -> None:
    """A full disk, or the home of a user who may only read. A CLI that starts afterwards finds the editor."""
    folder = desk.home.qwen_home / "ide"
    folder.mkdir(parents=True, exist_ok=True)
    with mounted(folder, options):
        filler = None if options == "ro" else fill(folder)
        editor = desk.editor(desk.home.workspace)
        hidden = f"Qwen Code can't find this editor through {folder}: "
        start = f"QwenCompanion: {hidden}{reason}."[:60]  # the status bar has room for no more than 80 characters
        editor.wait("message", lambda: any(one.startswith(start) for one in said(editor)))
        [finding] = desk.report(editor).others()
        assert finding.startswith(f"{hidden}{advice}. ")
        if filler:
            filler.unlink()
        else:
            subprocess.run(["mount", "-o", "remount,rw,mode=700", str(folder)], check=True)
        editor.lock()
        reviewed(editor, desk.qwen(), desk.home.workspace / "greet.py")
        assert len([one for one in said(editor) if "can't find this editor" in one]) == 1
        assert desk.report(editor).others() == []


def test_a_file_outside_of_the_folder_is_known_and_its_change_is_reviewed(desk: Desk) -> None:
    """The CLI is told of it while it is open, and asks in its terminal before it reads it."""
    outside = desk.home.home / "notes.py"
    outside.write_text(GREET, encoding="utf-8")
    editor = desk.open()
    cli = desk.qwen()
    cli.wait_connected()
    editor.open_file(outside)
    cli.wait_told(outside.name)
    script = cli.ask_to_write(outside, GREET_BETTER)
    cli.terminal.wait_text(READS)
    cli.terminal.press("\r")
    proposal = editor.wait_diff(outside)
    editor.accept(proposal)
    cli.wait_done(script)
    assert outside.read_text(encoding="utf-8") == GREET_BETTER
    accepted = "QwenCompanion: Accepted notes.py · no other proposal waits"
    editor.wait("message", lambda: accepted in said(editor))
    assert desk.report(editor).of(cli) == []


def test_with_two_windows_on_one_folder_the_diff_opens_in_the_one_that_was_used_last(desk: Desk) -> None:
    """The other one says so, and F8 goes there."""
    editor = desk.open()
    first = editor.state()["windows"][0]["id"]
    second = editor.do("new_window", folders=[str(desk.home.workspace)])["window"]
    editor.wait("both lock files", lambda: len(editor.lock_files()) == 2)
    [port] = {lock.stem for lock in editor.lock_files()} - {_newest(editor)}
    editor.do("focus", window=first)
    editor.wait("the first window's as the newest", lambda: _newest(editor) == port)
    cli = desk.qwen()
    cli.wait_connected()
    path = desk.home.workspace / "greet.py"
    script = cli.ask_to_write(path, GREET_BETTER)
    proposal = editor.wait_diff(path)
    assert proposal["id"] in [view["id"] for view in editor.state()["windows"][0]["views"]]
    front = editor.do("new_file", window=second)["view"]
    editor.do("focus", window=second)
    waiting = "1 diff in another window (F8)"
    editor.wait("status", lambda: str(editor.view(front)["status"]).count(waiting) == 1)
    editor.do("command", name="qwen_companion_go_to_diff", window=second)
    editor.accept(proposal)
    cli.wait_done(script)
    editor.wait("status without the diff", lambda: waiting not in str(editor.view(front)["status"]))
    assert desk.report(editor).of(cli) == []
    accepted = "QwenCompanion: Accepted greet.py · "
    editor.wait("message", lambda: any(one.startswith(accepted) for one in said(editor)))


def _newest(editor: Editor) -> str:
    """The port of the newest lock file, which a CLI prefers."""
    return max(editor.lock_files(), key=lambda file: file.stat().st_mtime_ns).stem
