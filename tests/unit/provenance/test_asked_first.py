"""The person is asked before the first transcript is read; one that isn't understood is named."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import files
from companion.provenance import transcripts
from companion.provenance.transcripts import Transcripts
from companion.provenance.why import QUESTION

from .playing import SHOP, WINDOW, Object, Terminal
from .test_transcripts import ask, call, done, here

ASKED = QUESTION.format(cli="Qwen Code")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The transcripts that are looked for or opened."""
    seen: list[str] = []
    scan, entry = os.scandir, files.entry

    def scanned(path: Any) -> Any:
        seen.append(str(path))
        return scan(path)

    def entered(path: str, **how: Any) -> Any:
        seen.append(path)
        return entry(path, **how)

    monkeypatch.setattr(transcripts.os, "scandir", scanned)
    monkeypatch.setattr(transcripts.files, "entry", entered)
    return seen


def talked(terminal: Terminal) -> None:
    """The CLI is asked something and writes a line."""
    path = terminal.folder / "shop.py"
    new = SHOP + "a_line_that_was_written_here = 1\n"
    for line in here(terminal, [ask("Write it"), *call(path, SHOP, new), done()]):
        terminal.say(line)


@pytest.mark.parametrize("answer", [None, False])
async def test_nothing_is_read_without_a_yes(tmp_path: Path, opened: list[str], answer: bool | None) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=answer)
    await terminal.look()
    talked(terminal)
    await terminal.look(4)
    assert (terminal.looks.events, [path for path in opened if "projects" in path]) == ([], [])
    assert terminal.screen.said == ([ASKED] if answer is None else [])


async def test_the_question_is_put_once_until_it_is_answered(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=None)
    await terminal.look(5)
    assert (terminal.screen.said, terminal.reasons.question) == ([ASKED], ASKED)
    terminal.reasons.answer(WINDOW, may=True)
    await terminal.done()
    assert (terminal.screen.settled, terminal.reasons.question) == ([ASKED], "")
    await terminal.look()
    talked(terminal)
    await terminal.look(3)
    assert terminal.looks.events[0] == ("began", "Qwen Code", "Write it")
    assert terminal.screen.said == [ASKED]


async def test_what_was_said_before_the_answer_is_not_taken_for_what_came_after_it(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=None)
    await terminal.look(2)
    talked(terminal)
    terminal.reasons.answer(WINDOW, may=True)
    await terminal.done()
    await terminal.look(4)
    assert terminal.looks.events == []


async def test_an_answer_is_remembered_after_a_restart_and_taken_back_by_another_one(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=None)
    terminal.reasons.answer(WINDOW, may=True)
    await terminal.done()
    terminal = Terminal(tmp_path.resolve(), answer=None)
    await terminal.look()
    terminal.say(here(terminal, [ask("Write it")])[0])
    await terminal.look()
    terminal.reasons.answer(WINDOW, may=False)
    await terminal.done()
    terminal.say(here(terminal, [ask("Again", "u2")])[0])
    await terminal.look(2)
    assert terminal.looks.events == [("began", "Qwen Code", "Write it"), ("ended",)]
    assert terminal.screen.said == []


async def test_an_answer_in_another_editor_ends_the_question_here(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=None)
    await terminal.look()
    Transcripts(str(tmp_path / "stores")).keep_answer(may=False)
    terminal.reasons.look({}, set())
    await terminal.done()
    assert (terminal.screen.settled, terminal.reasons.question) == ([ASKED], "")


async def test_the_setting_always_is_an_answer_and_off_is_none_that_asks(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=None, setting="always")
    await terminal.look()
    talked(terminal)
    await terminal.look(2)
    assert (len(terminal.looks.events), terminal.screen.said) == (2, [])
    terminal = Terminal(tmp_path.resolve(), answer=True, setting="off")
    await terminal.look()
    terminal.say(here(terminal, [ask("Again", "u2")])[0])
    await terminal.look(2)
    assert (terminal.looks.events, terminal.screen.said) == ([], [])


FORGED: dict[str, str] = {
    "no JSON": "yes",
    "another form": '["read"]',
    "a text": '{"read": "true"}',
    "a number": '{"read": 1}',
    "empty": "",
}


@pytest.mark.parametrize("content", FORGED.values(), ids=FORGED)
def test_a_damaged_answer_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "transcripts.json").write_text(content)
    assert Transcripts(str(tmp_path)).answer is None


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_an_answer_behind_a_link_is_none(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.json"
    theirs.write_text('{"read": true}')
    (tmp_path / "stores").mkdir()
    os.symlink(theirs, tmp_path / "stores" / "transcripts.json")
    assert Transcripts(str(tmp_path / "stores")).answer is None


async def test_an_answer_that_cannot_be_kept_allows_nothing_and_is_told(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), answer=None)
    await terminal.look()
    (tmp_path / "stores").write_text("no folder")
    terminal.reasons.answer(WINDOW, may=True)
    await terminal.done()
    await terminal.look()
    assert terminal.reasons.question == ASKED
    assert [words for words in terminal.screen.said if words.startswith("The answer can't be kept")]


