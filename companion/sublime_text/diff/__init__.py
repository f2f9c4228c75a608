"""The diffs on the screen.

Start with `diffs`, which has them all; `view` is one diff with its two sides. `header` and `marks` draw, `scroll`
keeps the sides level, `steps` splits long work on the UI thread, `leftovers` removes dead tabs, `commands` has the
commands.
"""
