"""The libraries that the package needs: whether they fit, how they are loaded and how they are repaired.

It imports the standard library alone, since it runs before any library is there and names the one that is wrong; only
`sdk` imports the others, a copy of the MCP SDK that is ours alone. Start with `guard`: it compares the installed
versions with `bounds`, finds the library that made the start fail, and makes Package Control reinstall it.
"""

from __future__ import annotations
