"""Following the links of phantoms, annotations, popups and HTML sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headless import minihtml
from headless.api.command_text import parse_command

if TYPE_CHECKING:
    from headless.app import Application
    from headless.window import ViewState

Navigate = Callable[[str], None]


def sources(view: ViewState) -> Iterator[tuple[str, Navigate | None]]:
    """All minihtml that a view shows, each with what its links call."""
    for phantom in view.phantoms.values():
        yield phantom.html, phantom.on_navigate
    for regions in [*view.regions.values(), *view.left_annotations.values()]:
        for html in regions.annotations[: len(regions.spans)]:
            yield html, regions.on_navigate
    if view.popup is not None:
        yield view.popup.html, view.popup.on_navigate


def close_annotations(view: ViewState, key: str) -> None:
    """Close the annotations of a key, as the person does with their ×.

    Raises LookupError if there are none.
    """
    regions = view.regions.get(key)
    if regions is None or not regions.annotations:
        raise LookupError(f"view {view.id} has no annotations of {key!r}")
    regions.annotations = []
    if regions.on_close is not None:
        regions.on_close()


def click(app: Application, view: ViewState, href: str) -> None:
    """Click the link with this `href`.

    Raises LookupError if nothing in the view shows such a link.
    """
    for html, navigate in sources(view):
        if href not in minihtml.links(html):
            continue
        if href.startswith("subl:"):
            name, args = parse_command(href)
            app.commands.run(name, args or None, view, view.window)
        elif navigate is not None:
            navigate(href)
        elif href.startswith(("http:", "https:")):
            app.message("open_url", href)
        return
    raise LookupError(f"view {view.id} shows no link to {href!r}")
