"""What `scripts/demo` shows: the main job with the real CLI, step by step. Exits with 0 only if it worked."""

from __future__ import annotations

import difflib
import html
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest

from .editor import Editor, Told
from .model import Model, Script
from .qwen import PROJECT, Home, MissingError, Qwen, command_of_this_machine, pinned_command

OLDEST = (0, 24)
EXAMPLE = PROJECT / "docs" / "example"
PICTURE = PROJECT / "dist" / "demo" / "diff.html"
SELECTED = "amount += prices[title] * copies;"
PROPOSED = "    if (!(title in prices)) {\n      throw new Error(`Unknown book: ${title}`);\n    }\n"
EDITED = PROPOSED.replace("Unknown book: ${title}", "We do not sell “${title}”.")
COLOURS = {"title": "1", "quiet": "2", "bad": "31", "good": "32"}
#: Seconds after which a change in the editor has reached the CLI.
SETTLED = 1.0


def paint(text: str, colour: str) -> str:
    """The text in a colour, if the output shows colours."""
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if wanted else text


class Report:
    """Prints numbered steps."""

    def __init__(self) -> None:
        self._number = 0
        self._started = time.monotonic()

    def step(self, title: str) -> None:
        self._number += 1
        seconds = paint(f"({time.monotonic() - self._started:.1f} s)", "quiet")
        print(f"\n{paint(f'{self._number}. {title}', 'title')} {seconds}", flush=True)

    def show(self, text: str) -> None:
        for line in text.splitlines():
            print(f"   {line}", flush=True)


def editor_context(prompt: str) -> str:
    """The part of a prompt that the CLI made from the editor's context, without its XML."""
    blocks = re.findall(r"<system-reminder>\n(.*?)\n?</system-reminder>", prompt, re.DOTALL)
    return "\n".join(block for block in blocks if "editor context" in block)


def side_by_side(left: str, right: str, width: int) -> Iterator[str]:
    """Two texts beside each other, with equal lines level. `width` is that of one column."""
    old, new = left.splitlines(), right.splitlines()

    def column(number: int, line: str | None) -> str:
        return " " * width if line is None else f"{number:3} {line}"[:width].ljust(width)

    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for row, (before, after) in enumerate(zip_longest(old[a:b], new[c:d])):
            texts = column(a + row + 1, before), column(c + row + 1, after)
            if kind == "equal":
                yield " │ ".join(texts)
            else:
                gone = texts[0] if before is None else paint(texts[0], "bad")
                come = texts[1] if after is None else paint(texts[1], "good")
                yield f"{gone} │ {come}"


