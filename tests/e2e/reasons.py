"""Three prompts, for which an agent makes ten changes: each line leads to its own prompt and sentence.

A line of the person's leads to nothing.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from .editor import Editor
from .model import Call, Script

SHOP = """\
PRICES = {"Dune": 9.0}
the_line_of_the_person = "nobody else has written this"


def total(order):
    amount = 0.0
    for title, copies in order.items():
        amount += PRICES[title] * copies
    return amount
"""
LOOP = "        amount += PRICES[title] * copies\n"
CHECK = """\
        if title not in PRICES:
            raise ValueError(f"We do not sell {title!r}")
"""
OWN = ("PRICES = {", "the_line_of_the_person", "amount += PRICES", "for title")
NOTHING = "QwenCompanion: Nothing is known of why this is here."
#: Seconds until a question is asked once more: none is answered whose text was read again from the disk meanwhile.
ANSWERED = 5.0
#: Seconds until a turn is in the log: two looks at the transcript after its end, on a busy machine.
LOGGED = 60.0


class Tools(Protocol):
    """The tools of an agent, as calls of its model's. A path is absolute."""

    @property
    def read(self) -> Callable[[str], Call] | None: ...
    @property
    def edit(self) -> Callable[[str, str, str], Call]: ...
    @property
    def write(self) -> Callable[[str, str], Call]: ...


@dataclass(frozen=True)
class CliTools:
    """Those of a CLI in a terminal. `read` is for one that edits only what it has read."""

    read: Callable[[str], Call] | None
    edit: Callable[[str, str, str], Call]
    write: Callable[[str, str], Call]


class Prompt(NamedTuple):
    """A prompt, the calls of each round, and which lines they have written: file, words of the line, round."""

    words: str
    rounds: Sequence[Sequence[Call]]
    lines: Sequence[tuple[str, str, int]]


@dataclass
class Reasons:
    """What an editor says of the lines of a folder."""

    editor: Editor
    folder: Path
    known: dict[tuple[str, str], tuple[Script, int]] = field(default_factory=dict[tuple[str, str], tuple[Script, int]])
    """By file and words of a line: the script of the prompt, and the round."""

    def prompts(self, tools: Tools) -> Iterator[Prompt]:
        """One after the other. `shop.py` has `SHOP`."""
        shop, new, test = (str(self.folder / name) for name in ("shop.py", "new.py", "test_shop.py"))
        read = [[tools.read(shop)]] if tools.read else []
        at = len(read)
        yield Prompt(
            "Refuse titles that we do not sell",
            [
                *read,
                [tools.edit(shop, LOOP, CHECK + LOOP)],
                [tools.edit(shop, "    return amount\n", "    return round(amount, 2)\n")],
                [tools.write(new, "first_line_of_the_new_file = 1\nsecond_line_of_the_new_file = 2\n")],
            ],
            [
                ("shop.py", "if title not in", at),
                ("shop.py", "raise ValueError", at),
                ("shop.py", "return round(amount, 2)", at + 1),
                ("new.py", "first_line", at + 2),
                ("new.py", "second_line", at + 2),
            ],
        )
        yield Prompt(
            "Name the currency",
            [
                [tools.edit(shop, 'PRICES = {"Dune": 9.0}\n', 'PRICES = {"Dune": 9.0}\nCURRENCY_OF_ALL = "EUR"\n')],
                [
                    tools.edit(
                        new,
                        "second_line_of_the_new_file = 2\n",
                        "third_line_of_the_new_file = 3\nsecond_line_of_the_new_file = 2\n",
                    )
                ],
                [tools.edit(shop, "    amount = 0.0\n", "    amount = 0.0  # in that currency\n")],
            ],
            [
                ("shop.py", "CURRENCY_OF_ALL", 0),
                ("new.py", "third_line", 1),
                ("shop.py", "# in that currency", 2),
            ],
        )
        yield Prompt(
            "Write tests",
            [
                [tools.write(test, "import shop\n\nassert shop.total({}) == 0.0\n")],
                [tools.edit(shop, "def total(order):\n", "def total(order: dict[str, int]) -> float:\n")],
                [
                    tools.edit(
                        new,
                        "third_line_of_the_new_file = 3\n",
                        "third_line_of_the_new_file = 3\nfourth_line_of_the_new_file = 4\n",
                    )
                ],
                [tools.edit(shop, "    return round(amount, 2)\n", "    return round(amount, 2) or 0.0\n")],
            ],
            [
                ("test_shop.py", "assert shop.total", 0),
                ("shop.py", "-> float", 1),
                ("new.py", "fourth_line", 2),
                ("shop.py", "return round(amount, 2)", 3),
            ],
        )

    def done(self, prompt: Prompt, script: Script) -> None:
        """The turn of a prompt is over: its lines lead to it, and all others lead where they did."""
        self.known |= {(name, words): (script, at) for name, words, at in prompt.lines}
        self.hold()

    def hold(self) -> None:
        """Assert that each line leads to its prompt and sentence, and those of the person to nothing."""
        for (name, words), (script, at) in self.known.items():
            end = time.monotonic() + LOGGED
            while not (script.tag in (said := self.why(name, words)) and script.said(at) in said):
                assert time.monotonic() < end, (words, script.said(at), said)
                time.sleep(1)
        assert [self.why("shop.py", words) for words in OWN] == [NOTHING] * len(OWN)

    def why(self, name: str, words: str) -> str:
        """The text of the popup at the line with these words; `NOTHING` if the status bar says that."""
        return self.editor.wait("answer", lambda: self._answer(name, words))

    def _answer(self, name: str, words: str) -> str:
        """The same; empty if there was no answer within `ANSWERED` seconds."""
        view = self.editor.open_file(self.folder / name)
        start = self.editor.view(view)["text"].index(words)
        self.editor.do("select", view=view, regions=[[0, 0]])
        self.editor.do("select", view=view, regions=[[start, start]])
        before = self._said_nothing()
        self.editor.do("command", name="qwen_companion_why", view=view)
        end = time.monotonic() + ANSWERED
        while time.monotonic() < end:
            if popup := self.editor.view(view).get("popup"):
                return html.unescape(re.sub("<style>.*?</style>|<[^>]+>", " ", popup, flags=re.DOTALL))
            if self._said_nothing() > before:
                return NOTHING
            time.sleep(0.05)
        return ""

    def _said_nothing(self) -> int:
        """How many times the status bar has said that nothing is known."""
        return [message["text"] for message in self.editor.state()["messages"]].count(NOTHING)
