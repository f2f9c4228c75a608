"""Why a line is there: its own prompt and its own sentence, or nothing."""

from __future__ import annotations

import random
import re
import time
from itertools import pairwise

import pytest

from companion.changes.change_screen import Listing
from companion.changes.rows import ChangeRow
from companion.exclusion import Sharing
from companion.provenance.calls import ReportedTurn, TextReplacement, WritingCall
from companion.provenance.log import LoggedCall, LoggedTurn, Run
from companion.provenance.why import log_turn, review_report

from .turns import Desk, numbered

NOW = time.mktime((2026, 11, 26, 14, 5, 0, 0, 0, -1))
SHOP = """\
PRICES = {"Dune": 9.0}


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


def shop(desk: Desk) -> None:
    """Three prompts: the file, a check, and a rounded sum."""
    desk.turn("Write a shop", (None, SHOP, "A dict is enough."))
    desk.turn("Refuse titles that we do not sell", (LOOP, CHECK + LOOP, "A KeyError says too little."))
    desk.turn(
        "Round it, and name the currency",
        ("return amount", "return round(amount, 2)", "Cents are the smallest coin."),
        ('PRICES = {"Dune": 9.0}\n', 'PRICES = {"Dune": 9.0}\nCURRENCY = "EUR"\n', "Everything is in euros."),
    )


def test_each_change_of_three_prompts_leads_to_its_own_prompt_and_sentence(desk: Desk) -> None:
    shop(desk)
    assert desk.said("amount += PRICES") == [("Write a shop", "A dict is enough.")]
    assert desk.said("raise ValueError") == [("Refuse titles that we do not sell", "A KeyError says too little.")]
    assert desk.said("return round") == [("Round it, and name the currency", "Cents are the smallest coin.")]
    assert desk.said("CURRENCY") == [("Round it, and name the currency", "Everything is in euros.")]


def test_a_piece_that_begins_in_the_middle_of_a_line_stands_for_the_whole_line(desk: Desk) -> None:
    desk.write("total = price_of(title)\nother = 1\n")
    desk.turn("Times copies", ("price_of(title)", "price_of(title) * copies", "There may be several."))
    assert desk.said("total =") == [("Times copies", "There may be several.")]
    assert desk.said("other") == [("", "")]


def test_a_line_of_the_persons_own_leads_to_nothing(desk: Desk) -> None:
    desk.write("import os\nhome_of_everything = os.environ['HOME']\n")
    shop_line = "where_it_all_is = home_of_everything\n"
    desk.turn("Where?", ("import os\n", "import os\n" + shop_line, "So."))
    desk.save(desk.text() + "my_own_line_of_text = where_it_all_is\n")
    assert desk.said("my_own_line") == desk.said("home_of_everything =") == [("", "")]


def test_a_line_that_was_not_saved_yet_leads_to_nothing_even_if_an_agent_has_written_one_like_it(desk: Desk) -> None:
    shop(desk)
    text = desk.text() + '\nCURRENCY = "EUR"\n'
    assert desk.said("CURRENCY", text=text)[1] == ("", "")
    moved = desk.text().replace('CURRENCY = "EUR"\n', "") + 'CURRENCY = "EUR"\n'
    assert desk.said("CURRENCY", text=moved) == [("", "")]


def test_a_line_that_was_taken_away_and_that_the_person_writes_anew_is_theirs(desk: Desk) -> None:
    shop(desk)
    before = desk.text()
    desk.save(before.replace(CHECK, ""))
    desk.save(before)
    assert desk.said("raise ValueError") == desk.said("if title not in") == [("", "")]
    assert desk.said("return round") != [("", "")]


def test_what_the_person_writes_anew_is_theirs_also_after_the_clock_was_set_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(desk)
    before, now = desk.text(), time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3600)
    desk.save(before.replace(CHECK, ""))
    desk.save(before)
    assert desk.said("raise ValueError") == [("", "")]
    monkeypatch.undo()
    desk.turn("Once more", (CHECK, CHECK.replace("sell", "have"), "It is shorter."))
    assert desk.said("raise ValueError") == [("Once more", "It is shorter.")]


def test_what_the_person_writes_anew_is_theirs_also_where_the_system_compares_paths_in_lower_case(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Windows does."""
    monkeypatch.setattr("os.path.normcase", str.lower)
    line = "the_price_of_everything = 1\n"
    desk.write(numbered(5), "Shop.py")
    desk.turn("Write it", ("line number 2 of 5\n", "line number 2 of 5\n" + line, "So."), name="Shop.py")
    assert desk.said("the_price", "Shop.py") == [("Write it", "So.")]
    desk.save(numbered(5), "Shop.py")
    desk.save(numbered(5).replace("line number 4", line + "line number 4"), "Shop.py")
    assert desk.said("the_price", "Shop.py") == [("", "")]


