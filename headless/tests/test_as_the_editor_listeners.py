"""What the real editor tells listeners and asks of commands, beyond test_as_the_editor_plugins.py. Sources as there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sublime_plugin

from headless.app import Application
from headless.tests.texts import insert, text_of

Package = Callable[..., Any]
Settle = Callable[[], None]


def test_events_without_an_asynchronous_method_call_none(window: Any, package: Package, settle: Settle):
    """P: all_callbacks has no on_pre_close_async, on_close_async, on_pre_move_async or on_pre_close_window_async."""
    plugin = package("""
        log = []
        class L(sublime_plugin.EventListener):
            def on_close(self, view): log.append("on_close")
            def on_close_async(self, view): log.append("on_close_async")
            def on_pre_close_async(self, view): log.append("on_pre_close_async")
            def on_pre_move_async(self, view): log.append("on_pre_move_async")
            def on_pre_close_window_async(self, window): log.append("on_pre_close_window_async")
            def on_pre_close_project_async(self, window): log.append("on_pre_close_project_async")
    """)
    first, second = window.new_file(), window.new_file()
    window.set_view_index(second, 0, 0)
    first.close()
    window.set_project_data({"folders": []})
    window.run_command("close_window")
    settle()
    assert plugin.log == ["on_close", "on_close"]


def test_new_and_cloned_views_are_not_told_to_their_own_listeners(window: Any, package: Package, settle: Settle):
    """P: on_new and on_clone are `el_only`."""
    plugin = package("""
        log = []
        class L(sublime_plugin.ViewEventListener):
            @classmethod
            def applies_to_primary_view_only(cls): return False
            def on_new(self): log.append("on_new")
            def on_clone(self): log.append("on_clone")
            def on_clone_async(self): log.append("on_clone_async")
            def on_activated(self): log.append("on_activated")
    """)
    window.new_file()
    window.run_command("clone_file")
    settle()
    assert set(plugin.log) == {"on_activated"}


def test_a_view_listener_comes_and_goes_as_a_setting_of_the_view_changes(window: Any, package: Package):
    """P: attach_view calls check_view_event_listeners whenever a setting changes."""
    plugin = package("""
        made, heard = [], []
        class L(sublime_plugin.ViewEventListener):
            @classmethod
            def is_applicable(cls, settings): return bool(settings.get("wanted"))
            def __init__(self, view):
                super().__init__(view)
                made.append(view.id())
            def on_modified(self): heard.append(self.view.id())
    """)
    view = window.new_file()
    insert(view, "a")
    assert plugin.heard == []
    view.settings().set("wanted", True)
    assert plugin.made == [view.id()]
    insert(view, "b")
    assert plugin.heard == [view.id()]
    assert isinstance(sublime_plugin.find_view_event_listener(view, plugin.L), plugin.L)
    assert sublime_plugin.find_view_event_listener(window.new_file(), plugin.L) is None
    view.settings().set("wanted", False)
    view.settings().set("wanted", True)
    assert plugin.made == [view.id()] * 2
    window.settings().set("other", 1)
    assert plugin.made == [view.id()] * 2


def test_listeners_of_a_module_come_in_the_order_of_their_definition(window: Any, package: Package):
    """P: load_module goes through the module's __dict__."""
    names = [f"{letter}Listener" for letter in "QCXAZBMDYE"]
    plugin = package(
        "log = []\n"
        + "".join(
            f"class {name}(sublime_plugin.EventListener):\n    def on_new(self, view): log.append('{name}')\n"
            f"class View{name}(sublime_plugin.ViewEventListener):\n"
            f"    def on_post_text_command(self, command, args): log.append('View{name}')\n"
            for name in names
        )
    )
    view = window.new_file()
    assert plugin.log == names
    plugin.log.clear()
    view.run_command("noop")
    assert plugin.log == [f"View{name}" for name in names]


def test_what_fails_in_a_listener_or_a_hook_stops_nothing_else(app: Application, window: Any, package: Package):
    """P: add_profiling traps what a listener raises; load_module and unload_module what the hooks raise."""
    plugin = package("""
        log = []
        class A(sublime_plugin.EventListener):
            def on_new(self, view): raise RuntimeError("expected")
            @staticmethod
            def on_clone(view): log.append("static")
        class B(sublime_plugin.EventListener):
            def on_new(self, view): log.append("heard")
            @classmethod
            def on_clone(cls, view): log.append("class")
        def plugin_loaded(): raise RuntimeError("expected")
        def plugin_unloaded():
            log.append("unloaded")
            raise RuntimeError("expected")
    """)
    window.new_file()
    window.run_command("clone_file")
    app.loader.remove("Sample")
    window.new_file()
    assert plugin.log == ["heard", "static", "class", "unloaded"]


