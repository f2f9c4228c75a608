"""The parts of View that the stand-in does not have."""

from __future__ import annotations

from collections.abc import Callable

from headless.api.flags import SymbolType
from headless.api.items import ContextStackFrame, SymbolRegion
from headless.api.region import Region
from headless.api.types import Point
from headless.host import not_offered


class ViewMissing:
    """Every method raises NotImplementedError with its name."""

    def extract_tokens_with_scopes(self, region: Region) -> list[tuple[Region, str]]:
        """Not offered."""
        raise not_offered("View.extract_tokens_with_scopes")

    def context_backtrace(self, pt: Point) -> list[ContextStackFrame]:
        """Not offered."""
        raise not_offered("View.context_backtrace")

    def symbols(self) -> list[tuple[Region, str]]:
        """Not offered."""
        raise not_offered("View.symbols")

    def get_symbols(self) -> list[tuple[Region, str]]:
        """Not offered."""
        raise not_offered("View.get_symbols")

    def indexed_symbols(self) -> list[tuple[Region, str]]:
        """Not offered."""
        raise not_offered("View.indexed_symbols")

    def indexed_references(self) -> list[tuple[Region, str]]:
        """Not offered."""
        raise not_offered("View.indexed_references")

    def indexed_symbol_regions(self, type: SymbolType = SymbolType.ANY) -> list[SymbolRegion]:
        """Not offered."""
        raise not_offered("View.indexed_symbol_regions")

    def extract_completions(self, prefix: str, tp: Point = -1) -> list[str]:
        """Not offered."""
        raise not_offered("View.extract_completions")

    def show_popup_menu(self, items: list[str], on_done: Callable[[int], None], flags: int = 0) -> None:
        """Not offered."""
        raise not_offered("View.show_popup_menu")

    def preserve_auto_complete_on_focus_lost(self) -> None:
        """Not offered."""
        raise not_offered("View.preserve_auto_complete_on_focus_lost")

    def export_to_html(
        self,
        regions: Region | list[Region] | None = None,
        minihtml: bool = False,
        enclosing_tags: bool = False,
        font_size: bool = True,
        font_family: bool = True,
    ) -> str:
        """Not offered."""
        raise not_offered("View.export_to_html")
