"""Tables in answers: their columns are aligned once they are complete."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.conversation.snapshot import Message

from .reading import codes, lines, links, shown, turn, view

TABLE = "| a | bbbb |\n|---|--:|\n| ccccc | 1 |\n"
ALIGNED = ["| a     | bbbb |", "| ----- | ---: |", "| ccccc |    1 |"]


def answer(text: str) -> list[str]:
    """The lines of an answer, without its heading."""
    return lines(Message("answer", text))[1:]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TABLE, ALIGNED),
        (f"Look:\n\n{TABLE}\nend", ["Look:", "", *ALIGNED, "", "end"]),
        (f"{TABLE}end", [*ALIGNED, "end"]),
        (TABLE + TABLE.replace("\n", "\r\n"), [*ALIGNED, "| a     | bbbb |", "| ---   |  --: |", "| ccccc |    1 |"]),
        ("a|b\n-|-\nlong|c", ["| a    | b   |", "| ---- | --- |", "| long | c   |"]),
        ("|a|b|c|\n|:-:|:-|-:|\n|12345|1234|12345|\n|1|1|1|", [
            "|   a   | b    |     c |",
            "| :---: | :--- | ----: |",
            "| 12345 | 1234 | 12345 |",
            "|   1   | 1    |     1 |",
        ]),
        # Wide characters, characters that join others, and an emoji.
        ("|名前|b|\n|-|-|\n|ab|e\u0301e|\n|😀|x|", [
            "| 名前 | b   |",
            "| ---- | --- |",
            "| ab   | e\u0301e  |",
            "| 😀   | x   |",
        ]),
        # Escapes, missing cells, and more of them than there are columns.
        ("|a|b|\n|-|-|\n|x\\|y|\n|||\n|1|2|3|", [
            "| a    | b   |",
            "| ---- | --- |",
            "| x\\|y |     |",
            "|      |     |",
            "| 1    | 2   | 3   |",
        ]),
        ("> |a|b|\n> |-|-|\n> |1|2|\n|3|4|", ["> | a   | b   |", "> | --- | --- |", "> | 1   | 2   |", "|3|4|"]),
        ("- |a|b|\n  |-|-|\n  |1|2|\n- |3|4|", ["- | a   | b   |", "  | --- | --- |", "  | 1   | 2   |", "- |3|4|"]),
        ("a|b\n-|-\n- 1|2", ["| a   | b   |", "| --- | --- |", "- 1|2"]),
        ("|a|\n|-|", ["| a   |", "| --- |"]),
        ("|a|b|\n|a|b|\n|-|-|", ["|a|b|", "| a   | b   |", "| --- | --- |"]),
    ],
)  # fmt: skip
def test_a_table_is_aligned(text: str, found: list[str]):
    assert answer(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "a | b\nc | d",
        "|a|b|\n|-|\n|1|2|",
        "a|b\n---",
        "```\n|a|b|\n|-|-|\n```",
        f"|a|b|\n|-|-|\n|{'x' * 120}|y|",
        "a \\| b\n-|-",
        "|a|b|",
    ],
)
def test_what_is_no_table_or_too_wide_stays_as_it_is(text: str):
    assert answer(text) == text.split("\n")


@pytest.mark.parametrize("row", ["|1|2|", f"|{'1' * 50}|{' ' * 1000}|", f"|{' ' * 3000}|2|"])
def test_a_table_that_is_too_large_stays_as_it_is(row: str):
    few = 500 - 2 if len(row) < 200 else 64 * 1024 // len(row)
    begin = "|a|b|\n|-|-|"
    small = f"{begin}{f'{chr(10)}{row}' * (few - 1)}"
    for text in (small, f"{small}\n{row}\n{row}\n{row}", f"{small}\n{row}\n{row}\n{row}\nend\n{begin}\n|long|2|"):
        kept = text == small and len(row) < 2000
        assert (answer(text)[2] != row) == kept
        if "end" in text:
            assert answer(text)[-3:] == ["| a    | b   |", "| ---- | --- |", "| long | 2   |"]
            assert answer(text)[:-3] == text.split("\n")[:-3]


def test_a_table_stays_as_it_comes_until_it_is_complete():
    made = shown(turn(Message("answer", "|a|b|\n|-|-|\n|lon"), state="running"))
    assert "\n|a|b|\n|-|-|\n|lon\n" in made.text
    made.update(view(turn(Message("answer", "|a|b|\n|-|-|\n|long|c|\nend\nx"), state="running")))
    assert "\n| a    | b   |\n| ---- | --- |\n| long | c   |\nend\n" in made.text
    # It may go on although its turn has ended.
    made.update(view(turn(Message("answer", "|a|b|\n|-|-|\n|1|2|"))))
    assert "\n| a   | b   |\n| --- | --- |\n| 1   | 2   |\n" in made.text
    made.update(view(turn(Message("answer", "|a|b|\n|-|-|\n|1|2|\n|long|c"), state="running")))
    assert "\n|a|b|\n|-|-|\n|1|2|\n|long|c\n" in made.text


def test_names_of_files_and_code_blocks_are_found_in_and_behind_a_table():
    made = shown(turn(Message("answer", "|file|n|\n|-|-|\n|src/a.py:3|1|\n|b/c.js|2|\n```py\nx/y.py\n```\nz/w.rs")))
    assert links(made) == [
        ("src/a.py:3", "src/a.py", 3),
        ("b/c.js", "b/c.js", None),
        ("z/w.rs", "z/w.rs", None),
    ]
    assert codes(made) == [("py", "x/y.py")]


def test_only_answers_are_changed():
    own = Message("user", TABLE)
    assert lines(own)[1:] == TABLE.strip().split("\n")
    thought = replace(own, speaker="thought")
    assert lines(thought)[2:] == [f"> {line}" for line in TABLE.strip().split("\n")]


@given(st.text("|-:ab\\ \n>界`", max_size=80))
def test_a_table_keeps_all_but_its_blanks_and_its_rules(text: str):
    def bare(line: str) -> str:
        return "".join(sign for sign in line if sign not in "-| :")

    body = text.strip("\n")
    if body.strip() and "```" not in body:
        found = answer(f"x\n{body}")
        assert [bare(line) for line in found] == [bare(line) for line in f"x\n{body}".split("\n")]
