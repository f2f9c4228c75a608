"""What differs between Linux, macOS and Windows: programs, processes and files.

No other room calls what a platform lacks or does otherwise. This room may import nothing of the package, and uses the
standard library alone. Start with `programs`, which finds and starts programs, never by a name that the current folder
could supply; `shims` reads npm's batch files, `files` replaces a file, and `processes` knows users and groups.
"""
