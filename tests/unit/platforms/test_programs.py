"""Programs are found by absolute paths and started without a shell that could read a text as code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import paths, programs
from companion.platforms.programs import OPEN_FOLDERS

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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of a window, with programs of its own."""
    folder = tmp_path / "project"
    for name in (".venv/bin/qwen", "node_modules/.bin/qwen", "qwen", "bin/node", "bin/git"):
        script(folder / name, "echo of the project")
    OPEN_FOLDERS.set(1, [str(folder)])
    return folder


@posix
@pytest.mark.parametrize("inside", [".venv/bin", "node_modules/.bin", "", ".", "bin/..", "./.venv//bin/", "no/../bin"])
@pytest.mark.parametrize("name", ["qwen", "git", "node"])
def test_folders_of_the_path_that_are_in_a_window_are_passed_over(
    tmp_path: Path, project: Path, inside: str, name: str
):
    ours = script(tmp_path / "bin" / name)
    path = os.pathsep.join([f"{project}/{inside}", inside, "", ".", str(ours.parent), f"{project}/bin"])
    assert programs.find(name, {"PATH": path}) == str(ours)
    assert programs.resolve([name, "x"], {"PATH": path}) == [str(ours), "x"]
    assert programs.find(name, {"PATH": f"{project}/{inside}"}) is None


@posix
def test_a_program_in_the_folder_of_any_window_is_passed_over(tmp_path: Path, project: Path):
    for number, name in enumerate(("one", "two", "three")):
        script(tmp_path / name / "qwen")
        OPEN_FOLDERS.set(10 + number, [str(tmp_path / "none"), str(tmp_path / name)])
        assert programs.find("qwen", {"PATH": str(tmp_path / name)}) is None
    OPEN_FOLDERS.set(11, [])
    OPEN_FOLDERS.remove(12)
    OPEN_FOLDERS.remove(12)
    found = [programs.find("qwen", {"PATH": str(tmp_path / name)}) for name in ("one", "two", "three")]
    assert found == [None, str(tmp_path / "two/qwen"), str(tmp_path / "three/qwen")]


@posix
def test_a_link_into_a_window_is_passed_over_and_so_is_one_that_leads_through_it(tmp_path: Path, project: Path):
    """Whoever may change a link in the project decides what is behind it, even if that is elsewhere now."""
    real = script(tmp_path / "real" / "bin" / "qwen")
    (tmp_path / "folder").symlink_to(project / ".venv" / "bin")
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "qwen").symlink_to(project / "qwen")
    (project / "out").symlink_to(real.parent)
    (tmp_path / "back").symlink_to("project/out")
    (tmp_path / "chain").symlink_to("back")
    for folder in ("folder", "file", "project/out", "back", "chain", "chain/../bin"):
        assert programs.find("qwen", {"PATH": str(tmp_path / folder)}) is None, folder
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "good").symlink_to("real/bin")
    path = f"{tmp_path}/loop:{tmp_path}/folder:{tmp_path}/good"
    assert programs.find("qwen", {"PATH": path}) == str(tmp_path / "good" / "qwen")


@posix
def test_a_window_whose_folder_is_a_link_has_what_that_leads_to(tmp_path: Path, project: Path):
    (tmp_path / "opened").symlink_to("project")
    OPEN_FOLDERS.set(1, [str(tmp_path / "opened")])
    for path in (project, tmp_path / "opened"):
        assert programs.find("qwen", {"PATH": str(path)}) is None
    (tmp_path / "opened").unlink()
    (tmp_path / "opened").mkdir()
    (tmp_path / "opened").rmdir()
    assert programs.find("qwen", {"PATH": f"{tmp_path}/opened/bin"}) is None


