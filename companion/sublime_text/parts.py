"""The parts on the screen, as the adapter has made them."""

from __future__ import annotations

from dataclasses import dataclass

from .chat.chats import ChatViews
from .chat.files import EditorFiles
from .comments.panel import CommentPanel
from .follow import Following
from .libraries import Libraries
from .messenger import Messenger
from .notices import OpenNotices
from .problems.problems import EditorProblems
from .questions import EditorQuestions
from .review.diffs import Diffs
from .review.loaded import LoadedTexts
from .review.review_tabs import ReviewTabs
from .review.unsaved import UnsavedTexts
from .review.written import WrittenChanges
from .settings import SettingsFile
from .status.bar import StatusBar
from .windows import Focus


@dataclass(frozen=True)
class Parts:
    """What shows something to the person, or hears of what they do."""

    focus: Focus
    files: EditorFiles
    questions: EditorQuestions
    settings: SettingsFile
    messenger: Messenger
    notices: OpenNotices
    status_bar: StatusBar
    libraries: Libraries
    diffs: Diffs
    written: WrittenChanges
    unsaved: UnsavedTexts
    loaded: LoadedTexts
    comments: CommentPanel
    chats: ChatViews
    following: Following
    problems: EditorProblems
    review: ReviewTabs
