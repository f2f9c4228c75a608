"""A view: one look at a buffer, with its own selection, regions, phantoms and scroll."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headless.buffer import Change, Span, TextBuffer
from headless.regions import PhantomState, RegionSet, merged, moved
from headless.settings import SettingsState
from headless.undo import Step

if TYPE_CHECKING:
    from headless.completions import Completions
    from headless.window import SheetState, WindowState

NO_UNDO = 8192


@dataclass
class Popup:
    """The popup that a view shows."""

    html: str
    location: int
    flags: int
    on_navigate: Callable[[str], None] | None
    on_hide: Callable[[], None] | None


class ViewState:
    """All that a view knows; `sublime.View` is a handle to it."""

    def __init__(self, id: int, buffer: TextBuffer, settings: SettingsState) -> None:
        self.id = id
        self.buffer = buffer
        self.settings = settings
        self.window: WindowState | None = None
        self.sheet: SheetState | None = None
        self.element: str | None = None
        self.valid = True
        self.selection: list[Span] = [(0, 0)]
        self.xpos: dict[Span, float] = {}
        # The selection that the listeners have last been told about.
        self.told_selection: list[Span] = [(0, 0)]
        self.regions: dict[str, RegionSet] = {}
        self.phantoms: dict[int, PhantomState] = {}
        self.folds: list[Span] = []
        self.status: dict[str, str] = {}
        self.popup: Popup | None = None
        self.completions: Completions | None = None
        self.scroll: tuple[float, float] = (0.0, 0.0)
        self.inline_diff = False
        self.overwrite = False
        self.edit_depth = 0
        self.edit_token = 0
        self.step: Step | None = None
        buffer.watchers.append(self._follow)

    def _follow(self, change: Change) -> None:
        self.selection = merged(moved(self.selection, change))
        for regions in self.regions.values():
            regions.spans = moved(regions.spans, change)
        for phantom in self.phantoms.values():
            phantom.span = moved([phantom.span], change)[0]
        if self.folds:
            self.folds = [span for span in moved(self.folds, change) if span[0] != span[1]]

    def detach(self) -> None:
        """The view has been closed: it no longer follows its buffer."""
        self.valid = False
        self.buffer.watchers.remove(self._follow)

    def select(self, spans: Iterable[Span]) -> None:
        """Select `spans` and nothing else."""
        self.selection = merged(self.buffer.clamped(spans))

    def undo_state(self) -> tuple[list[Span], dict[str, list[Span]]]:
        """What undo brings back besides the text."""
        kept = {k: r.spans for k, r in self.regions.items() if not r.flags & NO_UNDO}
        return self.selection, kept

    def restore(self, state: tuple[list[Span], dict[str, list[Span]]]) -> None:
        """Bring back what `undo_state` gave."""
        selection, regions = state
        self.select(selection)
        for key, spans in regions.items():
            if key in self.regions and not self.regions[key].flags & NO_UNDO:
                self.regions[key].spans = spans

    @property
    def title(self) -> str:
        """What the tab says."""
        path = self.buffer.file_name
        if path:
            return path.replace("\\", "/").rpartition("/")[2]
        return self.buffer.name or "untitled"

    def status_text(self) -> str:
        """The statuses in the order of their keys, as the status bar shows them."""
        return ", ".join(self.status[key] for key in sorted(self.status))
