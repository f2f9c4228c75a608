"""What a CLI shows at the end of its terminal while it takes a prompt (docs/protocols/qwen-ide.md#prompt).

A prompt is known by its good form alone: its frame, in it the words that stand there while nothing is typed or a text
of the person, and below it the lines of the footer, with nothing after them. Whatever else is there, such as a question
or a shell's prompt, is no such form, and neither are a list, the shell mode, the search and Vim's modes. The forms are
those of the published versions in tests/unit/clis/screens, which `python -m tests.e2e.record_screens` records.
Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINES = 40
"""Lines at the end of a terminal that can belong to a prompt: a CLI shows ten lines of a text at once, and OpenCode's
first screen has its prompt in the middle."""
HEIGHT = 100
"""Lines that a terminal shows at most."""
_WRAPPED = "\u200b"
"""Terminus ends a line with it that goes on in the next one."""
_SIGN = "[>*]"
"""A “>”, or a “*” where everything is allowed; a “!” would be the shell mode, “(r:)” the search."""
_WORDS = rf"{_SIGN}   Type your message or(?: +│\n│ +| |\n +)@path/to/file"
"""Narrow terminals wrap it."""
_TYPED = rf"{_SIGN} (?P<text>(?!  |[›●❯]|\d+[.)](?!\S))(?=.*[^\s│])"
"""How a text begins. All words of a CLI's own, such as those of Vim's modes, begin with two blanks more.

One that begins like a row of a list may be one.
"""
_RULE = r"─{18,}"
_IN_BOX = rf"(?:{_WORDS} +│|{_TYPED}.*│(?:\n│   .*│)*))"
_BELOW = r"(?P<below>)"
"""Where what stands below the frame begins."""
_BOX = rf"╭{_RULE}╮\n│ {_IN_BOX}\n╰{_RULE}╯\n{_BELOW}"
_IN_RULES = rf"(?:{_WORDS}|{_TYPED}.*(?:\n(?:  .*)?)*))"
_IN_BAND = rf"(?:{_WORDS}|{_TYPED}.*(?:\n(?:   .*)?)*))"

Layout = re.Pattern[str]


def _layout(form: str) -> Layout:
    return re.compile(rf"(?:\A|\n){form}\Z")


_COLUMN = r"\S+(?: \S+)*"
_FOLDER = rf"(?=[/~.…]|[A-Za-z]:){_COLUMN}"
_NUMBERED = r"\d+[.)]"
"""What a row of a list begins with."""
_USED = r"\(\d{1,3}%(?: context left)?\)"
_SIDE_BY_SIDE = rf"{_FOLDER} {{2,}}{_COLUMN} {{2,}}\S+ {_USED}"
_WRAPPED_COLUMNS = (
    rf"(?: {{2,}}[^\s›●❯>│].*\n)?(?={_FOLDER} {{2,}}\S).+\n"
    rf"(?!{_NUMBERED})(?:{_COLUMN})? {{2,}}(?:{_COLUMN} +)?{_USED}"
)
_LEFT = rf"(?![\s\S]*\[(?:NOR|INS))(?:{_SIDE_BY_SIDE}|{_WRAPPED_COLUMNS})"
"""The folder, the sandbox, the model and how much context is left, side by side, each wrapped in a narrow terminal.

