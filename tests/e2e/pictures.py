"""Regenerates docs/pictures for `scripts/pictures`, with the headless editor and a headless browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.agent_talk import scripted

from .chatting import Chatting, Room, opened, write_settings
from .cli import STEP
from .clis import NEWEST_QWEN
from .editor import Editor
from .language_server import archive, with_lsp
from .mcp_client import connect
from .model import Call, Model
from .pair import Pair
from .qwen import PROJECT, Home, Qwen
from .session import CliSession
from .test_acp import made
from .test_chat_agents import Room as AgentRoom

PICTURES = PROJECT / "docs" / "pictures"
EXAMPLE = PROJECT / "docs" / "example"
SIZE = (1400, 560)
CHAT_SIZE = (1400, 760)
TURN_SIZE = (1400, 700)
LIST_SIZE = (1000, 560)
REGISTRY_SIZE = (1000, 800)
CHANGES = "qwen_companion.changes"
WORDS = "qwen_companion.words"
SCALE = 2
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Without these options, a browser connects to its vendor again and again.
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]

BEFORE = '''"""Prices of a small bookshop."""

PRICES = {"Emma": 9.5, "Walden": 12, "Dune": 14.9}


def total(order):
    amount = 0
    for title, copies in order.items():
        amount += PRICES[title] * copies
    return amount


def cheapest():
    return min(PRICES)
'''
AFTER = '''"""Prices of a small bookshop."""

PRICES = {"Emma": 9.5, "Walden": 12, "Dune": 14.9}


def total(order):
    amount = 0
    for title, copies in order.items():
        if title not in PRICES:
            raise ValueError(f"We do not sell {title!r}")
        amount += PRICES[title] * copies
    return round(amount, 2)


def cheapest():
    return min(PRICES, key=PRICES.get)
'''
SHELF = "\n\ndef shelf_{0}():\n    found = [title for title in PRICES if len(title) == {0}]\n    return sorted(found)\n"
SHELVES = "from prices import PRICES\n" + "".join(map(SHELF.format, range(1, 12)))
NEW_SHELVES = (
    SHELVES.replace("== 3]", "<= 3]")
    .replace("== 5]\n", "== 5]\n    print(found)\n    print(len(found))\n")
    .replace("len(title) == 6]\n    return sorted(found)", "title.endswith('6')]\n    return sorted(found, key=len)")
    .replace(SHELF.format(7), "")
    .replace("== 9]", ">= 9]")
)
QUESTION = "What does total() do with a title that we do not sell?"
THOUGHTS = ("The sum of prices[title] * copies. ", "For a title that is missing the price is undefined, ", "so NaN.")
ANSWER = """It gives `NaN`: `prices[title]` is `undefined` then, and a number times `undefined` is not a number. \
Nothing is thrown, so the order goes on with a sum that is none.

```js
for (const title of Object.keys(order)) {
  if (!(title in prices)) {
    throw new Error(`Unknown book: ${title}`);
  }
}
```

Such a check in orders.js:7, before the sum is made, would stop it."""
RUN = "Run the tests."
OTHER_QUESTION = "Write a test for total()."
OTHER_ANSWER = """With Node's own test runner:

```js
import assert from "node:assert";
import test from "node:test";
import { total } from "./orders.js";

test("an order has the sum of its books", () => {
  assert.equal(total({ Emma: 2, Dune: 1 }), 33.9);
});
```

