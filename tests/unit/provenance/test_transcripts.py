"""Why a CLI in a terminal has written a line, by its transcript: its own prompt and sentence, or nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from companion.editor import WindowId
from companion.exclusion import Sharing
from companion.provenance import transcripts, why
from companion.provenance.transcripts import CliTranscript

from .playing import SHOP, WINDOW, Object, Terminal, dated

SECOND = WindowId(2)
SAID = "Reason 1 of task 1."

RECORDED = {
    "qwen": "qwen-0.24.4.jsonl",
    "gemini": "gemini-0.61.0.jsonl",
    "claude": "claude-2.1.318.jsonl",
    "codex": "codex-0.166.0.jsonl",
    "copilot": "copilot-1.0.102.jsonl",
}


async def ready(root: Path, kind: Any = "qwen") -> Terminal:
    """A terminal whose transcripts were looked at once, before there was any."""
    terminal = Terminal(root.resolve(), kind)
    (terminal.folder / "shop.py").write_text(SHOP)
    await terminal.look()
    return terminal


def ask(text: str, key: str = "u1", **more: Any) -> Object:
    line = {"type": "user", "uuid": key, "sessionId": "s", "timestamp": "t", "message": {"parts": [{"text": text}]}}
    return dated({**line, "cwd": "@", **more})


def call(path: Path, old: str | None, new: str, key: str = "c1", said: str = "So.", **more: Any) -> list[Object]:
    parts = [{"text": said}, {"functionCall": {"id": key, "name": "edit", "args": {"file_path": str(path)}}}]
    display = {"fileName": path.name, "filePath": str(path), "originalContent": old, "newContent": new, **more}
    return [
        {"type": "assistant", "message": {"parts": parts}},
        {"type": "tool_result", "toolCallResult": {"callId": key, "status": "success", "resultDisplay": display}},
    ]


def done() -> Object:
    return {"type": "assistant", "message": {"parts": [{"text": "Done."}]}}


def here(terminal: Terminal, lines: list[Object]) -> list[Object]:
    return [{**line, **({"cwd": str(terminal.folder)} if line.get("cwd") == "@" else {})} for line in lines]


@pytest.mark.parametrize("kind", RECORDED)
async def test_each_change_of_a_real_cli_leads_to_its_own_prompt_and_sentence(tmp_path: Path, kind: str) -> None:
    terminal = await ready(tmp_path, kind)
    await terminal.play(terminal.recorded(RECORDED[kind]))
    one, two, three = (f"{words} (task #{number})" for number, words in enumerate(
        ("Refuse titles that we do not sell", "Name the currency", "Write tests"), 1
    ))  # fmt: skip
    assert await terminal.why("if title not in") == [(one, "Reason 1 of task 1.")]
    assert await terminal.why("raise ValueError") == [(one, "Reason 1 of task 1.")]
    assert await terminal.why("return round") == [(one, "Reason 2 of task 1.")]
    assert await terminal.why("first_line", "new.py") == [(one, "Reason 3 of task 1.")]
    assert await terminal.why("second_line", "new.py") == [(one, "Reason 3 of task 1.")]
    assert await terminal.why("CURRENCY") == [(two, "Reason 0 of task 2.")]
    assert await terminal.why("third_line", "new.py") == [(two, "Reason 1 of task 2.")]
    assert await terminal.why("assert total", "test_shop.py") == [(three, "Reason 0 of task 3.")]
    assert await terminal.why("def total") == [(three, "Reason 1 of task 3.")]
    for words in ("PRICES = {", "amount = 0.0", "for title", "amount +="):
        assert await terminal.why(words) == [("", "")]
    agent: Any = transcripts.KINDS
    began = [event for event in terminal.looks.events if event[0] == "began"]
    assert began == [("began", agent[kind], each) for each in (one, two, three)]
    assert terminal.looks.events.count(("ended",)) == 3


async def test_of_what_claude_code_writes_down_only_what_the_person_has_said_is_a_prompt(tmp_path: Path) -> None:
    """Not a command of its own, nor an interruption, nor the summary of what was said."""
    terminal = await ready(tmp_path, "claude")
    await terminal.play(terminal.recorded(RECORDED["claude"]))
    terminal.looks.events.clear()
    await terminal.play(terminal.recorded("claude-2.1.318-more.jsonl"))
    prompts = [event[2] for event in terminal.looks.events if event[0] == "began"]
    assert prompts == [
        "Slowly (task #4)", "No, use cents", "Talk (task #5)", "After the interruption (task #6)",
        "After the compaction (task #7)",
    ]  # fmt: skip
    assert terminal.looks.events[-1] == ("ended",)
    assert await terminal.why("amount = 0.00") == [("No, use cents", "Reason 1 of task 4.")]
    assert terminal.reasons.strange == ()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("No, use cents", [("No, use cents", "Reason 1 of task 4.")]),
        ([{"type": "text", "text": "No, use cents"}, {"type": "image"}], [("No, use cents", "Reason 1 of task 4.")]),
        ([{"type": "image"}], [("", "")]),
    ],
    ids=["words", "words and a picture", "a picture"],
)
async def test_what_the_person_says_while_claude_code_works_is_a_prompt_in_each_form(
    tmp_path: Path, prompt: object, expected: object
) -> None:
    terminal = await ready(tmp_path, "claude")
    await terminal.play(terminal.recorded(RECORDED["claude"]))
    lines = list(terminal.recorded("claude-2.1.318-more.jsonl"))
    for line in lines:
        if isinstance(line, dict) and line.get("attachment", {}).get("type") == "queued_command":
            line["attachment"]["prompt"] = prompt
    await terminal.play(iter(lines))
    assert await terminal.why("amount = 0.00") == expected


async def test_of_what_copilot_writes_down_only_what_the_person_has_said_is_a_prompt(tmp_path: Path) -> None:
    """Not the end of a command in the background, nor what a sub-agent is asked."""
    terminal = await ready(tmp_path, "copilot")
    await terminal.play(terminal.recorded(RECORDED["copilot"]))
    terminal.looks.events.clear()
    await terminal.play(terminal.recorded("copilot-1.0.102-more.jsonl"))
    prompts = [event[2] for event in terminal.looks.events if event[0] == "began"]
    assert prompts == [
        "Slowly (task #4)", "No, use cents", "Delegate (task #6)", "Stop it (task #7)",
        "After the interruption (task #8)",
    ]  # fmt: skip
    assert await terminal.why("amount = 0.00") == [("No, use cents", "Reason 1 of task 4.")]
    assert await terminal.why("a_line", "sub.py") == [("", "")]
    assert await terminal.why("a_line", "main.py") == [("Delegate (task #6)", "Reason 1 of task 6.")]
    assert await terminal.why("In the order") == [("After the interruption (task #8)", "Reason 0 of task 8.")]
    assert terminal.reasons.strange == ()


OTHERS: list[tuple[str, Object, Object]] = [
    ("system.notification", {"content": "<system_notification>"}, {}),
    ("assistant.turn_start", {"turnId": "1"}, {}),
    ("user.message", {"content": "Go on", "isAutopilotContinuation": True}, {}),
    ("user.message", {"content": "Do it", "source": "agent-a"}, {}),
    ("user.message", {"content": " ", "attachments": [{"type": "file"}]}, {}),
    ("subagent.started", {"agentName": "a"}, {"agentId": "a"}),
]


@pytest.mark.parametrize(("what", "data", "more"), OTHERS)
async def test_what_somebody_else_begins_in_copilot_has_no_prompt_until_the_person_asks_again(
    tmp_path: Path, what: str, data: Object, more: Object
) -> None:
    terminal = await ready(tmp_path, "copilot")
    path, number = terminal.folder / "shop.py", 0

    def event(what: str, data: Object, **more: str) -> Object:
        nonlocal number
        number += 1
        return dated({"type": what, "data": data, "id": f"e{number}", "timestamp": "", **more})

    def wrote(name: str, **more: str) -> Iterator[Object]:
        call = {"path": str(path), "old_str": "    return amount\n", "new_str": f"    {name} = 1\n    return amount\n"}
        requests = [{"toolCallId": name, "name": "edit", "arguments": call}]
        yield event("assistant.message", {"content": f"For {name}.", "toolRequests": requests}, **more)
        yield event("tool.execution_start", {"toolCallId": name, "arguments": call}, **more)
        yield event("tool.execution_complete", {"toolCallId": name, "success": True}, **more)
        yield event("assistant.message", {"content": "Done.", "toolRequests": []}, **more)

    start = {"sessionId": "s", "context": {"cwd": str(terminal.folder)}}
    lines = [event("session.start", start), event("user.message", {"content": "Write it"}), *wrote("the_first_line")]
    lines += [event(what, data, **more), *wrote("the_line_of_another", **more)]
    lines += [event("user.message", {"content": "Go on, then"}), *wrote("the_last_line")]
    await terminal.play(iter(lines))
    assert await terminal.why("the_first_line") == [("Write it", "For the_first_line.")]
    assert await terminal.why("the_line_of_another") == [("", "")]
    assert await terminal.why("the_last_line") == [("Go on, then", "For the_last_line.")]


async def test_a_session_of_copilot_that_its_own_process_began_says_nothing(tmp_path: Path) -> None:
    terminal = await ready(tmp_path, "copilot")
    [start, *lines] = terminal.recorded(RECORDED["copilot"])
    start["data"]["detachedFromSpawningParentSessionId"] = "s"
    await terminal.play(iter([start, *lines]))
    assert (terminal.looks.events, await terminal.why("raise ValueError")) == ([], [("", "")])


def copilot(*events: tuple[str, Object]) -> transcripts._Conversation:
    """What a session has told by these events."""
    talk = transcripts._Conversation()
    for number, (what, data) in enumerate(events):
        transcripts._copilot(talk, {"type": what, "data": data, "id": str(number)})
    return talk


START = ("session.start", {"sessionId": "s", "context": {"cwd": "/a"}})


def test_a_session_of_copilot_that_goes_on_elsewhere_writes_there() -> None:
    resumed = ("session.resume", {"context": {"cwd": "/b"}})
    assert copilot(START, resumed).cwd == "/b"
    assert copilot(START, resumed, ("session.context_changed", {"cwd": "/b/c"})).cwd == "/b/c"
    assert copilot(START, resumed, ("session.context_changed", {})).cwd == "/b"
    assert copilot(resumed).cwd == ""  # whose session it is was not read


def test_what_copilot_thinks_is_the_reason_of_a_call_before_which_it_says_nothing() -> None:
    def reasons(**said: str) -> list[str]:
        call = {**said, "toolRequests": [{"toolCallId": "c", "name": "edit", "arguments": {}}]}
        talk = copilot(START, ("user.message", {"content": "Write"}), ("assistant.message", call))
        return [each.reason for each in talk._pending.values()]

    assert reasons(reasoningText="It is needed.", content="") == ["It is needed."]
    assert reasons(reasoningText="It is needed.", content="So be it.") == ["So be it."]


@pytest.mark.parametrize("end", ["abort", "session.shutdown"])
def test_a_call_of_copilot_that_was_interrupted_waits_no_longer(end: str) -> None:
    call = {"toolRequests": [{"toolCallId": "c", "name": "edit", "arguments": {}}]}
    talk = copilot(START, ("user.message", {"content": "Write"}), ("assistant.message", call), (end, {}))
    assert (list(talk.waiting(0.0)), talk.turns[-1].is_over) == ([], True)


async def test_of_a_session_of_copilot_no_file_but_its_events_is_read(tmp_path: Path) -> None:
    terminal = await ready(tmp_path, "copilot")
    other = terminal.transcript.with_name("others.jsonl")
    for line in terminal.recorded(RECORDED["copilot"]):
        terminal.say(line, other)
    await terminal.look(3)
    assert terminal.looks.events == []


async def test_of_many_sessions_of_copilot_the_newest_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MOST_SESSIONS", 2)
    terminal = await ready(tmp_path, "copilot")
    for number in range(5):
        folder = terminal.transcript_of(f"earlier-{number}").parent
        os.utime(folder, (number, number))
    await terminal.play(terminal.recorded(RECORDED["copilot"]))
    assert await terminal.why("raise ValueError") == [
        ("Refuse titles that we do not sell (task #1)", "Reason 1 of task 1.")
    ]


@pytest.mark.parametrize("kind", ["qwen", "claude"])
async def test_the_transcripts_of_a_folder_are_found_among_those_of_any_number_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(transcripts, "MOST_FOLDERS", 2)
    for number in range(20):
        (tmp_path / "home" / "projects" / f"-another-{number}").mkdir(parents=True)
    terminal = await ready(tmp_path, kind)
    await terminal.play(terminal.recorded(RECORDED[kind]))
    assert [said for said, _ in await terminal.why("raise ValueError")] == [
        "Refuse titles that we do not sell (task #1)"
    ]


async def test_a_session_of_codex_goes_on_after_the_end_of_its_month_and_year(tmp_path: Path) -> None:
    terminal = await ready(tmp_path, "codex")
    days = terminal.transcript.parents[3]
    for day in ("2025/12/29", "2026/01/01"):
        (days / day).mkdir(parents=True)
        (days / day / "rollout-1.jsonl").touch()
    shutil.rmtree(days / "2026" / "11")
    (days / "2025" / "12" / "31").mkdir()
    terminal.transcript = days / "2025" / "12" / "31" / "rollout-1.jsonl"
    await terminal.play(terminal.recorded(RECORDED["codex"]))
    assert await terminal.why("raise ValueError") == [
        ("Refuse titles that we do not sell (task #1)", "Reason 1 of task 1.")
    ]


@pytest.mark.parametrize("change", [("turn_trigger", "user", "agent"), ("thread_source", "user", "subagent")])
async def test_what_a_sub_agent_of_codex_is_asked_is_no_prompt(tmp_path: Path, change: tuple[str, str, str]) -> None:
    name, old, new = change
    terminal = await ready(tmp_path, "codex")
    lines = [json.dumps(line) for line in terminal.recorded(RECORDED["codex"])]
    assert any(f'"{name}": "{old}"' in line for line in lines)
    await terminal.play(json.loads(line.replace(f'"{name}": "{old}"', f'"{name}": "{new}"')) for line in lines)
    assert (terminal.looks.events, await terminal.why("raise ValueError")) == ([], [("", "")])


async def test_what_a_sub_agent_of_claude_code_writes_leads_to_nothing(tmp_path: Path) -> None:
    terminal = await ready(tmp_path, "claude")
    lines = list(terminal.recorded(RECORDED["claude"]))
    asked = next(at for at, line in enumerate(lines) if line["type"] == "user" and "origin" in line)
    await terminal.play(iter([*lines[: asked + 1], *({**line, "isSidechain": True} for line in lines[asked + 1 :])]))
    assert [event[0] for event in terminal.looks.events] == ["began"]
    assert await terminal.why("raise ValueError") == await terminal.why("CURRENCY") == [("", "")]


async def test_a_transcript_of_a_sub_agent_of_gemini_cli_is_not_read(tmp_path: Path) -> None:
    """It is beside those of the person's sessions if nobody knows which one has begun it."""
    terminal = await ready(tmp_path, "gemini")
    terminal.transcript = terminal.transcript_of("7f3a-codebase_investigator")
    await terminal.play(terminal.recorded(RECORDED["gemini"]))
    assert (terminal.looks.events, await terminal.why("raise ValueError")) == ([], [("", "")])


