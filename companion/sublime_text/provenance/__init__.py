"""Why a line is there: the popup, and the way to where it was said.

`commands` has all of it.
"""
