"""A file's content is replaced as a whole, in the folder that was looked at, and stays what it is to others."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import files
from companion.platforms.files import OversizeError, make_private_folder, place, write_private

from ...file_systems import replace_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes and links")
Fails = Callable[[OSError, int], list[int]]


@pytest.fixture
def replacing_fails(monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Makes so many calls fail that replace a file. Returns a list with an item for each call."""
    calls = list[int]()
    replacing = [(os, "replace", os.replace), (files, "_replace_on_windows", files._replace_on_windows)]

    def make(error: OSError, times: int) -> list[int]:
        for module, name, replace in replacing:

            def fail(*given: Any, replace: Callable[..., None] = replace, **named: Any) -> None:
                calls.append(1)
                if len(calls) <= times:
                    raise error
                replace(*given, **named)

            monkeypatch.setattr(module, name, fail)
        return calls

    return make


def windows_error(number: int) -> OSError:
    """An error as Windows raises it."""
    if sys.platform == "win32":
        return OSError(0, "it is in use", None, number)
    error = PermissionError(errno.EACCES, "it is in use")
    setattr(error, "winerror", number)  # noqa: B010 - only Windows has it
    return error


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} - {"home", "tmp"}  # those are of every test


@posix
def test_the_mode_of_a_file_stays_and_a_new_one_has_that_of_the_umask(tmp_path: Path):
    old, new = tmp_path / "old", tmp_path / "made" / "new"
    old.write_text("a")
    old.chmod(0o741)
    replace_file(str(old), b"b")
    replace_file(str(new), b"b")
    assert (old.read_bytes(), stat.S_IMODE(old.stat().st_mode)) == (b"b", 0o741)
    plain = tmp_path / "plain"
    plain.touch()
    assert (new.read_bytes(), new.stat().st_mode) == (b"b", plain.stat().st_mode)
    assert names(tmp_path / "made") == {"new"}


@posix
def test_the_umask_of_the_process_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another thread's file got the mode 0666 in that moment."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    replace_file(str(tmp_path / "new"), b"a")
    replace_file(str(tmp_path / "new"), b"b")


@posix
def test_hard_links_stay(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"a long text")
    os.link(one, other)
    replace_file(str(one), b"b")
    assert other.read_bytes() == b"b"
    assert one.samefile(other)
    assert names(tmp_path) == {"one", "other"}


@posix
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"a")
    (tmp_path / "link").symlink_to("file")
    replace_file(str(tmp_path / "link"), b"b")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"b"


@posix
def test_a_writable_file_in_a_folder_that_is_not_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file"
    path.write_bytes(b"a long text")
    inode, open_ = path.stat().st_ino, os.open

    def refuse(name: Any, flags: int, *more: Any, **named: Any) -> int:
        # Whoever runs this as root may write everywhere.
        if flags & os.O_CREAT and str(tmp_path) not in str(name) and named.get("dir_fd") is not None:
            raise PermissionError(errno.EACCES, "Permission denied")
        return open_(name, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    replace_file(str(path), b"b")
    assert (path.read_bytes(), path.stat().st_ino) == (b"b", inode)
    with pytest.raises(PermissionError):
        replace_file(str(tmp_path / "new"), b"b")


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EROFS, errno.EXDEV])
@posix
def test_the_target_of_a_mount_is_written_in_place(tmp_path: Path, replacing_fails: Fails, number: int):
    path = tmp_path / "file"
    path.write_bytes(b"a")
    inode = path.stat().st_ino
    replacing_fails(OSError(number, "no"), 1)
    replace_file(str(path), b"b")
    assert (path.read_bytes(), path.stat().st_ino) == (b"b", inode)
    assert names(tmp_path) == {"file"}


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="Python has these calls on Linux alone")
def test_extended_attributes_stay(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"a")
    try:
        if sys.platform == "linux":
            os.setxattr(path, "user.tag", b"mine")
    except OSError:
        pytest.skip("this file system has no attributes")
    replace_file(str(path), b"b")
    assert path.read_bytes() == b"b"
    assert sys.platform != "linux" or os.getxattr(path, "user.tag") == b"mine"


@pytest.mark.parametrize("number", [5, 32, 33])
def test_a_file_that_is_in_use_for_a_moment_is_replaced_after_it(tmp_path: Path, replacing_fails: Fails, number: int):
    for name, write in (("theirs", replace_file), ("ours", write_private)):
        path = tmp_path / name
        path.write_bytes(b"a")
        inode = path.stat().st_ino
        calls = replacing_fails(windows_error(number), 3)
        write(str(path), b"b")
        assert path.read_bytes() == b"b"
        assert sys.platform == "win32" or path.stat().st_ino != inode
        assert len(calls) == 4
        calls.clear()
    assert names(tmp_path) == {"theirs", "ours"}


@pytest.mark.parametrize("write", [replace_file, write_private])
def test_a_file_that_stays_in_use_is_written_in_place(
    tmp_path: Path, replacing_fails: Fails, monkeypatch: pytest.MonkeyPatch, write: Callable[[str, bytes], None]
):
    monkeypatch.setattr(files, "BUSY_LIMIT", 0.1)
    path = tmp_path / "file"
    path.write_bytes(b"a long text")
    inode = path.stat().st_ino
    replacing_fails(windows_error(32), 1_000)
    write(str(path), b"b")
    assert (path.read_bytes(), path.stat().st_ino) == (b"b", inode)


