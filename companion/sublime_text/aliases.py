"""Former names of commands, for one release: each runs the command that does it now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sublime_plugin


class _Alias(sublime_plugin.WindowCommand):
    """A former name. Neither the palette nor a menu shows it."""

    command = ""
    """The command that does it now."""
    args: Mapping[str, Any] = {}
    """Arguments that are added to those that came."""

    def run(self, **args: Any) -> None:
        """Run the command, with the arguments that came."""
        self.window.run_command(self.command, {**self.args, **args})

    def is_visible(self, **args: Any) -> bool:
        """It is not shown."""
        return False


class QwenCompanionSendFileCommand(_Alias):
    """Run `qwen_companion_send` with the whole file, or with what a menu was opened on."""

    command, args = "qwen_companion_send", {"what": "file"}


class QwenCompanionSendLineCommand(_Alias):
    """Run `qwen_companion_send` with the lines of the carets."""

    command, args = "qwen_companion_send", {"what": "line"}


class QwenCompanionSendSelectionCommand(_Alias):
    """Run `qwen_companion_send` with the selected lines."""

    command, args = "qwen_companion_send", {"what": "selection"}


class QwenCompanionPendingDiffsCommand(_Alias):
    """Run `qwen_companion_diff_list`."""

    command = "qwen_companion_diff_list"


class QwenCompanionChatPastePictureCommand(_Alias):
    """Run `qwen_companion_chat_picture` with the clipboard's."""

    command, args = "qwen_companion_chat_picture", {"clipboard": True}
