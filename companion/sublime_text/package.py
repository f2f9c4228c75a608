"""The life of the package: one adapter, from plugin_loaded to plugin_unloaded or the exit of the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .own_views import SIDES, VIEWS

if TYPE_CHECKING:
    import sublime

    from .adapter import Adapter

_adapter: Adapter | None = None


def load() -> None:
    """Sublime has loaded the package."""
    global _adapter  # noqa: PLW0603 - the package's one piece of module state
    from .adapter import Adapter  # noqa: PLC0415 - the adapter has the commands' modules, which import this one

    _adapter = Adapter()
    _adapter.start()


def unload() -> None:
    """Sublime unloads the package: it is disabled, upgraded or reloaded."""
    if adapter := _take():
        adapter.unload()
        VIEWS.close()


def hand_over() -> None:
    """The editor quits. Its API is gone by now; plugin_unloaded is not called."""
    if adapter := _take():
        adapter.stop()
        VIEWS.hand_over()


def adapter() -> Adapter | None:
    """The adapter while the package is loaded."""
    return _adapter


def is_in_diff(view: sublime.View | None) -> bool:
    """Whether the view that has the focus is one of a diff. Its palette leaves out what is about other files."""
    return _adapter is not None and view is not None and _adapter.diffs.find(view) is not None


def is_waiting(window: sublime.Window | None) -> bool:
    """Whether a change waits for a review in a window, proposed or written, or a proposal in another one."""
    if _adapter is None:
        return False
    here = _adapter.diffs.in_window(window) or _adapter.written.listings.of(window).rows
    return bool(here or _adapter.diffs.elsewhere(window))


def is_set_up_here(view: sublime.View | None) -> bool:
    """Whether CLIs and agents are started and set up from where the focus is: not in a diff or a chat."""
    return not is_in_diff(view) and not (view is not None and VIEWS.is_ours(view, "chat"))


def is_in_change(view: sublime.View) -> bool:
    """Whether a view is one of a proposal, or has a caret in a change that is written already."""
    if _adapter is None:
        return False
    return VIEWS.is_ours(view, *SIDES) or _adapter.written.has_change_at_caret(view)


def is_in_changed_file(view: sublime.View) -> bool:
    """Whether a view is one of a proposal, or of a file with written changes."""
    if _adapter is None:
        return False
    return VIEWS.is_ours(view, *SIDES) or _adapter.written.listings.row_in(view) is not None


def _take() -> Adapter | None:
    global _adapter
    taken, _adapter = _adapter, None
    return taken
