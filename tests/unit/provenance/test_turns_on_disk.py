"""From a chat's turn and the looks at its folder to the answer for a line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from companion.changes import rounds
from companion.exclusion import Sharing
from companion.provenance.calls import ReportedTurn, TextReplacement, WritingCall
from companion.provenance.log import Reason
from companion.provenance.why import Provenance

from ..changes.work import CHAT, LINES, WINDOW, Work
from ..chats.chatting import attached
from ..fake_daemon import Stream, until
from .playing import Terminal
from .test_transcripts import ask, call, done, here


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setattr(rounds, "PAUSE", 0.05)
    monkeypatch.setattr(rounds, "SETTLED", 0.3)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(LINES)
    return Work(tmp_path / "stores", [str(folder)])


def told_turn(path: Path, *edits: tuple[str | None, str]) -> ReportedTurn:
    calls = (
        WritingCall(f"c{at}", "edit", (TextReplacement(str(path), *each),), f"said {at}")
        for at, each in enumerate(edits)
    )
    return ReportedTurn("Agent", "make it better", tuple(calls), turn="turn-1")


async def test_a_turn_leads_from_its_end_to_the_answer_with_what_the_looks_have_seen(work: Work) -> None:
    async with work:
        told = Sharing(folders=tuple(work.folders))
        reasons = Provenance(work.rounds, lambda _: told, work.background, work.editor, print, str(work.stores))
        await work.in_turn()
        path = work.path / "a.py"
        mine = "the person writes this line\n"
        path.write_text(text := f"{LINES}the agent writes a line\n")
        work.rounds.turn_ended(WINDOW, CHAT, "turn-1")
        reasons.turn_over(WINDOW, told_turn(path, (None, text)))
        why: list[Reason] = []
        for _ in range(200):
            if why := await reasons.why(WINDOW, str(path), text, list(range(40)), is_saved=True):
                break
            await asyncio.sleep(0.05)
        assert [(each.rows, each.turn.prompt, each.call.reason) for each in why] == [
            ((30,), "make it better", "said 0")
        ]
        path.write_text(text := mine + text)
        reasons.saved(WINDOW, str(path), text[len(mine) :], text)
        await asyncio.sleep(0.2)
        assert [each.rows for each in await reasons.why(WINDOW, str(path), text, list(range(40)), is_saved=True)] == [
            (31,)
        ]
        await reasons.forget()
        assert await reasons.why(WINDOW, str(path), text, list(range(40)), is_saved=True) == []


async def test_a_turn_of_a_window_that_closes_is_logged_for_the_folders_that_it_had(work: Work) -> None:
    async with work:
        folders = {WINDOW: tuple(work.folders)}
        reasons = Provenance(
            work.rounds,
            lambda window: Sharing(folders=folders.get(window, ())),
            work.background,
            work.editor,
            print,
            str(work.stores),
        )
        path = work.path / "a.py"
        path.write_text(f"{LINES}the agent writes a line\n")
        reasons.turn_over(WINDOW, told_turn(path, ("it was another one\n", "the agent writes a line\n")))
        del folders[WINDOW]
        logged = await until(lambda: reasons.log.every(work.folders[0]))
        assert [call.reason for turn in logged for call in turn.calls] == ["said 0"]


@pytest.mark.parametrize("is_told", [True, False])
async def test_what_was_written_for_a_prompt_is_not_under_the_next_one_however_soon_that_comes(
    work: Work, tmp_path: Path, is_told: bool
) -> None:
    """Both are seen by the same look, as a prompt that waits while the CLI works is sent at once.

    The next one may have written the same file, too, before the transcript tells it.
    """
    async with work:
        terminal = Terminal(tmp_path.resolve())
        terminal.reasons._turns = work.rounds
        await work.begun()
        await terminal.look()
        terminal.say(here(terminal, [ask("First")])[0])
        await terminal.look()
        state = work.known.folders[work.folders[0]].round.state
        await work.until(lambda: state.checkpoints)
        path, other = terminal.folder / "a.py", terminal.folder / "b.py"
        for place, key, old in ((path, "c1", LINES), (other, "c2", "")):
            place.write_text(text := f"{old}a line of {key}\n")
            for line in [*call(place, old, text, key), done(), *([ask("Second", "u2")] if key == "c1" else [])]:
                terminal.say(line)
            await asyncio.sleep(0.1)
        if not is_told:
            path.write_text(f"{path.read_text()}a line of c3\n")
        await terminal.look(3)
        await work.until(lambda: len(state.checkpoints) == 2 and all(each.end for each in state.checkpoints))
        await work.until(lambda: len(work.rows) == 2)
        found = await work.rounds.turns(WINDOW)
        assert {name: [turn.words for turn in turns] for (_, name), turns in found.items()} == {
            "a.py": ["First"] if is_told else ["Second"],
            "b.py": ["Second"],
        }


async def test_a_chat_tells_each_turn_when_it_is_over(project: Path) -> None:
    async with attached(project) as room:
        stream = await room.opened()
        play(stream, str(project / "a.py"))
        await until(lambda: room.render.status.running)
        stream.send("turn_complete", 4, "p", stopReason="end_turn")
        await until(lambda: room.reasons.turns)
    [turn] = room.reasons.turns
    assert (turn.prompt, turn.session, turn.turn, turn.is_chat) == ("Do it", "s", "p", True)
    [call] = turn.calls
    assert (call.reason, call.replaced) == ("Too little.", (TextReplacement(str(project / "a.py"), "old", "new"),))


def play(stream: Stream, path: str) -> None:
    """A turn with one edit, which runs."""

    def update(number: int, **more: Any) -> None:
        stream.send("session_update", number, "p", update=more)

    update(1, sessionUpdate="user_message_chunk", content={"type": "text", "text": "Do it"})
    update(2, sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Too little."})
    content = [{"type": "diff", "path": path, "oldText": "old", "newText": "new"}]
    update(3, sessionUpdate="tool_call", toolCallId="t", title="Edit", kind="edit", status="completed", content=content)
