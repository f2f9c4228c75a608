"""What of these three only the real OpenCode does; test_doors.py has the rest."""

from __future__ import annotations

import contextlib
import time

import psutil

from .opencode import OpenCode
from .places import OpenCodePlace
from .session import GREET

LONGEST = 12.0
"""Seconds between two tries to connect, and a bit."""


def test_where_its_environment_makes_it_come_without_a_token_it_is_refused() -> None:
    with contextlib.closing(OpenCodePlace()) as place:
        cli = OpenCode(place.home, place.model, more={"CLAUDE_CODE_SSE_PORT": str(place.lock()["name"])})
        place.clis.append(cli)
        cli.wait_ready()
        place.select(1)
        time.sleep(LONGEST)
        assert "greet.py#" not in cli.terminal.text()
        assert not place.is_connected()


def test_what_is_sent_and_selected_has_the_lines_that_the_editor_shows() -> None:
    with contextlib.closing(OpenCodePlace()) as place:
        cli = place.run()
        place.select(1)
        cli.terminal.wait_text("greet.py#2")
        place.editor.do("command", name="qwen_companion_send", args={"what": "line"}, view=place.view)
        cli.terminal.wait_text("@greet.py#2")
        place.editor.do("command", name="qwen_companion_send", args={"what": "file"}, view=place.view)
        cli.terminal.wait_text("@greet.py#1")
        script = cli.ask("What is it")
        cli.wait_done(script)
        heard = place.heard(script)
        assert "selected #2 from" in heard
        assert "1: def greet(name):" in heard


def test_a_killed_one_is_gone_and_each_window_has_its_own() -> None:
    with contextlib.closing(OpenCodePlace()) as place:
        cli = place.run()
        for process in cli.terminal.processes()[1:] or cli.terminal.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        place.editor.wait("status without it", lambda: not place.is_connected())
        other = place.home.root / "other"
        other.mkdir()
        (other / "greet.py").write_text(GREET)
        place.editor.do("new_window", folders=[str(other)])
        place.run(other)
        assert not place.is_connected()