orders.js:12 prints when it is imported, so the output has one more line."""
WISH = "Yes, refuse such orders."
LINE = "    amount += prices[title] * copies;\n"
CHECK = "    if (!(title in prices)) {\n      throw new Error(`Unknown book: ${title}`);\n    }\n"


def browser() -> str:
    """The path of Chromium or Chrome. Exits with a sentence if there is neither."""
    found = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        sys.exit("scripts/pictures needs Chromium or Chrome: put it on PATH, or set $BROWSER to its path.")
    return found


def photograph(page: Path, picture: Path, size: tuple[int, int], *, scale: int = SCALE) -> None:
    """Take a PNG picture of a page."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser(), *QUIET, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        command += [f"--force-device-scale-factor={scale}", f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def resize(editor: Editor, size: tuple[int, int], *, sidebar: bool = True) -> int:
    """Give the window the size of its pictures, so that what is shown in it fits. Returns its id."""
    window = editor.state()["windows"][0]["id"]
    editor.do("resize", window=window, width=size[0], height=size[1], sidebar=sidebar)
    return window


def bare(editor: Editor, size: tuple[int, int]) -> int:
    """As `resize`, without the side bar and the untitled tab."""
    window = resize(editor, size, sidebar=False)
    editor.do("command", name="close_file", window=window)
    return window


