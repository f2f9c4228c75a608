"""What is below a folder is opened part by part: no link, no pipe, no device, and no more than a limit."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from companion.background import answered
from companion.platforms import files
from companion.platforms.files import (
    FileRefusedError,
    HangingError,
    IrregularError,
    LinkedError,
    MissingError,
    OversizeError,
    UnreadableError,
    entry,
    held,
    is_special_on_windows,
    look,
    read,
    resolved,
    shown,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pipes in folders nor descriptors")
LIMIT = 1000
EACH_READ = (
    lambda path, root: read(path, LIMIT, below=root),
    lambda path, root: read(path, LIMIT, follows_links=True),
    lambda path, root: look(path, LIMIT),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a").write_bytes(b"text")
    return folder


@pytest.fixture(params=[True, False], ids=["descriptors", "paths"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as systems are that hold folders, and once as Windows, which looks at the paths."""
    monkeypatch.setattr(files, "_HAS_DESCRIPTORS", request.param)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail if it takes longer: what hangs must not hang the tests."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


def made(path: Path, kind: str) -> None:
    assert sys.platform != "win32"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
                bound.bind(str(path))
        case "folder":
            path.mkdir()
        case "large":
            with path.open("wb") as file:
                file.truncate(600 << 20)
        case "device":
            path.symlink_to("/dev/zero")
        case "link to a pipe":
            os.mkfifo(path.with_name("pipe"))
            path.symlink_to("pipe")
        case "loop":
            path.symlink_to(path.name)
        case "mutual loop":
            path.symlink_to("other")
            path.with_name("other").symlink_to(path.name)
        case _:
            path.symlink_to("nowhere")


@pytest.mark.parametrize("do", EACH_READ, ids=["read below", "read", "look"])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("pipe", IrregularError),
        ("socket", IrregularError),
        ("folder", IrregularError),
        ("large", OversizeError),
        ("device", (LinkedError, IrregularError)),
        ("link to a pipe", (LinkedError, IrregularError)),
        ("loop", LinkedError),
        ("mutual loop", LinkedError),
        ("dangling", (LinkedError, MissingError)),
    ],
)
def test_what_is_no_regular_file_is_refused_in_a_sentence_and_at_once(
    root: Path, system: None, do: Callable[[str, str], object], kind: str, error: type[FileRefusedError]
):
    made(root / "x", kind)
    with within(2), pytest.raises(error) as refused:
        do(str(root / "x"), str(root))
    assert str(refused.value).endswith(f" {refused.value.why}")


@pytest.mark.parametrize("do", EACH_READ, ids=["read below", "read", "look"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "link to a pipe", "loop", "dangling", "large"])
def test_a_part_of_the_path_may_be_anything(root: Path, system: None, do: Callable[[str, str], object], kind: str):
    made(root / "x", kind)
    with within(2), pytest.raises(FileRefusedError):
        do(str(root / "x" / "a"), str(root))


def test_no_link_below_the_folder_is_followed_unless_the_caller_says_so(root: Path, tmp_path: Path, system: None):
    (root / "link").symlink_to("sub")
    (root / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "file").symlink_to("sub/a")
    for path in ("link/a", "file", "out/secret", "out/root/sub/a"):
        with pytest.raises(LinkedError):
            read(path, LIMIT, below=str(root))
    assert read(str(root / "link" / "a"), LIMIT, follows_links=True).data == b"text"
    assert read("link/a", LIMIT, below=str(root), follows_links=True).data == b"text"
    with pytest.raises(FileRefusedError, match="is not in"):
        read("out/secret", LIMIT, below=str(root), follows_links=True)


def test_the_folder_itself_may_be_reached_through_links(root: Path, tmp_path: Path, system: None):
    (tmp_path / "opened").symlink_to("root")
    assert read("sub/a", LIMIT, below=str(tmp_path / "opened")).data == b"text"
    with held(str(tmp_path / "opened")) as folder, folder.entry("sub/a") as at:
        assert (folder.path, at.read(LIMIT).data) == (str(root), b"text")
        assert look(str(root / "sub" / "a"), LIMIT).st_size == at.found().st_size == 4


@pytest.mark.parametrize("path", ["../secret", "sub/../../secret", "", ".", "..", "sub/", "sub/a/", "a\0b", "\ud800"])
def test_a_path_that_is_none_or_leads_out_is_refused(root: Path, tmp_path: Path, system: None, path: str):
    (tmp_path / "secret").write_bytes(b"secret")
    with pytest.raises(FileRefusedError):
        read(path, LIMIT, below=str(root))


def test_an_absolute_path_must_be_in_the_folder(root: Path, tmp_path: Path, system: None):
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2" / "a").write_bytes(b"secret")
    assert read(str(root / "sub" / "a"), LIMIT, below=str(root)).data == b"text"
    for path in (tmp_path / "root2" / "a", tmp_path / "root"):
        with pytest.raises(FileRefusedError):
            read(str(path), LIMIT, below=str(root))
    for path in ("relative", "//./pipe/x"):
        with pytest.raises(FileRefusedError):
            read(path, LIMIT)


@pytest.mark.parametrize("name", ["x\ny", "x\x1b[201~", "y" * 4000, "/".join(["d" * 200] * 20)])
def test_any_name_is_shown_in_one_short_line(root: Path, name: str):
    with pytest.raises(FileRefusedError) as refused:
        read(name, LIMIT, below=str(root))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_a_name_with_a_line_break_is_read(root: Path, system: None):
    (root / "x\ny").write_bytes(b"text")
    assert read("x\ny", LIMIT, below=str(root)).data == b"text"
    assert shown("x\ny") == "x\\x0ay"


