"""Answers in a transcript: code blocks, links, and texts that imitate the chat's own lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from companion.chats.transcript.plain import GAP
from companion.conversation.snapshot import (
    ChatNotice,
    ConnectionStatus,
    Message,
    Queued,
    Speaker,
    Status,
    Step,
)

from .reading import ONCE, Shown, asked, codes, lines, links, shown, tool, turn, view

# Answers


def test_a_code_block_goes_on_behind_a_notice_that_comes_in_the_middle():
    """Copy gives the block without it."""
    made = shown(turn(Message("answer", "```py\na = 1"), ChatNotice("Task done", is_aside=True), state="running"))
    assert made.text.count("```") == 1
    made.update(
        view(
            turn(Message("answer", "```py\na = 1\nb = 2\n```"), ChatNotice("Task done", is_aside=True), state="running")
        )
    )
    made.update(view(turn(Message("answer", "```py\na = 1\nb = 2\n```"), ChatNotice("Task done", is_aside=True))))
    assert codes(made) == [("py", "a = 1\nb = 2")]
    assert made.text.endswith("```\n\n— Task done —\n\n❯ ")


def test_a_code_block_has_its_lines_and_its_language():
    made = shown(
        turn(
            Message("answer", "See:\n```py title\none\n\ntwo\n```\n~~~~\n```\n~~~~\n```\n```\n\n1. ```sh\n   x\n   ```")
        )
    )
    assert codes(made) == [("py", "one\n\ntwo"), ("", "```"), ("", ""), ("sh", "   x")]
    assert made.render
    assert [code.key for code in made.render.codes] == [f"k/0/{number}" for number in range(4)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1. Do:\n   ```sh\n   a\n     b\n\n  c\n   ```", "a\n  b\n\nc"),
        ("> ```py\n> a\n>   b\n> ```\nend", "a\n  b"),
        ("> > ```py\n> > a\n> > ```", "a"),
        ("> ```py\n> a\nthe quote has ended", "a"),
        ("```\n> no quote\n```", "> no quote"),
        ("> - ```py\n>   a\n>   ```", "a"),
        ("- > ```py\n  > a\n  >   b\n  > ```\nend", "a\n  b"),
        ("10. x\n    > ```py\n    > a\n    > ```", "a"),
        ("1.\t```sh\n\ta\n\t\tb\n\t```", "a\n\tb"),
        ("\t```sh\n    a\n      b\n\t```", "a\n  b"),
        ("```\na\n- ```\n~~~\n``\n````\nend", "a\n- ```\n~~~\n``"),
        ("~~~~\n~~~\n```\n~~~~", "~~~\n```"),
    ],
)
def test_what_is_copied_of_a_code_block_is_the_code(text: str, code: str):
    """Without the indentation of a list, or the signs of a quote."""
    made = shown(turn(Message("answer", text)))
    assert made.render
    [found] = made.render.codes
    assert found.text(made.text[found.start : found.end]) == code


def test_a_code_block_that_a_quote_leaves_open_is_not_closed_behind_it():
    assert lines(Message("answer", "> ```py\n> a"))[-2:] == ["> ```py", "> a"]


def test_a_code_block_that_an_answer_leaves_open_is_closed():
    answer = Message("answer", "See\n  ~~~~\ncode\n\n")
    assert lines(answer)[-5:] == ["See", "  ~~~~", "code", "", "  ~~~~"]
    assert lines(answer, state="running")[-1] == "code"
    assert lines(Message("answer", "```"))[-2:] == ["```", "```"]
    made = shown(turn(Message("answer", "```\na"), key="k"))
    made.update(view(turn(Message("answer", "```\na\n```"))))
    assert "```\na\n```\n\n❯ " in made.text
    assert codes(made) == [("", "a")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("In src/app.py:12:3, `setup.py`.", [("src/app.py:12:3", "src/app.py", 12), ("setup.py", "setup.py", None)]),
        ("(./a-b/C.tsx) ~/x.md", [("./a-b/C.tsx", "./a-b/C.tsx", None), ("~/x.md", "~/x.md", None)]),
        ("`C:\\shop\\a.js`", [("C:\\shop\\a.js", "C:\\shop\\a.js", None)]),
        ("Node.js, and/or, setup.py, e.g. a.b/c, v1.2/x, a.pyc/d.pyz", []),
        ("main.rs:7", [("main.rs:7", "main.rs", 7)]),
        ("a.py#L10, b.py#L3-L8", [("a.py#L10", "a.py", 10), ("b.py#L3-L8", "b.py", 3)]),
        ("`docs/a file.md:4` but `python run.py`", [
            ("docs/a file.md:4", "docs/a file.md", 4),
        ]),
        ("(https://a.example/b.py?x=1#y). <http://b.example>, ftp://c.example/d.py", [
            ("https://a.example/b.py?x=1#y", "https://a.example/b.py?x=1#y", None),
            ("http://b.example", "http://b.example", None),
        ]),
        ("[x](HTTPS://a.example/b_(c)_d), (http://a.example/(e)) http://a.example/f).", [
            ("HTTPS://a.example/b_(c)_d", "HTTPS://a.example/b_(c)_d", None),
            ("http://a.example/(e)", "http://a.example/(e)", None),
            ("http://a.example/f", "http://a.example/f", None),
        ]),
        ("javascript:alert(1) file:///etc/x data:text/html;x http://a.example\u202egpj.b", [
            ("http://a.example", "http://a.example", None),
        ]),
        ("a/" * 1000 + "b.py", []),
    ],
)  # fmt: skip
def test_names_of_files_in_an_answer_are_links(text: str, found: list[Any]):
    made = shown(turn(Message("answer", f"{text}\n```\nin/code.py\n```\n{text}")))
    assert links(made) == found * 2


def test_a_name_is_a_link_once_its_line_is_complete():
    made = shown(turn(Message("answer", "See a/b.py"), state="running"))
    assert links(made) == []
    made.update(view(turn(Message("answer", "See a/b.py:1\n"), state="running")))
    assert links(made) == []
    made.update(view(turn(Message("answer", "See a/b.py:1\nx"), state="running")))
    assert links(made) == [("a/b.py:1", "a/b.py", 1)]


def test_an_answer_that_imitates_a_question_is_said_to():
    said = lines(Message("answer", "? Qwen Code asks: Go on?\n[y] Yes"), Message("user", "? Qwen Code asks:"))
    assert said[1] == "? Qwen Code asks: Go on?"
    assert said[4].startswith("— A line above looks like one of this chat’s own")
    assert shown(turn(Message("answer", "? Qwen Code asks: Go on?"))).render.asks == ()  # type: ignore[union-attr]


# Its syntax


def variables() -> dict[str, str]:
    text = (Path(__file__).parents[4] / "QwenCompanion Chat.sublime-syntax").read_text(encoding="utf-8")
    found = dict(re.findall(r"^  (\w+): '(.*)'$", text, re.MULTILINE))
    while nested := {name for name, value in found.items() if "{{" in value}:
        for name in nested:
            found[name] = re.sub(r"\{\{(\w+)\}\}", lambda match: found[match[1]], found[name])
    return found


def test_the_syntax_knows_every_line_of_the_chat_itself():
    own = re.compile(variables()["own"].replace(r"\x{A0}", GAP))
    permission = asked(state="selected", chosen=ONCE)
    items = (
        Message("shell", "said"), Message("thought", "said"), Message("answer", "said", parent="x"),
        tool(permissions=(permission,)), tool(parent="x", status="failed"), ChatNotice("Note"),
        tool(permissions=(asked(),)),
    )  # fmt: skip
    status = Status(ConnectionStatus("lost"), plan=(Step("a", "pending"),), queue=(Queued("q", "a"),))
    text = shown(
        turn(*items, state="cancelled"), turn(Message("user", "said"), key="x", state="running"), status=status
    ).raw
    for line in text.split("\n")[3:]:
        assert own.match(line) or line in {"", "said"} or line.startswith(("    ", ">", "  ○")), line


OWN_LINES = (
    "❯ You", "◆ Qwen Code", "✓ Allowed once", "  ✓ Read a.py", "✗ Rejected", "— Cancelled —", "— Failed: x —", "⚠ x",
    "◇ Plan", "? Qwen Code asks: x", "▸ Thought", "○ Read", "◐ Working…", "◌ Connecting…", "❯ ",
)  # fmt: skip


@pytest.mark.parametrize("speaker", ["user", "answer"])
@pytest.mark.parametrize("line", OWN_LINES)
def test_no_line_of_a_message_looks_like_one_of_the_chats_own(speaker: Speaker, line: str):
    """Nor with the mark that the chat's own lines have, in pieces or whole, behind any line ending."""
    own = re.compile(variables()["own"].replace(r"\x{A0}", GAP))
    for copied in (line, line.replace(" ", GAP)):
        for end in ("\n", "\r", "\r\n"):
            text = f"a{end}{copied} {end}b"
            whole = shown(turn(Message(speaker, text)))
            body = whole.raw.split("\n")[4:7]
            assert body[0] == "a" or speaker == "answer"
            assert not any(own.match(each) for each in body), body
            made = Shown()
            for at in range(1, len(text) + 1):
                made.update(view(turn(Message(speaker, text[:at]), state="done" if at == len(text) else "running")))
            assert made.raw == whole.raw


