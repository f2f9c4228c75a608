"""QwenCompanion: the IDE companion of terminal coding agents."""

from __future__ import annotations

import sys

# Sublime reloads only this file, so the modules that it imports are forgotten first. Other threads may be importing.
for _name in [name for name in list(sys.modules) if name.startswith(f"{__package__}.companion")]:
    del sys.modules[_name]

from .companion.sublime_text import package  # noqa: E402
from .companion.sublime_text.actions.commands import (  # noqa: E402
    QwenCompanionActionCommand,
    QwenCompanionAskHistoryCommand,
)
from .companion.sublime_text.aliases import (  # noqa: E402
    QwenCompanionChatPastePictureCommand,
    QwenCompanionPendingDiffsCommand,
    QwenCompanionSendFileCommand,
    QwenCompanionSendLineCommand,
    QwenCompanionSendSelectionCommand,
)
from .companion.sublime_text.buffers import QwenCompanionEditCommand  # noqa: E402
from .companion.sublime_text.changes.commands import (  # noqa: E402
    QwenCompanionBeginRoundCommand,
    QwenCompanionCompareOverwrittenCommand,
    QwenCompanionForgetSnapshotsCommand,
    QwenCompanionKeepAllChangesCommand,
    QwenCompanionKeepChangeCommand,
    QwenCompanionKeepFileCommand,
    QwenCompanionRedoChangeCommand,
    QwenCompanionRestoreCheckpointCommand,
    QwenCompanionReviewChangesCommand,
    QwenCompanionUndoAllChangesCommand,
    QwenCompanionUndoChangeCommand,
    QwenCompanionUndoFileCommand,
    QwenCompanionUnsavedTextCommand,
)
from .companion.sublime_text.chat.changes import QwenCompanionChatChangesCommand  # noqa: E402
from .companion.sublime_text.chat.commands import (  # noqa: E402
    QwenCompanionChatAnswerCommand,
    QwenCompanionChatCancelCommand,
    QwenCompanionChatCommand,
    QwenCompanionChatContinueCommand,
    QwenCompanionChatEarlierCommand,
    QwenCompanionChatFolderCommand,
    QwenCompanionChatLeaveOutCommand,
    QwenCompanionChatLinksCommand,
    QwenCompanionChatNewCommand,
    QwenCompanionChatReconnectCommand,
    QwenCompanionChatSendCommand,
    QwenCompanionChatWithCommand,
)
from .companion.sublime_text.chat.history import (  # noqa: E402
    QwenCompanionChatForkCommand,
    QwenCompanionChatRewindCommand,
)
from .companion.sublime_text.chat.listener import QwenCompanionChatListener  # noqa: E402
from .companion.sublime_text.chat.pickers import (  # noqa: E402
    QwenCompanionChatAddCommand,
    QwenCompanionChatEffortCommand,
    QwenCompanionChatModeCommand,
    QwenCompanionChatModelCommand,
    QwenCompanionChatOptionsCommand,
    QwenCompanionChatPictureCommand,
    QwenCompanionDaemonCommand,
)
from .companion.sublime_text.chat.sessions import QwenCompanionChatSessionsCommand  # noqa: E402
from .companion.sublime_text.chat.sign_in import QwenCompanionChatSignInCommand, QwenCompanionChatSignOutCommand  # noqa: E402
from .companion.sublime_text.chat.tasks import QwenCompanionChatTasksCommand  # noqa: E402
from .companion.sublime_text.chat.text_commands import (  # noqa: E402
    QwenCompanionChatCompleteCommand,
    QwenCompanionChatFollowCommand,
    QwenCompanionChatHomeCommand,
    QwenCompanionChatRecallCommand,
    QwenCompanionChatSuggestionCommand,
    QwenCompanionChatTypeCommand,
    QwenCompanionChatUndoCommand,
)
from .companion.sublime_text.check.commands import (  # noqa: E402
    QwenCompanionCheckEditCommand,
    QwenCompanionCheckEditorCommand,
    QwenCompanionCheckListener,
)
from .companion.sublime_text.comments.commands import (  # noqa: E402
    QwenCompanionCommentCommand,
    QwenCompanionCopyCommentsCommand,
    QwenCompanionDeleteCommentsCommand,
    QwenCompanionGoToCommentCommand,
    QwenCompanionRejectWithCommentsCommand,
    QwenCompanionSendCommentsCommand,
)
from .companion.sublime_text.diff.commands import (  # noqa: E402
    QwenCompanionAcceptAllCommand,
    QwenCompanionAcceptDiffCommand,
    QwenCompanionCloseDiffViewCommand,
    QwenCompanionDiffListCommand,
    QwenCompanionDiffWarningsCommand,
    QwenCompanionGoToDiffCommand,
    QwenCompanionNextChangeCommand,
    QwenCompanionOpenListedDiffCommand,
    QwenCompanionPreviousChangeCommand,
    QwenCompanionRejectAllCommand,
    QwenCompanionRejectDiffCommand,
    QwenCompanionReloadDiffCommand,
    QwenCompanionReopenRejectedCommand,
    QwenCompanionRestoreChangeCommand,
    QwenCompanionRevertChangeCommand,
    QwenCompanionToggleDiffLayoutCommand,
    QwenCompanionToggleLineEndingsCommand,
)
from .companion.sublime_text.follow.commands import (  # noqa: E402
    QwenCompanionFollowCommand,
    QwenCompanionRecentFilesCommand,
)
from .companion.sublime_text.libraries.commands import QwenCompanionRepairLibrariesCommand  # noqa: E402
from .companion.sublime_text.listeners import QwenCompanionListener  # noqa: E402
from .companion.sublime_text.problems.commands import (  # noqa: E402
    QwenCompanionCopyMcpConfigurationCommand,
    QwenCompanionSendProblemsCommand,
)
from .companion.sublime_text.registry.commands import QwenCompanionInstallAgentCommand  # noqa: E402
from .companion.sublime_text.status.commands import (  # noqa: E402
    QwenCompanionCopyReportCommand,
    QwenCompanionDocumentationCommand,
    QwenCompanionShowLogCommand,
    QwenCompanionStatusCommand,
    QwenCompanionStatusRemedyCommand,
)
from .companion.sublime_text.terminal.commands import (  # noqa: E402
    QwenCompanionCopyEnvironmentCommand,
    QwenCompanionRunCommand,
    QwenCompanionShowTerminalCommand,
    QwenCompanionTerminalListener,
    QwenCompanionTerminalOpenedCommand,
)
from .companion.sublime_text.terminal.elsewhere import QwenCompanionConnectElsewhereCommand  # noqa: E402
from .companion.sublime_text.terminal.sending import QwenCompanionSendCommand  # noqa: E402

