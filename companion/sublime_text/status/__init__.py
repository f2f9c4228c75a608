"""The status bar and the status report on the screen.

Start with `reports`: it gathers the editor's part of the report, shows it and keeps it up to date, and it has the
commands. `bar` is the item in the status bar.
"""
