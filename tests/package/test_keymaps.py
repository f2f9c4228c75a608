"""`scripts/keys`: which keys of other packages collide with ours, told from invented keymaps."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scripts import keymaps
from scripts.keymaps import Binding

Keys = dict[str, Any]
IN_DIFF = {"key": "qwen_companion.diff"}


def bound(key: str, command: str = "theirs", *context: Keys) -> Keys:
    return {"keys": key.split(), "command": command, "context": list(context)}


def package(folder: Path, name: str, **files: list[Keys]) -> Path:
    """A package in a folder, with keymaps for `all` or a system."""
    path = folder / name
    path.mkdir(parents=True)
    for system, content in files.items():
        suffix = "" if system == "all" else f" ({system})"
        (path / f"Default{suffix}.sublime-keymap").write_text("// Ours\n" + json.dumps(content), "utf-8")
    return path


def binding(key: str, *context: Keys) -> Binding:
    return next(keymaps.bindings(json.dumps([bound(key, "command", *context)]), mac=False))


def harm(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the script says of a package that takes a key."""
    code = keymaps.main(["--harm", str(path)])
    *lines, last = capsys.readouterr().out.splitlines()
    assert (code == 1) == ("0 take a key" not in last)
    return lines


def test_a_package_that_is_loaded_later_takes_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = harm(package(tmp_path, "Zebra", all=[bound("shift+tab")]), capsys)
    assert [line.split("  ")[0] for line in found] == ["Zebra"]
    assert "theirs / qwen_companion_review_do: Zebra goes first" in found[0]


def test_a_package_that_is_loaded_earlier_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = package(tmp_path, "Aardvark", all=[bound("shift+tab")])
    assert harm(path, capsys) == []
    assert keymaps.main([str(path)]) == 0
    assert "QwenCompanion goes first" in capsys.readouterr().out


def test_an_order_that_depends_on_capitals_counts_as_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(harm(package(tmp_path, "aardvark", all=[bound("shift+tab")]), capsys)) == 1


def test_each_system_has_its_own_keymap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = package(tmp_path, "Zebra", Linux=[bound("ctrl+s")], OSX=[bound("ctrl+s")], Windows=[bound("super+s")])
    assert {line.rpartition(" [")[2] for line in harm(path, capsys)} == {"Linux]"}
    other = package(tmp_path, "Zoo", OSX=[bound("command+s")])
    assert {line.rpartition(" [")[2] for line in harm(other, capsys)} == {"OSX]"}


def test_a_sequence_that_begins_with_a_key_of_ours_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(harm(package(tmp_path, "Zebra", all=[bound("shift+tab a")]), capsys)) == 1
    assert harm(package(tmp_path, "Zoo", all=[bound("primary+k shift+tab")]), capsys) == []


def test_any_character_is_each_character() -> None:
    typed = binding("<character>", {"key": "qwen_companion.chat_types"})
    assert list(keymaps.collisions("Zebra", [binding("a")], [typed]))
    assert list(keymaps.collisions("Zebra", [typed], [binding("1", {"key": "qwen_companion.chat_choice"})]))
    assert not list(keymaps.collisions("Zebra", [binding("enter"), binding("ctrl+a")], [typed]))


@pytest.mark.parametrize(
    ("ours", "theirs", "holds"),
    [
        ({"key": "panel_visible", "operand": False}, {"key": "panel_visible", "operand": True}, False),
        ({"key": "panel_visible", "operand": False}, {"key": "panel_visible"}, False),
        ({"key": "panel_visible", "operand": False}, {"key": "panel_visible", "operator": "not_equal"}, True),
        (
            {"key": "num_selections", "operand": 1},
            {"key": "num_selections", "operator": "not_equal", "operand": 1},
            False,
        ),
        ({"key": "num_selections", "operand": 1}, {"key": "num_selections", "operand": 1}, True),
        ({"key": "selection_empty"}, {"key": "selection_empty", "operand": False}, True),
        (IN_DIFF, {"key": "selector", "operand": "source.python"}, True),
        (IN_DIFF, {"key": "setting.command_mode"}, True),
        (IN_DIFF, {"key": "a_context_that_nobody_knows"}, True),
        (IN_DIFF, {"key": "terminus_view"}, False),
        (IN_DIFF, {"key": "terminus_view.exec_panel_exists"}, True),
        ({"key": "qwen_companion.diff_waits"}, {"key": "terminus_view"}, True),
        ({"key": "qwen_companion.chat_prompt"}, {"key": "selector", "operand": "source.python, text.html"}, False),
        ({"key": "qwen_companion.chat_prompt"}, {"key": "selector", "operand": "text - comment"}, True),
        ({"key": "qwen_companion.chat_transcript"}, {"key": "selector", "operand": "source.python"}, True),
        ({"key": "qwen_companion.chat_ask"}, {"key": "setting.command_mode", "operand": True}, False),
        ({"key": "qwen_companion.chat_ask"}, {"key": "setting.command_mode", "operand": False}, True),
    ],
)
def test_contexts_that_exclude_each_other_do_not_collide(ours: Keys, theirs: Keys, holds: bool) -> None:
    assert keymaps.may_hold_together(binding("shift+tab", ours), binding("shift+tab", theirs)) is holds


def test_an_archive_and_a_folder_of_packages_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package(tmp_path, "Zebra", all=[bound("shift+tab")])
    for suffix in ("zip", "sublime-package"):
        with zipfile.ZipFile(tmp_path / f"Zoo {suffix}.{suffix}", "w") as archive:
            archive.writestr("inner/Default.sublime-keymap", json.dumps([bound("shift+tab")]))
    (tmp_path / "notes.txt").write_text("no package", "utf-8")
    assert keymaps.main(["--in", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "Zebra goes first" in out
    assert "Zoo zip goes first" in out
    assert "3 packages, 9 bindings on three systems, 3 take a key" in out


def test_a_keymap_that_is_broken_is_named_and_the_rest_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = package(tmp_path, "Zebra", all=[bound("shift+tab")])
    (path / "Default (Linux).sublime-keymap").write_text("[{", "utf-8")
    assert keymaps.main([str(path)]) == 1
    captured = capsys.readouterr()
    assert "Default (Linux).sublime-keymap" in captured.err
    assert "Zebra goes first" in captured.out


def test_without_a_package_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        keymaps.main([])
    assert "no package" in capsys.readouterr().err


def test_a_collision_that_is_known_says_why_it_does_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = package(
        tmp_path, "Terminus", all=[bound("shift+escape", "show_panel", {"key": "terminus_view.exec_panel_exists"})]
    )
    assert keymaps.main([str(path)]) == 0
    assert "has it reject the diff" in capsys.readouterr().out


def test_what_is_known_names_keys_of_ours(root: Path) -> None:
    own = (root / "Default.sublime-keymap").read_text("utf-8")
    keys = {" ".join(each.keys) for each in keymaps.bindings(own, mac=False)}
    assert {key for _, key in keymaps.KNOWN if len(key) > 1} <= keys
