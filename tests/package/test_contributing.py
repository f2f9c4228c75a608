"""The steps of CONTRIBUTING.md, done as a newcomer would in a copy of the tree."""

from __future__ import annotations

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
        silent_modes=frozenset({"all"}),
        silent_since=None,
        sends_token_since=(1,),
        needs_variables_until=None,
        yes_enables=True,
        connect="/editor",
        to_be_asked="type /ask in it",
    ),
    layouts=(screen.RULES_AND_MODE,),
    takes_edits=False,
)

"""
LOOK = """
from companion.clis import families
from companion.clis.families import FAMILIES, called
from companion.clis.processes import RunningCli, started_as
from companion.clis.screen import prompt_text
from companion.clis.shell import login_command
from companion.clis.starting import settings_folder
from companion.server.endpoint import Endpoint
from companion.server.window_screen import ServedWindow
from companion.status import findings, survey
from companion.status.facts import Facts, PublishedFolder, Served, ShownWindow
import json, os, pathlib, sys, tempfile
folder = sys.argv[1]
# Discovery
endpoint = Endpoint.open(ServedWindow(1, (folder,)))
assert endpoint.publish() == []
[file] = pathlib.Path(tempfile.gettempdir(), "third").iterdir()
[third] = called(endpoint.caller(json.loads(file.read_text())["authToken"]).name)
assert file.name.startswith("third-") and endpoint.variables["THIRD_FOLDERS"] == folder
# Run and Send
assert "third --continue" in login_command("/bin/bash", third.launch, ["third"], resume=True)[-1]
assert prompt_text(["-" * 60], third.layouts) is None
rule = "\u2500" * 60
assert prompt_text([rule, "> please read", rule, "  ? for shortcuts"], third.layouts) == "please read"
# Status
family, program, arguments = started_as(["third", "--approval-mode", "all"])
running = RunningCli(family, 7, (7,), 2.0, folder, program, arguments, dict(os.environ), frozenset())
cli = survey.look_at(running)
served = {1: Served(endpoint.port, (PublishedFolder(folder, folder, 1.0),))}
facts = Facts(3.0, (), (ShownWindow(1, "Window", (folder,)),), served, (cli,))
said = " ".join(each.text for each in findings.findings(facts))
assert "Type \u201c/editor\u201d in it" in said and "To be asked, type /ask in it" in said, said
# Review
assert not families.takes_edits("Third CLI") and families.to_be_asked("Third CLI") == "type /ask in it"
endpoint.close()
print(third is family is FAMILIES[-1], third.name)
"""
TESTS = ["tests/unit/test_settings.py", "tests/package/test_reference.py", "tests/package/test_schema.py"]
TESTS += ["tests/package/test_keys.py"]


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


def add_family(tree: Path) -> None:
    """The steps under “Add a CLI family”."""
    families = tree / "companion/clis/families.py"
    replace(families, "\nFAMILIES = ", f"{FAMILY}\nFAMILIES = ")
    replace(families, "OPENCODE)\n", "OPENCODE, THIRD_CLI)\n")
    line = '    Setting("opencode_command", ["opencode"], or_text=True),\n'
    replace(tree / "companion/settings.py", line, line + line.replace("opencode", "third"))
    line = '    "opencode_command": ["opencode"],\n'
    replace(tree / "QwenCompanion.sublime-settings", line, line + line.replace("opencode", "third"))
    schema = tree / "sublime-package.json"
    [line] = [each for each in schema.read_text("utf-8").splitlines(keepends=True) if '"opencode_command"' in each]
    replace(schema, line, line + line.replace("opencode", "third").replace("OpenCode", "Third CLI"))
    run = '{ "caption": "Qwen: Run Third CLI", "command": "qwen_companion_run", "args": { "cli": "third" } },\n'
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


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="its own environment")
def test_a_cli_family_is_added_in_the_files_that_the_page_names(root: Path, tree: Path) -> None:
    steps = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = steps.partition("## Add a CLI family")[2].partition("\n## ")[0]
    add_family(tree)
    assert python(tree, "-m", "scripts.pages").returncode == 0
    files = [path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = [path.relative_to(tree).as_posix() for path in files]
    assert [name for name in names if not (root / name).exists()] == []
    changed = [name for name in names if (tree / name).read_bytes() != (root / name).read_bytes()]
    assert len(changed) == 6
    assert [name for name in changed if f"`{name}`" not in steps] == []
    others = [name for name in changed if name != "companion/clis/families.py"]
    longer = {name: len(_lines(tree / name)) - len(_lines(root / name)) for name in others}
    assert {name: more for name, more in longer.items() if more > (2 if name == "docs/reference.md" else 1)} == {}
    assert re.search(r"Run Third CLI.*third", (tree / "docs/reference.md").read_text(encoding="utf-8"))
    tests = python(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS)
    assert tests.returncode == 0, tests.stdout[-3000:]
    looked = python(tree, "-c", LOOK, str(tree))
    assert looked.stdout == "True Third CLI\n", looked.stderr
