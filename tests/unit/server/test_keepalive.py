"""A stream is never silent for long: the CLIs give one up after 300 s without a byte.

Facts: docs/protocols/qwen-ide.md#http.
"""

from __future__ import annotations

import pytest
from sse_starlette import EventSourceResponse

from ..conftest import Running


def test_a_silent_stream_has_a_comment_at_least_every_15_seconds() -> None:
    """The SDK leaves the interval to sse-starlette, and so do we."""
    assert 0 < EventSourceResponse.DEFAULT_PING_INTERVAL <= 15


def test_the_comment_comes_on_the_streams_that_we_serve(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventSourceResponse, "DEFAULT_PING_INTERVAL", 0.05)
    _, stream = running.listening()
    assert next(line for line in stream._lines if line.startswith(":"))
