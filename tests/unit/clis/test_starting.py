"""What is known of a CLI before it is started."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from companion.clis import mcp_configuration
from companion.clis.families import CLAUDE_CODE, GEMINI_CLI, QWEN_CODE
from companion.clis.starting import Start, look
from companion.platforms.programs import OPEN_FOLDERS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="its programs are scripts for a shell")


def written(path: Path, values: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}


def install(tmp_path: Path, version: str) -> None:
    """A `qwen` as npm installs it: a link to a file of its package."""
    package = tmp_path / "lib" / "qwen-code"
    written(package / "package.json", {"name": "@qwen-code/qwen-code", "version": version})
    (package / "cli.js").write_text("")
    (package / "cli.js").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "qwen").symlink_to(package / "cli.js")
    (tmp_path / "bin" / "node").symlink_to(package / "cli.js")


def talked(environment: dict[str, str], folder: Path) -> None:
    """Qwen Code has a conversation of a folder."""
    name = re.sub(r"[^a-zA-Z0-9]", "-", os.path.realpath(folder))
    written(Path(environment["HOME"], ".qwen", "projects", name, "chats", "1.jsonl"), {})


@pytest.mark.parametrize(
    ("values", "mode"),
    [
        (None, None),
        ({}, None),
        ({"tools": {"approvalMode": "auto-edit"}}, "auto-edit"),
        ({"tools": {"approvalMode": "default"}}, "default"),
        ({"tools": {"approvalMode": 1}}, None),
        ({"tools": "yes"}, None),
    ],
)
def test_the_approval_mode_is_the_persons_own(
    tmp_path: Path, environment: dict[str, str], values: object, mode: str | None
) -> None:
    written(tmp_path / "project" / ".qwen" / "settings.json", {"tools": {"approvalMode": "yolo"}})
    if values is not None:
        written(tmp_path / "home" / ".qwen" / "settings.json", values)
    assert look(QWEN_CODE, ["qwen"], str(tmp_path / "project"), environment) == Start(mode, "yolo")
    assert look(QWEN_CODE, "qwen --approval-mode plan", str(tmp_path / "project"), environment) == Start(mode, None)


def test_the_local_settings_of_a_folder_say_how_claude_code_starts(tmp_path: Path, environment: dict[str, str]) -> None:
    for name, mode in (
        ("home/.claude/settings.json", "acceptEdits"),
        ("project/.claude/settings.json", "plan"),
        ("project/.claude/settings.local.json", "default"),
    ):
        written(tmp_path / name, {"permissions": {"defaultMode": mode}})
    found = look(CLAUDE_CODE, ["claude"], str(tmp_path / "project"), environment)
    assert (found.approval, found.mode) == ("acceptEdits", "default")


@pytest.mark.parametrize(("version", "able"), [("0.1.3", False), ("0.5.0", True), ("0.24.4", True)])
def test_a_conversation_is_resumed_by_a_version_that_can(
    tmp_path: Path, environment: dict[str, str], version: str, able: bool
) -> None:
    """0.1.3 prints its help and ends."""
    install(tmp_path, version)
    assert not look(QWEN_CODE, "qwen --model x", str(tmp_path), environment).can_resume
    talked(environment, tmp_path)
    assert look(QWEN_CODE, "qwen --model x", str(tmp_path), environment).can_resume is able
    assert not look(QWEN_CODE, ["qwen"], str(tmp_path / "lib"), environment).can_resume


def test_a_program_whose_version_is_unknown_may_resume(tmp_path: Path, environment: dict[str, str]) -> None:
    talked(environment, tmp_path)
    assert look(QWEN_CODE, ["npx", "qwen"], str(tmp_path), environment).can_resume
    assert look(QWEN_CODE, [], str(tmp_path), environment).can_resume


@pytest.mark.parametrize("is_named", [False, True])
def test_gemini_cli_keeps_its_conversations_by_a_hash_or_by_a_name(
    tmp_path: Path, environment: dict[str, str], is_named: bool
) -> None:
    folder, home = os.path.realpath(tmp_path), tmp_path / "home" / ".gemini"
    written(home / "projects.json", {"projects": {folder: "work"} if is_named else []})
    name = "work" if is_named else hashlib.sha256(os.fsencode(folder)).hexdigest()
    assert not look(GEMINI_CLI, ["gemini"], folder, environment).can_resume
    written(home / "tmp" / name / "chats" / "session-1.json", {})
    assert look(GEMINI_CLI, ["gemini"], folder, environment).can_resume


def test_a_cli_is_started_whatever_its_files_say(tmp_path: Path, environment: dict[str, str]) -> None:
    install(tmp_path, f"{'9' * 5000}.1.1")
    folder = os.path.realpath(tmp_path)
    for name in ("a\0b", "\ud800", ".."):
        written(tmp_path / "home" / ".gemini" / "projects.json", {"projects": {folder: name}})
        assert not look(GEMINI_CLI, ["gemini"], folder, environment).can_resume
    talked(environment, tmp_path)
    assert look(QWEN_CODE, ["qwen"], folder, environment).can_resume


@pytest.mark.parametrize(
    ("version", "takes"), [("0.1.3", False), ("0.21.1", False), ("0.21.2", True), ("0.24.4", True)]
)
def test_the_editors_tools_are_offered_to_a_version_that_is_known_to_take_them(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, version: str, takes: bool
) -> None:
    """Another one would print its help and end."""
    monkeypatch.setattr(mcp_configuration, "user_data", lambda: str(tmp_path / "data"))
    assert not look(QWEN_CODE, ["qwen"], str(tmp_path), environment, b"script").mcp
    install(tmp_path, version)
    assert not look(QWEN_CODE, ["qwen"], str(tmp_path), environment).mcp
    assert not (tmp_path / "data").exists()
    offered = look(QWEN_CODE, ["qwen"], str(tmp_path), environment, b"script").mcp
    assert bool(offered) is takes
    if takes:
        server = json.loads(Path(offered).read_text())["mcpServers"]["sublime-text"]
        assert server["command"] == str(tmp_path / "bin" / "node")
        assert Path(server["args"][0]).read_bytes() == b"script"


def test_the_editors_tools_are_started_by_no_node_of_a_project(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_configuration, "user_data", lambda: str(tmp_path / "data"))
    install(tmp_path, "0.24.4")
    project = tmp_path / "project"
    shim = project / ".venv" / "bin" / "node"
    shim.parent.mkdir(parents=True)
    shutil.copy(tmp_path / "bin" / "node", shim)
    environment["PATH"] = f"{shim.parent}{os.pathsep}{environment['PATH']}"
    OPEN_FOLDERS.set(1, [str(project)])
    try:
        offered = look(QWEN_CODE, ["qwen"], str(project), environment, b"script").mcp
        assert json.loads(Path(offered).read_text())["mcpServers"]["sublime-text"]["command"] == str(
            tmp_path / "bin" / "node"
        )
        (tmp_path / "bin" / "node").unlink()
        assert not look(QWEN_CODE, ["qwen"], str(project), environment, b"script").mcp
    finally:
        OPEN_FOLDERS.set(1, [])


def test_a_folder_that_can_not_be_written_offers_no_tools(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").touch()
    monkeypatch.setattr(mcp_configuration, "user_data", lambda: str(tmp_path / "data"))
    install(tmp_path, "0.24.4")
    assert not look(QWEN_CODE, ["qwen"], str(tmp_path), environment, b"script").mcp
