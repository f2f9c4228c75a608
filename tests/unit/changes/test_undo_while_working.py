"""An undo waits for the end of the turn that runs in its folder: the agent's next edit builds on what is there."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from companion.changes import starting
from companion.changes.state import GOES, Decision
from companion.editor import ChatId, ViewId

from .work import CHAT, LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n").replace("line 20\n", "more\n")


async def written(work: Work) -> None:
    """An agent has changed two lines of a file and made another one, in a turn that runs."""
    await work.in_turn()
    (work.path / "a.py").write_text(AGENTS)
    (work.path / "new.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"a.py", "new.py"})


def end_turn(work: Work) -> None:
    work.rounds.turn_ended(WINDOW, CHAT, "turn-1")


async def keys(work: Work) -> list[str]:
    found = await work.rounds.file(work.folders[0], "a.py")
    assert found
    return [change[4] for change in found.changes]


async def test_a_change_goes_when_the_turn_ends_and_its_agent_is_told(work: Work):
    await written(work)
    first, second = await keys(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(first, None)])
    assert (work.path / "a.py").read_text() == AGENTS
    assert work.rows["a.py"].note == GOES
    found = await work.rounds.file(work.folders[0], "a.py")
    assert found
    assert found.going == {first}
    assert (f"a.py {GOES}. Undo again does it now.", WINDOW) in work.editor.mentioned
    end_turn(work)
    await work.until(lambda: (work.path / "a.py").read_text() == AGENTS.replace("agent\n", "line 3\n"))
    await work.until(lambda: work.rows["a.py"].changes == 1)
    assert work.rows["a.py"].note == ""
    assert await work.rounds.undone_since(WINDOW) == ["a.py, line 3: “agent” was undone"]
    assert second


async def test_a_second_press_does_it_at_once(work: Work):
    await written(work)
    for _ in range(2):
        work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: "new.py" not in work.rows)
    assert not (work.path / "new.py").exists()
    for number in range(2):
        first, *_ = await keys(work)
        (work.path / "a.py").write_text("above\n" * (number + 1) + AGENTS)  # its lines move meanwhile
        work.rounds.scan(WINDOW)
        await work.until(lambda number=number: work.rows["a.py"].inserted == number + 3)
        at = (await keys(work))[1]
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(at, None)])
        assert first
    assert (work.path / "a.py").read_text() == "above\n" * 2 + AGENTS.replace("agent\n", "line 3\n")


async def test_everything_goes_when_the_turn_ends(work: Work):
    await written(work)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: {row.note for row in work.rows.values()} == {GOES})
    (work.path / "later.py").write_text("agent\n")
    await work.until(lambda: len(work.rows) == 3)
    end_turn(work)
    await work.until(lambda: set(work.rows) == {"later.py"})  # nobody has decided about that
    assert (work.path / "a.py").read_text() == LINES
    work.decisions.take_back(WINDOW)
    await work.until(lambda: len(work.rows) == 3)
    assert [row.note for row in work.rows.values()] == ["", "", ""]


async def test_all_of_it_goes_at_once_the_second_time(work: Work):
    await written(work)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES


async def test_an_undo_that_waits_is_taken_back_before_what_was_decided_earlier(work: Work):
    await written(work)
    first, second = await keys(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(second, None)])
    [first] = await keys(work)
    work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: work.rows["new.py"].note == GOES)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(first, None)])
    await work.until(lambda: work.rows["a.py"].note == GOES)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.rows["a.py"].note == "")
    assert work.rows["new.py"].note == GOES
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.rows["new.py"].note == "")
    assert work.rows["a.py"].changes == 1
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.rows["a.py"].changes == 2)
    end_turn(work)
    await asyncio.sleep(0.3)
    assert (work.path / "a.py").read_text() == AGENTS
    assert (work.path / "new.py").exists()


async def test_an_undo_that_is_done_at_the_end_of_the_turn_is_taken_back_once(work: Work):
    await written(work)
    work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: work.rows["new.py"].note == GOES)
    end_turn(work)
    await work.until(lambda: "new.py" not in work.rows)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: "new.py" in work.rows)
    await work.until(lambda: not work.rounds.listing(WINDOW).can_take_back)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: ("There is no decision to take back.", WINDOW) in work.editor.mentioned)


async def test_what_is_kept_after_all_stays(work: Work):
    await written(work)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "keep")
    await work.until(lambda: set(work.rows) == {"new.py"})
    end_turn(work)
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == AGENTS


async def test_it_waits_for_the_last_of_two_turns(work: Work):
    await written(work)
    other = ChatId(ViewId(8))
    work.rounds.turn_began(WINDOW, other, "Other", "turn-2", "and this", 0)
    work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: work.rows["new.py"].note == GOES)
    end_turn(work)
    await work.until(lambda: len(work.known.turns) == 1)
    work.rounds.scan(WINDOW)
    await work.until(lambda: not work.known.folders[work.folders[0]].lock.locked())
    assert (work.path / "new.py").exists()
    work.rounds.turn_ended(WINDOW, other, "turn-2")
    await work.until(lambda: "new.py" not in work.rows)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turns that a reload has left running are known soon."""
    monkeypatch.setattr(starting, "RESUMED", 0.3)


