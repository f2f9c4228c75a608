"""Which running CLIs change files without asking."""

from __future__ import annotations

from pathlib import Path

import pytest

from companion import statuses
from companion.clis.families import GEMINI_CLI, QWEN_CODE, CliFamily
from companion.clis.processes import RunningCli
from companion.status.facts import Cli


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
    ],
)
def test_a_cli_that_never_asks_is_found_by_its_options_settings_and_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: tuple[CliFamily, tuple[str, ...], str | None, str], why: str
):
    family, arguments, approval, version = cli
    one = running(family, tmp_path, *arguments, approval=approval, version=version)
    monkeypatch.setattr(statuses, "clis", lambda: (one,))
    assert statuses.silent_clis([str(tmp_path)]) == ({family.name: why} if why else {})
    assert statuses.silent_clis([str(tmp_path / "other")]) == {}
