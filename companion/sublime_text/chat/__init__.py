"""The chats on the screen, each in a tab.

Start with `chats`, which holds them all and knows which one a command is for; `view` is one chat. `text` applies
renders and guards the transcript, `marks` has its folds, links and phantoms, whose minihtml is in `html`, `clicks` does
what they say, `prompt` has what the person writes, `asks` how they answer. `commands`, `text_commands`, `pickers` and
`listener` are what a person uses; `opening` opens a chat for them.
"""
