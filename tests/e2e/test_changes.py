"""What real CLIs write without asking: listed, kept and undone in the editor, and the CLI goes on."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .gemini import Gemini
from .model import Call, Model, Script
from .qwen import Home, Qwen
from .session import CliSession

LINES = "".join(f"line {number}\n" for number in range(1, 31))
CONTENT: dict[str, str] = dict.fromkeys(("one.txt", "two.txt", "three.txt", "gone.txt", "sed.txt"), LINES)
CONTENT["before.txt"] = LINES.upper()
CONTENT["messy.py"] = "x = { 'a':1 }\n"
FILES = ("one.txt", "two.txt", "three.txt", "gone.txt", "before.txt", "sed.txt", "messy.py")
#: What the CLIs ask before a command in the modes that ask: Qwen Code's default without a model that judges it, and
#: Gemini CLI's auto-edit.
ASKED = ("Yes, allow once", "Allow once")
#: Seconds until the list has what was written: a look every 2 s, on a busy machine.
LISTED = 60.0
KINDS = {"created", "deleted", "renamed"}


class Reviewed:
    """A session with a CLI that doesn't ask, and the list of what it has written."""

    def __init__(self, session: CliSession[Any]) -> None:
        self.session = session
        self.editor = session.editor
        self.folder = session.home.workspace

    def listed(self) -> dict[str, str]:
        """What waits by the Review's lines of files: the kind of each, by its name."""
        self.editor.do("command", name="qwen_companion_review")
        line = r"^[▾▸]\xa0([^\xa0\n]+)\xa0  \S+ \S+(?:  (\w+))?"
        found = re.findall(line, self.text_of_review(), re.MULTILINE)
        return {re.split("/| → ", path)[-1]: kind if kind in KINDS else "modified" for path, kind in found}

    def text_of_review(self) -> str:
        """The text of the Review, which is open."""
        return next(view["text"] for view in self.editor.views(text=True) if view["name"] == "Review")

    def wait_listed(self, **kinds: str) -> dict[str, str]:
        """Wait until exactly these files wait, by the names without their ending."""
        end = time.monotonic() + LISTED
        while True:
            found = self.listed()
            if {name.partition(".")[0]: kind for name, kind in found.items()} == kinds:
                return found
            assert time.monotonic() < end, self.text_of_review()
            time.sleep(0.3)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def wait_baseline(self) -> None:
        """Wait until the folder's first snapshot is on the disk."""
        stores = self.session.home.home / ".cache" / "qwen-companion" / "snapshots"
        self.editor.wait("first snapshot", lambda: [*stores.glob("*/round.json")])

    def wait_turn(self, script: Script) -> None:
        """Wait until the turn of a CLI in a terminal is known, by its checkpoint."""
        stores = self.session.home.home / ".cache" / "qwen-companion" / "snapshots"

        def is_known() -> bool:
            return any(script.tag in path.read_text("utf-8") for path in stores.glob("*/round.json"))

        self.editor.wait("turn", is_known)

    def run(self, name: str, **arguments: Any) -> None:
        self.editor.do("command", name=name, args=arguments)

    def finish(self, script: Script) -> None:
        """Wait for the end of what was asked, and allow its command."""
        terminal = self.session.cli.terminal
        ends = (script.done, *ASKED)
        terminal.wait("end or question", lambda: any(text in terminal.text() for text in ends), 60.0)
        if script.done not in terminal.text():
            terminal.press("\r")
        self.session.cli.wait_done(script)

    def decide(self, view: int, name: str, line: str, left: int, *, selects: bool = False) -> None:
        """Keep or undo the change at a line, or that line alone, and wait until so many are left."""
        start = self.editor.view(view)["text"].index(line)
        self.editor.do("select", view=view, regions=[[start, start + (len(line) - 1 if selects else 0)]])
        self.editor.do("command", name=name, view=view)
        self.editor.wait("other mark", lambda: len(self.editor.view(view)["annotations"]) == left)

    def press(self, tab: int, key: str, line: str) -> None:
        """Press a key in the Review, after which the caret is in such a line."""
        self.editor.do("press", keys=key, view=tab)

        def is_there() -> bool:
            view = self.editor.view(tab)
            caret = view["selection"][0][1]
            return view["text"][:caret].rpartition("\n")[2] == "" and view["text"][caret:].startswith(line)

        self.editor.wait(f"the caret in {line}", is_there)

    def opened(self, name: str, changes: int) -> int:
        """Open a file, and wait for the marks of its changes. Returns the view's id."""
        view = self.editor.open_file(self.folder / name)
        self.editor.wait("marks", lambda: len(self.editor.view(view)["annotations"]) == changes)
        return view