__all__ = (
    "QwenCompanionAcceptAllCommand",
    "QwenCompanionAcceptDiffCommand",
    "QwenCompanionActionCommand",
    "QwenCompanionAskHistoryCommand",
    "QwenCompanionBeginRoundCommand",
    "QwenCompanionChatAddCommand",
    "QwenCompanionChatAnswerCommand",
    "QwenCompanionChatCancelCommand",
    "QwenCompanionChatChangesCommand",
    "QwenCompanionChatCommand",
    "QwenCompanionChatCompleteCommand",
    "QwenCompanionChatContinueCommand",
    "QwenCompanionChatEarlierCommand",
    "QwenCompanionChatEffortCommand",
    "QwenCompanionChatFolderCommand",
    "QwenCompanionChatFollowCommand",
    "QwenCompanionChatForkCommand",
    "QwenCompanionChatHomeCommand",
    "QwenCompanionChatLeaveOutCommand",
    "QwenCompanionChatLinksCommand",
    "QwenCompanionChatListener",
    "QwenCompanionChatModeCommand",
    "QwenCompanionChatModelCommand",
    "QwenCompanionChatNewCommand",
    "QwenCompanionChatOptionsCommand",
    "QwenCompanionChatPastePictureCommand",
    "QwenCompanionChatPictureCommand",
    "QwenCompanionChatRecallCommand",
    "QwenCompanionChatReconnectCommand",
    "QwenCompanionChatRewindCommand",
    "QwenCompanionChatSendCommand",
    "QwenCompanionChatSessionsCommand",
    "QwenCompanionChatSignInCommand",
    "QwenCompanionChatSignOutCommand",
    "QwenCompanionChatSuggestionCommand",
    "QwenCompanionChatTasksCommand",
    "QwenCompanionChatTypeCommand",
    "QwenCompanionChatUndoCommand",
    "QwenCompanionChatWithCommand",
    "QwenCompanionCheckEditCommand",
    "QwenCompanionCheckEditorCommand",
    "QwenCompanionCheckListener",
    "QwenCompanionCloseDiffViewCommand",
    "QwenCompanionCommentCommand",
    "QwenCompanionCompareOverwrittenCommand",
    "QwenCompanionConnectElsewhereCommand",
    "QwenCompanionCopyCommentsCommand",
    "QwenCompanionCopyEnvironmentCommand",
    "QwenCompanionCopyMcpConfigurationCommand",
    "QwenCompanionCopyReportCommand",
    "QwenCompanionDaemonCommand",
    "QwenCompanionDeleteCommentsCommand",
    "QwenCompanionDiffListCommand",
    "QwenCompanionDiffWarningsCommand",
    "QwenCompanionDocumentationCommand",
    "QwenCompanionEditCommand",
    "QwenCompanionFollowCommand",
    "QwenCompanionForgetSnapshotsCommand",
    "QwenCompanionGoToCommentCommand",
    "QwenCompanionGoToDiffCommand",
    "QwenCompanionInstallAgentCommand",
    "QwenCompanionKeepAllChangesCommand",
    "QwenCompanionKeepChangeCommand",
    "QwenCompanionKeepFileCommand",
    "QwenCompanionListener",
    "QwenCompanionNextChangeCommand",
    "QwenCompanionOpenListedDiffCommand",
    "QwenCompanionPendingDiffsCommand",
    "QwenCompanionPreviousChangeCommand",
    "QwenCompanionRecentFilesCommand",
    "QwenCompanionRedoChangeCommand",
    "QwenCompanionRejectAllCommand",
    "QwenCompanionRejectDiffCommand",
    "QwenCompanionRejectWithCommentsCommand",
    "QwenCompanionReloadDiffCommand",
    "QwenCompanionReopenRejectedCommand",
    "QwenCompanionRepairLibrariesCommand",
    "QwenCompanionRestoreChangeCommand",
    "QwenCompanionRestoreCheckpointCommand",
    "QwenCompanionRevertChangeCommand",
    "QwenCompanionReviewChangesCommand",
    "QwenCompanionRunCommand",
    "QwenCompanionSendCommand",
    "QwenCompanionSendCommentsCommand",
    "QwenCompanionSendFileCommand",
    "QwenCompanionSendLineCommand",
    "QwenCompanionSendProblemsCommand",
    "QwenCompanionSendSelectionCommand",
    "QwenCompanionShowLogCommand",
    "QwenCompanionShowTerminalCommand",
    "QwenCompanionStatusCommand",
    "QwenCompanionStatusRemedyCommand",
    "QwenCompanionTerminalListener",
    "QwenCompanionTerminalOpenedCommand",
    "QwenCompanionToggleDiffLayoutCommand",
    "QwenCompanionToggleLineEndingsCommand",
    "QwenCompanionUndoAllChangesCommand",
    "QwenCompanionUndoChangeCommand",
    "QwenCompanionUndoFileCommand",
    "QwenCompanionUnsavedTextCommand",
    "plugin_loaded",
    "plugin_unloaded",
)


def plugin_loaded() -> None:
    """Sublime's API is ready."""
    package.load()


def plugin_unloaded() -> None:
    """Sublime disables, upgrades or reloads the package. Not called when the editor quits: see on_exit."""
    package.unload()
