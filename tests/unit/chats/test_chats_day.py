"""A compressed day with a chat: nothing is lost, nothing comes twice."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from .long_day import EVERY, FAULTS, PIECES, day

LIMIT = 120.0
"""Seconds."""


def test_a_day_with_every_fault_ends_with_the_daemons_transcript(project: Path):
    async def test() -> None:
        async with asyncio.timeout(LIMIT):
            found = await day(str(project), EVERY * len(FAULTS) + 5)
        assert found.problems() == []
        interrupted = [answer for _, answer, state in found.shown if state == "interrupted"]
        assert [answer.count("has the answer") for answer in interrupted] == [PIECES // 2]

    asyncio.run(test())
    gc.collect()  # a warning about what was left open is an error
