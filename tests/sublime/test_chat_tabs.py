"""Several chats in one window, a tab each: which one a command, a key or an answer is for."""

from __future__ import annotations

import html
from collections.abc import Generator
from typing import Any

import sublime

from .chat_case import Steps, loaded, text_of
from .test_chat_agents import OWN, AgentCase


class TabsCase(AgentCase):
    """A window with two chats: self.first with the daemon, and self.second with an agent, which has the focus."""

    enabled = True

    def open_chat(self) -> Steps:
        yield from super().open_chat()
        self.code = self.view
        self.transcripts: dict[int, Any] = {}
        self.window.run_command("qwen_companion_chat")
        yield self.opened
        self.first = self.take(self.opened())
        self.second = yield from self.open_with("Own")

    def open_with(self, agent: str) -> Steps:
        """Open a further chat. Returns it."""
        before = self.adapter.chats.within(self.window)
        yield from self.panel("qwen_companion_chat_with")
        self.screen.pick(agent)
        yield lambda: len(self.adapter.chats.within(self.window)) > len(before)
        return self.take(self.opened())

    def take(self, chat: Any) -> Any:
        """Show a new chat, empty. It is the one that `show` and the like are about."""
        self.transcripts[chat.id] = loaded("chats.transcript.transcript").Transcript()
        self.about(chat)
        self.show()
        return chat

    def about(self, chat: Any) -> None:
        """What follows is about this chat."""
        self.chat, self.view, self.transcript = chat, chat.view, self.transcripts[chat.id]

    def go(self, view: Any) -> Steps:
        """Give a view the focus, as a person does."""
        self.window.focus_view(view)
        yield lambda: self.window.active_view() == view
        yield from self.settled()

    def locality(self) -> Any:
        agent = self.chat.agent_key or "Qwen Code"
        return self.view_values.Locality("this computer", str(self.folder), "1", is_private=True, agent=agent)


class TestOpening(TabsCase):
    def test_a_further_agent_gets_a_tab_of_its_own_beside_the_first(self) -> Steps:
        self.assertEqual(self.first.view.name(), "[Q] Qwen Code")
        self.assertEqual(self.second.view.name(), "[O] Own")
        self.assertEqual(self.adapter.chats.within(self.window), [self.first, self.second])
        (_, at), (_, beside) = (self.window.get_view_index(chat.view) for chat in (self.first, self.second))
        self.assertEqual(beside, at + 1)
        opened = [
            (self.first.id, self.window.id(), str(self.folder), "", ""),
            (self.second.id, self.window.id(), str(self.folder), "", "Own"),
        ]
        yield lambda: self.chats.of("open") == opened
        self.assertEqual(self.chats.of("close"), [])

    def test_a_further_one_comes_beside_the_chat_that_had_the_focus_not_behind_all_tabs(self) -> Steps:
        yield from self.go(self.first.view)
        third = yield from self.open_with("Own")
        (_, at), (_, beside) = (self.window.get_view_index(chat.view) for chat in (self.first, third))
        self.assertEqual(beside, at + 1)

    def test_the_list_of_agents_marks_those_that_have_a_chat(self) -> Steps:
        yield from self.panel("qwen_companion_chat_with")
        marks = {html.unescape(item.trigger): item.annotation for item in self.items}
        self.assertEqual((marks["Own"], marks["Qwen Code, by its daemon"]), ("open", "open"))

    def test_the_same_agent_can_have_two(self) -> Steps:
        third = yield from self.open_with("Own")
        self.assertNotIn(third, (self.first, self.second))
        yield lambda: self.chats.of("open")[-1] == (third.id, self.window.id(), str(self.folder), "", "Own")
        self.assertEqual(len(self.adapter.chats.within(self.window)), 3)

    def test_new_chat_begins_anew_in_the_tab_that_is_there(self) -> Steps:
        yield from self.go(self.first.view)
        self.window.run_command("qwen_companion_chat_new")
        yield from self.told("show")
        self.assertEqual(self.chats.of("show"), [(self.first.id,)])
        self.assertEqual(len(self.adapter.chats.within(self.window)), 2)

    def test_each_tab_has_the_letter_of_the_setting(self) -> Steps:
        self.set_setting("agents", OWN | {"Other": {"command": ["other"], "letter": "ß"}})
        self.chats.answers["programs"] = ["Own", "Other"]
        third = yield from self.open_with("Other")
        self.assertEqual(third.view.name(), "[ß] Other")
        [bar] = self.screen.phantoms(third.view, "qwen_companion.chat_bar")
        self.assertIn("[ß]", bar)