@pytest.mark.parametrize(
    ("kind", "before"), [("claude", '"origin"'), ("codex", '"item_completed"'), ("copilot", '"user.message"')]
)
async def test_a_transcript_of_a_version_that_says_it_otherwise_is_named(
    tmp_path: Path, kind: Any, before: str
) -> None:
    terminal = await ready(tmp_path, kind)
    lines = [json.dumps(line) for line in terminal.recorded(RECORDED[kind])]
    await terminal.play(json.loads(line.replace(before, '"otherwise"')) for line in lines)
    [strange] = terminal.reasons.strange
    assert (strange.version, terminal.looks.events) == (
        {"claude": "2.1.318", "codex": "0.166.0", "copilot": "1.0.102"}[kind],
        [],
    )


async def test_what_was_there_before_anybody_looked_says_nothing(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve())
    path = terminal.folder / "shop.py"
    path.write_text(SHOP)
    for line in here(terminal, [ask("Write it"), *call(path, "", SHOP), done()]):
        terminal.say(line)
    await terminal.look(4)
    assert terminal.looks.events == []
    assert await terminal.why("amount") == [("", "")] * 3


async def test_a_turn_that_was_over_before_its_folder_was_opened_says_nothing(tmp_path: Path) -> None:
    """Transcripts of Codex are read to learn their folder, so this one is known by then."""
    terminal = await ready(tmp_path, "codex")
    told = terminal.reasons._sharing
    other = terminal.root / "elsewhere"
    other.mkdir()
    terminal.reasons._sharing = lambda _: Sharing(folders=(str(other),))
    await terminal.look()
    await terminal.play(terminal.recorded(RECORDED["codex"]))
    terminal.reasons._sharing = told
    await terminal.look(4)
    assert terminal.looks.events == []


