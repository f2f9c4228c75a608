"""The chat's figures with an agent on its standard input and output, to compare with those of `chat`."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from .chat import ANSWERS, Chat, Held, first_chunk, long_answer
from .editor import ROOT, Editor, sublime


class AgentChat(Chat):
    """The window's chat with an agent, which the companion starts."""

    def __init__(self, editor: Editor, folder: str) -> None:
        self.editor = editor
        self.prompts = 0
        self._told_file = Path(folder, "told.jsonl")
        self._told_file.touch()
        self._told = self._told_file.open(encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.agent", str(self._told_file)]
        entry = {"command": command, "environment": {"PYTHONPATH": str(ROOT)}}
        user = Path(sublime.packages_path(), "User")
        user.mkdir(parents=True, exist_ok=True)
        (user / "QwenCompanion.sublime-settings").write_text(json.dumps({"agents": {"Bench": entry}}), encoding="utf-8")
        folders = {"Bench": [os.path.realpath(folder)]}
        allowed = {"allowed": {"Bench": command}, "allowed_folders": folders, "last": "Bench"}
        (user / "QwenCompanion Agents.sublime-settings").write_text(json.dumps(allowed), encoding="utf-8")

    def begun(self) -> float:
        """See Chat."""
        lines: list[str] = []
        self.editor.wait(lambda: lines or lines.extend(filter(None, [self._told.readline()])))
        return json.loads(lines[0])["begun"]

    def close(self) -> None:
        """The agent ends with the editor."""
        self._told.close()


def figures() -> dict[str, float]:
    """The median of 15 first pieces, and one answer of 10,000."""
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(folder)
        chat = AgentChat(editor, folder)
        try:
            held = Held(editor)
            editor.start()
            chat.open()
            first = [first_chunk(chat) for _ in range(ANSWERS)]
            ten = long_answer(chat, held)
        finally:
            chat.close()
        editor.leave()
    return {"acp.first_chunk_ms": statistics.median(first), "acp.10k_chunks_ui_ms": ten}
