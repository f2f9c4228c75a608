"""Text in minihtml: phantoms, popups, annotations and the details of quick panels."""

from __future__ import annotations

import html


def safe(text: str) -> str:
    """A text as minihtml shows it: no tag, no entity and no link can come from it."""
    return html.escape(text)
