"""The status report: each test causes one problem that keeps a CLI from its editor, and follows the remedy.

The CLIs are real. Where a test needs another version, a process with the same name imitates it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from . import gemini as gemini_cli
from . import qwen as qwen_cli
from .cli import START, Cli
from .clis import NEWEST_QWEN, pinned
from .editor import Editor
from .gemini import Gemini
from .model import Model
from .own import kind_of
from .qwen import Home, Qwen, pinned_command
from .session import GREET, GREET_BETTER

C = TypeVar("C", bound=Cli)

APPROVAL = "To be asked, press Shift+Tab in it or start it with “--approval-mode default”"


class Report:
    """A complete report."""

    def __init__(self, text: str) -> None:
        self.text = text
        _, _, rest = text.partition("\nFindings\n")
        lines = rest.partition("\n\n")[0].splitlines()
        self.findings = [line.removeprefix("  • ") for line in lines if line.startswith("  • ")]

    def of(self, cli: Cli | Sequence[int]) -> list[str]:
        """The findings about one CLI. Others may run on this machine."""
        return [finding for finding in self.findings if any(f"(process {pid})" in finding for pid in _pids(cli))]

    def state(self, cli: Cli | Sequence[int]) -> str:
        """The state of one CLI in the list of running CLIs."""
        lines = self.text.partition("\nRunning CLIs\n")[2].splitlines()
        [at] = [i for i, line in enumerate(lines) if any(f"process {pid}," in line for pid in _pids(cli))]
        return lines[at + 1].rpartition(": ")[2] if lines[at + 1].count(": ") == 1 else lines[at + 1]

    def others(self) -> list[str]:
        """The findings about the editor. On this machine neither a CLI nor Terminus need be installed."""
        others = [finding for finding in self.findings if "(process " not in finding]
        missing = ("No CLI is installed", "The package Terminus is not installed")
        return [finding for finding in others if not finding.startswith(missing)]


def _pids(cli: Cli | Sequence[int]) -> Sequence[int]:
    return [process.pid for process in cli.terminal.processes()] if isinstance(cli, Cli) else cli


class Desk:
    """A home in which editors and CLIs are started in any order."""

    def __init__(self) -> None:
        self.home = Home.make()
        self.model = Model()
        self.editors: list[Editor] = []
        self.clis: list[Cli] = []
        self.home.write("greet.py", GREET)

    def editor(self, *folders: Path, also: Sequence[Path] = ()) -> Editor:
        self.editors.append(editor := Editor(self.home, folders, also=also))
        return editor

    def open(self) -> Editor:
        """Start an editor on the project folder, and wait until CLIs can find it."""
        editor = self.editor(self.home.workspace)
        editor.lock()
        return editor

    def qwen(self, *options: str, **more: Any) -> Qwen:
        """Start Qwen Code, and wait until it accepts a prompt."""
        command = [*more.pop("command", pinned_command()), *options]
        return self._ready(Qwen(self.home, self.model, command=command, **more))

    def gemini(self, **more: Any) -> Gemini:
        return self._ready(Gemini(self.home, self.model, **more))

    def _ready(self, cli: C) -> C:
        self.clis.append(cli)
        cli.wait_ready()
        return cli

    def report(self, editor: Editor) -> Report:
        """Run the status command, and return the complete report."""
        editor.do("command", name="qwen_companion_status")

        def whole() -> str | None:
            found = [view for view in editor.views(text=True) if kind_of(editor.home, view) == "status"]
            return next((view["text"] for view in found if "\nLibraries\n" in view["text"]), None)

        text = editor.wait("whole report", whole)
        assert text
        return Report(text)

    def copied(self, editor: Editor) -> str:
        """Copy the report. That an editor's window is in front at the start has made its files the newest by then."""
        before = editor.state()["clipboard"]
        editor.do("command", name="qwen_companion_copy_report")
        return editor.wait("copy", lambda: (text := editor.state()["clipboard"]) != before and text)

    def close(self) -> None:
        for cli in self.clis:
            cli.close()
        for editor in self.editors:
            editor.kill()
        self.model.close()
        self.home.remove()


