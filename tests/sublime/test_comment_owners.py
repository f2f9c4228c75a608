"""Which list a comment is in, and which prompt it went with."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded
from .own import views

NFC, NFD = "/p/Caf\u00e9", "/p/Cafe\u0301"


def at_once(call: Callable[[], Any], done: Callable[[Any], object]) -> None:
    """Do the work of another thread here."""
    done(call())


class TestOwners(CompanionCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.panel = loaded("sublime_text.package").adapter().comments
        self.prompts = self.panel.prompts

    def comment(self, words: str, path: str = "", **more: Any) -> Any:
        """A comment that stands in the prompt of a chat."""
        made = loaded("comments").Comment(path or str(self.file), 1, ("x",), words, **more)
        self.panel.comments.add(str(self.folder), made)
        self.panel.comments.hold([made.id], "Agent")
        return made

    def is_sent(self, comment: Any) -> bool:
        return self.panel.comments.find(comment.id).is_sent

    def test_two_spellings_of_a_folder_have_one_file_and_lose_nothing(self) -> Steps:
        made = loaded("comments").Comment
        kept_comments = loaded("sublime_text.comments.panel").KeptComments
        with patch.object(loaded("platforms.paths"), "sys", SimpleNamespace(platform="darwin")):
            said: list[str] = []
            adapter = SimpleNamespace(on_another_thread=at_once, messenger=SimpleNamespace(say=said.append))
            first = kept_comments(adapter)
            for root, words in ((NFC, "one"), (NFD, "two")):
                first.comments.add(root, made(f"{root}/a.py", 1, ("x",), words))
                yield lambda: not first._due
                yield lambda: not first._writing
            self.addCleanup(lambda: first.comments.delete([each.id for each in first.comments]))
            for root in (NFD, NFC):
                again = kept_comments(adapter)
                again.load_root(root, lambda _: None)
                self.assertEqual(sorted(each.words for each in again.comments), ["one", "two"])
                self.assertEqual(len(again.comments.of_root(NFC)), 2)
            self.assertEqual(said, [])
            window: Any = SimpleNamespace(folders=lambda: [NFC], views=list[sublime.View])
            with patch.object(views(), "remembered", lambda *_: [NFD]):
                self.assertEqual(again.roots(window), [NFC])
            self.assertEqual(again.root(window, f"{NFD}/a.py"), NFC)
            first.comments.delete([each.id for each in first.comments])
            yield lambda: not first._due

    def test_a_prompt_that_comes_back_has_its_own_comments_alone(self) -> None:
        """Another one may have the same words, or a part of them."""
        old = self.comment("ok")
        self.prompts.sent("Agent", "first:\nok")
        self.assertTrue(self.is_sent(old))
        new = self.comment("is this ok?")
        self.prompts.sent("Agent", "second:\nis this ok?")
        self.assertEqual(self.prompts.returned("Agent", "second:\nis this ok?"), {str(self.file)})
        self.assertTrue(self.is_sent(old))
        self.assertFalse(self.is_sent(new))

    def test_a_prompt_from_before_a_reload_brings_the_comments_that_were_sent_with_it(self) -> None:
        old = self.comment("ok")
        self.prompts.sent("Agent", "first:\nok")
        new = self.comment("is this ok?")
        self.prompts.sent("Agent", "second:\nis this ok?")
        after = type(self.prompts)(self.prompts._comments)
        self.assertEqual(after.returned("Agent", "second:\nis this ok?"), {str(self.file)})
        self.assertTrue(self.is_sent(old))
        self.assertFalse(self.is_sent(new))

    def test_a_prompt_without_comments_that_comes_back_brings_none(self) -> None:
        """Although it is an earlier one again."""
        old = self.comment("ok")
        self.prompts.sent("Agent", "the same\nok")
        self.prompts.sent("Agent", "the same\nok")
        self.assertEqual(self.prompts.returned("Agent", "the same\nok"), set())
        self.assertTrue(self.is_sent(old))
        self.assertEqual(self.prompts.returned("Agent", "ok"), set())
        self.assertTrue(self.is_sent(old))
