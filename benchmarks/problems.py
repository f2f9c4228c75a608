"""What 10,000 problems of a language server cost the UI thread, until an agent has the answer."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import sublime

from . import editor as editing

COUNT = 10_000
FILES = 100
TRIES = 10


class Storage:
    """As that of the package LSP: lists of what the server has sent, in the order of their lines at each question."""

    def __init__(self, files: list[Path]) -> None:
        self._by_path = {str(path): [row(number) for number in range(COUNT // FILES)] for path in files}

    def get_diagnostics(self) -> dict[str, list[dict[str, Any]]]:
        return {f"file://{path}": sorted(rows, key=_place) for path, rows in self._by_path.items()}

    def get_diagnostics_for_uri(self, uri: str) -> list[dict[str, Any]]:
        return self._by_path.get(uri.removeprefix("file://"), [])


def row(number: int) -> dict[str, Any]:
    """A problem as a server sends it."""
    start, end = {"line": number, "character": 4}, {"line": number, "character": 9}
    return {"range": {"start": start, "end": end}, "severity": 1, "source": "Pyright", "message": "“é” is not defined"}


def _place(found: dict[str, Any]) -> tuple[int, int]:
    return found["range"]["start"]["line"], found["range"]["start"]["character"]


def install(files: list[Path]) -> None:
    """Put a module in the place of the package LSP, with one session."""
    session = types.SimpleNamespace(
        config=types.SimpleNamespace(name="pyright"),
        diagnostics=Storage(files),
        get_session_buffer_for_uri_async=lambda _: None,
        session_view_for_view_async=lambda _: None,
    )
    module: Any = types.ModuleType("LSP.plugin")
    module.LspWindowCommand = lambda _: types.SimpleNamespace(sessions=lambda: [session])
    module.Request = object
    module.filename_to_uri = lambda path: f"file://{path}"
    module.parse_uri = lambda uri: ("file", uri.removeprefix("file://"))
    sys.modules["LSP.plugin"] = module


def figures() -> dict[str, float]:
    """All figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder).resolve() / f"f{number}.py" for number in range(FILES)]
        for path in files:
            path.write_text("x = é + undefined\n" * (COUNT // FILES), encoding="utf-8")
        editor = editing.Editor(os.path.realpath(folder))
        sublime.load_settings("QwenCompanion.sublime-settings").set("agents_use_editor", True)
        editor.start()
        for path in files:
            sublime.active_window().open_file(str(path))
        editor.connect()
        editor.rest(1)
        install(files)
        module = sys.modules["QwenCompanion.companion.sublime_text.package"]
        adapter: Any = module.adapter()  # type: ignore[attr-defined]
        window = sublime.active_window().id()
        costs: list[float] = []
        counts: list[int] = []
        for _ in range(TRIES):
            done: list[Any] = []
            begun = time.thread_time()
            adapter.problems.read(window, None, done.append)
            editor.wait(lambda: done)  # noqa: B023 - within the same turn
            costs.append(1000 * (time.thread_time() - begun))
            counts.append(len(done[0].diagnostics()))
        assert counts == [COUNT] * TRIES, counts
        editor.leave()
        return {"problems.10k_ui_ms": max(costs)}
