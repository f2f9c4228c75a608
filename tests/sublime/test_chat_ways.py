"""Signing in to an agent on its standard input and output, on the screen."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded
from .terminal_case import Terminus

TERMINAL = ("own", "--acp", "log in")


class TestWays(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.terminus = Terminus(self)
        self.ways = loaded("sublime_text.chat.sign_in")
        self.set_limit("sublime_text.chat.sign_in", "LOOK", 10)
        self.chat.record.keep(agent="Own")
        way = loaded("backends.agent").Way
        self.chats.answers["sign_in.methods"] = (
            way("g", "Google", "Opens a page", "agent"),
            way("t", "In a terminal", "", "terminal", TERMINAL, {"A_KEY": "secret"}),
            way("v", "A key", "Yours", "variables", variables=("A_KEY (Key)",), page="https://x/keys"),
        )
        self.lost = loaded("conversation.snapshot").ConnectionStatus("lost", "Sign in.", wants_sign_in=True)

    def ask_for_ways(self) -> Steps:
        self.screen.panels.clear()
        self.window.run_command("qwen_companion_chat_sign_in")
        yield lambda: self.screen.panels
        self.items = self.screen.panels[-1][0]

    def test_each_way_is_offered_with_its_words(self) -> Steps:
        yield from self.ask_for_ways()
        shown = [(item.trigger, str(item.details)) for item in self.items]
        self.assertEqual(shown[0], ("Google", "Opens a page"))
        self.assertIn("in a terminal: own --acp", shown[1][1])
        self.assertEqual(shown[2], ("A key", "Yours · set A_KEY (Key)"))

    def test_the_agent_signs_in(self) -> Steps:
        yield from self.ask_for_ways()
        self.screen.pick("Google")
        yield from self.told("sign_in.authenticate")
        self.assertEqual(self.chats.of("sign_in.authenticate"), [(self.chat.id, "g")])
        yield lambda: self.screen.said("The chat asks it again")

    def test_a_login_opens_in_a_terminal_of_its_own(self) -> Steps:
        yield from self.ask_for_ways()
        self.screen.pick("In a terminal")
        yield lambda: self.terminus.views
        [opened] = self.terminus.opened
        self.assertIn("own --acp", " ".join(opened["cmd"]))
        self.assertEqual((opened["env"], opened["cwd"]), ({"A_KEY": "secret"}, str(self.folder)))
        self.assertFalse(opened["show_in_panel"])
        [[command, arguments]] = opened["post_view_hooks"]
        [view] = self.terminus.views
        view.run_command(command, arguments)
        self.assertNotIn("secret", str(view.settings().get("terminus_view.args")))
        # No prompt is sent there.
        terminals = loaded("sublime_text.terminal.terminals")
        self.assertEqual((terminals.running(self.window), terminals.others(self.window)), ([], []))
        self.assertTrue(self.screen.said("connects again when that has ended"))

    def test_variables_that_the_agent_names_are_shown_first(self) -> Steps:
        way = loaded("backends.agent").Way
        given = {"A": "x" * 5000}
        self.chats.answers["sign_in.methods"] = (
            way("t", "In a terminal", "", "terminal", TERMINAL, {"A_KEY": "secret", **given}, given),
        )
        asked: list[str] = []
        for answer in (False, True):
            with patch.object(
                sublime, "ok_cancel_dialog", lambda text, *_, answer=answer: asked.append(text) or answer
            ):
                yield from self.ask_for_ways()
                self.screen.pick("In a terminal")
                yield from self.settled()
            self.assertEqual(len(self.terminus.opened), answer)
        self.assertEqual(asked[0], asked[1])
        self.assertIn("own --acp 'log in'\n\nwith the variables\n\n    A=xxx", asked[0])
        self.assertIn("(3,002 more characters are not shown)", asked[0])
        self.assertNotIn("secret", asked[0])

    def test_variables_that_decide_what_runs_are_refused(self) -> Steps:
        way = loaded("backends.agent").Way
        self.chats.answers["sign_in.methods"] = (way("t", "In a terminal", "It sets 'LD_PRELOAD'.", "refused"),)
        yield from self.ask_for_ways()
        self.screen.pick("In a terminal")
        yield lambda: self.screen.said("This way to sign in is refused. It sets 'LD_PRELOAD'.")
        self.assertEqual(self.terminus.opened, [])

    def log_in(self) -> Steps:
        """Begin a login, and wait until it is in its terminal."""
        self.show(connection=self.lost)
        before = len(self.terminus.views)
        yield from self.ask_for_ways()
        self.screen.pick("In a terminal")
        yield lambda: len(self.terminus.views) > before
        self.terminal = self.terminus.views[-1]

    def test_the_chat_connects_again_once_the_login_has_ended(self) -> Steps:
        """A login that has failed stays on the screen."""
        yield from self.log_in()
        self.assertEqual(self.chats.of("reconnect"), [])
        self.terminal.settings().set("terminus_view.finished", True)
        yield from self.told("reconnect")
        yield lambda: self.screen.said("The login has ended. The chat asks")
        self.terminal.close()
        yield from self.log_in()
        # It has ended well, or the person has given it up.
        self.terminal.close()
        yield lambda: len(self.chats.of("reconnect")) == 2
        self.assertEqual({number for number, *_ in self.chats.of("reconnect")}, {self.chat.id})

    def test_a_login_that_ends_at_once_is_noticed(self) -> Steps:
        """The person may be signed in already."""
        with patch.object(self.ways, "LOOK", 1000):
            yield from self.log_in()
            self.terminal.close()
            yield from self.told("reconnect")

    def test_a_chat_that_is_connected_by_then_stays_so(self) -> Steps:
        yield from self.log_in()
        self.show(connection=loaded("conversation.snapshot").ConnectionStatus("live"))
        ended = patch.object(self.ways._Login, "_ended", autospec=True, side_effect=self.ways._Login._ended)
        with ended as seen:
            self.terminal.close()
            yield lambda: seen.called
            yield from self.settled()
        self.assertEqual(self.chats.of("reconnect"), [])

    def test_without_terminus_the_command_is_said(self) -> Steps:
        self.terminus.is_there = False
        yield from self.ask_for_ways()
        self.screen.pick("In a terminal")
        yield lambda: self.screen.said("Run this in a terminal")
        self.assertEqual(sublime.get_clipboard(), "own --acp 'log in'")
        self.assertEqual(self.terminus.opened, [])

    def test_the_variable_to_set_is_said(self) -> Steps:
        yield from self.ask_for_ways()
        self.screen.pick("A key")
        yield lambda: self.screen.said("Set A_KEY (Key) in the start-up file of your shell")
        self.assertTrue(self.screen.said("https://x/keys"))

    def test_an_agent_without_a_way_is_told(self) -> Steps:
        self.chats.answers["sign_in.methods"] = ()
        self.window.run_command("qwen_companion_chat_sign_in")
        yield lambda: self.screen.said("offers no way to sign in from here")

    def test_the_chat_has_a_link_while_it_waits_for_that(self) -> Steps:
        render = self.show(connection=self.lost)
        bar = loaded("sublime_text.chat.html").bar(render, [])
        self.assertIn('href="sign_in"', bar)
        [link] = [item for item in self.adapter.chats.clicks.links(self.chat) if item.href == "sign_in"]
        self.adapter.chats.clicks.do(self.chat, link.href)
        yield lambda: self.screen.panels

    def test_a_login_runs_in_the_shell_of_the_person(self) -> None:
        shell = loaded("clis.shell")
        with patch.dict(os.environ, {"SHELL": "/usr/bin/fish"}):
            line: Any = shell.plain_command("/usr/bin/fish", TERMINAL)
        self.assertEqual(line[:4], ["/usr/bin/fish", "-i", "-l", "-c"])
        self.assertEqual(line[4], "exec own --acp 'log in'")


class TestSignOut(ChatCase):
    def sign_out(self, *, says_yes: bool) -> None:
        """Run the command, and answer its question."""
        self.asked: list[str] = []
        with patch.object(sublime, "ok_cancel_dialog", lambda words, *_: self.asked.append(words) or says_yes):
            self.window.run_command("qwen_companion_chat_sign_out")

    def test_it_is_there_only_for_an_agent_that_can_and_while_nothing_runs(self) -> None:
        command = loaded("sublime_text.chat.sign_in").QwenCompanionChatSignOutCommand(self.window)
        connection = loaded("conversation.snapshot").ConnectionStatus
        cases: tuple[tuple[bool, dict[str, Any]], ...] = (
            (True, {}),
            (False, {"lacks": ("sign_out",)}),
            (False, {"running": "turn"}),
            (False, {"connection": connection("lost", "Sign in.", wants_sign_in=True)}),
            (False, {"connection": connection("connecting")}),
        )
        for is_there, status in cases:
            self.show(**status)
            self.assertEqual(command.is_visible(), is_there, status)

    def test_it_asks_first_and_says_what_follows(self) -> Steps:
        self.sign_out(says_yes=False)
        self.assertIn("are signed out, too", self.asked[0])
        yield from self.settled()
        self.assertEqual(self.chats.of("sign_in.sign_out"), [])
        for is_restarted, words in ((True, "started again"), (False, "until you close the chat")):
            self.chats.answers["sign_in.sign_out"] = is_restarted
            self.sign_out(says_yes=True)
            yield lambda words=words: self.screen.said(words)
        self.assertEqual(self.chats.of("sign_in.sign_out"), [(self.chat.id,)] * 2)
