"""What an async test of the chats is inside while it runs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.agent_talk import Talks, scripted, talking

from .chatting import Room, attached


@pytest.fixture
def room(project: Path) -> AbstractAsyncContextManager[Room]:
    """Window 1, whose chats are attached to a scripted daemon."""
    return attached(project)


@pytest.fixture
def talks(project: Path, tmp_path: Path) -> Talks:
    return lambda script="", **more: talking(scripted(script, tmp_path), str(project), **more)
