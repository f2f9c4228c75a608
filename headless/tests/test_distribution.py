"""`pip install ./headless` gives the distribution `headless-sublime` and its console command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads((FOLDER / "pyproject.toml").read_text())
PLUGIN = "import sublime_plugin\nclass SampleCommand(sublime_plugin.WindowCommand):\n    def run(self): pass\n"
TESTS = """
from unittesting import DeferrableTestCase
from Sample.plugin import SampleCommand

class TestSample(DeferrableTestCase):
    def test_the_package_is_loaded(self):
        yield 1
        self.assertEqual(SampleCommand.__module__, "Sample.plugin")
"""


def foreign_package(folder: Path) -> Path:
    """A small package that has nothing to do with this repository, with a test of its own."""
    package = folder / "Sample"
    (package / "tests").mkdir(parents=True)
    (package / "plugin.py").write_text(PLUGIN)
    (package / "tests" / "test_sample.py").write_text(TESTS)
    return package


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_layers_name_every_module():
    layers = CONFIGURATION["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name.strip() for layer in layers for name in layer.split(":")}
    found = set()
    for file in FOLDER.rglob("*.py"):
        parts = file.relative_to(FOLDER.parent).with_suffix("").parts
        if parts[1] not in ("tests", "default") and parts[-1] != "__init__":
            name = ".".join(parts)
            found.add(next((n for n in named if name == n or name.startswith(n + ".")), f"{name} in no layer"))
    assert found == named


def test_the_built_wheel_runs_a_foreign_packages_tests(tmp_path: Path):
    """The wheel as pip would build it, without a network: the build backend is one of the tools of this repository."""
    source = tmp_path / "source"
    shutil.copytree(FOLDER, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "tests"))
    run(sys.executable, "-c", "from hatchling.build import build_wheel; build_wheel('..')", cwd=source)
    (wheel,) = tmp_path.glob("headless_sublime-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    expected = {file.relative_to(source) for file in source.rglob("*.py")}
    assert {file.relative_to(installed / "headless") for file in (installed / "headless").rglob("*")} >= expected
    command = (
        "from importlib.metadata import entry_points as e; e(group='console_scripts')['headless-sublime'].load()()"
    )
    package = foreign_package(tmp_path)
    output = run(sys.executable, "-c", command, "test", cwd=package, PYTHONPATH=str(installed))
    assert "Ran 1 test" in output
    assert "OK" in output


@pytest.mark.long
def test_pip_installs_the_console_command(tmp_path: Path):
    """With uv, as scripts/setup does it; it fetches the build backend from the package registry."""
    uv = shutil.which("uv") or FOLDER.parent / ".cache" / "uv" / "bin" / "uv"
    folder = tmp_path / "environment"
    run(uv, "venv", "--quiet", "--no-project", "--python", sys.executable, folder, cwd=tmp_path)
    source = tmp_path / "source"
    shutil.copytree(FOLDER, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    run(uv, "pip", "install", "--quiet", "--no-config", "--python", scripts / "python", source, cwd=tmp_path)
    package = foreign_package(tmp_path)
    output = run(scripts / "headless-sublime", "test", "--package", package, "--tests", package / "tests", cwd=tmp_path)
    assert "Ran 1 test" in output
