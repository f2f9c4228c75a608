"""The limits of the benchmarks. No test measures anything: what a machine does else would decide."""

from __future__ import annotations

from pathlib import Path

from benchmarks.limits import LIMITS, exceeded


def test_a_figure_over_its_limit_is_told():
    figures = {"review.10k.stall_ms": 16.5, "review.10k.shown_ms": 150.0, "server.post_ratio": 99.0}
    assert exceeded(figures) == ["review.10k.stall_ms is 16.5, more than 16."]


def test_each_limit_is_that_of_a_figure(root: Path):
    code = "".join(path.read_text("utf-8") for path in (root / "benchmarks").glob("**/*.py") if path.stem != "limits")
    assert [name for name in LIMITS if f'"{name}"' not in code] == []