def test_what_the_person_writes_anew_in_a_turn_that_is_told_twice_is_theirs(desk: Desk) -> None:
    """A reload ends a turn with what was done in it so far, and the next instance tells all of it."""
    path = desk.folder / "a.py"
    line, more = 'print("hello to everybody")\n', 'print("goodbye to everybody")\n'
    desk.write(line)
    calls = [WritingCall("c1", "edit", (TextReplacement(str(path), None, line),), "Short.")]

    def told() -> list[LoggedTurn]:
        turn = ReportedTurn("Agent", "Write it", tuple(calls), session="s", turn="t")
        return log_turn(desk.log, [desk.sharing], turn, [(str(path), "", desk.text())])

    told()
    desk.save("")
    desk.save(line)
    assert desk.said("hello") == [("", "")]
    desk.write(line + more)
    calls.append(WritingCall("c2", "edit", (TextReplacement(str(path), line, line + more),), "Polite."))
    assert [call.id for turn in told() for call in turn.calls] == ["c2"]
    assert told() == []
    assert desk.said("hello") == [("", "")]
    assert desk.said("goodbye") == [("Write it", "Polite.")]


def test_what_is_left_after_an_undo_leads_where_it_did_and_so_does_what_is_taken_back(desk: Desk) -> None:
    shop(desk)
    text, known = desk.text(), {words: desk.said(words) for words in ("raise ValueError", "return round", "CURRENCY")}
    desk.write(text.replace(CHECK, ""))
    assert desk.said("raise ValueError") == []
    assert {words: desk.said(words) for words in ("return round", "CURRENCY")}.items() <= known.items()
    desk.write(text)
    assert {words: desk.said(words) for words in known} == known


def test_lines_that_were_moved_in_the_file_are_found_by_their_text(desk: Desk) -> None:
    shop(desk)
    text = desk.text()
    desk.save(text.replace('CURRENCY = "EUR"\n', "") + '\n\nCURRENCY = "EUR"\n')
    assert desk.said("CURRENCY") == [("Round it, and name the currency", "Everything is in euros.")]


def test_lines_that_a_formatter_has_indented_and_spaced_otherwise_are_found(desk: Desk) -> None:
    shop(desk)
    desk.write("".join(f"\t{line.replace(' = ', '=').replace(', ', ',')}\r\n" for line in desk.text().split("\n")))
    assert desk.said("raise ValueError") == [("Refuse titles that we do not sell", "A KeyError says too little.")]
    assert desk.said("CURRENCY") == [("Round it, and name the currency", "Everything is in euros.")]


def test_the_same_text_written_twice_leads_to_the_prompt_of_each_place(desk: Desk) -> None:
    desk.write(numbered(20) + numbered(20, "row"))
    line = "the_same_call_of_both(1)\n"
    desk.turn("First", ("line number 5 of 20\n", "line number 5 of 20\n" + line, "one"))
    desk.turn("Second", ("row number 5 of 20\n", "row number 5 of 20\n" + line, "two"))
    assert desk.said("the_same_call") == [("First", "one"), ("Second", "two")]


def test_the_same_text_in_places_that_cannot_be_told_apart_leads_to_nothing(desk: Desk) -> None:
    line = "the_same_call_of_both(1)\n"
    desk.write(numbered(5))
    desk.turn("First", ("line number 2 of 5\n", "line number 2 of 5\n" + line, "one"))
    desk.write(numbered(5, "other").replace("other number 1 of 5\n", line).replace("other number 3 of 5\n", line))
    assert desk.said("the_same_call") == [("", ""), ("", "")]


def test_a_short_line_that_anybody_may_have_written_leads_to_nothing_where_nothing_around_it_fits(desk: Desk) -> None:
    desk.write(numbered(5))
    desk.turn("A loop", ("line number 2 of 5\n", "line number 2 of 5\nelse:\n}\n", "so"))
    desk.write("else:\nsomething else\n}\n")
    assert desk.said("else:") == desk.said("}") == [("", "")]


def test_a_line_that_was_there_before_stays_whose_it_was_when_a_tool_writes_the_whole_file(desk: Desk) -> None:
    desk.write("mine_and_nobody_elses = 1\n" + numbered(5))
    text = "mine_and_nobody_elses = 1\n" + numbered(5) + "the_line_of_the_agent = 2\n"
    desk.turn("Add a line", (None, text, "It tells nothing of what was there."))
    assert desk.said("mine_and") == [("", "")]
    assert desk.said("the_line_of") == [("Add a line", "It tells nothing of what was there.")]


def test_without_snapshots_a_tool_that_does_not_say_what_was_there_says_nothing(desk: Desk) -> None:
    desk.write("mine_and_nobody_elses = 1\n")
    desk.turn("Add", (None, "mine_and_nobody_elses = 1\nthe_line_of_the_agent = 2\n", "x"), seen=False)
    assert desk.said("mine_and") == desk.said("the_line_of") == [("", "")]


