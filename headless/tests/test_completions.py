"""Completions, clicks, and keys for any character. Sources as in test_as_the_editor.py."""

from __future__ import annotations

from typing import Any

import pytest
import sublime

from headless import keymap
from headless.app import Application
from headless.requests import Requests
from headless.tests.texts import insert, select, selected, text_of

CODE = """
class Names(sublime_plugin.EventListener):
    asked = []
    later = sublime.CompletionList()

    def on_query_completions(self, view, prefix, locations):
        self.asked.append((prefix, locations))
        return [
            sublime.CompletionItem("apple"),
            sublime.CompletionItem.command_completion("avocado", "insert", {"characters": "a vo%20cado"}),
            ("pear\\tfruit", "pears"),
        ]

class Later(sublime_plugin.ViewEventListener):
    def on_query_completions(self, prefix, locations):
        return Names.later
"""


KEYMAP = '[{"keys": ["<character>"], "command": "shout", "context": [{"key": "setting.loud"}]}]'


def triggers(app: Application, view: Any) -> list[str]:
    found = next(each for each in Requests(app).state()["windows"][0]["views"] if each["id"] == view.id())
    return found["completions"]


def test_completions_that_fit_what_is_typed_are_shown(app: Application, view: Any, package: Any):
    module = package(CODE)
    insert(view, "x a")
    assert not view.is_auto_complete_visible()
    view.run_command("auto_complete")
    assert module.Names.asked == [("a", [3])]
    assert triggers(app, view) == ["apple", "avocado", "pear"]
    insert(view, "p")
    assert triggers(app, view) == ["apple"]
    view.run_command("hide_auto_complete")
    assert not view.is_auto_complete_visible()


def test_those_that_come_later_are_shown_then(app: Application, view: Any, package: Any):
    """P: CompletionList.set_completions asserts that it is called once."""
    module = package(CODE)
    view.run_command("auto_complete")
    module.Names.later.set_completions(["zebra"])
    assert triggers(app, view)[-1] == "zebra"
    with pytest.raises(AssertionError, match="already"):
        module.Names.later.set_completions([])


def test_a_completion_replaces_what_is_typed(app: Application, view: Any, package: Any):
    package(CODE)
    insert(view, "x pr")
    view.run_command("auto_complete")
    view.run_command("commit_completion")
    assert text_of(view) == "x pears"
    assert not view.is_auto_complete_visible()


def test_a_completion_may_be_a_command(app: Application, view: Any, package: Any):
    package(CODE)
    insert(view, "av")
    view.run_command("auto_complete")
    Requests(app).complete(view.id())
    assert text_of(view) == "a vo%20cado"


def test_a_trigger_opens_them(view: Any, package: Any):
    package(CODE)
    view.settings().set("auto_complete_triggers", [{"selector": "text", "characters": "@"}])
    insert(view, "a")
    assert not view.is_auto_complete_visible()
    insert(view, "@")
    assert view.is_auto_complete_visible()


def test_the_caret_elsewhere_hides_them(view: Any, package: Any):
    package(CODE)
    insert(view, "one a")
    view.run_command("auto_complete")
    select(view, (1, 1))
    assert not view.is_auto_complete_visible()


def test_the_mouse_rests_on_a_text(app: Application, view: Any, package: Any):
    module = package("""
    class Mouse(sublime_plugin.EventListener):
        at = []
        def on_hover(self, view, point, hover_zone):
            self.at.append((point, hover_zone))
    """)
    Requests(app).hover(view.id(), 0)
    assert module.Mouse.at == [(0, sublime.HoverZone.TEXT)]


def test_a_click_puts_the_caret_and_a_double_click_selects_a_word(view: Any):
    insert(view, "one two\nthree")
    view.run_command("drag_select", {"event": {"x": 50, "y": 0, "button": 1}})
    assert selected(view) == [(5, 5)]
    view.run_command("drag_select", {"event": {"x": 50, "y": 0, "button": 1}, "by": "words"})
    assert selected(view) == [(4, 7)]
    view.run_command("drag_select", {"event": {"x": 0, "y": 20, "button": 1}, "additive": True})
    assert selected(view) == [(4, 7), (8, 8)]


def test_a_key_for_any_character(app: Application, view: Any, package: Any):
    package(
        """
        class ShoutCommand(sublime_plugin.TextCommand):
            def run(self, edit, character):
                self.view.insert(edit, 0, character.upper())
        """,
        **{"Default.sublime-keymap": KEYMAP},
    )
    state = app.views[view.id()]
    keymap.press(app, state, ["a"])
    view.settings().set("loud", True)
    for key in ("b", "space", "enter"):
        keymap.press(app, state, [key])
    # Enter is no character; it is typed at the caret, and indents the new line as the one before.
    assert text_of(view) == " Ba\n "


def test_words_are_deleted(view: Any):
    insert(view, "one two")
    view.run_command("delete_word", {"forward": False})
    assert text_of(view) == "one "
    view.run_command("move_to", {"to": "bof"})
    view.run_command("delete_word")
    assert text_of(view) == " "


def test_a_click_on_a_folded_line_is_in_the_line_that_is_shown(view: Any):
    insert(view, "one\ntwo\nthree\nfour")
    view.fold(sublime.Region(3, 13))
    view.run_command("drag_select", {"event": {"x": 10, "y": 0, "button": 1}})
    assert selected(view) == [(1, 1)]
    view.run_command("drag_select", {"event": {"x": 0, "y": 20, "button": 1}})
    assert selected(view) == [(14, 14)]
