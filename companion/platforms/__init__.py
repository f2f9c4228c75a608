"""What differs between Linux, macOS and Windows: programs, processes and files.

No other room calls what a platform lacks or does otherwise. This room may import nothing of the package, and uses the
standard library alone. Start with `programs`, a gate that finds and starts programs, never by a name that the current
folder or one of a window could supply, and knows groups, jobs and terminals. The other gate, `files`, opens and
replaces what is below a person's folders; `paths` knows how the disk spells a path, and `local_sockets` listens for
this user alone.
"""
