"""What a file has besides its content stays when it is replaced: its access list, attributes and streams."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from companion.platforms import files
from companion.platforms.files import write_private

from ...file_systems import replace_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="the system's own calls are replaced")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


def left_beside(file: Path) -> set[str]:
    return {each.name for each in file.parent.iterdir()} - {file.name, "home", "tmp"}  # those are of every test


Answers = Callable[[dict[str, bytes], dict[str, bytes]], None]


@pytest.fixture
def attributes(monkeypatch: pytest.MonkeyPatch, file: Path) -> Answers:
    """Give the file some attributes, and each new one in its folder others, as a folder's default list does."""

    def give(old: dict[str, bytes], new: dict[str, bytes]) -> None:
        inode = file.stat().st_ino

        def of(descriptor: int) -> dict[str, bytes]:
            return old if os.fstat(descriptor).st_ino == inode else new

        monkeypatch.setattr(os, "listxattr", lambda descriptor: list(of(descriptor)))
        monkeypatch.setattr(os, "getxattr", lambda descriptor, name: of(descriptor)[name])

    return give


@pytest.mark.skipif(sys.platform != "linux", reason="Python has these calls on Linux alone")
@pytest.mark.parametrize(
    ("old", "new", "is_replaced"),
    [
        ({}, {}, True),
        ({"security.selinux": b"a"}, {"security.selinux": b"a"}, True),
        ({"user.tag": b"mine"}, {}, False),
        ({"system.posix_acl_access": b"mine"}, {"system.posix_acl_access": b"of the folder"}, False),
        ({}, {"system.posix_acl_access": b"of the folder"}, False),
    ],
)
def test_attributes_that_a_new_file_would_not_have_keep_the_old_one(
    file: Path, attributes: Answers, old: dict[str, bytes], new: dict[str, bytes], is_replaced: bool
):
    attributes(old, new)
    inode = file.stat().st_ino
    replace_file(str(file), b"new")
    assert file.read_bytes() == b"new"
    assert (file.stat().st_ino != inode) == is_replaced


@pytest.mark.skipif(sys.platform != "linux", reason="Python has these calls on Linux alone")
def test_a_file_system_without_attributes_takes_a_new_file(file: Path, monkeypatch: pytest.MonkeyPatch):
    def none(_: int) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "listxattr", none)
    inode = file.stat().st_ino
    replace_file(str(file), b"new")
    assert file.stat().st_ino != inode


@posix
@pytest.mark.parametrize("works", [True, False])
def test_macos_copies_them_or_the_old_file_is_written(file: Path, monkeypatch: pytest.MonkeyPatch, works: bool):
    copied: list[tuple[bytes, int]] = []

    def fcopyfile(old: int, new: int, state: None, flags: int) -> int:
        assert os.fstat(new).st_ino != os.fstat(old).st_ino
        copied.append((os.read(old, 10), flags))
        assert state is None
        return 0 if works else -1

    library = SimpleNamespace(fcopyfile=fcopyfile)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(sys, "platform", "darwin")
    inode = file.stat().st_ino
    replace_file(str(file), b"new")
    assert file.read_bytes() == b"new"
    assert (file.stat().st_ino != inode) == works
    assert copied == [(b"old", 1 << 0 | 1 << 2)]  # COPYFILE_ACL and COPYFILE_XATTR, but no times


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """`kernel32` of Windows, which fails with the numbers in the list, from the first on."""
    errors: list[Any] = []

    def replace(name: str, temporary: str, backup: None, flags: int, _exclude: None, _reserved: None) -> int:
        assert (backup, flags) == (None, 0)
        if errors:
            return 0
        with open(name, "r+b") as file:  # the old file gets the new content: all the rest stays
            file.truncate()
            file.write(Path(temporary).read_bytes())
        os.unlink(temporary)
        return 1

    def error(number: int) -> OSError:
        made = OSError(errno.EACCES, "it failed")
        setattr(made, "winerror", number)  # noqa: B010 - only Windows has it
        return made

    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: SimpleNamespace(ReplaceFileW=replace), raising=False)
    monkeypatch.setattr(ctypes, "WinError", error, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: errors.pop(0), raising=False)
    monkeypatch.setattr(files, "_HAS_DESCRIPTORS", False)
    monkeypatch.setattr(sys, "platform", "win32")
    return errors


@posix
@pytest.mark.parametrize("number", [None, 5, 32, 33])
def test_windows_gives_them_to_the_new_file_once_it_is_free(file: Path, windows: list[Any], number: int | None):
    windows += [number, number] if number else []
    inode = file.stat().st_ino
    replace_file(str(file), b"new")
    assert (file.read_bytes(), file.stat().st_ino) == (b"new", inode)
    assert left_beside(file) == set()
    assert windows == []


@posix
@pytest.mark.parametrize("number", [1, 50, 1175, 1176, 1177])
def test_what_windows_can_not_replace_is_written_in_place_at_once(file: Path, windows: list[Any], number: int):
    windows.append(number)
    replace_file(str(file), b"new")
    assert file.read_bytes() == b"new"
    assert left_beside(file) == set()
    assert windows == []


@posix
@pytest.mark.parametrize("number", [1176, 1177])
def test_a_file_that_windows_has_lost_at_the_replacing_gets_the_new_content(
    file: Path, windows: list[Any], number: int, monkeypatch: pytest.MonkeyPatch
):
    """ReplaceFileW may fail after the old file has gone."""

    def lose(name: str, *_: object) -> int:
        os.unlink(name)
        return 0

    windows.append(number)
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: SimpleNamespace(ReplaceFileW=lose), raising=False)
    replace_file(str(file), b"new")
    assert file.read_bytes() == b"new"
    assert left_beside(file) == set()


@posix
def test_the_only_content_that_is_left_stays_if_windows_can_not_give_it_its_name(
    file: Path, windows: list[Any], monkeypatch: pytest.MonkeyPatch
):
    def lose(name: str, *_: object) -> int:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        return 0

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "it failed")

    windows.append(1176)
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: SimpleNamespace(ReplaceFileW=lose), raising=False)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="it failed"):
        replace_file(str(file), b"new")
    (left,) = left_beside(file)
    assert (file.parent / left).read_bytes() == b"new"


@posix
def test_a_new_file_and_a_private_one_have_nothing_to_keep_on_windows(file: Path, windows: list[Any]):
    windows.append(5)  # nobody asks
    write_private(str(file), b"secret")
    replace_file(str(file.parent / "other"), b"new")
    assert (file.read_bytes(), windows) == (b"secret", [5])