def started(make: Any) -> Reviewed:
    def prepared(home: Home, model: Model) -> Any:
        for name in FILES:
            home.write(name, CONTENT[name])
        return make(home, model)

    return Reviewed(CliSession[Any].begin(prepared))


def qwen_edit(path: Path, old: str, new: str) -> Call:
    return Call("edit", {"file_path": str(path), "old_string": old, "new_string": new})


def gemini_edit(path: Path, old: str, new: str) -> Call:
    asked = {"file_path": str(path), "old_string": old, "new_string": new, "instruction": "Replace it."}
    return Call("replace", asked)


def everything(folder: Path, edit: Callable[[Path, str, str], Call], **shell: object) -> list[list[Call]]:
    """What a model does in its turns: edit three files, one of them twice, create, delete, rename, sed, format."""
    edits = [edit(folder / name, "line 3\nline 4\n", "line three\nline four\n") for name in FILES[:3]]
    command = "rm gone.txt && mv before.txt after.txt && sed -i 's/line 9$/line nine/' sed.txt"
    command += f" && {sys.executable} -m ruff format --isolated --no-cache -q messy.py"
    return [
        [Call("read_file", {"file_path": str(folder / name)}) for name in FILES[:3]],
        edits,
        [edit(folder / "one.txt", "line 20\n", "line 20!\n")],
        [Call("write_file", {"file_path": str(folder / "made.txt"), "content": "made\n"})],
        [Call("run_shell_command", {"command": command, "description": "Change files", **shell})],
    ]


@pytest.fixture
def qwen(programs: None) -> Iterator[Reviewed]:
    reviewed = started(lambda home, model: Qwen(home, model, approval=""))
    yield reviewed
    reviewed.session.close()


@pytest.fixture
def gemini(gemini_program: None) -> Iterator[Reviewed]:
    reviewed = started(lambda home, model: Gemini(home, model, approval="auto_edit"))
    yield reviewed
    reviewed.session.close()


def test_everything_that_qwen_code_writes_is_listed_and_can_be_undone(qwen: Reviewed) -> None:
    review(qwen, "Qwen Code", everything(qwen.folder, qwen_edit, is_background=False))


def test_everything_that_gemini_cli_writes_in_auto_edit_is_listed_and_can_be_undone(gemini: Reviewed) -> None:
    review(gemini, "Gemini CLI", everything(gemini.folder, gemini_edit))