@pytest.mark.parametrize("is_moved", [False, True])
async def test_it_goes_after_a_restart(work: Work, soon: None, is_moved: bool):
    """Also if the folder is a part of another root by then."""
    folders = work.folders
    if is_moved:
        work.folders = [str(work.path / "inner")]
        work.path.mkdir()
        (work.path / "a.py").write_text(LINES)
    async with work:
        await written(work)
        first, _ = await keys(work)
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(first, None)])
        work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
        await work.until(lambda: {row.note for row in work.rows.values()} == {GOES})
    async with Work(work.stores, folders) as later:
        later.rounds.opened(WINDOW)
        await later.until(lambda: {row.note for row in later.rows.values()} == {GOES})
        await later.until(lambda: {row.path.rpartition("/")[2] for row in later.rows.values()} == {"a.py"})
        await later.until(lambda: next(iter(later.rows.values())).changes == 1)
        assert next(iter(later.rows.values())).note == ""
        assert (work.path / "a.py").read_text() == AGENTS.replace("agent\n", "line 3\n")
        assert not (work.path / "new.py").exists()


async def test_a_turn_that_runs_on_after_a_reload_is_waited_for(work: Work, soon: None):
    async with work:
        await written(work)
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: {row.note for row in work.rows.values()} == {GOES})
    async with Work(work.stores, work.folders) as later:
        later.rounds.opened(WINDOW)
        later.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", 0)
        await later.until(lambda: {row.note for row in later.rows.values()} == {GOES})
        await asyncio.sleep(1)
        assert set(later.rows) == {"a.py", "new.py"}
        later.rounds.turn_ended(WINDOW, CHAT, "turn-1")
        await later.until(lambda: not later.rows)
        assert (work.path / "a.py").read_text() == LINES


@pytest.mark.parametrize("is_moved", [False, True])
async def test_an_undo_that_waits_is_taken_back_after_a_reload(work: Work, is_moved: bool):
    """And not the keep before it. Also if the folder is a part of another root by then."""
    folders = work.folders
    if is_moved:
        work.folders = [str(work.path / "inner")]
        work.path.mkdir()
        (work.path / "a.py").write_text(LINES)
    async with work:
        await written(work)
        first, second = await keys(work)
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(second, None)])
        work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
        await work.until(lambda: work.rows["new.py"].note == GOES)
    async with Work(work.stores, folders) as later:
        later.rounds.opened(WINDOW)
        later.rounds.turn_began(WINDOW, CHAT, "Agent", "turn-1", "make it better", 0)
        await later.until(lambda: [row.note for row in later.rows.values()] == ["", GOES])
        await later.until(lambda: later.rounds.listing(WINDOW).can_take_back)
        later.decisions.take_back(WINDOW)
        await later.until(lambda: [row.note for row in later.rows.values()] == ["", ""])
        assert [row.changes for row in later.rows.values()] == [1, 1]
        end_turn(later)
        await later.until(lambda: not later.known.turns)
        later.decisions.take_back(WINDOW)
        await later.until(lambda: [row.changes for row in later.rows.values()] == [2, 1])
        assert (work.path / "new.py").exists()
    assert first


async def test_a_change_that_is_kept_is_not_put_off_again_by_a_take_back(work: Work):
    await written(work)
    first, second = await keys(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(first, None)])
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(second, None)])
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(first, None)])
    await work.until(lambda: work.rows["a.py"].changes == 1)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.rows["a.py"].changes == 2)
    work.decisions.take_back(WINDOW)
    await work.until(lambda: work.rows["a.py"].note == "")
    work.decisions.take_back(WINDOW)
    await work.until(lambda: ("There is no decision to take back.", WINDOW) in work.editor.mentioned)


async def test_a_change_that_is_kept_after_all_stays_and_the_other_one_goes(work: Work):
    await written(work)
    first, second = await keys(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(first, None), (second, None)])
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(second, None)])
    end_turn(work)
    await work.until(lambda: "a.py" not in work.rows)
    assert (work.path / "a.py").read_text() == AGENTS.replace("agent\n", "line 3\n")
    assert "Not undone" not in str(work.editor.mentioned)


