"""The person's own actions: what goes with a prompt, and where it goes."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase
from .companion_case import Steps, loaded
from .own import views
from .terminal_case import EMPTY_PROMPT, TerminalCase


class TestActionsInATerminal(TerminalCase):
    """A CLI with an empty prompt."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.run_cli(shows=EMPTY_PROMPT)
        self.window.focus_view(self.view)
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(0, self.view.size()))

    def action(self, **args: Any) -> None:
        self.window.run_command("qwen_companion_action", args)

    def sent(self) -> Steps:
        yield lambda: self.terminus.sent
        [self.paste] = self.terminus.sent

    def test_the_selection_is_quoted_under_a_mention_and_not_submitted(self) -> Steps:
        self.action(name="Explain")
        yield from self.sent()
        self.assertTrue(self.paste["bracketed"])
        self.assertTrue(
            self.paste["string"].endswith('\n\n@app.py lines 1-2\n```\ndef greet(name):\n    print("hi")\n```')
        )

    def test_without_a_selection_the_file_is_meant_and_the_symbol_is_the_one_around_the_caret(self) -> Steps:
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(1, 6))
        self.set_setting("actions", {"Own": {"prompt": "$symbol in $file: $selection", "target": "cli"}})
        self.action(name="Own")
        yield from self.sent()
        self.assertEqual(self.paste["string"], "greet in @app.py: @app.py")

    def test_ask_sends_the_question_with_the_selection_and_remembers_it(self) -> Steps:
        asked: list[tuple[Any, ...]] = []
        panel = self.window.create_output_panel("question", unlisted=True)
        show = lambda *args: asked.append(args) or panel  # noqa: E731
        with patch.object(sublime.Window, "show_input_panel", show):
            self.action(name="Ask…")
            _, caption, before, done, _, _ = asked.pop()
            self.assertEqual((caption, before), ("Ask", ""))
            done("why?\x1b[201~")
            yield from self.sent()
            self.assertTrue(self.paste["string"].startswith("why?\\x1b[201~\n\n@app.py lines 1-2\n"))
            self.action(name="Ask")
            *_, changed, left = asked.pop()
            changed("half a")
            left()
            self.action(name="Ask")
            self.assertEqual(asked.pop()[2], "half a")
        views().take(panel, "question input", lasts=False, recall={"sent": ["why?"]})
        panel.run_command("qwen_companion_ask_history", {"by": -1})
        self.assertEqual(panel.substr(sublime.Region(0, panel.size())), "why?")
        panel.run_command("qwen_companion_ask_history", {"by": 1})
        self.assertEqual(panel.size(), 0)

    def test_an_excluded_file_stays_here(self) -> Steps:
        self.set_setting("context_exclude", ["app.py"])
        self.action(name="Explain")
        yield lambda: self.screen.said("app.py stays here")
        self.assertEqual(self.terminus.sent, [])

    def test_a_tab_without_a_file_stays_here_by_its_name(self) -> Steps:
        view = self.window.new_file()
        view.set_scratch(True)
        view.set_name("new.pem")
        view.run_command("insert", {"characters": "KEY"})
        view.run_command("select_all")
        sublime.set_clipboard("")
        self.action(name="Explain")
        yield lambda: self.screen.said("new.pem stays here")
        self.assertEqual((self.terminus.sent, sublime.get_clipboard()), ([], ""))

    def test_without_an_empty_prompt_the_text_is_in_the_clipboard(self) -> Steps:
        self.terminal.run_command("append", {"characters": "Apply this change?\n  1. Yes\n"})
        sublime.set_clipboard("")
        self.action(name="Explain")
        yield lambda: "@app.py lines 1-2" in sublime.get_clipboard()
        self.assertEqual(self.terminus.sent, [])

    def test_without_a_name_one_is_chosen_and_a_menu_has_them_in_order(self) -> Steps:
        self.action()
        yield from self.pick("Explain")
        yield from self.sent()
        command = loaded("sublime_text.actions").QwenCompanionActionCommand(self.window)
        self.assertEqual([command.description(index=at) for at in (0, 5)], ["Ask…", "Document"])
        self.assertEqual([command.is_visible(index=at) for at in (5, 6)], [True, False])

    def test_the_problems_of_the_selected_lines_go_with_fix_problems(self) -> Steps:
        package = loaded("problems")
        at = lambda line: package.Position(line, 1, 1)  # noqa: E731
        found = [
            package.Diagnostic(str(self.file), at(n), at(n), "error", f"wrong {n}", "pyright", "x") for n in (1, 2)
        ]
        shown = loaded("problems").ShownProblems("LSP")
        problems = loaded("sublime_text.package").adapter().problems
        with (
            patch.object(type(shown), "diagnostics", lambda *_: found),
            patch.object(problems, "read", lambda _window, _paths, done: done(shown)),
        ):
            self.view.sel().clear()
            self.view.sel().add(sublime.Region(0, 3))
            self.action(name="Fix Problems")
            yield from self.sent()
        self.assertEqual(
            self.paste["string"], "Fix these problems in @app.py:\n\n@app.py\n- 1:1 error: wrong 1 (pyright x)"
        )

    def test_without_problems_nothing_is_sent_and_that_is_said(self) -> Steps:
        self.action(name="Fix Problems")
        yield lambda: self.screen.said("app.py has no problems that the editor knows of.")
        self.assertEqual(self.terminus.sent, [])

    def test_an_unknown_name_is_said(self) -> Steps:
        self.action(name="Nothing")
        yield lambda: self.screen.said("There is no action “Nothing”.")


class TestActionsInAChat(ChatCase):
    """A chat beside the file."""

    def test_the_selection_goes_embedded_and_what_was_typed_stays(self) -> Steps:
        self.type("mine")
        self.window.focus_view(self.code)
        self.code.sel().clear()
        self.code.sel().add(sublime.Region(0, 10))
        self.window.run_command("qwen_companion_action", {"name": "Review Selection"})
        yield from self.told("send")
        [(_, draft, _)] = self.chats.of("send")
        self.assertTrue(draft.text.endswith("\n\n`app.py:1`"))
        self.assertEqual([each.text for each in draft.excerpts], ["def greet("])
        self.assertEqual(self.prompt, "mine")

    def test_a_new_chat_is_opened_for_an_action_that_says_so(self) -> Steps:
        self.set_setting("actions", {"Own": {"prompt": "Look at $file", "target": "new_chat"}})
        self.window.focus_view(self.code)
        self.window.run_command("qwen_companion_action", {"name": "Own"})
        yield from self.told("send")
        [(chat, draft, _)] = self.chats.of("send")
        self.assertNotEqual(chat, self.chat.id)
        self.assertEqual(draft.text, "Look at @app.py")
