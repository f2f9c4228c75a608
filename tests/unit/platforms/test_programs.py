"""Programs are found by absolute paths and started without a shell that could read a text as code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import programs

posix = pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts, with paths of POSIX")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Take this system for Windows. Returns what was started."""
    started: list[Any] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(programs, "WITHOUT_CURRENT_FOLDER", {"NODEFAULTCURRENTDIRECTORYINEXEPATH": "1"})
    monkeypatch.setattr(subprocess, "CREATE_NO_WINDOW", 1, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 2, raising=False)
    return started


def started(words: list[str] | str, environment: dict[str, str] | None = None, folder: str | None = None) -> Any:
    """What a program would be started with."""
    return programs.start(words, environment or {}, folder=folder, kind=lambda *given, **named: (given[0], named))


def script(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@posix
@pytest.mark.parametrize("path", ["", ".", ":", "./bin", "bin", ":{}", ".:{}", "{}:", "project/bin:{}"])
def test_no_program_is_taken_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str):
    project = tmp_path / "project"
    for each in ("qwen", "bin/qwen", "project/bin/qwen"):
        script(project / each)
    monkeypatch.chdir(project)
    assert programs.find("qwen", {"PATH": path.format("/nowhere")}) is None
    assert programs.find("./qwen", {"PATH": str(project)}) is None
    assert programs.find("bin/qwen", {"PATH": str(project)}) is None
    with pytest.raises(ValueError, match="absolute"):
        programs.start(["qwen"], {"PATH": str(project)}, folder=str(project))


@posix
def test_what_a_program_starts_is_not_taken_from_its_folder_either(tmp_path: Path):
    """A script that begins with `#!/usr/bin/env node` would run the project's node."""
    project, bin_ = tmp_path / "project", tmp_path / "bin"
    script(project / "node", "echo of the project")
    script(bin_ / "node", "echo ours")
    program = bin_ / "qwen"
    program.write_text("#!/usr/bin/env node\n")
    program.chmod(0o755)
    environment = {"PATH": f"::.:{bin_}:/usr/bin:/bin"}
    process = programs.start([str(program)], environment, folder=str(project), stdout=subprocess.PIPE)
    assert process.communicate(timeout=20)[0] == b"ours\n"


@posix
def test_a_program_has_its_arguments_as_they_are(tmp_path: Path):
    program = script(tmp_path / "program", 'printf "%s|" "$@"')
    done = programs.run([str(program), "a b", "$HOME", "&", ""], dict(os.environ), 20)
    assert done.stdout == b"a b|$HOME|&||"
    with pytest.raises(subprocess.TimeoutExpired):
        programs.run([str(script(tmp_path / "slow", "exec sleep 60")), "a"], dict(os.environ), 0.1)


@posix
def test_on_windows_the_extensions_of_programs_are_tried(tmp_path: Path, windows: list[Any]):
    for name in ("a.cmd", "a.js", "b.js"):
        script(tmp_path / name)
    environment = {"Path": f'relative:"{tmp_path}"', "PATHEXT": ".JS;.CMD"}
    assert programs.find("a", environment) == f"{tmp_path}/a.cmd"
    assert programs.find("a.cmd", environment) == f"{tmp_path}/a.cmd"
    assert programs.find(f"{tmp_path}/a", environment) == f"{tmp_path}/a.cmd"
    assert programs.find("b", environment) is None


@pytest.mark.parametrize(
    "text", [r"C:\R&D\proj", "a|b", "%PATH%", "a^b", 'a"b', "(x)", "!x!", "a\nb", "a>b", "a;b", "é&"]
)
def test_a_batch_file_is_given_no_text_that_could_be_code(tmp_path: Path, windows: list[Any], text: str):
    with pytest.raises(programs.BatchFileError, match=r"tool\.cmd is a batch file"):
        started([str(tmp_path / "tool.cmd"), "--workspace", text])


@posix
def test_a_batch_file_is_run_by_the_systems_own_interpreter(windows: list[Any]):
    line, named = started(["/C:/R&D (x)/tool.cmd", "--workspace", "C:\\my proj\\"], {"SystemRoot": r"C:\Win"})
    assert line == (r'"C:\Win\System32\cmd.exe" /d /v:off /s /c ""/C:/R&D (x)/tool.cmd" --workspace "C:\my proj\\""')
    assert named["env"] == {"SYSTEMROOT": r"C:\Win", "NODEFAULTCURRENTDIRECTORYINEXEPATH": "1"}
    with pytest.raises(programs.BatchFileError):
        started(["/C:/100%/tool.cmd"])


@posix
def test_on_windows_nothing_is_run_by_the_interpreter_in_a_network_folder(windows: list[Any]):
    for words in (["/tools/tool.cmd"], "echo a line"):
        with pytest.raises(OSError, match="network folder"):
            started(words, folder=r"\\server\share")
    assert started(["/tools/tool.exe"], folder=r"\\server\share")


@posix
def test_on_windows_a_programs_variables_are_one_whatever_their_case(windows: list[Any]):
    _, named = started(["/tool.exe"], {"PATH": "/a", "Path": "/b:relative"})
    assert named["env"]["PATH"] == "/b"
