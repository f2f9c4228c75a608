"""Comments at lines, in the editor: written in the input panel, drawn under their lines, sent to an agent.

Start with `comment_commands`, which also finds who gets them; `panel` loads and saves them, `views` draws.
"""
