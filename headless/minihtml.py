"""What can be known of minihtml without drawing it: its links and its height."""

from __future__ import annotations

import re
from functools import lru_cache
from html.parser import HTMLParser

_BLOCKS = {"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol", "body", "html"}
_HIDDEN = {"style", "head", "title"}
_EM_PX = 16.0
_LINE_PX = 20.0
_LENGTH = re.compile(r"(-?\d*\.?\d+)(px|em|rem|pt)?$")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


def pixels(length: str) -> float:
    """A CSS length in pixels; 0 for what is no length."""
    match = _LENGTH.match(length.strip())
    if match is None:
        return 0.0
    unit = {"em": _EM_PX, "rem": _EM_PX, "pt": 4 / 3}.get(match[2] or "px", 1.0)
    return float(match[1]) * unit


def declarations(css: str) -> dict[str, str]:
    """The properties of a CSS declaration block."""
    pairs = (part.partition(":") for part in css.split(";") if ":" in part)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def vertical_space(css: str) -> float:
    """What margins, paddings and borders add above and below, in pixels."""
    total = 0.0
    for name, value in declarations(css).items():
        if name in ("margin", "padding"):
            parts = [pixels(part) for part in value.split()] or [0.0]
            total += parts[0] + (parts[2] if len(parts) > 2 else parts[0])
        elif name.endswith(("-top", "-bottom")) and name.startswith(("margin", "padding")):
            total += pixels(value)
    return total


class _Reader(HTMLParser):
    """Collects links, lines of text, and the space that styles ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.lines = [""]
        self.breaks = 0
        self.space = 0.0
        self._rules: dict[str, float] = {}
        self._skip: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in _HIDDEN:
            self._skip = tag
            return
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "br":
            self.lines.append("")
            self.breaks += 1
        elif tag in _BLOCKS:
            self._block()
        self.space += vertical_space(values.get("style", ""))
        names = [tag, *(f".{name}" for name in values.get("class", "").split())]
        if "id" in values:
            names.append(f"#{values['id']}")
        self.space += sum(self._rules.get(name, 0.0) for name in names)

    def _block(self) -> None:
        if self.lines[-1].strip():
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skip:
            self._skip = None
        elif tag in _BLOCKS:
            self._block()

    def handle_data(self, data: str) -> None:
        if self._skip == "style":
            for selectors, body in _RULE.findall(data):
                for selector in selectors.split(","):
                    self._rules[selector.strip()] = vertical_space(body)
        elif self._skip is None:
            self.lines[-1] += data


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader


def links(html: str) -> list[str]:
    """The `href` of every link, unescaped."""
    return _read(html).links


@lru_cache(512)  # a chat shows hundreds of the same, and what is measured is the package
def height(html: str) -> float:
    """The height in lines of text, including the space that its styles add; at least one."""
    reader = _read(html)
    lines = reader.lines
    while len(lines) > 1 and not lines[-1].strip() and len(lines) - 1 > reader.breaks:
        lines = lines[:-1]
    return max(1.0, len(lines) + reader.space / _LINE_PX)
