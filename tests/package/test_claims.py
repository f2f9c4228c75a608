"""The pages about security and reliability name a test for each of their claims, and it exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def rows(page: Path) -> list[str]:
    """The rows of the tables whose last column is the test."""
    found: list[str] = []
    is_inside = False
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            is_inside = False
        elif line.rstrip(" |").endswith("| test"):
            is_inside = True
        elif is_inside and not line.startswith("|---"):
            found.append(line)
    return found


@pytest.mark.parametrize("name", ["security.md", "reliability.md"])
def test_every_row_names_a_test_that_exists(root: Path, name: str) -> None:
    claims = rows(root / "docs" / "dev" / name)
    assert len(claims) > 10
    for claim in claims:
        shown = claim.rstrip(" |").rpartition(" | ")[2]
        path = None
        tests = 0
        for word in re.findall(r"`([^`]+)`", shown):
            if word.endswith(".py"):
                [path] = [root / word] if "/" in word else (root / "tests/unit").rglob(word)
            else:
                assert path, claim
                assert f"def {word}(" in path.read_text("utf-8"), claim
                tests += 1
        assert tests, f"no test: {claim}"
