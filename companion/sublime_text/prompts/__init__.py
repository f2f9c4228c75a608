"""What the person puts into the prompt of an agent: comments, actions.

Start with `delivery`; `recipients` says who could be meant, `screen` what a terminal shows. Nothing is submitted in a
terminal: the person presses Enter there.
"""