def test_a_view_listener_that_changes_a_setting_while_it_is_made_is_made_once(window: Any, package: Package):
    """P: attach_view listens to the settings only after the listeners have been made. T:LSP does it."""
    plugin = package("""
        made = []
        class L(sublime_plugin.ViewEventListener):
            def __init__(self, view):
                super().__init__(view)
                made.append(view.id())
                view.settings().set("mine", len(made))
    """)
    plugin.made.clear()
    view = window.new_file()
    view.settings().set("other", 1)
    assert plugin.made == [view.id()]


def test_what_the_api_does_itself_is_no_command(window: Any, package: Package):
    """P: Window.focus_group and Window.set_layout call the editor, and run no command."""
    plugin = package("""
        log = []
        class L(sublime_plugin.EventListener):
            def on_window_command(self, window, name, args): log.append(name)
            def on_post_window_command(self, window, name, args): log.append(name)
    """)
    window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
    window.focus_group(1)
    assert (window.num_groups(), window.active_group(), plugin.log) == (2, 1, [])


def test_a_class_that_is_a_command_is_no_listener(window: Any, package: Package):
    """P: load_module asks for each kind by `elif`, commands first."""
    plugin = package("""
        log = []
        class BothCommand(sublime_plugin.TextCommand, sublime_plugin.EventListener):
            def run(self, edit): log.append("ran")
            def on_new(self, view): log.append("heard")
    """)
    window.new_file().run_command("both")
    assert plugin.log == ["ran"]


def test_a_command_that_cant_be_made_is_not_there(window: Any, package: Package):
    """P: create_window_commands traps what the class raises, and the others are there."""
    plugin = package("""
        log = []
        class BrokenCommand(sublime_plugin.WindowCommand):
            def __init__(self, window): raise RuntimeError("broken")
        class WholeCommand(sublime_plugin.WindowCommand):
            def run(self): log.append("whole")
    """)
    window.run_command("broken")
    window.run_command("whole")
    assert plugin.log == ["whole"]


LISTS = """
    log = []
    class ItemInputHandler(sublime_plugin.ListInputHandler):
        def list_items(self): return [["one", 1], ("two", 2), "three"], 1
        def next_input(self, args): return WordInputHandler()
    class WordInputHandler(sublime_plugin.TextInputHandler):
        def want_event(self): return True
        def validate(self, text, event): log.append(event); return text != "bad"
        def confirm(self, text, event): log.append(event)
        def next_input(self, args):
            return sublime_plugin.BackInputHandler() if args["word"] == "back" else None
    class AskCommand(sublime_plugin.WindowCommand):
        def run(self, item, word): log.append((item, word))
        def input(self, args): return ItemInputHandler()
"""
PALETTE = {"Default.sublime-commands": '[{"caption": "A", "command": "ask"}]'}


def test_an_input_handler_lists_pairs_of_any_kind_and_one_is_chosen_before(
    app: Application, window: Any, package: Package
):
    """D: ListInputHandler.list_items. P: setup_ takes lists and tuples."""
    package(LISTS, **PALETTE)
    window.run_command("ask")
    question = app.windows[0].question
    assert question is not None
    assert [row["trigger"] for row in question.items] == ["one", "two", "three"]
    assert question.selected_index == 1


def test_the_back_input_handler_takes_the_one_before_it_away(app: Application, window: Any, package: Package):
    """D: CommandInputHandler.next_input."""
    plugin = package(LISTS, **PALETTE)
    window.run_command("ask")
    state = app.windows[0]
    app.questions.answer(state, 0)
    app.questions.answer(state, "back")
    assert state.question is not None
    assert state.question.kind == "list_input"
    app.questions.answer(state, 2)
    app.questions.answer(state, "bad")
    assert state.question is not None
    app.questions.answer(state, "good")
    assert plugin.log[-1] == ("three", "good")
    assert all(isinstance(each, dict) for each in plugin.log[:-1])


def test_steps_of_the_history_are_glued(view: Any):
    """K; the package Default and T:NeoVintageous use it for all that is typed in one go."""

    def add(characters: str) -> None:
        view.run_command("append", {"characters": characters})

    add("a")
    view.run_command("mark_undo_groups_for_gluing")
    add("b")
    view.run_command("maybe_mark_undo_groups_for_gluing")
    add("c")
    view.run_command("glue_marked_undo_groups")
    add("d")
    view.run_command("undo")
    assert text_of(view) == "abc"
    view.run_command("undo")
    assert text_of(view) == "a"
    view.run_command("redo")
    assert text_of(view) == "abc"
    view.run_command("mark_undo_groups_for_gluing")
    add("e")
    view.run_command("unmark_undo_groups_for_gluing")
    add("f")
    view.run_command("glue_marked_undo_groups")
    view.run_command("undo")
    assert text_of(view) == "abce"
