"""Prints as JSON what Check Editor finds in the stand-in: by default, and under each variation alone.

A program of its own, since the stand-in takes the place of the module `sublime` in its process.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from headless import modules, variations
from headless.app import Application
from headless.paths import move_home

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 30.0
"""Seconds to wait for a check, or for the companion."""


def wait(app: Application, condition: Callable[[], object]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it never came true"
        app.loop.turn(0.01)


def check(app: Application, facts: Any) -> dict[str, bool]:
    """Run the check under the variations that are chosen now: what it has kept."""
    sublime = importlib.import_module("sublime")
    path = Path(sublime.cache_path(), "QwenCompanion", "editor-check.txt")
    path.unlink(missing_ok=True)
    sublime.active_window().run_command("qwen_companion_check_editor")
    wait(app, path.exists)
    report = path.read_text(encoding="utf-8")
    assert "The check failed" not in report, report
    assert "Not known" not in report, report
    return {name: facts.EDITOR.holds(name) for name in facts.ASSUMPTIONS}


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        move_home(home)
        modules.install()
        app = Application()
        app.new_window()
        app.loader.add(str(ROOT), "QwenCompanion")
        app.start()
        app.loop.turn(0.05)
        facts = importlib.import_module("QwenCompanion.companion.sublime_text.editor_facts")
        answered: list[object] = []
        package = importlib.import_module("QwenCompanion.companion.sublime_text.package")
        package.adapter().ask(lambda companion: companion, answered.append)
        wait(app, lambda: answered)  # the libraries take a while on a busy machine
        found = {"": check(app, facts)}
        for setting in variations.alone():
            variations.reset()
            variations.choose([setting])
            found[setting] = check(app, facts)
        app.shut_down()
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
