"""Why Is This Here?: a popup at the caret, and the way to the chat."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from . import test_changes_review as written
from .chat_case import ChatCase
from .companion_case import CompanionCase, Steps, loaded, text_of

AGENT = "    if name is None:\n        raise ValueError('We greet nobody without a name')\n"
PROMPT = "Refuse to greet nobody"
REASON = "An AttributeError says too little."


class _Asks(CompanionCase):
    """A file in which an agent has written two lines."""

    __test__ = False

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.popups: list[tuple[str, Any]] = []
        hear = lambda _, content, *__, on_navigate, **___: self.popups.append((content, on_navigate))  # noqa: E731
        for patcher in (patch.object(sublime.View, "show_popup", hear),):
            patcher.start()
            self.addCleanup(patcher.stop)
        self.file_view = yield from self.logged_file()

    def logged_file(self, name: str = "greet.py") -> Any:
        path = self.folder / name
        path.write_text(text := "def greet(name):\n" + AGENT + "    print(name)\n")
        calls, why = loaded("provenance.calls"), loaded("provenance.why")
        replaced = calls.TextReplacement(str(path), "def greet(name):\n", "def greet(name):\n" + AGENT)
        call = calls.WritingCall("c", "edit", (replaced,), REASON)
        turn = calls.ReportedTurn("Agent", PROMPT, (call,), "a-model", "session-7", "turn-1", str(self.folder))
        logged: Future[None] = Future()

        def log(companion: Any) -> None:
            told = companion.sharing_of(self.window.id())
            why.log_turn(companion.provenance.log, [told], turn, [(str(path), text.replace(AGENT, ""), text)])
            logged.set_result(None)

        loaded("sublime_text.package").adapter().thread.post(log)
        yield from self.done(logged)
        view = self.window.open_file(str(path))
        yield lambda: not view.is_loading()
        return view

    def ask_why(self, row: int) -> None:
        view = self.file_view
        self.window.focus_view(view)
        view.sel().clear()
        view.sel().add(view.text_point(row, 4))
        view.run_command("qwen_companion_why")


class TestWhy(_Asks):
    """A file and no chat."""

    __test__ = True

    def test_the_popup_says_who_has_written_a_line_for_which_prompt_and_why(self) -> Steps:
        self.ask_why(2)
        yield lambda: self.popups
        for words in ("Agent", "a-model", PROMPT, REASON):
            self.assertIn(words, self.popups[0][0])

    def test_in_the_review_it_is_said_of_the_change_at_the_caret(self) -> Steps:
        adapter = loaded("sublime_text.package").adapter()
        known = lambda: adapter.thread._running[1].changes.roots.windows.get(self.window.id())  # noqa: E731
        yield lambda: known() and known().folders and all(each.has_round for each in known().folders.values())
        yield from self.logged_file("second.py")
        self.window.run_command("qwen_companion_review")
        yield lambda: adapter.review.tab(self.window)
        tab = adapter.review.tab(self.window).view
        self.addCleanup(tab.close)
        for heading in ("▸\xa0second.py", "▾\xa0second.py"):
            yield lambda heading=heading: heading in text_of(tab)
            tab.sel().clear()
            tab.sel().add(text_of(tab).index(heading))
            tab.run_command("qwen_companion_why")
            if heading.startswith("▸"):
                tab.run_command("qwen_companion_review_do", {"what": "fold"})
        self.assertEqual(self.popups, [])  # nothing is asked about a heading
        yield lambda: AGENT in text_of(tab)
        tab.sel().clear()
        tab.sel().add(text_of(tab).index(AGENT))
        tab.run_command("qwen_companion_why")
        yield lambda: self.popups
        for words in ("Agent", PROMPT, REASON):
            self.assertIn(words, self.popups[0][0])
        shown = adapter.review.tab(self.window)
        at = next(at for at, block in enumerate(shown._blocks) if block.body)
        block = shown._blocks[at]
        shown._blocks[at] = block._replace(kinds=block.kinds[:3])  # the rest is beyond what is filled so far
        self.assertEqual(shown.lines_in_file()[1], [0, 1])

    def test_a_line_of_the_persons_own_says_that_nothing_is_known(self) -> Steps:
        said: list[str] = []
        with patch.object(loaded("sublime_text.why"), "say", lambda _, words: said.append(words)):
            self.ask_why(3)
            yield lambda: said
        self.assertEqual((said, self.popups), (["Nothing is known of why this is here."], []))

    def test_a_line_that_the_person_has_typed_and_not_saved_is_theirs(self) -> Steps:
        said: list[str] = []
        self.file_view.run_command("append", {"characters": AGENT})
        with patch.object(loaded("sublime_text.why"), "say", lambda _, words: said.append(words)):
            self.ask_why(5)
            yield lambda: said
        self.assertEqual(self.popups, [])
        self.file_view.set_scratch(True)

    def test_what_the_person_saves_anew_is_theirs(self) -> Steps:
        view, said = self.file_view, list[str]()
        for text in ("def greet(name):\n    print(name)\n", "def greet(name):\n" + AGENT + "    print(name)\n"):
            loaded("sublime_text.buffers").write_all(view, text)
            view.run_command("save")
            yield lambda: not view.is_dirty()
        yield from self.turned()
        with patch.object(loaded("sublime_text.why"), "say", lambda _, words: said.append(words)):
            for _ in range(100):
                self.ask_why(2)
                yield 20
                if said:
                    break
        self.assertIn("Nothing is known of why this is here.", said)

    def test_what_a_note_of_a_commit_says_has_no_prompt_and_leads_nowhere(self) -> Steps:
        room = loaded("sublime_text.why")
        log, why = loaded("provenance.log"), loaded("provenance.why")
        turn = log.LoggedTurn(0.0, "claude <b>", (), "sonnet")
        shown = room.page([why.Reason((2,), turn, log.LoggedCall("greet.py", ()), "0123456789" * 4)])
        self.assertIn("claude &lt;b&gt; · sonnet<", shown)
        self.assertIn("commit 0123456789,", shown)
        self.assertNotIn("href", shown)
        yield 0

    def test_the_command_is_not_for_a_diff_and_not_for_a_tab_without_a_file(self) -> Steps:
        yield from self.open_diff("x\n")
        made = loaded("sublime_text.why").QwenCompanionWhyCommand
        self.assertFalse(made(self.proposal).is_enabled())
        view = self.window.new_file()
        view.set_scratch(True)
        self.assertFalse(made(view).is_enabled())

    def test_a_chat_that_is_not_open_is_said_so(self) -> Steps:
        said: list[str] = []
        self.ask_why(2)
        yield lambda: self.popups
        with patch.object(loaded("sublime_text.why"), "say", lambda _, words: said.append(words)):
            self.ask_why(2)
        self.assertEqual(said, ["The chat in which this was said is not open."])


class TestTranscripts(CompanionCase):
    """A CLI in a terminal whose transcripts nobody has allowed yet."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        stores = Path(tempfile.mkdtemp(prefix="stores-"))
        self.addCleanup(shutil.rmtree, stores)
        transcripts = loaded("provenance.transcripts").Transcripts
        answered: Future[Any] = Future()
        loaded("sublime_text.package").adapter().thread.post(answered.set_result)
        yield from self.done(answered)
        self.reasons = answered.result().provenance
        for name, value in (("_transcripts", transcripts(str(stores))), ("question", "")):
            patcher = patch.object(self.reasons, name, value)
            patcher.start()
            self.addCleanup(patcher.stop)
        self.set_setting("read_transcripts", "connected")
        yield lambda: self.reasons.question

    def test_the_question_takes_no_focus_and_waits_in_the_status_bar_and_in_status(self) -> Steps:
        yield lambda: "1 message: Show Log" in self.view.get_status("zz_qwen_companion")
        self.assertEqual(self.window.active_view(), self.view)
        self.assertIsNone(self.window.active_panel())
        command = loaded("sublime_text.why").QwenCompanionReadTranscriptsCommand(self.window)
        self.assertTrue(command.is_visible())
        self.set_setting("read_transcripts", "off")
        self.assertFalse(command.is_visible())
        self.set_setting("read_transcripts", "connected")
        self.window.run_command("qwen_companion_status")
        yield lambda: "Qwen: Read Transcripts…" in self._shown()
        self.assertIn("Read Transcripts…", self._shown())

    def _shown(self) -> str:
        view = self.window.active_view()
        return view.substr(sublime.Region(0, view.size())) if view else ""

    def test_an_answer_ends_the_question_and_closing_the_list_is_none(self) -> Steps:
        picked: list[Any] = []
        with patch.object(
            sublime.Window, "show_quick_panel", lambda _, items, done, **__: picked.append((items, done))
        ):
            self.window.run_command("qwen_companion_read_transcripts")
            [(items, done)] = picked
        self.assertEqual([each.trigger for each in items], ["Read Them", "Don't Read Them"])
        done(-1)
        yield 300
        self.assertTrue(self.reasons.question)
        with patch.object(
            sublime.Window, "show_quick_panel", lambda _, items, done, **__: picked.append((items, done))
        ):
            self.window.run_command("qwen_companion_read_transcripts")
        picked[-1][1](1)
        yield lambda: not self.reasons.question
        self.assertIs(self.reasons._transcripts.answer, False)
        yield lambda: "message" not in self.view.get_status("zz_qwen_companion")


