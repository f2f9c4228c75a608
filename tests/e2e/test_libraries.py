"""The package without a library that it needs: what a person reads, and what still works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .editor import Editor
from .own import kind_of
from .qwen import PROJECT, Home

# Python runs a module with this name when it starts.
HIDES_MCP = """\
from importlib.machinery import PathFinder

find = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] == "mcp" else find(name, path, target)


PathFinder.find_spec = find_spec
"""


@pytest.mark.parametrize(
    ("file", "text", "state"),
    [
        ("sitecustomize.py", HIDES_MCP, "missing"),
        ("mcp/__init__.py", "raise ImportError('another version')\n", "broken"),
    ],
)
def test_a_library_that_fails_is_reported_in_one_sentence_and_the_package_is_loaded(
    tmp_path: Path, file: str, text: str, state: str
) -> None:
    """In the status bar and in the console, without a traceback."""
    module = tmp_path / file
    module.parent.mkdir(exist_ok=True)
    module.write_text(text, encoding="utf-8")
    first = os.pathsep.join([str(tmp_path), str(PROJECT)])
    with Home.make() as home, Editor(home, [home.workspace], variables={"PYTHONPATH": first}) as editor:
        sentence = (
            f"QwenCompanion: The library “mcp” is {state}; install Package Control from "
            "https://packagecontrol.io/installation, then run “Qwen: Repair Libraries”."
        )

        def said() -> list[str]:
            """The messages in the status bar."""
            return [one["text"] for one in editor.state()["messages"] if "mcp" in one["text"]]

        shown = editor.wait("sentence", said)  # the status bar has room for no more than 80 characters
        assert shown
        assert [one[:60] for one in shown] == [sentence[:60]]
        # The package is loaded: its commands run, and the report repeats the remedy.
        editor.do("command", name="qwen_companion_status")
        editor.wait(
            "status report",
            lambda: any(
                kind_of(editor.home, view) == "status" and sentence.partition(": ")[2] in view["text"]
                for view in editor.views(text=True)
            ),
        )
        console = [event["text"] for event in editor.events if event["event"] == "log"]
        assert [line for line in console if "mcp" in line] == [sentence]
        assert "reloading plugin QwenCompanion.plugin" in console
        assert "Traceback" not in "\n".join(console)
        assert editor.lock_files() == []
        editor.quit()
        assert "Traceback" not in editor.output()
