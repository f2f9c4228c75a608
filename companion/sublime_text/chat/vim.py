"""Packages that give the editor the keys of Vim: Vintage, which comes with it, and NeoVintageous.

Both say in a view's setting `command_mode` whether it is in normal mode; a view without them has no such setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sublime

MODE_SETTING = "command_mode"
_OFF = {MODE_SETTING: False, "inverse_caret_state": False, "__vi_external_disable": True}
"""The last one is NeoVintageous's own."""
_ENTER = {"motion": "move", "motion_args": {"by": "lines", "forward": True, "extend": True}}
"""What `Enter` does in Vintage's normal mode; `j` is linewise, too."""


def is_normal(view: sublime.View) -> bool:
    """Whether letters are commands and not text."""
    return view.settings().get(MODE_SETTING) is True


def is_insert(view: sublime.View) -> bool:
    """Whether Vim's keys are there and Escape ends the insert mode."""
    return view.settings().get(MODE_SETTING) is False and not view.settings().get("__vi_external_disable")


def is_enter(command: str, args: Mapping[str, Any] | None) -> bool:
    """Whether a text command is `Enter` in Vintage's normal mode, whose keymap is loaded after ours."""
    return command == "set_motion" and args == _ENTER


def is_needless_escape(view: sublime.View, command: str) -> bool:
    """Whether Vintage would start its normal mode in a view that has the usual keys."""
    return command == "exit_insert_mode" and bool(view.settings().get("__vi_external_disable"))


def turn_off(view: sublime.View) -> None:
    """Give a view the usual keys."""
    settings = view.settings()
    if any(settings.get(name) != value for name, value in _OFF.items()):
        settings.update(_OFF)


def leave_on(view: sublime.View) -> None:
    """Take back what `turn_off` did."""
    if view.settings().get("__vi_external_disable"):
        for name in _OFF:
            view.settings().erase(name)
