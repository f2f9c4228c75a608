from __future__ import annotations

import re
import struct
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
TASKS = {"connect": 6, "review": 3, "chat": 4, "remote": 0, "trouble": 1, "changes": 2, "problems": 1}
"""The pages for users, and how many pictures each has at least."""
FILMS = {"review": "film-review", "chat": "film-chat", "changes": "film-changes"}
MAX_FILM = 1_500_000
"""Bytes of an animated picture."""
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
    """The file that the page names is the one that has to change."""
    named = {name for row in behaviours(root) for name in re.findall(r"`([\w/]+\.py)`", row)}
    assert len(named) > BEHAVIOURS
    assert [name for name in sorted(named) if not (root / "companion" / name).is_file()] == []


def test_each_room_says_what_it_does_and_where_to_begin(root: Path):
    rooms = [path for path in (root / "companion").rglob("__init__.py") if path.parent != root / "companion"]
    assert len(rooms) > BEHAVIOURS
    for room in rooms:
        begin = re.search(r"Start\s+with\s+`(\w+)`", room.read_text())
        assert begin, room
        assert (room.parent / f"{begin[1]}.py").exists() or (room.parent / begin[1]).is_dir(), room


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
    folder = root / "docs/decisions"
    listed = (folder / "README.md").read_text()
    assert [page.name for page in folder.glob("0*.md") if page.name not in listed] == []


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_a_page_with_pictures_that_the_readme_links(root: Path, task: str):
    page = (root / "docs" / f"{task}.md").read_text()
    pictures = re.findall(r"!\[[^\]]+\]\(pictures/([\w-]+\.png)\)", page)
    assert len(pictures) >= TASKS[task]
    assert [name for name in pictures if not (root / "docs/pictures" / name).is_file()] == []
    assert f"](docs/{task}.md)" in (root / "README.md").read_text()


@pytest.mark.parametrize("task", FILMS)
def test_an_animated_picture_takes_about_a_minute_and_little_room(root: Path, task: str):
    """APNG, whose frames say how long they are shown."""
    content = (root / "docs/pictures" / f"{FILMS[task]}.png").read_bytes()
    assert len(content) < MAX_FILM
    seconds, at = 0.0, 8
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        if kind == b"fcTL":
            numerator, denominator = struct.unpack(">HH", content[at + 28 : at + 32])
            seconds += numerator / (denominator or 100)
        at += length + 12
    assert 40 <= seconds <= 75
    assert f"pictures/{FILMS[task]}.png" in (root / "docs" / f"{task}.md").read_text()


def test_every_picture_is_shown_on_a_page(root: Path):
    text = "".join((root / page).read_text() for page in PAGES)
    assert [path.name for path in sorted((root / "docs/pictures").iterdir()) if path.name not in text] == []


def test_the_glossary_has_at_most_forty_words_in_one_table(root: Path):
    rows = re.findall(
        r"^\| (?!word |-)(.*?) \| (.*?) \| (.*?) \|$", (root / "docs/glossary.md").read_text(), re.MULTILINE
    )
    assert 20 < len(rows) <= 40
    assert len({word for word, _, _ in rows}) == len(rows)


def test_the_changelog_says_what_is_in_a_release_in_forty_lines(root: Path):
    for release in (root / "CHANGELOG.md").read_text().split("\n## ")[1:]:
        assert len([line for line in release.splitlines() if line]) <= 40


def test_the_architecture_is_read_in_ten_minutes(root: Path):
    assert len((root / "docs/architecture.md").read_text().split()) <= 1800


def test_every_command_that_a_page_names_is_in_the_palette(root: Path):
    palette = jsonc.loads((root / "Default.sublime-commands").read_text(encoding="utf-8"))
    captions = {each["caption"] for each in palette}
    named = {
        (page, " ".join(caption.split()))
        for page in PAGES
        for caption in re.findall(r"\*(Qwen\s+Companion:\s[^*]+)\*", (root / page).read_text(encoding="utf-8"))
    }
    assert len(named) > 15
    assert sorted(each for each in named if each[1] not in captions) == []
