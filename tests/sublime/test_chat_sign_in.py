"""Signing in, on the screen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded
from .companion_case import text_of
from .own import tabs

BUTTONS = "qwen_companion.sign_in"


class TestSignIn(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("sublime_text.chat.sign_in", "SOONEST", 0.01)
        self.begun: Any = loaded("backends.agent").SigningIn(
            "f1", "qwen-oauth", "pending", "ABCD-EFGH", "https://x/device", 0.0, 0.01
        )
        self.chats.answers["sign_in.providers"] = ["qwen-oauth"]
        self.chats.answers |= dict.fromkeys(("sign_in.begin", "sign_in.progress"), self.begun)

    def page(self) -> Any:
        return next(iter(tabs(self.window, "sign-in")), None)

    def begin(self) -> Steps:
        self.window.run_command("qwen_companion_chat_sign_in")
        yield lambda: self.page() and "ABCD-EFGH" in text_of(self.page())

    def test_the_code_and_the_link_are_shown_until_it_is_done(self) -> Steps:
        yield from self.begin()
        text = text_of(self.page())
        self.assertIn("1. Open https://x/device\n2. Enter this code: ABCD-EFGH\n", text)
        self.assertIn("The daemon waits for you. Closing this tab cancels the sign-in.", text)
        self.assertEqual(self.chats.of("sign_in.begin"), [(self.chat.id, "qwen-oauth")])
        yield lambda: len(self.chats.of("sign_in.progress")) > 1
        self.chats.answers["sign_in.progress"] = replace(self.begun, state="authorized", code="")
        yield lambda: "You are signed in." in text_of(self.page())
        self.assertEqual(self.screen.phantoms(self.page(), BUTTONS), [])
        self.assertEqual(self.chats.of("sign_in.cancel"), [])

    def test_the_code_is_copied_and_the_page_opened(self) -> Steps:
        yield from self.begin()
        opened: list[str] = []
        with patch.object(loaded("sublime_text.chat.sign_in"), "browse", opened.append):
            self.screen.click(self.page(), "open")
        self.assertEqual(opened, ["https://x/device"])
        self.screen.click(self.page(), "copy")
        self.assertEqual(sublime.get_clipboard(), "ABCD-EFGH")

    def test_why_it_has_failed_is_shown(self) -> Steps:
        self.chats.answers["sign_in.progress"] = replace(self.begun, state="failed", why="expired")
        yield from self.sign_in_fails("The sign-in has failed: expired. Run the command again")

    def test_that_the_daemon_is_gone_is_shown_and_it_is_asked_again(self) -> Steps:
        self.chats.answers["sign_in.progress"] = loaded("backends.daemon.errors").TemporaryError(
            "No daemon answers at http://x."
        )
        yield from self.sign_in_fails("No daemon answers at http://x.")
        self.assertIn("2. Enter this code: ABCD-EFGH\n", text_of(self.page()))
        self.chats.answers["sign_in.progress"] = self.begun
        yield lambda: "No daemon answers" not in text_of(self.page())
        self.chats.answers["sign_in.progress"] = replace(self.begun, state="authorized", code="")
        yield lambda: "You are signed in." in text_of(self.page())

    def test_a_code_that_has_expired_is_not_asked_about_again(self) -> Steps:
        self.chats.answers["sign_in.begin"] = replace(self.begun, expires=1.0)
        self.chats.answers["sign_in.progress"] = loaded("backends.daemon.errors").TemporaryError(
            "No daemon answers at http://x."
        )
        yield from self.sign_in_fails("No daemon answers at http://x.")
        asked = len(self.chats.of("sign_in.progress"))
        yield from self.settled()
        self.assertEqual(len(self.chats.of("sign_in.progress")), asked)

    def sign_in_fails(self, words: str) -> Steps:
        self.window.run_command("qwen_companion_chat_sign_in")
        yield lambda: self.page() and words in text_of(self.page())

    def test_closing_the_tab_gives_it_up(self) -> Steps:
        yield from self.begin()
        self.page().close()
        yield from self.told("sign_in.cancel")
        self.assertEqual(self.chats.of("sign_in.cancel"), [(self.chat.id, "f1")])

    def test_one_of_several_providers_is_chosen(self) -> Steps:
        self.chats.answers["sign_in.providers"] = ["one", "two"]
        self.window.run_command("qwen_companion_chat_sign_in")
        yield from self.choose("two")
        yield from self.told("sign_in.begin")
        self.assertEqual(self.chats.of("sign_in.begin"), [(self.chat.id, "two")])

    def test_that_there_is_no_provider_is_said(self) -> Steps:
        self.chats.answers["sign_in.providers"] = []
        self.window.run_command("qwen_companion_chat_sign_in")
        yield lambda: self.screen.said("knows no provider where you can sign in")

    def test_without_a_page_the_code_is_still_there(self) -> Steps:
        self.chats.answers["sign_in.begin"] = replace(self.begun, page="", expires=1.0)
        yield from self.begin()
        self.assertIn("1. Open the page of the provider\n", text_of(self.page()))
        self.assertIn("waits for you until ", text_of(self.page()))
        self.assertNotIn("Open the page", self.screen.phantoms(self.page(), BUTTONS)[0])
