"""Why is this here?: real CLIs in terminals write, and each line leads to its own prompt and sentence."""

from __future__ import annotations

import html
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .gemini import Gemini
from .model import Call, Model, Script
from .qwen import Home, Qwen
from .session import CliSession
from .test_changes import Reviewed, gemini_edit, qwen_edit

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
#: Seconds until a turn is in the log: two looks at the transcript after its end, on a busy machine.
LOGGED = 60.0
#: Seconds in which the transcripts are looked at once after a CLI has connected.
LOOKS = 5.0
Edit = Callable[[Path, str, str], Call]


class Asking(Reviewed):
    """A session with a CLI, and what the editor says of lines."""

    def why(self, name: str, words: str) -> str:
        """The text of the popup at the line with these words; empty if nothing is known."""
        view = self.editor.open_file(self.folder / name)
        start = self.editor.view(view)["text"].index(words)
        self.editor.do("select", view=view, regions=[[0, 0]])
        self.editor.do("select", view=view, regions=[[start, start]])
        self.editor.do("command", name="qwen_companion_why", view=view)
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            if popup := self.editor.view(view).get("popup"):
                return html.unescape(re.sub("<style>.*?</style>|<[^>]+>", " ", popup, flags=re.DOTALL))
            time.sleep(0.05)
        return ""

    def leads(self, name: str, words: str, script: Script, step: int) -> None:
        """Assert that a line leads to a prompt and to the sentence before one of its rounds."""
        end = time.monotonic() + LOGGED
        while True:
            said = self.why(name, words)
            if script.tag in said and script.said(step) in said:
                return
            assert time.monotonic() < end, (words, said)
            time.sleep(1)


@pytest.fixture(params=["Qwen Code", "Gemini CLI"])
def asking(request: pytest.FixtureRequest, programs: None, gemini_program: None) -> Iterator[tuple[Asking, Edit]]:
    def prepared(home: Home, model: Model) -> Any:
        home.write("shop.py", SHOP)
        home.answer_transcripts(may=True)
        model.explains = True
        return (Qwen if request.param == "Qwen Code" else Gemini)(home, model, approval="yolo")

    found = Asking(CliSession[Any].begin(prepared))
    yield found, qwen_edit if request.param == "Qwen Code" else gemini_edit
    found.session.close()


def test_each_line_of_a_cli_in_a_terminal_leads_to_its_own_prompt_and_sentence(asking: tuple[Asking, Edit]) -> None:
    at, edit = asking
    shop, new, cli = at.folder / "shop.py", at.folder / "new.py", at.session.cli
    at.wait_baseline()
    time.sleep(LOOKS)  # nobody types a prompt as fast as a test

    def write(path: Path, content: str) -> Call:
        return Call("write_file", {"file_path": str(path), "content": content})

    read = [Call("read_file", {"file_path": str(shop)})]
    one = cli.ask(
        "Refuse titles that we do not sell",
        read,
        [edit(shop, LOOP, CHECK + LOOP)],
        [edit(shop, "return amount", "return round(amount, 2)")],
        [write(new, "first_line_of_the_new_file = 1\nsecond_line_of_the_new_file = 2\n")],
    )
    cli.wait_done(one)
    two = cli.ask(
        "Name the currency",
        [edit(shop, 'PRICES = {"Dune": 9.0}\n', 'PRICES = {"Dune": 9.0}\nCURRENCY_OF_ALL = "EUR"\n')],
        [
            write(
                new,
                "first_line_of_the_new_file = 1\nthird_line_of_the_new_file = 3\nsecond_line_of_the_new_file = 2\n",
            )
        ],
    )
    cli.wait_done(two)
    at.leads("shop.py", "CURRENCY_OF_ALL", two, 0)
    expected = [
        ("shop.py", "if title not in", one, 1),
        ("shop.py", "raise ValueError", one, 1),
        ("shop.py", "return round", one, 2),
        ("new.py", "first_line", one, 3),
        ("new.py", "second_line", one, 3),
        ("new.py", "third_line", two, 1),
    ]
    own = ("PRICES = {", "the_line_of_the_person", "amount = 0.0", "amount += PRICES", "for title")

    def holds() -> None:
        for each in expected:
            at.leads(*each)
        assert [at.why("shop.py", words) for words in own] == [""] * len(own)

    holds()
    at.run("qwen_companion_keep_all_changes")
    at.wait_listed()
    holds()
    git = ["git", "-C", str(at.folder), "-c", "user.name=A", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    text = shop.read_text()
    shop.write_text(text.replace(CHECK, "").replace("def total", f"def check(title):\n{CHECK}\n\ndef total"))
    time.sleep(2)
    holds()
    at.session.restart()
    at.editor = at.session.editor
    at.editor.lock()
    holds()
