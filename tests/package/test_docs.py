from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "headless/README.md",
    "docs/architecture.md",
    "docs/real-editor.md",
    "docs/decisions/README.md",
]
BEHAVIOURS = 12


def behaviours(root: Path) -> list[str]:
    """The rows of the architecture page that lead from a behaviour to a file."""
    page = (root / "docs/architecture.md").read_text()
    return re.findall(r"^\| .* → .* \|$", page, re.MULTILINE)


def test_the_architecture_leads_to_one_file_for_each_of_twelve_behaviours(root: Path):
    rows = behaviours(root)
    assert len(rows) >= BEHAVIOURS
    assert [row for row in rows if len(re.findall(r"\*\*`[\w/]+\.py`\*\*", row)) != 1] == []


def test_every_file_on_the_way_is_there(root: Path):
    """Issue 8: the file that the page names is the one that has to change."""
    named = {name for row in behaviours(root) for name in re.findall(r"`([\w/]+\.py)`", row)}
    assert len(named) > BEHAVIOURS
    assert [name for name in sorted(named) if not (root / "companion" / name).is_file()] == []


def test_each_room_says_what_it_does_and_where_to_begin(root: Path):
    """Issue 8, 1."""
    rooms = [path for path in (root / "companion").rglob("__init__.py") if path.parent != root / "companion"]
    assert len(rooms) > BEHAVIOURS
    for room in rooms:
        begin = re.search(r"Start\s+with\s+`(\w+)`", room.read_text())
        assert begin, room
        assert (room.parent / f"{begin[1]}.py").exists() or (room.parent / begin[1]).is_dir(), room


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_page_lead_somewhere(root: Path, name: str):
    page = root / name
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_decision_is_listed(root: Path):
    folder = root / "docs/decisions"
    listed = (folder / "README.md").read_text()
    assert [page.name for page in folder.glob("0*.md") if page.name not in listed] == []
