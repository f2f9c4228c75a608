"""The diffs on the screen.

Start with `diffs`, which has them all; `view` is one diff with its two sides. `header`, `notes`, `marks` and `inline`
draw, `listing` has the list of a turn's files, `attention` knows what the person has seen, `scroll` keeps the sides
level, `steps` splits long work on the UI thread, `kept` and `leftovers` have texts and tabs that outlive a diff,
`commands` has the commands.
"""
