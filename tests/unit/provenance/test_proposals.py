"""Why a CLI in a terminal proposes something: the sentence before that very call, or nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from companion.provenance import lines as of_lines
from companion.provenance import transcripts

from .playing import SHOP, Object, Terminal
from .test_transcripts import RECORDED, ask, call, done, here

NEW = SHOP + "CURRENCY = 'EUR'\n"


async def ready(root: Path, **more: Any) -> Terminal:
    """A terminal in which something was asked, and whose transcripts are looked at."""
    terminal = Terminal(root.resolve(), **more)
    (terminal.folder / "shop.py").write_text(SHOP)
    await terminal.look()
    say(terminal, [ask("Name the currency")])
    return terminal


def say(terminal: Terminal, lines: list[Object], path: Path | None = None) -> None:
    for line in here(terminal, lines):
        terminal.say(line, path)


def waits(terminal: Terminal, said: str = "Prices need one.", key: str = "c1", **arguments: Any) -> Object:
    """The line of a call that waits for an answer."""
    given = {"file_path": str(terminal.folder / "shop.py"), **(arguments or {"content": NEW})}
    parts = [{"text": said}, {"functionCall": {"id": key, "name": "edit", "args": given}}]
    return {"type": "assistant", "message": {"parts": parts}}


def cancelled(key: str = "c1") -> Object:
    return {"type": "tool_result", "toolCallResult": {"callId": key, "status": "cancelled"}}


EDITS: dict[str, Object] = {
    "the whole text": {"content": NEW},
    "a piece": {"old_string": "    return amount\n", "new_string": "    return amount\nCURRENCY = 'EUR'\n"},
    "several pieces": {
        "edits": [
            {"old_string": "    return amount\n", "new_string": "    return amount\nCURRENCY\n"},
            {"old_string": "CURRENCY\n", "new_string": "CURRENCY = 'EUR'\n"},
        ]
    },
}


@pytest.mark.parametrize("arguments", EDITS.values(), ids=EDITS)
async def test_a_proposal_has_the_sentence_before_the_call_that_makes_its_text(
    tmp_path: Path, arguments: Object
) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal, "An order has\n\nPrices need one.", **arguments)])
    terminal.propose(NEW)
    await terminal.look(2)
    assert terminal.explained == {1: "Prices need one."}


async def test_a_reason_that_is_written_down_after_the_diff_has_opened_comes_then(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}
    say(terminal, [waits(terminal)])
    await terminal.look()
    assert terminal.explained == {1: "Prices need one."}


async def test_each_proposal_of_a_real_cli_has_its_own_sentence(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    lines = list(terminal.recorded(RECORDED["qwen"]))
    shows = [(line["toolCallResult"]["callId"], line["toolCallResult"]["resultDisplay"]) for line in lines
             if isinstance(line.get("toolCallResult", {}).get("resultDisplay"), dict)]  # fmt: skip
    displays = {key: shown for key, shown in shows if "newContent" in shown}
    found: list[str] = []
    for line in lines:
        terminal.say(line)
        for part in (line.get("message") or {}).get("parts", []) if line["type"] == "assistant" else ():
            if shown := displays.get(part.get("functionCall", {}).get("id")):
                number = len(found) + 1
                terminal.proposals = []
                terminal.propose(shown["newContent"], number, shown["fileName"], shown["originalContent"] or "")
                await terminal.look(2)
                found.append(terminal.explained.get(number, ""))
    assert found == [
        "Reason 1 of task 1.", "Reason 2 of task 1.", "Reason 3 of task 1.", "Reason 0 of task 2.",
        "Reason 1 of task 2.", "Reason 0 of task 3.", "Reason 1 of task 3.",
    ]  # fmt: skip


@pytest.mark.parametrize("answer", [None, False])
async def test_no_transcript_is_read_for_a_proposal_without_a_yes(tmp_path: Path, answer: bool | None) -> None:
    terminal = await ready(tmp_path, answer=answer)
    say(terminal, [waits(terminal)])
    terminal.propose(NEW)
    await terminal.look(3)
    assert (terminal.explained, terminal.reasons._transcripts._known) == ({}, {})


OTHERS: dict[str, Object] = {
    "another text": {"content": NEW + "\n"},
    "a piece that is there twice": {"old_string": "amount", "new_string": "sum"},
    "a piece that is not there": {"old_string": "nowhere", "new_string": "CURRENCY"},
    "another file": {"content": NEW, "file_path": "/elsewhere/shop.py"},
    "a path that is none": {"content": NEW, "file_path": "shop.py\0"},
}


@pytest.mark.parametrize("arguments", OTHERS.values(), ids=OTHERS)
async def test_a_call_that_would_not_make_the_proposal_to_the_byte_says_nothing(
    tmp_path: Path, arguments: Object
) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal, **arguments)])
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}


async def test_line_endings_that_the_cli_has_dropped_are_no_other_text(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal, **EDITS["a piece"])])
    terminal.propose(NEW, old=SHOP.replace("\n", "\r\n"))
    terminal.propose(NEW.replace("\n", "\r\n"), 2, old=SHOP.replace("\n", "\r\n"))
    await terminal.look(2)
    assert terminal.explained == {1: "Prices need one."}


async def test_two_sessions_in_one_folder_that_would_write_the_same_say_nothing(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    other = terminal.transcript_of("session-2")
    say(terminal, [waits(terminal)])
    terminal.propose(NEW)
    await terminal.look(2)
    assert terminal.explained == {1: "Prices need one."}
    say(terminal, [ask("Do it", "u2", sessionId="s2"), waits(terminal, "Another reason.", "c2")], other)
    await terminal.look()
    assert terminal.explained == {1: ""}


async def test_two_sessions_in_one_folder_that_write_other_texts_have_their_own_reasons(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    other = terminal.transcript_of("session-2")
    say(terminal, [waits(terminal)])
    say(terminal, [ask("Do it", "u2", sessionId="s2"), waits(terminal, "Mine.", "c2", content="mine\n")], other)
    terminal.propose(NEW)
    terminal.propose("mine\n", 2)
    await terminal.look(2)
    assert terminal.explained == {1: "Prices need one.", 2: "Mine."}


async def test_two_calls_of_one_session_that_would_write_the_same_say_nothing(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal), waits(terminal, "Again.", "c2")])
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {1: ""}


async def test_what_is_proposed_again_has_the_reason_of_its_own_call(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal)])
    terminal.propose(NEW)
    await terminal.look(2)
    terminal.proposals.clear()
    say(terminal, [cancelled(), ask("Do it after all", "u2"), waits(terminal, "Because you want it.", "c2")])
    terminal.propose(NEW, 2)
    await terminal.look(2)
    assert terminal.explained == {1: "Prices need one.", 2: "Because you want it."}


@pytest.mark.parametrize("looks", [1, 2])
async def test_a_call_that_still_waits_when_the_same_is_proposed_again_is_no_reason_for_that(
    tmp_path: Path, looks: int
) -> None:
    """Its CLI was killed, say, and the call of the other one is not written down yet."""
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal)])
    terminal.propose(NEW)
    await terminal.look(looks)
    terminal.proposals.clear()
    terminal.propose(NEW, 2)
    await terminal.look(3)
    assert terminal.explained.get(2) == ""


async def test_of_two_proposals_alike_neither_has_a_reason_also_when_one_has_its_answer(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    terminal.propose(NEW)
    terminal.propose(NEW, 2)
    await terminal.look(2)
    del terminal.proposals[1]
    say(terminal, [waits(terminal)])
    await terminal.look(2)
    assert terminal.explained == {1: "", 2: ""}


async def test_nothing_is_kept_of_a_proposal_that_has_its_answer(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal)])
    for number in (1, 2, 3):
        terminal.propose(NEW, number)
    await terminal.look(3)
    terminal.proposals.clear()
    await terminal.look()
    assert not any(vars(terminal.reasons._proposed).values())


async def test_a_call_that_is_over_is_no_reason_for_what_comes_after_it(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal), cancelled()])
    say(terminal, call(terminal.folder / "shop.py", SHOP, NEW, "c2", "Done already."))
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}


async def test_a_later_sentence_belongs_to_a_later_call(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal), waits(terminal, "Another file.", "c2", file_path="/a.py", content="x"), done()])
    terminal.propose(NEW)
    await terminal.look(2)
    assert terminal.explained == {1: "Prices need one."}


async def test_what_was_waiting_before_the_cli_has_connected_is_another_ones(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal)])
    os.utime(terminal.transcript, (time.time() - 60, time.time() - 60))
    terminal.propose(NEW, since=time.time() - 30)
    await terminal.look(3)
    assert terminal.explained == {}


async def test_a_transcript_of_another_folder_or_of_a_chat_says_nothing(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), chats={"s"})
    (terminal.folder / "shop.py").write_text(SHOP)
    elsewhere = terminal.transcript_of("session-2")
    await terminal.look()
    say(terminal, [ask("Name it"), waits(terminal)])
    say(terminal, [ask("Name it", "u2", cwd=str(tmp_path), sessionId="s2"), waits(terminal)], elsewhere)
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}


async def test_an_excluded_file_has_no_reason(tmp_path: Path) -> None:
    terminal = await ready(tmp_path, exclude=("shop.py",))
    say(terminal, [waits(terminal)])
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}


async def test_calls_that_cost_too_much_to_compare_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = await ready(tmp_path)
    pieces = [{"old_string": "amount", "new_string": "amount" * 3, "replace_all": True}] * 40
    say(terminal, [waits(terminal), waits(terminal, "Much.", "c2", edits=pieces)])
    monkeypatch.setattr(of_lines, "EFFORT", 10_000_000)
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {1: ""}


async def test_a_transcript_has_the_time_of_a_look_to_tell_of_another_call(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal)])
    terminal.propose(NEW)
    await terminal.look()
    assert terminal.explained == {}
    say(terminal, [waits(terminal, "Another reason.", "c2")])
    await terminal.look()
    assert terminal.explained == {1: ""}


@pytest.mark.parametrize("status", ["cancelled", "error"])
async def test_a_call_of_gemini_cli_that_was_not_done_does_not_wait(tmp_path: Path, status: str) -> None:
    terminal = await ready(tmp_path, kind="gemini")
    arguments = {"file_path": str(terminal.folder / "shop.py"), "content": NEW}
    tool = {"id": "c1", "name": "write_file", "args": arguments, "status": status}
    terminal.say({"type": "user", "id": "u", "content": [{"text": "Name it"}]})
    terminal.say({"type": "gemini", "id": "g", "content": "Prices need one.", "toolCalls": [tool]})
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}
    terminal.say({"type": "gemini", "id": "h", "content": "Again.", "toolCalls": [{**tool, "id": "c2", "status": ""}]})
    await terminal.look()
    assert terminal.explained == {1: "Again."}


async def test_what_stands_before_lines_that_were_not_read_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = await ready(tmp_path)
    say(terminal, [waits(terminal)])
    await terminal.look()
    monkeypatch.setattr(transcripts, "STEP", 1_000)
    say(terminal, [cancelled(), *[{"type": "system", "text": "x" * 400}] * 4])
    terminal.propose(NEW)
    await terminal.look(3)
    assert terminal.explained == {}
