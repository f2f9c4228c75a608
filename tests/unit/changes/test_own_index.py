"""A first snapshot that begins with the index of the person's repository: never other bytes than those on the disk."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from companion.snapshots import store as store_module
from companion.snapshots.store import TooLargeError

from .folders import AGENT, Folder, committed, git, tree

TEXT = "one\ntwo\nthree\n"
OLD = 1_600_000_000


def put(folder: Folder, path: str, data: bytes | str) -> None:
    """Write a file as it was long ago, so that its index entry is no fresh one."""
    folder.write(path, data)
    os.utime(folder.path / path, (OLD, OLD))


def taken(folder: Folder) -> list[str]:
    """The files whose ids a round begins with, without a scan of their contents."""
    folder.round.begin()
    return sorted(folder.store.copies.claimed)


def baseline(folder: Folder, path: str) -> bytes:
    assert folder.store.copies.more(60) == 0
    folder.scan()
    entry = folder.store.objects.entry(folder.round.state.base, path)
    assert entry
    return folder.store.objects.read([entry.blob])[entry.blob]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        put(made, name, TEXT + name)
    return made


def test_what_the_index_has_is_taken_and_undone_byte_for_byte(folder: Folder):
    committed(folder.path)
    put(folder, "new.txt", "untracked\n")
    assert taken(folder) == ["a.txt", "b.txt", "sub/c.txt"]
    assert {path: baseline(folder, path) for path in ("a.txt", "sub/c.txt", "new.txt")} == {
        "a.txt": (TEXT + "a.txt").encode(),
        "sub/c.txt": (TEXT + "sub/c.txt").encode(),
        "new.txt": b"untracked\n",
    }
    folder.scan()
    assert folder.listed() == {}
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.txt": "modified"}
    assert folder.undo_all() == []
    assert folder.read("a.txt").decode() == TEXT + "a.txt"


def test_a_file_that_was_changed_after_the_index_is_read(folder: Folder):
    committed(folder.path)
    folder.write("a.txt", TEXT.upper() + "a.txt")  # of the same size
    (folder.path / "b.txt").unlink()
    folder.round.begin()
    assert baseline(folder, "a.txt").decode() == TEXT.upper() + "a.txt"
    assert folder.store.objects.entry(folder.round.state.base, "b.txt") is None


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_was_told_not_to_look_at_is_read(folder: Folder, flag: str):
    committed(folder.path)
    git(folder.path, "update-index", flag, "a.txt")
    folder.write("a.txt", TEXT.upper() + "a.txt")
    assert "a.txt" not in taken(folder)
    assert baseline(folder, "a.txt").decode() == TEXT.upper() + "a.txt"


@pytest.mark.skipif(sys.platform == "win32", reason="the filter is a program of Unix")
@pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes"])
def test_a_filter_that_keeps_the_size_is_not_taken_for_the_bytes(folder: Folder, where: str):
    git(folder.path, "init", "-q")
    git(folder.path, "config", "filter.turn.clean", "tr a-z A-Z")
    (folder.path / ".git" / "info").mkdir(exist_ok=True)
    (folder.path / where).write_text("*.txt filter=turn\n")
    os.utime(folder.path / where, (OLD, OLD))
    committed(folder.path)
    assert git(folder.path, "show", "HEAD:b.txt").startswith("ONE")
    folder.round.begin()
    assert baseline(folder, "b.txt").decode() == TEXT + "b.txt"


@pytest.mark.skipif(sys.platform == "win32", reason="the filter is a program of Unix")
@pytest.mark.parametrize("is_linked", [False, True])
def test_attributes_that_the_configuration_names_are_not_passed_over(
    folder: Folder, is_linked: bool, monkeypatch: pytest.MonkeyPatch
):
    home = folder.path.parent / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (home / "attributes").write_text("*.txt filter=turn\n")
    config = home / ("dotfiles" if is_linked else ".gitconfig")
    config.write_text(f'[core]\n\tattributesFile = {home}/attributes\n[filter "turn"]\n\tclean = tr a-z A-Z\n')
    if is_linked:
        (home / ".gitconfig").symlink_to(config)
    git(folder.path, "init", "-q")
    settings = ("-c", f"core.attributesFile={home}/attributes", "-c", "filter.turn.clean=tr a-z A-Z")
    git(folder.path, *settings, "add", "-A")
    git(folder.path, *settings, "commit", "-q", "-m", "begin")
    assert git(folder.path, "show", "HEAD:b.txt").startswith("ONE")
    folder.round.begin()
    folder.write("b.txt", "agent\n")
    folder.scan()
    assert folder.undo_all() == []
    assert folder.read("b.txt").decode() == TEXT + "b.txt"


@pytest.mark.skipif(sys.platform == "win32", reason="the filter is a program of Unix")
def test_attributes_that_are_gone_may_have_held_before(folder: Folder):
    git(folder.path, "init", "-q")
    git(folder.path, "config", "filter.turn.clean", "tr a-z A-Z")
    put(folder, ".gitattributes", "*.txt filter=turn\n")
    committed(folder.path)
    (folder.path / ".gitattributes").unlink()
    folder.round.begin()
    assert baseline(folder, "b.txt").decode() == TEXT + "b.txt"


def test_line_endings_that_git_has_changed_are_those_on_the_disk(folder: Folder):
    git(folder.path, "init", "-q")
    git(folder.path, "config", "core.autocrlf", "true")
    put(folder, "a.txt", TEXT.replace("\n", "\r\n"))
    committed(folder.path)
    folder.round.begin()
    assert baseline(folder, "a.txt") == TEXT.replace("\n", "\r\n").encode()
    folder.scan()
    assert folder.listed() == {}


def test_what_is_excluded_is_left_out_and_what_is_ignored_is_not_as_it_is_in_the_index(tmp_path: Path):
    folder = Folder(tmp_path, excludes=lambda path: path.endswith(".pem"))
    for name in ("a.txt", "key.pem", "built.o"):
        put(folder, name, TEXT)
    committed(folder.path)
    put(folder, ".gitignore", "*.o\n")
    folder.round.begin()
    state = folder.round.state
    assert folder.store.objects.entries(state.base, ["a.txt", "built.o"]).keys() == {"a.txt", "built.o"}
    assert state.base.beside["key.pem"].why == "excluded"


@pytest.mark.parametrize("how", ["split", "damaged", "none"])
def test_an_unusual_index_changes_no_byte(folder: Folder, how: str):
    committed(folder.path)
    index = folder.path / ".git" / "index"
    match how:
        case "split":
            git(folder.path, "update-index", "--split-index")
            put(folder, "a.txt", TEXT + "a.txt, and more")
            git(folder.path, "add", "a.txt")
            put(folder, "a.txt", TEXT + "a.txt")
        case "damaged":
            index.write_bytes(index.read_bytes()[:-30] + b"x" * 30)
        case _:
            index.unlink()
    assert taken(folder) == ([] if how != "damaged" else ["a.txt", "b.txt", "sub/c.txt"])
    assert baseline(folder, "a.txt").decode() == TEXT + "a.txt"


def test_the_limit_of_files_counts_those_of_the_index(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    committed(folder.path)
    monkeypatch.setattr(store_module, "MANY_FILES", 2)
    with pytest.raises(TooLargeError):
        folder.round.begin()
    folder.round.begin(may_be_large=True)
    assert baseline(folder, "a.txt").decode() == TEXT + "a.txt"


def test_an_index_of_version_4_is_used(folder: Folder):
    committed(folder.path)
    git(folder.path, "update-index", "--index-version", "4")
    assert taken(folder) == ["a.txt", "b.txt", "sub/c.txt"]
    assert baseline(folder, "a.txt").decode() == TEXT + "a.txt"


def test_a_repository_that_the_index_has_is_no_file_of_the_outer_one(folder: Folder):
    folder.write("lib/inner.txt", "inner\n")
    committed(folder.path / "lib")
    committed(folder.path)
    assert taken(folder) == ["a.txt", "b.txt", "sub/c.txt"]
    assert folder.round.state.nested == ["lib"]
    for _ in range(2):
        folder.scan()
        assert folder.listed() == {}
        assert folder.round.state.now == folder.round.state.base
        folder.reopen()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_a_name_that_looks_like_a_line_of_gits_list_is_the_name_of_its_file(folder: Folder):
    line = f"H 100644 {'a' * 40} 0\t"
    put(folder, f"{line}tracked.txt", TEXT)
    put(folder, f"{line}secret.pem\nH ", TEXT)
    committed(folder.path)
    put(folder, f"{line}untracked.txt", TEXT)
    put(folder, f"sub/x\n{line}untracked.txt", TEXT)
    names = ["a.txt", "b.txt", "sub/c.txt", f"{line}tracked.txt", f"{line}secret.pem\nH "]
    assert taken(folder) == sorted(names)
    new = [f"{line}untracked.txt", f"sub/x\n{line}untracked.txt"]
    assert folder.store.objects.entries(folder.round.state.base, [*names, *new]).keys() == {*names, *new}
    folder.scan()
    assert folder.listed() == {}


def test_an_index_with_a_name_that_leads_elsewhere_is_not_used(folder: Folder):
    put(folder, "x.git", TEXT)
    committed(folder.path)
    index = folder.path / ".git" / "index"
    times = index.stat()
    data = index.read_bytes().replace(b"x.git\0", b"/.git\0")[:-20]
    index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())
    os.utime(index, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert taken(folder) == []
    assert baseline(folder, "a.txt").decode() == TEXT + "a.txt"


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_file_is_known_from_the_moment_at_which_its_round_begins(folder: Folder, *, is_restarted: bool):
    """The trees of the baseline are not made yet, and the editor may be killed before they are."""
    committed(folder.path)
    folder.write("new.txt", "mine\n")
    folder.round.begin()
    before = tree(folder.path)
    assert not folder.round.state.base.is_made
    folder.write("a.txt", "agent\n")
    folder.write("new.txt", "agent\n")
    folder.write("sub/more.txt", "agent\n")
    (folder.path / "sub/c.txt").unlink()
    if is_restarted:
        folder.reopen()
    folder.scan()
    kinds = {"a.txt": "modified", "new.txt": "modified", "sub/more.txt": "created", "sub/c.txt": "deleted"}
    assert folder.listed() == kinds
    folder.reopen()
    assert folder.listed() == kinds
    folder.undo_all_to(before)


def test_a_checkpoint_that_was_taken_as_the_round_began_is_whole_after_a_kill(folder: Folder):
    committed(folder.path)
    folder.round.begin()
    folder.checkpoints.begin_turn(AGENT, "make it better", "turn-1", 0)
    assert not folder.round.state.base.is_made
    folder.reopen()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert [path for path, *_ in folder.checkpoints.of_turn("turn-1") or ()] == ["a.txt"]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_an_index_that_lies_about_its_trees_hides_nothing(folder: Folder, *, is_restarted: bool):
    committed(folder.path)
    index = folder.path / ".git" / "index"
    times, data = index.stat(), index.read_bytes()[:-20]
    real = bytes.fromhex(git(folder.path, "rev-parse", "HEAD^{tree}").strip())
    assert real in data
    data = data.replace(real, b"\x01" * 20)
    index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())
    os.utime(index, ns=(times.st_atime_ns, times.st_mtime_ns))
    folder.round.begin()
    if is_restarted:
        folder.reopen()
    assert folder.round.state.base.tree == real.hex()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.txt": "modified"}


def test_rules_that_are_saved_just_after_a_beginning_hide_no_agents_file(folder: Folder):
    committed(folder.path)
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.write(".gitignore", "*.log\n")
    folder.saved(".gitignore", 0, loaded="")
    assert folder.listed() == {"a.txt": "modified"}


def test_a_store_of_an_editor_that_was_killed_while_a_round_began_begins_anew(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    committed(folder.path)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(folder.store, "_seen", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.round.begin()
    put(folder, "b.txt", "other\n")
    folder.reopen()
    folder.begin_copied()
    assert baseline(folder, "a.txt").decode() == TEXT + "a.txt"
    assert baseline(folder, "b.txt") == b"other\n"