class TestRouting(TabsCase):
    def test_chat_goes_to_the_one_that_had_the_focus_last(self) -> Steps:
        for chat in (self.first, self.second, self.first):
            yield from self.go(chat.view)
            yield from self.go(self.code)
            self.window.run_command("qwen_companion_chat")
            yield lambda chat=chat: self.window.active_view() == chat.view

    def test_enter_sends_the_prompt_of_the_chat_in_which_it_was_pressed(self) -> Steps:
        for at, chat in enumerate((self.first, self.second)):
            self.about(chat)
            yield from self.go(chat.view)
            self.type(f"for {at}")
            self.press("enter")
            yield lambda at=at: len(self.chats.of("send")) > at
            number, draft, _ = self.chats.of("send")[-1]
            self.assertEqual((number, draft.text), (chat.id, f"for {at}"))
            self.assertEqual(self.prompt, "")

    def test_what_is_added_goes_to_the_one_that_had_the_focus_last(self) -> Steps:
        yield from self.go(self.first.view)
        yield from self.go(self.code)
        self.code.sel().add(self.code.line(0))
        self.window.run_command("qwen_companion_chat_add")
        yield lambda: self.first.attached
        self.assertEqual(self.second.attached, [])
        yield lambda: self.window.active_view() == self.first.view

    def test_the_active_file_is_offered_to_both(self) -> Steps:
        self.set_setting("chat_context", True)
        yield from self.go(self.code)
        yield lambda: self.first.context and self.second.context
        self.first.leave_out()
        self.assertIsNotNone(self.second.context)

    def test_commands_are_for_the_one_with_the_focus(self) -> Steps:
        for chat in (self.first, self.second):
            self.about(chat)
            self.show(self.message("Working …"), running="turn")
            yield from self.go(chat.view)
            self.window.run_command("qwen_companion_chat_cancel")
            yield lambda chat=chat: (chat.id, "turn") in self.chats.of("cancel")
        self.assertEqual(self.chats.of("cancel"), [(self.first.id, "turn"), (self.second.id, "turn")])

    def test_a_link_that_runs_a_command_is_for_its_own_chat(self) -> Steps:
        self.about(self.first)
        self.show(self.message("Done."), state="done", last="done", changed=1)
        yield from self.go(self.second.view)
        [link] = [item for item in self.adapter.chats.clicks.links(self.first) if item.href == "changes"]
        self.chats.answers["changes.by_turn"] = loaded("backends.daemon.errors").DaemonError(
            "No turn has changed a file."
        )
        self.adapter.chats.clicks.do(self.first, link.href)
        yield from self.told("changes.by_turn")
        self.assertEqual(self.chats.of("changes.by_turn"), [(self.first.id,)])

    def test_a_session_that_another_tab_shows_is_gone_to_there(self) -> Steps:
        self.about(self.first)
        self.show(session="s1")
        third = yield from self.open_with("Qwen Code, by its daemon")
        self.show(session="s2")
        self.answer_page(*({"sessionId": name, "displayName": name} for name in ("s1", "s2")))
        before = len(self.screen.panels)
        self.window.run_command("qwen_companion_chat_sessions")
        yield lambda: len(self.screen.panels) > before
        details = {item.trigger: item.details for item in self.screen.panels[-1][0]}
        self.assertEqual((details["s1"], details["s2"]), ("in another tab", "shown here"))
        self.assertEqual(self.window.active_view(), third.view)
        yield from self.choose("s1", "Open")
        yield lambda: self.window.active_view() == self.first.view
        self.assertEqual(self.chats.of("show"), [])

    def test_a_session_of_another_agent_with_the_same_id_is_another_one(self) -> Steps:
        for chat, name in ((self.first, "s1"), (self.second, "s2")):
            self.about(chat)
            self.show(session=name)
        self.answer_page({"sessionId": "s1", "displayName": "s1"})
        before = len(self.screen.panels)
        self.window.run_command("qwen_companion_chat_sessions")
        yield lambda: len(self.screen.panels) > before
        self.assertEqual(self.window.active_view(), self.second.view)
        yield from self.choose("s1", "Open")
        yield from self.told("show")
        self.assertEqual(self.chats.of("show"), [(self.second.id, "s1")])

    def test_from_a_file_commands_are_for_the_one_that_had_the_focus_last(self) -> Steps:
        for chat in (self.second, self.first, self.second):
            yield from self.go(chat.view)
            yield from self.go(self.code)
            self.assertEqual(self.adapter.chats.of(self.window), chat)


