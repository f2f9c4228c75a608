"""Follow the agent: the place where it reads or writes is shown beside, without taking the focus.

Start with `following`; `beside` shows a place, `commands` has the commands.
"""