class TestInChat(ChatCase, _Asks):
    """A file and the chat in which it was written."""

    __test__ = True

    def test_a_click_shows_the_place_in_the_chat(self) -> Steps:
        self.ask_why(2)
        yield lambda: self.popups
        content, follow = self.popups[0]
        self.assertIn('href="said:0"', content)
        shown: list[int] = []
        self.show(self.message(PROMPT, "user"), self.message(REASON), self.message("and so on"), session="session-7")
        self.chat.record.keep(session="session-7")
        with patch.object(sublime.View, "show_at_center", lambda _, place: shown.append(place)):
            follow("said:0")
        self.assertEqual(self.window.active_view(), self.view)
        [place] = shown
        text = self.view.substr(sublime.Region(0, self.view.size()))
        self.assertLess(place, text.index(PROMPT))
        self.assertLess(text.index(PROMPT) - place, 20)

    def test_another_prompt_that_has_its_words_is_not_its_place_in_the_chat(self) -> Steps:
        self.ask_why(2)
        yield lambda: self.popups
        shown, said = list[int](), list[str]()
        self.show(self.message(f"{PROMPT} on Sundays", "user"), self.message("So be it."), session="session-7")
        self.chat.record.keep(session="session-7")
        room = loaded("sublime_text.why")
        with (
            patch.object(sublime.View, "show_at_center", lambda _, place: shown.append(place)),
            patch.object(room, "say", lambda _, words: said.append(words)),
        ):
            self.popups[0][1]("said:0")
        self.assertEqual((shown, said), ([], [room.NOT_SHOWN]))


class TestCopy(written.ChangesCase):
    """A review that waits."""

    def test_the_review_is_copied_as_markdown(self) -> Steps:
        copied: list[str] = []
        room = loaded("sublime_text.why")
        command = room.QwenCompanionCopyReviewCommand(self.window)
        self.assertFalse(command.is_enabled())
        (self.folder / "made.py").write_text("x = 1\n")
        yield from self.waits(made=("created", 1))
        self.assertTrue(command.is_enabled())
        with patch.object(room, "to_clipboard", lambda text: copied.append(text.text)):
            self.window.run_command("qwen_companion_copy_review")
            yield lambda: copied
        self.assertIn("## Waits for a review\n\n- `made.py` +1 −0\n", copied[0])
