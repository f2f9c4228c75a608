"""The chats on the screen, at most one for each window.

Start with `chats`, which holds them all; `view` is one chat. `text` applies renders and guards the transcript,
`phantoms` and `html` draw the bar, questions and buttons, `folds` folds details, `prompt`, `kept` and `completions`
serve the prompt, `attention` decides whether a key can be an answer. `commands`, `pickers`, `panels` and `listener`
are what a person uses.
"""
