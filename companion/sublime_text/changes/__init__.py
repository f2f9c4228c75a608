"""Changes that are written already, in the person's own files.

Start with `written`, which has those of all windows; `view` marks them in one view. `commands` has the commands.
"""