def test_without_snapshots_what_was_replaced_says_what_was_there(desk: Desk) -> None:
    desk.write(SHOP)
    desk.turn("Refuse", (LOOP, CHECK + LOOP, "A KeyError says too little."), seen=False)
    assert desk.said("raise ValueError") == [("Refuse", "A KeyError says too little.")]
    assert desk.said("amount += PRICES") == [("", "")]


def test_a_call_that_says_what_it_has_not_done_is_not_believed(desk: Desk) -> None:
    desk.write(SHOP)
    desk.turn("Lie", (LOOP, CHECK + LOOP, "I have."), (None, SHOP + "never_written_anywhere = 1\n", "x"), writes=False)
    assert desk.said("amount += PRICES") == [("", "")]
    desk.save(desk.text() + "never_written_anywhere = 1\n")
    assert desk.said("never_written") == [("", "")]


def test_what_the_person_or_another_program_writes_during_a_turn_is_not_the_agents(desk: Desk) -> None:
    desk.write(SHOP)
    other = "written_by_another_program = True\n"
    after = SHOP.replace(LOOP, CHECK + LOOP) + other
    desk.turn("Refuse", (LOOP, CHECK + LOOP, "Too little."), meanwhile=after)
    assert desk.said("written_by_another") == [("", "")]
    assert desk.said("raise ValueError") == [("Refuse", "Too little.")]


def test_two_agents_at_once_in_one_file_have_each_their_own_lines(desk: Desk) -> None:
    start = numbered(10)
    one, two = "the_line_of_agent_one = 1\n", "the_line_of_agent_two = 2\n"
    after = start.replace("line number 2 of 10\n", "line number 2 of 10\n" + one)
    after = after.replace("line number 7 of 10\n", "line number 7 of 10\n" + two)
    desk.write(after)
    first = ("line number 2 of 10\n", "line number 2 of 10\n" + one, "for one")
    second = ("line number 7 of 10\n", "line number 7 of 10\n" + two, "for two")
    desk.turn("One", first, agent="One", writes=False, before=start)
    desk.turn("Two", second, agent="Two", writes=False, before=start)
    assert desk.said("agent_one") == [("One", "for one")]
    assert desk.said("agent_two") == [("Two", "for two")]
    assert desk.said("line number 2 of 10") == [("", "")]


def test_what_others_have_written_in_a_turn_stays_theirs_when_a_tool_writes_the_whole_file(desk: Desk) -> None:
    """The tool does not say what was there, so nothing else tells that it has read the lines of others before."""
    start, mine = "first = 1\nsecond = 2\n", "third = 'of the person alone'\n"
    desk.write(start)
    began = time.time()
    desk.turn("Check", ("first = 1\n", "first = 1\n" + CHECK, "I check."), agent="One")
    desk.turn("Write it", (None, mine, "An agent's, once."), before="")
    desk.write(start.replace("first = 1\n", "first = 1\n" + CHECK))
    desk.save(desk.text() + mine)
    whole = desk.text() + LOOP
    desk.turn("Add it up", (None, whole, "I add it up."), agent="Two", before=start, began=began)
    assert desk.said("raise ValueError") == [("Check", "I check.")]
    assert desk.said("of the person") == [("", "")]
    assert desk.said("amount +=") == [("Add it up", "I add it up.")]
    desk.write(start)
    desk.turn("Again", (None, whole, "Once more."), agent="Two", before=start, began=time.time() + 1)
    assert desk.said("raise ValueError") == [("Again", "Once more.")]


def test_a_line_that_an_agent_only_moves_or_indents_stays_whose_it_was(desk: Desk) -> None:
    desk.write("mine_and_nobody_elses = 1\n" + numbered(5))
    text = "if True:\n    mine_and_nobody_elses = 1\n" + numbered(5)
    desk.turn("Indent", (desk.text(), text, "x"))
    assert desk.said("mine_and") == [("", "")]


def test_what_is_excluded_never_enters_the_log_and_is_never_answered(desk: Desk) -> None:
    desk.exclude = ("secret/**",)
    desk.turn("Write", (None, "the_password_of_everything = 1\n", "x"), name="secret/a.py")
    assert not list(desk.stores.glob("*.why")) if desk.stores.exists() else True
    desk.turn("Write", (None, "the_password_of_everything = 1\n", "x"), name="open.py")
    assert desk.said("password", "open.py") == [("Write", "x")]
    assert desk.why(0, name="open.py", told=Sharing(exclude=("*.py",), folders=(str(desk.folder),))) == []


