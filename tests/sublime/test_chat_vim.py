"""A chat with the keys of Vim. Vintage and NeoVintageous are played by the view's setting."""

from __future__ import annotations

import sublime

from .chat_case import ChatCase, Steps

ALL = ("allow_once", "allow_always", "reject_once")


class TestVim(ChatCase):
    """The setting `command_mode` is true in normal mode, false in insert mode, and not there without such a package."""

    def mode(self, is_normal: bool) -> None:
        self.view.settings().set("command_mode", is_normal)

    def test_normal_mode_never_votes(self) -> Steps:
        self.ask(*ALL)
        self.wait(1.1)
        self.mode(True)
        self.assertEqual([self.press(key) for key in "yna"], ["", "", ""])
        yield 50
        self.assertEqual(self.chats.of("approvals.give"), [])
        self.mode(False)
        self.assertEqual(self.press("y"), "qwen_companion_chat_answer")
        yield from self.told("approvals.give")

    def test_normal_mode_never_types_into_the_transcript_or_sends(self) -> Steps:
        self.show(self.message("Hello"))
        self.type("mine")
        self.mode(True)
        for key in ("enter", "primary+enter", "shift+enter", "up", "down"):
            self.assertEqual(self.press(key), "", key)
        self.put_caret(3)
        yield from self.settled()
        self.assertEqual(self.press("<character>"), "")
        self.assertEqual(self.press("enter"), "qwen_companion_chat_follow")
        self.mode(False)
        self.assertTrue(self.applies("qwen_companion.chat_types"))

    def test_escape_ends_the_insert_mode_before_it_cancels_the_turn(self) -> None:
        self.show(self.message("Hello"), running="turn")
        self.assertTrue(self.applies("qwen_companion.chat_running"))
        self.mode(False)
        self.assertFalse(self.applies("qwen_companion.chat_running"))
        self.mode(True)
        self.assertTrue(self.applies("qwen_companion.chat_running"))

    def test_insert_mode_writes_and_sends(self) -> None:
        self.mode(False)
        self.type("hi")
        self.assertEqual(self.press("enter"), "qwen_companion_chat_send")

    def test_a_setting_turns_it_off_in_chats(self) -> Steps:
        self.mode(True)
        self.set_setting("chat_vim_keys", False)
        settings = self.view.settings()
        yield lambda: settings.get("command_mode") is False and settings.get("__vi_external_disable") is True
        self.assertFalse(self.code.settings().get("__vi_external_disable"))
        # A package may turn it on again when a view is opened or gets the focus.
        self.mode(True)
        self.window.focus_view(self.code)
        self.window.focus_view(self.view)
        yield lambda: settings.get("command_mode") is False
        self.show(self.message("Hello"), running="turn")
        self.assertTrue(self.applies("qwen_companion.chat_running"))
        self.set_setting("chat_vim_keys", True)
        yield lambda: not settings.has("__vi_external_disable")

    def test_escape_of_vintage_cancels_a_turn_where_a_chat_has_the_usual_keys(self) -> Steps:
        """Its keymap is loaded after ours, and has Escape begin the normal mode wherever that is off."""
        self.set_setting("chat_vim_keys", False)
        yield lambda: self.view.settings().get("__vi_external_disable") is True
        answer = self.listener().on_text_command(self.view, "exit_insert_mode", None)
        self.assertEqual(answer, ("noop", {}))
        self.assertEqual(self.chats.of("cancel"), [])
        self.show(self.message("Hello"), running="turn")
        self.assertEqual(self.listener().on_text_command(self.view, "exit_insert_mode", None), ("noop", {}))
        yield from self.told("cancel")
        self.set_setting("chat_vim_keys", True)
        yield lambda: not self.view.settings().has("__vi_external_disable")
        self.assertIsNone(self.listener().on_text_command(self.view, "exit_insert_mode", None))

    def test_escape_of_vintage_ends_what_the_editor_shows_before_it_cancels_a_turn(self) -> Steps:
        """A popup, then a panel, then all carets but one: the conditions of our own key, which it is in place of."""
        self.set_setting("chat_vim_keys", False)
        yield lambda: self.view.settings().get("__vi_external_disable") is True
        self.show(self.message("Hello"), running="turn")
        self.type("one two")
        yield from self.settled()
        start = self.view.size() - len("one two")
        self.view.sel().add(sublime.Region(start + 3))
        self.window.run_command("show_panel", {"panel": "console"})
        self.window.focus_view(self.view)
        yield lambda: self.window.active_panel() == "console"
        self.view.show_popup("a popup", sublime.PopupFlags.COOPERATE_WITH_AUTO_COMPLETE)
        yield self.view.is_popup_visible
        self.assertEqual(self.escape(), ("noop", {}))
        yield lambda: not self.view.is_popup_visible()
        self.assertEqual(self.window.active_panel(), "console")
        self.assertEqual(self.escape(), ("noop", {}))
        yield lambda: self.window.active_panel() is None
        self.assertEqual(len(self.view.sel()), 2)
        self.assertEqual(self.escape(), ("single_selection", {}))
        self.view.run_command("single_selection")
        self.assertEqual(self.chats.of("cancel"), [])
        self.assertEqual(self.escape(), ("noop", {}))
        yield from self.told("cancel")

    def escape(self) -> object:
        """What becomes of Escape of Vintage."""
        return self.listener().on_text_command(self.view, "exit_insert_mode", None)

    def test_enter_of_vintage_opens_what_the_transcript_names(self) -> Steps:
        enter = {"motion": "move", "motion_args": {"by": "lines", "forward": True, "extend": True}}
        self.show(self.message("Hello"))
        self.mode(True)
        self.assertIsNone(self.listener().on_text_command(self.view, "set_motion", enter))
        self.put_caret(3)
        yield from self.settled()
        answer = self.listener().on_text_command(self.view, "set_motion", enter)
        self.assertEqual(answer, ("qwen_companion_chat_follow", {}))
        down = {**enter, "linewise": True}
        self.assertIsNone(self.listener().on_text_command(self.view, "set_motion", down))
