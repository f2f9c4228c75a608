"""Who has written a committed line, by git-ai's notes: the agent that the note names exactly for it, or nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from companion.provenance import notes
from companion.snapshots.git import Git

from .turns import Desk

SESSION = "s_c9883b05a2487d"
KEY = f"{SESSION}::t_9f8e7d6c5b4a32"
AGENT = {"tool": "claude", "id": "conv-1", "model": "sonnet"}
LINES = "a line of the person\nthe first line of the agent\nthe second line of the agent\n"


@dataclass
class Repository:
    """A repository in the folder of a desk."""

    desk: Desk

    def git(self, *arguments: str, given: bytes = b"") -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
        words = ["git", "-C", str(self.desk.folder), *who, *arguments]
        return subprocess.run(words, check=True, input=given, capture_output=True).stdout.decode().strip()

    def commit(self, text: str | bytes, name: str = "a.py") -> str:
        path = self.desk.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"Write {name}", "--date", "1700000000 +0100")
        return self.git("rev-parse", "HEAD")

    def note(self, commit: str, text: str, ref: str = "ai") -> None:
        self.git("notes", f"--ref={ref}", "add", "-f", "-F", "-", commit, given=text.encode())

    def said(self, name: str = "a.py", text: str | None = None) -> list[str]:
        """For each line: the agent, or nothing."""
        shown = text if text is not None else (self.desk.folder / name).read_bytes().decode().replace("\r\n", "\n")
        found = [""] * (shown.count("\n") + 1)
        for reason in self.desk.why(*range(len(found)), name=name, text=shown):
            for row in reason.rows:
                found[row] = reason.turn.agent
        return found[:-1]


@pytest.fixture
def repository(desk: Desk) -> Repository:
    made = Repository(desk)
    made.git("init", "-q")
    return made


def about(commit: str, **more: Any) -> dict[str, Any]:
    plain = {"schema_version": "authorship/3.0.0", "base_commit_sha": commit, "prompts": {}}
    return {**plain, "sessions": {SESSION: {"agent_id": AGENT}}, **more}


def note(commit: str, *attested: str, more: Mapping[str, Any] | None = None) -> str:
    lines = attested or ("a.py", f"  {KEY} 2-3")
    return "\n".join([*lines, "---", json.dumps(about(commit, **(more or {})))])


def test_a_committed_line_leads_to_the_agent_of_its_note(repository: Repository) -> None:
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    assert repository.said() == ["", "claude", "claude"]
    [reason] = repository.desk.why(1, 2)
    assert (reason.commit, reason.turn.model, reason.turn.session, reason.turn.at) == (
        commit, "sonnet", "conv-1", 1_700_000_000.0,
    )  # fmt: skip
    assert (reason.turn.prompt, reason.call.reason) == ("", "")


def test_lines_are_found_after_later_commits_a_renaming_and_edits_that_are_not_committed(
    repository: Repository,
) -> None:
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    repository.commit("a line that came later\n" + LINES)
    repository.git("mv", "a.py", "with a blank ü.py")
    repository.git("commit", "-q", "-m", "Rename")
    name = "with a blank ü.py"
    assert repository.said(name) == ["", "", "claude", "claude"]
    edited = "typed now\na line that came later\na line of the person\nthe first line of the agent\nTHE SECOND\n"
    assert repository.said(name, edited) == ["", "", "", "claude", ""]


def test_a_line_of_another_commit_is_not_its_agents_though_it_stands_where_that_has_written(
    repository: Repository,
) -> None:
    first = repository.commit(LINES)
    repository.note(first, note(first))
    second = repository.commit(LINES.replace("the first line of the agent", "the person has written this anew"))
    assert repository.said() == ["", "", "claude"]
    repository.note(second, note(second, "a.py", f"  {KEY} 3"))
    assert repository.said() == ["", "", "claude"]


def test_the_log_is_asked_first_and_what_it_gives_to_the_person_stays_theirs(repository: Repository) -> None:
    desk = repository.desk
    desk.write("a line of the person\n")
    desk.turn("Write two", (None, LINES, "So."))
    commit = repository.commit(LINES)
    repository.note(commit, note(commit, "a.py", f"  {KEY} 1-3"))
    assert repository.said() == ["claude", "Agent", "Agent"]
    desk.save("a line of the person\nthe first line of the agent\n")
    desk.save(LINES)
    assert repository.said() == ["claude", "Agent", ""]


def test_notes_in_folders_in_a_packed_ref_and_in_a_work_tree_beside_are_found(repository: Repository) -> None:
    commit = repository.commit(LINES)
    text = note(commit)
    blob = repository.git("hash-object", "-w", "--stdin", given=text.encode())
    for place in (f"{commit[:2]}/{commit[2:]}", f"{commit[:2]}/{commit[2:4]}/{commit[4:]}"):
        repository.git("read-tree", "--empty")
        repository.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{place}")
        made = repository.git("commit-tree", repository.git("write-tree"), "-m", "Notes")
        repository.git("update-ref", "refs/notes/ai", made)
        repository.git("read-tree", "HEAD")
        assert repository.said() == ["", "claude", "claude"]
    repository.git("pack-refs", "--all")
    repository.git("gc", "-q")
    assert repository.said() == ["", "claude", "claude"]
    beside = repository.desk.folder / "beside"
    repository.git("worktree", "add", "-q", str(beside), "-b", "beside")
    assert repository.said("beside/a.py") == ["", "claude", "claude"]


def test_a_note_of_the_older_form_and_line_endings_of_windows_are_read(repository: Repository) -> None:
    commit = repository.commit(b"\xef\xbb\xbfone line\r\nanother line\r\na third line\r\n")
    prompts = {"d9978a8723e02b52": {"agent_id": {"tool": "cursor", "id": "x", "model": "m"}}}
    repository.note(commit, note(commit, '"a.py"', "  d9978a8723e02b52 2,3", more={"prompts": prompts}))
    assert repository.said(text="one line\nanother line\na third line\n") == ["", "cursor", "cursor"]


INEXACT: dict[str, Any] = {
    "of another commit": lambda commit: note("f" * 40),
    "of another standard": lambda commit: note(commit, more={"schema_version": "authorship/4.0.0"}),
    "of another file": lambda commit: note(commit, "b.py", f"  {KEY} 2-3"),
    "of a file with such an end": lambda commit: note(commit, "x/a.py", f"  {KEY} 2-3"),
    "of a person": lambda commit: note(
        commit, "a.py", "  h_31dce776f88375 2-3", more={"humans": {"h_31dce776f88375": {"author": "Ada"}}}
    ),
    "of a person and an agent": lambda commit: note(commit, "a.py", f"  {KEY} 2-3", "  h_31dce776f88375 2-3"),
    "of two agents": lambda commit: note(
        commit, "a.py", f"  {KEY} 2-3", "  d9978a8723e02b52 2-9",
        more={"prompts": {"d9978a8723e02b52": {"agent_id": {"tool": "cursor", "id": "x", "model": "m"}}}},
    ),
    "of nobody that it tells": lambda commit: note(commit, more={"sessions": {}}),
    "of an agent without a name": lambda commit: note(commit, more={"sessions": {SESSION: {"agent_id": {"tool": 7}}}}),
    "with a session without its trace": lambda commit: note(commit, "a.py", f"  {SESSION} 2-3"),
    "with other ranges": lambda commit: note(commit, "a.py", f"  {KEY} 2-3", f"  {KEY} 2..3"),
    "without ranges": lambda commit: note(commit, "a.py", f"  {KEY}"),
    "with the number zero": lambda commit: note(commit, "a.py", f"  {KEY} 0-3"),
    "torn": lambda commit: note(commit)[:-1],
    "without its second part": lambda commit: f"a.py\n  {KEY} 2-3\n",
    "deep": lambda commit: f"a.py\n  {KEY} 2-3\n---\n" + "[" * 100_000,
    "of lists": lambda commit: f"a.py\n  {KEY} 2-3\n---\n[]",
    "too large": lambda commit: note(commit) + " " * notes.LARGEST,
    "of too many parts": lambda commit: note(commit, more={"x": [0] * notes.MOST_PARTS}),
    "of too many ranges": lambda commit: note(commit, "a.py", f"  {KEY} 2-3{',9' * notes.MOST_PARTS}"),
    "binary": lambda commit: "\0\x1b[201~",
}  # fmt: skip


@pytest.mark.parametrize("name", INEXACT)
def test_a_note_that_is_not_exact_says_nothing(repository: Repository, name: str) -> None:
    commit = repository.commit(LINES)
    text = INEXACT[name](commit)
    blob = repository.git("hash-object", "-w", "--stdin", given=text.encode())
    repository.git("notes", "--ref=ai", "add", "-f", "-C", blob, commit)
    assert repository.said() == ["", "", ""]


def test_the_note_of_a_commit_is_parsed_once_for_all_its_lines(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    parse = notes._parsed
    monkeypatch.setattr(notes, "_parsed", lambda text: parsed.append(text) or parse(text))
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    assert (repository.said(), len(parsed)) == (["", "claude", "claude"], 1)


def test_a_count_of_characters_is_no_reason(repository: Repository) -> None:
    """Qwen Code's note counts a file's characters, at most as many as were changed: a person's line is among them."""
    commit = repository.commit(LINES)
    files = {"a.py": {"aiChars": 77, "humanChars": 0, "percent": 100, "surface": "cli"}}
    repository.note(commit, json.dumps({"version": 1, "generator": "Qwen-Coder", "files": files}), "ai-attribution")
    assert repository.said() == ["", "", ""]


