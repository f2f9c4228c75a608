"""The colours of the package's phantoms. Every text has a contrast of at least 4.5 to what is behind it."""

from __future__ import annotations

COLOURS = """
html.light { --tint: color(var(--background) blend(black 91%)); }
html.dark { --tint: color(var(--background) blend(white 88%)); }
a { text-decoration: none; padding: 0 0.4rem; color: color(var(--bluish) min-contrast(var(--tint) 4.5)); }
.accept, .reject { color: color(var(--foreground) min-contrast(var(--tint) 4.5)); }
.inserted, .allow { color: color(var(--greenish) min-contrast(var(--tint) 4.5)); }
.always { color: color(var(--yellowish) min-contrast(var(--tint) 4.5)); }
.deleted { color: color(var(--redish) min-contrast(var(--tint) 4.5)); }
.warning { color: color(var(--orangish) min-contrast(var(--tint) 4.5)); }
.quiet { color: color(var(--foreground) blend(var(--background) 75%) min-contrast(var(--tint) 4.5)); }
"""
"""CSS of minihtml. The tint is between the background and the text, so what is readable on it is so on both."""
ACCEPTS, REJECTS, UNDOES = (
    f'<span class="{name}">{sign}</span>' for name, sign in (("inserted", "✓"), ("deleted", "✗"), ("deleted", "↩"))
)
"""The signs before the words of a decision. They have its colour; the words have that of the text."""
SIGN_COLOURS = {
    name: f"color({hue} min-contrast(var(--background) 7))"
    for name, hue in {
        "number": "var(--foreground) blend(var(--background) 75%)",
        "removed": "var(--redish)",
        "added": "var(--greenish)",
    }.items()
}
"""For the numbers and signs of lines, which a scheme may tint: more than enough on the background is enough there."""
LINK_COLOUR = "color(var(--bluish) min-contrast(var(--background) 4.5))"
"""For a link in an annotation."""
