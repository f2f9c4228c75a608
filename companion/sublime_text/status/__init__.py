"""The status bar and the status report on the screen.

`bar` is the item in the status bar, `view` gathers the editor's part of the report, `commands` has the commands.
"""
