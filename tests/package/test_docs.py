from __future__ import annotations

import re
from pathlib import Path

import pytest

from headless import jsonc

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "headless/README.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
]


def behaviours(root: Path) -> list[str]:
    """The rows of the architecture page that lead from a behaviour to a file."""
    page = (root / "docs/dev/architecture.md").read_text()
    return re.findall(r"^\| .* → .* \|$", page, re.MULTILINE)


def test_every_file_on_the_way_is_there(root: Path):
    """The file that the page names is the one that has to change."""
    named = {name for row in behaviours(root) for name in re.findall(r"`([\w/]+\.py)`", row)}
    assert named
    assert [name for name in sorted(named) if not (root / "companion" / name).is_file()] == []


def test_each_module_that_a_page_about_a_protocol_names_is_there(root: Path):
    """By its path in the repository, or in a room or the tests."""

    def is_there(name: str) -> bool:
        folder = root / ("tests" if name.startswith("test_") else "companion")
        return (root / name).is_file() or any(folder.rglob(name))

    wrong = [
        (page.name, name)
        for page in sorted((root / "docs/protocols").glob("*.md"))
        for name in re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))
        if not is_there(name)
    ]
    assert wrong == []


def test_each_room_names_modules_that_are_there(root: Path):
    """Its own, or other rooms and modules of the package; what is no module has other signs in its backticks."""
    companion = root / "companion"
    known = {path.stem for path in companion.rglob("*") if path.suffix == ".py" or path.is_dir()} | {"sublime", "env"}
    wrong = [
        (room.parent.relative_to(root).as_posix(), name)
        for room in companion.rglob("__init__.py")
        for name in re.findall(r"`([a-z_]+)`", room.read_text(encoding="utf-8"))
        if name not in known
    ]
    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_page_lead_somewhere(root: Path, name: str):
    page = root / name
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_decision_is_listed(root: Path):
    folder = root / "docs/dev/decisions"
    listed = (folder / "README.md").read_text()
    assert [page.name for page in folder.glob("0*.md") if page.name not in listed] == []


def test_every_picture_that_a_page_shows_is_there(root: Path):
    shown = {name for page in PAGES for name in re.findall(r"\]\(pictures/([\w-]+\.png)\)", (root / page).read_text())}
    assert shown
    assert [name for name in sorted(shown) if not (root / "docs/pictures" / name).is_file()] == []


def test_every_picture_is_shown_on_a_page(root: Path):
    text = "".join((root / page).read_text() for page in PAGES)
    assert [path.name for path in sorted((root / "docs/pictures").iterdir()) if path.name not in text] == []


def test_every_command_that_a_page_names_is_in_the_palette(root: Path):
    palette = jsonc.loads((root / "Default.sublime-commands").read_text(encoding="utf-8"))
    captions = {each["caption"].rstrip("…") for each in palette}
    named = {
        (page, " ".join(caption.split()))
        for page in PAGES
        for caption in re.findall(r"\*(Qwen:\s[^*]+)\*", (root / page).read_text(encoding="utf-8"))
    }
    assert named
    assert sorted(each for each in named if each[1].rstrip("…") not in captions) == []
