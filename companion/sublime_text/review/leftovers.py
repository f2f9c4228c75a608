"""Tabs of old diffs: Sublime restores scratch tabs with their texts after a restart."""

from __future__ import annotations

import hashlib

import sublime

from ..own_views import VIEWS

HEADER = "qwen_companion.header"
FILLERS = "qwen_companion.fillers"
KEYS_STATUS = "zy_qwen_companion_keys"
SHOWN = "shown"
"""In the record of a view of a diff: a fingerprint of its initial text. Without it, edits can't be detected."""


def remember(view: sublime.View, text: str) -> None:
    """Record what a view of a diff shows, for `clear`. This is done off the UI thread: a large text takes a while."""

    def put() -> None:
        fingerprint = _fingerprint(text)
        sublime.set_timeout(lambda: _keep(view, fingerprint))

    sublime.set_timeout_async(put)


def clear(view: sublime.View) -> bool:
    """Close a view of an old diff, or keep it as an ordinary tab if the person has edited it. True if it was kept."""
    own = VIEWS.of(view)
    if own and own.get(SHOWN) == _fingerprint(view.substr(sublime.Region(0, view.size()))):
        view.set_scratch(True)
        view.close()
        return False
    let_go(view)
    return True


def let_go(view: sublime.View) -> None:
    """Turn a view of a diff into an ordinary one."""
    VIEWS.release(view)
    for key in (HEADER, FILLERS):
        view.erase_phantoms(key)
    view.erase_status(KEYS_STATUS)


def _keep(view: sublime.View, fingerprint: str) -> None:
    if own := VIEWS.of(view):
        own.keep(**{SHOWN: fingerprint})


def _fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
