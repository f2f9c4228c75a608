"""Checks the chat's syntax with Oniguruma, and with random transcripts: `scripts/syntax [COUNT [SEED]]`.

Whatever a message holds, no line of it is read as one of the chat's own, what follows is read as if it weren't there,
and the code blocks are those that the chat's buttons are for.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from companion.agents import DAEMON_AGENT
from companion.chats.transcript.markdown import Scanner
from companion.chats.transcript.plain import presentable
from companion.chats.transcript.transcript import Transcript
from companion.conversation.snapshot import (
    ChatNotice,
    ConnectionStatus,
    Item,
    Locality,
    Message,
    Permission,
    Snapshot,
    Speaker,
    Status,
    Step,
    Tool,
    Turn,
)
from headless.grammar import Grammar, Line

from .problems import problems as problems_of

SYNTAX = Path(__file__).resolve().parents[2] / "QwenCompanion Chat.sublime-syntax"
PARTS = (
    "```", "````", "~~~", "~~~~~", "```python", "```foo", "~~~ js", "- ```html", "1. ```sh", "   ```", "\t```", "> ```",
    "* - ```c++", "❯ You", "❯\u00a0You", "❯ x", "❯\u00a0x", "◆ Qwen Code", "◆\u00a0Qwen Code", "— Cancelled —",
    "—\u00a0Cancelled —", "▸ Thought", "▸\u00a0Thought", "  ✓ Read a", "  ✓\u00a0Read a", "✓\u00a0Allowed once", "○ x",
    "? Qwen Code asks: a", "?\u00a0Qwen Code asks: a", "Plan", "◇\u00a0Plan", "⚠ oh", "⚠\u00a0oh", "◌ Connecting…",
    "◐\u00a0Working…", "---", "+++", "a", "", "    code", "| a | b |", "<script>", "<!--", "/*", "'''", '"""', "{",
    "`", "[a](", "$$", "===", "# h", "``` a`b", "> q", "  ○ Step", "❯", " ❯\u00a0You", "Qwen Code 1, x", "~~~`",
    "```~~~", "````` ````", "\u2028❯\u00a0You", "x\x0c```", "```\u00a0", "```\x0c", "- - ```", "1) ~~~ts", "***",
    "<?php", "%YAML", "@a", "\\", "\u00a0```", "\r❯\u00a0You", "  @ a",
)  # fmt: skip
SPEAKERS: tuple[Speaker, ...] = ("answer", "answer", "user", "thought", "shell")
OWN_SCOPES = (
    "markup.heading", "comment.line", "markup.warning", "keyword.control.ask", "meta.prompt", "support.function.tool",
    "meta.details", "meta.proposal", "markup.bold.plan",
)  # fmt: skip
FOLLOWING = (
    Message("thought", "Hm"),
    Tool("t", "run", "Run it", "execute", "completed", input={"command": "ls"}, text="x"),
    ChatNotice("Noted"),
)
STATUS = Status(ConnectionStatus("lost", "Gone."), plan=(Step("One", "pending"),))


def transcript(*items: Item, agent: str = DAEMON_AGENT) -> tuple[str, list[tuple[int, int]]]:
    """The text of a chat with these items in its first turn, and where its code blocks are."""
    permission = Permission("p", "k2", "t2", "Write", "edit", ())
    asking = Tool("t2", "write", "Write", "edit", "pending", permissions=(permission,))
    turns = (
        Turn("k1", "done", (Message("user", "q"), *items)),
        Turn("k2", "cancelled", (Message("user", "next"), *FOLLOWING, Message("answer", "said"), asking)),
    )
    snapshot = Snapshot(("k1", "k2"), turns, STATUS)
    chat = Transcript()
    render = chat.update(snapshot, Locality("this computer", "/w", "1", agent=agent))
    # A block in a quote is for Markdown's own syntax to see.
    return chat.text, [(code.start, code.end) for code in render.codes if not code.depth]


def leaves_open(text: str) -> bool:
    """Whether a code block at the end of an answer is open, which has no buttons."""
    scanner = Scanner("")
    scanner.feed(f"{presentable(text)}\n")
    return scanner._fence is not None and not scanner._fence.depth


