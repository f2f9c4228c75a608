"""What real CLIs write without asking: listed, kept and undone in the editor, and the CLI goes on."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from .gemini import Gemini
from .model import Call, Model
from .qwen import Home, Qwen
from .session import CliSession

LINES = "".join(f"line {number}\n" for number in range(1, 31))
CONTENT: dict[str, str] = dict.fromkeys(("one.txt", "two.txt", "three.txt", "gone.txt", "sed.txt"), LINES)
CONTENT["before.txt"] = LINES.upper()
CONTENT["messy.py"] = "x = { 'a':1 }\n"
FILES = ("one.txt", "two.txt", "three.txt", "gone.txt", "before.txt", "sed.txt", "messy.py")
#: What its default mode asks before a command, without a model that judges it.
ASKED = "Yes, allow once"
#: Seconds until the list has what was written: a look every 2 s, on a busy machine.
LISTED = 60.0


class Reviewed:
    """A session with a CLI that doesn't ask, and the list of what it has written."""

    def __init__(self, session: CliSession[Any]) -> None:
        self.session = session
        self.editor = session.editor
        self.folder = session.home.workspace

    def listed(self) -> dict[str, dict[str, Any]]:
        """What waits, by the file's name."""
        self.editor.do("command", name="qwen_companion_diff_list")
        panels = [panel for window in self.editor.state()["windows"] for panel in window["panels"].values()]
        found = [panel["settings"].get("qwen_companion.review_list") for panel in panels]
        rows = json.loads(next((each for each in found if each), "[]"))
        return {row["path"].rpartition("/")[2]: row for row in rows if row["state"] in {"waits", "viewed"}}

    def wait_listed(self, **kinds: str) -> dict[str, dict[str, Any]]:
        """Wait until exactly these files wait, by the names without their ending."""
        end = time.monotonic() + LISTED
        while True:
            found = self.listed()
            if {name.partition(".")[0]: row["kind"] for name, row in found.items()} == kinds:
                return found
            assert time.monotonic() < end, found
            time.sleep(0.3)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def wait_baseline(self) -> None:
        """Wait until the folder's first snapshot is on the disk."""
        stores = self.session.home.home / ".cache" / "qwen-companion" / "snapshots"
        self.editor.wait("first snapshot", lambda: [*stores.glob("*/round.json")])

    def run(self, name: str, **arguments: Any) -> None:
        self.editor.do("command", name=name, args=arguments)


def started(make: Any) -> Reviewed:
    def prepared(home: Home, model: Model) -> Any:
        for name in FILES:
            home.write(name, CONTENT[name])
        return make(home, model)

    return Reviewed(CliSession[Any].begin(prepared))


@pytest.fixture(params=["", "yolo"], ids=["in its default mode", "yolo"])
def qwen(request: pytest.FixtureRequest, programs: None) -> Iterator[Reviewed]:
    reviewed = started(lambda home, model: Qwen(home, model, approval=request.param))
    yield reviewed
    reviewed.session.close()


def test_everything_that_qwen_code_writes_is_listed_and_can_be_undone(qwen: Reviewed) -> None:
    folder, cli = qwen.folder, qwen.session.cli
    qwen.wait_baseline()
    read = [Call("read_file", {"file_path": str(folder / name)}) for name in FILES[:3]]
    edits = [
        Call("edit", {"file_path": str(folder / name), "old_string": "line 3\n", "new_string": "line three\n"})
        for name in FILES[:3]
    ]
    also = Call("edit", {"file_path": str(folder / "one.txt"), "old_string": "line 20\n", "new_string": "line 20!\n"})
    made = Call("write_file", {"file_path": str(folder / "made.txt"), "content": "made\n"})
    command = "rm gone.txt && mv before.txt after.txt && sed -i 's/line 9$/line nine/' sed.txt"
    command += f" && {sys.executable} -m ruff format --isolated --no-cache -q messy.py"
    shell = Call("run_shell_command", {"command": command, "description": "Change files", "is_background": False})
    script = cli.ask("Change the files", read, edits, [also], [made], [shell])
    cli.terminal.wait(
        "end or question", lambda: any(text in cli.terminal.text() for text in (script.done, ASKED)), 60.0
    )
    if ASKED in cli.terminal.text():
        cli.terminal.press("\r")
    cli.wait_done(script)
    rows = qwen.wait_listed(
        one="modified",
        two="modified",
        three="modified",
        made="created",
        gone="deleted",
        after="renamed",
        sed="modified",
        messy="modified",
    )
    assert qwen.text("messy.py") == 'x = {"a": 1}\n'
    assert {row["agent"] for row in rows.values()} == {"Qwen Code"}
    assert rows["one.txt"]["changes"] == 2
    view = qwen.editor.open_file(folder / "one.txt")
    qwen.editor.wait("marks", lambda: len(qwen.editor.view(view)["annotations"]) == 2)
    steps = (("qwen_companion_keep_change", "line three\n"), ("qwen_companion_undo_change", "line 20!\n"))
    for left, (name, line) in zip((1, 0), steps, strict=True):
        start = qwen.editor.view(view)["text"].index(line)
        qwen.editor.do("select", view=view, regions=[[start, start]])
        qwen.editor.do("command", name=name, view=view)
        qwen.editor.wait("other mark", lambda left=left: len(qwen.editor.view(view)["annotations"]) == left)
    rest = dict.fromkeys(("two", "three", "sed", "messy"), "modified")
    qwen.wait_listed(**rest, made="created", gone="deleted", after="renamed")
    assert qwen.text("one.txt") == LINES.replace("line 3\n", "line three\n")
    for name in ("made.txt", "gone.txt", "after.txt", "sed.txt", "two.txt", "three.txt", "messy.py"):
        qwen.run("qwen_companion_undo_file", path=str(folder / name))
    qwen.wait_listed()
    assert not (folder / "made.txt").exists()
    assert not (folder / "after.txt").exists()
    assert all(qwen.text(name) == CONTENT[name] for name in FILES[1:])
    script = cli.ask("Read it", [Call("read_file", {"file_path": str(folder / "one.txt")})])
    cli.wait_done(script)
    seen = json.dumps(qwen.session.model.requests_of(script)[-1].messages[-1])
    assert "line three" in seen
    assert "line 20!" not in seen


@pytest.fixture
def gemini(gemini_program: None) -> Iterator[Reviewed]:
    def make(home: Home, model: Model) -> Gemini:
        return Gemini(home, model, approval="auto_edit")

    reviewed = started(make)
    yield reviewed
    reviewed.session.close()


def test_what_gemini_cli_writes_in_auto_edit_is_listed_and_can_be_undone(gemini: Reviewed) -> None:
    folder, cli = gemini.folder, gemini.session.cli
    gemini.wait_baseline()
    for name in FILES[:3]:
        cli.wait_done(cli.ask_to_edit(folder / name, "line 3\n", "line three\n"))
    cli.wait_done(cli.ask_to_write(folder / "made.txt", "made\n"))
    rows = gemini.wait_listed(one="modified", two="modified", three="modified", made="created")
    assert {row["agent"] for row in rows.values()} == {"Gemini CLI"}
    gemini.run("qwen_companion_keep_file", path=str(folder / "one.txt"))
    for name in ("two.txt", "three.txt", "made.txt"):
        gemini.run("qwen_companion_undo_file", path=str(folder / name))
    gemini.wait_listed()
    assert gemini.text("one.txt") == LINES.replace("line 3\n", "line three\n")
    assert gemini.text("two.txt") == gemini.text("three.txt") == LINES
    assert not (folder / "made.txt").exists()
