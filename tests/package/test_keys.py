"""The key bindings of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headless import jsonc

OWN = "qwen_companion."


@pytest.fixture(scope="module")
def keymap(root: Path) -> str:
    return (root / "Default.sublime-keymap").read_text(encoding="utf-8")


def suggestions(keymap: str) -> list[tuple[list[str], str]]:
    found = [jsonc.loads(line) for line in re.findall(r"^\s*// (\{.*\}),$", keymap, re.MULTILINE)]
    return [(one["keys"], one["command"]) for one in found]


def test_each_caption_of_the_palette_stands_alone(root: Path) -> None:
    """No two of one name, each under the name of the package."""
    captions = [each["caption"] for each in jsonc.loads((root / "Default.sublime-commands").read_text("utf-8"))]
    assert len(set(captions)) == len(captions)
    assert [one for one in captions if not one.startswith(("Qwen: ", "Preferences: QwenCompanion "))] == []
    assert [one for one in captions if one.endswith(".")] == []
    names = {one.removeprefix("Qwen: ") for one in captions}
    assert names.isdisjoint({"Reject", "Accept", "Daemon", "Allow Once", "Always Allow"})


def test_no_key_is_taken_outside_of_a_diff_and_a_chat(keymap: str) -> None:
    bindings = jsonc.loads(keymap)
    assert bindings
    for binding in bindings:
        assert any(each["key"].startswith(OWN) for each in binding["context"]), binding


def test_no_key_depends_on_a_setting_that_a_project_could_have(root: Path) -> None:
    """The editor itself compares a context such as `setting.x` with the settings of a view, which a project has too."""
    for file in sorted(root.glob("*.sublime-*")):
        assert f"setting.{OWN}" not in file.read_text(encoding="utf-8"), file.name


def test_the_commands_of_the_suggested_keys_are_in_the_palette(root: Path, keymap: str) -> None:
    commands = {each["command"] for each in jsonc.loads((root / "Default.sublime-commands").read_text("utf-8"))}
    suggested = suggestions(keymap)
    assert suggested
    assert {command for _, command in suggested} <= commands
    wanted = {"send", "go_to_diff", "show_terminal", "chat", "chat_new"}
    assert {f"qwen_companion_{name}" for name in wanted} <= {command for _, command in suggested}
    assert {tuple(keys[:2]) for keys, _ in suggested} == {("primary+k", "q")}


def test_no_key_is_a_letter_of_a_keyboard(root: Path, keymap: str) -> None:
    """On Windows Ctrl+Alt is AltGr, which types letters and signs on most keyboards."""
    keys = [key for binding in jsonc.loads(keymap) for key in binding["keys"]]
    keys += [key for keys, _ in suggestions(keymap) for key in keys]
    pages = [page.read_text("utf-8") for page in (root / "docs").rglob("*.md")]
    keys += [key for page in pages for found in re.findall(r'"keys": (\[.*?\])', page) for key in jsonc.loads(found)]
    assert [key for key in keys if {"alt"} & set(key.split("+")) and {"ctrl", "primary"} & set(key.split("+"))] == []
