"""The way of a person who lets the agent work: it writes without asking, and they review what was written.

The real Qwen Code runs in its own approval mode. Only the model is a script.
"""

from __future__ import annotations

from typing import Self

from .cli import STEP
from .first_change import CHECK, LINE, RETURN, ROUNDED, FirstChange, Show, StartedQwen
from .model import Call

WISH = "Refuse titles that we do not sell, round the total, and write a test"
DONE = "Such titles are refused now, and a test says so."
MORE = "Count the books of an order, too"
MORE_DONE = "books() counts them."
STOCK = """export const stock = { Emma: 3, Walden: 1, Dune: 0 };

export function has(title) {
  return stock[title] > 0;
}
"""
SOLD_OUT = "  return (stock[title] ?? 0) > 0;\n"
TEST = """import assert from "node:assert";
import test from "node:test";
import { total } from "./orders.js";

test("a title that we do not sell is refused", () => {
  assert.throws(() => total({ Ulysses: 1 }));
});
"""
PRINTED = 'console.log("Total:"'
BOOKS = """export function books(order) {
  return Object.values(order).reduce((sum, copies) => sum + copies, 0);
}

"""


class WrittenChanges:
    """The methods are the steps, in order. `show` is called at each, with a sentence and the seconds for its reader."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._user = FirstChange(review="after")
        self.editor = self._user.editor
        folder = self._user.home.workspace
        self._orders, self._stock, self._test = (folder / name for name in ("orders.js", "stock.js", "orders.test.js"))
        (folder / "README.md").unlink()
        kept = self._orders.read_text(encoding="utf-8").replace(LINE, CHECK + LINE).replace(PRINTED, BOOKS + PRINTED)
        old = STOCK.splitlines(keepends=True)[3]
        self._edits = [
            (self._orders, LINE, CHECK + LINE),
            (self._orders, RETURN, ROUNDED),
            (self._stock, old, SOLD_OUT),
        ]
        self._kept = {self._orders: kept, self._stock: STOCK.replace(old, SOLD_OUT), self._test: TEST}
        self._stock.write_text(STOCK, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._user.__exit__()

    # The steps

    def work(self) -> None:
        """Qwen Code is connected, and writes three files without a question."""
        self._user.open_folder()
        self._user.run()
        self._user.connect()
        stores = self._user.home.home / ".cache" / "qwen-companion" / "snapshots"
        self.editor.wait("first snapshot", lambda: [*stores.glob("*/round.json")])
        rounds = [
            [Call("read_file", {"file_path": str(file)}) for file in (self._orders, self._stock)],
            [_edit(*edit) for edit in self._edits],
            [Call("write_file", {"file_path": str(self._test), "content": TEST})],
        ]
        self._ask(WISH, DONE, rounds, "Qwen Code may work in its own mode: it asks nothing.")
        self._wait_status("3 files, 4 changes to review")
        self._step("It has written three files. The status bar counts what you have not reviewed.", 7)

    def decide(self) -> None:
        """Keep the first change, undo the next one, and look at the list."""
        self._hide()
        self._press("f8")
        self._wait_marks(2)
        self._step("F8 goes to the first change, in the file itself.", 6)
        self._press("ctrl+f8")
        self._wait_status("3 files, 3 changes to review")
        self._step("Ctrl+F8 keeps it and goes to the next one.", 5)
        self._press("ctrl+shift+f8")
        self.editor.wait("undone change", lambda: RETURN in self._orders.read_text(encoding="utf-8"))
        self._wait_status("2 files, 2 changes to review")
        self._step("Ctrl+Shift+F8 undoes one. The file on the disk has the old line again.", 6)
        self.editor.do("command", name="qwen_companion_review", window=self._user.window)
        # Its lines come after its headings.
        self.editor.wait("Review", lambda: SOLD_OUT in self.editor.view(self._active())["text"])
        self._step("“Review” has what waits, and what you have decided.", 7)

    def go_on(self) -> None:
        """The agent changes a reviewed file again."""
        self.editor.do("command", name="qwen_companion_show_terminal", window=self._user.window)
        file = self._orders
        rounds = [[Call("read_file", {"file_path": str(file)})], [_edit(file, PRINTED, BOOKS + PRINTED)]]
        self._ask(MORE, MORE_DONE, rounds, "Qwen Code goes on.")
        self._wait_status("3 files, 3 changes to review")
        self._hide()
        self.editor.open_file(file)
        self._wait_marks(1)
        self._press("f8")
        self._step("Only what is new since then is marked in the file.", 6)

    def finish(self) -> None:
        """Keep the rest, until nothing waits."""
        for left in ("2 files, 2 changes to review", "1 file, 1 change to review"):
            self._press("ctrl+f8")
            self._wait_status(left)
            self._press("f8")
            self._wait_marks(1)
            self._step("The same keys go on through the other files.", 4)
        self._press("ctrl+f8")
        self._wait_status("")
        assert {path: path.read_text(encoding="utf-8") for path in self._kept} == self._kept
        for name in ("review", "go_to_diff"):
            self.editor.do("command", name=f"qwen_companion_{name}", window=self._user.window)
        self._step("Nothing unreviewed is left, and the disk has what you have kept.", 6)

    # What they need

    def _step(self, what: str, seconds: float) -> None:
        self._user.refresh()
        self._show(what, seconds, "")

    def _qwen(self) -> StartedQwen:
        assert self._user.qwen
        return self._user.qwen

    def _ask(self, words: str, done: str, rounds: list[list[Call]], what: str) -> None:
        """Have Qwen Code work, and wait until it has done so."""
        self._user.model.speech(done, rounds=rounds, words=words)
        terminal = self._qwen().terminal
        terminal.press(words)
        terminal.wait_text(words)
        self._step(what, 5)
        terminal.wait("pause", lambda: terminal.quiet_for() > 1, STEP)
        terminal.press("\r")
        terminal.wait_text(done, STEP)
        self._qwen().wait_idle()

    def _active(self) -> int:
        """The id of the window's active view."""
        [window] = self.editor.state()["windows"]
        return window["active_view"]

    def _hide(self) -> None:
        self.editor.do("command", name="hide_panel", window=self._user.window)

    def _press(self, key: str) -> None:
        self.editor.do("press", keys=key, view=self._active())

    def _wait_status(self, words: str) -> None:
        """Wait until the status bar has these words, or names nothing to review."""

        def told() -> bool:
            status = str(self.editor.view(self._active())["status"])
            return words in status if words else "to review" not in status

        self.editor.wait(f"{words} in the status bar", told)

    def _wait_marks(self, number: int) -> None:
        """Wait until the active view has the marks of so many changes."""
        self.editor.wait(f"{number} marks", lambda: len(self.editor.view(self._active())["annotations"]) == number)


def _edit(path: object, old: str, new: str) -> Call:
    return Call("edit", {"file_path": str(path), "old_string": old, "new_string": new})