async def test_a_turn_that_runs_when_its_cli_is_seen_first_counts_from_then_on(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve())
    path = terminal.folder / "shop.py"
    path.write_text(SHOP)
    first = SHOP + "a_line_from_before_it_was_seen = 1\n"
    second = first + "a_line_from_after_it_was_seen = 2\n"
    path.write_text(first)
    for line in here(terminal, [ask("Write it"), *call(path, SHOP, first)]):
        terminal.say(line)
    await terminal.look(3)
    await terminal.play(iter(call(path, first, second, "c2")))
    assert await terminal.why("_it_was_seen") == [("", ""), ("Write it", "So.")]


async def test_a_turn_ends_when_its_cli_has_gone_or_is_silent_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = await ready(tmp_path)
    terminal.say(here(terminal, [ask("Write it")])[0])
    await terminal.look(3)
    assert [event[0] for event in terminal.looks.events] == ["began"]
    terminal.reasons.look({}, set())
    await terminal.done()
    assert [event[0] for event in terminal.looks.events] == ["began", "ended"]
    await terminal.look()
    monkeypatch.setattr(why, "SILENT", 0.0)
    terminal.say(here(terminal, [ask("Once more", "u2")])[0])
    await terminal.look(3)
    assert [event[0] for event in terminal.looks.events][-2:] == ["began", "ended"]


@pytest.mark.parametrize("kind", RECORDED)
async def test_what_two_windows_see_of_a_cli_begins_and_ends_in_one_of_them(tmp_path: Path, kind: str) -> None:
    terminal = await ready(tmp_path, kind)
    terminal.windows[SECOND] = "."
    await terminal.play(terminal.recorded(RECORDED[kind]))
    assert [event[0] for event in terminal.looks.events] == ["began", "ended"] * 3
    assert terminal.looks.windows == [WINDOW] * 6
    assert await terminal.why("raise ValueError") == [("Refuse titles that we do not sell (task #1)", SAID)]
    turns = await terminal.reasons.turns(SECOND, 0)
    calls = [call.id for turn in turns for call in turn.calls if call.path == "shop.py"]
    assert len(calls) == len(set(calls))


async def test_a_turn_begins_in_a_window_although_another_one_is_new_to_its_folder(tmp_path: Path) -> None:
    """The other one takes what is over by then for a turn of before."""
    terminal = await ready(tmp_path)
    terminal.windows[SECOND] = "."
    path = terminal.folder / "shop.py"
    path.write_text(SHOP + "written = 1\n")
    for line in here(terminal, [ask("Write it"), *call(path, SHOP, SHOP + "written = 1\n"), done()]):
        terminal.say(line)
    await terminal.look(2)
    assert [event[0] for event in terminal.looks.events] == ["began", "ended"]
    assert terminal.looks.windows == [WINDOW] * 2


@pytest.mark.parametrize("second", [None, "elsewhere"], ids=["one window", "two windows"])
async def test_a_prompt_was_sent_after_what_the_one_before_it_has_written(tmp_path: Path, second: str | None) -> None:
    """Both are seen by the same look, and another window has other files."""
    terminal = await ready(tmp_path)
    if second:
        (terminal.folder / second).mkdir()
        terminal.windows[SECOND] = second
        await terminal.look()
    sent: list[int] = []
    terminal.looks.turn_began = lambda *began: sent.append(began[-1])
    path = terminal.folder / "shop.py"
    path.write_text(SHOP + "written = 1\n")
    for line in here(terminal, [ask("Write it"), *call(path, SHOP, SHOP + "written = 1\n"), ask("Go on", "u2")]):
        terminal.say(line)
    await terminal.look()
    assert len(sent) == 2
    assert sent[1] > path.stat().st_mtime_ns


async def test_what_is_written_before_the_transcript_has_the_prompt_is_of_its_turn(tmp_path: Path) -> None:
    """A CLI writes its transcript from time to time, and the look before had not found the prompt yet."""
    terminal = await ready(tmp_path)
    await terminal.look()
    sent: list[int] = []
    terminal.looks.turn_began = lambda *began: sent.append(began[-1])
    prompt, path = ask("Write it"), terminal.folder / "new.py"
    before = time.time_ns()
    await asyncio.sleep(0.05)
    path.write_text("written = 1\n")
    await terminal.look()
    for line in here(terminal, [prompt, *call(path, None, "written = 1\n"), done()]):
        terminal.say(line)
    await terminal.look(2)
    assert sent
    assert sent[0] <= before < path.stat().st_mtime_ns


async def test_a_file_is_logged_for_the_window_that_has_it_whoever_reads_last(tmp_path: Path) -> None:
    """The CLI runs in a folder that both have; the file is outside of that of the second one."""
    terminal = await ready(tmp_path)
    (terminal.folder / "sub").mkdir()
    terminal.windows[SECOND] = "sub"
    path = terminal.folder / "shop.py"
    cwd = str(terminal.folder / "sub")
    begin, *rest = [ask("Write it", cwd=cwd), *call(path, SHOP, SHOP + "written = 1\n"), done()]
    terminal.say(begin)
    await terminal.look(2)
    await terminal.play(iter(rest))
    assert await terminal.why("written = 1") == [("Write it", "So.")]


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "of no window"])
async def test_a_turn_ends_when_its_transcript_tells_of_it_no_longer(tmp_path: Path, *, is_deleted: bool) -> None:
    terminal = await ready(tmp_path)
    terminal.say(here(terminal, [ask("Write it")])[0])
    await terminal.look(3)
    assert [event[0] for event in terminal.looks.events] == ["began"]
    if is_deleted:
        terminal.transcript.unlink()
    else:
        terminal.windows[WINDOW] = "another"
    await terminal.look()
    assert [event[0] for event in terminal.looks.events] == ["began", "ended"]