def others(random: random.Random) -> tuple[Item, ...]:
    """Items of a turn besides single messages."""
    text, more = message(random, 30), message(random)
    ran = Tool("t9", "run", more, "execute", "failed", input={"command": text}, text=more)
    return random.choice(
        (
            (ChatNotice(text),),
            (ChatNotice(""),),
            (ran, Message("answer", "z")),
            (Message("answer", text), ran, Message("thought", more)),
            (Message("answer", text, parent="x"), Message("thought", more, parent="x")),
            tuple(Message(random.choice(SPEAKERS), message(random)) for _ in range(6)),
        )
    )


def message(random: random.Random, most: int = 7) -> str:
    """Lines that mean something to the syntax, or look like it; `most` of them at most."""
    lines = [random.choice(PARTS) for _ in range(random.randint(1, most))]
    ends = ["", " ", " x", "\t", "`", "~", "\u00a0"]
    return "\n".join(line + (random.choice(ends) if random.random() < 0.3 else "") for line in lines)


def troubles(
    grammar: Grammar, text: str, codes: list[tuple[int, int]] | None, following: list[str], said: int
) -> list[str]:
    """What is wrong with how a transcript is read.

    `codes` are its code blocks, `following` the scopes that its last lines should have, `said` is how many lines before
    those are a message's.
    """
    lines = grammar.read(text)
    found = [f"a loop in {line.text!r}" for line in lines if line.loops]
    own, rest = lines[: -len(following)], lines[-len(following) :]
    for line, scopes in zip(rest, following, strict=True):
        if line.scopes != scopes:
            found.append(f"{line.text!r} after it is {line.scopes}")
            break
    found += [
        f"{line.text!r} in a message is {line.scopes}"
        for line in (own[len(own) - said :] if said else ())
        if any(scope in line.scopes for scope in OWN_SCOPES)
    ]
    if not found and codes is not None:
        found += _wrong_codes(lines, codes)
    return found


def _wrong_codes(lines: list[Line], codes: list[tuple[int, int]]) -> list[str]:
    """Code lines for the syntax that are none for the chat, and the other way round."""
    found: list[str] = []
    at = 0
    for line in lines:
        is_code = any(start <= at <= end and start != end for start, end in codes)
        spans = [span.scopes for span in line.spans if "markup.raw.code-fence" in span.scopes]
        is_read_as_code = bool(spans) and "punctuation.definition.raw.code-fence" not in line.scopes
        if line.text.strip("\n") and is_code != is_read_as_code:
            found.append(f"{line.text!r} is {'' if is_code else 'no '}code, but read as {line.scopes}")
        at += len(line.text)
    return found


def main(count: int, seed: int) -> int:
    """Check, and print what is wrong. Returns the exit status."""
    grammar = Grammar.load(SYNTAX.read_text(encoding="utf-8"))
    problems = problems_of(grammar)
    plain, _ = transcript(Message("answer", "a"))
    lines = grammar.read(plain)
    first = next(at for at, line in enumerate(lines) if line.text == "next\n") - 1
    following = [line.scopes for line in lines[first:]]
    for number in range(count):
        chance = random.Random(seed + number)  # noqa: S311 - not a secret
        text = message(chance)
        speaker = chance.choice(SPEAKERS)
        whole, codes = transcript(Message(speaker, text))
        shown = whole.count("\n") - plain.count("\n") + 1 if speaker == "answer" else 0
        if "A line above looks like" in whole:
            shown = 0
        problems += [
            f"{speaker} {text!r} (seed {seed + number}): {trouble}"
            for trouble in troubles(grammar, whole, None if leaves_open(text) else codes, following, max(0, shown))
        ]
        items, agent = others(chance), chance.choice((DAEMON_AGENT, DAEMON_AGENT, "", message(chance, 2)))
        problems += [
            f"{items!r} of {agent!r} (seed {seed + number}): {trouble}"
            for trouble in troubles(grammar, transcript(*items, agent=agent)[0], None, following, 0)
        ]
    print(*problems[:20], sep="\n")
    print(f"{SYNTAX.name}: {count} transcripts from seed {seed}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(given[0] if given else 1500, given[1] if len(given) > 1 else random.SystemRandom().randrange(10**9)))
