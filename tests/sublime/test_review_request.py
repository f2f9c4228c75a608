"""A diff of what a chat asks: the person reads it and answers, and the chat's daemon writes it as it is."""

from __future__ import annotations

from typing import Any

from .changes_case import CHANGES, FILE, PROPOSAL, ROWS, ChangesCase
from .companion_case import Steps, diff_views, loaded, text_of


class Chat:
    """Stands for the chat that asks."""

    is_model = False

    def __init__(self, window: int) -> None:
        self.window = window
        self.cli = "Qwen Code"
        self.told: list[str | None] = []

    def notify(self, notification: Any) -> None:
        self.told.append(notification.content)


class TestRequest(ChangesCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.chat = Chat(self.window.id())
        yield from self.ask()

    def ask(self, **request: Any) -> Steps:
        """Have the chat ask, and wait for the marks."""
        path, chat = str(self.file), self.chat
        asked = loaded("review.review").Request("before\n" + FILE, **request)
        post = loaded("sublime_text.package").adapter().thread.post
        post(lambda companion: companion.reviews.open(chat, path, "before\n" + PROPOSAL, asked))
        yield lambda: diff_views(self.window, "proposal")
        [self.proposal] = diff_views(self.window, "proposal")
        [self.original] = diff_views(self.window, "original")
        yield lambda: self.proposal.get_regions(CHANGES) and self.screen.header(self.proposal)
        yield 100

    def test_it_shows_what_the_daemon_says_and_cant_be_edited(self) -> Steps:
        self.assertEqual(text_of(self.original), "before\n" + FILE)
        self.edit(self.proposal, "mine")
        self.assertEqual(text_of(self.proposal), "before\n" + PROPOSAL)
        header = self.screen.header(self.proposal)
        self.assertIn("✓ Accept ✗ Reject", header)
        self.assertIn("Qwen Code: +3 −3 in 3 changes read-only", header)
        yield 0

    def test_a_piece_of_a_file_is_said_to_be_one(self) -> Steps:
        """It must not look like the whole file, and nothing may be written in its place."""
        words = "Only a part of the file: the agent doesn't say where it belongs."
        self.assertNotIn(words, self.screen.header(self.proposal))
        self.command("reject_diff")
        yield from self.closed()
        yield from self.ask(is_part=True)
        self.assertIn(words, self.screen.header(self.proposal))
        self.window.run_command("qwen_companion_review")
        review = loaded("sublime_text.package").adapter().review
        yield lambda: words in text_of(review.tab(self.window).view)
        self.edit(self.proposal, "mine")
        self.assertEqual(text_of(self.proposal), "before\n" + PROPOSAL)

    def test_it_is_gone_through_and_has_nothing_to_revert(self) -> Steps:
        self.assertEqual([text for text in self.screen.annotations(self.proposal) if text], [])
        found = []
        for _ in ROWS:
            self.go()
            found.append(self.row())
        self.assertEqual(found, [row + 1 for row in ROWS])
        self.command("undo_change")
        why = "QwenCompanion: Accept or reject app.py as a whole: Qwen Code takes no edits."
        yield lambda: why in self.screen.messages
        self.command("undo_change")
        yield lambda: self.screen.messages.count(why) == 2
        self.assertEqual(text_of(self.proposal), "before\n" + PROPOSAL)

    def test_an_undo_of_it_elsewhere_says_why_not_and_holds_nothing_up(self) -> Steps:
        """The companion gave no answer to it: next change did nothing until the diff was closed, nor did Take Back."""
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        diff.actions.follow("revert", "any")
        yield lambda: self.screen.said("Accept or reject app.py as a whole")
        yield lambda: not diff.actions.is_busy
        self.go()
        self.assertEqual(self.row(), ROWS[0] + 1)

    def test_accepting_tells_the_chat_and_nobody_waits_for_a_file(self) -> Steps:
        self.command("accept_diff")
        yield from self.closed()
        self.assertEqual(self.chat.told, ["before\n" + PROPOSAL])

    def test_closing_it_tells_the_chat(self) -> Steps:
        self.proposal.close()
        yield from self.closed()
        self.assertEqual(self.chat.told, [None])

    def test_the_layout_changes_as_it_does_for_others(self) -> Steps:
        self.command("toggle_diff_layout")
        yield lambda: not diff_views(self.window, "original")
        self.command("toggle_diff_layout")
        yield lambda: diff_views(self.window, "original")
        self.assertTrue(self.proposal.is_read_only())
        self.command("reject_diff")
        yield from self.closed()
        self.assertEqual(self.chat.told, [None])
