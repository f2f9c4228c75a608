"""The status bar and the status report on the screen.

`bar` is the item in the status bar, `view` gathers what the editor adds to the report, `commands` has the commands.
"""
