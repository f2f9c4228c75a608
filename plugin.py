"""QwenCompanion: the IDE companion of terminal coding agents."""

from __future__ import annotations

import sys

# Sublime reloads this file alone, so what it imports is forgotten first. Other threads may import meanwhile.
for _name in [name for name in list(sys.modules) if name.startswith(f"{__package__}.companion")]:
    del sys.modules[_name]

from .companion.sublime_text import package  # noqa: E402
from .companion.sublime_text.chat.commands import (  # noqa: E402
    QwenCompanionChatAnswerCommand,
    QwenCompanionChatCancelCommand,
    QwenCompanionChatCommand,
    QwenCompanionChatContinueCommand,
    QwenCompanionChatEditCommand,
    QwenCompanionChatFollowCommand,
    QwenCompanionChatHomeCommand,
    QwenCompanionChatNewCommand,
    QwenCompanionChatRecallCommand,
    QwenCompanionChatReconnectCommand,
    QwenCompanionChatSendCommand,
    QwenCompanionChatTypeCommand,
    QwenCompanionChatUndoCommand,
)
from .companion.sublime_text.chat.listener import (  # noqa: E402
    QwenCompanionChatCompleteCommand,
    QwenCompanionChatListener,
)
from .companion.sublime_text.chat.pickers import (  # noqa: E402
    QwenCompanionChatAddCommand,
    QwenCompanionChatModeCommand,
    QwenCompanionChatModelCommand,
    QwenCompanionChatPictureCommand,
    QwenCompanionChatSessionsCommand,
    QwenCompanionDaemonCommand,
)
from .companion.sublime_text.diff.commands import (  # noqa: E402
    QwenCompanionAcceptAllCommand,
    QwenCompanionAcceptDiffCommand,
    QwenCompanionEditDiffCommand,
    QwenCompanionNextChangeCommand,
    QwenCompanionPendingDiffsCommand,
    QwenCompanionPreviousChangeCommand,
    QwenCompanionRejectAllCommand,
    QwenCompanionRejectDiffCommand,
    QwenCompanionRestoreChangeCommand,
    QwenCompanionRevertChangeCommand,
    QwenCompanionToggleDiffLayoutCommand,
)
from .companion.sublime_text.listeners import QwenCompanionListener  # noqa: E402
from .companion.sublime_text.status.commands import (  # noqa: E402
    QwenCompanionCopyReportCommand,
    QwenCompanionStatusCommand,
)
from .companion.sublime_text.terminal.commands import (  # noqa: E402
    QwenCompanionCopyEnvironmentCommand,
    QwenCompanionRunCommand,
    QwenCompanionSendFileCommand,
    QwenCompanionSendLineCommand,
    QwenCompanionSendSelectionCommand,
    QwenCompanionTerminalListener,
    QwenCompanionTerminalOpenedCommand,
)

__all__ = (
    "QwenCompanionAcceptAllCommand",
    "QwenCompanionAcceptDiffCommand",
    "QwenCompanionChatAddCommand",
    "QwenCompanionChatAnswerCommand",
    "QwenCompanionChatCancelCommand",
    "QwenCompanionChatCommand",
    "QwenCompanionChatCompleteCommand",
    "QwenCompanionChatContinueCommand",
    "QwenCompanionChatEditCommand",
    "QwenCompanionChatFollowCommand",
    "QwenCompanionChatHomeCommand",
    "QwenCompanionChatListener",
    "QwenCompanionChatModeCommand",
    "QwenCompanionChatModelCommand",
    "QwenCompanionChatNewCommand",
    "QwenCompanionChatPictureCommand",
    "QwenCompanionChatRecallCommand",
    "QwenCompanionChatReconnectCommand",
    "QwenCompanionChatSendCommand",
    "QwenCompanionChatSessionsCommand",
    "QwenCompanionChatTypeCommand",
    "QwenCompanionChatUndoCommand",
    "QwenCompanionCopyEnvironmentCommand",
    "QwenCompanionCopyReportCommand",
    "QwenCompanionDaemonCommand",
    "QwenCompanionEditDiffCommand",
    "QwenCompanionListener",
    "QwenCompanionNextChangeCommand",
    "QwenCompanionPendingDiffsCommand",
    "QwenCompanionPreviousChangeCommand",
    "QwenCompanionRejectAllCommand",
    "QwenCompanionRejectDiffCommand",
    "QwenCompanionRestoreChangeCommand",
    "QwenCompanionRevertChangeCommand",
    "QwenCompanionRunCommand",
    "QwenCompanionSendFileCommand",
    "QwenCompanionSendLineCommand",
    "QwenCompanionSendSelectionCommand",
    "QwenCompanionStatusCommand",
    "QwenCompanionTerminalListener",
    "QwenCompanionTerminalOpenedCommand",
    "QwenCompanionToggleDiffLayoutCommand",
    "plugin_loaded",
    "plugin_unloaded",
)


def plugin_loaded() -> None:
    """Sublime's API is ready."""
    package.load()


def plugin_unloaded() -> None:
    """The package is disabled, upgraded or reloaded. Not called when the editor quits: see on_exit."""
    package.unload()