class TestAnswers(TabsCase):
    def ask_in(self, chat: Any) -> Any:
        self.about(chat)
        return self.ask("allow_once", "reject_once")

    def test_a_key_in_the_other_chat_is_a_letter(self) -> None:
        self.ask_in(self.first)
        self.about(self.second)
        self.wait(2)
        self.assertEqual(self.press("y"), "")
        self.type("y")
        self.assertEqual((self.prompt, self.chats.of("approvals.give")), ("y", []))

    def test_a_click_answers_the_chat_whose_button_it_is(self) -> Steps:
        permission = self.ask_in(self.first)
        yield from self.go(self.first.view)
        self.first.attention.look()
        yield from self.go(self.second.view)
        [link] = [
            each for each in self.adapter.chats.clicks.links(self.first) if each.href == f"vote:0:{permission.id}"
        ]
        self.adapter.chats.clicks.do(self.first, link.href)
        yield from self.told("approvals.give")
        self.assertEqual(self.chats.of("approvals.give"), [(self.first.id, permission.id, "id0", None)])

    def test_two_that_ask_the_same_are_answered_one_by_one(self) -> Steps:
        """Their ids may be the same, since each agent counts by itself."""
        for chat in (self.first, self.second):
            self.ask_in(chat)
        for at, chat in enumerate((self.second, self.first)):
            yield from self.go(chat.view)
            self.window.run_command("qwen_companion_chat_answer", {"kind": "allow_once"})
            yield lambda at=at: len(self.chats.of("approvals.give")) > at
            self.assertEqual(self.chats.of("approvals.give")[-1][:2], (chat.id, "p1"))

    def test_a_command_in_the_other_chat_shows_what_is_asked_before_it_answers(self) -> Steps:
        self.ask_in(self.first)
        self.assertEqual(self.window.active_view(), self.second.view)
        before = len(self.screen.panels)
        self.window.run_command("qwen_companion_chat_answer", {"kind": "allow_once"})
        yield lambda: len(self.screen.panels) > before
        [item] = self.screen.panels[-1][0]
        self.assertEqual((item.trigger, item.details), ("Run it?", "Qwen Code"))
        self.assertEqual(self.chats.of("approvals.give"), [])
        self.screen.pick("Run it?")
        yield lambda: self.window.active_view() == self.first.view
        self.assertTrue(self.screen.said("Not all of the question was on the screen"))
        self.assertEqual(self.chats.of("approvals.give"), [])
        yield from self.go(self.first.view)
        self.window.run_command("qwen_companion_chat_answer", {"kind": "allow_once"})
        yield from self.told("approvals.give")
        self.assertEqual(self.chats.of("approvals.give"), [(self.first.id, "p1", "id0", None)])

    def test_each_tab_that_asks_is_marked(self) -> Steps:
        self.ask_in(self.first)
        self.assertEqual((self.first.view.name()[:2], self.second.view.name()[:4]), ("? ", "[O] "))
        yield lambda: self.screen.said("Qwen Code asks in the chat: Run it?")

    def test_the_status_bar_names_who_asks(self) -> None:
        bar, editor = loaded("sublime_text.status"), loaded("status.facts")
        status = editor.WindowStatus(questions=2, asking=("Gemini CLI", "Qwen Code"))
        self.assertEqual(bar.status_text(status), "2 questions (Gemini CLI, Qwen Code)")


class TestClosing(TabsCase):
    def test_closing_one_leaves_the_other_as_it_is(self) -> Steps:
        self.about(self.first)
        self.show(self.message("Hello"))
        self.type("mine")
        self.second.view.close()
        yield from self.told("close")
        self.assertEqual(self.chats.of("close"), [(self.second.id,)])
        self.assertEqual(self.opened(), self.first)
        self.show(self.message("Hello again"))
        self.assertIn("Hello again", self.shown)
        self.assertEqual(self.prompt, "mine")

    def test_a_closed_chat_comes_back_with_its_session_and_its_prompt_and_not_with_the_other_ones(self) -> Steps:
        for chat, session in ((self.first, "daemon's"), (self.second, "own")):
            self.about(chat)
            yield from self.go(chat.view)
            self.show(self.message("Hello"), session=session, chosen_mode="plan" if chat is self.second else "")
            self.type(f"to {session}")
            yield from self.settled()
            chat.view.close()
            yield lambda chat=chat: (chat.id,) in self.chats.of("close")
        self.window.run_command("qwen_companion_chat")
        yield self.opened
        back = self.take(self.opened())
        self.assertEqual((back.agent_key, self.prompt), ("Own", "to own"))
        chosen = {"session": "own", "mode": "plan"}
        opened = back.id, self.window.id(), str(self.folder), "own", "Own", {"chosen": chosen}
        yield lambda: self.chats.of("open")[-1] == opened
        other = yield from self.open_with("Qwen Code, by its daemon")
        self.assertEqual(self.prompt, "to daemon's")
        new = other.id, self.window.id(), str(self.folder), "", ""
        yield lambda: self.chats.of("open")[-1] == new

    def test_a_window_takes_both_with_it(self) -> None:
        self.adapter.chats.window_closed(self.window)
        self.assertEqual(self.adapter.chats.within(self.window), [])