def other_forms(kind: str) -> dict[str, list[Object | str]]:
    """Transcripts as a later version might write them."""
    drifted: dict[str, list[Object | str]] = {
        "other types": [{"kind": "prompt", "text": f"{number}", "version": "9.0.1"} for number in range(30)],
        "no JSON": ["<entry/>"] * 30,
        "lists": ["[1, 2]"] * 30,
    }
    if kind == "qwen":
        user = {"type": "user", "provenance": "real_user", "message": {"content": "words"}, "version": "9.0.1"}
        assistant = {"type": "assistant", "message": {"parts": [{"text": "So."}]}}
        drifted["prompts in another form"] = [user, assistant] * 20
    return drifted


@pytest.mark.parametrize("kind", ["qwen", "gemini", "claude", "codex"])
async def test_a_transcript_of_another_form_says_nothing_and_is_named(tmp_path: Path, kind: Any) -> None:
    for name, lines in other_forms(kind).items():
        terminal = Terminal(tmp_path.resolve() / name.replace(" ", ""), kind)
        await terminal.look()
        for line in lines:
            terminal.say(line)
        await terminal.look(2)
        assert terminal.looks.events == []
        [strange] = terminal.reasons.strange
        version = "9.0.1" if name in {"other types", "prompts in another form"} else ""
        assert (strange.path, strange.version) == (str(terminal.transcript), version), name


async def test_a_document_of_another_form_is_named(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.resolve(), "gemini")
    terminal.transcript.with_suffix(".json").write_text(json.dumps({"turns": []}))
    await terminal.look()
    assert [Path(each.path).suffix for each in terminal.reasons.strange] == [".json"]


@pytest.mark.parametrize("version", ["<b>9</b>", "9\x1b[0m", "9" * 100, 9, None])
async def test_a_version_that_may_be_anything_is_not_shown(tmp_path: Path, version: object) -> None:
    terminal = Terminal(tmp_path.resolve())
    await terminal.look()
    for _ in range(30):
        terminal.say({"kind": "prompt", "version": version})
    await terminal.look()
    [strange] = terminal.reasons.strange
    assert strange.version == ""


@pytest.mark.parametrize(("kind", "name"), [("qwen", "qwen-0.24.4.jsonl"), ("gemini", "gemini-0.61.0.jsonl")])
async def test_a_real_transcript_is_understood_in_each_of_its_lines(tmp_path: Path, kind: Any, name: str) -> None:
    terminal = Terminal(tmp_path.resolve(), kind)
    await terminal.look()
    for line in terminal.recorded(name):
        terminal.say(line)
        await terminal.look()
        assert terminal.reasons.strange == ()


async def test_a_session_without_a_prompt_or_with_a_sub_agents_lines_is_not_called_strange(tmp_path: Path) -> None:
    quiet: dict[str, Object] = {
        "qwen": {"type": "system", "subtype": "slash_command"},
        "gemini": {"$set": {"lastUpdated": "t"}},
        "claude": {"type": "assistant", "isSidechain": True, "message": {"content": []}},
        "codex": {"type": "response_item", "payload": {"type": "reasoning"}},
    }
    for kind, line in quiet.items():
        terminal = Terminal(tmp_path.resolve() / kind, kind)  # type: ignore[arg-type]
        await terminal.look()
        for _ in range(50):
            terminal.say(line)
        await terminal.look()
        assert terminal.reasons.strange == (), kind


async def test_a_session_of_gemini_cli_into_which_nothing_was_typed_is_not_called_strange(tmp_path: Path) -> None:
    """`gemini -p`, and what a chat shows: their prompts are in no log."""
    terminal = Terminal(tmp_path.resolve(), "gemini")
    await terminal.look()
    prompt = {"type": "user", "id": "u", "content": [{"text": "Write it"}]}
    terminal.added.add("Write it")
    for line in (prompt, *[{"type": "gemini", "id": "g", "content": "So."}] * 50):
        terminal.say(line)
    await terminal.look()
    assert (terminal.reasons.strange, terminal.looks.events) == ((), [])


def test_the_end_of_a_long_turn_is_no_strange_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "TAIL", 10_000)
    path = tmp_path / "long.jsonl"
    said = {"type": "assistant", "message": {"parts": [{"text": "So."}]}}
    path.write_text(json.dumps(ask("x")) + "\n" + (json.dumps(said) + "\n") * 2_000)
    transcript = transcripts.CliTranscript("qwen", str(tmp_path), "long.jsonl")
    transcript.read()
    assert (transcript.talk.turns, transcript.strange) == ([], None)
