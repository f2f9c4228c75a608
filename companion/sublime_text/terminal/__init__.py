"""Terminals in the editor, through the package Terminus.

Start with `terminals`: it gets the package, starts a CLI, finds it again and types into its prompt.

The person's login shell runs the CLI, so that the PATH of its start-up files applies, and stays its parent, since old
CLIs look for the editor among their parents. It exports `TERM_PROGRAM`, because Terminus overwrites the one in `env`.
Our variables are taken out of what Terminus keeps in the view, since the editor writes that to the disk. What is known
of a terminal is in its view's settings; it counts as running only in the run of the editor that opened it, and a
restored tab never starts a CLI again.
"""
