"""Review Since: what differs from a commit, with real repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.snapshots import files, project
from companion.snapshots import git as git_module
from companion.snapshots.files import WriteRefusedError
from companion.snapshots.git import Git

from .folders import GIT, committed, git
from .since_work import SinceWork
from .work import LINES, WINDOW, Work

ROUND = LINES.replace("line 3\n", "changed 3\n")


@pytest.fixture
def at(work: Work) -> SinceWork:
    committed(work.path)
    return SinceWork(work)


def commit(work: Work, message: str) -> None:
    git(work.path, "add", "-A")
    git(work.path, "commit", "-q", "-m", message)


async def test_a_branch_point_is_where_this_branch_has_left_the_other_one(at: SinceWork):
    """What the other branch has got since is nobody's change here."""
    async with at.work as work:
        git(work.path, "checkout", "-q", "-b", "topic")
        (work.path / "a.py").write_text(ROUND)
        (work.path / "new.py").write_text("new\n")
        commit(work, "mine")
        git(work.path, "checkout", "-q", "main")
        (work.path / "theirs.py").write_text("theirs\n")
        commit(work, "theirs")
        git(work.path, "checkout", "-q", "topic")
        assert await at.begin("main") == {"a.py": "modified", "new.py": "created"}


async def test_it_compares_with_a_tag_and_with_a_commit_and_what_is_not_committed_is_in_it(at: SinceWork):
    async with at.work as work:
        git(work.path, "tag", "light")
        git(work.path, "tag", "-a", "-m", "with a message", "v1")
        (work.path / "b.py").write_text("b\n")
        commit(work, "second")
        (work.path / "dirty.py").write_text("not added\n")
        (work.path / "a.py").unlink()
        for name in ("light", "v1", "begin"):
            assert await at.begin(name) == {"a.py": "deleted", "b.py": "created", "dirty.py": "created"}
        assert await at.begin("second") == {"a.py": "deleted", "dirty.py": "created"}


async def test_a_commit_in_the_middle_takes_nothing_out_of_it(at: SinceWork):
    """Nor out of the other Review, and whatever moves: the branch, the tag."""
    async with at.work as work:
        git(work.path, "tag", "v1")
        await work.begun()
        (work.path / "a.py").write_text(ROUND)
        await work.until(lambda: "a.py" in work.rows)
        expected = {"a.py": "modified"}
        assert await at.begin("v1") == expected
        commit(work, "by the agent")
        git(work.path, "tag", "-f", "v1")
        work.rounds.scan(WINDOW)
        assert await at.listed() == expected
        await work.rounds._scan_all(WINDOW)
        assert {path: row.kind for path, row in work.rows.items()} == expected
        assert work.rows["a.py"].agents
        assert await at.begin("main") == {}


async def test_a_name_that_begins_with_a_dash_is_no_option(at: SinceWork, tmp_path: Path):
    """Git takes it for none, since it gets only ids."""
    async with at.work as work:
        commit_id = git(work.path, "rev-parse", "HEAD").strip()
        target = tmp_path / "written"
        for name in ("--output=written", "-x", f"--upload-pack=touch {target}"):
            ref = work.path / ".git" / "refs" / "heads" / name
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(f"{commit_id}\n")
        (work.path / "a.py").write_text(ROUND)
        assert await at.begin("--output=written") == {"a.py": "modified"}
        assert await at.begin("-x") == {"a.py": "modified"}
        assert not target.exists()
        assert not (work.path / "written").exists()


async def test_a_ref_that_names_no_commit_is_not_listed_or_says_so(at: SinceWork):
    async with at.work as work:
        refs = work.path / ".git" / "refs" / "heads"
        (refs / "option").write_text("--help\n")
        (refs / "symbolic").write_text("ref: refs/heads/main\n")
        (refs / "gone").write_text(f"{'1' * 40}\n")
        points = await at.since.points(WINDOW)
        assert not isinstance(points, str)
        assert [each.name for each in points if each.kind == "branch"] == ["gone", "main"]
        listing = await at.compare("gone")
        assert listing.trouble
        assert listing.rows == ()


