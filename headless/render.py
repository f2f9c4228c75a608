"""A picture of a window, as an HTML page without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headless.host import not_offered

if TYPE_CHECKING:
    from headless.app import Application
    from headless.window import WindowState


def window_page(app: Application, window: WindowState, scheme: str, **options: Any) -> str:
    """The page."""
    raise not_offered("render yet")
