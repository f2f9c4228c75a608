"""Review Since…: what differs from a commit, in a Review of its own, with a real repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import Future
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import Steps, at_once, loaded
from .own import views
from .test_review_tab import OLD, ReviewCase

EDITED = OLD.replace("line 3\n", "line three by the agent\n").replace("line 30\n", "line thirty\n")


class TestReviewSince(ReviewCase):
    """A branch on which an agent has changed a line and committed it, and the person another one."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.asked: list[str] = []
        self.says_yes = True
        dialog = patch.object(sublime, "ok_cancel_dialog", self.answer)
        dialog.start()
        self.addCleanup(dialog.stop)

    def answer(self, question: str, *_: Any) -> bool:
        self.asked.append(question)
        return self.says_yes

    def git(self, *arguments: str) -> str:
        settings = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
        home = {**os.environ, "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        command = [shutil.which("git") or "git", *settings, *arguments]
        return subprocess.run(command, cwd=self.folder, env=home, capture_output=True, check=True).stdout.decode()

    def branched(self) -> Steps:
        self.file.write_text(OLD)
        (self.folder / ".env").write_text("a secret\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")
        self.git("tag", "v1")
        self.git("checkout", "-q", "-b", "topic")
        (self.folder / ".git" / "refs" / "heads" / "-dash").write_text(self.git("rev-parse", "HEAD"))
        yield from self.begun()
        self.file.write_text(OLD.replace("line 3\n", "line three by the agent\n"))
        self.git("commit", "-q", "-a", "-m", "by the agent")
        self.file.write_text(EDITED)
        (self.folder / ".env").write_text("another secret\n")
        yield from self.logged()

    def logged(self) -> Steps:
        """The provenance log has the agent's line."""
        calls, why = loaded("provenance.calls"), loaded("provenance.why")
        new = OLD.replace("line 3\n", "line three by the agent\n")
        replaced = calls.TextReplacement(str(self.file), "line 3\n", "line three by the agent\n")
        call = calls.WritingCall("c", "edit", (replaced,), "Words are clearer.")
        turn = calls.ReportedTurn("Agent", "Use words", (call,), "a-model", "session-7", "turn-1", str(self.folder))
        done: Future[None] = Future()

        def log(companion: Any) -> None:
            told = companion.sharing_of(self.window.id())
            why.log_turn(companion.provenance.log, [told], turn, [(str(self.file), OLD, new)])
            done.set_result(None)

        loaded("sublime_text.package").adapter().thread.post(log)
        yield from self.done(done)

    def since(self, name: str) -> Steps:
        """Choose something, and open the Review since that: self.tab."""
        shown = len(self.screen.panels)
        self.window.run_command("qwen_companion_review_since")
        yield {
            "condition": lambda: len(self.screen.panels) > shown,
            "timeout": 20_000,
        }
        self.screen.pick(name)
        adapter = loaded("sublime_text.package").adapter()
        yield {"condition": lambda: self.open_one(name), "timeout": 30_000}
        self.tab = adapter.review.tab(self.window, "review since").view
        yield {"condition": lambda: "Looking" not in self.lines()[0], "timeout": 30_000}

    def open_one(self, name: str) -> bool:
        tab = loaded("sublime_text.package").adapter().review.tab(self.window, "review since")
        return tab is not None and tab.feed.point.name == name

    def test_it_is_said_why_nothing_is_listed_and_asked_again_by_whoever_comes_back(self) -> Steps:
        yield from self.branched()
        ended = OSError("git was ended")
        failures = self.fails("since", "listing", ended, times=1_000)  # whoever asks in between
        yield from self.since("main")
        yield self.has("— Git was ended.")
        failures += [ended] * 1_000
        self.window.focus_view(self.view)
        self.window.focus_view(self.tab)
        yield self.has("— 1 file, +2 −2", "▾ app.py   +2 −2", "line thirty")
        self.fails("since", "undo", OSError("git was ended again"))
        self.go_to("line thirty")
        self.press("u")
        yield lambda: self.screen.said("Git was ended again.")
        self.go_to("line thirty")
        self.press("u")
        yield lambda: self.file.read_text() == OLD.replace("line 3\n", "line three by the agent\n")

    def test_it_lists_what_differs_from_a_branch_point_and_nothing_that_is_excluded(self) -> Steps:
        yield from self.branched()
        yield from self.since("main")
        yield self.has("— 1 file, +2 −2", "◆ Since main", "▾ app.py   +2 −2", "line 3", "line three by the agent")
        self.assertEqual(self.tab.name(), "Review Since main")
        self.assertNotIn(".env", "\n".join(self.lines()))
        self.git("commit", "-q", "-a", "-m", "in the middle")
        self.git("branch", "-f", "main", "topic")
        loaded("sublime_text.package").adapter().review.changed(self.window)
        self.file.write_text(EDITED.replace("line 9\n", ""))
        loaded("sublime_text.package").adapter().review.activated(self.window, self.tab)
        yield self.has("— 1 file, +2 −3", "▾ app.py   +2 −3", "line three by the agent", "line thirty")

    def test_it_does_not_say_that_nothing_has_changed_where_all_that_has_is_left_out(self) -> Steps:
        """As in a clone without the contents of earlier commits."""
        self.file.write_text("long ago\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")
        self.git("tag", "v0")
        self.file.write_text(OLD)
        self.git("commit", "-q", "-a", "-m", "go on")
        yield from self.begun()
        blob = self.git("rev-parse", "v0:app.py").strip()
        loose = self.folder / ".git" / "objects" / blob[:2] / blob[2:]
        loose.chmod(0o600)
        loose.unlink()
        yield from self.since("v0")
        yield self.has("— 1 file left out: the content isn't there, or is too large.")
        self.assertNotIn("Nothing has changed", "\n".join(self.lines()))

    def test_a_tag_and_a_branch_whose_name_begins_with_a_dash_can_be_chosen_in_the_same_tab(self) -> Steps:
        yield from self.branched()
        yield from self.since("v1")
        yield self.has("◆ Since v1", "▾ app.py   +2 −2")
        first = self.tab
        yield from self.since("-dash")
        yield self.has("◆ Since -dash", "▾ app.py   +2 −2")
        self.assertEqual(self.tab, first)
        self.assertEqual(self.tab.name(), "Review Since -dash")

    def test_another_comparison_in_the_same_tab_begins_at_its_first_change(self) -> Steps:
        """The caret was in a file that doesn't differ there."""
        yield from self.branched()
        (self.folder / "b.py").write_text(OLD)
        self.git("add", "b.py")
        self.git("commit", "-q", "-m", "another file")
        self.git("tag", "v2")
        yield from self.since("v1")
        yield self.has("▾ app.py", "▸ b.py")
        self.go_to("▸ b.py")
        yield from self.since("v2")
        yield self.has("▾ app.py   +1 −1", "line 30", "line thirty")
        yield lambda: self.row() == "line 30"

    def test_undo_asks_about_the_persons_line_and_not_about_the_agents(self) -> Steps:
        yield from self.branched()
        yield from self.since("main")
        yield self.has("▾ app.py", "line thirty")
        self.go_to("line three by")
        self.press("u")
        yield {
            "condition": lambda: self.file.read_text() == EDITED.replace("three by the agent", "3"),
            "timeout": 30_000,
        }
        self.assertEqual(self.asked, [])
        yield self.has("▾ app.py   +1 −1", "line thirty")
        self.says_yes = False
        self.go_to("line thirty")
        self.press("u")
        yield {"condition": lambda: self.asked, "timeout": 30_000}
        self.assertIn("app.py, line 30: “line thirty”", self.asked[0])
        yield self.has("▾ app.py   +1 −1", "line thirty")
        self.says_yes = True
        yield lambda: self.row() != ""
        self.go_to("line thirty")
        yield lambda: not self.decisions()._of
        self.press("u")
        yield {"condition": lambda: self.file.read_text() == OLD, "timeout": 30_000}
        yield self.has("— Nothing has changed since main.")
        self.assertEqual(self.git("status", "--short", "app.py"), " M app.py\n")

    def test_an_undo_is_taken_back_however_soon_that_is_asked_for(self) -> Steps:
        yield from self.branched()
        yield from self.since("main")
        yield self.has("line thirty")
        before = self.file.read_text()
        self.go_to("line thirty")
        self.press("u")
        self.window.run_command("qwen_companion_take_back")
        decisions = loaded("sublime_text.package").adapter().review.of(self.tab).feed.decisions
        yield lambda: not decisions.is_under_way
        yield lambda: self.file.read_text() == before
        self.assertFalse(self.screen.said("no decision"))

    def decisions(self) -> Any:
        return loaded("sublime_text.package").adapter().review.of(self.tab)._decisions

    def test_keep_only_goes_on_and_nothing_is_decided_from_a_heading(self) -> Steps:
        yield from self.branched()
        yield from self.since("main")
        yield self.has("▾ app.py", "line thirty")
        self.go_to("line 3")
        self.press("k")
        self.assertEqual(self.row(), "line 30")
        for line in ("◆ ", "— "):
            self.go_to(line)
            self.press("u")
            self.press("k")
        self.tab.run_command("qwen_companion_decide_turn", {"what": "undo"})
        self.tab.run_command("qwen_companion_decide_turn", {"what": "keep"})
        self.tab.run_command("qwen_companion_show_turn")
        self.window.focus_view(self.tab)
        self.window.run_command("qwen_companion_undo_file")
        yield 300
        self.assertEqual(self.file.read_text(), EDITED)
        self.assertEqual(self.asked, [])
        self.assertTrue(self.screen.said("Here each file is undone by itself."))
        commands = loaded("sublime_text.review.review_commands")
        turn = commands.QwenCompanionDecideTurnCommand, commands.QwenCompanionShowTurnCommand
        self.assertEqual([made(self.tab).is_visible() for made in turn], [False, False])

    def test_a_line_is_commented_on_opened_and_explained_as_in_the_review(self) -> Steps:
        yield from self.branched()
        yield from self.since("main")
        yield self.has("▾ app.py", "line thirty")
        self.go_to("line three by")
        self.press("c")
        caption, _, done = self.screen.inputs[-1]
        self.assertEqual(caption, "Comment on app.py:3")
        done("Why?")
        yield self.has("¶ app.py:3 · Why? · to send")
        self.window.focus_view(self.tab)
        self.go_to("line three by")
        self.tab.run_command("qwen_companion_why")
        yield {"condition": lambda: self.screen.popups, "timeout": 30_000}
        self.assertIn("Use words", self.screen.popups[-1][0])
        self.go_to("line thirty")
        self.press("enter")
        yield lambda: self.window.active_view() == self.view
        yield lambda: self.view.rowcol(self.view.sel()[0].b)[0] == 29

    def test_a_note_is_dismissed_there_though_the_review_is_not_open(self) -> Steps:
        yield from self.branched()
        adapter = loaded("sublime_text.package").adapter()
        note = loaded("comments").Comment(str(self.file), 1, ("line 1",), "look", by="Qwen Code", rank=1)
        self.addCleanup(lambda: adapter.comments.delete(list(adapter.comments.comments)))
        at_once(adapter.tools.point_out, self.window.id(), note)
        yield from self.since("main")
        yield self.has("¶ Qwen Code points out")
        self.go_to("¶ Qwen Code points out")
        self.press("x")
        self.assertEqual(adapter.comments.notes(self.window), [])

    def test_it_goes_on_with_its_commit_after_a_reload_and_ends_with_its_tab(self) -> Steps:
        yield from self.branched()
        yield from self.since("main")
        yield self.has("▾ app.py   +2 −2")
        adapter = loaded("sublime_text.package").adapter()
        self.git("branch", "-f", "main", "topic")
        adapter.review.close()
        views().hand_over()
        views().restore(self.window)
        adapter.review.restored(self.window)
        yield lambda: adapter.review.tab(self.window, "review since")
        yield self.has("◆ Since main", "▾ app.py   +2 −2")
        running = adapter.thread._running[1]
        self.assertIn(self.window.id(), running.since._open)
        self.tab.close()
        yield lambda: self.window.id() not in running.since._open

    def test_it_is_offered_where_a_folder_is_reviewed(self) -> Steps:
        made = loaded("sublime_text.review.review_commands").QwenCompanionReviewSinceCommand(self.window)
        self.assertTrue(made.is_visible())
        self.set_setting("review", "off")
        self.assertFalse(made.is_visible())
        self.window.run_command("qwen_companion_review_since")
        self.set_setting("review", "before")
        self.window.set_project_data({"folders": []})
        yield lambda: not made.is_visible()
