"""The list of conversations."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded
from .companion_case import text_of


class TestSessions(ChatCase):
    def sessions(self, cursor: str = "", **more: Any) -> Steps:
        """Show the list, whose second conversation is picked by a test."""
        first = {"sessionId": "session-1", "displayName": "About cats", "updatedAt": "2026-11-20T10:00:00Z"}
        second = {"sessionId": "s2", "isWaitingForPermission": True, "clientCount": 2}
        self.answer_page(first | more, second, cursor=cursor)
        self.window.run_command("qwen_companion_chat_sessions")
        yield lambda: self.screen.panels
        self.items = self.screen.panels[-1][0]

    def what(self, caption: str, **more: Any) -> Steps:
        """Pick what to do with the first conversation."""
        yield from self.sessions(**more)
        yield from self.choose("About cats", caption)

    def test_the_list(self) -> Steps:
        yield from self.sessions()
        self.assertEqual(
            [item.trigger for item in self.items], ["New Chat", "Search…", "About cats", "Untitled", "Archive…"]
        )
        self.assertEqual(self.items[2].details, "shown here")
        self.assertTrue(self.items[2].annotation.startswith("2026-11-2"))
        self.assertEqual(self.items[3].details, "waits for your permission · 2 clients")

    def test_a_new_chat(self) -> Steps:
        yield from self.sessions()
        self.screen.pick("New Chat")
        yield from self.told("show")

    def test_open(self) -> Steps:
        yield from self.what("Open")
        yield from self.told("show")
        self.assertEqual(self.chats.of("show"), [(self.chat.id, "session-1")])

    def test_rename(self) -> Steps:
        yield from self.what("Rename…")
        yield lambda: self.screen.inputs
        caption, text, done = self.screen.inputs[-1]
        self.assertEqual((caption, text), ("Title:", "About cats"))
        done("  ")
        done("About dogs")
        yield from self.told("sessions.rename")
        self.assertEqual(self.chats.of("sessions.rename"), [(self.chat.id, "session-1", "About dogs")])

    def test_export(self) -> Steps:
        self.chats.answers["sessions.export"] = "# All of it\n"
        yield from self.what("Export…")
        yield lambda: len(self.screen.panels) == 3
        self.screen.pick("Markdown")
        yield lambda: self.window.active_view() != self.view
        view = self.window.active_view()
        assert view
        yield lambda: text_of(view) == "# All of it\n"
        self.assertEqual(self.chats.of("sessions.export"), [(self.chat.id, "session-1", "md", {"is_archived": False})])
        self.assertTrue(view.is_scratch())

    def test_delete_asks_first(self) -> Steps:
        for answer in (False, True):
            self.screen.panels.clear()
            with patch.object(sublime, "ok_cancel_dialog", lambda *_, answer=answer: answer):
                yield from self.what("Delete…")
                yield 100
            if answer:
                yield from self.told("sessions.delete")
            self.assertEqual(len(self.chats.of("sessions.delete")), int(answer))

    def test_what_goes_wrong_is_said(self) -> Steps:
        self.chats.answers["sessions.page"] = loaded("backends.daemon.errors").TemporaryError(
            "No daemon answers at http://x."
        )
        self.window.run_command("qwen_companion_chat_sessions")
        yield lambda: self.screen.said("No daemon answers at http://x.")

    def test_the_current_one_is_marked_and_selected(self) -> Steps:
        selected: list[int] = []
        show = lambda *_, selected_index=-1, **__: selected.append(selected_index)  # noqa: E731
        with patch.object(sublime.Window, "show_quick_panel", show):
            self.show(self.message("Yes"))
            self.answer_page({"sessionId": "other"}, {"sessionId": "session-1"})
            self.window.run_command("qwen_companion_chat_sessions")
            yield lambda: selected
        self.assertEqual(selected, [3])

    def test_older_ones_are_a_page_further(self) -> Steps:
        yield from self.sessions(cursor="next")
        self.assertEqual([item.trigger for item in self.items][-2:], ["Older…", "Archive…"])
        self.screen.pick("Older…")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual(self.chats.of("sessions.page")[-1], (self.chat.id, "next", {"is_archived": False}))
        self.assertNotIn("New Chat", [item.trigger for item in self.screen.panels[-1][0]])

    def test_the_archive(self) -> Steps:
        yield from self.in_archive()
        self.screen.pick("Open")
        yield from self.told("sessions.reopen")

    def test_one_is_taken_out_of_the_archive(self) -> Steps:
        yield from self.in_archive()
        self.screen.pick("Take Out of the Archive")
        yield from self.told("sessions.archive")
        self.assertEqual(self.chats.of("sessions.archive"), [(self.chat.id, "away", {"is_archived": False})])

    def in_archive(self) -> Steps:
        """What can be done with one in the archive is asked."""
        yield from self.sessions()
        self.answer_page({"sessionId": "away", "displayName": "Old", "isArchived": True})
        self.screen.pick("Archive…")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual(self.chats.of("sessions.page")[-1], (self.chat.id, "", {"is_archived": True}))
        self.assertEqual([item.trigger for item in self.screen.panels[-1][0]], ["Old"])
        self.screen.pick("Old")
        yield lambda: len(self.screen.panels) == 3
        triggers = [item.trigger for item in self.screen.panels[-1][0]]
        self.assertEqual(triggers, ["Open", "Take Out of the Archive", "Export…", "Delete…"])

    def test_an_empty_archive_is_said(self) -> Steps:
        yield from self.sessions()
        self.answer_page()
        self.screen.pick("Archive…")
        yield lambda: self.screen.said("The archive is empty.")

    def test_pin_and_archive(self) -> Steps:
        yield from self.what("Pin")
        yield lambda: self.screen.said("Pinned.")
        self.screen.panels.clear()
        yield from self.what("Archive")
        yield lambda: self.screen.said("Archived.")
        self.assertEqual(self.chats.of("sessions.pin"), [(self.chat.id, "session-1", {"is_pinned": True})])
        self.assertEqual(self.chats.of("sessions.archive"), [(self.chat.id, "session-1", {"is_archived": True})])

    def test_a_pinned_one_is_marked_and_unpinned(self) -> Steps:
        yield from self.what("Unpin", isPinned=True)
        self.assertTrue(self.items[2].annotation.startswith("pinned · 2026"))
        yield lambda: self.screen.said("No longer pinned.")

    def test_a_search(self) -> Steps:
        listing, info = loaded("backends.agent"), loaded("backends.agent").SessionInfo.model_validate
        found = listing.FoundSession(session=info({"sessionId": "x", "displayName": "Cats"}), snippet="about <cats>")
        self.chats.answers["sessions.search"] = [found]
        yield from self.sessions()
        self.screen.pick("Search…")
        yield lambda: self.screen.inputs
        search = self.screen.inputs[-1][2]
        search("  ")
        search(" cats ")
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual(self.chats.of("sessions.search"), [(self.chat.id, "cats")])
        [item] = self.screen.panels[-1][0]
        self.assertEqual((item.trigger, item.details), ("Cats", "about &lt;cats&gt;"))
        self.chats.answers["sessions.search"] = []
        search("dogs")
        yield lambda: self.screen.said("No conversation has these words.")