@posix
def test_other_spellings_of_a_folder_are_the_same_folder(tmp_path: Path, project: Path):
    """Many disks know no difference between upper and lower case, nor between the forms of one letter."""
    for name in ("PROJECT", "Project/bin"):
        script(tmp_path / name / "qwen")
        assert programs.find("qwen", {"PATH": str(tmp_path / name)}) is None
    (tmp_path / "caf\u00e9").mkdir()
    OPEN_FOLDERS.set(2, [str(tmp_path / "caf\u00e9")])
    script(tmp_path / "cafe\u0301" / "qwen")
    assert programs.find("qwen", {"PATH": str(tmp_path / "cafe\u0301")}) is None
    script(tmp_path / "project2" / "qwen")
    assert programs.find("qwen", {"PATH": str(tmp_path / "project2")}) == str(tmp_path / "project2" / "qwen")


@posix
def test_a_folder_is_known_by_its_place_on_the_disk_too(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch):
    """Another name of it, as a mount or a short name of Windows is, has the same numbers."""
    monkeypatch.setattr(programs, "_is_below", lambda *_: False)
    assert programs.find("qwen", {"PATH": f"{project}/.venv/bin"}) is None


@posix
@pytest.mark.parametrize("folder", ["/", "{home}", "{home}/..", "{link}"])
def test_a_window_of_the_home_or_the_root_takes_nothing_away(tmp_path: Path, home: Path, folder: str):
    """All of the person's own programs are below it."""
    (tmp_path / "link").symlink_to(home)
    own = script(home / ".local" / "bin" / "qwen")
    OPEN_FOLDERS.set(1, [folder.format(home=home, link=tmp_path / "link")])
    assert programs.find("qwen", {"PATH": str(own.parent)}) == str(own)
    OPEN_FOLDERS.set(2, [str(home / ".local")])
    assert programs.find("qwen", {"PATH": str(own.parent)}) is None


@posix
def test_a_path_that_the_person_has_named_may_be_in_a_project(project: Path):
    """It is shown to them before it is started for the first time (docs/dev/security.md)."""
    assert programs.find(str(project / "qwen"), {"PATH": ""}) == str(project / "qwen")


@posix
def test_what_is_started_finds_no_program_of_a_project(tmp_path: Path, project: Path):
    """A script that begins with `#!/usr/bin/env node`, as npm's do, would run the project's."""
    script(tmp_path / "bin" / "node", "echo ours")
    program = tmp_path / "bin" / "qwen"
    program.write_text("#!/usr/bin/env node\n")
    program.chmod(0o755)
    (tmp_path / "link").symlink_to(project / "bin")
    path = f"{project}/bin:{tmp_path}/link:{tmp_path}/bin:/usr/bin:/bin"
    done = programs.run([str(program)], {"PATH": path}, 20)
    assert done.stdout == b"ours\n"
    assert programs.safe_environment({"PATH": path})["PATH"] == f"{tmp_path}/bin:/usr/bin:/bin"


@posix
def test_a_folder_whose_disk_hangs_holds_nobody_up(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch):
    answers, realpath = threading.Event(), os.path.realpath

    def hanging(path: str, **options: Any) -> str:
        if path == "/share/project":
            answers.wait(60)
        return realpath(path, **options)

    monkeypatch.setattr(os.path, "realpath", hanging)
    monkeypatch.setattr(paths, "LIMIT", 0.1)
    OPEN_FOLDERS.set(2, ["/share/project"])
    try:
        assert programs.find("qwen", {"PATH": f"/share/project/bin:{project}"}) is None
        assert OPEN_FOLDERS.holds("/share/project/bin/qwen")
        assert not OPEN_FOLDERS.holds("/usr/bin/qwen")
    finally:
        answers.set()


@posix
def test_a_page_is_opened_by_a_program_of_the_persons(tmp_path: Path, project: Path):
    told = tmp_path / "told"
    for name in ("xdg-open", "firefox"):
        script(project / "bin" / name, f"echo project > {told}")
    assert not programs.open_page("https://a.example/x", {"PATH": f"{project}/bin"})
    ours = script(tmp_path / "bin" / "xdg-open", f'echo "$@" > {told}.new; /bin/mv {told}.new {told}')
    if sys.platform == "linux":
        assert programs.open_page("https://a.example/x", {"PATH": f"{project}/bin:{ours.parent}", "BROWSER": "none"})
        end = time.monotonic() + 20
        while not told.exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert told.read_text() == "https://a.example/x\n"


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