def test_the_limit_holds_for_what_is_read_and_not_for_what_the_system_says(root: Path, system: None):
    path = root / "a"
    path.write_bytes(b"x" * LIMIT)
    assert len(read(str(path), LIMIT, below=str(root)).data) == LIMIT
    with pytest.raises(OversizeError, match="is larger than 999 bytes"):
        read(str(path), LIMIT - 1, below=str(root))
    with entry(str(path), below=str(root)) as at:
        assert at.read_end(10) == files.Content(b"x" * 10, at.found(), is_whole=False)
        assert at.read_end(5000).is_whole
        target = io.BytesIO()
        at.copy(target, LIMIT)
        assert len(target.getvalue()) == LIMIT
        with pytest.raises(OversizeError):
            at.copy(io.BytesIO(), LIMIT - 1)


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="only Linux has such files")
def test_a_file_without_a_size_is_read_to_the_limit(system: None):
    for do in (partial(read, follows_links=True), look):
        with within(5), pytest.raises(FileRefusedError):
            do("/proc/self/smaps", 100)
    assert read("/proc/self/status", 1 << 20, follows_links=True).found.st_size == 0


def test_a_file_that_grows_while_it_is_read_is_too_large(root: Path, monkeypatch: pytest.MonkeyPatch, system: None):
    path, fstat = root / "a", os.fstat
    path.write_bytes(b"x")

    def grows(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        path.write_bytes(b"x" * 5000)
        return found

    monkeypatch.setattr(os, "fstat", grows)
    with pytest.raises(OversizeError):
        read(str(path), LIMIT, below=str(root))


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large"])
def test_what_was_looked_at_is_swapped_before_it_is_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch, system: None, kind: str
):
    path, open_ = root / "sub" / "a", os.open

    def swap(name: str, flags: int, *more: int, **named: int) -> int:
        if os.path.basename(name) == "a":
            path.unlink()
            made(path, kind)
        return open_(name, flags, *more, **named)

    monkeypatch.setattr(os, "open", swap)
    with within(2), pytest.raises(OSError):
        read("sub/a", LIMIT, below=str(root))


def test_a_folder_that_is_swapped_for_a_link_is_not_entered(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After the folder is held, what its path leads to doesn't matter."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"secret")
    with held(str(root)) as folder, folder.entry("sub/a") as at:
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(outside)
        assert at.read(LIMIT).data == b"text"
        with pytest.raises(LinkedError), folder.entry("sub/a"):
            pass
    with held(str(root)) as folder:
        root.rename(tmp_path / "moved")
        root.symlink_to(outside)
        with folder.entry("moved/a") as at:
            assert at.read(LIMIT).data == b"text"


def test_without_descriptors_a_folder_that_is_swapped_is_noticed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "_HAS_DESCRIPTORS", False)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"secret")
    with held(str(root)) as folder, folder.entry("sub/a") as at:
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(outside)
        with pytest.raises(LinkedError):
            at.read(LIMIT)


def test_no_descriptor_is_left_open(root: Path):
    made(root / "pipe", "pipe")
    before = len(os.listdir("/dev/fd"))
    for path in ("sub/a", "pipe", "none", "none/a", "sub/a/b"):
        with contextlib.suppress(FileRefusedError):
            read(path, LIMIT, below=str(root))
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.skipif(sys.platform != "win32" and os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(root: Path):
    (root / "sub" / "a").chmod(0)
    with pytest.raises(UnreadableError, match="permission denied"):
        read("sub/a", LIMIT, below=str(root))


def test_what_the_system_refuses_is_said(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "read", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(FileRefusedError, match="can't be opened: input/output error"):
        read("sub/a", LIMIT, below=str(root))
    monkeypatch.setattr(os, "stat", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(UnreadableError, match="can't be opened: permission denied"):
        read("sub/a", LIMIT, below=str(root))


def test_a_file_that_ends_like_a_folder_is_refused(root: Path):
    with pytest.raises(FileRefusedError, match="ends like a folder, but is a file"):
        resolved(str(root / "sub" / "a") + "/")
    assert resolved(str(root / "sub") + "/") == str(root / "sub")


@pytest.mark.parametrize(
    "name",
    ["CON", "con", "NUL.txt", "nul .tar.gz", "COM1", "LPT¹", "aux", "CONIN$", "a:stream", "a::$DATA", "a.", "a "],
)
def test_windows_devices_and_streams_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    assert is_special_on_windows(name)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(files, "_HAS_DESCRIPTORS", False)
    for path in (name, f"{name}/a", f"sub/{name}"):
        with pytest.raises(FileRefusedError, match="Windows takes"):
            read(path, LIMIT, below=str(root))


@pytest.mark.parametrize("name", ["CONSOLE", "nulls", "COM", "COM10", "a.con", "LPT", ".con"])
def test_other_names_are_none_of_windows_devices(name: str):
    assert not is_special_on_windows(name)


def test_a_disk_that_hangs_is_left_and_said():
    answers = threading.Event()

    async def ask() -> None:
        with pytest.raises(HangingError, match="/share/a is on a disk that does not answer"):
            await answered("/share/a", answers.wait, 0.05)
        answers.set()

    asyncio.run(ask())
