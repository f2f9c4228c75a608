"""A tab for a text that would be lost otherwise."""

from __future__ import annotations

import sublime

from ..windows import GroupContents


def open_kept(
    window: sublime.Window, name: str, text: str, syntax: sublime.Syntax | None = None, *, takes_focus: bool = False
) -> None:
    """Open a text in a tab. Without `takes_focus` it opens behind what the window shows.

    The tab is not scratch: the editor asks before it goes.
    """
    before = GroupContents(window, window.active_group())
    view = window.new_file()
    view.set_name(f"{name} (your edits)")
    if syntax := syntax or sublime.find_syntax_for_file(name, text[:1000]):
        view.assign_syntax(syntax)
    view.run_command("qwen_companion_edit_diff", {"edits": [[0, 0, text]]})
    view.sel().clear()
    view.sel().add(0)
    if not takes_focus:
        before.restore()
