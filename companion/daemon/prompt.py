"""The parts of a prompt (qwen-serve.md §4.3): the agent protocol's content blocks."""

from __future__ import annotations

import base64
import os
from typing import Any


def text(words: str) -> dict[str, Any]:
    """What the person writes. A path behind an @ in it is just text: see `mention`."""
    return {"type": "text", "text": words}


def mention(path: str) -> dict[str, Any]:
    """A file on the daemon's machine, which reads it. `path` is absolute; the daemon wants it as it is, not escaped."""
    return {"type": "resource_link", "uri": f"file://{path}", "name": os.path.basename(path)}


def excerpt(uri: str, content: str, mime_type: str = "text/plain") -> dict[str, Any]:
    """A text that comes with the prompt, for example a selection or an unsaved buffer."""
    return {"type": "resource", "resource": {"uri": uri, "text": content, "mimeType": mime_type}}


def picture(content: bytes, mime_type: str) -> dict[str, Any]:
    """A picture; the daemon takes no SVG."""
    return {"type": "image", "mimeType": mime_type, "data": base64.b64encode(content).decode("ascii")}