async def test_a_turn_whose_texts_are_not_told_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk with them hangs, or the person is asked something."""
    monkeypatch.setattr(why, "TEXTS_WITHIN", 1.0)
    terminal = await ready(tmp_path)
    asked, told = list[str](), terminal.looks.turn_texts

    async def hangs_first(window: int, turn: str) -> Any:
        asked.append(turn)
        return await (asyncio.Event().wait() if len(asked) == 1 else told(window, turn))

    monkeypatch.setattr(terminal.looks, "turn_texts", hangs_first)
    path = terminal.folder / "shop.py"
    for at, line in enumerate(("first = 1\n", "second = 2\n")):
        before = path.read_text()
        terminal.say(here(terminal, [ask("Write it", f"u{at}")])[0])
        await terminal.look(2)
        async with asyncio.timeout(20):
            await terminal.play(iter([*call(path, before, before + line, f"c{at}"), done()]))
    assert await terminal.why("second =") == [("Write it", "So.")]


FILE = [
    "\n--- Content from referenced files ---",
    "\nContent from secret.txt:\n",
    "PASSWORD=hunter2",
    "\n--- End of content ---",
]
TYPED = "Add what @secret.txt says"
SENT: dict[str, Object] = {
    "Qwen Code 0.24.4": {"message": {"parts": [{"text": text} for text in (TYPED, *FILE)]}},
    "Qwen Code 0.21.2": {
        "message": {"parts": [{"text": text} for text in (TYPED, *FILE, "HOOK SAYS")]},
        "systemPayload": {"displayText": "".join([TYPED, *FILE])},
    },
    "Gemini CLI 0.61.0": {
        "content": [{"text": text} for text in (TYPED, *FILE, "<hook_context>HOOK SAYS</hook_context>")],
        "displayContent": [{"text": TYPED}],
    },
    "Gemini CLI 0.8.2": {"content": "".join([TYPED, *FILE])},
    "Gemini CLI, once more after a loop": {"content": [{"text": text} for text in (TYPED, *FILE)]},
}


def gemini_ask(key: str, text: str, **more: Any) -> Object:
    line = {"id": key, "sessionId": "s", "timestamp": "t", "type": "user", "content": [{"text": text}]}
    return dated({**line, **more})


def gemini_call(path: Path, old: str, new: str, key: str = "c1") -> list[Object]:
    said = {"id": f"g-{key}", "type": "gemini", "content": "So.", "model": "m"}
    display = {"fileName": path.name, "filePath": str(path), "originalContent": old, "newContent": new}
    arguments = {"file_path": str(path)}
    done = {"id": key, "name": "replace", "args": arguments, "status": "success", "resultDisplay": display}
    return [said, {**said, "toolCalls": [done]}, {**said, "id": "g", "content": "Done."}]


@pytest.mark.parametrize("sent", SENT)
async def test_of_a_prompt_only_what_was_typed_is_kept_not_a_file_that_it_names_nor_what_a_hook_adds(
    tmp_path: Path, sent: str
) -> None:
    is_qwen = sent.startswith("Qwen")
    terminal = await ready(tmp_path, "qwen" if is_qwen else "gemini")
    terminal.exclude = ("secret.txt",)
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    prompt = {**(ask("") if is_qwen else gemini_ask("u1", "")), **SENT[sent]}
    calls = [*call(path, SHOP, new), done()] if is_qwen else gemini_call(path, SHOP, new)
    await terminal.play(iter(here(terminal, [prompt, *calls])))
    assert await terminal.why("a_line_that") == [(TYPED, "So.")]
    stored = b"".join(each.read_bytes() for each in (terminal.root / "stores").rglob("*") if each.is_file())
    assert b"Add what" in stored
    assert b"hunter2" not in stored
    assert b"HOOK SAYS" not in stored


SECRET = "Look at this: PASSWORD=hunter2 and some args"
COMMAND = "/leak some args"
LONG_AGO = "2026-01-01T00:00:00Z"


def slash(text: str, is_sent: object = True) -> Object:
    """What Qwen Code writes before the text of a command; the result comes between them, in a line of its own."""
    payload = {"phase": "invocation", "rawCommand": text, "sentToModel": is_sent}
    payload = {name: value for name, value in payload.items() if value is not None}
    return dated({"type": "system", "subtype": "slash_command", "timestamp": "t", "systemPayload": payload})


def queued(shown: str, text: str) -> Object:
    return ask(text, subtype="mid_turn_user_message", systemPayload={"displayText": shown})


def claudes(content: object, **more: Any) -> Object:
    line = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"content": content}, "cwd": "@"}
    return {**line, "origin": {"kind": "human"}, **more}


TAGS = "<command-message>leak</command-message>\n<command-name>/leak</command-name>\n<command-args>{}</command-args>"
EXPANDED: dict[str, tuple[str, list[Object]]] = {
    "Qwen Code": (COMMAND, [slash(COMMAND), ask(SECRET)]),
    "Qwen Code, with a file": (
        COMMAND,
        [slash(COMMAND), ask("", message={"parts": [{"text": "Look at "}, {"text": "hunter2"}, {"text": " then"}]})],
    ),
    "Qwen Code, while it works": (COMMAND, [slash(COMMAND), queued(COMMAND, SECRET)]),
    "Qwen Code, while it works, without a word on the command": (COMMAND, [queued(COMMAND, SECRET)]),
    "Qwen Code, which doesn't say whether it is sent": (COMMAND, [slash(COMMAND, None), ask(SECRET)]),
    "Qwen Code, a command that isn't sent": ("Add it", [slash("/help", is_sent=False), ask("Add it")]),
    "Qwen Code, a command that was refused": ("", [{**slash(COMMAND), "timestamp": LONG_AGO}, ask("Add it")]),
    "Gemini CLI": (COMMAND, [gemini_ask("u1", SECRET, displayContent=[{"text": COMMAND}])]),
    "Claude Code": (COMMAND, [claudes(TAGS.format("some args")), claudes(SECRET, uuid="u2", isMeta=True)]),
    "Claude Code, without arguments": ("/leak", [claudes(TAGS.format("")), claudes(SECRET, uuid="u2", isMeta=True)]),
    "Claude Code, a command of the shell": (
        "",
        [claudes("<bash-input>cat secret.txt</bash-input>", origin=None), claudes("hunter2", uuid="u2", origin=None)],
    ),
    "Copilot CLI": (
        COMMAND,
        [
            {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "@"}}},
            {"type": "user.message", "id": "u1", "data": {"content": COMMAND, "transformedContent": SECRET}},
        ],
    ),
}


@pytest.mark.parametrize("sent", EXPANDED)
async def test_of_a_command_what_was_typed_is_the_prompt_and_not_what_it_stands_for(tmp_path: Path, sent: str) -> None:
    """It may hold what `!{cat secret.txt}` has printed, of a file that is excluded."""
    kind = sent.split(maxsplit=1)[0].lower()
    terminal = await ready(tmp_path, kind)
    typed, lines = EXPANDED[sent]
    lines = [line if line.get("timestamp") == LONG_AGO else dated(line) for line in lines]
    text = json.dumps(lines).replace('"@"', json.dumps(str(terminal.folder)))
    for line in json.loads(text):
        terminal.say(line)
        await terminal.look()
    assert [event[2] for event in terminal.looks.events if event[0] == "began"] == [typed][: len(typed)]
    if kind == "qwen":
        path = terminal.folder / "shop.py"
        new = SHOP + "a_line_that_was_written_here = 1\n"
        await terminal.play(iter([*call(path, SHOP, new), done()]))
        assert await terminal.why("a_line_that") == [(typed, "So." if typed else "")]
    stored = b"".join(each.read_bytes() for each in (terminal.root / "stores").rglob("*") if each.is_file())
    assert b"hunter2" not in stored


@pytest.mark.parametrize("text", [SECRET, "Add the line"])
async def test_of_a_document_of_an_old_gemini_cli_a_prompt_is_what_its_log_of_what_was_typed_has(
    tmp_path: Path, text: str
) -> None:
    """It has the text of a command in the place of what was typed, and nothing in it tells that."""
    terminal = await ready(tmp_path, "gemini")
    document, path = terminal.transcript.with_suffix(".json"), terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    typed = [{"type": "user", "message": each} for each in ("First", COMMAND, "Add the line")]
    (document.parent.parent / "logs.json").write_text(json.dumps(typed))
    first = [gemini_ask("u0", "First"), {"id": "g0", "type": "gemini", "content": "Done."}]
    messages = [*first, gemini_ask("u1", text), *gemini_call(path, SHOP, new)]
    for count in range(2, len(messages) + 1):
        if count == len(messages) - 1:
            path.write_text(new)
        document.write_text(json.dumps({"sessionId": "s", "messages": messages[:count]}))
        await terminal.look(2)
    await terminal.look(2)
    is_typed = text != SECRET
    assert await terminal.why("a_line_that") == [(text, "So.") if is_typed else ("", "")]
    assert [each[2] for each in terminal.looks.events if each[0] == "began"] == ["First", text][: 1 + is_typed]


def test_in_a_document_what_was_said_before_a_prompt_is_no_reason_for_what_comes_after_it(tmp_path: Path) -> None:
    """A document is read from its beginning each time."""
    chats = tmp_path / "chats"
    chats.mkdir()
    (tmp_path / "logs.json").write_text(json.dumps([{"type": "user", "message": each} for each in ("First", "Second")]))
    done = {"id": "g1", "type": "gemini", "content": "First is done."}
    written = {"id": "c1", "name": "write_file", "args": {"file_path": "/a.py", "content": "x"}, "status": "success"}
    messages = [gemini_ask("u1", "First"), done, gemini_ask("u2", "Second")]
    transcript = CliTranscript("gemini", str(tmp_path), "chats/session-1.json")
    for more in ([], [{"id": "g2", "type": "gemini", "content": "", "toolCalls": [written]}]):
        (chats / "session-1.json").write_text(json.dumps({"sessionId": "s", "messages": [*messages, *more]}))
        transcript.read()
    last = transcript.talk.turns[-1]
    assert (last.prompt, [(each.id, each.reason) for each in last.calls]) == ("Second", [("c1", "")])


def test_a_turn_in_a_document_is_not_over_because_the_one_before_it_is(tmp_path: Path) -> None:
    document = tmp_path / "session-1.json"
    first = [gemini_ask(key, key, displayContent=key) for key in ("u1", "u2")]
    said = {"id": "g1", "type": "gemini", "content": "Done."}
    call = {"id": "c1", "name": "write_file", "args": {"file_path": "/a.py", "content": "x"}, "status": "success"}
    works = {"id": "g2", "type": "gemini", "content": "", "toolCalls": [call]}
    transcript = CliTranscript("gemini", str(tmp_path), document.name)
    for tokens in ({}, {"tokens": {"input": 1}}):
        messages = [first[0], said, first[1], {**works, **tokens}]
        document.write_text(json.dumps({"sessionId": "s", "messages": messages}))
        transcript.read()
        assert [turn.is_over for turn in transcript.talk.turns] == [True, False]


def test_what_codex_writes_before_the_prompt_of_a_turn_has_none(tmp_path: Path) -> None:
    talk = transcripts._Conversation()
    change = {"type": "FileChange", "status": "completed", "changes": {"/a.py": {"type": "add", "content": "x"}}}

    def event(what: str, **more: Object) -> None:
        transcripts._codex(talk, {"type": "event_msg", "payload": {"type": what, **more}})

    def begins(key: str) -> None:
        event("task_started", turn_attribution={"turn_trigger": "user"})
        event("item_completed", item={**change, "id": f"early-{key}"})
        event("item_completed", item={"type": "UserMessage", "id": key, "content": [{"text": key}]})
        event("item_completed", item={**change, "id": f"late-{key}"})

    begins("First")
    begins("Second")
    assert [(turn.prompt, [each.id for each in turn.calls]) for turn in talk.turns] == [
        ("First", ["late-First"]),
        ("Second", ["late-Second"]),
    ]


def at_once(kind: str) -> Iterator[Object]:
    """Two CLIs go on with a session at once: each is asked, and then each writes."""
    for name in ("first", "second"):
        match kind:
            case "qwen":
                yield ask(name, name, parentUuid="before")
            case "claude":
                yield claudes(name, uuid=name, parentUuid="before")
            case _:
                turn = {"turn_id": name, "turn_attribution": {"turn_trigger": "user"}}
                yield {"type": "event_msg", "payload": {"type": "task_started", **turn}}
                item = {"type": "UserMessage", "id": name, "content": [{"text": name}]}
                yield {"type": "event_msg", "payload": {"type": "item_completed", "turn_id": name, "item": item}}
    for name in ("first", "second"):
        match kind:
            case "qwen":
                noted, said, result = {"type": "system"}, *call(Path("/a.py"), "", name, f"c-{name}")
            case "claude":
                tool = {"type": "tool_use", "id": f"c-{name}", "input": {"file_path": "/a.py", "content": name}}
                noted = {"type": "attachment", "attachment": {"type": "date"}}
                said = {"type": "assistant", "message": {"content": [tool]}}
                content = [{"type": "tool_result", "tool_use_id": f"c-{name}"}]
                result = {"type": "user", "message": {"content": content}}
            case _:
                change: Object = {"type": "FileChange", "id": f"c-{name}", "status": "completed"}
                change["changes"] = {"/a.py": {"type": "add", "content": name}}
                yield {"type": "event_msg", "payload": {"type": "item_completed", "turn_id": name, "item": change}}
                yield {"type": "event_msg", "payload": {"type": "task_complete", "turn_id": name}}
                continue
        parent = name
        for at, line in enumerate((noted, said, result)):
            yield {**line, "uuid": (key := f"{name}-{at}"), "parentUuid": parent}
            parent = key


@pytest.mark.parametrize("kind", ["qwen", "claude", "codex"])
def test_of_two_clis_that_go_on_with_a_session_at_once_none_writes_for_the_prompt_of_the_other(kind: Any) -> None:
    talk = transcripts._Conversation()
    for line in at_once(kind):
        transcripts._READERS[kind](talk, line)
    assert [(turn.prompt, [each.id for each in turn.calls]) for turn in talk.turns] == [
        ("first", []),
        ("second", ["c-second"]),
    ]


async def test_a_message_without_words_leads_to_nothing_rather_than_to_the_prompt_before_it(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    picture = {**ask("", "u2"), "message": {"parts": [{"inlineData": {"mimeType": "image/png"}}]}}
    await terminal.play(iter(here(terminal, [ask("First"), done(), picture, *call(path, SHOP, new), done()])))
    assert await terminal.why("a_line_that") == [("", "")]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [([{"text": "Add the line"}], "Add the line"), ([{"functionResponse": {"name": "read_file"}}], "")],
    ids=["after an answer", "after a tool"],
)
async def test_what_gemini_cli_itself_says_to_its_model_is_no_prompt(
    tmp_path: Path, shown: object, expected: str
) -> None:
    terminal = await ready(tmp_path, "gemini")
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    prompts = [gemini_ask("u1", "Add the line"), gemini_ask("u2", "Please continue.", displayContent=shown)]
    await terminal.play(iter([*prompts, *gemini_call(path, SHOP, new)]))
    assert await terminal.why("a_line_that") == [(expected, "So." if expected else "")]
    assert {event[2] for event in terminal.looks.events if event[0] == "began"} == {"Add the line"}


CONTEXT = 'Here is the user\'s editor context as a JSON object.\n{"selectedText": "PASSWORD=hunter2"}'


async def test_what_gemini_cli_tells_its_model_of_the_editor_is_no_prompt(tmp_path: Path) -> None:
    """With a companion it writes that before the prompt as if the person had said it, and so does it other things."""
    terminal = await ready(tmp_path, "gemini")
    terminal.added |= {CONTEXT}
    path = terminal.folder / "shop.py"
    first = SHOP + "a_line_that_was_asked_for = 1\n"
    second = first + "a_line_that_was_not_asked_for = 2\n"
    prompts = [gemini_ask("u1", CONTEXT), gemini_ask("u2", "Add the line")]
    await terminal.play(iter([*prompts, *gemini_call(path, SHOP, first)]))
    await terminal.play(iter([gemini_ask("u3", CONTEXT), *gemini_call(path, first, second, "c2")]))
    assert [event[2] for event in terminal.looks.events if event[0] == "began"] == ["Add the line"]
    assert await terminal.why("a_line_that_was") == [("Add the line", "So."), ("", "")]


async def test_what_the_agent_does_without_a_prompt_has_none(tmp_path: Path) -> None:
    """A timer, or a task in the background that has ended, begins a turn after that of the person."""
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    first = SHOP + "a_line_that_the_person_wanted = 1\n"
    second = first + "a_line_that_nobody_asked_for = 2\n"
    third = second + "a_line_that_was_asked_for_then = 3\n"
    timer = ask("Every hour: look at the shop", "u2", provenance="system", subtype="cron")
    lines = [ask("Write it"), *call(path, SHOP, first), done(), timer, *call(path, first, second, "c2"), done()]
    lines += [ask("Go on", "u3"), *call(path, second, third, "c3"), done()]
    await terminal.play(iter(here(terminal, lines)))
    assert await terminal.why("a_line_that") == [("Write it", "So."), ("", ""), ("Go on", "So.")]


async def test_a_prompt_without_a_key_leads_to_nothing_rather_than_to_the_prompt_before_it(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    first = SHOP + "a_line_of_the_first_prompt = 1\n"
    second = first + "a_line_of_the_second_prompt = 2\n"
    third = second + "a_line_of_the_third_prompt = 3\n"
    await terminal.play(iter(here(terminal, [ask("First"), *call(path, SHOP, first), done()])))
    for prompt, old, new in (("Second", first, second), ("Third", second, third)):
        await terminal.play(iter(here(terminal, [ask(prompt, ""), *call(path, old, new, prompt), done()])))
    assert await terminal.why("a_line_of") == [("First", "So."), ("", ""), ("", "")]


@pytest.mark.parametrize(
    "lost", ["glued to a torn line", "no UTF-8", "of too many parts", "among too much that is new"]
)
async def test_what_comes_after_a_prompt_that_was_not_read_leads_to_nothing_until_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    first = SHOP + "a_line_of_the_first_prompt = 1\n"
    second = first + "a_line_of_the_second_prompt = 2\n"
    third = second + "a_line_of_the_third_prompt = 3\n"
    await terminal.play(iter(here(terminal, [ask("First"), *call(path, SHOP, first)])))
    line = json.dumps(here(terminal, [ask("Second", "u2")])[0]).encode()
    match lost:
        case "glued to a torn line":  # the CLI was ended while it wrote
            line = b'{"type": "assistant", "message": {"par' + line
        case "no UTF-8":
            line = line.replace(b"Second", b"Sec\xffnd")
        case "of too many parts":
            monkeypatch.setattr(transcripts, "MOST_PARTS", 100)
            line = line.replace(b'"parts": [', b'"parts": [' + b"[]," * 101)
        case _:
            monkeypatch.setattr(transcripts, "MOST_NEW", 5)
            line += b'\n{"type": "system"}' * 10
    with terminal.transcript.open("ab") as file:
        file.write(line + b"\n")
    await terminal.look()
    await terminal.play(iter([*call(path, first, second, "c2"), done()]))
    await terminal.play(iter(here(terminal, [ask("Third", "u3"), *call(path, second, third, "c3"), done()])))
    assert await terminal.why("a_line_of") == [("First", "So."), ("", ""), ("Third", "So.")]


def test_what_begins_a_transcript_anew_belongs_to_no_earlier_prompt(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    transcript = CliTranscript("qwen", str(tmp_path), path.name)
    path.write_text(json.dumps(ask("First, in many words" * 100)) + "\n")
    transcript.read()
    path.write_text("".join(json.dumps(line) + "\n" for line in call(tmp_path / "a.py", "", "x = 1\n")))
    transcript.read()
    assert [each.calls for each in transcript.talk.turns] == [[]]


async def test_a_transcript_of_another_folder_says_nothing(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    elsewhere = str(terminal.root / "project-2")
    path.write_text(SHOP + "a_line_that_was_written_here = 1\n")
    for line in [ask("Write it", cwd=elsewhere), *call(path, SHOP, path.read_text()), done()]:
        terminal.say(line)
    await terminal.look(4)
    assert (terminal.looks.events, await terminal.why("a_line_that")) == ([], [("", "")])


async def test_a_transcript_of_a_chat_is_left_to_the_chat(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    terminal.chats.add("s")
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    await terminal.play(iter(here(terminal, [ask("Write it"), *call(path, SHOP, new), done()])))
    assert (terminal.looks.events, await terminal.why("a_line_that")) == ([], [("", "")])


@pytest.mark.parametrize("is_over", [True, False], ids=["and is over", "and runs"])
async def test_a_turn_of_a_chat_is_left_to_the_chat_though_its_tab_is_closed_then(
    tmp_path: Path, is_over: bool
) -> None:
    terminal = await ready(tmp_path)
    terminal.chats.add("s")
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    path.write_text(new)
    for line in here(terminal, [ask("Write it"), *call(path, SHOP, new), *([done()] if is_over else [])]):
        terminal.say(line)
    await terminal.look(2)
    terminal.chats.clear()
    await terminal.look(3)
    assert (terminal.looks.events, await terminal.why("a_line_that")) == ([], [("", "")])
    terminal.say(here(terminal, [ask("Once more, in a terminal", "u2")])[0])
    await terminal.look()
    assert [event[0] for event in terminal.looks.events] == ["began"]


async def test_of_two_sessions_in_one_folder_each_has_what_it_has_written_to_the_byte(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    path, other = terminal.folder / "shop.py", terminal.transcript_of("session-2")
    new = SHOP + "a_line_that_one_has_written = 1\n"
    newer = new + "a_line_that_two_has_written = 2\n"
    mine, theirs = ask("One", "u1"), ask("Two", "u2", sessionId="s2")
    for line in here(terminal, [mine]):
        terminal.say(line)
    for line in here(terminal, [theirs]):
        terminal.say(line, other)
    await terminal.look()
    path.write_text(new)
    for line in call(path, SHOP, new, said="for one"):
        terminal.say(line)
    await terminal.look(3)
    path.write_text(newer)
    for line in call(path, new, newer, said="for two"):
        terminal.say(line, other)
    await terminal.look(3)
    assert await terminal.why("one_has") == [("One", "for one")]
    assert await terminal.why("two_has") == [("Two", "for two")]


async def test_of_two_that_write_one_file_at_once_nothing_is_known_of_the_one_that_it_is_not_left_by(
    tmp_path: Path,
) -> None:
    """No call of the first one has left the file to the byte."""
    terminal = await ready(tmp_path)
    path, other = terminal.folder / "shop.py", terminal.transcript_of("session-2")
    one, two = "a_line_that_one_has_written = 1\n", "a_line_that_two_has_written = 2\n"
    for line, place in ((ask("One", "u1"), terminal.transcript), (ask("Two", "u2", sessionId="s2"), other)):
        terminal.say(here(terminal, [line])[0], place)
    await terminal.look()
    path.write_text(two + SHOP + one)
    for line in [*call(path, SHOP, SHOP + one, said="for one"), done()]:
        terminal.say(line)
    for line in [*call(path, SHOP + one, two + SHOP + one, said="for two"), done()]:
        terminal.say(line, other)
    await terminal.look(3)
    assert await terminal.why("one_has") == [("", "")]
    assert await terminal.why("two_has") == [("Two", "for two")]
    assert await terminal.why("PRICES = {") == [("", "")]


async def test_a_turn_waits_for_the_next_one_if_that_has_changed_its_file_before_anybody_looked(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_of_the_first_turn = 1\n"
    newer = new + "a_line_of_the_second_turn = 2\n"
    terminal.say(here(terminal, [ask("First")])[0])
    await terminal.look()
    terminal.looks.begun["qwen:s:u2"] = {str(path): new}
    path.write_text(newer)
    for line in here(terminal, [*call(path, SHOP, new, said="one"), done(), ask("Second", "u2")]):
        terminal.say(line)
    began, terminal.looks.turn_began = terminal.looks.turn_began, lambda *_: None
    await terminal.look()
    terminal.looks.turn_began = began
    assert await terminal.why("a_line_of") == [("", "")] * 2
    for line in [*call(path, new, newer, "c2", said="two"), done()]:
        terminal.say(line)
    await terminal.look(2)
    assert await terminal.why("a_line_of") == [("First", "one"), ("Second", "two")]


LIES: dict[str, tuple[str | None, str]] = {
    "the person's file as its own": ("", SHOP),
    "something else than what is there": (SHOP, SHOP + "never_written_anywhere = 1\n"),
    "what was never there": ("never there", SHOP),
    "nothing of what was there": (None, SHOP),
    "a hundred thousand lines": (SHOP, SHOP + "a_line_of_somebody_else = 1\n" * 100_000),
    "a hundred thousand lines that were there": ("for title in order:\n" * 100_000, SHOP),
}


@pytest.mark.parametrize("lie", list(LIES))
async def test_a_transcript_that_lies_never_gives_a_reason(tmp_path: Path, lie: str) -> None:
    terminal = await ready(tmp_path)
    old, new = LIES[lie]
    path = terminal.folder / "shop.py"
    for line in here(terminal, [ask("I lie"), *call(path, old, new), done()]):
        terminal.say(line)
    await terminal.look(4)
    # Somebody else writes a line meanwhile, which the next lie takes for its own.
    path.write_text(SHOP + "a_line_of_somebody_else = 1\n")
    for line in here(terminal, call(path, old, new, "c2")):
        terminal.say(line)
    await terminal.look(4)
    text = path.read_text()
    rows = list(range(text.count("\n")))
    assert await terminal.reasons.why(1, str(path), text, rows, is_saved=True) == []  # type: ignore[arg-type]


HOSTILE: list[Object | str] = [
    "[" * 100_000,
    '{"type": "user"',
    "\0\x1b[201~",
    {"type": "user", "uuid": 7, "message": {"parts": [{"text": 7}, 7, None]}},
    {"type": "user", "uuid": "x", "message": [[]], "timestamp": 10**400},
    {"type": "assistant", "message": {"parts": [{"functionCall": {"id": {}, "args": []}}]}},
    {"type": "tool_result", "toolCallResult": {"callId": ["c1"], "status": "success"}},
    {
        "type": "tool_result",
        "toolCallResult": {"callId": "c1", "status": "success", "resultDisplay": {"newContent": 1}},
    },
    {"type": ["user"], "timestamp": "9999-99-99T99:99:99Z"},
    {"payload": {"type": "message"}, "type": "response_item", "messages": {"$set": 1}},
    {"type": "user.message", "data": {"content": ["x"]}, "id": 7},
    {"type": "assistant.message", "data": {"content": 1, "toolRequests": [7, {"toolCallId": {}, "arguments": []}]}},
    {"type": "tool.execution_complete", "data": [{"success": True}]},
]


@pytest.mark.parametrize("kind", RECORDED)
async def test_what_cannot_be_read_is_passed_over_and_what_follows_is_read(tmp_path: Path, kind: Any) -> None:
    terminal = await ready(tmp_path, kind)
    for line in HOSTILE:
        terminal.say(line)
    if kind == "qwen":
        path = terminal.folder / "shop.py"
        new = SHOP + "a_line_that_was_written_here = 1\n"
        between = [each for each in HOSTILE if isinstance(each, dict) and each["type"] != "user"]
        lines = here(terminal, [ask("Write it", at="x"), *between, *call(path, SHOP, new), done()])
        await terminal.play(iter(lines))
        assert await terminal.why("a_line_that") == [("Write it", "So.")]
    else:
        await terminal.look(4)
        assert terminal.looks.events == []


async def test_paths_that_lead_out_of_the_folder_and_control_characters_do_no_harm(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    outside = terminal.root / "outside.py"
    terminal.say(here(terminal, [ask("Out \x1b[201~")])[0])
    await terminal.look()
    outside.write_text("a_line_that_is_outside = 1\n")
    paths = [outside, terminal.folder / ".." / "outside.py", Path("/dev/zero"), Path("a\0b"), Path("a" * 5000)]
    for at, path in enumerate(paths):
        for line in call(path, "", outside.read_text(), f"c{at}", "\x1b]0;x\x07<b>"):
            terminal.say(line)
    await terminal.look(4)
    assert not list(terminal.root.rglob("*.why"))


async def test_a_torn_last_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    [question, *rest] = here(terminal, [ask("Write it"), *call(path, SHOP, new), done()])
    terminal.say(question)
    await terminal.look()
    path.write_text(new)
    whole = "".join(json.dumps(line) + "\n" for line in rest)
    for at in range(0, len(whole), 97):
        with terminal.transcript.open("a") as file:
            file.write(whole[at : at + 97])
        await terminal.look()
    await terminal.look(2)
    assert await terminal.why("a_line_that") == [("Write it", "So.")]


async def test_an_excluded_folder_has_its_transcripts_unread(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), exclude=("project/**",))
    await terminal.look()
    terminal.say(here(terminal, [ask("Secret")])[0])
    await terminal.look(3)
    assert terminal.looks.events == []


@pytest.mark.parametrize("kind", ["qwen", "claude", "codex"])
async def test_a_document_is_no_transcript_but_of_gemini_cli(tmp_path: Path, kind: Any) -> None:
    terminal = await ready(tmp_path, kind)
    terminal.transcript.with_suffix(".json").write_text("{}")
    await terminal.look()
    assert terminal.reasons.strange == ()


async def test_a_transcript_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    terminal = await ready(tmp_path)
    theirs = terminal.root / "theirs.jsonl"
    theirs.write_text(json.dumps(here(terminal, [ask("Secret")])[0]) + "\n")
    os.symlink(theirs, terminal.transcript)
    assert sys.platform != "win32"
    os.mkfifo(terminal.transcript_of("pipe"))
    await terminal.look(3)
    assert terminal.looks.events == []


def test_a_large_transcript_is_read_from_its_end_and_then_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "TAIL", 10_000)
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        for number in range(5_000):
            file.write(json.dumps(ask(f"prompt {number}", f"u{number}", cwd="/x")) + "\n")
    read: list[int] = []
    feed = CliTranscript._feed
    monkeypatch.setattr(CliTranscript, "_feed", lambda self, line: (read.append(1), feed(self, line))[1])
    transcript = CliTranscript("qwen", str(tmp_path), "large.jsonl")
    transcript.read()
    assert transcript.talk.turns[-1].prompt == "prompt 4999"
    assert len(read) < 100
    read.clear()
    with path.open("a") as file:
        file.write(json.dumps(ask("one more", "v")) + "\n")
    transcript.read()
    assert (len(read), transcript.talk.turns[-1].prompt, transcript.is_quiet) == (1, "one more", False)
    transcript.read()
    assert (len(read), transcript.is_quiet) == (1, True)
    path.write_text(json.dumps(ask("anew", "w")) + "\n")
    transcript.read()
    assert transcript.talk.turns[-1].prompt == "anew"


def test_a_transcript_that_was_empty_at_first_is_read_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lost the first lines if it had grown to more than is read of one that nobody has looked at."""
    monkeypatch.setattr(transcripts, "TAIL", 1_000)
    path = tmp_path / "new.jsonl"
    path.touch()
    transcript = CliTranscript("qwen", str(tmp_path), "new.jsonl")
    transcript.read()
    calls = call(tmp_path / "a.py", "", "x = 1\n" * 500)
    path.write_text("".join(json.dumps(line) + "\n" for line in (ask("Write it"), *calls)))
    transcript.read()
    [turn] = transcript.talk.turns
    assert (turn.prompt, len(turn.calls), transcript.talk.begins_later) == ("Write it", 1, False)


