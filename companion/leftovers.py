"""What a crashed editor has left behind."""

from __future__ import annotations

import asyncio
import logging

from .backends.connector import end_leftovers
from .changes import places
from .clis.discovery import clear_leftovers
from .clis.families import FAMILIES
from .clis.processes import wrote

logger = logging.getLogger(__name__)


async def clear() -> None:
    """Remove its discovery files, end its processes, and remove snapshots that are no longer needed."""
    for path in await asyncio.to_thread(clear_leftovers, FAMILIES, wrote):
        logger.info("Removed %s, which a crashed editor left behind", path)
    for pid in await asyncio.to_thread(end_leftovers):
        logger.info("Ended the process %d, which a crashed editor left behind", pid)
    for store in await asyncio.to_thread(places.shrink):
        logger.info("Removed the snapshots in %s", store)
