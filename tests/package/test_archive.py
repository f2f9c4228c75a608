from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from companion import __version__
from headless import jsonc

MUST_SHIP = {
    ".python-version",
    "CHANGELOG.md",
    "Context.sublime-menu",
    "Default.sublime-commands",
    "Default.sublime-keymap",
    "LICENSE",
    "Main.sublime-menu",
    "QwenCompanion.sublime-settings",
    "README.md",
    "Side Bar.sublime-menu",
    "Tab Context.sublime-menu",
    "dependencies.json",
    "messages.json",
    "messages/install.txt",
    "plugin.py",
    "sublime-package.json",
}
MAY_SHIP = re.compile(
    r"docs/[a-z-]+\.md|companion/.*\.(py|css|html)|companion/registry/registry\.json|companion/clis/mcp_bridge\.mjs|messages/[0-9.]+\.txt|[^/]+\.(sublime-[a-z-]+|hidden-[a-z]+)"
)
"""Which pages of docs/ ship is looked at below."""


def build(root: Path, target: Path) -> Path:
    run = subprocess.run(
        [shutil.which("bash") or "bash", root / "scripts/package", "--worktree", target],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return target


def names(archive: Path) -> set[str]:
    with zipfile.ZipFile(archive) as package:
        return {name for name in package.namelist() if not name.endswith("/")}


@pytest.fixture(scope="session")
def package(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it would be built from the files as they are now."""
    return build(root, tmp_path_factory.mktemp("package") / "QwenCompanion.sublime-package")


def test_everything_that_sublime_text_and_package_control_read_ships(package: Path) -> None:
    assert sorted(MUST_SHIP - names(package)) == []


def test_the_links_of_the_shipped_pages_lead_to_shipped_files(package: Path) -> None:
    """Pictures are not shipped: Sublime Text shows the pages as text."""
    shipped = names(package)
    pages = [name for name in shipped if name.endswith(".md")]
    assert {"README.md", "docs/compatibility.md"} <= set(pages)
    broken: list[tuple[str, str]] = []
    with zipfile.ZipFile(package) as archive:
        for page in pages:
            text = archive.read(page).decode()
            for link in re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:|#|docs/pictures/)([^)#\s]+)", text):
                target = os.path.normpath(os.path.join(os.path.dirname(page), link)).replace(os.sep, "/")
                if target not in shipped:
                    broken.append((page, link))
    assert broken == []


def test_nothing_else_ships(package: Path) -> None:
    assert sorted(name for name in names(package) - MUST_SHIP if not MAY_SHIP.fullmatch(name)) == []


def test_every_module_ships(root: Path, package: Path) -> None:
    modules = {path.relative_to(root).as_posix() for path in (root / "companion").rglob("*.py")}
    assert modules
    assert modules <= names(package)


def test_only_one_module_is_in_the_root_where_sublime_text_looks_for_plugins(package: Path) -> None:
    assert [name for name in names(package) if name.endswith(".py") and "/" not in name] == ["plugin.py"]


def test_the_plugin_host_is_asked_for_python_3_14(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        assert archive.read(".python-version").strip() == b"3.14"


def test_every_resource_is_valid_json_with_comments(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        resources = [name for name in names(package) if re.search(r"\.(json|sublime-(?!syntax|package)[a-z-]+)$", name)]
        assert resources
        for name in resources:
            assert jsonc.loads(archive.read(name).decode()), name


def test_this_version_has_a_message_and_no_message_is_left_out(root: Path, package: Path) -> None:
    """What is new is told at each upgrade, and in the changelog's words for commands."""
    messages = jsonc.loads((root / "messages.json").read_text(encoding="utf-8"))
    assert "install" in messages
    assert all(re.fullmatch(r"install|\d+\.\d+\.\d+", key) for key in messages)
    assert messages[__version__] == f"messages/{__version__}.txt"
    assert sorted(messages.values()) == sorted(name for name in names(package) if name.startswith("messages/"))
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(released) <= set(messages)
    commands = jsonc.loads((root / "Default.sublime-commands").read_text(encoding="utf-8"))
    captions = {command["caption"] for command in commands}
    for version, file in messages.items():
        text = (root / file).read_text(encoding="utf-8")
        assert set(re.findall(r'"(Qwen: [^"]+)"', text)) <= captions
        assert version == "install" or text.startswith(f"QwenCompanion {version}\n")
        assert max(map(len, text.splitlines())) <= 120


def test_the_message_at_the_installation_names_commands_that_exist(root: Path) -> None:
    commands = jsonc.loads((root / "Default.sublime-commands").read_text(encoding="utf-8"))
    text = (root / "messages/install.txt").read_text(encoding="utf-8")
    named = set(re.findall(r'"(Qwen: [^"]+)"', text))
    assert named
    assert named <= {command["caption"] for command in commands}
    # Both families get as far as a diff by it.
    for needed in ("Run Qwen Code", "Run Gemini CLI", "/ide enable", 'answer "No"'):
        assert needed in text


def test_the_first_screen_answers_what_a_newcomer_asks(root: Path) -> None:
    """What is needed, the mode first, what the CLIs print and what it means, keys of a Mac, the way back."""
    for page in ("README.md", "messages/install.txt"):
        text = " ".join((root / page).read_text(encoding="utf-8").split())
        needed = ("Terminus", "Node.js 22", "npm install -g @qwen-code/qwen-code", "Nothing is installed")
        needed += (
            "IDE integration is not supported in your current environment",
            "Automatic installation is not supported",
        )
        assert [words for words in needed if words not in text] == []
        assert text.lower().index("approval mode") < text.index("Open a folder")
        assert re.search(r"`?F8`? may need `?fn", text)
    assert "Remove Repository" in (root / "messages/install.txt").read_text(encoding="utf-8")
    assert "Remove Repository" in (root / "docs/start.md").read_text(encoding="utf-8")


def test_the_settings_menu_leads_to_the_readme_the_changelog_and_the_documentation(root: Path, package: Path) -> None:
    text = (root / "Main.sublime-menu").read_text(encoding="utf-8")
    opened = set(re.findall(r'"\$\{packages\}/QwenCompanion/([^"]+)"', text))
    assert {"README.md", "CHANGELOG.md"} <= opened <= names(package)
    assert "qwen_companion_documentation" in text


def test_the_pages_of_users_ship_and_are_those_that_documentation_lists(root: Path, package: Path) -> None:
    source = (root / "companion/sublime_text/status.py").read_text(encoding="utf-8")
    [pages] = [
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "PAGES"
    ]
    shipped = {name for name in names(package) if name.startswith("docs/")}
    assert shipped == {f"docs/{page}.md" for page in pages} - {"docs/README.md"}
    assert not shipped & {f"docs/{name}.md" for name in ("architecture", "performance", "reliability", "real-editor")}


def test_a_source_tree_without_its_history_gives_the_same_package(tree: Path, package: Path) -> None:
    assert names(build(tree, tree / "dist/test.sublime-package")) == names(package)


def test_the_same_files_give_the_same_bytes(tree: Path, tmp_path: Path) -> None:
    assert build(tree, tmp_path / "one").read_bytes() == build(tree, tmp_path / "two").read_bytes()
