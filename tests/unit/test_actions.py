"""The person's own actions: what the setting may have, and what becomes of a prompt's variables."""

from __future__ import annotations

import pytest

from companion.settings import ACTIONS, Action, overridden, read, read_actions

GOOD = {"prompt": "Look at $file"}


def test_six_actions_are_there_without_a_setting():
    assert [action.name for action in read_actions({})[0]] == [
        "Ask…",
        "Explain",
        "Fix Problems",
        "Write Tests",
        "Review Selection",
        "Document",
    ]


def test_an_own_action_is_added_another_one_replaced_and_a_third_removed():
    found, wrong = read_actions(
        {"Simplify": {"prompt": "Simplify $symbol", "target": "chat"}, "Explain": GOOD, "Document": None}
    )
    assert not wrong
    by_name = {action.name: action for action in found}
    assert by_name["Simplify"] == Action("Simplify", "Simplify $symbol", "chat")
    assert by_name["Explain"].prompt == "Look at $file"
    assert "Document" not in by_name
    assert [action.name for action in found][1] == "Explain"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("text", "must be an object in braces, with a “prompt”"),
        ({}, "needs a “prompt”, which is a string"),
        ({"prompt": " "}, "needs a “prompt”, which is a string"),
        ({"prompt": 3}, "needs a “prompt”, which is a string"),
        ({**GOOD, "target": "shell"}, "has a “target” other than “cli”, “chat” and “new_chat”"),
        ({**GOOD, "target": ["cli"]}, "has a “target” other than “cli”, “chat” and “new_chat”"),
        ({**GOOD, "run": True}, "has “run”, which an action doesn't have"),
    ],
)
def test_a_wrong_entry_is_said_and_the_others_count(entry: object, why: str):
    values = read({"actions": {"Own": entry, "Other": GOOD}}.get)
    assert [str(problem) for problem in values.problems] == [f"QwenCompanion.sublime-settings: “actions”: “Own” {why}."]
    assert "Other" in [action.name for action in read_actions(values.by_name["actions"])[0]]


def test_no_project_sets_an_action():
    values = overridden(read({}.get), {"actions": {"Own": GOOD}}, "p")
    assert [str(problem) for problem in values.problems] == ["p: “actions” can't be set for a project."]
    assert read_actions(values.by_name["actions"])[0] == ACTIONS


def test_what_is_no_object_leaves_the_presets():
    assert read_actions([GOOD]) == (
        ACTIONS,
        ["“actions” must be an object in braces; only the presets are used."],
    )


def test_a_variable_is_filled_once_and_two_dollars_are_one():
    action = Action("x", "$file: $selection, $filename costs $$5, $symbol")
    assert action.filled({"file": "a.py", "selection": "$file $$", "symbol": ""}) == (
        "a.py: $file $$, $filename costs $5,"
    )
    assert [action.uses(name) for name in ("file", "problems")] == [True, False]
