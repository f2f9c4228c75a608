"""The chats on the screen, at most one for each window.

Start with `chats`, which holds them all; `view` is one chat. `text` applies renders and guards the transcript,
`marks` has its folds, links and phantoms, whose minihtml is in `html`, `prompt` has what the person writes, `asks` how
they answer. `commands`, `pickers` and `listener` are what a person uses.
"""
