"""Why a line is there: the popup, and the way to where it was said.

Start with `commands`, which has all of it.
"""
