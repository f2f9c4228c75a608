"""The methods that listeners may have, with their parameters.

The editor's base classes do not define them, and neither do the stand-in's: a listener that
calls `super().on_load(view)` fails in both.
"""

from __future__ import annotations

_WITH_ASYNC = (
    "on_new", "on_clone", "on_load", "on_reload", "on_revert", "on_post_move", "on_pre_save",
    "on_post_save", "on_modified", "on_selection_modified", "on_activated", "on_deactivated",
)  # fmt: skip
_ONLY_SYNC = ("on_pre_move", "on_pre_close", "on_close")
_NOT_IN_VIEWS = ("on_new", "on_clone")

#: Events of a view, for which an EventListener gets the view and a ViewEventListener nothing.
VIEW_EVENTS = (*_WITH_ASYNC, *(name + "_async" for name in _WITH_ASYNC), *_ONLY_SYNC)
_WINDOW_EVENTS = (
    "on_new_window", "on_new_window_async", "on_pre_close_window", "on_new_project",
    "on_new_project_async", "on_load_project", "on_load_project_async", "on_pre_save_project",
    "on_post_save_project", "on_post_save_project_async", "on_pre_close_project",
)  # fmt: skip
_BUFFER_EVENTS = (
    "on_new_buffer", "on_new_buffer_async", "on_associate_buffer", "on_associate_buffer_async",
    "on_close_buffer", "on_close_buffer_async",
)  # fmt: skip
_HOVER = ("point", "hover_zone")
_CONTEXT = ("key", "operator", "operand", "match_all")
_COMPLETIONS = ("prefix", "locations")
_COMMAND = ("command_name", "args")

VIEW_EVENT_LISTENER: dict[str, tuple[str, ...]] = {
    **{name: () for name in VIEW_EVENTS if not name.startswith(_NOT_IN_VIEWS)},
    "on_hover": _HOVER,
    "on_query_context": _CONTEXT,
    "on_query_completions": _COMPLETIONS,
    "on_text_command": _COMMAND,
    "on_post_text_command": _COMMAND,
}

EVENT_LISTENER: dict[str, tuple[str, ...]] = {
    "on_init": ("views",),
    "on_exit": (),
    **dict.fromkeys(VIEW_EVENTS, ("view",)),
    **dict.fromkeys(_BUFFER_EVENTS, ("buffer",)),
    **dict.fromkeys(_WINDOW_EVENTS, ("window",)),
    "on_hover": ("view", *_HOVER),
    "on_query_context": ("view", *_CONTEXT),
    "on_query_completions": ("view", *_COMPLETIONS),
    "on_text_command": ("view", *_COMMAND),
    "on_post_text_command": ("view", *_COMMAND),
    "on_window_command": ("window", *_COMMAND),
    "on_post_window_command": ("window", *_COMMAND),
}

ASYNCHRONOUS = frozenset(name for name in EVENT_LISTENER if name.endswith("_async")) | {"on_text_changed_async"}
"""The events that also have an `_async` method, called later on the worker thread; on_close, for one, has none."""

TEXT_CHANGE_LISTENER: dict[str, tuple[str, ...]] = {
    "on_text_changed": ("changes",),
    "on_text_changed_async": ("changes",),
    "on_revert": (),
    "on_revert_async": (),
    "on_reload": (),
    "on_reload_async": (),
}