async def test_a_limited_number_of_branches_and_tags_is_listed_wherever_they_are(
    at: SinceWork, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(project, "_MAX_REFS", 3)
    async with at.work as work:
        commit_id = git(work.path, "rev-parse", "HEAD").strip()
        listed = "".join(f"{commit_id} refs/tags/v{number}\n" for number in range(9))
        (work.path / ".git/packed-refs").write_text(listed)
        points = await at.since.points(WINDOW)
        assert not isinstance(points, str)
        assert [each.name for each in points if each.kind == "tag"] == ["v0", "v1", "v2"]


async def test_a_branch_with_no_commit_in_common_says_so(at: SinceWork):
    async with at.work as work:
        git(work.path, "checkout", "-q", "--orphan", "other")
        git(work.path, "commit", "-q", "-m", "another beginning")
        listing = await at.compare("main")
        assert listing.trouble.startswith("Main has no commit in common")


async def test_what_is_excluded_is_never_in_it(at: SinceWork):
    """Neither its name nor its text, though the commit has it; also if it is excluded only now."""
    async with at.work as work:
        for name in ("secret.pem", "later.txt", "sub/secret.pem"):
            (work.path / name).parent.mkdir(exist_ok=True)
            (work.path / name).write_text("a secret\n")
        commit(work, "secrets")
        for name in ("secret.pem", "later.txt", "sub/secret.pem"):
            (work.path / name).write_text("another\n")
        work.settings = replace(work.settings, context_exclude=("*.pem",))
        assert await at.begin("secrets") == {"later.txt": "modified"}
        assert await at.bodies("secret.pem") == {}
        work.settings = replace(work.settings, context_exclude=("*.pem", "later.txt"))
        assert await at.listed() == {}
        assert await at.bodies("later.txt") == {}


async def test_a_folder_in_the_repository_has_only_its_own_files(work: Work, tmp_path: Path):
    (tmp_path / "outside.py").write_text("outside\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "outside.py", "project")
    git(tmp_path, "commit", "-q", "-m", "begin")
    (tmp_path / "outside.py").write_text("changed\n")
    (work.path / "a.py").write_text(ROUND)
    async with work:
        assert await SinceWork(work).begin("begin") == {"a.py": "modified"}


async def test_undo_asks_about_lines_that_no_agent_is_known_to_have_written(at: SinceWork):
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND.replace("line 20\n", "mine\n"))
        await at.begin("begin")
        [first, second] = await at.keys("a.py")
        at.known = {2}
        assert await at.undo("a.py", [first]) == {"a.py": "modified"}
        assert (work.path / "a.py").read_text() == LINES.replace("line 20\n", "mine\n")
        assert work.editor.confirmed == []
        work.editor.says_yes = False
        [second] = await at.keys("a.py")
        assert await at.undo("a.py", [second]) == {"a.py": "modified"}
        assert len(work.editor.confirmed) == 1
        assert "a.py, line 20: “mine”" in work.editor.confirmed[0]
        assert (work.path / "a.py").read_text() == LINES.replace("line 20\n", "mine\n")
        work.editor.says_yes = True
        assert await at.undo("a.py", [second]) == {}
        assert (work.path / "a.py").read_text() == LINES


@pytest.mark.parametrize("what", ["deleted", "created", "removed lines", "binary"])
async def test_undo_asks_about_what_nobody_can_know(at: SinceWork, what: str):
    async with at.work as work:
        at.known = set(range(100))
        before = (work.path / "a.py").read_bytes()
        match what:
            case "deleted":
                (work.path / "a.py").unlink()
            case "removed lines":
                (work.path / "a.py").write_text(LINES.replace("line 3\n", ""))
            case "binary":
                (work.path / "a.py").write_bytes(b"\0\1\2")
            case _:
                at.known = set()
                (work.path / "b.py").write_text("b\n")
        await at.begin("begin")
        work.editor.says_yes = False
        path = "b.py" if what == "created" else "a.py"
        assert path in await at.undo(path)
        assert len(work.editor.confirmed) == 1
        work.editor.says_yes = True
        assert await at.undo(path) == {}
        assert (work.path / "a.py").read_bytes() == before
        assert not (work.path / "b.py").exists()


async def test_an_undo_of_a_line_leaves_the_others_of_a_file_that_has_come_since(at: SinceWork):
    async with at.work as work:
        new = work.path / "new.py"
        new.write_text("mine 1\nagent\nmine 2\n")
        at.known = {1}
        await at.begin("begin")
        [(key, _)] = await at.keys("new.py")
        assert await at.undo("new.py", [(key, (1, 1))]) == {"new.py": "created"}
        assert work.editor.confirmed == []
        assert new.read_text() == "mine 1\nmine 2\n"
        [(key, _)] = await at.keys("new.py")
        assert await at.undo("new.py", [(key, (0, 1))]) == {}
        assert "mine 1" in work.editor.confirmed[0]
        assert not new.exists()


async def test_undo_writes_the_work_tree_alone_and_leaves_nothing_to_review(at: SinceWork):
    """Neither the index nor a ref, and what was undone is no change that somebody else has made."""
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        commit(work, "mine")
        await work.begun()
        await at.begin("begin")
        before = git(work.path, "rev-parse", "HEAD"), git(work.path, "ls-files", "-s")
        at.known = {2}
        assert await at.undo("a.py") == {}
        assert (work.path / "a.py").read_text() == LINES
        assert (git(work.path, "rev-parse", "HEAD"), git(work.path, "ls-files", "-s")) == before
        await work.rounds._scan_all(WINDOW)
        assert work.rows == {}
        work.decisions.take_back(WINDOW)
        await work.until(lambda: (work.path / "a.py").read_text() == ROUND)
        await work.rounds._scan_all(WINDOW)
        assert work.rows == {}
        assert await at.listed() == {"a.py": "modified"}


async def test_an_undo_leaves_what_waits_for_a_review_in_the_same_file(at: SinceWork):
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        commit(work, "mine")
        await work.begun()
        (work.path / "a.py").write_text(ROUND.replace("line 20\n", "agent\n"))
        await work.until(lambda: "a.py" in work.rows)
        await at.begin("begin")
        at.known = {2, 19}
        [first, _] = await at.keys("a.py")
        assert await at.undo("a.py", [first]) == {"a.py": "modified"}
        assert (work.path / "a.py").read_text() == LINES.replace("line 20\n", "agent\n")
        assert work.rows["a.py"].count.lines == "+1 −1"
        work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
        await work.until(lambda: (work.path / "a.py").read_text() == LINES)
        await work.until(lambda: work.rows == {})


async def test_a_file_that_has_changed_since_is_not_undone(at: SinceWork):
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        listing = await at.compare("begin")
        newer = ROUND.replace("line 9\n", "newer\n")
        (work.path / "a.py").write_text(newer)
        await at.undo_row(listing.rows[0])
        assert (work.path / "a.py").read_text() == newer
        assert "changed since" in work.editor.mentioned[-1][0]


async def test_a_deleted_file_that_was_written_again_since_is_not_undone(at: SinceWork):
    """The new text was overwritten without a question."""
    async with at.work as work:
        (work.path / "a.py").unlink()
        listing = await at.compare("begin")
        assert {row.path: row.kind for row in listing.rows} == {"a.py": "deleted"}
        (work.path / "a.py").write_text("newer\n")
        at.known = set(range(100))
        await at.undo_row(listing.rows[0])
        assert (work.path / "a.py").read_text() == "newer\n"
        assert "changed since" in work.editor.mentioned[-1][0]


async def test_a_change_of_a_file_that_was_deleted_since_is_not_undone(at: SinceWork):
    """All of the file was brought back."""
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        listing = await at.compare("begin")
        keys = await at.keys("a.py")
        (work.path / "a.py").unlink()
        await at.undo_row(listing.rows[0], keys)
        assert (work.editor.confirmed, (work.path / "a.py").exists()) == ([], False)
        assert "changed since" in work.editor.mentioned[-1][0]


async def test_selected_lines_of_a_created_file_are_undone_alone(at: SinceWork):
    """All of the file was deleted, without a question about the other lines."""
    async with at.work as work:
        (work.path / "b.py").write_text("one\ntwo\nthree\n")
        listing = await at.compare("begin")
        at.known = {1}
        [(key, _)] = await at.keys("b.py")
        await at.undo_row(listing.rows[0], [(key, (1, 1))])
        assert (work.path / "b.py").read_text() == "one\nthree\n"
        assert work.editor.confirmed == []
        at.known = {0, 1}
        [(key, _)] = await at.keys("b.py")
        await at.undo_row((await at.listing()).rows[0], [(key, (0, 1))])
        assert not (work.path / "b.py").exists()


async def test_lines_of_a_change_with_others_between_are_undone_at_once(at: SinceWork):
    async with at.work as work:
        (work.path / "b.py").write_text("one\ntwo\nthree\nfour\nfive\n")
        listing = await at.compare("begin")
        at.known = {1, 3}
        [(key, _)] = await at.keys("b.py")
        await at.undo_row(listing.rows[0], [(key, (1, 1)), (key, (3, 3))])
        assert (work.path / "b.py").read_text() == "one\nthree\nfive\n"
        assert work.editor.confirmed == []


async def test_line_endings_that_git_changes_are_no_change(at: SinceWork):
    async with at.work as work:
        (work.path / ".gitattributes").write_text("*.py text eol=crlf\n")
        commit(work, "endings")
        (work.path / "a.py").write_bytes(LINES.replace("\n", "\r\n").encode())
        assert await at.begin("endings") == {}
        (work.path / "a.py").write_bytes(ROUND.replace("\n", "\r\n").encode())
        assert await at.listed() == {"a.py": "modified"}
        at.known = {2}
        [change] = await at.keys("a.py")
        assert await at.undo("a.py", [change]) == {}
        assert (work.path / "a.py").read_bytes() == LINES.replace("\n", "\r\n").encode()


async def test_where_git_filters_files_nothing_is_written(at: SinceWork):
    async with at.work as work:
        (work.path / ".gitattributes").write_text("*.bin filter=lfs\n")
        commit(work, "filter")
        (work.path / "a.py").write_text(ROUND)
        await at.begin("filter")
        await at.undo("a.py")
        assert (work.path / "a.py").read_text() == ROUND
        assert "filter" in work.editor.mentioned[-1][0]


async def test_another_repository_in_the_folder_is_left_out(at: SinceWork):
    async with at.work as work:
        inner = work.path / "inner"
        inner.mkdir()
        (inner / "x.py").write_text("x\n")
        committed(inner)
        git(work.path, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
        git(work.path, "commit", "-q", "-m", "a submodule")
        (inner / "x.py").write_text("changed\n")
        assert await at.begin("a submodule") == {}


async def test_a_forged_tree_leads_nowhere(at: SinceWork, tmp_path: Path):
    """Whoever has made the repository decides what its trees name."""
    async with at.work as work:
        blob = git(work.path, "rev-parse", "HEAD:a.py").strip()
        raw = b"".join(
            b"100644 " + name + b"\0" + bytes.fromhex(blob) for name in sorted((b".git", b"..", b"fine.py", b"."))
        )
        made = _tree_of(work.path, raw)
        forged = git(work.path, "commit-tree", "-m", "forged", made).strip()
        git(work.path, "update-ref", "refs/tags/forged", forged)
        assert await at.begin("forged") == {"a.py": "created", "fine.py": "deleted"}


def _tree_of(folder: Path, raw: bytes) -> str:
    command = [GIT, "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    return subprocess.run(command, cwd=folder, input=raw, capture_output=True, check=True).stdout.decode().strip()


async def test_a_subject_of_any_length_is_cut_before_it_is_read(at: SinceWork, monkeypatch: pytest.MonkeyPatch):
    read: list[int] = []
    real = Git.run

    def run(self: Git, *arguments: str, **more: Any) -> bytes:
        read.append(len(printed := real(self, *arguments, **more)))
        return printed

    monkeypatch.setattr(Git, "run", run)
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        git(work.path, "add", "-A")
        (work.path / ".git/long").write_text("é" * 50_000, encoding="utf-8")
        git(work.path, "commit", "-q", "-F", ".git/long")
        points = await at.since.points(WINDOW)
        assert not isinstance(points, str)
        assert max(read) < 10_000
        assert [each.subject for each in points if each.kind == "commit"] == ["é" * 198 + "..", "begin"]


async def test_a_commit_with_more_files_than_can_be_listed_says_so(at: SinceWork, monkeypatch: pytest.MonkeyPatch):
    """A tree of 20 trees of 20 trees, and so on, takes a few KB."""
    monkeypatch.setattr(git_module, "PRINTED", 100_000, raising=False)
    async with at.work as work:
        blob = git(work.path, "rev-parse", "HEAD:a.py").strip()
        made, mode = blob, b"100644"
        for _ in range(3):
            made = _tree_of(
                work.path, b"".join(b"%s %050d\0%s" % (mode, name, bytes.fromhex(made)) for name in range(20))
            )
            mode = b"40000"
        commit_id = git(work.path, "commit-tree", "-m", "bomb", made).strip()
        git(work.path, "tag", "bomb", commit_id)
        assert "Git ls-tree has printed more than can be read" in (await at.compare("bomb")).trouble
        assert await at.begin("main") == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
async def test_a_pipe_in_the_repository_holds_nothing_up(at: SinceWork):
    assert sys.platform != "win32"
    async with at.work as work:
        os.mkfifo(work.path / ".git" / "refs" / "tags" / "pipe")
        (work.path / "a.py").write_text(ROUND)
        assert await at.begin("main") == {"a.py": "modified"}


async def test_contents_that_are_not_there_are_counted_and_left_out(at: SinceWork):
    async with at.work as work:
        blob = git(work.path, "rev-parse", "HEAD:a.py").strip()
        (work.path / "a.py").write_text(ROUND)
        commit(work, "second")
        loose = work.path / ".git" / "objects" / blob[:2] / blob[2:]
        loose.chmod(0o600)
        loose.unlink()
        listing = await at.compare("begin")
        assert (at.kinds(listing), listing.left_out) == ({}, 1)


async def test_a_shallow_clone_lists_its_one_commit(at: SinceWork, tmp_path: Path):
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        commit(work, "second")
        git(tmp_path, "clone", "-q", "--depth=1", work.path.as_uri(), "shallow")
        work.folders[:] = [str(tmp_path / "shallow")]
        (work.path / "a.py").write_text(LINES)
        assert await at.begin("second") == {"a.py": "modified"}


async def test_it_goes_on_after_the_snapshots_are_forgotten(at: SinceWork):
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        assert await at.begin("begin") == {"a.py": "modified"}
        work.rounds.forget(WINDOW)
        await work.until(lambda: not work.rounds.roots.opened(WINDOW))
        assert await at.listed() == {"a.py": "modified"}


async def test_what_is_compared_outlives_a_cleaning_of_the_store(at: SinceWork):
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND)
        await at.begin("begin")
        folder = work.known.folders[str(work.path)]
        alive = folder.round._alive()
        await folder.call(folder.round.store.copies.prune, {each.tree for each in alive}, (), grown=0)
        [change] = await at.keys("a.py")
        at.known = {2}
        assert await at.undo("a.py", [change]) == {}
        at.since.end(WINDOW)
        assert folder.round.pinned == {}


async def test_what_an_undo_is_going_to_write_outlives_a_cleaning_of_the_store(
    at: SinceWork, monkeypatch: pytest.MonkeyPatch
):
    """Files of the baseline may be copied while the person is asked, and then the store is pruned."""
    async with at.work as work:
        (work.path / "a.py").write_text(ROUND.replace("line 20\n", "mine\n"))
        await at.begin("begin")
        [change, _] = await at.keys("a.py")
        folder = work.known.folders[str(work.path)]
        real = folder.round.store.copies.prune

        async def cleaned(*_: object) -> set[int]:
            await folder.call(folder.round.prune)
            return {2}

        monkeypatch.setattr(folder.round.store.copies, "prune", lambda trees, blobs: real(trees, blobs, grown=0))
        monkeypatch.setattr(at.since, "_by_agents", cleaned)
        assert await at.undo("a.py", [change]) == {"a.py": "modified"}
        assert (work.path / "a.py").read_text() == LINES.replace("line 20\n", "mine\n")


async def test_without_a_repository_or_a_review_there_is_nothing_to_compare_with(work: Work):
    async with work:
        at = SinceWork(work)
        assert await at.since.points(WINDOW) == "There is no commit to compare with."
        work.settings = replace(work.settings, review="off")
        work.rounds.window_closed(WINDOW)
        points = await at.since.points(WINDOW)
        assert isinstance(points, str)
        assert "off" in points


@pytest.mark.parametrize("name", [".git", ".GIT", ".git . ", "git~1", "GIT~2", ".git::$INDEX_ALLOCATION"])
def test_a_name_by_which_windows_means_gits_own_folder_is_never_written(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    """Whoever has made a commit decides which names are in its trees."""
    monkeypatch.setattr(files, "_IS_WINDOWS", True)
    assert files.is_gits_own(f"sub/{name}/config")
    with pytest.raises(WriteRefusedError):
        files.write(str(tmp_path), f"{name}/config", "100644", b"[core]\n")
    assert not os.path.lexists(tmp_path / name)
    for other in ("git", "git~1.txt", ".github", "a.git", ".gitignore"):
        assert not files.is_gits_own(f"sub/{other}")


@pytest.mark.skipif(os.name == "nt", reason="names that Windows lacks")
def test_such_a_name_is_one_of_any_file_elsewhere(tmp_path: Path):
    files.write(str(tmp_path), "git~1", "100644", b"mine")
    assert (tmp_path / "git~1").read_bytes() == b"mine"
