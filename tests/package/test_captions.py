"""The captions of the palette and the menus: one that asks for more before it acts ends in “…”, no other one does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headless import jsonc

PROJECT = Path(__file__).parents[2]
FILES = sorted([*PROJECT.glob("*.sublime-commands"), *PROJECT.glob("*.sublime-menu")])

ASKS = {
    "action", "chat_effort", "chat_folder", "chat_links", "chat_mode", "chat_model", "chat_options", "chat_picture",
    "chat_rewind", "chat_sessions", "chat_sign_in", "chat_sign_out", "chat_with", "comment", "connect_elsewhere",
    "copy_environment", "copy_mcp_configuration", "documentation", "forget_snapshots", "install_agent",
    "read_transcripts", "recent_files", "restore_checkpoint", "review_since", "unsaved_text",
}  # fmt: skip
"""The commands that do nothing before a list, an input or a question is answered, whatever the state is."""


def entries(tree: list[Any]) -> Iterator[tuple[str, str]]:
    """Each caption with its command, submenus included. What a command names by itself has none."""
    for each in tree:
        if str(each.get("command", "")).startswith("qwen_companion_") and "caption" in each:
            yield each["caption"], each["command"].removeprefix("qwen_companion_")
        yield from entries(each.get("children", []))


def read(file: Path) -> list[tuple[str, str]]:
    return list(entries(jsonc.loads(file.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_caption_ends_in_an_ellipsis_if_its_command_asks_before_it_acts(file: Path):
    wrong = [caption for caption, command in read(file) if caption.endswith("…") != (command in ASKS)]
    assert wrong == []


def test_what_asks_is_in_the_palette_or_a_menu():
    assert {command for file in FILES for _, command in read(file)} >= ASKS
