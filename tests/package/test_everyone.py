"""Nobody needs a mouse."""

from __future__ import annotations

import re
from pathlib import Path

from headless import jsonc

COMMANDS = {
    # A diff
    "accept": "qwen_companion_accept_diff",
    "reject": "qwen_companion_reject_diff",
    "next": "qwen_companion_go_to_diff",
    "previous": "qwen_companion_go_to_diff",
    "revert": "qwen_companion_undo_change",
    "restore": "qwen_companion_undo_change",
    "endings": "qwen_companion_toggle_line_endings",
    "reload": "qwen_companion_reload_diff",
    "warnings": "qwen_companion_diff_warnings",
    # Why a line is there
    "reason": "qwen_companion_why",
    "said": "qwen_companion_why",
    # A comment
    "edit": "qwen_companion_comment",
    "delete": "qwen_companion_delete_comments",
    # What is written already
    "keep": "qwen_companion_keep_change",
    "compare": "qwen_companion_compare_overwritten",
    "undo": "qwen_companion_undo_change",
    "merge": "qwen_companion_unsaved_text",
    "take": "qwen_companion_unsaved_text",
    # A chat
    "cancel": "qwen_companion_chat_links",
    "sign_in": "qwen_companion_chat_sign_in",
    "stop_terminals": "qwen_companion_chat_links",
    "go_on": "qwen_companion_chat_links",
    "reconnect": "qwen_companion_chat_links",
    "vote": "qwen_companion_chat_links",
    "answer": "qwen_companion_chat_links",
    "confirm_here": "qwen_companion_chat_links",
    "dequeue": "qwen_companion_chat_links",
    "unsend": "qwen_companion_chat_links",
    "detach": "qwen_companion_chat_links",
    "copy": "qwen_companion_chat_links",
    "tasks": "qwen_companion_chat_links",
    "changes": "qwen_companion_chat_links",
    "leave_out": "qwen_companion_chat_links",
    "review": "qwen_companion_review",
    "keep_all_changes": "qwen_companion_keep_all_changes",
    "undo_all_changes": "qwen_companion_undo_all_changes",
    "show_earlier": "qwen_companion_chat_links",
    "insert": "qwen_companion_chat_links",
    "whole": "qwen_companion_chat_links",
}
"""The command that does what a link does, by the beginning of its target."""
BY_KEY = {"open": "qwen_companion_chat_follow", "suggestion": "qwen_companion_chat_suggestion"}
"""Those that a key does where the caret is."""
BY_THE_EDITOR = {"to_end"}
"""Those that a key of the editor does."""


def adapter(root: Path) -> str:
    folder = root / "companion" / "sublime_text"
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def test_every_link_has_a_command_in_the_palette_or_a_key(root: Path) -> None:
    """A new kind of link fails here until it has one. Those of the status report are remedies, by their number."""
    source = adapter(root)
    ways = (
        r'href="(\w+)',
        r'href=f"(\w+)',
        r"""\blink\(f?["'](\w+)""",
        r'_waits\(".*?", \w+, "(\w+)"',
        r'popup\(.*, "(\w+)"\)',
    )
    targets = {target for way in ways for target in re.findall(way, source)}
    assert targets == {*COMMANDS, *BY_KEY, *BY_THE_EDITOR}
    palette = {each["command"] for each in jsonc.loads((root / "Default.sublime-commands").read_text("utf-8"))}
    keys = {each["command"] for each in jsonc.loads((root / "Default.sublime-keymap").read_text("utf-8"))}
    assert set(COMMANDS.values()) <= palette | keys
    assert {*BY_KEY.values(), "qwen_companion_status_remedy"} <= keys


def test_every_target_that_is_handled_is_one_of_those(root: Path) -> None:
    """What can be clicked is what has a command."""
    source = adapter(root)
    handled = {
        each
        for body in re.findall(r"def (?:_?clicked|do|follow)\(.*?(?=\n    def |\n\n\n|\Z)", source, re.DOTALL)
        for line in re.findall(r"^\s+case (\".*?):$", body, re.MULTILINE)
        for each in re.findall(r'"(\w+)"', line.partition(" if ")[0])
    }
    # A chat's links that only ask something of the companion.
    [asking] = re.findall(r"^_CALLS: .*?^\}", source, re.DOTALL | re.MULTILINE)
    handled |= set(re.findall(r'^    "(\w+)": ', asking, re.MULTILINE))
    assert {*COMMANDS} <= handled <= {*COMMANDS, *BY_KEY, *BY_THE_EDITOR}
