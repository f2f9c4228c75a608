"""Tabs of old diffs: Sublime restores scratch tabs with their texts and settings after a restart."""

from __future__ import annotations

import hashlib

import sublime

from ..windows import DIFF_SETTING

HEADER = "qwen_companion.header"
FILLERS = "qwen_companion.fillers"
KEYS_STATUS = "zy_qwen_companion_keys"
SHOWN_SETTING = "qwen_companion.shown"
"""On the views of a diff: a fingerprint of their initial text. Without it, edits can't be detected."""


def remember(view: sublime.View, text: str) -> None:
    """Record what a view of a diff shows, for `clear`. This is done off the UI thread: a large text takes a while."""

    def put() -> None:
        fingerprint = _fingerprint(text)
        if view.is_valid():
            view.settings().set(SHOWN_SETTING, fingerprint)

    sublime.set_timeout_async(put)


def clear(view: sublime.View) -> bool:
    """Close a view of an old diff, or keep it as an ordinary tab if the person has edited it. True if it was kept."""
    text = view.substr(sublime.Region(0, view.size()))
    if view.file_name() is None and view.settings().get(SHOWN_SETTING) == _fingerprint(text):
        view.set_scratch(True)
        view.close()
        return False
    let_go(view)
    return True


def let_go(view: sublime.View) -> None:
    """Turn a view of a diff into an ordinary one."""
    view.set_read_only(False)
    view.set_scratch(False)  # so that the editor asks before the text goes
    for key in (HEADER, FILLERS):
        view.erase_phantoms(key)
    view.erase_status(KEYS_STATUS)
    for name in (DIFF_SETTING, SHOWN_SETTING):
        view.settings().erase(name)


def _fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
