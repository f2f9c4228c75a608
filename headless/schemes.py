"""Two colour schemes: colours for scopes and for minihtml's variables."""

from __future__ import annotations

from dataclasses import dataclass, field

from headless import scopes

NAMED = (
    "redish", "orangish", "yellowish", "greenish", "cyanish", "bluish", "purplish", "pinkish",
)  # fmt: skip


@dataclass(frozen=True)
class Scheme:
    """A colour scheme."""

    file: str
    colours: dict[str, str]
    # (selector, colour name), the best match wins.
    rules: tuple[tuple[str, str], ...] = field(default=())

    def palette(self) -> dict[str, str]:
        """The variables of minihtml, such as `background` and `redish`."""
        names = ("accent", "background", "foreground", *NAMED)
        return {name: self.colours[name] for name in names}

    def foreground(self, scope: str) -> str:
        """The colour of a scope; that of plain text if no rule matches."""
        if scope.startswith("region."):
            name = scope.removeprefix("region.").split()[0]
            return self.colours.get(name, self.colours["foreground"])
        best, found = 0, "foreground"
        for selector, name in self.rules:
            value = scopes.score(scope, selector)
            if value > best:
                best, found = value, name
        return self.colours[found]

    def style(self, scope: str) -> str:
        """The colour of a scope and its style, in CSS; empty for plain text."""
        colour = self.foreground(scope)
        css = [f"color: {colour}"] if colour != self.colours["foreground"] else []
        css += [style for selector, style in _STYLES if scopes.score(scope, selector)]
        return "; ".join(css)

    def background(self, scope: str) -> str | None:
        """The colour behind a scope, in CSS; None if no rule has one."""
        best, found = 0, None
        for selector, name, percent in _BACKGROUNDS:
            value = scopes.score(scope, selector)
            if value > best:
                best, found = value, f"color-mix(in srgb, {self.colours[name]} {percent}%, transparent)"
        return found


# The editor's own schemes have these for its inline diff.
_BACKGROUNDS = (
    ("diff.inserted", "greenish", 15),
    ("diff.inserted.char", "greenish", 30),
    ("diff.deleted", "redish", 15),
    ("diff.deleted.char", "redish", 30),
)

_STYLES = (
    ("markup.heading", "font-weight: bold"),
    ("markup.bold", "font-weight: bold"),
    ("markup.italic", "font-style: italic"),
)

_RULES = (
    ("comment", "comment"),
    ("string", "greenish"),
    ("constant", "orangish"),
    ("constant.language", "redish"),
    ("keyword", "purplish"),
    ("storage", "purplish"),
    ("entity.name - entity.name.section", "orangish"),
    ("entity.name.function", "cyanish"),
    ("variable.function", "bluish"),
    ("support", "bluish"),
    ("invalid", "redish"),
    ("markup.heading punctuation.definition.heading", "redish"),
    ("markup.underline.link", "bluish"),
    ("markup.quote punctuation", "bluish"),
    ("punctuation.definition.raw.code-fence", "comment"),
    ("markup.inserted", "greenish"),
    ("markup.deleted", "redish"),
    ("markup.changed", "yellowish"),
    ("markup.ignored", "comment"),
    ("markup.info", "bluish"),
    ("markup.warning", "yellowish"),
    ("markup.error", "redish"),
    ("diff.inserted", "greenish"),
    ("diff.deleted", "redish"),
    ("diff.changed", "yellowish"),
)

SCHEMES = {
    "dark": Scheme(
        "Packages/Color Scheme - Default/Mariana.sublime-color-scheme",
        {
            "background": "#303841", "foreground": "#d8dee9", "accent": "#f9ae58",
            "redish": "#ec5f66", "orangish": "#f9ae58", "yellowish": "#fac761",
            "greenish": "#99c794", "cyanish": "#5fb4b4", "bluish": "#6699cc",
            "purplish": "#c695c6", "pinkish": "#d08fb4", "comment": "#a6acb9",
            "line_highlight": "#3a434d", "selection": "#4c5866", "caret": "#f9ae58",
            "gutter": "#848b95", "chrome": "#23292f", "tab": "#2a3138", "border": "#1c2126",
        },
        _RULES,
    ),
    "light": Scheme(
        "Packages/Color Scheme - Default/Breakers.sublime-color-scheme",
        {
            "background": "#fbffff", "foreground": "#333333", "accent": "#c7781f",
            "redish": "#d23c46", "orangish": "#c7781f", "yellowish": "#b28c00",
            "greenish": "#5c9a36", "cyanish": "#2a9292", "bluish": "#2f6fb5",
            "purplish": "#9e57a5", "pinkish": "#bf4f86", "comment": "#8a919b",
            "line_highlight": "#edf2f4", "selection": "#d3e1ea", "caret": "#3c4047",
            "gutter": "#9aa1a9", "chrome": "#dfe4e6", "tab": "#ccd3d7", "border": "#bfc7cb",
        },
        _RULES,
    ),
}  # fmt: skip
