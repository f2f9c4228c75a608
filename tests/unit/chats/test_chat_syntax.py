"""The chat's syntax, read with the editor's regular expressions; `scripts/syntax` does it with random transcripts."""

from __future__ import annotations

import pytest

from companion.conversation.snapshot import ChatNotice, Item, Message, Permission, Tool
from headless.grammar import Grammar, Line
from tests.syntax.__main__ import SYNTAX, main, transcript


def grammar() -> Grammar:
    return Grammar.load(SYNTAX.read_text(encoding="utf-8"))


def read(*items: Item) -> list[Line]:
    text, _ = transcript(*items)
    return grammar().read(text)


def scopes(lines: list[Line], text: str) -> str:
    return next(line.scopes for line in lines if line.text == f"{text}\n")


def test_it_is_sound_and_reads_random_transcripts_as_the_chat_means_them(capsys: pytest.CaptureFixture[str]):
    assert main(100, 1) == 0, capsys.readouterr().out


def test_a_fence_of_two_marks_ends_no_code_block():
    lines = read(Message("answer", "~~~\ncode\n~~~`\nmore\n~~~\nprose"))
    assert "code-fence" in scopes(lines, "more")
    assert "code-fence" not in scopes(lines, "prose")


@pytest.mark.parametrize("pasted", ["⚠ x", "Plan", "◆ Qwen Code", "◐ Working…"])
def test_pasted_lines_of_a_chat_before_an_open_fence_change_nothing_after_them(pasted: str):
    lines = read(Message("user", f"{pasted}\n```\nopen"))
    assert "meta.said-by-person" in scopes(lines, pasted)
    assert "entity.name.section" in lines[[line.text for line in lines].index("next\n") - 1].scopes


@pytest.mark.parametrize("agent", ["", "❯\u00a0You", "~~~", " ```c", "My: Agent", "Files, commands and keys"])
def test_what_an_agent_calls_itself_changes_nothing(agent: str):
    asking = Tool("t", "w", "W", "edit", "pending", permissions=(Permission("p", "k1", "t", "Write", "edit", ()),))
    text, _ = transcript(asking, agent=agent)
    lines = grammar().read(text)
    assert not any(line.loops for line in lines)
    assert "entity.name.section" in scopes(lines, "❯\u00a0You")
    asked = [line for line in lines if line.text.startswith("?\u00a0")]
    assert asked
    assert all("keyword.control.ask" in line.scopes for line in asked)


def test_a_line_of_the_chat_without_a_text_is_no_part_of_a_message():
    lines = read(ChatNotice(""))
    assert not any(line.loops for line in lines)
    assert "comment.line" in scopes(lines, "—\u00a0 —")


def test_what_runs_has_a_scope_of_its_own():
    assert "markup.changed.running" in next(
        line.scopes for line in grammar().read("Qwen Code\n\n◐\u00a0Working…\n") if "Working" in line.text
    )


@pytest.mark.parametrize(
    ("said", "spans"),
    [
        ("It is **not** so", {"not": "markup.bold", "**": "comment.sign", " so": "-"}),
        ("It is __not__ so", {"not": "markup.bold", "__": "comment.sign"}),
        ("the *sum* of it", {"sum": "markup.italic", "*": "comment.sign", " of it": "-"}),
        ("***both*** and none", {"both": "markup.bold markup.italic", " and none": "-"}),
        ("**bold with *more***, none", {"more": "markup.bold markup.italic", ", none": "-"}),
        ("*quiet **loud** quiet* none", {"loud": "markup.italic markup.bold", " none": "-"}),
        ("**`total()`** is", {"total()": "markup.bold string.unquoted.code", "`": "comment.sign", " is": "-"}),
        ("## What to do", {"##": "comment.sign", " What to do": "markup.bold"}),
        ("- one", {"-": "keyword.operator.list", " one": "-"}),
        ("> said", {"> ": "comment.sign", "said": "markup.italic"}),
        ("| a | **b** |", {" a ": "-", "|": "comment.sign", "b": "markup.bold"}),
        ("| --- | --: |", {"| --- | --: |": "comment.sign"}),
        ("see [here](https://x.y)", {"here": "markup.underline.link", "https://x.y": "comment.address"}),
        ("snake_case_name, 2 * 3 * 4, **", {"snake_case_name, 2 * 3 * 4, **": "-"}),
        (r"\*plain\* text", {"plain": "-", " text": "-"}),
    ],
)
def test_the_markdown_of_an_answer_looks_like_what_it_means(said: str, spans: dict[str, str]):
    line = next(line for line in read(Message("answer", said)) if line.text == f"{said}\n")
    for text, scopes in spans.items():
        at = said.index(text)
        own = next(span.scopes for span in line.spans if span.start <= at < span.end)
        if scopes == "-":
            assert not any(each in own for each in ("markup.bold", "markup.italic", "comment", "string")), (text, own)
        else:
            assert all(each in own for each in scopes.split()), (text, own)


def test_an_emphasis_that_an_answer_leaves_open_ends_with_its_line():
    lines = read(Message("answer", "**open *and `this\nprose"))
    assert "markup.bold" not in scopes(lines, "prose")


def test_no_name_is_red():
    """Colour schemes show the sign of a heading in red, which is for failures here."""
    lines = read(Message("answer", "x"))
    assert not any("punctuation.definition.heading" in line.scopes for line in lines)