def test_what_one_qwen_code_proposes_and_another_one_has_written_are_decided_in_one_review(programs: None) -> None:
    """By the same keys. The one that asks has its answer, and writes; the other one's changes are kept and undone."""

    def one(home: Home, model: Model) -> Qwen:
        home.answer_transcripts(may=True)  # they say when the turn of a CLI in a terminal runs
        return Qwen(home, model, approval="yolo")

    reviewed = started(one)
    folder, editor = reviewed.folder, reviewed.editor
    try:
        reviewed.wait_baseline()
        with closing(Qwen(reviewed.session.home, reviewed.session.model)) as asking:
            asking.wait_ready()
            asking.wait_connected()
            written = LINES.replace("line 3\n", "line three\n").replace("line 20\n", "line 20!\n")
            edits = [
                [Call("read_file", {"file_path": str(folder / "one.txt")})],
                [qwen_edit(folder / "one.txt", "line 3\n", "line three\n")],
                [qwen_edit(folder / "one.txt", "line 20\n", "line 20!\n")],
            ]
            reviewed.finish(reviewed.session.cli.ask("Change one", *edits))
            proposed = LINES.replace("line 7\n", "line seven\n")
            script = asking.ask_to_write(folder / "two.txt", proposed)
            editor.wait_diff(folder / "two.txt")
            reviewed.wait_turn(script)
            reviewed.wait_listed(one="modified", two="modified")
            headings = [line for line in reviewed.text_of_review().split("\n") if line.startswith("◆")]
            assert [("proposes" in line) for line in headings] == [True, False], headings
            assert (reviewed.text("one.txt"), reviewed.text("two.txt")) == (written, LINES)
            [tab] = [view["id"] for view in editor.views() if view["name"] == "Review"]
            reviewed.press(tab, "k", "line 3")
            reviewed.press(tab, "k", "line 20")
            reviewed.press(tab, "u", "")
            # The turn of the one that asks runs in this folder, so the undo waits for its end. The proposal is next.
            editor.wait("later undo", lambda: "goes when the turn ends" in reviewed.text_of_review())
            assert reviewed.text("one.txt") == written
            editor.do("press", keys="ctrl+s", view=tab)
            asking.wait_done(script)
            reviewed.wait_listed()
            assert reviewed.text("one.txt") == LINES.replace("line 3\n", "line three\n")
            assert reviewed.text("two.txt") == proposed
            assert "Nothing waits for a review." in reviewed.text_of_review()
    finally:
        reviewed.session.close()


def review(reviewed: Reviewed, agent: str, turns: list[list[Call]]) -> None:
    """Have it all done; keep one change, undo another one, a line, and each file; and have a file read again."""
    folder, cli = reviewed.folder, reviewed.session.cli
    reviewed.wait_baseline()
    reviewed.finish(cli.ask("Change the files", *turns))
    changed = dict.fromkeys(("one", "two", "three", "sed", "messy"), "modified")
    rest = {"made": "created", "gone": "deleted", "after": "renamed"}
    reviewed.wait_listed(**changed, **rest)
    assert reviewed.text("messy.py") == 'x = {"a": 1}\n'
    headings = [line for line in reviewed.text_of_review().split("\n") if line.startswith("◆")]
    assert headings
    assert all(agent in line for line in headings)
    view = reviewed.opened("three.txt", 1)
    reviewed.decide(view, "qwen_companion_undo_change", "line four\n", 1, selects=True)
    reviewed.editor.wait("line undone", lambda: "line three\nline 4\n" in reviewed.text("three.txt"))
    view = reviewed.opened("one.txt", 2)
    reviewed.decide(view, "qwen_companion_keep_change", "line three\n", 1)
    reviewed.decide(view, "qwen_companion_undo_change", "line 20!\n", 0)
    del changed["one"]
    reviewed.wait_listed(**changed, **rest)
    kept = LINES.replace("line 3\nline 4\n", "line three\nline four\n")
    assert reviewed.text("one.txt") == kept
    for name in ("made.txt", "gone.txt", "after.txt", "sed.txt", "two.txt", "three.txt", "messy.py"):
        reviewed.run("qwen_companion_undo_file", path=str(folder / name))
    reviewed.wait_listed()
    assert not (folder / "made.txt").exists()
    assert not (folder / "after.txt").exists()
    assert all(reviewed.text(name) == CONTENT[name] for name in FILES[1:])
    script = cli.ask("Read it", [Call("read_file", {"file_path": str(folder / "one.txt")})])
    cli.wait_done(script)
    seen = json.dumps(reviewed.session.model.requests_of(script)[-1].messages[-1])
    assert "line three" in seen
    assert "line 20!" not in seen
