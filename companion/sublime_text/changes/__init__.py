"""Changes that are written already, in the person's own files.

Start with `written`, which marks them and goes from one to the next; `listings` has what waits, and `view` the marks of
one view. `commands` has the commands.
"""
