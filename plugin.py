# ruff: noqa: E402, F401 - Sublime takes the commands and listeners from the names that this module has.
"""QwenCompanion: the IDE companion of terminal coding agents."""

from __future__ import annotations

import sys

# Sublime reloads only this file, so the modules that it imports are forgotten first. Other threads may be importing.
for _name in [name for name in list(sys.modules) if name.startswith(f"{__package__}.companion")]:
    del sys.modules[_name]

from .companion.sublime_text import package
from .companion.sublime_text.actions import (
    QwenCompanionActionCommand,
    QwenCompanionAskHistoryCommand,
)
from .companion.sublime_text.buffers import QwenCompanionEditCommand
from .companion.sublime_text.chat.chat_commands import (
    QwenCompanionChatAnswerCommand,
    QwenCompanionChatCancelCommand,
    QwenCompanionChatChangesCommand,
    QwenCompanionChatCommand,
    QwenCompanionChatCompleteCommand,
    QwenCompanionChatContinueCommand,
    QwenCompanionChatEarlierCommand,
    QwenCompanionChatFolderCommand,
    QwenCompanionChatFollowCommand,
    QwenCompanionChatForkCommand,
    QwenCompanionChatHomeCommand,
    QwenCompanionChatLeaveOutCommand,
    QwenCompanionChatLinksCommand,
    QwenCompanionChatNewCommand,
    QwenCompanionChatRecallCommand,
    QwenCompanionChatReconnectCommand,
    QwenCompanionChatRewindCommand,
    QwenCompanionChatSendCommand,
    QwenCompanionChatSuggestionCommand,
    QwenCompanionChatTasksCommand,
    QwenCompanionChatTypeCommand,
    QwenCompanionChatUndoCommand,
    QwenCompanionChatWithCommand,
)
from .companion.sublime_text.chat.listener import QwenCompanionChatListener
from .companion.sublime_text.chat.pickers import (
    QwenCompanionChatAddCommand,
    QwenCompanionChatEffortCommand,
    QwenCompanionChatModeCommand,
    QwenCompanionChatModelCommand,
    QwenCompanionChatOptionsCommand,
    QwenCompanionChatPictureCommand,
    QwenCompanionChatSessionsCommand,
    QwenCompanionDaemonCommand,
)
from .companion.sublime_text.chat.sign_in import QwenCompanionChatSignInCommand, QwenCompanionChatSignOutCommand
from .companion.sublime_text.comments.comment_commands import (
    QwenCompanionCommentCommand,
    QwenCompanionCopyCommentsCommand,
    QwenCompanionDeleteCommentsCommand,
    QwenCompanionGoToCommentCommand,
    QwenCompanionRejectWithCommentsCommand,
    QwenCompanionSendCommentsCommand,
)
from .companion.sublime_text.install_agent import QwenCompanionInstallAgentCommand
from .companion.sublime_text.listeners import QwenCompanionListener
from .companion.sublime_text.package_control import QwenCompanionRepairLibrariesCommand
from .companion.sublime_text.places import QwenCompanionFollowCommand, QwenCompanionRecentFilesCommand
from .companion.sublime_text.problems import QwenCompanionSendProblemsCommand
from .companion.sublime_text.review.review_commands import (
    QwenCompanionAcceptAllCommand,
    QwenCompanionAcceptDiffCommand,
    QwenCompanionBeginRoundCommand,
    QwenCompanionCloseDiffViewCommand,
    QwenCompanionCompareOverwrittenCommand,
    QwenCompanionDecideTurnCommand,
    QwenCompanionDiffWarningsCommand,
    QwenCompanionForgetSnapshotsCommand,
    QwenCompanionGoToDiffCommand,
    QwenCompanionKeepAllChangesCommand,
    QwenCompanionKeepChangeCommand,
    QwenCompanionKeepFileCommand,
    QwenCompanionRejectAllCommand,
    QwenCompanionRejectDiffCommand,
    QwenCompanionReloadDiffCommand,
    QwenCompanionReopenRejectedCommand,
    QwenCompanionRestoreCheckpointCommand,
    QwenCompanionReviewCommand,
    QwenCompanionReviewDecideCommand,
    QwenCompanionReviewDoCommand,
    QwenCompanionReviewGoCommand,
    QwenCompanionReviewSinceCommand,
    QwenCompanionShowTurnCommand,
    QwenCompanionTakeBackCommand,
    QwenCompanionTheyAreMineCommand,
    QwenCompanionToggleDiffLayoutCommand,
    QwenCompanionToggleLineEndingsCommand,
    QwenCompanionUndoAllChangesCommand,
    QwenCompanionUndoChangeCommand,
    QwenCompanionUndoFileCommand,
    QwenCompanionUnsavedTextCommand,
)
from .companion.sublime_text.status import (
    QwenCompanionCopyReportCommand,
    QwenCompanionDocumentationCommand,
    QwenCompanionShowLogCommand,
    QwenCompanionStatusCommand,
    QwenCompanionStatusRemedyCommand,
)
from .companion.sublime_text.terminal.terminal_commands import (
    QwenCompanionConnectElsewhereCommand,
    QwenCompanionCopyEnvironmentCommand,
    QwenCompanionRunCommand,
    QwenCompanionSendCommand,
    QwenCompanionShowTerminalCommand,
    QwenCompanionTerminalOpenedCommand,
)
from .companion.sublime_text.why import (
    QwenCompanionCopyReviewCommand,
    QwenCompanionReadTranscriptsCommand,
    QwenCompanionWhyCommand,
)
from .companion.sublime_text.window_tools import QwenCompanionCopyMcpConfigurationCommand


def plugin_loaded() -> None:
    """Sublime's API is ready."""
    package.load()


def plugin_unloaded() -> None:
    """Sublime disables, upgrades or reloads the package. Not called when the editor quits: see on_exit."""
    package.unload()
