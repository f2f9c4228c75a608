"""The batch files that npm and others make on Windows, as they make them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from companion.platforms import programs
from companion.platforms.programs import OPEN_FOLDERS

SHEBANGS = {
    "plain": "#!/usr/bin/env node",
    "options": "#!/usr/bin/env -S node --no-warnings=DEP0040",
}
PNPM = r"""@SETLOCAL
@IF NOT DEFINED NODE_PATH (
  @SET "NODE_PATH=C:\x\node_modules"
) ELSE (
  @SET "NODE_PATH=C:\x\node_modules;%NODE_PATH%"
)
@IF EXIST "%~dp0\node.exe" (
  "%~dp0\node.exe"  "%~dp0\global\cli.js" %*
) ELSE (
  @SET PATHEXT=%PATHEXT:;.JS;=;%
  node  "%~dp0\global\cli.js" %*
)
"""


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch):
    """Take this system for Windows, with its own separators."""
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    path = tmp_path / "nodejs" / "node.exe"
    path.parent.mkdir()
    path.touch(mode=0o755)
    return path


NPM = shutil.which("npm") or ""
NODE = shutil.which("node") or ""


def npm_folder() -> Path:
    """The folder with npm's own scripts."""
    beside = Path(NPM).parent / "node_modules" / "npm" / "bin"
    folder = beside if beside.is_dir() else Path(NPM).resolve().parent
    if not (folder / "npx.cmd").exists():
        pytest.skip("this npm has no batch files")
    return folder


def made(shim: Path, target: Path) -> None:
    """Have npm's own package make the shim."""
    package = npm_folder().parent / "node_modules" / "cmd-shim"
    script = (
        "require(process.argv[1])(process.argv[2], process.argv[3]).catch(e => { console.error(e); process.exit(1) })"
    )
    subprocess.run([NODE, "-e", script, package, target, shim], check=True)


def environment(*folders: Path) -> dict[str, str]:
    return {"PATH": os.pathsep.join(map(str, folders)), "PATHEXT": ".COM;.EXE;.BAT;.CMD;.VBS"}


@pytest.mark.parametrize("kind", SHEBANGS)
def test_a_shim_of_npm_is_replaced_by_node_and_its_script(tmp_path: Path, node: Path, kind: str):
    script = tmp_path / "npm" / "node_modules" / "@qwen-code" / "qwen-code" / "cli.js"
    script.parent.mkdir(parents=True)
    script.write_text(f"{SHEBANGS[kind]}\n")
    made(tmp_path / "npm" / "qwen", script)
    (tmp_path / "npm" / "qwen.cmd").chmod(0o755)
    found = programs.resolve(["qwen", "--workspace", r"C:\R&D\proj"], environment(tmp_path / "npm", node.parent))
    options = SHEBANGS[kind].split("node")[1].split()
    assert found == [str(node), *options, str(script), "--workspace", r"C:\R&D\proj"]


def test_a_node_beside_the_shim_comes_first(tmp_path: Path, node: Path):
    script = node.parent / "cli.js"
    script.write_text("#!/usr/bin/env node\n")
    made(node.parent / "qwen", script)
    (node.parent / "qwen.cmd").chmod(0o755)
    other = tmp_path / "other"
    other.mkdir()
    (other / "node.exe").touch(mode=0o755)
    assert programs.resolve(["qwen"], environment(other, node.parent)) == [str(node), str(script)]


@pytest.mark.parametrize("name", ["npm", "npx"])
def test_npm_itself_is_replaced_by_its_script(tmp_path: Path, node: Path, name: str):
    shutil.copy(npm_folder() / f"{name}.cmd", node.parent)
    (node.parent / f"{name}.cmd").chmod(0o755)
    script = node.parent / "node_modules" / "npm" / "bin" / f"{name}-cli.js"
    script.parent.mkdir(parents=True)
    script.touch()
    words = [name, "-y", "x&y"]
    assert programs.resolve(words, environment(node.parent)) == [str(node), str(script), "-y", "x&y"]


def test_a_shim_of_pnpm_is_replaced_too(tmp_path: Path, node: Path):
    folder = tmp_path / "pnpm"
    (folder / "global").mkdir(parents=True)
    (folder / "global" / "cli.js").touch()
    (folder / "qwen.cmd").write_text(PNPM, newline="\r\n")
    (folder / "qwen.cmd").chmod(0o755)
    found = programs.resolve(["qwen"], environment(folder, node.parent))
    assert found == [str(node), str(folder / "global" / "cli.js")]


@pytest.mark.parametrize(
    "text",
    [
        '@set FOO=bar\r\n@node "%~dp0\\cli.js" %*\r\n',
        '@node "%~dp0\\cli.js" %* & calc\r\n',
        '@node "%~dp0\\missing.js" %*\r\n',
        '@cmd /c "%~dp0\\cli.js" %*\r\n',
        "@volta run %~n0 %*\r\n",
        "@echo hello\r\n",
        "",
        "x" * 20_000,
    ],
)
def test_a_batch_file_of_another_kind_is_not_guessed(tmp_path: Path, node: Path, text: str):
    (node.parent / "cli.js").touch()
    shim = node.parent / "tool.cmd"
    shim.write_text(text, newline="")
    shim.chmod(0o755)
    assert programs.resolve(["tool", "a"], environment(node.parent)) == [str(shim), "a"]


def test_a_shim_that_starts_what_is_in_a_window_is_no_program_unless_the_person_names_it(tmp_path: Path, node: Path):
    """After `npm link`, the package beside the shim is the project's folder."""
    project, shim = tmp_path / "project", tmp_path / "npm" / "qwen.cmd"
    script = shim.parent / "global" / "cli.js"
    project.mkdir()
    (project / "cli.js").touch()
    shim.parent.mkdir()
    script.parent.symlink_to(project, target_is_directory=True)
    shim.write_text(PNPM)
    shim.chmod(0o755)
    OPEN_FOLDERS.set(1, [str(project)])
    assert programs.resolve(["qwen"], environment(shim.parent, node.parent)) is None
    assert programs.resolve([str(shim)], environment(node.parent)) == [str(node), str(script)]
    OPEN_FOLDERS.remove(1)
    assert programs.resolve(["qwen"], environment(shim.parent, node.parent)) == [str(node), str(script)]
