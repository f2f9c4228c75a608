"""The libraries that the package needs: whether they fit, how they are loaded, and how they are repaired.

It may import the standard library alone: it runs before a library is there, and says what is wrong with one. Begin at
`guard.py`, which compares what is installed with `bounds.py`; `lazy.py` keeps the SDK from loading what a server never
uses, and `repair.py` has Package Control install some anew.
"""

from __future__ import annotations
