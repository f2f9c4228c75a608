"""The companion: what terminal coding agents expect of an editor.

Nothing here imports `sublime`; the adapter in `companion.sublime_text` does.
"""

from __future__ import annotations

__version__ = "0.1.0"