def divide(editor: Editor, window: int, share: float = 0.5) -> None:
    """Divide a window into two columns, and focus the second. `share` is that of the first."""
    columns = {"cols": [0.0, share, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
    editor.do("command", name="set_layout", args=columns, window=window)
    editor.do("command", name="focus_group", args={"group": 1}, window=window)


@contextmanager
def editing(
    size: tuple[int, int],
    files: Mapping[str, str] | None = None,
    prepare: Callable[[Home], None] = lambda _: None,
    *,
    is_bare: bool = False,
) -> Iterator[tuple[Editor, int]]:
    """An editor on a folder with these files, and the id of its window. `prepare` gets its home before it starts."""
    with Home.make() as home:
        for name, text in (files or {}).items():
            home.write(name, text)
        prepare(home)
        with Editor(home, [home.workspace]) as editor:
            yield editor, (bare if is_bare else resize)(editor, size)


@contextmanager
def talking(code: str) -> Iterator[Chatting]:
    """A chat with an agent that a script makes."""

    def prepare(home: Home) -> None:
        write_settings(home, agents=allowed(home, scripted(code, home.root)))

    with editing(LIST_SIZE, prepare=prepare, is_bare=True) as (editor, window):
        here = opened(editor, window)
        here.wait_text("Example Agent 1.0 on this computer")
        yield here


def shoot(
    editor: Editor,
    window: int,
    name: str,
    size: tuple[int, int],
    schemes: tuple[str, ...] = ("dark", "light"),
    **options: Any,
) -> None:
    """Take a picture of a window in each of these colour schemes."""
    for scheme in schemes:
        page = editor.home.root / f"{name}-{scheme}.html"
        options |= {"scheme": scheme, "width": size[0], "height": size[1]}
        editor.do("render", window=window, path=str(page), **options)
        # The folder of this run says nothing to a reader.
        text = page.read_text("utf-8").replace(str(editor.home.home), "/home/ada")
        page.write_text(text.replace(str(editor.home.root), "/home/ada"), "utf-8")
        picture = PICTURES / f"{name}-{scheme}.png"
        photograph(page, picture, size)
        print(picture.relative_to(PROJECT))


def wait_wide(editor: Editor, proposal: int) -> None:
    """Wait until the header of a diff has the form for a wide view: it follows the width half a second later."""
    editor.wait("header", lambda: "Qwen Code:" in str(editor.view(proposal)["phantoms"]))


def diffs() -> None:
    """Open one diff and take its picture in both layouts."""

    def prepare(home: Home) -> None:
        write_settings(home, diff_layout="side_by_side")

    with editing(SIZE, {"prices.py": BEFORE}, prepare) as (editor, window):
        file = editor.home.workspace / "prices.py"
        editor.open_file(file)
        with connect(editor.lock()) as client:
            client.call("openDiff", filePath=str(file), newContent=AFTER)
            proposal = editor.wait_diff(file)
            editor.wait("marks", lambda: editor.view(proposal["id"])["annotations"])
            editor.wait("status", lambda: "1 diff" in str(editor.view(proposal["id"])["status"]))
            editor.do("command", name="qwen_companion_go_to_diff", window=window)
            for layout in ("side-by-side", "inline"):
                wait_wide(editor, proposal["id"])
                # The editor's own inline diff marks no words.
                marked = layout == "side-by-side"
                editor.wait(
                    "words",
                    lambda marked=marked: bool(editor.view(proposal["id"])["regions"][WORDS]["regions"]) == marked,
                )
                shoot(editor, window, f"diff-{layout}", SIZE)
                editor.do("command", name="qwen_companion_toggle_diff_layout", view=proposal["id"])


def scrolled() -> None:
    """Open the diffs of three files, scroll into one and revert a change of it, and take a picture."""
    texts = {"prices.py": (BEFORE, AFTER), "shelves.py": (SHELVES, NEW_SHELVES), "stock.py": ("", "STOCK = {}\n")}
    there = {name: before for name, (before, _) in texts.items() if before}
    with editing(TURN_SIZE, there) as (editor, window):
        home = editor.home
        editor.open_file(home.workspace / "prices.py")
        with connect(editor.lock()) as client:
            for name, (_, after) in texts.items():
                client.call("openDiff", filePath=str(home.workspace / name), newContent=after)
            editor.wait_diff(home.workspace / "prices.py")
            proposal = editor.wait_next_diff(home.workspace / "shelves.py")
            editor.wait("marks", lambda: editor.view(proposal["id"])["annotations"])
            editor.do("command", name="qwen_companion_go_to_diff", window=window)
            editor.do("command", name="qwen_companion_undo_change", view=proposal["id"])
            editor.wait("reverted", lambda: "restore" in str(editor.view(proposal["id"])["annotations"]))
            editor.wait("status", lambda: "3 diffs" in str(editor.view(proposal["id"])["status"]))
            wait_wide(editor, proposal["id"])
            shoot(editor, window, "diff-scrolled", TURN_SIZE)


def written() -> None:
    """Change a file as a CLI that asks nothing does it, comment on a line, and take a picture."""
    with editing(TURN_SIZE, {"prices.py": BEFORE, "shelves.py": SHELVES}) as (editor, window):
        file, proposed = (editor.home.workspace / name for name in ("prices.py", "shelves.py"))
        view = editor.open_file(file)
        with connect(editor.lock()) as client:
            time.sleep(3)  # the first snapshot, which nothing tells of
            client.call("openDiff", filePath=str(proposed), newContent=NEW_SHELVES)
            editor.wait_diff(proposed)
            file.write_text(AFTER, encoding="utf-8")
            editor.wait("list", lambda: "changes to review" in str([view["status"] for view in editor.views()]))
            editor.do("focus", view=view)
            editor.do("command", name="qwen_companion_go_to_diff", window=window)
            editor.wait("changes", lambda: CHANGES in editor.view(view)["regions"])
            editor.do("command", name="qwen_companion_comment", args={"text": REMARK}, view=view)
            editor.wait("comment", lambda: "KeyError" in str(editor.view(view)["phantoms"]))
            time.sleep(1)  # the links at the changes fit the width a moment after
            shoot(editor, window, "changes", TURN_SIZE)


REVIEW_SIZE = (1400, 900)
# As high as it takes to show the last lines, which name the keys.
FILES_SIZE = (1400, 920)
NARROW_SIZE = (640, 920)
MANY = 44
"""Files that an agent changes at once."""


def review() -> None:
    """Take pictures of the Review: with a proposal and written changes, narrow, beside the code, and of many files."""
    texts = {"prices.py": BEFORE, "stock.js": f"{STOCK}// Counted on Mondays\n", "shelves.py": SHELVES}
    many = {f"shelves/shelf_{at}.py": SHELF.format(at).lstrip() for at in range(MANY)}
    with editing(REVIEW_SIZE, {**texts, **many}) as (editor, window):
        home = editor.home.workspace
        editor.open_file(home / "prices.py")
        with connect(editor.lock()) as client:
            time.sleep(3)  # the first snapshot, which nothing tells of
            client.call("openDiff", filePath=str(home / "shelves.py"), newContent=NEW_SHELVES)
            editor.wait_diff(home / "shelves.py")
            (home / "prices.py").write_text(AFTER, encoding="utf-8")
            (home / "store").mkdir()
            (home / "stock.js").rename(home / "store" / "stock.js")
            (home / "returns.py").write_text("RETURNS = {}\n", encoding="utf-8")
            (home / "cover.png").write_bytes(bytes(range(256)))
            wait_review(editor, window, "prices.py", "store/stock.js")
            shoot(editor, window, "review", REVIEW_SIZE, sidebar=False)
            tab = next(view["id"] for view in editor.views() if view["name"] == "Review")
            for _ in range(2):
                editor.do("command", name="qwen_companion_review_go", args={"to": "file"}, view=tab)
            resize(editor, FILES_SIZE, sidebar=False)
            shoot(editor, window, "review-files", FILES_SIZE, ("dark",), sidebar=False)
            resize(editor, NARROW_SIZE, sidebar=False)
            shoot(editor, window, "review-narrow", NARROW_SIZE, ("light",), sidebar=False)
            resize(editor, REVIEW_SIZE, sidebar=False)
            editor.do("command", name="close_file", window=window)
            divide(editor, window)
            editor.do("command", name="focus_group", args={"group": 0}, window=window)
            for name in many:
                text = (home / name).read_text("utf-8")
                (home / name).write_text(text.replace("sorted(found)", "sorted(found, key=len)"), encoding="utf-8")
            wait_review(editor, window, "shelf_1.py")
            shoot(editor, window, "review-beside", REVIEW_SIZE, ("dark",), sidebar=False)


def wait_review(editor: Editor, window: int, *names: str) -> None:
    """Open the Review, and wait until it has these files."""
    editor.do("command", name="qwen_companion_review", window=window)
    editor.wait(
        "Review",
        lambda: all(
            name in str([view for view in editor.views(text=True) if view["name"] == "Review"]) for name in names
        ),
    )
    time.sleep(2)


REFUSE = "Refuse titles that we do not sell, and round the total"
REFUSED = "Such orders are refused now."
PAID = "        amount += PRICES[title] * copies\n"
REFUSAL = AFTER[AFTER.index("        if title") : AFTER.index(PAID)]
RETURN = "    return amount\n"
REASONS = (
    "I look at how the total is made.",
    "A title that is missing raises a KeyError today, which says nothing to the shop: I name it in a ValueError.",
    "Prices are floats, so their sum has more than two decimal places.",
)
TEST_IT = "Write a test for that"
TESTED = "The test is in test_prices.py."
TEST_OF_TITLES = """import pytest

import prices


def test_a_title_that_we_do_not_sell_is_refused():
    with pytest.raises(ValueError, match="Ulysses"):
        prices.total({"Ulysses": 1})
"""


def why() -> None:
    """The real Qwen Code writes for two prompts: pictures of why a line is there, and of the Review by their turns."""

    def terminal(home: Home, model: Model) -> Qwen:
        home.write("prices.py", BEFORE)
        home.answer_transcripts(may=True)
        return Qwen(home, model, approval="yolo")

    with closing(CliSession.begin(terminal)) as session:
        editor, model, file = session.editor, session.model, session.home.workspace / "prices.py"
        model.explains = True
        window = bare(editor, SIZE)
        time.sleep(5)  # the first snapshot, and the first look at the transcripts: nothing tells of them
        edits = [(PAID, REFUSAL + PAID), (RETURN, "    return round(amount, 2)\n")]
        rounds = [[Call("read_file", {"file_path": str(file)})]]
        rounds += [[Call("edit", {"file_path": str(file), "old_string": old, "new_string": new})] for old, new in edits]
        model.speech(REFUSED, rounds=rounds, words=REFUSE, reasons=REASONS)
        write = Call("write_file", {"file_path": str(file.with_name("test_prices.py")), "content": TEST_OF_TITLES})
        model.speech(TESTED, rounds=[[write]], words=TEST_IT, reasons=("pytest is used already, so I go on with it.",))
        for words, done in ((REFUSE, REFUSED), (TEST_IT, TESTED)):
            session.cli.wait_idle()
            session.cli.terminal.type(words, session.cli.empty)
            session.cli.terminal.wait_text(done, STEP)
            time.sleep(5)  # nobody types the next prompt before the transcript was looked at
        view = editor.open_file(file)
        point = editor.view(view)["text"].index("raise ValueError")
        explain(editor, view, point)
        shoot(editor, window, "why", SIZE, ("dark",), sidebar=False)
        editor.do("select", view=view, regions=[[0, 0]])
        resize(editor, REVIEW_SIZE, sidebar=False)
        wait_review(editor, window, f"“{REFUSE}”", f"“{TEST_IT}”")
        tab = next(view["id"] for view in editor.views() if view["name"] == "Review")
        for words in ("▸", "with pytest"):
            at = editor.view(tab)["text"].index(words)
            editor.do("select", view=tab, regions=[[at, at]])
            if words == "▸":  # a new file is folded
                editor.do("command", name="qwen_companion_review_do", args={"what": "fold"}, view=tab)
                editor.wait("unfolded", lambda: "with pytest" in editor.view(tab)["text"])
        explain(editor, tab, at)
        shoot(editor, window, "review-turns", TURN_SIZE, ("dark",), sidebar=False)


def explain(editor: Editor, view: int, point: int) -> None:
    """Ask why a line is here until that is known, and leave the popup open."""

    def is_known() -> bool:
        editor.do("select", view=view, regions=[[point, point]])
        editor.do("command", name="qwen_companion_why", view=view)
        time.sleep(1)
        return bool(editor.view(view).get("popup"))

    editor.wait("reason", is_known)


REMARK = "A KeyError says this already: leave it out."


def chat() -> None:
    """Send two prompts about docs/example, and take pictures of the answer and of the permission request."""
    with closing(Room(NEWEST_QWEN, managed=True)) as room:
        shutil.copytree(EXAMPLE, room.home.workspace, dirs_exist_ok=True)
        file = room.home.workspace / "orders.js"
        room.model.speech(
            ANSWER, thoughts=THOUGHTS, rounds=[[Call("read_file", {"file_path": str(file)})]], words=QUESTION
        )
        edit = {"file_path": str(file), "old_string": LINE, "new_string": CHECK + LINE}
        room.model.speech("Done.", rounds=[[Call("edit", edit)]], words=WISH)
        window = resize(room.editor, CHAT_SIZE, sidebar=False)
        room.editor.open_file(file)
        divide(room.editor, window)
        here = room.window()
        here.wait_live()
        here.write(QUESTION)
        here.press("enter")
        here.wait_text(ANSWER.splitlines()[-1])
        here.wait_idle()
        shoot(room.editor, window, "chat", CHAT_SIZE, sidebar=False)
        here.write(WISH)
        here.press("enter")
        here.wait_diff()
        room.editor.wait("marks", lambda: CHANGES in room.editor.view(here.diffs[0]["id"])["regions"])
        time.sleep(1)  # the headers fit the widths a moment after the diff has opened
        shoot(room.editor, window, "permission", CHAT_SIZE, sidebar=False)


def tabs() -> None:
    """Ask two agents about docs/example, each in its tab, and take a picture while the hidden one asks something."""

    def prepare(editor: Editor, window: int) -> None:
        shutil.copytree(EXAMPLE, editor.home.workspace, dirs_exist_ok=True)
        editor.open_file(editor.home.workspace / "orders.js")
        divide(editor, window)

    with closing(Pair(prepare)) as pair:
        file = pair.home.workspace / "orders.js"
        run = Call(
            "run_shell_command", {"command": "node --test", "description": "Runs the tests", "is_background": False}
        )
        pair.model.speech("They pass.", rounds=[[run]], words=RUN)
        pair.model.speech(OTHER_ANSWER, rounds=[[Call("read_file", {"file_path": str(file)})]], words=OTHER_QUESTION)
        pair.one.write(RUN)
        pair.one.press("enter")
        pair.editor.wait("question", lambda: pair.one.view["name"].startswith("? "))
        pair.two.write(OTHER_QUESTION)
        pair.two.press("enter")
        pair.two.wait_text(OTHER_ANSWER.splitlines()[-1])
        pair.two.wait_idle()
        pair.editor.wait("status", lambda: "1 question (Qwen Code)" in str(pair.two.view["status"]))
        shoot(pair.editor, pair.one.window, "chat-tabs", CHAT_SIZE, sidebar=False)


STOCK = "export const stock = { Emma: 3, Walden: 1, Dune: 0 };\n"
SERVE = "python3 -m http.server 8123"
TURNS = {
    "Refuse what we don't sell, and begin a list of the stock.": "Such orders are refused. The stock is in stock.js.",
    "Serve the folder while I look at it.": "It is served on port 8123 in the background.",
}
"""Prompts, each with its answer."""


def lists() -> None:
    """Talk about docs/example, and take pictures of what the chat's commands list."""
    with closing(Room(NEWEST_QWEN, managed=True)) as room:
        shutil.copytree(EXAMPLE, room.home.workspace, dirs_exist_ok=True)
        orders, stock = room.home.workspace / "orders.js", room.home.workspace / "stock.js"
        edit = {"file_path": str(orders), "old_string": LINE, "new_string": CHECK + LINE}
        write = {"file_path": str(stock), "content": STOCK}
        serve = {"command": SERVE, "description": "Serve it", "is_background": True}
        rounds = [
            [[Call("read_file", {"file_path": str(orders)})], [Call("edit", edit), Call("write_file", write)]],
            [[Call("run_shell_command", serve)]],
        ]
        for (words, answer), calls in zip(TURNS.items(), rounds, strict=True):
            room.model.speech(answer, rounds=calls, words=words)
        room.model.speech(ANSWER, words=QUESTION)
        window = resize(room.editor, LIST_SIZE, sidebar=False)
        here = room.window()
        here.wait_live()
        here.command("chat_mode")
        here.choose("YOLO")

        def say(words: str, answer: str) -> None:
            here.write(words)
            here.press("enter")
            here.wait_text(answer)
            here.wait_idle()

        def shown(name: str, scheme: str) -> None:
            here.command(f"chat_{name}")
            here.wait_question()
            shoot(room.editor, window, f"chat-{name}", LIST_SIZE, (scheme,), sidebar=False)
            room.editor.do("answer", panel=None, window=window)

        say(QUESTION, ANSWER.splitlines()[-1])
        here.command("chat_new")
        room.editor.wait("new chat", lambda: QUESTION not in here.text)
        here.wait_live()
        here.command("chat_mode")
        here.choose("YOLO")
        change, run = TURNS.items()
        say(*change)
        room.editor.wait("status", lambda: "changes to review" in str(here.view["status"]))
        shown("changes", "dark")
        say(*run)
        room.editor.wait("task", lambda: "In the background" in here.bars)
        shown("rewind", "dark")
        shown("tasks", "light")
        shown("sessions", "light")


READY = """
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "example", "title": "Example Agent", "version": "1.0"}}
"""


def allowed(home: Home, command: list[str]) -> dict[str, object]:
    """What the setting `agents` has for an agent that the person has allowed to run."""
    consent = home.home / ".config" / "sublime-text" / "Packages" / "User" / "QwenCompanion Agents.sublime-settings"
    consent.parent.mkdir(parents=True, exist_ok=True)
    consent.write_text(
        json.dumps(
            {"allowed": {"Example": command}, "allowed_folders": {"Example": [str(home.workspace)]}, "last": "Example"}
        ),
        encoding="utf-8",
    )
    return {"Example": {"command": command}}


NOTES = '"""Prices of a bookshop."""\n\nPRICES = {\n    "Emma": 9.5,\n    "Walden": 12,\n}\n'
NEW = '    "Walden": 12,\n    "Dune": 14,\n'
MINE = NOTES.replace('    "Walden": 12,\n', '    "Walden": 12,\n    # with the postage\n    "Dune": 14.9,\n')
ADD = "Add Dune to the prices."
TEST = "Run the tests."
TESTING = "prices.test.js  ✓ 12 tests\norders.test.js  ✓ 31 tests\nshelves.test.js …\n"
"""What the tests have printed so far."""
RUNS = """
def session_prompt(params):
    say("I run them with the project's own command.\\n\\n")
    code = "import sys, time; sys.stdout.write(sys.argv[1]); sys.stdout.flush(); time.sleep(600)"
    made = ask("terminal/create", command=sys.executable, args=["-c", code, TESTING])
    call = {"toolCallId": "t", "title": "npm test", "kind": "execute", "status": "in_progress"}
    update(sessionUpdate="tool_call", **call, content=[{"type": "terminal", **made}])
    ask("terminal/wait_for_exit", **made)
    return {"stopReason": "end_turn"}
"""


def agents() -> None:
    """Chat with agents on their standard input and output: a proposal that is edited, and a command with its Stop."""
    agent = made("gemini", set())
    file = agent.place.home.write("prices.py", NOTES)
    agent.place.model.speech(
        "Done.",
        rounds=[
            [Call("read_file", {"file_path": str(file)})],
            [agent.edit(file, '    "Walden": 12,\n', NEW)],
        ],
        words=ADD,
    )
    with closing(agent.place), closing(AgentRoom(agent)) as room:
        window = bare(room.editor, CHAT_SIZE)
        room.editor.open_file(file)
        divide(room.editor, window, 0.55)
        here = room.chat()
        here.write(ADD)
        here.press("enter")
        proposal = room.editor.wait_diff(file)
        room.editor.set_text(proposal, MINE)
        room.editor.wait("marks", lambda: CHANGES in room.editor.view(proposal["id"])["regions"])
        time.sleep(1)  # the headers fit the widths a moment after the diff has opened
        shoot(room.editor, window, "agent-edited", CHAT_SIZE, ("dark",), sidebar=False)
    with talking(f"TESTING = {TESTING!r}{READY}{RUNS}") as here:
        here.write(TEST)
        here.press("enter")
        here.editor.wait("Stop", lambda: "■ Stop" in here.bars)
        here.wait_text("31 tests")
        shoot(here.editor, here.window, "agent-terminal", LIST_SIZE, ("light",), sidebar=False)


ASKING = """
def session_prompt(params):
    say("I need to know a few things before I change the prices.\\n\\n")
    def field(kind, title, **more): return {"type": kind, "title": title, **more}
    schema = {"type": "object", "required": ["currency", "from"], "properties": {
        "currency": field("string", "Currency", enum=["EUR", "USD", "GBP"], default="EUR"),
        "from": field("string", "From which day", format="date"),
        "rounding": field("integer", "Decimal places", minimum=0, maximum=4, default=2),
        "postage": field("boolean", "With the postage", default=True)}}
    ask("elicitation/create", mode="form", message="How are the prices to be changed?", requestedSchema=schema)
    return {"stopReason": "end_turn"}
"""


def questions() -> None:
    """An agent asks, and its form is filled in."""
    with talking(READY + ASKING) as here:
        here.write("Put the new prices in.")
        here.press("enter")
        here.editor.wait("question", lambda: "Answer…" in here.bars)
        here.command("chat_answer", kind="allow_once")
        here.wait_question()
        here.editor.wait("status", lambda: "1 question" in str(here.view["status"]))
        shoot(here.editor, here.window, "agent-question", LIST_SIZE, ("dark",), sidebar=False)


def registry() -> None:
    """The list of agents that can be installed, and the question before one is."""

    def prepare(home: Home) -> None:
        write_settings(home, chat_enabled=True)
        kept = home.home / ".cache" / "qwen-companion" / "registry.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "companion" / "registry" / "registry.json", kept)
        os.utime(kept)

    with editing(LIST_SIZE, prepare=prepare, is_bare=True) as (editor, window):
        editor.do("command", name="qwen_companion_install_agent", window=window)
        here = Chatting(editor, window)
        items = here.wait_question("agents to install")["items"]
        shoot(editor, window, "agent-install", REGISTRY_SIZE, ("dark",), sidebar=False)
        editor.do("answer", panel=[item["trigger"] for item in items].index("Gemini CLI"), window=window)
        editor.wait("question", lambda: "Install Gemini CLI" in str(editor.state()["messages"]))
        shoot(editor, window, "agent-install-question", LIST_SIZE, ("dark",), sidebar=False, dialog=True)


def actions() -> None:
    """The actions that can be run with what is selected."""

    def prepare(home: Home) -> None:
        write_settings(home, chat_enabled=True)

    with editing(LIST_SIZE, {"prices.py": BEFORE}, prepare, is_bare=True) as (editor, window):
        view = editor.open_file(editor.home.workspace / "prices.py")
        editor.do("select", view=view, regions=[[BEFORE.index("def total"), BEFORE.index("def cheapest")]])
        editor.do("command", name="qwen_companion_action", window=window)
        Chatting(editor, window).wait_question()
        shoot(editor, window, "actions", LIST_SIZE, ("dark",), sidebar=False)


WRONG = BEFORE.replace("PRICES[title]", "PRICE[title]").replace("return amount", "return ammount")


def problems() -> None:
    """What a real language server finds in a file, sent to the prompt of a chat."""
    if not archive("LSP").is_file():
        sys.exit("The picture of problems needs the archive of LSP: put its folder into $FIDELITY_PACKAGES.")
    with Home.make() as home:
        file = home.write("prices.py", WRONG)
        with with_lsp(home, agents=allowed(home, scripted(READY, home.root))) as editor:
            window = bare(editor, LIST_SIZE)
            view = editor.open_file(file)
            rows = {"cols": [0.0, 1.0], "rows": [0.0, 0.5, 1.0], "cells": [[0, 0, 1, 1], [0, 1, 1, 2]]}
            editor.do("command", name="set_layout", args=rows, window=window)
            editor.do("command", name="focus_group", args={"group": 1}, window=window)
            here = opened(editor, window)
            here.wait_text("Example Agent 1.0 on this computer")
            editor.do("focus", view=view)
            start = WRONG.index("PRICE[")
            underlined = [start, start + len("PRICE")]
            editor.wait("problems", lambda: str(underlined) in str(editor.view(view)["regions"]))
            editor.do("command", name="qwen_companion_send_problems", window=window)
            editor.wait("problems in the prompt", lambda: "is not defined" in here.prompt)
            here.write("Are these only misspelled?")
            shoot(editor, window, "problems", LIST_SIZE, ("dark",), sidebar=False)


TAKEN = (diffs, scrolled, written, review, why, chat, tabs, lists, agents, questions, registry, actions, problems)


def main() -> None:
    """Take all pictures, or only those whose functions are named."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    taken = {each.__name__: each for each in TAKEN}
    for name in sys.argv[1:] or taken:
        taken[name]()


if __name__ == "__main__":
    main()
