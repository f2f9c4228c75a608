"""Installing an agent from the registry: the list in a panel, and the question before anything is done.

Start with `commands`.
"""