@pytest.mark.parametrize("is_in_turn", [True, False])
async def test_with_the_setting_or_without_a_turn_it_goes_at_once(work: Work, is_in_turn: bool):
    if is_in_turn:
        work.settings = replace(work.settings, undo_while_working="now")
        await written(work)
    else:
        await work.begun()
        (work.path / "new.py").write_text("agent\n")
        await work.until(lambda: work.rows)
    work.decisions.decide_files(WINDOW, [work.rows["new.py"]], "undo")
    await work.until(lambda: "new.py" not in work.rows)
    assert not (work.path / "new.py").exists()


async def test_of_a_file_that_goes_whole_the_rest_goes_still_if_one_change_of_it_is_kept(work: Work):
    await written(work)
    _, second = await keys(work)
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: work.rows["a.py"].note == GOES)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(second, None)])
    await work.until(lambda: work.rows["a.py"].changes == 1)
    assert work.rows["a.py"].note == GOES
    end_turn(work)
    await work.until(lambda: "a.py" not in work.rows)
    assert (work.path / "a.py").read_text() == AGENTS.replace("agent\n", "line 3\n")


@pytest.mark.parametrize("is_renamed_first", [True, False])
async def test_a_file_that_an_agent_renames_in_the_turn_goes_as_well(work: Work, is_renamed_first: bool):
    await written(work)
    for step in ("rename", "undo") if is_renamed_first else ("undo", "rename"):
        if step == "rename":
            async with work.known.folders[work.folders[0]].lock:  # else one scan may find it in both places
                (work.path / "a.py").rename(work.path / "b.py")
            await work.until(lambda: "b.py" in work.rows)
        else:
            row = next(row for path, row in work.rows.items() if path != "new.py")
            work.decisions.decide_files(WINDOW, [row], "undo")
            await work.until(lambda row=row: GOES in work.rows[row.path].note)
    assert GOES in work.rows["b.py"].note
    end_turn(work)
    await work.until(lambda: "b.py" not in work.rows)
    assert (work.path / "a.py").read_text() == LINES
    assert not (work.path / "b.py").exists()


async def test_a_change_that_waits_does_not_bring_back_a_file_that_its_agent_deletes_meanwhile(work: Work):
    await written(work)
    first, _ = await keys(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(first, None)])
    (work.path / "a.py").unlink()
    await work.until(lambda: work.rows["a.py"].kind == "deleted")
    end_turn(work)
    await work.until(lambda: work.rows["a.py"].going is None)
    assert not (work.path / "a.py").exists()
    assert ("a.py has changed since.", WINDOW) in work.editor.said


SAME = "".join(f"line {number}\n" if number % 10 else "same\n" for number in range(1, 41))


async def equal_changes(work: Work) -> list[str]:
    """An agent has changed four equal lines in the same way: their keys."""
    (work.path / "a.py").write_text(SAME)
    await work.in_turn()
    (work.path / "a.py").write_text(SAME.replace("same\n", "more\nsame too\n"))
    await work.until(lambda: "a.py" in work.rows)
    return await keys(work)


def undone(*numbers: int) -> str:
    """The file with equal changes, of which these are undone."""
    parts = SAME.split("same\n")
    gone = ["same\n" if number in numbers else "more\nsame too\n" for number in range(4)]
    return "".join(text for pair in zip(parts, [*gone, ""], strict=True) for text in pair)


@pytest.mark.parametrize("order", [(0, 2), (2, 0), (1, 0), (3, 1, 2)])
async def test_of_equal_changes_each_waits_by_itself(work: Work, order: tuple[int, ...]):
    found = await equal_changes(work)
    for number in order:
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(found[number], None)])
    assert (work.path / "a.py").read_text() == undone()
    shown = await work.rounds.file(work.folders[0], "a.py")
    assert shown
    assert shown.going == {found[number] for number in order}
    end_turn(work)
    await work.until(lambda: (work.path / "a.py").read_text() == undone(*order))
    await work.until(lambda: work.rows["a.py"].going is None)
    assert work.editor.said == []


@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_equal_changes_are_decided_at_once(work: Work, decision: Decision):
    """Once one is decided, there are fewer with these lines than the keys of the others say."""
    found = await equal_changes(work)
    end_turn(work)
    await work.until(lambda: not work.rounds.roots.is_in_turn(work.known.folders[work.folders[0]]))
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], decision, [(key, None) for key in found[:3]])
    assert work.editor.said == []
    assert work.rows["a.py"].changes == 1
    assert (work.path / "a.py").read_text() == undone(*([0, 1, 2] if decision == "undo" else []))


