"""What View tells about its text."""

from __future__ import annotations

import re
from typing import Any

from headless import classify, results, scopes, search, symbols, syntaxes
from headless.api.flags import KIND_FUNCTION, KIND_TYPE, FindFlags, PointClassification, SymbolType
from headless.api.items import SymbolRegion
from headless.api.region import Region
from headless.api.types import Point
from headless.buffer import TextBuffer, utf8_length, utf16_length
from headless.changes import Span
from headless.host import locked, not_offered
from headless.window import ViewState


def span_of(x: Region | Point) -> Span:
    """The first and the last point of a region or point."""
    return (x.begin(), x.end()) if isinstance(x, Region) else (x, x)


class ViewText:
    """Text, lines, words, and scopes."""

    def _state(self) -> ViewState:
        raise NotImplementedError

    @property
    def _buffer(self) -> TextBuffer:
        return self._state().buffer

    @property
    def _text(self) -> str:
        return self._state().buffer.text

    @locked
    def size(self) -> int:
        """How many characters the text has."""
        return len(self._buffer)

    @locked
    def substr(self, x: Region | Point) -> str:
        """A part of the text; a point gives the character after it, NUL if there is none."""
        if isinstance(x, Region):
            return self._text[max(0, x.begin()) : max(0, x.end())]
        return self._text[max(0, x) : max(0, x + 1)] or "\x00"

    @locked
    def change_count(self) -> int:
        """How many times the text has changed."""
        return self._buffer.change_count

    @locked
    def change_id(self) -> tuple[int, int, int]:
        """A mark of the text as it is now, for `transform_region_from`."""
        return len(self._buffer.journal), self._buffer.id, 0

    @locked
    def transform_region_from(self, region: Region, change_id: tuple[int, int, int]) -> Region:
        """Where a region of an earlier text is now."""
        return Region(*self._buffer.moved(region.to_tuple(), change_id[0]), region.xpos)

    # -- finding -------------------------------------------------------------------------------

    @locked
    def find(self, pattern: str, start_pt: Point, flags: FindFlags = FindFlags.NONE) -> Region:
        """The first match from a point on; `Region(-1)` if there is none."""
        found = search.find(self._text, pattern, start_pt, int(flags))
        return Region(*found) if found else Region(-1)

    @locked
    def find_all(
        self,
        pattern: str,
        flags: FindFlags = FindFlags.NONE,
        fmt: str | None = None,
        extractions: list[str] | None = None,
        within: Region | list[Region] | None = None,
    ) -> list[Region]:
        """All matches; `extractions` gets `fmt` with each match's groups."""
        regions = [within] if isinstance(within, Region) else within
        spans = None if regions is None else [span_of(region) for region in regions]
        found = []
        for match in search.find_all(self._text, pattern, int(flags), spans):
            found.append(Region(*match.span()))
            if extractions is not None and fmt is not None:
                extractions.append(match.expand(re.sub(r"\$(\d)", r"\\\1", fmt)))
        return found

    # -- lines ---------------------------------------------------------------------------------

    @locked
    def line(self, x: Region | Point) -> Region:
        """The whole line or lines, without the last newline."""
        begin, end = span_of(x)
        begin, end = self._buffer.clamp(begin), self._buffer.clamp(end)
        return Region(self._buffer.line_span(begin)[0], self._buffer.line_span(end)[1])

    @locked
    def full_line(self, x: Region | Point) -> Region:
        """The whole line or lines, with the last newline; a region's end after a newline is on the next line."""
        line = self.line(x)
        return Region(line.a, min(len(self._text), line.b + 1))

    @locked
    def lines(self, region: Region) -> list[Region]:
        """The whole lines that a region touches, without the line after a newline where it ends."""
        begin, end = self._buffer.clamped([span_of(region)])[0]
        if end > begin and self._text[end - 1] == "\n":
            end -= 1
        return self._split(self._buffer.line_span(begin)[0], self._buffer.line_span(end)[1])

    @locked
    def split_by_newlines(self, region: Region) -> list[Region]:
        """The parts of a region that are on one line each."""
        return self._split(*self._buffer.clamped([span_of(region)])[0])

    def _split(self, begin: int, end: int) -> list[Region]:
        regions = []
        for part in self._text[begin:end].split("\n"):
            regions.append(Region(begin, begin + len(part)))
            begin += len(part) + 1
        return regions

    # -- rows and columns ----------------------------------------------------------------------

    @locked
    def rowcol(self, tp: Point) -> tuple[int, int]:
        """The row and column of a point, in characters."""
        return self._buffer.rowcol(tp)

    @locked
    def rowcol_utf8(self, tp: Point) -> tuple[int, int]:
        """The row and column of a point, in bytes of UTF-8."""
        return self._buffer.rowcol_measured(tp, utf8_length)

    @locked
    def rowcol_utf16(self, tp: Point) -> tuple[int, int]:
        """The row and column of a point, in UTF-16 code units."""
        return self._buffer.rowcol_measured(tp, utf16_length)

    @locked
    def text_point(self, row: int, col: int, *, clamp_column: bool = False) -> Point:
        """The point of a row and column in characters."""
        return self._buffer.text_point(row, col, clamp_column)

    @locked
    def text_point_utf8(self, row: int, col: int, *, clamp_column: bool = False) -> Point:
        """The point of a row and column in bytes of UTF-8."""
        return self._buffer.text_point_measured(row, col, clamp_column, utf8_length)

    @locked
    def text_point_utf16(self, row: int, col: int, *, clamp_column: bool = False) -> Point:
        """The point of a row and column in UTF-16 code units."""
        return self._buffer.text_point_measured(row, col, clamp_column, utf16_length)

    @locked
    def utf8_code_units(self, tp: Point | None = None) -> int:
        """How many bytes of UTF-8 are before a point, or in all."""
        return utf8_length(self._text[:tp])

    @locked
    def utf16_code_units(self, tp: Point | None = None) -> int:
        """How many UTF-16 code units are before a point, or in all."""
        return utf16_length(self._text[:tp])

    # -- words ---------------------------------------------------------------------------------

    @locked
    def word(self, x: Region | Point) -> Region:
        """The word at a point, or a region grown to whole words."""
        begin, end = self._buffer.clamped([span_of(x)])[0]
        return Region(*classify.word(self._text, begin, end, self._state().separators))

    @locked
    def classify(self, pt: Point) -> PointClassification:
        """What a point is, such as the start of a word."""
        return classify.classify(self._text, self._buffer.clamp(pt), self._state().separators)

    @locked
    def find_by_class(
        self,
        pt: Point,
        forward: bool,
        classes: PointClassification,
        separators: str = "",
        sub_word_separators: str = "",
    ) -> Point:
        """The next point of one of `classes`."""
        words, subs = separators or self._state().separators, sub_word_separators or "_"
        return classify.find(self._text, pt, forward, classes, words, subs)

    @locked
    def expand_by_class(
        self,
        x: Region | Point,
        classes: PointClassification,
        separators: str = "",
        sub_word_separators: str = "",
    ) -> Region:
        """A region grown until both ends are of one of `classes`."""
        begin, end = span_of(x)
        words, subs = separators or self._state().separators, sub_word_separators or "_"
        if not classify.classify(self._text, begin, words, subs) & classes:
            begin = classify.find(self._text, begin, False, classes, words, subs)
        if not classify.classify(self._text, end, words, subs) & classes:
            end = classify.find(self._text, end, True, classes, words, subs)
        return Region(begin, end)

    @locked
    def indentation_level(self, pt: Point) -> int:
        """How many tabs deep the line is."""
        line = self._text[slice(*self._buffer.line_span(self._buffer.clamp(pt)))]
        size = self._state().tab_size
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        return len(blank.expandtabs(size)) // size

    def indented_region(self, pt: Point) -> Region:
        """Not offered."""
        raise not_offered("View.indented_region")

    @locked
    def has_non_empty_selection_region(self) -> bool:
        """Whether any text is selected."""
        return any(a != b for a, b in self._state().selection)

    # -- scopes --------------------------------------------------------------------------------

    @locked
    def scope_name(self, pt: Point) -> str:
        """The scopes at a point: here always the syntax's base scope."""
        return self._state().scope + " "

    @locked
    def meta_info(self, key: str, pt: Point) -> Any:
        """What packages say about a scope; only `shellVariables` is known, with the syntax's comment marks."""
        return syntaxes.comment_variables(self._state().scope) if key == "shellVariables" else None

    @locked
    def extract_scope(self, pt: Point) -> Region:
        """The extent of the scope at a point: here always the whole text."""
        return Region(0, len(self._text))

    @locked
    def match_selector(self, pt: Point, selector: str) -> bool:
        """Whether a selector matches at a point."""
        return scopes.score(self._state().scope, selector) > 0

    @locked
    def score_selector(self, pt: Point, selector: str) -> int:
        """How well a selector matches at a point."""
        return scopes.score(self._state().scope, selector)

    @locked
    def find_by_selector(self, selector: str) -> list[Region]:
        """The regions that a selector matches: here the whole text or nothing."""
        if self._text and scopes.score(self._state().scope, selector):
            return [Region(0, len(self._text))]
        return []

    @locked
    def symbol_regions(self) -> list[SymbolRegion]:
        """The functions and classes of a text: what a line defines that begins with one of the usual words for them."""
        kinds = {"class": KIND_TYPE}
        return [
            SymbolRegion(
                found.name,
                Region(found.start, found.end),
                "",
                SymbolType.DEFINITION,
                kinds.get(found.word, KIND_FUNCTION),
            )
            for found in symbols.definitions(self._text)
        ]

    def find_all_results(self) -> list[tuple[str, int, int]]:
        """As `find_all_results_with_text`, without the texts."""
        return [result[:3] for result in self.find_all_results_with_text()]

    @locked
    def find_all_results_with_text(self) -> list[results.Result]:
        """What the settings `result_file_regex`, `result_line_regex` and `result_base_dir` find in the text."""
        settings = self._state().settings
        file, line, base = (settings.get(f"result_{key}") or "" for key in ("file_regex", "line_regex", "base_dir"))
        return list(results.results(self._text, file, line, base))

    @locked
    def expand_to_scope(self, pt: Point, selector: str) -> Region | None:
        """The region around a point that a selector matches."""
        return next(iter(self.find_by_selector(selector)), None)
