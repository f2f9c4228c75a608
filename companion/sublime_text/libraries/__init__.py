"""The libraries in Sublime Text: messages about them, and requests to Package Control to install them.

It may import `companion.libraries` and the panels. Start with `libraries`; `package_control` calls Package Control, and
`commands` has the commands.
"""
