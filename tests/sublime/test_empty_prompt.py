"""A text goes only into the prompt of a CLI that is in front of its terminal; else into the clipboard.

The prompt has to be empty, unless the text is the mention of a file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import Steps, loaded
from .terminal_case import EMPTY_PROMPT, GEMINI_PROMPT, RULE, TerminalCase, prompt_with

BELOW = {
    "a shell": "ada@host:~/p$ ",
    "a shell with a theme": "➜  p git:(main) ✗ ",
    "sudo": "[sudo] password for ada: ",
    "ssh": "ada@host's password: ",
    "a host's key": "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
    "Python": ">>> ",
    "rm -i": "rm: remove regular file 'app.py'? ",
    "a question of the CLI": "│ ● 1. Allow once\n│   2. No",
    "a question with an arrow": "❯ Allow once",
    "a pager": ":",
}
TEXTS = (
    "please read",
    "please read this and\n  that",
    "one line\n  another line\n  and a third",
    "请看这个文件请看这个文件\n  请看",
    "Do you want to proceed? ❯ 1. Yes",
    "first\n\n  ❯ 1. Yes\n    2. No",
)
"""What the person has typed."""
OTHERS = {
    "the shell mode": prompt_with("ls", "!"),
    "the search": prompt_with("he", "(r:) "),
    "a question": prompt_with("Allow once", "❯"),
    "Vim's normal mode": prompt_with("text").replace("⏸ Ask permissions (shift + tab to cycle)", "-- NORMAL --"),
    "completions": f"{RULE}\n> see @gr\n{RULE}\n  > greet.py\n",
    "a shell below": prompt_with("please read") + "ada@host:~/p$ ",
}


BAR = "▀" * 60
OTHER_CLIS = {
    "claude": (
        f"\n{RULE}\n❯\u00a0[⧉ 1 line selected]\n{RULE}\n  ⏸ manual mode on · ? for shortcuts\n",
        f"\n{RULE}\n❯\u00a0[⧉ 1 line selected] hello\n{RULE}\n  ⏸ manual mode on\n",
        f"{RULE}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n",
    ),
    "copilot": (
        f" /home/ada/p\n{RULE}\n❯\n{RULE}\n Interactive · Manual Approval · / commands   gpt-4.1\n",
        f" /home/ada/p\n{RULE}\n❯ hello\n{RULE}\n Interactive · Manual Approval · @ files   gpt-4.1\n",
        "│ Do you want to run this command?   │\n│ ❯ 1. Yes   │\n│   2. No   │\n╰────────────────╯\n",
    ),
    "opencode": (
        f"  ┃\n  ┃\n  ┃\n  ┃  Build · Big Mine\n  ╹{BAR}\n   /home/ada/p   15 (0%)  ctrl+p commands\n",
        f"  ┃\n  ┃  hello\n  ┃\n  ┃  Build · Big Mine\n  ╹{BAR}\n   /home/ada/p   15 (0%)  ctrl+p commands\n",
        "  ┃  △ Permission required\n  ┃\n  ┃   Allow once   Allow always   Reject  enter confirm\n  ┃\n",
    ),
}
"""By the keys of their families: an empty prompt, one with a text, and a question."""


class TestEmptyPrompt(TerminalCase):
    """A CLI has run in a terminal, whose screen ends with its empty prompt."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.run_cli(shows=EMPTY_PROMPT)
        self.window.focus_view(self.view)
        self.panel = loaded("sublime_text.package").adapter().comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))
        sublime.set_clipboard("")

    def refused(self, *ways: Callable[[], None]) -> Steps:
        """Each of these ways, or of all four, copies its text, and types nothing."""
        for way in ways or (self.send_file, self.send_comments, self.send_problems, self.act):
            sublime.set_clipboard("")
            self.screen.messages.clear()
            way()
            yield lambda: "app.py" in sublime.get_clipboard()
            yield lambda: self.screen.said("in the clipboard")
        self.assertEqual(self.terminus.sent, [])

    def send_file(self) -> None:
        self.window.run_command("qwen_companion_send", {"what": "file"})

    def send_comments(self) -> None:
        comment = loaded("comments").Comment(str(self.file), 1, ("x",), "why?")
        with patch.object(type(self.panel), "unsent", lambda *_: (comment,)):
            self.window.run_command("qwen_companion_send_comments")

    def send_problems(self) -> None:
        package = loaded("problems")
        at = package.Position(1, 1, 1)
        found = [package.Diagnostic(str(self.file), at, at, "error", "no", "s", "c")]
        sending: Any = loaded("sublime_text.problems")
        sending._give(loaded("sublime_text.package").adapter(), self.window, found)

    def act(self) -> None:
        self.window.run_command("qwen_companion_action", {"name": "Explain"})

    def show(self, text: str) -> None:
        self.terminal.run_command("select_all")
        self.terminal.run_command("right_delete")
        self.terminal.run_command("append", {"characters": text})

    def test_it_gets_the_text(self) -> Steps:
        self.send_file()
        yield lambda: self.terminus.sent
        self.assertEqual(sublime.get_clipboard(), "")

    def test_the_other_clis_get_comments_only_while_their_prompt_is_empty(self) -> Steps:
        for cli, (empty, *others) in OTHER_CLIS.items():
            yield from self.run_cli(cli, shows=empty)
            self.window.focus_view(self.view)
            self.terminus.sent.clear()
            self.send_comments()
            yield lambda: self.terminus.sent
            self.assertIn("why?", self.terminus.sent[0]["string"])
            self.assertEqual(self.terminus.sent[0]["tag"], cli)
            self.terminus.sent.clear()
            for shown in others:
                self.show(shown)
                yield from self.refused(self.send_comments)

    def test_a_file_is_named_in_what_the_person_has_typed(self) -> Steps:
        for number, text in enumerate(TEXTS, 1):
            self.show(prompt_with(text))
            self.send_file()
            yield lambda number=number: len(self.terminus.sent) == number
            self.assertEqual(self.terminus.sent[-1], {"string": "@app.py ", "bracketed": True, "tag": "qwen"})
        self.assertEqual(sublime.get_clipboard(), "")

    def test_what_is_not_a_mention_is_not_added_to_a_text(self) -> Steps:
        for text in TEXTS[:2]:
            self.show(prompt_with(text))
            yield from self.refused(self.send_comments, self.send_problems, self.act)

    def test_nothing_is_typed_into_what_only_looks_like_a_text(self) -> Steps:
        for shown in OTHERS.values():
            self.show(shown)
            yield from self.refused()

    def test_nothing_is_added_to_a_text_if_another_program_is_in_front(self) -> Steps:
        self.show(prompt_with("please read"))
        self.terminus.front[self.terminal.id()] = None
        yield from self.refused()

    def test_a_mention_is_taken_when_the_text_in_the_prompt_has_changed(self) -> Steps:
        self.show(prompt_with("please read"))
        target = loaded("sublime_text.terminal.terminals").running(self.window)[0]
        shown = loaded("visible").ShownText("@app.py ")
        told: list[str] = []
        loaded("sublime_text.actions").paste(target, self.window, shown, told.append, adds=True)
        yield lambda: self.terminus.sent
        self.assertEqual(told, [])
        self.show(prompt_with("please read @app.py"))
        yield lambda: told
        self.assertEqual(told, [""])

    def test_a_mention_that_the_prompt_does_not_take_is_copied(self) -> Steps:
        self.set_limit("sublime_text.actions", "LOOKS", 3)
        self.show(prompt_with("please read"))
        self.send_file()
        yield lambda: self.screen.said("has not taken the text", "in the clipboard")
        self.assertEqual(sublime.get_clipboard(), "@app.py ")

    def test_nothing_is_typed_if_something_stands_below_the_frame(self) -> Steps:
        for below in BELOW.values():
            self.show(EMPTY_PROMPT + below)
            yield from self.refused()

    def test_nothing_is_typed_if_another_program_is_in_front(self) -> Steps:
        """Such as `cat` of a recorded screen, or the shell after Ctrl+Z: the screen alone says nothing."""
        self.terminus.front[self.terminal.id()] = None
        yield from self.refused()

    def test_nothing_is_typed_if_the_frame_is_that_of_another_cli(self) -> Steps:
        self.show(GEMINI_PROMPT)
        yield from self.refused()

    def test_nothing_is_typed_if_terminus_tells_nothing_of_its_processes(self) -> Steps:
        with patch.object(loaded("sublime_text.terminal.terminals"), "_TERMINUS", "Other"):
            yield from self.refused()

    def test_nothing_is_typed_if_the_look_at_the_processes_fails(self) -> Steps:
        def fail(*_: object) -> None:
            raise OSError

        with patch.object(loaded("clis.processes"), "cli_in_front", fail):
            yield from self.refused()

    def test_nothing_of_several_lines_is_typed_if_each_would_be_submitted(self) -> Steps:
        self.terminus.takes_pastes = False
        self.send_comments()
        yield lambda: "why?" in sublime.get_clipboard()
        self.assertEqual(self.terminus.sent, [])

    def test_no_tab_is_typed_where_it_would_be_a_key(self) -> Steps:
        """It completes what stands in the prompt, or cycles through the modes."""
        self.terminus.takes_pastes = False
        terminals = loaded("sublime_text.terminal.terminals")
        self.terminus.chosen = self.terminal
        [target] = terminals.running(self.window)
        shown = loaded("visible").ShownText
        self.assertFalse(terminals.send(target, self.window, shown("@a\tb")))
        self.assertEqual(self.terminus.sent, [])
        self.assertTrue(terminals.send(target, self.window, shown("@a b")))
        yield 1

    def test_nothing_is_typed_if_terminus_would_take_another_terminal(self) -> Steps:
        own = self.terminus.open(self.window, "Login Shell")
        other = self.terminus.open(self.window, "Another")
        own.run_command("append", {"characters": EMPTY_PROMPT})
        self.terminus.chosen = other
        target = loaded("sublime_text.terminal.terminals").Terminal(own, None)
        why: list[str] = []
        shown = loaded("visible").ShownText("text")
        loaded("sublime_text.actions").paste(target, self.window, shown, why.append)
        yield lambda: why
        self.assertIn("so nothing was typed", why[0])
        self.assertEqual(self.terminus.sent, [])

    def test_nothing_is_typed_if_the_prompt_is_gone_after_the_look_at_the_processes(self) -> Steps:
        look = loaded("clis.processes").cli_in_front
        asked, shown = threading.Event(), threading.Event()

        def slow(*args: Any) -> object:
            asked.set()
            shown.wait(20)
            return look(*args)

        with patch.object(loaded("clis.processes"), "cli_in_front", slow):
            self.send_file()
            yield asked.is_set
            self.show("ada@host:~/p$ ")
            shown.set()
            yield lambda: "app.py" in sublime.get_clipboard()
        self.assertEqual(self.terminus.sent, [])

    def test_two_texts_are_typed_in_their_order_whichever_look_at_the_processes_ends_first(self) -> Steps:
        self.set_limit("sublime_text.actions", "LOOKS", 1)
        look, is_first, goes_on = loaded("clis.processes").cli_in_front, threading.Event(), threading.Event()

        def first_is_slow(*args: Any) -> object:
            if not is_first.is_set():
                is_first.set()
                goes_on.wait(20)
            return look(*args)

        [target] = loaded("sublime_text.terminal.terminals").running(self.window)
        shown, paste = loaded("visible").ShownText, loaded("sublime_text.actions").paste
        told: list[str] = []
        with patch.object(loaded("clis.processes"), "cli_in_front", first_is_slow):
            for text in ("one", "two"):
                paste(target, self.window, shown(text), told.append, adds=True)
            yield is_first.is_set
            yield 300  # for the second one, which must not come now
            goes_on.set()
            yield lambda: len(told) == 2
        self.assertEqual([args["string"] for args in self.terminus.sent], ["one", "two"])

    def test_a_text_that_is_refused_holds_up_none_behind_it(self) -> Steps:
        self.causes("A call on another thread failed")
        [target] = loaded("sublime_text.terminal.terminals").running(self.window)
        shown, paste = loaded("visible").ShownText, loaded("sublime_text.actions").paste
        told: list[str] = []
        self.show(prompt_with("please read"))
        with patch.object(loaded("clis.processes"), "cli_in_front", side_effect=ValueError):
            paste(target, self.window, shown("one"), told.append, adds=True)
            paste(target, self.window, shown("two"), told.append)
            yield lambda: len(told) == 2
        self.assertEqual([why.partition(" shows ")[2] for why in told], [
            "no prompt, so nothing was typed.", "no empty prompt, so nothing was typed.",
        ])  # fmt: skip
        paste(target, self.window, shown("three"), told.append, adds=True)
        yield lambda: self.terminus.sent
        self.assertEqual(self.terminus.sent[0]["string"], "three")

    def test_a_step_that_fails_holds_up_no_text_behind_it(self) -> Steps:
        """Terminus is another package, and its insides may change."""
        self.causes("A text for a terminal could not be typed")
        terminals = loaded("sublime_text.terminal.terminals")
        [target] = terminals.running(self.window)
        shown, paste = loaded("visible").ShownText, loaded("sublime_text.actions").paste
        for name in ("pty_of", "show", "send"):
            told: list[str] = []
            real, fails = getattr(terminals, name), [AttributeError]

            def fail(*args: Any, real: Any = real, fails: Any = fails) -> Any:
                if fails:
                    raise fails.pop()
                return real(*args)

            self.terminus.sent.clear()
            with patch.object(terminals, name, fail):
                for text in ("one", "two"):
                    paste(target, self.window, shown(text), told.append)
                yield lambda told=told: told and self.terminus.sent
            self.assertIn("has not taken the text", told[0])
            self.assertEqual([args["string"] for args in self.terminus.sent], ["two"])
            self.show(prompt_with("two"))
            yield lambda told=told: len(told) == 2
            self.assertEqual(told[1], "")
            self.show(EMPTY_PROMPT)

    def test_a_text_that_has_waited_behind_another_one_takes_no_focus(self) -> Steps:
        """The person may be typing elsewhere by then."""
        terminals = loaded("sublime_text.terminal.terminals")
        [target] = terminals.running(self.window)
        shown, paste = loaded("visible").ShownText, loaded("sublime_text.actions").paste
        told: list[str] = []
        self.show(prompt_with("please read"))
        with patch.object(terminals, "show") as show:
            paste(target, self.window, shown("comments"), told.append, 4)
            paste(target, self.window, shown("@app.py "), told.append, adds=True)
            yield lambda: self.terminus.sent
        self.assertEqual([args["string"] for args in self.terminus.sent], ["@app.py "])
        show.assert_not_called()

    def test_the_processes_are_not_looked_at_on_the_ui_thread(self) -> Steps:
        threads: list[str] = []
        look = loaded("clis.processes").cli_in_front
        here = threading.get_ident()

        def told(*args: Any) -> object:
            threads.append("ui" if threading.get_ident() == here else "another")
            return look(*args)

        with patch.object(loaded("clis.processes"), "cli_in_front", told):
            self.send_file()
            yield lambda: self.terminus.sent
        self.assertEqual(threads, ["another"])
