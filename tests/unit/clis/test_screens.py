"""Which ends of a terminal are the prompt of a CLI, empty or not: with recorded screens of the published versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from companion.clis.families import COPILOT_CLI, FAMILIES, GEMINI_CLI, OPENCODE, QWEN_CODE, CliFamily
from companion.clis.screen import prompt_text

FILES = sorted(Path(__file__).with_name("screens").glob("*.txt"))
BELOW = (
    "$ ",
    "ada@host:~/p$ ",
    "➜  p git:(main) ✗",
    "~/p ❯",
    "[sudo] password for ada:",
    "ada@host's password:",
    "Enter passphrase for key '/home/ada/.ssh/id_ed25519':",
    ">>>",
    "...",
    "rm: remove regular file 'greet.py'?",
    "❯ Allow once",
    "  › 1. Yes, allow once",
    "│ ● 1. Allow once",
    "Overwrite? [y/N]",
    "(END)",
    ":",
    "-- INSERT --",
    "[1]+  Stopped                 qwen",
)


class Recorded(NamedTuple):
    """A screen, and what a person sees there: a prompt that is “empty” or has a “text”, or something “other”."""

    family: CliFamily
    name: str
    lines: list[str]
    label: str

    def text(self, lines: list[str] | None = None) -> str | None:
        return prompt_text(self.lines if lines is None else lines, self.family.layouts)


def recorded() -> Iterator[Recorded]:
    for path in FILES:
        family = next(each for each in FAMILIES if path.stem.startswith(each.launch.key))
        for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
            head, _, text = part.partition("\n")
            name, _, label = head.partition(" ")
            yield Recorded(family, f"{path.stem} {name}", text.rstrip("\n").split("\n"), label)


SCREENS = list(recorded())
EMPTY = [each for each in SCREENS if each.label == "empty"]
TEXTS = [each for each in SCREENS if each.label == "text"]
PROMPTS = EMPTY + TEXTS


SIGN = "[>*❯][ \u00a0]"
"""What a text stands behind."""


def sign_of(screen: Recorded) -> int:
    """The row where a text begins."""
    return next(at for at in reversed(range(len(screen.lines))) if re.match(rf"(│ | )?{SIGN}\S", screen.lines[at]))


def frame_end(screen: Recorded) -> int:
    """The row below the frame; where the newest Gemini CLI has none, that of the titles."""
    rows = range(len(screen.lines) - 1)
    if titles := [at for at in rows if screen.lines[at].startswith(" workspace ")]:
        return titles[-1]
    return max(at for at in rows if re.fullmatch(" *[╰╯╹─▀▄]{18,}", screen.lines[at])) + 1


def test_there_are_screens_of_each_form_and_state():
    assert {path.stem for path in FILES} >= {"qwen-0.1.3", "qwen-0.24.4", "gemini-0.8.2", "gemini-0.61.0"}
    assert {screen.family.name for screen in EMPTY} == {family.name for family in FAMILIES}
    states = {each.name.split()[1].rpartition("-")[0] for each in SCREENS}
    assert states >= {
        "empty",
        "typed",
        "shell-mode",
        "asks-shell",
        "asks-write",
        "vim-normal",
        "dialog-theme",
        "exited",
    }
    for version in ("qwen-0.1.3", "qwen-0.21.2", "qwen-0.24.4", "gemini-0.8.2", "gemini-0.61.0"):
        states = {name.rpartition("-")[0] for file, name in (each.name.split() for each in TEXTS) if file == version}
        assert states >= {
            f"text-{each}" for each in ("short", "mentions", "two-lines", "chinese", "question", "broken")
        }


@pytest.mark.parametrize("screen", SCREENS, ids=lambda each: each.name)
def test_a_recorded_screen_is_what_a_person_sees(screen: Recorded):
    text = screen.text()
    assert screen.label == ("other" if text is None else "text" if text else "empty")


@pytest.mark.parametrize("screen", PROMPTS, ids=lambda each: each.name)
def test_below_the_footer_nothing_else_stands(screen: Recorded):
    for below in BELOW:
        for blanks in ([], [""], ["", ""]):
            assert screen.text([*screen.lines, *blanks, below]) is None, below


@pytest.mark.parametrize("screen", PROMPTS, ids=lambda each: each.name)
def test_in_the_place_of_the_footer_stands_no_question(screen: Recorded):
    """Whatever else it looks like: the folder and the model are any text."""
    for question in (
        "Delete everything? (99%)",
        "[sudo] password for ada (99%)",
        " Overwrite it? /model",
        " Remove greet.py? /model m",
        "  Auto mode  Remove it? [y/N]",
        "  ? for shortcuts  [y/N]",
        "  plan mode  Password:",
        " (yes/no) m",
        " /home/ada  no sandbox  Enter passphrase",
        " /home/ada  no sandbox  m (99%) $",
        " /home/ada  no sandbox  m (99%) ❯",
    ):
        assert screen.text([*screen.lines[:-1], question]) is None, question


@pytest.mark.parametrize("screen", TEXTS, ids=lambda each: each.name)
def test_between_the_frame_and_the_footer_stands_no_question_or_list(screen: Recorded):
    """Some versions show the list of completions there."""
    text = screen.text()
    assert text is not None
    below = sign_of(screen) + text.count("\n") + 2
    for between in (
        " greet.py",
        " ▼",
        "❯ Allow once",
        "  › 1. Yes, allow once",
        "  > greet.py",
        "│ ● 1. Allow once   │",
    ):
        for at in range(below, len(screen.lines)):
            assert screen.text([*screen.lines[:at], between, *screen.lines[at:]]) is None, between


@pytest.mark.parametrize("screen", PROMPTS, ids=lambda each: each.name)
def test_nothing_numbered_stands_below_the_frame(screen: Recorded):
    below = frame_end(screen)
    for rows in (["1. Allow once", "2. Deny"], ["  1. Yes, allow", "  2) No"], [" 1. Yes"]):
        for at in range(below, len(screen.lines) + 1):
            assert screen.text([*screen.lines[:at], *rows, *screen.lines[at:]]) is None, (rows, at)


@pytest.mark.parametrize("screen", PROMPTS, ids=lambda each: each.name)
def test_no_line_below_the_frame_asks_anything(screen: Recorded):
    lines = screen.lines
    for at in range(frame_end(screen), len(lines)):
        for question in ("  Overwrite\uff1f", "  Remove it?", "  [y/N]", "  Password"):
            assert screen.text([*lines[:at], lines[at] + question, *lines[at + 1 :]]) is None, (question, at)


@pytest.mark.parametrize("screen", TEXTS, ids=lambda each: each.name)
def test_a_text_that_begins_like_the_row_of_a_list_is_none(screen: Recorded):
    at = sign_of(screen)
    for row in ("1. Allow once", "2) Deny", "● 1. Yes", "❯ 1. Yes", "› Allow once"):
        line = f"{screen.lines[at]}{' ' * 20}"
        changed = re.sub(f"({SIGN}).{{14}}", lambda found, row=row: f"{found[1]}{row:14}", line)
        assert screen.text([*screen.lines[:at], changed.rstrip(), *screen.lines[at + 1 :]]) is None, row


@pytest.mark.parametrize("screen", PROMPTS, ids=lambda each: each.name)
def test_blank_lines_below_and_terminus_s_marks_of_wrapped_lines_change_nothing(screen: Recorded):
    lines = [f"{line}\u200b" if len(line) > 50 else f"{line}  " for line in screen.lines]
    assert screen.text([*lines, "", "   ", ""]) == screen.text() is not None


def test_the_text_is_that_in_the_frame():
    texts = {each.name: " ".join((each.text() or "").replace("│", " ").split()) for each in TEXTS}
    for name, text in texts.items():
        assert "─" not in text
        assert "workspace" not in text
        if " text-short-" in name:
            assert text == "please read"
        elif " text-mentions-" in name:
            assert text == "@greet.py @greet.py"
        elif " text-question-" in name:
            # Gemini CLI's newer ones take the “?” for a key.
            assert text in {"Do you want to proceed? ❯ 1. Yes", "Do you want to proceed ❯ 1. Yes"}
        elif " text-broken-" in name:
            assert text == "first ❯ 1. Yes 2. No"
        elif " text-chinese-" in name:
            assert text.replace(" ", "").strip("请看这个文件") == ""


@pytest.mark.parametrize("screen", TEXTS, ids=lambda each: each.name)
def test_a_text_behind_another_sign_is_none(screen: Recorded):
    """The shell mode, the search, a list, and words of the CLI itself, as in Vim's modes."""
    at = sign_of(screen)
    own = {"❯ "} if screen.family is COPILOT_CLI else set[str]()
    for sign in {"! ", "(r:)  ", "❯ ", "● ", "? ", ">   ", "  ", ">"} - own:
        changed = re.sub(SIGN, lambda _, sign=sign: sign, screen.lines[at], count=1)
        assert screen.text([*screen.lines[:at], changed, *screen.lines[at + 1 :]]) is None, sign
    assert screen.text(screen.lines[at:]) is None
    assert screen.text([*screen.lines[: at + 1], "❯ Allow once", *screen.lines[at + 1 :]]) is None


