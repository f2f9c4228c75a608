"""What is taken back goes out of the baseline line by line: what else was decided, saved or written since stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companion.changes.journal import Intent, Journal
from companion.changes.rows import ChangeRow
from companion.changes.state import Operation, RoundState
from companion.editor import WindowId
from companion.review.disk import Encodings
from companion.snapshots.files import WriteRefusedError

from .folders import AGENT, Folder
from .work import LINES, WINDOW, Work

TEXT = LINES.replace("line 3\n", "agent three\n").replace("line 20\n", "more\n")
MINE = TEXT.replace("agent three\n", "agent three, and my words\n")
BOTH = ["a.py, line 3: “agent three, and my words”"]
TWO = WindowId(2)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.begin_copied()
    made.write("a.py", TEXT)
    made.scan()
    return made


def edit(folder: Folder, before: str, after: str) -> None:
    """The person saves; no formatter writes later."""
    folder.edit("a.py", before, after)
    folder.round.saved_at.clear()


def write(folder: Folder, old: str, new: str) -> None:
    """An agent writes."""
    folder.write("a.py", folder.read("a.py").decode().replace(old, new))
    folder.scan()


def of_window(window: int) -> Callable[[Operation], bool]:
    def is_meant(operation: Operation) -> bool:
        return operation.window == window

    return is_meant


def take_back(folder: Folder, window: int = 0) -> list[str]:
    """Take the last decision of a window back. Returns what is passed over."""
    passed: list[str] = []
    operation, writes = folder.plan_back(passed, of_window(window) if window else None)
    for each in writes:
        folder.undoing.write(each)
    assert folder.undoing.finish_back(operation, writes) == []
    return passed


def decide(folder: Folder, window: int, number: int) -> None:
    """Keep a change in a window."""
    folder.round.deciding = window
    folder.keep_change("a.py", folder.keys("a.py")[number])


def baseline(folder: Folder) -> str:
    contents = folder.round.contents("a.py")
    return contents[0].decode() if contents else folder.read("a.py").decode()


def test_a_line_with_the_persons_edit_stays_theirs_if_an_agent_writes_between_a_keep_and_taking_it_back(folder: Folder):
    """The marks were known of other contents then, and the next undo took the words without a question."""
    edit(folder, TEXT, MINE)
    folder.keep_change("a.py", folder.keys("a.py")[1])
    write(folder, "line 28\n", "agent again\n")
    assert take_back(folder) == []
    assert folder.protected() == BOTH
    assert len(folder.keys("a.py")) == 3
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "line 3\nagent three, and my words\n")


def test_a_kept_line_with_the_persons_edit_is_theirs_again(folder: Folder):
    edit(folder, TEXT, MINE)
    folder.keep_change("a.py", folder.keys("a.py")[0])
    write(folder, "line 28\n", "agent again\n")
    take_back(folder)
    assert folder.protected() == BOTH


def test_what_keep_mine_left_stays_in_the_baseline_if_an_earlier_keep_is_taken_back(folder: Folder):
    write(folder, "agent three\n", "agent three\nagent four\n")
    before = folder.read("a.py").decode()
    edit(folder, before, before.replace("agent three\n", "agent three, and my words\n"))
    folder.keep_change("a.py", folder.keys("a.py")[1])
    assert folder.undo("a.py") == []
    write(folder, "line 28\n", "agent again\n")
    assert take_back(folder) == ["a.py has changed since"]
    assert len(folder.keys("a.py")) == 2
    assert folder.undo_all() == []
    assert "agent three, and my words\n" in folder.read("a.py").decode()


def test_what_the_person_wrote_into_an_accepted_proposal_stays_if_an_earlier_keep_is_taken_back(folder: Folder):
    folder.keep_change("a.py", folder.keys("a.py")[1])
    accepted = TEXT.replace("line 10\n", "proposed, and my words\n")
    folder.write("a.py", accepted)
    operation = folder.saves.reviewed("a.py", TEXT, accepted, Encodings())
    assert operation
    operation.accepted, operation.is_edited = AGENT, True
    folder.round.remember(operation)
    folder.round.settle()
    write(folder, "line 28\n", "agent again\n")
    assert take_back(folder) == ["a.py has changed since"]
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES.replace("line 10\n", "proposed, and my words\n")


def test_an_undo_that_is_taken_back_keeps_the_marks_of_lines_whose_keep_was_taken_back_meanwhile(folder: Folder):
    edit(folder, TEXT, MINE)
    decide(folder, 1, 0)
    folder.round.deciding = 2
    folder.undo("a.py", folder.keys("a.py")[0])
    assert folder.listed() == {}
    take_back(folder, 1)
    assert folder.protected() == BOTH
    take_back(folder, 2)
    assert folder.protected() == BOTH
    assert len(folder.keys("a.py")) == 2
    assert baseline(folder) == LINES


@pytest.mark.parametrize("windows", [(1, 2), (2, 1)])
def test_of_two_keeps_each_is_taken_back_alone_in_any_order(folder: Folder, windows: tuple[int, int]):
    decide(folder, 1, 0)
    decide(folder, 2, 0)
    assert folder.listed() == {}
    take_back(folder, windows[0])
    left = {1: LINES.replace("line 20\n", "more\n"), 2: LINES.replace("line 3\n", "agent three\n")}
    assert baseline(folder) == left[windows[0]]
    take_back(folder, windows[1])
    assert baseline(folder) == LINES
    assert folder.round.state.decided == []


@pytest.mark.parametrize("windows", [(1, 2), (2, 1)])
def test_of_a_change_that_was_kept_in_two_parts_each_is_taken_back_alone(folder: Folder, windows: tuple[int, int]):
    write(folder, "line 9\nline 10\nline 11\n", "nine\nten\neleven\n")
    folder.keep_all()
    folder.round.state.decided.clear()
    write(folder, "nine\nten\neleven\n", "one\ntwo\nthree\n")
    for window, line in ((1, 9), (2, 8)):
        folder.round.deciding = window
        folder.keep_change("a.py", folder.keys("a.py")[0], (line, line))
    take_back(folder, windows[0])
    assert ("one\nten\neleven\n" if windows[0] == 1 else "nine\ntwo\neleven\n") in baseline(folder)
    take_back(folder, windows[1])
    assert "nine\nten\neleven\n" in baseline(folder)


def test_what_a_later_keep_has_changed_of_a_kept_change_stays_kept(folder: Folder):
    decide(folder, 1, 0)
    write(folder, "agent three\n", "agent again\n")
    decide(folder, 2, 0)
    with pytest.raises(WriteRefusedError, match=r"a\.py has changed since"):
        folder.plan_back(meant=of_window(1))
    take_back(folder, 2)
    take_back(folder, 1)
    assert baseline(folder) == LINES
    assert len(folder.keys("a.py")) == 2


def test_of_several_files_those_that_have_changed_since_are_named_and_the_others_come_back(folder: Folder):
    folder.write("b.py", "agent\n")
    folder.scan()
    folder.keep_all()
    (folder.path / "b.py").unlink()
    folder.saves.handled("b.py", is_renamed=False)
    assert take_back(folder) == ["b.py has changed since"]
    assert folder.listed() == {"a.py": "modified"}


def test_a_new_file_whose_keep_is_taken_back_is_created_and_has_the_lines_of_the_person(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.begin_copied()
    folder.write("a.py", "agent\n" * 3)
    folder.scan()
    folder.keep_all()
    edit(folder, "agent\n" * 3, "agent\n" * 3 + "mine\n")
    folder.round.keep([])
    take_back(folder)
    assert folder.listed() == {"a.py": "created"}
    assert folder.protected() == ["a.py, line 4: “mine”"]
    assert folder.undo_all() == []
    assert folder.read("a.py") == b"mine\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n\r\nc", b"a\r\nx\r\n\r\nc"),
        (b"\xef\xbb\xbfa\nb", b"\xef\xbb\xbfa\nx\n"),
        (b"\0\1", b"\0\2"),
        (b"", b"x"),
    ],
)
def test_the_baseline_is_the_same_to_the_byte_after_a_keep_is_taken_back(tmp_path: Path, before: bytes, after: bytes):
    folder = Folder(tmp_path)
    folder.write("a.py", before)
    folder.begin_copied()
    folder.write("a.py", after)
    folder.scan()
    folder.keep("a.py")
    take_back(folder)
    assert folder.undo_all() == []
    assert folder.read("a.py") == before


def test_a_file_that_was_changed_where_it_can_not_be_compared_stays_kept_and_is_named(folder: Folder):
    folder.keep("a.py")
    (folder.path / "a.py").unlink()
    (folder.path / "a.py").symlink_to("elsewhere")
    folder.saved("a.py")
    with pytest.raises(WriteRefusedError, match=r"a\.py has changed since"):
        folder.plan_back()


class KilledError(BaseException):
    """The editor ends here."""


def test_a_kill_while_a_keep_is_taken_back_leaves_a_line_of_both_and_what_was_kept_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = RoundState.write
    for step in range(9):
        base = tmp_path / str(step)
        base.mkdir()
        folder = Folder(base)
        folder.write("a.py", LINES)
        folder.begin_copied()
        write(folder, LINES, TEXT)
        edit(folder, TEXT, MINE)
        decide(folder, 1, 0)
        decide(folder, 2, 0)
        write(folder, "line 28\n", "agent again\n")
        left = iter(range(step))

        def killed(self: RoundState, store: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise KilledError
            real(self, store)

        monkeypatch.setattr(RoundState, "write", killed)
        is_over = True
        try:
            finish(folder, Intent("back", folder.plan_back(meant=of_window(1))[1], operation=decided_at(folder)))
        except KilledError:
            is_over = False
        monkeypatch.undo()
        folder.reopen()
        if pending := Journal(folder.round, folder.undoing).pending():
            assert Journal(folder.round, folder.undoing).sorted_out(pending)[1:] == ([], [])
            finish(folder, pending)
        folder.scan()
        assert folder.protected() == BOTH
        assert baseline(folder) == LINES.replace("line 20\n", "more\n")
        if is_over:
            return
    raise AssertionError("it has no end")


def decided_at(folder: Folder) -> float:
    return folder.round.state.decided[0].at


def finish(folder: Folder, intent: Intent) -> None:
    journal = Journal(folder.round, folder.undoing)
    journal.begin(intent)
    journal.write_all(intent.writes, lambda: False)
    operation = next(each for each in folder.round.state.decided if each.at == intent.operation)
    folder.undoing.finish_back(operation, [each for each in intent.writes if folder.undoing.is_written(each)])
    journal.end()


def test_a_kill_after_a_part_was_taken_back_and_noted_is_finished(folder: Folder):
    """The journal still had both files, and the decision only the one that could not be written."""
    folder.write("b.py", "agent\n")
    folder.scan()
    assert folder.undo_all() == []
    folder.write("b.py", "the next one\n")
    folder.scan()
    operation, writes = folder.plan_back()
    intent = Intent("back", writes, operation=operation.at)
    journal = Journal(folder.round, folder.undoing)
    journal.begin(intent)
    done, _ = journal.write_all(writes, lambda: False)
    folder.undoing.finish_back(operation, done)
    folder.reopen()  # before `end`
    pending = Journal(folder.round, folder.undoing).pending()
    assert pending
    finish(folder, pending)
    assert folder.read("a.py").decode() == TEXT
    assert folder.listed() == {"a.py": "modified", "b.py": "created"}


async def calm(work: Work) -> None:
    """Nothing is decided any more."""
    for _ in range(3):
        await asyncio.sleep(0.1)
        await work.until(lambda: not any(each.lock.locked() for each in work.known.folders.values()))


def rows(work: Work, window: WindowId) -> dict[str, ChangeRow]:
    return {row.path: row for row in work.rounds.listing(window).rows}


async def two_windows(work: Work, *names: str) -> None:
    """Two windows with the same folder, in which an agent has changed files."""
    work.rounds.opened(TWO)
    await work.begun()
    work.rounds.clis(TWO, (AGENT,))
    for name in names:
        (work.path / name).write_text(TEXT)
    await work.until(lambda: rows(work, WINDOW).keys() == rows(work, TWO).keys() == {*names})


async def test_what_one_window_takes_back_is_not_kept_by_what_another_one_takes_back(work: Work):
    await two_windows(work, "a.py")
    folder = work.known.folders[work.folders[0]]

    async def keep(window: WindowId) -> None:
        contents = await folder.call(folder.round.contents, "a.py")
        assert contents
        await work.decisions.decide_changes(
            window, rows(work, window)["a.py"], "keep", [(contents[2].found[0].key, None)]
        )

    await keep(WINDOW)
    await work.until(lambda: rows(work, TWO)["a.py"].changes == 1)
    await keep(TWO)
    await work.until(lambda: not rows(work, WINDOW))
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "a.py" in rows(work, TWO))
    contents = await folder.call(folder.round.contents, "a.py")
    assert contents
    assert contents[0].decode() == LINES.replace("line 20\n", "more\n")
    work.decisions.take_back(TWO)
    await work.until(lambda: rows(work, WINDOW)["a.py"].changes == 2)
    contents = await folder.call(folder.round.contents, "a.py")
    assert contents
    assert contents[0].decode() == LINES


async def test_a_decision_of_another_window_is_not_named_when_one_is_taken_back(work: Work):
    await two_windows(work, "a.py", "b.py")
    await work.decisions.decide_files(WINDOW, [rows(work, WINDOW)["b.py"]], "keep")  # type: ignore[misc]
    await work.decisions.decide_files(TWO, [rows(work, TWO)["a.py"]], "undo")  # type: ignore[misc]
    (work.path / "a.py").write_text("other\n")
    await work.until(lambda: "a.py" in rows(work, TWO))
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "b.py" in rows(work, WINDOW))
    await calm(work)
    assert [said for said, _ in work.editor.mentioned if "Not brought back" in said] == []