class TestMoving(TabsCase):
    def another_window(self) -> Generator[Any, Any, sublime.Window]:
        """One with the same folder, in which the chat may go on."""
        there = yield from super().another_window()
        there.set_project_data({"folders": [{"path": str(self.folder)}]})
        yield lambda: there.folders() == [str(self.folder)]
        return there

    def test_a_tab_that_comes_into_a_window_without_its_folder_starts_nothing_there(self) -> Steps:
        self.show_second()
        there = yield from super().another_window()
        begun = len(self.chats.of("open"))
        self.adapter.chats.activated(there, self.second.view)
        yield lambda: self.screen.said("is no folder of this window")
        self.assertEqual((self.adapter.chats.within(there), len(self.chats.of("open"))), ([], begun))
        self.adapter.chats.activated(self.window, self.second.view)
        yield lambda: len(self.chats.of("open")) == begun + 1

    def show_second(self, **status: Any) -> None:
        """Show the second chat, in whose session a mode was chosen. What follows is about it."""
        self.about(self.second)
        self.show(self.message("Hello"), session="own", chosen_mode="plan", **status)

    def moved(self) -> Steps:
        """Have the tab of the second chat come into another window. Returns that."""
        there = yield from self.another_window()
        self.adapter.chats.activated(there, self.second.view)
        return there

    def comes_back_in(self, there: Any) -> Steps:
        """The second chat is one of another window, with its session and what was chosen."""
        yield lambda: self.chats.of("close") == [(self.second.id,)]
        chosen = {"session": "own", "mode": "plan"}
        opened = self.second.id, there.id(), str(self.folder), "own", "Own", {"chosen": chosen}
        yield lambda: self.chats.of("open")[-1] == opened
        self.assertEqual(self.adapter.chats.within(self.window), [self.first])
        self.assertEqual([chat.id for chat in self.adapter.chats.within(there)], [self.second.id])

    def test_a_tab_that_comes_into_another_window_is_a_chat_of_that_window(self) -> Steps:
        self.show_second()
        there = yield from self.moved()
        yield from self.comes_back_in(there)

    def test_a_tab_that_comes_into_another_window_while_its_agent_works_moves_once_the_turn_is_over(self) -> Steps:
        self.show_second(running="turn")
        there = yield from self.moved()
        self.assertTrue(self.screen.said("goes on working for the window that the chat came from"))
        self.type("a draft")
        self.show_second(running="turn")
        yield from self.on_companion(lambda _: None)
        self.assertEqual(self.chats.of("close"), [])
        self.show_second(state="done")
        yield from self.comes_back_in(there)
        self.take(self.adapter.chats.find(self.second.view))
        self.assertEqual(self.prompt, "a draft")

    def test_a_question_is_answered_in_the_window_that_its_tab_has_come_to(self) -> Steps:
        self.about(self.second)
        self.ask("allow_once", "reject_once")
        there = yield from self.moved()
        self.assertTrue(self.screen.said("goes on working for the window that the chat came from"))
        self.assertEqual(self.adapter.chats.of(there), self.second)
        self.assertEqual(self.adapter.chats.within(self.window), [self.first])
        self.assertEqual(self.second.window, there)  # where its panels open
        self.wait(1.1)
        self.screen.click(self.view, "vote:0:p1")
        yield from self.told("approvals.give")
        self.assertEqual(self.chats.of("approvals.give"), [(self.second.id, "p1", "id0", None)])
        self.assertEqual(self.chats.of("close"), [])

    def test_a_tab_that_is_taken_back_in_the_middle_of_a_turn_stays_with_its_agent(self) -> Steps:
        self.show_second(running="turn")
        there = yield from self.another_window()
        for window in (there, self.window):
            self.adapter.chats.activated(window, self.second.view)
        self.show_second(state="done")
        yield from self.on_companion(lambda _: None)
        yield from self.settled()
        self.assertEqual(self.chats.of("close"), [])
        self.assertIs(self.adapter.chats.find(self.second.view), self.second)

    def test_a_tab_goes_on_in_its_window_if_the_one_that_it_came_from_closes_in_the_middle_of_a_turn(self) -> Steps:
        self.show_second(running="turn")
        there = yield from self.moved()
        self.adapter.chats.window_closed(self.window)
        yield lambda: self.chats.of("close") == [(self.second.id,)]
        chosen = {"session": "own", "mode": "plan"}
        opened = self.second.id, there.id(), str(self.folder), "own", "Own", {"chosen": chosen}
        yield lambda: self.chats.of("open")[-1] == opened
        self.assertEqual([chat.id for chat in self.adapter.chats.within(there)], [self.second.id])

    def test_what_was_not_sent_comes_whole_into_a_tab_whose_former_window_closes(self) -> Steps:
        self.show_second(running="turn")
        yield from self.moved()
        self.adapter.chats.window_closed(self.window)
        draft = self.prompts.Draft("mine", (self.prompts.Excerpt("u", "x:1", "x"),), ("/p.png",))
        self.adapter.chats.return_draft(self.second.id, draft, "Why.")
        yield lambda: self.adapter.chats.find(self.second.view).attached == ["x:1", "/p.png"]
        self.take(self.adapter.chats.find(self.second.view))
        self.assertEqual(self.prompt, "mine")

    def test_a_tab_whose_agent_ends_with_the_window_that_it_came_from_says_so(self) -> Steps:
        self.show_second(running="turn")
        yield from self.moved()
        self.adapter.chats.window_closed(self.window)
        self.assertTrue(self.screen.said("Own was ended before it was done"))

    def test_a_prompt_that_is_sent_as_the_turn_ends_goes_before_the_move(self) -> Steps:
        """The frame of the turn's end knows nothing of it yet; to begin anew then would end its turn."""
        self.show_second(running="turn")
        there = yield from self.moved()
        loaded("sublime_text.chat.prompt").send_prompt(self.adapter, self.second, "And now")
        self.show_second(state="done")
        yield from self.told("send")
        yield lambda: self.second._unshown == "taken"
        yield from self.on_companion(lambda _: None)
        self.assertEqual(self.chats.of("close"), [])
        self.show_second(running="next")
        self.show_second(state="done")
        yield from self.comes_back_in(there)

    def test_a_tab_that_is_moved_right_after_a_prompt_was_sent_waits_for_its_turn(self) -> Steps:
        self.show_second()
        there = yield from self.another_window()
        loaded("sublime_text.chat.prompt").send_prompt(self.adapter, self.second, "Begin")
        self.adapter.chats.activated(there, self.second.view)
        yield from self.told("send")
        yield lambda: self.second._unshown == "taken"
        yield from self.on_companion(lambda _: None)
        self.assertEqual(self.chats.of("close"), [])
        self.assertIs(self.adapter.chats.find(self.second.view), self.second)