def test_a_write_in_place_that_fails_gives_the_old_content_back(
    tmp_path: Path, replacing_fails: Fails, monkeypatch: pytest.MonkeyPatch
):
    path, kept = tmp_path / "file", tmp_path / "kept"
    path.write_bytes(b"old")
    kept.mkdir()
    monkeypatch.setattr(files.tempfile, "tempdir", str(kept))
    replacing_fails(OSError(errno.EBUSY, "no"), 1_000)
    syncs, fsync = list[bytes](), os.fsync

    def full(descriptor: int) -> None:
        syncs.append(path.read_bytes())
        assert [each.read_bytes() for each in kept.iterdir()] == [b"old"]
        if len(syncs) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(str(path), b"new and longer")
    assert path.read_bytes() == b"old"
    assert not names(kept)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="its old content is in") as error:
        replace_file(str(path), b"new")
    assert str(kept) in str(error.value)
    assert [each.read_bytes() for each in kept.iterdir()] == [b"old"]


@posix
@pytest.mark.parametrize("part", ["folder", "parent", "file"])
def test_a_link_that_was_put_into_the_path_after_the_look_is_not_followed(tmp_path: Path, part: str):
    """What was checked is what is written: the folder is held by its descriptor."""
    project, outside = tmp_path / "project" / "sub", tmp_path / "outside" / "sub"
    for folder in (project, outside):
        folder.mkdir(parents=True)
        (folder / "a").write_bytes(b"a")
    real = str(project / "a")
    moved = {"folder": project, "parent": project.parent, "file": project / "a"}[part]
    target = {"folder": outside, "parent": outside.parent, "file": outside / "a"}[part]
    moved.rename(tmp_path / "moved")
    moved.symlink_to(target)
    with pytest.raises(OSError), place(real) as at:
        at.replace(b"b")
    with pytest.raises(OSError), place(real) as at:
        os.close(at.open())
    assert (outside / "a").read_bytes() == b"a"


@posix
def test_a_folder_that_is_held_stays_the_same_one(tmp_path: Path):
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project, outside):
        folder.mkdir()
        (folder / "a").write_bytes(b"a")
    with place(str(project / "a")) as at:
        project.rename(tmp_path / "moved")
        project.symlink_to(outside)
        at.replace(b"b")
    assert (tmp_path / "moved" / "a").read_bytes() == b"b"
    assert (outside / "a").read_bytes() == b"a"


def test_without_descriptors_of_folders_a_moved_folder_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_HAS_DESCRIPTORS", False)
    path = tmp_path / "new" / "a"
    replace_file(str(path), b"a")
    replace_file(str(path), b"b")
    write_private(str(path), b"c")
    assert path.read_bytes() == b"c"
    if sys.platform != "win32":
        with place(str(path)) as at:
            path.parent.rename(tmp_path / "moved")
            path.parent.symlink_to(tmp_path / "moved")
            with pytest.raises(OSError, match="leads elsewhere"):
                at.replace(b"d")


@posix
def test_a_private_file_is_never_written_into_what_another_has_put_there(tmp_path: Path):
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    os.link(theirs, tmp_path / "hard")
    (tmp_path / "link").symlink_to(theirs)
    for name in ("hard", "link", "new"):
        write_private(str(tmp_path / name), b"secret")
        found = os.lstat(tmp_path / name)
        assert (stat.S_ISREG(found.st_mode), stat.S_IMODE(found.st_mode)) == (True, 0o600)
    assert theirs.read_bytes() == b"theirs"


@posix
def test_what_is_no_regular_file_or_read_only_is_refused(tmp_path: Path):
    (tmp_path / "only").write_bytes(b"a")
    (tmp_path / "only").chmod(0o444)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="is read-only"):
        replace_file(str(tmp_path / "only"), b"b")
    with pytest.raises(OSError, match="is not a regular file"):
        replace_file(str(tmp_path / "folder"), b"b")
    assert (tmp_path / "only").read_bytes() == b"a"


@posix
def test_a_reader_sees_the_old_content_or_the_new(tmp_path: Path):
    path = tmp_path / "file"
    contents = {b"a" * 100_000, b"b" * 200_000}
    replace_file(str(path), min(contents))
    seen: set[bytes] = set()
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(50):
        for content in contents:
            replace_file(str(path), content)
    is_over.set()
    reader.join()
    assert seen <= contents


def test_a_private_folder_has_the_rights_of_its_parent_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An administrator's `mkdir(0o700)` locks the same person out (python/cpython#157876)."""
    make_private_folder(str(tmp_path / "one"))
    monkeypatch.setattr(sys, "platform", "win32")
    modes: list[int] = []
    monkeypatch.setattr(os, "mkdir", lambda _, mode=0o777: modes.append(mode))
    make_private_folder(str(tmp_path / "two"))
    assert modes == [0o777]
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o700


@posix
def test_a_mapped_drive_stays_one(monkeypatch: pytest.MonkeyPatch):
    """`cmd.exe` starts in Windows' own folder if it is to work in a network folder."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os.path, "realpath", lambda path: path.replace("/z", r"\\server\share"))
    assert files.real_folder("/z/proj") == "/z/proj"
    assert files.real_folder("/c/proj") == "/c/proj"
    assert files.real_folder(r"\\server\share\proj") == r"\\server\share\proj"


def test_a_large_file_that_would_be_written_in_place_is_refused_before_it_is_kept(tmp_path: Path):
    """A sparse file with a second name took its whole size of the memory and of the disk."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(files.MOST_KEPT + 1)
    os.link(path, tmp_path / "second")
    with pytest.raises(OversizeError, match="larger than 64 MB"):
        replace_file(str(path), b"new")
    assert path.stat().st_size == files.MOST_KEPT + 1
