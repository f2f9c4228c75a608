"""What is in the prompt outlives the chat's tab: nothing that a person has written is lost."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from .chat_case import MARK, ChatCase, Steps
from .companion_case import at_once, loaded, text_of
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

    def test_what_is_sent_by_an_instance_that_was_unloaded_meanwhile_has_a_tab_of_its_own(self) -> Steps:
        """A panel or a timer may outlive it."""
        before = set(self.window.views())
        with patch.object(loaded("sublime_text.package"), "_adapter", None):
            loaded("sublime_text.chat.prompt").send_prompt(self.adapter, self.chat, "asked in a panel")
        [kept] = set(self.window.views()) - before
        kept.set_scratch(True)
        yield from self.on_companion(lambda _: None)
        self.assertEqual((text_of(kept), self.chats.of("send")), ("asked in a panel", []))

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


class TestRestart(ChatCase):
    """The editor ends without a word to the companion. What is known of a view then is in its record alone."""

    def restart(self) -> Steps:
        self.adapter.chats.close_all()
        self.chats.calls.clear()
        self.adapter.chats.adopt_visible()
        yield from self.told("open")
        self.chat = self.adapter.chats.of(self.window)

    def waiting(self) -> list[str]:
        """What the companion is told that waited, by the last call that opens a chat."""
        last = self.chats.of("open")[-1]
        return [each.draft.text for each in last[5].get("waiting", ())] if len(last) > 5 else []

    def shown_waiting(self, *drafts: str) -> None:
        returned, draft = self.prompts.Returned, self.prompts.Draft
        render = replace(self.show(replaces_all=True), waiting=tuple(returned(draft(each), True) for each in drafts))
        at_once(self.adapter.chats.show_chat, self.chat.id, render)

    def test_what_still_waits_comes_back_to_the_companion_and_what_has_begun_does_not(self) -> Steps:
        self.chat.take_back(self.prompts.Draft("", (self.prompts.Excerpt("u", "x:1", "x"),), ("/p.png",)))
        self.type("sent")
        self.press("enter")
        yield from self.told("send")
        yield from self.restart()
        [waiting] = self.chats.of("open")[-1][5]["waiting"]
        expected = self.prompts.Draft("sent", (self.prompts.Excerpt("u", "x:1", "x"),), ("/p.png",))
        self.assertEqual(waiting, self.prompts.Returned(expected, False))
        self.assertEqual(self.prompt, "")
        self.shown_waiting("queued", "later")
        yield from self.restart()
        self.assertEqual(self.waiting(), ["queued", "later"])
        self.assertTrue(all(each.may_have_arrived for each in self.chat.waiting))
        self.show(replaces_all=True)
        yield from self.restart()
        self.assertEqual(self.waiting(), [])

    def test_what_is_back_in_the_prompt_does_not_come_back_once_more(self) -> Steps:
        self.shown_waiting("queued")
        self.adapter.chats.return_draft(self.chat.id, self.prompts.Draft("queued"), "Why.")
        yield lambda: self.prompt == "queued"
        yield from self.restart()
        self.assertEqual((self.waiting(), self.prompt), ([], "queued"))

    def test_a_tab_that_nobody_has_looked_at_since_gives_it_back_when_it_closes(self) -> Steps:
        self.shown_waiting("queued")
        self.adapter.chats.close_all()
        self.view.close()
        yield from self.told("close")
        self.assertEqual([each.draft.text for each in self.chats.of("close")[-1][1]], ["queued"])

    def test_a_window_that_closes_leaves_it_to_the_companion_until_it_is_back(self) -> Steps:
        """The window may come back with its tabs, and the editor may end with its last window."""
        self.shown_waiting("queued", "later")
        record = self.chat.record
        self.adapter.chats.window_closed(self.window)
        self.assertEqual([each["text"] for each in record.get("waiting")], ["queued", "later"])
        self.view.close()
        self.adapter.chats.return_draft(self.chat.id, self.prompts.Draft("queued"), "Why.")
        yield lambda: [each["text"] for each in record.get("waiting")] == ["later"]
        self.assertEqual(self.chats.of("close"), [])
        kept = lambda: [view for view in self.window.views() if text_of(view) == "queued"]  # noqa: E731
        yield kept
        kept()[0].set_scratch(True)

    def test_a_chat_that_ends_leaves_it_to_the_companion(self) -> Steps:
        self.shown_waiting("queued")
        record = self.chat.record
        self.view.close()
        yield from self.told("close")
        self.assertEqual((self.chats.of("close")[-1][1:], record.get("waiting")), ((), []))