Vim's mode would stand before them, and a list of completions above, each after one blank.
"""
BOX_AND_CONTEXT = _layout(_BOX + _LEFT)
"""Qwen Code 0.1 to 0.4, Gemini CLI up to 0.8."""
RULES_AND_CONTEXT = _layout(rf"{_RULE}\n {_IN_BAND}\n{_RULE}\n{_BELOW}{_LEFT}")
"""Qwen Code 0.5."""
_STATUS = rf"(?:  ➜ (?=\S.*(?: ·|…\n)).+\n(?:  (?!{_NUMBERED})[^\s›●❯>│].*\n){{0,2}})?"
_CONTEXT = r"\d[\d.]*% (?:context )?used"
_MODE = (
    r"  (?:\? for shortcuts|Enter to steer · Ctrl\+Q .+"
    r"|(?:⏸ )?(?:Ask permissions|[Aa]uto-accept edits|Auto mode|YOLO mode|plan mode)(?: \([^()\n]*[)…]|…)?)"
)
RULES_AND_MODE = _layout(
    rf"{_RULE}\n{_IN_RULES}\n{_RULE}\n{_BELOW}{_STATUS}{_MODE}(?: {{2,}}{_CONTEXT})?(?:\n  {_CONTEXT})?"
)
"""Qwen Code since 0.8: perhaps a line of status, then the approval mode, with the used context beside or below it."""
_MODEL = r"(?:\S+|Auto \([^()\n]+\))"
BOX_AND_MODEL = _layout(rf"{_BOX} {_FOLDER} {{2,}}{_COLUMN} {{2,}}{_MODEL} /model(?: {_USED})?")
"""Gemini CLI 0.9 to 0.30."""
_BAND = r"(?:[─▀▄]{18,}|)"
RULES_AND_MODEL = _layout(
    rf"[─▀▄]{{18,}}\n {_IN_BAND}\n[─▀▄]{{18,}}\n{_BELOW} {_FOLDER} {{2,}}{_COLUMN} {{2,}}/model {_MODEL}(?: {_USED})?"
)
"""Gemini CLI 0.31; in a terminal with all colors the rules are the edges of a band."""
RULES_AND_COLUMNS = _layout(
    rf"{_RULE}\n (?:(?:auto-accept edits |plan )?Shift\+Tab to .+|YOLO .+)\n(?:{_BAND}\n){{0,3}} {_IN_BAND}\n"
    rf"(?:{_BAND}\n)?{_BELOW} workspace(?: \(/directory\))?(?: {{2,}}\S+)+\n {_FOLDER}(?: {{2,}}{_COLUMN})+"
)
"""Gemini CLI 0.61: the approval mode above, and columns with their titles below."""
_OWN = r"(?!  |[›●❯]|\d+[.)](?!\S))"
"""How a text begins after the “❯” of the others: not like the row of a list."""
_HINT = r"(?: +(?:[○◔◐◑◕●] .+|Ctrl\+Y .+|ctrl\+g .+))?"
_CHIP = r"(?:\[⧉ [^\]\n]+\](?: |(?=\n)))?"
"""What is selected in the editor, which goes with the prompt."""
_CLAUDE_MODE = (
    r"  (?:-- INSERT -- )?(?:⏸|⏵⏵) (?:(?:manual|plan|auto) mode|accept edits|bypass permissions) on"
    r"(?: \(shift\+tab to(?: cycle\))?)?(?: · (?:\? for shortcuts|esc to interrupt))?(?: · ← f(?:or agents|…)| …)?"
)
CLAUDE = _layout(
    rf"{_HINT}\n{_RULE}\n❯(?:\u00a0{_CHIP}(?P<text>(?:{_OWN}.+(?:\n(?:  .*)?)*)?))?\n{_RULE}\n{_BELOW}{_CLAUDE_MODE}"
)
"""Claude Code 2.1, whose lists have a plain blank after the “❯”. It takes a paste in each of Vim's modes."""
_COPILOT_MODE = (
    r" (?:(?:← open sidebar · )?(?:Interactive|Plan|Autopilot) · \w[\w ]*?(?: ·(?: (?:/ com|@ files).*)?)?(?: {2,}\S+)?"
    r"|[○◎◉●] Working.*)"
)
COPILOT = _layout(
    rf" {_FOLDER}(?: {{2,}}\S+)?\n{_RULE}\n❯(?: (?P<text>{_OWN}.+(?:\n(?:  .*)?)*))?\n{_RULE}\n{_BELOW}{_COPILOT_MODE}"
)
"""Copilot CLI 1.0."""
_OPENCODE_WORDS = r"  Ask anything… \"[^\"\n]+(?:\n +┃  [^\"\n]+){0,3}\""
_OPENCODE_LINE = (
    rf"(?: {{3,}}(?:[■⬝]{{4,}} |{_FOLDER}).*ctrl\+p.*(?:\n {{3,}}[\w.].*){{0,6}}"
    rf"| +(?:\S+ *)?tab agents +ctrl\+p\s+commands\n+  {_FOLDER} {{2,}}\d[\d.]+)"
)
OPENCODE = re.compile(
    rf"(?:\A|(?:\A|\n)(?! +┃).*\n) +┃\n +┃(?P<text>)(?:{_OPENCODE_WORDS})?"
    rf"\n +┃\n +┃  \w[\w ]* · .+\n +╹▀{{18,}}\n{_BELOW}{_OPENCODE_LINE}\Z"
)
"""OpenCode 1.18, on its first screen and later. A text in its prompt is none here: it is told by its connection."""
_COVERED = re.compile(r" {3}esc(?:/enter)?(?: {2}.*)?$")
"""The title of a dialog of OpenCode's, which covers everything but the prompt."""
_ASKS = re.compile(
    r"[?\uff1f](?! for shortcuts| help)|[\[(]\w{1,5}/\w{1,5}[\])]|[:>$#❯⟩λ]$|passw|passphrase",
    re.IGNORECASE | re.MULTILINE,
)
"""What no line below a frame has: folders and models are any text, but a question isn't one."""


def prompt_text(lines: Sequence[str], layouts: Sequence[Layout]) -> str | None:
    """The text in the prompt of one of these layouts that a terminal with these lines ends with, wrapped as there.

    Empty if nothing is typed; None without such a prompt.
    """
    ends = [line.rstrip(f" {_WRAPPED}\u00a0") for line in lines]
    while ends and not ends[-1]:
        ends.pop()
    text = "\n".join(ends[-_LINES:])
    found = next((match for layout in layouts if (match := layout.search(text))), None)
    if found is None or _ASKS.search(text, found.start("below")) or any(map(_COVERED.search, ends[-HEIGHT:])):
        return None
    return found["text"] or ""