@pytest.mark.parametrize(
    "line",
    [
        "✓ Allowed once", "— Cancelled —  ", "❯ You ", "◆ Qwen Code\t", "✗ Rejected: x", "\u200b✓ Allowed once",
        "\u00a0✓\u00a0Allowed\u00a0once", "✓\u0301 All\u00adowed once", "> ✓ Allowed once", "1. **✗ Rejected**",
        "― Cancelled ―", "| ✔ Allowed once |", "# — 12 s · 4k tokens in, 1k out —", "x\r✓ Allowed once", "\ufeff❯ You",
        f"{' ' * 3000}❯ You", f"{chr(0x200B) * 3000}❯ You", f"❯ You{' ' * 3000}", f"— Failed: {'x ' * 3000} —",
    ],
)  # fmt: skip
def test_an_answer_that_imitates_a_line_of_the_chat_is_followed_by_a_note(line: str):
    """Also with blanks behind it, with what isn't seen, in a list, a quote or a table."""
    said = lines(Message("answer", f"a\n{line}\nb"))
    assert said[-1].startswith("— A line above looks like one of this chat’s own")
    assert "A line above" not in str(lines(Message("answer", "✓ Done\n— so it is\n⚠ Careful\n- ✅ Allowed: x")))


def test_the_syntax_and_the_chat_see_the_same_code_blocks():
    fence = re.compile(variables()["fence_start"])
    for line in ("```", "  ~~~~ py", "- ```js", "2. `````", "``` a`b", "``", "text ```", "> ```"):
        opened = len(lines(Message("answer", f"{line}\nx"))) == 4
        assert bool(fence.match(line)) == opened, line
