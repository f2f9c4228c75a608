"""The families of command-line agents (CLIs) that look for an editor, and everything about their processes and files.

This room knows which variables, discovery files and settings each family uses, which of its processes run, and how
text is quoted for shells and prompts. It imports nothing of the package but its own modules. Start with `families`:
one value for each family; `discovery` writes the files through which a CLI finds a window.
"""
