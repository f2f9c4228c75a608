"""Asks the gate of the package which views are its own."""

from __future__ import annotations

import importlib
from typing import Any

import sublime


def views() -> Any:
    """The gate of the loaded package."""
    return importlib.import_module(f"{(__package__ or '').partition('.')[0]}.companion.sublime_text.own_views").VIEWS


def kind_of(view: sublime.View) -> str:
    """What a view of ours is; empty for any other."""
    own = views().of(view)
    return own.kind if own else ""


def value(view: sublime.View, name: str) -> Any:
    """What the record of a view has; None for nothing."""
    own = views().of(view)
    return own.get(name) if own else None


def tabs(window: sublime.Window, *kinds: str) -> list[sublime.View]:
    """The tabs of a window that are of one of these kinds."""
    return views().within(window, *kinds)


def remembered(window: sublime.Window, name: str) -> Any:
    """What is remembered of a window."""
    return views().remembered(window, name)
