"""The check of the editor: tries what the package assumes about it, in a scratch window.

Start with `run`: it opens the window, runs the probes and closes it. `texts`, `screen`, `places` and `system` have the
probes, each with the name of its row in `assumptions`; `bench` is what they work with, `report` says what was found.
The answers are kept by `editor_facts`.
"""