def test_a_hundred_thousand_lines_do_not_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(ask("x", f"u{number}")) + "\n" for number in range(100_000)))
    transcript = CliTranscript("qwen", str(tmp_path), "many.jsonl")
    transcript.read()
    assert len(transcript.talk.turns) == 2


def test_of_a_transcript_of_millions_of_lines_only_the_last_ones_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes one may lie: to look at a line takes longer than to write it, and other threads wait for that."""
    read: list[int] = []
    feed = CliTranscript._feed
    monkeypatch.setattr(CliTranscript, "_feed", lambda self, line: (read.append(1), feed(self, line))[1])
    path = tmp_path / "many.jsonl"
    transcript = CliTranscript("qwen", str(tmp_path), "many.jsonl")
    last = json.dumps(ask("the last one")).encode()
    for _ in range(2):  # from its end, and what is new
        with path.open("ab") as file:
            file.write(b"\n" * 1_000_000 + last + b"\n")
        transcript.read()
        assert len(read) <= transcripts.MOST_NEW
        assert (transcript.talk.turns[-1].prompt, transcript.talk.begins_later) == ("the last one", True)
        read.clear()


def test_what_is_said_is_looked_at_once_however_many_calls_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(transcripts, "last_paragraph", lambda text: looked.append(text) or "So.")
    calls = [{"functionCall": {"id": f"c{at}", "name": "edit", "args": {}}} for at in range(20)]
    answer = {"type": "assistant", "message": {"parts": [{"text": "So."}, *calls]}}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (ask("Write"), answer)))
    transcript = CliTranscript("qwen", str(tmp_path), "a.jsonl")
    transcript.read()
    assert ([each.reason for each in transcript.talk._pending.values()], looked) == (["So."] * 20, ["So."])


PATCH = """\
*** Begin Patch
*** Update File: /a/shop.py
@@ def total(order):
 a
