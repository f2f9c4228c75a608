"""The ids of windows, views and chats. Each lasts as long as the editor runs, over reloads of the package, too."""

from __future__ import annotations

from typing import NewType

WindowId = NewType("WindowId", int)
"""`sublime.Window.id()`."""
ViewId = NewType("ViewId", int)
"""`sublime.View.id()`; no view of another window has the same one."""
ChatId = NewType("ChatId", ViewId)
"""Names a chat: the id of its view."""
