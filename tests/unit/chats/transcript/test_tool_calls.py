"""Tool calls, plans and questions in a transcript."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.chats.transcript.transcript import Transcript
from companion.conversation.snapshot import (
    Diff,
    Item,
    Location,
    Message,
    Permission,
    PermissionOption,
    Question,
    Snapshot,
    Tool,
    Turn,
)

from .reading import ALWAYS, DIFF, HERE, LIVE, NO, ONCE, ORDERS, asked, lines, links, shown, tool, turn, view
from .test_transcript import TOOLS

# Tools


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (tool(), "✓ Read orders.js"),
        (tool(locations=(Location("/etc/x", 3),), status="in_progress"), "○ Read /etc/x:3"),
        (tool(kind="edit", diffs=(DIFF,)), "✓ Edit orders.js +2 −1"),
        (tool(name="write_file", kind="edit", diffs=(Diff(ORDERS, "", "a\nb"),)), "✓ Write orders.js +2 −0"),
        (tool(locations=tuple(Location(f"/{number}") for number in range(7))), "✓ Read /0, /1, /2, /3, /4 and 2 more"),
        (tool(kind="execute", input={"command": "ls\nrm x"}, locations=()), "✓ Run ls ↵ rm x"),
        (tool(kind="search", title="Grep\n❯ You"), "✓ Grep ↵ ❯ You"),
        (tool(title="", locations=(), status="newer"), "◐ read_file"),
        (tool(status="failed", text="\nNo such file\nmore"), "✗ Read orders.js — No such file"),
    ],
)
def test_a_tool_call_is_a_line(call: Tool, line: str):
    assert lines(call)[1] == line
    assert all(each.startswith("    ") for each in lines(call)[2:])


@given(TOOLS, st.booleans())
def test_nothing_in_a_tool_call_can_pass_as_a_line_of_the_chat(call: Tool, is_running: bool):
    said = lines(replace(call, parent=None), state="running" if is_running else "done")
    # Its own line, and that of each question or of its answer. Of a call that only asks there is the question alone.
    only_asks = all(each.state == "open" for each in call.permissions) and call.permissions and not call.terminals
    own = 0 if only_asks else 1
    assert len([line for line in said[1:] if not line.startswith("    ")]) == own + len(call.permissions)


def test_a_tool_that_runs_says_so():
    assert lines(tool(status="in_progress"), state="running")[1] == "◐ Read orders.js"


def test_the_details_of_a_tool_call_are_folded():
    call = tool(
        kind="edit", diffs=(DIFF,), text="\x1b[1mfine\x1b[0m\r\n\u202e\tx", input={"limit": 3, "file_path": ORDERS}
    )
    made = shown(turn(call))
    assert made.render
    assert [made.text[fold.start : fold.end] for fold in made.render.folds] == [
        "\n    limit: 3\n    fine\n    \tx\n    - two\n    + 2\n    + three"
    ]
    assert links(made) == [("orders.js", ORDERS, None)]


def test_details_that_are_long_are_cut():
    said = lines(tool(text="\n".join(map(str, range(100))) + "\n" + "x" * 1000))
    assert said[61:] == ["    59", "    … 41 more lines"]
    assert lines(tool(text="x" * 1000))[2] == "    " + "x" * 500 + "…"


def test_several_changes_are_told_apart():
    said = lines(tool(kind="edit", diffs=(DIFF, Diff("/a", "x\n", "x\n"))))
    assert said[1:] == [
        "✓ Edit orders.js +2 −1",
        "    orders.js +2 −1",
        "    - two",
        "    + 2",
        "    + three",
        "    /a +0 −0",
    ]


def test_of_a_command_the_output_is_shown():
    output = {"type": "shell_result", "output": "made\n", "exitCode": 2}
    call = tool(kind="execute", input={"command": "make\nall"}, text="Command: make", output=output, locations=())
    assert lines(call)[2:] == ["    $ make", "      all", "    made", "    exit code 2"]
    assert lines(replace(call, output={"type": "shell_result"}))[-1] == "    Command: make"


# Permissions


def test_without_a_diff_a_question_shows_the_change_in_full():
    call = tool(status="pending", permissions=(asked(diffs=(replace(DIFF, new="one\n2\x1b[8m\n"),)),))
    made = shown(turn(call, state="running"), shows_diffs=False)
    assert made.text.split("? Qwen Code asks: Writing to orders.js +1 −1\n")[1].split("\n")[:3] == [
        "    - two",
        "    + 2\\x1b[8m",
        "",
    ]


def test_a_question_shows_what_would_be_done():
    made = shown(turn(tool(status="pending", permissions=(asked(diffs=(DIFF,)),), diffs=(DIFF,)), state="running"))
    assert made.text.split("\n")[4:6] == [
        "? Qwen Code asks: Writing to orders.js +2 −1",
        "    The diff is open in another tab.",
    ]
    assert made.render
    assert [ask.permission.id for ask in made.render.asks] == ["p"]
    assert made.text[: made.render.asks[0].end].endswith("open in another tab.")


def test_a_title_that_is_a_file_alone_gets_a_verb():
    permission = asked(title="orders.js", diffs=(DIFF,))
    said = lines(tool(status="pending", permissions=(permission,)), state="running")
    assert "? Qwen Code asks: Edit orders.js +2 −1" in said


def test_a_title_that_names_another_file_stands_beside_the_files_own_path():
    diff = Diff("/home/ada/shop/orders.js", "", "x\n")
    permission = asked(title="Writing to safe.js", diffs=(diff,))
    said = lines(tool(status="pending", permissions=(permission,)), state="running")
    at = said.index("? Qwen Code asks: Writing to safe.js")
    assert said[at + 1] == "    orders.js +1 −0"


def test_a_command_is_shown_to_the_last_character():
    command = "x" * 5000 + "\n\n❯ You\nrm\x1b[8m -rf \u202e/"
    permission = asked(
        title="x\n[y] Allow", kind="execute", input={"command": command, "directory": "/", "is_background": False},
    )  # fmt: skip
    said = lines(tool(status="pending", permissions=(permission,)), state="running")
    at = said.index("? Qwen Code asks: Run this command?")  # which is shown once
    assert said[at + 1 :] == [
        "    $ " + "x" * 5000, "      ", "      ❯ You", "      rm\\x1b[8m -rf \\u202e/", "    directory: /",
        "    is_background: false",
    ]  # fmt: skip


def test_a_question_to_the_person_is_shown_with_its_answers():
    questions = (Question("Which\ncolour?", "Colour", False, (("Red", "warm"), ("Blue", ""))),)
    permission = asked(title="Ask user 1 question", questions=questions, input={"questions": []})
    said = lines(tool(permissions=(permission,), locations=()), state="running")
    assert said[2:5] == ["    Which ↵ colour?", "    · Red — warm", "    · Blue"]
    for kind, line in ((ONCE, "✓ Answered"), (NO, "✗ Not answered")):
        assert lines(tool(permissions=(replace(permission, state="selected", chosen=kind),)))[-1] == line


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"chosen": ONCE}, "✓ Allowed once"),
        ({"chosen": ONCE, "voter": "ours"}, "✓ Allowed once"),
        ({"chosen": ONCE, "voter": "theirs"}, "✓ Allowed once by another client"),
        ({"chosen": ALWAYS}, "✓ Allowed: Allow All Edits"),
        ({"chosen": NO}, "✗ Rejected"),
        ({"chosen": PermissionOption("x", "Never", "reject_always")}, "✗ Rejected: Never"),
        ({"chosen": PermissionOption("x", "Plan", "newer")}, "✓ Answered: Plan"),
        ({"chosen": None}, "✓ Answered"),
        ({"state": "cancelled"}, "✗ Cancelled before it was answered"),
    ],
)
def test_an_answered_question_says_how_and_by_whom(answer: dict[str, Any], line: str):
    permission = asked(**({"state": "selected"} | answer))
    made = shown(turn(tool(permissions=(permission,), status="failed", text="canceled")), own=frozenset({"ours"}))
    assert f"\n✗ Read orders.js{'' if line.startswith('✗') else ' — canceled'}\n" in made.text
    assert f"\n{line}\n" in made.text
    assert made.render
    assert made.render.asks == ()


def test_every_question_about_a_call_can_be_answered():
    first, second = asked(id="first"), asked(id="second")
    made = shown(turn(tool(permissions=(first, second)), state="running"))
    assert made.render
    assert [ask.permission.id for ask in made.render.asks] == ["first", "second"]
    made.update(view(turn(tool(permissions=(first, replace(second, state="selected", chosen=ONCE))), state="running")))
    assert made.render
    assert [ask.permission.id for ask in made.render.asks] == ["first"]
    assert "\n✓ Allowed once\n" in made.text


def test_a_client_that_turns_out_to_be_ours_is_not_another():
    made = shown(turn(tool(permissions=(asked(state="selected", chosen=ONCE, voter="c"),))))
    assert "by another client" in made.text
    made.transcript.own_clients.add("c")
    made.update(Snapshot(("k",), (), LIVE))
    assert "by another client" not in made.text


def asked_tool(kind: str, state: str = "open", **arguments: Any) -> Tool:
    options = (PermissionOption("once", "Allow", "allow_once"), PermissionOption("no", "Reject", "reject_once"))
    more: dict[str, Any] = {} if state == "open" else {"state": "selected", "chosen": options[0]}
    permission = Permission("p1", "t", "tool", "Do it?", kind, options, input=arguments, **more)
    return Tool("tool", "name", "Do it", kind, "pending", input=arguments, permissions=(permission,))


def look(turn: Turn) -> Snapshot:
    return Snapshot((turn.key,), (turn,), LIVE)


def test_a_question_about_a_command_shows_it_once():
    transcript = Transcript()
    transcript.update(look(Turn("t", "running", (asked_tool("execute", command="npm test -- --all"),))), HERE)
    assert transcript.text.count("npm test -- --all") == 1
    assert "?\u00a0Qwen Code asks: Run this command?\n    $ npm test -- --all" in transcript.text
    transcript.update(look(Turn("t", "running", (asked_tool("execute", "over", command="npm test -- --all"),))), HERE)
    assert "○\u00a0Run npm test -- --all" in transcript.text


PLAN = "## The plan\n\n1. Read `a.py`\n   - [x] all of it\n2) Write a test\n\nThen rest.\n* [ ] Done \x07"


@pytest.mark.parametrize("state", ["open", "over"])
def test_a_plan_is_a_checklist_before_and_after_it_is_approved(state: str):
    transcript = Transcript()
    transcript.update(look(Turn("t", "running", (asked_tool("switch_mode", state, plan=PLAN),))), HERE)
    lines = ["The plan", "○ Read `a.py`", "  ✓ all of it", "○ Write a test", "Then rest.", "○ Done \\x07"]
    shown = "".join(f"\n    {line}" for line in lines)
    assert transcript.text.count(shown) == 1
    assert "plan:" not in transcript.text


# Rows of calls


def done(number: int, kind: str = "read", **more: Any) -> Tool:
    named = Location(f"/home/ada/shop/{number}.js")
    return replace(tool(), **{"id": str(number), "kind": kind, "locations": (named,), "text": "some"} | more)


def run(number: int, command: str) -> Tool:
    return done(number, "execute", locations=(), input={"command": command})


def row_of(*items: Item, **more: Any) -> tuple[str, str]:
    """The line above the first row, and what is folded below it; both empty if there is no row."""
    made = shown(turn(*items, **more))
    assert made.render
    fold = next((fold for fold in made.render.folds if fold.key.endswith("/row")), None)
    if fold is None:
        return "", ""
    return made.text[: fold.start].rpartition("\n")[2], made.text[fold.start : fold.end]


def test_tool_calls_in_a_row_are_one_line_that_unfolds():
    line, folded = row_of(done(1), done(2), done(3), run(4, "npm test"), Message("answer", "Done."))
    assert line == "▸ Read 3 files, ran npm test"
    assert folded.split("\n")[1] == "✓ Read 1.js"
    assert folded.endswith("✓ Run npm test\n    $ npm test\n    some")


@pytest.mark.parametrize(
    ("items", "line"),
    [
        ((done(1), done(1)), "▸ Read 1.js"),
        ((done(1), done(2, "edit"), done(3, "edit")), "▸ Read 1.js, edited 2 files"),
        ((run(1, "ls"), run(2, "pwd")), "▸ Ran 2 commands"),
        ((done(1, "search", locations=()), done(2, "search", locations=())), "▸ Searched 2 times"),
        ((done(1), done(2, "other", title="Weather of\nParis")), "▸ Read 1.js, Weather of ↵ Paris"),
        ((done(1, "think"), done(2, "switch_mode")), "▸ Made 2 other calls"),
        ((done(1), Message("thought", "Hm."), done(2)), "▸ Read 2 files"),
        ((done(1),), ""),
        ((done(1), Message("answer", "Hm."), done(2)), ""),
        ((done(1), Message("thought", "Hm.")), ""),
    ],
)
def test_the_line_above_a_row_says_what_was_done(items: tuple[Item, ...], line: str):
    assert row_of(*items)[0] == line


@pytest.mark.parametrize(
    "call",
    [
        done(2, status="failed"),
        done(2, status="in_progress"),
        done(2, terminals=("t",)),
        done(2, permissions=(asked(),)),
        done(2, permissions=(asked(state="selected", chosen=ONCE),)),
    ],
)
def test_what_a_person_has_to_see_is_in_no_row(call: Tool):
    assert row_of(done(1), call, state="running") == ("", "")
    line, folded = row_of(done(1), done(3), call, done(4), done(5))
    assert line == "▸ Read 2 files"
    assert "2.js" not in folded


def test_a_row_grows_while_the_turn_runs():
    made = shown(turn(done(1), state="running"))
    calls = [done(number) for number in range(1, 5)]
    for number in range(2, 5):
        render = made.update(view(turn(*calls[:number], state="running")))
        [fold] = [fold for fold in render.folds if fold.key == "k/0/row"]
        assert made.text[: fold.start].endswith(f"▸ Read {number} files")
        assert made.text[fold.start : fold.end].count("✓ Read") == number
    made.update(view(turn(*calls, done(5, status="failed"), done(6))))
    assert "▸ Read 4 files\n✓ Read 1.js" in made.text


# Questions


def test_what_an_agent_asks_is_shown_once():
    call = tool(kind="edit", status="pending", diffs=(DIFF,), permissions=(asked(title="orders.js", diffs=(DIFF,)),))
    said = lines(call, state="running")
    assert sum("orders.js" in line for line in said) == 1
    command = done(1, "execute", locations=(), input={"command": "npm test"}, status="pending")
    question = asked(kind="execute", title="npm test", input={"command": "npm test"})
    assert sum("npm test" in line for line in lines(replace(command, permissions=(question,)), state="running")) == 1