-b
+c\x0cd
@@
+only_added
*** Add File: new.py
+one
+
*** Delete File: gone.py
*** Update File: old.py
*** Move to: moved.py
@@
-e
*** End of File
*** End Patch
"""


def test_an_empty_line_of_a_patch_is_one_of_the_file() -> None:
    """Models leave out the space before it."""
    lines = ["*** Begin Patch", "*** Update File: /a.py", "@@", " a", "", "-b", "+c", "*** End Patch", ""]
    [found] = transcripts._patched("\n".join(lines), str)
    assert (found.old, found.new) == ("a\n\nb\n", "a\n\nc\n")


def test_an_empty_line_between_the_parts_of_a_patch_is_none_of_a_file() -> None:
    """Models write one before the next file, and before the end."""
    parts = [f"*** Update File: /{name}.py\n\n@@\n a\n-b\n+c\n\n@@\n x\n-y\n\n" for name in "de"]
    found = transcripts._patched("".join(["*** Begin Patch\n", *parts, "*** End Patch\n"]), str)
    sides = [("a\nb\n", "a\nc\n"), ("x\ny\n", "x\n")]
    assert [(each.path, (each.old, each.new)) for each in found] == [
        (f"/{name}.py", side) for name in "de" for side in sides
    ]


def test_the_lines_of_a_patch_are_those_of_its_files() -> None:
    """Those of a piece that could be anywhere are nobody's."""
    found = transcripts._patched(PATCH, "/x/".__add__)
    assert [(each.path, each.old, each.new) for each in found] == [
        ("/x//a/shop.py", "a\nb\n", "a\nc\x0cd\n"),
        ("/x/new.py", None, "one\n\n"),
        ("/x/moved.py", "e\n", ""),
    ]


