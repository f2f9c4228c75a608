from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from ...fake_daemon import FakeDaemon


@pytest.fixture
def daemon() -> AbstractAsyncContextManager[FakeDaemon]:
    """A daemon whose answers the test scripts."""
    return FakeDaemon().serving()
