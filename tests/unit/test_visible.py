"""Text for a terminal or the clipboard: what acts or hides is shown by its number."""

from __future__ import annotations

import os
import unicodedata

import pytest

from companion.agents import named_variables
from companion.changes import rows
from companion.chats.transcript.plain import spelled
from companion.platforms import files
from companion.registry import archives
from companion.review import document
from companion.visible import ShownText, is_plain, shown_line, visible, visible_name

ENDS_PASTE = "x\x1b[201~\rtouch PWNED\r.py"
CONTROLS = [chr(code) for code in [*range(0x20), 0x7F, *range(0x80, 0xA0)] if chr(code) not in "\t\n\r"]
HIDDEN = (
    "\u200b\u200d\u200e\u200f\u202a\u202e\u2028\u2029\u2060\u2066"
    "\u2069\ufeff\u00ad\u061c\u180e\u3164\U00016fe4\U0001d159\U000e0041\U000e0100"
)
HALVES = [chr(code) for code in (0xD800, 0xDC80, 0xDFFF)]


@pytest.mark.parametrize("character", [*CONTROLS, *HIDDEN, *HALVES], ids=ascii)
def test_each_character_that_acts_or_hides_is_shown_by_its_number(character: str):
    shown = ShownText(f"a{character}b").text
    assert shown.isprintable()
    assert f"{ord(character):x}" in shown
    assert visible_name(f"a{character}b") == shown
    assert not is_plain(f"a{character}b")


def test_every_format_character_that_cannot_be_seen_is_shown():
    """All of Unicode's, but for the signs of Arabic, Syriac and Kaithi that are drawn before what they belong to."""
    drawn = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    formats = {code for code in range(0x110000) if unicodedata.category(chr(code)) in {"Cf", "Cc", "Cs", "Zl", "Zp"}}
    assert [hex(code) for code in formats - drawn - {0x9, 0xA} if is_plain(chr(code))] == []


@pytest.mark.parametrize("text", ["a\ufe0f", "\ufe0e", "❤\ufe0f\ufe0e", "é\ufe0f", "😀\ufe0f\ufe0f", " \ufe0e\ufe0e"])
def test_no_row_of_selectors_is_a_text_that_nobody_sees(text: str):
    """Two of them are enough for the bits of any text."""
    assert not is_plain(text)
    assert "\\ufe0" in visible(text)
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize("text", ["❤\ufe0f", "1\ufe0f\u20e3", "☺\ufe0e", "©\ufe0f", "⚠\ufe0f text", "🅰\ufe0f"])
def test_a_selector_that_chooses_how_an_emoji_is_drawn_stays(text: str):
    assert visible(text) == text


def test_a_text_keeps_its_lines_and_tabs_and_a_name_has_neither():
    assert ShownText("a\tb\nc\r\nd\re").text == "a\tb\nc\nd\ne"
    assert visible_name("a\tb\nc\r\nd") == "a\\x09b\\x0ac\\x0d\\x0ad"
    assert shown_line("line\nrm -rf ~\r").text == "line\\x0arm -rf ~\\x0d"


def test_a_name_that_would_end_a_paste_is_text():
    assert visible_name(ENDS_PASTE) == "x\\x1b[201~\\x0dtouch PWNED\\x0d.py"
    assert visible_name("x\x9b201~") == "x\\x9b201~"


def test_a_name_of_bytes_that_are_no_text_is_shown():
    assert visible_name(os.fsdecode(b"a\xff.py") if os.name != "nt" else "a\udcff.py") == "a\\udcff.py"


def test_what_everyone_reads_stays_as_it_is():
    text = "é 😀 שלום ünïcode ❤\ufe0f 'x' \"y\" \\ $HOME `z`\n\tnext"
    assert ShownText(text).text == text
    assert visible(visible(ENDS_PASTE)) == visible(ENDS_PASTE)


@pytest.mark.parametrize(
    "mark", ["!", "/", "?", "#", " !", "\n/", "\t?", "$", "%", "&", ";", "|", ":", "\\", "=", "~", "+"]
)
def test_no_message_begins_as_a_command_of_a_cli(mark: str):
    prompt = ShownText(f"{mark}touch PWNED").as_prompt
    assert prompt == f"- {mark.strip()}touch PWNED"


@pytest.mark.parametrize("text", ["@app.py line 1 ", "why?", '"a b"', "`x`", "- a list", "éé", "1. first", "(so)"])
def test_other_messages_stay_as_they_are(text: str):
    assert ShownText(text).as_prompt == text


def test_blanks_before_a_message_go_and_those_after_it_stay():
    assert ShownText("  \n why ").as_prompt == "why "
    assert not ShownText("").as_prompt


def test_a_joiner_is_spelling_between_letters_and_shown_anywhere_else():
    for text in ("می\u200cرود", "क्\u200dष", "👩\ufe0f\u200d💻"):
        assert visible(text) == text
    for text in (
        "a\u200cb",
        "\u200dab",
        "می\u200c\u200c\u200dخ",
        "می\u200c",
        "é\u200d b",
        "\u200c\u200d\u200c",
        "\u2066\u200d\u2066",
        "خ\u200c\x9b",
        "👩\u200d\ufe0e",
    ):
        assert "\u200c" not in visible(text)
        assert "\u200d" not in visible(text)


@pytest.mark.parametrize("character", [*CONTROLS, *HIDDEN], ids=ascii)
def test_what_acts_or_hides_does_so_in_no_question_either(character: str):
    """Fillers and marks without width could hide a part of a command that the person says yes to."""
    shown = spelled(f"a{character}b")
    assert shown.isprintable()
    assert shown not in {f"a{character}b", "ab"}


@pytest.mark.parametrize("hidden", ["\x1b", "\n", "\u115f", "\u202e", "\u3164", "\ufe00", "\U000e0041", "\udc80"])
def test_what_acts_or_hides_is_a_number_wherever_a_name_or_a_line_is_in_a_sentence(hidden: str):
    number = visible_name(hidden)
    text = f"a{hidden}b"
    assert files.shown(text) == f"a{number}b"
    assert rows.quoted([text]) == archives._quoted(text) == f"“a{number}b”"
    assert document._line(text) == ("a b" if hidden == "\n" else f"a{number}b")


def test_variables_that_decide_something_come_before_a_question_is_cut():
    names = [*(f"HARMLESS_{at}" for at in range(500)), "NODE_OPTIONS"]
    assert named_variables(names).startswith("NODE_OPTIONS (decides which code is loaded), HARMLESS_0, ")