@pytest.mark.parametrize("screen", EMPTY, ids=lambda each: each.name)
def test_a_frame_without_its_footer_or_its_rule_is_none(screen: Recorded):
    end = frame_end(screen)
    assert screen.text(screen.lines[:end]) is None
    assert screen.text(screen.lines[end - 1 :]) is None
    if not screen.lines[end].startswith(" workspace "):  # the newest Gemini CLI draws one only in true colours
        assert screen.text([*screen.lines[: end - 1], *screen.lines[end:]]) is None


@pytest.mark.parametrize("screen", [each for each in EMPTY if each.family is OPENCODE], ids=lambda each: each.name)
def test_below_a_dialog_that_leaves_the_prompt_on_the_screen_there_is_none(screen: Recorded):
    for title in ("      Select model                     esc", "  ┃  do     Sessions      esc   12 tokens"):
        assert screen.text([title, *screen.lines]) is None


@pytest.mark.parametrize("screen", [each for each in EMPTY if each.family is OPENCODE], ids=lambda each: each.name)
def test_a_text_that_ends_with_empty_lines_is_no_empty_prompt(screen: Recorded):
    ends = [line.rstrip() for line in screen.lines]
    top = max(at for at, line in enumerate(ends) if line.endswith("▀" * 18)) - 1
    while re.match(" +┃", ends[top - 1]):
        top -= 1
    bar = ends[top]
    assert re.fullmatch(" +┃", bar)
    for empty in (1, 2, 3, 9):
        assert screen.text([*ends[:top], bar, f"{bar}  please read", *[bar] * empty, *ends[top + 1 :]]) is None


