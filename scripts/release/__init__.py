"""Builds a release: what `scripts/package --release` runs.

It may import the standard library, `packaging`, pip, and the package's own constants. Begin at `__main__.py`; `pins.py`
says what is needed, `wheels.py` fetches and checks it, `repository.py` describes it to Package Control.
"""

from __future__ import annotations


class ReleaseError(Exception):
    """Why there is no release, as one sentence for the person who asked for it."""
