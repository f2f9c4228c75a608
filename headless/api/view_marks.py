"""What View shows besides its text: regions, phantoms, popups, styles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headless import completions, minihtml, schemes, variations
from headless.api.flags import PhantomLayout, PopupFlags, RegionFlags
from headless.api.region import Region
from headless.api.types import DIP, Point
from headless.host import app, locked
from headless.regions import PhantomState, RegionSet
from headless.window import Popup, ViewState

HEIGHTS = {"exact": 1.0, "taller": 1.05, "shorter": 0.95}


class ViewMarks:
    """Regions, phantoms, popups and styles."""

    def _state(self) -> ViewState:
        raise NotImplementedError

    # -- regions -------------------------------------------------------------------------------

    @locked
    def add_regions(
        self,
        key: str,
        regions: list[Region],
        scope: str = "",
        icon: str = "",
        flags: RegionFlags = RegionFlags.NONE,
        annotations: list[str] = [],  # noqa: B006 - the documented default
        annotation_color: str = "",
        on_navigate: Callable[[str], None] | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        """Mark regions; those added with the same key before are removed.

        Raises ValueError for an icon that is no string, or annotations that are no list of one for each region.
        """
        if not isinstance(icon, str):
            raise ValueError("icon must be a string")  # noqa: TRY004 - as the editor
        if not isinstance(annotations, list):
            raise ValueError("annotations must be a list")  # noqa: TRY004 - as the editor
        if annotations and len(annotations) != len(regions):
            raise ValueError("there must be as many annotations as regions")
        view = self._state()
        view.left_annotations.pop(key, None)
        view.regions[key] = RegionSet(
            view.buffer.clamped(region.to_tuple() for region in regions),
            scope,
            icon,
            int(flags),
            list(annotations),
            annotation_color,
            on_navigate,
            on_close,
        )

    @locked
    def get_regions(self, key: str) -> list[Region]:
        """The regions of a key, as edits have moved them."""
        marked = self._state().regions.get(key)
        return [Region(*span) for span in marked.spans] if marked else []

    @locked
    def erase_regions(self, key: str) -> None:
        """Remove the regions of a key."""
        view = self._state()
        marks = view.regions.pop(key, None)
        view.left_annotations.pop(key, None)
        stay = variations.chosen("hidden-annotations") == "stay" and not view.is_shown
        if stay and marks is not None and marks.annotations:
            view.left_annotations[key] = marks

    # -- phantoms ------------------------------------------------------------------------------

    @locked
    def add_phantom(
        self,
        key: str,
        region: Region,
        content: str,
        layout: PhantomLayout,
        on_navigate: Callable[[str], None] | None = None,
    ) -> int:
        """Show minihtml between the lines; returns its number."""
        view, id = self._state(), app().take_id()
        span = view.buffer.clamped([region.to_tuple()])[0]
        height = minihtml.height(content) * HEIGHTS[variations.chosen("phantom-height")]
        view.phantoms[id] = PhantomState(id, key, span, content, int(layout), on_navigate, height)
        return id

    @locked
    def erase_phantoms(self, key: str) -> None:
        """Remove the phantoms of a key."""
        view = self._state()
        view.phantoms = {i: each for i, each in view.phantoms.items() if each.key != key}

    @locked
    def erase_phantom_by_id(self, pid: int) -> None:
        """Remove a phantom."""
        self._state().phantoms.pop(pid, None)

    def query_phantom(self, pid: int) -> list[Region]:
        """The region of a phantom, in a list."""
        return self.query_phantoms([pid])

    @locked
    def query_phantoms(self, pids: Iterable[int]) -> list[Region]:
        """The regions of phantoms, as edits have moved them; `Region(-1)` for one that is gone."""
        phantoms = self._state().phantoms
        return [Region(*phantoms[i].span) if i in phantoms else Region(-1) for i in pids]

    # -- popups --------------------------------------------------------------------------------

    def show_popup(
        self,
        content: str,
        flags: PopupFlags = PopupFlags.NONE,
        location: Point = -1,
        max_width: DIP = 320,
        max_height: DIP = 240,
        on_navigate: Callable[[str], None] | None = None,
        on_hide: Callable[[], None] | None = None,
    ) -> None:
        """Show a popup, instead of one that is shown."""
        self.hide_popup()
        view = self._state()
        view.popup = Popup(content, int(flags), on_navigate, on_hide, view.selection)

    @locked
    def update_popup(self, content: str) -> None:
        """Show other HTML in the popup."""
        popup = self._state().popup
        if popup is not None:
            popup.html = content

    def is_popup_visible(self) -> bool:
        """Whether a popup is shown."""
        return self._state().popup is not None

    def hide_popup(self) -> None:
        """Hide the popup."""
        self._state().hide_popup()

    def is_auto_complete_visible(self) -> bool:
        """Whether completions are shown."""
        return bool(completions.shown(self._state()))

    # -- styles --------------------------------------------------------------------------------

    def style(self) -> dict[str, str]:
        """The colours of the view."""
        colours = schemes.SCHEMES[app().scheme].colours
        return {
            "foreground": colours["foreground"],
            "background": colours["background"],
            "caret": colours["caret"],
            "line_highlight": colours["line_highlight"],
            "selection": colours["selection"],
            "accent": colours["accent"],
            "gutter_foreground": colours["gutter"],
        }

    def style_for_scope(self, scope: str) -> dict[str, Any]:
        """The colours of a scope."""
        scheme = schemes.SCHEMES[app().scheme]
        background = scheme.background(scope)
        return {
            "foreground": scheme.foreground(scope),
            **({"background": background} if background else {}),
            "bold": False,
            "italic": False,
            "source_line": 0,
            "source_column": 0,
            "source_file": scheme.file,
        }
