"""What a chat shows besides its text: folds, links, code blocks, the bar, and how it scrolls."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import sublime

from .chat_case import ChatCase, Steps, loaded
from .companion_case import at_once

BAR, ASKS, CODES = "qwen_companion.chat_bar", "qwen_companion.chat_asks", "qwen_companion.chat_codes"
LONG = "".join(f"line {at}\n\n" for at in range(200))


class TestScroll(ChatCase):
    def test_the_end_is_followed_while_it_is_seen(self) -> None:
        self.show(self.message(LONG))
        self.show(self.message(LONG + LONG))
        self.assertGreaterEqual(self.view.visible_region().end(), self.chat.text.length)

    def test_a_person_who_has_scrolled_away_stays_there(self) -> Steps:
        self.show(self.message(LONG))
        self.view.set_viewport_position((0.0, 200.0), animate=False)
        yield lambda: self.view.viewport_position()[1] == 200
        self.show(self.message(LONG + LONG))
        self.assertEqual(self.view.viewport_position()[1], 200)
        self.show(self.message(LONG + LONG), replaces_all=True)
        self.assertEqual(self.view.viewport_position()[1], 200)


class TestFolds(ChatCase):
    def folded(self) -> list[str]:
        """The texts that are folded away."""
        return [self.view.substr(region) for region in self.view.folded_regions()]

    def thought(self, *lines: str) -> Any:
        return self.message("\n".join(lines), "thought")

    def test_a_thought_is_folded_and_stays_so_while_it_grows(self) -> None:
        self.show(self.thought("one", "two"))
        self.assertEqual(self.folded(), ["\n> one\n> two"])
        self.show(self.thought("one", "two", "three"))
        self.assertEqual(self.folded(), ["\n> one\n> two\n> three"])
        self.show(self.thought("one", "two", "three"), self.message("Hello"))
        self.assertEqual(self.folded(), ["\n> one\n> two\n> three"])

    def test_a_thought_whose_line_changes_with_its_text_stays_folded(self) -> None:
        self.show(self.thought("one"))
        self.show(self.thought("one", "two"), self.message("Hello"))
        self.assertEqual(self.folded(), ["\n> one\n> two"])

    def test_what_the_person_has_opened_stays_open(self) -> None:
        self.show(self.thought("one"))
        self.view.unfold(sublime.Region(0, self.view.size()))
        self.show(self.thought("one", "two"))
        self.assertEqual(self.folded(), [])
        self.show(self.thought("one", "two"), replaces_all=True)
        self.assertEqual(self.folded(), [])
        self.show(self.thought("one", "two"), self.thought("other"), self.tool(text="out"))
        self.assertEqual(len(self.folded()), 2)

    def test_what_is_folded_is_so_in_a_text_that_begins_anew(self) -> None:
        self.show(self.thought("one"))
        self.show(self.thought("one"), replaces_all=True)
        self.assertEqual(self.folded(), ["\n> one"])

    def test_enter_opens_and_folds_it(self) -> Steps:
        self.show(self.thought("one"))
        self.put_caret(self.chat.render.folds[0].start - 3)
        yield from self.settled()
        self.assertEqual(self.press("enter"), "qwen_companion_chat_follow")
        self.assertEqual(self.folded(), [])
        self.press("enter")
        self.assertEqual(len(self.folded()), 1)

    def test_without_a_caret_nothing_is_followed(self) -> None:
        """A plugin of the person's may have taken all of them."""
        self.show(self.thought("one"))
        folded = self.folded()
        self.view.sel().clear()
        loaded("sublime_text.chat.chat_commands").QwenCompanionChatFollowCommand(self.view).run(None)
        self.assertEqual(self.folded(), folded)

    def test_a_click_opens_and_folds_it(self) -> None:
        self.show(self.thought("one"))
        x, y = self.view.text_to_window(self.chat.render.folds[0].start - 3)
        for folds in (0, 1):
            self.view.run_command("drag_select", {"event": {"x": x, "y": y, "button": 1}})
            self.assertEqual(len(self.folded()), folds)


