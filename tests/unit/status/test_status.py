"""The status report: what is wrong and what to do, from facts alone; and the facts, from real files and processes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from companion.clis.families import CLAUDE_CODE, COPILOT_CLI, GEMINI_CLI, OPENCODE, QWEN_CODE, CliFamily
from companion.clis.processes import RunningCli
from companion.clis.starting import UNKNOWN
from companion.editor import WindowId
from companion.provenance.transcripts import StrangeTranscript
from companion.status.facts import (
    Cli,
    ConnectedCli,
    DiscoveryFile,
    Facts,
    PublishedFolder,
    Rival,
    Served,
    ShownChat,
    ShownWindow,
    Stop,
    TerminalVariables,
)
from companion.status.findings import (
    ADD_FOLDER,
    COPY_ENVIRONMENT,
    EDIT_PROJECT,
    GO_TO_CHAT,
    OPEN_SETTINGS,
    READ_TRANSCRIPTS,
    REPAIR,
    SHOW_TERMINAL,
    Finding,
    approval_mode,
    findings,
    report,
    verdicts,
    without_secrets,
)

PORT = 41535
START = 1_700_000_000.0
ASKS = {"OpenCode": "ask"}
NOT_CONNECTED = "can reach this editor but is not connected"


def cli(family: CliFamily = QWEN_CODE, **changes: Any) -> Cli:
    """A CLI that is as it should be, but for what is given."""
    running = RunningCli(
        family=family,
        pid=12,
        pids=(11, 12),
        started=START + 60,
        cwd="/srv/app",
        program="qwen",
        arguments=(),
        variables={},
        ports=frozenset(),
    )
    of_running = {name: value for name, value in changes.items() if hasattr(running, name)}
    running = replace(running, **of_running)
    rest = {name: value for name, value in changes.items() if name not in of_running}
    values = {"version": (0, 24, 4), "settings_path": "/home/ada/.qwen/settings.json", "ide_mode": True}
    return Cli(**{"running": running, "approval": "default", **values, **rest})


def facts(*clis: Cli, served: Served | None = None, window: ShownWindow | None = None, **more: Any) -> Facts:
    """A window on /srv/app with these CLIs."""
    served = served or Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),))
    window = window or ShownWindow(WindowId(1), "Window 1", ("/srv/app",))
    about = (("QwenCompanion", "0.1.0"),)
    return Facts(**{"at": START, "about": about, "windows": (window,), "served": {1: served}, "clis": clis, **more})


def only(found: Facts) -> Finding:
    [finding] = findings(found)
    return finding


def test_nothing_is_wrong_with_a_connected_cli():
    found = facts(cli(ports=frozenset({PORT})))
    assert findings(found) == []
    assert verdicts(found)[0].window == 1
    assert "Nothing is wrong." in report(found)
    assert "Qwen Code 0.24.4, process 12" in report(found)
    assert "in /srv/app: connected to Window 1" in report(found)


def test_a_machine_without_a_cli_is_told_how_to_install_one():
    found = facts(has_cli=False)
    assert only(found) == Finding(
        "No CLI is installed: neither “qwen” nor “gemini” nor “claude” nor “copilot” nor “opencode” is on the PATH of "
        "your login shell or of Sublime Text.",
        "Install one, for example with: npm install -g @qwen-code/qwen-code",
        "npm install -g @qwen-code/qwen-code",
    )
    assert "Nothing is wrong" not in report(found)
    assert findings(facts(cli(ports=frozenset({PORT})), has_cli=False)) == []
    assert findings(replace(found, clis=None)) == []


def test_a_machine_without_terminus_is_told_to_install_it_unless_a_cli_runs_in_another_terminal():
    text = "The package Terminus is not installed, or is disabled, so a CLI can't run in the editor."
    assert only(facts(lacks_terminus=True)) == Finding(text, "Install it: Package Control → Install Package.")
    assert findings(facts(cli(ports=frozenset({PORT})), lacks_terminus=True)) == []


NO_GIT = (
    "Git is not on the PATH of Sublime Text, so what agents write without a diff can't be reviewed. "
    "Install it, or set “review” to “off”."
)
FULL = "The disk of /srv is full. What is accepted or kept there can't be written. Free some space."
GONE = "/srv/app is not on the disk, so no CLI can run in it. Remove it: Project → Remove Folder."


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"lacks_git": True}, NO_GIT),
        ({"full": ("/srv",)}, FULL),
        (
            {"served": Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START, is_there=False),))},
            GONE,
        ),
    ],
    ids=["git", "disk", "folder"],
)
def test_what_is_not_there_is_named(more: dict[str, Any], text: str):
    assert (only(facts(**more)).text, only(facts(**more)).offers) == (text, ())
    assert "Nothing is wrong" not in report(facts(**more))


def test_the_question_about_transcripts_is_a_finding_until_it_is_answered():
    assert only(facts(asked="May they be read?")) == Finding("May they be read?", offers=(READ_TRANSCRIPTS,))


@pytest.mark.parametrize(
    ("said", "shown"), [("0.25.0", "0.25.0"), ("", "0.24.4")], ids=["by the transcript", "by the program"]
)
def test_a_transcript_that_is_not_understood_is_named_with_the_version_of_its_cli(said: str, shown: str):
    strange = (StrangeTranscript("Qwen Code", "/home/ada/.qwen/x.jsonl", said),)
    text = (
        f"The transcript of Qwen Code {shown} isn't understood, so nothing is said of it: /home/ada/.qwen/x.jsonl. "
        "An update of QwenCompanion may know its form."
    )
    assert only(facts(cli(ports=frozenset({PORT})), strange=strange)).text == text


def test_a_cli_that_is_gone_and_has_not_said_its_version_has_an_unknown_one():
    strange = (StrangeTranscript("Qwen Code", "/x.jsonl"),)
    assert "of an unknown version" in only(facts(strange=strange)).text


@pytest.mark.parametrize(
    "trouble",
    [
        "Node.js 16.20.2 is too old for `qwen serve`. Install Node.js 22 or later.",
        "`qwen serve` has ended unexpectedly.",
    ],
)
def test_a_chat_that_is_not_connected_is_a_finding(trouble: str):
    chats = (ShownChat("Q Qwen Code", "not connected", "/srv/app", trouble), ShownChat("Q Qwen Code", "works", "/x"))
    found = facts(window=ShownWindow(WindowId(1), "Window 1", ("/srv/app",), chats=chats))
    assert only(found) == Finding(f"Q Qwen Code: {trouble}", offers=(GO_TO_CHAT,))
    assert "Nothing is wrong" not in report(found)


def test_a_chat_is_a_finding_in_a_window_that_is_not_served_too():
    chats = (ShownChat("Q Qwen Code", "not connected", "/x", "It is gone."),)
    found = facts(served=None, windows=(ShownWindow(WindowId(2), "Window 2", ("/x",), chats=chats),))
    assert [each.wrong for each in findings(found)] == ["Q Qwen Code: It is gone.", "Window 2 has no port."]


def test_a_window_without_a_port_has_one_remedy_that_of_the_reason():
    why = "No CLI can find this window: permission denied. Let Sublime Text listen on 127.0.0.1."
    windows = (ShownWindow(WindowId(2), "Window 2", ("/x",)),)
    found = only(facts(served=None, windows=windows, unserved={WindowId(2): why}))
    assert found == Finding(f"Window 2: {why}")


def test_a_companion_that_does_not_run_has_one_remedy_that_of_the_reason():
    missing = facts(
        served=None,
        windows=(ShownWindow(WindowId(2), "Window 2", ("/x",)),),
        stopped=Stop("M; run R.", is_of_libraries=True),
    )
    assert only(missing) == Finding("M; run R.", offers=(REPAIR,))
    assert only(replace(missing, stopped=Stop("No port.", is_of_libraries=False))) == Finding("No port.")


def test_nothing_is_wrong_without_any_cli():
    assert findings(facts()) == []
    assert "Running CLIs\n  none" in report(facts())


def test_a_window_without_folder_and_files():
    finding = only(facts(served=Served(PORT, ()), window=ShownWindow(WindowId(1), "Window 1", ())))
    assert finding.offers == (ADD_FOLDER,)
    assert "no CLI can find it. Open one: Project → Add Folder to Project…" in finding.text


def test_a_window_without_folder_but_with_files():
    finding = only(facts(window=ShownWindow(WindowId(1), "Window 1", ())))
    assert finding.offers == (ADD_FOLDER,)
    assert "beside one of its files" in finding.text
    assert "Add Folder" in finding.text


def test_a_window_that_is_not_served():
    finding = only(facts(served=None, windows=(ShownWindow(WindowId(2), "Window 2", ("/x",)),)))
    assert finding == Finding("Window 2 has no port.", "Save your work and restart Sublime Text.")
    assert "  not served" in report(facts(windows=(ShownWindow(WindowId(2), "Window 2", ("/x",)),)))
    window = ShownWindow(WindowId(2), "Window 2", ("/x",), written=("a.py: modified, +1 −2, Qwen Code, waits",))
    assert "  to review  a.py: modified, +1 −2, Qwen Code, waits" in report(facts(windows=(window,)))


def test_what_is_still_to_be_copied_is_a_line():
    served = Served(PORT, copying=("1,234 files of /srv/app",), folders=())
    assert "  still to copy  1,234 files of /srv/app\n" in report(facts(served=served))


def test_a_cli_above_the_folder():
    finding = only(facts(cli(cwd="/srv")))
    assert finding.reason == "runs above the folder"
    assert finding.text.endswith("runs in /srv, above /srv/app. Start it in /srv/app, or open /srv.")


@pytest.mark.parametrize("cwd", ["/elsewhere", "/srv/app2", "/srv/other/app"])
def test_a_cli_in_another_folder(cwd: str):
    finding = only(facts(cli(cwd=cwd)))
    assert finding.reason == "runs in another folder"
    assert finding.text.endswith("Open that folder, or start it in one that is open.")


def test_a_cli_below_the_folder_is_found():
    assert NOT_CONNECTED in only(facts(cli(cwd="/srv/app/src"))).wrong


def test_a_cli_in_a_folder_that_is_a_link():
    served = Served(PORT, (PublishedFolder("/link", "/srv/app", START),))
    assert NOT_CONNECTED in only(facts(cli(), served=served)).wrong


def test_a_cli_that_was_started_before_the_window_was_found():
    finding = only(facts(cli(started=START - 9)))
    assert finding.reason == "was started before"
    assert finding.text.endswith("and it looks only once. Quit it and start it again.")


def test_a_cli_that_was_started_at_the_same_time():
    assert NOT_CONNECTED in only(facts(cli(started=START - 1))).wrong


def test_a_cli_that_found_another_window_with_its_folder():
    early = Served(PORT + 1, (PublishedFolder("/srv", "/srv", START - 99),))
    found = facts(cli(started=START - 9))
    served = {**found.served, 2: early}
    windows = (*found.windows, ShownWindow(WindowId(2), "Window 2", ("/srv",)))
    assert NOT_CONNECTED in only(replace(found, served=served, windows=windows)).wrong


def test_a_cli_with_its_ide_mode_off():
    finding = only(facts(cli(ide_mode=False)))
    assert finding.reason == "its IDE mode is off"
    assert "Type “/ide enable” in it." in finding.text
    assert "“Yes”" not in finding.text


def test_the_yes_of_gemini_cli_does_not_help():
    finding = only(facts(cli(GEMINI_CLI, ide_mode=False, version=(0, 61, 0))))
    assert "Type “/ide enable” in it." in finding.text
    assert "“Yes” does not help" in finding.text


def test_settings_that_cannot_be_read_are_no_finding():
    assert NOT_CONNECTED in only(facts(cli(ide_mode=None))).wrong


def test_a_connected_cli_is_not_told_to_enable_what_is_on():
    assert findings(facts(cli(ide_mode=False, started=START - 9, ports=frozenset({PORT, 1})))) == []


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"approval": "auto"}, "auto"),
        ({"approval": "yolo"}, "yolo"),
        ({"arguments": ("--approval-mode", "auto-edit")}, "auto-edit"),
        ({"arguments": ("-p", "x", "--approval-mode=yolo")}, "yolo"),
        ({"arguments": ("--yolo",)}, "yolo"),
        ({"arguments": ("-y",)}, "yolo"),
        ({"approval": None}, "auto"),
        ({"approval": None, "version": None}, "auto"),
        ({"approval": None, "version": (0, 21, 2)}, "auto"),
    ],
)
def test_an_approval_mode_that_never_asks(changes: dict[str, Any], mode: str):
    finding = only(facts(cli(ports=frozenset({PORT}), **changes)))
    assert finding.offers == (SHOW_TERMINAL,)
    assert f"“{mode}”" in finding.text
    assert "Shift+Tab" in finding.text
    assert "--approval-mode default" in finding.text
    assert finding.types == "--approval-mode default"


@pytest.mark.parametrize(
    ("family", "do"),
    [
        (CLAUDE_CODE, "Type “/ide” in it"),
        (COPILOT_CLI, "Type “/ide” in it"),
        (OPENCODE, "It tries again every few seconds"),
    ],
)
def test_a_cli_that_looks_again_is_told_no_earlier_start(family: CliFamily, do: str):
    approval = ASKS.get(family.name, "default")
    finding = only(facts(cli(family, started=START - 9, ide_mode=None, approval=approval)))
    assert NOT_CONNECTED in finding.wrong
    assert f"is not connected. {do}; if it still finds no editor" in finding.text
    assert finding.types == family.habits.connect


def test_of_two_copilots_in_a_folder_one_that_is_not_connected_is_said_once():
    sessions = (ConnectedCli("Copilot CLI", START, START, listens=True, round_trip=None),)
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), sessions=sessions)
    one, other = cli(COPILOT_CLI), cli(COPILOT_CLI, pid=13)
    finding = only(facts(one, other, served=served))
    assert finding.text.startswith(
        "Copilot CLI runs 2 times in folders of this editor, but is connected from 1 of them"
    )
    assert finding.types == "/ide"
    assert report(facts(one, other, served=served)).count("connected to Window 1, or another one") == 2
    for some, count in (((one,), 1), ((one, other), 2), ((one, cli(COPILOT_CLI, cwd="/srv/app2")), 1)):
        found = verdicts(facts(*some, served=replace(served, sessions=sessions * count)))
        assert [each for each in found if not each.is_sure or (each.window and each.findings)] == []


@pytest.mark.parametrize(("family", "tells"), [(CLAUDE_CODE, "/ide"), (COPILOT_CLI, "/ide"), (OPENCODE, "/status")])
def test_a_cli_whose_folder_cannot_be_seen_says_itself_whether_it_is_connected(family: CliFamily, tells: str):
    one = cli(family, cwd=None, ports=None, approval=ASKS.get(family.name, "default"))
    assert only(facts(one)).text.endswith(f"can't be seen. Type “{tells}” in it.")


@pytest.mark.parametrize(
    ("family", "do"),
    [
        (GEMINI_CLI, "type “/ide disable” and “/ide enable” in the CLI"),
        (CLAUDE_CODE, "type “/ide” in the CLI"),
        (COPILOT_CLI, "type “/ide” in the CLI"),
        (OPENCODE, "quit the CLI and start it again"),
    ],
)
def test_each_cli_that_another_editor_has_is_told_its_own_way_back(family: CliFamily, do: str):
    rival = Rival("VS Code", "/home/ada/.claude/ide/9.lock", 9, "/srv/app", is_newer=False, family=CLAUDE_CODE)
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), rivals=(rival,))
    approval = ASKS.get(family.name, "default")
    [finding] = verdicts(facts(cli(family, ports=frozenset({9}), approval=approval), served=served))[0].findings
    assert finding.text.endswith(f"Click into Window 1, then {do}.")


@pytest.mark.parametrize(
    ("family", "changes", "do"),
    [
        (
            CLAUDE_CODE,
            {"approval": "acceptEdits"},
            "press Shift+Tab in it or start it with “--permission-mode default”",
        ),
        (COPILOT_CLI, {"approval": None, "arguments": ("--yolo",)}, "start it without that."),
        (OPENCODE, {"approval": None}, "set “permission.edit” to “ask” in its opencode.json."),
    ],
)
def test_a_cli_of_another_family_that_never_asks(family: CliFamily, changes: dict[str, Any], do: str):
    one = cli(family, ports=frozenset({PORT}), **changes)
    found = [each for each in findings(facts(one)) if "approval mode" in each.wrong]
    assert f"To be asked, {do}" in found[0].text


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"approval": "plan"}, "plan"),
        ({"approval": None, "version": (0, 15, 10)}, "default"),
        ({"approval": "yolo", "arguments": ("--approval-mode", "default")}, "default"),
        ({"family": GEMINI_CLI, "approval": None, "version": (0, 61, 0)}, "default"),
        ({"family": CLAUDE_CODE, "arguments": ("--permission-mode", "manual")}, "manual"),
        ({"family": CLAUDE_CODE, "arguments": ("--permission-mode=dontAsk",)}, "dontAsk"),
        ({"family": OPENCODE, "approval": "deny"}, "deny"),
        ({"family": OPENCODE, "approval": UNKNOWN}, UNKNOWN),
    ],
)
def test_an_approval_mode_that_asks(changes: dict[str, Any], mode: str):
    one = cli(ports=frozenset({PORT}), **changes)
    assert approval_mode(one)[0] == mode
    assert findings(facts(one)) == []


def test_a_terminal_with_an_old_port():
    old = TerminalVariables("qwen", {QWEN_CODE.port_variable: "4000", GEMINI_CLI.port_variable: "4000"})
    fresh = TerminalVariables("fresh", {QWEN_CODE.port_variable: str(PORT)})
    odd = TerminalVariables("odd", {QWEN_CODE.port_variable: ""})
    finding = only(facts(window=ShownWindow(WindowId(1), "Window 1", ("/srv/app",), (old, fresh, odd))))
    assert COPY_ENVIRONMENT in finding.offers
    assert "“qwen” has the port 4000 of an earlier session. Close it" in finding.text


def test_a_cli_with_an_old_port():
    finding = only(facts(cli(variables={QWEN_CODE.port_variable: "4000"})))
    assert COPY_ENVIRONMENT in finding.offers
    assert "Open a new terminal" in finding.text
    assert NOT_CONNECTED in only(facts(cli(variables={QWEN_CODE.port_variable: str(PORT)}))).wrong
    assert NOT_CONNECTED in only(facts(cli(variables=None))).wrong


def test_an_old_cli_in_another_terminal():
    finding = only(facts(cli(version=(0, 8, 2))))
    assert finding.reason == "lacks the package's variables"
    assert "“Run Qwen Code”" in finding.text
    assert "0.12" in finding.text


def test_a_cli_without_a_token():
    finding = only(facts(cli(GEMINI_CLI, version=(0, 5, 5), ide_mode=False)))
    assert finding.reason == "is too old"
    assert "Update it to 0.6 or later." in finding.text


def test_a_cli_that_looks_for_editors_elsewhere():
    finding = only(facts(cli(looks_in="/other/.qwen", ide_mode=False)))
    assert finding.reason == "looks elsewhere for editors"
    assert "looks for editors in /other/.qwen" in finding.text
    assert "Start both from a terminal with the same variables." in finding.text


def test_settings_of_ours_in_a_project_are_named_and_not_all_of_them():
    windows = tuple(replace(each, ignored=tuple(f"qwen_companion.{at}" for at in range(7))) for each in facts().windows)
    found = [finding for finding in findings(replace(facts(), windows=windows)) if finding.offers == (EDIT_PROJECT,)]
    assert "“qwen_companion.0”, “qwen_companion.1”" in found[0].text
    assert "and 2 more, which no project can" in found[0].text


def test_a_cli_whose_folder_cannot_be_seen():
    finding = only(facts(cli(cwd=None, ports=None)))
    assert finding.reason == "its folder can't be seen"
    assert "/ide status" in finding.text


def test_a_discovery_folder_that_is_not_ours():
    file = DiscoveryFile("Qwen Code", "/home/ada/.qwen/ide/1.lock", "missing", None, "it is a symbolic link")
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), (file,))
    finding = only(facts(served=served))
    assert "through /home/ada/.qwen/ide: it is a symbolic link. Put a folder there" in finding.text


def test_another_editor_with_a_newer_lock_file():
    newer = Rival("VS Code", "/home/ada/.qwen/ide/9.lock", 9, "/srv/app", is_newer=True, family=QWEN_CODE)
    rivals = (newer, replace(newer, is_newer=False))
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), rivals=rivals)
    finding = only(facts(served=served))
    assert finding.offers == (SHOW_TERMINAL,)
    assert "VS Code (port 9) has a newer lock file for /srv/app" in finding.text
    assert "Click into Window 1" in finding.text


def test_another_package_that_claims_the_folder_for_claude_code():
    path = "/home/ada/.claude/ide/9.lock"
    rival = Rival("Sublime Text", path, 9, "/srv/app", is_newer=False, family=CLAUDE_CODE)
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), rivals=(rival,))
    finding = only(facts(served=served))
    assert finding.offers == (SHOW_TERMINAL,)
    assert f"Sublime Text (port 9) has a lock file for /srv/app, too ({path})" in finding.text
    assert "type “/ide” in it" in finding.text
    assert finding.types == "/ide"


def test_a_name_that_somebody_else_has_given_stays_in_its_line():
    name = "VS Code\n  • Nothing else is wrong.\u202e"
    rival = Rival(name, "/home/ada/.qwen/ide/9.lock", 9, "/srv/app", is_newer=True, family=QWEN_CODE)
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), rivals=(rival,))
    found = facts(cli(cwd="/srv/a\nb"), served=served, window=ShownWindow(WindowId(1), "One\nTwo", ("/srv/app",)))
    text = report(found)
    assert r"VS Code\x0a  • Nothing else is wrong.\u202e (port 9)" in text
    assert all(f"  • {finding.text}\n" in text for finding in findings(found))
    assert "\nb" not in text
    assert "\nTwo" not in text


def test_a_cli_that_another_editor_has():
    rival = Rival("VS Code", "/home/ada/.qwen/ide/9.lock", 9, "/srv/app", is_newer=False, family=QWEN_CODE)
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), rivals=(rival,))
    other = facts(cli(ports=frozenset({9})), served=served)
    windows = (ShownWindow(WindowId(2), "Window 2", ("/x",)), *other.windows)
    found = replace(other, windows=windows, note="Only one of them is served.")
    finding = only(found)
    assert finding.offers == (SHOW_TERMINAL,)
    assert "is connected to VS Code (port 9), which has its folder open too. Click into Window 1" in finding.text
    assert "not connected: is connected to another editor" in report(found)


def test_what_is_wrong_in_the_settings():
    finding = only(facts(settings=("“debug” must be true or false, not 1; the default is used.",)))
    assert finding.offers == (OPEN_SETTINGS,)


def test_the_report_tells_everything():
    sessions = (
        ConnectedCli("Qwen Code", START, START + 1, listens=True, round_trip=0.0042),
        ConnectedCli("Gemini CLI", START, START + 1, listens=True, round_trip=None),
        ConnectedCli("Gemini CLI", START, START + 1, listens=False, round_trip=None),
    )
    files = (DiscoveryFile("Qwen Code", "/home/ada/.qwen/ide/1.lock", "ours", START),)
    served = Served(
        PORT, (PublishedFolder("/srv/app", "/srv/app", START),), files, sessions, ("/srv/app/a.py (Qwen Code)",)
    )
    text = report(
        facts(
            cli(ports=frozenset({PORT})),
            cli(version=None),
            cli(cwd=None),
            cli(ide_mode=False, started=START - 9),
            served=served,
            libraries=(("mcp", "2.3.0"), ("h11", "missing")),
            messages=((START, "Something went wrong."),),
        )
    )
    for part in (
        "QwenCompanion 0.1.0",
        str(PORT),
        "/home/ada/.qwen/ide/1.lock: ours, written ",
        "round trip: 4.2 ms",
        "round trip: no answer",
        "round trip: its stream is gone",
        "/srv/app/a.py (Qwen Code)",
        "connected to Window 1",
        "can reach this editor, is not connected",
        "a folder that can't be seen: not connected: its folder can't be seen",
        "not connected: was started before, its IDE mode is off",
        "mcp  2.3.0",
        "Something went wrong.",
    ):
        assert part in text


def test_the_report_of_what_is_known_so_far():
    looking = report(facts(clis=None))
    assert "Looking for the CLIs that run" in looking
    assert "Nothing is wrong" not in looking
    assert "Running CLIs" not in looking
    noted = report(replace(facts(), clis=None, served={}, note="The companion does not run."))
    assert "Findings" not in noted
    assert "The companion does not run." in noted
    assert "not served" in noted


def test_a_report_for_others_has_no_secrets():
    token = "aB3_-" * 8 + "xyz"
    text = f"/home/ada/.qwen/ide/1.lock /home/adam/x /srv/ada/b /ada: adagio Bearer {token} /home/ada\n/mnt/ada\n"
    shared = without_secrets(text, "/home/ada", "ada")
    assert shared == "~/.qwen/ide/1.lock /home/adam/x /srv/USER/b /USER: adagio Bearer … ~\n/mnt/USER\n"
    assert without_secrets(r"C:\Users\ada\x D:\ada", r"C:\Users\ada", "ada") == r"~\x D:\USER"
    assert without_secrets("/var/x", "/", "") == "/var/x"


def test_the_copy_has_no_name_of_the_user_at_the_end_of_a_sentence_or_in_another_case():
    """As in the remedy for a CLI that runs in the home folder, above the one that is open."""
    said = "Start it in /home/ada/app, or open /home/ada. See “/mnt/ada”, /mnt/ada's, (/srv/ada) and /home/ada.old/x."
    wanted = "Start it in ~/app, or open ~. See “/mnt/USER”, /mnt/USER's, (/srv/USER) and /home/USER.old/x."
    assert without_secrets(said, "/home/ada", "ada") == wanted
    windows = without_secrets(r"c:\users\ADA\x and D:\Ada.", r"C:\Users\Ada", "Ada")
    assert windows == r"~\x and D:\USER."
