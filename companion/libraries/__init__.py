"""The libraries that the package needs: where they come from, whether they fit, and how they are loaded.

It may import the standard library alone: it runs before a library is there, and says what is wrong with one. Begin at
`guard.py`, which compares what is installed with `bounds.py`; `lazy.py` keeps the SDK from loading what a server never
uses.
"""

from __future__ import annotations

PROJECT = "https://github.com/QwenCompanion/QwenCompanion"
"""Where the project's code, its issues and its releases are."""
REPOSITORY = f"{PROJECT}/releases/latest/download/repository.json"
"""What a person adds to Package Control: the package, and the libraries that the default channel lacks."""