class TestReload(TabsCase):
    """A reload, or a restart as far as it can be had here: the views are there, the package comes anew."""

    def drafts(self) -> Steps:
        """Write something in both chats, the daemon's first, then give the file the focus."""
        for chat, session in ((self.second, "own"), (self.first, "daemon's")):
            self.about(chat)
            yield from self.go(chat.view)
            self.show(self.message("Hello"), session=session)
            self.type(f"to {session}")
            yield from self.settled()
        yield from self.go(self.code)
        self.adapter.chats.close_all()
        self.chats.calls.clear()

    def back(self, chat: Any, session: str) -> None:
        """A chat is in its tab again."""
        again = self.adapter.chats.find(chat.view)
        self.assertIsNotNone(again)
        self.take(again)
        opened = again.id, self.window.id(), str(self.folder), session, chat.agent_key
        self.assertIn(opened, self.chats.of("open"))
        self.show(self.message("Hello"), replaces_all=True, session=session)
        self.assertEqual((self.shown, self.prompt), (self.transcript.text, f"to {session}"))

    def test_each_comes_back_in_its_tab_with_its_session_and_its_draft(self) -> Steps:
        yield from self.drafts()
        self.adapter.chats.adopt_visible()
        self.assertEqual(self.adapter.chats.within(self.window), [])
        for chat, session in ((self.second, "own"), (self.first, "daemon's")):
            yield from self.go(chat.view)
            yield from self.told("open")
            yield lambda: self.adapter.chats.find(self.window.active_view())
            yield lambda chat=chat: any(each[0] == chat.view.id() for each in self.chats.of("open"))
            self.back(chat, session)

    def test_one_for_which_an_agent_works_comes_back_in_its_hidden_tab(self) -> Steps:
        """A question there is noticed at once."""
        yield from self.drafts()
        for _ in range(2):
            self.adapter.chats.resume_chat(self.second.id)
            yield from self.settled()
        yield from self.told("open")
        self.assertEqual([opened[0] for opened in self.chats.of("open")], [self.second.id])
        self.back(self.second, "own")
        self.ask("allow_once")
        self.assertTrue(self.screen.said("Own asks in the chat: Run it?"))
        self.assertEqual(self.window.active_view(), self.code)
        self.assertIsNone(self.adapter.chats.find(self.first.view))

    def test_one_for_which_an_agent_works_that_is_not_allowed_any_more_ends(self) -> Steps:
        yield from self.drafts()
        self.set_setting("agents", {"Own": {"command": ["another"]}})
        self.adapter.chats.resume_chat(self.second.id)
        yield from self.told("close")
        self.assertEqual((self.chats.of("close"), self.chats.of("open")), ([(self.second.id,)], []))
        # One whose tab has gone is not looked for.
        self.adapter.chats.resume_chat(123456)
        self.adapter.chats.resume_chat(self.code.id())
        yield from self.settled()
        self.assertEqual(len(self.chats.of("close")), 1)

    def test_chat_goes_to_the_one_that_was_used_last_before(self) -> Steps:
        yield from self.drafts()
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.window.active_view() == self.first.view
        yield from self.told("open")
        self.back(self.first, "daemon's")
        self.assertIsNone(self.adapter.chats.find(self.second.view))

    def test_one_that_is_closed_before_anybody_has_looked_at_it_ends_for_the_companion_too(self) -> Steps:
        yield from self.drafts()
        self.second.view.close()
        yield from self.told("close")
        self.assertEqual((self.chats.of("close"), self.chats.of("open")), ([(self.second.id, [])], []))

    def test_one_whose_agent_is_not_allowed_any_more_stays_as_it_is(self) -> Steps:
        yield from self.drafts()
        self.set_setting("agents", {"Own": {"command": ["another"]}})
        before = text_of(self.second.view)
        yield from self.go(self.second.view)
        self.assertIsNone(self.adapter.chats.find(self.second.view))
        self.assertEqual(text_of(self.second.view), before)


