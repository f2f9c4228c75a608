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
    assert [one for one in captions if not one.startswith(("Qwen Companion: ", "Preferences: QwenCompanion "))] == []
    assert [one for one in captions if one.endswith(".")] == []
    names = {one.removeprefix("Qwen Companion: ") for one in captions}
    assert names.isdisjoint({"Reject", "Accept", "Daemon", "Allow Once", "Always Allow"})


def test_no_key_is_taken_outside_of_a_diff_and_a_chat(keymap: str) -> None:
    bindings = jsonc.loads(keymap)
    assert bindings
    for binding in bindings:
        assert any(each["key"].removeprefix("setting.").startswith(OWN) for each in binding["context"]), binding


def test_the_suggested_keys_are_those_of_the_readme_and_their_commands_are_in_the_palette(
    root: Path, keymap: str
) -> None:
    commands = {each["command"] for each in jsonc.loads((root / "Default.sublime-commands").read_text("utf-8"))}
    suggested = suggestions(keymap)
    assert suggested
    assert {command for _, command in suggested} <= commands
    wanted = {"send_selection", "go_to_diff", "show_terminal", "chat", "chat_new"}
    assert {f"qwen_companion_{name}" for name in wanted} <= {command for _, command in suggested}
    readme = (root / "README.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| .* \| `Ctrl\+Alt\+A`, `(\w)`.* \| `(\w+)` \|$", readme, re.MULTILINE))
    assert {keys[1]: command for keys, command in suggested} == {key.lower(): name for key, name in table.items()}
    assert {keys[0] for keys, _ in suggested} == {"primary+alt+a"}
