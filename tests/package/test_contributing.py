"""The steps of CONTRIBUTING.md, done as a newcomer would in a copy of the tree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FAMILY = """
THIRD_CLI = CliFamily(
    name="Third CLI",
    port_variable="THIRD_PORT",
    workspace_variable="THIRD_FOLDERS",
    files=(DiscoveryName(temporary_folder, ("third",), "third-{port}.json"),),
    launch=Launch(key="third", npm_package="third-cli", resume=("--continue",)),
    habits=Habits(
        folder=".third",
        home_variable="THIRD_HOME",
        home_is_folder=True,
        approval_setting="approval",
        asking_modes=frozenset({"ask"}),
        silent_since=None,
        sends_token_since=(1,),
        needs_variables_until=None,
        yes_enables=True,
    ),
    layouts=(),
)

FAMILIES = (QWEN_CODE, GEMINI_CLI, THIRD_CLI)
"""
LOOK = """
from companion.clis.families import FAMILIES
from companion.server.endpoint import Endpoint
from companion.server.port import ServedWindow
import pathlib, sys, tempfile
endpoint = Endpoint.open(ServedWindow(1, (sys.argv[1],)))
assert endpoint.publish() == []
[file] = pathlib.Path(tempfile.gettempdir(), "third").iterdir()
print(file.name.startswith("third-"), endpoint.variables["THIRD_FOLDERS"] == sys.argv[1])
endpoint.close()
"""
TESTS = ["tests/unit/test_settings.py", "tests/package/test_reference.py", "tests/package/test_schema.py"]
TESTS += ["tests/package/test_keys.py"]


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


def add_family(tree: Path) -> None:
    """The steps under “Add a CLI family”."""
    replace(tree / "companion/clis/families.py", "\nFAMILIES = (QWEN_CODE, GEMINI_CLI)\n", FAMILY)
    gemini = '    Setting("gemini_command", ["gemini"], or_text=True),\n'
    replace(tree / "companion/settings.py", gemini, gemini + gemini.replace("gemini", "third"))
    line = '    "gemini_command": ["gemini"],\n'
    replace(tree / "QwenCompanion.sublime-settings", line, line + line.replace("gemini", "third"))
    schema = json.loads((tree / "sublime-package.json").read_text(encoding="utf-8"))
    own = schema["contributions"]["settings"][0]["schema"]
    names = list(own["properties"])
    names.insert(names.index("gemini_command") + 1, "third_command")
    own["properties"]["third_command"] = {
        **own["properties"]["gemini_command"],
        "default": ["third"],
        "markdownDescription": "What *Run Third CLI* runs.",
    }
    own["properties"] = {name: own["properties"][name] for name in names}
    (tree / "sublime-package.json").write_text(json.dumps(schema, ensure_ascii=False), encoding="utf-8")
    run = (
        '{ "caption": "Qwen Companion: Run Third CLI", "command": "qwen_companion_run", "args": { "cli": "third" } },\n'
    )
    palette = tree / "Default.sublime-commands"
    palette.write_text(palette.read_text(encoding="utf-8").replace("[\n", f"[\n{run}", 1), encoding="utf-8")


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the tree, with a temporary folder of its own."""
    (tree / "tmp").mkdir(exist_ok=True)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tree / "tmp"),
        "TMPDIR": str(tree / "tmp"),
        "TMP": str(tree / "tmp"),
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.skipif(sys.platform == "win32", reason="its own environment")
def test_a_cli_family_is_added_in_the_files_that_the_page_names(root: Path, tree: Path) -> None:
    steps = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = steps.partition("## Add a CLI family")[2].partition("\n## ")[0]
    add_family(tree)
    assert python(tree, "-m", "scripts.pages").returncode == 0
    changed = [
        path.relative_to(tree).as_posix()
        for path in tree.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.read_bytes() != (root / path.relative_to(tree)).read_bytes()
    ]
    assert len(changed) == 6
    assert [name for name in changed if f"`{name}`" not in steps] == []
    assert re.search(r"Run Third CLI.*third", (tree / "docs/reference.md").read_text(encoding="utf-8"))
    tests = python(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS)
    assert tests.returncode == 0, tests.stdout[-3000:]
    looked = python(tree, "-c", LOOK, str(tree))
    assert looked.stdout == "True True\n", looked.stderr
