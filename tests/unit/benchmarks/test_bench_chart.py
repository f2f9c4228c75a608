"""The figures of the comparison with Node, as they are written into the documentation. No test measures anything."""

from __future__ import annotations

import re

import pytest

from benchmarks import chart

FIGURES = {
    "peer.load": 0.25,
    "peer.memory_ratio": 0.17,
    **{
        f"{mark}.{name}_{what}": number
        for mark in ("peer", "peer.10_sessions", "peer.100_sessions")
        for name in chart.ROWS
        for what, number in (("ratio", 0.75), ("floor_ratio", 0.5), ("p99_ratio", 1.5))
    },
}


def test_the_figures_take_the_place_of_the_older_ones_and_the_text_around_them_stays() -> None:
    page = f"Before.\n{chart.BEGIN}Old.\n{chart.END}After.\n"
    once = chart.written(page, FIGURES)
    assert once.startswith(f"Before.\n{chart.BEGIN}")
    assert once.endswith(f"{chart.END}After.\n")
    assert "Old" not in once
    assert once.count("| 0.75 | 0.50 | ") == 3 * len(chart.ROWS)
    assert "load of the machine before the run was 0.2" in once
    assert chart.written(once, FIGURES) == once


def test_a_page_without_a_place_for_them_is_refused() -> None:
    with pytest.raises(ValueError, match=r"performance\.md must have the lines"):
        chart.written("Before.\n", FIGURES)


def test_the_page_has_a_place_for_them_and_the_picture_their_numbers() -> None:
    assert chart.written(chart.PAGE.read_text("utf-8"), FIGURES)
    assert ">0.75<" in chart.chart(FIGURES)


def test_no_line_of_the_picture_crosses_a_number_and_it_says_what_its_lines_mean() -> None:
    drawn = chart.chart(FIGURES)
    numbers = [int(x) for x in re.findall(r'<text x="(\d+)" y="\d+">[\d.]+', drawn)]
    lines = [int(x) for x in re.findall(r'<path d="M(\d+) ', drawn)]
    assert len(numbers) == 2 * len(chart.ROWS)
    assert max(lines) < min(numbers)
    assert ">wanted<" in drawn
