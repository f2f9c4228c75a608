"""What is in the prompt outlives the chat's tab: nothing that a person has written is lost."""

from __future__ import annotations

from dataclasses import replace

from .chat_case import MARK, ChatCase, Steps
from .companion_case import text_of
from .own import views


class TestClosing(ChatCase):
    def close_and_open(self) -> Steps:
        """Close the tab, and open the chat again: self.chat and self.view are the new ones."""
        yield from self.close()
        yield from self.open_again()

    def close(self) -> Steps:
        self.view.close()
        yield lambda: self.adapter.chats.of(self.window) is None

    def open_again(self) -> Steps:
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.adapter.chats.of(self.window)
        self.chat = self.adapter.chats.of(self.window)
        self.view = self.chat.view

    def test_what_was_in_the_prompt_is_there_when_the_chat_is_opened_again(self) -> Steps:
        self.show(self.message("Hello"))
        self.chat.take_back(self.prompts.Draft("", (self.prompts.Excerpt("u", "x:1", "x"),), ("/p.png",)))
        text = f"mine{MARK}and more"
        self.type(text)
        yield from self.settled()
        yield from self.close_and_open()
        self.assertEqual(self.prompt, text)
        self.show(self.message("Hello"), replaces_all=True)
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, text))
        self.assertEqual(self.chat.attached, ["x:1", "/p.png"])
        self.window.run_command("qwen_companion_chat_send")
        yield from self.told("send")
        yield from self.close_and_open()
        self.assertEqual((self.prompt, self.chat.attached), ("", []))

    def test_what_was_made_of_recalled_prompts_is_there_too(self) -> Steps:
        self.recall_and_edit()
        yield from self.close_and_open()
        self.show(replaces_all=True)
        shown = [self.prompt]
        for _ in range(2):
            self.press("down")
            shown.append(self.prompt)
        self.assertEqual(shown, ["one", "two edited", "draft"])

    def test_a_chat_that_nobody_has_gone_on_with_keeps_it_too(self) -> Steps:
        """One from before a restart, while the chat is off."""
        self.show(self.message("Hello"))
        self.type("mine")
        self.adapter.chats.close_all()
        yield from self.close_and_open()
        self.assertEqual(self.prompt, "mine")

    def test_what_was_not_sent_is_shown_whole_once_its_tab_has_closed(self) -> Steps:
        prompts, before = self.prompts, set(self.window.views())
        draft = prompts.Draft("mine", (prompts.Excerpt("u", "x:1", "x = 1"), prompts.Excerpt("v", "y:1", "y", True)))
        draft = replace(draft, pictures=("/a b.png", "/c.png"))
        yield from self.close()
        self.adapter.chats.return_draft(self.chat.id, draft, "Why.")
        yield lambda: set(self.window.views()) - before
        [kept] = set(self.window.views()) - before
        kept.set_scratch(True)
        self.assertEqual(text_of(kept), "mine\n\nx:1\nx = 1\n\n@/a\\ b.png @/c.png")

    def test_it_comes_to_another_chat_of_the_window_before_what_is_there(self) -> Steps:
        self.type("sent")
        self.press("enter")
        self.type("draft")
        self.press("up")
        self.adapter.chats.close_all()
        other = self.window.new_file()
        recall = {"sent": ["theirs"], "edits": {}, "current": ""}
        views().take(other, "chat", folder=str(self.folder), recall=recall)
        other.run_command("insert", {"characters": "since"})
        yield from self.close_and_open()
        self.assertEqual((self.view, self.prompt), (other, "draft\nsent\nsince"))