class TestRows(ChatCase):
    """Tool calls in a row are folded below one line."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.calls = [self.call(number) for number in range(3)]
        self.show(*self.calls[:2])

    def call(self, number: int) -> Any:
        return self.tool(id=str(number), status="completed", input={"command": f"run {number}"}, text=f"out {number}")

    @property
    def folded(self) -> list[str]:
        return [self.view.substr(region) for region in self.view.folded_regions()]

    def toggle(self) -> None:
        text = self.view.substr(sublime.Region(0, self.view.size()))
        self.chat.marks.folds.toggle(text.index("▸\u00a0Ran"))

    def test_a_row_is_one_line_and_stays_so_while_it_grows(self) -> None:
        [row] = self.folded
        self.assertEqual(row.count("✓"), 2)
        self.show(*self.calls)
        [row] = self.folded
        self.assertEqual(row.count("✓"), 3)
        self.show(*self.calls, self.message("Done."))
        self.assertEqual(self.folded, [row])

    def test_an_open_row_shows_its_calls_and_not_their_details(self) -> None:
        self.toggle()
        self.assertEqual(self.folded, ["\n    $ run 0\n    out 0", "\n    $ run 1\n    out 1"])
        self.show(*self.calls)
        self.assertEqual(len(self.folded), 3)
        self.show(*self.calls, replaces_all=True)
        self.assertEqual(len(self.folded), 3)
        self.toggle()
        [row] = self.folded
        self.assertEqual(row.count("✓"), 3)

    def test_the_editors_own_unfolding_shows_no_details_either(self) -> None:
        self.view.unfold(self.view.folded_regions())
        self.chat.marks.folds.fold_within(self.chat.render.folds[-1].start)
        self.assertEqual(len(self.folded), 2)

    def test_a_call_that_was_opened_stays_open_in_its_row(self) -> None:
        self.toggle()
        self.chat.marks.folds.toggle(self.chat.render.folds[0].start)
        self.assertEqual(self.folded, ["\n    $ run 1\n    out 1"])
        self.show(*self.calls)
        self.assertEqual(self.folded, ["\n    $ run 1\n    out 1", "\n    $ run 2\n    out 2"])


class TestLinks(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.show(self.message("See `app.py:2` for it"), state="done")
        [self.link] = self.chat.render.links

    def opened(self) -> Steps:
        yield lambda: self.window.active_view() == self.code
        yield lambda: self.code.rowcol(self.code.sel()[0].b)[0] == 1

    def test_names_of_files_are_underlined(self) -> None:
        regions = self.view.get_regions("qwen_companion.chat_links")
        self.assertEqual([self.view.substr(region) for region in regions], ["app.py:2"])

    def test_enter_opens_the_file_at_its_line(self) -> Steps:
        yield from self.enter_at(self.link.start + 1)
        yield from self.opened()

    def test_a_double_click_opens_it(self) -> Steps:
        x, y = self.view.text_to_window(self.link.start + 1)
        self.view.run_command("drag_select", {"event": {"x": x, "y": y, "button": 1}, "by": "words"})
        yield from self.opened()

    def test_a_popup_offers_to_open_it(self) -> Steps:
        listener = self.listener()
        listener.on_hover(self.view, self.link.start + 1, sublime.HoverZone.TEXT)
        text, navigate = self.screen.popups[-1]
        self.assertEqual(text, "Open app.py:2")
        assert navigate
        navigate("open")
        yield from self.opened()

    def test_a_file_elsewhere_is_said_to_be_there(self) -> Steps:
        render = self.chat.render
        there = self.view_values.Locality("build-7", "/srv/app", is_local=False, agent="Qwen Code")
        at_once(
            self.adapter.chats.show_chat, self.chat.id, replace(render, replaces_all=False, edits=(), locality=there)
        )
        yield from self.enter_at(self.link.start + 1)
        self.assertTrue(self.screen.said("app.py", "build-7", "/srv/app"))
        self.assertEqual(self.window.active_view(), self.view)

    def test_a_file_elsewhere_that_is_mapped_to_one_here_is_opened(self) -> Steps:
        self.set_setting("path_maps", {str(self.folder): "/srv/app"})
        there = self.view_values.Locality("build-7", "/srv/app", is_local=False, agent="Qwen Code")
        at_once(
            self.adapter.chats.show_chat,
            self.chat.id,
            replace(self.chat.render, replaces_all=False, edits=(), locality=there),
        )
        self.listener().on_hover(self.view, self.link.start + 1, sublime.HoverZone.TEXT)
        self.assertEqual(self.screen.popups[-1][0], "Open app.py:2")
        yield from self.enter_at(self.link.start + 1)
        yield from self.opened()

    def test_a_web_address_is_opened_after_a_question(self) -> Steps:
        asked: list[str] = []
        opened: list[str] = []
        self.show(self.message("See https://a.example/x?y#z."), state="done")
        self.put_caret(self.shown.index("https") + 1)
        yield from self.settled()
        for answer in (False, True):
            with (
                patch.object(
                    sublime, "ok_cancel_dialog", lambda words, *_, answer=answer: asked.append(words) or answer
                ),
                patch.object(loaded("sublime_text.chat.clicks"), "browse", opened.append),
            ):
                self.press("enter")
        self.assertEqual(len(asked), 2)
        self.assertIn("https://a.example/x?y#z", asked[0])
        self.assertEqual(opened, ["https://a.example/x?y#z"])
        self.assertIn("page of a.example in", asked[0])

    def test_an_address_that_looks_like_one_of_another_site_is_no_link(self) -> Steps:
        asked: list[str] = []
        self.show(self.message("See HTTPS://your.bank@evil.example/login"), state="done")
        self.put_caret(self.shown.index("HTTPS") + 1)
        yield from self.settled()
        with patch.object(sublime, "ok_cancel_dialog", lambda words, *_: asked.append(words) or False):
            self.press("enter")
        self.assertEqual(asked, [])

    def test_a_home_folder_is_found(self) -> Steps:
        with patch.dict("os.environ", {"HOME": str(self.folder), "USERPROFILE": str(self.folder)}):
            self.show(self.message("See ~/app.py:2."), state="done")
            yield from self.enter_at(self.shown.index("~") + 1)
            yield from self.opened()

    def test_a_file_that_is_not_there_is_said_to_be_missing(self) -> Steps:
        self.file.unlink()
        yield from self.enter_at(self.link.start + 1)
        yield lambda: self.screen.said("There is no file", "app.py")
        self.assertEqual(self.window.active_view(), self.view)


class TestCode(ChatCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.show(self.message("Do this:\n```python\nprint(1)\nprint(2)\n```\nor that:\n```\nx <b>\n```\nok"))

    def test_every_block_has_its_buttons(self) -> None:
        self.assertEqual(self.screen.phantoms(self.view, CODES), ["CopyInsert", "CopyInsert"])

    def test_copy_copies_it(self) -> None:
        self.screen.click(self.view, f"copy:{self.chat.render.codes[1].key}")
        self.assertEqual(sublime.get_clipboard(), "x <b>")

    def test_insert_puts_it_where_the_person_was_as_one_step(self) -> None:
        self.code.sel().clear()
        self.code.sel().add(sublime.Region(0, 3))
        before = self.code.substr(sublime.Region(0, self.code.size()))
        self.screen.click(self.view, f"insert:{self.chat.render.codes[0].key}")
        self.assertEqual(self.code.substr(sublime.Region(0, 17)), "print(1)\nprint(2)")
        self.assertEqual(self.window.active_view(), self.code)
        self.code.run_command("undo")
        self.assertEqual(self.code.substr(sublime.Region(0, self.code.size())), before)

    def test_inserted_tabs_stay_tabs(self) -> None:
        self.show(self.message("```make\nall:\n\techo\n```\nok"), replaces_all=True)
        self.code.settings().set("translate_tabs_to_spaces", True)
        self.code.sel().clear()
        self.code.sel().add(0)
        self.screen.click(self.view, f"insert:{self.chat.render.codes[0].key}")
        self.assertEqual(self.code.substr(sublime.Region(0, 10)), "all:\n\techo")

    def test_without_a_file_it_says_so(self) -> Steps:
        self.code.close()
        yield lambda: not self.code.is_valid()
        self.screen.click(self.view, f"insert:{self.chat.render.codes[0].key}")
        self.assertTrue(self.screen.said("There is no file to insert it into"))

    def test_buttons_are_made_once(self) -> None:
        """A phantom that is made anew costs the editor a layout."""
        before = self.view.query_phantoms(self.ids())
        ids = self.ids()
        text = "Do this:\n```python\nprint(1)\nprint(2)\n```\nor that:\n```\nx <b>\n```\nok, "
        for more in ("and", "and on", "and on and on"):
            self.show(self.message(text + more))
        self.assertEqual(self.ids(), ids)
        self.assertEqual(len(before), 2)

    def ids(self) -> list[int]:
        return [number for (view, number), (key, _, _) in self.screen._phantoms.items() if key == CODES]


class TestBar(ChatCase):
    def bar(self) -> str:
        [bar] = self.screen.phantoms(self.view, BAR)
        return bar

    def test_it_alone_tells_the_model_the_mode_and_the_meter_and_the_host_if_that_is_another(self) -> None:
        values = self.view_values
        models = (values.Choice("m<1>", "Coder <b>"),)
        self.show(model="m<1>", models=models, mode="default", window=values.ContextWindow(131_072, 15_728))
        self.assertEqual(self.bar(), "[Q] Coder <b> · default · 12 % of 128k")
        self.assertEqual(self.view.get_status("zz_qwen_companion_chat"), "")
        elsewhere = values.Locality("box", "/src", "0.24.4", is_local=False, agent="Qwen Code")
        with patch.object(self, "locality", lambda: elsewhere):
            self.show(model="m<1>", models=models)
        self.assertEqual(self.bar().split("  ")[0], "[Q] Coder <b> · box")

    def test_what_waits_for_a_review_is_counted_above_the_prompt_and_decided_there(self) -> None:
        self.show(self.message("Done."), changed=2)
        self.assertIn("± 2 files", self.bar())
        self.waits("Another agent", 2)
        self.assertNotIn("Review", self.bar())
        self.waits("Qwen Code", 3)
        self.assertIn("3 files · Review · Keep All · Undo All", self.bar())
        self.assertNotIn("±", self.bar())
        self.show(self.message("Done."), self.message("Next", "user"))
        self.assertIn("3 files · Review", self.bar())
        with patch.object(self.adapter.written, "decide_all") as decide:
            self.screen.click(self.view, "keep_all_changes")
            self.screen.click(self.view, "undo_all_changes")
        self.assertEqual([call.args[1] for call in decide.call_args_list], ["keep", "undo"])
        with patch.object(self.adapter.review, "show") as show:
            self.screen.click(self.view, "review")
        show.assert_called_once_with(self.window)
        self.waits("Qwen Code", 0)
        self.assertNotIn("Review", self.bar())

    def waits(self, agent: str, files: int) -> None:
        """These files wait for a review."""
        row = loaded("changes.rows").ChangeRow
        rows = tuple(
            row(str(self.folder), f"{at}.py", "modified", (agent,), 1, 0, 1, "", "", "a", "b") for at in range(files)
        )
        at_once(self.adapter.written.show_changes, self.window.id(), loaded("changes.change_screen").Listing(rows))

    def test_a_turn_that_runs_can_be_cancelled(self) -> Steps:
        self.show(self.message("Hello"), running="turn")
        self.assertIn("■ Cancel", self.bar())
        self.screen.click(self.view, "cancel:turn")
        yield from self.told("cancel")
        self.assertEqual(self.chats.of("cancel"), [(self.chat.id, "turn")])
        self.show(self.message("Hello"))
        self.assertNotIn("Cancel", self.bar())

    def test_a_turn_that_was_interrupted_or_has_failed_can_be_continued(self) -> Steps:
        for state, words in (("interrupted", "Continue"), ("failed", "Retry")):
            self.chats.calls.clear()
            self.show(self.message("half"), state=state, last=state)
            self.assertIn(words, self.bar())
            self.screen.click(self.view, "go_on")
            yield from self.told("history.continue_turn")
        self.chats.calls.clear()
        self.window.run_command("qwen_companion_chat_continue")
        yield from self.told("history.continue_turn")
        self.show(self.message("whole"), state="done", last="done")
        self.assertNotIn("Retry", self.bar())

    def test_a_connection_that_is_lost_can_be_had_again(self) -> Steps:
        self.show(connection=self.view_values.ConnectionStatus("lost", "Gone."))
        self.assertIn("Reconnect", self.bar())
        self.screen.click(self.view, "reconnect")
        yield from self.told("reconnect")

    def test_only_the_start_of_an_agent_can_be_cancelled(self) -> Steps:
        """The words say nothing: the daemon's start has the same, and an agent's own may have others."""
        connection = self.view_values.ConnectionStatus
        self.show(connection=connection("connecting", "Starting `qwen serve`…"))
        self.assertNotIn("Cancel", self.bar())
        command = loaded("sublime_text.chat.chat_commands").QwenCompanionChatCancelCommand(self.window)
        self.assertFalse(command.is_enabled())
        self.show(connection=connection("connecting", "It installs itself", can_be_cancelled=True))
        self.assertIn("Cancel", self.bar())
        self.assertTrue(command.is_enabled())
        self.screen.click(self.view, "cancel:")
        yield from self.told("cancel")

    def test_a_prompt_that_waits_can_be_removed(self) -> Steps:
        queued = self.view_values.Queued('q"1&', "do\nthis <now> " + "please " * 20)
        self.show(queue=(queued,))
        self.assertIn("waits: do this <now> please", self.bar())
        self.screen.click(self.view, 'dequeue:q"1&')
        yield from self.told("dequeue")
        self.assertEqual(self.chats.of("dequeue"), [(self.chat.id, 'q"1&')])

    def test_a_prompt_that_is_not_sent_yet_can_be_removed(self) -> Steps:
        render = self.show()
        queued = self.view_values.Unsent("1", "do\nthis <now> " + "please " * 20, "waiting", can_be_removed=True)
        at_once(
            self.adapter.chats.show_chat, self.chat.id, replace(render, replaces_all=False, edits=(), unsent=(queued,))
        )
        self.assertIn("not sent yet: do this <now> please", self.bar())
        self.screen.click(self.view, "unsend:1")
        yield from self.told("unsend")
        self.assertEqual(self.chats.of("unsend"), [(self.chat.id, "1")])
        self.show()
        self.assertNotIn("not sent yet", self.bar())

    def test_it_is_above_the_prompt_whatever_comes(self) -> None:
        for text in ("Hello", "Hello, world", "Hello, world\n\nand all"):
            self.show(self.message(text), model="m")
            [number] = [pid for (_, pid), (key, _, _) in self.screen._phantoms.items() if key == BAR]
            [region] = self.view.query_phantom(number)
            self.assertEqual(region.a, self.chat.text.length - 3)

    def test_the_title_is_the_sessions(self) -> None:
        self.assertEqual(self.view.name(), "[Q] Qwen Code")
        self.show(title="About cats")
        self.assertEqual(self.view.name(), "[Q] Qwen Code · About cats")


class TestLinksWithoutTheMouse(ChatCase):
    """Every link has a command."""

    def hrefs(self) -> list[str]:
        """Those in the phantoms of the chat."""
        contents = [
            content for (number, _), (_, content, _) in self.screen._phantoms.items() if number == self.view.id()
        ]
        return sorted(html.unescape(href) for content in contents for href in re.findall(r'href="([^"]*)"', content))

    def test_every_link_of_a_chat_can_be_used_without_the_mouse(self) -> Steps:
        permission = self.permission("allow_once", "allow_always", "reject_once")
        queued = self.view_values.Queued('q"1&', "do <this>")
        answer = self.message("Look:\n\n```py\nprint(1)\n```\n")
        self.show(answer, self.tool(permission), permissions=(permission,), queue=(queued,), running="turn")
        items = list(self.adapter.chats.clicks.links(self.chat))
        self.assertEqual(sorted(item.href for item in items), self.hrefs())
        self.assertGreaterEqual(len(items), 7)
        self.window.run_command("qwen_companion_chat_links")
        shown = [(item.trigger, html.unescape(str(item.details))) for item in self.screen.panels[-1][0]]
        self.assertIn(("Copy", "print(1)"), shown)
        self.assertTrue(any(trigger == "remove" and "do <this>" in details for trigger, details in shown), shown)
        self.screen.pick("■ Cancel")
        yield from self.told("cancel")
        self.window.run_command("qwen_companion_chat_links")
        self.screen.pick("remove")
        yield from self.told("dequeue")
        self.assertEqual(self.chats.of("dequeue"), [(self.chat.id, 'q"1&')])

    def test_whether_there_are_any_is_known_without_reading_every_code_block(self) -> None:
        """The editor asks whenever the palette opens, and a long conversation has a thousand of them."""
        self.show(self.message("```py\nprint(1)\n```\n" * 20))
        read: list[object] = []
        with patch.object(type(self.chat), "text_of", lambda _, code: read.append(code) or ""):
            command = loaded("sublime_text.chat.chat_commands").QwenCompanionChatLinksCommand(self.window)
            self.assertTrue(command.is_enabled())
        self.assertLess(len(read), 2)


class TestEarlier(ChatCase):
    """A long conversation."""

    def turns(self, first: int, end: int, *, has_earlier: bool = False, more: str = "") -> Any:
        """Show turns that are numbered, the last one with more text."""
        values = self.view_values
        turns = [
            values.Turn(f"p{at}", "done", (self.message(f"Q {at}", "user"), self.message(f"answer {at}\n\n" * 40)))
            for at in range(first, end)
        ]
        if more:
            last = turns[-1]
            turns[-1] = replace(last, items=(*last.items[:-1], self.message(last.items[-1].text + more)))
        order = tuple(turn.key for turn in turns)
        status = values.Status(connection=values.ConnectionStatus("live"), has_earlier=has_earlier)
        render = self.transcript.update(values.Snapshot(order, tuple(turns), status), self.locality(), "session-1")
        self.assertTrue(at_once(self.adapter.chats.show_chat, self.chat.id, render))
        return render

    def line_at_top(self) -> str:
        return self.view.substr(self.view.line(self.view.visible_region().begin() + 1))

    def test_what_the_person_reads_stays_where_it_is_when_earlier_turns_come_in_above(self) -> Steps:
        self.turns(5, 8, has_earlier=True)
        at = self.view.find("answer 6", 0).begin()
        self.view.set_viewport_position((0.0, self.view.text_to_layout(at)[1]), False)
        yield lambda: self.line_at_top().startswith("answer 6")
        before = self.view.text_to_layout(at)[1] - self.view.viewport_position()[1]
        self.turns(0, 8)
        moved = self.view.find("answer 6", 0).begin()
        self.assertGreater(moved, at)
        yield lambda: self.view.text_to_layout(moved)[1] - self.view.viewport_position()[1] == before
        self.assertIn("Q 0", self.shown)

    def test_scrolling_up_to_the_first_turn_asks_for_earlier_ones_once(self) -> Steps:
        self.turns(5, 8, has_earlier=True)
        yield 600
        self.assertEqual(self.chats.of("renderer.show_earlier"), [])
        self.view.set_viewport_position((0.0, 0.0), False)
        yield from self.told("renderer.show_earlier")
        yield 600
        self.assertEqual(len(self.chats.of("renderer.show_earlier")), 1)
        self.turns(3, 8, has_earlier=True)
        self.view.set_viewport_position((0.0, 0.0), False)
        yield {"condition": lambda: len(self.chats.of("renderer.show_earlier")) == 2, "timeout": 60_000}

    def test_earlier_turns_can_be_asked_for_without_the_mouse(self) -> Steps:
        self.turns(5, 8, has_earlier=True)
        self.assertIn("▴ Earlier messages", [item.caption for item in self.adapter.chats.clicks.links(self.chat)])
        self.window.run_command("qwen_companion_chat_earlier")
        yield from self.told("renderer.show_earlier")
        self.turns(0, 8)
        self.assertNotIn("▴ Earlier messages", [item.caption for item in self.adapter.chats.clicks.links(self.chat)])

    def test_links_and_codes_stay_with_their_text_when_earlier_turns_come_in_above(self) -> None:
        values = self.view_values
        turns = [
            values.Turn(f"p{at}", "done", (self.message(f"See src/a{at}.py:3.\n\n```py\nx = {at}\n```\nEnd."),))
            for at in range(150)
        ]
        status = values.Status(connection=values.ConnectionStatus("live"))
        for first in (149, 140, 60, 59, 0):
            order = tuple(turn.key for turn in turns[first:])
            snapshot = values.Snapshot(order, tuple(turns[first:]), status)
            self.assertTrue(
                at_once(
                    self.adapter.chats.show_chat, self.chat.id, self.transcript.update(snapshot, self.locality(), "s")
                )
            )
            keys = ["qwen_companion.chat_links", *(f"qwen_companion.chat_links.{number}" for number in range(1, 10))]
            linked = [self.view.substr(region) for key in keys for region in self.view.get_regions(key)]
            self.assertEqual(sorted(linked), sorted(f"src/a{at}.py:3" for at in range(first, 150)))
            for at in (first, 149):
                self.assertEqual(self.chat.code_text(f"p{at}/0/0"), f"x = {at}")

    def test_new_text_below_is_told_until_it_is_seen(self) -> Steps:
        below = "qwen_companion.chat_below"
        self.turns(0, 3)
        self.view.set_viewport_position((0.0, 100.0), False)
        yield lambda: self.view.viewport_position()[1] == 100
        self.assertEqual(self.view.get_regions(below), [])
        self.turns(0, 3, more="something new\n\n" * 3)
        yield lambda: self.view.get_regions(below)
        self.assertTrue(self.view.visible_region().contains(self.view.get_regions(below)[0]))
        self.screen.click(self.view, "to_end")
        yield {"condition": lambda: not self.view.get_regions(below), "timeout": 60_000}
        self.assertGreaterEqual(self.view.visible_region().end(), self.chat.text.length)


class TestTurns(ChatCase):
    def test_a_thin_line_is_above_each_turn_and_no_frame_around_what_the_person_says(self) -> None:
        name = "qwen_companion.chat_turns"
        self.turns("One", "Two", "Three")
        self.assertEqual(len(self.screen.phantoms(self.view, name)), 3)
        self.turns("One", "Two")
        self.assertEqual(len(self.screen.phantoms(self.view, name)), 2)
        self.assertEqual(self.view.get_regions("qwen_companion.chat_said"), [])

    def turns(self, *prompts: str) -> None:
        """Show a conversation of these turns."""
        values = self.view_values
        turns = tuple(values.Turn(f"t{prompt}", "done", (self.message(prompt, "user"),)) for prompt in prompts)
        view = values.Snapshot(tuple(turn.key for turn in turns), turns, values.Status(values.ConnectionStatus("live")))
        self.assertTrue(
            at_once(self.adapter.chats.show_chat, self.chat.id, self.transcript.update(view, self.locality(), "s"))
        )
