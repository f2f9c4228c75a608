"""Views of diffs that are left over: Sublime keeps scratch tabs, with their texts and settings, over a restart."""

from __future__ import annotations

import hashlib

import sublime

from ..windows import DIFF_SETTING

SHOWN_SETTING = "qwen_companion.shown"
"""On the views of a diff: a fingerprint of the text that was put into it. Without it nothing tells what was edited."""


def remember(view: sublime.View, text: str) -> None:
    """Keep what a view of a diff shows, for `clear`. Off the UI thread, for a large text takes a while."""

    def put() -> None:
        fingerprint = _fingerprint(text)
        if view.is_valid():
            view.settings().set(SHOWN_SETTING, fingerprint)

    sublime.set_timeout_async(put)


def clear(view: sublime.View) -> bool:
    """Close a view of a diff that is no more, or leave it to the person if its text is theirs. Whether it was left."""
    text = view.substr(sublime.Region(0, view.size()))
    if view.file_name() is None and view.settings().get(SHOWN_SETTING) == _fingerprint(text):
        view.set_scratch(True)
        view.close()
        return False
    let_go(view)
    return True


def let_go(view: sublime.View) -> None:
    """Make a view of a diff one like any other."""
    view.set_read_only(False)
    for name in (DIFF_SETTING, SHOWN_SETTING):
        view.settings().erase(name)


def _fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