@pytest.mark.parametrize(
    "patch", ["", "*** Update File: a", "*** Add File: a\n", "*** Move to: b\n@@\n-a\n", "@@\n" * 9]
)
def test_what_is_no_patch_changes_nothing(patch: str) -> None:
    assert list(transcripts._patched(patch, str)) == []


@pytest.mark.parametrize(
    ("diff", "old", "new"),
    [
        (" a\n-b\n+c\x0cd\u2028e\n f\n", "a\nb\nf\n", "a\nc\x0cd\u2028e\nf\n"),
        ("-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "b", "c"),
        ("-b\n\\ No newline at end of file\n+c\n", "b", "c\n"),
        (" \r\n+\\ b\r\n", "\r\n", "\r\n\\ b\r\n"),
    ],
)
def test_the_lines_of_a_diff_of_codex_are_those_of_the_file_to_the_byte(diff: str, old: str, new: str) -> None:
    changes = {"/a": {"type": "update", "unified_diff": f"@@ -1 +1 @@\n{diff}"}}
    assert [(each.old, each.new) for each in transcripts._changed(changes, str)] == [(old, new)]


def test_a_diff_of_too_many_lines_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold all threads up."""
    monkeypatch.setattr(transcripts, "MOST_LINES", 10)
    for more, found in ((0, 1), (1, 0)):
        lines = "+a\n" * (8 + more)
        assert len(list(transcripts._patched(f"*** Add File: /a\n@@\n{lines}", str))) == found
        assert len(list(transcripts._changed({"/a": {"unified_diff": f"@@ -1 +1 @@\n\n{lines}"}}, str))) == found


def test_the_diff_of_a_call_that_waits_is_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    patched = transcripts._patched
    monkeypatch.setattr(transcripts, "_patched", lambda patch, full: looked.append(patch) or patched(patch, full))
    talk = copilot(("assistant.message", {"toolRequests": [{"toolCallId": "c", "name": "edit", "arguments": PATCH}]}))
    assert len(talk.waiting(0.0)) == len(talk.waiting(0.0)) == 1
    assert looked == [PATCH]


def edit_of_claude(old: str, gone: str, come: str, key: str = "1") -> list[Object]:
    """An edit of Claude Code's, as its transcript has it."""
    told = {"filePath": "/x", "originalFile": old, "oldString": gone, "newString": come, "replaceAll": True}
    use = {"type": "tool_use", "id": key, "name": "Edit", "input": {"file_path": "/x", "new_string": come}}
    result = {"type": "user", "toolUseResult": told}
    return [
        {"type": "assistant", "message": {"content": [use]}},
        result | {"message": {"content": [{"type": "tool_result", "tool_use_id": key}]}},
    ]


def claude(*lines: Object) -> transcripts._Conversation:
    """What Claude Code has told after a prompt."""
    talk = transcripts._Conversation()
    talk.asks("u", "Do it", "")
    for line in lines:
        transcripts._claude(talk, line)
    return talk


@pytest.mark.parametrize("later", ["another-model", "<synthetic>"])
def test_a_turn_has_the_model_that_has_made_its_calls(tmp_path: Path, later: str) -> None:
    """Not one that was chosen since, nor what Claude Code calls itself where it tells of an error."""
    edit, result = edit_of_claude("a\n", "a", "b")
    edit["message"]["model"] = "first-model"
    said = {"type": "assistant", "message": {"model": later, "content": "API Error"}}
    asked = {"type": "user", "uuid": "u1", "origin": {"kind": "human"}, "message": {"content": "Do it"}}
    lines = [asked, edit, result, said, {**asked, "uuid": "u2"}, said]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    transcript = transcripts.CliTranscript("claude", str(tmp_path), "s.jsonl")
    transcript.read()
    first, _ = transcript.talk.turns
    assert [call.id for call in first.calls] == ["1"]
    assert transcript.reported(first).model == "first-model"


def test_an_edit_that_would_make_a_text_too_long_to_compare_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of 160 KB would fill 4 GB."""
    monkeypatch.setattr(transcripts, "MAX_COMPARED", 1000)
    [small], [large] = (claude(*edit_of_claude("a" * 10, "a", "b" * many)).turns[0].calls for many in (100, 101))
    assert (small.replaced[0].new, large.replaced[0].new) == ("b" * 1000, "b" * 101)


def test_of_a_turn_and_of_the_calls_that_wait_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MOST_KEPT", 1000)
    done = [line for key in "123" for line in edit_of_claude("a" * 200 + key, key, "b" * 100, key)]
    assert [call.id for call in claude(*done).turns[0].calls] == ["1"]
    waits = claude(*done[::2], *edit_of_claude("", "", "c" * 650, "4")[:1], *edit_of_claude("", "", "d" * 51, "5")[:1])
    assert [replaced.new[0] for call in waits.waiting(0.0) for replaced in call.replaced] == ["b"] * 3 + ["c"]
