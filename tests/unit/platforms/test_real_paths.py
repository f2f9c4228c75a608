"""Paths without links, while a disk hangs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.platforms.paths import RealPaths, resolved

from ..conftest import until


class Disk:
    """Resolves paths; those below /share hang until `answers` is set."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.looks: list[str] = []

    def resolve(self, path: str) -> str:
        self.looks.append(path)
        if path.startswith("/share"):
            self.answers.wait(600)
        return f"/real{path}"


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.answers.set()


def test_links_are_followed(tmp_path: Path):
    (tmp_path / "b").touch()
    (tmp_path / "a").symlink_to(tmp_path / "b")
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert RealPaths().of([a, b]) == {a: resolved(b), b: resolved(b)}


def test_a_link_that_has_moved_is_followed_at_once_if_that_matters(tmp_path: Path):
    for name in "bc":
        (tmp_path / name).touch()
    link = tmp_path / "a"
    link.symlink_to(tmp_path / "b")
    paths = RealPaths()
    assert paths.of([str(link)])[str(link)] == resolved(str(tmp_path / "b"))
    link.unlink()
    link.symlink_to(tmp_path / "c")
    assert paths.of([str(link)], is_exact=True)[str(link)] == resolved(str(tmp_path / "c"))


def test_an_answer_counts_for_a_while(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.platforms.paths.FRESH", 3600.0)
    paths = RealPaths(disk.resolve)
    for _ in range(5):
        assert paths.of(["/a"]) == {"/a": "/real/a"}
    assert disk.looks == ["/a"]


def test_a_path_on_a_disk_that_hangs_stays_as_it_is_and_holds_nobody_up_twice(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    paths = RealPaths(disk.resolve)
    assert paths.of(["/share/x/../a"], is_exact=True) == {
        "/share/x/../a": os.path.normcase(os.path.normpath("/share/a"))
    }
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 600.0)
    began = time.monotonic()
    for _ in range(100):
        assert paths.of(["/share/x/../a", "/b"], is_exact=True)["/b"] == "/real/b"
    assert time.monotonic() - began < 300
    assert len([path for path in disk.looks if path.startswith("/share")]) == 1


def test_one_question_finds_every_folder_that_hangs_and_all_that_answer(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    """A window may have tabs in twenty folders of a share: the editor does not stop once for each of them."""
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    paths = RealPaths(disk.resolve)
    hung = [f"/share/{number}/a" for number in range(20)]
    paths.of([*hung, "/b", "/share/0/b"])
    until(lambda: {*hung, "/b"} <= set(disk.looks))
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 600.0)
    began = time.monotonic()
    assert paths.of([*hung, "/b"], is_exact=True)["/b"] == "/real/b"
    assert time.monotonic() - began < 250
    assert sorted(path for path in disk.looks if path.startswith("/share")) == sorted(hung)


def test_what_a_disk_says_late_is_not_taken_for_what_is_there_now(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    paths = RealPaths(disk.resolve)
    paths.of(["/share/a"])
    until(lambda: disk.looks)
    asked = time.monotonic()
    disk.answers.set()
    until(lambda: not paths._hanging)
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 600.0)
    monkeypatch.setattr("companion.platforms.paths.FRESH", time.monotonic() - asked)
    assert paths.of(["/share/a"]) == {"/share/a": "/real/share/a"}
    assert disk.looks == ["/share/a", "/share/a"]


def test_a_disk_that_answers_again_is_asked_again(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    paths = RealPaths(disk.resolve)
    paths.of(["/share/a"])
    disk.answers.set()
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 600.0)
    until(lambda: paths.of(["/share/a"], is_exact=True) == {"/share/a": "/real/share/a"})
    assert paths.of(["/share/b"], is_exact=True) == {"/share/b": "/real/share/b"}


def test_a_path_is_what_it_was_while_its_disk_hangs(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    disk.answers.set()
    paths = RealPaths(disk.resolve)
    assert paths.of(["/share/a"]) == {"/share/a": "/real/share/a"}
    disk.answers.clear()
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    monkeypatch.setattr("companion.platforms.paths.FRESH", 0.0)
    assert paths.of(["/share/a"]) == {"/share/a": "/real/share/a"}


def test_a_link_that_may_have_moved_is_not_followed_where_that_matters(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    disk.answers.set()
    paths = RealPaths(disk.resolve)
    paths.of(["/share/a"])
    disk.answers.clear()
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    assert paths.of(["/share/a"], is_exact=True) == {"/share/a": os.path.normcase(os.path.normpath("/share/a"))}


def test_what_a_path_leads_to_is_not_known_while_its_disk_hangs(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    disk.answers.set()
    paths = RealPaths(disk.resolve)
    assert paths.known(["/share/a", "/b"]) == {"/share/a": "/real/share/a", "/b": "/real/b"}
    disk.answers.clear()
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 0.1)
    paths.of(["/share/a"], is_exact=True)
    monkeypatch.setattr("companion.platforms.paths.LIMIT", 600.0)
    assert paths.known(["/share/a", "/b"]) == {"/b": "/real/b"}


def test_what_no_path_can_be_is_left_as_it_is(tmp_path: Path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in ("", "a\0b", str(loop)):
        assert path in RealPaths().of([path])
