"""As much of the library `mdpopups` as the suites of scripts/fidelity need."""

from __future__ import annotations

import types
from typing import Any

from markdown_it import MarkdownIt

markdown = types.SimpleNamespace(__version__="3")


def version() -> tuple[int, int, int]:
    """The version."""
    return 4, 0, 0


def format_frontmatter(values: dict[str, Any]) -> str:
    """Settings of the extensions, which do nothing here."""
    return ""


def md2html(view: Any, markup: str, *_args: Any, **_options: Any) -> str:
    """Markdown as HTML."""
    return MarkdownIt().disable("escape").render(markup).strip()


def show_popup(view: Any, content: str, *_args: Any, **options: Any) -> None:
    """Show Markdown in a popup."""
    view.show_popup(md2html(view, content), location=options.get("location", -1))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *_args, **_options: None
