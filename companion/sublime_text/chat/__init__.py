"""The chats on the screen, each in a tab.

Start with `chats`, which holds them all and knows which one a command is for; `view` is one chat. `text` applies
renders and guards the transcript, `marks` has its folds, links and phantoms, whose minihtml is in `html`, `clicks`
does what they say, `prompt` has what the person writes and sends it, `permissions` how they answer.
`chat_commands`, `pickers`, `sign_in` and `listener` are what a person uses; `opening` opens a chat for them.

Only renders edit the transcript: it is read-only while a caret is in it, a text listener notices any other edit, and
the text is built again. The editor's undo history is emptied after each render; the prompt has an undo of its own.
Marks are shown in groups, which the editor moves along with the text. A click on an answer counts if the button has
been at its place for a second. An answer carries the id of the chat that it is for.
"""
