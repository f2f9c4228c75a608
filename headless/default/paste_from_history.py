"""What was copied: what packages use of the editor's `Default.paste_from_history`."""

from __future__ import annotations


class ClipboardHistory:
    """The texts that were copied, the newest first, each once."""

    LIST_LIMIT = 15

    def __init__(self) -> None:
        self.storage: list[str] = []

    def push_text(self, text: str) -> None:
        """Remember a text; an empty one is ignored."""
        if text:
            self.storage = [text, *(each for each in self.storage if each != text)][: self.LIST_LIMIT]

    def get(self) -> list[str]:
        """The texts."""
        return list(self.storage)

    def empty(self) -> bool:
        """Whether nothing was copied."""
        return not self.storage


g_clipboard_history = ClipboardHistory()