def test_what_the_person_saves_in_a_file_that_is_excluded_by_now_is_not_logged(desk: Desk) -> None:
    line = "the_price_of_everything = 1\n"
    desk.turn("Write", (None, line, "x"))
    before = {path: path.read_bytes() for path in desk.stores.glob("*.why")}
    desk.exclude = ("*.py",)
    desk.save("")
    desk.save(line)
    assert {path: path.read_bytes() for path in desk.stores.glob("*.why")} == before


def test_what_is_outside_of_the_windows_folders_is_not_logged(desk: Desk) -> None:
    desk.turn("Write", (None, "a_line_that_is_elsewhere = 1\n", "x"), name="../elsewhere.py")
    assert desk.why(0, name="../elsewhere.py") == []


def test_a_window_with_a_folder_above_finds_the_log_of_the_one_below(desk: Desk) -> None:
    desk.turn("Write", (None, "a_line_in_a_folder_below = 1\n", "x"), name="sub/a.py")
    above = Sharing(folders=(str(desk.folder.parent),))
    assert [each.turn.prompt for each in desk.why(0, name="sub/a.py", told=above)] == ["Write"]


def test_each_line_of_a_random_history_leads_to_its_own_call_or_to_nothing(desk: Desk) -> None:
    """Agent and person write at random; each line that the agent writes has its number in it."""
    chance = random.Random(7)  # noqa: S311 - the same each time
    truth: dict[str, str] = {}
    desk.write(numbered(30, "start"))
    for number in range(40):
        lines = desk.text().splitlines(keepends=True)
        at = chance.randrange(len(lines))
        if chance.random() < 0.4:
            chance.shuffle(lines) if chance.random() < 0.1 else lines.insert(at, f"own line {number} of mine\n")
            if chance.random() < 0.3:
                lines.insert(chance.randrange(len(lines)), chance.choice(lines))
            del lines[chance.randrange(len(lines))]
            desk.save("".join(lines))
        else:
            new = f"the agent wrote {number} here\n"
            old = "".join(lines[at : at + 3])
            if "".join(lines).count(old) == 1:
                truth[new.strip()] = f"said {number}"
                desk.turn(
                    f"prompt {number}", (old, lines[at] + new + "".join(lines[at + 1 : at + 3]), f"said {number}")
                )
    for row, line in enumerate(desk.text().splitlines()):
        for reason in desk.why(row):
            assert truth.get(line.strip()) == reason.call.reason
    known = [line for line in desk.text().splitlines() if line in truth]
    assert len([line for line in known if desk.said(line)[0][0]]) > len(known) // 2


@pytest.mark.parametrize("count", [10_000])
def test_a_file_of_ten_thousand_lines_has_its_answers(desk: Desk, count: int) -> None:
    desk.turn("Write all", (None, numbered(count), "at once"))
    assert [each.rows for each in desk.why(*range(500, 600))] == [tuple(range(500, 600))]
    rows = [desk.why(row)[0].rows for row in (0, count // 2, count - 1)]
    assert all(one < other for one, other in pairwise(rows))


def row_of(path: str) -> ChangeRow:
    return ChangeRow("/p", path, "modified", ("Agent",), 3, 1, 1, "", "", "", "")


def test_it_has_turns_with_prompts_and_reasons_decisions_and_comments() -> None:
    run = Run((), ("a", "b"), ())
    call = LoggedCall("shop.py", (run,), reason="A KeyError\nsays too little.", asked="And round it")
    turn = LoggedTurn(NOW, "Agent", (call,), model="m-1", prompt="Refuse titles\nthat we do not sell")
    person = LoggedTurn(NOW, "", (LoggedCall("mine.py", ()),))
    listing = Listing((row_of("shop.py"),), ((row_of("a`b.py"), "kept"),))
    assert review_report([turn, person], listing, "`shop.py` line 3\nToo long.", NOW) == (
        "# Review of 2026-11-26 14:05\n\n"
        "## Agent · m-1 · 2026-11-26 14:05\n\n"
        "> Refuse titles\n> that we do not sell\n\n"
        "- `shop.py`, 2 lines (asked: And round it): A KeyError says too little.\n\n"
        "## Waits for a review\n\n- `shop.py` +3 −1\n\n"
        "## Reviewed\n\n- `` a`b.py `` +3 −1: kept\n\n"
        "## Comments\n\n`shop.py` line 3\nToo long.\n"
    )


def test_nothing_that_an_agent_says_is_markdown_or_acts() -> None:
    hostile = "\x1b[201~ [x](http://y) <img src=x> # **b** `c`"
    call = LoggedCall("a\n# b.py", (), reason=hostile, asked=hostile)
    text = review_report([LoggedTurn(NOW, hostile, (call,), prompt=f"x\n# {hostile}")], Listing(), "", NOW)
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "<img" not in text.replace("\\<", "")
    assert [line for line in text.split("\n") if line.startswith("#")][1:] == [text.split("\n")[2]]
