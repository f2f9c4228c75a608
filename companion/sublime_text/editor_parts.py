"""The parts of the editor's side that both its events and its port reach."""

from __future__ import annotations

from dataclasses import dataclass

from .changes.unsaved import UnsavedTexts
from .changes.written import WrittenChanges
from .chat.chats import ChatViews
from .comments.panel import CommentPanel
from .diff.diffs import Diffs
from .follow.following import Following
from .messenger import Messenger
from .settings import SettingsFile
from .status.bar import StatusBar
from .windows import Focus


@dataclass(frozen=True, slots=True)
class EditorParts:
    """What shows each room on the screen, and what all of them need."""

    focus: Focus
    settings: SettingsFile
    messenger: Messenger
    status_bar: StatusBar
    diffs: Diffs
    written: WrittenChanges
    unsaved: UnsavedTexts
    comments: CommentPanel
    chats: ChatViews
    following: Following
