"""Comments at lines, in the editor: written in the input panel, drawn under their lines, sent to an agent.

Start with `comment_commands`; `views` draws, `sending` finds who gets them, `kept` loads and saves them.
"""
