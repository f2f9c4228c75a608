"""The Review: all that waits in one tab, decided by keys."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of

OWN_KEYS = "Packages/User/Default.sublime-keymap"
OLD = "".join(f"line {number}\n" for number in range(1, 41))


class ReviewCase(CompanionCase):
    """A window whose Review a test opens."""

    def begun(self) -> Steps:
        """Wait for the baseline of the folder."""
        adapter = loaded("sublime_text.package").adapter()

        def has_begun() -> bool:
            known = adapter.thread._running[1].changes.roots.windows.get(self.window.id())
            return bool(known and known.folders and all(each.has_round for each in known.folders.values()))

        yield {"condition": has_begun, "timeout": 180_000}

    def waits(self, files: int) -> Steps:
        """Wait until so many files are listed."""
        listings = loaded("sublime_text.package").adapter().written.listings
        yield {"condition": lambda: len(listings.of(self.window).rows) == files, "timeout": 180_000}

    def review(self) -> Steps:
        """Open the Review: self.tab."""
        self.window.run_command("qwen_companion_review")
        adapter = loaded("sublime_text.package").adapter()
        yield lambda: adapter.review.tab(self.window)
        self.tab = adapter.review.tab(self.window).view
        yield lambda: "Looking" not in self.lines()[0]

    def lines(self) -> list[str]:
        return text_of(self.tab).replace("\xa0", " ").split("\n")

    def has(self, *lines: str) -> Any:
        """Says whether the Review has lines that begin so, in this order."""

        def holds() -> bool:
            left = iter(self.lines())
            return all(any(each.startswith(line) for each in left) for line in lines)

        return {"condition": holds, "timeout": 30_000, "timeout_message": f"{lines} are not in it"}

    def press(self, *keys: str) -> None:
        """Press keys of ours in the Review, one after the other."""
        keymap: Any = sublime.decode_value(sublime.load_resource("Packages/QwenCompanion/Default.sublime-keymap"))
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        for key in keys:
            [found] = [
                each
                for each in keymap
                if each["keys"] == [key] and {"key": "qwen_companion.review_tab"} in each.get("context", [])
            ]
            context = "qwen_companion.review_tab"
            assert listener.on_query_context(self.tab, context, sublime.QueryOperator.EQUAL, True, False)
            self.tab.run_command(found["command"], found.get("args", {}))

    def go_to(self, line: str) -> None:
        """Put the caret on the first line that begins so."""
        row = next(at for at, each in enumerate(self.lines()) if each.startswith(line))
        self.tab.sel().clear()
        self.tab.sel().add(self.tab.text_point(row, 0))

    def row(self) -> str:
        """The line of the caret."""
        return self.tab.substr(self.tab.line(self.tab.sel()[0])).replace("\xa0", "")


class TestReview(ReviewCase):
    def two_files(self) -> Steps:
        """Two files with three changes."""
        (self.folder / "b.py").write_text(OLD)
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(OLD.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n"))
        (self.folder / "b.py").write_text(OLD.replace("line 7\n", ""))
        yield from self.waits(2)

    def test_it_shows_what_is_written_by_file_with_the_lines_around(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has(
            "— 2 files, +2 −3", "▾ app.py   +2 −2", "line 2", "line 3", "line three", "⋯", "▾ b.py   +0 −1", "line 7"
        )
        self.assertTrue(self.tab.is_read_only())
        self.assertEqual(self.row(), "line 3")

    def test_one_that_is_saved_as_a_file_is_the_persons_and_has_no_marks(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        added = "qwen_companion.review.added"
        yield lambda: self.tab.get_regions(added) and self.screen.phantoms(self.tab, "qwen_companion.review.signs")
        saved, text = self.tab, text_of(self.tab)
        saved.retarget(str(self.folder / "review.txt"))
        saved.run_command("save")
        yield lambda: not self.screen.phantoms(saved, "qwen_companion.review.signs")
        self.assertEqual(saved.get_regions(added), [])
        self.assertEqual((text_of(saved), saved.is_read_only()), (text, False))
        self.assertFalse(saved.settings().has("__vi_external_disable"))
        yield from self.review()
        self.assertNotEqual(self.tab, saved)
        yield self.has("▾ app.py", "▾ b.py")

    def test_a_clone_of_one_that_is_saved_as_a_file_is_the_persons_too(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        saved = self.tab
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        assert clone
        loaded("sublime_text.package").adapter().events.on_activated(clone)
        saved.retarget(str(self.folder / "review.txt"))
        saved.run_command("save")
        for view in (saved, clone):
            yield lambda view=view: not view.settings().has("__vi_external_disable")
            self.assertIsNot(view.settings().get("word_wrap"), False)

    def test_what_was_decided_is_named_as_it_was_listed(self) -> Steps:
        """With the name of its folder, if the window has several."""
        (self.folder / "other").mkdir()
        yield from self.two_files()
        folders = [{"path": str(self.folder)}, {"path": str(self.folder / "other")}]
        self.window.set_project_data({"folders": folders})
        yield from self.review()
        name = f"{self.folder.name}/app.py"
        yield self.has(f"▾ {name}")
        self.go_to("▾")
        self.press("k")
        yield self.has(f"✓ {name} · +2 −2 · kept")

    def test_all_files_have_the_names_of_their_folders_once_the_window_has_another_one(self) -> Steps:
        """Those that were listed before had none."""
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ app.py", "▾ b.py")
        inner = self.folder / "inner"
        inner.mkdir()
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(inner)}]})
        (self.folder / "b.py").write_text(OLD.replace("line 8\n", ""))
        yield self.has(f"▾ {self.folder.name}/app.py", f"▾ {self.folder.name}/b.py")

    def test_files_are_named_in_a_folder_that_is_opened_by_a_link(self) -> Steps:
        """Each had its absolute path."""
        link = self.folder.with_name(f"{self.folder.name}-link")
        os.symlink(self.folder, link)
        self.addCleanup(link.unlink)
        self.window.set_project_data({"folders": [{"path": str(link)}]})
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ app.py   +2 −2", "▾ b.py")

    def test_a_file_in_a_folder_that_is_opened_by_a_link_is_gone_to_in_the_tab_that_has_it(self) -> Steps:
        """Another tab came with each key, and a comment was shown in neither."""
        link = self.folder.with_name(f"{self.folder.name}-link")
        os.symlink(self.folder, link)
        self.addCleanup(link.unlink)
        self.view.close()
        self.window.set_project_data({"folders": [{"path": str(link)}]})
        view = self.window.open_file(str(link / "app.py"))
        yield from self.two_files()
        yield from self.review()
        yield self.has("line three")
        self.go_to("line three")
        self.press("enter")
        yield lambda: self.window.active_view() == view
        written = loaded("sublime_text.package").adapter().written
        yield lambda: (marked := written.marked(view.id())) and len(marked.regions) == 2
        for _ in range(2):
            self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: (at := self.window.active_view()) and at.file_name() == str(link / "b.py")
        self.window.focus_view(self.tab)
        self.press("c")
        self.screen.inputs[-1][2]("Why?")
        yield lambda: self.screen.phantoms(view, "qwen_companion.comments")

    def test_a_folder_is_the_same_in_upper_and_lower_case_where_they_do_not_differ(self) -> Steps:
        """On Windows, what a link leads to is known in lower case."""
        link, real = self.folder.with_name(f"{self.folder.name}-link"), self.folder / "Code"
        real.mkdir()
        os.symlink(real, link)
        self.addCleanup(link.unlink)
        (real / "b.py").write_text(OLD)
        self.window.set_project_data({"folders": [{"path": str(link)}]})
        self.enterContext(patch("os.path.normcase", str.lower))
        yield from self.begun()
        (real / "b.py").write_text(OLD.replace("line 7\n", ""))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ b.py   +0 −1", "line 7")
        self.go_to("line 7")
        self.press("enter")
        yield lambda: (at := self.window.active_view()) and at.file_name() == str(link / "b.py")

    def test_three_changes_are_decided_by_three_keys(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.press("k")
        self.assertEqual(self.row(), "line 30")
        self.press("u")
        self.assertEqual(self.row(), "line 7")
        self.press("k")
        yield from self.waits(0)
        yield self.has("— Nothing waits", "✓ ", "✓ ")
        self.assertEqual(self.file.read_text(), OLD.replace("line 3\n", "line three\n"))
        self.assertEqual((self.folder / "b.py").read_text(), OLD.replace("line 7\n", ""))

    def test_equal_changes_are_decided_each_at_its_place_however_fast(self) -> Steps:
        """A key comes before the file's next version: the changes have no other difference but their order."""
        lines = [f"line {at}\n" if at % 10 else "same\n" for at in range(1, 61)]
        self.file.write_text("".join(lines))
        yield from self.begun()
        self.file.write_text("".join("more\nsame too\n" if line == "same\n" else line for line in lines))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py   +12 −6")
        yield lambda: self.row() == "same"  # its changes are there, and the caret is in the first one
        self.press("k", "u", "k", "u", "u", "k")
        yield from self.waits(0)
        expected = list(lines)
        for at in (9, 29, 59):
            expected[at] = "more\nsame too\n"
        self.assertEqual(self.file.read_text(), "".join(expected))

    def held(self) -> Any:
        """The Review, which is drawn no more until the test has it drawn: what is shown is replaced already."""
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        tab._draw = lambda: None
        return tab

    def replaced(self, tab: Any, text: str) -> Steps:
        """An agent writes the file, and its next body is there before it is shown."""
        [key] = tab.feed.rows
        before = tab.feed.bodies[key]
        self.file.write_text(text)
        yield lambda: tab.feed.bodies[key] is not before

    def test_a_key_on_a_body_that_is_being_replaced_is_for_the_change_at_the_caret(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(text := OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py", "thirty")
        self.press("n")
        self.assertEqual(self.row(), "line 30")
        tab = self.held()
        yield from self.replaced(tab, text := text.replace("line 20\n", "twenty\n"))
        self.press("u")
        del tab._draw
        tab.draw()
        yield lambda: self.file.read_text() == text.replace("thirty\n", "line 30\n")
        yield self.has("▾ app.py   +2 −2", "three", "twenty")

    def test_a_key_on_a_change_that_has_changed_meanwhile_says_so(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py", "thirty")
        self.press("n")
        tab = self.held()
        yield from self.replaced(tab, text := OLD.replace("line 3\n", "three\n").replace("line 30\n", "other\n"))
        for key in ("u", "k"):
            self.screen.messages.clear()
            self.press(key)
            self.assertTrue(self.screen.messages[-1].endswith("app.py has changed meanwhile: look at it again."))
            self.assertEqual(self.row(), "line 30")
        del tab._draw
        tab.draw()
        yield self.has("▾ app.py   +2 −2", "three", "other")
        yield 200
        self.assertEqual(self.file.read_text(), text)
        yield from self.waits(1)

    def test_a_key_for_a_whole_file_is_refused_while_an_older_version_of_it_is_shown(self) -> Steps:
        """The companion is slow to tell the prompt, or the lines, of what an agent has just written."""
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(text := OLD.replace("line 3\n", "three\n"))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py   +1 −1", "three")
        feed = loaded("sublime_text.package").adapter().review.tab(self.window).feed
        for at, name in enumerate(("turns", "bodies"), 20):
            go_on = self.slowed(name)
            [before] = feed.rows.values()
            self.file.write_text(text := text.replace(f"line {at}\n", f"unseen {at}\n"))
            yield lambda before=before: [*feed.rows.values()] != [before]
            yield 300
            keep = loaded("sublime_text.review.review_commands").QwenCompanionKeepFileCommand(self.window)
            keys = [partial(self.press, key) for key in ("shift+k", "shift+u")]
            for line, decisions in (("three", [*keys, keep.run]), ("▾ app.py", [*keys, partial(self.press, "k")])):
                self.go_to(line)
                self.assertNotIn(f"unseen {at}", self.lines())
                for decision in decisions:
                    self.screen.messages.clear()
                    decision()
                    with self.subTest(name, line=line, decision=decision):
                        self.assertTrue(self.screen.said("app.py has changed meanwhile: look at it again."))
            go_on()
            yield self.has("▾ app.py", f"unseen {at}")
            self.assertEqual(self.file.read_text(), text)
            yield from self.waits(1)
        self.press("shift+k")
        yield from self.waits(0)

    def test_a_key_on_a_files_line_is_refused_while_that_tells_of_an_older_version(self) -> Steps:
        yield from self.begun()
        path = self.folder / "new.py"
        path.write_text("one\n")
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▸ new.py   +1 −0  created")
        feed = loaded("sublime_text.package").adapter().review.tab(self.window).feed
        go_on = self.slowed("turns")
        before = [*feed.rows.values()]
        path.write_text("one\nunseen\n")
        yield lambda: [*feed.rows.values()] != before
        yield 300
        for key in ("k", "shift+k", "shift+u"):
            self.screen.messages.clear()
            self.go_to("▸ new.py")
            self.press(key)
            self.assertTrue(self.screen.said("new.py has changed meanwhile: look at it again."), key)
        go_on()
        yield self.has("▸ new.py   +2 −0  created")
        self.assertEqual(path.read_text(), "one\nunseen\n")
        self.go_to("▸ new.py")
        self.press("k")
        yield from self.waits(0)

    def test_a_whole_file_is_not_decided_after_a_change_of_it_if_it_has_changed_meanwhile(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(text := OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py   +2 −2", "thirty")
        feed = loaded("sublime_text.package").adapter().review.tab(self.window).feed
        decide, sent = feed.decide, list[Any]()
        feed.decide = lambda *given: sent.append(given)
        self.press("k", "shift+u")
        del feed.decide
        self.file.write_text(text.replace("line 20\n", "unseen\n"))
        yield self.has("▾ app.py   +3 −3", "unseen")
        [given] = sent
        decide(*given)
        yield self.has("▾ app.py   +2 −2", "unseen", "thirty")
        yield lambda: self.screen.said("app.py has changed meanwhile: look at it again.")
        yield 300
        self.assertEqual(self.file.read_text(), text.replace("line 20\n", "unseen\n"))

    def test_a_key_while_another_one_is_under_way_counts_though_the_agent_writes_meanwhile(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.begun()
        lines = [f"agent {at}\n" if at % 10 == 0 else f"line {at}\n" for at in range(1, 41)]
        self.file.write_text("".join(lines))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py   +4 −4")
        yield lambda: self.row() == "line 10"
        feed = loaded("sublime_text.package").adapter().review.tab(self.window).feed
        decide, sent = feed.decide, list[Any]()
        feed.decide = lambda *given: sent.append(given)
        self.press("k")
        self.assertEqual(self.row(), "line 20")
        self.file.write_text("new\n" * 5 + "".join(lines))
        yield self.has("▾ app.py   +9 −4", "new", "line 10", "line 20")
        self.assertEqual(self.row(), "line 20")
        self.press("u", "k")
        del feed.decide
        self.assertEqual(len(sent), 1)
        decide(*sent[0])
        yield self.has("▾ app.py   +6 −1", "new", "line 40")
        lines[19] = "line 20\n"
        yield lambda: self.file.read_text() == "new\n" * 5 + "".join(lines)
        self.assertNotIn("has changed", str(self.screen.messages))

    def test_several_undos_wait_for_the_end_of_a_turn_however_fast_the_keys_are(self) -> Steps:
        """The first one changed nothing yet, and those after it were dropped. Each is marked; again does it at once."""
        self.file.write_text(OLD)
        yield from self.begun()
        running: Any = loaded("sublime_text.package").adapter().thread._running[1]
        self.file.write_text(OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        yield from self.waits(1)
        running.changes.roots.window(self.window.id()).turns[7, "turn"] = "Agent"
        yield from self.review()
        yield self.has("▾ app.py", "thirty")
        self.press("u", "u")
        listings = loaded("sublime_text.package").adapter().written.listings

        def going() -> int:
            [row] = listings.of(self.window).rows
            return len(row.going.changes) if row.going else 0

        yield lambda: going() == 2
        feed = loaded("sublime_text.package").adapter().review.tab(self.window).feed
        yield lambda: not feed.decisions.is_under_way
        decided = "qwen_companion.review.decided"
        yield (
            lambda: (
                [self.tab.substr(each)[:4] for each in self.tab.get_regions(decided)]
                == ["line", "thre", "line", "thir"]
            )
        )
        self.go_to("line 3")
        self.press("u")
        yield self.has("▾ app.py   +1 −1  goes when the turn ends")
        del running.changes.roots.window(self.window.id()).turns[7, "turn"]

    def test_what_the_companion_could_not_tell_is_asked_for_again(self) -> Steps:
        """Git was ended, for example; a folder that is let go raises an error that is no Exception."""
        self.set_limit("sublime_text.review.feed", "AGAIN", 100)
        for at in range(4):
            (self.folder / f"{at}.py").write_text(OLD)
        yield from self.begun()
        yield from self.review()
        closed = loaded("changes.folder").FolderClosedError()
        for at, (name, error) in enumerate((n, e) for n in ("turns", "bodies") for e in (OSError("git"), closed)):
            with self.subTest(name, error=error):
                failures = self.fails("changes", name, error, 2)
                (self.folder / f"{at}.py").write_text(OLD.replace("line 3\n", f"new {at}\n"))
                yield self.has(f"▾ {at}.py", f"new {at}")
                self.assertEqual(len(failures), 2)
        self.assertEqual(self.screen.messages, [])

    def test_what_the_companion_could_not_tell_is_not_asked_for_when_the_review_is_closed(self) -> Steps:
        """It was, every three seconds until the window closed."""
        self.set_limit("sublime_text.review.feed", "AGAIN", 50)
        self.file.write_text(OLD)
        yield from self.begun()
        yield from self.review()
        failures = self.fails("changes", "turns", OSError("git"), 10_000)
        self.file.write_text(OLD.replace("line 3\n", "three\n"))
        yield lambda: len(failures) > 1
        self.tab.close()
        yield 300
        asked = len(failures)
        yield 500
        self.assertEqual(len(failures), asked)

    def test_keys_go_on_after_a_decision_that_has_failed(self) -> Steps:
        self.causes("A question could not be answered")
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(OLD.replace("line 3\n", "three\n"))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py", "three")
        closed = loaded("changes.folder").FolderClosedError()
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        for key in ("k", "u"):
            for error, why in (
                (closed, "Its folder was closed meanwhile."),
                (ValueError("no"), "That could not be done. Sublime's console says why."),
                (OSError("git was ended"), "Git was ended."),
            ):
                with self.subTest(key, error=error):
                    self.screen.messages.clear()
                    self.go_to("three")
                    self.fails("decisions", "decide_changes", error)
                    self.press(key)
                    yield lambda: not tab._decisions._of
                    self.assertTrue(self.screen.messages[-1].endswith(why), self.screen.messages)
        self.go_to("three")
        self.press("u")
        yield from self.waits(0)
        self.assertEqual(self.file.read_text(), OLD)

    def test_it_is_said_that_a_checkpoint_is_gone(self) -> Steps:
        yield from self.two_turns()
        self.window.run_command("qwen_companion_restore_checkpoint")
        yield lambda: self.screen.panels
        running: Any = loaded("sublime_text.package").adapter().thread._running[1]
        for folder in running.changes.roots.windows[self.window.id()].folders.values():
            folder.round.state.checkpoints = []
        self.screen.panels[-1][1](0)
        yield lambda: self.screen.said("This checkpoint is gone.")

    def test_selected_lines_of_a_change_are_decided_alone(self) -> Steps:
        self.file.write_text("a\nb\n")
        yield from self.begun()
        self.file.write_text("a\none\ntwo\nthree\nb\n")
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py   +3 −0", "two")
        row = self.lines().index("two")
        self.tab.sel().clear()
        self.tab.sel().add(sublime.Region(self.tab.text_point(row, 0), self.tab.text_point(row, 2)))
        self.press("u")
        yield lambda: self.file.read_text() == "a\none\nthree\nb\n"

    def test_selected_lines_of_a_created_file_are_decided_alone(self) -> Steps:
        yield from self.begun()
        (self.folder / "new.py").write_text("one\ntwo\nthree\n")
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▸ new.py   +3 −0")
        self.press("tab")
        yield self.has("▾ new.py   +3 −0", "two")
        row = self.lines().index("two")
        self.tab.sel().clear()
        self.tab.sel().add(sublime.Region(self.tab.text_point(row, 0), self.tab.text_point(row, 2)))
        self.press("u")
        yield lambda: (self.folder / "new.py").read_text() == "one\nthree\n"

    def test_on_a_heading_all_under_it_is_decided(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.go_to("▾ app.py")
        self.press("u")
        yield lambda: self.file.read_text() == OLD
        yield from self.waits(1)
        self.go_to("◆ ")
        self.press("k")
        yield from self.waits(0)
        self.assertEqual((self.folder / "b.py").read_text(), OLD.replace("line 7\n", ""))

    def two_turns(self, first: str = "one.py", second: str = "two.py") -> Steps:
        """A file of each of two prompts, or one of both."""
        for name in (first, second):
            (self.folder / name).write_text(OLD)
        yield from self.begun()
        running: Any = loaded("sublime_text.package").adapter().thread._running[1]
        listings = loaded("sublime_text.package").adapter().written.listings
        for at, (name, file, line) in enumerate((("one", first, "line 7\n"), ("two", second, "line 30\n")), 1):
            began: Future[None] = Future()

            async def begin(name: str = name, began: Future[None] = began) -> None:
                running.changes.turn_began(self.window.id(), 7, "Agent", name, f"Prompt {name}", 0)
                await running.changes._noting[self.window.id(), name]
                began.set_result(None)

            loaded("sublime_text.package").adapter().thread.post(lambda it, begin=begin: it._background(begin()))
            yield from self.done(began)
            path = self.folder / file
            path.write_text(path.read_text().replace(line, f"line of {name}\n"))
            yield lambda at=at: listings.of(self.window).count.inserted == at
            loaded("sublime_text.package").adapter().thread.post(
                lambda it, name=name: it.changes.turn_ended(self.window.id(), 7, name)
            )
            yield lambda name=name: (7, name) not in running.changes.roots.window(self.window.id()).turns

    def test_the_keys_go_from_turn_to_turn_and_a_turn_is_decided_from_anywhere_in_it(self) -> Steps:
        yield from self.two_turns()
        yield from self.review()
        yield self.has("◆ Agent", "▾ ", "◆ Agent", "▾ ")
        self.assertTrue(self.tab.rowcol(self.tab.sel()[0].b)[0])
        self.go_to("— ")
        self.press("t")
        first = self.row()
        self.assertTrue(first.startswith("◆"))
        self.press("t")
        second = self.row()
        self.assertNotEqual(first, second)
        self.press("t")
        self.assertEqual(self.row(), second)
        self.press("shift+t")
        self.assertEqual(self.row(), first)
        self.go_to("line of two")
        self.tab.run_command("qwen_companion_decide_turn", {"what": "undo"})
        yield lambda: (self.folder / "two.py").read_text() == OLD
        self.assertIn("line of one", (self.folder / "one.py").read_text())
        yield from self.waits(1)
        self.go_to("line of one")
        self.tab.run_command("qwen_companion_decide_turn", {"what": "keep"})
        yield from self.waits(0)
        self.assertIn("line of one", (self.folder / "one.py").read_text())

    def test_a_turn_is_shown_as_it_was_at_its_end(self) -> Steps:
        """Not with what was written after it."""
        yield from self.two_turns()
        (self.folder / "two.py").write_text(OLD.replace("line 7\n", "line of later\n"))
        yield from self.review()
        yield self.has("◆ Agent", "▾ ", "◆ Agent", "▾ two.py", "line of later")
        self.go_to("line of later")
        made = loaded("sublime_text.review.review_commands").QwenCompanionShowTurnCommand
        self.assertEqual([made(self.tab).is_visible(), made(self.view).is_visible()], [True, False])
        self.press("shift+t", "enter")
        yield self._turn_shown
        shown = self._turn_shown()
        assert shown
        text = text_of(shown)
        self.assertIn("--- two.py", text)
        self.assertIn("+line of two\n", text)
        for other in ("later", "one.py"):
            self.assertNotIn(other, text)
        shown.close()
        self.tab.run_command("qwen_companion_show_turn")
        yield self._turn_shown

    def test_a_turn_whose_files_a_later_one_has_changed_again_has_its_heading_which_names_them(self) -> Steps:
        """There nothing is to be decided."""
        yield from self.two_turns("one.py", "one.py")
        yield from self.review()
        yield self.has("◆ Agent", "◆ Agent", "▾ one.py")
        first, second = (line for line in self.lines() if line.startswith("◆ Agent"))
        self.assertIn("“Prompt one”   changed again later: one.py", first)
        self.assertIn("“Prompt two”   1 file, +2 −2", second)
        self.go_to("◆ Agent")
        self.tab.run_command("qwen_companion_decide_turn", {"what": "undo"})
        self.assertIn("line of two", (self.folder / "one.py").read_text())
        self.press("enter")
        yield self._turn_shown
        shown = self._turn_shown()
        assert shown
        text = text_of(shown)
        self.assertIn("+line of one\n", text)
        self.assertNotIn("line of two", text)

    def test_a_file_is_under_an_earlier_prompt_once_all_of_the_later_one_is_kept(self) -> Steps:
        """It stayed under the later one, and the earlier one said that it was changed again."""
        yield from self.two_turns("one.py", "one.py")
        yield from self.review()
        yield self.has("◆ Agent", "◆ Agent", "▾ one.py", "line of two")
        self.go_to("line of two")
        self.press("k")
        yield self.has("— 1 file, +1 −1", "◆ Agent", "▾ one.py   +1 −1")
        [heading] = [line for line in self.lines() if line.startswith("◆ Agent")]
        self.assertIn("“Prompt one”   1 file, +1 −1", heading)

    def _turn_shown(self) -> sublime.View | None:
        view = self.window.active_view()
        return view if view and view.name() == "Qwen: Changes of a Turn" else None

    def test_the_commands_of_a_turn_are_only_for_the_review(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        made = loaded("sublime_text.review.review_commands").QwenCompanionDecideTurnCommand
        self.assertEqual([made(self.tab).is_visible(), made(self.view).is_visible()], [True, False])
        self.view.run_command("qwen_companion_decide_turn", {"what": "undo"})
        yield from self.waits(2)

    def test_checkpoints_are_offered_once_there_is_one(self) -> Steps:
        restore = loaded("sublime_text.review.review_commands").QwenCompanionRestoreCheckpointCommand(self.window)
        for name in ("one.py", "two.py"):
            (self.folder / name).write_text(OLD)
        yield from self.begun()
        self.assertFalse(restore.is_visible())
        yield from self.two_turns()
        yield restore.is_visible

    def test_files_that_are_decided_as_a_whole_are_one_line_each(self) -> Steps:
        (self.folder / "old.py").write_text(OLD)
        (self.folder / "gone.py").write_text("x\n" * 9)
        yield from self.begun()
        (self.folder / "old.py").rename(self.folder / "new.py")
        (self.folder / "gone.py").unlink()
        (self.folder / "made.bin").write_bytes(bytes(range(256)))
        yield from self.waits(3)
        yield from self.review()
        yield self.has("— 3 files, +0 −9", "▸ gone.py   +0 −9  deleted", "▸ made.bin   +0 −0  created · binary")
        yield self.has("▸ old.py → new.py   +0 −0  renamed")
        self.assertTrue(self.row().startswith("▸gone.py"))
        self.press("u")
        self.assertTrue(self.row().startswith("▸made.bin"))
        self.press("k", "k")
        yield from self.waits(0)
        self.assertTrue((self.folder / "gone.py").exists())
        self.assertTrue((self.folder / "new.py").exists())

    def test_the_changes_of_a_renamed_file_are_decided_one_by_one_where_they_are_shown(self) -> Steps:
        """On its line it is decided as a whole."""
        self.file.write_text(OLD)
        yield from self.begun()
        new = self.folder / "new.py"
        self.file.rename(new)
        new.write_text(OLD.replace("line 3\n", "three\n").replace("line 20\n", "").replace("line 30\n", "thirty\n"))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▸ app.py → new.py   +2 −3")
        self.press("tab")
        yield self.has("▾ app.py → new.py", "line 3", "three", "line 20", "line 30", "thirty")
        self.press("n")
        self.assertEqual(self.row(), "line 3")
        self.press("k")
        self.assertEqual(self.row(), "line 20")
        self.press("u")
        self.assertEqual(self.row(), "line 30")
        yield self.has("▾ app.py → new.py   +1 −1")
        self.assertEqual(new.read_text(), OLD.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n"))
        self.press("u")
        yield from self.waits(0)
        self.assertEqual(self.file.read_text(), OLD.replace("line 3\n", "three\n"))
        self.assertFalse(new.exists())

    def test_the_caret_stays_on_its_change_while_the_agent_writes_above(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.press("n")
        self.assertEqual(self.row(), "line 30")
        y = self.y()
        self.file.write_text("new\n" * 5 + self.file.read_text())
        yield self.has("▾ app.py   +7 −2")
        self.assertEqual(self.row(), "line 30")
        self.assertEqual(self.y(), y)

    def test_the_caret_stays_on_its_change_when_another_file_comes_above(self) -> Steps:
        """What is below a file isn't shown until that one's changes are known."""
        (self.folder / "a.py").write_text("old\n")
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.go_to("line 7")
        self.assertTrue(self.row().startswith("line 7"), self.row())
        (self.folder / "a.py").write_text("new\n")
        yield self.has("▾ a.py", "new", "▾ b.py", "line 7")
        yield lambda: self.row().startswith("line 7")

    def test_it_begins_at_the_first_change_if_what_the_caret_was_at_is_gone_after_a_restart(self) -> Steps:
        """And stays there: a key would decide what the person has not looked at."""
        yield from self.two_files()
        other = self.folder / "b.py"
        written = other.read_text()
        yield from self.review()
        yield self.has("▾ app.py", "▾ b.py", "line 7")
        self.go_to("line 7")
        adapter = loaded("sublime_text.package").adapter()
        self.enterContext(patch.object(adapter.thread, "is_reload", False))
        adapter.review.close()
        adapter.review.forget(self.window)
        other.write_text(OLD)
        yield from self.waits(1)
        adapter.review.restored(self.window)
        yield self.has("— 1 file", "▾ app.py", "line three")
        yield lambda: self.row() == "line 3"
        other.write_text(written)
        yield self.has("▾ b.py", "line 7")
        self.assertEqual(self.row(), "line 3")

    def test_the_caret_waits_after_a_reload_for_a_file_that_is_listed_later_than_another_one(self) -> Steps:
        yield from self.comes_back_to_the_later_one(lambda _: ())

    def test_the_caret_waits_for_such_a_file_though_nobody_is_at_work(self) -> Steps:
        """As after a restart: it is not said that no more waits while another folder is being opened."""

        def leave(roots: Any) -> Steps:
            self.clis.remove(self.cli)
            self.cli.close()
            yield {"condition": lambda: not roots.windows[self.window.id()].at_work, "timeout": 60_000}

        yield from self.comes_back_to_the_later_one(leave)

    def comes_back_to_the_later_one(self, leave: Callable[[Any], Iterable[Any]]) -> Steps:
        """Once both are listed, the turns of the other one's are shown until those of both are known."""
        other, go_on = self.folder.with_name(f"{self.folder.name}-other"), threading.Event()
        other.mkdir()
        self.addCleanup(shutil.rmtree, other)
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(other)}]})
        (other / "z.py").write_text(OLD)
        self.file.write_text(OLD)
        package, folder = loaded("sublime_text.package"), loaded("changes.folder").Folder
        roots = package.adapter().thread._running[1].changes.roots
        yield {"condition": lambda: len(roots.opened(self.window.id())) == 2, "timeout": 180_000}
        self.file.write_text(OLD.replace("line 3\n", "line three\n"))
        yield from self.waits(1)  # what is found first comes first
        (other / "z.py").write_text(OLD.replace("line 7\n", ""))
        yield from self.waits(2)
        yield from self.review()
        yield self.has("▾", "line 3", "▾", "line 7")
        self.go_to("line 7")
        yield from leave(roots)
        real = folder.open

        def opened(own: Any) -> Any:
            if own.root == os.path.realpath(other):
                go_on.wait(60)
            return real(own)

        self.enterContext(patch.object(folder, "open", opened))
        self.addCleanup(go_on.set)
        package.unload()
        yield 1
        package.load()
        yield from self.waits(1)
        yield self.has("▾", "line 3")
        go_on.set()
        yield self.has("▾", "line 3", "▾", "line 7")
        yield lambda: self.row().startswith("line 7")

    def test_a_caret_that_the_person_moves_while_its_lines_are_away_stays_there(self) -> Steps:
        (self.folder / "a.py").write_text("old\n")
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.go_to("line 7")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        ask, held = tab.feed._ask_bodies, []
        tab.feed._ask_bodies = lambda *asked: held.append(asked)
        (self.folder / "a.py").write_text("new\n")
        yield lambda: held
        yield self.has("▾ a.py", "⋯ more below")
        self.go_to("◆")
        for asked in held:
            ask(*asked)
        tab.feed._ask_bodies = ask
        yield self.has("▾ a.py", "new", "▾ b.py", "line 7")
        self.assertTrue(self.row().startswith("◆"))

    def y(self) -> float:
        return self.tab.text_to_layout(self.tab.sel()[0].b)[1] - self.tab.viewport_position()[1]

    def test_the_key_of_next_change_opens_it_where_no_file_is_in_sight(self) -> Steps:
        """Then it goes from change to change there. Where a file is in sight, it goes to the change itself."""
        yield from self.two_files()
        review = loaded("sublime_text.package").adapter().review
        self.view.close()
        yield lambda: not self.window.views()
        self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: review.tab(self.window) and self.window.active_view() == review.tab(self.window).view
        self.tab = review.tab(self.window).view
        yield lambda: self.row() == "line 3"
        self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: self.row() == "line 30"
        self.window.run_command("qwen_companion_go_to_diff", {"previous": True})
        yield lambda: self.row() == "line 3"
        self.assertEqual(self.window.views(), [self.tab])
        self.view = self.window.open_file(str(self.file))
        yield lambda: len(self.view.get_regions("qwen_companion.changes")) == 2
        self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: self.view.rowcol(self.view.sel()[0].b)[0] == 2
        self.assertEqual(self.window.active_view(), self.view)

    def test_next_change_goes_around_the_proposals_where_no_written_file_can_be_opened(self) -> Steps:
        """It stayed at the last change and said that a file is deleted, as often as it was pressed."""
        (self.folder / "gone.py").write_text(OLD)
        self.file.write_text(OLD)
        yield from self.begun()
        (self.folder / "gone.py").unlink()
        yield from self.waits(1)
        yield from self.open_diff(OLD.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n"))
        yield lambda: len(self.proposal.get_regions("qwen_companion.changes")) == 2
        self.window.focus_view(self.proposal)
        for row in (2, 29, 2, 29):
            self.window.run_command("qwen_companion_go_to_diff")
            yield lambda row=row: self.proposal.rowcol(self.proposal.sel()[0].b)[0] == row
        self.assertEqual(len([said for said in self.screen.messages if "gone.py is deleted" in said]), 1)

    def test_a_filter_and_a_fold_show_less(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.press("/")
        caption, before, done = self.screen.inputs[-1]
        self.assertEqual((caption, before), ("Show only files with", ""))
        done("b.py")
        yield self.has("— 1 of 2 files, +0 −1", "▾ b.py")
        self.assertFalse(any("app.py" in line for line in self.lines()))
        self.window.run_command("hide_panel", {"cancel": True})
        self.go_to("▾ b.py")
        self.press("tab")
        self.assertTrue(self.row().startswith("▸b.py"))
        self.assertFalse(any(line.startswith("line") for line in self.lines()))

    def test_the_first_heading_of_a_filtered_review_means_the_files_that_are_shown(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        loaded("sublime_text.package").adapter().review.tab(self.window).filter("b.py")
        yield self.has("— 1 of 2 files")
        for key in ("k", "u"):
            self.go_to("— ")
            self.press(key)
            yield from self.waits(1)
        yield 200
        yield from self.waits(1)
        self.assertIn("line three", self.file.read_text())

    def test_enter_opens_the_file_at_the_line_in_the_group_of_the_code(self) -> Steps:
        columns = {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
        self.window.run_command("set_layout", columns)
        yield from self.two_files()
        yield from self.review()
        self.assertEqual(self.window.get_view_index(self.tab)[0], 1)
        yield self.has("▾ b.py")
        self.press("n", "enter")
        yield lambda: self.window.active_view() == self.view
        yield lambda: self.view.rowcol(self.view.sel()[0].b)[0] == 29
        self.assertEqual(self.window.get_view_index(self.view)[0], 0)

    def test_a_comment_is_on_the_line_of_the_file_and_listed_at_the_end(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        self.go_to("line three")
        self.press("c")
        caption, _, done = self.screen.inputs[-1]
        self.assertEqual(caption, "Comment on app.py:3")
        done("Why?")
        yield self.has("¶ app.py:3 · Why? · to send")
        [comment] = loaded("sublime_text.package").adapter().comments.of_window(self.window)
        self.assertEqual((comment.first, comment.lines, comment.side), (3, ("line three",), "file"))

    def test_keys_that_open_or_fold_say_where_there_is_nothing_to_open_or_to_fold(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("▾ b.py")
        text = text_of(self.tab)
        for key, said in {"enter": "nothing to open", "s": "nothing to open", "tab": "on a file to fold"}.items():
            self.go_to("—")
            self.press(key)
            self.assertIn(said, self.screen.messages.pop())
        self.assertEqual(text_of(self.tab), text)

    def test_the_line_between_two_changes_is_none_of_the_file_to_comment_on(self) -> Steps:
        yield from self.two_files()
        yield from self.review()
        yield self.has("⋯")
        self.go_to("⋯")
        self.press("c")
        self.assertEqual(self.screen.inputs, [])
        self.assertTrue(self.screen.said("Put the caret on a line of a change"))

    def test_the_last_lines_name_the_keys_of_the_persons_own_keymap(self) -> Steps:
        own = '[{"keys": ["ctrl+shift+9"], "command": "qwen_companion_review_decide", "args": {"what": "keep"}}]'
        load, keys = sublime.load_resource, loaded("sublime_text.keys").KEYS
        self.addCleanup(keys.forget)
        with patch.object(sublime, "load_resource", lambda name: own if name == OWN_KEYS else load(name)):
            keys.forget()
            yield from self.review()
            yield lambda: any("Ctrl+Shift+9 keep" in line for line in self.lines())
        self.assertIn("u undo", self.lines()[0])
        self.assertIn("z take back", "".join(self.lines()[-4:]))

    def test_the_keys_of_vim_are_off_there_and_nowhere_else(self) -> Steps:
        yield from self.review()
        settings = self.tab.settings()
        self.assertEqual((settings.get("command_mode"), settings.get("__vi_external_disable")), (False, True))
        self.assertNotIn("__vi_external_disable", self.view.settings())
        self.assertEqual([name for name in self.tab.settings().to_dict() if "review" in name], [])

    def test_it_is_no_file_of_the_persons_for_a_cli(self) -> Steps:
        yield from self.review()
        self.assertFalse(loaded("sublime_text.windows").is_code(self.tab))


class TestProposals(ReviewCase):
    def proposed(
        self, text: str = OLD.replace("line 3\n", "line three\n").replace("line 9\n", ""), old: str = OLD
    ) -> Steps:
        """A proposal with two changes, which nobody has gone to, and the Review."""
        self.file.write_text(old)
        yield from self.open_diff(text)
        self.window.focus_view(self.view)
        yield from self.review()
        yield self.has("◆ Qwen Code · proposes", "▾ app.py")
        self.diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield lambda: self.diff.counts

    def test_what_the_cli_calls_its_conversation_is_the_title_of_its_proposals(self) -> Steps:
        yield from self.proposed()
        self.diff.review.title = "Mend the\nclock"
        loaded("sublime_text.package").adapter().review.changed(self.window)
        yield self.has("◆ Qwen Code · proposes · “Mend the clock”", "▾ app.py")

    def test_it_counts_as_seen_after_a_second_in_front_and_not_before(self) -> Steps:
        yield from self.proposed()
        self.assertFalse(self.diff.attention.is_seen)
        yield 300
        self.assertFalse(self.diff.attention.is_seen)
        yield lambda: self.diff.attention.is_seen
        yield self.has("▾ app.py   +1 −2  seen")

    def test_a_caret_on_the_heading_of_proposals_is_there_again_after_a_restart(self) -> Steps:
        """A record is JSON then, which has no tuples."""
        yield from self.proposed()
        self.go_to("◆")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        kept = json.loads(json.dumps([tab._belongs().key, 0, 0]))
        self.assertIn(loaded("sublime_text.review.review_tab")._left_at(kept).key, [each.key for each in tab._blocks])

    def test_it_says_in_a_line_why_it_is_proposed_and_all_of_it_at_a_click(self) -> Steps:
        yield from self.proposed()
        reason = "The third line is a word, " + "and so on " * 20
        explain = lambda companion, said: companion.reviews.explain(self.diff.review.number, said)  # noqa: E731
        post = loaded("sublime_text.package").adapter().thread.post
        post(lambda companion: explain(companion, reason))
        yield lambda: f"“{reason[:79]}…”\n" in text_of(self.tab)
        self.screen.click(self.tab, f"reason:{self.diff.review.number}")
        yield lambda: self.screen.popups
        self.assertIn(reason.strip(), self.screen.popups[-1][0])
        yield lambda: "“The third line" in self.screen.header(self.proposal)
        for view in (self.tab, self.proposal):
            self.screen.popups.clear()
            view.run_command("qwen_companion_why")
            self.assertIn(reason.strip(), self.screen.popups[-1][0])
        post(lambda companion: explain(companion, ""))
        yield lambda: "“" not in text_of(self.tab)
        why = loaded("sublime_text.why").QwenCompanionWhyCommand
        self.assertEqual([why(self.tab).is_visible(), why(self.proposal).is_visible()], [False, False])

    def test_it_has_the_sentence_before_its_call_in_the_transcript_of_its_cli(self) -> Steps:
        yield from self.proposed(text := OLD.replace("line 3\n", "line three\n"))
        home = self.folder.parent / f"{self.folder.name}-home"
        self.addCleanup(shutil.rmtree, home)
        name = re.sub("[^A-Za-z0-9]", "-", os.path.realpath(self.folder))
        chats = home / "projects" / name / "chats"
        chats.mkdir(parents=True)
        call = {"id": "c", "name": "write_file", "args": {"file_path": str(self.file), "content": text}}
        parts = [{"text": "It is a word."}, {"functionCall": call}]
        lines = [
            {"type": "user", "uuid": "u", "cwd": str(self.folder), "message": {"parts": [{"text": "Why?"}]}},
            {"type": "assistant", "message": {"parts": parts}},
        ]
        (chats / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        environment = patch.dict(os.environ, QWEN_RUNTIME_DIR=str(home))
        environment.start()
        self.addCleanup(environment.stop)
        self.set_setting("read_transcripts", "always")
        yield {
            "condition": lambda: "seen · “It is a word.”" in text_of(self.tab).replace(" yet", ""),
            "timeout": 30_000,
        }

    def test_one_that_waits_without_a_tab_is_listed_and_edited_behind_the_review(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.propose("first\n", self.folder / "first.py")
        diff = yield from self.propose(OLD.replace("line 3\n", "line three\n"))
        self.assertFalse(diff.is_open)
        yield from self.review()
        yield self.has("▾ app.py   +1 −1  not seen yet")
        self.go_to("line 3")
        self.press("u")
        yield lambda: diff.is_open and diff.text() == OLD
        self.assertEqual(self.window.active_view(), self.tab)

    def test_one_that_its_cli_writes_before_anybody_has_gone_to_it_waits_as_a_written_change(self) -> Steps:
        """It was in the baseline, and nobody had seen it."""
        other = self.folder / "b.py"
        other.write_text(OLD)
        yield from self.begun()
        yield from self.open_diff("x = 1\n")
        yield from self.propose(OLD.replace("line 3\n", "line three\n"), other)
        yield from self.review()
        other.write_text(OLD.replace("line 3\n", "line three\n"))
        yield self.has("◆ Qwen Code · proposes", "▾ app.py", "◆ Qwen Code", "▾ b.py   +1 −1", "✓ b.py · +1 −1 · closed")
        self.go_to("line three")
        self.press("u")
        yield lambda: other.read_text() == OLD

    def test_what_was_allowed_in_the_terminal_waits_whenever_the_cli_closes_its_diff(self) -> Steps:
        """The file was looked at between its write and that."""
        yield from self.begun()
        yield from self.open_diff(OLD)
        self.file.write_text(OLD)
        yield lambda: self.screen.said("app.py already matches the proposal of Qwen Code")
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("◆ Qwen Code", "▾ app.py", "✓ app.py", "—")

    def test_the_key_for_side_by_side_never_shows_one_inline(self) -> Steps:
        """It switched the layout, and did nothing of what it says where both sides were there."""
        yield from self.proposed()
        for _ in range(2):
            self.window.focus_view(self.tab)
            self.press("s")
            yield lambda: self.window.active_view() == self.diff.proposal
            self.assertEqual(self.diff.layout, "side_by_side")

    def test_one_that_was_dragged_to_another_window_is_not_listed_as_closed(self) -> Steps:
        """It waits there."""
        yield from self.proposed()
        diffs = loaded("sublime_text.package").adapter().diffs
        self.diff.window = yield from self.another_window()
        diffs._moved(self.diff, self.window)
        yield self.has("— Nothing waits")
        self.assertEqual([line for line in self.lines() if line.startswith("✓")], [])

    def test_what_was_not_in_sight_was_not_seen(self) -> Steps:
        """Nor what was folded, nor what is below the last line in sight."""
        yield from self.proposed("".join(f"other {at}\n" for at in range(400)))
        yield 1_600
        self.assertFalse(self.diff.attention.is_seen)
        self.go_to("▾ app.py")
        self.press("tab")
        yield 1_600
        self.assertFalse(self.diff.attention.is_seen)

    def test_a_word_beside_what_is_in_sight_was_not_seen(self) -> Steps:
        """The line was there, and what had changed in it was far to the right."""
        line = "word " * 400
        yield from self.proposed(f"{line}new\n{OLD}", f"{line}old\n{OLD}")
        yield 1_600
        self.assertFalse(self.diff.attention.is_seen)
        self.go_to("word")
        self.press("primary+s")
        self.assertTrue(self.screen.said("Go to the changes of app.py"))
        x = self.tab.text_to_layout(self.tab.text_point(2, len(line)))[0]
        self.tab.set_viewport_position((x - 100, 0.0), animate=False)
        yield lambda: self.diff.attention.is_seen

    def test_the_rest_of_a_line_of_which_one_word_has_gone_need_not_be_in_sight(self) -> Steps:
        rest = "word " * 400
        yield from self.proposed(f"the {rest}\n{OLD}", f"the old {rest}\n{OLD}")
        yield lambda: self.diff.attention.is_seen

    def test_a_new_line_whose_end_is_beside_what_is_in_sight_was_not_seen(self) -> Steps:
        """No word of it is marked, as all of it is new."""
        added = f"new{' ' * 1_000}and more\n"
        yield from self.proposed(OLD.replace("line 3\n", f"line 3\n{added}"))
        yield 1_600
        self.assertFalse(self.diff.attention.is_seen)
        self.press("primary+s")
        self.assertTrue(self.screen.said("Go to the changes of app.py"))
        end = self.tab.find("and more", 0).end()
        x = self.tab.text_to_layout(end)[0] - self.tab.viewport_extent()[0] + 10
        self.tab.set_viewport_position((x, 0.0), animate=False)
        yield lambda: self.diff.attention.is_seen

    def test_a_tab_behind_another_one_shows_nobody_anything(self) -> Steps:
        yield from self.proposed()
        self.window.focus_view(self.view)
        yield 1_600
        self.assertFalse(self.diff.attention.is_seen)

    go_to = TestReview.go_to

    def test_a_file_that_is_written_and_proposed_again_counts_once(self) -> Steps:
        self.file.write_text(OLD)
        yield from self.begun()
        self.file.write_text(new := OLD.replace("line 3\n", "line three\n"))
        yield from self.waits(1)
        yield from self.propose(new.replace("line 30\n", "line thirty\n"))
        yield from self.review()
        yield self.has("— 1 file, +2 −2: 1 proposed, 1 written", "▾ app.py   +1 −1", "▾ app.py   +1 −1")

    def test_undo_reverts_in_the_proposed_text_and_accept_answers(self) -> Steps:
        yield from self.proposed()
        self.assertEqual(self.row(), "line 3")
        self.press("u")
        yield lambda: text_of(self.proposal) == OLD.replace("line 9\n", "")
        yield self.has("▾ app.py   +0 −1  edited")
        yield lambda: self.diff.attention.is_seen
        self.press("primary+s")
        yield from self.written()
        self.assertEqual(self.content, OLD.replace("line 9\n", ""))
        yield self.has("✓ app.py · +0 −1 · accepted · Qwen Code")

    def test_accept_right_after_an_undo_is_for_what_is_left(self) -> Steps:
        yield from self.proposed()
        self.go_to("line 3")
        self.press("u", "primary+s")
        yield from self.written()
        self.assertEqual(self.content, OLD.replace("line 9\n", ""))

    def test_its_line_says_what_its_changes_do_not_show(self) -> Steps:
        """As the headers of its tab do."""
        self.set_limit("companion", "TICK", 0.1)
        self.file.write_bytes(OLD.replace("\n", "\r\n").encode())
        diff = yield from self.propose(OLD.replace("line 3\n", "line three\n"))
        yield from self.review()
        yield self.has("▾ app.py   +1 −1  CRLF → LF in 39 lines")
        diff.actions.keep_endings(keeps=True)
        yield self.has("▾ app.py   +1 −1  not CRLF → LF in 39 lines")
        self.view.run_command("append", {"characters": "MINE\n"})
        yield self.has("▾ app.py   +1 −1  not CRLF → LF in 39 lines · open with unsaved edits")
        self.view.run_command("save")
        yield self.has("▾ app.py   +1 −1  not CRLF → LF in 39 lines · changed on disk")
        self.file.unlink()
        yield self.has("▾ app.py   +1 −1  not CRLF → LF in 39 lines · deleted on disk")

    def test_it_is_not_seen_before_its_line_is_which_says_what_its_changes_do_not_show(self) -> Steps:
        self.file.write_bytes(OLD.replace("\n", "\r\n").encode())
        yield from self.proposed(OLD.replace("line 3\n", "line three\n"))
        self.go_to("line 3")
        self.tab.set_viewport_position((0, self.tab.text_to_layout(self.tab.sel()[0].b)[1]), False)
        yield 1_600
        self.press("primary+s")
        self.assertTrue(self.screen.said("Go to the changes of app.py"))
        self.assertFalse(self.diff.attention.is_seen)
        self.tab.set_viewport_position((0, 0), False)
        yield lambda: self.diff.attention.is_seen

    def test_a_look_at_what_waits_asks_no_disk_where_its_files_are(self) -> Steps:
        """One that hangs would hold up the editor at each look."""
        yield from self.proposed()
        feed = loaded("sublime_text.package").adapter().review.tab(self.window).feed
        with patch.object(loaded("sublime_text.windows"), "_REAL_PATHS") as asked:
            feed.look()
        self.assertEqual(asked.mock_calls, [])
        [[file]] = [turn.files for turn in feed.turns]
        self.assertEqual(file.place, os.path.realpath(self.file))

    def test_the_lines_of_one_that_was_answered_just_now_are_not_asked_for(self) -> Steps:
        """A fold just then was an error."""
        yield from self.proposed()
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        tab.feed.bodies.clear()
        with patch.object(type(tab.feed), "proposals", {}):
            tab.draw()
        self.assertEqual(tab.feed.bodies, {})

    def test_keep_moves_on_and_answers_nothing(self) -> Steps:
        yield from self.proposed()
        self.press("k")
        self.assertEqual(self.row(), "line 9")
        for key in ("k", "shift+k"):  # it went back from the last one
            self.screen.messages.clear()
            self.press(key)
            self.assertEqual(self.row(), "line 9")
            self.assertTrue(self.screen.said("No other change waits in this direction."))
        yield 200
        self.assertEqual(self.cli.outcomes, [])

    def test_undo_on_a_heading_of_proposals_says_how_they_are_answered(self) -> Steps:
        """It did nothing, and said nothing."""
        yield from self.proposed()
        for heading in ("◆", "— "):
            self.go_to(heading)
            self.screen.messages.clear()
            self.press("u")
            [said] = self.screen.messages
            self.assertIn("Accept or reject each proposal; the palette has Reject All Diffs.", said)
            self.assertTrue(self.row().startswith(heading.strip()))
            self.press("k")
            self.assertEqual(self.row(), "line 3")
        self.assertEqual((text_of(self.proposal), self.cli.outcomes), (self.diff.review.shown, []))

    def test_a_key_on_a_proposal_that_is_answered_already_says_so(self) -> Steps:
        yield from self.proposed()
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        tab._draw = lambda: None
        self.proposal.run_command("qwen_companion_reject_diff")
        yield lambda: not tab.feed.proposals
        for key in ("u", "primary+s"):
            self.screen.messages.clear()
            self.press(key)
            self.assertEqual(len([said for said in self.screen.messages if "waits no longer" in said]), 1)
        del tab._draw

    def test_a_click_on_reject_answers(self) -> Steps:
        yield from self.proposed()
        number = self.diff.review.number
        self.screen.click(self.tab, f"reject:{number}")
        yield self.has("✓ app.py · +1 −2 · rejected · Qwen Code")

    def test_what_comes_in_the_place_of_another_proposal_needs_a_second_of_its_own(self) -> Steps:
        """The CLI proposes another text, which has as many lines."""
        self.file.write_text(OLD)
        (self.folder / "b.py").write_text(OLD * 5)
        yield from self.begun()
        (self.folder / "b.py").write_text(OLD.replace("line", "row") * 5)
        yield from self.waits(1)
        yield from self.propose("x = 1\n", self.folder / "a.py")  # which has the tab
        yield from self.propose(text := OLD.replace("line 3\n", "line three\n"))
        yield from self.review()
        self.go_to("—")
        yield self.has("▾ app.py   +1 −1  seen", "▾ b.py")
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file), suppressNotification=True))
        diff = yield from self.propose(text.replace("three", "thr33"))
        yield self.has("▾ app.py   +1 −1", "line thr33")
        yield 300
        self.assertFalse(diff.attention.is_seen)
        yield lambda: diff.attention.is_seen

    def test_a_second_key_or_click_is_not_for_the_proposal_that_comes_to_the_caret(self) -> Steps:
        self.file.write_text(OLD)
        (self.folder / "b.py").write_text(OLD)
        yield from self.propose(text := OLD.replace("line 3\n", "line three\n"))
        second = yield from self.propose(text, self.folder / "b.py")
        yield from self.review()
        yield self.has("▾ app.py", "line three", "▾ b.py", "line three")
        self.go_to("line 3")
        self.press("primary+s", "primary+s")
        yield self.has("✓ app.py")
        self.press("primary+s")
        self.screen.click(self.tab, f"accept:{second.review.number}")
        self.assertEqual(len([said for said in self.screen.messages if "b.py has only just appeared" in said]), 2)
        yield 200
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])
        yield 1_000
        self.press("primary+s")
        yield lambda: len(self.cli.outcomes) == 2

    def test_a_second_reject_is_not_for_the_proposal_that_comes_to_the_caret_either(self) -> Steps:
        self.file.write_text(OLD)
        (self.folder / "b.py").write_text(OLD)
        yield from self.propose(text := OLD.replace("line 3\n", "line three\n"))
        second = yield from self.propose(text, self.folder / "b.py")
        yield from self.review()
        yield self.has("▾ app.py", "line three", "▾ b.py", "line three")
        self.go_to("line 3")
        self.press("shift+escape")
        yield self.has("✓ app.py")
        self.press("shift+escape")
        self.screen.click(self.tab, f"reject:{second.review.number}")
        self.assertEqual(len([said for said in self.screen.messages if "b.py has only just appeared" in said]), 2)
        yield 200
        self.assertEqual([told["filePath"] for _, told in self.cli.outcomes], [str(self.file)])
        yield 1_000
        self.press("shift+escape")
        yield lambda: len(self.cli.outcomes) == 2

    def test_a_proposal_is_compared_with_the_file_that_was_read_again(self) -> Steps:
        self.set_setting("review", "off")
        self.file.write_text(OLD)
        diff = yield from self.propose(OLD.replace("line 3\n", "line three\n"))
        yield from self.review()
        yield self.has("▾ app.py   +1 −1", "line three")
        self.file.write_text(OLD.replace("line 20\n", "line twenty\n"))
        yield self.has("▾ app.py   +1 −1  changed on disk")
        diff.proposal.run_command("qwen_companion_reload_diff")
        yield self.has("▾ app.py   +2 −2", "line three", "line twenty", "line 20")
        self.go_to("line three")
        self.press("u")
        yield lambda: diff.text() == OLD

    def test_what_cannot_be_compared_is_not_seen_there(self) -> Steps:
        self.set_setting("max_marked_lines", 3)
        self.file.write_text(OLD)
        diff = yield from self.propose(OLD.replace("line 3\n", "line three\n"))
        yield from self.review()
        yield self.has("▾ app.py   +0 −0  Over “max_marked_lines”")
        yield 1_600
        self.assertFalse(diff.attention.is_seen)
        self.go_to("▾ app.py")
        self.press("primary+s")
        self.assertTrue(self.screen.said("Go to the changes of app.py"))
        yield 200
        self.assertEqual(self.cli.outcomes, [])

    def test_what_cannot_be_compared_hides_nothing_below(self) -> Steps:
        self.set_setting("max_marked_lines", 3)
        yield from self.open_diff("x = 1\n")
        yield from self.review()
        yield self.has("▾ app.py   +1 −2  seen")
        yield from self.propose("y\n" * 20, self.folder / "large.py")
        yield self.has("▾ large.py   +0 −0  Over “max_marked_lines”")
        yield lambda: "⋯ more below" not in self.lines()

    def test_accept_is_refused_for_what_was_never_in_front(self) -> Steps:
        yield from self.proposed("".join(f"other {at}\n" for at in range(400)))
        self.screen.click(self.tab, f"accept:{self.diff.review.number}")
        self.assertTrue(self.screen.said("Go to the changes of app.py"))
        yield 200
        self.assertEqual(self.cli.outcomes, [])


class TestMany(ReviewCase):
    def test_44_files_take_one_key_for_each_decision(self) -> Steps:
        names = [f"f{at:02}.py" for at in range(44)]
        for name in names:
            (self.folder / name).write_text(OLD)
        yield from self.begun()
        for name in names:
            (self.folder / name).write_text(OLD.replace("line 5\n", "line five\n").replace("line 35\n", ""))
        yield from self.waits(44)
        yield from self.review()
        yield self.has("— 44 files, +44 −88", "▾ f00.py")
        pressed = 0
        for at in range(88):
            yield {"condition": lambda: self.row() in ("line 5", "line 35"), "timeout": 20_000}
            self.press("k" if at % 2 else "u")
            pressed += 1
        yield from self.waits(0)
        self.assertEqual(pressed, 88)
        for name in names:
            self.assertEqual((self.folder / name).read_text(), OLD.replace("line 35\n", ""))

    def test_a_key_for_the_whole_file_comes_after_those_that_are_under_way(self) -> Steps:
        """The second keep was dropped, and undone with the file."""
        path = self.folder / "three.py"
        path.write_text(OLD)
        yield from self.begun()
        kept = OLD.replace("line 5\n", "line five\n").replace("line 20\n", "line twenty\n")
        path.write_text(kept.replace("line 35\n", ""))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ three.py")
        yield {"condition": lambda: self.row() == "line 5", "timeout": 20_000}
        for key in ("k", "k", "shift+u"):
            self.press(key)
        self.screen.messages.clear()
        self.go_to("▾ three.py")
        self.press("shift+k")
        self.assertTrue(self.screen.said("three.py is decided already."), self.screen.messages)
        yield from self.waits(0)
        self.assertEqual(path.read_text(), kept)

    def test_a_key_for_the_whole_file_is_dropped_if_one_before_it_could_not_be_done(self) -> Steps:
        """The change that the person wanted to keep was undone with the file."""
        self.file.write_text(OLD)
        yield from self.begun()
        written = OLD.replace("line 5\n", "line five\n").replace("line 35\n", "")
        self.file.write_text(written)
        yield from self.waits(1)
        yield from self.review()
        yield self.has("▾ app.py")
        yield {"condition": lambda: self.row() == "line 5", "timeout": 20_000}
        self.fails("decisions", "decide_changes", OSError("git was ended"))
        for key in ("k", "shift+u"):
            self.press(key)
        tab = loaded("sublime_text.package").adapter().review.tab(self.window)
        yield lambda: self.screen.said("Git was ended.") and not tab._decisions._of
        yield 500
        self.assertEqual(self.file.read_text(), written)
        yield from self.waits(1)

    def test_44_files_take_one_key_each(self) -> Steps:
        names = [f"f{at:02}.py" for at in range(44)]
        for name in names:
            (self.folder / name).write_text(OLD)
        yield from self.begun()
        for name in names:
            (self.folder / name).write_text(OLD.replace("line 5\n", "line five\n").replace("line 35\n", ""))
        yield from self.waits(44)
        yield from self.review()
        yield self.has("▾ f00.py")
        for _ in names:
            yield {"condition": lambda: self.row() in ("line 5", "line 35"), "timeout": 20_000}
            self.press("shift+u")
        yield from self.waits(0)
        self.assertEqual({(self.folder / name).read_text() for name in names}, {OLD})

    def test_ten_thousand_changes_are_filled_in_as_one_comes_near_and_nothing_in_sight_moves(self) -> Steps:
        lines = [f"line {at}\n" for at in range(100_000)]
        big = self.folder / "big.py"  # which is not open
        big.write_text("".join(lines))
        yield from self.begun()
        big.write_text("".join("changed\n" if at % 10 == 5 else line for at, line in enumerate(lines)))
        yield from self.waits(1)
        yield from self.review()
        yield self.has("— 1 file, +10,000 −10,000", "▾ big.py", "line 5", "changed", "⋯ more below")
        yield lambda: len(self.lines()) > 1_000  # the end of the first lines is near
        before = len(self.lines())
        self.assertLess(before, 2_000)
        self.tab.set_viewport_position((0.0, self.tab.text_to_layout(self.tab.text_point(before - 60, 0))[1]), False)
        top = self.tab.substr(self.tab.visible_region())[:60]
        yield lambda: len(self.lines()) > before + 500
        self.assertEqual(self.tab.substr(self.tab.visible_region())[:60], top)
        for _ in range(200):
            self.press("n")
        self.assertTrue(self.row().startswith("line "))
        self.assertLess(len(self.lines()), 10_000)