@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_lines_of_a_change_with_others_between_are_decided_at_once(work: Work, decision: Decision):
    """Once some of its lines are decided, the rest of it has another key."""
    await work.begun()
    (work.path / "a.py").write_text(made := LINES.replace("line 3\n", "a\nb\nc\nd\ne\n"))
    await work.until(lambda: "a.py" in work.rows)
    [key] = await keys(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], decision, [(key, (3, 3)), (key, (5, 5))])
    assert work.editor.said == []
    left = made.replace("b\n", "").replace("d\n", "") if decision == "undo" else made
    assert (work.path / "a.py").read_text() == left
    if decision == "keep":
        work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
        await work.until(lambda: "a.py" not in work.rows)
        assert (work.path / "a.py").read_text() == LINES.replace("line 3\n", "line 3\nb\nd\n")


@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_what_is_decided_of_an_equal_change_leaves_the_other_one_waiting(work: Work, decision: str):
    found = await equal_changes(work)
    for number in (0, 3):
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(found[number], None)])
    if decision == "keep":
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(found[1], None)])
    else:
        for _ in range(2):
            await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(found[1], None)])
        assert (work.path / "a.py").read_text() == undone(1)
    end_turn(work)
    await work.until(lambda: work.rows["a.py"].going is None)
    assert (work.path / "a.py").read_text() == undone(0, 3, *([1] if decision == "undo" else []))
    assert work.editor.said == []


async def lines_of_a_change(work: Work) -> str:
    """An agent has changed three lines: the key of the change."""
    await work.in_turn()
    (work.path / "a.py").write_text(LINES.replace("line 3\nline 4\nline 5\n", "A\nB\nC\n"))
    await work.until(lambda: "a.py" in work.rows)
    [key] = await keys(work)
    return key


def has_lines(work: Work, *lines: str) -> bool:
    return (work.path / "a.py").read_text().splitlines()[2:-25] == [*lines]


@pytest.mark.parametrize("order", [(2, 4), (4, 2), (3, 2, 4)])
async def test_lines_of_one_change_wait_each_by_themselves(work: Work, order: tuple[int, ...]):
    key = await lines_of_a_change(work)
    for line in order:
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(key, (line, line))])
    assert has_lines(work, "A", "B", "C")
    end_turn(work)
    expected = [f"line {line + 1}" if line in order else "ABC"[line - 2] for line in (2, 3, 4)]
    await work.until(lambda: has_lines(work, *expected))
    await work.until(lambda: "a.py" not in work.rows or work.rows["a.py"].going is None)
    assert work.editor.said == []


@pytest.mark.parametrize("is_whole", [False, True])
async def test_lines_that_are_kept_leave_the_others_of_their_change_waiting(work: Work, is_whole: bool):
    key = await lines_of_a_change(work)
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(key, None if is_whole else (2, 2))])
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "keep", [(key, (3, 3))])
    end_turn(work)
    await work.until(lambda: has_lines(work, "line 3", "B", "line 5" if is_whole else "C"))
    assert work.editor.said == []


async def test_lines_of_a_change_that_waits_go_at_once_the_second_time(work: Work):
    key = await lines_of_a_change(work)
    for lines in ((2, 3), (4, 4), (4, 4)):
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(key, lines)])
    assert has_lines(work, "A", "B", "line 5")
    end_turn(work)
    await work.until(lambda: "a.py" not in work.rows)
    assert (work.path / "a.py").read_text() == LINES
    assert work.editor.said == []


async def test_lines_of_a_change_that_has_moved_between_two_undos_of_it_go_and_no_others(work: Work):
    """Where each was by its key says nothing of which is above."""
    await work.in_turn()
    made = LINES.replace("line 3\n", "a\nb\nc\nd\ne\n")
    for above, line, shown in ((10, 12, 2), (0, 5, 1)):  # the lines a and d
        (work.path / "a.py").write_text("above\n" * above + made)
        work.rounds.scan(WINDOW)
        await work.until(lambda shown=shown: "a.py" in work.rows and work.rows["a.py"].changes == shown)
        *_, key = await keys(work)
        await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", [(key, (line, line))])
    end_turn(work)
    await work.until(lambda: (work.path / "a.py").read_text() != made)
    assert (work.path / "a.py").read_text() == made.replace("a\n", "").replace("d\n", "")
    assert work.editor.said == []


async def test_a_change_that_was_written_over_after_the_turn_leaves_the_others_going_and_is_said(work: Work):
    await written(work)
    first, second = await keys(work)
    found = [(first, None), (second, None)]
    await work.decisions.decide_changes(WINDOW, work.rows["a.py"], "undo", found)
    go = work.rounds.roots.turn_over

    def written_over() -> None:
        (work.path / "a.py").write_text(AGENTS.replace("agent\n", "another\n"))
        go()

    work.rounds.roots.turn_over = written_over
    end_turn(work)
    await work.until(lambda: (work.path / "a.py").read_text() == LINES.replace("line 3\n", "another\n"))
    await work.until(lambda: work.rows["a.py"].going is None)
    assert ("Not undone: a.py has changed since.", WINDOW) in work.editor.mentioned
