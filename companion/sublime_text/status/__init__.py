"""The status bar and the status report on the screen.

Start with `view`: it gathers the editor's part of the report. `bar` is the item in the status bar, `status_commands`
has the commands.
"""