@pytest.fixture
def desk(programs: None) -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


def test_a_cli_that_is_connected(desk: Desk) -> None:
    editor = desk.open()
    qwen = desk.qwen()
    qwen.wait_connected()
    report = desk.report(editor)
    assert report.of(qwen) == report.others() == []
    assert report.state(qwen).endswith("connected to Window 1")
    assert f"Qwen Code {NEWEST_QWEN}, process" in report.text
    assert "round trip: " in report.text
    assert " ms" in report.text


def test_a_cli_that_was_started_above_the_folder(desk: Desk) -> None:
    editor = desk.open()
    qwen = desk.qwen(cwd=desk.home.root)
    [finding] = desk.report(editor).of(qwen)
    folder = desk.home.workspace
    assert f"runs in {desk.home.root}, above {folder}. Start it in {folder}, or open {desk.home.root}." in finding
    assert desk.report(editor).state(qwen).endswith("not connected: runs above the folder")
    # The remedy.
    editor.do("set_folders", folders=[str(desk.home.root)])
    editor.lock(desk.home.root)
    below = desk.qwen(cwd=desk.home.root)
    below.wait_connected()
    assert desk.report(editor).of(below) == []


def test_a_cli_that_was_started_in_another_folder(desk: Desk) -> None:
    editor = desk.open()
    qwen = desk.qwen(cwd=desk.home.tmp)
    [finding] = desk.report(editor).of(qwen)
    assert finding.endswith("which no window has open. Open that folder, or start it in one that is open.")


def test_a_cli_that_was_started_before_the_plugin(desk: Desk) -> None:
    qwen = desk.qwen()
    editor = desk.open()
    report = desk.report(editor)
    [finding] = report.of(qwen)
    assert "before it could find" in finding
    assert finding.endswith("and it looks only once. Quit it and start it again.")
    assert report.state(qwen).endswith("not connected: was started before")
    # The remedy.
    again = desk.qwen()
    again.wait_connected()
    assert desk.report(editor).of(again) == []


def test_a_cli_with_its_ide_mode_off(desk: Desk) -> None:
    editor = desk.open()
    qwen = desk.qwen()
    qwen.wait_connected()
    qwen.command("/ide disable")
    editor.wait("end of the connection", lambda: desk.report(editor).of(qwen))
    [finding] = desk.report(editor).of(qwen)
    settings = desk.home.qwen_home / "settings.json"
    assert finding.endswith(f"has its IDE mode off (“ide.enabled” in {settings}). Type “/ide enable” in it.")
    # The remedy.
    qwen.command("/ide enable")
    qwen.wait_connected()
    assert desk.report(editor).of(qwen) == []


