"""Which running CLIs change files without asking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from companion import companion as companion_module
from companion.clis.families import CLAUDE_CODE, COPILOT_CLI, GEMINI_CLI, OPENCODE, QWEN_CODE, CliFamily
from companion.clis.processes import RunningCli
from companion.settings import Review, Settings
from companion.status.facts import Cli

from ..conftest import FIRST, Running, until


def running(family: CliFamily, cwd: Path, *arguments: str, approval: str | None = None, version: str = "0.24.4") -> Cli:
    process = RunningCli(family, 7, (7,), 0.0, str(cwd), family.launch.key, arguments, {}, frozenset())
    return Cli(process, tuple(map(int, version.split("."))), "settings.json", True, approval)


@pytest.mark.parametrize(
    ("cli", "why"),
    [
        ((QWEN_CODE, (), None, "0.24.4"), "auto, its default since 0.21"),
        ((QWEN_CODE, (), None, "0.20.0"), None),
        ((QWEN_CODE, ("--approval-mode", "default"), None, "0.24.4"), None),
        ((QWEN_CODE, ("--yolo",), None, "0.24.4"), "yolo, --yolo"),
        ((QWEN_CODE, (), "default", "0.24.4"), None),
        ((GEMINI_CLI, ("--approval-mode=auto_edit",), None, "0.61.0"), "auto_edit, --approval-mode"),
        ((GEMINI_CLI, (), None, "0.61.0"), None),
        ((CLAUDE_CODE, (), None, "2.1.318"), None),
        ((CLAUDE_CODE, (), "acceptEdits", "2.1.318"), "acceptEdits, its settings"),
        ((CLAUDE_CODE, ("--permission-mode", "plan"), "acceptEdits", "2.1.318"), None),
        (
            (CLAUDE_CODE, ("--dangerously-skip-permissions",), None, "2.1.318"),
            "dangerously-skip-permissions, --dangerously-skip-permissions",
        ),
        ((COPILOT_CLI, (), None, "1.0.102"), None),
        ((COPILOT_CLI, ("--allow-all-tools",), None, "1.0.102"), "allow-all-tools, --allow-all-tools"),
        ((COPILOT_CLI, ("--allow-tool", "write"), None, "1.0.102"), "allow-tool=write, --allow-tool=write"),
        ((COPILOT_CLI, ("--allow-tool", "shell"), None, "1.0.102"), None),
        ((CLAUDE_CODE, ("--permission-mode", "manual"), "acceptEdits", "2.1.318"), None),
        ((CLAUDE_CODE, (), "dontAsk", "2.1.318"), None),
        ((OPENCODE, ("--auto",), "ask", "1.18.34"), "auto, --auto"),
        ((OPENCODE, (), "deny", "1.18.34"), None),
        ((OPENCODE, (), "unknown", "1.18.34"), None),
        ((OPENCODE, (), None, "1.18.34"), "auto, its default"),
        ((OPENCODE, (), "ask", "1.18.34"), None),
    ],
)
def test_a_cli_that_never_asks_is_found_by_its_options_settings_and_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: tuple[CliFamily, tuple[str, ...], str | None, str], why: str
):
    family, arguments, approval, version = cli
    one = running(family, tmp_path, *arguments, approval=approval, version=version)
    monkeypatch.setattr(companion_module, "clis", lambda: (one,))
    assert companion_module.silent_clis([str(tmp_path)]) == ({family.name: why} if why else {})
    assert companion_module.silent_clis([str(tmp_path / "other")]) == {}


@pytest.mark.parametrize("review", ["before", "after", "off"])
def test_only_a_person_who_has_not_chosen_to_review_afterwards_is_warned_of_it(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, review: Review
):
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(
        companion_module, "silent_clis", lambda folders: asked.append(folders) or {QWEN_CODE.name: "yolo"}
    )
    running = start(Settings(review=review))
    running.listening()
    until(lambda: asked)
    until(lambda: running.do(lambda companion: companion.changes.unasking(FIRST)))
    warned = [text for text, _ in running.editor.mentioned if "doesn't ask" in text]
    shown = running.do(lambda companion: companion.statuses.of(FIRST)).unasking
    assert (bool(warned), bool(shown)) == ((False, False) if review == "after" else (True, True))
    assert all(len(text.partition(". ")[0]) <= 80 for text in warned)


def test_a_cli_that_has_proposed_a_change_is_not_shown_as_one_that_never_asks(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(companion_module, "silent_clis", lambda _: {QWEN_CODE.name: "yolo"})
    running = start(Settings())
    cli, _ = running.listening()
    until(lambda: running.do(lambda companion: companion.statuses.of(FIRST)).unasking)
    path = str(tmp_path / "a.py")
    cli.open_diff(path, "new\n")
    running.diff(path)
    cli.close_diff(path)
    until(lambda: not running.editor.open_diffs)
    assert running.do(lambda companion: companion.statuses.of(FIRST)).unasking == ()
