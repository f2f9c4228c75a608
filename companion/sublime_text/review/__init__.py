"""The Review: a tab with all that waits for a decision in a window, proposals and written changes, by turn and by file.

Start with `tabs`, which has those of all windows; `tab` is one, with its `marks`. `feed` gathers what is in it,
`decisions` makes what the keys decide, `commands` are the keys. What a line is, and how the lines are made, is in
companion/review/document.py.
"""
