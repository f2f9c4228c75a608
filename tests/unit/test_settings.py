"""The settings: one table, which the settings file and its schema repeat, and values that are checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from companion.agents import PRESETS
from companion.clis.elsewhere import PathMaps
from companion.exclusion import EVERYTHING
from companion.settings import FILE, PROJECT_KEY, TABLE, DaemonSettings, Setting, Settings, held, overridden, read
from headless import jsonc

DEFAULTS = read(lambda _: None)
NAMES = [setting.name for setting in TABLE]


def schema(root: Path) -> dict[str, Any]:
    package = json.loads((root / "sublime-package.json").read_text("utf-8"))
    settings = package["contributions"]["settings"][0]
    assert settings["file_patterns"] == [f"/{FILE}"]
    return settings["schema"]


def test_the_settings_file_has_every_key_with_its_default(root: Path):
    values = jsonc.loads((root / FILE).read_text("utf-8"))
    assert values == {setting.name: setting.default for setting in TABLE}
    assert list(values) == NAMES


def test_every_key_has_a_comment(root: Path):
    lines = (root / FILE).read_text("utf-8").splitlines()
    for i, line in enumerate(lines):
        if key := re.match(r'\s*"(\w+)":', line):
            # Keys without a blank line between them share a comment.
            before = [other for other in lines[:i][::-1] if not re.match(r'\s*"\w+":', other)]
            assert before[0].lstrip().startswith("//"), key[1]


def test_the_schema_says_the_same(root: Path):
    found = schema(root)
    assert found["additionalProperties"] is False
    assert list(found["properties"]) == NAMES
    for setting in TABLE:
        sharing = found["properties"][setting.name]
        assert sharing["default"] == setting.default, setting.name
        assert sharing["markdownDescription"].endswith("."), setting.name
        kinds = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
        if setting.choices:
            enum = sharing["items"]["enum"] if setting.type is list else sharing["enum"]
            assert enum == [*setting.choices, *([None] if setting.optional else [])], setting.name
        else:
            types = [kinds[setting.type]]
            types += ["string"] if setting.or_text else []
            types += ["null"] if setting.optional else []
            assert sharing["type"] == (types if len(types) > 1 else types[0]), setting.name
        if setting.type is int:
            assert sharing["minimum"] == 0, setting.name
        if setting.type is list and not setting.choices:
            assert sharing["items"] == {"type": "string"}, setting.name


def test_every_default_is_allowed():
    assert [setting.name for setting in TABLE if not setting.allows(setting.default)] == []


def test_the_defaults_have_no_problems():
    assert DEFAULTS.problems == ()
    assert DEFAULTS.settings == Settings()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("is_trusted", "yes", "“is_trusted” must be true, false or null, not “yes”; the default is used."),
        ("show_diffs", 1, "“show_diffs” must be true or false, not 1; the default is used."),
        (
            "diff_layout",
            "both",
            "“diff_layout” must be “auto”, “side_by_side” or “inline”, not “both”; the default is used.",
        ),
        (
            "diff_layout",
            False,
            "“diff_layout” must be “auto”, “side_by_side” or “inline”, not false; the default is used.",
        ),
        (
            "max_marked_characters",
            True,
            "“max_marked_characters” must be a whole number from 0, not true; the default is used.",
        ),
        ("max_marked_lines", -1, "“max_marked_lines” must be a whole number from 0, not -1; the default is used."),
        ("max_marked_lines", 1.5, "“max_marked_lines” must be a whole number from 0, not 1.5; the default is used."),
        ("debug", [True], "“debug” must be true or false, not a list; the default is used."),
        ("debug", {}, "“debug” must be true or false, not an object in braces; the default is used."),
        ("debug", "x" * 99, f"“debug” must be true or false, not “{'x' * 39}…”; the default is used."),
    ],
)
def test_a_wrong_value_is_reported_with_its_key_and_the_default_is_used(name: str, value: object, why: str):
    values = read({name: value}.get)
    assert [str(problem) for problem in values.problems] == [f"{FILE}: {why}"]
    assert values.by_name == DEFAULTS.by_name


def test_right_values_are_used():
    given = {"is_trusted": False, "show_diffs": False, "diff_layout": "inline", "max_marked_characters": 0}
    values = read(given.get)
    assert values.problems == ()
    assert values.settings == Settings(is_trusted=False, show_diffs=False, max_marked_characters=0)
    assert values.by_name["diff_layout"] == "inline"


@pytest.mark.parametrize(
    ("setting", "allowed", "refused", "expected"),
    [
        (Setting("x", "a"), ["", "b"], [1, None], "a text"),
        (Setting("x", "a", choices=("a", "b", "c")), ["c"], ["d"], "“a”, “b” or “c”"),
        (Setting("x", None, optional=True, kind=str), [None, "b"], [1], "a text or null"),
        (Setting("x", ["a"]), [[], ["b"]], ["a", [1], [["a"]]], "a list of strings"),
        (Setting("x", None, optional=True, kind=dict), [None], [], ""),
    ],
)
def test_a_setting_allows_its_values_and_refuses_others(
    setting: Setting, allowed: list[object], refused: list[object], expected: str
):
    assert [value for value in allowed if not setting.allows(value)] == []
    assert [value for value in refused if setting.allows(value)] == []
    if expected:
        assert setting.expected == expected


def test_a_project_has_its_own_values():
    values = overridden(DEFAULTS, {"show_diffs": False}, "a.sublime-project")
    assert values.problems == ()
    assert values.settings == Settings(show_diffs=False)
    assert values.by_name["debug"] is False


@pytest.mark.parametrize("name", ["max_marked_characters", "max_marked_lines"])
@pytest.mark.parametrize("value", [0, 1, 10**9])
def test_a_project_neither_switches_the_marks_of_a_diff_off_nor_makes_them_slow(name: str, value: int):
    values = overridden(DEFAULTS, {name: value}, "a.sublime-project")
    assert values.by_name == DEFAULTS.by_name
    assert [str(one) for one in values.problems] == [f"a.sublime-project: “{name}” can't be set for a project."]


def test_the_chats_settings_are_read():
    assert DEFAULTS.daemon == DaemonSettings()
    given = {"chat_enabled": True, "daemon.managed": False, "daemon.url": "http://x"}
    values = read((given | {"qwen_command": "source ~/.env && qwen"}).get)
    assert values.problems == ()
    wanted = DaemonSettings(enabled=True, managed=False, url="http://x", command="source ~/.env && qwen")
    assert values.daemon == wanted
    assert read({"qwen_command": ["node", "cli.js"]}.get).daemon.command == ("node", "cli.js")


def test_no_message_and_no_text_has_the_token_f7():
    secret = "a-secret"
    values = read({"daemon.url": f"http://{secret}@x", "chat_enabled": True}.get)
    assert secret not in repr(values)
    wrong = read({"daemon.url": [secret]}.get)
    assert [str(problem) for problem in wrong.problems] == [
        f"{FILE}: “daemon.url” must be a text; the default is used.",
    ]
    in_project = overridden(DEFAULTS, {"daemon.url": secret}, "a.sublime-project")
    assert secret not in "".join(map(str, in_project.problems)) + repr(in_project)


DAEMON = ["chat_enabled", "daemon.managed", "daemon.url"]


@pytest.mark.parametrize("name", ["is_trusted", "qwen_command", "gemini_command", *DAEMON])
def test_a_project_neither_declares_itself_trusted_nor_decides_what_runs(name: str):
    values = overridden(DEFAULTS, {name: True}, "a.sublime-project")
    assert [problem.name for problem in values.problems] == [name]
    assert values.by_name[name] == DEFAULTS.by_name[name]


def test_a_project_without_settings_has_those_of_the_user():
    base = read({"diff_layout": "inline", "debug": "wrong"}.get)
    values = overridden(base, None, "a.sublime-project")
    assert values.by_name == base.by_name
    assert values.problems == ()  # those are reported once, for the file


@pytest.mark.parametrize(
    ("project", "why"),
    [
        (["inline"], f"“{PROJECT_KEY}” must be an object in braces."),
        ({"layout": "inline"}, "“layout” is not a setting of QwenCompanion."),
        ({"debug": True}, "“debug” can't be set for a project."),
        (
            {"diff_layout": None},
            "“diff_layout” must be “auto”, “side_by_side” or “inline”, not null; the user's setting is used.",
        ),
    ],
)
def test_a_problem_in_a_project_is_reported_with_its_file(project: object, why: str):
    base = read({"diff_layout": "inline"}.get)
    values = overridden(base, project, "a.sublime-project")
    assert [str(problem) for problem in values.problems] == [f"a.sublime-project: {why}"]
    assert values.by_name == base.by_name


# Agents


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "“agents” must be an object in braces"),
        ({"A": "qwen"}, "“A” must be an object in braces, or null"),
        ({"A": {}}, "“A” needs a “command”"),
        ({"A": {"command": "qwen --acp"}}, "“A” needs a “command”"),
        ({"A": {"command": ["a", 1]}}, "“A” needs a “command”"),
        ({"A": {"command": ["a"], "environment": {"K": 1}}}, "“A” has an “environment”"),
        ({"A": {"command": ["a"], "letter": "AB"}}, "“A” has a “letter”"),
        ({"A": {"command": ["a"], "cwd": "/"}}, "“A” has the unknown key “cwd”"),
    ],
)
def test_a_wrong_agent_is_reported_without_its_value_and_the_others_stay(value: object, why: str):
    values = read({"agents": value}.get)
    [problem] = values.problems
    assert why in str(problem)
    assert [agent.name for agent in values.daemon.agents] == [agent.name for agent in PRESETS]


def test_an_agent_adds_to_the_presets_replaces_one_or_removes_one():
    own = {"command": ["own", "--acp"], "environment": {"OWN_KEY": "secret-value"}, "letter": "O"}
    value = {"Own": own, "Codex": None, "Gemini CLI": {"command": ["gemini", "--acp", "-m", "x"]}}
    values = read({"agents": value}.get)
    agents = {agent.name: agent for agent in values.daemon.agents}
    assert values.problems == ()
    assert "Codex" not in agents
    assert agents["Gemini CLI"].command == ("gemini", "--acp", "-m", "x")
    assert agents["Gemini CLI"].install == "npm install -g @google/gemini-cli"
    assert (agents["Own"].command, agents["Own"].icon) == (("own", "--acp"), "O")
    assert agents["Own"].environment == {"OWN_KEY": "secret-value"}
    assert "secret-value" not in repr(values)
    assert "secret-value" not in repr(values.daemon)


def test_a_project_can_not_set_an_agent():
    values = overridden(DEFAULTS, {"agents": {"Own": {"command": ["rm"]}}}, "p")
    assert [problem.name for problem in values.problems] == ["agents"]
    assert values.daemon.agents == PRESETS


@pytest.mark.parametrize(
    ("user", "project", "used"),
    [
        ("before", "off", "before"),
        ("before", "after", "before"),
        ("after", "before", "before"),
        ("off", "after", "after"),
        ("off", "before", "before"),
    ],
)
def test_a_project_makes_the_review_stricter_and_never_looser(user: str, project: str, used: str):
    base = read(lambda name: user if name == "review" else None)
    found = overridden(base, {"review": project}, "x.sublime-project")
    assert found.settings.review == used
    assert bool(found.problems) == (used != project)


def test_a_project_with_thousands_of_wrong_settings_is_told_in_a_few_sentences():
    project = {f"wrong{number}" * 100: 1 for number in range(20_000)}
    found = overridden(read({}.get), project, "a.sublime-project").problems
    assert len(found) == 21
    assert found[-1].why == "19,980 more problems are not listed."
    assert max(len(str(problem)) for problem in found) < 200


def test_no_project_takes_away_what_the_person_has_said_of_a_folder():
    own = {"/here/a": "/there/a", "/here/b": "/there/b"}
    base = read({"path_maps": own}.get)
    for project in ({f"/x/{number}": "/y" for number in range(1001)}, {"/here/a": "/evil", "/here/": "relative"}):
        assert overridden(base, {"path_maps": project}, "a.sublime-project").settings.path_maps == tuple(own.items())
    more = {"/home/me/secret": "/there/a", "/here/c": "/there/c"}
    found = overridden(base, {"path_maps": more}, "a.sublime-project").settings.path_maps
    assert found == (*own.items(), *more.items())
    assert PathMaps(found).here("/there/a/x") == "/here/a/x"


def test_a_project_has_a_limit_of_folders_that_are_called_otherwise():
    project = {"path_maps": {f"/here/{number}": f"/there/{number}" for number in range(1001)}}
    values = overridden(read({}.get), project, "a.sublime-project")
    assert values.settings.path_maps == ()
    assert [problem.why for problem in values.problems] == [
        "“path_maps” has 1,001 folders: use at most 1,000. None of them is used."
    ]


def test_while_a_file_can_not_be_read_what_it_said_before_holds():
    before = read({"context": "files", "context_exclude": ["*.key"], "show_diffs": False}.get)
    during = held(before)
    assert during.settings == before.settings
    assert [problem.file for problem in during.problems] == [FILE]


def test_if_a_file_can_not_be_read_at_the_start_agents_are_told_nothing():
    during = held(None)
    assert during.settings.context == "off"
    assert during.settings.context_exclude == (EVERYTHING,)
    assert during.settings.sharing.leaves_out("/srv/app/a.py", ["/srv/app"])
    assert not during.daemon.agents_all_folders
    assert not during.by_name["chat_context"]
    project = overridden(during, {"context": "all", "context_exclude": []}, "x")
    assert project.settings.context == "off"
    assert EVERYTHING in project.settings.context_exclude
    assert "nothing" in str(during.problems[0])


def test_if_a_file_can_not_be_read_at_the_start_no_transcript_is():
    assert held(None).settings.read_transcripts == "off"


def test_twelve_settings_stand_before_those_that_are_rarely_needed(root: Path):
    usual, mark, _ = (root / FILE).read_text("utf-8").partition("// ---- Rarely needed ----")
    assert mark
    assert re.findall(r'^    "([\w.]+)":', usual, re.MULTILINE) == NAMES[:12]