def test_an_excluded_file_and_one_outside_the_folders_say_nothing(repository: Repository) -> None:
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    assert repository.said() == ["", "claude", "claude"]
    repository.desk.exclude = ("a.py",)
    assert repository.said() == ["", "", ""]
    repository.desk.exclude = ()
    inner = repository.desk.folder / "inner"
    inner.mkdir()
    repository.desk.folder = inner
    assert repository.said("../a.py") == ["", "", ""]


def test_without_notes_git_is_not_run(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(LINES)
    monkeypatch.setattr(Git, "run", lambda *_, **__: pytest.fail("git was run"))
    assert repository.said() == ["", "", ""]


def test_nothing_that_a_repository_configures_is_run_and_nothing_in_it_is_written(
    repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    (repository.desk.folder / ".gitattributes").write_text("* diff=bad filter=bad\n")
    (repository.desk.folder / ".mailmap").write_text("Eve <eve@example.com> <ada@example.com>\n")
    names = (
        "core.fsmonitor",
        "diff.bad.textconv",
        "filter.bad.smudge",
        "filter.bad.clean",
        "core.pager",
        "alias.blame",
    )
    for name in names:
        repository.git("config", name, f"!{script}" if name.startswith("alias") else str(script))
    ran.unlink(missing_ok=True)
    before = _listing(repository.desk.folder)
    assert repository.said() == ["", "claude", "claude"]
    assert not ran.exists()
    assert _listing(repository.desk.folder) == before


def _listing(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_an_object_that_never_ends_holds_nothing_up(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "LIMIT", 0.5)
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    tree = repository.git("rev-parse", "HEAD^{tree}")
    path = repository.desk.folder / ".git" / "objects" / tree[:2] / tree[2:]
    path.unlink()
    assert sys.platform != "win32"
    os.mkfifo(path)
    assert repository.said() == ["", "", ""]


@pytest.mark.parametrize("damage", ["HEAD", "refs/notes/ai", "objects"])
def test_a_damaged_repository_says_nothing(repository: Repository, damage: str) -> None:
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    place = repository.desk.folder / ".git" / damage
    if place.is_dir():
        for path in [path for path in place.rglob("*") if path.is_file()]:
            path.chmod(0o600)
            path.write_bytes(b"x")
    else:
        place.write_text("f" * 40)
    assert repository.said() == ["", "", ""]


def test_a_line_in_a_file_that_git_does_not_have_says_nothing(repository: Repository) -> None:
    commit = repository.commit(LINES)
    repository.note(commit, note(commit))
    repository.desk.write(LINES, "new.py")
    assert repository.said("new.py") == ["", "", ""]
