"""docs/reference.md has every command, key and setting, as the package's files have them."""

from __future__ import annotations

from pathlib import Path

from companion.settings import TABLE
from headless import jsonc
from scripts.pages import PALETTE, ROOMS, TARGET, command_name, page


def test_it_is_what_the_files_give(root: Path) -> None:
    assert (root / TARGET).read_text(encoding="utf-8") == page(root), "run scripts/reference"


def test_every_command_of_the_palette_has_a_row_that_says_what_it_does(root: Path) -> None:
    rows = [line.strip("|").split(" | ") for line in page(root).splitlines() if line.startswith("| ")]
    told = {row[0].strip(): row[1].strip() for row in rows}
    palette = jsonc.loads((root / "Default.sublime-commands").read_text(encoding="utf-8"))
    captions = [each["caption"].removeprefix(PALETTE) for each in palette if each["caption"].startswith(PALETTE)]
    assert len(captions) > 20
    assert [caption for caption in captions if not told.get(caption)] == []


def test_what_has_a_table_of_its_own_is_there(root: Path) -> None:
    folder = root / "companion/sublime_text"
    assert [room for room in ROOMS if not ((folder / room).is_dir() or (folder / f"{room}.py").is_file())] == []


def test_every_setting_has_a_row(root: Path) -> None:
    text = page(root)
    assert [setting.name for setting in TABLE if f"\n| `{setting.name}` | " not in text] == []


def test_a_class_is_named_as_the_editor_names_its_command() -> None:
    assert command_name("QwenCompanionGoToDiffCommand") == "qwen_companion_go_to_diff"
