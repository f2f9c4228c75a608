"""What of these three only the real OpenCode does; test_doors.py has the rest."""

from __future__ import annotations

import contextlib
import time

from .opencode import OpenCode
from .places import OpenCodePlace

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
