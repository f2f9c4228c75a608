"""Talks with a scripted agent, and a chat for whose agent a file stands for the sign-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_talk import Talks, scripted, talking

from .signing import SignIns


@pytest.fixture
def talks(project: Path, tmp_path: Path) -> Talks:
    return lambda script="", **more: talking(scripted(script, tmp_path), str(project), **more)


@pytest.fixture
def sign_ins(project: Path, tmp_path: Path) -> SignIns:
    return SignIns(project, tmp_path)