class TestTitles(TabsCase):
    def test_a_title_that_the_agent_has_forgotten_stays_with_its_session(self) -> Steps:
        yield 1
        self.about(self.first)
        self.show(title="About cats", session="one")
        self.assertIn("About cats", self.first.view.name())
        self.show(replaces_all=True, session="one")
        self.assertIn("About cats", self.first.view.name())
        self.show(replaces_all=True, session="two")
        self.assertNotIn("About cats", self.first.view.name())
        self.show(replaces_all=True, title="About dogs", session="two")
        self.assertIn("About dogs", self.first.view.name())


class TestStatus(TabsCase):
    def test_the_report_lists_each_with_its_agent_its_state_and_its_folder(self) -> Steps:
        self.about(self.first)
        self.show(self.message("Hm …"), running="turn", title="About cats")
        self.about(self.second)
        self.ask("allow_once")
        shown = [(chat.title, chat.state, chat.folder) for chat in self.adapter.chats.shown(self.window)]
        folder = str(self.folder)
        self.assertEqual(shown, [("[Q] Qwen Code · About cats", "works", folder), ("[O] Own", "asks you", folder)])
        values = self.view_values
        self.show(replaces_all=True, connection=values.ConnectionStatus("lost", "It has ended."))
        self.adapter.chats.close_all()
        self.window.focus_view(self.first.view)
        yield lambda: self.adapter.chats.find(self.first.view)
        states = [chat.state for chat in self.adapter.chats.shown(self.window)]
        self.assertEqual(states, ["starting", "connects when its tab is shown"])
        texts: list[str] = []
        report = loaded("status.findings").report
        self.adapter.reports.make(self.window, lambda facts, _: texts.append(report(facts)))
        yield lambda: any(f"[O] Own: connects when its tab is shown, in {folder}" in text for text in texts)