def test_a_gemini_cli_with_its_ide_mode_off(desk: Desk, gemini_program: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer "Yes" to its first question leaves the IDE mode off."""
    usual = gemini_cli.settings()
    monkeypatch.setattr(gemini_cli, "settings", lambda: {**usual, "ide": {"enabled": False, "hasSeenNudge": False}})
    editor = desk.open()
    gemini = Gemini(desk.home, desk.model)
    desk.clis.append(gemini)
    gemini.terminal.wait_text("Do you want to connect Sublime Text", START)
    gemini.terminal.press("\r")
    gemini.wait_ready()
    [finding] = desk.report(editor).of(gemini)
    assert "Type “/ide enable” in it. When it asks whether to connect, “Yes” does not help" in finding
    # The remedy.
    gemini.command("/ide enable")
    gemini.wait_connected()
    assert desk.report(editor).of(gemini) == []


def test_an_approval_mode_that_never_asks(desk: Desk) -> None:
    editor = desk.open()
    qwen = desk.qwen("--approval-mode", "auto-edit")
    qwen.wait_connected()
    [finding] = desk.report(editor).of(qwen)
    assert "“auto-edit” (--approval-mode)" in finding
    assert APPROVAL in finding


def test_settings_without_an_approval_mode_which_never_ask(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = qwen_cli.settings()
    monkeypatch.setattr(qwen_cli, "settings", lambda *_: {**usual, "tools": {}})
    editor = desk.open()
    qwen = desk.qwen()
    qwen.wait_connected()
    [finding] = desk.report(editor).of(qwen)
    assert "“auto” (its default since 0.21)" in finding
    assert APPROVAL in finding
    assert f"“tools.approvalMode”: “default” in {desk.home.qwen_home / 'settings.json'} sets it for good" in finding
    # The remedy.
    asking = desk.qwen("--approval-mode", "default")
    asking.wait_connected()
    assert desk.report(editor).of(asking) == []


@pytest.mark.long
def test_an_old_cli_that_has_no_variables_or_an_old_port(desk: Desk) -> None:
    """0.5.2 to 0.10.1 find an editor by its variables alone (docs/protocols/qwen-ide.md#variables)."""
    editor = desk.open()
    command = pinned("qwen", "0.8.2")
    bare = desk.qwen(command=command)
    [finding] = desk.report(editor).of(bare)
    assert "0.8.2 finds an editor by its variables alone. Run it from the palette (“Run Qwen Code”)" in finding
    old = desk.qwen(command=command, more={"QWEN_CODE_IDE_SERVER_PORT": "4000"})
    [finding] = desk.report(editor).of(old)
    assert finding.endswith(
        "with the port 4000, which belongs to no window here. Open a new terminal and start it there."
    )


@pytest.fixture
def process(desk: Desk, node_program: Path) -> Iterator[Callable[..., list[int]]]:
    """Starts a process that looks like some version of a CLI, in the project folder."""
    started: list[subprocess.Popen[bytes]] = []

    def run(package: str, version: str, **more: str) -> list[int]:
        folder = desk.home.root / "node_modules" / package
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"name": package, "version": version}))
        (folder / "cli.js").write_text("setInterval(() => {}, 1000)")
        command = [str(node_program), str(folder / "cli.js")]
        one = subprocess.Popen(command, cwd=desk.home.workspace, env=desk.home.environment(**more))
        started.append(one)
        return [one.pid]

    yield run
    for one in started:
        one.kill()
        one.wait()


def test_a_cli_that_is_too_old(desk: Desk, process: Callable[..., list[int]]) -> None:
    """Gemini CLI has sent a token since 0.6.0."""
    editor = desk.open()
    pids = process("@google/gemini-cli", "0.5.5")
    [finding] = desk.report(editor).of(pids)
    assert finding.endswith("0.5.5 sends no token, so it is not let in. Update it to 0.6 or later.")


def test_a_cli_with_another_home(desk: Desk, process: Callable[..., list[int]]) -> None:
    editor = desk.open()
    other = desk.home.tmp / "other"
    pids = process("@qwen-code/qwen-code", NEWEST_QWEN, QWEN_HOME=str(other))
    finding = desk.report(editor).of(pids)[0]
    assert f"looks for editors in {other}, since its variables differ" in finding
    assert finding.endswith("Start both from a terminal with the same variables.")


def test_a_cli_in_a_terminal_from_before(desk: Desk, process: Callable[..., list[int]]) -> None:
    """It has the port of an editor that has ended. An old version prefers the port to any file."""
    (desk.home.qwen_home / "settings.json").write_text(json.dumps(qwen_cli.settings()), encoding="utf-8")
    editor = desk.open()
    pids = process("@qwen-code/qwen-code", "0.8.2", QWEN_CODE_IDE_SERVER_PORT="4000")
    report = desk.report(editor)
    [finding] = report.of(pids)
    assert finding.endswith(
        "with the port 4000, which belongs to no window here. Open a new terminal and start it there."
    )
    assert report.state(pids).endswith("not connected: has an old port")