def plain(markup: str) -> str:
    """The text of a phantom's HTML."""
    shown = re.sub(r"<(style|head)\b.*?</\1>", "", markup, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def show_diff(report: Report, original: Told, proposal: Told) -> None:
    """Show the two views as a person sees them, and the phantom above them."""
    width = max(40, (shutil.get_terminal_size((132, 40)).columns - 8) // 2)
    for phantom in proposal["phantoms"][:1]:
        report.show(f"[ {plain(phantom['html'])} ]")
    titles = (str(view["name"] or "")[:width].ljust(width) for view in (original, proposal))
    report.show(paint(" │ ".join(titles), "title"))
    for line in side_by_side(original["text"], proposal["text"], width):
        report.show(line)


class WrongError(Exception):
    """The main job has failed. The message is one sentence."""


def expect(right: bool, otherwise: str) -> None:
    """Check a condition.

    Raises:
        WrongError: the condition is false; its message is `otherwise`.
    """
    if not right:
        raise WrongError(otherwise)


class Demo:
    """The main job on a copy of the example. Each method runs and shows a part of it."""

    def __init__(self, report: Report, stack: ExitStack) -> None:
        self.report = report
        self.home = Home.make()
        stack.callback(self.home.remove)
        shutil.copytree(EXAMPLE, self.home.workspace, dirs_exist_ok=True)
        self.orders = self.home.workspace / "orders.js"
        self.before = self.orders.read_text(encoding="utf-8")
        self.line = f"    {SELECTED}\n"
        self.proposed = self.before.replace(self.line, PROPOSED + self.line)
        self.edited = self.before.replace(self.line, EDITED + self.line)

        report.step("The headless editor opens a copy of docs/example, with this package loaded")
        self.editor = Editor(self.home, [self.home.workspace])
        stack.callback(self.editor.kill)
        view = self.editor.open_file(self.orders)
        start = self.before.index(SELECTED)
        self.editor.do("select", view=view, regions=[[start, start + len(SELECTED)]])
        report.show(f"{self.orders.name} is open, with this selection: {SELECTED}")

        report.step("What a CLI discovers")
        lock = self.editor.lock()
        for file in (*self.editor.lock_files(), *self.home.tmp.glob("qwen/ide/*.json")):
            report.show(str(file))
        report.show(json.dumps({**lock, "authToken": "•" * 12}, indent=2, ensure_ascii=False))

        command = command_of_this_machine(OLDEST) or pinned_command()
        report.step("The real Qwen Code, in a terminal outside the editor")
        report.show(paint(" ".join(command), "quiet"))
        self.model = Model()
        stack.callback(self.model.close)
        self.qwen = Qwen(self.home, self.model, command=command)
        stack.callback(self.qwen.close)
        self.qwen.wait_ready()
        self.qwen.wait_connected()
        report.show("It says: Connected to Sublime Text")
        time.sleep(SETTLED)

    def prompt(self) -> Script:
        """Have the model propose a change."""
        report = self.report
        report.step("A prompt: the model, a script on this machine, answers with an edit of the file")
        script = self.qwen.ask_to_edit(
            self.orders, self.line, PROPOSED + self.line, words="Refuse titles that we do not sell"
        )
        report.show(f"> Refuse titles that we do not sell {script.tag}")
        report.show("The context that the model received with the prompt:")
        context = editor_context(self.model.requests_of(script)[0].last_user_text())
        report.show(paint(context, "quiet"))
        expect(SELECTED in context, "The selection did not reach the model.")
        return script

    def diff(self) -> Told:
        """Show the proposal that opens in the editor."""
        self.report.step("A diff opens in the editor")
        proposal = self.editor.wait_diff(self.orders)
        self.editor.do("command", name="qwen_companion_toggle_diff_layout", view=proposal["id"])
        self.editor.wait(
            "the file on disk", lambda: [view for view in self.editor.sides("original", text=True) if view["text"]]
        )
        (original,) = self.editor.sides("original", text=True)
        show_diff(self.report, original, proposal)
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        windows = self.editor.state()["windows"]
        window = next(told["id"] for told in windows if proposal["id"] in [view["id"] for view in told["views"]])
        self.editor.do("command", name="qwen_companion_go_to_diff", window=window)
        self.editor.do("render", window=window, path=str(PICTURE))
        self.report.show(f"As a picture: {PICTURE}")
        expect(proposal["text"] == self.proposed, "The view does not hold what the model proposed.")
        return proposal

    def accept(self, script: Script, proposal: Told) -> None:
        """Edit and accept the proposal, and show the file that the CLI writes."""
        report = self.report
        report.step("The person edits the proposal and accepts it")
        for before, after in zip(PROPOSED.splitlines(), EDITED.splitlines(), strict=True):
            if before != after:
                report.show(paint(f"- {before}", "bad"))
                report.show(paint(f"+ {after}", "good"))
        self.editor.set_text(proposal, self.edited)
        self.editor.accept(proposal)
        self.qwen.wait_done(script)
        self.editor.wait_no_diff()

        report.step(f"The CLI has written {self.orders.name}")
        written = self.orders.read_text(encoding="utf-8")
        for row in side_by_side(self.before, written, 80):
            report.show(row.partition(" │ ")[2].rstrip())
        expect(written == self.edited, "The file does not hold what was accepted.")


def main() -> int:
    """Run the demo, and return the exit code."""
    report = Report()
    try:
        with ExitStack() as stack:
            demo = Demo(report, stack)
            script = demo.prompt()
            demo.accept(script, demo.diff())
    except (AssertionError, MissingError, WrongError) as error:
        report.step("It did not work")
        report.show(paint(str(error), "bad"))
        return 1
    report.step("The file holds the edited text. Everything is closed and cleaned up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
