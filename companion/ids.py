"""The ids of windows, views, chats and reviews. Each lasts as long as the editor runs, over reloads, too."""

from __future__ import annotations

from typing import NewType

WindowId = NewType("WindowId", int)
"""`sublime.Window.id()`."""
ViewId = NewType("ViewId", int)
"""`sublime.View.id()`; no view of another window has the same one."""
ChatId = NewType("ChatId", ViewId)
"""Names a chat: the id of its view."""
ReviewId = NewType("ReviewId", int)
"""Names a review. No other open one has the same."""