def test_an_old_cli_in_a_terminal_without_variables(desk: Desk, process: Callable[..., list[int]]) -> None:
    """0.5.2 to 0.10.1 find an editor by its variables alone (docs/protocols/qwen-ide.md#variables)."""
    (desk.home.qwen_home / "settings.json").write_text(json.dumps(qwen_cli.settings()), encoding="utf-8")
    editor = desk.open()
    pids = process("@qwen-code/qwen-code", "0.8.2")
    [finding] = desk.report(editor).of(pids)
    assert "0.8.2 finds an editor by its variables alone. Run it from the palette (“Run Qwen Code”)" in finding


def test_no_folder(desk: Desk) -> None:
    editor = desk.editor()
    editor.wait("port", lambda: desk.report(editor).text.count("port"))
    [finding] = desk.report(editor).others()
    assert finding.startswith("Window 1 has no folder, so no CLI can find it.")
    assert finding.endswith("Open one: Project → Add Folder to Project…")


@pytest.mark.skipif(sys.platform == "win32", reason="a link takes rights there that few have")
def test_a_discovery_folder_that_is_not_ours(desk: Desk) -> None:
    folder = desk.home.qwen_home / "ide"
    folder.symlink_to(desk.home.tmp)
    editor = desk.editor(desk.home.workspace)
    editor.wait("message", lambda: editor.state()["messages"])
    [finding] = desk.report(editor).others()
    assert f"Qwen Code can't find this editor through {folder}: it is a symbolic link. Put a folder there" in finding


def test_another_editor_on_the_same_folder(desk: Desk) -> None:
    first = desk.open()
    port = first.lock()["port"]
    desk.copied(first)
    second = desk.editor(desk.home.workspace)
    second.wait("lock file", lambda: len(second.lock_files()) == 2)
    desk.copied(second)
    [other] = [path.stem for path in second.lock_files() if path.stem != str(port)]
    qwen = desk.qwen()  # the CLI chooses the newest lock file
    qwen.wait_connected()
    copied = desk.copied(first)
    assert f"(port {other}) has a newer lock file for {desk.home.workspace}, which a CLI prefers." in copied
    assert "Click into Window 1, then start the CLI" in copied
    [finding] = desk.report(first).of(qwen)  # this command also puts the focus on the window
    assert f"is connected to Sublime Text (port {other}), which has its folder open too." in finding
    newest = max(first.lock_files(), key=lambda path: path.stat().st_mtime_ns)
    assert newest.stem == str(port)
    # The remedy.
    qwen.command("/ide disable")
    qwen.wait_disconnected()
    qwen.command("/ide enable")
    qwen.wait_connected()
    assert desk.report(first).of(qwen) == []


def test_the_log_of_a_session_has_no_secrets(desk: Desk) -> None:
    settings = desk.home.root / "ZDebug" / "QwenCompanion.sublime-settings"
    settings.parent.mkdir()
    settings.write_text('{"debug": true}')
    editor = desk.editor(desk.home.workspace, also=[settings.parent])
    lock = editor.lock()
    qwen = desk.qwen()
    qwen.wait_connected()
    path = desk.home.workspace / "greet.py"
    editor.open_file(path)
    script = qwen.ask_to_write(path, GREET_BETTER)
    editor.accept(editor.wait_diff(path))
    qwen.wait_done(script)
    desk.report(editor)
    logged = "\n".join(json.dumps(event, ensure_ascii=False) for event in editor.events) + editor.output()
    assert f"Qwen Code opens a diff of {path}" in logged
    assert lock["authToken"] not in logged
    for text in (GREET, GREET_BETTER):
        for line in filter(None, map(str.strip, text.splitlines())):
            assert line not in logged
