"""What differs between Linux, macOS and Windows: programs, processes and files.

No other room calls what a platform lacks or does otherwise (`tests/package/test_platforms.py` has the list). It uses
the standard library alone and imports nothing of the package. `programs` finds and starts programs, never by a name
that the current folder could supply; `shims` reads npm's batch files; `files` replaces a file's content; `processes`
ends groups and tells who owns what. docs/platforms.md says how each was proved.
"""
