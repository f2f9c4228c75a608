from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

# A busy machine is slow, which is no fault of the code; and a run should find tomorrow what it finds today.
hypothesis.settings.register_profile("tests", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tests")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the package."""
    return Path(__file__).resolve().parents[1]