WORDED = [each for each in EMPTY if any("Type your message" in line for line in each.lines)]


@pytest.mark.parametrize("screen", WORDED, ids=lambda each: each.name)
def test_a_frame_that_is_not_whole_is_none(screen: Recorded):
    at = next(at for at, line in enumerate(screen.lines) if "Type your message" in line)
    lines = screen.lines
    assert screen.text(lines[: at + 1]) is None
    for typed in ("! ", "x ", "(r:)", "❯ ", ">     "):
        changed = lines[at].replace(">  ", typed, 1).replace("*  ", typed, 1)
        assert screen.text([*lines[:at], changed, *lines[at + 1 :]]) is None
    other_words = lines[at].replace("Type your message", "Please do")
    assert screen.text([*lines[:at], other_words, *lines[at + 1 :]]) is None


WORDS = ">   Type your message or @path/to/file"
BOX = f"╭{'─' * 58}╮", f"│ {WORDS:57}│", f"╰{'─' * 58}╯"


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["> Type your message or @path/to/file"],
        ["it says:", ">   Type your message or @path/to/file"],
        ["$ cat screen.txt", ">   Type your message or @path/to/file", "$ "],
        ["─" * 60, ">   Type your message or @path/to/file", "─" * 60],
        ["─" * 60, ">   Type your message or @path/to/file", "─" * 60, "  Remove it? [y/N]"],
        ["─" * 60, ">   Type your message or @path/to/file", "─" * 60, "  › 1. Yes", "  ? for shortcuts"],
        ["─" * 60, "!   Type your message or @path/to/file", "─" * 60, "  ? for shortcuts"],
        ["─" * 60, "> ", "─" * 60, "  ? for shortcuts"],
        ["─" * 60, "! ls", "─" * 60, "  ? for shortcuts"],
        ["─" * 60, "❯ Allow once", "─" * 60, "  ? for shortcuts"],
        ["─" * 60, "> Do you want to proceed?", "❯ 1. Yes", "─" * 60, "  ? for shortcuts"],
        ["─" * 60, "> ls", "─" * 60, "❯ 1. Yes", "  ? for shortcuts"],
        ["─" * 60, "> Remove it? [y/N]"],
        ["> hello", "─" * 60, "  ? for shortcuts"],
        ["─" * 60, "> hello", "  ? for shortcuts"],
        ["─" * 60, "> hello", "─" * 60, "  -- NORMAL --"],
        [f"╭{'─' * 58}╮", f"│{' ' * 58}│", f"│ {'> Select Theme':57}│", f"╰{'─' * 58}╯", "~/p  no sandbox  m (99%)"],
        [f"╭{'─' * 58}╮", f"│ {'● 1. Yes, allow once':57}│", f"╰{'─' * 58}╯", "~/p  no sandbox  m (99%)"],
        [f"╭{'─' * 58}╮", f"│ {'>':57}│", f"╰{'─' * 58}╯", "~/p  no sandbox  m (99%)"],
        [f"╭{'─' * 58}╮", f"│ {'> Proceed?':57}│", f"│ {'● 1. Yes':57}│", f"╰{'─' * 58}╯", "~/p  no sandbox  m (99%)"],
        [f"╭{'─' * 58}╮", f"│ {'> hi':57}│", f"╰{'─' * 58}╯", " greet.py", "~/p  no sandbox  m (99%)"],
        ["─" * 60, WORDS, "─" * 60, "  ? for shortcuts  Overwrite\uff1f"],
        ["─" * 60, WORDS, "─" * 60, "  ➜ Overwrite it\uff1f", "  ? for shortcuts"],
        ["─" * 60, WORDS, "─" * 60, "  1. Yes, allow", "  2. No", "  ? for shortcuts"],
        ["─" * 60, WORDS, "─" * 60, "  ➜ x", "  1. Yes, allow", "  2. No", "  ? for shortcuts"],
        ["─" * 60, WORDS, "─" * 60, "  5% Allow this command, Enter for yes"],
        ["─" * 60, WORDS, "─" * 60, "  ? for shortcuts", "  5% Allow this command, Enter for yes"],
        ["─" * 60, WORDS, "─" * 60, "  YOLO mode…  Press Enter to allow rm -rf"],
        ["─" * 60, WORDS, "─" * 60, "  Enter to steer · Press Enter to allow"],
        ["─" * 60, "> 1. Allow once", "  2. Always", "─" * 60, "  Ask permissions (shift + tab to cycle)"],
        ["─" * 60, " Shift+Tab to accept edits", f" {WORDS}", " workspace (/directory)", " Allow this, Enter for yes"],
        ["─" * 60, " YOLO mode Allow", f" {WORDS}", " workspace", " ~ Enter"],
        [*BOX, "user@host (10%)"],
        [*BOX, "rm: remove write-protected regular file x (0%)"],
        [*BOX, "1. Allow once", "2. Deny", "Enter (5% context left)"],
        [*BOX, "~/x no sandbox m (5% context left)", "user@host (10%)"],
        [*BOX, "~/x   no sandbox   m (5% context left)", "user@host (10%)"],
        [*BOX, " Press Enter to continue /model y"],
        [*BOX, " Press Enter to continue /model"],
    ],
)
def test_other_screens_are_no_prompt(lines: list[str]):
    assert all(prompt_text(lines, family.layouts) is None for family in FAMILIES)


def test_the_frame_of_one_family_is_not_that_of_the_other():
    """The oldest versions of the two have the same one."""
    for screen in PROMPTS:
        if screen.name.startswith(("qwen-0.24.4 ", "gemini-0.61.0 ")):
            other = GEMINI_CLI if screen.family is QWEN_CODE else QWEN_CODE
            assert prompt_text(screen.lines, other.layouts) is None


def test_a_very_long_screen_costs_nothing():
    for line in ("─" * 500 + " " * 500, "> " + "─" * 998, "  " + "│ " * 499):
        assert prompt_text([line] * 50_000, QWEN_CODE.layouts + GEMINI_CLI.layouts) is None
