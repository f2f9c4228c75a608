"""Which versions of the libraries fit. Written by scripts/lock: do not edit.

The lower bound of each is the version that is tested. The upper one is the next major version, whose interface may
differ: it is tried, and named if the start fails.
"""

from __future__ import annotations

BOUNDS = {
    "annotated-types": ("0.8.0", "1"),
    "anyio": ("4.16.0", "5"),
    "click": ("8.5.1", "9"),
    "h11": ("0.16.0", "1"),
    "httpcore2": ("2.16.2", "3"),
    "httpx2": ("2.16.2", "3"),
    "idna": ("3.20", "4"),
    "mcp": ("2.3.0", "3"),
    "mcp-types": ("2.3.0", "3"),
    "opentelemetry-api": ("1.45.2", "2"),
    "psutil": ("7.2.2", "8"),
    "pydantic": ("2.14.3", "3"),
    "pydantic-core": ("2.50.4", "3"),
    "python-multipart": ("0.0.34", "1"),
    "sse-starlette": ("3.7.0", "4"),
    "starlette": ("1.10.0", "2"),
    "truststore": ("0.10.5", "1"),
    "typing-extensions": ("4.16.0", "5"),
    "typing-inspection": ("0.4.5", "1"),
    "uvicorn": ("0.54.0", "1"),
    "wsproto": ("1.3.2", "2"),
}
"""From the name of each library to the least version, and the first that nobody has tried."""
FROM_CHANNEL = frozenset({"annotated-types", "anyio", "idna", "typing-extensions", "typing-inspection"})
"""Those that Package Control's default channel has for everybody."""
PAIR = ("2.14.3", "2.50.4")
"""A pydantic and the only pydantic-core that it takes."""
